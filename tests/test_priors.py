"""The textbook estimates are special cases of the priors, and the densities are those of their names."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from bayesnb.families.gaussian import Gaussian
from bayesnb.families.rates import Events, Poisson
from bayesnb.families.trials import Bernoulli, BinaryCounts, Categorical, CategoryCounts
from bayesnb.priors import (
    Beta,
    BoundaryError,
    Dirichlet,
    FixedProbabilities,
    Gamma,
    ImproperError,
    Normal,
    NormalGamma,
    log_rising,
)
from bayesnb.statistics.membership import Labels

# Two classes and one column of three levels; the second class has never seen the last of them.
LEVELS = (("low", "mid", "high"),)
COUNTS = np.array([[[3.0, 1.0, 4.0]], [[2.0, 6.0, 0.0]]])
TOTAL = COUNTS.sum(-1, keepdims=True)


def after(prior: Dirichlet) -> Dirichlet:
    """The prior after ``COUNTS``."""
    family, s = Categorical(prior), CategoryCounts(COUNTS, LEVELS)
    return family.update(family.priors(s, ("yes", "no")), s)


def after_ones(prior: Beta) -> Beta:
    """The prior after ``COUNTS``, with the first level as 1 and the others as 0."""
    family, s = Bernoulli(prior), BinaryCounts(TOTAL[..., 0], COUNTS[..., 0])
    return family.update(family.priors(s, ("yes", "no")), s)


# --- The textbook estimates ---


@pytest.mark.parametrize("alpha", [0.25, 1.0, 3.0])
def test_laplaces_estimate_is_the_mean_under_dirichlet_alpha(alpha: float):
    assert_allclose(after(Dirichlet.laplace(alpha)).mean(), (COUNTS + alpha) / (TOTAL + 3 * alpha))
    ones = (COUNTS[..., 0] + alpha) / (TOTAL[..., 0] + 2 * alpha)
    assert_allclose(after_ones(Beta.laplace(alpha)).mean(), ones)


def test_laplaces_estimate_is_the_mean_under_dirichlet_1_and_the_mode_under_dirichlet_2():
    assert_allclose(after(Dirichlet(1)).mean(), after(Dirichlet(2)).mode())
    assert_allclose(after(Dirichlet(1)).mean(), after(Dirichlet.laplace()).mean())
    assert_allclose(after_ones(Beta(1, 1)).mean(), after_ones(Beta(2, 2)).mode())


@pytest.mark.parametrize(
    "p",
    [[0.5, 0.2, 0.3], {"high": 0.3, "low": 0.5, "mid": 0.2}, np.array([[0.5, 0.2, 0.3], [0.1, 0.1, 0.8]]), None],
    ids=["array", "names", "by class", "uniform"],
)
def test_the_m_estimate_is_the_mean_under_dirichlet_m_times_p(p):
    shares = [0.5, 0.2, 0.3] if isinstance(p, dict) else [1 / 3] * 3 if p is None else p
    shares = np.broadcast_to(np.array(shares), (2, 3))
    assert_allclose(after(Dirichlet.m_estimate(7, p)).mean(), (COUNTS + 7 * shares[:, None]) / (TOTAL + 7))
    assert_allclose(after_ones(Beta.m_estimate(7, 0.4)).mean(), (COUNTS[..., 0] + 7 * 0.4) / (TOTAL[..., 0] + 7))


def test_plain_counting_is_the_mode_under_the_flat_prior():
    assert_allclose(after(Dirichlet.flat()).mode(), COUNTS / TOTAL)
    assert_allclose(after(Dirichlet(1)).mode(), COUNTS / TOTAL)
    assert_allclose(after_ones(Beta.flat()).mode(), COUNTS[..., 0] / TOTAL[..., 0])


def test_jeffreys_perks_and_bdeu_add_their_imaginary_counts():
    assert_allclose(after(Dirichlet.jeffreys()).alpha, COUNTS + 1 / 2)
    assert_allclose(after(Dirichlet.perks()).alpha, COUNTS + 1 / 3)
    assert_allclose(after(Dirichlet.bdeu(5)).alpha, COUNTS + 5 / (2 * 3))
    for prior, share in [
        (Beta.jeffreys(), 1 / 2),
        (Beta.perks(), 1 / 2),
        (Beta.bdeu(5), 5 / (2 * 2)),
    ]:
        assert_allclose(after_ones(prior).alpha, COUNTS[..., 0] + share)
        assert_allclose(after_ones(prior).beta, (TOTAL - COUNTS[..., :1])[..., 0] + share)


def test_the_variances_by_n_and_by_n_minus_1_are_special_cases():
    x, labels = default_rng(1).normal(50.0, 7.0, (20, 2)), Labels.of(np.repeat([0, 1], 10))
    halves = [x[:10], x[10:]]
    for prior, theta, ddof in [
        (NormalGamma.flat(), Gaussian.mode, 0),
        (NormalGamma.reference(), Gaussian.mean, 1),
    ]:
        family = Gaussian(prior)
        s = family.statistic(x, labels)
        found = theta(family, family.update(family.priors(s, ("yes", "no")), s))
        assert_allclose(found["mu"], [half.mean(0) for half in halves])
        assert_allclose(1 / found["tau"], [half.var(0, ddof=ddof) for half in halves])


def test_the_mode_of_a_rate_under_the_flat_prior_is_events_over_exposure():
    family, s = Poisson.flat(Poisson()), Events(*np.array([[[4.0]], [[10.0]], [[3.0]], [[0.0]]]))
    assert_allclose(family.update(family.priors(s, ("yes",)), s).mode(), [[2.5]])


# --- What a prior leaves to the data ---


def test_unit_information_is_worth_one_row_like_the_whole_column():
    prior = NormalGamma.unit_information().over(np.array([5.0, 0.0]), np.array([9.0, 4.0]), n_classes=3)
    for found, expected in zip((prior.m, prior.kappa, prior.a, prior.b), ([5, 0], 1, 0.5, [4.5, 2]), strict=True):
        assert_array_equal(found, np.broadcast_to(expected, (3, 2)))
    rate = Gamma.unit_information().over(np.array([0.25]), n_classes=2)
    assert_array_equal(rate.mean(), [[0.25], [0.25]])
    normal = Normal.unit_information().over(np.array([5.0]), np.array([9.0]), n_classes=2)
    assert_array_equal([normal.m, normal.v], [[[5.0], [5.0]], [[9.0], [9.0]]])


@pytest.mark.parametrize(("mean", "b"), [(3.0, 4.5), (0.0, 0.5), (np.nan, 0.5)])
@pytest.mark.parametrize("variance", [0.0, np.nan])
def test_a_column_without_variance_gets_a_positive_scale(mean: float, b: float, variance: float):
    prior = NormalGamma().over(np.array([mean]), np.array([variance]), n_classes=1)
    assert_array_equal(prior.b, [[b]])
    assert prior.proper().all()
    assert_array_equal(Gamma(2.0).over(np.array([variance]), n_classes=1).mean(), [[1.0]])


WIDE, NARROW = ("a", "b", "c"), ("x", "y")


@pytest.mark.parametrize(
    ("prior", "wide", "narrow"),
    [
        (Dirichlet(2), [[2, 2, 2]] * 2, [[2, 2, 0]] * 2),
        (Dirichlet(6, per="class"), [[2, 2, 2]] * 2, [[3, 3, 0]] * 2),
        (Dirichlet(12, per="feature"), [[2, 2, 2]] * 2, [[3, 3, 0]] * 2),
        (
            Dirichlet({"c": 3, "a": 1, "b": 2, "x": 4, "y": 5}),
            [[1, 2, 3]] * 2,
            [[4, 5, 0]] * 2,
        ),
    ],
    ids=["level", "class", "feature", "names"],
)
def test_a_concentration_is_broadcast_over_columns_with_different_numbers_of_levels(prior, wide, narrow):
    full = prior.over((WIDE, NARROW), n_classes=2)
    assert_allclose(full.alpha, np.stack([wide, narrow], axis=1))


@pytest.mark.parametrize(
    ("alpha", "expected"),
    [
        ([1, 2, 3], [[[1, 2, 3], [1, 2, 3]]] * 2),
        ([[1, 2, 3], [4, 5, 6]], [[[1, 2, 3]] * 2, [[4, 5, 6]] * 2]),
        (np.arange(12).reshape(2, 2, 3), np.arange(12).reshape(2, 2, 3)),
        ([[[1, 2, 3]], [[4, 5, 6]]], [[[1, 2, 3]] * 2, [[4, 5, 6]] * 2]),
    ],
    ids=["level", "class and level", "class, column and level", "class, any column and level"],
)
def test_an_array_of_concentrations_is_broadcast_in_the_order_of_the_axes(alpha, expected):
    assert_array_equal(Dirichlet(alpha).over((WIDE, WIDE), n_classes=2).alpha, expected)


def test_a_beta_per_feature_is_shared_among_the_classes():
    full = Beta(6, 3, per="feature").over(n_columns=2, n_classes=3)
    assert_array_equal([full.alpha, full.beta], [np.full((3, 2), 2.0), np.full((3, 2), 1.0)])


def test_a_structural_zero_has_probability_0_until_it_is_seen():
    prior, smaller = Dirichlet([2, 0, 4]), Dirichlet([2, 4])
    assert_allclose(prior.mean(), [1 / 3, 0, 2 / 3])
    assert_allclose(prior.mode(), [1 / 4, 0, 3 / 4])
    assert_allclose(prior.log_normalizer(), smaller.log_normalizer())
    assert (prior.draw(default_rng(0), (50,))[:, 1] == 0).all()
    inside = prior.log_prob(np.array([0.3, 0.0, 0.7]))
    assert_allclose(inside, smaller.log_prob(np.array([0.3, 0.7])))
    assert prior.log_prob(np.array([0.3, 0.1, 0.6])) == -np.inf
    # The only possible level has probability 1, and the mode of a flat density is its centre.
    assert_array_equal([Dirichlet([0.5, 0.0]).mode(), Dirichlet([0.5, 0.0]).mean()], [[1, 0]] * 2)
    assert_allclose(Dirichlet([1, 1, 1, 0]).mode(), [1 / 3, 1 / 3, 1 / 3, 0])


# --- Densities and draws ---

SHAPES = np.array([[0.3, 2.0], [40.0, 1.0]])
RATES = np.array([[5.0, 0.1], [2.0, 1.0]])
HALF_LINE = np.array([[0.01, 30.0], [17.0, 1.0]])
CENTRES = np.array([[0.0, -3.0], [1e6, 2.0]])


def test_densities_are_those_of_scipy():
    theta = np.array([0.2, 0.5, 0.3])
    for alpha in ([0.5, 2.0, 9.0], [1.0, 1.0, 1.0], [300.0, 500.0, 200.0]):
        assert_allclose(Dirichlet(alpha).log_prob(theta), stats.dirichlet(alpha).logpdf(theta))
    p = np.array([[0.1, 0.5], [0.9, 0.3]])
    assert_allclose(Beta(SHAPES, RATES).log_prob(p), stats.beta(SHAPES, RATES).logpdf(p))
    gamma = stats.gamma(SHAPES, scale=1 / RATES)
    assert_allclose(Gamma(SHAPES, RATES).log_prob(HALF_LINE), gamma.logpdf(HALF_LINE))
    near = CENTRES + np.array([[0.5, -2.0], [3.0, 0.0]])
    assert_allclose(Normal(CENTRES, RATES).log_prob(near), stats.norm(CENTRES, np.sqrt(RATES)).logpdf(near))


def test_the_normal_gamma_density_is_a_gamma_times_a_normal():
    kappa, near = np.array([[0.2, 3.0], [50.0, 1.0]]), CENTRES + 0.7
    given_tau = stats.norm(CENTRES, 1 / np.sqrt(kappa * HALF_LINE)).logpdf(near)
    expected = stats.gamma(SHAPES, scale=1 / RATES).logpdf(HALF_LINE) + given_tau
    assert_allclose(NormalGamma(CENTRES, kappa, SHAPES, RATES).log_prob(near, HALF_LINE), expected)


@pytest.mark.parametrize(
    "prior",
    [
        Dirichlet([[0.05, 2.0, 0.9], [30.0, 4.0, 1.0]]),
        Beta(SHAPES, RATES),
        Gamma(SHAPES, RATES),
        NormalGamma(CENTRES, RATES, SHAPES + 1.5, RATES),
        Normal(CENTRES, RATES),
    ],
    ids=lambda prior: type(prior).__name__,
)
def test_draws_have_the_stated_mean(prior):
    draws, means = prior.draw(default_rng(2), (20_000,)), prior.mean()
    if not isinstance(draws, tuple):
        draws, means = (draws,), (means,)
    for drawn, mean in zip(draws, means, strict=True):
        assert (np.abs(drawn.mean(0) - mean) <= 5 * drawn.std(0) / np.sqrt(len(drawn))).all()
    if isinstance(prior, Gamma):
        squares = (draws[0] - means[0]) ** 2
        assert (np.abs(squares.mean(0) - prior.variance()) <= 5 * squares.std(0) / np.sqrt(len(squares))).all()


@pytest.mark.parametrize("alpha", [1e-8, 1e-3, 1.0, 1e8])
def test_the_logarithm_of_a_draw_is_finite_at_any_concentration(alpha: float):
    drawn = Dirichlet([alpha, alpha, 1e-8, 1e8]).log_draw(default_rng(4), (2_000,))
    assert np.isfinite(drawn).all()
    assert_allclose(np.exp(drawn).sum(-1), 1.0)


def test_draws_under_tiny_concentrations_put_all_probability_on_one_level_each_equally_often():
    drawn = Dirichlet([1e-8, 1e-8]).draw(default_rng(5), (4_000,))
    assert (drawn.max(-1) > 1 - 1e-9).all()
    assert abs(drawn[:, 0].mean() - 0.5) <= 5 * 0.5 / np.sqrt(4_000)


# --- The ratio of gammas ---


@pytest.mark.parametrize("t", [-1e3, -20.0, -2.5, -1.0, -0.3, -1e-9, 0.0, 1e-6, 0.5, 1.0, 7.25, 1e3, 1e6])
@pytest.mark.parametrize("a", [1e-8, 1.0, 15.9, 16.0, 1e3, 1e15])
def test_log_rising_is_a_difference_of_log_gammas(a: float, t: float):
    found = log_rising(a, t)
    if a + t <= 0:
        assert found == np.inf
        return
    with mpmath.workdps(60):
        exact = mpmath.loggamma(mpmath.mpf(a) + mpmath.mpf(t)) - mpmath.loggamma(mpmath.mpf(a))
    # Below 16 two logarithms are subtracted, of at most this size; above, nothing cancels.
    size = 0.0 if min(a, a + t) >= 16 else float(abs(mpmath.loggamma(a)))
    assert_allclose(found, float(exact), rtol=1e-13, atol=1e-15 * max(size, 1.0))


# --- Errors ---


def test_a_mode_on_the_boundary_is_refused_with_its_cell_and_the_error_offers_the_mean():
    with pytest.raises(BoundaryError, match=r'is 0\.5 < 1; use the mean \(estimate="mean"\)') as caught:
        after(Dirichlet.jeffreys()).mode()
    assert caught.value.where == (1, 0, 2)
    with pytest.raises(BoundaryError, match=r"shape plus events is 0\.5 < 1; use the mean") as caught:
        Gamma([[2.0, 0.5]], 1.0).over(np.ones(2), 1).mode()
    assert caught.value.where == (0, 1)
    with pytest.raises(BoundaryError, match=r"precision is 0, where a is 0\.5 <= 1/2.*use the mean") as caught:
        NormalGamma().over(np.ones(1), np.ones(1), 2).mode()
    assert caught.value.where == (0, 0)
    with pytest.raises(BoundaryError, match=r"is 0\.25 < 1; use the mean"):
        Beta(0.25, 3.0).mode()


@pytest.mark.parametrize(
    "prior", [Gamma.flat(), Gamma.jeffreys(), NormalGamma.flat(), NormalGamma.reference(), Normal.flat()]
)
def test_an_improper_prior_has_neither_density_nor_mean_nor_draw(prior):
    name = type(prior).__name__
    full = type(prior)(*(np.full((2, 1), value) for value in vars(prior).values() if value is not None))
    for what, ask in [
        ("A density", full.log_normalizer),
        ("A mean", full.mean),
        ("A mode", full.mode),
        ("A draw", lambda: full.draw(default_rng(0))),
    ]:
        with pytest.raises(ImproperError, match=f"{what} needs a proper {name}; got .*=(0|inf)") as caught:
            ask()
        assert caught.value.where == (0, 0)


def test_a_dirichlet_with_all_concentrations_0_is_improper():
    with pytest.raises(ImproperError, match="A mean needs a proper Dirichlet") as caught:
        Dirichlet([[1.0, 1.0], [0.0, 0.0]]).mean()
    assert caught.value.where == (1,)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Dirichlet.m_estimate(3, [0.5, 0.4]), "probabilities p to sum to 1"),
        (lambda: Dirichlet.m_estimate(3, {"a": 0.5, "b": 0.6}), "probabilities p to sum to 1"),
        (lambda: Dirichlet.m_estimate(3, [1.5, -0.5]), "probabilities p to sum to 1"),
        (lambda: Beta.m_estimate(3, 1.2), "p between 0 and 1; got .*1.2"),
        (lambda: FixedProbabilities([0.5, 0.4]), "class prior: Expected probabilities that sum to 1"),
        (lambda: Dirichlet(-1.0), "alpha to be finite and not negative"),
        (lambda: Dirichlet({"a": np.nan}), "alpha to be finite and not negative"),
        (lambda: Beta(1.0, np.inf), "beta to be finite and not negative"),
        (lambda: Gamma(-2.0), "alpha to be finite and not negative"),
        (lambda: NormalGamma(kappa=-1.0), "kappa to be finite and not negative"),
        (lambda: NormalGamma(m=np.nan), "m to be finite"),
        (lambda: Normal(0.0, -1.0), "v not to be negative"),
        (lambda: Dirichlet(1.0, per="row"), "per to be 'level', 'class', 'feature' or 'pooled'; got 'row'"),
        (lambda: Dirichlet([1.0, 2.0], per="class"), "one number for alpha per class"),
        (lambda: Beta(per="level"), "per to be 'class', 'feature' or 'pooled'; got 'level'"),
        (
            lambda: Dirichlet({"a": 1, "b": 1}).over((WIDE,), 2),
            "a concentration for every level; got none for 'c'",
        ),
        (
            lambda: Dirichlet([1, 2]).over((WIDE,), 2),
            r"fit 2 classes and the 3 levels .*got shape \(2,\)",
        ),
        (
            lambda: Dirichlet(np.ones((3, 3))).over((WIDE,), 2),
            r"fit 2 classes .*got shape \(3, 3\)",
        ),
        (lambda: Dirichlet(1.0).mean(), "how many levels there are is not known yet"),
        (lambda: Gamma([1, 2, 3]).over(np.ones(2), 2), r"prior of shape \(2, 2\).*got \(3,\)"),
        (lambda: Beta(np.ones((3, 1))).over(2, 2), r"prior of shape \(2, 2\).*{class: prior}"),
    ],
)
def test_invalid_parameters_are_refused(make, message: str):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("t", [-0.4, 0.0, 0.7, 3.0])
@pytest.mark.parametrize(
    ("prior", "d"),
    [
        (Dirichlet([1e15, 0.5, 3.0]), ([2.0, 0.25, 0.0],)),
        (Dirichlet([2.0, 3.0]), ([1e6, 3e6],)),
        (Beta(0.5, 1e8), (0.25, 2.0)),
        (Gamma(2.0, 3.0), (1.5, 2.5)),
        (Gamma(1e15, 1e9), (1e6, 1.0)),
        (NormalGamma(1.0, 2.0, 3.0, 4.0), (1.0, 2.5, 0.0, 0.0)),
        (Normal(1.0, 2.0), (0.5, 4.0, 0.0)),
    ],
    ids=str,
)
def test_the_slopes_of_a_prior_are_the_derivatives_of_its_generating_function(prior, d, t):
    d = tuple(map(np.asarray, d))
    scale = float(min(1.0, *np.ravel(-prior.floor(*d))))
    t, step = t * scale, 1e-4 * scale
    up, down = (prior.along(*d, t=t + k * step) for k in (1, -1))
    first, second = prior.slopes(*d, t=t)
    assert_allclose(first * scale, (up - down) / 2e-4, rtol=1e-5, atol=1e-6)
    above, below = (prior.slopes(*d, t=t + k * step)[0] for k in (1, -1))
    assert_allclose(second * scale**2, (above - below) * scale / 2e-4, rtol=1e-5, atol=1e-6)
