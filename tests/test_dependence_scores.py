"""Class probabilities are averaged over the exponents without random numbers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import expit, softmax

from bayesnb.dependence import scores
from bayesnb.dependence.exponents import Layout
from bayesnb.dependence.likelihood import Rows, derivatives
from bayesnb.dependence.scores import _sobol, averaged, expected, expected_derivatives, nearest


@pytest.mark.parametrize("sd", [0.0, 0.01, 1.0, 3.9, 4.1, 20.0, 300.0])
@pytest.mark.parametrize("center", [0.7, -12.0, 30.0])
def test_two_classes_are_integrated_to_many_digits(center: float, sd: float):
    mean, covariance = np.array([[center, 0.0]]), np.array([[[sd**2, 0.0], [0.0, 0.0]]])
    per_unit = int(max(10, 5 * sd))
    z = np.arange(-12 * per_unit, 12 * per_unit + 1) / per_unit
    weight, p = stats.norm.pdf(z) / per_unit, np.stack([expit(center + sd * z), expit(-center - sd * z)])
    assert_allclose(averaged(mean, covariance)[0], np.log(p @ weight), atol=1e-8)
    each, both = expected(mean, covariance)
    assert_allclose(each[0], p @ weight, atol=1e-9)
    assert_allclose(both[0], (p * weight) @ p.T, atol=1e-9)


def test_two_classes_in_the_other_order_have_the_same_probabilities_to_the_last_digits():
    rng = np.random.default_rng(0)
    mean, root = rng.normal(0, 8, (40, 2)), rng.normal(0, 4, (40, 2, 2))
    covariance = root @ root.swapaxes(1, 2)
    each, both = expected(mean, covariance)
    other, others = expected(mean[:, ::-1], covariance[:, ::-1, ::-1])
    assert_allclose(other[:, ::-1], each, rtol=0, atol=1e-15)
    assert_allclose(others[:, ::-1, ::-1], both, rtol=0, atol=1e-15)


def test_small_probabilities_of_two_classes_keep_their_digits():
    center, sd = np.linspace(-700.0, -20.0, 30), np.array([3.0, 5.0, 15.0])[:, None]
    # Far below 0 a logistic function is an exponential one, and P(u > 0) is small.
    exact = center + sd**2 / 2
    far = center + sd**2 < -6 * sd
    mean = np.column_stack([np.zeros(90), np.broadcast_to(center, (3, 30)).ravel()])
    covariance = np.zeros((90, 2, 2))
    covariance[:, 1, 1] = np.repeat(sd.ravel() ** 2, 30)
    assert far.sum() > 60
    assert_allclose(averaged(mean, covariance)[:, 1].reshape(3, 30)[far], exact[far], rtol=1e-4)


@pytest.mark.parametrize("n", [3, 8])
def test_more_classes_are_integrated_to_the_stated_error_in_any_order(n: int):
    rng = np.random.default_rng(n)
    mean, root = 2 * rng.normal(size=(30, n)), rng.normal(size=(30, n, n)) * 1.5
    covariance = root @ root.swapaxes(1, 2) / n
    found = np.exp(averaged(mean, covariance))
    assert_allclose(found.sum(1), 1.0)
    z = stats.norm.ppf(stats.qmc.Sobol(n, seed=1).random(2**15)).T / np.sqrt(n)
    assert_allclose(found, softmax(mean[:, :, None] + root @ z, axis=1).mean(-1), atol=0.005)
    order = rng.permutation(n)
    again = np.exp(averaged(mean[:, order], covariance[:, order][:, :, order]))
    assert_allclose(again, found[:, order], atol=1e-12)
    p, both = expected(mean, covariance)
    assert_allclose(p, found, atol=1e-12)
    assert_allclose(both.sum(2), p, atol=1e-12)


@pytest.mark.parametrize("dimensions", range(1, 9))
def test_sobol_points_are_those_of_scipy(dimensions: int):
    for points in (32, 128, 512):
        expected_points = stats.qmc.Sobol(dimensions, scramble=False).random(points).T
        assert_array_equal(_sobol(dimensions, points), expected_points)


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
    for sd in (0.0, 1.0, 30.0):
        both = averaged(np.array([[-np.inf, 0.0], [0.0, -np.inf]]), np.tile(sd**2 * np.eye(2), (2, 1, 1)))
        assert_allclose(np.exp(both), [[0.0, 1.0], [1.0, 0.0]], atol=1e-10)


@pytest.mark.parametrize("classes", [3, 5, 8])
def test_scores_too_large_for_exponentials_are_shifted_without_changing_a_probability(classes: int, monkeypatch):
    rng = np.random.default_rng(classes)
    root = rng.standard_normal((20, classes, classes)) * rng.choice([0.1, 3.0, 10.0], (20, 1, 1))
    mean, covariance = 30 * rng.standard_normal((20, classes)), root @ root.swapaxes(1, 2)
    mean[3, 1] = -np.inf
    found = [averaged(mean, covariance), *expected(mean, covariance)]
    monkeypatch.setattr(scores, "LARGE", 0.0)
    for before, shifted in zip(found, [averaged(mean, covariance), *expected(mean, covariance)], strict=True):
        assert_allclose(shifted, before, rtol=1e-9, atol=1e-14)
    far = averaged(100 * mean, 1e4 * covariance)
    assert_allclose(np.exp(far).sum(1), 1.0, rtol=1e-12)
    assert np.isneginf(far[3, 1])


def test_the_nearest_normal_has_the_mean_of_a_skewed_posterior():
    terms = np.stack([np.zeros(6), np.array([1.0, 2.0, 1.5, 0.5, 1.0, 2.0])], axis=1)[:, :, None]
    rows = Rows(terms, np.zeros((6, 2)), np.ones(6, int), np.ones(6), np.ones((6, 1)))
    mean, sd = np.zeros(3), np.array([3.0, 1e-3, 1e-3])
    layout = Layout(1, 2, np.array([1]))
    # One exponent: its posterior is an integral over one dimension.
    w = np.linspace(-20, 20, 4001)
    log_p = -0.5 * (w / 3) ** 2 + (terms[:, 1] * w - np.logaddexp(0, terms[:, 1] * w)).sum(0)
    weight = np.exp(log_p - log_p.max())
    exact = weight @ w / weight.sum()
    start = np.array([w[log_p.argmax()], 0.0, 0.0])
    information = derivatives(lambda: [rows], layout, start)[2]
    found = nearest(lambda: [rows], layout, mean, sd, start, information + np.diag(1 / sd**2))
    spread = np.sqrt(weight @ (w - exact) ** 2 / weight.sum())
    assert abs(start[0] - exact) > 0.3 * spread
    assert abs(found.mean[0] - exact) < 0.05 * spread


@pytest.mark.parametrize(("n_classes", "apart"), [(2, 8.0), (3, 2.0)])
def test_the_nearest_normal_is_found_from_any_start_where_terms_separate_the_classes(n_classes: int, apart: float):
    rng = np.random.default_rng(5)
    codes = np.repeat(np.arange(n_classes), 20)
    # Terms that separate the classes, strongly and alike, and one that says nothing.
    terms = rng.normal(size=(len(codes), n_classes, 4)) + apart * (codes[:, None] == np.arange(n_classes))[:, :, None]
    terms[:, :, 3] = rng.normal(size=(len(codes), n_classes))
    rows = Rows(terms, np.zeros((len(codes), n_classes)), codes, np.ones(len(codes)), np.ones((len(codes), 1)))
    layout = Layout(4, n_classes, np.array([4]))
    mean, sd = np.zeros(layout.size), np.full(layout.size, 3.0)
    found = [
        nearest(lambda: [rows], layout, mean, sd, begin, np.diag(np.full(layout.size, precision)))
        for begin, precision in ((mean, 1.0), (mean + 2.0, 0.2), (mean + 0.5, 100.0))
    ]
    slope, information = expected_derivatives(lambda: [rows], layout, found[0])
    slope -= (found[0].mean - mean) / sd**2
    root = found[0].root
    assert_allclose(root.T @ slope, 0.0, atol=0.05)
    assert_allclose(root.T @ (information + np.diag(1 / sd**2)) @ root, np.eye(layout.size), atol=0.05)
    for other in found[1:]:
        assert_allclose((other.mean - found[0].mean) / np.sqrt((root**2).sum(1)), 0.0, atol=0.1)
