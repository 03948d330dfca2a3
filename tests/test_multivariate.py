"""Blocks of real columns: the Normal-Wishart prior and the multivariate Gaussian family."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

import bayesnb as nb
from bayesnb import BayesianNB, ByType, Gaussian, NormalGamma, NormalWishart, load
from bayesnb.errors import ImproperError
from bayesnb.families import MultivariateGaussian
from bayesnb.priors import UnlearnedError
from bayesnb.priors.normal_wishart import SPREAD
from bayesnb.statistics.moments import Scatter
from bayesnb.statistics.statistic import Labels

COLUMNS = ["alcohol", "ash", "hue", "proline"]


@pytest.fixture(scope="module")
def wine() -> tuple[pd.DataFrame, np.ndarray]:
    data = load_wine(as_frame=True)
    return data.data[COLUMNS], data.target.to_numpy()


def one_class(prior: NormalWishart, x: np.ndarray) -> NormalWishart:
    """The posterior after the rows of one class."""
    family = MultivariateGaussian(prior)
    s = family.statistic(x, Labels.of(np.zeros(len(x), int)))
    return family.update(family.priors(s, ["a"]), s)


@pytest.fixture(scope="module")
def belief() -> NormalWishart:
    x = default_rng(1).normal(size=(9, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 0.3], [0.0, 0.0, 0.1]])
    return one_class(NormalWishart([1.0, 2.0, 3.0], 0.7, 2.5, np.diag([1.0, 4.0, 0.5]) + 0.1), x)


# Independent references


@pytest.mark.parametrize("gaps", [[], [1], [0, 2]])
def test_the_predictive_of_the_columns_that_are_there_is_the_t_of_scipy(belief, gaps):
    x = default_rng(4).normal(2, 3, (7, 3))
    here = np.setdiff1d(range(3), gaps)
    (kappa,), (dof,) = belief.kappa, belief.dof
    shape = belief.scale[0][np.ix_(here, here)] * (kappa + 1) / (kappa * dof)
    expected = stats.multivariate_t(belief.m[0, here], shape, dof).logpdf(x[:, here])
    x[:, gaps] = np.nan
    assert_allclose(MultivariateGaussian().log_predictive(belief, x)[:, 0], expected, rtol=1e-10)


def test_the_likelihood_of_the_columns_that_are_there_is_the_normal_of_scipy(belief):
    theta, x = belief.draw_theta(default_rng(5)), default_rng(6).normal(2, 3, (7, 3))
    covariance = np.linalg.inv(theta["precision"][0])
    expected = [stats.multivariate_normal(theta["mu"][0], covariance).logpdf(row) for row in x[:4]]
    here = np.array([0, 2])
    some = stats.multivariate_normal(theta["mu"][0, here], covariance[np.ix_(here, here)])
    expected += [some.logpdf(row[here]) for row in x[4:]]
    x[4:, 1] = np.nan
    assert_allclose(MultivariateGaussian().log_likelihood(theta, x)[:, 0], expected, rtol=1e-10)


def test_a_block_of_one_column_is_a_gaussian(wine):
    X, y = wine
    X = X[["alcohol"]]
    alone = BayesianNB(Gaussian(NormalGamma(13, 0.5, 1.5, 2))).fit(X, y)
    prior = NormalWishart([13.0], 0.5, 3.0, [[4.0]])
    block = BayesianNB({"b": (MultivariateGaussian(prior), ["alcohol"])}).fit(X, y)
    assert_allclose(block.predict_joint_log_proba(X), alone.predict_joint_log_proba(X), rtol=1e-10)
    assert_allclose(block.log_evidence_.joint, alone.log_evidence_.joint, rtol=1e-10)
    assert_allclose(block.loo(X, y)["log_density"], alone.loo(X, y)["log_density"], rtol=1e-10)


def test_each_column_of_a_block_has_the_default_prior_of_a_gaussian_by_itself(wine):
    X, y = wine
    single = BayesianNB(Gaussian()).fit(X, y)
    block = BayesianNB(MultivariateGaussian(NormalWishart())).fit(X, y)
    gaps = X.where(pd.DataFrame(True, X.index, X.columns) & (X.columns == "hue"))
    ours, theirs = (model.posterior_.before() for model in (block, single))
    here, there = (clf.classifier_.schema.read(_table(gaps))[1] for clf in (block, single))
    assert_allclose(ours.log_predictive(here, len(X)), theirs.log_predictive(there, len(X)), rtol=1e-10)


def _table(X):
    from bayesnb.data.tables import Table

    return Table.of(X)


# scikit-learn in the limits


def test_maximum_likelihood_is_quadratic_discriminant_analysis(wine):
    X, y = wine
    ours = BayesianNB(MultivariateGaussian(), estimate="mle").fit(X, y)
    theirs = QuadraticDiscriminantAnalysis(solver="svd").fit(X, y)
    assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-8, atol=1e-9)


def test_the_mode_under_the_reference_prior_has_the_divisor_n_minus_1(wine):
    X, y = wine
    clf = BayesianNB(MultivariateGaussian(NormalWishart.reference()), estimate="map").fit(X, y)
    table, of_class = clf.tables()["numbers"], X[y == 1]
    assert_allclose(table.loc[1]["mean"], of_class.mean(), rtol=1e-12)
    assert_allclose(table.loc[1]["sd"], of_class.std(ddof=1), rtol=1e-10)
    assert_allclose(table.loc[1].filter(like="correlation"), of_class.corr(), rtol=1e-10)


def test_a_shared_covariance_worth_many_rows_is_linear_discriminant_analysis(wine):
    X, y = wine
    theirs = LinearDiscriminantAnalysis(solver="lsqr", store_covariance=True).fit(X, y)
    dof = 1e13
    prior = NormalWishart(0.0, 0.0, dof, dof * theirs.covariance_)
    ours = BayesianNB(MultivariateGaussian(prior), class_prior=theirs.priors_, estimate="map").fit(X, y)
    assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-7, atol=1e-7)
    weights, intercept = nb.odds.linear_form(ours)
    difference = weights[1] - weights[0]
    assert_allclose(difference, theirs.coef_[1] - theirs.coef_[0], rtol=1e-6)
    assert_allclose(intercept[1] - intercept[0], theirs.intercept_[1] - theirs.intercept_[0], rtol=1e-6)


# The shared prior, and its weight


def _seen(rng, n_classes=3, rows=12, d=4):
    x = rng.normal(size=(n_classes * rows, d)) @ rng.normal(size=(d, d))
    return Scatter.of(x, Labels.of(np.repeat(range(n_classes), rows)))


def test_the_learned_weight_maximizes_the_evidence_times_its_hyperprior():
    s = _seen(default_rng(7))

    def score(dof):
        prior = NormalWishart.shared(dof).over(s)
        evidence = MultivariateGaussian().log_evidence(prior, s).sum()
        return evidence - 0.5 * ((np.log(dof) - np.log(4)) / SPREAD) ** 2

    found = NormalWishart.shared().over(s).dof
    assert (found == found[0]).all()
    best = score(found[0])
    assert all(score(found[0] * factor) < best for factor in (0.5, 0.9, 0.999, 1.001, 1.1, 2.0))


def test_classes_of_one_covariance_are_drawn_together_and_others_are_not():
    rng = default_rng(8)
    shape = rng.normal(size=(3, 3))
    alike = rng.normal(size=(3, 200, 3)) @ shape
    different = np.stack([rows @ rng.normal(size=(3, 3)) for rows in alike])
    weights = []
    for x in (alike, different):
        s = Scatter.of(x.reshape(-1, 3), Labels.of(np.repeat(range(3), 200)))
        weights.append(NormalWishart.shared().over(s).dof[0])
    assert weights[0] > 200
    assert weights[1] < 20


@pytest.mark.parametrize("prior", [NormalWishart(), NormalWishart.shared(), NormalWishart.shared(5.0)])
def test_thirty_correlated_columns_and_few_rows_do_not_break_the_prior(prior):
    rng = default_rng(9)
    size, y = rng.normal(size=(8, 1)), np.arange(8) % 2
    X = size + 1e-3 * rng.normal(size=(8, 30))
    X[:, 29] = X[:, 0] + X[:, 1]
    X[:, 28] = 5.0
    clf = BayesianNB(MultivariateGaussian(prior)).fit(X, y)
    assert np.isfinite(clf.loo(X, y).to_numpy()).all()
    assert np.isfinite(clf.log_evidence_.joint)
    asked = rng.normal(size=(50, 1)) + 1e-3 * rng.normal(size=(50, 30))
    entropy = -(clf.predict_proba(asked) * clf.predict_log_proba(asked)).sum(1)
    # The rows say nothing of the class. Where the correlation is shared, the model does not pretend that they do.
    assert np.median(entropy) > (0.3 if prior.scale == "shared" else 0.01)


def test_leave_one_out_takes_the_row_out_of_the_shared_covariance_too():
    rng = default_rng(12)
    y = np.repeat([0, 1, 2], 7)
    X = rng.normal(size=(21, 4)) @ rng.normal(size=(4, 4)) + y[:, None]
    X[5] = np.nan
    weight = rng.choice([1.0, 2.0, 0.5], 21)
    clf = BayesianNB(MultivariateGaussian(NormalWishart.shared(6.0))).fit(X, y, sample_weight=weight)
    family, s, prior = MultivariateGaussian(), clf.classifier_.statistics.features["x"], clf.posterior_.prior["x"]
    labels = Labels(y, weight, 3)
    found = family.left_out_of_all(clf.posterior_.features["x"], s, X, labels)
    assert not found[5].any()
    for i in np.setdiff1d(range(21), 5):
        rest = Scatter.of(np.delete(X, i, 0), labels[np.delete(np.arange(21), i)])
        # The pooled variances and the number of rows keep their scale.
        less = prior.scale + prior.share[:, None, None] * (rest.scatter.sum(0) - s.scatter.sum(0))
        refitted = family.update(prior._with(scale=less), rest)
        assert_allclose(found[i], family.log_predictive(refitted, X[i : i + 1])[0], rtol=1e-10)
    joint = clf.posterior_.log_left_out({"x": X}, labels)
    label = clf.posterior_._log_label_left_out(labels, "mean")
    assert_allclose(joint, found + label, rtol=1e-9)


def test_numbers_far_from_zero_lose_no_digits(wine):
    X, y = wine
    near = (X + 1e9) - 1e9
    clf, far = (BayesianNB(MultivariateGaussian()).fit(rows, y) for rows in (near, near + 1e9))
    assert_allclose(far.predict_log_proba(near + 1e9), clf.predict_log_proba(near), rtol=1e-9, atol=1e-9)
    assert_allclose(far.log_evidence_.joint, clf.log_evidence_.joint, rtol=1e-12)


def test_many_parts_give_the_scatter_of_the_whole():
    x = 1e9 + default_rng(10).normal(size=(4000, 3))
    labels = Labels.of(np.zeros(len(x), int))
    whole = Scatter.of(x, labels)
    parts = [Scatter.of(x[k::200], labels[k::200]) for k in range(200)]
    found = sum(parts[1:], parts[0])
    exact = (x - 1e9) - (x - 1e9).mean(0)
    for s in (whole, found):
        assert_allclose((s.mean - 1e9) + s.centre.low, (x - 1e9).mean(0)[None], rtol=0, atol=1e-14)
        assert_allclose(s.scatter[0], exact.T @ exact, rtol=1e-12, atol=1e-9)


def test_a_row_far_out_is_given_its_log_density(belief):
    x = np.array([[1e60, 1.0, 1.0], [1e140, 1.0, 1.0]])
    near, far = MultivariateGaussian().log_predictive(belief, x)[:, 0]
    assert_allclose(near - far, (belief.dof[0] + 3) * 80 * np.log(10), rtol=1e-10)


# Missing cells, and rows that cannot be learned


def test_a_row_with_a_gap_is_predicted_and_refused_when_learning(wine):
    X, y = wine
    clf = BayesianNB(MultivariateGaussian()).fit(X, y)
    holed = X.astype(float).copy()
    holed.iloc[3, 1] = np.nan
    assert not np.allclose(clf.predict_proba(holed[3:4]), clf.predict_proba(X[3:4]))
    with pytest.raises(
        ValueError, match=r"column 'ash' is missing in row 3, .* Leave such rows out, as .*, fill the cells"
    ):
        BayesianNB(MultivariateGaussian()).fit(holed, y)
    twice = holed.copy()
    twice.iloc[[3, 9], 0] = np.nan
    twice.iloc[5] = np.nan
    gaps = rf"column 'alcohol' is missing in row 3, .* \(gaps: 2 in 'alcohol', 1 in 'ash'; in 2 of {len(X)} rows"
    with pytest.raises(ValueError, match=gaps) as refused:
        BayesianNB(MultivariateGaussian()).fit(twice, y)
    assert f"known = X[{[*X]}].notna().all(axis=1); clf.fit(X[known], y[known])" in str(refused.value)
    known = twice[[*X]].notna().all(axis=1)
    BayesianNB(MultivariateGaussian()).fit(twice[known], y[known])
    with pytest.raises(ValueError, match="column 'ash' is missing in row 3"):
        clf.partial_fit(holed, y)
    with pytest.raises(ValueError, match="row 3 has no value in column 1 of its block"):
        clf.loo(holed, y)
    holed.iloc[3] = np.nan
    assert_allclose(
        BayesianNB(MultivariateGaussian(NormalWishart([13.0, 2.0, 1.0, 700.0], 1, 2, np.eye(4))))
        .fit(holed, y)
        .posterior_.features["numbers"]
        .kappa.sum(),
        3 + len(X) - 1,
    )


def test_rows_can_be_unlearned_unless_the_others_are_lost_to_rounding(wine):
    X, y = wine
    clf = BayesianNB(MultivariateGaussian()).fit(X, y)
    before = clf.predict_log_proba(X)
    clf.partial_fit(X[:20] + 1, y[:20]).forget(X[:20] + 1, y[:20])
    assert_allclose(clf.predict_log_proba(X), before, rtol=1e-8, atol=1e-8)
    out = X[:1] * 1e7
    clf.partial_fit(out, y[:1]).forget(out, y[:1])
    assert_allclose(clf.predict_log_proba(X), before, rtol=1e-8, atol=1e-8)
    out = X[:1] * 1e20
    clf.partial_fit(out, y[:1])
    with pytest.raises(UnlearnedError, match="fit the other rows anew"):
        clf.forget(out, y[:1])


# The rest of the house


def test_a_block_is_saved_merged_and_explained(wine, tmp_path):
    X, y = wine
    X = X.assign(strong=np.where(X["alcohol"] > 13, "yes", "no"))
    features = {"body": (MultivariateGaussian(), ["alcohol", "ash"]), "strong": "Categorical"}
    clf = BayesianNB(features, class_prior="uniform").fit(X, y)
    parts = [BayesianNB(features, class_prior="uniform").fit(X[k::2], y[k::2]) for k in range(2)]
    assert_allclose(parts[0].merge(parts[1]).predict_log_proba(X), clf.predict_log_proba(X), rtol=1e-9, atol=1e-9)
    clf.save(tmp_path / "wine.bayesnb")
    assert_allclose(load(tmp_path / "wine.bayesnb").predict_log_proba(X), clf.predict_log_proba(X), rtol=1e-14)
    lines = clf.explain(X[:2], label=0, against=1)
    assert list(lines.loc[0].index) == ["(prior)", "body", "hue", "proline", "strong", "(total)"]
    parts = lines.loc[0, "log_odds"]
    assert_allclose(parts.drop("(total)").sum(), parts["(total)"], rtol=1e-12)


def test_the_numbers_of_a_table_become_one_block_by_type(wine):
    X, y = wine
    clf = BayesianNB(ByType(number=MultivariateGaussian())).fit(X.assign(kind=["x", "y"] * 89), y)
    assert clf.classifier_.schema.features["numbers"].columns == tuple(COLUMNS)
    assert_allclose(
        clf.predict_proba(X.assign(kind=None)), BayesianNB(MultivariateGaussian()).fit(X, y).predict_proba(X)
    )


def test_the_missing_cell_of_a_block_that_says_most_is_asked_next():
    rng = default_rng(11)
    y = np.arange(400) % 2
    size = rng.normal(size=400)
    X = pd.DataFrame({"size": size, "weight": size + 0.3 * rng.normal(size=400) + y, "noise": rng.normal(size=400)})
    clf = BayesianNB(MultivariateGaussian()).fit(X, y)
    found = nb.design.ask_next(clf, pd.DataFrame({"size": [0.5], "weight": [np.nan], "noise": [np.nan]}))
    assert found.index[0] == "weight"
    assert found["information"]["weight"] > 10 * found["information"]["noise"]
    assert found.attrs["left_out"] < 1e-6


def test_fewer_rows_than_columns_need_a_proper_prior(wine):
    X, y = wine
    few = np.concatenate([np.flatnonzero(y == c)[:3] for c in range(3)])
    clf = BayesianNB(MultivariateGaussian(NormalWishart.reference()))
    with pytest.raises(ImproperError, match="fewer rows than columns"):
        clf.fit(X.iloc[few], y[few]).predict(X)
    assert BayesianNB(MultivariateGaussian()).fit(X.iloc[few], y[few]).score(X, y) > 0.6


def test_the_density_of_the_prior_is_that_of_scipy(belief):
    mu, precision = (v[0] for v in belief.draw(default_rng(2)))
    (m,), (kappa,), (nu,), (scale,) = belief.m, belief.kappa, belief.nu, belief.scale
    expected = stats.wishart(nu, np.linalg.inv(scale)).logpdf(precision)
    expected += stats.multivariate_normal(m, np.linalg.inv(kappa * precision)).logpdf(mu)
    assert_allclose(belief.log_prob(mu[None], precision[None]), expected, rtol=1e-10)
    of_mu, of_precision = belief.log_prob_of_each(belief.theta(mu[None], precision[None]))
    assert_allclose(of_precision, stats.wishart(nu, np.linalg.inv(scale)).logpdf(precision), rtol=1e-10)
    assert_allclose(of_mu + of_precision, expected, rtol=1e-10)


def test_mean_and_variance_of_the_prior_are_those_of_its_draws(belief):
    drawn, means, variances = belief.draw(default_rng(3), (40_000,)), belief.mean(), belief.variance()
    for value, mean, variance in zip(drawn, means, variances, strict=True):
        assert (np.abs(value.mean(0) - mean) <= 5 * np.sqrt(variance / len(value))).all()
        assert_allclose(value.var(0), variance, rtol=0.1)


@pytest.mark.parametrize("family", ["multivariate-gaussian", "shared-gaussian"])
@pytest.mark.parametrize("rows", [[0], [0, 1, 3], [0, 1, 2, 3, 4]])
def test_a_block_of_equal_rows_says_nothing_of_any_row(family, rows):
    X = np.full((5, 2), np.nan)
    X[rows] = [5.0, 10.0]
    proba = BayesianNB(family).fit(X, [0, 1, 0, 1, 0]).predict_proba([[5.0, 10.0], [6.0, 9.0], [-70.0, np.nan]])
    assert_allclose(proba, np.tile([4 / 7, 3 / 7], (3, 1)))
