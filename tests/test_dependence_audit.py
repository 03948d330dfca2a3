"""The audit of independence: what it says of each pair of columns, and its one sentence of advice."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import logsumexp, ndtri
from test_dependence_learned import encoded, fitted

import bayesnb as nb
from bayesnb import BayesianNB, NormalGamma, Poisson
from bayesnb.dependence.evidence import _information, _log_bayes_factor_of_order, are_ordered, counted_pairs
from bayesnb.dependence.evidence import log_bayes_factors as of_pairs
from bayesnb.dependence.pairs import Axis, PairCounts, PairTerm
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.sampled import StudentT
from bayesnb.families.trees import Ordinal
from bayesnb.families.trials import Categorical, Coded
from bayesnb.inference.independence import Independence, audited
from bayesnb.model import NaiveBayes, Posterior
from bayesnb.priors import Dirichlet
from bayesnb.statistics.statistic import Labels


def asked(X: dict, y: np.ndarray, **options) -> Independence:
    return nb.checks.independence(BayesianNB(**options).fit(X, y), X, y)


@cache
def audit_of(table: Callable[[], tuple[dict, np.ndarray]]) -> Independence:
    """The audit of a table that several tests have in common. None of them may change it."""
    return asked(*table())


def test_the_audit_ranks_the_pairs_by_the_evidence_of_dependence():
    features, data, labels = encoded(n=600, missing=0.0)
    found = audited(fitted(features, data, labels), data, labels)
    assert len(found.pairs) == 28
    first = {frozenset(map(str, pair)) for pair in found.pairs[["first", "second"]].to_numpy()[:2]}
    # One level stands twice in the table, and two of the reals share what moves them.
    assert first == {
        frozenset({"('levels', 0)", "('levels', 1)"}),
        frozenset({"('reals', 0)", "('reals', 1)"}),
    }
    assert len(found.dependent) == 2
    assert (found.pairs["log_bayes_factor"][2:] < 3).all()
    assert (found.pairs["lower"] <= found.pairs["information"]).all()
    assert (found.pairs["information"] <= found.pairs["upper"]).all()


def test_the_mutual_information_of_copies_is_their_entropy():
    rng = default_rng(0)
    level = rng.integers(4, size=20_000)
    data = {"x": Coded(np.column_stack([level, level]), 2 * (("a", "b", "c", "d"),))}
    labels = Labels.of(rng.integers(2, size=20_000))
    found = audited(fitted({"x": Categorical()}, data, labels), data, labels).pairs
    assert_allclose(found["information"], np.log(4), atol=0.01)
    assert (found["upper"] - found["lower"] < 0.01).all()


@pytest.mark.parametrize("strength", [0.0, 0.15, 0.3])
@pytest.mark.slow
def test_the_interval_of_the_information_holds_the_true_one_where_rows_are_few(strength):
    # Two columns of three levels, two classes, 200 rows: eight free cells.
    p = (1 - strength) / 9 * np.ones((3, 3)) + strength * np.eye(3) / 3
    true = np.sum(p * np.log(9 * p))
    rng, held, means = default_rng(0), 0, []
    for _ in range(100):
        counts = rng.multinomial(100, p.ravel(), size=2).reshape(2, 3, 3).astype(float)
        drawn = _information(counts, rng)
        low, high = np.quantile(drawn, [0.055, 0.945])
        held += low <= true <= high
        means.append(drawn.mean())
    # Of 100 intervals about 89 should hold it, with a standard error of 3. Unadjusted draws hold 0, 31 and 75.
    assert held >= 80
    # What falls below 0 is 0, so a mean near 0 is a little too large.
    assert abs(np.mean(means) - true) < 0.012


@pytest.mark.parametrize("weight", [np.ones(30), np.resize([1.0, 2.0, 0.5], 30)], ids=["one each", "weighted"])
def test_the_gain_is_that_of_refits_without_each_row(weight):
    rng = default_rng(1)
    codes = rng.integers(3, size=(30, 2))
    labels = Labels((codes.sum(1) + rng.integers(2, size=30)) % 2, weight, 2)
    model, data = NaiveBayes({"x": Categorical()}), {"x": Coded(codes, 2 * (("a", "b", "c"),))}
    posterior = model.posterior(model.statistics(data, labels, ["n", "y"]))
    (counts,) = PairCounts.of(codes.T, [3, 3], [(0, 1)], labels).each()
    term = PairTerm.of(counts, Axis(1, 3), Axis(1, 3))
    gains = []
    for i, (a, b) in enumerate(codes):
        # Of a row of weight 2 one is left out.
        rest = Labels(labels.codes, weight - np.eye(30)[i] * min(weight[i], 1.0), 2)
        row, again = codes[[i]], posterior.given(model.statistics(data, rest, posterior.labels))
        joint = again.log_predictive({"x": Coded(row, data["x"].levels)}, 1)[0]
        less = counts.copy()
        less[labels.codes[i], a, b] -= min(weight[i], 1.0)
        more = joint + replace(term, counts=less).table()[:, a, b]
        own = labels.codes[i]
        # Under the other class nothing was left out; its counts and its posterior are those of all rows.
        gains.append((more[own] - logsumexp(more)) - (joint[own] - logsumexp(joint)))
    found = audited(posterior, data, labels).pairs.iloc[0]
    assert_allclose(found["gain"], np.average(gains, weights=weight), rtol=1e-9)


# The null and the power


@pytest.mark.parametrize("second", [[0, 1, 2, 3, 4], [0, 0, 1, 1, 1], [0, 0, 0, 0, 1]])
@pytest.mark.parametrize("first", [[0, 1, 2, 3, 4], [0, 1, 1, 2, 2], [0, 0, 0, 0, 1]])
def test_the_bayes_factors_have_the_mean_1_over_all_orders_of_the_rows_whatever_the_columns_are(first, second):
    shape, factors = (max(first) + 1, max(second) + 1), []
    for order in permutations(second):
        table = np.zeros((1, *shape))
        np.add.at(table, (0, first, order), 1)
        counts = PairCounts(table.reshape(1, -1), ((0, 1),), shape)
        factors.append((_log_bayes_factor_of_order(table), counts.log_bayes_factors(by_class=True)[0]))
    assert_allclose(np.exp(factors).mean(0), 1.0, atol=0.09)


def test_columns_that_the_class_determines_or_nearly_so_are_not_said_to_depend_on_each_other():
    rng = default_rng(0)
    y = rng.integers(2, size=1000)
    constant = {f"c{k}": y.astype(str) for k in range(3)}
    nearly = {f"n{k}": np.where(rng.random(1000) < 0.995, y, 1 - y).astype(str) for k in range(3)}
    far = {f"x{k}": rng.normal(8.0 * y) for k in range(2)}
    found = asked(constant | nearly | far, y)
    assert found.dependent.empty
    assert_allclose(found.pairs["log_bayes_factor"][found.pairs["first"].str.startswith("c")], 0.0, atol=1e-9)


def test_a_correlation_of_three_tenths_within_the_classes_is_seen_in_400_rows():
    seen = 0
    for seed in range(6):
        rng = default_rng(seed)
        y = rng.integers(2, size=400)
        x = rng.multivariate_normal([0, 0], [[1, 0.3], [0.3, 1]], 400) + 2 * y[:, None]
        posterior = fitted({"x": Gaussian()}, data := {"x": x}, labels := Labels.of(y))
        grid, coarse, fine = counted_pairs(posterior, data, labels)
        seen += of_pairs(coarse, fine, are_ordered(posterior, grid))[0] > np.log(20)
    # Of 60 simulated tables 58 were seen.
    assert seen >= 5


# The sentence


@pytest.mark.parametrize("copies", [2, 5])
def test_copies_of_a_column_are_weighted(copies):
    rng = default_rng(3)
    y = rng.integers(2, size=1000)
    x = rng.normal(y)
    found = asked({f"copy {k}": x for k in range(copies)}, y)
    pairs = copies * (copies - 1) // 2
    assert len(found.dependent) == pairs
    assert found.too_sure == pytest.approx(copies, rel=0.15)
    assert found.advice == "weighted"
    assert str(found).startswith(f"{pairs} of {pairs} pairs of columns depend")
    cure = 'use dependence="weighted", or dependence="auto".'
    assert str(found).endswith(f"log-odds are {found.too_sure:.2g} times too large; {cure}")


def test_an_exponent_that_may_be_0_gives_a_least_factor_and_its_interval():
    # Labels without any relation to 12 copies: the exponent is about 0, so no factor is too large.
    rng = default_rng(0)
    y = rng.integers(2, size=120)
    x = rng.normal(size=120)
    found = asked({f"copy {k}": x for k in range(12)}, y)
    lower, upper = found.exponent[["lower", "upper"]]
    assert lower < 0 < upper
    assert found.too_sure == pytest.approx(1 / upper)
    times = f"{1 / upper:,.0f}" if upper < 0.1 else f"{1 / upper:.2g}"
    said = f"log-odds are at least {times} times too large (the exponent of all columns is {lower:.2f} to {upper:.2f},"
    assert said in str(found)


@pytest.mark.parametrize("bayes_factor", [0.5, 15, 25])
@pytest.mark.parametrize("ends", [(0.82, 0.96), (1.04, 1.2), (0.9, 1.08), (-0.1, 0.4), (-0.1, 1.2), (0.97, 0.98)])
@pytest.mark.parametrize("dependent", [False, True])
def test_the_sentence_agrees_with_the_printed_interval_of_the_exponent(dependent, ends, bayes_factor):
    mean = sum(ends) / 2
    found = audit_of(unnoticed if dependent else made_by_the_model)
    sd = (ends[1] - mean) / ndtri(0.945)
    exponent = {"mean": mean, "sd": sd, "lower": ends[0], "upper": ends[1], "log_bayes_factor": np.log(bayes_factor)}
    found = replace(found, exponent=pd.Series(exponent))
    excluded, strong, said = not ends[0] <= 1 <= ends[1], bayes_factor > 20, str(found)
    assert ("there is no evidence" in said) == (not excluded and not strong)
    assert ("there is weak evidence that log-odds are" in said) == (excluded and not strong)
    assert ("there is evidence that log-odds are" in said) == (not excluded and strong)
    assert ("times too large" in said) == (mean < 1 and (excluded or strong))
    assert ("times too small" in said) == (mean > 1 and (excluded or strong))
    assert " 1 times" not in said
    assert found.advice == ("weighted" if strong else None)
    assert ('dependence="weighted"' in said) == (excluded or strong)
    assert ('dependence="pairwise"' in said) == (dependent and not excluded and not strong)


@pytest.mark.parametrize("bayes_factor", [0.5, 25])
@pytest.mark.parametrize("mean", [0.2, 0.8, 0.9, 0.95, 1.0, 1.05, 1.2])
@pytest.mark.parametrize("sd", [0.03, 0.08, 0.3])
def test_the_verdict_does_not_depend_on_the_displayed_interval_and_names_its_own_if_they_differ(sd, mean, bayes_factor):
    found, said = audit_of(made_by_the_model), {}
    for prob in (0.3, 0.5, 0.89, 0.99, 0.9999):
        lower, upper = mean + np.array([-1, 1]) * ndtri(0.5 + prob / 2) * sd
        exponent = {"mean": mean, "sd": sd, "lower": lower, "upper": upper, "log_bayes_factor": np.log(bayes_factor)}
        shown = replace(found, exponent=pd.Series(exponent))
        said[prob] = (str(shown), shown.too_sure, shown.advice, not round(lower, 2) <= 1 <= round(upper, 2))
    judged, *verdict, excluded = said[0.89]
    ends = mean + np.array([-1, 1]) * ndtri(0.945) * sd
    for prob, (sentence, *other, differs) in said.items():
        assert other == verdict
        named = f"(the exponent of all columns is {ends[0]:.2f} to {ends[1]:.2f} with probability 89%, and 1 in naive"
        if differs != excluded:
            assert named in sentence
        assert prob != 0.89 or "89%" not in sentence
        assert re.sub(r" \(the exponent.*?\)", "", sentence) == re.sub(r" \(the exponent.*?\)", "", judged)


def test_columns_that_only_tell_the_class_together_are_modelled_as_a_pair():
    rng = default_rng(4)
    x = rng.normal(size=(500, 2))
    found = asked({"a": x[:, 0], "b": x[:, 1]}, (x.prod(1) > 0).astype(int))
    assert found.advice == "pairwise"
    assert "1 of 1 pairs of columns depends on each other given the class: 'a' and 'b'" in str(found)
    assert found.pairs["gain"][0] > 0.4


@pytest.mark.slow
def test_the_audit_raises_no_alarm_on_tables_drawn_from_naive_bayes():
    alarms = 0
    for seed in range(6):
        rng = default_rng(seed)
        y = np.resize([0, 1, 2], 90)
        X = {f"x{k}": rng.normal(rng.normal(size=3)[y], rng.gamma(3.0, size=3)[y]) for k in range(3)}
        p = rng.dirichlet(np.ones(3), size=3).cumsum(1)[y]
        X["level"] = np.array(["a", "b", "c"])[(rng.random((90, 1)) > p[:, :2]).sum(1)]
        found = asked(X, y)
        alarms += found.advice is not None or len(found.dependent) > 0
    # Each of two statements may be wrong in a table of twenty: of six tables, 3 would be a wonder (1 in 60).
    assert alarms <= 2
    assert str(audit_of(made_by_the_model)) == (
        "None of 3 pairs of columns shows dependence given the class; there is no evidence of over- or "
        "underconfidence; nothing need be done."
    )


def made_by_the_model() -> tuple[dict, np.ndarray]:
    rng = default_rng(5)
    y = rng.integers(2, size=400)
    return {name: rng.normal(y) for name in "abc"}, y


def unnoticed() -> tuple[dict, np.ndarray]:
    rng = default_rng(9)
    x = rng.normal(size=200)
    X = {"a": x, "b": x + 0.1 * rng.normal(size=200), "c": rng.normal(size=200)}
    return X, rng.integers(2, size=200)


def test_dependence_that_the_labels_do_not_notice_is_left_to_a_comparison():
    found = audit_of(unnoticed)
    assert len(found.dependent) == 1
    assert found.advice is None
    assert "there is weak evidence that log-odds are at least" in str(found)
    assert str(found).endswith('; compare shows whether dependence="weighted" predicts better.')


def test_a_family_of_the_wrong_shape_is_told_from_dependence():
    rng = default_rng(6)
    y = rng.integers(2, size=800)
    found = asked({name: rng.exponential(1.0 + y) for name in "abc"}, y)
    assert found.dependent.empty
    assert "another family" in str(found)


def test_the_audit_names_one_wrong_number_before_the_dependence_of_columns():
    rng = np.random.default_rng(3)
    y = rng.choice(["a", "b", "c"], 900, p=[0.7, 0.2, 0.1])
    wet = rng.normal(y == "b", 1)
    X = pd.DataFrame({"ph": rng.normal(6, 0.5, 900).round(1), "wet": wet, "again": wet + rng.normal(0, 0.1, 900)})
    wrong = X.copy()
    wrong.loc[5, "ph"] = 64
    for dependence in (None, "weighted"):
        clf = nb.BayesianNB(dependence=dependence)
        said = str(nb.checks.independence(clf.fit(wrong, y), wrong, y))
        assert said.startswith("Column 'ph': 64 lies far from the other cells")
        assert "One such number alone can make log-odds too large, so correct it first. 1 of 3 pairs" in said
        assert str(nb.checks.independence(clf.fit(X, y), X, y)).startswith("1 of 3 pairs")
    remarks = sorted(nb.inspect(wrong.assign(code=["?", *"uv" * 449, "w"]), y).remarks, key=lambda each: each.urgency)
    assert remarks[0].column == "ph"
    assert remarks[0].far


@pytest.mark.parametrize("weighted", [False, True], ids=["once", "counted"])
def test_the_audit_first_names_the_family_that_inspect_prefers_to_a_gaussian(weighted):
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=800)
    X = pd.DataFrame({"fee": np.exp(rng.normal(3 + 0.5 * y, 1.3)), "height": rng.normal(y)})
    times = rng.integers(1, 3, 800) if weighted else None
    (cure,) = [remark.cures[0] for remark in nb.inspect(X, y).remarks]
    found = nb.checks.independence(BayesianNB().fit(X, y, times), X, y, times)
    assert found.families == (cure,)
    assert f"first try {cure.written()}, which inspect prefers to a Gaussian; if that does not help" in str(found)
    X["copy"] = X["height"] + 0.1 * rng.normal(size=800)
    both = nb.checks.independence(BayesianNB().fit(X, y, times), X, y, times)
    assert str(both).endswith(f'dependence="auto"; inspect also prefers {cure.written()} to a Gaussian.')
    for features in ({"fee": "log-normal"}, {"fee": "polya-tree"}):
        better = nb.checks.independence(BayesianNB(features).fit(X, y), X, y)
        assert not better.families
        assert "inspect prefers" not in str(better)


def test_the_audit_names_no_family_for_a_column_whose_texts_are_read():
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=800)
    fee = [
        f"{x:.2f}".replace(".", ",") + " €" * (k % 5 == 0) for k, x in enumerate(np.exp(rng.normal(3 + 0.5 * y, 1.3)))
    ]
    X = pd.DataFrame({"fee": fee, "height": rng.normal(y)})
    clf = BayesianNB({"fee": nb.Number(decimal=",")}).fit(X, y)
    assert not nb.checks.independence(clf, X, y).families


@pytest.mark.parametrize("copied", [False, True])
def test_the_audit_knows_the_dependence_of_its_model(copied):
    rng = np.random.default_rng(5)
    y = rng.integers(2, size=200)
    X = rng.normal(y[:, None], size=(200, 3))
    X = np.column_stack([X, X[:, 0]]) if copied else X
    assert nb.checks.independence(nb.BayesianNB(dependence="weighted").fit(X, y), X, y).dependence == "weighted"


def test_one_column_one_class_and_a_bag_of_words_have_nothing_to_compare():
    X, y = made_by_the_model()
    assert str(asked({"a": X["a"]}, y)).startswith("There is no pair of columns to compare; ")
    one = asked(X, np.zeros(400, int))
    assert one.advice is None
    assert_allclose(one.pairs["gain"], 0.0, atol=1e-12)
    words = default_rng(7).poisson(1.0, (50, 4)).astype(float)
    assert asked(sparse.csr_array(words), np.resize([0, 1], 50)).pairs.empty


def test_missing_cells_say_nothing_for_or_against_independence():
    X, y = made_by_the_model()
    gap = {name: np.where(default_rng(8).random(400) < 0.3, np.nan, x) for name, x in X.items()}
    found = asked(gap, y)
    assert found.dependent.empty
    empty = asked(X | {"none": np.full(400, np.nan)}, y).pairs
    assert_allclose(empty.loc[empty["second"] == "none", ["log_bayes_factor", "gain"]], 0.0, atol=1e-9)


def test_a_sampled_family_is_refused_before_any_pair_is_compared():
    model, data, labels = NaiveBayes({"x": StudentT()}), {"x": np.ones((4, 2))}, Labels.of([0, 0, 1, 1])
    posterior = Posterior(model, model.statistics(data, labels, [0, 1]), Dirichlet(), {}, Dirichlet(), {"x": None})
    with pytest.raises(ValueError, match=r"'x'.*leave-one-out"):
        audited(posterior, data, labels)


def test_a_prior_that_is_improper_without_a_row_is_refused_with_its_column():
    X = pd.DataFrame({"a": [1.0, 2.0, 4.0, 5.0], "b": [1.0, 2.0, 4.0, 6.0]})
    with pytest.raises(ValueError, match=r"'a'"):
        nb.checks.independence(BayesianNB(Gaussian(NormalGamma.reference())).fit(X, [0, 0, 1, 1]), X, [0, 0, 1, 1])


def test_rows_without_a_label_and_a_prior_for_each_row_are_refused():
    X, y = made_by_the_model()
    labels = np.where(np.arange(400) < 350, y.astype(str), None)
    with pytest.raises(ValueError, match="unlabelled"):
        nb.checks.independence(BayesianNB().fit(X, labels), X, labels)
    with pytest.raises(ValueError, match="one class prior"):
        nb.checks.independence(nb.deploy.with_class_prior(BayesianNB().fit(X, y), np.full((400, 2), 0.5)), X, y)


def test_ordered_levels_that_rise_with_a_number_are_dependent_as_counts_are():
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=600)
    grade = rng.normal(y)
    failed = np.minimum(rng.poisson(np.exp(0.3 * grade)), 7)
    X = {"grade": grade, "failed": failed, "other": rng.permutation(failed)}
    found = {}
    for name, family in {"levels": Ordinal(order=[*range(8)]), "counts": Poisson()}.items():
        clf = BayesianNB({"failed": family, "other": family}).fit(X, y)
        pairs = nb.checks.independence(clf, X, y).pairs.set_index(["first", "second"])
        found[name] = {frozenset(pair): factor for pair, factor in pairs["log_bayes_factor"].items()}
    for pair, factor in found["counts"].items():
        assert (factor > 10) is (pair == {"grade", "failed"})
        assert_allclose(found["levels"][pair], factor, atol=3)


def test_rows_that_were_not_learned_are_refused():
    x, y = {"a": [0.5, 1.5, 2.5, 4.0], "b": [0, 1, 1, 0]}, ["u", "v"] * 2
    with pytest.raises(ValueError, match="Expected exactly the learned rows"):
        nb.checks.independence(BayesianNB().fit(x, y), {name: column[:3] for name, column in x.items()}, y[:3])
