"""The naive Bayes model: many features, one label, and what follows from them by counting.

Start with :class:`NaiveBayes`, the specification. Its verbs are those of a family, for all features at
once: ``statistics`` of the rows (they add), ``posterior`` of the statistics, ``mode | mean | draw`` of the
posterior (as :class:`Parameters`), and then ``log_joint`` or ``log_predictive`` of new rows. Data are a
dictionary of encoded features; class labels are codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.random import Generator

from bayesnb import stacks
from bayesnb.families.family import Family
from bayesnb.families.membership import Labels, Membership
from bayesnb.families.statistic import Statistic, cleared
from bayesnb.families.support import InvalidCellError
from bayesnb.kernels import densities
from bayesnb.kernels.blocks import slices, table, worth
from bayesnb.priors import (
    Array,
    BoundaryError,
    Dirichlet,
    FixedProbabilities,
    ImproperError,
    Prior,
    Size,
    Theta,
    UnlearnedError,
    log,
)

type Data = Mapping[str, Any]
type Estimate = Literal["mle", "map", "mean", "predictive"]


@dataclass(frozen=True)
class EstimateRule:
    """How class probabilities follow from a posterior.

    Parameters
    ----------
    label : str
        What it is called on an axis.
    point : {"mode", "mean"}
        The point of the posterior that is plugged in, or that stands for it where one is needed.
    plugs_in : bool
        False if the parameters are integrated out.
    flat : bool
        True if the priors are replaced by flat ones.
    """

    label: str
    point: Literal["mode", "mean"]
    plugs_in: bool = True
    flat: bool = False


ESTIMATES: Mapping[Estimate, EstimateRule] = MappingProxyType(
    {
        "mle": EstimateRule("MLE", "mode", flat=True),
        "map": EstimateRule("MAP", "mode"),
        "mean": EstimateRule("mean", "mean"),
        "predictive": EstimateRule("predictive", "mean", plugs_in=False),
    }
)
"""Every estimate by its name. A further one is one entry here."""


def estimate_rule(name: Estimate) -> EstimateRule:
    """The rule of an estimate.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    if not isinstance(name, str) or name not in ESTIMATES:
        raise ValueError(f"Expected estimate to be one of {list(ESTIMATES)}; got {name!r}")
    return ESTIMATES[name]


class ImpossibleRowError(ValueError):
    """No class can have produced a row: its probability is 0 under every one of them.

    ``rows`` are the positions of such rows.

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> clf = BayesianNB(estimate="mle").fit({"a": ["x", "y"], "b": ["x", "y"]}, [0, 1])
    >>> clf.predict({"a": ["x"], "b": ["y"]})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    bayesnb.model.ImpossibleRowError: row 0 has probability 0 under every class, so no class can be preferred; ...
    """

    def __init__(self, rows: Array) -> None:
        self.rows = rows
        more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
        super().__init__(
            f"row {rows[0]}{more} has probability 0 under every class, so no class can be preferred; each class rules "
            'out one of its values. estimate="predictive" or "mean" rules out no value under priors without zeros; '
            '"map" needs concentrations above 1 for that, and "mle" rules out all that was never seen'
        )


def part_of(data: Data, rows: Array | slice) -> Data:
    """Some rows of encoded columns."""
    return {name: x[rows] for name, x in data.items()}


def normalize(log_joint: Array) -> Array:
    """log p(c | x) from log p(c, x), the class on the last axis.

    Raises
    ------
    ImpossibleRowError
        Where every class has -inf. (With draws in front, rows that are impossible in any draw.)

    Examples
    --------
    >>> np.exp(normalize(np.log(np.array([[0.0206, 0.0053]])))).round(3)
    array([[0.795, 0.205]])
    """
    if log_joint.ndim == 2 and worth(log_joint.size):
        found = densities.normalized(log_joint)
        if found is not None:
            return found
    top = densities.over_last(np.maximum, log_joint)
    if np.isneginf(top).any():
        raise ImpossibleRowError(np.unique(np.argwhere(np.isneginf(top))[:, -2] if top.ndim > 1 else [0]))
    # The largest is taken off first: beside a joint of -1e17 the logarithm of a sum would be lost.
    below = log_joint - top
    # The largest is 1, and log1p of the others keeps the digits of a row that is all but certain.
    others = np.exp(below)
    np.put_along_axis(others, below.argmax(-1)[..., None], 0.0, -1)
    return below - np.log1p(densities.over_last(np.add, others))


