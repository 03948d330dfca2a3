"""Four naive Bayes classifiers of scikit-learn are special cases of this one, and its tools work with this one.

The four are plug-ins: GaussianNB without variance smoothing is maximum likelihood, the other three are posterior
means whose concentration is their ``alpha``. All of them count frequencies for the class prior.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, StandardScaler

from bayesnb import BayesianNB, Bernoulli, Beta, Categorical, Dirichlet, Gaussian, Multinomial, datasets
from bayesnb.errors import EncodedColumnsWarning

IRIS, WINE, DIGITS = (load(return_X_y=True) for load in (load_iris, load_wine, load_digits))
DIGITS = tuple(values[::4] for values in DIGITS)
ALPHAS = [0.01, 3.0]


def varying(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The columns that are constant in no class; a constant column has no variance to estimate."""
    return X[:, np.all([np.var(X[y == label], axis=0) > 0 for label in np.unique(y)], axis=0)]


def declared(X: np.ndarray) -> pd.DataFrame:
    """A table of codes with the levels that CategoricalNB gives them: all from 0 to the largest."""
    return pd.DataFrame(
        {f"x{k}": pd.Categorical(x.astype(int), categories=range(int(x.max()) + 1)) for k, x in enumerate(X.T)}
    )


def mean(features: Any, **settings: Any) -> BayesianNB:
    """The posterior mean plugged in, with frequencies for the class prior."""
    return BayesianNB(features, **{"class_prior": "frequencies", "estimate": "mean"} | settings)


def assert_same(ours: BayesianNB, theirs: Any, X: Any, X_theirs: Any = None) -> None:
    """Check that the logarithms of the class probabilities agree to ten digits."""
    X_theirs = X if X_theirs is None else X_theirs
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X_theirs), rtol=1e-10, atol=1e-10)


def assert_same_joint(ours: BayesianNB, theirs: Any, X: Any, X_theirs: Any = None) -> None:
    X_theirs = X if X_theirs is None else X_theirs
    found, expected = ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X_theirs)
    assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


# The four of them on tables that everybody knows


@pytest.mark.parametrize(
    "table", [IRIS, WINE, (varying(DIGITS[0][::4], DIGITS[1][::4]), DIGITS[1][::4])], ids=["iris", "wine", "digits"]
)
def test_gaussian_nb_without_smoothing_is_maximum_likelihood(table):
    X, y = table
    ours = BayesianNB(class_prior="frequencies", estimate="mle").fit(X, y)
    theirs = GaussianNB(var_smoothing=0).fit(X, y)
    assert_same(ours, theirs, X)
    assert_same_joint(ours, theirs, X)
    assert ours.predict(X).tolist() == theirs.predict(X).tolist()


@pytest.mark.parametrize("alpha", ALPHAS)
def test_categorical_nb_is_the_mean_under_a_dirichlet(alpha):
    X, y = DIGITS
    ours = mean(Categorical(Dirichlet(alpha))).fit(declared(X), y)
    theirs = CategoricalNB(alpha=alpha).fit(X, y)
    assert_same(ours, theirs, declared(X), X)
    assert_same_joint(ours, theirs, declared(X), X)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_bernoulli_and_multinomial_nb_are_the_mean_under_a_beta_and_a_dirichlet(container, alpha):
    X, y = container((DIGITS[0] > 7).astype(float)), DIGITS[1]
    ours, theirs = mean(Bernoulli(Beta(alpha, alpha))).fit(X, y), BernoulliNB(alpha=alpha).fit(X, y)
    assert_same(ours, theirs, X)
    assert_same_joint(ours, theirs, X)
    words = container(DIGITS[0])
    assert_same(mean(Multinomial(Dirichlet(alpha))).fit(words, y), MultinomialNB(alpha=alpha).fit(words, y), words)


@pytest.mark.parametrize("family", [Categorical(), Bernoulli()])
def test_the_predictive_of_a_single_trial_is_the_plug_in_of_the_posterior_mean(family):
    X, y = (DIGITS[0] > 7).astype(int), DIGITS[1]
    full, plug_in = (mean(family, estimate=estimate).fit(X, y) for estimate in ("predictive", "mean"))
    assert_allclose(full.predict_log_proba(X), plug_in.predict_log_proba(X), rtol=1e-12)


# Their class priors

