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
from bayesnb import BayesianNB, Binned, Categorical, Multinomial, Poisson
from bayesnb.errors import ImpossibleRowError, UnseenLevelWarning
from bayesnb.families import Exponential, GaussianKnownVariance, NegativeBinomial, PolyaTree

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


def test_what_is_not_an_ordinary_row_is_answered_by_the_classifier():
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


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"pulse": np.inf}, "column 'pulse' is infinite"),
        ({"pulse": "70"}, "column 'pulse'"),
        ({"smoker": 2}, "column 'smoker' holds 2"),
        ({"smoker": 0.5}, "column 'smoker' holds 0.5"),
        ({"visits": -1}, "column 'visits' holds -1"),
        ({"falls": 1.5}, "column 'falls' holds 1.5"),
        ({"grade": "one"}, "column 'grade' holds text"),
    ],
)
def test_a_value_that_its_column_cannot_have_is_refused_as_by_the_classifier(change, said):
    clf, X = fitted()
    with pytest.raises(ValueError, match=said):
        nb.deploy.compile(clf)(X.iloc[0].to_dict() | change)


def test_a_row_needs_a_value_for_each_column():
    clf, X = fitted()
    service, row = nb.deploy.compile(clf), X.iloc[0].to_dict()
    with pytest.raises(ValueError, match="Expected 8 values, one for each column; got 7"):
        service(list(row.values())[:7])
    with pytest.raises(TypeError, match=r"to_dict\(\) of a Series\); got Series"):
        service(X.iloc[0])
    del row["town"]
    with pytest.raises(ValueError, match="column 'town' was fitted and is not in this table"):
        service(row)


def test_a_row_whose_cells_are_lists_is_refused():
    # As many classes as columns: an array of one column could be taken for a value of each class.
    y = np.arange(12) % 3
    service = nb.deploy.compile(BayesianNB().fit(default_rng(3).normal(size=(12, 3)), y))
    with pytest.raises(ValueError, match="dim 3"):
        service([[1.0], [2.0], [0.0]])


def test_a_row_that_no_class_can_have_produced_is_refused():
    clf = BayesianNB(estimate="mle").fit({"a": ["x", "y"], "b": ["x", "y"]}, [0, 1])
    assert nb.deploy.compile(clf)(["x", "x"]).tolist() == [1.0, 0.0]
    with pytest.raises(ImpossibleRowError):
        nb.deploy.compile(clf)(["x", "y"])


def test_a_compiled_classifier_stays_as_it_was_and_can_be_pickled():
    clf, X = fitted()
    service, row = nb.deploy.compile(clf), X.iloc[0].tolist()
    before = service(row)
    clf.partial_fit(X[:9], ["u"] * 9)
    assert_array_equal(service(row), before)
    assert_array_equal(pickle.loads(pickle.dumps(service))(row), before)
    assert service.predict_proba([]).shape == (0, 3)
    assert repr(service) == "CompiledClassifier(8 columns, classes ['u', 'v', 'w'])"


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ({"x": Exponential()}, "column 'x': Exponential cannot be compiled"),
        ({"x": PolyaTree()}, "column 'x': PolyaTree cannot be compiled"),
        ({"x": Binned(3)}, "column 'x': Categorical is cut into bins"),
        ({"n": Poisson(exposure="x")}, "column 'n': Poisson has an exposure"),
        ({"words": (Multinomial(), ["n", "m"])}, "column 'n': Multinomial cannot be compiled"),
    ],
)
def test_a_family_that_cannot_be_compiled_is_refused_with_its_column(features, said):
    X = pd.DataFrame({"x": [0.5, 1.5, 2.5, 3.0], "n": [1, 2, 3, 4], "m": [0, 1, 2, 3]})
    clf = BayesianNB(features).fit(X, [0, 1, 0, 1])
    with pytest.raises(ValueError, match=said):
        nb.deploy.compile(clf)


def test_what_is_more_than_naive_bayes_of_ordinary_numbers_is_refused():
    X, y = {"x": [1.0, 2.0, 3.0, 5.0]}, [0, 1, 0, 1]
    with pytest.raises(ValueError, match="with a dependence"):
        nb.deploy.compile(BayesianNB(dependence="tempered").fit({"x": [1.0, 2.0, 3.0, 5.0]}, y))
    with pytest.raises(ValueError, match="a compiled classifier needs one class prior"):
        nb.deploy.compile(nb.deploy.with_class_prior(BayesianNB().fit(X, y), [[0.5, 0.5], [0.1, 0.9]]))