def probabilities(log_joint: Array) -> Array:
    """p(c | x) from log p(c, x), the class on the last axis; raises as :func:`normalize`."""
    if worth(log_joint.size):
        flat = log_joint.reshape(-1, log_joint.shape[-1])
        if (found := densities.normalized(flat, logs=False)) is not None:
            return found.reshape(log_joint.shape)
    return np.exp(normalize(log_joint))


@contextmanager
def about(what: str, labels: Sequence[Any] = (), s: Statistic | None = None) -> Iterator[None]:
    """Say which feature, class, column and level an error is about."""
    try:
        yield
    except (ImproperError, BoundaryError, UnlearnedError) as error:
        raise type(error)(f"{', '.join([what, *_cell(error.where, labels, s)])}: {error}", error.where) from error
    except InvalidCellError:
        # Only the schema knows which column it is in; it will say so.
        raise
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from error


def _cell(where: tuple[int, ...], labels: Sequence[Any], s: Statistic | None) -> list[str]:
    said = [f"class {labels[where[0]]!r}"] if where and labels else []
    names = getattr(s, "levels", None)
    if s is not None and len(where) > 1 and s.seen().shape[1] > 1:
        said.append(f"column {where[1]}")
    if names and len(where) > 2:
        said.append(f"level {names[where[1]][where[2]]!r}")
    if (words := getattr(s, "words", None)) and len(where) > 1:
        said.append(f"word {words[where[1]]!r}")
    return said


def in_order(names: Iterable[Any]) -> list[Any]:
    """Names sorted; by type first where they do not compare."""
    names = list(names)
    try:
        return sorted(names)
    except TypeError:
        return sorted(names, key=lambda name: (type(name).__name__, str(name)))


def united_labels(*groups: Sequence[Any]) -> tuple[Any, ...]:
    """All class labels of several lists, each once, in order."""
    return tuple(in_order(dict.fromkeys(label for labels in groups for label in labels)))


