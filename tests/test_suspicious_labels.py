"""Labels to doubt: exact leave-one-out, the expected number of wrong labels, and wrong labels that were planted."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.special import betainc, betaln

import bayesnb as nb
from bayesnb import BayesianNB, Bernoulli, Gaussian, NormalGamma, checks, datasets
from bayesnb.cli import main
from bayesnb.inference.label_noise import drawn_wrong_labels, wrong_labels
from bayesnb.inference.questions import QUESTIONS
from bayesnb.model import Posterior
from bayesnb.report import report
from bayesnb.report.questions import section_of
from bayesnb.sampling import gibbs
from bayesnb.statistics.statistic import Labels


def drawn(n: int, shift: float, seed: int, columns: int = 4) -> tuple[pd.DataFrame, np.ndarray]:
    """Three classes whose columns are independent within a class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return pd.DataFrame({f"x{k}": rng.normal(shift * y, 1.0) for k in range(columns)}), y


def flipped(y: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels of which a share is replaced by another of three classes, and which these are."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(y), round(share * len(y)), replace=False)
    z = y.copy()
    z[rows] = (z[rows] + rng.integers(1, 3, len(rows))) % 3
    return z, rows


def test_the_probability_of_a_label_is_that_of_a_model_that_has_not_seen_the_row():
    X, y = datasets.play_tennis()
    clf = BayesianNB().fit(X, y)
    found = nb.checks.suspicious_labels(clf, X, y)
    assert found["probability"].is_monotonic_increasing
    for i, row in found.iterrows():
        # The levels are known in advance, as they are to the estimator.
        declared = X.astype({name: pd.CategoricalDtype(sorted(set(X[name]))) for name in X})
        without = BayesianNB().fit(declared.drop(index=i), y.drop(index=i)).predict_proba(X.loc[[i]])[0]
        assert row["label"] == y[i]
        assert row["probability"] == pytest.approx(without[["no", "yes"].index(y[i])], rel=1e-12)
        assert row["suggested"] == ["no", "yes"][without.argmax()]
        assert row["suggested_probability"] == pytest.approx(without.max(), rel=1e-12)


@pytest.mark.slow
def test_planted_wrong_labels_come_first_and_their_number_is_told():
    expected, sd, ranks = [], [], []
    for seed in range(4):
        X, y = drawn(400, 2.0, seed, columns=6)
        z, rows = flipped(y, 0.05, seed + 10)
        found = nb.checks.suspicious_labels(BayesianNB().fit(X, z), X, z)
        expected.append(found.attrs["expected"])
        sd.append(found.attrs["sd"])
        ranks.append(np.isin(found.index[: len(rows)], rows).mean())
    assert np.mean(ranks) > 0.9
    assert_allclose(np.mean(expected), 20, atol=2.0)
    assert (np.abs(np.array(expected) - 20) < 3 * np.array(sd) + 1).all()


def two_classes(seed: int, share: float | None = None, n: int = 200) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Four columns 1.5 standard deviations apart, labels of which a share drawn from its prior is wrong, and which."""
    rng = np.random.default_rng(seed)
    share = rng.uniform(0, 0.5) if share is None else share
    y = rng.integers(2, size=n)
    X = pd.DataFrame(rng.normal(1.5 * y[:, None], 1, (n, 4)), columns=list("abcd"))
    wrong = rng.random(n) < share
    return X, np.where(wrong, 1 - y, y), wrong


@pytest.mark.slow
def test_the_expected_number_of_wrong_labels_is_the_true_number_on_average_where_the_model_is_true():
    away = []
    for seed in range(12):
        X, label, wrong = two_classes(seed)
        found = nb.checks.suspicious_labels(BayesianNB().fit(X, label), X, label)
        away.append(found.attrs["expected"] - wrong.sum())
    # Of 50 tables the mean is 0.5 with a standard error of 0.6, so that of 12 tables has one of about 1.2. A number
    # that takes the class probabilities as those of right labels is 12 too small.
    assert abs(np.mean(away)) < 4


def binary_rows() -> tuple[Posterior, dict, np.ndarray]:
    """What is believed before ten rows of three columns, their cells, and labels of which one is wrong."""
    rng = np.random.default_rng(3)
    y = np.arange(10) % 2
    X = pd.DataFrame({name: (rng.random(10) < np.where(y, 0.8, 0.2)) * 1 for name in "abc"})
    y[-1] = 0
    before = BayesianNB(Bernoulli()).fit(X, y).posterior_.before()
    return before, {name: X[[name]].to_numpy(float) for name in X}, y


@pytest.mark.slow
def test_the_drawn_labels_are_those_of_a_sum_over_all_right_labels():
    before, data, y = binary_rows()
    codes = np.array(list(product([0, 1], repeat=10)))
    wrong, log_p = codes != y, []
    for z, m in zip(codes, wrong.sum(1), strict=True):
        rows = before.model.statistics(data, Labels.of(z, 2), (0, 1))
        # The integral of ε^m (1 - ε)^(10 - m) from 0 to 1/2.
        noise = betaln(m + 1, 11 - m) + np.log(betainc(m + 1, 11 - m, 0.5))
        log_p.append(before.given(rows).log_evidence().joint + noise)
    p = np.exp(np.array(log_p) - max(log_p))
    p /= p.sum()
    drawn = gibbs.sample(before, data, 10, 2500, 8, np.random.default_rng(0), 50, seen=Labels.of(y, 2))
    # Chains now and then exchange the names of the classes for a while: the standard error is 0.01 for a row, 0.05 for
    # their number.
    assert_allclose(1 - drawn.proba.mean(0)[np.arange(10), y], p @ wrong, atol=0.04)
    assert (drawn.labels != y).sum(-1).mean() == pytest.approx(p @ wrong.sum(1), abs=0.2)


def test_a_row_of_weight_two_is_drawn_as_two_rows():
    before, data, y = binary_rows()
    weight = np.r_[2.0, 3.0, np.ones(8)]
    row = np.repeat(np.arange(10), weight.astype(int))
    one = drawn_wrong_labels(before, data, Labels(y, weight, 2))
    many = drawn_wrong_labels(before, {name: x[row] for name, x in data.items()}, Labels.of(y[row], 2))
    assert (one.expected, one.sd) == (pytest.approx(many.expected), many.sd)
    assert one.each[0] == pytest.approx(many.each[:2].mean())


def test_the_order_of_rows_changes_nothing_that_is_drawn():
    X, y = nb.datasets.play_tennis()
    found, other = (nb.checks.suspicious_labels(BayesianNB().fit(X, y), X, y) for X, y in ((X, y), (X[::-1], y[::-1])))
    assert 0.005 < found.attrs["mcse"] < 0.06
    assert (found["wrong"] - other["wrong"]).abs().max() < 1e-9


def test_a_number_that_is_but_a_lower_bound_says_so_and_has_no_spread():
    X, label, _ = two_classes(0)
    found = nb.checks.suspicious_labels(BayesianNB(Gaussian(NormalGamma.reference())).fit(X, label), X, label)
    assert "a prior is improper" in found.attrs["note"]
    assert np.isnan(found.attrs["sd"])
    assert " a rough estimate: " in found.attrs["says"]


def test_groups_of_rows_that_are_not_the_classes_do_not_make_right_labels_wrong():
    rng = np.random.default_rng(0)
    group, y = rng.random(300) < 0.5, np.where(rng.random(300) < 0.15, "yes", "no")
    X = pd.DataFrame({f"x{k}": rng.normal(2.0 * group + 0.3 * (y == "yes"), 1.0) for k in range(6)})
    found = checks.suspicious_labels(BayesianNB().fit(X, y), X, y)
    assert found.attrs["expected"] < 60, "half of the rows are in the other group"
    assert "other groups of rows than the classes" in found.attrs["note"]
    assert (found["suggested"] != found["label"])[found["wrong"] > 0.5].all()
    # Draws follow the classes if the columns have no other groups.
    x = rng.normal(2.0 * (y == "yes"))
    assert "note" not in checks.suspicious_labels(BayesianNB().fit({"x": x}, y), {"x": x}, y).attrs


def test_where_classes_overlap_right_labels_are_not_taken_as_wrong():
    X, y = drawn(600, 1.0, 0, columns=2)
    found = nb.checks.suspicious_labels(BayesianNB().fit(X, y), X, y)
    improbable = (1 - found["probability"]).sum()
    assert improbable > 100
    assert found.attrs["expected"] < 0.3 * improbable


def test_copies_of_a_column_make_right_labels_look_wrong_and_the_docs_say_so():
    z = np.random.default_rng(1).integers(2, size=400)
    x = np.random.default_rng(2).normal(1.5 * z)
    X = pd.DataFrame({f"copy {k}": x for k in range(8)})
    plain, tempered = (
        nb.checks.suspicious_labels(BayesianNB(dependence=how).fit(X, z), X, z) for how in (None, "tempered")
    )
    assert plain.attrs["expected"] > 50
    assert tempered.attrs["expected"] < 20
    assert "exponents were learned from all labels" in tempered.attrs["note"]
    assert np.isnan(tempered.attrs["sd"])
    assert "note" not in plain.attrs


@pytest.mark.slow
def test_the_audit_and_the_report_judge_labels_by_the_dependence_that_they_advise(tmp_path, capsys):
    z = np.random.default_rng(1).integers(2, size=400)
    x = np.random.default_rng(2).normal(1.5 * z)
    table = pd.DataFrame({f"copy {k}": x for k in range(8)} | {"label": z})
    table.to_csv(tmp_path / "t.csv", index=False)
    command = ["audit", str(tmp_path / "t.csv"), "--target", "label"]
    with pytest.raises(SystemExit):
        main([*command, "--format", "json"])
    said = json.loads(capsys.readouterr().out)
    # No label is wrong. Naive Bayes, by which log-odds are eight times too large, expects 90 of 400 or more.
    assert said["labels"]["wrong"] < 20
    assert (said["labels"]["sd"], said["labels"]["dependence"]) == (None, said["advice"])
    X = table.drop(columns="label")
    page = report(BayesianNB().fit(X, z), X, z, format="md", draws=50)
    assert " a rough estimate: " in page
    assert f'They are judged with dependence="{said["advice"]}"' in page


def test_the_posterior_of_the_share_is_that_of_adaptive_quadrature():
    rng = np.random.default_rng(0)
    p, weight = rng.beta(2, 0.5, 40), rng.integers(1, 3, 40).astype(float)
    q = (1 - p) / 2

    def likelihood(share: float) -> float:
        return float(np.prod(((1 - share) * p + share * q) ** weight)) * 1e10

    whole = quad(likelihood, 0, 0.5, epsabs=0, epsrel=1e-11)[0]

    def averaged(f) -> float:
        return quad(lambda share: f(share) * likelihood(share), 0, 0.5, epsabs=0, epsrel=1e-11)[0] / whole

    def wrong(share: float) -> np.ndarray:
        return share * q / ((1 - share) * p + share * q)

    found = wrong_labels(p, 3, weight)
    assert_allclose(found.each[:5], [averaged(lambda s, i=i: wrong(s)[i]) for i in range(5)], rtol=1e-8)
    assert found.expected == pytest.approx(averaged(lambda s: weight @ wrong(s)), rel=1e-8)
    second = averaged(lambda s: weight @ (wrong(s) * (1 - wrong(s))) + (weight @ wrong(s)) ** 2)
    assert found.sd == pytest.approx(np.sqrt(second - found.expected**2), rel=1e-6)


@pytest.mark.parametrize("p", [np.ones(50), np.zeros(50), np.r_[np.ones(49), 0.0], np.full(50, 0.5)])
def test_probabilities_of_0_and_1_have_an_answer(p):
    found = wrong_labels(p, 2, np.ones(50))
    assert ((found.each >= 0) & (found.each <= 1)).all()
    assert found.expected == pytest.approx(found.each.sum())
    assert np.isfinite(found.sd)


def test_a_row_of_weight_two_is_two_rows_and_the_index_is_kept():
    X, y = datasets.heights()
    X = X.set_axis([f"person {k}" for k in range(len(X))])
    weight = np.ones(len(y))
    weight[:3] = 2.0
    clf = BayesianNB().fit(X, y, weight)
    found = nb.checks.suspicious_labels(clf, X, y, weight)
    assert set(found.index) == set(X.index)
    assert found.attrs["expected"] == pytest.approx(found["wrong"].loc[X.index] @ weight)
    assert_array_equal(found["label"].loc[X.index], y)


def test_a_label_that_is_hardly_doubtful_stands_in_no_section():
    question, x = QUESTIONS["suspicious_labels"], np.arange(40) % 2
    clf = BayesianNB().fit({"x": 100.0 * x}, x)
    found = checks.suspicious_labels(clf, {"x": 100.0 * x}, x)
    assert len(found) == 40
    assert section_of(question, found).parts == []
    first = found.assign(wrong=np.where(found.index == found.index[0], 0.02, 0.0))
    (grid, _) = section_of(question, first).parts
    assert list(grid.frame.index) == [found.index[0]]


def test_with_a_dependence_no_output_says_that_exponents_leave_a_row_out() -> None:
    X, y = nb.datasets.heights()
    found = nb.checks.suspicious_labels(BayesianNB(dependence="tempered").fit(X, y), X, y)
    assert "that of the row itself" in found.attrs["says"]
    question = QUESTIONS["suspicious_labels"]
    assert "exact" not in " ".join([question.summary, *question.columns.values()])
