"""Posterior quantiles of class probabilities, by saddlepoint approximation or from draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import expit

from bayesnb.inference.believed import Given
from bayesnb.inference.classifier import Classifier, index_of, of_near_rows
from bayesnb.inference.draws import PosteriorDraws, error_ranks, probability_of_interval
from bayesnb.inference.law import Law
from bayesnb.inference.questions import question
from bayesnb.inference.saddlepoint import close
from bayesnb.model import Data
from bayesnb.priors import Array
from bayesnb.wording import require_whole


def intervals_of(
    answers: PosteriorDraws, by_formula: bool, data: Data, n_rows: int, shares: Sequence[float]
) -> tuple[Array, Array]:
    """Quantiles of p(class | row, θ) and their Monte Carlo errors (NaN without draws), both (row, class, quantile)."""
    if not by_formula:
        return answers.intervals(data, n_rows, shares)
    found = Law.of(answers, data, n_rows).in_blocks(partial(_quantiles, shares=np.asarray(shares)))
    return found[..., 0], found[..., 1]


def _quantiles(law: Law, shares: Array) -> Array:
    """For two classes, each quantile of p(class | row, θ) and its Monte Carlo error, (row, class, quantile, 2)."""
    found = np.full((len(law.certain), 2, len(shares), 2), np.nan)
    found[..., 0] = _ends(law, shares)
    if (rows := np.flatnonzero(law.drawn)).size:
        low, high = (_ends(law[rows], ranks) for ranks in error_ranks(law.answers.draws, shares))
        found[rows, ..., 1] = (high - low) / 2
    return found


def _ends(law: Law, shares: Array) -> Array:
    # With two classes, the lower end of the first class is one minus the upper end of the second.
    asked, place = np.unique(np.round([shares, 1 - shares], 12), return_inverse=True)
    first, second = np.moveaxis(law.quantile(asked)[:, place.reshape(2, -1)], 1, 0)
    return np.stack([expit(first), expit(-second)], axis=1)


ENDS = ("lower", "median", "upper")
"""The numbers of an interval."""

IMPRECISE = 0.01
"""Standard error of the end of an interval above which its row is counted."""

EXPECTED_LABELS = (
    "rows without a label were learned as expected counts, as if their labels had been counted, so the parameters are "
    'known less well than this says; sample_posterior(sampler="gibbs", X=X, y=y) draws the labels too'
)


@question("to know how well a class probability is known", "how sure")
@of_near_rows
def predict_interval(
    classifier: Classifier,
    X: Any,
    prob: float | None = None,
    method: Literal["auto", "saddlepoint", "draws"] = "auto",
    draws: int = 4000,
    given: Given | None = None,
) -> pd.DataFrame:
    """Posterior median and equal-tailed interval of p(class | row, θ).

    Without a ``dependence``, ``predict_proba`` is the mean of p(class | row, θ) over the posterior of θ given data and
    row. With a ``dependence``, ``predict_proba`` is not the posterior mean, and can lie outside the interval. See
    ``docs/how-to/uncertainty.md``.

    Parameters
    ----------
    X : table
        The rows to predict.
    prob : float, optional
        Probability of the interval, by default ArviZ's ``stats.ci_prob`` (0.89).
    method : {"auto", "saddlepoint", "draws"}
        "saddlepoint" approximates the distribution of the log-odds of two classes, without draws. "auto" uses
        "saddlepoint" if it is available and accurate (``docs/theory/saddlepoint.md``), and otherwise exact draws with
        the estimator's seed (0 by default).
    draws : int
        Number of draws of the parameters, if draws are used.
    given : {"row", "data"}, optional
        The posterior of θ: given data and row ("row", the default), or given the data alone ("data"). "data" is for an
        invented row, which carries no information about θ. If the model has exponents, "data" is the default, and "row"
        raises an error.

    Returns
    -------
    DataFrame (row, (class, "lower" | "median" | "upper"))
        ``attrs["given"]`` is "row" or "data". If draws were used, ``attrs["mcse"]`` is the largest Monte Carlo standard
        error in the table, and ``attrs["imprecise"]`` is the number of rows with a standard error above 0.01.
        ``attrs["note"]`` warns if missing labels were replaced by expected counts.

    Notes
    -----
    After a fit with unlabelled rows the interval is too narrow, because expected labels count like observed labels.
    ``sample_posterior(sampler="gibbs", X=X, y=y)`` draws the missing labels instead. The interval does not account for
    model misspecification.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.predict_interval(X[:1], prob=0.5).round(2)
    class    no                yes
          lower median upper lower median upper
    0      0.56   0.77   0.9   0.1   0.23  0.44
    """
    data, n = classifier.read(X)
    tail = (1 - probability_of_interval(prob)) / 2
    answers, by_formula = answering(classifier, method, draws, given)
    found, errors = intervals_of(answers, by_formula, data, n, [tail, 0.5, 1 - tail])
    notes: dict[str, Any] = {"given": answers.believed.given}
    if not by_formula or not np.isnan(errors).all():
        notes["mcse"] = float(np.nanmax(errors, initial=0.0))
        notes["imprecise"] = int((errors > IMPRECISE).any(axis=(1, 2)).sum())
    columns = pd.MultiIndex.from_product([classifier.classes, ENDS], names=["class", None])
    frame = pd.DataFrame(found.reshape(n, len(columns)), index=index_of(X), columns=columns)
    return with_notes(classifier, frame, notes)


def with_notes(classifier: Classifier, frame: pd.DataFrame, notes: Mapping[str, Any]) -> pd.DataFrame:
    """Add notes to the ``attrs`` of a frame, with a warning if unlabelled rows were learned."""
    frame.attrs.update(notes)
    if classifier.expected:
        frame.attrs["note"] = EXPECTED_LABELS
    return frame


def answering(classifier: Classifier, method: str, draws: int, given: Given | None) -> tuple[PosteriorDraws, bool]:
    """Posterior draws of class probabilities, and whether the saddlepoint formula is used instead."""
    two, posterior = len(classifier.classes) == 2, classifier.posterior
    if method == "saddlepoint":
        if not two:
            raise ValueError(f"the saddlepoint formula is for two classes, and there are {len(classifier.classes)}")
        posterior.require_exact("the saddlepoint formula", 'use method="draws"')
        classifier.believed.require_naive(
            'the saddlepoint formula is for naive Bayes, and here terms have exponents; use method="draws"'
        )
    believed = classifier.believed.when_given(given)
    by_formula = method == "saddlepoint" or (method == "auto" and two and believed.naive and close(posterior))
    if not by_formula:
        require_whole(2, draws=draws)
    return PosteriorDraws(believed, max(2, draws), classifier.fixed_seed), by_formula
