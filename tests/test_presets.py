"""The presets give the numbers of the libraries that they are named after.

scikit-learn is run here, and Spark on request. R and Weka are run by ``benchmarks/kin.py``; here their rules are
written out in a few lines of numpy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.stats import norm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB

import bayesnb as nb
from bayesnb import BayesianNB, datasets, presets

IRIS, WINE, DIGITS = (load(return_X_y=True) for load in (load_iris, load_wine, load_digits))
CANCER = load_breast_cancer(return_X_y=True)


def close(ours: BayesianNB, theirs: Any, X: Any, X_theirs: Any = None) -> None:
    X_theirs = X if X_theirs is None else X_theirs
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X_theirs), rtol=0, atol=1e-9)
    assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X_theirs), rtol=1e-9, atol=1e-9)


# scikit-learn


@pytest.mark.parametrize("var_smoothing", [0.0, 1e-9, 0.1])
@pytest.mark.parametrize("table", [IRIS, WINE, CANCER], ids=["iris", "wine", "cancer"])
def test_sklearn_adds_a_share_of_the_largest_variance_as_gaussian_nb_does(table, var_smoothing):
    X, y = table
    theirs = GaussianNB(var_smoothing=var_smoothing).fit(X, y)
    ours = presets.sklearn(var_smoothing=var_smoothing)
    close(ours.fit(X, y), theirs, X)
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    close(clone(ours).fit(frame, y), theirs, frame, X)
    close(
        clone(ours).set_params(features=presets.sklearn(0, var_smoothing, "GaussianNB").features).fit(frame, y),
        theirs,
        frame,
        X,
    )


def test_sklearn_reads_columns_that_are_constant_in_a_class_as_gaussian_nb_does():
    X, y = DIGITS
    close(presets.sklearn(model="GaussianNB").fit(X, y), GaussianNB().fit(X, y), X)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 3.0])
def test_sklearn_counts_levels_words_and_ones_as_its_three_other_classes_do(alpha):
    X, y = datasets.play_tennis()
    codes = X.apply(lambda column: column.astype("category").cat.codes)
    close(presets.sklearn(alpha).fit(X, y), CategoricalNB(alpha=alpha).fit(codes, y), X, codes)
    words, labels = DIGITS
    bag, ones = sparse.csr_matrix(words), (words > 7).astype(int)
    close(presets.sklearn(alpha).fit(bag, labels), MultinomialNB(alpha=alpha).fit(bag, labels), bag)
    counts = presets.sklearn(alpha, model="MultinomialNB")
    close(counts.fit(words, labels), MultinomialNB(alpha=alpha).fit(words, labels), words)
    close(presets.sklearn(alpha).fit(ones, labels), BernoulliNB(alpha=alpha).fit(ones, labels), ones)


def test_sklearn_multiplies_what_its_classes_say_of_a_table_of_mixed_types_and_counts_the_classes_once():
    X, y = datasets.penguins()
    known = X.notna().all(axis=1)
    X, y = X[known], y[known]
    numbers = X.select_dtypes("number")
    codes = X.drop(columns=numbers.columns).apply(lambda column: column.astype("category").cat.codes)
    reals, levels = GaussianNB().fit(numbers, y), CategoricalNB().fit(codes, y)
    joint = reals.predict_joint_log_proba(numbers) + levels.predict_joint_log_proba(codes)
    joint -= np.log(reals.class_prior_)
    ours = presets.sklearn().fit(X, y)
    assert_allclose(ours.predict_proba(X), np.exp(joint) / np.exp(joint).sum(1, keepdims=True), atol=1e-9)
    assert list(ours.describe().loc["numbers", ["family", "columns"]]) == ["Gaussian", numbers.shape[1]]


def test_variances_that_are_smoothed_survive_further_rows_a_file_and_many_columns(tmp_path):
    X, y = CANCER
    X = np.hstack([X, X + 1.0, X * 2])  # as many columns as are read in one stack
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    theirs = GaussianNB(var_smoothing=0.01).fit(X, y)
    parts = presets.sklearn(var_smoothing=0.01).partial_fit(frame[:100], y[:100]).partial_fit(frame[100:], y[100:])
    close(parts, theirs, frame, X)
    parts.save(tmp_path / "cancer.bayesnb")
    close(nb.load(tmp_path / "cancer.bayesnb"), theirs, frame, X)
    streamed = frame.assign(y=y)
    iterator = presets.sklearn(var_smoothing=0.01).fit(iter([streamed[:300], streamed[300:]]), "y")
    close(iterator, theirs, frame, X)


# e1071 and klaR


def as_in_r(X: pd.DataFrame, y: Any, laplace: float, prior: dict[str, float]) -> np.ndarray:
    """The rule of both R packages without their threshold: mean and sd of numbers, smoothed shares of levels."""
    joint = np.tile(np.log([prior[c] for c in sorted(prior)]), (len(X), 1))
    for k, c in enumerate(sorted(prior)):
        for column in X:
            x, own = X[column], X.loc[y == c, column].dropna()
            if pd.api.types.is_numeric_dtype(x) and x.dtype != bool:
                factor = norm(own.mean(), own.std(ddof=1)).logpdf(x)
            else:
                levels = x.dropna().unique()
                share = (own.value_counts().reindex(levels).fillna(0) + laplace) / (len(own) + laplace * len(levels))
                factor = np.log(x.map(share).astype(float))
            joint[:, k] += np.where(x.isna(), 0.0, factor)
    top = joint.max(axis=1, keepdims=True)
    return np.exp(joint - top) / np.exp(joint - top).sum(axis=1, keepdims=True)


def penguins_and_flags() -> tuple[pd.DataFrame, pd.Series]:
    X, y = datasets.penguins()
    return X.assign(large=X["body_mass_g"] > 4000, marked=(np.arange(len(X)) % 3 == 0).astype(int)), y


@pytest.mark.parametrize("laplace", [0.5, 2.0])
def test_e1071_and_klar_follow_the_rule_of_both_packages(laplace):
    X, y = penguins_and_flags()
    counted = (y.value_counts() / len(y)).to_dict()
    assert_allclose(presets.e1071(laplace).fit(X, y).predict_proba(X), as_in_r(X, y, laplace, counted), atol=1e-9)
    assert_allclose(presets.klar(fL=laplace).fit(X, y).predict_proba(X), as_in_r(X, y, laplace, counted), atol=1e-9)
    weights = {label: 1.0 + k for k, label in enumerate(sorted(counted))}
    given = {label: weight / 6 for label, weight in weights.items()}
    for prior in (weights, pd.Series(weights), list(weights.values())):
        found = presets.klar(prior, fL=laplace).fit(X, y).predict_proba(X)
        assert_allclose(found, as_in_r(X, y, laplace, given), atol=1e-9)


def test_without_smoothing_a_level_not_seen_in_a_class_excludes_the_class():
    X, y = datasets.play_tennis()
    overcast = X.assign(outlook="overcast")
    assert (presets.e1071().fit(X, y).predict_proba(overcast) == [0.0, 1.0]).all()


# Weka


def by_precision(X: np.ndarray, y: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Weka's rule for numbers, column by column and class by class, with its class prior."""
    labels = np.unique(y)
    joint = np.log([(np.sum(y == c) + 1) / (len(y) + len(labels)) for c in labels]) + np.zeros((len(asked), 1))
    for column, values in zip(X.T, asked.T, strict=True):
        h = (column.max() - column.min()) / (len(np.unique(column)) - 1)
        for k, c in enumerate(labels):
            rounded = np.rint(column[y == c] / h) * h
            sd = max(rounded.std(), h / 6)
            # Below the mean, where a difference of distribution functions keeps its digits.
            away = -np.abs(np.rint(values / h) * h - rounded.mean())
            joint[:, k] += np.log(norm.cdf((away + h / 2) / sd) - norm.cdf((away - h / 2) / sd))
    return np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)


