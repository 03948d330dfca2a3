"""The check of the closed form by draws accepts right formulas and finds a single wrong constant.

A check that cannot fail proves nothing, so most tests here plant mistakes. Each mutant changes one constant of one
closed form while the draws stay those of the true model, and the check must find it at its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from conftest import mixed
from numpy.random import default_rng
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import gammaln
from xarray import DataTree

from bayesnb import BayesianNB, Binned, Missing, datasets, families
from bayesnb.chains import Convergence
from bayesnb.families.compound import Hurdle, Mixture
from bayesnb.families.gaussian import Gaussian, GaussianKnownVariance, LogNormal
from bayesnb.families.multinomial import Multinomial
from bayesnb.families.multivariate_gaussian import MultivariateGaussian
from bayesnb.families.rates import Exponential, GammaKnownShape, Poisson
from bayesnb.families.trees import Ordinal, PolyaTree
from bayesnb.families.trials import Bernoulli, Categorical, NegativeBinomial
from bayesnb.model import Parameters, Posterior, normalize
from bayesnb.priors import Beta, BetaTree, Dirichlet, Gamma, ImproperError, Normal, NormalGamma, NormalWishart
from bayesnb.sampling import agreement, draws, layout, nuts, trees
from bayesnb.statistics.moments import Moments

mpl.use("Agg")

EXACT_OR_NUTS = ["exact", pytest.param("nuts", marks=pytest.mark.nuts)]

FAMILIES = {
    "smoker": Bernoulli(Beta(5.0, 1.0)),
    "colour": Categorical(Dirichlet({"a": 1.0, "b": 2.5, "c": 5.0})),
    "words": (Multinomial(Dirichlet([1.0, 2.0, 4.0])), ["cat", "dog", "emu"]),
    # Far from the data (about 2) and not negligible, so that m, κ and the shrinkage of b all show.
    "length": Gaussian(NormalGamma(m=-4.0, kappa=0.5, a=4.0, b=12.0)),
    "weight": GaussianKnownVariance(Normal(m=60.0, v=20.0), variance=30.0),
    "calls": Poisson(Gamma(4.0, 1.5), exposure="hours"),
}
GUILTY = {name: (name,) for name in FAMILIES} | {"pi": ("pi[",)}


def every_family(missing: float = 0.1) -> tuple[pd.DataFrame, np.ndarray]:
    """A table with a column for each of ``FAMILIES``, few rows and some holes; three of four rows are bees."""
    columns = {
        "smoker": "bit", "colour": "levels", "length": "real", "weight": "real", "calls": "events", "hours": "hours",
        "cat": "count", "dog": "word", "emu": "word",
    }  # fmt: skip
    X, y = mixed(16, ["ant", "bee", "bee", "bee"], columns, missing=missing)
    return X.assign(weight=70.0 + 5.0 * X["weight"]), y


# Both the middle and the tails: a density of the wrong width or the wrong tail differs most in one of the two.
ASKED = pd.DataFrame(
    {
        "smoker": [1.0, 0.0, np.nan, 1.0, 0.0, 1.0],
        "colour": ["a", "b", "c", None, "c", "a"],
        "length": [2.2, 6.5, -2.0, 3.0, np.nan, 1.0],
        "weight": [72.0, 88.0, 55.0, np.nan, 70.0, 74.0],
        "calls": [2.0, 9.0, 0.0, 4.0, 3.0, np.nan],
        "hours": [1.0, 3.0, 2.0, 0.5, 1.0, 1.0],
        "cat": [1.0, 4.0, 0.0, 2.0, 3.0, 0.0],
        "dog": [0.0, 2.0, 1.0, 1.0, 0.0, 3.0],
        "emu": [1.0, 0.0, 4.0, 2.0, 0.0, 0.0],
    }
)


def fitted() -> BayesianNB:
    X, y = every_family()
    return BayesianNB(FAMILIES, class_prior=Dirichlet({"ant": 1.5, "bee": 6.0})).fit(X, y)


@contextmanager
def convergence_known(convergence: agreement.Convergence) -> Iterator[None]:
    """Draws that are checked many times have one convergence, which takes half of the time of a check."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agreement.Convergence, "of", lambda *_: convergence)
        yield


@dataclass(frozen=True)
class Case:
    """A fitted estimator, draws of its true posterior, and rows to ask about."""

    clf: BayesianNB
    tree: Any
    convergence: agreement.Convergence
    data: Any
    n: int

    def check(self, posterior: Posterior | None = None) -> agreement.Agreement:
        with convergence_known(self.convergence):
            return agreement.check(
                self.clf.posterior_ if posterior is None else posterior, self.tree, self.data, self.n
            )


