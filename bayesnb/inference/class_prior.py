"""Replace the class prior, and estimate the class frequencies of new rows under label shift."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.inference.classifier import Classifier
from bayesnb.inference.draws import probability_of_interval
from bayesnb.inference.questions import Shown, question
from bayesnb.model import normalize
from bayesnb.priors import Array, Dirichlet, log
from bayesnb.priors import class_prior as class_priors
from bayesnb.progress import counted
from bayesnb.wording import Message, Spelled, require_whole, warn


def most_probable_shares(log_likelihood: Array, max_iter: int = 10_000, tol: float = 1e-6) -> tuple[Array, int]:
    """Class frequencies of unlabelled rows, (class,), by maximum likelihood (EM), and the number of steps.

    ``log_likelihood``, (row, class), is log p(row | class), up to a constant per row.

    References
    ----------
    Saerens, Latinne and Decaestecker (2002), Adjusting the outputs of a classifier to new a priori probabilities.
    """
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


FEW = 100
"""Number of learned rows of a class below which the note on the interval names the class."""

CHAINS = 8
"""Chains of the Gibbs sampler."""


TUNE = 100
"""Steps of each chain before its first draw."""


def interval_of_shares(
    log_likelihood: Array, quantiles: tuple[float, float], draws: int, rng: np.random.Generator
) -> tuple[Array, float]:
    """Two quantiles of each class frequency, (2, class), and the largest Monte Carlo error."""
    from arviz_stats.base import array_stats

    drawn = draw_shares(log_likelihood, draws, rng)
    by_class = np.moveaxis(drawn, -1, 0)
    errors = [array_stats.mcse(by_class, chain_axis=1, draw_axis=2, method="quantile", prob=q) for q in quantiles]
    return np.quantile(drawn, quantiles, axis=(0, 1)), float(np.max(errors))


def draw_shares(log_likelihood: Array, draws: int, rng: np.random.Generator) -> Array:
    """Posterior draws of the class frequencies of new rows under a Dirichlet(1) prior, (chain, draw, class)."""
    # A Gibbs sampler (Diebolt and Robert 1994) alternates between the labels of all rows given π, and π given the class
    # counts, which is Dirichlet(1 + counts).
    # Under equal class frequencies, p(c | x) is the likelihood of the class up to a constant per row.
    likelihood = normalize(np.asarray(log_likelihood, float), log=False)
    require_whole(100, draws=draws)
    n_classes, each = likelihood.shape[1], -(-draws // CHAINS)
    kept, counts = np.zeros((CHAINS, each, n_classes)), np.zeros((CHAINS, n_classes))
    for step in counted("sampling class frequencies", range(-TUNE, each), "steps"):
        shares = Dirichlet(1.0 + counts).draw(rng)
        if step >= 0:
            kept[:, step] = shares
        below = np.cumsum(likelihood * shares[:, None], axis=2)
        # Draw a class with probability proportional to its entry, by a uniform number below the total and cumulative
        # sums.
        drawn = (rng.random(below.shape[:2])[..., None] * below[..., -1:] > below[..., :-1]).sum(axis=2)
        counts = (drawn[..., None] == np.arange(n_classes)).sum(axis=1)
    return kept


@question("another class prior", "predict", "deploy")
def with_class_prior(classifier: Classifier, class_prior: Any) -> Classifier:
    """Replace the class prior of a classifier; everything learned about the columns stays.

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
        "probability": "maximum likelihood estimate, with its interval, which does not include errors of the learned "
        "model; near 0 or 1, the estimate may lie outside the interval",
        "lower": "lower end of the interval, which does not include errors of the learned model",
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
        Number of draws of the Gibbs sampler for the interval, with the estimator's seed (0 by default).

    Returns
    -------
    Series (class,)
        The estimate. With ``prob``, a DataFrame with ``probability``, ``lower`` and ``upper``. ``attrs["mcse"]`` is the
        largest Monte Carlo standard error of an interval end. ``attrs["note"]`` says that
        the interval may be too narrow. ``attrs["says"]`` names the next step.

    Raises
    ------
    ImpossibleRowError, ValueError
        If a row is impossible under every class, or there are no rows.

    Warns
    -----
    ConvergenceWarning
        If ``tol`` was not reached.

    Notes
    -----
    The interval treats the learned p(row | class) as known, so the interval is too narrow if few rows were learned: see
    ``docs/how-to/uncertainty.md``. An estimate of 0 or 1 may lie outside the interval.

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
    upper          0.6
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
    rng = np.random.default_rng(0 if classifier.seed is None else classifier.seed)
    bounds, mcse = interval_of_shares(log_likelihood, (tail, 1 - tail), draws, rng)
    frame = estimate.to_frame().assign(lower=bounds[0], upper=bounds[1])
    frame.attrs |= {"mcse": mcse, "says": _next_step(estimate, 'estimate["probability"]')}
    rows, said = classifier.statistics.rows, ", and class {label!r} has only {n:,.0f} learned rows"
    few = Message(said, label=frame.index[rows.argmin()], n=rows.min())
    frame.attrs["note"] = Message(
        "the interval may be far too narrow, because it treats the learned p(row | class) as known{few}; check the "
        "estimate on rows whose classes are known",
        few=few if rows.sum() > 0 and rows.min() < FEW else "",
    )
    return frame


def _next_step(estimate: pd.Series, name: str) -> Message:
    said = "Small errors of the learned model can change this estimate much: check it on rows whose classes are known. "
    said += "To predict with these class frequencies, {cure}."
    return Message(said, cure=cure_of(estimate, name))


def cure_of(estimate: pd.Series, name: str) -> Spelled:
    """How to predict with the class frequencies of ``estimate``, which has this ``name`` in Python."""
    # Probabilities of --class-prior sum to 1, and so must those that are rounded to four digits. A class whose
    # estimated frequency is 0 stays possible.
    parts = np.maximum(np.rint(estimate.to_numpy() * 10_000).astype(int), 1)
    parts[parts.argmax()] += 10_000 - parts.sum()
    shown = [f"{label}={part / 10_000:g}" for label, part in zip(estimate.index, parts, strict=True)]
    # A model does not hold all options of the command that fitted it.
    option = f"fit the model again with --class-prior {shlex.quote(','.join(shown))}"
    return Spelled(f"use nb.deploy.with_class_prior(model, {name})", option)
