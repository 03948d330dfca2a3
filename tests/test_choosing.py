"""The choice of families against fits of every combination."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose

from bayesnb import (
    BayesianNB,
    Exponential,
    Gaussian,
    Hurdle,
    LogNormal,
    NegativeBinomial,
    Poisson,
    PolyaTree,
    choose_families,
    datasets,
    evaluate,
)

FAMILIES = [Gaussian(), LogNormal(), Exponential()]


def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = default_rng(0)
    y = np.arange(120) % 2
    factors = rng.lognormal(1.0 + y, 1.0)
    waits = rng.exponential(1.0 + 2.0 * y)
    return pd.DataFrame({"size": factors, "wait": waits, "kind": np.where(rng.random(120) < 0.5, "u", "v")}), y


def log_score(features, X, y):
    return -len(y) * evaluate(BayesianNB(features), X, y)["log_loss"]


def test_the_choice_for_the_class_is_the_best_of_all_combinations():
    X, y = table()
    choice = choose_families(X, y, FAMILIES)
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
    choice = choose_families(X, y, FAMILIES, by="evidence")
    for column in ("size", "wait"):
        evidence = [BayesianNB({column: f}).fit(X[[column]], y).log_evidence_.conditional for f in FAMILIES]
        assert_allclose(choice.table.loc[column, "evidence"], evidence, rtol=1e-12)
        assert_allclose(choice.table.loc[column, "weight"], np.exp(evidence - np.logaddexp.reduce(evidence)), rtol=1e-9)
        assert choice.features[column] is FAMILIES[int(np.argmax(evidence))]
    assert [type(family) for family in choice.features.values()] == [LogNormal, Exponential]


def test_a_family_is_tried_on_the_columns_that_it_can_read():
    X, y = datasets.penguins()
    tried = choose_families(X, y, [Gaussian(), Poisson(), PolyaTree()]).table.reset_index().groupby("column")["family"]
    assert "Poisson" in set(tried.get_group("body_mass_g"))
    assert "Poisson" not in set(tried.get_group("bill_length_mm"))
    assert "island" not in tried.groups


def test_a_column_of_amounts_with_many_zeros_is_tried_as_a_hurdle_and_chosen_for_the_class():
    rng, y = default_rng(0), np.arange(200) % 2
    amount = np.where(rng.random(200) < 0.3 + 0.4 * y, 0.0, rng.lognormal(3.0 + y, 0.5))
    choice = choose_families(pd.DataFrame({"amount": amount, "size": amount + 1.0}), y)
    families = choice.table.reset_index().groupby("column")["family"]
    assert set(families.get_group("amount")) == {"Gaussian", "PolyaTree", "Hurdle(LogNormal)"}
    assert "Hurdle(LogNormal)" not in set(families.get_group("size"))
    assert choice.features["amount"].title == "Hurdle(LogNormal)"
    assert np.isnan(choice.table.loc[("amount", "Hurdle(LogNormal)"), "evidence"])


def test_candidates_of_one_class_have_different_names_if_their_parts_have():
    X, y = table()
    X = pd.DataFrame({"size": X["size"].round() * (np.arange(120) % 3 > 0)})
    found = choose_families(X, y, [Hurdle(Poisson()), Hurdle(NegativeBinomial())], by="evidence")
    assert list(found.table.loc["size"].index) == ["Hurdle(Poisson)", "Hurdle(NegativeBinomial)"]
    assert found.table["evidence"].notna().all()


def test_a_tree_whose_cells_have_seen_the_column_has_no_evidence_to_compare():
    X, y = table()
    own, given = PolyaTree(), PolyaTree(edges=[1.0, 3.0, 9.0])
    choice = choose_families(X, y, [Gaussian(), own], by="evidence")
    assert choice.table.xs("PolyaTree", level="family")[["evidence", "weight"]].isna().all(axis=None)
    assert [type(family) for family in choice.features.values()] == [Gaussian, Gaussian]
    with_edges = choose_families(X, y, [Gaussian(), given], by="evidence")
    assert with_edges.table["evidence"].notna().all()
    assert with_edges.features["size"] is given
    with pytest.raises(ValueError, match="no candidate has an evidence for 'size'"):
        choose_families(X, y, [own], by="evidence")


@pytest.mark.parametrize(
    ("X", "asked", "said"),
    [
        (table()[0], {"by": "loo"}, "Expected by to be 'class' or 'evidence'; got 'loo'"),
        (table()[0], {"families": [Gaussian(), Gaussian()]}, "candidates of different names"),
        (table()[0], {"families": []}, "candidates of different names"),
        (table()[0][["kind"]], {}, "no column holds numbers"),
        (table()[0][["size"]].to_numpy(), {}, "whose columns have names"),
        (pd.DataFrame({"v": np.linspace(-1, 1, 120)}), {"families": [LogNormal()]}, "can read column 'v'"),
    ],
)
def test_what_leaves_no_choice_is_refused(X, asked, said):
    with pytest.raises(ValueError, match=said):
        choose_families(X, table()[1], **asked)
