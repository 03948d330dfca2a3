"""A compiled classifier answers as the classifier that it was made of, an ordinary row from its arrays alone."""

import pickle
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import mixed
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb import BayesianNB, Categorical, Poisson
from bayesnb.errors import UnseenLevelWarning
from bayesnb.families import GaussianKnownVariance, NegativeBinomial

FAMILIES = {
    "pulse": "gaussian",
    "scale": GaussianKnownVariance(variance=2.0),
    "grade": Categorical(),
    "visits": Poisson(),
    "falls": NegativeBinomial(r=2.0),
}
ESTIMATES = ["predictive", "mean", "map", "mle"]


def table(n: int, classes: int = 3) -> tuple[pd.DataFrame, np.ndarray]:
    """A column of each kind that can be compiled; every level and both of 0 and 1 occur in every class."""
    columns = {
        "pulse": "real", "town": "levels", "scale": "real", "smoker": "flag", "height": "spread", "grade": "levels",
        "visits": "count", "falls": "count",
    }  # fmt: skip
    X, y = mixed(n, "uvw"[:classes], columns, missing=0.0)
    return X.assign(smoker=X["smoker"].astype(int), grade=X["grade"].map({"a": 1, "b": 2, "c": 3})), y


def fitted(estimate: str = "predictive", classes: int = 3, **settings) -> tuple[BayesianNB, pd.DataFrame]:
    X, y = table(60, classes)
    return BayesianNB(FAMILIES, estimate=estimate, **settings).fit(X, y), X


def alone(service):
    """The same without the classifier that it may ask."""
    return replace(service, classifier=SimpleNamespace(schema=service.classifier.schema))


@pytest.mark.parametrize("estimate", ESTIMATES)
@pytest.mark.parametrize("classes", [1, 2, 3])
def test_the_arrays_alone_give_the_probabilities_of_the_classifier(estimate, classes):
    clf, X = fitted(estimate, classes)
    service = alone(nb.deploy.compile(clf))
    expected = clf.predict_proba(X)
    assert_allclose(service.predict_proba(X.to_numpy(object)), expected, rtol=1e-12, atol=1e-12)
    assert_allclose([service(row) for row in X.to_dict("records")], expected, rtol=1e-12, atol=1e-12)
    assert_array_equal(service.classes, clf.classes_)


@pytest.mark.parametrize("family", [None, "gaussian", "categorical", "bernoulli", "poisson", "negative-binomial"])
@pytest.mark.parametrize("class_prior", [None, [0.9, 0.1]])
def test_rows_of_an_array_without_names_are_answered(family, class_prior):
    rng = default_rng(1)
    X, y = rng.integers(2, size=(30, 6)).astype(float), np.arange(30) % 2
    X = X + (rng.normal(size=X.shape) if family in (None, "gaussian") else 0.0)
    clf = BayesianNB(family, class_prior=class_prior).fit(X, y)
    assert_allclose(alone(nb.deploy.compile(clf)).predict_proba(X), clf.predict_proba(X), rtol=1e-12)


def test_a_compiled_model_answers_unusual_rows_as_the_classifier_does():
    clf, X = fitted()
    service = nb.deploy.compile(clf)
    for column, value in [("pulse", np.nan), ("town", None), ("visits", 4000), ("falls", np.nan), ("pulse", 1e150)]:
        row = X.iloc[0].to_dict() | {column: value}
        expected = clf.predict_proba({name: [v] for name, v in row.items()})[0]
        assert_allclose(service(row), expected, rtol=1e-12)
        assert_allclose(service(list(row.values())), expected, rtol=1e-12)
    for value in (1e200, -1e-200):
        with pytest.raises(ValueError, match=r"column 'pulse' holds -?1e.200 in row 0, and .*: divide the column"):
            service(X.iloc[0].to_dict() | {"pulse": value})
    with pytest.warns(UnseenLevelWarning, match="'Genf'"):
        service(X.iloc[0].to_dict() | {"town": "Genf"})
    with pytest.warns(UserWarning, match=r"not fitted are ignored: \['id'\]"):
        assert_allclose(service(X.iloc[0].to_dict() | {"id": 7}), clf.predict_proba(X[:1])[0], rtol=1e-12)


def test_a_level_that_is_new_has_the_probability_of_new_levels():
    X, y = table(60)
    clf = BayesianNB({"town": Categorical()}, unseen="new").fit(X[["town"]], y)
    assert_allclose(nb.deploy.compile(clf)(["Genf"]), clf.predict_proba({"town": ["Genf"]})[0], rtol=1e-12)


def test_a_compiled_classifier_stays_as_it_was_and_can_be_pickled():
    clf, X = fitted()
    service, row = nb.deploy.compile(clf), X.iloc[0].tolist()
    before = service(row)
    clf.partial_fit(X[:9], ["u"] * 9)
    assert_array_equal(service(row), before)
    assert_array_equal(pickle.loads(pickle.dumps(service))(row), before)
    assert service.predict_proba([]).shape == (0, 3)
    assert repr(service) == "CompiledClassifier(8 columns, classes ['u', 'v', 'w'])"
