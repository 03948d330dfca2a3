"""A gap removes only its own contribution from the term of all columns of numbers together."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.dependence.joint import JOINT, JointTerm, blocks, scatters
from bayesnb.statistics.statistic import Labels
from tests.conftest import run


def correlated(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Six columns whose covariances tell two classes apart, and nothing else does."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n)
    own = rng.multivariate_normal(np.zeros(6), 0.7 * np.ones((6, 6)) + 0.3 * np.eye(6), n)
    return pd.DataFrame(np.where(y[:, None] == 0, own, rng.normal(size=(n, 6)))).add_prefix("x"), y


def log_loss(X: pd.DataFrame, y: np.ndarray) -> float:
    clf = nb.BayesianNB(dependence="pairwise").fit(X[:300], y[:300])
    return float(-np.log(clf.predict_proba(X[300:])[np.arange(len(X) - 300), y[300:]]).mean())


@pytest.mark.slow
def test_a_column_of_noise_costs_no_more_with_gaps_than_without():
    """The mean over four columns of noise: by one column alone, the difference of two losses varies by 0.01."""
    X, y = correlated(600)
    shares, losses = (0.0, 0.1, 0.6, 0.97), []
    for seed in range(1, 5):
        rng = np.random.default_rng(seed)
        noise, at = rng.normal(size=600), rng.random(600)
        losses.append([log_loss(X.assign(noise=np.where(at < share, np.nan, noise)), y) for share in shares])
    whole, *with_gaps = np.mean(losses, axis=0)
    assert max(with_gaps) < whole + 0.015
    assert_allclose(log_loss(X.assign(noise=np.nan), y), log_loss(X, y), rtol=1e-9)


@pytest.fixture
def nested() -> tuple[np.ndarray, Labels]:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(80, 4)) @ rng.normal(size=(4, 4))
    x[::3, 3] = np.nan
    return x, Labels(rng.integers(2, size=80), rng.choice([0.5, 1.0, 2.0], 80), 2)


def test_columns_are_divided_by_their_gaps_whatever_their_order(nested):
    known, weight = ~np.isnan(nested[0]), nested[1].weight
    assert blocks(known, weight, np.arange(4)) == ((0, 1, 2), (3,))
    assert blocks(known[:, ::-1], weight, np.arange(4)[::-1]) == ((3, 2, 1), (0,))
    hardly = np.column_stack([known, np.arange(80) < 4, np.zeros(80, bool)])
    assert blocks(hardly, weight, np.arange(6)) == ((0, 1, 2), (3,))


def test_nested_gaps_are_learned_as_regressions_and_missing_cells_are_integrated_out(nested):
    x, labels = nested
    term = JointTerm(((0, 1, 2), (3,)), scatters(((0, 1, 2), (3,)), x, labels))
    whole = np.flatnonzero(~np.isnan(x[:, 3]))
    first, second = term.believed
    direct = JOINT.statistic(x[whole], labels[whole])
    assert_allclose(second.scale, JOINT.update(JOINT.resolve_prior(JOINT.prior, direct), direct).scale)

    def log_p(believed, columns, row):
        return JOINT.log_predictive(believed.marginal(np.array(columns)), row[:, columns])

    row = np.array([[0.3, np.nan, -1.0, 0.7]])
    expected = log_p(first, [0, 2], row) + log_p(second, [0, 2, 3], row) - log_p(second, [0, 2], row)
    expected = expected - sum(log_p(first, [k], row) for k in (0, 2)) - log_p(second, [3], row)
    assert_allclose(term.term(row), expected)
    assert_allclose(term.term(np.array([[np.nan, 1.0, np.nan, np.nan]])), 0.0, atol=1e-12)


def test_a_learned_row_is_left_out_of_every_block_that_has_seen_it(nested):
    x, labels = nested
    of = ((0, 1, 2), (3,))
    found = scatters(of, x, labels)
    term, left = JointTerm(of, found), Labels(labels.codes, np.minimum(labels.weight, 1.0), 2)
    left_out = term.term(x, left)
    for i in (0, 1, 3, 7):
        one = Labels(left.codes[[i]], left.weight[[i]], 2)
        rest = tuple(whole - own for whole, own in zip(found, scatters(of, x[[i]], one), strict=True))
        again = JointTerm(of, rest)
        priors = [JOINT.resolve_prior(JOINT.prior, whole) for whole in found]
        believed = tuple(JOINT.update(prior, s) for prior, s in zip(priors, rest, strict=True))
        vars(again)["believed"] = believed
        own = labels.codes[i]
        assert_allclose(left_out[i, own], again.term(x[[i]])[0, own], rtol=1e-8)
        assert_allclose(left_out[i, 1 - own], term.term(x[[i]])[0, 1 - own])


def refunds() -> tuple[pd.DataFrame, np.ndarray]:
    """The refund is known in one class only; the price is honest, and has gaps that depend little on the class."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(400) < 0.2, "returned", "kept")
    price = np.where(rng.random(400) < np.where(y == "kept", 0.1, 0.4), np.nan, rng.normal(50 + 20 * (y == "kept"), 20))
    return pd.DataFrame({"price": price, "refund": np.where(y == "returned", rng.lognormal(3, 1, 400), np.nan)}), y


