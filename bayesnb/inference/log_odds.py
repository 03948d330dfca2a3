"""Moments of the log-odds."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax

from bayesnb.families.sampled import Draws, Sampled, Strata
from bayesnb.inference.believed import Believed, Given
from bayesnb.inference.classifier import Classifier, FarRowError, index_of
from bayesnb.inference.draws import PosteriorDraws
from bayesnb.inference.questions import question
from bayesnb.kernels.blocks import slices
from bayesnb.model import Data, normalize, part_of
from bayesnb.model.drawn import CHUNK
from bayesnb.model.pieces import in_blocks
from bayesnb.numerics import Array

DRAWS = 4000
"""Number of draws for the moments with forests."""

type Moments = tuple[Array, Array, Array]
"""Moments of ln p(c, x | θ): means and variances, (row, class) each, and the contribution of covariances between
classes to the variance of differences of two classes, (row, class, class).
"""


@question("mean and variance of log-odds", "how sure", "odds")
def log_odds(classifier: Classifier, X: Any, given: Given | None = None) -> pd.DataFrame:
    """Exact posterior mean and variance of the log-odds of each pair of classes.

    Parameters
    ----------
    X : table
        The rows to predict.
    given : {"row", "data"}, optional
        The posterior of θ, as in :meth:`predict_interval`.

    Returns
    -------
    DataFrame (row, (class, against, "mean" | "variance"))
        Moments of ln p(class | row, θ) - ln p(against | row, θ), in nats. Entries are infinite if one of the two
        classes is impossible, NaN if both classes are impossible. With "forests", the moments are taken over 4000
        draws, and ``attrs["mcse"]`` is the largest Monte Carlo standard error of a mean. ``attrs["given"]`` is "row" or
        "data".

    Raises
    ------
    FarRowError
        If a row is so far from the learned rows that the moments overflow double precision.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets, odds
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> odds.log_odds(clf, X[:1]).round(2)
    class      no
    against   yes
             mean variance
    0        1.19      2.1
    """
    data, n = classifier.read(X)
    classifier.require_two_classes()
    believed, classes = classifier.believed.when_given(given), classifier.classes
    forests = believed.of_forests
    with np.errstate(over="ignore"):
        moments = (
            _of_drawn_forests(classifier, believed, data, n) if forests else moments_of_log_odds(believed, data, n)
        )
    unknown = np.isnan(moments[0]).any(axis=(1, 2))
    if unknown.any() and (far := unknown & np.isfinite(believed.log_predictive(data, n)).all(axis=1)).any():
        raise FarRowError(np.flatnonzero(far))
    columns = {
        (classes[a], classes[b], what): moment[:, a, b]
        for a, b in combinations(range(len(classes)), 2)
        for what, moment in zip(("mean", "variance"), moments, strict=True)
    }
    frame = pd.DataFrame(columns, index=index_of(X) if index_of(X) is not None else range(n))
    frame.columns = pd.MultiIndex.from_tuples(list(columns), names=["class", "against", None])
    frame.attrs["given"] = believed.given
    if forests:
        frame.attrs["mcse"] = float(np.sqrt(np.nanmax(moments[1], initial=0.0) / DRAWS))
    return frame


def moments_of_log_odds(believed: Believed, data: Data, n_rows: int) -> tuple[Array, Array]:
    """Exact posterior means and variances of the log-odds of all pairs of classes: two arrays (row, class, class)."""
    # The moments are sums over the factors of the first two derivatives at 0 of the log moments, or for sampled factors
    # of moments over draws. Given the row too, the posterior is a mixture over the classes c of the row, in which the
    # derivatives for class c are taken at 1 instead of 0.
    model = believed.posterior.model
    if not all(family.classes_apart for family in model.features.values()):
        model.require_exact("the moments of the log-odds", "use sample_proba, which draws")
    if not believed.naive:
        return _with_exponents(believed, data, n_rows)
    data = believed.posterior.without_constant(data)
    if not believed.power:
        return _of_pairs(*_of_classes(believed, data, n_rows, None))
    weights = np.exp(normalize(believed.log_predictive(data, n_rows)))
    classes = range(len(believed.posterior.labels))
    each = [_of_pairs(*_of_classes(believed, data, n_rows, c)) for c in classes]
    # An impossible class is not a component.
    weights = [np.where(weights[:, c] > 0, weights[:, c], np.nan)[:, None, None] for c in classes]

    def average(values: list[Array]) -> Array:
        with np.errstate(invalid="ignore"):
            return sum(np.where(np.isnan(w), 0.0, w * v) for w, v in zip(weights, values, strict=True))

    mean = average([mean for mean, _ in each])
    with np.errstate(invalid="ignore"):
        apart = [np.where(np.isfinite(mean), (own - mean) ** 2, 0.0) for own, _ in each]
    return mean, average([variance + away for (_, variance), away in zip(each, apart, strict=True)])


def _of_drawn_forests(classifier: Classifier, believed: Believed, data: Data, n_rows: int) -> tuple[Array, Array]:
    answers = PosteriorDraws(believed, DRAWS, classifier.fixed_seed)
    n_classes, found = len(believed.posterior.labels), []
    for cut in slices(n_rows, max(1, CHUNK // (DRAWS * n_classes**2))):
        joint = answers.log_joint(data, np.arange(cut.start, cut.stop))
        with np.errstate(invalid="ignore"):
            apart = joint[..., :, None] - joint[..., None, :]
            found.append((apart.mean(0), apart.var(0)))
    mean, variance = (np.concatenate(each) for each in zip(*found, strict=True))
    return mean, variance


def _of_pairs(mean: Array, own: Array, together: Array) -> tuple[Array, Array]:
    """Mean and variance of the log-odds of every pair of classes, (row, class, class)."""
    with np.errstate(invalid="ignore"):
        difference, between = mean[:, :, None] - mean[:, None, :], own[:, :, None] + own[:, None, :] + together
    same = np.arange(mean.shape[1])
    difference[:, same, same] = between[:, same, same] = 0.0
    return difference, between


def _of_classes(believed: Believed, data: Data, n_rows: int, c: int | None) -> Moments:
    """Means and variances of ln p(class, row | θ) under naive Bayes, and the contribution of covariances of classes."""
    # c: the label with which the row is learned, or ``None``
    posterior, n_classes = believed.posterior, len(believed.posterior.labels)
    mean, own = np.zeros((2, n_rows, n_classes))
    together, t = np.zeros((n_rows, n_classes, n_classes)), np.zeros(n_classes)
    if c is not None:
        t[c] = 1.0
    for name, family in posterior.model.features.items():
        if family.exact:
            _, first, second = family.cumulants(posterior.features[name], data[name], t)
        else:
            first, covariance = _of_draws(family, posterior.features[name], data[name], c)
            second = np.diagonal(covariance, axis1=1, axis2=2)
            together -= 2 * covariance
        mean, own = mean + first, own + second
    _, first, second = posterior.label.log_powers(t)
    return mean + first + believed.offset, own + second, together


def _with_exponents(believed: Believed, data: Data, n_rows: int) -> tuple[Array, Array]:
    # Write Δ for a difference between two classes. In the log-odds Δ ln π + Δ b + Σ_t w_t Δ s_t(θ), the factors π, θ
    # and (w, b) are independent. So the mean is this expression at the mean of each factor. The variance is Var[Δ ln
    # π], plus the variance of Δ b + Σ_t w_t E[Δ s_t] under the posterior of the exponents, plus Σ_t E[w_t²] Var[Δ s_t].
    posterior, dependence = believed.posterior, believed.require_exponents()
    if dependence.spec.by == "class" or dependence.exponents.average:
        where = "for an average of models" if dependence.exponents.average else "where classes have their own exponents"
        raise ValueError(
            f"the moments of the log-odds have no closed form {where}; use predict_interval or sample_proba, which draw"
        )
    posterior.require_exact("the moments of the log-odds", "use sample_proba, which draws")
    n_classes, (mean, covariance) = len(posterior.labels), dependence.exponents.moments()
    n_terms = dependence.exponents.layout.terms
    squares = mean[:n_terms] ** 2 + np.diagonal(covariance)[:n_terms]
    _, first, second = posterior.label.log_powers(np.zeros(n_classes))
    offset = np.broadcast_to(believed.offset, (n_rows, n_classes))
    found = np.empty((2, n_rows, n_classes, n_classes))
    for cut in in_blocks(n_rows, n_classes**2, len(mean)):
        part, n = part_of(data, cut), cut.stop - cut.start
        varied = posterior.without_constant(part)
        columns = [
            piece.family.cumulants(piece.believed, piece.of(varied[piece.feature]), 0.0)[1:]
            for piece in posterior.pieces
        ]
        level, spread = (np.stack(each, axis=-1) for each in zip(*columns, strict=True))
        if dependence.spec.by == "model":
            level, spread = level.sum(-1, keepdims=True), spread.sum(-1, keepdims=True)
        level = np.concatenate([level, dependence.terms.beside(posterior, part, n)], axis=-1)[..., :n_terms]
        # The derivative of ln p(c, x) in an exponent is its term; in a coefficient of class c, it is the covariate.
        own = np.einsum("ck,rj->rckj", np.eye(n_classes), dependence.alike(part, n)).reshape(n, n_classes, -1)
        steps = np.concatenate([level, own], axis=-1)
        apart = steps[:, :, None] - steps[:, None, :]
        together = ((apart @ covariance) * apart).sum(-1)
        centre = first + steps @ mean + offset[cut]
        found[:, cut] = _of_pairs(centre, spread @ squares[: spread.shape[-1]] + second, together)
    return found[0], found[1]


def _of_draws(family: Sampled, believed: Draws, x: Any, c: int | None) -> tuple[Array, Array]:
    """The mean, (row, class), and the covariance, (row, class, class), of log p(x | θ) over draws."""
    # Moments of the columns add within a stratum, a component of a mixture, in which they are independent.
    n_classes, whole = believed.batch_shape[0], c is None
    strata = Strata.of(None, len(believed)) if whole else family.strata(believed)
    mean = np.zeros((len(strata), len(x), n_classes))
    covariance, says = np.zeros((*mean.shape, n_classes)), np.zeros((*mean.shape[:2], 1))
    columns = family.paired(believed, x) if whole else (part[1:] for part in family.cells_by_column(believed, x))
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
