"""Rounded numbers: the probability of an interval, against quadrature, and what may be asked of it."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import quad
from scipy.special import ndtr

import bayesnb as nb
from bayesnb import BayesianNB, Gaussian, NormalGamma
from bayesnb.families import Rounded
from bayesnb.numerics import log_interval
from bayesnb.statistics.statistic import Labels

PRIOR = NormalGamma(m=1.0, kappa=0.8, a=1.5, b=2.0)
RNG = np.random.default_rng(0)
Y = np.repeat(["old", "young"], 12)
X = pd.DataFrame({"age": np.floor(RNG.normal(np.repeat([4.0, 2.5], 12), np.repeat([1.5, 0.5], 12)))})
FAMILY = Rounded(Gaussian(), unit=1)
CLF = BayesianNB({"age": FAMILY}, random_state=0).fit(X, Y)
NEW = pd.DataFrame({"age": [-2.0, 1.0, 2.0, 3.0, 9.0]})


@pytest.mark.parametrize("middle", [0.0, 0.3, -1.7, 8.0, -50.0])
def test_the_probability_of_an_interval_is_the_integral_of_the_density(middle):
    for width in (1e-9, 1e-3, 0.04, 0.06, 1.0, 30.0):
        # Relative to the density at the point nearest to 0, so that nothing underflows.
        top = np.clip(0.0, middle - width / 2, middle + width / 2)
        at = np.clip((top - middle) / width, -0.5, 0.5)

        def ratio(u, width=width, at=at, top=top):
            away = width * (u - at)
            return np.exp(-away * (2 * top + away) / 2)

        share = sum(quad(ratio, *ends, epsabs=0, epsrel=1e-12, limit=500)[0] for ends in ((-0.5, at), (at, 0.5)))
        expected = np.log(share) + np.log(width) + stats.norm.logpdf(top)
        assert_allclose(log_interval(np.array(middle), np.array(width)), expected, rtol=1e-11, atol=1e-11)


def test_without_rows_the_predictive_is_a_difference_of_distribution_functions_of_student_t():
    family = Rounded(PRIOR, unit=0.5)
    prior = family.priors(family.statistic(np.zeros((0, 1)), Labels.of(np.zeros(0, int), n=1)), ["a"])
    x = np.array([[1.0], [0.5], [-3.0], [40.0], [-2e4]])
    scale = np.sqrt(PRIOR.b * (PRIOR.kappa + 1) / (PRIOR.a * PRIOR.kappa))
    t = stats.t(2 * PRIOR.a, PRIOR.m, scale)
    mirrored = np.where(x > 1, 2 - x - 0.5, x)[:, 0]
    expected = np.log(t.cdf(mirrored + 0.5) - t.cdf(mirrored))
    found = family.log_predictive(prior, x)[:, 0]
    assert_allclose(found[:4], expected[:4], rtol=1e-10, atol=1e-10)
    assert_allclose(found[4], t.logpdf(-2e4 + 0.25) + np.log(0.5), rtol=1e-9)


def test_posterior_and_evidence_are_those_of_quadrature_over_mean_and_precision():
    family, rows = Rounded(PRIOR, unit=1), np.array([2.0, 2.0, 3.0, 0.0, 2.0])
    s = family.statistic(rows[:, None], Labels.of(np.zeros(5, int), n=1))
    prior = family.priors(s, ["a"])
    posterior = family.update(prior, s)
    # Gauss-Legendre in panels of μ and ln τ, without the reductions of the package.
    nodes, weights = np.polynomial.legendre.leggauss(24)

    def panels(low, high, n):
        edges = np.linspace(low, high, n + 1)
        half = np.diff(edges) / 2
        return (edges[:-1, None] + half[:, None] * (nodes + 1)).ravel(), (half[:, None] * weights).ravel()

    (mu, of_mu), (log_tau, of_tau) = panels(-25.0, 27.0, 60), panels(-14.0, 6.0, 14)
    tau = np.exp(log_tau)[:, None]
    density = stats.gamma.pdf(tau, PRIOR.a, scale=1 / PRIOR.b) * tau
    density = density * stats.norm.pdf(mu, PRIOR.m, 1 / np.sqrt(PRIOR.kappa * tau)) * of_tau[:, None] * of_mu

    def p(x):
        return ndtr((x + 1 - mu) * np.sqrt(tau)) - ndtr((x - mu) * np.sqrt(tau))

    likelihood = np.prod([p(x) for x in rows], axis=0)
    evidence = (density * likelihood).sum()
    assert_allclose(family.log_evidence(prior, s), [[np.log(evidence)]], rtol=1e-9)
    expected = [(density * likelihood * p(x)).sum() / evidence for x in (2.0, 0.0, 6.0)]
    assert_allclose(
        family.log_predictive(posterior, np.array([[2.0], [0.0], [6.0]]))[:, 0], np.log(expected), rtol=1e-9
    )
    mean = (density * likelihood * mu).sum() / evidence, (density * likelihood * tau).sum() / evidence
    assert_allclose(np.ravel(posterior.mean()), mean, rtol=1e-8)
    drawn = family.draw(posterior, np.random.default_rng(1), (20_000,))
    for value, name in zip(mean, ("mu", "tau"), strict=True):
        assert abs(drawn[name].mean() - value) < 4 * drawn[name].std() / np.sqrt(20_000)


@pytest.mark.parametrize(("scale", "shift"), [(10.0, 0.0), (0.1, 0.0), (-1.0, 0.0), (2.5, 100.0)])
def test_class_probabilities_do_not_depend_on_the_unit(scale, shift):
    def changed(table):
        return table * scale + shift

    other = BayesianNB({"age": Rounded(unit=abs(scale))}).fit(changed(X), Y)
    assert_allclose(other.predict_proba(changed(NEW)), CLF.predict_proba(NEW), rtol=1e-8)
    nearest = BayesianNB({"age": Rounded(unit=abs(scale), to="nearest")}).fit(changed(X), Y)
    assert_allclose(nearest.predict_proba(changed(NEW)), CLF.predict_proba(NEW), rtol=1e-8)


def test_with_a_small_unit_it_is_the_gaussian_whose_density_is_multiplied_by_the_unit():
    small = BayesianNB({"age": Rounded(unit=1e-5, to="nearest")}).fit(X, Y)
    density = BayesianNB({"age": Gaussian()}).fit(X, Y)
    assert_allclose(small.predict_joint_log_proba(NEW) - np.log(1e-5), density.predict_joint_log_proba(NEW), atol=1e-6)


def test_parts_forgetting_merging_and_files_give_the_same_model(tmp_path):
    def close(clf):
        assert_allclose(clf.predict_proba(NEW), CLF.predict_proba(NEW), rtol=1e-9)

    fixed = {"age": Rounded(NormalGamma(3.0, 1.0, 0.5, 1.0), unit=1)}
    CLF.save(tmp_path / "m")
    close(nb.load(tmp_path / "m"))
    odd = np.arange(24) % 2 == 1
    a, b = (BayesianNB(fixed).fit(X[rows], Y[rows]) for rows in (odd, ~odd))
    whole = BayesianNB(fixed).fit(X, Y).predict_proba(NEW)
    for other in (a.merge(b), BayesianNB(fixed).fit(X, Y).partial_fit(X[:5], Y[:5]).forget(X[:5], Y[:5])):
        assert_allclose(other.predict_proba(NEW), whole, rtol=1e-9)
    close(BayesianNB({"age": FAMILY}).fit(X[odd], Y[odd]).partial_fit(X[~odd], Y[~odd]))
    again = RNG.permutation(24)
    close(BayesianNB({"age": FAMILY}).fit(X.iloc[again], Y[again]))


def test_a_column_of_one_value_says_nothing():
    one = BayesianNB({"same": FAMILY}).fit({"same": np.full(24, 7.0)}, np.repeat(["a", "b"], [20, 4]))
    frequencies = one.predict_proba({"same": [np.nan]})
    assert_allclose(one.predict_proba({"same": [7.0]}), frequencies, rtol=1e-9)


def test_the_model_in_pymc_has_the_density_of_the_closed_form():
    from pytensor import tensor as pt

    family, x = Rounded(PRIOR, unit=1), X.to_numpy()
    s = family.statistic(x, Labels.of(np.repeat([0, 1], 12), n=2))
    prior, theta = (
        family.priors(s, ["a", "b"]),
        family.theta({"mu": np.array([[3.5], [-30.0]]), "tau": np.array([[0.4], [3.0]])}),
    )
    tensors = {name: pt.constant(theta[name]) for name in ("mu", "tau")}
    found = family.pymc_log_likelihood(tensors, x).eval(mode="FAST_COMPILE")
    assert_allclose(found, family.log_likelihood(theta, x), rtol=1e-10)
    total = family.pymc_statistic(tensors, s).eval(mode="FAST_COMPILE")
    assert_allclose(total, prior.log_kernel_of(theta, *family.added(s)).sum(), rtol=1e-10)


def test_rows_are_drawn_on_the_grid_and_probabilities_given_the_row_have_the_predictive_as_their_mean():
    drawn = nb.draws.sample(CLF, 50)
    assert (drawn["age"] % 1 == 0).all()
    proba = np.asarray(nb.draws.sample_proba(CLF, NEW, 4000))
    error = proba.std(0) / np.sqrt(len(proba))
    assert (np.abs(proba.mean(0) - CLF.predict_proba(NEW)) < 5 * error).all()
    interval = CLF.predict_interval(NEW)
    pd.testing.assert_frame_equal(CLF.predict_interval(NEW[::-1])[::-1], interval)


def test_what_cannot_be_done_is_refused_by_name():
    with pytest.raises(ValueError, match=r"column 'age' holds 2.5 in row 1, where .*needs multiples of the unit, 1"):
        BayesianNB({"age": FAMILY}).fit({"age": [1, 2.5, 3, 4]}, [0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"column 'age' holds 0.25 in row 0"):
        CLF.predict_proba({"age": [0.25]})
    for unit in (0, -1.0, np.nan):
        with pytest.raises(ValueError, match="Expected unit to be one positive number"):
            Rounded(unit=unit)
    with pytest.raises(TypeError, match=r"Expected Gaussian\(\) to be rounded"):
        Rounded(nb.Poisson())
    with pytest.raises(ValueError, match="down"):
        Rounded(to="up")
    for ask in (nb.deploy.to_sql, nb.deploy.compile):
        with pytest.raises((ValueError, TypeError), match="Rounded"):
            ask(CLF)
    for estimate in ("map", "mle"):
        with pytest.raises(ValueError, match="has no closed form"):
            BayesianNB({"age": FAMILY}, estimate=estimate).fit(X, Y)


def test_inspect_proposes_it_where_it_predicts_better_and_the_proposal_can_be_fitted():
    from bayesnb.data.specifications import parsed

    rng = np.random.default_rng(3)
    y = np.repeat(["fine", "coarse"], 150)
    part = np.round(np.floor(rng.normal(5.05, np.repeat([0.02, 0.07], 150)) / 0.1) * 0.1, 1)
    table = pd.DataFrame({"part": part, "length": rng.normal(50, 9, 300).round(1), "kind": y})
    remarks = {remark.column: str(remark.said) for remark in nb.inspect(table, "kind").remarks}
    assert "features={'part': nb.families.Rounded(unit=0.1)}" in remarks["part"]
    assert "length" not in remarks
    assert parsed("rounded:0.1").unit == 0.1
    with pytest.raises(ValueError, match="rounded:UNIT"):
        parsed("rounded:1,2")
    with pytest.raises(ValueError, match="rounded:UNIT"):
        parsed("rounded:children")
