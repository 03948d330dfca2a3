"""An immutable fitted model, with methods for predictions and other analyses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesnb.chains import GOOD_K
from bayesnb.data.choice import FamilyChoice
from bayesnb.data.new_rows import warn_of_rows
from bayesnb.data.rows import TrainingRows
from bayesnb.data.schema import Schema
from bayesnb.data.specifications import Unlabelled
from bayesnb.data.tables import Table
from bayesnb.dependence.learned import Dependence
from bayesnb.em import EM
from bayesnb.families.sampled import LeftOut
from bayesnb.inference.believed import Believed
from bayesnb.inference.later_dates import warn_of_later_dates
from bayesnb.inference.methods import FittedModel
from bayesnb.model import Data, DrawnPosterior, Estimate, Evidence, ImpossibleRowError, Posterior, Statistics
from bayesnb.priors import Array
from bayesnb.statistics.statistic import Labels
from bayesnb.wording import Message, RefusedError, RefusedRowsError, Spelled, rows_at, warn

OTHER_ROWS = Message(
    "give also the weights with which the rows were learned, if they had any ({weight}); to score a model on other "
    "rows, use {cure}",
    weight=Spelled("sample_weight=", "--weight"),
    cure=Spelled("evaluate or scorecard with cv=None", "bayesnb score"),
)

HEAVIEST = 2.0**53
"""Largest weight of a row that can be left out; a larger weight plus a prior worth one row rounds to the weight."""


@dataclass(frozen=True, eq=False, repr=False)
class Classifier(FittedModel):
    """A fitted model as an immutable object, which may be shared by threads.

    A classifier holds sums over the learned rows and, with ``dependence="auto"`` and at most 4,096 rows, all rows.

    A fitted :class:`bayesnb.BayesianNB` delegates predictions and analyses to its attribute ``classifier_``.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> before = clf.classifier_
    >>> clf = clf.partial_fit(X, y)
    >>> before.posterior.statistics.rows, clf.class_count_
    (array([5., 9.]), array([10., 18.]))
    """

    # ``expected`` is true if the statistics include expected counts of unlabelled rows. ``em`` is the result of EM.
    # ``declared`` are the classes named by ``classes=`` or by the type of the labels. ``reading`` holds the
    # command-line options for reading the file. ``record`` holds the name of the learned table and the scores of its
    # rows.

    schema: Schema
    believed: Believed
    classes: Array
    declared: tuple[Any, ...] = ()
    expected: bool = False
    em: EM | None = None
    target: Any = None
    reading: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    record: Mapping[str, Any] = field(default_factory=dict)
    absent: str = "error"
    unlabelled: Any = None
    seed: Any = None

    def __repr__(self) -> str:
        return f"Classifier({len(self.schema.features)} features, classes {self.classes.tolist()})"

    @property
    def classifier_(self) -> Classifier:
        """The classifier itself."""
        return self

    @property
    def classes_(self) -> Array:
        """The class labels, (class,)."""
        return self.classes

    @property
    def named_classes(self) -> tuple[Any, ...]:
        """The classes that the user or a prior named, including classes without rows."""
        return tuple(dict.fromkeys([*self.declared, *self.posterior.model.named_classes(self.classes.tolist())]))

    @property
    def unknown(self) -> Any:
        """The label that represents all classes without rows, or ``None``."""
        return self.posterior.model.unknown

    @property
    def posterior(self) -> Posterior | DrawnPosterior:
        return self.believed.posterior

    @property
    def estimate(self) -> Estimate:
        return self.believed.estimate

    @property
    def dependence(self) -> Dependence | None:
        return self.believed.dependence

    @property
    def statistics(self) -> Statistics:
        return self.posterior.statistics

    @property
    def feature_names(self) -> Array:
        """Column names of the first table; ``AttributeError`` unless all are strings."""
        if not (self.schema.named and all(isinstance(name, str) for name in self.schema.raw)):
            raise AttributeError("feature_names_in_ does not exist: the columns were fitted without names")
        return np.array(self.schema.raw, object)

    def read(self, X: Any, predicts: bool = False) -> tuple[Data, int]:
        """The encoded columns of a table, and its number of rows; if ``predicts`` is true, warn of later dates."""
        table = self.schema.table_of(X)
        self.believed.posterior.warn_of_chains()
        data = self.encoded_table(table)
        if predicts and self.schema.readings:
            warn_of_later_dates(self, table, data)
        return data, table.n_rows

    def encoded_table(self, table: Table) -> Data:
        """The encoded columns of a table of rows; warn about unseen levels and unknown words."""
        if (each := np.shape(self.believed.offset)[:1]) and each != (table.n_rows,):
            raise ValueError(f"this classifier has a class prior for each of {each[0]} rows; got {table.n_rows} rows")
        data = self.schema.read(self._without_dropped(table), absent=self.absent)[1]
        tells = self.absent == "missing" and self.dependence is not None and self.dependence.statistics.cells.gaps_tell
        learned = self.statistics if tells or self.reading else None
        warn_of_rows(self.schema, table, data, self.reading, learned, tells)
        return data

    def _without_dropped(self, table: Table) -> Table:
        """The table without the class column and without columns that the user left out of the fit."""
        if not (self.schema.named and table.named):
            return table
        known = {*self.reading.get("drop", ()), self.target}.intersection(table.place).difference(self.schema.names)
        return table.without([*known]) if known else table

    @property
    def unlabelled_rows(self) -> Unlabelled:
        return Unlabelled.of(self.unlabelled)

    def rows(self, X: Any, y: Any, sample_weight: Any = None) -> TrainingRows:
        return TrainingRows.of(X, y, sample_weight, self.unlabelled_rows.marker, self.schema)

    def encoded(self, rows: TrainingRows, absent: str | None = None) -> tuple[Data, Labels]:
        """Encode the columns, classes and weights of rows."""
        self.posterior.warn_of_chains()
        table = self.schema.through(rows.table)
        with rows_at(rows.places):
            _, data = self.schema.read(self._without_dropped(table), absent=absent)
        return data, Labels(rows.target.among(self.classes), rows.weight, len(self.classes))

    def learned(self, X: Any, y: Any, sample_weight: Any, whole: bool = False) -> tuple[Data, Labels]:
        """Encode learned rows, to leave each of them out; if ``whole`` is true, all learned rows are required."""
        self.require_one_class_prior("leave-one-out")
        self.require_counted("leave-one-out is exact for rows that were counted")
        rows = self.rows(X, y, sample_weight).labelled()
        if (largest := rows.weight.max()) > HEAVIEST:
            raise ValueError(
                f"a row has the weight {largest:g}, beside which no digit of the prior is left, so no row can be left "
                "out: divide the sample_weight of all rows by the same number"
            )
        data, labels = self.encoded(rows)
        if whole and isinstance(self.posterior, Posterior):  # A posterior of draws leaves no row out.
            self.require_learned(labels.weights())
        return data, labels

    def require_learned(self, weights: Array, otherwise: str | Message = OTHER_ROWS) -> None:
        """Raise ``ValueError`` unless ``weights``, (class,), are the total weights of each class's learned rows."""
        if not np.allclose(weights, self.statistics.rows):
            both = self.statistics.rows.tolist(), weights.tolist()
            learned, given = (
                ", ".join(f"{n:,.10g} of {label!r}" for label, n in zip(self.classes.tolist(), each, strict=True))
                for each in both
            )
            raise RefusedError(
                "Expected exactly the learned rows, {learned}; got {given}: {otherwise}",
                learned=learned, given=given, otherwise=otherwise, expected=both[0], value=both[1],
            )  # fmt: skip

    def log_left_out(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Array, Array]:
        """Leave-one-out log p(class, row) of learned rows, (row, class), and the class codes, (row,)."""
        return self.left_out(X, y, sample_weight)[:2]

    def left_out(
        self, X: Any, y: Any, sample_weight: Any, refit: bool = False, whole: bool = False
    ) -> tuple[Array, Array, dict[Any, LeftOut]]:
        """Leave-one-out log p(class, row), (row, class), class codes, and diagnostics of features sampled by MCMC."""
        # refit: whether to run MCMC again without a row whose importance weights are unreliable
        data, labels = self.learned(X, y, sample_weight, whole)
        log_joint, sampled = self.believed.left_out(data, labels, refit)
        warn_of_weights(self.schema, sampled)
        return log_joint, labels.codes, sampled

    def __getstate__(self) -> dict[str, Any]:
        # Each dictionary is copied in one step, because another thread may add a cache.
        return _still(vars(self).copy(), {})

    def generator(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    @property
    def fixed_seed(self) -> Any:
        """A copy of the seed (0 if there is none), so that each call gives the same answer."""
        return 0 if self.seed is None else deepcopy(self.seed)

    def require_one_class_prior(self, question: str) -> None:
        if each := np.shape(self.believed.offset)[:1]:
            raise ValueError(
                f"{question} needs one class prior, and this classifier has one for each of {each[0]} rows; "
                "use the estimator that with_class_prior was called with"
            )

    if not TYPE_CHECKING:  # A type checker that sees __getattr__ would accept every attribute name.

        def __getattr__(self, name: str) -> Any:
            """Raise ``AttributeError``; for methods that learn or save, the message says to call the estimator."""
            if name in ("fit", "partial_fit", "forget", "merge", "discount", "save"):
                said = f"Classifier has no {name!r}, because it cannot learn: call clf.{name}(...) on the BayesianNB"
                raise AttributeError(f"{said} that it was made from, then make it anew", name=name, obj=self)
            return object.__getattribute__(self, name)

    def require_two_classes(self) -> None:
        if len(self.classes) < 2:
            raise ValueError(f"there are no odds with one class, {self.classes.tolist()[0]!r}")

    def require_counted(self, question: str) -> None:
        if self.expected:
            raise ValueError(
                f"{question}, and this model holds expected counts of unlabelled rows, which depend on all the others; "
                "fit the labelled rows alone for it"
            )

    # The same data with another class prior or estimate

    def with_estimate(self, estimate: Estimate) -> Classifier:
        """A classifier with another estimate and the same posterior.

        Raises
        ------
        ValueError
            If the estimate is unknown or does not exist for these data.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X, y)
        >>> clf.classifier_.with_estimate("mle").predict_proba(X[:1]).round(3)
        array([[0.795, 0.205]])
        """
        return replace(self, believed=self.believed.with_estimate(estimate))

    def with_draws(self, drawn: DrawnPosterior) -> Classifier:
        """A classifier whose posterior consists of the given draws of the parameters."""
        self.require_one_class_prior("from_draws")
        self.believed.require_naive("draws of the parameters do not include the exponents")
        believed = replace(self.believed, posterior=drawn).with_estimate(self.estimate)
        return replace(self, believed=believed, expected=False, em=None)

    def with_dependence(self, dependence: Dependence | None) -> Classifier:
        return replace(self, believed=self.believed.with_dependence(dependence))

    @property
    def exponents_(self) -> pd.DataFrame:
        """The exponents (powers of the terms' likelihoods) as a table; ``AttributeError`` for naive Bayes.

        Columns are the posterior ``mean`` and ``sd``, and the ends ``lower`` and ``upper`` of the 89 % interval.
        ``log_bayes_factor``, in nats, compares the learned exponent with an exponent fixed at its prior mean. With
        "auto", which averages several models, the table describes the model with all terms, as in
        ``sample_posterior(stage="exponents")``. ``attrs["rows"]`` is the total weight of the rows from which the
        exponents were learned. ``attrs["older"]`` is true if rows were learned or forgotten after the exponents were
        learned.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> BayesianNB(dependence="weighted").fit(X, y).exponents_[["mean", "sd"]].round(1)
                     mean   sd
        term
        outlook       1.0  0.3
        temperature   0.9  0.3
        humidity      1.0  0.3
        wind          1.0  0.3
        """
        if self.dependence is None or self.dependence.spec.forests:
            raise AttributeError('exponents_ does not exist: fit with dependence="weighted" or another one')
        return self.dependence.table()

    def log_evidence(self) -> Evidence:
        """The log evidence (marginal likelihood); ``ValueError`` if it does not exist."""
        self.require_one_class_prior("the evidence")
        self.require_counted("rows that were counted have a marginal likelihood")
        return self.posterior.log_evidence()

    @property
    def log_evidence_(self) -> Evidence:
        """Log marginal likelihood of the learned rows: ``.joint`` is log p(X, y), and ``.conditional`` is log p(X | y).

        With a ``dependence``, the value is still the evidence of naive Bayes. To compare dependences, use ``evaluate``
        with ``cv=5``.

        Raises
        ------
        AttributeError
            If a prior is improper, a feature is sampled by MCMC, or some learned rows had no label.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> clf = BayesianNB().fit(X, y)
        >>> round(clf.log_evidence_.joint, 2), round(clf.log_evidence_.features["outlook"], 2)
        (-65.36, -16.49)
        """
        try:
            return self.log_evidence()
        except ValueError as error:
            # Python and scikit-learn read every attribute to list or show it, so a property may only raise
            # AttributeError.
            raise AttributeError(f"log_evidence_ does not exist: {error}") from error

    @property
    def choice(self) -> FamilyChoice:
        """The families chosen from the first rows, and all candidates; ``AttributeError`` if no family was chosen.

        Examples
        --------
        >>> from bayesnb import BayesianNB, BestFamily, Gaussian, datasets
        >>> from bayesnb.families import LogNormal
        >>> X, y = datasets.heights()
        >>> clf = BayesianNB(BestFamily([Gaussian(), LogNormal()])).fit(X, y)
        >>> clf.classifier_.choice.table[["log_score", "chosen"]].round(2)
                             log_score  chosen
        column    family
        height_cm Gaussian      -18.42    True
                  LogNormal     -18.47   False
        weight_kg Gaussian      -18.45   False
                  LogNormal     -18.42    True
        """
        each = {name: (f.family, f.tried) for name, f in self.schema.features.items() if f.tried}
        if not each:
            raise AttributeError('there is no choice: no column has chosen its family; fit with features="best"')
        return FamilyChoice.of(each)


def index_of(X: Any) -> pd.Index | None:
    """The index of a pandas table; ``None`` for other tables."""
    frame = X.source if isinstance(X, Table) else X
    return frame.index if isinstance(frame, pd.DataFrame) else None


class FarRowError(RefusedRowsError):
    """A row is so far from all learned rows (1e154 standard deviations) that the squared distance overflows.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import BayesianNB, odds
    >>> clf = BayesianNB().fit({"size": np.arange(6) * 1e-100}, [0, 0, 0, 1, 1, 1])
    >>> clf.predict_proba({"size": [1e60]}).round(1)
    array([[0.5, 0.5]])
    >>> odds.log_odds(clf, {"size": [1e60]})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    bayesnb.inference.classifier.FarRowError: row 0 lies more than 1e150 standard deviations from ...
    """

    reason = (
        "lies more than 1e150 standard deviations from everything that was learned in one of its columns, so the "
        "square of the distance is beyond all floats. Look at this cell and its unit; predict_proba answers such rows"
    )


def of_near_rows[**P, R](verb: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function to raise ``FarRowError``, not ``ImpossibleRowError``, if a row is possible but far away."""

    @wraps(verb)
    def told(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return verb(*args, **kwargs)
        except ImpossibleRowError as error:
            classifier: Any = args[0]
            data, n = classifier.read(args[1] if len(args) > 1 else kwargs["X"])
            log_predictive = classifier.believed.log_predictive(data, n)
            if len(far := error.rows[np.isfinite(log_predictive[error.rows]).any(axis=1)]):
                raise FarRowError(far) from error
            raise

    return told


def warn_of_weights(schema: Schema, sampled: Mapping[Any, LeftOut]) -> None:
    """Warn if leave-one-out densities of features sampled by MCMC are unreliable."""
    for name, found in sampled.items():
        if odd := [convergence for convergence in found.again if not convergence.converged]:
            warn(
                f"feature {name!r}: {len(odd)} of {len(found.again)} runs without a row did not converge ({odd[0]}); "
                "draw or tune more (the family takes draws=, tune= and target_accept=)"
            )
    said = []
    for name, found in sampled.items():
        for column, k in zip(schema.features[name].columns, found.k.T, strict=True):
            if len(bad := np.flatnonzero(k > GOOD_K)):
                worst = bad[k[bad].argmax()]
                shown = ", ".join(map(str, bad[:5])) + (", ..." if len(bad) > 5 else "")
                said.append(
                    f"column {column!r}: {len(bad)} of {len(k)} rows ({shown}; pareto_k {k[worst]:.2f} in row {worst})"
                )
    if said:
        warn(
            f"{'; '.join(said)} change the posterior too much to be left out by weighting its draws. What is said of "
            "them without themselves may be far off: loo(X, y, refit=True) samples again without each of them, and "
            "evaluate(..., cv=5) fits anew without each fold"
        )


def _still(value: Any, made: dict[int, tuple[Any, Any]]) -> Any:
    """Copy a value and all dataclass instances in it (each once), without their cached properties."""
    # ``made`` maps the id of each original to the original, which keeps the id unique, and its copy.
    if id(value) in made:
        return made[id(value)][1]
    if type(value) is dict:
        return {key: _still(each, made) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)([_still(each, made) for each in value])
    if not is_dataclass(value) or isinstance(value, type) or not hasattr(value, "__dict__"):
        return value
    copy = object.__new__(type(value))
    made[id(value)] = value, copy
    for name, each in vars(value).copy().items():
        if not isinstance(getattr(type(value), name, None), cached_property):
            copy.__dict__[name] = _still(each, made)
    return copy
