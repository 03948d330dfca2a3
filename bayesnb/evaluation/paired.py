"""Differences of scores that are paired row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesnb.priors import Array


def minus(a: Any, b: Any) -> Array:
    """a - b, and 0 where both are the same infinity."""
    return np.subtract(a, b, out=np.zeros(np.shape(a)), where=np.not_equal(a, b))


def standard_error(terms: Array) -> float:
    """The standard error of a sum of terms over rows, √(n var); infinite if a term is."""
    return float(np.sqrt(len(terms) * np.var(terms))) if np.isfinite(terms).all() else np.inf