def drawn_by(sampler: str) -> Case:
    """Every family in one model; mistakes are planted where it is drawn exactly, twice as often as usual: κ + 1 for κ
    moves the variance of μ by a fifth."""
    clf = fitted()
    tree = clf.sample_posterior(2000 if sampler == "exact" else 1000, 4, sampler, random_seed=11)
    return Case(clf, tree, agreement.Convergence.of(tree), *clf.classifier_.read(ASKED))


@pytest.fixture(scope="module")
def drawn() -> Case:
    return drawn_by("exact")


ANTS = every_family()[1]


# Agreement


def models() -> dict[str, tuple[BayesianNB, pd.DataFrame]]:
    made = {}
    for name in ("play-tennis", "heights", "penguins", "buys-computer"):
        X, y = datasets.load(name)
        # Penguins: every 31st row, and some with holes.
        asked = pd.concat([X.iloc[::31], X[X.isna().any(axis=1)].iloc[:4]]) if name == "penguins" else X.iloc[:8]
        made[name] = BayesianNB().fit(X, y), asked
    made["every family"] = fitted(), ASKED
    return made


@pytest.mark.parametrize("sampler", EXACT_OR_NUTS)
def test_draws_of_every_family_in_one_model_agree_with_the_closed_form(sampler):
    found = drawn_by(sampler).check()
    assert found.agrees, str(found)
    assert found.convergence.converged
    assert found.table["z"].abs().max() < 4.5


@pytest.mark.parametrize(
    "name",
    ["play-tennis", "heights", pytest.param("penguins", marks=pytest.mark.slow), "buys-computer", "every family"],
)
def test_exact_draws_agree_with_the_closed_form(name):
    clf, asked = models()[name]
    found = clf.verify(asked, sampler="exact", random_seed=7)
    assert found.agrees, str(found)
    # Nearly everything can be judged: a check that skipped it all would agree as well.
    assert found.skipped < 0.2 * len(found.table)


def later_families(*names: str) -> tuple[BayesianNB, pd.DataFrame]:
    """The families that ``every_family`` does not have, in one model, or these features of it; and rows to ask."""
    columns = {
        "grade": "levels", "amount": "zeros", "length": "real", "wait": "wait", "size": "positive", "dose": "wait",
        "visits": "count", "calls": "count", "height": "real", "width": "spread", "depth": "bounded", "gap": "real",
    }  # fmt: skip
    X, y = mixed(24, ["ant", "bee"], columns, missing=0.0)
    X.loc[::5, "gap"] = np.nan
    # Priors that say about as much as the rows do let a chain go from one choice of a mixture to the other.
    features = {
        "grade": Ordinal(BetaTree(near=20.0), order=["a", "b", "c"]),
        "amount": Hurdle(LogNormal(NormalGamma(1.0, 1.0, 2.0, 1.0))),
        "length": Mixture([Gaussian(NormalGamma(2.0, 1.0, 2.0, 2.0)), GaussianKnownVariance(Normal(1.0, 4.0), 1.5)]),
        "wait": Exponential(Gamma(3.0, 4.0)),
        "size": LogNormal(NormalGamma(1.0, 1.0, 3.0, 1.0)),
        "dose": GammaKnownShape(Gamma(3.0, 4.0), shape=2.5),
        "visits": NegativeBinomial(Beta(2.0, 3.0), r=2),
        "calls": Hurdle(Mixture([Poisson(Gamma(3.0, 2.0)), NegativeBinomial(Beta(3.0, 3.0))])),
        "block": (MultivariateGaussian(NormalWishart.shared(4.0)), ["height", "width"]),
        "depth": PolyaTree(BetaTree(near=20.0), edges=[0.5, 1.0, 1.5]),
        "gap": Missing(),
    }
    features = {name: features[name] for name in names or features}
    X = X[[column for name in features for column in (["height", "width"] if name == "block" else [name])]]
    return BayesianNB(features).fit(X, y), X.iloc[::4]


@pytest.mark.parametrize(
    ("sampler", "names"),
    [
        pytest.param("exact", (), id="exact"),
        *(
            pytest.param("nuts", names, id=f"nuts, {names[0]}", marks=pytest.mark.nuts)
            for names in (
                ("grade", "amount", "wait"),
                ("length", "size"),
                ("dose", "visits", "calls"),
                ("block", "depth", "gap"),
            )
        ),
    ],
)
def test_draws_of_the_later_families_in_one_model_agree_with_the_closed_form(sampler, names):
    """NUTS gets a few of them at a time: to compile one model of all took longer than all other tests of this file."""
    clf, asked = later_families(*names)
    # The choice of a mixture and the shares of a tree mix slowly.
    chains = 2 if sampler == "nuts" and not {"length", "depth"} & {*names} else 4
    draws = 1000 if sampler == "nuts" else 500
    found = clf.verify(asked, sampler=sampler, draws=draws, chains=chains, random_seed=7)
    assert found.agrees, str(found)
    assert found.skipped < 0.2 * len(found.table)
    # A factor of every feature was compared.
    factors = found.table["quantity"][found.table["kind"] == "factor"]
    assert all(factors.str.contains(name).any() for name in clf.classifier_.schema.features)


