"""Replace the class prior, and estimate the class frequencies of new rows under label shift."""

from __future__ import annotations

import shlex
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import eigh

from bayesnb.inference.believed import Believed
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.draws import PART, probability_of_interval, seed_of_rows
from bayesnb.inference.questions import Shown, question
from bayesnb.kernels.blocks import CELLS, slices
from bayesnb.model import Data, normalize, part_of
from bayesnb.priors import Array, Dirichlet, log
from bayesnb.priors import class_prior as class_priors
from bayesnb.progress import counted
from bayesnb.wording import Message, Spelled, require_whole, shown_value, warn


def most_probable_shares(log_likelihood: Array, max_iter: int = 10_000, tol: float = 1e-6) -> tuple[Array, int]:
    """Class frequencies of unlabelled rows, (class,), by maximum likelihood (EM), and the number of steps."""
    # log_likelihood, (row, class): log p(row | class), up to a constant per row. Saerens, Latinne and Decaestecker
    # (2002), Adjusting the outputs of a classifier to new a priori probabilities.
    log_likelihood = np.asarray(log_likelihood, float)
    if log_likelihood.ndim != 2 or 0 in log_likelihood.shape:
        raise ValueError(
            "Expected log p(x | c) as (row, class), at least one row to estimate the class prior from; "
            f"got shape {log_likelihood.shape}"
        )
    if (odd := np.isnan(log_likelihood) | np.isposinf(log_likelihood)).any():
        row, c = np.argwhere(odd)[0]
        raise ValueError(f"Expected log p(x | c) below infinity; got {log_likelihood[row, c]} in row {row}, class {c}")
    require_whole(1, max_iter=max_iter)
    if not (isinstance(tol, Real) and tol >= 0):
        raise ValueError(f"Expected tol to be a number, 0 or more; got {shown_value(tol)}")
    share = np.exp(normalize(log_likelihood))
    # The objective is concave, so EM reaches the maximum from every positive start. Its slope in π_c is
    # Σ_i p(x_i | c) / p(x_i | π). So another π is better by at most the largest slope minus the number of rows.
    prior = np.full(log_likelihood.shape[1], 1 / log_likelihood.shape[1])
    gap = np.inf
    for n_iter in range(1, max_iter + 1):
        slope = (1 / (share @ prior)) @ share / len(share)
        gap = len(share) * (slope.max() - 1)
        if gap <= tol:
            return prior, n_iter
        prior = prior * slope
        prior /= prior.sum()
    from sklearn.exceptions import ConvergenceWarning

    warn(
        f"EM for the class prior did not converge in {max_iter} steps: the log probability of all rows could still "
        f"rise by {gap:.1e}, more than tol={tol:g}; raise max_iter",
        ConvergenceWarning,
    )
    return prior, max_iter


NOTE = "the interval includes errors of the learned parameters, but is too narrow if the model itself is wrong"


KEPT = 32
"""Draws that each chain of the Gibbs sampler keeps."""


TUNE = 100
"""Steps of each chain before its first draw."""


def interval_of_shares(
    log_likelihood: Array, quantiles: tuple[float, float], errors: Array, rng: np.random.Generator
) -> tuple[Array, float]:
    """Two quantiles of each class frequency, (2, class), and their largest Monte Carlo standard error."""
    from arviz_stats.base import array_stats

    drawn = draw_shares(log_likelihood, errors, rng)
    by_class = np.moveaxis(drawn, -1, 0)
    found = [array_stats.mcse(by_class, chain_axis=1, draw_axis=2, method="quantile", prob=q) for q in quantiles]
    return np.quantile(drawn, quantiles, axis=(0, 1)), float(np.max(found))


