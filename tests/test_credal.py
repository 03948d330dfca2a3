"""Bounds of class probabilities under a set of priors are those of a search through the set."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from conftest import mixed
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize

import bayesnb as nb
from bayesnb import (
    BayesianNB,
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    Normal,
    NormalGamma,
    Poisson,
    datasets,
)
from bayesnb.families import Exponential, GaussianKnownVariance
from bayesnb.inference.credal import Bounds, credal, interval_bounds
from bayesnb.statistics.statistic import Labels


def simplex(classes, steps):
    """Shares t of the classes on a grid."""
    grid = np.array([p for p in product(range(steps + 1), repeat=classes - 1) if sum(p) <= steps])
    return np.maximum(np.column_stack([grid, steps - grid.sum(axis=1)]) / steps, 1e-12)


def searched(rows, own, seen, base, s, steps):
    """Bounds and dominance of one row by every prior of a grid, the shares of its levels at both of their ends."""
    t = simplex(len(rows), steps)
    u = s * t[..., None]
    with np.errstate(divide="ignore"):
        low = base + np.log(rows + s * t) + (np.log(own) - np.log(seen + u)).sum(axis=-1)
        high = base + np.log(rows + s * t) + (np.log(own + u) - np.log(seen + u)).sum(axis=-1)
    lower, upper, dominates = [], [], np.zeros((len(rows), len(rows)), bool)
    for c in range(len(rows)):
        others = np.delete(np.arange(len(rows)), c)
        with np.errstate(over="ignore"):
            upper.append((1 / (1 + np.exp(low[:, others] - high[:, [c]]).sum(axis=1))).max())
            lower.append((1 / (1 + np.exp(high[:, others] - low[:, [c]]).sum(axis=1))).min())
        for k in others:
            dominates[k, c] = (low[:, k] - high[:, c]).min() > 1e-9
    return np.array(lower), np.array(upper), dominates


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("complete", [True, False])
def test_bounds_are_those_of_a_search_over_a_grid_of_priors(classes, complete):
    rng, steps = default_rng(classes), {2: 1000, 3: 120, 4: 36}[classes]
    for _ in range(1 if classes == 4 else 2):
        s, columns = rng.choice([0.5, 1.0, 2.0]), rng.integers(0, 5)
        rows = rng.integers(1, 15, classes).astype(float)
        share = 1.0 if complete else 0.6
        seen = rng.binomial(np.tile(rows.astype(int)[:, None], columns), share).astype(float)
        own = np.minimum(seen, rng.binomial(seen.astype(int), 0.7) + 1.0) * (rng.random(seen.shape) < 0.9)
        base = rng.normal(size=classes)
        asked = Bounds(base[None], base[None], rows, own[None], own[None], seen, s)
        lower, upper, dominates = (found[0] for found in credal(asked))
        grid_lower, grid_upper, grid_dominates = searched(rows, own, seen, base, s, steps)
        # The grid is part of the set, so its bounds lie inside; and it is fine, so they are close.
        assert (lower <= grid_lower + 1e-9).all()
        assert (upper >= grid_upper - 1e-9).all()
        assert_allclose(lower, grid_lower, atol=3 / steps**2 + 1e-7)
        assert_allclose(upper, grid_upper, atol=3 / steps**2 + 1e-7)
        assert_array_equal(dominates, grid_dominates)


def table(n=30, classes="uvw"):
    X, y = mixed(n, classes, missing=0.0)
    return X[["c", "b", "g"]].astype({"b": int}), y


def test_every_prior_of_the_set_stays_within_the_bounds():
    X, y = table()
    rng, s = default_rng(1), 2.0
    found = nb.sets.predict_credal(BayesianNB({"g": Gaussian()}).fit(X, y), X[:8], s=s)
    lower, upper = (found.xs(name, axis=1, level=1).to_numpy(float) for name in ("lower", "upper"))
    reached = np.zeros(2)
    for k in range(60):
        # Shares of classes, and of levels in each class; every other prior near a corner.
        sharp = 0.05 if k % 2 else 1.0
        t = rng.dirichlet(np.full(3, sharp)) + 1e-9
        levels = {
            c: Dirichlet(dict(zip("abc", share * rng.dirichlet(np.full(3, sharp)), strict=True)))
            for c, share in zip("uvw", s * t, strict=True)
        }
        ones = rng.dirichlet(np.full(2, sharp), 3) * s * t[:, None]
        flags = {c: Beta(*one) for c, one in zip("uvw", ones, strict=True)}
        features = {"c": Categorical(levels), "b": Bernoulli(flags), "g": Gaussian()}
        p = BayesianNB(features, class_prior=Dirichlet(s * t)).fit(X, y).predict_proba(X[:8])
        assert (p >= lower - 1e-9).all()
        assert (p <= upper + 1e-9).all()
        reached = np.maximum(reached, [((upper - p) < 0.02).mean(), ((p - lower) < 0.02).mean()])
    assert (reached > 0.1).all()


def test_a_larger_set_of_priors_has_wider_bounds():
    X, y = table()
    clf = BayesianNB().fit(X, y)
    one, two = (nb.sets.predict_credal(clf, X, s=s) for s in (1, 2))
    for found in (one, two):
        lower, upper, proba = (
            found.xs("lower", axis=1, level=1),
            found.xs("upper", axis=1, level=1),
            clf.predict_proba(X),
        )
        assert (lower.to_numpy() <= upper.to_numpy()).all()
        assert (upper.sum(axis=1) >= 1 - 1e-9).all()
        assert (lower.sum(axis=1) <= 1 + 1e-9).all()
        assert proba.shape == upper.shape
    assert (two.xs("upper", axis=1, level=1) >= one.xs("upper", axis=1, level=1) - 1e-9).all(axis=None)
    wide, narrow = (found.xs("undominated", axis=1, level=1).to_numpy(bool) for found in (two, one))
    assert (wide >= narrow).all()
    assert narrow.any(axis=1).all()


def test_without_anything_nominal_the_bounds_are_the_predictive():
    X, y = table()
    clf = BayesianNB(class_prior="uniform").fit(X[["g"]], y)
    found = nb.sets.predict_credal(clf, X[["g"]])
    for name in ("lower", "upper"):
        assert_allclose(found.xs(name, axis=1, level=1), clf.predict_proba(X[["g"]]))
    only = nb.sets.predict_credal(clf, X[["g"]], s=None)
    assert_array_equal(
        only.xs("undominated", axis=1, level=1).to_numpy().argmax(axis=1), clf.predict_proba(X[["g"]]).argmax(axis=1)
    )


def test_missing_cells_are_ignored_unless_any_level_is_allowed():
    X, y = table(n=12, classes="uv")
    X, asked = X[["c", "b"]].astype(object), X[["c", "b"]][:4].astype(object)
    X.loc[2, "c"], X.loc[7, "b"] = None, None
    asked.loc[0, "c"], asked.loc[1, ["c", "b"]] = None, None
    features = {"c": Categorical(), "b": Categorical()}
    whole = BayesianNB(features).fit(X, y)
    ignored = nb.sets.predict_credal(whole, asked)
    assert_allclose(
        ignored.loc[[1]].droplevel("class", axis=1).iloc[0, :2].astype(float), [6 / 13, 7 / 13]
    )  # nothing is seen of this row: p(class) = (6 + t) / 13
    found = nb.sets.predict_credal(whole, asked, missing="any")
    lower, upper, dominated = [], [], []
    for a, b in product("abc", [0, 1]):
        learned = X.copy()
        learned.loc[2, "c"], learned.loc[7, "b"] = a, b
        clf = BayesianNB(features).fit(learned, y)
        for k, (e, f) in enumerate(product("abc", [0, 1])):
            rows, d = asked.copy(), "abc"[k % 3]  # Each row has its own bounds.
            rows.loc[0, "c"], rows.loc[1, "c"], rows.loc[1, "b"] = d, e, f
            p = nb.sets.predict_credal(clf, rows)
            lower.append(p.xs("lower", axis=1, level=1).to_numpy())
            upper.append(p.xs("upper", axis=1, level=1).to_numpy())
            dominated.append(~p.xs("undominated", axis=1, level=1).to_numpy(bool))
    assert_allclose(found.xs("lower", axis=1, level=1), np.min(lower, axis=0), atol=1e-9)
    assert_allclose(found.xs("upper", axis=1, level=1), np.max(upper, axis=0), atol=1e-9)
    # With two classes, the dominating class is always the same one.
    assert_array_equal(~found.xs("undominated", axis=1, level=1).to_numpy(bool), np.all(dominated, axis=0))


Y = Labels.of(np.array([0, 0, 1, 1, 1]), 2)
INTERVALS = {
    "Gamma": (Poisson(), (Gamma(0.5, 0.2), Gamma(4.0, 3.0)), [3.0, 0, 5, 2, 2], [0.0, 2, 9]),
    "Exponential": (Exponential(), (Gamma(0.5, 0.2), Gamma(4.0, 3.0)), [3.0, 0.1, 5, 2, 2], [0.1, 2, 9]),
    "Normal": (GaussianKnownVariance(variance=2.0), (Normal(-2, 0.5), Normal(4, 6)), [3.0, 0.1, 5, 2, 2], [-1.0, 2, 9]),
    "NormalGamma": (
        Gaussian(),
        (NormalGamma(-2, 0.2, 0.5, 0.5), NormalGamma(4, 3, 3, 6)),
        [3.0, 0.1, 5, 2, 2],
        [-1.0, 2, 9],
    ),
    "Beta": (Bernoulli(), (Beta(0.5, 3.0), Beta(2.0, 0.2)), [1.0, 0, 1, 1, 1], [0.0, 1]),
}


@pytest.mark.parametrize(("family", "ends", "learned", "asked"), INTERVALS.values(), ids=INTERVALS)
def test_bounds_under_intervals_are_those_of_a_search_over_a_grid_of_priors(family, ends, learned, asked):
    s = family.statistic(np.array(learned)[:, None], Y)
    x = np.array([*asked, np.nan])[:, None]
    low, high = interval_bounds(family, ends, s, x, (0, 1))
    assert_allclose(np.stack([low, high])[:, -1], 0.0)
    names = {
        Gamma: ("alpha", "beta"),
        Normal: ("m", "v"),
        NormalGamma: ("m", "kappa", "a", "b"),
        Beta: ("alpha", "beta"),
    }
    kind = type(ends[0])
    start, end = (np.array([getattr(prior, name) for name in names[kind]], float) for prior in ends)

    def predictive(values, sign=1):
        again = kind(*values)
        again = GaussianKnownVariance(again, variance=2.0) if kind is Normal else type(family)(again)
        return sign * again.log_predictive(again.update(again.priors(s, (0, 1)), s), x)

    def one(values, i, c, sign):
        return predictive(values, sign)[i, c]

    grid = list(product(*np.linspace(start, end, 3 if kind is NormalGamma else 11).T))
    found = np.array([predictive(values) for values in grid])
    limits = [tuple(sorted(pair)) for pair in zip(start, end, strict=True)]
    for sign, bound in ((1, low), (-1, high)):
        assert (sign * bound <= (sign * found).min(axis=0) + 1e-9).all()
        for i, c in product(range(len(asked)), range(2)):
            first = grid[(sign * found[:, i, c]).argmin()]
            judge = optimize.minimize(one, first, args=(i, c, sign), bounds=limits)
            assert_allclose(sign * bound[i, c], judge.fun, atol=2e-4)


@pytest.mark.slow
def test_intervals_of_levels_have_their_bounds_at_corners():
    X, y = datasets.play_tennis()
    X = X[["outlook"]]
    clf = BayesianNB().fit(X, y)
    ends = Dirichlet({"sunny": 0.5, "overcast": 1, "rain": 2}), Dirichlet({"sunny": 3, "overcast": 2, "rain": 0.1})
    found = nb.sets.predict_credal(
        clf, X, s=None, priors={"outlook": ends, "(class)": (Dirichlet(0.5), Dirichlet([1, 4]))}
    )
    alpha = [[end.alpha[name] for end in ends] for name in ("overcast", "rain", "sunny")]
    proba = []
    # Each class has concentrations of its own.
    for a in product(*alpha, *alpha):
        one, two = (
            Categorical(Dirichlet(dict(zip(("overcast", "rain", "sunny"), part, strict=True))))
            for part in (a[:3], a[3:])
        )
        prior = {"no": one.prior, "yes": two.prior}
        for c in product((0.5, 1.0), (0.5, 4.0)):
            again = BayesianNB({"outlook": Categorical(prior)}, class_prior=Dirichlet(np.array(c))).fit(X, y)
            proba.append(again.predict_proba(X[:4]))
    assert_allclose(found.xs("lower", axis=1, level=1)[:4], np.min(proba, axis=0), rtol=1e-9)
    assert_allclose(found.xs("upper", axis=1, level=1)[:4], np.max(proba, axis=0), rtol=1e-9)


def test_a_level_that_a_class_never_had_gives_it_the_lower_probability_zero():
    X, y = datasets.play_tennis()
    found = nb.sets.predict_credal(BayesianNB().fit(X, y), X[X["outlook"] == "overcast"])
    assert (found["no", "lower"] < 1e-9).all()
    assert found["yes", "undominated"].all()


def test_the_columns_of_the_result_name_class_and_bound():
    X, y = table()
    found = nb.sets.predict_credal(BayesianNB().fit(X, y), X.set_index(X.index + 100)[:0])
    assert found.empty
    assert list(found.columns) == [(c, name) for c in "uvw" for name in ("lower", "upper", "undominated")]
    assert list(nb.sets.predict_credal(BayesianNB().fit(X, y), X.set_index(X.index + 100)[:2]).index) == [100, 101]
