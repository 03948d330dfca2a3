"""What cannot be answered is refused: each call beside the text of its error, which says what to write instead."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.svm import LinearSVC

import bayesnb as nb
from bayesnb import (
    BayesianNB,
    Bernoulli,
    BestFamily,
    Beta,
    Binned,
    ByType,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    Multinomial,
    Normal,
    NormalGamma,
    Poisson,
    compare,
    datasets,
    evaluate,
    plots,
)
from bayesnb.evaluation import compare_estimates
from bayesnb.families import (
    Exponential,
    FromPyMC,
    GammaKnownShape,
    HierarchicalCategorical,
    HierarchicalGaussian,
    Hurdle,
    LogNormal,
    Mixture,
    MultivariateGaussian,
    NegativeBinomial,
    Ordinal,
    PolyaTree,
    SharedGaussian,
    StudentT,
)
from bayesnb.model import reliability_weights
from bayesnb.priors import BetaTree, FixedProbabilities, NormalWishart
from bayesnb.sampling import agreement

TENNIS, PLAY = datasets.play_tennis()
HEIGHTS, SEX = datasets.heights()
NUMBERS = pd.DataFrame({"x": [0.5, 1.5, 2.5, 3.0], "n": [1, 2, 3, 4], "m": [0, 1, 2, 3]})
SOME = PLAY.where(PLAY.index > 2)
HALF = np.full((14, 2), 0.5)
CROSSED, APART = {"a": ["x", "y"], "b": ["x", "y"]}, {"a": ["x"], "b": ["y"]}
WIDE = pd.DataFrame({f"c{k}": list("abcd") * 5 for k in range(6)})
COUNTED = NUMBERS[["n"]]
COSTS = pd.DataFrame({"treat": [0.0, 1.0], "wait": [9.0, 0.0]}, index=["ill", "well"])
FOUR = {"x": [0.0, 1.0, 2.0, 4.0]}, ["ill", "well"] * 2
ILL = BayesianNB().fit(*FOUR)
BAG = BayesianNB({"words": (Multinomial(), ["a", "b"])}).fit({"a": [1, 2, 0], "b": [0, 1, 1]}, [0, 1, 1])


@cache
def tennis(**settings: Any) -> BayesianNB:
    return BayesianNB(**settings).fit(TENNIS, PLAY)


@cache
def partly() -> BayesianNB:
    """A model of which three rows have no label."""
    return BayesianNB().fit(TENNIS, SOME)


@cache
def by_row() -> Any:
    """A model with a class prior for each row."""
    return nb.deploy.with_class_prior(tennis(), HALF)


@cache
def compiled() -> Any:
    return nb.deploy.compile(
        BayesianNB({"n": Poisson(), "b": Bernoulli()}).fit(NUMBERS.assign(b=[0, 1, 0, 1]), list("uvuv"))
    )


def of(features: Any, X: Any = NUMBERS, y: Any = (0, 1, 0, 1), **settings: Any) -> BayesianNB:
    return BayesianNB(features, **settings).fit(X, list(y))


def tree(**arguments: Any) -> Any:
    return tennis().sample_posterior(5, 2, **{"X": TENNIS, "y": PLAY} | arguments)


def decided(costs: Any, reject: Any = None) -> Any:
    return ILL.decide({"x": [1.0]}, costs, reject_cost=reject)


def shifted(prior: Any) -> Any:
    return nb.deploy.with_class_prior(ILL, prior)


def credal(clf: Any = None, X: Any = TENNIS, **options: Any) -> Any:
    return nb.sets.predict_credal(clf or tennis(), X, **options)


def ask(row: Any = None, *rest: Any) -> Any:
    return nb.design.ask_next(tennis(), {"wind": ["weak"]} if row is None else row, *rest)


PLAYS = pd.DataFrame({"go": [1.0, 0.0], "stay": [0.0, 1.0]}, index=["no", "yes"])
HIGH, BOTH = BayesianNB().fit(HEIGHTS, SEX), tuple(HEIGHTS)
conformal, checks, sensitivity = nb.sets.conformal, nb.checks.predictive_checks, nb.checks.sensitivity
labels, forecast = nb.checks.suspicious_labels, np.full((3, 2), 0.5)
NORMAL = {"mu": (pm.Normal, {})}

REFUSED: dict[str, list[tuple[Callable[[], Any], str]]] = {
    "what to ask next": [
        (lambda: ask(TENNIS[:2]), "Expected a table of one row"),
        (lambda: ask(None, None, {"outlook": 1.0}), "without costs there is no saving"),
        (lambda: ask(None, PLAYS, {"outlook": 1.0, "humidity": 1.0}),
         "each missing column; got none for 'temperature'"),
        (lambda: ask(None, PLAYS, {"sun": 1.0}), "column 'sun' was not fitted"),
        (lambda: ask(None, PLAYS, {"outlook": "much"}), "column 'outlook': Expected a finite number; got 'much'"),
        (lambda: ask(None, {"no": 1}), "Expected costs as a DataFrame"),
        (lambda: nb.design.ask_next(by_row(), {"wind": ["weak"]}), "one class prior"),
        (lambda: nb.deploy.fill_in(tennis(), TENNIS, answer="all"),
         "answer to be 'summary' or 'distribution'; got 'all'"),
        *((lambda n=n: nb.design.label_next(tennis(), TENNIS, n=n), "n from 1 to the number of rows, 14")
          for n in (0, 15, 1.5, True)),
    ],
    "decisions": [
        (lambda: decided(COSTS.to_dict()),
         "Expected costs as a DataFrame, its index the true classes .*; got dict: write"),
        (lambda: decided(COSTS.loc[["ill"]]), r"\['ill', 'well'\]; got \['ill'\], where 'well' is missing"),
        (lambda: decided(COSTS.T), "where 'treat', 'wait' is not a class"),
        (lambda: decided(COSTS.loc[["ill", "well", "ill"]]), "where 'ill' is there more than once"),
        (lambda: decided(COSTS.set_axis(["do", "do"], axis=1)), "in one column; got 'do' more than once"),
        (lambda: decided(COSTS[[]]), "at least one column, a decision; got none"),
        (lambda: decided(COSTS.assign(wait=[np.nan, 0])), "got nan for the decision 'wait' where 'ill' is true"),
        (lambda: decided(COSTS.assign(wait=["9", "0"])), r"decision 'wait': Expected numbers; got \['9', '0'\]"),
        (lambda: decided(COSTS, "1"), "Expected reject_cost to be a finite number, or None to decide always; got '1'"),
        (lambda: decided(COSTS, np.nan), "a finite number.*got nan"),
        (lambda: decided(COSTS, 9.0),
         "below the largest cost, 9; got 9, at which.*never be used: lower it or leave it out"),
        *((lambda mass=mass: nb.sets.credible_set(ILL, {"x": [1.0]}, mass), "Expected mass above 0 and at most 1")
          for mass in (0, 1.1, np.nan, "0.9", None)),
    ],
    "class priors": [
        (lambda: shifted({"ill": 0.1, "fit": 0.9}), r"got \['ill', 'fit'\], where 'fit' is not a class"),
        (lambda: shifted({"ill": 1.0}), r"each class, \['ill', 'well'\]; got \['ill'\], where 'well' is missing"),
        (lambda: shifted(pd.Series([0.1, 0.5, 0.4], ["ill", "well", "well"])), "each label once; got 'well' more"),
        (lambda: shifted(pd.DataFrame([[0.1, 0.9]] * 3)), r"got \[0, 1\], where 0, 1 is not a class"),
        (lambda: shifted([[0.2, 0.3, 0.5]]), r"in the order of \['ill', 'well'\]; got shape \(1, 3\)"),
        (lambda: shifted([0.2, 0.3, 0.5]), r"one probability for each class \['ill', 'well'\], in this order"),
        (lambda: shifted(0.5), r"got an array of shape \(\)"),
        (lambda: shifted({"ill": 0.1, "well": 0.9 + 2e-9}), r"that sum to 1; got a sum of 1\.000000002"),
        (lambda: shifted([[0.5, 0.5], [0.5, 0.6]]), r"got a sum of 1\.1 in row 1"),
        (lambda: shifted({"ill": -0.1, "well": 1.1}), r"of 0 or more; got -0\.1 for class 'ill'"),
        (lambda: shifted([[0.5, 0.5], [1.5, -0.5]]), r"got -0\.5 for class 'well' in row 1"),
        (lambda: shifted({"ill": np.nan, "well": 1.0}), "got nan for class 'ill'"),
        (lambda: shifted("laplace"), "Expected a Dirichlet, .*got 'laplace'"),
        (lambda: shifted([[0.5], [0.5, 0.5]]), r"Expected a Dirichlet, \{label: probability\}, a Series"),
        (lambda: nb.deploy.estimate_class_prior(ILL, {"x": [1.0]}, prob=1.0), "prob to lie between 0 and 1"),
        (lambda: nb.deploy.estimate_class_prior(ILL, {"x": [1.0]}, prob=0.9, draws=10), "draws to be .* 100 or more"),
        (lambda: nb.deploy.estimate_class_prior(ILL, {"x": [1.0]}, max_iter=0),
         "Expected max_iter to be a whole number, 1 or more; got 0"),
        (lambda: nb.deploy.estimate_class_prior(of(None, estimate="mle", X=CROSSED, y=[0, 1]), APART),
         "row 0 has probability 0 under every class"),
        (lambda: by_row().loo(TENNIS, PLAY),
         "leave-one-out needs one class prior"),
        *((lambda ask=ask, rows=rows: ask(tennis(), TENNIS.iloc[rows], PLAY.iloc[rows]), "exactly the learned rows")
          for ask in (nb.BayesianNB.loo, nb.checks.column_gains, nb.checks.suspicious_labels,
                      lambda clf, X, y: nb.checks.flip(clf, X[:1], X, y),
                      lambda clf, X, y: clf.loo(X, y, by="feature"))
          for rows in ([*range(9)], [*range(14), 3])),
        (lambda: nb.draws.sample(by_row(), 3), "sample needs one class prior"),
        (lambda: by_row().tables(), "a table of the parameters needs one class prior"),
        (lambda: nb.odds.linear_form(by_row()), "a table of the parameters needs one class prior"),
        (lambda: by_row().uncertainty(TENNIS, (TENNIS, PLAY)), "leave-one-out needs one class prior"),
        (lambda: by_row().sample_posterior(), "sample_posterior needs one class prior"),
        (lambda: by_row().to_pymc(), "to_pymc needs one class prior"),
        (lambda: by_row().log_evidence_, "the evidence needs one class prior"),
        (lambda: by_row().verify(sampler="exact"), "verify needs one class prior"),
        (lambda: by_row().predict(TENNIS[:3]), "class prior for each of 14 rows; got 3 rows"),
    ],
    "candidates": [
        (lambda: of(BestFamily(by="loo")),
         "by to be 'class' or 'evidence'; got 'loo'"),
        (lambda: of(BestFamily([])), "candidates of different names"),
        (lambda: of(BestFamily(["gaussian"])), "Expected candidates to be families"),
        (lambda: of(BestFamily([MultivariateGaussian()])),
         "cannot be a candidate"),
        (lambda: of(BestFamily(rows=0)), "rows to be a whole number, 1 or more; got 0"),
        (lambda: of(BestFamily([LogNormal()]), {"v": [-1.0, 0.0, 0.5, 1.0]}), "can read column 'v'"),
    ],
    "compiled classifiers": [
        (lambda: compiled()({"x": np.inf, "n": 1, "m": 0, "b": 1}), "column 'x' is infinite"),
        (lambda: compiled()({"x": 1.0, "n": -1, "m": 0, "b": 1}), "column 'n' holds -1"),
        (lambda: compiled()({"x": 1.0, "n": 1.5, "m": 0, "b": 1}), r"column 'n' holds 1\.5"),
        (lambda: compiled()({"x": 1.0, "n": 1, "m": 0, "b": 0.5}), r"column 'b' holds 0\.5"),
        (lambda: compiled()({"x": "one", "n": 1, "m": 0, "b": 1}), "column 'x'"),
        (lambda: compiled()([1.0, 2, 0]), "Expected 4 values, one for each column; got 3"),
        (lambda: compiled()(NUMBERS.iloc[0]), r"to_dict\(\) of a Series\); got Series"),
        (lambda: nb.deploy.compile(of(None))([[0.5], [1], [0]]), r"column 'x' holds \[0\.5\] of type list"),
        (lambda: compiled()({"x": 1.0, "n": 1, "m": 0}), "column 'b' was fitted and is not in this table"),
        (lambda: nb.deploy.compile(of({"x": Exponential()})), "column 'x': Exponential cannot be compiled"),
        (lambda: nb.deploy.compile(of({"x": Binned(3)})), "column 'x': Categorical is cut into bins"),
        (lambda: nb.deploy.compile(of({"n": Poisson(exposure="x")})), "column 'n': Poisson has an exposure"),
        (lambda: nb.deploy.compile(of({"w": (Multinomial(), ["n", "m"])})),
         "column 'n': Multinomial cannot be compiled"),
        (lambda: nb.deploy.compile(of(None, dependence="tempered")), "with a dependence"),
        (lambda: nb.deploy.compile(by_row()), "a compiled classifier needs one class prior"),
        (lambda: nb.deploy.compile(of(None, estimate="mle", X=CROSSED, y=[0, 1]))(["x", "y"]),
         "probability 0 under every class"),
    ],
    "sets with a guarantee": [
        (lambda: conformal(tennis(), TENNIS[:9], PLAY[:9]), r"exactly the learned rows, .*method=\"split\""),
        (lambda: conformal(tennis(), TENNIS, PLAY, method="jackknife"), "Expected method to be one of .*full"),
        (lambda: conformal(tennis(), TENNIS, PLAY, np.full(14, 0.5), method="split"),
         r"whole numbers; got 0\.5 in row 0"),
        (lambda: conformal(tennis(estimate="map"), TENNIS, PLAY), "plugs them in"),
        (lambda: conformal(tennis(dependence="tempered"), TENNIS, PLAY), "exponents have seen their labels"),
        *((lambda c=c: conformal(tennis(), TENNIS, PLAY).predict_set(TENNIS, c), "coverage above 0 and below 1")
          for c in (0, 1, 90, True, "0.9")),
        (lambda: conformal(by_row(), TENNIS, PLAY), "one class prior"),
        (lambda: conformal(tennis(), TENNIS, SOME), "y is missing in 3 of 14 rows"),
        (lambda: conformal(partly(), TENNIS, PLAY), "rows that were counted"),
        (lambda: conformal(of({"x": Gaussian(NormalGamma.reference())}, NUMBERS[["x"]]), NUMBERS[["x"]], [0, 1, 0, 1]),
         "use a proper prior"),
    ],
    "bounds over priors": [
        (lambda: credal(s=0.0), "Expected s to be a positive number"),
        (lambda: credal(missing="maybe"), "Expected missing to be 'ignored' or 'any'"),
        (lambda: credal(priors={"size": (1, 2)}), "got one of 'size'"),
        (lambda: credal(priors={"wind": Dirichlet()}),
         "feature 'wind': Expected two priors, the ends of the intervals"),
        (lambda: credal(priors={"(class)": (1, 2)}), "class prior: Expected two Dirichlet"),
        (lambda: credal(tennis(estimate="map")), 'estimate="map" plugs them in'),
        (lambda: credal(tennis(dependence="tempered")), "the exponents were learned under one prior"),
        (lambda: credal(partly()), "rows that were counted"),
        (lambda: credal(by_row()), "needs one class prior"),
        (lambda: nb.sets.predict_credal(BAG, {"a": [1], "b": [2]}, priors={"words": (Dirichlet(1), Dirichlet(2))}),
         "feature 'words': its columns share one θ"),
        (lambda: credal(of(None, WIDE, [0, 1] * 10), WIDE[:1].assign(**dict.fromkeys(WIDE)), missing="any"),
         "row 0 has 6 missing cells, which can be completed in 4096 ways"),
    ],
    "checks": [
        (lambda: checks(tennis(), TENNIS, PLAY, draws=5), "Expected draws to be a whole number, 20 or more; got 5"),
        (lambda: checks(tennis(), TENNIS, SOME), "y is missing in 3 of 14 rows"),
        (lambda: checks(by_row(), TENNIS, PLAY), "needs one class prior"),
        (lambda: checks(partly(), TENNIS, PLAY), "predictive checks need a posterior of rows that were counted"),
        (lambda: checks(of(None, np.tile(np.eye(4), 51)), np.tile(np.eye(4), 51), [0, 1, 0, 1]),
         "at most 200 columns to check; got 204"),
        (lambda: sensitivity(tennis(), TENNIS, by="prior"), "Expected by to be 'factor' or 'row'; got 'prior'"),
        (lambda: sensitivity(tennis(), TENNIS, scaling="alpha"), "scaling to be 'density' or 'rows'; got 'alpha'"),
        (lambda: sensitivity(tennis(), TENNIS[:0]), "no rows"),
        (lambda: sensitivity(tennis(estimate="mle"), TENNIS), 'estimate="mle" has no prior'),
        (lambda: sensitivity(tennis(dependence="tempered"), TENNIS), "exponents were learned under these priors"),
        (lambda: sensitivity(by_row(), TENNIS), "needs one class prior"),
        (lambda: sensitivity(partly(), TENNIS), "rows that were counted"),
        (lambda: labels(of(None, TENNIS, ["a"] * 14), TENNIS, ["a"] * 14), "there is one class"),
        (lambda: labels(tennis(), TENNIS, SOME), "y is missing in 3 of 14 rows"),
        (lambda: labels(partly(), TENNIS, PLAY), "leave-one-out is exact for rows that were counted"),
        (lambda: agreement.calibrate(tennis(), sampler="exactly"), "'exact', 'nuts' or 'gibbs'; got 'exactly'"),
        (lambda: agreement.calibrate(tennis(), simulations=0), "simulations to be a whole number, 1 or more; got 0"),
        (lambda: agreement.calibrate(tennis(), unlabelled=1.0), "unlabelled to lie between 0 and 1"),
        (lambda: agreement.calibrate(tennis(), tune=3), r"exact draws take no further arguments; got \['tune'\]"),
        (lambda: agreement.calibrate(of(Gaussian(NormalGamma.reference()))), "feature 'x', class '?0"),
        (lambda: tennis().verify(TENNIS, sampler="metropolis"), "'exact', 'nuts' or 'gibbs'; got 'metropolis'"),
        (lambda: BayesianNB().verify(TENNIS), "not fitted"),
    ],
    "uncertainty": [
        *((lambda p=p: tennis().predict_interval(TENNIS, p),
         "Expected prob to lie between 0 and 1") for p in (0.0, 1.5)),
        (lambda: tennis().explain(TENNIS, prob=1.0), "Expected prob to lie between 0 and 1"),
        (lambda: tennis().predict_interval(TENNIS, method="bootstrap"),
         "'auto', 'saddlepoint' or 'draws'; got 'bootstrap'"),
        (lambda: of(None, y=[0, 1, 2, 0]).predict_interval(NUMBERS, method="saddlepoint"),
         "two classes, and there are 3"),
        (lambda: of(None, y=[0, 1, 2, 0]).predict_interval(NUMBERS, draws=1), "draws to be a whole number, 2 or more"),
        *((lambda verb=verb: verb(TENNIS, given="rows"), "Expected given to be 'row' or 'data'; got 'rows'")
          for verb in (tennis().predict_interval, tennis().uncertainty, partial(nb.odds.log_odds, tennis()),
                       partial(nb.draws.sample_proba, tennis()))),
        (lambda: tennis().explain(TENNIS, unit="bans"), "Expected unit to be one of"),
        (lambda: tennis().explain(TENNIS, "q"), "'q'"),
        (lambda: tennis().explain(TENNIS, "no", "no"), "Expected two different classes; got 'no' twice"),
        (lambda: tennis().explain(TENNIS[:0]), "there are no rows to explain"),
        (lambda: of(None, y="uuuu").explain(NUMBERS), "no odds with one class, 'u'"),
        (lambda: nb.odds.linear_form(BayesianNB(estimate="mean").fit(HEIGHTS, SEX)),
         "no linear form: its variance differs"),
        (lambda: nb.odds.linear_form(of(Poisson(), NUMBERS[["n"]])), r"'n' has no linear form.*estimate=\"mean\""),
    ],
    "trees of draws": [
        (lambda: tree(include=["posterior"]), r"Expected include to be of .*; got \['posterior'\]"),
        (lambda: tree(include=["log_likelihood"], X=None, y=None), "pass them as X and y"),
        (lambda: tree(include=["columns"], X=None, y=None), "pass them as X and y"),
        (lambda: tree(include=["log_likelihood"], y=None), "pass them as X and y"),
        (lambda: tree(sampler="gibs"), "'exact', 'nuts' or 'gibbs'; got 'gibs'"),
        (lambda: tree(tune=3), r"exact draws take no arguments of pymc.sample; got \['tune'\]"),
        (lambda: tree(sampler="gibbs", target_accept=0.9), r"but tune and thin; got \['target_accept'\]"),
        (lambda: tennis().verify(TENNIS[:2], sampler="exact", draws=50, chains=2),
         "100 draws are too few for a verdict"),
    ],
    "scores": [
        (lambda: evaluate(GaussianNB(), HEIGHTS, SEX), 'folds for GaussianNB, such as cv=5; got cv="loo"'),
        (lambda: compare({"it": MultinomialNB()}, HEIGHTS, SEX), "folds for MultinomialNB"),
        (lambda: compare({"first": BayesianNB(), "second": GaussianNB()}, HEIGHTS, SEX), "estimator 'second': Exp"),
        *((lambda them=them: compare(them, HEIGHTS, SEX, cv=5), r"Expected estimators as \{name: classifier\}")
          for them in ({}, [GaussianNB()], GaussianNB(), None)),
        (lambda: evaluate(BayesianNB(), TENNIS[:0], []), "at least one row to score; got a table of none"),
        (lambda: evaluate(GaussianNB(), HEIGHTS[:0], [], cv=5), "at least one row to score; got a table of none"),
        (lambda: evaluate(BayesianNB(), TENNIS, PLAY[:13]), "X has 14 rows and y has 13"),
        (lambda: evaluate(BayesianNB(), TENNIS, None), "Expected y, the true class of each row; got None"),
        (lambda: evaluate(BayesianNB(), TENNIS, SOME), "y is missing in 3 of 14 rows, first in row 0"),
        (lambda: evaluate(BayesianNB(unlabelled="no"), TENNIS, PLAY, cv=3), "y is missing in 5 of 14 rows"),
        (lambda: evaluate(BayesianNB(), TENNIS, np.linspace(0, 1, 14), cv=3), "continuous"),
        (lambda: evaluate(BayesianNB(), TENNIS, PLAY, cv=6), r"as many as the smallest class has rows \(5\); got 6"),
        (lambda: evaluate(BayesianNB(), NUMBERS, list("aaab"), cv=2), r"\(1\); got 2. Leave out class 'b', or score"),
        (lambda: compare_estimates(BayesianNB(), TENNIS, PLAY, rows=0), "rows to be 1 or more, or None for all"),
        (lambda: evaluate(GaussianNB(), HEIGHTS, SEX, cv=1), "between 2 folds and .*; got 1"),
        *((lambda cv=cv: evaluate(GaussianNB(), HEIGHTS, SEX, cv=cv), 'cv to be "loo", a number of folds, or None')
          for cv in (2.0, True, "LOO")),
        (lambda: evaluate(of(None, TENNIS[:2], PLAY[:2]), TENNIS, PLAY, cv=None),
         r"'yes' was never learned; .*are \['no'\]"),
        (lambda: evaluate(GaussianNB(), HEIGHTS, SEX, cv=None), "not fitted"),
        (lambda: evaluate(by_row(), TENNIS, PLAY, cv=3), "a Classifier is fitted and cannot be fitted anew"),
        (lambda: evaluate(BayesianNB(dependence="weighted"), TENNIS, PLAY),
         "'weighted', such as cv=5.*learned its label"),
        *((lambda clf=clf: evaluate(clf, HEIGHTS, SEX, cv=5), "got .*which has none: .*CalibratedClassifierCV")
          for clf in (LinearSVC(), CountVectorizer(), "GaussianNB")),
    ],
    "families": [
        (lambda: Mixture([Gaussian(), Poisson()]), "Gaussian reads reals and Poisson reads counts"),
        (lambda: Mixture([Gaussian(), Hurdle()]), "Gaussian reads reals and Hurdle reads 0 and positive reals"),
        (lambda: Mixture([Gaussian()]), "Expected a list of two families or more"),
        (lambda: Mixture([Mixture(), Gaussian()]), "write all families in one list"),
        (lambda: Mixture([Categorical(), Categorical()]), "Categorical reads levels"),
        (lambda: Mixture([Gaussian(), LogNormal()], weights=[1, 0]), "a positive weight for each of 2 families"),
        (lambda: Mixture([Poisson(exposure="h"), Poisson()]), "a family with an exposure cannot be a part"),
        (lambda: Hurdle(Hurdle()), "a Hurdle has one 0"),
        (lambda: Hurdle(StudentT()), "families with a closed form"),
        (lambda: Hurdle(zero=Gamma()), "Expected the prior of Bernoulli to be a Beta"),
        (lambda: Ordinal(["low", "high"]), r"name of another argument \(order=, orders=\) before its value"),
        (lambda: of({"x": Hurdle()}, {"x": [1.0, 2.0, -1.0, 3.0]}),
         "-1 in row 2, where Hurdle needs 0 or a positive number"),
        (lambda: of({"x": Hurdle(Poisson())}, {"x": [1, 2, 1.5, 3]}),
         r"holds 1\.5 in row 2, where Hurdle needs a count"),
        (lambda: of(Mixture([LogNormal(), Exponential()]), {"x": [1.0, 0, 2, 3]}), "where Mixture needs a positive"),
        (lambda: of({"x": GammaKnownShape(shape=0.0)}),
         "feature 'x': Expected shape to be one positive number, or one for"),
        (lambda: of({"n": NegativeBinomial(r=[1.0, 2.0])}),
         "feature 'n': Expected r to be one positive number, or one for"),
        (lambda: of({"x": PolyaTree(edges=[1.0, 1.0])}), "increase"),
        (lambda: of({"x": PolyaTree(edges=list(range(64)))}), "at most 63 edges; got 64"),
        *((lambda order=order: Ordinal(order=order), "Expected different levels from the lowest to the highest")
          for order in ("abc", ["a", "a"], [])),
        (lambda: of({"v": Ordinal()}, {"v": np.arange(65)}, [0] * 65), "at most 64 levels; got 65: use PolyaTree"),
        (lambda: of({"v": Ordinal(order=["a", "b"])}, {"v": list("abab")}, unseen="new"),
         "column 'v': a level that is reserved for new ones has no place"),
        *((lambda told=told: BetaTree(**told), f"Expected {next(iter(told))} to be")
          for told in ({"strength": 0.0}, {"growth": -1.0}, {"near": np.inf}, {"stop": 1.5})),
        (lambda: of({"v": Ordinal()}, {"v": list("abab")}),
         "holds text, whose order is not known: name its levels from the"),
        (lambda: of({"v": Ordinal()}, {"v": [np.nan] * 4}), "column 'v' holds no value"),
        (lambda: of({"v": Ordinal(order=["a", "c"])}, {"v": list("abab")}),
         "'b' in row 1, which is not among its ordered"),
        (lambda: of({"v": Ordinal(order=["1", "2"])}, {"v": [1, 2, 1, 2]}),
         "1 in row 0, which is not among its ordered"),
        (lambda: of({"v": HierarchicalCategorical(alpha={"p": 1.0})}, {"v": list("pqpq")}),
         "every level; got none for 'q'"),
        (lambda: of({"v": HierarchicalCategorical(alpha=[0.0, 1.0])}, {"v": list("pqpq")}), "above 0 for every level"),
        (lambda: SharedGaussian(NormalWishart.shared()), "Expected one prior of the covariance"),
        (lambda: nb.odds.log_odds(of("shared-gaussian"), NUMBERS), "SharedGaussian shares parameters between classes"),
        (lambda: of("shared-gaussian", dependence="weighted"), "SharedGaussian shares parameters between classes"),
        (lambda: of("shared-gaussian").to_pymc(), "SharedGaussian shares parameters between classes"),
        (lambda: of(Mixture([Poisson(), NegativeBinomial()]), COUNTED).to_pymc(COUNTED, [0, 1, 0, 1], "joint"),
         'use likelihood="rows" or "sufficient"'),
        (lambda: of("shared-gaussian", y=[0, 1, None, 1]), "SharedGaussian shares parameters between classes"),
        (lambda: credal(of("shared-gaussian")), "SharedGaussian shares parameters between classes"),
        (lambda: conformal(of("shared-gaussian"), NUMBERS, [0, 1, 0, 1], method="full"),
         "SharedGaussian shares parameters between classes"),
        (lambda: nb.Missing(3), "Missing of a family"),
        (lambda: nb.Missing(BestFamily()), "Missing of a family"),
        (lambda: nb.Missing(prior=Dirichlet()), "to be a Beta"),
        (lambda: nb.Missing(MultivariateGaussian()), "reads its columns together"),
        (lambda: of({"x": "missing"}, NUMBERS.assign(**{"x is missing": 1})),
         "'x is missing', as the one of Missing would"),
        (lambda: of("missing", sparse.csr_array(np.eye(4))), "a sparse matrix"),
        *((lambda family=family: of(family, sparse.csr_array(np.eye(4))), f"{type(family).__name__}: .* give it dense")
          for family in (PolyaTree(), LogNormal(), Poisson(), Hurdle(), StudentT())),
        (lambda: of("gaussian", sparse.csr_array([[0, np.inf], [1, 0], [0, 2], [3, 0]])),
         "column 'x1' of the sparse matrix holds inf in row 0"),
        (lambda: StudentT(nu=-1), "nu to be positive"),
        (lambda: StudentT(m=np.nan), "m to be finite"),
        (lambda: StudentT(draws=0), "draws to be a whole number, 1 or more"),
        (lambda: StudentT(target_accept=1.0), "target_accept to lie between 0 and 1"),
        (lambda: StudentT(burn=3), "burn"),
        (lambda: HierarchicalGaussian(between=-1.0), "between to be positive"),
        (lambda: HierarchicalCategorical(strength=0), "strength to be positive"),
        (lambda: FromPyMC("Normal", {}), "Expected a PyMC distribution class"),
        (lambda: FromPyMC(pm.Normal, {"mu": 0.0, "sigma": 1.0}), "a prior for at least one parameter"),
        (lambda: FromPyMC(pm.Normal, {"mu": "HalfNormal"}), "Expected the prior of 'mu'"),
        (lambda: FromPyMC(pm.Normal, [1]), "Expected priors as"),
        (lambda: FromPyMC(pm.Normal, {"mean": (pm.Normal, {})}), "Normal has no parameter 'mean'; it has .'mu', "),
        (lambda: FromPyMC(pm.Normal, {"mu": (pm.Gamma, {"a": 1})}), "Gamma has no parameter 'a'"),
        (lambda: FromPyMC(pm.Normal, NORMAL, reads="levels"), "reads to be one of .*'reals', .*'counts'.*got 'levels'"),
        (lambda: Mixture([StudentT(), Gaussian()]), "families with a closed form"),
        (lambda: of("shared-gaussian", estimate="mean").loo(NUMBERS, [0, 1, 0, 1]),
         "no closed form for leave-one-out of estimate"),
    ],
    "priors": [
        (lambda: Dirichlet.m_estimate(3, [0.5, 0.4]), "probabilities p to sum to 1"),
        (lambda: Dirichlet.m_estimate(3, [1.5, -0.5]), "probabilities p to sum to 1"),
        (lambda: Beta.m_estimate(3, 1.2), "p between 0 and 1; got .*1.2"),
        (lambda: FixedProbabilities([0.5, 0.4]), "class prior: Expected probabilities that sum to 1"),
        (lambda: Dirichlet({"a": np.nan}), "alpha to be finite and not negative"),
        (lambda: Beta(1.0, np.inf), "beta to be finite and not negative"),
        (lambda: Gamma(-2.0), "alpha to be finite and not negative"),
        (lambda: NormalGamma(kappa=-1.0), "kappa to be finite and not negative"),
        (lambda: NormalGamma(m=np.nan), "m to be finite"),
        (lambda: Normal(0.0, -1.0), "v not to be negative"),
        (lambda: Dirichlet(1.0, per="row"), "per to be 'level', 'class', 'feature' or 'pooled'; got 'row'"),
        (lambda: Dirichlet([1.0, 2.0], per="class"), "one number for alpha per class"),
        (lambda: Beta(per="level"), "per to be 'class', 'feature' or 'pooled'; got 'level'"),
        (lambda: of({"v": Categorical(Dirichlet({"p": 1, "r": 1}))}, {"v": list("pqpr")}),
         "a concentration for every level; got none for 'q'"),
        (lambda: of({"v": Categorical(Dirichlet([1, 2, 3]))}, {"v": list("pqpq")}),
         r"fit 2 classes and the 2 levels .*got shape \(3,\)"),
        (lambda: Dirichlet([[1.0, 1.0], [0.0, 0.0]]).mean(), "A mean needs a proper Dirichlet"),
        (lambda: Dirichlet(1.0).mean(), "how many levels there are is not known yet"),
        (lambda: Gamma([1, 2, 3]).over(np.ones(2), 2), r"prior of shape \(2, 2\).*got \(3,\)"),
        (lambda: Beta(np.ones((3, 1))).over(2, 2), r"prior of shape \(2, 2\).*{class: prior}"),
        (lambda: Beta.from_quantiles(0.6, 0.2), "from a number to a larger one"),
        (lambda: Beta.from_quantiles(-0.1, 0.2), "within 0 and 1"),
        (lambda: Gamma.from_quantiles(0.0, 2.0), "above 0"),
        (lambda: Normal.from_quantiles(0.0, 2.0, share=90), "share to be between 0 and 1"),
        (lambda: NormalGamma.from_rows(3, [1.0, np.nan]), "one finite number or more"),
        (lambda: NormalGamma.from_rows(0, [1.0]), "the number of rows that the prior is worth"),
        (lambda: Dirichlet.from_rows(3, []), "one row or more; got none"),
        (lambda: Gaussian({0: NormalGamma.learned(), 1: NormalGamma()}), "a learned prior is one for all classes"),
        *((lambda p=p: of(None, class_prior=p), "class prior: .*(give a concentration|is a prior of columns)")
          for p in (Dirichlet.learned(), Dirichlet.pooled(3.0))),
        (lambda: NormalWishart(scale=[[1.0, 2.0], [2.0, 1.0]]), "Expected scale to be a covariance matrix"),
        (lambda: NormalWishart(scale="pooled"), 'Expected scale to be a matrix, "shared" or None'),
        (lambda: NormalWishart(dof=None), 'dof=None is learned around the shared covariance: scale="shared"'),
        (lambda: NormalWishart(dof=-1.0), "Expected dof to be finite and not negative"),
        (lambda: NormalWishart(m=[np.nan, 0.0]), "Expected m to be finite"),
        (lambda: of(MultivariateGaussian(NormalWishart(scale=np.eye(2)))), r"Expected a prior of shape \(2, 3, 3\)"),
        *((lambda w=w: reliability_weights(w), "Expected one finite weight of 0 or more")
          for w in ([1.0, -1.0], [0.0, 0.0], [[1.0], [2.0]])),
    ],
    "presets": [
        (lambda: nb.presets.sklearn(alpha=-1), "alpha: Expected a number of 0 or more; got -1"),
        (lambda: nb.presets.sklearn(model="ComplementNB"), "model: Expected one of .*; got 'ComplementNB'"),
        (lambda: nb.presets.e1071(threshold=0.001), "threshold: Expected 0, because no probability is ever replaced"),
        (lambda: nb.presets.e1071(eps=1e-9), "eps: Expected 0"),
        (lambda: nb.presets.klar(usekernel=True), "usekernel: Expected False"),
        (lambda: nb.presets.spark(model_type="complement"), "model_type: Expected one of .*; got 'complement'"),
        (lambda: nb.presets.spark(smoothing=None), "smoothing: Expected a number of 0 or more; got None"),
        (lambda: Gaussian(var_smoothing=-1.0), "Expected var_smoothing to be a number of 0 or more"),
        (lambda: nb.presets.weka().fit(sparse.csr_array(np.eye(3)), [0, 1, 1]), "no family for sparse matrices"),
        (lambda: ByType(number=PolyaTree()), "number: PolyaTree takes something from the rows"),
        (lambda: ByType(text=Gaussian()), r"text: Gaussian cannot read these columns; see Categorical\(\)"),
        (lambda: ByType(number="gaussian"), "number: Expected a family"),
        (lambda: nb.presets.sklearn().fit({"numbers": ["a", "b", "a"], "x": [1.5, 2.0, 3.0]}, [0, 0, 1]),
         "a column is called 'numbers'"),
        (lambda: nb.presets.weka().fit(HEIGHTS, SEX).save("weka.bayesnb"), "RoundedGaussian"),
        (lambda: nb.presets.weka().fit(HEIGHTS, SEX).predict_interval(HEIGHTS), "Weka's rule gives a single estimate"),
    ],
    "pictures": [
        (lambda: plots.class_probability(np.zeros((5, 3)), ["a", "b"]), "draws .draw, row, class."),
        (lambda: plots.class_probability(np.zeros((5, 3, 2)), ["a", "b", "c"]), "3 classes; got shape"),
        (lambda: plots.class_probability(np.zeros((5, 3, 2)), ["a", "b"], rows=[3]), r"0 to 2.*\[3\]"),
        (lambda: plots.class_probability(np.zeros((5, 30, 2)), ["a", "b"], rows=[*range(25)]), "at most 24 rows"),
        (lambda: plots.map_against_bayes(np.zeros((3, 2)), np.zeros((4, 2))), r"\(3, 2\) and \(4, 2\)"),
        (lambda: plots.map_against_bayes(np.full((3, 2), np.nan), np.zeros((3, 2))), "gives every row probability 0"),
        (lambda: plots.map_against_bayes(pd.DataFrame({"x": [1]})), "'map'"),
        (lambda: plots.reliability(np.zeros(3), np.zeros(3, int)), r"\(3,\)"),
        (lambda: plots.reliability(forecast, np.array([0, 1, 2])), r"0 to 1; got \[0, 1, 2\]"),
        (lambda: plots.reliability(forecast + 1, np.zeros(3, int)), "between 0 and 1"),
        (lambda: plots.reliability(forecast, np.zeros(3, int), 0), "bins"),
        (lambda: plots.ledger(tennis().explain(TENNIS[:2])), "one row; got 2 rows.*loc"),
        (lambda: plots.ledger(TENNIS), r"write plots\.ledger\(clf\.explain\(row\)\)"),
        (lambda: plots.decision_regions(ILL, {"x": [1.0]}, ["ill"], features=("x", "x")), "two different columns"),
        (lambda: plots.decision_regions(ILL, {"x": [1.0]}, ["ill"], features=("x", "w")), "'w' was not fitted"),
        (lambda: plots.decision_regions(tennis(), TENNIS, PLAY, features=("wind", "outlook")),
         "real numbers; 'wind' is read"),
        (lambda: plots.class_probability(np.zeros((5, 3, 2)), ["a", "b"], predictive=np.zeros((2, 2))),
         r"shape \(3, 2\)"),
        (lambda: plots.map_against_bayes(np.zeros((3, 2)), np.zeros((3, 2)), ["a"]), r"2 classes; got \['a'\]"),
        (lambda: plots.ledger(tennis().explain(TENNIS[:1]), entries=0), "entries to be a whole number, 1 or more"),
        (lambda: plots.ledger(tennis().explain(TENNIS[:1])[:3]), r"from '\(prior\)' to '\(total\)'"),
        (lambda: plots.uncertainty_scatter(pd.DataFrame({"x": [1]})), r"write plots\.uncertainty_scatter\(clf\.unc"),
        (lambda: plots.uncertainty_scatter(tennis().uncertainty(TENNIS, draws=50)[:0]), "at least one row; got none"),
        (lambda: plots.decision_regions(HIGH, HEIGHTS, SEX, BOTH, response="proba"),
         "'entropy' or 'class'; got 'proba'"),
        (lambda: plots.decision_regions(HIGH, HEIGHTS, SEX, BOTH, grid_resolution=1), "2 or more; got 1"),
        (lambda: plots.decision_regions(HIGH, HEIGHTS, ["dodo"] * 40, BOTH), "'dodo' was never learned"),
        (lambda: plots.decision_regions(HIGH, HEIGHTS.assign(height_cm=np.nan), SEX, BOTH), "no row has both"),
        (lambda: plots.reliability(forecast, np.zeros(3, int), 10, 2), "code"),
        (lambda: plots.independence(nb.checks.independence(ILL, *FOUR)), "at least one pair"),
        (lambda: nb.checks.sensitivity(ILL, FOUR[0], pd.Series(FOUR[1])), "'rows'; got a value of type Series$"),
        (lambda: nb.design.label_next(ILL, FOUR[0], pd.Series(FOUR[1])), "4; got a value of type Series$"),
        (lambda: plots.decision_regions(HIGH, HEIGHTS, SEX[:3], BOTH), "X has 40 rows and y has 3"),
        (lambda: plots.prior_posterior(of(None, 1.5 * np.eye(4, 30) + 0.2).sample_posterior(5, 2), "mu_gaussian"),
         r"30 panels.*mu_gaussian, x0"),
        (lambda: plots.prior_posterior(tree(), "theta_rain"), "Expected a variable of the tree, one of .*'theta_rain'"),
        (lambda: plots.prior_posterior(tree(), "theta_wind", wind="weak"), "Expected a dimension of 'theta_wind'"),
        (lambda: plots.prior_posterior(tree(), "theta_wind", wind_category="calm"), "wind_category to be of .*'calm'"),
    ],
    "rows without a label": [
        (lambda: of(None, y=[None] * 4), "no row has a label: y is missing everywhere.*{class: prior}"),
        (lambda: of(None, y=[None] * 4, class_prior={"a": 0.3, "b": 0.7}),
         "'a' and 'b' have no labelled row and the same"),
        (lambda: of({"x": Gaussian(NormalGamma.reference())}, y=["a", "b", "b", None]), "feature 'x', class 'a'"),
        *((lambda w=w: of(None, unlabelled=nb.Unlabelled(weight=w)), "weight of unlabelled rows") for w in (-1.0,
         "half")),
        *((lambda s=s: of(None, unlabelled=nb.Unlabelled(starts=s)), "starts to be a whole number")
          for s in (0, 1.5, True)),
        (lambda: partly().log_evidence_,
         "marginal likelihood.*expected counts of unlabelled rows.*labelled rows alone"),
        (lambda: partly().loo(TENNIS, PLAY),
         "leave-one-out is exact.*expected counts of unlabelled rows.*labelled rows alone"),
        (lambda: partly().forget(TENNIS, PLAY),
         "forget is exact.*expected counts of unlabelled rows.*labelled rows alone"),
        (lambda: partly().verify(TENNIS), r"learned as expected counts.*verify\(learned=\(X, y\)\)"),
        (lambda: partly().sample_posterior(sampler="gibbs"), r"pass the learned rows.*sampler=\"gibbs\", X=X, y=y"),
        (lambda: partly().sample_posterior(sampler="gibbs", X=TENNIS[:9], y=SOME[:9]), "rows of weight 9 were given"),
        (lambda: BayesianNB(unlabelled=nb.Unlabelled(weight=0.5)).fit(TENNIS, SOME).sample_posterior(
            sampler="gibbs", X=TENNIS, y=SOME), r'weight=0.5\) .*sampler="nuts", or fit with Unlabelled\(weight=1\)'),
        (lambda: partly().to_pymc(TENNIS[:-1], SOME[:-1]), "rows of weight 13 were given and rows of weight 14"),
        (lambda: BayesianNB().fit(TENNIS, PLAY).merge(partly()).log_evidence_,
         "marginal likelihood.*expected counts of unlabelled rows"),
        (lambda: of({"x": StudentT()}, y=[0, 1, 0, None]), "feature 'x': StudentT is sampled .* for EM"),
        (lambda: partly().sample_posterior(sampler="gibbs", X=TENNIS, y=SOME, tune=-1),
         "tune to be a whole number, 0 or"),
    ],
    "data sets": [
        (lambda: datasets.load("penguin"), "no data set is named 'penguin'.* Did you mean 'penguins'"),
        (lambda: datasets.target("zzz"), f"no data set is named 'zzz'.*{datasets.names()[-1]}"),
    ],
    "learning": [
        (lambda: of(None).forget(NUMBERS, [0, 1, 0, 1]), r"all rows of all classes, .*partial_fit\(..., classes="),
        (lambda: BayesianNB({"x": Binned(3)}).fit(iter([NUMBERS]), "n"), r"Binned\(edges=\[...\]\)"),
        (lambda: BayesianNB().fit(NUMBERS, np.array([2, True, 3, 2], object)), "y holds bool.*, and int, .* row 0"),
        (lambda: tennis().score(TENNIS, SOME), "y is missing in .* a score needs the true class"),
        (lambda: of(None, y=[0, 1, 0, 1]).partial_fit(NUMBERS, list("0101")), "some classes are text, such as '0'"),
        (lambda: of(None, y=[0, 1, 0, 1]).merge(of(None, y=list("0101"))), "others int, such as 0: give all"),
        (lambda: tennis().classifier_.with_estimate("MAP"), "Expected estimate to be one of"),
        (lambda: nb.odds.log_odds(tennis(), TENNIS, "no", "yes"), r"log_odds\(\) takes from 2 to 3 positional"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("call", "text"),
    [pytest.param(*case, id=f"{what} {k}") for what, cases in REFUSED.items() for k, case in enumerate(cases)],
)
def test_what_cannot_be_answered_is_refused_in_these_words(call: Callable[[], Any], text: str) -> None:
    with pytest.raises((ValueError, TypeError, AttributeError), match=text):
        call()
