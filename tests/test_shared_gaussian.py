"""One covariance for all classes: linear discriminant analysis, and the quadratic forms of the others."""

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import logsumexp, softmax
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import bayesnb as nb
from bayesnb import BayesianNB, NormalWishart
from bayesnb.families import SharedGaussian

COLUMNS = ["alcohol", "ash", "proline"]


@pytest.fixture(scope="module")
def wine() -> tuple[pd.DataFrame, np.ndarray]:
    data = load_wine(as_frame=True)
    return data.data[COLUMNS], data.target.to_numpy()


def test_maximum_likelihood_is_linear_discriminant_analysis(wine):
    X, y = wine
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    ours = BayesianNB("shared-gaussian", estimate="mle", class_prior="frequencies").fit(X, y)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    weights, intercept = nb.odds.linear_form(ours)
    ours_odds = X.to_numpy() @ (weights[1] - weights[0]).to_numpy() + intercept[1] - intercept[0]
    assert_allclose(ours_odds, X @ (theirs.coef_[1] - theirs.coef_[0]) + np.diff(theirs.intercept_[:2]), atol=1e-8)


@pytest.mark.parametrize("features", ["gaussian", "shared-gaussian", "multivariate-gaussian"])
@pytest.mark.parametrize("estimate", ["mean", "map"])
def test_the_quadratic_form_gives_the_probabilities(wine, features, estimate):
    X, y = wine
    X = (X - X.mean()) / X.std()
    clf = BayesianNB(features, estimate=estimate).fit(X, y)
    weights, intercept = nb.odds.linear_form(clf, quadratic=True)
    terms = [X[a] * (X[b] if b else 1.0) for a, b in weights.index]
    assert_allclose(softmax(np.stack(terms, 1) @ weights.to_numpy() + intercept.to_numpy(), 1), clf.predict_proba(X))
    assert len(weights) == {"gaussian": 6, "shared-gaussian": 3, "multivariate-gaussian": 9}[features]


def test_exponents_multiply_the_squares_too(wine):
    X, y = wine
    X = (X - X.mean()) / X.std()
    spec = nb.Exponents(shapes=False, offsets="class")
    for features in ("gaussian", "multivariate-gaussian"):
        clf = BayesianNB(features, estimate="mean", dependence=spec).fit(X, y)
        weights, intercept = nb.odds.linear_form(clf, quadratic=True)
        terms = [X[a] * (X[b] if b else 1.0) for a, b in weights.index]
        expected = softmax(np.stack(terms, 1) @ weights.to_numpy() + intercept.to_numpy(), axis=1)
        assert_allclose(clf.predict_proba(X), expected, atol=1e-12)


@pytest.fixture(scope="module")
def few(wine) -> tuple[BayesianNB, pd.DataFrame, np.ndarray]:
    X, y = wine
    some = default_rng(0).choice(len(X), 24, replace=False)
    X, y = ((X - X.mean()) / X.std()).iloc[some], y[some]
    prior = NormalWishart([0.1, 0.0, -0.2], 0.7, 2.0, np.diag([1.0, 2.0, 0.5]))
    return BayesianNB(SharedGaussian(prior), random_state=0).fit(X, y), X, y


def log_joint_density(X: np.ndarray, y: np.ndarray) -> float:
    """log p(X | y): given the classes, all cells are one matrix variate t distribution, Murphy 2007 and BDA3 3.6."""
    m, kappa, scale = np.array([0.1, 0.0, -0.2]), 0.7, np.diag([1.0, 2.0, 0.5])
    same = (y[:, None] == y) / kappa + np.eye(len(y))
    return stats.matrix_t(np.tile(m, (len(y), 1)), same, scale, df=2.0).logpdf(X)


def test_evidence_predictive_and_leave_one_out_are_those_of_a_matrix_t_distribution(few):
    clf, X, y = few
    x = X.to_numpy()
    whole = log_joint_density(x, y)
    assert_allclose(clf.log_evidence_.conditional, whole, rtol=1e-10)
    new, label = np.array([0.3, -0.4, 1.0]), clf.posterior_.label.mean()
    expected = [log_joint_density(np.vstack([x, new]), np.append(y, c)) - whole + np.log(label[c]) for c in range(3)]
    found = clf.predict_joint_log_proba(pd.DataFrame([new], columns=COLUMNS))[0]
    assert_allclose(found, expected, rtol=1e-10)
    left_out, _ = clf.classifier_.log_left_out(X, y)
    for i in (0, 7):
        rest = np.arange(len(y)) != i
        refit = BayesianNB(clf.features).fit(X[rest], y[rest])
        assert_allclose(left_out[i], refit.predict_joint_log_proba(X.iloc[[i]])[0], rtol=1e-9)


def test_weights_missing_cells_parts_and_files_are_those_of_other_families(few, tmp_path):
    clf, X, y = few
    twice = BayesianNB(clf.features).fit(X, y, sample_weight=np.full(len(y), 2.0))
    assert_allclose(twice.predict_proba(X), clf.fit(X, y).partial_fit(X, y).predict_proba(X), atol=1e-12)
    assert_allclose(clf.forget(X, y).predict_proba(X), BayesianNB(clf.features).fit(X, y).predict_proba(X), atol=1e-10)
    gaps = X.assign(ash=np.nan)
    alone = BayesianNB(SharedGaussian(NormalWishart([0.1, -0.2], 0.7, 2.0, np.diag([1.0, 0.5]))))
    assert_allclose(
        clf.predict_proba(gaps), alone.fit(X[["alcohol", "proline"]], y).predict_proba(gaps[["alcohol", "proline"]])
    )
    clf.save(tmp_path / "shared.bayesnb")
    assert_allclose(nb.load(tmp_path / "shared.bayesnb").predict_proba(X), clf.predict_proba(X), rtol=1e-12)


def test_intervals_are_those_of_weighted_draws_of_one_covariance(few):
    clf, X, y = few
    rows = X[:3]
    clf = clf.fit(X, y)
    theta = clf.posterior_.draw(default_rng(5), (4_000,))
    (drawn,) = theta.features.values()
    assert (np.ptp(drawn["precision"], axis=1) == 0).all()
    data, n = clf.classifier_.read(rows)
    joint = theta.log_joint(data, n)
    p = softmax(joint, axis=-1)
    assert_allclose(softmax(logsumexp(joint, axis=0), axis=-1), clf.predict_proba(rows), atol=0.016)
    weight = np.exp(logsumexp(joint, axis=-1))
    found = clf.predict_interval(rows, prob=0.8, draws=4_000).to_numpy().reshape(3, 3, 3)
    for row in range(3):
        for c in range(3):
            order = np.argsort(p[:, row, c])
            below = weight[order, row].cumsum() / weight[:, row].sum()
            expected = p[order, row, c][np.searchsorted(below, [0.1, 0.5, 0.9])]
            assert_allclose(found[row, c], expected, atol=0.032)
    assert clf.uncertainty(rows)["epistemic"].between(0, np.log(3)).all()
    assert len(clf.explain(rows)) == 9