def test_a_fit_warns_of_gaps_that_tell_the_class_and_so_does_a_prediction_without_the_column():
    X, y = refunds()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Naive Bayes leaves gaps out; Missing() models them; and the gaps of the price tell little.
        naive = nb.BayesianNB(absent="missing").fit(X, y)
        nb.BayesianNB({"refund": nb.Missing()}, dependence="auto").fit(X, y)
        nb.BayesianNB(dependence="auto").fit(X[["price"]], y)
        # Without near rows and trees, a gap is no evidence.
        weighted = nb.BayesianNB(dependence="weighted", absent="missing").fit(X, y)
        assert_allclose(weighted.predict_proba(X[["price"]])[:, 1].mean(), np.mean(y == "returned"), atol=0.02)
        assert naive.predict_proba(X[["price"]])[:, 1].mean() > 0.1
    said = (
        "column 'refund' is missing in 0% of the rows of class 'returned' and 100% of class 'kept', so the dependence"
    )
    with pytest.warns(UserWarning, match=said):
        clf = nb.BayesianNB(dependence="auto", absent="missing").fit(X, y)
    with pytest.warns(
        UserWarning, match="'refund' is absent; it was missing in 0% .* so its absence counts as evidence"
    ):
        assert clf.predict_proba(X[["price"]])[:, 1].mean() < naive.predict_proba(X[["price"]])[:, 1].mean()


def test_advice_about_the_gaps_of_dates_can_be_followed(tmp_path, capsys):
    X, y = refunds()
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(X)) % 90, unit="D")
    X["refund"] = days.strftime("%Y-%m-%d").where(X["refund"].notna(), None)
    X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    fit = ("fit", tmp_path / "t.csv", "--target", "y", "--dependence", "auto", "-o", tmp_path / "m.bayesnb")
    warnings.simplefilter("default")
    said = " ".join(run(capsys, *fit)[2].split())
    assert "column 'refund' is missing in" in said
    assert "the dependence learns that a gap is evidence" in said
    assert "leave it out with --drop refund; otherwise, --feature refund=missing" in said
    for option in (
        ("--drop", "refund"),
        ("--feature", "refund=missing"),
        ("--feature", "refund=missing:date:month,elapsed"),
    ):
        code, _, err = run(capsys, *fit[:-1], tmp_path / "other.bayesnb", *option)
        assert code == 0, err
        assert "learns that a gap is evidence" not in " ".join(err.split())
    X[["price"]].to_csv(tmp_path / "new.csv", index=False)
    err = run(capsys, "predict", tmp_path / "m.bayesnb", tmp_path / "new.csv", "--absent", "missing")[2]
    assert "column 'refund' is absent" in " ".join(err.split())
    assert "its absence counts as evidence" in " ".join(err.split())


@pytest.mark.parametrize(
    ("dependence", "classes", "share"),
    [
        pytest.param(dependence, *table, marks=[pytest.mark.slow] * (dependence == "auto" and table[1] == 0))
        for dependence in ("weighted", "pairwise", "auto")
        for table in ((2, 0.0), (3, 0.0), (4, 0.3))
    ],
)
def test_rows_with_few_known_cells_have_about_the_class_frequencies(dependence, classes, share):
    # ``share`` of the learned cells are missing, which depends on nothing. Two columns are nearly copies; the levels
    # depend on the class, too.
    rng = np.random.default_rng(classes)

    def table(n: int) -> tuple[pd.DataFrame, np.ndarray]:
        y = rng.choice(classes, n, p={2: [0.85, 0.15], 3: [0.7, 0.2, 0.1], 4: [0.55, 0.25, 0.14, 0.06]}[classes])
        one = rng.normal(y)
        X = pd.DataFrame({"a": one + rng.normal(0, 0.1, n), "b": one + rng.normal(0, 0.1, n), "c": rng.normal(-y)})
        return X.assign(d=np.where(rng.random(n) < 0.2 + 0.2 * y, "u", "v")), y

    X, y = table(600)
    clf = nb.BayesianNB(dependence=dependence, random_state=0).fit(X.mask(rng.random(X.shape) < share), y)
    new = table(800)[0]
    frequencies = np.bincount(y) / len(y)
    blank = clf.predict_proba(new[:1].assign(a=np.nan, b=np.nan, c=np.nan, d=None))[0]
    assert_allclose(blank, clf.posterior_.label.mean(), rtol=1e-9)
    for known in (["a"], ["d"], ["c", "d"]):
        few = new.assign(**{name: None if name == "d" else np.nan for name in new.columns.difference(known)})
        assert_allclose(clf.predict_proba(few).mean(0), frequencies, atol=0.03)
