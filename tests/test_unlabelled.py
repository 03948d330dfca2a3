"""EM never lowers its objective; EM and both samplers agree with exact enumeration on small tables."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import mixed, shown
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator, default_rng
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from test_generative import IN_PYTHON

import bayesnb as nb
from bayesnb import (
    BayesianNB,
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    Multinomial,
    Normal,
    NormalGamma,
    Poisson,
    learning,
)
from bayesnb.em import EM, em
from bayesnb.errors import BoundaryError
from bayesnb.families import GaussianKnownVariance
from bayesnb.families.multinomial import Bag
from bayesnb.families.rates import Exposed
from bayesnb.families.trials import Coded
from bayesnb.model import NaiveBayes, Parameters, Posterior, Statistics, normalize
from bayesnb.priors import FixedProbabilities
from bayesnb.priors.belief import parts_of
from bayesnb.sampling import draws, gibbs, layout, nuts, pymc_model
from bayesnb.statistics.statistic import Labels

CLASSES = ("ant", "bee")

# The defaults have a posterior mean for any table; these have a mode for any table.
DEFAULTS = {
    "wings": Bernoulli(),
    "hue": Categorical(),
    "words": Multinomial(),
    "size": Gaussian(),
    "heat": GaussianKnownVariance(variance=2.0),
    "visits": Poisson(exposure="hours"),
}
INFORMED = {
    "wings": Bernoulli(Beta(1.5, 2.0)),
    "hue": Categorical(Dirichlet({"red": 1.5, "green": 1.0, "blue": 2.0})),
    "words": Multinomial(Dirichlet(1.2)),
    "size": Gaussian(NormalGamma(1.0, 0.5, 1.5, 2.0)),
    "heat": GaussianKnownVariance(Normal(1.0, 3.0), variance=2.0),
    "visits": Poisson({"ant": Gamma(2.0, 1.0), "bee": Gamma(3.0, 1.0)}, exposure="hours"),
}
LABEL = {
    "learned": Dirichlet(1.5),
    "known": FixedProbabilities({"ant": 0.3, "bee": 0.7}),
    "frequencies": FixedProbabilities(None),
}


def table(rng: Generator, codes: np.ndarray, missing: float = 0.0) -> dict[str, Any]:
    """Encoded rows of those classes, some cells missing."""
    n = len(codes)

    def hollow(x: np.ndarray) -> np.ndarray:
        return np.where(rng.random(n)[:, None] < missing, np.nan, x)

    hours = rng.uniform(0.5, 2.0, n)
    hue = np.where(rng.random((n, 1)) < missing, -1, (codes[:, None] + (rng.random((n, 1)) < 0.4)) % 3)
    return {
        "wings": hollow((rng.random((n, 2)) < np.array([[0.2, 0.6], [0.7, 0.4]])[codes]).astype(float)),
        "hue": Coded(hue, (("red", "green", "blue"),)),
        "words": Bag(hollow(rng.poisson(np.array([[2, 1, 0.3], [0.5, 1, 2]])[codes])), ("cat", "dog", "emu")),
        "size": hollow(rng.normal(2.0 * codes[:, None] + [0.0, 50.0], 1.0)),
        "heat": hollow(rng.normal(1.5 * codes[:, None], np.sqrt(2.0))),
        "visits": Exposed(hollow(rng.poisson(hours * (1.0 + 2.0 * codes))[:, None]), hours),
    }


def part(data: dict[str, Any], rows: Any) -> dict[str, Any]:
    return {name: x[rows] for name, x in data.items()}


class Case:
    """A table of which the first rows are labelled."""

    def __init__(self, seed: int, n: int, known: int, features: Any, label: Any, missing: float = 0.2) -> None:
        rng = default_rng(seed)
        self.codes = np.append([0, 1], rng.integers(0, 2, n - 2)) if n > 1 else np.zeros(n, int)
        self.model = NaiveBayes(features, label)
        data = table(rng, self.codes, missing)
        self.seen, self.free = part(data, slice(0, known)), part(data, slice(known, n))
        self.y, self.n_free = self.codes[:known], n - known
        self.labelled = self.statistics(self.seen, Labels.of(self.y, 2))

    def statistics(self, data: dict[str, Any], members: Any) -> Statistics:
        return self.model.statistics(data, members, CLASSES)

    def em(self, weight: float = 1.0, row_weight: Any = 1.0, **options: Any) -> EM:
        weights = weight * row_weight * np.ones(self.n_free)
        return em(self.model, self.labelled, self.free, self.n_free, row_weight=weights, **options)

    def log_joint(self, priors: Posterior, theta: Parameters, weight: Any = 1.0) -> float:
        """log p(θ) + log p(labelled rows | θ) + λ Σ log Σ_c p(x, c | θ), factor by factor."""
        total = float(np.sum(priors.label_prior.log_prob_of_each({"log_theta": theta.log_pi})))
        for name, family in self.model.features.items():
            total += float(priors.prior[name].log_prob(*family.variables(theta.features[name]).values()).sum())
        joint = theta.log_joint(self.seen, len(self.y))
        total += float(joint[np.arange(len(self.y)), self.y].sum())
        return total + float((weight * logsumexp(theta.log_joint(self.free, self.n_free), axis=1)).sum())


def assert_climbs(found: EM) -> None:
    assert np.isfinite(found.objective).all()
    slack = 1e-11 * (1 + np.abs(found.objective).max())
    assert (np.diff(found.objective) >= -slack).all(), np.diff(found.objective).min()
    assert_allclose(found.responsibilities.sum(axis=1), 1.0)


def assert_same(a: Statistics, b: Statistics, rtol: float = 1e-12) -> None:
    assert a.labels == b.labels
    assert_allclose(a.rows, b.rows, rtol=rtol)
    for name, s in a.features.items():
        other = b.features[name].arrays()
        for field, value in s.arrays().items():
            if field not in ("low", "parts"):
                assert_allclose(value, other[field], rtol=rtol, atol=1e-9, err_msg=f"{name}.{field}")


# --- The fast road ---


@settings(max_examples=10)
@given(
    seed=st.integers(0, 10**6),
    known=st.integers(2, 8),
    free=st.integers(0, 10),
    missing=st.sampled_from([0.0, 0.3, 0.9]),
    weight=st.sampled_from([0.0, 1e-3, 0.5, 1.0, 7.5]),
    at=st.sampled_from(["mode", "mean"]),
    label=st.sampled_from(sorted(LABEL)),
    subset=st.sets(st.sampled_from(sorted(DEFAULTS)), min_size=1),
    starts=st.sampled_from([1, 2]),
)
def test_the_objective_never_falls(seed, known, free, missing, weight, at, label, subset, starts):
    features = {name: (INFORMED if at == "mode" else DEFAULTS)[name] for name in sorted(subset)}
    case = Case(seed, known + free, known, features, LABEL[label], missing)
    rows = default_rng(seed).choice([0.5, 1.0, 3.0], free)
    found = case.em(weight=weight, row_weight=rows, at=at, starts=starts, rng=seed, max_iterations=12)
    assert_climbs(found)
    assert found.objective[-1] == found.reached.max()
    if starts > 1:
        assert found.reached[0] == case.em(weight=weight, row_weight=rows, at=at, max_iterations=12).objective[-1]
    assert_allclose(found.statistics.rows.sum(), known + weight * rows.sum())


def test_an_unlabelled_row_of_almost_no_weight_leaves_the_objective_finite():
    # The mode of its level is 1e-13 or so, and not 0.
    case = Case(0, 3, 2, {"hue": INFORMED["hue"]}, LABEL["frequencies"], 0.0)
    found = case.em(weight=1e-3, row_weight=default_rng(0).choice([0.5, 1.0, 3.0], 1), at="mode", max_iterations=40)
    assert_climbs(found)


@pytest.mark.parametrize("at", ["mode", "mean"])
def test_the_objective_is_the_log_posterior_and_em_ends_at_a_maximum(at):
    case = Case(0, 40, 6, INFORMED, LABEL["learned"])
    rows = 0.7 * default_rng(0).choice([0.5, 1.0, 3.0], case.n_free)
    found = case.em(weight=0.7, row_weight=rows / 0.7, at=at, tolerance=1e-14, max_iterations=5000)
    assert found.converged

    def point(posterior: Posterior) -> Parameters:
        return posterior.point(at)

    def objective(theta: Parameters) -> float:
        # The mean is the mode on another scale: log θ, log(1-θ) for probabilities, log λ for rates, ½ log τ.
        points, jacobian = theta.features, 0.0
        if at == "mean":
            jacobian = theta.log_pi.sum() + sum(points[n]["log_theta"].sum() for n in ("wings", "hue", "words"))
            jacobian += points["visits"]["log_rate"].sum() + 0.5 * np.log(points["size"]["tau"]).sum()
        return case.log_joint(found.posterior, theta, rows) + float(jacobian)

    assert_allclose(found.objective[-1], objective(point(found.posterior)), rtol=1e-10)
    # Nearby points: those of posteriors that saw the same rows with slightly other weights.
    rng = default_rng(0)
    for _ in range(20):
        moved = found.responsibilities * rng.uniform(0.9, 1.1, found.responsibilities.shape)
        other = case.model.expected_statistics(case.free, moved * rows[:, None], CLASSES)
        near = point(found.posterior.given(case.labelled * rng.uniform(0.9, 1.1) + other))
        assert objective(near) < found.objective[-1]


def test_a_row_of_weight_0_may_be_impossible():
    model = NaiveBayes({"hue": Categorical()})
    rows = Coded(np.array([[0], [1]]), (("red", "green", "blue"),))
    labelled = model.statistics({"hue": rows}, Labels.of([0, 1]), CLASSES)
    found = em(model, labelled, {"hue": Coded(np.array([[2]]), rows.levels)}, 1, row_weight=[0.0], at="mode")
    assert_allclose(found.responsibilities, [[0.5, 0.5]])


def test_with_classes_far_apart_em_equals_a_fit_with_the_true_labels():
    rng = default_rng(0)
    codes = np.append([0, 1, 0, 1], rng.integers(0, 2, 100))
    data = {"size": rng.normal(100.0 * codes[:, None], 1.0)}
    model = NaiveBayes({"size": Gaussian()})
    labelled = model.statistics(part(data, slice(0, 4)), Labels.of(codes[:4]), CLASSES)
    found = em(model, labelled, part(data, slice(4, None)), 100)
    assert_same(found.statistics, model.statistics(data, Labels.of(codes), CLASSES), rtol=1e-9)


def test_a_prior_scaled_to_the_data_is_scaled_to_all_rows():
    case = Case(4, 30, 6, DEFAULTS, LABEL["learned"])
    found = case.em(weight=0.5, at="mean")
    size = np.concatenate([case.seen["size"], case.free["size"]])
    weight = np.repeat([1.0, 0.5], [6, 24])[:, None] * ~np.isnan(size)
    assert_allclose(found.posterior.prior["size"].m[0], np.nansum(weight * size, axis=0) / weight.sum(axis=0))
    again = case.model.posterior(found.statistics)
    assert_allclose(again.prior["size"].b, found.posterior.prior["size"].b, rtol=1e-9)


def test_em_for_two_coins_gives_the_numbers_computed_by_hand():
    # One labelled row each, x = 0 and x = 1; one unlabelled row x = 1; uniform classes, Beta(1, 1), posterior means:
    # p0 = (1 + r)/(3 + r), p1 = 2/3 ... the fixed point of r = p0/(p0 + p1) with soft counts.
    model = NaiveBayes({"wings": Bernoulli()}, FixedProbabilities("uniform"))
    labelled = model.statistics({"wings": np.array([[0.0], [1.0]])}, Labels.of([0, 1]), CLASSES)
    found = em(model, labelled, {"wings": np.array([[1.0]])}, 1, at="mean", tolerance=1e-16)
    r = found.responsibilities[0, 0]
    p0, p1 = (1 + r) / (3 + r), (2 + (1 - r)) / (3 + (1 - r))
    assert_allclose(r, p0 / (p0 + p1), rtol=1e-6)


# --- Exact enumeration ---


@cache
def small(n_free: int = 5) -> Case:
    return Case(11, 6 + n_free, 6, INFORMED, LABEL["learned"], missing=0.1)


def enumerated(case: Case) -> tuple[np.ndarray, float]:
    """Exact label probabilities (row, class) and log marginal: summed over all possible labels."""
    priors = case.model.posterior(case.labelled)
    labellings = np.array(list(product(range(2), repeat=case.n_free)))
    evidence = np.array(
        [
            priors.given(case.labelled + case.statistics(case.free, Labels.of(codes, 2))).log_evidence().joint
            for codes in labellings
        ]
    )
    share = np.exp(evidence - logsumexp(evidence))
    return np.stack([(share[:, None] * (labellings == c)).sum(axis=0) for c in range(2)], axis=1), logsumexp(evidence)


def test_the_class_of_a_single_unlabelled_row_has_the_predictive_in_closed_form():
    case = small(1)
    proba, log_marginal = enumerated(case)
    alone = case.model.posterior(case.labelled)
    predictive = alone.log_predictive(case.free, 1)
    assert_allclose(np.exp(normalize(predictive)), proba, rtol=1e-10)
    assert_allclose(alone.log_evidence().joint + logsumexp(predictive), log_marginal, rtol=1e-12)


# --- The sampler's road ---


def values_of(model: Any, theta: Parameters, posterior: Posterior) -> dict[str, np.ndarray]:
    found = layout.variables(theta, layout.blocks(posterior))
    return {variable.name: found[variable.name] for variable in model.free_RVs}


@pytest.mark.parametrize(
    ("features", "label"), [(DEFAULTS, "learned"), (INFORMED, "known")], ids=["defaults", "informed"]
)
def test_the_summed_out_model_in_pymc_is_the_same_density(features, label):
    from pymc.model.transform.conditioning import remove_value_transforms

    case = Case(13, 16, 6, features, LABEL[label])
    rows = default_rng(0).choice([0.5, 1.0, 3.0], case.n_free)
    posterior = case.em(weight=0.7, row_weight=rows, at="mean").posterior
    model = pymc_model.summed_out(posterior, case.labelled, case.free, 0.7 * rows)
    assert shown(model)
    assert "unlabelled" in model.named_vars
    plain = remove_value_transforms(model)
    density = plain.compile_logp(jacobian=False, mode=IN_PYTHON)
    for seed in range(2):
        theta = posterior.draw(default_rng(seed))
        at = float(density(values_of(plain, theta, posterior)))
        assert_allclose(at, case.log_joint(posterior, theta, 0.7 * rows), rtol=1e-9)


@pytest.mark.nuts
def test_nuts_with_the_label_summed_out_agrees_with_enumeration():
    from arviz_stats.base import array_stats

    features = {name: INFORMED[name] for name in ("hue", "size")}
    case = Case(11, 10, 5, features, LABEL["learned"], missing=0.1)
    proba, _ = enumerated(case)
    posterior = case.em().posterior
    model = pymc_model.summed_out(posterior, case.labelled, case.free, np.ones(case.n_free), apart=False)
    theta, _ = nuts.sample(posterior, 500, 2, 3, model, nuts_sampler="pymc", tune=300)
    r = np.exp(normalize(theta.log_joint(case.free, case.n_free)))[..., 0]
    for row in range(case.n_free):
        error = float(array_stats.mcse(r[..., row], chain_axis=0, draw_axis=1, method="mean"))
        assert abs(r[..., row].mean() - proba[row, 0]) < 4.5 * error, row


# --- Gibbs: labels drawn ---


def by_gibbs(case: Case, *, draws: int = 400, chains: int = 24, tune: int = 40, seed: int = 0) -> gibbs.Drawn:
    alone = case.model.posterior(case.labelled)
    return gibbs.sample(alone, case.free, case.n_free, draws, chains, default_rng(seed), tune)


def assert_mean_over_chains(draws: np.ndarray, expected: np.ndarray, sigmas: float = 4.5) -> None:
    """The mean of independent chains, (chain, ...), is the expected value within Monte Carlo error."""
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    z = (draws.mean(axis=0) - expected) / np.where(error > 0, error, 1.0)
    assert np.abs(z).max() < sigmas, z


@pytest.mark.parametrize("names", [("hue", "size"), pytest.param(("wings", "words", "visits"), marks=pytest.mark.slow)])
def test_gibbs_draws_of_labels_and_parameters_equal_enumeration_over_all_256_labellings(names):
    case = Case(11, 14, 6, {name: INFORMED[name] for name in names}, LABEL["learned"], missing=0.1)
    labellings = list(product(range(2), repeat=8))
    priors = case.model.posterior(case.labelled)
    given = [priors.given(case.labelled + case.statistics(case.free, Labels.of(codes, 2))) for codes in labellings]
    log_p = np.array([posterior.log_evidence().joint for posterior in given])
    share = np.exp(log_p - logsumexp(log_p))
    proba = share @ np.array(labellings)
    drawn = by_gibbs(case, draws=80)
    assert_mean_over_chains(drawn.proba[..., 1], proba)
    assert_mean_over_chains(drawn.labels.mean(axis=1), proba)

    def averaged(value: Any) -> np.ndarray:
        return np.tensordot(share, np.stack([value(posterior) for posterior in given]), 1)

    pi = np.exp(drawn.parameters.log_pi)
    assert_mean_over_chains(pi.mean(axis=1), averaged(lambda p: p.label.mean()))
    squares = averaged(lambda p: p.label.variance() + p.label.mean() ** 2)
    assert_mean_over_chains((pi**2).mean(axis=1), squares)
    for name, family in case.model.features.items():
        values = family.variables(drawn.parameters.features[name])
        for k, value in enumerate(values.values()):
            assert_mean_over_chains(
                value.mean(axis=1), averaged(lambda p, name=name, k=k: parts_of(p.features[name].mean())[k])
            )


def test_gibbs_holds_class_probabilities_that_are_known():
    case = Case(11, 10, 6, {"hue": INFORMED["hue"]}, LABEL["known"], missing=0.1)
    drawn = by_gibbs(case, draws=200)
    assert_mean_over_chains(drawn.proba, enumerated(case)[0])
    assert_allclose(np.exp(drawn.parameters.log_pi), np.broadcast_to([0.3, 0.7], (24, 200, 2)))


def test_gibbs_gives_the_tree_of_the_other_samplers_and_the_labels():
    import arviz as az

    X, y, target = simulated(24)
    X = X[["x0", "hue"]]
    target[[4, *range(9, 20)]] = y[[4, *range(9, 20)]]
    clf = BayesianNB({"x0": INFORMED["size"]}, random_state=0).fit(X, target)
    tree = clf.sample_posterior(300, sampler="gibbs", X=X, y=target, tune=50)
    exact = clf.sample_posterior(300)
    assert tree["posterior"].dataset.sizes == exact["posterior"].dataset.sizes
    for name, values in exact["posterior"].items():
        assert tree["posterior"][name].dims == values.dims
        for axis in values.dims:
            assert_array_equal(tree["posterior"][name][axis], values[axis])
    assert (az.summary(tree)["r_hat"].astype(float) < 1.05).all()
    labels = tree["unlabelled"]
    assert labels["row"].to_numpy().tolist() == [5, 6, 7, 8, 20, 21, 22, 23]
    assert labels["class_label"].to_numpy().tolist() == ["no", "yes"]
    assert labels["y"].dims == ("chain", "draw", "row")
    assert_allclose(labels["p"].sum("class_label"), 1.0)
    assert_allclose(labels["y"].mean(("chain", "draw")), labels["p"].sel(class_label="yes").mean("chain"), atol=0.1)
    drawn = draws.parameters(tree, clf.posterior_)
    joint = drawn.log_joint(clf.classifier_.read(X.iloc[labels["row"].to_numpy()])[0], 8)
    assert_allclose(tree["sample_stats"]["log_likelihood_unlabelled"], logsumexp(joint, axis=-1).sum(axis=-1))


def test_gibbs_gives_the_same_draws_for_the_same_seed():
    case = small()
    a, b = (by_gibbs(case, draws=5, chains=2, seed=5) for _ in range(2))
    assert_array_equal(a.parameters.log_pi, b.parameters.log_pi)
    assert_array_equal(a.labels, b.labels)


@pytest.mark.nuts
def test_gibbs_and_nuts_have_one_posterior():
    from arviz_stats.base import array_stats

    clf, X, y = half_labelled()
    a = clf.sample_posterior(2000, 4, sampler="gibbs", X=X, y=y)["posterior"]
    b = clf.sample_posterior(1000, 2, sampler="nuts", X=X, y=y, random_seed=3)["posterior"]
    for name in a.data_vars:
        for power in (1, 2):
            one, two = (np.moveaxis(tree[name].to_numpy() ** power, (0, 1), (-2, -1)) for tree in (a, b))
            errors = [array_stats.mcse(v, chain_axis=-2, draw_axis=-1, method="mean") for v in (one, two)]
            z = (one.mean((-2, -1)) - two.mean((-2, -1))) / np.hypot(*errors)
            assert np.abs(z).max() < 4.5, (name, power, z)


# --- The estimator ---


def simulated(n: int = 400, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Rows, their labels, and the labels with all but the first four missing."""
    columns = dict.fromkeys(["x0", "x1", "x2", "x3"], "real") | {"hue": "levels"}
    X, y = mixed(n, ["no", "yes"], columns, seed, missing=0.0)
    return X, y, np.where(np.arange(n) < 4, y.astype(object), None)