@pytest.mark.parametrize("columns", [slice(0, 4), slice(2, 3)], ids=["all", "one"])
def test_weka_rounds_numbers_to_the_mean_gap_and_asks_for_an_interval(columns):
    X, y = IRIS
    X = X[:, columns]
    expected = by_precision(X, y, X)
    assert_allclose(presets.weka().fit(X, y).predict_proba(X), expected, atol=1e-9)
    frame = pd.DataFrame(X).add_prefix("x")
    parts = presets.weka().partial_fit(frame[:70], y[:70]).partial_fit(frame[70:], y[70:])
    assert_allclose(parts.predict_proba(frame), expected, atol=1e-9)


def test_weka_smooths_levels_and_classes_by_one():
    X, y = datasets.play_tennis()
    assert_allclose(presets.weka().fit(X, y).predict_proba(X), BayesianNB().fit(X, y).predict_proba(X), atol=1e-15)


def test_weka_keeps_a_deviation_of_a_sixth_of_the_precision_and_no_floor_under_probabilities():
    clf = presets.weka().fit({"x": [1.0, 1.0, 3.0, 3.0]}, ["a", "a", "b", "b"])
    # h is 2, and 1 and 3 round to 0 and 4. At 1000 both probabilities are 0 as floats.
    assert_allclose(clf.posterior_.features["x"].theta["sigma"], 2 / 6)
    assert clf.predict_proba({"x": [1000.0]}).tolist() == [[0.0, 1.0]]


