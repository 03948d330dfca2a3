"""The textbook estimates are special cases of the priors, and the densities are those of their names."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from bayesnb import BayesianNB
from bayesnb.datasets import play_tennis
from bayesnb.families.gaussian import Gaussian, GaussianKnownVariance
from bayesnb.families.rates import Events, Poisson
from bayesnb.families.trials import Bernoulli, BinaryCounts, Categorical, CategoryCounts
from bayesnb.priors import Beta, Dirichlet, Gamma, ImproperError, Normal, NormalGamma, log_rising
from bayesnb.statistics.statistic import same

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


def test_laplaces_estimate_is_the_mean_under_dirichlet_1_and_the_mode_under_dirichlet_2():
    assert_allclose(after(Dirichlet(1)).mean(), after(Dirichlet(2)).mode())
    assert_allclose(after(Dirichlet(1)).mean(), after(Dirichlet.laplace()).mean())
    assert_allclose(after_ones(Beta(1, 1)).mean(), after_ones(Beta(2, 2)).mode())


def test_laplaces_estimate_and_the_m_estimate_are_means_of_the_posterior():
    ones, total = COUNTS[..., 0], TOTAL[..., 0]
    assert_allclose(after(Dirichlet.laplace(0.25)).mean(), (COUNTS + 0.25) / (TOTAL + 3 * 0.25))
    assert_allclose(after_ones(Beta.laplace(0.25)).mean(), (ones + 0.25) / (total + 2 * 0.25))
    shares = [0.5, 0.2, 0.3]
    for p, share in (
        (shares, shares),
        (dict(zip(("low", "mid", "high"), shares, strict=True)), shares),
        (np.array([shares, [0.1, 0.1, 0.8]]), [[shares], [[0.1, 0.1, 0.8]]]),
        (None, 1 / 3),
    ):
        assert_allclose(after(Dirichlet.m_estimate(7, p)).mean(), (COUNTS + 7 * np.array(share)) / (TOTAL + 7))
    assert_allclose(after_ones(Beta.m_estimate(7, 0.4)).mean(), (ones + 7 * 0.4) / (total + 7))


def test_plain_counting_is_the_mode_under_the_flat_prior():
    assert_allclose(after(Dirichlet.flat()).mode(), COUNTS / TOTAL)
    assert_allclose(after(Dirichlet(1)).mode(), COUNTS / TOTAL)
    assert_allclose(after_ones(Beta.flat()).mode(), COUNTS[..., 0] / TOTAL[..., 0])


def test_jeffreys_perks_and_bdeu_add_their_imaginary_counts():
    assert_allclose(after(Dirichlet.jeffreys()).alpha, COUNTS + 1 / 2)
    assert_allclose(after(Dirichlet.perks()).alpha, COUNTS + 1 / 3)
    assert_allclose(after(Dirichlet.bdeu(5)).alpha, COUNTS + 5 / (2 * 3))
    for prior, share in [(Beta.jeffreys(), 1 / 2), (Beta.perks(), 1 / 2), (Beta.bdeu(5), 5 / (2 * 2))]:
        assert_allclose(after_ones(prior).alpha, COUNTS[..., 0] + share)
        assert_allclose(after_ones(prior).beta, (TOTAL - COUNTS[..., :1])[..., 0] + share)


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
        (Dirichlet({"c": 3, "a": 1, "b": 2, "x": 4, "y": 5}), [[1, 2, 3]] * 2, [[4, 5, 0]] * 2),
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
    kappa = np.array([[0.2, 3.0], [50.0, 1.0]])
    given_tau = stats.norm(CENTRES, 1 / np.sqrt(kappa * HALF_LINE)).logpdf(near)
    found = NormalGamma(CENTRES, kappa, SHAPES, RATES).log_prob(near, HALF_LINE)
    assert_allclose(found, gamma.logpdf(HALF_LINE) + given_tau)


# --- Densities and draws ---


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


@pytest.mark.parametrize("a", [1e-8, 1.0, 15.9, 16.0, 1e3, 1e15])
def test_log_rising_is_a_difference_of_log_gammas(a: float):
    for t in (-1e3, -20.0, -2.5, -1.0, -0.3, -1e-9, 0.0, 1e-6, 0.5, 1.0, 7.25, 1e3, 1e6):
        found = log_rising(a, t)
        if a + t <= 0:
            assert found == np.inf
            continue
        with mpmath.workdps(60):
            exact = mpmath.loggamma(mpmath.mpf(a) + mpmath.mpf(t)) - mpmath.loggamma(mpmath.mpf(a))
        # Below 16 two logarithms are subtracted, of at most this size; above, nothing cancels.
        size = 0.0 if min(a, a + t) >= 16 else float(abs(mpmath.loggamma(a)))
        assert_allclose(found, float(exact), rtol=1e-13, atol=1e-15 * max(size, 1.0), err_msg=str(t))


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


# --- Priors as other libraries write them ---

FROZEN = [
    (Bernoulli, stats.beta(2, 5), stats.beta(2, 5)),
    (Bernoulli, stats.uniform(), stats.beta(1, 1)),
    (Poisson, stats.gamma(3, scale=0.5), stats.gamma(3, scale=0.5)),
    (Poisson, stats.gamma(a=3), stats.gamma(3)),
    (Poisson, stats.expon(scale=4), stats.expon(scale=4)),
    (Poisson, stats.chi2(3, scale=2), stats.chi2(3, scale=2)),
    (GaussianKnownVariance, stats.norm(1, 2), stats.norm(1, 2)),
]


@pytest.mark.parametrize(("family", "given", "density"), FROZEN)
def test_a_frozen_distribution_of_scipy_becomes_the_prior_with_the_same_density(family, given, density):
    points = np.array([0.1, 0.4, 0.9])
    assert_allclose(family(given).prior.log_prob(points), density.logpdf(points), rtol=1e-12)


def test_a_dirichlet_and_a_normal_inverse_gamma_of_scipy_become_the_priors_with_the_same_density():
    shares = np.array([0.2, 0.3, 0.5])
    prior = Categorical(stats.dirichlet([1.0, 2.0, 4.0])).prior
    assert_allclose(prior.log_prob(shares), stats.dirichlet.logpdf(shares, [1.0, 2.0, 4.0]), rtol=1e-12)
    prior, given = Gaussian(stats.normal_inverse_gamma(1.0, 2.0, 3.0, 4.0)).prior, (0.7, 2.5)
    # The density of the precision is that of the variance v = 1 / τ times |dv / dτ| = v².
    joint = stats.normal_inverse_gamma(1.0, 2.0, 3.0, 4.0).logpdf(given[0], given[1]) + 2 * np.log(given[1])
    assert_allclose(prior.log_prob(np.array(given[0]), np.array(1 / given[1])), joint, rtol=1e-12)


@pytest.mark.parametrize(
    ("family", "name", "given"),
    [
        (Bernoulli, "Beta", (2.0, 5.0)),
        (Poisson, "Gamma", (3.0, 2.0)),
        (Poisson, "Exponential", (2.0,)),
        (Poisson, "ChiSquared", (3.0,)),
        (GaussianKnownVariance, "Normal", (1.0, 2.0)),
        (Categorical, "Dirichlet", ([1.0, 2.0, 4.0],)),
    ],
)
def test_a_distribution_of_preliz_becomes_the_prior_with_the_same_density(family, name, given):
    preliz = pytest.importorskip("preliz")
    distribution = getattr(preliz, name)(*given)
    points = np.array([0.2, 0.3, 0.5])
    shown = np.array(distribution.logpdf(points)).sum() if name == "Dirichlet" else distribution.logpdf(points)
    assert_allclose(family(distribution).prior.log_prob(points), shown, rtol=1e-9)


def test_a_distribution_without_parameters_or_of_another_kind_is_refused_by_its_name():
    for family, given in (
        (Gaussian, stats.norm(0, 1)),
        (Bernoulli, stats.beta(1, 2, loc=3)),
        (Poisson, stats.gamma(2, loc=1)),
        (Poisson, stats.poisson(3)),
        (Categorical, stats.beta(1, 2)),
    ):
        with pytest.raises(ValueError, match=rf"scipy\.stats\.{given.dist.name} .* {family.conjugate.__name__}"):
            family(given)
    preliz = pytest.importorskip("preliz")
    with pytest.raises(ValueError, match=r"preliz\.Beta has no parameters yet"):
        Bernoulli(preliz.Beta())


def test_a_text_names_a_prior_and_a_misspelled_text_names_the_nearest():
    for family in (Bernoulli, Poisson, Categorical, Gaussian, GaussianKnownVariance):
        for name in family.conjugate.by_name:
            assert same(family(name), family(getattr(family.conjugate, name)())), name
    assert same(Gaussian("jeffreys"), Gaussian(NormalGamma.reference()))
    assert same(Bernoulli({"a": "Jeffreys", "b": Beta()}), Bernoulli({"a": Beta.jeffreys(), "b": Beta()}))
    with pytest.raises(ValueError, match="no NormalGamma prior is called 'jefreys'; did you mean 'jeffreys'"):
        Gaussian("jefreys")


def test_the_prior_of_the_classes_may_be_a_dirichlet_of_scipy():
    X, y = play_tennis()
    given, own = (BayesianNB(class_prior=prior) for prior in (stats.dirichlet([1.0, 3.0]), Dirichlet([1.0, 3.0])))
    assert_array_equal(given.fit(X, y).predict_proba(X), own.fit(X, y).predict_proba(X))