@dataclass(frozen=True, eq=False)
class Statistics:
    """What the data say about the whole model; ``a + b`` pools, ``a - b`` unlearns, ``a * 0.9`` forgets slowly.

    Parameters
    ----------
    labels : tuple
        Class labels, in the order of the class axis. Adding unites them.
    rows : array (class,)
        Weight of the rows of each class.
    features : {name: Statistic}

    Examples
    --------
    >>> from bayesnb import Bernoulli, NaiveBayes
    >>> from bayesnb.families.membership import Labels
    >>> model = NaiveBayes({"wet": Bernoulli()})
    >>> data = {"wet": np.array([[1.0], [0.0], [1.0]])}
    >>> labels = Labels(np.array([0, 0, 1]), np.ones(3), 2)
    >>> seen = model.statistics(data, labels, ["spring", "summer"])
    >>> (seen + seen).rows, (seen + seen - seen).rows, (seen * 0.5).rows
    (array([4., 2.]), array([2., 1.]), array([1. , 0.5]))
    """

    labels: tuple[Any, ...]
    rows: Array
    features: Mapping[str, Statistic]

    def over(self, labels: Sequence[Any]) -> Statistics:
        """The same for another list of classes; one that was never seen has seen nothing."""
        if tuple(labels) == self.labels:
            return self
        place = {label: c for c, label in enumerate(self.labels)}
        index = np.array([place.get(label, -1) for label in labels], np.intp)
        rows = np.append(self.rows, 0.0)[index]
        return Statistics(tuple(labels), rows, {name: s.take(index) for name, s in self.features.items()})

    def __add__(self, other: Statistics) -> Statistics:
        if set(self.features) != set(other.features):
            odd = sorted(set(self.features) ^ set(other.features))
            raise ValueError(f"Expected statistics of the same features; only one side has {odd}")
        labels = united_labels(self.labels, other.labels)
        a, b = self.over(labels), other.over(labels)
        pooled = {}
        for name, s in a.features.items():
            with about(f"feature {name!r}"):
                pooled[name] = s + b.features[name]
        return Statistics(labels, a.rows + b.rows, pooled)

    def __mul__(self, factor: float) -> Statistics:
        return Statistics(self.labels, self.rows * factor, {n: s * factor for n, s in self.features.items()})

    def __sub__(self, other: Statistics) -> Statistics:
        return self + other * -1.0

    def finite(self) -> bool:
        """Whether all numbers are."""
        numbers = [v.ravel() for s in self.features.values() for v in s.arrays().values()]
        return not numbers or bool(np.isfinite(np.concatenate(numbers)).all())

    def without(self, other: Statistics) -> Statistics:
        """``self - other`` where ``other`` is a part of what was learned.

        Raises
        ------
        ValueError
            Where it can be seen that it is not: a class, a level or a count that was never learned.
        """
        unknown = [label for label in other.labels if label not in self.labels]
        if unknown:
            raise ValueError(f"class {unknown[0]!r} was never learned, so its rows cannot be unlearned")
        rest, whole = self - other, self.over(united_labels(self.labels, other.labels))
        if (rest.rows < -1e-9 * whole.rows).any():
            c = int(np.argmin(rest.rows))
            raise ValueError(
                f"class {rest.labels[c]!r} has rows of weight {whole.rows[c]:g}; {whole.rows[c] - rest.rows[c]:g} "
                "cannot be unlearned: they were never learned"
            )
        settled = {}
        for name, s in rest.features.items():
            with about(f"feature {name!r}", rest.labels, s):
                settled[name] = s.settled(whole.features[name]).named_as(self.features[name])
        rows = cleared(rest.rows, whole.rows)
        return Statistics(rest.labels, rows, settled)


@dataclass(frozen=True)
class Evidence:
    """The marginal likelihood of the data, all parameters integrated out.

    Parameters
    ----------
    label : float
        log p(y): how well the class prior foresaw the labels.
    features : {name: float}
        log p(x_f | y) of each feature; they add up.

    Examples
    --------
    >>> evidence = Evidence(-1.5, {"outlook": -3.0, "wind": -2.0})
    >>> evidence.conditional, evidence.joint
    (-5.0, -6.5)
    """

    label: float
    features: Mapping[str, float]

    @property
    def conditional(self) -> float:
        """log p(X | y), the sum over features."""
        return float(sum(self.features.values()))

    @property
    def joint(self) -> float:
        """log p(X, y)."""
        return self.label + self.conditional

    def __float__(self) -> float:
        return self.joint