@pytest.mark.nuts
def test_nuts_samples_a_class_without_rows_from_its_prior():
    X = pd.DataFrame({"x": [0.5, 1.5, 3.0, 4.0], "n": [0.0, 2.0, 0.0, 5.0]})
    features = {"x": Gaussian(NormalGamma(1.0, 1.0, 3.0, 3.0)), "n": Hurdle(Poisson(Gamma(3.0, 2.0)))}
    clf = BayesianNB(features).partial_fit(X, list("aabb"), classes=list("abc"))
    found = clf.verify(X, draws=1000, chains=2, random_seed=7)
    assert found.agrees, str(found)
    assert found.table["quantity"].str.contains("mu_x[c]", regex=False).any()


def test_verify_without_rows_works_with_binned_columns_and_exposures():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"g": rng.normal(size=40), "n": rng.poisson(3, 40), "h": rng.uniform(0.5, 2.0, 40)})
    X = X.assign(cat=rng.poisson(2, 40), dog=rng.poisson(1, 40))
    features = {"g": Binned(3), "n": Poisson(exposure="h"), "words": (Multinomial(), ["cat", "dog"])}
    # Known probabilities of 1/3 are constants that are no binary fractions.
    clf = BayesianNB(features, class_prior="uniform", random_state=0).fit(X, np.resize(["u", "v", "w"], 40))
    found = clf.verify(sampler="exact")
    assert found.agrees
    assert {"factor", "joint", "class predictive"} <= set(found.table["kind"])
    assert found.plug_ins.index.levshape == (20, 3)
    assert np.isfinite(found.convergence.r_hat)


def test_verify_can_check_draws_given_as_a_tree():
    X, y = datasets.play_tennis()
    clf, doubled = BayesianNB().fit(X, y), BayesianNB().fit(pd.concat([X, X]), pd.concat([y, y]))
    found = clf.verify(tree=clf.sample_posterior(random_seed=5), random_seed=3)
    assert (found.agrees, found.sampler) == (True, "given draws")
    assert not clf.verify(tree=doubled.sample_posterior(random_seed=5), random_seed=3).agrees


def test_every_parameter_factor_and_class_is_compared(drawn):
    found = drawn.check()
    counts = found.table["kind"].value_counts()
    # π; smoker; 3 colours; 3 words; μ and τ; μ; rate: of both classes.
    assert counts["mean"] == counts["variance"] == 2 * (1 + 1 + 3 + 3 + 2 + 1 + 1)
    # Six factors, their joint and the class predictive of each row and class.
    assert counts["factor"] + counts["joint"] + counts["class predictive"] + found.skipped == 2 * drawn.n * (6 + 2)
    assert counts["factor"] > 0.9 * 2 * drawn.n * 6
    assert counts["joint"] >= drawn.n
    assert counts["class predictive"] >= drawn.n


def test_the_table_of_plug_ins_shows_the_estimators_own_predictive(drawn):
    frame = drawn.check().plug_ins
    clf = drawn.clf
    assert_allclose(frame["predictive"].to_numpy().reshape(drawn.n, 2), clf.predict_proba(ASKED), rtol=1e-12)
    for estimate in ("mean", "map"):
        plug_in = np.exp(normalize(clf.posterior_.log_joint(drawn.data, drawn.n, estimate)))
        assert_allclose(frame[estimate].to_numpy().reshape(drawn.n, 2), plug_in, rtol=1e-12)
        assert_allclose(frame[f"{estimate} - sampled"], frame[estimate] - frame["sampled"], atol=1e-15)
        # Their difference is real: many times the error of the sampled predictive.
        assert frame[f"{estimate} - sampled"].abs().max() > 0.01


def test_an_agreement_shows_the_rows_where_a_plug_in_predicts_another_class():
    # One row a class: the mode of τ is far from what full Bayes averages over.
    X = pd.DataFrame({"x": [0.0, 0.1, -0.1, 3.0]})
    clf = BayesianNB(Gaussian(NormalGamma(0.0, 1.0, 1.0, 1.0))).fit(X, ["a", "a", "a", "b"])
    asked = pd.DataFrame({"x": np.linspace(-8, 8, 33)})
    frame = clf.verify(asked, sampler="exact", random_seed=1).plug_ins
    differs = frame["map predicts another class"].xs("a", level="class").to_numpy()
    label = [clf.classes_[np.argmax(clf.posterior_.log_joint({"x": asked.to_numpy()}, 33, e), axis=1)] for e in
             ("map", "predictive")]  # fmt: skip
    assert_allclose(differs, label[0] != label[1])
    assert 0 < differs.sum() < 33


