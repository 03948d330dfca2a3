"""A column of real numbers as a categorical one, each level an interval.

:class:`Binned` is the specification, and :class:`BinEdges` are what it becomes for one column when a model is fitted.
The outer intervals are open, so that every number falls into one.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from bayesnb.families.categorical import Categorical
from bayesnb.priors import Array, Dirichlet


@dataclass(frozen=True, eq=False)
class Binned:
    """A column of real numbers, cut into intervals and read as categorical.

    Parameters
    ----------
    bins : int
        Number of intervals; ties or a constant column may leave fewer.
    cut : {"width", "count"}
        Intervals of equal width, or with equally many rows.
    prior : Dirichlet
        Over the intervals; an empty one keeps its prior mass.
    edges : array, optional
        Inner edges, in units of the column, instead of ``bins`` and ``cut``.

    Examples
    --------
    >>> Binned(edges=[0.0, 10.0]).fit(np.array([])).names
    ('(-inf, 0)', '[0, 10)', '[10, inf)')
    """

    bins: int = 10
    cut: Literal["width", "count"] = "width"
    prior: Any = field(default_factory=Dirichlet)
    edges: Any = None

    def __post_init__(self) -> None:
        if self.bins < 2 or self.bins != int(self.bins):
            raise ValueError(f"Expected at least 2 bins; got {self.bins!r}")
        if self.cut not in ("width", "count"):
            raise ValueError(f"Expected cut to be 'width' or 'count'; got {self.cut!r}")
        if self.edges is not None and not (np.diff(np.asarray(self.edges, float)) > 0).all():
            raise ValueError(f"Expected edges that increase; got {self.edges!r}")

    def family(self) -> Categorical:
        """The family of the intervals."""
        return Categorical(self.prior)

    def fit(self, x: Array, weight: Array | None = None) -> BinEdges:
        """The edges for one column, (row,), NaN where missing."""
        if self.edges is not None:
            return BinEdges(tuple(float(edge) for edge in self.edges))
        seen = ~np.isnan(x)
        if not seen.any():
            return BinEdges(())
        from sklearn.preprocessing import KBinsDiscretizer

        by_count = self.cut == "count"
        cutter = KBinsDiscretizer(
            self.bins,
            encode="ordinal",
            strategy="quantile" if by_count else "uniform",
            quantile_method="averaged_inverted_cdf",
            subsample=None,
        )
        with warnings.catch_warnings():
            # Constant columns and ties give fewer bins than asked for; `describe` shows how many.
            warnings.filterwarnings("ignore", category=UserWarning)
            cutter.fit(x[seen, None], sample_weight=None if weight is None or not by_count else weight[seen])
        inner = np.asarray(cutter.bin_edges_[0], float)[1:-1]
        return BinEdges(tuple(float(edge) for edge in np.unique(inner)))


@dataclass(frozen=True)
class BinEdges:
    """Inner edges of a column, in its units; an interval holds its lower edge."""

    edges: tuple[float, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the intervals."""
        shown = [f"{edge:.6g}" for edge in self.edges]
        if len(set(shown)) < len(shown):
            shown = [repr(edge) for edge in self.edges]
        shown = ["-inf", *shown, "inf"]
        return tuple(f"{'[' if k else '('}{low}, {high})" for k, (low, high) in enumerate(pairwise(shown)))

    def codes(self, x: Array) -> Array:
        """Which interval each number falls into; -1 for NaN."""
        return np.where(np.isnan(x), -1, np.searchsorted(self.edges, x, side="right"))