@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """The generative model: π ~ label prior, y ~ Categorical(π), x_f | y = c ~ family_f(θ_cf).

    Parameters
    ----------
    features : {name: Family}
    label : Dirichlet or FixedProbabilities
        Prior of the class probabilities.
    columns : {name: column names}, optional
        What the columns of a feature are called, where there are several: coordinates of draws.

    Examples
    --------
    >>> from bayesnb import Bernoulli, NaiveBayes
    >>> from bayesnb.families.membership import Labels
    >>> model = NaiveBayes({"wet": Bernoulli()})
    >>> data = {"wet": np.array([[1.0], [0.0], [1.0]])}
    >>> labels = Labels(np.array([0, 0, 1]), np.ones(3), 2)
    >>> posterior = model.posterior(model.statistics(data, labels, ["spring", "summer"]))
    >>> np.exp(posterior.log_joint(data, 3)).round(3)
    array([[0.3  , 0.267],
           [0.3  , 0.133],
           [0.3  , 0.267]])
    """

    features: Mapping[str, Family]
    label: Dirichlet | FixedProbabilities = field(default_factory=Dirichlet)
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def flat(self) -> NaiveBayes:
        """The same likelihood under flat priors, whose mode is maximum likelihood."""
        self.require_exact("maximum likelihood", 'use estimate="predictive" or "mean"')
        families = {name: family.flat() for name, family in self.features.items()}
        return replace(self, features=families, label=self.label.flat())

    def named_classes(self, labels: Sequence[Any]) -> list[Any]:
        """The classes that exist though no row may have them, because a prior names them.

        The class prior names classes, and so does a feature's prior that is given as {class: prior}. A class prior
        that is an array speaks of classes by position, so it names all of ``labels``.
        """
        named = self.label.named_classes(labels)
        for family in self.features.values():
            if isinstance(family.prior, Mapping):
                named += family.prior
        return list(dict.fromkeys(named))

    @property
    def exact(self) -> bool:
        """Whether the posterior of every feature is a formula."""
        return all(family.exact for family in self.features.values())

    def require_exact(self, what: str, cure: str) -> None:
        """Raise ``ValueError``, naming the first feature that is sampled, where ``what`` needs a closed form."""
        for name, family in self.features.items():
            if not family.exact:
                raise ValueError(
                    f"feature {name!r}: {type(family).__name__} is sampled and has no closed form for {what}; {cure}"
                )

    def require_left_out(self) -> None:
        """Raise ``ValueError``, naming the feature, where leave-one-out has no closed form."""
        self.require_exact("leave-one-out", "fit without the rows and predict them, as cross-validation does")

    def statistics(self, data: Data, members: Membership, labels: Sequence[Any]) -> Statistics:
        """Sufficient statistics of the rows.

        Parameters
        ----------
        data : {name: encoded column}
            As the family of that name reads it.
        members : Labels or Responsibilities
            Over as many classes as there are ``labels``.
        labels : sequence
        """

        def one(name: Any, family: Family) -> Statistic:
            with about(f"feature {name!r}", labels):
                return family.statistic(data[name], members)

        def many(names: Sequence[Any], family: Family) -> Sequence[Statistic] | None:
            x = stacks.cells([data[name] for name in names])
            columns = [data[name].shape[-1] for name in names] if x is not None else []
            return None if x is None else stacks.split(family.statistic(x, members), columns)

        with table(len(members) * len(self.features)):
            each = stacks.each(self.features, len(members), one, many)
        return Statistics(tuple(labels), members.weights(), each)

    def posterior(self, statistics: Statistics) -> Posterior:
        """Everything believed after the data. Nothing is refused here that a later question may not need."""

        def one(name: Any, family: Family) -> tuple[Prior, Prior]:
            s = statistics.features[name]
            with about(f"feature {name!r}", statistics.labels, s):
                prior = family.priors(s, statistics.labels)
                return prior, family.update(prior, s)

        def many(names: Sequence[Any], family: Family) -> Sequence[tuple[Prior, Prior]] | None:
            parts = [statistics.features[name] for name in names]
            if (columns := stacks.widths(parts)) is None:
                return None
            s = stacks.stacked(parts)
            prior = family.priors(s, statistics.labels)
            both = stacks.split(prior, columns), stacks.split(family.update(prior, s), columns)
            return None if None in both else list(zip(*both, strict=True))

        both = stacks.each(self.features, len(statistics.labels), one, many)
        prior, believed = ({name: pair[k] for name, pair in both.items()} for k in (0, 1))
        label_prior = self.label.over_classes(statistics.labels, statistics.rows)
        label = label_prior.update(statistics.rows)
        return Posterior(self, statistics, label_prior, prior, label, believed)