def test_a_plug_in_that_does_not_exist_predicts_no_class():
    X = pd.DataFrame({"size": pd.Categorical(["s", "m", "l", "m"] * 5, ["s", "m", "l"], ordered=True)})
    clf = BayesianNB(families.Ordinal()).fit(X, [0, 1, 1, 0] * 5)
    frame = clf.verify(X.head(4), sampler="exact", draws=250).plug_ins
    assert frame["map"].isna().all()
    assert frame["map predicts another class"].isna().all()


# The mutants, one mistake each: in what is believed of a feature, as a function of its prior, of what is believed
# rightly and of its statistic, or in what a family predicts.


def shrunk(p: NormalGamma, s: Moments) -> np.ndarray:
    return p.kappa * s.n * (s.mean - p.m) ** 2 / (p.kappa + s.n)


BELIEVED: dict[str, tuple[str, Callable[..., Any]]] = {
    "N-1 for N in the shape": ("length", lambda p, right, s: replace(right, a=p.a + (s.n - 1) / 2)),
    "a lost half in b": ("length", lambda p, right, s: replace(right, b=p.b + s.scatter + shrunk(p, s) / 2)),
    # Only visible because the prior mean stands six standard deviations from the data.
    "shrinkage left out of b": ("length", lambda p, right, s: replace(right, b=p.b + s.scatter / 2)),
    "prior mean ignored": ("length", lambda p, right, s: replace(right, m=s.mean)),
    "prior worth one row more": ("length", lambda p, right, s: replace(right, kappa=right.kappa + 1)),
    "prior precision forgotten": ("weight", lambda p, right, s: replace(right, v=30.0 / s.n)),
    "rows for exposure": ("calls", lambda p, right, s: Gamma(p.alpha + s.events, p.beta + s.rows)),
    "Dirichlet without its prior": ("colour", lambda p, right, s: Dirichlet(s.counts)),
    "prior alpha and beta swapped": ("smoker", lambda p, right, s: Beta(p.beta + s.ones, p.alpha + s.n - s.ones)),
    "ones and zeros swapped": ("smoker", lambda p, right, s: Beta(right.beta, right.alpha)),
    "Dirichlet of words plus one": ("words", lambda p, right, s: Dirichlet(right.alpha + 1)),
}


def plug_in(self: Any, posterior: Any, x: Any) -> np.ndarray:
    return self.log_likelihood(self.plug_in(posterior, "mean"), x)


def without_coefficient(self: Multinomial, posterior: Dirichlet, x: Any) -> np.ndarray:
    """The predictive of one order of the words."""
    return (
        RIGHT[Multinomial](self, posterior, x) - (gammaln(x.counts.sum(1) + 1) - gammaln(x.counts + 1).sum(1))[:, None]
    )


def infinite(self: Gaussian, posterior: NormalGamma, x: np.ndarray, value: float = -np.inf) -> np.ndarray:
    """As from an underflow to 0 that nobody noticed: the draws say that the row is quite possible."""
    answer = RIGHT[Gaussian](self, posterior, x)
    answer[1, 0] = value
    return answer


RIGHT = {family: family.log_predictive for family in (Gaussian, Multinomial)}
PREDICTED: dict[str, tuple[str, Any, Callable[..., Any]]] = {
    "plug-in Normal for Student-t": ("length", Gaussian, plug_in),
    "a missing real taken for 0": ("length", Gaussian, lambda self, p, x: RIGHT[Gaussian](self, p, np.nan_to_num(x))),
    "an underflow": ("length", Gaussian, infinite),
    "no number": ("length", Gaussian, partial(infinite, value=np.nan)),
    "plug-in Poisson": ("calls", Poisson, plug_in),
    "words as a plug-in product": ("words", Multinomial, plug_in),
    "the multinomial coefficient forgotten": ("words", Multinomial, without_coefficient),
}
RIGHT_DRAW, RIGHT_PREDICTIVE = Parameters.log_joint, Posterior.log_predictive


def flagged(found: agreement.Agreement) -> pd.DataFrame:
    return found.table[~(found.table["z"].abs() < 5.0)]


def assert_found(found: agreement.Agreement, name: str) -> None:
    """Check that the feature is accused, and no innocent one; a class predictive holds all features."""
    assert not found.agrees, str(found)
    where = flagged(found)
    own = where["quantity"].map(lambda q: any(word in q for word in GUILTY[name]))
    assert own.any(), list(where["quantity"])
    assert not set(where["kind"][~own]) & {"mean", "variance", "factor"}