# Spark


def counts(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.poisson(1.5, (60, 5)).astype(float), rng.integers(0, 3, 60).astype(float)


def test_spark_smooths_words_and_classes_by_the_same_number():
    X, y = counts()
    for smoothing in (0.5, 1.0):
        prior = (np.bincount(y.astype(int)) + smoothing) / (len(y) + 3 * smoothing)
        theirs = MultinomialNB(alpha=smoothing, class_prior=prior).fit(X, y)
        close(presets.spark(smoothing).fit(X, y), theirs, X)
        ones = (X > 1).astype(float)
        theirs = BernoulliNB(alpha=smoothing, class_prior=prior).fit(ones, y)
        close(presets.spark(smoothing, "bernoulli").fit(ones, y), theirs, ones)
    close(presets.spark(model_type="gaussian").fit(*IRIS), GaussianNB().fit(*IRIS), IRIS[0])


@pytest.mark.spark
def test_spark_itself_gives_the_same_probabilities():
    pytest.importorskip("pyspark")
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.functions import vector_to_array
    from pyspark.ml.linalg import Vectors
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        X, y = counts()
        for kind, table in (("multinomial", (X, y)), ("bernoulli", ((X > 1).astype(float), y)), ("gaussian", IRIS)):
            rows = [(Vectors.dense(x), float(label)) for x, label in zip(*table, strict=True)]
            frame = session.createDataFrame(rows, ["features", "label"])
            found = NaiveBayes(modelType=kind, smoothing=0.7).fit(frame).transform(frame)
            theirs = [row[0] for row in found.select(vector_to_array("probability")).collect()]
            ours = presets.spark(0.7, kind).fit(*table)
            assert_allclose(ours.predict_proba(table[0]), theirs, rtol=0, atol=1e-9)
    finally:
        session.stop()


def test_a_grid_search_sets_the_priors_of_a_preset_by_name():
    clf = presets.sklearn().set_params(features__text__prior__alpha=2.0, features__number__var_smoothing=0.1)
    assert (clf.features.text.prior.alpha, clf.features.number.var_smoothing) == (2.0, 0.1)
    assert "var_smoothing=0.1" in repr(clf.features.number)


# What is refused
