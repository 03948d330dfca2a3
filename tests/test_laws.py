"""The laws that every family must obey, tested for each family of one list.

A new family needs one line in ``FAMILIES``: the family, and how to make a random column for it. Exact laws are tested
on small difficult tables (classes without rows, rows without weight, missing cells), laws about averages on one
larger table, with exact draws and a tolerance of five standard errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator, default_rng
from numpy.testing import assert_allclose
from scipy import sparse

from bayesnb.families.compound import Hurdle, Mixture
from bayesnb.families.dyadic import Dyadic
from bayesnb.families.family import Family
from bayesnb.families.gaussian import Gaussian, GaussianKnownVariance, LogNormal
from bayesnb.families.multinomial import Bag, Multinomial
from bayesnb.families.multivariate_gaussian import MultivariateGaussian
from bayesnb.families.rates import Exponential, Exposed, GammaKnownShape, Poisson
from bayesnb.families.rounded import Rounded
from bayesnb.families.trees import Ordinal, PolyaTree
from bayesnb.families.trials import Bernoulli, Categorical, Coded, NegativeBinomial
from bayesnb.kernels import blocks
from bayesnb.model import NaiveBayes
from bayesnb.priors import (
    Array,
    Beta,
    BetaTree,
    BoundaryError,
    Dirichlet,
    Gamma,
    Normal,
    NormalGamma,
    NormalWishart,
    Prior,
    Theta,
)
from bayesnb.priors.compound import AllOf, OneOf, of_part
from bayesnb.statistics.statistic import Column, Labels, Statistic, arrays_of

# A law that reaches a compiled loop is tried on both roads, unless another law holds both roads to one formula; what
# follows from formulas alone has one.
both_roads = pytest.mark.usefixtures("road")

CLASSES = ("ant", "bee", "cow")


def yes_no(rng: Generator, n: int) -> Array:
    return (rng.random((n, 2)) < [0.3, 0.8]).astype(float)


def coded(rng: Generator, n: int) -> Coded:
    return Coded(rng.integers([3, 2], size=(n, 2)), (("red", "green", "blue"), ("small", "large")))


def ratings(rng: Generator, n: int) -> Coded:
    return Coded(rng.binomial(4, [0.3, 0.6], (n, 2)), (tuple(range(1, 6)),) * 2)


def words(rng: Generator, n: int) -> Bag:
    return Bag(rng.poisson([0.4, 1.0, 2.0], (n, 3)).astype(float), ("cat", "dog", "emu"))


NORMALS = ((0.0, 1.0), (1000.0, 20.0))


def reals(rng: Generator, n: int) -> Array:
    return rng.normal(*zip(*NORMALS, strict=True), (n, 2))


def vectors(rng: Generator, n: int) -> Array:
    size = rng.normal(0.0, 1.0, (n, 1))
    return np.hstack([size, 1000 + 20 * size, -3 * size]) + rng.normal(0.0, [0.5, 5.0, 1.0], (n, 3))


def events(rng: Generator, n: int) -> Array:
    return rng.poisson([0.5, 4.0], (n, 2)).astype(float)


def watched(rng: Generator, n: int) -> Exposed:
    # The first row is watched for one hour, as rows that are sampled are.
    hours = np.append(1.0, rng.uniform(0.5, 3.0, n - 1))
    return Exposed(rng.poisson(np.outer(hours, [0.5, 4.0])).astype(float), hours)


def amounts(rng: Generator, n: int) -> Array:
    return np.where(rng.random((n, 2)) < [0.5, 0.2], 0.0, rng.lognormal([0.0, 3.0], 1.0, (n, 2)))


def steps(rng: Generator, n: int) -> Array:
    return np.floor(rng.normal([0.0, 1000.0], [0.7, 20.0], (n, 2)) / [1.0, 5.0]) * [1.0, 5.0]


def thin(column: Callable[[Generator, int], Column]) -> Callable[[Generator, int], Column]:
    return lambda rng, n: having(x := column(rng, n), sparse.csr_array(cells(x)))


FAMILIES: dict[str, tuple[Family, Callable[[Generator, int], Column]]] = {
    "bernoulli": (Bernoulli(), yes_no),
    "bernoulli, sparse": (Bernoulli(Beta(2.0, 1.5)), thin(yes_no)),
    "categorical": (Categorical(), coded),
    "categorical, skewed": (
        Categorical(Dirichlet({"red": 1, "green": 2.5, "blue": 4, "small": 1.5, "large": 3})),
        coded,
    ),
    "multinomial": (Multinomial(), words),
    "multinomial, sparse": (Multinomial(Dirichlet([1.0, 2.0, 3.5])), thin(words)),
    "gaussian": (Gaussian(), reals),
    "gaussian, given": (Gaussian(NormalGamma([1.0, 900.0], 0.5, 2.0, [3.0, 500.0])), reals),
    "gaussian, known variance": (GaussianKnownVariance(variance=[1.5, 350.0]), reals),
    "gaussian, known variance, by class": (
        GaussianKnownVariance(
            variance=[1.5, 350.0], prior={"ant": Normal(), "bee": Normal([0, 990], 9), "cow": Normal(v=80)}
        ),
        reals,
    ),
    "multivariate gaussian": (MultivariateGaussian(), vectors),
    "multivariate gaussian, by class": (
        MultivariateGaussian(
            {
                "ant": NormalWishart([1.0, 900.0, 2.0], 0.5, 2.5, np.diag([3.0, 500.0, 8.0]) + 1.0),
                "bee": NormalWishart.shared(30.0),
                "cow": NormalWishart.unit_information(2.0),
            }
        ),
        vectors,
    ),
    "poisson": (Poisson(), events),
    "exponential": (Exponential(Gamma(2.0)), lambda rng, n: rng.exponential([0.5, 40.0], (n, 2))),
    "gamma, known shape": (
        GammaKnownShape(shape=[0.5, 4.0]),
        lambda rng, n: np.maximum(rng.gamma([0.5, 4.0], [2.0, 10.0], (n, 2)), 1e-9),
    ),
    "log-normal": (LogNormal(), lambda rng, n: rng.lognormal([0.0, 7.0], [1.0, 0.3], (n, 2))),
    "negative binomial": (NegativeBinomial(), lambda rng, n: rng.geometric([0.6, 0.05], (n, 2)) - 1.0),
    "negative binomial, given": (
        NegativeBinomial(Beta(2.0, 3.5), r=[0.7, 5.0]),
        lambda rng, n: rng.negative_binomial([0.7, 5.0], [0.3, 0.5], (n, 2)).astype(float),
    ),
    "polya tree": (PolyaTree(edges=[-1.0, -0.2, 0.5, 2.0, 970.0, 990.0, 1000.0, 1011.0, 1050.0]), reals),
    "polya tree, given": (
        PolyaTree(
            BetaTree(np.array([[3.0, 1.0]]), 1.1, 0.3, 50.0),
            cuts=(Dyadic.of(np.linspace(-2.0, 2.0, 90), 6), Dyadic.given([990.0], 6)),
        ),
        reals,
    ),
    "ordinal": (Ordinal(orders=(("red", "green", "blue"), ("small", "large"))), coded),
    "ordinal, given": (Ordinal(BetaTree(np.array([[9.0, 5.0]]), 1.1, 0.3, 50.0), order=range(1, 6)), ratings),
    "hurdle": (Hurdle(zero=Beta(2.0, 0.5)), amounts),
    "hurdle of counts": (Hurdle(Poisson(Gamma(2.0))), events),
    "hurdle of a mixture": (Hurdle(Mixture([LogNormal(), Exponential()])), amounts),
    "mixture": (
        Mixture(
            [
                Gaussian(NormalGamma([1.0, 900.0], 0.5, 2.0, [3.0, 500.0])),
                PolyaTree(cuts=tuple(Dyadic.of(np.linspace(m - 2 * s, m + 2 * s, 90), 6) for m, s in NORMALS)),
            ],
            weights=[200, 1],
        ),
        reals,
    ),
    "mixture, weighted": (Mixture([Poisson(), NegativeBinomial(), Hurdle(Poisson())], weights=[1, 2, 3]), events),
    "poisson, by class": (Poisson({"ant": Gamma(), "bee": Gamma(2, 0.5), "cow": Gamma([1.5, 6], [3, 2])}), events),
    "rounded": (Rounded(unit=[1.0, 5.0]), steps),
    "poisson, exposed": (Poisson(Gamma(2.0), exposure="hours"), watched),
}


INTEGRATED = {name for name in FAMILIES if "rounded" in name}
"""Families whose posterior is integrated by quadrature."""

MIXED = INTEGRATED | {name for name in FAMILIES if "polya tree" in name or "ordinal" in name or "mixture" in name}
"""Families whose posterior has no mode in closed form, such as a mixture."""

CHOOSING = {name for name in FAMILIES if "mixture" in name}
"""Families that choose among families, which have no maximum of the likelihood in closed form either."""


# A column is an array, a sparse matrix, or a record whose first field is one of the two.
def cells(x: Column) -> Any:
    return getattr(x, fields(x)[0].name) if is_dataclass(x) else x


def having(x: Column, values: Any) -> Column:
    return replace(x, **{fields(x)[0].name: values}) if is_dataclass(x) else values


def without(x: Column, hole: Array) -> Column:
    """The column with the cells under ``hole`` missing."""
    return having(x, np.where(hole, -1 if cells(x).dtype.kind == "i" else np.nan, cells(x)))


SPARSE = [name for name, (_, make) in FAMILIES.items() if sparse.issparse(cells(make(default_rng(), 1)))]
DENSE = [name for name in FAMILIES if name not in SPARSE]


@dataclass(frozen=True)
class Table:
    """One feature with its labels, its statistic and its posterior."""

    name: str
    family: Family
    x: Column
    labels: Labels
    rng: Generator

    @classmethod
    def of(cls, name: str, seed: int, weight: Array, missing: float) -> Table:
        (family, column), rng, n = FAMILIES[name], default_rng(seed), len(weight)
        x, labels = column(rng, n), Labels(rng.integers(len(CLASSES), size=n), weight, len(CLASSES))
        if name in DENSE:
            x = without(x, rng.random((n, family.statistic(x, labels).seen().shape[1])) < missing)
        return cls(name, family, x, labels, rng)

    @cached_property
    def s(self) -> Statistic:
        return self.family.statistic(self.x, self.labels)

    @cached_property
    def prior(self) -> Prior:
        return self.family.priors(self.s, CLASSES)

    @cached_property
    def posterior(self) -> Prior:
        return self.family.update(self.prior, self.s)

    def __len__(self) -> int:
        return len(self.labels)

    def only(self, rows: Any) -> Statistic:
        return self.family.statistic(self.x[rows], self.labels[rows])

    def parts(self) -> list[Statistic]:
        """The statistics of three parts of the rows, some of which may be empty."""
        part = self.rng.integers(3, size=len(self))
        return [self.only(np.flatnonzero(part == k)) for k in range(3)]

    def says(self, s: Statistic) -> list[Array]:
        """What a statistic determines: the posterior and the evidence."""
        return [*numbers(self.family.update(self.prior, s)), self.family.log_evidence(self.prior, s)]

    def log_likelihood(self, theta: Theta) -> Array:
        """Log-likelihood of the rows of each class."""
        own = self.family.log_likelihood(theta, self.x)[np.arange(len(self)), self.labels.codes]
        return np.bincount(self.labels.codes, own * self.labels.weight, minlength=len(CLASSES))


@cache
def small(name: str, n: int, compiled: bool) -> Table:
    """A table of so many rows, some of them without weight, in every second table with missing cells."""
    weight = default_rng([n, 1]).choice([0.0, 0.3, 1.0, 2.5, 4.0], n)
    table = Table.of(name, n, weight, 0.3 if n in (3, 5, 24) else 0.0)
    assert table.posterior is not None  # It is computed once for all laws.
    return table


def law(names: Iterable[str] = FAMILIES) -> Callable[[Callable[[Table], None]], Callable[..., None]]:
    """Test a law on three small tables of each family; in compiled loops on one, as other tests compare their sums."""

    def of(test: Callable[[Table], None]) -> Callable[..., None]:
        def tried(name: str) -> None:
            compiled = blocks.COMPILED_FROM == 0
            # Quadrature takes long, and has no compiled loop of its own.
            for n in (5,) if compiled else (3,) if name in INTEGRATED else (1, 3, 24):
                table = copy(small(name, n, compiled))
                object.__setattr__(table, "rng", default_rng([n, 2]))  # The same numbers, whichever law came before.
                try:
                    test(table)
                except Exception as error:
                    error.add_note(f"in the table of {n} rows")
                    raise

        tried.__name__ = test.__name__
        return pytest.mark.parametrize("name", names)(tried)

    return of


@pytest.fixture(scope="module", params=FAMILIES)
def crowd(request: pytest.FixtureRequest) -> Table:
    """A table so large that every class is well known and averages are close to their limits."""
    return Table.of(request.param, seed=20, weight=np.ones(60), missing=0.2)


@pytest.fixture(scope="module")
def few(crowd: Table) -> Column:
    """Six rows of the large table."""
    return crowd.x[:6]


@pytest.fixture(scope="module")
def drawn(crowd: Table) -> Theta:
    """5,000 draws of the posterior of the large table."""
    return crowd.family.draw(crowd.posterior, default_rng(21), (5_000,))


@pytest.fixture(scope="module")
def likelihoods(crowd: Table, few: Column, drawn: Theta) -> Array:
    """The log-likelihood of a few rows at each draw."""
    return crowd.family.log_likelihood(drawn, few)


def assert_same(one: Iterable[Array], other: Iterable[Array]) -> None:
    for a, b in zip(one, other, strict=True):
        assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def assert_average(draws: Array, truth: Array, choices: bool = False) -> None:
    """Check that the mean of independent draws is within five standard errors of the truth.

    A choice is 0 or 1, so that its standard deviation follows from the truth; a rare one may never be drawn.
    """
    sd = np.sqrt(truth * (1 - truth)) if choices else draws.std(0)
    error = sd / np.sqrt(len(draws))
    assert (np.abs(draws.mean(0) - truth) <= 5 * error + 1e-12 * np.abs(truth)).all()


def numbers(belief: Prior) -> list[Array]:
    found = list(arrays_of(belief).values())
    return found + [value for part in getattr(belief, "parts", ()) for value in numbers(part)]


def log_density(belief: Any, theta: Theta) -> Array:
    """The log density at θ; where a family was chosen, the θ of the others have their density before the data."""
    if isinstance(belief, AllOf):
        return sum(log_density(part, of_part(k, theta)) for k, part in enumerate(belief.parts))
    if not isinstance(belief, OneOf):
        return sum(belief.log_prob_of_each(theta))
    total = 0.0
    for k, (part, before) in enumerate(zip(belief.parts, belief.before, strict=True)):
        own, here = of_part(k, theta), theta["log_choice"][..., k] > -np.inf
        chosen = belief.log_weight[..., k] + log_density(part, own)
        total = total + np.where(here, chosen, log_density(before, own))
    return total


def if_chosen(draws: dict[str, Array], mean: dict[str, Array]) -> dict[str, Array]:
    """The same draws, but with the mean for each parameter of a family that was not chosen."""
    found = dict(draws)
    for choice, end in ((draws[name], name.removeprefix("log_choice")) for name in draws if "choice" in name):
        for k in range(choice.shape[-1]):
            for name in (name for name in draws if name.endswith(f"_{k + 1}{end}")):
                value = draws[name]
                chosen = choice[..., k].reshape(*choice.shape[:-1], *[1] * (value.ndim - choice.ndim + 1))
                found[name] = np.where(chosen > 0, value, mean[name])
    return found


def natural(theta: Theta) -> dict[str, Array]:
    """θ itself where its logarithm is kept, and without what one float lacks of it."""
    return {name: np.exp(v) if name.startswith("log_") else v for name, v in theta.items() if "low" not in name}


def by_class(value: Array) -> Array:
    return value.reshape(len(CLASSES), -1).sum(-1)


# If this fails, look at `__add__` and `__mul__` of the statistic.
@law()
def test_statistics_are_a_commutative_group_up_to_rounding(t: Table):
    a, b, c = t.parts()
    assert_same(t.says(a + b), t.says(b + a))
    assert_same(t.says((a + b) + c), t.says(a + (b + c)))
    assert_same(t.says(a + t.s.take([-1] * len(CLASSES))), t.says(a))
    assert_same(t.says(a + b - b), t.says(a))
    assert_same(t.says((a + b) * 0.5 + a * 0.5), t.says(a + b * 0.5))
    assert_same(numbers(t.family.update(t.prior, a - a)), numbers(t.prior))


# If this fails, look at `statistic`, then at `__add__` of the statistic.
@both_roads
@law()
def test_the_statistic_of_pooled_rows_is_the_sum_of_the_statistics(t: Table):
    a, b, c = t.parts()
    assert_same(t.says(t.s), t.says(a + b + c))


# If this fails, look at `statistic`: somewhere a row is counted, not weighed.
@both_roads
@law()
def test_two_rows_of_weight_one_half_equal_one_row(t: Table):
    twice = np.repeat(np.arange(len(t)), 2)
    half = Labels(t.labels.codes[twice], t.labels.weight[twice] / 2, t.labels.n)
    assert_same(t.says(t.family.statistic(t.x[twice], half)), t.says(t.s))


# If this fails, look at `expected_statistics` in naive_bayes.py.
@law()
def test_responsibilities_of_0_and_1_equal_labels(t: Table):
    r = np.eye(len(CLASSES))[t.labels.codes] * t.labels.weight[:, None]
    model = NaiveBayes({"x": t.family})
    expected = model.expected_statistics({"x": t.x}, r, range(len(CLASSES))).features["x"]
    assert_same(t.says(expected), t.says(t.s))


# If this fails, look at `update`, then at `log_base`.
@law()
def test_updating_in_two_steps_equals_updating_once(t: Table):
    f, (a, b, _) = t.family, t.parts()
    yesterday = f.update(t.prior, a)
    assert_same(numbers(f.update(yesterday, b)), numbers(f.update(t.prior, a + b)))
    chained = f.log_evidence(t.prior, a) + f.log_evidence(yesterday, b)
    assert_same([chained], [f.log_evidence(t.prior, a + b)])


# If this fails, look at `log_base` where the error is the same at every θ, else at `update`.
@both_roads
@law()
def test_bayes_rule_holds_at_any_theta(t: Table):
    theta = t.family.draw(t.posterior, t.rng)
    likelihood = t.log_likelihood(theta)
    evidence = by_class(t.family.log_evidence(t.prior, t.s))
    prior, posterior = (by_class(log_density(belief, theta)) for belief in (t.prior, t.posterior))
    assert_same([prior + likelihood - evidence], [posterior])


# If this fails, and Bayes' rule holds, look at `log_predictive`.
@both_roads
@law()
def test_the_predictive_is_a_ratio_of_evidences(t: Table):
    in_every_class = Labels.of(range(len(CLASSES)))
    for i in range(0, len(t), 5):
        more = t.s + t.family.statistic(t.x[np.repeat(i, len(CLASSES))], in_every_class)
        ratio = t.family.log_evidence(t.prior, more) - t.family.log_evidence(t.prior, t.s)
        assert_same(t.family.log_predictive(t.posterior, t.x[i : i + 1]), [by_class(ratio)])


# If this fails, and the predictive is a ratio of evidences, look at `draw`.
def test_the_predictive_is_the_average_likelihood(crowd: Table, few: Column, likelihoods: Array):
    predictive = np.exp(crowd.family.log_predictive(crowd.posterior, few))
    assert_average(np.exp(likelihoods), predictive)


# If this fails, look at `log_moment`; if only the mixture fails, at the shape of its t.
@law()
def test_the_moment_at_one_is_the_predictive_and_at_zero_it_is_one(t: Table):
    predictive = t.family.log_predictive(t.posterior, t.x)
    assert_same([t.family.log_moment(t.posterior, t.x, 1.0)], [predictive])
    assert_same([t.family.log_moment(t.posterior, t.x, 0.0)], [np.zeros_like(predictive)])
    power = t.rng.integers(2, size=predictive.shape).astype(float)
    mixed = t.family.log_moment(t.posterior, t.x, power)
    assert_same([mixed], [predictive * power])


# If this fails, look at the powers in `log_moment`.
@pytest.mark.parametrize("power", [-0.3, 0.5, 2.0])
def test_the_moment_at_t_is_the_average_of_the_likelihood_to_the_t(
    crowd: Table, few: Column, likelihoods: Array, power: float
):
    f = crowd.family
    moment = np.exp(f.log_moment(crowd.posterior, few, power))
    draws = np.exp(power * likelihoods)
    # An average only settles if the square has a mean too.
    settles = np.isfinite(f.log_moment(crowd.posterior, few, 2 * power))
    assert settles.mean() > 0.9
    assert_average(draws[:, settles], moment[settles])


# If this fails, look at the guard in `log_moment`: NaN is on neither side of an inequality.
@law()
def test_the_log_moment_is_convex_and_infinite_where_there_is_no_moment(t: Table):
    powers = np.linspace(-30.0, 6.0, 7)
    curve = np.array([t.family.log_moment(t.posterior, t.x, power) for power in powers])
    assert (curve[1:-1] <= (curve[:-2] + curve[2:]) / 2 + 1e-9 * (1 + np.abs(curve[1:-1]))).all()
    telling = t.family.log_predictive(t.posterior, t.x) != 0
    far = t.family.log_moment(t.posterior, t.x, -1e6)
    assert_same([far], [np.where(telling, np.inf, 0.0)])


# If this fails, look at how `log_moment` behaves at very small t.
def test_the_slope_of_the_log_moment_at_zero_is_the_mean_log_likelihood(crowd: Table, few: Column, likelihoods: Array):
    step = 1e-4
    up, down = (crowd.family.log_moment(crowd.posterior, few, t) for t in (step, -step))
    assert_average(likelihoods, (up - down) / (2 * step))


# If this fails, and the moment is right, look at `moment_floor`.
@law()
def test_the_log_moment_exists_just_above_its_floor_and_not_below(t: Table):
    floor = t.family.moment_floor(t.posterior, t.x)
    assert (floor < 0).all()
    known = np.isfinite(floor)
    above = t.family.log_moment(t.posterior, t.x, np.where(known, floor * (1 - 1e-9), -1.0))
    below = t.family.log_moment(t.posterior, t.x, np.where(known, floor * (1 + 1e-9), -1e6))
    assert np.isfinite(above).all()
    assert_same([below], [np.where(known, np.inf, 0.0)])


# If this fails, and the moment is right, look at `cumulants`.
@pytest.mark.parametrize("share", [-0.6, 0.0, 2.0])
def test_the_slopes_are_the_derivatives_of_the_log_moment(crowd: Table, few: Column, share: float):
    f, few = crowd.family, few[:1] if crowd.name in INTEGRATED else few
    # In units of the distance to the floor, where the curve bends.
    unit = -f.moment_floor(crowd.posterior, few)
    unit = np.where(np.isfinite(unit), unit, 1.0)
    t, step = share * unit, 1e-4 * unit
    up, down = (f.log_moment(crowd.posterior, few, t + k * step) for k in (1, -1))
    level, first, second = f.cumulants(crowd.posterior, few, t)
    assert_same([level], [f.log_moment(crowd.posterior, few, t)])
    assert_allclose(first * unit, (up - down) / 2e-4, rtol=1e-5, atol=1e-4)
    above, below = (f.cumulants(crowd.posterior, few, t + k * step)[1] for k in (1, -1))
    assert_allclose(second * unit**2, (above - below) * unit / 2e-4, rtol=1e-5, atol=1e-4)
    assert (second >= 0).all()


# If this fails, look at where the method that fails treats NaN (or -1).
@both_roads
@law(DENSE)
def test_a_missing_value_changes_nothing(t: Table):
    f, theta = t.family, t.family.plug_in(t.posterior, "mean")

    def answers(x: Column) -> list[Array]:
        moment = f.log_moment(t.posterior, x, 0.7)
        slopes = f.cumulants(t.posterior, x, 0.7)[1:]
        return [f.log_likelihood(theta, x), f.log_predictive(t.posterior, x), moment, *slopes]

    blank = without(t.x, np.full((len(t), 1), True))
    assert_same(t.says(f.statistic(blank, t.labels)), t.says(t.s * 0.0))
    assert not any(answer.any() for answer in answers(blank))
    assert not f.log_left_out(t.posterior, blank, t.labels).any()
    # What some cells say and what the others say is what all of them say.
    hole = t.rng.random((len(t), t.s.seen().shape[1])) < 0.5
    some, others = without(t.x, hole), without(t.x, ~hole)
    assert_same(t.says(f.statistic(some, t.labels) + f.statistic(others, t.labels)), t.says(t.s))
    assert_same(map(np.add, answers(some), answers(others)), answers(t.x))


# If this fails, look at `table` and `of_reals` of the family: a long table may be answered from a table of its values.
@both_roads
@law()
def test_a_row_is_answered_in_a_long_table_as_in_a_short_one(t: Table):
    f, again = t.family, np.tile(np.arange(len(t)), 3 + 300 // len(t))
    theta = f.draw(t.posterior, t.rng, (3,))

    def answers(x: Column, labels: Labels) -> list[Array]:
        slopes, floor = f.cumulants(t.posterior, x, 0.7)[1:], f.moment_floor(t.posterior, x)
        predictive, moment = f.log_predictive(t.posterior, x), f.log_moment(t.posterior, x, -0.2)
        left_out = f.log_left_out(t.posterior, x, labels)
        return [predictive, moment, *slopes, floor, left_out, np.moveaxis(f.log_likelihood(theta, x), 0, 1)]

    short, long = answers(t.x, t.labels), answers(t.x[again], t.labels[again])
    assert_same(long, [answer[again] for answer in short])


# If this fails, look at `plus` and `along` of the prior: taking data out is the opposite of putting them in.
@law([name for name in FAMILIES if not FAMILIES[name][0].parts])
def test_the_generating_function_of_a_prior_is_that_of_its_posterior_the_other_way_round(t: Table):
    d = t.family.added(t.s)
    back = t.posterior.plus(*d, t=-1.0)
    assert_same(numbers(back), numbers(t.prior))
    assert_same([t.prior.along(*d, t=0.0) * 1.0], [np.zeros_like(t.family.log_h(t.s))])
    assert_same([t.posterior.along(*d, t=-1.0)], [-t.prior.along(*d)])


# If this fails, look at `mode` of the prior.
def test_the_mode_is_a_maximum_or_is_refused_where_it_has_no_closed_form(crowd: Table):
    if crowd.name in MIXED:
        with pytest.raises(BoundaryError, match=r'use the mean \(estimate="mean"'):
            crowd.family.plug_in(crowd.posterior, "mode")
        return
    f, posterior = crowd.family, crowd.posterior
    mode, draws = f.variables(f.plug_in(posterior, "mode")), f.variables(f.draw(posterior, default_rng(22), (200,)))
    highest = log_density(posterior, f.plug_in(posterior, "mode"))
    # A point between two of a simplex, or of a half-line, is one too.
    for step in (1e-3, 0.1, 1.0):
        between = {name: mode[name] + step * (draws[name] - mode[name]) for name in mode}
        others = log_density(posterior, f.theta(between))
        assert (others <= highest + 1e-9).all()
        assert (others < highest).any(0).all()


# If this fails, look at `flat`, then at `mode` of the family.
def test_the_mode_under_the_flat_prior_has_the_largest_likelihood(crowd: Table):
    if crowd.name in CHOOSING | INTEGRATED:
        with pytest.raises(
            BoundaryError, match=r"a mixture of families has no mode|of rounded values has no closed form"
        ):
            crowd.family.flat()
        return
    f, flat = crowd.family, crowd.family.flat()
    best = flat.plug_in(flat.update(flat.priors(crowd.s, CLASSES), crowd.s), "mode")
    # After ten thousand copies of the table there is little doubt: draws lie near the maximum.
    draws = f.draw(f.update(crowd.prior, crowd.s * 1e4), default_rng(23), (60,))
    each = [crowd.log_likelihood({name: v[i] for name, v in draws.items()}) for i in range(60)]
    assert (np.array(each) <= crowd.log_likelihood(best) + 1e-9).all()
    assert_allclose(np.max(each, axis=0), crowd.log_likelihood(best), atol=0.01)


# If this fails, look at `log_left_out`.
@law()
def test_leaving_a_row_out_equals_refitting_without_it(t: Table):
    left_out = t.family.log_left_out(t.posterior, t.x, t.labels)
    for i in range(0, len(t), 5):
        others = t.family.update(t.prior, t.only(np.delete(np.arange(len(t)), i)))
        refitted = t.family.log_predictive(others, t.x[i : i + 1])
        assert_same([left_out[i]], [refitted[0, t.labels.codes[i]]])


# If this fails, look at `log_kernel` of the prior, then at its `plug_in`.
@law()
def test_a_point_without_a_row_is_that_of_a_fit_without_it(t: Table):
    def plugged_in(point: str, i: int) -> float:
        believed = t.family.update(t.prior, t.only(np.delete(np.arange(len(t)), i)))
        # Another class, without any row, may have no such point.
        theta = t.family.plug_in(believed.at([t.labels.codes[i]]), point)
        return t.family.log_likelihood(theta, t.x[i : i + 1])[0, 0]

    for point in ("mean", "mode"):
        try:
            left_out = t.family.log_left_out(t.posterior, t.x, t.labels, point)
        except BoundaryError:
            # A mode that lies on the boundary without some row is refused for that row too.
            with pytest.raises(BoundaryError):
                [plugged_in(point, i) for i in range(len(t))]
            continue
        rows = range(0, len(t), 5)
        both = [left_out[rows], np.array([plugged_in(point, i) for i in rows])]
        if point == "mode":
            # A concentration that is 1 but for rounding gives a probability that is 0 but for rounding.
            both = [np.where(value < -33.0, -np.inf, value) for value in both]
        assert_same(both[:1], both[1:])


# If this fails, look at the sparse branch of the method that fails.
@both_roads
@law(SPARSE)
def test_sparse_and_dense_columns_agree(t: Table):
    f, theta = t.family, t.family.draw(t.posterior, t.rng, (3,))

    def answers(x: Column) -> list[Array]:
        return [
            *t.says(f.statistic(x, t.labels)),
            f.log_likelihood(theta, x),
            f.log_predictive(t.posterior, x),
            f.log_moment(t.posterior, x, -0.2),
            f.log_left_out(t.posterior, x, t.labels),
        ]

    assert_same(answers(t.x), answers(having(t.x, cells(t.x).toarray())))


# If this fails, look at `draw` or `mean`, of the family or of its prior.
def test_draws_have_the_mean_of_the_posterior(crowd: Table, drawn: Theta):
    mean = natural(crowd.family.plug_in(crowd.posterior, "mean"))
    draws = if_chosen(natural(drawn), mean)
    assert draws.keys() == mean.keys()
    for name, value in mean.items():
        assert_average(draws[name], value, choices="choice" in name)


# If this fails, look at `sample`.
def test_the_posterior_of_many_sampled_rows_is_close_to_the_true_theta(crowd: Table):
    f, rows, rng = crowd.family, 4_000, default_rng(24)
    theta = f.draw(crowd.posterior, rng)
    labels = Labels.of(np.repeat(np.arange(len(CLASSES)), rows))
    each = {name: value[labels.codes] for name, value in theta.items()}
    x = having(crowd.x[np.zeros(len(labels), int)], f.sample(each, rng, crowd.s))
    found = f.draw(f.update(crowd.prior, f.statistic(x, labels)), rng, (500,))
    for name, draws in if_chosen(natural(found), natural(theta)).items():
        assert (np.abs(draws.mean(0) - natural(theta)[name]) <= 5 * draws.std(0)).all()


# If this fails, look at `linear`.
@pytest.mark.parametrize("name", FAMILIES)
def test_the_linear_form_is_given_where_the_log_odds_are_linear(name: str):
    t = Table.of(name, seed=20, weight=np.ones(60), missing=0.0)
    theta = t.family.plug_in(t.posterior, "mean")
    log_likelihood = t.family.log_likelihood(theta, t.x)
    log_odds = log_likelihood - log_likelihood[:, :1]
    phi = cells(t.x).toarray() if name in SPARSE else cells(t.x)
    if phi.dtype.kind == "i":  # codes enter as indicators of their levels
        phi = (phi[..., None] == np.arange(phi.max() + 1)).reshape(len(t), -1)
    try:
        weights, offset = t.family.linear(theta)
    except ValueError:
        terms = np.column_stack([np.ones(len(t)), phi])
        nearest = terms @ np.linalg.lstsq(terms, log_odds, rcond=None)[0]
        assert np.abs(log_odds - nearest).max() > 1e-3
    else:
        # A level that cannot occur weighs -inf, and occurs in no row.
        form = phi @ np.where(np.isneginf(weights), 0.0, weights).T + offset
        assert_same([form - form[:, :1]], [log_odds])