@pytest.mark.parametrize("mistake", BELIEVED)
def test_a_mistake_in_the_posterior_of_a_feature_is_found_at_this_feature(mistake, drawn):
    name, wrong = BELIEVED[mistake]
    right = drawn.clf.posterior_
    believed = wrong(right.prior[name], right.features[name], right.statistics.features[name])
    with np.errstate(all="ignore"):
        assert_found(drawn.check(replace(right, features={**right.features, name: believed})), name)


@pytest.mark.parametrize("mistake", PREDICTED)
def test_a_mistake_in_the_predictive_of_a_feature_is_found_at_this_feature(mistake, drawn, monkeypatch):
    name, family, wrong = PREDICTED[mistake]
    monkeypatch.setattr(family, "log_predictive", lambda *arguments: wrong(*arguments))
    with np.errstate(all="ignore"):
        assert_found(drawn.check(), name)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda alpha, rows: Dirichlet(alpha),
        lambda alpha, rows: Dirichlet(rows),
        lambda alpha, rows: Dirichlet(alpha + rows + 1),
        lambda alpha, rows: Dirichlet(alpha[::-1] + rows),
    ],
    ids=["rows forgotten", "prior forgotten", "one too many", "prior in another order"],
)
def test_a_planted_mistake_in_the_posterior_of_the_classes_is_found(wrong, drawn):
    right = drawn.clf.posterior_
    found = drawn.check(replace(right, label=wrong(right.label_prior.alpha, right.statistics.rows)))
    assert not found.agrees
    own = flagged(found)["quantity"].str.contains("pi[", regex=False)
    assert own.any()
    assert not set(flagged(found)["kind"][~own]) & {"mean", "variance", "factor"}


@pytest.mark.nuts
def test_chains_that_start_at_a_wrong_closed_form_leave_it_while_they_tune():
    # The posterior that is judged also gives the chains their starts and scales: here the wrong class is the frequent
    # one, and all is three times too narrow.
    X, y = datasets.play_tennis()
    clf = BayesianNB().fit(X, y)
    right, (data, n) = clf.posterior_, clf.classifier_.read(X[:2])
    wrong = replace(right, label=Dirichlet(10 * right.label.alpha[::-1]))
    drawn, _ = nuts.sample(wrong, 500, 4, 0)
    blocks = layout.blocks(right)
    tree = trees.build({"posterior": layout.variables(drawn, blocks)}, right)
    assert agreement.check(right, tree, data, n).agrees
    assert not agreement.check(wrong, tree, data, n).agrees


@pytest.mark.parametrize("times", [-1.0, 1.0], ids=["a feature is forgotten", "a feature is counted twice"])
def test_a_mistake_in_the_product_of_the_factors_is_found(times, drawn, monkeypatch):
    # Every factor and every parameter is right; only what `predict_proba` makes of them is wrong.
    right = Posterior.log_predictive

    def wrong(self, data, n):
        smoker = self.model.features["smoker"].log_predictive(self.features["smoker"], data["smoker"])
        return right(self, data, n) + times * smoker

    monkeypatch.setattr(Posterior, "log_predictive", wrong)
    found = drawn.check()
    assert not found.agrees
    assert not set(flagged(found)["kind"]) & {"mean", "variance", "factor"}


def test_dependent_factors_are_found(drawn):
    """Each feature has the right distribution, but the two are dependent, as if drawn from one stream of numbers.

    The closed form multiplies the averages of the factors, which only independent factors allow; to judge it,
    the average has to be that of the joint.
    """
    tree = drawn.tree.copy(deep=True)
    calls, weight = (tree["posterior"][name].to_numpy() for name in ("rate_calls", "mu_weight"))
    for chain in range(4):
        # Together in one class and against each other in the other, lest it cancel between the classes.
        for c, sign in enumerate((1, -1)):
            rank = np.argsort(np.argsort(sign * weight[chain, :, c]))
            calls[chain, :, c] = np.sort(calls[chain, :, c])[rank]
    # Only these two features are known, so that the average of their joint is well within reach of the draws.
    asked = ASKED.iloc[[0]].assign(smoker=np.nan, colour=None, length=np.nan, weight=64.0, calls=0.0)
    asked[["cat", "dog", "emu"]] = 0.0
    found = agreement.check(drawn.clf.posterior_, tree, *drawn.clf.classifier_.read(asked))
    assert (found.table.query("kind in ('mean', 'variance', 'factor')")["z"].abs() < 5).all()
    assert not found.agrees


