"""The scikit-learn shell: names and checks around the model, and no formula.

:class:`BayesianNB` is the class most users want, and often the only one.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, column_or_1d
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from bayesnb import explain, unlabelled
from bayesnb.families.family import Family
from bayesnb.families.membership import Labels, blocks
from bayesnb.model import (
    ESTIMATES,
    Data,
    Estimate,
    Evidence,
    NaiveBayes,
    Parameters,
    Statistics,
    normalize,
)
from bayesnb.priors import Array, Dirichlet, ImproperError, Known
from bayesnb.schema import Schema
from bayesnb.tables import Table
from bayesnb.targets import NO_LABEL, classes_of, codes_of, labels_of, read_target

if TYPE_CHECKING:
    import pymc as pm
    from xarray import DataTree

    from bayesnb.agreement import Agreement


class BayesianNB(ClassifierMixin, BaseEstimator):
    """Naive Bayes classifier with conjugate priors, for any mixture of column types.

    Parameters
    ----------
    features : family, {column: family} or {name: (family, [columns])}, optional
        What is told of the columns; the others get a family by their type (bool and integers of 0 and 1:
        Bernoulli; text and categories: Categorical; numbers: Gaussian; a sparse matrix: Multinomial).
    class_prior : Dirichlet, {label: probability}, array, "frequencies" or "uniform", optional
        Prior of the class probabilities, Dirichlet(1) by default. Probabilities are taken as known; an
        array is in the order of ``classes_``.
    estimate : {"predictive", "mean", "map", "mle"}
        Which probabilities to predict: all parameters integrated out (full Bayes), or a plug-in at the
        posterior mean, at the posterior mode, or at the maximum of the likelihood.
    unseen : {"missing", "new", "error"}
        What a level is that no fit has seen: integrated out, the one reserved cell, or an error.
    absent : {"error", "missing"}
        What a fitted column is that a table to predict does not have.
    unlabelled : label, optional
        What stands for "no label" in ``y``, beside missing values (None, NaN, pd.NA): -1, for scikit-learn's
        semi-supervised convention. By default -1 is a class like any other.
    unlabelled_weight : float
        λ, what an unlabelled row counts beside a labelled one; 0 leaves unlabelled rows out.
    em_starts : int
        From how many starting points to fit rows without a label; the best is kept.
    random_state : int, Generator or None
        Seed of ``sample``, of ``sample_proba`` and of further starts; predictions need none.

    Attributes
    ----------
    classes_ : array (class,)
        Class labels, sorted.
    class_count_ : array (class,)
        Weight of the rows of each class.
    schema_ : Schema
        Which family reads which column.
    statistics_ : Statistics
        All that was kept of the rows. Statistics add.
    posterior_ : Posterior
        What is believed after the data.
    em_ : EM
        How the last ``fit`` with unlabelled rows went; only then. Its rows are those without a label (and with a
        weight), and ``statistics_`` are then the labelled rows' plus λ times the expected ones of these rows.
    n_features_in_ : int
    feature_names_in_ : array of str

    Notes
    -----
    Sample weights are frequency weights: 2 is the row seen twice. Of equally probable classes ``predict``
    takes the first. Every row is predicted by itself.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> today = X.iloc[[0]].assign(temperature="cool", wind="strong")
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.classes_
    array(['no', 'yes'], dtype=object)
    >>> clf.predict_proba(today).round(3)
    array([[0.735, 0.265]])
    """

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

    # Learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table, forgetting what was learned before.

        Parameters
        ----------
        X : table (row, column)
            pandas, polars, pyarrow, dict of columns, array or scipy.sparse; missing values are welcome.
        y : array (row,)
            Class labels. Rows without one (missing, or ``unlabelled``) are learned from by EM.
        sample_weight : array (row,), optional
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
        """
        table, y, weight, labelled = self._any_rows(X, y, sample_weight)
        unlabelled.require_settings(self.unlabelled_weight, self.em_starts)
        weight = np.where(labelled, weight, weight * self.unlabelled_weight)
        if not weight.any():
            raise ValueError(NO_LABEL)
        labelled = labelled[weight > 0]
        table, y, weight = _weighed(table, y, weight)
        schema = Schema.infer(table, self.features, self.unseen, weight)
        if not labelled.all():
            return self._fit_by_em(schema, table, y, weight, labelled)
        schema, statistics, classes = self._summary(schema, table, y, weight)
        self._believe(schema, statistics, classes)
        for name in ("em_", "_expected"):
            self.__dict__.pop(name, None)
        return self

    def _fit_by_em(self, schema: Schema, table: Table, y: Array, weight: Array, labelled: Array) -> Self:
        """Learn from rows of which some have no label; their weights have λ in them."""
        schema, data = schema.read(table, learn=True)
        classes = self._named_classes(schema, np.unique(y[labelled]))
        if not labelled.any() and len(classes) < 2:
            raise ValueError(f"{NO_LABEL}; label some rows, or give a feature priors that differ, as {{class: prior}}")
        model = schema.model(self._label_prior())
        free = np.flatnonzero(~labelled)
        em = unlabelled.em(
            model.flat() if self.estimate == "mle" else model,
            _labelled_statistics(model, data, y, weight, labelled, classes),
            _part(data, free),
            len(free),
            row_weight=weight[free],
            at="map" if self.estimate in ("map", "mle") else "mean",
            starts=self.em_starts,
            rng=self._generator(),
        )
        self._believe(schema, em.statistics, classes)
        self.em_, self._expected = em, True
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
        """Learn from more rows; new classes and new levels are welcome.

        ``classes`` may name classes that have no row yet; it is never needed.
        """
        if not hasattr(self, "statistics_"):
            table, y, weight = _weighed(*self._rows(X, y, sample_weight))
            schema = Schema.infer(table, self.features, self.unseen, weight)
            before, known = None, np.asarray([], y.dtype)
        else:
            table, y, weight = _weighed(*self._rows(X, y, sample_weight, known=True))
            schema, before, known = self.schema_, self.statistics_, self.classes_
        schema, statistics, found = self._summary(schema, table, y, weight)
        names = classes_of(known, found, known[:0] if classes is None else column_or_1d(classes))
        statistics = statistics.over(labels_of(names))
        return self._believe(schema, statistics if before is None else before + statistics, names)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Unlearn rows that were learned, exactly: as if they had never been seen.

        Raises
        ------
        ValueError
            Where it can be seen that the rows were never learned; nothing is changed then.
        """
        check_is_fitted(self)
        self._require_counted("forget is exact for rows that were counted")
        table, y, weight = _weighed(*self._rows(X, y, sample_weight, known=True))
        _, statistics, _ = self._summary(self.schema_, table, y, weight)
        return self._believe(self.schema_, self.statistics_.without(statistics), self.classes_)

    def merge(self, other: BayesianNB) -> Self:
        """Add what another estimator has learned from other rows, as if this one had seen them too."""
        check_is_fitted(self)
        check_is_fitted(other)
        schema = self.schema_.merged(other.schema_)
        classes = classes_of(self.classes_, other.classes_)
        self._believe(schema, self.statistics_ + other.statistics_, classes)
        if hasattr(other, "_expected"):
            self._expected = True
        return self

    def _require_counted(self, what: str) -> None:
        """Refuse what expected rows cannot answer."""
        if hasattr(self, "_expected"):
            raise ValueError(
                f"{what}, and this model holds expected counts of unlabelled rows, which depend on all the others; "
                "fit the labelled rows alone for it"
            )

    def discount(self, factor: float) -> Self:
        """Weigh everything learned so far by a factor between 0 and 1, to forget slowly."""
        check_is_fitted(self)
        if not 0 <= factor <= 1:
            raise ValueError(f"Expected a factor between 0 and 1; got {factor!r}")
        return self._believe(self.schema_, self.statistics_ * factor, self.classes_)

    def _rows(self, X: Any, y: Any, sample_weight: Any, known: bool = False) -> tuple[Table, Array, Array]:
        """The table, labels and weights of rows that are or were learned, all of them labelled."""
        table, y, weight, labelled = self._any_rows(X, y, sample_weight, known)
        if not labelled.any():
            raise ValueError(NO_LABEL)
        if not labelled.all():
            raise ValueError(
                f"y is missing in {int((~labelled).sum())} of {len(y)} rows, first in row "
                f"{int(np.flatnonzero(~labelled)[0])}: only fit, and NUTS with the labels summed out, can use "
                "unlabelled rows; drop those rows"
            )
        return table, y, weight

    def _any_rows(self, X: Any, y: Any, sample_weight: Any, known: bool = False) -> tuple[Table, Array, Array, Array]:
        """The table, labels and weights of rows, and which are labelled; the others' label is a filler."""
        if y is None:
            raise ValueError("BayesianNB requires y to be passed, but the target y is None")
        table = self._table(X) if known else Table.of(X, min_rows=1)
        y, labelled = read_target(y, self.unlabelled)
        if len(y) != table.n_rows:
            raise ValueError(f"X has {table.n_rows} rows and y has {len(y)}")
        weight = np.ones(len(y))
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, y, dtype=np.float64, ensure_non_negative=True)
            if not weight.any():
                raise ValueError("sample_weight is zero for every row, so there is nothing to learn from")
        return table, y, weight, labelled

    def _table(self, X: Any) -> Table:
        """A table to read with the fitted schema; scikit-learn's own checks where it has no names."""
        table = Table.of(X)
        if not (self.schema_.named and table.named):
            validate_data(self, X if table.named else table.source, reset=False, skip_check_array=True)
        return table

    def _summary(self, schema: Schema, table: Table, y: Array, weight: Array) -> tuple[Schema, Statistics, Array]:
        """What these rows say: the schema with their levels, their statistics, their classes."""
        schema, data = schema.read(table, learn=True)
        classes, codes = np.unique(y, return_inverse=True)
        labels = Labels(codes.astype(np.intp), weight, len(classes))
        return schema, schema.model(self._label_prior()).statistics(data, labels, labels_of(classes)), classes

    def _believe(self, schema: Schema, statistics: Statistics, classes: Array) -> Self:
        """Work out all that follows from the statistics, and only then change anything."""
        if self.estimate not in ESTIMATES:
            raise ValueError(f"Expected estimate to be one of {list(ESTIMATES)}; got {self.estimate!r}")
        if self.absent not in ("error", "missing"):
            raise ValueError(f"Expected absent to be 'error' or 'missing'; got {self.absent!r}")
        model = schema.model(self._label_prior())
        if self.estimate in ("mle", "map"):
            model.require_exact(f'estimate="{self.estimate}"', 'use "predictive" or "mean"')
        posterior = model.posterior(statistics)
        plug_in = None if self.estimate == "predictive" else posterior.plug_in(self.estimate)
        if plug_in is None:
            posterior.require_proper()
        fitted = {
            "schema_": schema,
            "statistics_": statistics,
            "posterior_": posterior,
            "classes_": classes,
            "class_count_": statistics.rows,
            "_plug_in": plug_in,
        }
        fitted["n_features_in_"] = len(schema.names)
        self.__dict__.pop("feature_names_in_", None)
        if schema.named and all(isinstance(name, str) for name in schema.names):
            fitted["feature_names_in_"] = np.array(schema.names, object)
        self.__dict__.update(fitted)
        return self

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

    # Predicting

    def _encoded(self, X: Any) -> tuple[Data, int]:
        check_is_fitted(self)
        table = self._table(X)
        return self.schema_.read(table, absent=self.absent)[1], table.n_rows

    def _log_joint(self, X: Any) -> Array:
        data, n = self._encoded(X)
        if self._plug_in is not None:
            return self._plug_in.log_joint(data, n)
        return self.posterior_.log_predictive(data, n)

    def predict(self, X: Any) -> Array:
        """The most probable class of each row, (row,)."""
        log_joint = self._log_joint(X)
        normalize(log_joint)
        return self.classes_[log_joint.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Array:
        """p(c | x, D) by the chosen estimate, (row, class).

        Raises
        ------
        ImpossibleRowError
            If a row has probability 0 under every class (only plug-ins can say so).
        """
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Array:
        """log p(c | x, D), (row, class)."""
        return normalize(self._log_joint(X))

    def predict_joint_log_proba(self, X: Any) -> Array:
        """log p(c, x | D), (row, class): not normalized, so its logsumexp says how probable the row is."""
        return self._log_joint(X)

    def sample_proba(self, X: Any, draws: int = 1000) -> Array:
        """p(c | x, θ) at exact independent posterior draws of θ, (draw, row, class).

        Their spread is the uncertainty of the class probability. Their mean is not ``predict_proba``, which
        is a ratio of averages and not an average of ratios.
        """
        data, n = self._encoded(X)
        if draws < 1:
            raise ValueError(f"Expected at least one draw; got {draws!r}")
        rng = self._generator()
        parts = [self.posterior_.draw(rng, (cut.stop - cut.start,)) for cut in _cuts(draws, 512)]
        return np.concatenate([np.exp(normalize(part.log_joint(data, n))) for part in parts])

    def loo(self, X: Any, y: Any, sample_weight: Any = None) -> pd.DataFrame:
        """Exact leave-one-out predictive of rows that were learned.

        Parameters
        ----------
        X, y, sample_weight
            The rows, as they were learned. The estimator keeps no rows, so they are asked for again.

        Returns
        -------
        DataFrame (row, ...)
            ``log_density``, log p(x_i, y_i | D without row i); and under ``probability`` one column a class,
            p(c | x_i, D without row i). By the chosen estimate. A prior that was scaled to the data keeps
            that scale.
        """
        log_joint, codes = self._left_out(X, y, sample_weight, self.estimate)
        proba = np.exp(normalize(log_joint))
        columns = {("log_density", ""): log_joint[np.arange(len(codes)), codes]}
        columns |= {("probability", label): proba[:, c] for c, label in enumerate(self.classes_)}
        return pd.DataFrame(columns, index=X.index if isinstance(X, pd.DataFrame) else None)

    def _left_out(self, X: Any, y: Any, sample_weight: Any, estimate: Estimate) -> tuple[Array, Array]:
        check_is_fitted(self)
        self._require_counted("leave-one-out is exact for rows that were counted")
        table, y, weight = self._rows(X, y, sample_weight, known=True)
        _, data = self.schema_.read(table)
        codes = codes_of(self.classes_, y)
        labels = Labels(codes, weight, len(self.classes_))
        return self.posterior_.log_left_out(data, labels, estimate), codes

    def sample(self, n: int = 1, label: Any = None) -> pd.DataFrame:
        """New rows from the model, with a column for the class.

        Parameters
        ----------
        n : int
        label : optional
            A class to sample from; by default each row draws its own.

        Returns
        -------
        DataFrame (n, ...)
            The label under "y" (or "y_" if a column is called so), then the fitted columns. With
            ``estimate="predictive"`` each row has its own draw of the parameters.
        """
        check_is_fitted(self)
        chosen = None if label is None else int(codes_of(self.classes_, np.asarray([label]))[0])
        return self._sample_rows(n, chosen, self._generator())

    def _sample_rows(self, n: int, chosen: int | None, rng: np.random.Generator) -> pd.DataFrame:
        parts = [self._sample_block(cut.stop - cut.start, chosen, rng) for cut in _cuts(n, 1024)]
        return pd.concat(parts, ignore_index=True) if parts else self._sample_block(0, chosen, rng)

    def _sample_block(self, n: int, chosen: int | None, rng: np.random.Generator) -> pd.DataFrame:
        theta = self.posterior_.draw(rng, (n,)) if self._plug_in is None else self._plug_in.repeated(n)
        noisy = theta.log_pi + rng.gumbel(size=theta.log_pi.shape)
        codes = noisy.argmax(-1) if chosen is None else np.full(n, chosen)
        own = theta.at((np.arange(n), codes))
        encoded = {
            name: family.sample(own.features[name], rng, self.statistics_.features[name])
            for name, family in self.posterior_.model.features.items()
        }
        frame = self.schema_.decode(encoded)
        frame.insert(0, "y" if "y" not in frame else "y_", self.classes_[codes])
        return frame

    # The sampler's road

    def to_pymc(self, X: Any = None, y: Any = None, likelihood: str = "sufficient") -> pm.Model:
        """The fitted model written out in PyMC.

        Parameters
        ----------
        X, y : table and labels, optional
            The rows to observe with ``likelihood="rows"``; they must be those that were learned. Where some have
            no label, it is summed out, in a Potential ``unlabelled``. (Without them, the expected counts that EM
            arrived at are observed as if they were counts.)
        likelihood : {"sufficient", "rows"}
            Observe what was learned as sufficient statistics, at a cost that does not grow with the rows, or
            row by row. Both have the same log density.
        """
        from bayesnb import generative

        check_is_fitted(self)
        if likelihood == "rows":
            self._require_counted("likelihood='rows' observes the label of every row")
        elif (summed_out := self._summed_out(X, y)) is not None:
            return summed_out
        data = codes = None
        if X is not None:
            table, y, weight = self._rows(X, y, None, known=True)
            data, codes = self.schema_.read(table)[1], codes_of(self.classes_, y)
            if not np.isclose(weight.sum(), self.class_count_.sum()):
                raise ValueError(
                    f"{len(y)} rows were given and rows of weight {self.class_count_.sum():g} were learned: "
                    "likelihood='rows' observes exactly the learned rows, unweighted"
                )
        return generative.build(self.posterior_, data, codes, likelihood)

    def _summed_out(self, X: Any, y: Any) -> pm.Model | None:
        """The PyMC model of learned rows of which some have no label; ``None`` where all have one."""
        if X is None or y is None:
            return None
        table, y, weight, labelled = self._any_rows(X, y, None, known=True)
        if labelled.all():
            return None
        weight = np.where(labelled, weight, weight * self.unlabelled_weight)
        if not np.isclose(weight.sum(), self.class_count_.sum()):
            raise ValueError(
                f"rows of weight {weight.sum():g} were given and rows of weight {self.class_count_.sum():g} were "
                "learned: pass exactly the rows that were learned, with the unlabelled ones, and no sample weights"
            )
        data = self.schema_.read(table)[1]
        counted = _labelled_statistics(self.posterior_.model, data, y, weight, labelled, self.classes_)
        free = np.flatnonzero(~labelled)
        return unlabelled.build(self.posterior_, counted, _part(data, free), len(free), row_weight=weight[free])

    def sample_posterior(
        self,
        draws: int = 1000,
        chains: int = 4,
        sampler: str = "exact",
        random_seed: Any = None,
        X: Any = None,
        y: Any = None,
        include: Sequence[str] = (),
        **arguments: Any,
    ) -> DataTree:
        """Posterior draws of all parameters as an ArviZ ``DataTree``.

        Parameters
        ----------
        draws, chains : int
        sampler : {"exact", "nuts"}
            Independent draws of the conjugate posterior, or NUTS on the PyMC model. Variables, dimensions and
            coordinates are the same.
        random_seed : int, optional
            ``random_state`` where not given.
        X, y : table and labels, optional
            Rows for ``include``; they also join ``observed_data``, as class codes and encoded columns. For "nuts",
            the learned rows, where some have no label: it is summed out.
        include : of "posterior_predictive", "prior_predictive", "log_likelihood"
            Replicates of those rows from every draw, and log p(x_i, y_i | θ) as ``joint`` for ``arviz.loo``.
        **arguments
            Of ``pymc.sample``, for "nuts".

        Returns
        -------
        DataTree
            Groups ``posterior``, ``prior`` (where it is proper), ``observed_data`` and ``constant_data``;
            ``sample_stats`` for "nuts".

        Warns
        -----
        UserWarning
            If NUTS did not converge, with r_hat, effective draws and divergences.
        """
        from bayesnb import agreement, generative
        from bayesnb import draws as drawing

        check_is_fitted(self)
        if sampler not in ("exact", "nuts"):
            raise ValueError(f"Expected sampler to be 'exact' or 'nuts'; got {sampler!r}")
        if arguments and sampler == "exact":
            raise TypeError(f"exact draws take no arguments of pymc.sample; got {sorted(arguments)}")
        seed = self.random_state if random_seed is None else random_seed
        rng = np.random.default_rng(seed)
        groups = drawing.exact(self.posterior_, rng, (chains, draws))
        if sampler == "nuts":
            summed_out = self._summed_out(X, y)
            sampled = generative.sample(self.posterior_, draws, chains, seed, summed_out, **arguments)
            groups["posterior"] = {name: sampled["posterior"][name].to_numpy() for name in groups["posterior"]}
        if include or (X is not None and not (sampler == "nuts" and summed_out is not None)):
            groups |= self._row_groups(groups, X, y, include, rng)
        tree = drawing.tree(groups, self.posterior_)
        if sampler == "exact":
            return tree
        tree["sample_stats"] = sampled["sample_stats"]
        convergence = agreement.Convergence.of(tree)
        if not convergence.converged:
            warnings.warn(f"NUTS did not converge: {convergence}", UserWarning, stacklevel=2)
        return tree

    def _row_groups(
        self, groups: Mapping[str, Any], X: Any, y: Any, include: Sequence[str], rng: np.random.Generator
    ) -> dict[str, Any]:
        """The groups that speak of rows."""
        from bayesnb import draws as drawing

        known = ("posterior_predictive", "prior_predictive", "log_likelihood")
        if odd := set(include) - set(known):
            raise ValueError(f"Expected include to be of {list(known)}; got {sorted(odd)}")
        if X is None or y is None:
            raise ValueError("include speaks of rows: pass them as X and y")
        table, y, _ = self._rows(X, y, None, known=True)
        data, codes = self.schema_.read(table)[1], codes_of(self.classes_, y)
        layout = drawing.blocks(self.posterior_.model, self.statistics_)
        found = {"observed_data": {"y": codes, **drawing.observed(data, layout)}}
        for group in set(include) - {"log_likelihood"}:
            source = group.removesuffix("_predictive")
            if source not in groups:
                raise ImproperError(f"{group} needs a proper prior for every feature")
            drawn = drawing.from_variables(groups[source], layout, self.posterior_)
            found[group] = drawing.predictive(drawn, self.statistics_, len(codes), rng, layout)
        if "log_likelihood" in include:
            drawn = drawing.from_variables(groups["posterior"], layout, self.posterior_)
            joint = drawn.log_joint(data, len(codes))
            found["log_likelihood"] = {"joint": joint[..., np.arange(len(codes)), codes]}
        return found

    def verify(
        self,
        X: Any = None,
        sampler: str = "nuts",
        draws: int = 1000,
        chains: int = 4,
        random_seed: Any = None,
        **arguments: Any,
    ) -> Agreement:
        """Hold the closed form against sampled draws.

        Parameters
        ----------
        X : table, optional
            Rows whose factors and class predictive are compared; 20 rows drawn from the model if not given.
        sampler : {"nuts", "exact"}
            The independent judge, or exact draws (which judge the predictives but not the posterior).

        Returns
        -------
        Agreement
            ``.agrees``, ``.to_frame()``, ``.plug_ins``, ``.plot()``.

        Raises
        ------
        ConvergenceError
            If the chains did not converge.
        """
        from bayesnb import agreement

        check_is_fitted(self)
        seed = self.random_state if random_seed is None else random_seed
        if X is None:
            frame = self._sample_rows(20, None, np.random.default_rng(seed))
            X = frame.drop(columns=frame.columns[0])
        data, n = self._encoded(X)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="NUTS did not converge")
            tree = self.sample_posterior(draws, chains, sampler, seed, **arguments)
        return agreement.check(self.posterior_, tree, data, n, sampler)

    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(self.random_state)

    # Looking inside

    @property
    def log_evidence_(self) -> Evidence:
        """Log marginal likelihood of what was learned: ``.joint`` is log p(X, y), ``.conditional`` log p(X | y)."""
        check_is_fitted(self)
        self._require_counted("rows that were counted have a marginal likelihood")
        return self.posterior_.log_evidence()

    def _point(self) -> Parameters:
        """The parameters to show: those plugged in, or the posterior mean."""
        check_is_fitted(self)
        return self.posterior_.mean() if self._plug_in is None else self._plug_in

    def tables(self) -> dict[Any, pd.DataFrame]:
        """The parameters of each feature as a table, and the class probabilities under "(class)".

        At the chosen estimate (the posterior mean for "predictive"): probabilities of levels, "mean" and "sd"
        of reals, "rate" of counts; one row a class (and column).
        """
        point = self._point()
        return explain.parameter_tables(self.schema_, point, self.classes_)

    def linear_form(self) -> tuple[pd.DataFrame, pd.Series]:
        """The classifier as softmax regression: p(c | x) ∝ exp(γ_c + β_c · φ(x)).

        Returns
        -------
        weights : DataFrame (term, class)
            β. A term is (column, level) for a categorical feature, where φ is 1 at the level the row has,
            and (column, "") for a number, where φ is its value.
        intercept : Series (class,)
            γ.

        Raises
        ------
        ValueError
            Where the log-odds are not linear, naming the feature: Gaussians whose variance differs between
            classes, and predictives that are not plug-ins (use ``estimate="mean"``).

        References
        ----------
        Murphy, PML1, 9.3.3; Mitchell (2017), Generative and discriminative classifiers.
        """
        point = self._point()
        return explain.linear_form(self.schema_, point, self.classes_, self.estimate)

    def describe(self) -> pd.DataFrame:
        """One row a feature: family, prior, columns, levels, share of missing values, why this family."""
        check_is_fitted(self)
        return self.schema_.describe(self.statistics_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        # `sparse` promises any floats and `string` any object; counts and text are welcome all the same.
        return tags


def _weighed(table: Table, y: Array, weight: Array) -> tuple[Table, Array, Array]:
    """The rows that weigh anything: the others must not even lend their levels and classes."""
    keep = weight > 0
    return table.rows(keep), y[keep], weight[keep]


def _part(data: Data, rows: Array) -> Data:
    """Some rows of encoded columns."""
    return {name: x[rows] for name, x in data.items()}


def _labelled_statistics(
    model: NaiveBayes, data: Data, y: Array, weight: Array, labelled: Array, classes: Array
) -> Statistics:
    """What the labelled rows say, with all classes."""
    rows = np.flatnonzero(labelled)
    members = Labels(codes_of(classes, y[rows]), weight[rows], len(classes))
    return model.statistics(_part(data, rows), members, labels_of(classes))


def _cuts(n: int, size: int) -> list[slice]:
    """Slices that cover ``n`` exactly."""
    return [slice(cut.start, min(cut.stop, n)) for cut in blocks(n, size)] if n else []
