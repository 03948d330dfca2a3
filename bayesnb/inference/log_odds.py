"""Mean and variance of the log-odds of all pairs of classes: exact, and without a draw.

``offset``, (row, class), is added to log p(class, row): it holds the class priors of rows that have their own.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax

from bayesnb.data.targets import labels_of
from bayesnb.dependence import terms
from bayesnb.dependence.conditional import indicators
from bayesnb.dependence.learned import Dependence
from bayesnb.families.sampled import Draws, Sampled
from bayesnb.families.strata import Strata
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.draws import believed_by
from bayesnb.inference.far_rows import FarRowError, predictive_joint
from bayesnb.inference.given import Given
from bayesnb.inference.predict_table import index_of
from bayesnb.inference.questions import question
from bayesnb.model import Data, Posterior, normalize, part_of
from bayesnb.numerics import Array


def log_odds_moments(
    posterior: Posterior, data: Data, n_rows: int, offset: Array = 0.0, power: int = 0
) -> tuple[Array, Array]:
    """Posterior mean and variance of ln p(a | x, θ) / p(b | x, θ) for all pairs, (row, a, b) each: exact.

    They are sums of the first two derivatives at 0 of the log moments of the factors; for sampled factors, of averages
    over draws. The mean is infinite if one of the two classes is impossible, and NaN if both are. Given the row too
    (``power`` 1), the posterior is a mixture with one component for each class c that the row may have, in which the
    derivatives of class c are those at 1; the means of the components vary, which adds to the variance.
    """
    if not power:
        return _component(posterior, data, n_rows, offset, None)
    weights = np.exp(normalize(posterior.log_predictive(data, n_rows) + offset))
    classes = range(len(posterior.labels))
    each = [_component(posterior, data, n_rows, offset, c) for c in classes]
    # A class that the row cannot have is no component.
    weights = [np.where(weights[:, c] > 0, weights[:, c], np.nan)[:, None, None] for c in classes]

    def average(values: list[Array]) -> Array:
        with np.errstate(invalid="ignore"):
            return sum(np.where(np.isnan(w), 0.0, w * v) for w, v in zip(weights, values, strict=True))

    mean = average([mean for mean, _ in each])
    with np.errstate(invalid="ignore"):
        apart = [np.where(np.isfinite(mean), (own - mean) ** 2, 0.0) for own, _ in each]
    return mean, average([variance + away for (_, variance), away in zip(each, apart, strict=True)])


def _component(posterior: Posterior, data: Data, n_rows: int, offset: Array, c: int | None) -> tuple[Array, Array]:
    """The moments given the data (``c`` is None), or given them and the row as one of class ``c``."""
    mean, variance = np.zeros((2, n_rows, len(posterior.labels)))
    shared = np.zeros((n_rows, len(posterior.labels), len(posterior.labels)))
    t = np.zeros(len(posterior.labels))
    if c is not None:
        t[c] = 1.0
    for name, family in posterior.model.features.items():
        believed, x = posterior.features[name], data[name]
        if family.exact:
            slopes = family.log_moment_slopes(believed, x, t)
            mean += slopes[0]
            variance += slopes[1]
            continue
        own_mean, covariance = _of_draws(family, believed, x, c)
        mean += own_mean
        variance += np.diagonal(covariance, axis1=1, axis2=2)
        shared += covariance
    _, first, second = posterior.label.log_powers(t)
    mean += first
    variance += second
    mean = mean + offset
    with np.errstate(invalid="ignore"):
        difference, between = (
            mean[:, :, None] - mean[:, None, :],
            variance[:, :, None] + variance[:, None, :] - 2 * shared,
        )
    classes = np.arange(len(posterior.labels))
    difference[:, classes, classes] = between[:, classes, classes] = 0.0
    return difference, between


def _of_draws(family: Sampled, believed: Draws, x: Any, c: int | None) -> tuple[Array, Array]:
    """Mean (row, class) and covariance (row, class, class) of log p(x | θ) over draws, given the row as one of class c.

    The columns of a stratum are independent, so their moments add; the strata are a mixture.
    """
    n_classes, whole = believed.proper().shape[0], c is None
    strata = Strata.of(None, len(believed)) if whole else family.strata(believed)
    mean = np.zeros((len(strata), len(x), n_classes))
    covariance, says = np.zeros((*mean.shape, n_classes)), np.zeros((*mean.shape[:2], 1))
    columns = family.paired(believed, x) if whole else (part[1:] for part in family.by_column(believed, x))
    for rows, value in columns:
        log_weight = np.zeros((*value.shape[:2], 1)) if whole else value[..., [c]]
        says[:, rows] += strata.averages(log_weight)
        for k, members in enumerate(strata.members):
            weight, own = softmax(log_weight[members], axis=0), value[members]
            centre = (weight * own).sum(0)
            mean[k, rows] += centre
            covariance[k, rows] += np.einsum("dri,drj->rij", weight * (own - centre), own - centre)
    share = softmax(says + strata.log_share[:, None, None], axis=0)
    total = (share * mean).sum(0)
    away = mean - total
    return total, (share[..., None] * (covariance + away[..., :, None] * away[..., None, :])).sum(0)


def weighted_moments(
    posterior: Posterior, dependence: Dependence, data: Data, n_rows: int, offset: Array = 0.0
) -> tuple[Array, Array]:
    """Posterior mean and variance of the log-odds of all pairs of classes, (row, a, b) each, without a draw of θ.

    With Δ a difference between two classes, the log-odds are Δ ln π + Δ b + Σ_t w_t Δ s_t(θ), in which π, the θ of the
    columns and the exponents (w, b) are independent; b are the offsets of the class and of the row's cells. So the mean
    takes the mean of each, and the variance is that of Δ ln π, plus that of Δ b + Σ_t w_t E[Δ s_t] under the posterior
    of the exponents, plus Σ_t E[w_t²] Var[Δ s_t].

    Raises
    ------
    ValueError
        Where classes have exponents of their own, or a feature is sampled.
    """
    if dependence.spec.by == "class":
        raise ValueError(
            "the moments of the log-odds have no closed form where classes have exponents of their own; use "
            "predict_interval or sample_proba, which draw"
        )
    posterior.model.require_exact("the moments of the log-odds", "use sample_proba, which draws")
    n_classes, moments = len(posterior.labels), dependence.exponents.moments()
    difference, between = np.empty((2, n_rows, n_classes, n_classes))
    for cut in terms.in_blocks(n_rows, n_classes**2, len(moments[0])):
        part, n = part_of(data, cut), cut.stop - cut.start
        centre, spread, steps = _moments_of_classes(posterior, dependence, part, n, *moments)
        centre = centre + np.broadcast_to(offset, (n_rows, n_classes))[cut]
        apart = steps[:, :, None] - steps[:, None, :]
        with np.errstate(invalid="ignore"):
            difference[cut] = centre[:, :, None] - centre[:, None, :]
        between[cut] = spread[:, :, None] + spread[:, None, :] + ((apart @ moments[1]) * apart).sum(-1)
    same = np.arange(n_classes)
    difference[:, same, same] = between[:, same, same] = 0.0
    return difference, between


def _moments_of_classes(
    posterior: Posterior, dependence: Dependence, data: Data, n_rows: int, mean: Array, covariance: Array
) -> tuple[Array, Array, Array]:
    """Mean of ln p(c, x | θ, w) and the part of its variance that θ has, (row, class), and the exponents' steps.

    A step of the exponents, (row, class, parameter), moves ln p(c, x) by the terms, and one of an offset by 1, if the
    row has it.
    """
    layout, n = dependence.exponents.layout, dependence.exponents.layout.terms
    columns = [
        piece.family.log_moment_slopes(piece.believed, piece.of(data[piece.feature]), 0.0)
        for piece in terms.pieces(posterior)
    ]
    level, spread = (np.stack(each, axis=-1) for each in zip(*columns, strict=True))
    if dependence.spec.by == "model":
        level, spread = level.sum(-1, keepdims=True), spread.sum(-1, keepdims=True)
    level = np.concatenate([level, dependence.beside(posterior, data, n_rows)], axis=-1)[..., :n]
    squares = mean[:n] ** 2 + np.diagonal(covariance)[:n]
    _, first, second = posterior.label.log_powers(np.zeros(layout.classes))
    held = np.column_stack([indicators(dependence.cells(data, n_rows), n_rows, layout.cells), np.ones(n_rows)])
    own = np.einsum("ck,rj->rckj", np.eye(layout.classes), held).reshape(n_rows, layout.classes, -1)
    steps = np.concatenate([level, own], axis=-1)
    return first + steps @ mean, spread @ squares[: spread.shape[-1]] + second, steps


@question("mean and variance of log-odds", "how sure")
def log_odds(classifier: Classifier, X: Any, given: Given | None = None) -> pd.DataFrame:
    """Posterior mean and variance of the log-odds ln p(a | x, θ) - ln p(b | x, θ) of each pair: exact, no draws.

    Parameters
    ----------
    X : table
        The rows to ask about.
    given : {"row", "data"}, optional
        What is believed of θ, as in :meth:`predict_interval`.

    Returns
    -------
    DataFrame (row, (class, against, "mean" | "variance"))
        In nats, one pair for every two classes. Infinite where one of the two is ruled out, NaN where both are. With a
        dependence, of the posterior of the parameters and the exponents, which are independent. ``attrs["given"]`` is
        "row" or "data".

    Raises
    ------
    FarRowError
        If a row is so far out that the moments are no floats.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.log_odds(X[:1]).round(2)
    class      no
    against   yes
             mean variance
    0        1.19      2.1
    """
    data, n = classifier.read(X)
    require_two_classes(classifier)
    believed = believed_by(classifier, given, classifier.generator())
    with np.errstate(over="ignore"):
        if classifier.dependence is None:
            moments = log_odds_moments(classifier.posterior, data, n, classifier.offset, believed.power)
        else:
            moments = weighted_moments(classifier.posterior, classifier.dependence, data, n, classifier.offset)
    unknown = np.isnan(moments[0]).any(axis=(1, 2))
    if unknown.any() and (far := unknown & np.isfinite(predictive_joint(classifier, data, n)).all(axis=1)).any():
        raise FarRowError(np.flatnonzero(far))
    pairs = list(combinations(range(len(classifier.classes)), 2))
    columns = {
        (classifier.classes[a], classifier.classes[b], what): moment[:, a, b]
        for a, b in pairs
        for what, moment in zip(("mean", "variance"), moments, strict=True)
    }
    frame = pd.DataFrame(columns, index=index_of(X) if index_of(X) is not None else range(n))
    frame.columns = pd.MultiIndex.from_tuples(list(columns), names=["class", "against", None])
    frame.attrs["given"] = believed.name
    return frame


def require_two_classes(classifier: Classifier) -> None:
    """Refuse a question about odds where there is one class."""
    if len(classifier.classes) < 2:
        raise ValueError(f"there are no odds with one class, {labels_of(classifier.classes)[0]!r}")