LOPSIDED = np.arange(1, 11) / 55
PAIRS = {
    "gaussian": (BayesianNB(estimate="mle"), GaussianNB(var_smoothing=0), varying(*DIGITS)),
    "categorical": (mean(Categorical(Dirichlet(0.5))), CategoricalNB(alpha=0.5), np.minimum(DIGITS[0], 1).astype(int)),
    "bernoulli": (mean(Bernoulli(Beta(0.5, 0.5))), BernoulliNB(alpha=0.5), (DIGITS[0] > 7).astype(float)),
    "multinomial": (mean(Multinomial(Dirichlet(0.5))), MultinomialNB(alpha=0.5), DIGITS[0]),
}


@pytest.mark.parametrize(("ours", "theirs", "X"), PAIRS.values(), ids=PAIRS)
def test_a_given_class_prior_gives_the_same_probabilities_as_scikit_learn(ours, theirs, X):
    y = DIGITS[1]
    ours = clone(ours).set_params(class_prior=LOPSIDED).fit(X, y)
    name = "priors" if isinstance(theirs, GaussianNB) else "class_prior"
    assert_same(ours, clone(theirs).set_params(**{name: LOPSIDED}).fit(X, y), X)


@pytest.mark.parametrize(("ours", "theirs", "X"), list(PAIRS.values())[1:], ids=list(PAIRS)[1:])
def test_fit_prior_false_equals_a_uniform_class_prior(ours, theirs, X):
    kept = np.arange(len(X)) >= DIGITS[1] * 20  # so that large digits are rarer than small ones
    X, y = X[kept], DIGITS[1][kept]
    uniform = clone(ours).set_params(class_prior="uniform").fit(X, y)
    assert_same(uniform, clone(theirs).set_params(fit_prior=False).fit(X, y), X)
    assert np.abs(uniform.predict_log_proba(X) - clone(ours).fit(X, y).predict_log_proba(X)).max() > 0.01


# Random tables, random weights

LABELS = np.array(["ant", "bee", "cow"])
weights = st.floats(1 / 8, 8)


@st.composite
def random_tables(draw, elements: st.SearchStrategy, unique: bool = False):
    """(X, y, sample_weight): two or more rows of each of three classes."""
    n = draw(st.integers(6, 15))
    X = draw(arrays(float, (n, draw(st.integers(1, 4))), elements=elements, unique=unique))
    y = LABELS[draw(st.permutations([i % 3 for i in range(n)]))]
    return X, y, draw(arrays(float, n, elements=weights))


def levels_up_to(highest: int) -> st.SearchStrategy:
    return random_tables(st.integers(0, highest).map(float))


THIN_OR_DENSE = st.sampled_from([np.asarray, sparse.csr_array])
# For each classifier of scikit-learn: ours and theirs with a concentration, tables, how ours is given a table, and
# whether the joint probabilities are the same too.
KINDS = {
    "gaussian": (
        lambda alpha: BayesianNB(class_prior="frequencies", estimate="mle"), lambda alpha: GaussianNB(var_smoothing=0),
        random_tables(st.integers(-2000, 2000).map(lambda k: k / 4), unique=True), st.just(np.asarray), True,
    ),
    "categorical": (
        lambda alpha: mean(Categorical(Dirichlet(alpha))), lambda alpha: CategoricalNB(alpha=alpha),
        levels_up_to(3), st.just(declared), True,
    ),
    "bernoulli": (
        lambda alpha: mean(Bernoulli(Beta(alpha, alpha))), lambda alpha: BernoulliNB(alpha=alpha),
        levels_up_to(1), THIN_OR_DENSE, True,
    ),
    "multinomial": (
        lambda alpha: mean(Multinomial(Dirichlet(alpha))), lambda alpha: MultinomialNB(alpha=alpha),
        levels_up_to(9), THIN_OR_DENSE, False,
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:sample_weight has fractions and counts")
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), alpha=weights)
@settings(max_examples=25)
def test_each_classifier_of_scikit_learn_is_a_special_case_on_random_tables(kind, data, alpha):
    ours, theirs, tables, containers, joint = KINDS[kind]
    (X, y, weight), container = data.draw(tables), data.draw(containers)
    read = X if container is declared else container(X)
    fitted = ours(alpha).fit(container(X), y, weight), theirs(alpha).fit(read, y, weight)
    assert_same(*fitted, container(X), read)
    if joint:
        assert_same_joint(*fitted, container(X), read)