@dataclass(frozen=True, eq=False)
class Posterior:
    """What is believed after the data: one independent posterior for every factor of the model.

    Parameters
    ----------
    model : NaiveBayes
    statistics : Statistics
    label_prior, prior : Dirichlet or FixedProbabilities; {name: Prior}
        The priors at their full shapes.
    label, features : Dirichlet or FixedProbabilities; {name: Prior}
        The posteriors.

    Examples
    --------
    >>> from bayesnb import Bernoulli, NaiveBayes
    >>> from bayesnb.families.membership import Labels
    >>> model = NaiveBayes({"wet": Bernoulli()})
    >>> data = {"wet": np.array([[1.0], [0.0], [1.0]])}
    >>> labels = Labels(np.array([0, 0, 1]), np.ones(3), 2)
    >>> posterior = model.posterior(model.statistics(data, labels, ["spring", "summer"]))
    >>> posterior.features["wet"]
    Beta(alpha=[[2.],
     [2.]], beta=[[2.],
     [1.]])
    >>> round(posterior.log_evidence().joint, 3)
    -4.97
    """

    model: NaiveBayes
    statistics: Statistics
    label_prior: Dirichlet | FixedProbabilities
    prior: Mapping[str, Prior]
    label: Dirichlet | FixedProbabilities
    features: Mapping[str, Prior]

    @property
    def labels(self) -> tuple[Any, ...]:
        """Class labels, in the order of the class axis."""
        return self.statistics.labels

    def before(self) -> Posterior:
        """What was believed before the data, priors at their full shapes."""
        empty = self.statistics * 0.0
        return Posterior(self.model, empty, self.label_prior, self.prior, self.label_prior, self.prior)

    def given(self, statistics: Statistics) -> Posterior:
        """What is believed after other data of the same features and classes, the priors held as they are.

        A prior that was scaled to the data keeps that scale.
        """
        believed = {}
        for name, family in self.model.features.items():
            believed[name] = family.update(self.prior[name], statistics.features[name])
        label_prior = self.model.label.over_classes(statistics.labels, statistics.rows)
        label = label_prior.update(statistics.rows)
        return Posterior(self.model, statistics, label_prior, self.prior, label, believed)

    def with_class_prior(self, prior: Dirichlet | FixedProbabilities) -> Posterior:
        """The same belief about the features under another prior of the class probabilities."""
        label_prior = prior.over_classes(self.labels, self.statistics.rows)
        label = label_prior.update(self.statistics.rows)
        return replace(self, model=replace(self.model, label=prior), label_prior=label_prior, label=label)

    def _about(self, name: str) -> AbstractContextManager[None]:
        return about(f"feature {name!r}", self.labels, self.statistics.features[name])

    def _each(self, ask: Callable[[Family, Prior], Any]) -> dict[str, Any]:
        """The answer of every feature, its errors named."""
        answers = {}
        for name, family in self.model.features.items():
            with self._about(name):
                answers[name] = ask(family, self.features[name])
        return answers

    def mean(self) -> Parameters:
        """The posterior mean of all parameters."""
        return Parameters(self.model, log(self._label("mean")), self._each(lambda f, p: f.mean(p)))

    def mode(self) -> Parameters:
        """The posterior mode of all parameters (jointly within a factor)."""
        self.model.require_exact("the posterior mode", 'use estimate="predictive" or "mean"')
        return Parameters(self.model, log(self._label("mode")), self._each(lambda f, p: f.mode(p)))

    def _label(self, which: str) -> Array:
        with about("class prior", self.labels):
            return getattr(self.label, which)()

    def draw(self, rng: Generator, size: Size = ()) -> Parameters:
        """Exact independent draws of all parameters; the axes of ``size`` lead."""
        log_pi = self.label.log_draw(rng, size)
        return Parameters(self.model, log_pi, self._each(lambda f, p: f.draw(p, rng, size)))

    def plug_in(self, estimate: Estimate) -> Parameters:
        """The point that an estimate plugs in; "predictive", which plugs in none, gets the mean."""
        rule = estimate_rule(estimate)
        believed = self._under_flat_priors() if rule.flat else self
        return believed._point(rule)

    def _point(self, rule: EstimateRule) -> Parameters:
        return self.mode() if rule.point == "mode" else self.mean()

    def _under_flat_priors(self) -> Posterior:
        """The posterior of the same data under the priors whose mode is maximum likelihood."""
        return self.model.flat().posterior(self.statistics)

    def log_joint(self, data: Data, n_rows: int, estimate: Estimate = "predictive") -> Array:
        """log p(c, x) of each row as (row, class), by the chosen estimate."""
        if not estimate_rule(estimate).plugs_in:
            return self.log_predictive(data, n_rows)
        return self.plug_in(estimate).log_joint(data, n_rows)

    def log_predictive(self, data: Data, n_rows: int) -> Array:
        """log p(c, x | D) of each row by itself as (row, class), all parameters integrated out."""
        label = log(self._label("mean"))
        return densities.add_row(self.log_predictive_features(data, n_rows), label)

    def log_predictive_features(self, data: Data, n_rows: int) -> Array:
        """log p(x | c, D) of each row as (row, class): the predictive without its class probability."""
        total = np.zeros((n_rows, len(self.labels)))

        def one(name: Any, family: Family) -> None:
            nonlocal total
            with self._about(name):
                total += family.log_predictive(self.features[name], data[name])

        def many(names: Sequence[Any], family: Family) -> Sequence[None] | None:
            nonlocal total
            x, parts = stacks.cells([data[name] for name in names]), [self.features[name] for name in names]
            if x is None or stacks.widths(parts) is None:
                return None
            total += family.log_predictive(stacks.stacked(parts), x)
            return [None] * len(names)

        with table(n_rows * len(data)):
            stacks.each(self.model.features, n_rows, one, many)
        return total

    def require_proper(self) -> None:
        """Raise :class:`ImproperError`, naming feature and class, unless every factor can predict."""

        def one(name: Any, family: Family) -> None:
            with self._about(name):
                self.features[name].require_proper("A posterior that predicts")

        def many(names: Sequence[Any], family: Family) -> Sequence[None] | None:
            parts = [self.features[name] for name in names]
            if stacks.widths(parts) is None:
                return None
            stacks.stacked(parts).require_proper("A posterior that predicts")
            return [None] * len(names)

        stacks.each(self.model.features, len(self.labels), one, many)

    def log_left_out(self, data: Data, labels: Labels, estimate: Estimate = "predictive") -> Array:
        """log p(c, x_i | D without row i) of rows that were learned, as (row, class).

        Exact: leaving a row out changes only the factors of its own class, and the class prior. A prior
        that was scaled to the data keeps that scale.
        """
        rule = estimate_rule(estimate)
        self.model.require_left_out()
        believed = self._under_flat_priors() if rule.flat else self
        return believed._log_left_out(data, labels, rule)

    def _log_left_out(self, data: Data, labels: Labels, rule: EstimateRule) -> Array:
        if rule.plugs_in:
            total = self._point(rule).log_joint_features(data, len(labels))
            cuts = slices(len(labels), 32)
            own = np.concatenate([self._plug_in_left_out(data, labels, cut, rule.point) for cut in cuts])
        else:
            total = self.log_predictive_features(data, len(labels))
            own = np.zeros(len(labels))
            for name, family in self.model.features.items():
                with self._about(name):
                    own += family.log_left_out(self.features[name], data[name], labels)
        total[np.arange(len(labels)), labels.codes] = own
        total += self._log_label_left_out(labels, rule.point)
        return total

    def _plug_in_left_out(self, data: Data, labels: Labels, cut: slice, point: str) -> Array:
        """log p(x_i | estimate without row i) at the row's own class: each row is a class of its own."""
        part = labels[cut]
        alone = Labels(np.arange(len(part)), part.weight, len(part))
        own = np.zeros(len(part))
        for name, family in self.model.features.items():
            with about(f"feature {name!r}", [self.labels[c] for c in part.codes], self.statistics.features[name]):
                x, before = data[name][cut], self.statistics.features[name].take(part.codes)
                rest = (before - family.statistic(x, alone)).settled(before)
                believed = family.update(self.prior[name].at(part.codes), rest)
                own += np.diagonal(family.log_likelihood(getattr(family, point)(believed), x))
        return own

    def _log_label_left_out(self, labels: Labels, point: str) -> Array:
        """log p(c | all labels but that of row i) as (row, class)."""
        # Rows of one class and of weight 1 leave the same behind.
        codes, weight, place = np.arange(labels.n), np.ones(labels.n), labels.codes
        if not (labels.weight == 1).all():
            codes, weight, place = labels.codes, labels.weight, slice(None)
        with about("class prior"):
            return self.model.label.log_left_out(self.label, self.statistics.rows, codes, weight, point)[place]

    def log_evidence(self) -> Evidence:
        """Log marginal likelihood of what was learned, in total and by feature (Murphy, PML1, 4.6)."""
        self.model.require_exact("the evidence", "compare models on held-out rows")
        each = {}
        for name, family in self.model.features.items():
            with self._about(name):
                s = self.statistics.features[name]
                each[name] = float(family.log_evidence(self.prior[name], s).sum())
        with about("class prior", self.labels):
            return Evidence(self.label_prior.log_evidence(self.statistics.rows), each)


