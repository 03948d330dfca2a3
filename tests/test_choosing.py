"""The choice of families against fits of every combination."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from conftest import mixed
from numpy.random import default_rng
from numpy.testing import assert_allclose
from sklearn.base import clone

from bayesnb import BayesianNB, BestFamily, Gaussian, Poisson, datasets, evaluate, load
from bayesnb.errors import UnseenLevelWarning
from bayesnb.families import Exponential, LogNormal, PolyaTree

FAMILIES = [Gaussian(), LogNormal(), Exponential()]


def table() -> tuple[pd.DataFrame, np.ndarray]:
    return mixed(120, [0, 1], {"size": "positive", "wait": "wait", "kind": "levels"}, missing=0.0)


def log_score(features, X, y):
    return -len(y) * evaluate(BayesianNB(features), X, y)["log_loss"]


def chosen(X, y, *settings, **named):
    """What the rows choose, and what was tried."""
    return BayesianNB(BestFamily(*settings, **named)).fit(X, y).classifier_.choice


def test_the_choice_for_the_class_is_the_best_of_all_combinations():
    X, y = table()
    choice = chosen(X, y, FAMILIES)
    scores = {
        (a, b): log_score({"size": a, "wait": b}, X, y) for a, b in product(FAMILIES, repeat=2)
    }  # fmt: skip
    assert tuple(choice.features.values()) == max(scores, key=scores.get)
    best = choice.table.query("chosen")["log_score"]
    assert_allclose(best, max(scores.values()), rtol=1e-9)
    # Every other row of the table is the score with one family changed.
    for (column, name), row in choice.table.iterrows():
        changed = choice.features | {column: next(f for f in FAMILIES if f.title == name)}
        assert_allclose(row["log_score"], scores[changed["size"], changed["wait"]], rtol=1e-9)


def test_the_choice_by_evidence_is_the_family_of_the_largest_evidence_of_its_own_column():
    X, y = table()
    choice = chosen(X, y, FAMILIES, by="evidence")
    for column in ("size", "wait"):
        evidence = [BayesianNB({column: f}).fit(X[[column]], y).log_evidence_.conditional for f in FAMILIES]
        assert_allclose(choice.table.loc[column, "evidence"], evidence, rtol=1e-12)
        assert_allclose(choice.table.loc[column, "weight"], np.exp(evidence - np.logaddexp.reduce(evidence)), rtol=1e-9)
        assert choice.features[column] is FAMILIES[int(np.argmax(evidence))]
    assert [type(family) for family in choice.features.values()] == [LogNormal, Exponential]


def test_a_family_is_tried_on_the_columns_that_it_can_read():
    X, y = datasets.penguins()
    tried = chosen(X, y, [Gaussian(), Poisson(), PolyaTree()]).table.reset_index().groupby("column")["family"]
    assert "Poisson" in set(tried.get_group("body_mass_g"))
    assert "Poisson" not in set(tried.get_group("bill_length_mm"))
    assert "island" not in tried.groups


def test_a_column_of_amounts_with_many_zeros_is_tried_as_a_hurdle_and_chosen_for_the_class():
    rng, y = default_rng(0), np.arange(200) % 2
    amount = np.where(rng.random(200) < 0.3 + 0.4 * y, 0.0, rng.lognormal(3.0 + y, 0.5))
    choice = chosen(pd.DataFrame({"amount": amount, "size": amount + 1.0}), y)
    families = choice.table.reset_index().groupby("column")["family"]
    assert set(families.get_group("amount")) == {"Gaussian", "PolyaTree", "Hurdle(LogNormal)"}
    assert "Hurdle(LogNormal)" not in set(families.get_group("size"))
    assert choice.features["amount"].title == "Hurdle(LogNormal)"
    assert np.isnan(choice.table.loc[("amount", "Hurdle(LogNormal)"), "evidence"])


def test_a_tree_whose_cells_have_seen_the_column_has_no_evidence_to_compare():
    X, y = table()
    own, given = PolyaTree(), PolyaTree(edges=[1.0, 3.0, 9.0])
    choice = chosen(X, y, [Gaussian(), own], by="evidence")
    assert choice.table.xs("PolyaTree", level="family")[["evidence", "weight"]].isna().all(axis=None)
    assert [type(family) for family in choice.features.values()] == [Gaussian, Gaussian]
    with_edges = chosen(X, y, [Gaussian(), given], by="evidence")
    assert with_edges.table["evidence"].notna().all()
    assert with_edges.features["size"] is given
    with pytest.raises(ValueError, match="no candidate has an evidence for 'size'"):
        chosen(X, y, [own], by="evidence")


# BayesianNB(features="best")


def test_an_estimator_with_best_families_is_one_with_the_families_that_it_chose():
    X, y = table()
    choice = chosen(X, y)
    best, named = BayesianNB("best").fit(X, y), BayesianNB(choice.features).fit(X, y)
    pd.testing.assert_frame_equal(best.classifier_.choice.table, choice.table)
    assert np.array_equal(best.predict_proba(X), named.predict_proba(X))
    # An array has the same columns without names.
    array = BayesianNB("best").fit(X[["size", "wait"]].to_numpy(), y)
    without = chosen(X[["size", "wait"]], y)
    assert [type(f) for f in array.classifier_.choice.features.values()] == [type(f) for f in without.features.values()]


def test_the_table_of_features_says_why_a_family_was_chosen_and_which_is_the_runner_up():
    X, y = table()
    described = BayesianNB(BestFamily(FAMILIES, by="evidence")).fit(X, y).describe()["chosen"]
    evidence = chosen(X, y, FAMILIES, by="evidence").table["evidence"]
    ahead = evidence["wait", "Exponential"] - evidence["wait", "LogNormal"]
    assert described["wait"] == f"best by evidence, {ahead:.3g} nats before LogNormal"
    assert described["kind"] == "text"
    alone = BayesianNB({"wait": BestFamily([Gaussian()])}).fit(X, y)
    assert alone.describe()["chosen"][["size", "wait"]].tolist() == [
        "numbers",
        "best for the class, the only candidate",
    ]
    assert not hasattr(BayesianNB().fit(X, y).classifier_, "choice")


@pytest.mark.parametrize("seed", range(6))
def test_the_difference_from_the_second_best_family_has_its_standard_error(seed):
    rng, y = default_rng(seed), np.arange(400) % 2
    # The height has nothing to do with the class; the wait has two peaks in one class.
    X = pd.DataFrame({"height": rng.normal(172, 9, 400).round()})
    X["wait"] = np.where(y, rng.choice([1.0, 6.0], 400) + rng.uniform(0, 1, 400), rng.normal(4, 2.5, 400))
    for column, candidates in (("height", [Gaussian(), LogNormal(), PolyaTree()]), ("wait", [Gaussian(), PolyaTree()])):
        one = X[[column]]
        p = {f.title: BayesianNB({column: f}).fit(one, y).loo(one, y)["probability"].to_numpy() for f in candidates}
        rows = {name: np.log(probability[np.arange(400), y]) for name, probability in p.items()}
        best, second, *_ = sorted(rows, key=lambda name: -rows[name].sum())
        gains = rows[best] - rows[second]
        error = np.sqrt(400) * gains.std()
        clf = BayesianNB({column: BestFamily(candidates)}).fit(one, y)
        assert clf.classifier_.choice.features[column].title == best
        gap = f"{gains.sum():.3g} ± {error:.2g} nats before" if gains.sum() > error else "as good as"
        assert clf.describe()["chosen"][column] == f"best for the class, {gap} {second}"


def test_single_columns_may_have_their_best_family_beside_others():
    X, y = table()
    clf = BayesianNB({"wait": BestFamily(FAMILIES), "size": "log-normal"}).fit(X, y)
    assert list(clf.classifier_.choice.features) == ["wait"]
    scores = {f.title: log_score({"wait": f, "size": LogNormal()}, X, y) for f in FAMILIES}
    assert clf.classifier_.choice.features["wait"].title == max(scores, key=scores.get)
    assert_allclose(clf.classifier_.choice.table["log_score"].to_numpy(), list(scores.values()), rtol=1e-9)
    with pytest.raises(ValueError, match="column 'kind' holds text"):
        BayesianNB({"kind": "best"}).fit(X, y)
    with pytest.raises(ValueError, match="features names column 'sise', which the table does not have"):
        BayesianNB({"sise": "best"}).fit(X, y)


def test_the_class_prior_of_the_settings_takes_part_in_the_choice():
    X, y = table()
    known = {0: 0.9, 1: 0.1}
    clf = BayesianNB({"wait": BestFamily(FAMILIES)}, class_prior=known).fit(X, y)
    score = -len(y) * evaluate(BayesianNB(clf.classifier_.choice.features, class_prior=known), X, y)["log_loss"]
    assert_allclose(clf.classifier_.choice.table.query("chosen")["log_score"], score, rtol=1e-9)


def test_later_rows_keep_the_choice_of_the_first():
    X, y = table()
    first = BayesianNB("best").fit(X[:60], y[:60])
    families = first.classifier_.choice.features
    both = BayesianNB(families).fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
    first.partial_fit(X[60:], y[60:])
    assert first.classifier_.choice.features.keys() == families.keys()
    assert all(first.classifier_.choice.features[name] is family for name, family in families.items())
    assert np.array_equal(first.predict_proba(X), both.predict_proba(X))


def test_models_that_chose_differently_do_not_merge_and_the_error_says_what_to_do():
    X, y = table()
    mine = BayesianNB({"wait": BestFamily([Gaussian()])}).fit(X[:60], y[:60])
    theirs = BayesianNB({"wait": BestFamily([LogNormal()])}).fit(X[60:], y[60:])
    with pytest.raises(
        ValueError, match=r"'wait'.*fit both with one family, which is in classifier_.choice.features of either"
    ):
        mine.merge(theirs)
    mine.merge(BayesianNB(mine.classifier_.choice.features).fit(X[60:], y[60:]))
    assert mine.class_count_.sum() == 120


def test_the_first_part_of_a_table_chooses_and_all_parts_are_learned():
    X, y = table()
    parts = [X[:80].assign(y=y[:80]), X[80:].assign(y=y[80:])]
    stream = BayesianNB("best", class_prior="uniform").fit(iter(parts), "y")
    first = BayesianNB("best", class_prior="uniform").fit(X[:80], y[:80])
    pd.testing.assert_frame_equal(stream.classifier_.choice.table, first.classifier_.choice.table)
    whole = BayesianNB(first.classifier_.choice.features, class_prior="uniform").fit(X, y)
    assert_allclose(stream.predict_proba(X), whole.predict_proba(X), rtol=1e-12)
    assert stream.class_count_.sum() == 120


def test_the_choice_is_a_parameter_and_stands_in_the_model_file(tmp_path):
    X, y = table()
    clf = BayesianNB({"size": BestFamily(FAMILIES), "wait": "best"}).set_params(features__size__by="evidence")
    clf.fit(X, y).save(tmp_path / "m.bayesnb")
    back = load(tmp_path / "m.bayesnb")
    pd.testing.assert_frame_equal(back.classifier_.choice.table, clf.classifier_.choice.table)
    assert np.array_equal(back.predict_proba(X), clf.predict_proba(X))
    assert back.describe()["chosen"].equals(clf.describe()["chosen"])
    refitted = clone(back).fit(X, y)
    pd.testing.assert_frame_equal(refitted.classifier_.choice.table, clf.classifier_.choice.table)


def test_a_number_that_the_chosen_family_cannot_have_is_missing_and_said():
    X, y = table()
    clf = BayesianNB({"size": BestFamily([LogNormal()])}).fit(X, y)
    new = X[:2].assign(size=[0.0, 2.0])
    with pytest.warns(UnseenLevelWarning, match=r"'size': 1 of 2 rows holds? .* cannot occur under LogNormal.*\(0\)"):
        found = clf.predict_proba(new)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(found, clf.predict_proba(new.assign(size=[np.nan, 2.0])))
    refusing = BayesianNB({"size": BestFamily([LogNormal()])}, unseen="error").fit(X, y)
    said = "column 'size' holds 0 in row 0, where LogNormal needs a positive number"
    with pytest.raises(ValueError, match=said):
        refusing.predict(new)
    with pytest.raises(ValueError, match=said):
        clf.partial_fit(new, y[:2])
    with pytest.raises(ValueError, match="column 'size' is infinite in row 0"):
        clf.predict(new.assign(size=[np.inf, 1.0]))


def test_rows_without_a_label_take_no_part_in_the_choice():
    X, y = table()
    some = y.astype(float).copy()
    some[80:] = np.nan
    clf = BayesianNB(BestFamily(FAMILIES)).fit(X, some)
    pd.testing.assert_frame_equal(clf.classifier_.choice.table, chosen(X[:80], y[:80], FAMILIES).table)
    with pytest.raises(ValueError, match="families are chosen by rows with a label, and no row has one"):
        BayesianNB("best", class_prior={"a": 0.5, "b": 0.5}).fit(X, np.full(len(y), np.nan))


def test_at_most_so_many_rows_choose_and_all_rows_are_learned():
    X, y = table()
    few = BayesianNB(BestFamily(FAMILIES, rows=30)).fit(X, y)
    assert few.class_count_.sum() == 120
    scores = few.classifier_.choice.table.query("chosen")["log_score"]
    assert (scores > 0.6 * chosen(X, y, FAMILIES).table.query("chosen")["log_score"].to_numpy()).all()
    again = chosen(X, y, FAMILIES, rows=30)
    pd.testing.assert_frame_equal(few.classifier_.choice.table, again.table)


def test_a_column_that_joins_later_gets_the_family_of_its_type():
    X, y = table()
    clf = BayesianNB("best", columns="grow").fit(X[["size", "kind"]], y)
    clf.partial_fit(X, y)
    assert clf.describe()["chosen"]["wait"] == "numbers"
    assert list(clf.classifier_.choice.features) == ["size"]


def test_a_row_of_weight_two_chooses_as_two_rows():
    X, y = table()
    weight = 1.0 + (np.arange(120) % 3 == 0)
    twice = np.repeat(np.arange(120), weight.astype(int))
    weighted = BayesianNB("best").fit(X, y, weight)
    repeated = BayesianNB("best").fit(X.iloc[twice], y[twice])
    pd.testing.assert_frame_equal(weighted.classifier_.choice.table, repeated.classifier_.choice.table)


def test_the_rows_that_choose_follow_from_their_content():
    X, y = table()
    rng = default_rng(0)
    order, weight = rng.permutation(len(y)), rng.integers(0, 3, len(y))
    copies = np.repeat(np.arange(len(y)), weight)
    expected = chosen(X, y, rows=50).table["log_score"]
    renamed = X[X.columns[::-1]].assign(size=0.3 * X["size"], kind="_" + X["kind"].astype(str).str[::-1])
    for found in (chosen(X.iloc[order], y[order], rows=50), chosen(renamed, 1 - y, rows=50)):
        assert_allclose(found.table["log_score"][expected.index], expected, rtol=1e-9)
    weighted = BayesianNB(BestFamily(rows=50)).fit(X, y, weight).classifier_.choice.table["log_score"]
    assert_allclose(weighted, chosen(X.iloc[copies], y[copies], rows=50).table["log_score"], rtol=1e-9)