# Among their tools


def test_a_pipeline_of_a_vectorizer_and_the_classifier_finds_spam():
    X, y = datasets.posts()
    pipe = make_pipeline(CountVectorizer(token_pattern=r"\S+"), BayesianNB()).fit(X["text"], y)
    assert pipe.predict(["what a silly clown", "a good read thank you"]).tolist() == ["yes", "no"]
    alone = BayesianNB().fit(pipe[0].transform(X["text"]), y)
    assert_allclose(pipe.predict_proba(X["text"]), alone.predict_proba(pipe[0].transform(X["text"])), rtol=1e-12)


def test_a_grid_search_chooses_the_prior():
    X, y = sparse.csr_array(DIGITS[0][:300]), DIGITS[1][:300]
    pipe = make_pipeline(Binarizer(threshold=7), BayesianNB())
    priors = [Bernoulli(Beta.laplace(alpha)) for alpha in (1e-6, 1, 1000)]
    search = GridSearchCV(pipe, {"bayesiannb__features": priors}, scoring="neg_log_loss", cv=3).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert search.best_params_["bayesiannb__features"] is priors[1]
    assert scores[1] > max(scores[0], scores[2]) + 0.1
    assert float(search.best_estimator_[-1].features.prior.alpha) == 1


def test_a_column_transformer_passes_names_and_types_on():
    X, y = datasets.penguins()
    numbers = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    scaled = ColumnTransformer(
        [("scaled", StandardScaler(), numbers)], remainder="passthrough", verbose_feature_names_out=False
    )
    with pytest.warns(EncodedColumnsWarning, match=r"4 columns \('bill_length_mm', .* have mean 0 and variance 1"):
        pipe = make_pipeline(scaled.set_output(transform="pandas"), BayesianNB()).fit(X, y)
    clf = pipe[-1]
    assert clf.feature_names_in_.tolist() == [*numbers, "island", "sex", "year"]
    assert clf.describe()["family"].to_dict() == dict.fromkeys([*numbers, "year"], "Gaussian") | {
        "island": "Categorical",
        "sex": "Categorical",
    }
    # The default prior has the units of its column, so a change of units changes nothing.
    assert_allclose(pipe.predict_proba(X), BayesianNB().fit(X, y).predict_proba(X), rtol=1e-9)


def test_weights_are_routed_through_cross_validation():
    X, y = WINE
    weight = np.random.default_rng(0).integers(1, 6, len(y)).astype(float)
    folds = StratifiedKFold(3)
    with sklearn.config_context(enable_metadata_routing=True):
        clf = BayesianNB(Gaussian()).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        found = cross_validate(clf, X, y, cv=folds, params={"sample_weight": weight}, return_estimator=True)
    for k, (train, test) in enumerate(folds.split(X, y)):
        by_hand = BayesianNB(Gaussian()).fit(X[train], y[train], sample_weight=weight[train])
        assert_allclose(found["estimator"][k].class_count_, np.bincount(y[train], weight[train]))
        assert found["estimator"][k].predict_proba(X).tolist() == by_hand.predict_proba(X).tolist()
        assert found["test_score"][k] == accuracy_score(y[test], by_hand.predict(X[test]), sample_weight=weight[test])


def test_a_notebook_shows_the_settings():
    html = BayesianNB(Gaussian(), estimate="mean")._repr_html_()
    assert "BayesianNB" in html
    assert "Gaussian(prior=NormalGamma(" in html
    assert "Not fitted" in html
    assert "Not fitted" not in BayesianNB().fit(*IRIS)._repr_html_()


def test_learning_and_predicting_do_not_change_a_sparse_matrix():
    """Its cells are out of order, and one of them is stored in two parts."""
    parts = np.array([1, 1, 1, 3, 1, 1]), np.array([2, 0, 0, 1, 1, 0]), np.array([0, 3, 4, 6])
    X = sparse.csr_array(tuple(part.copy() for part in parts), shape=(3, 3))
    BayesianNB().fit(X, ["a", "b", "a"]).predict(X)
    for found, before in zip((X.data, X.indices, X.indptr), parts, strict=True):
        assert found.tolist() == before.tolist()
