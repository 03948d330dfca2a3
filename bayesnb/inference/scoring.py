"""Scores of class probabilities, such as the log loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import betaincinv

from bayesnb.inference.draws import probability_of_interval
from bayesnb.model import normalize
from bayesnb.priors import Array, first
from bayesnb.wording import require_whole

GUESSED_NONE = -1
"""Code of the predicted class of an impossible row."""


MOST_CLASSES = 100
"""Largest number of classes for which the area under the ROC curve is computed: it needs each pair of classes."""


def scores(log_joint: Array, codes: Array, bins: int = 10) -> dict[str, float]:
    """Scores of class probabilities, such as the log loss, from log p(class, row), (row, class), and true classes."""
    log_proba = log_proba_of(log_joint)
    proba = np.exp(log_proba)
    guess = guesses(log_proba)
    return {
        "accuracy": float((guess == codes).mean()),
        # The mean recall of the classes that have rows.
        "balanced_accuracy": float(np.mean([(guess[codes == c] == c).mean() for c in np.unique(codes)])),
        # scikit-learn's log_loss clips probabilities; its brier_score_loss refuses impossible rows and a single class.
        "log_loss": float((0.0 - own(log_proba, codes)).mean()),
        # Summed over the classes, from 0 to 2 (Brier 1950).
        "brier": float(brier_terms(proba, codes).mean()),
        "ece": calibration_error(proba.max(axis=1), guess == codes, bins),
        "auc": auc_and_influence(proba, codes)[0],
        "impossible": int((guess == GUESSED_NONE).sum()),
    }


def guesses(log_proba: Array) -> Array:
    """The most probable class of each row, (row,); ``GUESSED_NONE`` if the row is impossible."""
    return np.where(np.isneginf(log_proba).all(axis=1), GUESSED_NONE, log_proba.argmax(axis=1))


def brier_terms(proba: Array, codes: Array) -> Array:
    """The squared errors of the class probabilities, summed over the classes, (row,)."""
    return ((proba - np.eye(proba.shape[1])[codes]) ** 2).sum(axis=1)


def auc_and_influence(proba: Array, codes: Array) -> tuple[float, Array]:
    """The area under the ROC curve (AUC), and the first-order effect of each row's weight on this area, (row,)."""
    # With two classes, the probability that a row of the second class has a larger p(second class) than a row of the
    # first class; ties count half. With three or more classes, the mean area over all pairs of classes with rows (Hand
    # and Till 2001). NaN if fewer than 2 or more than ``MOST_CLASSES`` classes have rows. Influences as in DeLong et
    # al. 1988.
    # With weights w, the area is to first order auc + Σ_c Σ_i w_i influence_i / Σ_i w_i, with sums over the rows i of
    # class c. The influences are the centred placements of DeLong et al.
    influence = np.zeros(len(codes))
    present = np.unique(codes)
    if not 2 <= len(present) <= MOST_CLASSES:
        return float("nan"), influence
    rows = {c: np.flatnonzero(codes == c) for c in present}
    # With two classes, both columns give the same area.
    pairs = [(a, b) for a in present for b in present if a != b] if proba.shape[1] > 2 else [(1, 0)]
    total = 0.0
    for a in dict.fromkeys(a for a, _ in pairs):
        sorted_of = {c: np.sort(proba[rows[c], a]) for c in present}
        for b in (other for one, other in pairs if one == a):
            above = _share_below(proba[rows[a], a], sorted_of[b])
            below = 1 - _share_below(proba[rows[b], a], sorted_of[a])
            area = above.mean()
            total += area
            influence[rows[a]] += above - area
            influence[rows[b]] += below - area
    return float(total / len(pairs)), influence / len(pairs)


def _share_below(values: Array, ordered: Array) -> Array:
    """For each value, the share of smaller numbers among the sorted numbers ``ordered``; equal numbers count half."""
    below, up_to = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    return (below + up_to) / (2 * len(ordered))


def log_proba_of(log_joint: Array) -> Array:
    """log p(class | row), (row, class); -inf for all classes of an impossible row."""
    possible = ~np.isneginf(log_joint).all(axis=1)
    log_proba = np.full(log_joint.shape, -np.inf)
    log_proba[possible] = normalize(log_joint[possible])
    return log_proba


def entropies(log_proba: Array) -> Array:
    """The entropy of the class probabilities of each row, in nats, (row,)."""
    return -(np.exp(log_proba) * np.where(np.isneginf(log_proba), 0.0, log_proba)).sum(axis=1)


def own(values: Array, codes: Array) -> Array:
    """For each row of an array (row, class), the value for the class of the row."""
    return values[np.arange(len(codes)), codes]


def calibration_error(confidence: Array, right: Array, bins: int = 10) -> float:
    """Expected calibration error over bins of equal width (Guo et al. 2017, eq. 3)."""
    gap = np.bincount(_binned(confidence, bins), confidence - right, minlength=bins)
    return float(np.abs(gap).sum() / len(confidence))


def calibration_gaps(log_proba: Array, codes: Array, bins: int = 10) -> tuple[Array, Array, int]:
    """The bin of each row's confidence, confidence minus accuracy (0 or 1), and the number of bins."""
    confidence = np.exp(log_proba.max(axis=1))
    return _binned(confidence, bins), confidence - (guesses(log_proba) == codes), bins


