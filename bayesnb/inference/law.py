"""The distribution of log-odds, by formula or from draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayesnb.inference.draws import PosteriorDraws
from bayesnb.inference.saddlepoint import LogOdds
from bayesnb.kernels.blocks import each, slices
from bayesnb.model import Data, normalize
from bayesnb.model.drawn import CHUNK
from bayesnb.numerics import Array
from bayesnb.progress import counted
from bayesnb.wording import rows_at

BLOCK = 2**12
"""Rows per block, so that the cells of all points of a search fit into the cache."""

MOST = 1e300
"""Log-odds of draws are cut at this absolute value."""


@dataclass(frozen=True, eq=False)
class DrawnLogOdds:
    """Log-odds as draws (draw, row); a single draw means that the value is certain."""

    draws: Array

    @property
    def mean(self) -> Array:
        return self.draws[0] if len(self.draws) == 1 else self.draws.mean(0)

    @property
    def variance(self) -> Array:
        return np.zeros(self.draws.shape[1]) if len(self.draws) == 1 else self.draws.var(0)

    def quantile(self, q: float | Array) -> Array:
        # Infinite values cannot be interpolated, so a certain value is returned as it is.
        if len(self.draws) == 1:
            return np.broadcast_to(self.draws[0][(..., *[None] * np.ndim(q))], (self.draws.shape[1], *np.shape(q)))
        return np.moveaxis(np.quantile(self.draws, q, axis=0), 0, -1) if np.ndim(q) else np.quantile(self.draws, q, 0)

    def cdf(self, z: float) -> Array:
        return (self.draws < z).mean(0)


@dataclass(frozen=True, eq=False)
class Law:
    """The posterior distribution of the log-odds of two classes, for each row."""

    # ``answers`` provides posterior draws for rows too extreme for ``formula``. ``certain``, (row,), is plus or minus
    # infinity if one of the two classes is impossible, otherwise NaN. ``rows`` are the positions of the rows in
    # ``data``.

    answers: PosteriorDraws
    formula: LogOdds
    certain: Array
    data: Data
    rows: Array

    @classmethod
    def of(cls, answers: PosteriorDraws, data: Data, n_rows: int) -> Law:
        believed = answers.believed
        formula = LogOdds.of(believed.posterior, data, n_rows, offset=believed.offset, power=believed.power)
        log_joint = believed.log_predictive(data, n_rows)
        normalize(log_joint)
        certain = np.where(np.isneginf(log_joint), [-np.inf, np.inf], 0.0).sum(1)
        return cls(answers, formula, np.where(certain == 0, np.nan, certain), data, np.arange(n_rows))

    def __getitem__(self, rows: Any) -> Law:
        return Law(self.answers, self.formula[rows], self.certain[rows], self.data, self.rows[rows])

    def in_blocks(self, ask: Callable[[Law], Array]) -> Array:
        cuts = slices(len(self.certain), BLOCK)
        found = each(lambda cut: ask(self if len(cuts) == 1 else self[cut]), cuts)
        return np.concatenate([next(found) for _ in counted("evaluating log-odds", cuts, "parts")])

    @cached_property
    def _parts(self) -> list[tuple[Array, LogOdds | DrawnLogOdds]]:
        """Groups of rows with the same kind of log-odds distribution: saddlepoint formula, draws, or a point mass."""
        rows = np.flatnonzero(np.isnan(self.certain))
        by_formula = (self.formula if len(rows) == len(self.certain) else self.formula[rows]).prepared()
        parts: list[tuple[Array, LogOdds | DrawnLogOdds]] = []
        if (far := by_formula.too_wide).any():
            cuts = slices(int(far.sum()), max(1, CHUNK // (2 * self.answers.draws)))
            parts = [(part, self._drawn(part)) for part in (rows[far][cut] for cut in cuts)]
            rows, by_formula = rows[~far], by_formula[~far]
        if len(rows):
            parts.append((rows, by_formula))
        if len(sure := np.flatnonzero(~np.isnan(self.certain))) or not parts:
            parts.append((sure, DrawnLogOdds(self.certain[None, sure])))
        return parts

    def _drawn(self, rows: Array) -> DrawnLogOdds:
        with rows_at(self.rows[rows]):
            joint = self.answers.log_joint(self.data, self.rows[rows])
        # A class probability may underflow to 0 in some draws. Cut infinite log-odds at ±MOST, where every class
        # probability is 0 or 1 in double precision, so that quantiles can be interpolated.
        return DrawnLogOdds(np.clip(joint[..., 0] - joint[..., 1], -MOST, MOST))

    def _joined(self, answers: list[Array]) -> Array:
        return np.concatenate(answers)[np.argsort(np.concatenate([rows for rows, _ in self._parts]))]

    @property
    def drawn(self) -> Array:
        """For each row, whether its distribution comes from draws instead of a formula, (row,)."""
        drawn = [np.full(len(rows), isinstance(law, DrawnLogOdds) and len(law.draws) > 1) for rows, law in self._parts]
        return self._joined(drawn)

    @property
    def mean(self) -> Array:
        return self._joined([law.mean for _, law in self._parts])

    @property
    def variance(self) -> Array:
        return self._joined([law.variance for _, law in self._parts])

    def quantile(self, q: float | Array) -> Array:
        """Quantiles of the log-odds, as an array (row, quantile), or (row,) if ``q`` is a number."""
        return self._joined([law.quantile(q) for _, law in self._parts])

    def cdf(self, z: float) -> Array:
        """P(log-odds < z), (row,)."""
        return self._joined([law.cdf(z) for _, law in self._parts])