def test_unlabelled_rows_help_where_the_model_is_right():
    X, y, target = simulated(seed=1)
    new, truth, _ = simulated(2000, seed=2)
    few = BayesianNB().fit(X[:4], y[:4])
    helped = BayesianNB().fit(X, target)
    whole = BayesianNB().fit(X, y)
    losses = [log_loss(truth, clf.predict_proba(new)) for clf in (few, helped, whole)]
    assert losses[1] < 0.7 * losses[0]
    assert losses[1] < 1.1 * losses[2]
    assert helped.classifier_.em.converged
    assert_climbs(helped.classifier_.em)


def test_the_statistics_are_labelled_plus_weighted_expected_rows():
    X, y, target = simulated(60)
    clf = BayesianNB(unlabelled=nb.Unlabelled(weight=0.25)).fit(X, target)
    expected = np.array([2.0, 2.0]) + 0.25 * clf.classifier_.em.responsibilities.sum(axis=0)
    assert_allclose(clf.class_count_, expected)
    assert clf.classifier_.statistics is clf.classifier_.em.statistics
    assert len(clf.classifier_.em.responsibilities) == 56
    assert set(nb.draws.sample(clf, 5)["y"]) <= {"no", "yes"}
    # More labelled rows can be added; a fit on labelled rows alone knows no expected ones.
    assert_allclose(clf.partial_fit(X, y).class_count_.sum(), 4 + 0.25 * 56 + 60)
    assert_array_equal(clf.fit(X, y).predict_proba(X), clone(clf).fit(X, y).predict_proba(X))
    assert clf.classifier_.em is None
    assert np.isfinite(clf.log_evidence_.joint)