# The trap: a ratio of averages is not an average of ratios.


@pytest.fixture(scope="module", params=EXACT_OR_NUTS)
def tennis(request) -> tuple[BayesianNB, pd.DataFrame, Any]:
    X, y = datasets.play_tennis()
    today = pd.DataFrame({"outlook": ["sunny"], "temperature": "cool", "humidity": "high", "wind": "strong"})
    clf = BayesianNB().fit(X, y)
    return clf, today, clf.sample_posterior(1000, 4, request.param, random_seed=2)


def test_the_ratio_of_averages_is_the_predictive_and_the_average_of_ratios_is_another_number(tennis):
    clf, today, tree = tennis
    data, n = clf.classifier_.read(today)
    log_joint = draws.parameters(tree, clf.posterior_).log_joint(data, n)[:, :, 0]
    joint, ratios = np.exp(log_joint), np.exp(normalize(log_joint))[..., 0]
    no = clf.predict_proba(today)[0, 0]
    assert_allclose(no, 0.7353, atol=5e-5)
    record = agreement.check(clf.posterior_, tree, data, n).table.query("quantity == 'p(no | row 0)'").iloc[0]
    assert_allclose(record["closed"], no, rtol=1e-12)
    # The ratio of averages lies within its error of the closed form, and so does what the check samples ...
    averages = joint.mean(axis=(0, 1))
    share = averages[0] / averages.sum()
    error = float(agreement._mcse((joint[..., 0] - share * joint.sum(-1)) / averages.sum()))
    assert error < 0.01
    assert abs(share - no) / error < 4.0
    assert abs(record["z"]) < 4.0
    assert_allclose(record["sampled"], share, atol=4 * error)
    # ... and the average of ratios lies far outside of its own, near 0.679.
    error = float(agreement._mcse(ratios))
    assert_allclose(ratios.mean(), 0.679, atol=0.01)
    assert (no - ratios.mean()) / error > 10


# False alarms


@pytest.fixture(scope="module")
def repeated() -> list[agreement.Agreement]:
    """100 checks of a correct model with a binary, a real and a count column, each with its own draws."""
    names = ["smoker", "length", "calls"]
    X, y = every_family()
    clf = BayesianNB({name: FAMILIES[name] for name in names}).fit(X[[*names, "hours"]], y)
    (data, n), found, known = clf.classifier_.read(ASKED[[*names, "hours"]].iloc[[0, 3]]), [], None
    for seed in range(1000, 1100):
        point = clf.posterior_.draw(default_rng(seed), (4, 500))
        blocks = layout.blocks(clf.posterior_)
        tree = trees.build({"posterior": layout.variables(point, blocks)}, clf.posterior_)
        with convergence_known(known or agreement.Convergence.of(tree)):
            found.append(agreement.check(clf.posterior_, tree, data, n))
        known = found[0].convergence
    return found


@pytest.mark.slow
def test_at_most_1_of_100_correct_models_is_reported_as_different(repeated):
    assert sum(not found.agrees for found in repeated) <= 1


@pytest.mark.parametrize(
    ("kind", "loose"),
    [("mean", 0.045), ("variance", 0.08), ("factor", 0.06), ("joint", 0.08), ("class predictive", 0.06)],
)
@pytest.mark.slow
def test_the_standardized_differences_of_a_correct_model_are_standard_normal(kind, loose, repeated):
    # Those of variances are skewed: a fourth moment of 2000 draws is itself unsure.
    z = np.concatenate([found.table.loc[found.table["kind"] == kind, "z"] for found in repeated])
    if kind == "class predictive":
        z = z[::2]  # of two classes, the other is its negative
    assert len(z) >= 200
    assert stats.kstest(z, "norm").statistic < loose
    assert 0.9 < z.std() < 1.15


# What cannot be judged


def shifted(clf: BayesianNB, variable: str) -> Any:
    """A tree in which one chain has another mean."""
    tree = clf.sample_posterior(1000, 4, random_seed=0)
    values = tree["posterior"][variable].to_numpy()
    values[0] += values.std()
    return tree


def test_chains_that_did_not_converge_give_no_verdict():
    clf = fitted()
    with pytest.raises(agreement.ConvergenceError, match=r"did not converge.*r_hat.*mu_length\b") as caught:
        agreement.check(clf.posterior_, shifted(clf, "mu_length"), *clf.classifier_.read(ASKED))
    assert "effective draws" in str(caught.value)
    assert 'with sampler="exact"' in str(caught.value)


def test_an_r_hat_just_above_the_limit_is_not_printed_as_equal_to_it():
    found = str(Convergence(r_hat=1.010004, by_chance=1.0, ess=900.0, divergences=0, worst="mu"))
    assert found == "largest r_hat 1.010004 (mu), at most 1.010000 allowed"


