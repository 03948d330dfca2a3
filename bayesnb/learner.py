"""Learning from tables: rows become statistics, statistics a posterior.

:class:`Learner` is the half of the estimator that changes. Every verb works out all that follows, and only then
changes anything; so a refused table leaves it as it was.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from bayesnb import engines, unlabelled
from bayesnb.families.family import Family
from bayesnb.families.membership import Labels, every_row
from bayesnb.model import Data, Estimate, NaiveBayes, Statistics, estimate_rule, part_of
from bayesnb.priors import Array, Dirichlet, Known
from bayesnb.schema import Schema
from bayesnb.summary import Summary
from bayesnb.tables import Table
from bayesnb.targets import NO_LABEL, Target, classes_of, labels_of, read_target


class Learner(BaseEstimator):
    """What :class:`bayesnb.BayesianNB` is told, and how it learns."""

    def __init__(
        self,
        features: Family | Mapping[Any, Any] | None = None,
        *,
        class_prior: Dirichlet | Mapping[Any, float] | str | None = None,
        estimate: Estimate = "predictive",
        unseen: str = "missing",
        absent: str = "error",
        unlabelled: Any = None,
        unlabelled_weight: float = 1.0,
        em_starts: int = 1,
        random_state: Any = None,
    ) -> None:
        self.features = features
        self.class_prior = class_prior
        self.estimate = estimate
        self.unseen = unseen
        self.absent = absent
        self.unlabelled = unlabelled
        self.unlabelled_weight = unlabelled_weight
        self.em_starts = em_starts
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table, forgetting what was learned before.

        Parameters
        ----------
        X : table (row, column)
            pandas, polars, pyarrow, dict of columns, array or scipy.sparse; missing values are welcome. Or what is
            read in parts: a file, folder or glob (Parquet, CSV, Arrow), an iterator of frames, a polars LazyFrame, a
            DuckDB relation, a pyarrow dataset or reader, a Dask DataFrame or a Spark DataFrame.
        y : array (row,), or column name
            Class labels; the name of their column where ``X`` is read in parts. Rows without one (missing, or
            ``unlabelled``) are learned from by EM, in memory.
        sample_weight : array (row,) or column name, optional
            Frequency weights, not negative.

        Warns
        -----
        ConvergenceWarning
            If EM did not converge.

        Notes
        -----
        EM plugs in what ``estimate`` does: the posterior mode for "map", its mean for "mean" and "predictive",
        maximum likelihood for "mle". A class that no row is labelled with exists if a prior names it, as
        {class: prior} or {class: probability}.

        A table is read once, in parts or not, and its statistics do not depend on the parts: the priors that look at
        the data (unit information) look at their sum.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> BayesianNB().fit(X, y).class_count_
        array([5., 9.])
        """
        if engines.streams(X):
            return self._learn(self._read_in_parts(X, y, sample_weight), target=y, anew=True)
        name = getattr(y, "name", None)
        target = name if isinstance(name, str | int) and name != "" else None
        table, y, weight = self._any_rows(X, y, sample_weight)
        unlabelled.require_settings(self.unlabelled_weight, self.em_starts)
        if not y.complete:
            weight = np.where(y.labelled, weight, weight * self.unlabelled_weight)
            if not weight.any():
                raise ValueError(NO_LABEL)
        table, y, weight = _weighed(table, y, weight)
        if not y.complete:
            return self._fit_by_em(table, y, weight, target)
        return self._believe(*self._summary(table, y, weight), anew=True, target_=target)

    def _read_in_parts(self, X: Any, y: Any, sample_weight: Any, schema: Schema | None = None) -> Summary:
        """The summary of a table that names its own columns."""
        for what, name in (("y", y), ("sample_weight", sample_weight)):
            if not isinstance(name, str | int | None) or (what == "y" and name is None):
                raise TypeError(
                    f"X is no 2-dimensional table in memory, but read in parts, so {what} is the name of one of its "
                    f"columns; got {name!r}"
                )
        return engines.summary(self, X, y, sample_weight, schema)

    def _learn(self, summary: Summary, target: Any, anew: bool = False, classes: Any = ()) -> Self:
        """Believe what a summary says, of all rows or of further ones."""
        classes = classes_of(summary.classes, column_or_1d(classes))
        if anew or not hasattr(self, "statistics_"):
            statistics = summary.statistics.over(labels_of(classes))
            return self._believe(summary.schema, statistics, classes, anew=True, target_=target)
        classes = classes_of(self.classes_, classes)
        statistics = self.statistics_ + summary.statistics
        return self._believe(summary.schema, statistics.over(labels_of(classes)), classes)

    def _fit_by_em(self, table: Table, y: Target, weight: Array, target: Any) -> Self:
        """Learn from rows of which some have no label; their weights have λ in them."""
        rule = estimate_rule(self.estimate)
        schema, data = Schema.infer(table, self.features, self.unseen, weight).read(table, learn=True)
        classes = self._named_classes(schema, y.classes)
        if not len(y.classes) and len(classes) < 2:
            raise ValueError(f"{NO_LABEL}; label some rows, or give a feature priors that differ, as {{class: prior}}")
        model = schema.model(self._label_prior())
        free = np.flatnonzero(~y.labelled)
        em = unlabelled.em(
            model.flat() if rule.flat else model,
            labelled_statistics(model, data, y, weight, classes),
            part_of(data, free),
            len(free),
            row_weight=weight[free],
            at="map" if rule.point == "mode" else "mean",
            starts=self.em_starts,
            rng=self._generator(),
        )
        self._believe(schema, em.statistics, classes, anew=True, target_=target, em_=em, _expected=True)
        if not em.converged:
            warnings.warn(f"{em}: its responsibilities may still change", ConvergenceWarning, stacklevel=3)
        return self

    def _named_classes(self, schema: Schema, found: Array) -> Array:
        """The classes of labelled rows, and those that only a prior names."""
        model = schema.model(self._label_prior())
        label = model.label.p if isinstance(model.label, Known) else model.label.alpha
        given = [label, *(family.prior for family in model.features.values())]
        names = dict.fromkeys(name for prior in given if isinstance(prior, Mapping) for name in prior)
        known = set(labels_of(found))
        extra = [name for name in names if name not in known]
        one_type = len({type(name) for name in extra}) == 1
        return classes_of(found, np.array(extra, None if one_type else object)) if extra else found

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, given as to :meth:`fit`; new classes and new levels are welcome.

        ``classes`` may name classes that have no row yet; it is never needed.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB()
        >>> for rows in (slice(0, 2), slice(2, 14)):
        ...     clf = clf.partial_fit(X[rows], y[rows])
        >>> clf.class_count_
        array([5., 9.])
        """
        self._require_own_prior("partial_fit")
        if engines.streams(X):
            summary = self._read_in_parts(X, y, sample_weight, getattr(self, "schema_", None))
            return self._learn(summary, target=y, classes=() if classes is None else classes)
        if not hasattr(self, "statistics_"):
            table, y, weight = _weighed(*self._rows(X, y, sample_weight))
            schema, before, known = None, None, y.classes[:0]
        else:
            table, y, weight = _weighed(*self._rows(X, y, sample_weight, known=True))
            schema, before, known = self.schema_, self.statistics_, self.classes_
        schema, statistics, found = self._summary(table, y, weight, schema)
        names = classes_of(known, found, known[:0] if classes is None else column_or_1d(classes))
        statistics = statistics.over(labels_of(names))
        return self._believe(schema, statistics if before is None else before + statistics, names)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Unlearn rows that were learned, exactly: as if they had never been seen.

        Raises
        ------
        ValueError
            Where it can be seen that the rows were never learned; nothing is changed then.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> BayesianNB().fit(X, y).forget(X[:2], y[:2]).class_count_
        array([3., 9.])
        """
        check_is_fitted(self)
        self._require_own_prior("forget")
        self._require_counted("forget is exact for rows that were counted")
        if engines.streams(X):
            statistics = self._read_in_parts(X, y, sample_weight, self.schema_).statistics
            return self._believe(self.schema_, self.statistics_.without(statistics), self.classes_)
        table, y, weight = _weighed(*self._rows(X, y, sample_weight, known=True))
        _, statistics, _ = self._summary(table, y, weight, self.schema_)
        return self._believe(self.schema_, self.statistics_.without(statistics), self.classes_)

    def merge(self, other: Learner) -> Self:
        """Add what another estimator has learned from other rows, as if this one had seen them too.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> BayesianNB().fit(X[:6], y[:6]).merge(BayesianNB().fit(X[6:], y[6:])).class_count_
        array([5., 9.])
        """
        check_is_fitted(self)
        check_is_fitted(other)
        self._require_own_prior("merge")
        schema = self.schema_.merged(other.schema_)
        classes = classes_of(self.classes_, other.classes_)
        also = {"_expected": True} if hasattr(other, "_expected") else {}
        return self._believe(schema, self.statistics_ + other.statistics_, classes, **also)

    def _require_own_prior(self, verb: str) -> None:
        """Refuse to learn into a view, whose class prior is not what rows are learned with."""
        if getattr(self, "_view", False):
            raise ValueError(
                f"{verb} changes what was learned, and this is a view under another class prior; call it on the "
                "estimator that with_class_prior was asked of, and ask for the view again"
            )

    def _require_counted(self, what: str) -> None:
        """Refuse what expected rows cannot answer."""
        if hasattr(self, "_expected"):
            raise ValueError(
                f"{what}, and this model holds expected counts of unlabelled rows, which depend on all the others; "
                "fit the labelled rows alone for it"
            )

    def discount(self, factor: float) -> Self:
        """Weigh everything learned so far by a factor between 0 and 1, to forget slowly.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> BayesianNB().fit(X, y).discount(0.5).class_count_
        array([2.5, 4.5])
        """
        check_is_fitted(self)
        self._require_own_prior("discount")
        if not 0 <= factor <= 1:
            raise ValueError(f"Expected a factor between 0 and 1; got {factor!r}")
        return self._believe(self.schema_, self.statistics_ * factor, self.classes_)

    def _rows(self, X: Any, y: Any, sample_weight: Any, known: bool = False) -> tuple[Table, Target, Array]:
        """The table, labels and weights of rows that are or were learned, all of them labelled."""
        table, target, weight = self._any_rows(X, y, sample_weight, known)
        if not len(target.classes):
            raise ValueError(NO_LABEL)
        target.require_labels("only fit, and NUTS with the labels summed out, can use unlabelled rows")
        return table, target, weight

    def _any_rows(self, X: Any, y: Any, sample_weight: Any, known: bool = False) -> tuple[Table, Target, Array]:
        """The table, labels and weights of rows, labelled or not."""
        if y is None:
            raise ValueError("BayesianNB requires y to be passed, but the target y is None")
        table = self._table(X) if known else Table.of(X, min_rows=1)
        target = read_target(y, self.unlabelled)
        if len(target) != table.n_rows:
            raise ValueError(f"X has {table.n_rows} rows and y has {len(target)}")
        weight = every_row(len(target))
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, target.codes, dtype=np.float64, ensure_non_negative=True)
            if not weight.any():
                raise ValueError("sample_weight is zero for every row, so there is nothing to learn from")
        return table, target, weight

    def _table(self, X: Any) -> Table:
        """A table to read with the fitted schema; scikit-learn's own checks where it has no names."""
        table = Table.of(X)
        if not (self.schema_.named and table.named) and (
            self.schema_.named or table.named or len(table.names) != self.n_features_in_
        ):
            validate_data(self, X if table.named else table.source, reset=False, skip_check_array=True)
        return table

    def _summary(
        self, table: Table, y: Target, weight: Array, known: Schema | None = None
    ) -> tuple[Schema, Statistics, Array]:
        """What these rows say: the schema with their levels, their statistics, their classes."""
        labels = Labels(y.codes, weight, len(y.classes))
        # On trust first. Where that is not finite, a look at each cell refuses one by name, or finds a rare level.
        for cells in (table.on_trust(), table):
            schema = known or Schema.infer(cells, self.features, self.unseen, weight)
            schema, data = schema.read(cells, learn=True)
            statistics = schema.model(self._label_prior()).statistics(data, labels, labels_of(y.classes))
            if not cells.trust or statistics.finite():
                break
        return schema, statistics, y.classes

    def _believe(self, schema: Schema, statistics: Statistics, classes: Array, anew: bool = False, **also: Any) -> Self:
        """Work out all that follows from the statistics, and only then change anything, at one stroke.

        ``also`` are further fitted attributes; ``anew`` forgets those that are not among them.
        """
        rule = estimate_rule(self.estimate)
        if self.absent not in ("error", "missing"):
            raise ValueError(f"Expected absent to be 'error' or 'missing'; got {self.absent!r}")
        model = schema.model(self._label_prior())
        if rule.point == "mode":
            model.require_exact(f'estimate="{self.estimate}"', 'use "predictive" or "mean"')
        posterior = model.posterior(statistics)
        plug_in = posterior.plug_in(self.estimate) if rule.plugs_in else None
        if plug_in is None:
            posterior.require_proper()
        fitted = {
            "schema_": schema,
            "statistics_": statistics,
            "posterior_": posterior,
            "classes_": classes,
            "class_count_": statistics.rows,
            "_plug_in": plug_in,
            "_row_prior": None,
            "_view": False,
        }
        fitted["n_features_in_"] = len(schema.names)
        stale = {"feature_names_in_", *(("em_", "_expected", "content_hash_", "target_") if anew else ())}
        if schema.named and all(isinstance(name, str) for name in schema.names):
            fitted["feature_names_in_"] = np.array(schema.names, object)
        # One assignment, so that an interruption finds the old state or the new one.
        kept = {name: value for name, value in self.__dict__.items() if name not in stale}
        self.__dict__ = {"target_": None} | kept | fitted | also
        return self

    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(self.random_state)

    def _label_prior(self) -> Dirichlet | Known:
        prior = self.class_prior
        if prior is None:
            return Dirichlet()
        if isinstance(prior, Dirichlet | Known):
            return prior
        if isinstance(prior, str):
            if prior not in ("frequencies", "uniform"):
                raise ValueError(
                    "Expected class_prior to be a Dirichlet, {label: probability}, 'frequencies' or 'uniform'; "
                    f"got {prior!r}"
                )
            return Known(None if prior == "frequencies" else "uniform")
        try:
            values = list(prior.values()) if isinstance(prior, Mapping) else prior
            np.asarray(values, float)
            return Known(dict(prior) if isinstance(prior, Mapping) else prior)
        except (TypeError, ValueError) as error:
            raise ValueError(
                "Expected class_prior to be a Dirichlet, {label: probability}, 'frequencies' or 'uniform'; "
                f"got {prior!r} ({error})"
            ) from error


def _weighed(table: Table, y: Target, weight: Array) -> tuple[Table, Target, Array]:
    """The rows that weigh anything: the others must not even lend their levels and classes."""
    if weight.min() > 0:
        return table, y, weight
    keep = weight > 0
    return table.rows(keep), y.rows(keep), weight[keep]


def labelled_statistics(model: NaiveBayes, data: Data, y: Target, weight: Array, classes: Array) -> Statistics:
    """What the labelled rows say, with all classes."""
    rows = np.flatnonzero(y.labelled)
    members = Labels(y.among(classes)[rows], weight[rows], len(classes))
    return model.statistics(part_of(data, rows), members, labels_of(classes))
