"""Log-odds where every term counts to a power: what each term adds to them, their mean and their variance.

Start with :func:`contributions`, behind ``explain`` of a classifier with a dependence. A column contributes what it
does in naive Bayes times its exponent, plus the offset of its cell where cells have offsets; shapes, pairs and joint
columns have entries of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.random import Generator

from bayesnb.data.schema import Schema
from bayesnb.dependence.learned import Dependence, weighed
from bayesnb.dependence.termset import relative
from bayesnb.inference.explain import PRIOR, TOTAL, Entry, OneWord, against, entries, lines_of
from bayesnb.inference.saddlepoint import DrawnLogOdds
from bayesnb.model import Data, Parameters, Posterior, part_of
from bayesnb.numerics import Array, log, log_gamma_draw

OFFSET, AVERAGING = "(offset)", "(averaging)"


DRAWS = 1000
"""Draws of the parameters and the exponents, from which the interval of each entry is taken."""


BLOCK = 32
"""Rows that are explained at once: each of their cells has that many draws."""


@dataclass(frozen=True, eq=False)
class Certain:
    """Log-odds that do not vary with the parameters."""

    value: Array

    def quantile(self, q: float) -> Array:
        """The value itself."""
        return self.value


def contributions(
    schema: Schema,
    posterior: Posterior,
    dependence: Dependence,
    theta: Parameters | None,
    point: Literal["mode", "mean"] | None,
    data: Data,
    log_proba: Array,
    pairs: Array,
    shares: tuple[float, float],
    seed: Any,
    offset: Array = 0.0,
) -> pd.DataFrame:
    """Where the log-odds of each row come from, as :func:`bayesnb.inference.explain.contributions` says it.

    Parameters
    ----------
    schema, posterior, dependence
    theta : Parameters or None
        What is plugged in for the parameters of the columns; ``None`` integrates them out.
    point : {"mode", "mean"} or None
        Which exponents are plugged in. ``None`` takes the mean, and a further entry says what it adds to average
        class probabilities over the exponents instead.
    data : {name: encoded column}
    log_proba : array (row, class)
        log p(c | x) by the chosen estimate.
    pairs : int array (row, 2)
        The two classes whose log-odds are split.
    shares : (low, high)
        The quantiles of the interval of each entry, under draws of the parameters and of the exponents.
    seed : int or None
        Of these draws.
    offset : array that spreads to (row, class)
        Added to the log prior.
    """
    offset = np.broadcast_to(offset, (len(pairs), len(posterior.labels)))
    parts = []
    for a, b in np.unique(pairs, axis=0):
        every = np.flatnonzero((pairs == (a, b)).all(axis=1))
        for start in range(0, len(every), BLOCK):
            rows = every[start : start + BLOCK]
            asked = _Asked(posterior, dependence, theta, point, part_of(data, rows), offset[rows], int(a), int(b), seed)
            part = pd.concat(asked.lines(schema, log_proba[rows], shares), ignore_index=True)
            part["row"] = rows[part["row"]]
            parts.append(part.assign(label=posterior.labels[a], against=posterior.labels[b]))
    frame = pd.concat(parts, ignore_index=True).sort_values("row", kind="stable").set_index(["row", "entry"])
    return frame[["label", "against", "value", "log_odds", "lower", "upper", "missing"]]


@dataclass(frozen=True, eq=False)
class _Asked:
    """Some rows, and the two classes whose log-odds they are asked for."""

    posterior: Posterior
    dependence: Dependence
    theta: Parameters | None
    point: Literal["mode", "mean"] | None
    data: Data
    offset: Array
    a: int
    b: int
    seed: Any

    def lines(self, schema: Schema, log_proba: Array, shares: tuple[float, float]) -> list[pd.DataFrame]:
        """The lines of the table."""
        rng, n = np.random.default_rng(self.seed), len(self.offset)
        drawn = self.dependence.draws(self.posterior, self.posterior.draw(rng, (DRAWS,)), rng)
        layout, exponents = self.dependence.exponents.layout, self.dependence.exponents
        v, vs = layout.exponents(exponents.at(self.point or "mean").points[0]), layout.exponents(drawn.points)
        every, present = np.arange(n), np.zeros(n, bool)

        def line(name: str, log_odds: Array, spread: Any, missing: Array = present) -> pd.DataFrame:
            return lines_of([name] * n, every, log_odds, spread, shares, [None] * n, missing)

        log_pi = log(self.posterior.label.mean()) if self.theta is None else self.theta.log_pi
        prior = against(log_pi + self.offset, self.a, self.b)
        among_draws = against(drawn.log_pi, self.a, self.b)[:, None] + against(self.offset, self.a, self.b)
        found = [line(PRIOR, prior, DrawnLogOdds(among_draws))]
        biases = np.repeat(against(vs[..., -1], self.a, self.b)[:, None], n, axis=1)
        found.append(line(OFFSET, np.full(n, v[self.a, -1] - v[self.b, -1]), DrawnLogOdds(biases)))
        offsets = self._of_cells(v, vs)
        for entry in entries(schema, self.posterior, self.theta, self.data):
            log_odds, among_draws = self._of_column(entry, v, vs, rng)
            if entry.term in offsets:
                log_odds, among_draws = log_odds + offsets[entry.term][0], among_draws + offsets[entry.term][1]
            spread = DrawnLogOdds(among_draws)
            found.append(lines_of(entry.name, entry.rows, log_odds, spread, shares, entry.value, entry.missing))
        for name, term, k in self._beside():
            spread = DrawnLogOdds(self._odds(vs[:, None, :, k], term))
            found.append(line(name, self._odds(v[:, k], term), spread, (term == 0).all(1)))
        sums = pd.concat(found).groupby("row")["log_odds"].sum(skipna=False).to_numpy()
        total = against(log_proba, self.a, self.b)
        if self.point is None:
            found.append(line(AVERAGING, total - sums, Certain(total - sums)))
        joint = drawn.log_joint(self.data, n) + self.offset
        return [*found, line(TOTAL, total, DrawnLogOdds(joint[..., self.a] - joint[..., self.b]))]

    def _odds(self, v: Array, log_p: Array) -> Array:
        """What a term adds to the log-odds, both (..., class)."""
        with np.errstate(invalid="ignore"):
            return weighed(v[..., self.a], log_p[..., self.a]) - weighed(v[..., self.b], log_p[..., self.b])

    def _of_cells(self, v: Array, vs: Array) -> dict[int, tuple[Array, Array]]:
        """What the offsets of a column's cells add, and draws of it, by the position of the column."""
        cells, n = self.dependence.cells(self.data, len(self.offset)), self.dependence.exponents.layout.terms
        if cells is None:
            return {}
        found, difference = {}, vs[:, self.a] - vs[:, self.b]
        for term, cell in zip(self.dependence.statistics.cells.grid.terms, cells.T, strict=True):
            known, at = cell >= 0, n + np.maximum(cell, 0)
            certain = np.where(known, v[self.a, at] - v[self.b, at], 0.0)
            found[int(term)] = certain, np.where(known, difference[:, at], 0.0)
        return found

    def _of_column(self, entry: Entry, v: Array, vs: Array, rng: Generator) -> tuple[Array, Array]:
        """What the terms of a column's cells add, and draws of it."""
        family, believed, x = entry.factor
        spec = self.dependence.spec
        k = 0 if spec.by == "model" else entry.term
        if isinstance(family, OneWord):
            alpha, n = believed.alpha[:, x[:, 0].astype(np.intp)], x[:, 1]
            rest = believed.alpha.sum(1, keepdims=True) - alpha
            mine, others = (log_gamma_draw(each, rng, (DRAWS,)) for each in (alpha, rest))
            drawn = np.moveaxis(n * (mine - np.logaddexp(mine, others)), 1, -1)
        else:
            drawn = family.log_likelihood(family.draw(believed, rng, (DRAWS,)), x)
        log_p = entry.log_p
        if spec.by == "class" and isinstance(family, OneWord):
            log_p, drawn = (_relative_words(each, entry.rows, x[:, 1], len(self.offset)) for each in (log_p, drawn))
        elif spec.by == "class":
            log_p, drawn = relative(log_p, -1), relative(drawn, -1)
        return self._odds(v[:, k], log_p), self._odds(vs[:, None, :, k], drawn)

    def _beside(self) -> Iterator[tuple[str, Array, int]]:
        """Name, term and position of what stands beside the columns."""
        if self.dependence.spec.by == "model":
            return
        found = self.dependence.beside(self.posterior, self.data, len(self.offset))
        if self.dependence.spec.by == "class":
            found = relative(found)
        names = self.dependence.exponents.names
        for k in range(len(names) - found.shape[-1], len(names)):
            yield names[k], found[..., k - len(names)], k


def _relative_words(log_p: Array, rows: Array, n: Array, n_rows: int) -> Array:
    """What words say, (..., word, class), where a row's words together are relative to their mean over classes.

    What is taken off a row is divided among its words in proportion to their counts.
    """
    whole = np.zeros((*log_p.shape[:-2], n_rows, log_p.shape[-1]))
    np.add.at(whole, (..., rows, slice(None)), log_p)
    mean = (whole - relative(whole, -1))[..., rows, :1]
    length = np.bincount(rows, n, minlength=n_rows)[rows]
    return log_p - mean * (n / np.where(length > 0, length, 1.0))[:, None]