def draw_shares(log_likelihood: Array, errors: Array, rng: np.random.Generator) -> Array:
    """Posterior draws of the class frequencies of new rows under a Dirichlet(1) prior, (chain, draw, class)."""
    # errors, (chain, class): constants that each chain adds to the log likelihoods of all rows
    # A Gibbs sampler (Diebolt and Robert 1994) alternates between the labels of all rows given π, and π given the class
    # counts, which is Dirichlet(1 + counts).
    # Under equal class frequencies, p(c | x) is the likelihood of the class up to a constant per row.
    likelihood = normalize(np.asarray(log_likelihood, float), log=False)
    likelihood = likelihood[np.lexsort(likelihood.T)].T  # The order of the rows does not matter.
    factors = normalize(errors, log=False)
    (chains, n_classes), n_rows = factors.shape, likelihood.shape[1]
    kept, counts = np.zeros((chains, KEPT, n_classes)), np.zeros((chains, n_classes))
    blocks = slices(n_rows, max(1, CELLS // factors.size))
    for step in counted("sampling class frequencies", range(-TUNE, KEPT), "steps"):
        shares = Dirichlet(1.0 + counts).draw(rng)
        if step >= 0:
            kept[:, step] = shares
        # Draw a class with probability proportional to its entry, by a uniform number below the total and cumulative
        # sums. ``above`` is the number of rows whose class comes after each class.
        above = np.zeros((chains, n_classes + 1))
        above[:, 0] = n_rows
        for rows in blocks:
            below = np.cumsum((factors * shares)[:, :, None] * likelihood[:, rows], axis=1)
            drawn = rng.random((chains, below.shape[2])) * below[:, -1]
            above[:, 1:-1] += (drawn[:, None] > below[:, :-1]).sum(axis=2)
        counts = -np.diff(above)
    return kept


def errors_of_classes(
    believed: Believed, data: Data, log_likelihood: Array, shares: Array, chains: int, seed: Any
) -> Array:
    """Draw an error of log p(row | class) for each chain and class, the same for all rows, (chain, class)."""
    # If the estimated class frequencies are near ``shares``, the drawn errors change the estimate as much as errors of
    # the learned parameters do.
    # The learned parameters θ are uncertain, too (a two-step estimate, Murphy and Topel 1985). New rows could inform
    # them, but if the model is wrong, they mislead: in simulations with dependent columns, 89 % intervals of the joint
    # posterior held the truth in 1 of 20 tables. So θ is drawn given the learned rows (Plummer 2015). Class frequencies
    # estimated at these draws are biased, because the noise of a draw is added to the error of what was learned, in
    # every row (errors in variables). Only its first-order effect is wanted.
    # EM stops where the expected class counts R = Σ_i p(c | x_i, π, θ) equal n π. To first order, θ changes π by R. An
    # error b of log p(row | class) that is equal for all rows changes R by W b, with W = Σ_i diag(p_i) - p_i p_iᵀ. So
    # b = W⁺ (R - mean of R) stands for the draw, and the estimate stays in the middle.
    if not np.isfinite(believed.log_pi).all():
        believed = replace(believed, posterior=believed.posterior.with_default_class_prior())
    believed = replace(believed.when_given("data"), offset=0.0)
    n_rows, n_classes = log_likelihood.shape
    p = normalize(joint := log_likelihood + np.log(shares), log=False)
    expected = np.zeros((chains, n_classes))
    size, common = believed.posterior.draw(np.random.default_rng(0)).size, seed_of_rows(seed)
    rng = np.random.default_rng(seed)
    for place, part in enumerate(slices(chains, max(1, PART // size))):
        drawn = believed.draw(rng, part.stop - part.start)
        for cut in counted("evaluating posterior draws", slices(n_rows, max(1, CELLS // drawn.log_pi.size)), "parts"):
            at = believed.log_joint_at(drawn, (common, place), part_of(data, cut), cut.stop - cut.start)
            at = at - drawn.log_pi[:, None] + np.log(shares)
            # A row that a draw makes impossible keeps its class probabilities.
            at = np.where(np.isneginf(at).all(-1, keepdims=True), joint[cut], at)
            expected[part] += normalize(at, log=False).sum(axis=1)
    errors = (expected - expected.mean(0)) @ np.linalg.pinv(np.diag(p.sum(0)) - p.T @ p, rcond=1e-9, hermitian=True)
    if believed.dependence is None or not (share := believed.dependence.exponents.share_learned):
        return errors
    # Exponents and intercepts are learned from p(class | row), so the intercepts contain the chance in the number of
    # learned rows n_c, with covariance diag(1 / n_c), which p(row | class) does not (Prentice and Pyke 1979). Multiply
    # the errors by a matrix that takes this covariance away, as far as there is that much.
    errors = errors[:, :-1] - errors[:, -1:]
    within, counts = np.atleast_2d(np.cov(errors.T)), 1 / (believed.posterior.statistics.rows + 1)
    within += 1e-12 * (1 + np.trace(within)) * np.eye(len(within))
    kept, axes = eigh(within - share * (np.diag(counts[:-1]) + counts[-1]), within)
    errors = errors @ axes @ np.diag(np.sqrt(np.maximum(kept, 0.0))) @ axes.T @ within
    return np.column_stack([errors, np.zeros(chains)])


@question("predictions with another class prior", "predict", "deploy")
def with_class_prior(classifier: Classifier, class_prior: Any) -> Classifier:
    """Replace the class prior of a classifier, and keep everything learned about the columns.

    Parameters
    ----------
    class_prior : {label: probability}, Series, array, DataFrame, Dirichlet, "frequencies" or "uniform"
        Fixed class probabilities for all rows, by label or in the order of ``classes_``. A Dirichlet prior is updated
        with the learned labels. If class probabilities differ between rows, pass an array (row, class), or a DataFrame
        with one column per class.

    Returns
    -------
    Classifier
        A fitted model that cannot learn further rows. Exponents learned for a ``dependence`` stay fixed.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets, deploy
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> deploy.with_class_prior(clf, {"no": 0.1, "yes": 0.9}).predict_proba(X[:1]).round(3)
    array([[0.306, 0.694]])
    """
    labels = classifier.classes.tolist()
    each = class_priors.of_each_row(class_prior, labels)
    posterior = classifier.posterior.with_class_prior(class_priors.read("uniform" if each is not None else class_prior))
    offset = 0.0 if each is None else log(each) - log(posterior.label.p)
    believed = replace(classifier.believed, posterior=posterior, offset=offset)
    return replace(classifier, believed=believed.with_estimate(classifier.estimate))


@question(
    "to know how frequent the classes are among new rows", "predict", "deploy",
    columns={
        "probability": "maximum likelihood estimate; near 0 or 1, it may lie outside the interval",
        "lower": "lower end of the interval, which includes errors of the learned parameters, but not a wrong model",
        "upper": "upper end of the interval",
    },
    shown=Shown("", finding=False),
)  # fmt: skip
def estimate_class_prior(
    classifier: Classifier,
    X: Any,
    max_iter: int = 10_000,
    tol: float = 1e-6,
    prob: float | None = None,
    draws: int = 4000,
) -> pd.Series | pd.DataFrame:
    """Estimate the class frequencies of new rows without labels, if p(row | class) has not changed (label shift).

    The method is EM (Saerens, Latinne and Decaestecker 2002). Predict with ``with_class_prior(clf,
    estimate_class_prior(clf, X))``.

    Parameters
    ----------
    X : table
        The new rows.
    max_iter : int
        The largest number of steps of EM.
    tol : float
        EM stops when the log likelihood is within this distance of its maximum, in nats.
    prob : float, optional
        Probability of an equal-tailed interval for each class probability; none by default.
    draws : int
        Number of draws of the Gibbs sampler for the interval, with the estimator's seed (0 by default). For every 32 of
        these draws, the model's parameters are drawn once.

    Returns
    -------
    Series (class,)
        The estimated class frequencies. With ``prob``, a DataFrame with the ``probability`` and its interval, ``lower``
        to ``upper``. ``attrs["mcse"]`` is the largest Monte Carlo standard error of an interval end. ``attrs["note"]``
        says when the interval is too narrow. ``attrs["says"]`` explains how to predict with the estimate.

    Raises
    ------
    ImpossibleRowError, ValueError
        If a row is impossible under every class, or there are no rows.

    Warns
    -----
    ConvergenceWarning
        If EM did not reach ``tol`` in ``max_iter`` steps.

    Notes
    -----
    The interval includes the uncertainty of the new labels and, to first order, of the learned parameters. The interval
    is too narrow if the model is wrong (``docs/how-to/uncertainty.md``). An estimate of 0 or 1 may lie outside the
    interval.

    References
    ----------
    Murphy and Topel (1985), Estimation and inference in two-step econometric models.
    Plummer (2015), Cuts in Bayesian graphical models.
    Prentice and Pyke (1979), Logistic disease incidence models and case-control studies.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets, deploy
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> overcast = X[X["outlook"] == "overcast"]
    >>> deploy.estimate_class_prior(clf, overcast).round(2)
    class
    no     0.0
    yes    1.0
    Name: probability, dtype: float64
    >>> deploy.estimate_class_prior(clf, overcast, prob=0.89).loc["no"].round(1)  # four days say little
    probability    0.0
    lower          0.0
    upper          0.8
    Name: no, dtype: float64
    """
    data, n = classifier.read(X)
    log_likelihood = classifier.believed.log_likelihood(data, n)
    p, _ = most_probable_shares(log_likelihood, max_iter, tol)
    estimate = pd.Series(p, index=pd.Index(classifier.classes, name="class"), name="probability")
    estimate.attrs["says"] = _next_step(estimate, "estimate")
    if prob is None:
        return estimate
    tail = (1 - probability_of_interval(prob)) / 2
    require_whole(100, draws=draws)
    inside = (n * p + 1) / (n + len(p))  # No class is impossible.
    how = log_likelihood, inside, -(-draws // KEPT), classifier.fixed_seed
    errors = errors_of_classes(classifier.believed, data, *how)
    rng = np.random.default_rng(classifier.fixed_seed)
    bounds, mcse = interval_of_shares(log_likelihood, (tail, 1 - tail), errors, rng)
    frame = estimate.to_frame().assign(lower=bounds[0], upper=bounds[1])
    frame.attrs |= {"mcse": mcse, "says": _next_step(estimate, 'estimate["probability"]'), "note": NOTE}
    return frame


def _next_step(estimate: pd.Series, name: str) -> Message:
    said = "Small errors of the learned model can change this estimate much: check it on rows whose classes are known. "
    said += "To predict with these class frequencies, {cure}."
    return Message(said, cure=cure_of(estimate, name))


def cure_of(estimate: pd.Series, name: str) -> Spelled:
    """Advice on how to predict with other class frequencies; the Python variable ``name`` holds ``estimate``."""
    # Probabilities of --class-prior sum to 1, and so must those that are rounded to four digits. A class whose
    # estimated frequency is 0 stays possible.
    parts = np.maximum(np.rint(estimate.to_numpy() * 10_000).astype(int), 1)
    parts[parts.argmax()] += 10_000 - parts.sum()
    shown = [f"{label}={part / 10_000:g}" for label, part in zip(estimate.index, parts, strict=True)]
    # A model does not hold all options of the command that fitted it.
    option = f"fit the model again with --class-prior {shlex.quote(','.join(shown))}"
    return Spelled(f"use nb.deploy.with_class_prior(model, {name})", option)
