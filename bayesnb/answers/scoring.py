"""Scores of class probabilities, as plain arithmetic: start with :func:`scores`.

Nothing is clipped: a true class of probability 0 gives an infinite log loss.
"""

from __future__ import annotations

from numbers import Integral

import numpy as np
import pandas as pd
from scipy.stats import beta
from sklearn.metrics import accuracy_score

from bayesnb.answers.uncertainty import probability_of_interval
from bayesnb.model import normalize
from bayesnb.priors import Array, first


def scores(log_joint: Array, codes: Array, bins: int = 10) -> dict[str, float]:
    """Scores of the class probabilities that a log joint implies.

    Parameters
    ----------
    log_joint : array (row, class)
        log p(c, x); a row of -inf, impossible under every class, gives every class probability 0.
    codes : int array (row,)
        The true classes.
    bins : int
        The number of bins of the calibration error.

    Returns
    -------
    dict
        ``accuracy``; ``log_loss``, the mean of -log p(true class) in nats, infinite where that is 0 (no
        clipping); ``brier``, the mean of Σ_c (p_c - [c is true])², from 0 to 2 (Brier 1950); ``ece``, the
        expected calibration error of the most probable class over bins of equal width (Guo et al. 2017);
        ``impossible``, the number of impossible rows.
    """
    log_proba = log_proba_of(log_joint)
    proba = np.exp(log_proba)
    possible = proba.any(axis=1)
    guess = np.where(possible, proba.argmax(axis=1), -1)
    return {
        "accuracy": float(accuracy_score(codes, guess)),
        # scikit-learn's log_loss clips probabilities; its brier_score_loss refuses impossible rows and a single class.
        "log_loss": float(-own(log_proba, codes).mean()),
        "brier": float(((proba - _one_hot(codes, proba.shape[1])) ** 2).sum(axis=1).mean()),
        "ece": calibration_error(proba.max(axis=1), guess == codes, bins),
        "impossible": int((~possible).sum()),
    }


def log_proba_of(log_joint: Array) -> Array:
    """log p(c | x) of (row, class); -inf for every class where a row is impossible."""
    possible = ~np.isneginf(log_joint).all(axis=1)
    log_proba = np.full(log_joint.shape, -np.inf)
    log_proba[possible] = normalize(log_joint[possible])
    return log_proba


def own(values: Array, codes: Array) -> Array:
    """The value of each row at its own class, (row,)."""
    return values[np.arange(len(codes)), codes]


def _one_hot(codes: Array, n_classes: int) -> Array:
    return np.eye(n_classes)[codes]


def calibration_error(confidence: Array, right: Array, bins: int = 10) -> float:
    """Σ_bins share × ``|mean confidence - share right|``, over bins of equal width (Guo et al. 2017, eq. 3)."""
    gap = np.bincount(_binned(confidence, bins), confidence - right, minlength=bins)
    return float(np.abs(gap).sum() / len(confidence))


def _binned(p: Array, bins: int) -> Array:
    """The number of the interval that holds each probability; 1 is in the last of ``bins`` intervals of equal width."""
    return np.minimum((p * bins).astype(int), bins - 1)


def reliability_table(
    proba: Array, codes: Array, bins: int = 10, code: int | None = None, prob: float | None = None
) -> pd.DataFrame:
    """How often predictions of a confidence come true, as numbers: what :func:`bayesnb.plots.reliability` shows.

    Parameters
    ----------
    proba, codes, bins, code, prob
        As for :func:`bayesnb.plots.reliability`.

    Returns
    -------
    DataFrame (bin, ...)
        One row for each bin that holds a prediction: ``from`` and ``to``, its ends; ``rows``; ``confidence``, the mean
        probability; ``share``, how often the class was the true one; ``lower`` and ``upper``, the interval of that
        share. The bins are those of :func:`calibration_error`.

    Notes
    -----
    The interval is the equal-tailed interval of a Beta(k + 1/2, n - k + 1/2), except that it ends at 0 if k = 0, and at
    1 if k = n (Brown, Cai and DasGupta 2001). It assumes independent rows; leave-one-out predictions nearly are.

    Examples
    --------
    >>> import numpy as np
    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.4, 0.6]])
    >>> reliability_table(proba, np.array([0, 0, 1, 1]), bins=2, code=1)[["rows", "confidence", "share"]].round(2)
       rows  confidence  share
    0     3         0.2   0.33
    1     1         0.6   1.00
    """
    proba, codes = np.asarray(proba, float), np.asarray(codes)
    _require_forecasts(proba, codes, bins)
    if code is not None and not 0 <= code < proba.shape[1]:
        raise ValueError(f"Expected code to be from 0 to {proba.shape[1] - 1}; got {code!r}")
    p, right = (proba.max(1), proba.argmax(1) == codes) if code is None else (proba[:, code], codes == code)
    which, place, n = np.unique(_binned(p, bins), return_inverse=True, return_counts=True)
    k, tail = np.bincount(place, right), (1 - probability_of_interval(prob)) / 2
    return pd.DataFrame({
        "from": which / bins,
        "to": (which + 1) / bins,
        "rows": n,
        "confidence": np.bincount(place, p) / n,
        "share": k / n,
        "lower": np.where(k == 0, 0.0, beta.ppf(tail, k + 0.5, n - k + 0.5)),
        "upper": np.where(k == n, 1.0, beta.ppf(1 - tail, k + 0.5, n - k + 0.5)),
    })  # fmt: skip