def chains(seed: int, shift: float) -> DataTree:
    """Two chains of 500 independent draws of 30 parameters, the first of them ``shift`` standard deviations apart."""
    from arviz_base import from_dict

    theta = default_rng(seed).normal(size=(2, 500, 30))
    theta[1, :, 0] += shift
    return from_dict({"posterior": {"theta": theta}})


def test_the_message_names_the_variable_with_too_few_effective_draws():
    from arviz_base import from_dict

    even, sticky = default_rng(0).normal(size=(2, 4, 1000))
    # In each half of a chain, the small values follow each other, so only the tail has few effective draws.
    halves = [half[np.argsort(half >= -1.6, kind="stable")] for half in sticky.reshape(8, 500)]
    found = Convergence.of(from_dict({"posterior": {"even": even, "sticky": np.reshape(halves, (4, 1000))}}))
    assert found.mixed
    assert re.fullmatch(r"only \d+ effective draws of sticky, at least 400 needed", str(found))


@pytest.mark.nuts
def test_a_sampler_that_did_not_converge_warns_and_verify_refuses():
    X, y = datasets.play_tennis()
    clf = BayesianNB().fit(X, y)
    with pytest.warns(UserWarning, match=r"NUTS did not converge: .*effective draws"):
        clf.sample_posterior(110, 4, "nuts", random_seed=0, tune=0)
    with pytest.raises(agreement.ConvergenceError, match=r"effective draws.*raise draws, which is 110 per"):
        clf.verify(X, draws=110, chains=4, random_seed=0, tune=0)


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("length", Gaussian(NormalGamma.reference())),
        ("weight", GaussianKnownVariance(Normal.flat(), variance=30.0)),
        ("calls", Poisson(Gamma.jeffreys())),
        ("smoker", Bernoulli(Beta(0.0, 0.0))),
    ],
)
def test_an_improper_prior_cannot_be_sampled_and_the_error_names_the_feature(name, family):
    X, y = every_family(missing=0.0)
    table = X[[name, "dog"]]
    clf = BayesianNB({name: family}).fit(table, y)
    with pytest.raises(ImproperError, match=f"feature '{name}'.*PyMC"):
        clf.verify(table, sampler="nuts")


def test_a_row_that_is_impossible_at_the_mode_has_nan_for_map_and_is_still_compared():
    # At the mode under Dirichlet(1) what was not counted has probability 0: red was never "b", big never "a".
    X = pd.DataFrame({"colour": ["red", "red", "blue", "blue"], "size": ["small", "small", "big", "big"]})
    clf = BayesianNB().fit(X, ["a", "a", "b", "b"])
    asked = pd.DataFrame({"colour": ["red", "red"], "size": ["big", "small"]})
    found = clf.verify(asked, sampler="exact", random_seed=4)
    assert found.agrees
    assert found.plug_ins.loc[0, "map"].isna().all()
    assert_allclose(found.plug_ins.loc[1, "map"], [1.0, 0.0])


COLOURS = pd.DataFrame({"colour": ["red", "blue", "red", "red", "red"]})
ZERO = {"colour": Categorical({"ant": Dirichlet(1.0), "bee": Dirichlet({"red": 1.0, "blue": 0.0})})}
FIXED: dict[str, tuple[Callable[[], BayesianNB], pd.DataFrame, Any]] = {
    "improper prior": (
        lambda: BayesianNB({"length": Gaussian(NormalGamma.reference())}).fit(every_family(0.0)[0][["length"]], ANTS),
        every_family(0.0)[0][["length"]],
        None,
    ),
    "known class prior": (
        lambda: BayesianNB(FAMILIES, class_prior={"ant": 0.25, "bee": 0.75}).fit(*every_family()), ASKED, None
    ),
    "a class ruled out": (
        lambda: BayesianNB(FAMILIES, class_prior={"ant": 0.0, "bee": 1.0}).fit(*every_family()), ASKED, [0.0, 1.0]
    ),
    "a structural zero": (
        lambda: BayesianNB(ZERO).fit(COLOURS, ["ant", "ant", "bee", "bee", "bee"]), COLOURS[1:2], [1.0, 0.0]
    ),
    "nothing moves": (
        lambda: BayesianNB(class_prior="uniform").fit(COLOURS[2:4], ["ant", "bee"]), COLOURS[2:4], [0.5, 0.5]
    ),
    "one class": (lambda: BayesianNB(FAMILIES).fit(every_family()[0], ["only"] * 16), ASKED, [1.0]),
}  # fmt: skip


