"""Pólya trees against enumeration, quadrature, and the trees that shape the columns of exponents."""

from __future__ import annotations

from itertools import pairwise, product

import mpmath
import numpy as np
import pandas as pd
import pytest
from mpmath import loggamma, mpf
from numpy.random import default_rng
from numpy.testing import assert_allclose
from scipy import integrate

import bayesnb as nb
from bayesnb import BayesianNB, load
from bayesnb.families import PolyaTree
from bayesnb.families.dyadic import Dyadic
from bayesnb.priors import BetaTree

EDGES = [-1.0, 0.0, 2.0]
X = pd.DataFrame({"v": [-3.0, -0.5, -0.4, 1.0, 5.0, 0.1, 2.5, np.nan, 0.2, 8.0]})
Y = ["a"] * 6 + ["b"] * 4


def log_beta_binomial(a, b, left, right):
    return (
        loggamma(a + left) + loggamma(b + right) - loggamma(a + b + left + right)
        - loggamma(a) - loggamma(b) + loggamma(a + b)
    )  # fmt: skip


def evidence_by_enumeration(counts, shares, prior):
    """ln p(cells) of four cells, a sum over which of the three nodes stop."""
    halves = [(counts[0] + counts[1], counts[2] + counts[3]), (counts[0], counts[1]), (counts[2], counts[3])]
    strengths = [float(prior.strength), *[float(prior.strength * prior.growth)] * 2]
    total, stop = mpf(0), mpf(float(prior.stop))
    for root, low, high in product([True, False], repeat=3):
        # Below a root that stops, nodes stop without a choice of their own.
        if not root and (low or high):
            continue
        weight = stop if not root else (1 - stop) * ((1 - stop) if low else stop) * ((1 - stop) if high else stop)
        value = mpmath.log(weight)
        for splits, (left, right), q, s in zip((root, low, high), halves, shares, strengths, strict=True):
            strength = mpf(s) if splits else mpf(float(prior.near))
            value += log_beta_binomial(strength * mpf(q), strength * (1 - mpf(q)), left, right)
        total += mpmath.exp(value)
    return mpmath.log(total)


def test_the_evidence_is_the_sum_over_all_ways_to_stop():
    prior = BetaTree(3.0, 1.7, 0.4, 60.0)
    clf = BayesianNB({"v": PolyaTree(prior, edges=EDGES)}).fit(X, Y)
    cells = np.searchsorted(EDGES, X["v"].dropna(), side="right")
    label = np.array(Y)[X["v"].notna()]
    counts = np.array([np.bincount(cells[label == c], minlength=4) for c in "ab"])
    pooled = counts.sum(0) + 0.5
    shares = [pooled[:2].sum() / pooled.sum(), pooled[0] / pooled[:2].sum(), pooled[2] / pooled[2:].sum()]
    with mpmath.workdps(40):
        exact = sum(evidence_by_enumeration(row.tolist(), shares, prior) for row in counts)
    s = clf.classifier_.statistics.features["v"]
    assert_allclose(s.counts.sum(1)[:, [0, 16, 32, 48]], counts)
    assert_allclose(clf.log_evidence_.conditional, float(exact) + s.log_within.sum(), rtol=1e-12)


def test_the_density_of_a_class_integrates_to_one_in_the_units_of_the_column():
    clf = BayesianNB({"v": PolyaTree(edges=EDGES)}).fit(X, Y)
    share = clf.tables()["(class)"]["probability"].to_numpy()

    def density(x, c):
        return np.exp(clf.predict_joint_log_proba({"v": [x]})[0, c]) / share[c]

    for c in (0, 1):
        parts = [integrate.quad(density, *ends, args=(c,))[0] for ends in pairwise([-np.inf, *EDGES, np.inf])]
        assert_allclose(sum(parts), 1.0, atol=1e-7)


