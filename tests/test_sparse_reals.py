"""A sparse matrix of real numbers says what the dense table says, and is never made dense as a whole."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from scipy import sparse

import bayesnb as nb
from bayesnb import BayesianNB, ByType, Gaussian
from bayesnb.families import GaussianKnownVariance

FAMILIES = {"Gaussian": Gaussian(), "GaussianKnownVariance": GaussianKnownVariance(variance=2.0)}


def table(n: int = 90, columns: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """A column far from 0 that is stored everywhere, others with many zeros, one without a value, and gaps."""
    rng = default_rng(0)
    x = np.where(rng.random((n, columns)) < 0.3, rng.normal(2.0, 1.5, (n, columns)), 0.0)
    x[:, 0], x[:, 4] = 1e6 + rng.normal(size=n), 0.0
    x[3, 1] = x[5, 0] = np.nan
    return x, rng.integers(0, 3, n)


def answers(clf: BayesianNB, X, y, weight) -> list[np.ndarray]:
    sampled = nb.draws.sample_proba(clf.set_params(random_state=7), X[:9], 4)
    left_out = clf.loo(X, y, weight).to_numpy(float)
    return [clf.predict_joint_log_proba(X), left_out, clf.uncertainty(X[:9]).to_numpy(), sampled]


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_sparse_matrix_of_reals_gives_the_answers_of_the_dense_table(family, weighted: bool):
    x, y = table()
    weight = default_rng(1).uniform(0.1, 3.0, len(y)) if weighted else None
    for estimate in ("predictive", "mean"):
        dense = BayesianNB(family, estimate=estimate).fit(x, y, weight)
        stored = BayesianNB(family, estimate=estimate).fit(sparse.csr_array(x), y, weight)
        for found, expected in zip(
            answers(stored, sparse.csc_matrix(x).tocsr(), y, weight), answers(dense, x, y, weight), strict=True
        ):
            assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        assert_allclose(stored.log_evidence_.conditional, dense.log_evidence_.conditional, rtol=1e-13)


def test_sparse_and_dense_rows_are_learned_unlearned_and_merged_together():
    x, y = table()
    S = sparse.csr_array(x)
    parts = BayesianNB(Gaussian()).fit(S[:30], y[:30]).partial_fit(x[30:50], y[30:50])
    parts.merge(BayesianNB(Gaussian()).fit(S[50:], y[50:]))
    whole = BayesianNB(Gaussian()).fit(x, y)
    assert_allclose(parts.predict_joint_log_proba(S), whole.predict_joint_log_proba(x), rtol=1e-12)
    parts.forget(S[:20], y[:20])
    rest = BayesianNB(Gaussian()).fit(x[20:], y[20:])
    assert_allclose(parts.predict_joint_log_proba(x), rest.predict_joint_log_proba(S), rtol=1e-12)


def test_unlabelled_rows_and_exponents_are_learned_from_sparse_reals():
    x, y = table()
    S, some = sparse.csr_array(x), np.where(np.arange(len(y)) % 3 == 0, np.nan, y)
    for settings, labels in (({}, some), ({"dependence": "weighted"}, y)):
        found = BayesianNB(Gaussian(), **settings).fit(S, labels).predict_proba(S)
        assert_allclose(found, BayesianNB(Gaussian(), **settings).fit(x, labels).predict_proba(x), atol=1e-11)


def test_single_columns_and_types_of_a_sparse_matrix_may_be_gaussian():
    x, y = table()
    S = sparse.csr_array(np.nan_to_num(x))
    two = {"far": (Gaussian(), ["x0"]), "rest": (GaussianKnownVariance(), ["x1", "x2", "x3", "x4", "x5"])}
    for features in (two, ByType(sparse=Gaussian())):
        named = two if features is two else Gaussian()
        expected = BayesianNB(named).fit(S.toarray(), y).predict_proba(S.toarray())
        assert_allclose(BayesianNB(features).fit(S, y).predict_proba(S), expected, atol=1e-12)


@pytest.mark.slow
def test_a_sparse_matrix_that_fits_into_no_memory_is_learned_and_predicted():
    rng, n, columns = default_rng(2), 200_000, 50_000
    at = rng.integers(0, n, 20_000), rng.integers(0, columns, 20_000)
    y = rng.integers(0, 2, n)
    S = sparse.csr_array((1.0 + y[at[0]], at), shape=(n, columns))  # 80 GB as a dense table
    clf = BayesianNB(Gaussian()).fit(S, y)
    s = clf.classifier_.statistics.features["x"]
    assert_allclose(s.n.sum(0), n)
    assert_allclose((s.n * s.mean).sum(), S.sum(), rtol=1e-12)
    assert clf.predict_proba(S[:1000]).shape == (1000, 2)