def brier_decomposition(proba: Array, codes: Array, bins: int = 10) -> dict[str, float]:
    """The Brier score as reliability - resolution + uncertainty.

    Parameters
    ----------
    proba : array (row, class)
    codes : int array (row,)
        The true classes.
    bins : int
        Number of intervals of equal width in which forecasts are pooled.

    Returns
    -------
    dict
        ``reliability``, how far forecasts are from the frequencies that follow them (0 is calibrated);
        ``resolution``, how far those frequencies differ from the base rate (more is better; it includes the variation
        within bins, so it can be a little below 0); ``uncertainty``, Σ_c f_c (1 - f_c) of the base rates f.
        Each is a sum over classes, one against the rest.

    Raises
    ------
    ValueError
        If there are no rows, or not one code a row; if ``bins`` is not a positive integer, a probability is
        outside [0, 1] or a code is not that of a class.

    Notes
    -----
    With bins, Murphy's three terms do not add up to the score of the forecasts themselves. The variance of the
    forecasts within a bin and their covariance with the truth make up the rest; with them in the resolution, the
    sum is exact up to rounding.

    References
    ----------
    Murphy (1973), A new vector partition of the probability score; Stephenson, Coelho and Jolliffe (2008), Two
    extra components in the Brier score decomposition.
    """
    proba, codes = np.asarray(proba, float), np.asarray(codes)
    _require_forecasts(proba, codes, bins)
    terms = dict.fromkeys(("reliability", "resolution", "uncertainty"), 0.0)
    for p, true in zip(proba.T, _one_hot(codes, proba.shape[1]).T, strict=True):
        _, which, n = np.unique(_binned(p, bins), return_inverse=True, return_counts=True)
        forecast, observed = np.bincount(which, p) / n, np.bincount(which, true) / n
        share, base = n / n.sum(), true.mean()
        p_off, true_off = p - forecast[which], true - observed[which]
        terms["reliability"] += float(share @ (forecast - observed) ** 2)
        terms["resolution"] += float(share @ (observed - base) ** 2 + (2 * true_off * p_off - p_off**2).mean())
        terms["uncertainty"] += float(base * (1 - base))
    return terms


def _require_forecasts(proba: Array, codes: Array, bins: int) -> None:
    if proba.ndim != 2 or codes.shape != proba.shape[:1] or len(codes) == 0:
        raise ValueError(
            "Expected probabilities (row, class) and one code a row, at least one row; "
            f"got shapes {proba.shape} and {codes.shape}"
        )
    if not isinstance(bins, Integral) or isinstance(bins, bool) or bins < 1:
        raise ValueError(f"Expected bins to be an integer of 1 or more; got {bins!r}")
    if (odd := ~((proba >= 0) & (proba <= 1 + 1e-9))).any():
        row, c = first(odd)
        raise ValueError(f"Expected probabilities between 0 and 1; got {proba[row, c]} in row {row}, class {c}")
    if codes.dtype.kind not in "iu" or codes.min() < 0 or codes.max() >= proba.shape[1]:
        raise ValueError(f"Expected codes from 0 to {proba.shape[1] - 1}; got {np.unique(codes).tolist()}")


def coverage(lower: Array, upper: Array, truth: Array) -> float:
    """The share of intervals that hold the truth, ends included.

    Parameters
    ----------
    lower, upper, truth : arrays of one shape
        In one unit.

    Raises
    ------
    ValueError
        If the shapes differ, nothing is given, a number is NaN, or an interval ends before it begins.
    """
    lower, upper, truth = (np.asarray(x, float) for x in (lower, upper, truth))
    if not lower.shape == upper.shape == truth.shape or truth.size == 0:
        raise ValueError(
            "Expected lower, upper and truth of one shape, at least one of each; "
            f"got shapes {lower.shape}, {upper.shape} and {truth.shape}"
        )
    for name, x in {"lower": lower, "upper": upper, "truth": truth}.items():
        if np.isnan(x).any():
            raise ValueError(f"Expected numbers; got NaN in {name}, at {first(np.isnan(x))}")
    if (lower > upper).any():
        raise ValueError(f"Expected lower of at most upper; got the opposite at {first(lower > upper)}")
    return float(((lower <= truth) & (truth <= upper)).mean())