def test_a_class_that_is_distributed_as_the_column_is_believed_to_be():
    rng = default_rng(1)
    same, apart = rng.normal(size=2000), rng.normal(np.arange(2000) % 2, 1.0)
    clf = BayesianNB(PolyaTree()).fit(pd.DataFrame({"same": same, "apart": apart}), np.arange(2000) % 2)
    differs = {name: clf.posterior_.features[name].differs()[:, 0] for name in ("same", "apart")}
    assert (differs["same"] < 0.2).all()
    assert (differs["apart"] > 0.999).all()


def test_parts_share_the_cells_of_the_first_and_other_models_are_refused(tmp_path):
    rng = default_rng(3)
    frames = [pd.DataFrame({"v": rng.normal(k, 1.0, 50), "y": np.arange(50) % 2}) for k in range(3)]
    clf = BayesianNB({"v": PolyaTree()}).fit(iter(frames), "y")
    first = Dyadic.of(frames[0]["v"].to_numpy(), 6)
    assert_allclose(clf.classifier_.schema.features["v"].family.cuts[0].edges, first.edges)
    whole = pd.concat(frames)
    again = BayesianNB({"v": clf.classifier_.schema.features["v"].family}).fit(whole[["v"]], whole["y"])
    assert_allclose(clf.predict_proba(whole[["v"]]), again.predict_proba(whole[["v"]]), rtol=1e-12)
    clf.save(tmp_path / "m.bayesnb")
    assert_allclose(
        load(tmp_path / "m.bayesnb").predict_proba(whole[["v"]]), clf.predict_proba(whole[["v"]]), rtol=1e-12
    )
    other = BayesianNB({"v": PolyaTree()}).fit(frames[1][["v"]], frames[1]["y"])
    with pytest.raises(ValueError, match="feature 'v': the two models differ in edges of their family, PolyaTree: fit"):
        clf.merge(other)


def test_quantiles_stand_in_the_table_of_parameters():
    x = default_rng(4).normal(10.0, 2.0, 4000)
    shown = BayesianNB({"v": PolyaTree()}).fit({"v": x}, ["a"] * 4000).tables()["v"].loc["a"]
    assert_allclose(shown, np.quantile(x, [0.05, 0.25, 0.5, 0.75, 0.95]), atol=0.1)


@pytest.mark.parametrize(
    "values",
    [
        [np.nan] * 6,
        [3.0] * 6,
        [0.0] * 6,
        [-1e150, 1e150, 0.0, 5.0, -7.0, np.nan],
        [1e-150, 0.0, 2e-150, 0.0, 1e-150, 0.0],
        [1e15, 1e15 + 1, 1e15 + 2, 1e15 + 3, 1e15, 1e15],
    ],
    ids=["no value", "one value", "zero", "far apart", "nearly nothing", "neighbours among floats"],
)
def test_columns_of_odd_numbers_have_finite_densities_and_can_be_sampled(values):
    table = {"v": np.array(values)}
    clf = BayesianNB({"v": PolyaTree()}, random_state=0).fit(table, list("aabbab"))
    asked = {"v": np.array([0.0, 3.0, -1e9, 1e150, np.nan])}
    assert np.isfinite(clf.predict_joint_log_proba(asked)).all()
    assert np.isfinite(clf.log_evidence_.joint)
    assert np.isfinite(clf.loo(table, list("aabbab"))["log_density"]).all()
    assert np.isfinite(nb.draws.sample(clf, 20)["v"]).all()


def test_the_cells_of_many_rows_do_not_depend_on_their_order():
    rng = default_rng(0)
    x, y, asked = rng.normal(size=70_000).round(4), rng.integers(2, size=70_000), {"x": np.linspace(-3, 3, 50)}
    order = np.argsort(rng.permutation(len(x)) + 40_000 * (x > 0))
    there, back = (BayesianNB({"x": PolyaTree()}).fit({"x": x[k]}, y[k]).predict_proba(asked) for k in (..., order))
    assert_allclose(there, back, rtol=1e-9)