@pytest.mark.parametrize("estimate", ["mean", "mle"])
def test_em_plugs_in_what_the_estimator_plugs_in(estimate):
    X, _, target = simulated(60)
    clf = BayesianNB(estimate=estimate).fit(X, target)
    assert_allclose(clf.predict_proba(X)[4:], clf.classifier_.em.responsibilities, atol=1e-4)


def test_a_prior_without_a_mode_has_a_mean():
    X, _, target = simulated(30)
    features = {"hue": Categorical(Dirichlet.jeffreys())}
    assert BayesianNB(features).fit(X, target).classifier_.em.converged
    few = X.assign(hue="red")
    few.loc[0, "hue"] = "blue"
    with pytest.raises(BoundaryError, match=r"feature 'hue', class 'yes', level 'blue'.*estimate=\"mean\""):
        BayesianNB(features, estimate="map").fit(few, target)


def test_rows_of_weight_0_are_ignored_and_a_row_of_weight_2_equals_the_row_twice():
    X, y, target = simulated(30)
    alone = BayesianNB().fit(X[:4], y[:4])
    for clf in (
        BayesianNB(unlabelled=nb.Unlabelled(weight=0)).fit(X, target),
        BayesianNB().fit(X, target, np.repeat([1.0, 0.0], [4, 26])),
    ):
        assert_array_equal(clf.predict_proba(X), alone.predict_proba(X))
        assert clf.classifier_.em is None
    weight = np.r_[1, 1, 1, 1, default_rng(0).integers(0, 3, 26)]
    rows = np.repeat(np.arange(30), weight)
    twice = BayesianNB().fit(X.iloc[rows], target[rows])
    assert_allclose(BayesianNB().fit(X, target, weight).predict_proba(X), twice.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize(
    ("y", "options", "classes"),
    [
        (["a", "b", None, "b"], {}, ["a", "b"]),
        (["a", "b", np.nan, "b"], {}, ["a", "b"]),
        ([0, 1, None, 1], {}, [0, 1]),
        (np.array([0.0, 1.0, np.nan, 1.0]), {}, [0, 1]),
        (pd.Series([0, 1, pd.NA, 1], dtype="Int64"), {}, [0, 1]),
        (pd.Series(["a", "b", pd.NA, "b"], dtype="string"), {}, ["a", "b"]),
        (pd.Series(pd.Categorical(["a", "b", None, "b"])), {}, ["a", "b"]),
        (pl.Series(["a", "b", None, "b"]), {}, ["a", "b"]),
        ([0, 1, -1, 1], {"unlabelled": -1}, [0, 1]),
        (["a", "b", "?", None], {"unlabelled": "?"}, ["a", "b"]),
        ([0, 1, -1, None], {}, [-1, 0, 1]),
    ],
)
def test_every_marker_of_a_missing_label_means_unlabelled(y, options, classes):
    clf = BayesianNB(**options).fit(X4, y)
    assert clf.classes_.tolist() == classes
    assert len(clf.classifier_.em.responsibilities) == 4 - sum(
        label in classes for label in list(y) if not pd.isna(label)
    )
    assert set(clf.predict(X4)) <= set(classes)


def test_a_class_without_a_row_exists_if_a_prior_names_it():
    X, _, target = simulated(200)
    X.loc[100:, ["x0", "x1", "x2", "x3"]] += 40.0
    clf = BayesianNB(class_prior={"no": 0.25, "yes": 0.25, "new": 0.5}).fit(X, target)
    assert clf.classes_.tolist() == ["new", "no", "yes"]
    assert set(clf.predict(X[100:])) == {"new"}
    assert "new" not in set(clf.predict(X[:100]))
    prior = {"no": NormalGamma(), "yes": NormalGamma(), "new": NormalGamma(40.0)}
    priors = {f"x{k}": Gaussian(prior) for k in range(4)}
    assert_array_equal(BayesianNB(priors).fit(X, target).predict(X), clf.predict(X))


def test_no_row_needs_a_label_if_priors_differ_between_the_classes():
    X, y, _ = simulated(300)
    priors = {"x0": Gaussian({"no": NormalGamma(0.0, 5.0, 5.0, 5.0), "yes": NormalGamma(1.2, 5.0, 5.0, 5.0)})}
    clf = BayesianNB(priors).fit(X, [None] * 300)
    assert clf.classes_.tolist() == ["no", "yes"]
    assert (clf.predict(X) == y).mean() > 0.85


# --- What it refuses ---

X4 = pd.DataFrame({"size": [1.0, 2.0, 3.0, 5.0], "hue": list("uvuv")})


def test_fit_warns_if_em_did_not_converge(monkeypatch):
    X, _, target = simulated(60)
    monkeypatch.setattr(learning.em, "em", lambda *a, **k: em(*a, **k, max_iterations=2))
    with pytest.warns(ConvergenceWarning, match="DID NOT CONVERGE after 2"):
        clf = BayesianNB().fit(X, target)
    assert not clf.classifier_.em.converged


# What a fit with unlabelled rows may claim


def half_labelled() -> tuple[BayesianNB, np.ndarray, np.ndarray]:
    rng = default_rng(4)
    X = rng.normal(rng.integers(0, 2, 14) * 1.5, 1)[:, None]
    y = np.array(list("aaabbb") + [None] * 8, object)
    return BayesianNB(Gaussian(NormalGamma(0.5, 1.0, 2.0, 2.0)), random_state=0).fit(X, y), X, y


@pytest.mark.nuts
def test_verify_with_the_learned_rows_sums_the_labels_out_and_disagrees_with_expected_counts():
    clf, X, y = half_labelled()
    assert not clf.verify([[-1.0], [0.5], [2.0]], random_seed=3, learned=(X, y)).agrees


def test_answers_about_the_parameters_say_that_labels_were_taken_as_expected_counts():
    clf, X, y = half_labelled()
    for frame in (clf.predict_interval(X), clf.uncertainty(X)):
        assert "expected counts" in frame.attrs["note"]
        assert 'sample_posterior(sampler="gibbs", X=X, y=y)' in frame.attrs["note"]
    counted = BayesianNB(random_state=0).fit(X[:6], y[:6])
    assert "note" not in counted.predict_interval(X).attrs


@pytest.mark.parametrize(
    "ask",
    [
        lambda clf, X, y: clf.score(X, y),
        lambda clf, X, y: nb.evaluate(clf, X, y, cv=None),
        lambda clf, X, y: nb.scorecard(clf, X, y, cv=None),
        lambda clf, X, y: nb.checks.column_gains(clf, X, y),
        lambda clf, X, y: nb.report.report(clf, X, y),
    ],
    ids=["score", "evaluate", "scorecard", "column_gains", "report"],
)
def test_no_score_counts_a_row_with_the_marker_of_unlabelled_rows_as_wrong(ask):
    y = np.array(["a", "b"] * 20, object)
    X = default_rng(0).normal(size=(40, 2)) + (y == "a")[:, None]
    y[:5] = "?"
    clf = BayesianNB(unlabelled="?").fit(X, y)
    with pytest.raises(ValueError, match="y is missing in 5 of 40 rows, first in row 0"):
        ask(clf, X, y)