@pytest.mark.parametrize("case", FIXED)
def test_known_parameters_are_the_same_in_closed_form_and_in_draws(case):
    fit, asked, expected = FIXED[case]
    found = fit().verify(asked, sampler="exact", random_seed=4)
    assert found.agrees
    assert (found.table["kind"] == "class predictive").any()
    if case == "known class prior":
        assert not found.table["quantity"].str.contains("pi[", regex=False).any()
    if expected is not None:
        assert_allclose(found.plug_ins["sampled"].unstack().to_numpy(), [expected] * len(asked))


def test_the_table_is_sorted_by_the_size_of_z(drawn):
    found = drawn.check()
    frame = found.to_frame()
    assert list(frame.columns) == ["kind", "quantity", "closed", "sampled", "mcse", "z"]
    assert (np.diff(frame["z"].abs()) <= 0).all()
    assert len(frame) == len(found.table)
    # A z of 0 is what does not move at all; of the others it is the difference in standard errors.
    moves = frame[frame["mcse"] > 0]
    assert_allclose(moves["z"], (moves["sampled"] - moves["closed"]) / moves["mcse"], rtol=1e-12)


# What is said


def test_a_verdict_accounts_for_the_number_of_differences_and_says_where_the_roads_disagree(drawn):
    found = drawn.check()
    largest = found.table["z"].abs().max()
    assert_allclose(found.p_value, min(1.0, 2 * stats.norm.sf(largest) * len(found.table)))
    assert f"p = {found.p_value:.3g} (they disagree below 0.0001)" in str(found)
    assert [column.header for column in found.__rich__().columns] == ["quantity", "closed", "sampled", "mcse", "z"]
    _, points = found.plot().axes
    assert len(points.lines[1].get_xdata()) == (found.table["kind"] == "class predictive").sum()
    for factor, agrees in [(0.999, True), (-0.999, True), (1.001, False), (-1.001, False)]:
        table = found.table.assign(z=0.0)
        table.loc[3, "z"] = factor * found.z_limit
        assert replace(found, table=table).agrees is agrees


def test_divergences_judge_nothing():
    from xarray import DataArray, Dataset

    clf = fitted()
    tree = clf.sample_posterior(1000, 4, random_seed=0)
    diverging = np.zeros((4, 1000), bool)
    diverging[2, 7] = True
    tree["sample_stats"] = Dataset({"diverging": DataArray(diverging, dims=("chain", "draw"))})
    with pytest.raises(agreement.ConvergenceError, match=r"\(1 divergence\)"):
        agreement.check(clf.posterior_, tree, *clf.classifier_.read(ASKED))


def test_short_chains_are_refused_where_they_differ_and_not_for_the_r_hat_of_chance():
    found = [agreement.Convergence.of(chains(seed, 0.0)) for seed in range(12)]
    assert any(one.r_hat > 1.01 for one in found)
    assert sum(not one.converged for one in found) <= 1
    assert not any(agreement.Convergence.of(chains(seed, 0.5)).converged for seed in range(4))


def test_a_verdict_prints_names_as_they_are():
    X = pd.DataFrame({"[red]": [0.0, 1.0, 2.0, 5.0]})
    clf = BayesianNB().fit(X, ["[/b]", "[/b]", "[i]", "[i]"])
    found = clf.verify(X, sampler="exact", random_seed=0)
    assert "the two roads agree" in str(found)
    assert "[red] of row" in str(found) or "mu_red[[" in str(found)
    wrong = replace(clf.posterior_, label=Dirichlet([9.0, 1.0]))
    data, n = clf.classifier_.read(X)
    found = agreement.check(wrong, clf.sample_posterior(500, 4, random_seed=0), data, n)
    assert "THE TWO ROADS DISAGREE" in str(found)


# What a check shows


def test_the_picture_of_a_check_has_a_panel_per_parameter_whose_line_follows_the_histogram():
    X, y = datasets.heights()
    clf = BayesianNB(random_state=0).fit(X, y)
    found = clf.verify(tree=clf.sample_posterior(2000, 2))
    drawn = found.plot_parameters()
    figure = getattr(drawn, "figure", drawn)
    panels = {axes.get_title(): axes for axes in figure.axes if axes.get_title()}
    means = {f"mu_{name}[{label}]" for name in X for label in clf.classes_}
    assert means <= set(panels)
    for axes in panels.values():
        (line,) = axes.lines
        x, density = line.get_data()
        heights = [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in axes.patches]
        at, of_draws = np.array(heights).T
        by_formula = np.interp(at, x, density)
        # A bar of 4,000 draws differs from the density by a few standard errors of its count.
        assert np.abs(of_draws - by_formula).max() < 0.25 * density.max()
    assert "agree" in found.sentence
    assert found.sentence in repr(found)
    assert "<table" in found._repr_html_()