@dataclass(frozen=True, eq=False)
class Parameters:
    """A point in the space of all parameters, or draws of them: prediction cannot tell which.

    Parameters
    ----------
    model : NaiveBayes
    log_pi : array (..., class)
        Log class probabilities.
    features : {name: theta}
        The named parameters of each feature; the axes of the draws lead.

    Examples
    --------
    >>> from bayesnb import Bernoulli, NaiveBayes
    >>> from bayesnb.families.membership import Labels
    >>> model = NaiveBayes({"wet": Bernoulli()})
    >>> data = {"wet": np.array([[1.0], [0.0], [1.0]])}
    >>> labels = Labels(np.array([0, 0, 1]), np.ones(3), 2)
    >>> posterior = model.posterior(model.statistics(data, labels, ["spring", "summer"]))
    >>> draws = posterior.draw(np.random.default_rng(0), (1000,))
    >>> draws.log_joint(data, 3).shape, posterior.mean().log_joint(data, 3).shape
    ((1000, 3, 2), (3, 2))
    """

    model: NaiveBayes
    log_pi: Array
    features: Mapping[str, Theta]

    def log_joint(self, data: Data, n_rows: int) -> Array:
        """log p(c, x | θ) as (..., row, class)."""
        joint = self.log_joint_features(data, n_rows)
        if self.log_pi.ndim == 1:
            return densities.add_row(joint, self.log_pi)
        joint += self.log_pi[..., None, :]
        return joint

    def log_joint_features(self, data: Data, n_rows: int) -> Array:
        """log p(x | c, θ) as (..., row, class): the joint without its class probability."""
        total = np.zeros((*self.log_pi.shape[:-1], n_rows, self.log_pi.shape[-1]))
        for name, family in self.model.features.items():
            total += family.log_likelihood(self.features[name], data[name])
        return total

    @property
    def size(self) -> int:
        """How many numbers they are."""
        return self.log_pi.size + sum(v.size for theta in self.features.values() for v in theta.values())

    def repeated(self, n: int) -> Parameters:
        """The same point ``n`` times, as if it were draws."""
        return self.at(None).at(np.zeros(n, np.intp))

    def repeated_rows(self, n: int) -> Parameters:
        """Every draw ``n`` times in a row, for one axis of draws."""
        return self.at(np.repeat(np.arange(len(self.log_pi)), n))

    def flattened(self) -> Parameters:
        """All leading axes as one."""
        lead = self.log_pi.ndim - 1

        def flat(value: Array) -> Array:
            return value.reshape(-1, *value.shape[lead:])

        features = {n: {k: flat(v) for k, v in theta.items()} for n, theta in self.features.items()}
        return Parameters(self.model, flat(self.log_pi), features)

    def at(self, index: Any) -> Parameters:
        """The draws at a position of the leading axes."""
        features = {n: {k: v[index] for k, v in theta.items()} for n, theta in self.features.items()}
        return Parameters(self.model, self.log_pi[index], features)
