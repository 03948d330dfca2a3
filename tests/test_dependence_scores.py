"""Class probabilities are averaged over the exponents without random numbers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats
from scipy.special import expit, softmax

from bayesnb.dependence.exponents import Layout
from bayesnb.dependence.likelihood import Rows, derivatives
from bayesnb.dependence.scores import averaged, expected, nearest


@pytest.mark.parametrize("sd", [0.01, 1.0, 5.0, 20.0])
def test_two_classes_are_integrated_to_many_digits(sd: float):
    mean, covariance = np.array([[0.7, 0.0]]), np.array([[[sd**2, 0.0], [0.0, 0.0]]])
    found = np.exp(averaged(mean, covariance))[0, 0]
    peak = [0.7 - 5 * sd, 0.7, 0.0, 0.7 + 5 * sd]
    exact = integrate.quad(lambda z: expit(z) * stats.norm.pdf(z, 0.7, sd), -9 * sd, 9 * sd + 1, points=peak, limit=500)
    assert_allclose(found, exact[0], atol=1e-8 + 2 * np.exp(-2 * np.pi**2 / (0.1 * sd)))


@pytest.mark.parametrize("n", [3, 8])
def test_more_classes_are_integrated_to_the_stated_error_in_any_order(n: int):
    rng = np.random.default_rng(n)
    mean, root = 2 * rng.normal(size=(30, n)), rng.normal(size=(30, n, n)) * 1.5
    covariance = root @ root.swapaxes(1, 2) / n
    found = np.exp(averaged(mean, covariance))
    assert_allclose(found.sum(1), 1.0)
    z = rng.standard_normal((n, 40_000)) / np.sqrt(n)
    assert_allclose(found, softmax(mean[:, :, None] + root @ z, axis=1).mean(-1), atol=0.015)
    order = rng.permutation(n)
    again = np.exp(averaged(mean[:, order], covariance[:, order][:, :, order]))
    assert_allclose(again, found[:, order], atol=1e-12)
    p, both = expected(mean, covariance)
    assert_allclose(p, found, atol=1e-12)
    assert_allclose(both.sum(2), p, atol=1e-12)


def test_classes_whose_scores_are_alike_have_one_probability():
    """Of three classes two are alike, up to rounding, and a fourth only has the same mean."""
    mean = np.array([[0.3, -0.2, 0.3 + 1e-15, -0.2]])
    covariance = np.array([[2.0, 0.4, 0.7, 0.1], [0.4, 1.0, 0.4, 0.0], [0.7, 0.4, 2.0, 0.1], [0.1, 0.0, 0.1, 3.0]])
    found, (p, both) = np.exp(averaged(mean, covariance[None]))[0], expected(mean, covariance[None])
    z = np.linalg.cholesky(covariance) @ np.random.default_rng(0).standard_normal((4, 200_000))
    assert_allclose(found, softmax(mean.T + z, axis=0).mean(1), atol=0.004)
    assert_allclose(found[0], found[2], rtol=1e-12)
    assert_allclose(p[0], found, rtol=1e-9)
    assert_allclose(both[0, 0], both[0, 2][[2, 1, 0, 3]], rtol=1e-12)
    assert_allclose(both.sum(2), p, rtol=1e-12)
    ruled_out = np.array([[0.0, -np.inf, 0.0, -np.inf]])
    assert_allclose(np.exp(averaged(ruled_out, np.eye(4)[None]))[0], [0.5, 0.0, 0.5, 0.0], atol=1e-12)


def test_a_class_that_is_ruled_out_stays_so():
    found = np.exp(averaged(np.array([[0.0, -np.inf, 1.0]]), np.eye(3)[None]))
    assert found[0, 1] == 0
    assert_allclose(found.sum(), 1.0)


def test_the_nearest_normal_has_the_mean_of_a_skewed_posterior():
    terms = np.stack([np.zeros(6), np.array([1.0, 2.0, 1.5, 0.5, 1.0, 2.0])], axis=1)[:, :, None]
    rows = Rows(terms, np.zeros((6, 2)), np.ones(6, int), np.ones(6))
    mean, sd = np.zeros(3), np.array([3.0, 1e-3, 1e-3])
    layout = Layout(1, 2, np.array([1]))
    # One exponent: its posterior is an integral over one dimension.
    w = np.linspace(-20, 20, 4001)
    log_p = -0.5 * (w / 3) ** 2 + (terms[:, 1] * w - np.logaddexp(0, terms[:, 1] * w)).sum(0)
    weight = np.exp(log_p - log_p.max())
    exact = weight @ w / weight.sum()
    start = np.array([w[log_p.argmax()], 0.0, 0.0])
    information = derivatives(lambda: [rows], layout, start)[2]
    factor = np.linalg.cholesky(information + np.diag(1 / sd**2))
    found = nearest(lambda: [rows], layout, mean, sd, start, factor)
    spread = np.sqrt(weight @ (w - exact) ** 2 / weight.sum())
    assert abs(start[0] - exact) > 0.3 * spread
    assert abs(found.mean[0] - exact) < 0.05 * spread
