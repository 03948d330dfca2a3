"""Draws of ln p(row | class, θ) without draws of θ: for models of many thousand parameters.

ln p(row | θ) of a class is a sum over columns of independent terms, so its cumulant generating function K is the sum of
their log moments, which are closed forms. With t such that K'(t) = z, let w be the signed root of 2 (t z - K(t)) and
u = t √K''(t). Then

    P(ln p(row | θ) < z) ≈ Φ(w + ln(u / w) / w)

(Barndorff-Nielsen 1986; Butler 2007, "Saddlepoint Approximations", 1.2.4 and 1.5). The error falls with the number of
columns. So a draw is the z whose normal score, the argument of Φ, is a standard normal variate.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesnb.inference.believed import Believed, chosen_classes
from bayesnb.inference.saddlepoint import LARGE, WIDE, prepared
from bayesnb.model import Data
from bayesnb.priors import Array

SCORES = np.linspace(-6.0, 6.0, 24)
"""About the normal scores at which z is computed; between them it is interpolated. None is 0, where u / w is 0 / 0."""


def log_joint(believed: Believed, draws: int, seed: Any, data: Data, n_rows: int, offset: Array = 0.0) -> Array:
    """Draws of log p(c, x | θ), (draw, row, class), for a posterior in closed form.

    They are NaN for rows so far out that floats do not tell the saddlepoints apart.

    Parameters
    ----------
    believed : Believed
    draws : int
    seed : Any
        As ``numpy.random.default_rng`` takes it; a Generator is copied, so its state does not change.
    data, n_rows
    offset : array that spreads to (row, class)
    """
    rng, posterior = np.random.default_rng(copy.deepcopy(seed)), believed.posterior
    classes = np.arange(len(posterior.labels))
    log_pi, score = posterior.label.log_draw(rng, (draws,)), rng.standard_normal((draws, len(classes)))
    features = posterior.model.features.items()
    factors = prepared([(family, posterior.features[name], data[name]) for name, family in features])
    predictive = posterior.log_predictive(data, n_rows) + offset
    impossible = np.isneginf(predictive)
    joint = log_pi[:, None] + _sums(factors, impossible, 0.0, score)
    if believed.power:
        chosen = chosen_classes(predictive, rng.random(draws))[..., None]
        counted = posterior.label.log_counted(log_pi, rng)[:, None] + _sums(factors, impossible, 1.0, score)
        joint = np.where(chosen == classes, counted, joint)
    return joint + offset


def _sums(factors: Sequence[tuple[Any, Any, Any]], impossible: Array, origin: float, score: Array) -> Array:
    """ln p(row | θ_c) at normal scores (draw, class), (draw, row, class).

    ``impossible`` (row, class) says which classes cannot have a row. ``origin`` is 0 for θ given the data, and 1 for θ
    given the data and the row as one of class c: the cumulant generating function is then K(1 + t) - K(1).
    """
    shape = impossible.shape

    def cumulants(t: Array) -> Array:
        return sum((family.cumulants(believed, x, t) for family, believed, x in factors), np.zeros((3, *shape)))

    floor = np.full(shape, -np.inf)
    for family, believed, x in factors:
        floor = np.maximum(floor, family.moment_floor(believed, x))
    with np.errstate(all="ignore"):
        level, mean, variance = cumulants(np.full(shape, origin))
        nodes = []
        for about in SCORES:
            away = about / np.sqrt(variance)
            # K has no value below the floor, and its slope falls without end there.
            away = np.where(away < 0, away / (1 + away / (0.95 * (floor - origin))), away)
            found, z, curvature = cumulants(origin + away)
            w = np.sign(away) * np.sqrt(2 * (away * z - (found - level)))
            nodes.append((w + np.log(away * np.sqrt(curvature) / w) / w, z))
        scores, values = np.moveaxis(np.array(nodes), 1, 0)
        near = (variance < WIDE) & (np.abs(level) < LARGE) & (np.diff(scores, axis=0) > 0).all(axis=0)
    from scipy.interpolate import PchipInterpolator

    total = np.empty((len(score), *shape))
    for row, c in np.ndindex(shape):
        if impossible[row, c]:
            total[:, row, c] = -np.inf
        elif variance[row, c] == 0:
            total[:, row, c] = mean[row, c]
        elif near[row, c]:
            total[:, row, c] = PchipInterpolator(scores[:, row, c], values[:, row, c])(score[:, c])
        else:
            total[:, row, c] = np.nan
    return total