def share_interval(k: Any, n: Any, prob: float) -> tuple[Any, Any]:
    """The equal-tailed interval of a share, from k of n rows, under Jeffreys' prior Beta(1/2, 1/2)."""
    k, n, tail = np.asarray(k), np.asarray(n), (1 - prob) / 2
    # Brown, Cai and DasGupta 2001.
    lower = np.where(k == 0, 0.0, betaincinv(k + 0.5, n - k + 0.5, tail))
    upper = np.where(k == n, 1.0, betaincinv(k + 0.5, n - k + 0.5, 1 - tail))
    return lower[()], upper[()]


def _binned(p: Array, bins: int) -> Array:
    return np.minimum((p * bins).astype(int), bins - 1)


def reliability_table(
    proba: Array, codes: Array, bins: int = 10, code: int | None = None, prob: float | None = None
) -> pd.DataFrame:
    """How often predictions are right at each confidence, as :func:`bayesnb.plots.reliability` plots it.

    Parameters
    ----------
    proba, codes, bins, code, prob
        As for :func:`bayesnb.plots.reliability`.

    Returns
    -------
    DataFrame (bin, ...)
        One row for each bin that contains a prediction. ``from`` and ``to`` are the ends of the bin. ``rows`` is the
        number of predictions in the bin, and ``confidence`` is their mean probability. ``share`` is the share of rows
        that have the class, with the interval from ``lower`` to ``upper``.

    Examples
    --------
    >>> import numpy as np
    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.4, 0.6]])
    >>> reliability_table(proba, np.array([0, 0, 1, 1]), bins=2, code=1)[["rows", "confidence", "share"]].round(2)
       rows  confidence  share
    0     3         0.2   0.33
    1     1         0.6   1.00
    """
    proba, codes = _forecasts(proba, codes, bins)
    if code is not None and not 0 <= code < proba.shape[1]:
        raise ValueError(f"Expected code to be from 0 to {proba.shape[1] - 1}; got {code!r}")
    p, right = (proba.max(1), proba.argmax(1) == codes) if code is None else (proba[:, code], codes == code)
    which, place, n = np.unique(_binned(p, bins), return_inverse=True, return_counts=True)
    k = np.bincount(place, right)
    lower, upper = share_interval(k, n, probability_of_interval(prob))
    return pd.DataFrame({
        "from": which / bins,
        "to": (which + 1) / bins,
        "rows": n,
        "confidence": np.bincount(place, p) / n,
        "share": k / n,
        "lower": lower,
        "upper": upper,
    })  # fmt: skip


def brier_decomposition(proba: Array, codes: Array, bins: int = 10) -> dict[str, float]:
    """The Brier score as reliability - resolution + uncertainty.

    Parameters
    ----------
    proba : array (row, class)
    codes : int array (row,)
        The true classes.
    bins : int
        Number of bins of equal width in which forecasts are pooled.

    Returns
    -------
    dict
        ``reliability`` is the mean squared difference of forecasts and observed frequencies per bin (0 if calibrated).
        ``resolution`` is the mean squared difference of observed frequencies and the base rate (more is better).
        ``uncertainty`` is Σ_c f_c (1 - f_c) with the base rates f. Each of the three terms is summed over the classes.

    Raises
    ------
    ValueError
        If there are no rows, the number of codes differs from the number of rows, or a code, a probability or ``bins``
        is invalid.

    Notes
    -----
    If forecasts differ within a bin, the effect is counted in the resolution, which can therefore be slightly below 0.

    References
    ----------
    Murphy (1973), A new vector partition of the probability score; Stephenson, Coelho and Jolliffe (2008), Two
    extra components in the Brier score decomposition.
    """
    proba, codes = _forecasts(proba, codes, bins)
    terms: dict[str, float] = dict.fromkeys(("reliability", "resolution", "uncertainty"), 0.0)
    for p, true in zip(proba.T, np.eye(proba.shape[1])[codes].T, strict=True):
        _, which, n = np.unique(_binned(p, bins), return_inverse=True, return_counts=True)
        forecast, observed = np.bincount(which, p) / n, np.bincount(which, true) / n
        share, base = n / n.sum(), true.mean()
        p_off, true_off = p - forecast[which], true - observed[which]
        terms["reliability"] += float(share @ (forecast - observed) ** 2)
        terms["resolution"] += float(share @ (observed - base) ** 2 + (2 * true_off * p_off - p_off**2).mean())
        terms["uncertainty"] += float(base * (1 - base))
    return terms


def _forecasts(proba: Any, codes: Any, bins: int) -> tuple[Array, Array]:
    proba, codes = np.asarray(proba, float), np.asarray(codes)
    if proba.ndim != 2 or codes.shape != proba.shape[:1] or len(codes) == 0:
        order = ": write the probabilities first" if (proba.ndim, codes.ndim) == (1, 2) else ""
        raise ValueError(
            "Expected probabilities (row, class) and one code per row, at least one row; "
            f"got shapes {proba.shape} and {codes.shape}{order}"
        )
    require_whole(1, bins=bins)
    if (odd := ~((proba >= 0) & (proba <= 1 + 1e-9))).any():
        row, c = first(odd)
        raise ValueError(f"Expected probabilities between 0 and 1; got {proba[row, c]} in row {row}, class {c}")
    if codes.dtype.kind not in "iu" or codes.min() < 0 or codes.max() >= proba.shape[1]:
        cure = "write pd.Categorical(y, clf.classes_).codes"
        raise ValueError(f"Expected codes from 0 to {proba.shape[1] - 1}; got {np.unique(codes).tolist()[:5]}: {cure}")
    return proba, codes
