"""The model, its posterior and its parameters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import add
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from scipy.sparse import issparse

from bayesnb.families.columns import columns_of, without_columns
from bayesnb.families.family import Family
from bayesnb.families.sampled import Draws, LeftOut
from bayesnb.model import stacks
from bayesnb.model.probabilities import Evidence, add_row, normalize
from bayesnb.model.statistics import Data, Statistics, about
from bayesnb.priors import Array, Dirichlet, FixedProbabilities, Prior, Size, Theta, log
from bayesnb.priors.belief import Point
from bayesnb.priors.class_prior import LabelPrior
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.statistics.statistic import Labels, Statistic
from bayesnb.wording import Cure, Message, RefusedError, meant, warn

type Estimate = Literal["mle", "map", "mean", "predictive"]


@dataclass(frozen=True)
class EstimateRule:
    """How a posterior is turned into class probabilities for one value of ``estimate``, such as "map"."""

    label: str  # name of the estimate on a plot
    point: Literal["mode", "mean"]  # the point estimate that is plugged in or displayed
    plugs_in: bool = True  # False if the parameters are integrated out
    flat: bool = False  # whether flat priors replace the priors


ESTIMATES: Mapping[Estimate, EstimateRule] = MappingProxyType(
    {
        "mle": EstimateRule("MLE", "mode", flat=True),
        "map": EstimateRule("MAP", "mode"),
        "mean": EstimateRule("mean", "mean"),
        "predictive": EstimateRule("predictive", "mean", plugs_in=False),
    }
)
"""The rule of each estimate, by name."""


def estimate_rule(name: Estimate) -> EstimateRule:
    """The :class:`EstimateRule` of an estimate, such as "map"."""
    if not isinstance(name, str) or name not in ESTIMATES:
        raise ValueError(f"Expected estimate to be one of {list(ESTIMATES)}; got {name!r}" + meant(name, ESTIMATES))
    return ESTIMATES[name]


USE_DRAWS = Message("use {cure}", cure=(Cure("estimate", "predictive"), Cure("estimate", "mean")))
"""Advice if the mode of a posterior has no closed form."""

EXACT = Cure("family", "Gaussian"), Cure("family", "Binned")
"""Families with a closed-form posterior that messages recommend."""

MOST = 1e18
"""Largest allowed sum of row weights per class."""


@dataclass(frozen=True, eq=False)
class Parameters:
    """Values of all parameters: a point estimate, or draws.

    Parameters
    ----------
    model : NaiveBayes
    log_pi : array (..., class)
        Log class probabilities.
    features : {name: theta}
        Parameters of each feature, whose first axes are draws.

    Examples
    --------
    >>> from bayesnb import BayesianNB, Bernoulli
    >>> clf = BayesianNB({"wet": Bernoulli()}).fit({"wet": [1, 0, 1]}, ["spring", "spring", "summer"])
    >>> posterior, data = clf.posterior_, {"wet": np.array([[1.0], [0.0], [1.0]])}
    >>> draws = posterior.draw(np.random.default_rng(0), (1000,))
    >>> draws.log_joint(data, 3).shape, posterior.point("mean").log_joint(data, 3).shape
    ((1000, 3, 2), (3, 2))
    """

    model: NaiveBayes
    log_pi: Array
    features: Mapping[str, Theta]

    def log_joint(self, data: Data, n_rows: int) -> Array:
        """Log joint density of class and row, log p(c, x | θ), (..., row, class)."""
        joint = self.log_joint_features(data, n_rows)
        if self.log_pi.ndim == 1:
            return add_row(joint, self.log_pi)
        joint += self.log_pi[..., None, :]
        return joint

    def log_joint_features(self, data: Data, n_rows: int) -> Array:
        """Log-likelihood of each row in each class, log p(x | c, θ), (..., row, class)."""
        total = np.zeros((*self.log_pi.shape[:-1], n_rows, self.log_pi.shape[-1]))
        for name, theta in self.features.items():
            total += self.model.features[name].log_likelihood(theta, data[name])
        return total

    @property
    def size(self) -> int:
        return self.log_pi.size + sum(v.size for theta in self.features.values() for v in theta.values())

    def repeated(self, n: int) -> Parameters:
        return self.at(None).at(np.zeros(n, np.intp))

    def flattened(self) -> Parameters:
        lead = self.log_pi.ndim - 1

        def flat(value: Array) -> Array:
            return value.reshape(-1, *value.shape[lead:])

        features = {n: {k: flat(v) for k, v in theta.items()} for n, theta in self.features.items()}
        return Parameters(self.model, flat(self.log_pi), features)

    def of_features(self, names: Sequence[Any]) -> Theta:
        """The parameters of the features ``names``, concatenated along the column axis."""
        each = [self.features[name] for name in names]
        if len(each) == 1:
            return each[0]
        axis = self.log_pi.ndim
        return {part: np.concatenate([theta[part] for theta in each], axis) for part in each[0]}

    def at(self, index: Any) -> Parameters:
        features = {n: {k: v[index] for k, v in theta.items()} for n, theta in self.features.items()}
        return Parameters(self.model, self.log_pi[index], features)


@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """The generative model: π ~ label prior, y ~ Categorical(π), x_f | y = c ~ family_f(θ_cf).

    Parameters
    ----------
    features : {name: Family}
    label : Dirichlet, FixedProbabilities or WithUnknown
        Prior of the class probabilities.
    columns : {name: column names}, optional
        The columns of multi-column features.
    unknown : label, optional
        A class that represents all classes without rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import Bernoulli
    >>> from bayesnb.model import NaiveBayes
    >>> from bayesnb.statistics.statistic import Labels
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
    label: LabelPrior = field(default_factory=Dirichlet)
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    unknown: Any = None

    def flat(self) -> NaiveBayes:
        """The model with flat priors, for maximum likelihood."""
        self.require_exact("maximum likelihood", USE_DRAWS, apart=False)
        families = {name: family.flat() for name, family in self.features.items()}
        return replace(self, features=families, label=self.label.flat())

    def named_classes(self, labels: Sequence[Any]) -> list[Any]:
        """The classes named by priors, which may have no rows."""
        named = self.label.named_classes(labels)
        for family in self.features.values():
            named += family.named_classes()
        return list(dict.fromkeys(named))

    @property
    def exact(self) -> bool:
        """True if every feature has a closed-form posterior for each class."""
        return all(family.exact and family.classes_apart for family in self.features.values())

    def require_exact(self, what: str | Message, cure: str | Message, apart: bool = True) -> None:
        """Raise an error if a feature is sampled, or if ``apart`` is true and classes share parameters of a feature."""
        reasons = dict.fromkeys(self.sampled, "is sampled")
        if apart:
            together = (name for name, family in self.features.items() if not family.classes_apart)
            reasons |= dict.fromkeys(together, "shares parameters between classes")
        found = [f"feature {name!r}: {type(self.features[name]).__name__} {why}" for name, why in reasons.items()]
        if found:
            have = "has" if len(found) == 1 else "have"
            said = "{features} and {have} no closed form for {what}; {cure}"
            raise RefusedError(said, features=", ".join(found), have=have, what=what, cure=cure)

    @property
    def sampled(self) -> tuple[Any, ...]:
        return tuple(name for name, family in self.features.items() if not family.exact)

    def require_estimate(self, estimate: Estimate) -> None:
        """Raise an error if the model does not support this estimate."""
        # An unknown class has no plug-in, and a sampled feature has no mode.
        if self.unknown is not None and estimate_rule(estimate).plugs_in:
            raise RefusedError(
                "{estimate} plugs in one value of each parameter, and those of class {label!r}, which has no rows, "
                "must be integrated out; use {cure}",
                estimate=Cure("estimate", estimate),
                label=self.unknown,
                cure=Cure("estimate", "predictive"),
            )
        if estimate_rule(estimate).point == "mode":
            self.require_exact(Cure("estimate", estimate), USE_DRAWS, apart=False)

    def require_left_out(self, estimate: Estimate) -> None:
        """Raise an error if the chosen estimate does not support leave-one-out."""
        if estimate_rule(estimate).plugs_in:
            said = "use {cure}, whose draws are weighted; or fit without the rows and predict them, as "
            said += "cross-validation does"
            self.require_exact(
                Message("leave-one-out of {estimate}", estimate=Cure("estimate", estimate)),
                Message(said, cure=Cure("estimate", "predictive")),
            )

    def statistics(self, data: Data, members: Labels, labels: Sequence[Any]) -> Statistics:
        weights = members.weights()
        if (weights > MOST).any():  # The squares would overflow.
            raise ValueError(
                f"the weights of the rows of a class add up to {weights.max():g}, and at most {MOST:g} can be counted: "
                "divide the sample_weight of all rows by the same number, as a weight of 2 is a row seen twice"
            )
        found = Statistics(tuple(labels), weights, {}, members.squares(weights))
        alike = stacks.stacked(self.features, data)
        each = stacks.each(alike, len(members), lambda family, x: family.statistic(x, members), found.about)
        return replace(found, features=stacks.by_name(self.features, each, data))

    def expected_statistics(self, data: Data, r: Array, labels: Sequence[Any]) -> Statistics:
        """The statistics of rows with soft labels: ``r[row, c]`` is the weight of a row in class c."""
        each = (Labels(np.full(len(r), c), weight, r.shape[1]) for c, weight in enumerate(r.T))
        return reduce(add, (self.statistics(data, own, labels) for own in each)).reindexed(labels)

    def before(self, statistics: Statistics, rng: Generator, n: int) -> Posterior:
        """The prior as a ``Posterior`` without rows; the ``statistics`` of a table set the scale of default priors.

        For features whose posterior is sampled by MCMC, ``n`` draws are taken from the prior.
        """
        prior, believed = {}, {}
        for name, family in self.features.items():
            with statistics.about(name):
                prior[name] = believed[name] = family.priors(statistics.features[name], statistics.labels)
                if not family.exact:
                    drawn = family.theta(family.draw_prior(prior[name], rng, n))
                    believed[name] = Draws.independent(drawn, n)
        label = self.label.over_classes(statistics.labels, statistics.rows)
        return Posterior(self, statistics * 0.0, label, prior, label, believed)

    def posterior(self, statistics: Statistics, draws: Mapping[Any, Draws] | None = None) -> Posterior:
        """The posterior, which may be improper. A feature with draws in ``draws`` is not sampled again.

        Warns
        -----
        UserWarning
            If the chains of a sampled feature did not converge.
        """
        draws = dict.fromkeys(self.features) | dict(draws or {})

        def learned(family: Family, s: Statistic, known: Draws | None) -> tuple[Prior, Prior]:
            prior = family.priors(s, statistics.labels)
            return prior, family.update(prior, s) if known is None else known

        if any(name != held for name, held in zip(self.features, statistics.features, strict=False)):
            statistics = replace(statistics, features={name: statistics.features[name] for name in self.features})
        seen = statistics.features
        alike = stacks.stacked(self.features, seen)
        both = [*stacks.each(alike, len(statistics.labels), learned, statistics.about, draws)]
        each = ([(names, pair[k]) for names, pair in both] for k in (0, 1))
        prior, believed = (stacks.by_name(self.features, found, seen) for found in each)
        label_prior = self.label.over_classes(statistics.labels, statistics.rows)
        label = label_prior.plus(statistics.rows)
        found = Posterior(self, statistics, label_prior, prior, label, believed)
        found.warn_of_chains()
        return found


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior of the model: a product of independent distributions.

    Parameters
    ----------
    model : NaiveBayes
    statistics : Statistics
    label_prior, prior : Dirichlet or FixedProbabilities; {name: Prior}
        The priors of all classes and columns. All hyperparameters are numbers.
    label, features : Dirichlet or FixedProbabilities; {name: Prior}
        The posteriors.

    Examples
    --------
    >>> from bayesnb import BayesianNB, Bernoulli
    >>> clf = BayesianNB({"wet": Bernoulli()}).fit({"wet": [1, 0, 1]}, ["spring", "spring", "summer"])
    >>> posterior = clf.posterior_
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
        return self.statistics.labels

    @property
    def fitted(self) -> Posterior:
        return self

    @property
    def exact(self) -> bool:
        return self.model.exact

    def require_exact(self, what: str | Message, cure: str | Message, apart: bool = True) -> None:
        self.model.require_exact(what, cure, apart)

    def stored(self) -> dict[str, Any]:
        """The data that a model file needs besides the statistics."""
        return {}

    def require_statistics(self, what: str = "the question") -> None:
        """Raise no error: this posterior has sufficient statistics, unlike a ``DrawnPosterior``."""

    @property
    def sizes(self) -> tuple[int, int]:
        samplers = [self.model.features[name].sampler for name in self.model.sampled]
        return min([4, *(each.chains for each in samplers)]), min([1000, *(each.draws for each in samplers)])

    def before(self) -> Posterior:
        empty = self.statistics * 0.0
        return Posterior(self.model, empty, self.label_prior, self.prior, self.label_prior, self.prior)

    def given(self, statistics: Statistics) -> Posterior:
        """The posterior given other statistics, under the same priors."""
        both = self.prior, statistics.features
        alike, updated = stacks.stacked(self.model.features, *both), lambda family, *of: family.update(*of)
        each = stacks.each(alike, len(self.labels), updated, statistics.about)
        believed = stacks.by_name(self.model.features, each, self.prior)
        return replace(self, statistics=statistics, features=believed).with_class_prior(self.model.label)

    def only(self, names: Collection[Any]) -> Posterior:
        def picked(parts: Mapping[Any, Any]) -> dict[Any, Any]:
            return {name: part for name, part in parts.items() if name in names}

        model = replace(self.model, features=picked(self.model.features), columns=picked(self.model.columns))
        seen = replace(self.statistics, features=picked(self.statistics.features))
        return Posterior(model, seen, self.label_prior, picked(self.prior), self.label, picked(self.features))

    @cached_property
    def pieces(self) -> list[stacks.Piece]:
        """The family and the posterior of each column, as one piece per column.

        A feature whose columns share parameters is one piece.
        """
        found = []
        for name, family in self.model.features.items():
            believed = self.features[name]
            if family.one_term:
                found.append(stacks.Piece(name, None, family, believed))
                continue
            each = range(self.statistics.features[name].seen().shape[1])
            found.extend(stacks.Piece(name, k, family.gathered([(family, k)]), believed.columns([k])) for k in each)
        return found

    @cached_property
    def constant(self) -> dict[Any, list[int]]:
        """The positions of the columns with one value or none in the learned rows, by feature (``Family.constant``)."""
        each = {f: family.constant(self.statistics.features[f]).tolist() for f, family in self.model.features.items()}
        return {feature: columns for feature, columns in each.items() if columns}

    def without_constant(self, data: Data) -> Data:
        """Set the cells of constant columns to missing.

        A constant column has the same predictive distribution in every class, so it says nothing about the class. Its
        parameters differ between classes, so they would add uncertainty.
        """
        # A sparse matrix of zeros and ones cannot hold missing cells, and a constant column of it adds little.
        families = self.model.features
        holds = {f: not (issparse(data[f]) and families[f].support.kind == "zero_one") for f in self.constant}
        return data | {f: without_columns(data[f], own) for f, own in self.constant.items() if holds[f]}

    def piece_names(self) -> list[Any]:
        """The name of each piece: its column, its feature (if it is a whole feature), or (feature, column position)."""
        called = []
        for piece in self.pieces:
            columns = self.model.columns.get(piece.feature)
            if piece.column is None or self.statistics.features[piece.feature].seen().shape[1] == 1:
                called.append(columns[0] if columns and len(columns) == 1 else piece.feature)
            else:
                called.append(columns[piece.column] if columns else (piece.feature, piece.column))
        return called

    def conjugate_part(self) -> Posterior:
        sampled = self.model.sampled
        return self.only([name for name in self.model.features if name not in sampled]) if sampled else self

    def warn_of_chains(self) -> None:
        said = [
            f"feature {name!r}: the chains of {type(self.model.features[name]).__name__} did not converge "
            f"({believed.convergence})"
            for name, family in self.model.features.items()
            if not family.exact and not (believed := self.features[name]).convergence.converged
        ]
        if said:
            warn(
                f"{'; '.join(said)}. Results from their draws may be far off: fit again with more draws "
                "(the family takes draws=, tune= and target_accept=), or give it firmer priors"
            )

    def with_class_prior(self, prior: LabelPrior) -> Posterior:
        label_prior = prior.over_classes(self.labels, self.statistics.rows)
        label = label_prior.plus(self.statistics.rows)
        return replace(self, model=replace(self.model, label=prior), label_prior=label_prior, label=label)

    def with_default_class_prior(self) -> Posterior:
        """A copy of the posterior with the default class prior."""
        return self.with_class_prior(Dirichlet())

    def change_of_prior(self) -> Array:
        """The log class probabilities, (class,), minus those under the default class prior."""
        return self.log_label - self.with_default_class_prior().log_label

    def _each(self, ask: Callable[[Family, Prior], Any], without: Collection[str] = ()) -> dict[str, Any]:
        answers = {}
        for name, family in self.model.features.items():
            if name in without:
                continue
            with self.statistics.about(name):
                answers[name] = ask(family, self.features[name])
        return answers

    def point(self, which: Point) -> Parameters:
        """The posterior mode or mean of the parameters."""
        if which == "mode":
            self.model.require_exact("the posterior mode", USE_DRAWS, apart=False)
        with about("class prior", self.labels):
            log_pi = log(getattr(self.label, which)())
        return Parameters(self.model, log_pi, self._each(lambda f, p: f.plug_in(p, which)))

    @cached_property
    def log_label(self) -> Array:
        """Log posterior means of the class probabilities, (class,)."""
        with about("class prior", self.labels):
            return log(self.label.mean())

    @cached_property
    def _stacks(self) -> list[stacks.Stack]:
        return stacks.stacked(self.model.features, self.features)

    @cached_property
    def _keys(self) -> dict[Any, list[tuple[int, int]]]:
        """For each feature, one key per column, from which the random numbers of the column are made."""
        # Keys 0 and 1 belong to the classes.
        width = {name: max(1, believed.batch_shape[-1]) for name, believed in self.features.items()}
        return {name: [(2 + k, column) for column in range(width[name])] for k, name in enumerate(self.model.features)}

    def draw(self, rng: Generator, size: Size = (), without: Collection[str] = ()) -> Parameters:
        """Independent draws of the parameters of all features except those named in ``without``."""
        log_pi = self.label.log_draw(rng, size)
        drawn = self._each(lambda f, p: f.draw(p, rng, size), without)
        return Parameters(self.model, log_pi, drawn)

    @cached_property
    def by_cells(self) -> frozenset[Any]:
        """Features with so many parameters that only log-likelihoods of cells are drawn, not the parameters."""
        return frozenset(name for name, family in self.model.features.items() if family.by_cells(self.features[name]))

    def log_joint_at(
        self, drawn: Parameters, power: int, common: CommonDraws, data: Data, n_rows: int, offset: Array | float = 0.0
    ) -> Array:
        """log p(c, x | θ) at draws of θ from the posterior, (draw, row, class).

        θ is drawn given the data and, if ``power`` is 1, given the row itself.
        """
        data = self.without_constant(data)
        if not power:
            joint = drawn.log_joint(data, n_rows) + offset
            for k, (name, family) in enumerate(self.model.features.items()):
                if name not in drawn.features:
                    joint += family.drawn_by_cells(self.features[name], data[name], None, common.within(2 + k))
            return joint
        # For each draw and row, a class is drawn from p(c | x, D). Only its parameters are conditioned on the row.
        log_joint = self.log_predictive(data, n_rows) + offset
        chosen = chosen_classes(log_joint, common.generator(0).random(common.draws))
        joint = self.log_classes_at(drawn, common, chosen)

        def asked(family: Family, believed: Prior, x: Any, names: tuple[Any, ...]) -> Array:
            keys = [key for name in names for key in self._keys[name]]
            theta = drawn.of_features(names) if names[0] in drawn.features else None
            here = common.of_columns(keys) if len(names) > 1 else common.within(keys[0][0])
            if theta is None:
                return family.drawn_by_cells(believed, x, chosen, here)
            return family.log_likelihood_given_row(believed, theta, x, chosen, here)

        # An array of draws of the joined features has as many numbers as ``joint`` per column.
        each = data, {name: (name,) for name in self.features}
        for _, found in stacks.each(self._stacks, joint.size, asked, self.statistics.about, *each):
            joint += found
        return joint + offset

    def log_classes_at(self, drawn: Parameters, common: CommonDraws, chosen: Array) -> Array:
        """Draws of ln π (log class probabilities), given the data and one more row of the class ``chosen[draw, row]``.

        The result, (draw, row, class), is correct up to an additive constant shared by all classes.
        """
        joint = np.repeat(drawn.log_pi[:, None], chosen.shape[1], axis=1)
        counted = self.label.log_counted(drawn.log_pi, common.generator(1))
        place = chosen[..., None]
        np.put_along_axis(joint, place, np.take_along_axis(counted[:, None], place, -1), -1)
        return joint

    def effective(self, power: int, n: int, data: Data, n_rows: int, offset: Array | float = 0.0) -> Array:
        return np.full(n_rows, float(n))

    def plug_in(self, estimate: Estimate) -> Parameters:
        rule = estimate_rule(estimate)
        believed = self._under_flat_priors() if rule.flat else self
        return believed.point(rule.point)

    def _under_flat_priors(self) -> Posterior:
        return self.model.flat().posterior(self.statistics)

    def log_joint(self, data: Data, n_rows: int, estimate: Estimate = "predictive") -> Array:
        if not estimate_rule(estimate).plugs_in:
            return self.log_predictive(data, n_rows)
        return self.plug_in(estimate).log_joint(data, n_rows)

    def log_predictive(self, data: Data, n_rows: int) -> Array:
        """log p(c, x | D), (row, class), with all parameters integrated out."""
        return add_row(self.log_predictive_features(data, n_rows), self.log_label)

    def log_predictive_features(self, data: Data, n_rows: int) -> Array:
        """Log predictive density of each row in each class, log p(x | c, D), (row, class)."""
        each = lambda family, *of: family.log_predictive(*of), self.statistics.about, data
        total = None
        for _, found in stacks.each(self._stacks, n_rows, *each):
            total = found if total is None else np.add(total, found, out=total)
        return np.zeros((n_rows, len(self.labels))) if total is None else total

    def require_proper(self) -> None:
        """Raise :class:`ImproperError` if the posterior is improper."""
        if all(believed.proper().all() for _, believed in stacks.whole_parts(self.features)):
            return
        for name, believed in self.features.items():
            with self.statistics.about(name):
                believed.require_proper("A posterior that predicts")

    def log_left_out(self, data: Data, labels: Labels, estimate: Estimate = "predictive") -> Array:
        """Leave-one-out log p(c, x_i | D without row i) of each learned row i, (row, class)."""
        return self.left_out(data, labels, estimate)[0]

    def left_out(
        self, data: Data, labels: Labels, estimate: Estimate = "predictive", refit: bool = False
    ) -> tuple[Array, dict[Any, LeftOut]]:
        """Like :meth:`log_left_out`; also return the ``LeftOut`` of each sampled feature.

        Default priors keep the scale that was computed from all rows.
        """
        rule = estimate_rule(estimate)
        self.model.require_left_out(estimate)
        believed = self._under_flat_priors() if rule.flat else self.conjugate_part()
        log_joint, sampled = believed._log_left_out(data, labels, rule), self.sampled_left_out(data, labels, refit)
        for found in sampled.values():
            log_joint += found.log_predictive.sum(-1)
        return log_joint, sampled

    def sampled_left_out(self, data: Data, labels: Labels, refit: bool = False) -> dict[Any, LeftOut]:
        """For each sampled feature, leave-one-out log densities computed by importance weights.

        If ``refit`` is true and a row's importance weights are unreliable, the posterior without the row is sampled.
        """
        sampled = {}
        for name in self.model.sampled:
            learned = (self.prior[name], self.statistics.features[name]) if refit else None
            with self.statistics.about(name):
                sampled[name] = self.model.features[name].left_out(self.features[name], data[name], labels, learned)
        return sampled

    def _log_left_out(self, data: Data, labels: Labels, rule: EstimateRule) -> Array:
        data = {name: data[name] for name in self.model.features}
        if rule.plugs_in:
            total, point = self.point(rule.point).log_joint_features(data, len(labels)), rule.point
        else:
            total, point = self.log_predictive_features(data, len(labels)), None
        self.leave_out(total, data, labels, point)
        total += self._log_label_left_out(labels, rule.point)
        return total

    def leave_out(self, total: Array, data: Data, labels: Labels, point: str | None = None) -> None:
        """Change log p(x | c, D) in ``total``, (row, class), to leave-one-out values, in place.

        If a point estimate, ``point``, is plugged in, a prior shared by the classes still counts the row left out.
        """
        # A row affects only the factors of its class, unless the classes share a prior that was learned from the row.
        own, codes = np.zeros(len(labels)), (np.arange(len(labels)), labels.codes)

        def left_out(family: Family, believed: Prior, x: Any, s: Statistic) -> tuple[Array, Array | float]:
            whole = None if point else family.shared_left_out(believed, s, x, labels)
            if whole is not None:
                return whole[codes], whole - family.log_predictive(believed, x)
            gain: Array | float = 0.0
            if len(columns := family.constant(s)):
                part, held = family.gathered([(family, k) for k in columns]), believed.columns(columns)
                cells = columns_of(x, columns)
                full = (
                    part.log_likelihood(part.plug_in(held, point), cells) if point else part.log_predictive(held, cells)
                )
                gain = part.log_left_out(held, cells, labels, point)[:, None] - full
            return family.log_left_out(believed, x, labels, point), gain

        given = data, self.statistics.features
        for _, (of_class, gain) in stacks.each(self._stacks, len(labels), left_out, self.statistics.about, *given):
            own += of_class
            total += gain
        total[codes] = own

    def _log_label_left_out(self, labels: Labels, point: str) -> Array:
        # If all weights are 1, the result depends only on the class of the row.
        codes, weight, place = np.arange(labels.n), np.ones(labels.n), labels.codes
        if not (labels.weight == 1).all():
            codes, weight, place = labels.codes, labels.weight, slice(None)
        with about("class prior"):
            return self.model.label.log_left_out(self.label, self.statistics.rows, codes, weight, point)[place]

    def log_evidence(self) -> Evidence:
        """Log marginal likelihood of the learned rows (Murphy 2022, section 4.6)."""
        self.model.require_exact("the evidence", "compare models on held-out rows, by loo or evaluate", apart=False)
        each = {}
        for name, family in self.model.features.items():
            with self.statistics.about(name):
                s = self.statistics.features[name]
                each[name] = float(family.log_evidence(self.prior[name], s).sum())
        with about("class prior", self.labels):
            return Evidence(self.label_prior.log_evidence(self.statistics.rows), each)


def chosen_classes(log_joint: Array, uniform: Array) -> Array:
    """Draw classes from p(c | x), (draw, row); ``uniform`` holds one uniform random number per draw."""
    below = np.exp(normalize(log_joint)).cumsum(-1)[:, :-1]
    return (uniform[:, None, None] >= below).sum(-1)
