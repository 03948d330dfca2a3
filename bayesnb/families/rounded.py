"""A family of rounded numbers: each value represents an interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.random import Generator

from bayesnb.families.columns import CategoryCounts, Support, Tabulated, distinct_counts, of_each_column, tabulated
from bayesnb.families.conjugate import Added, Cells, Conjugate
from bayesnb.families.family import Family
from bayesnb.families.gaussian import Gaussian
from bayesnb.numerics import Array, log_interval
from bayesnb.priors import NormalGamma, Theta, intervals, shared
from bayesnb.priors.belief import without_mode
from bayesnb.statistics.moments import Moments
from bayesnb.statistics.statistic import Column, Labels, joined
from bayesnb.wording import require_choice

ON_GRID = 1e-6
"""Largest distance of a value from a multiple of the unit, in units."""


@dataclass(frozen=True, eq=False)
class Rounded(Conjugate[NormalGamma, CategoryCounts]):
    """Rounded values of a Normal variable. P(x) is the probability of the interval [x, x + unit).

    The posterior of mean and precision is integrated by quadrature, with errors of about 1e-12. If all values of a
    class are equal, the estimated standard deviation is below about one unit.

    Parameters
    ----------
    prior : NormalGamma or Gaussian
        The prior of mean and precision before rounding, or a family with this prior.
    unit : float or array (column,)
        The unit of rounding. Values must be whole multiples of the unit.
    to : {"down", "nearest"}
        Whether x means the interval [x, x + unit), as for age in years, or [x - unit / 2, x + unit / 2), as for height
        in whole cm. Under the default prior, ``to="nearest"`` only shifts reported means by half a unit.

    Notes
    -----
    ``estimate="map"`` and ``"mle"`` are refused. ``NormalGamma.learned()`` treats each value as the middle of its
    interval.

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> X, y = {"children": [2, 2, 2, 2, 0, 1, 3, 5]}, ["town"] * 4 + ["country"] * 4
    >>> clf = BayesianNB({"children": Rounded(Gaussian(), unit=1)}).fit(X, y)
    >>> clf.predict_proba({"children": [2, 3, 9]}).round(2)
    array([[0.28, 0.72],
           [0.44, 0.56],
           [0.99, 0.01]])
    """

    prior: Any = field(default_factory=NormalGamma)
    unit: Any = 1.0
    to: Literal["down", "nearest"] = "down"

    by_column = ("unit",)

    def __post_init__(self) -> None:
        if isinstance(self.prior, Family):
            if not isinstance(self.prior, Gaussian) or self.prior.var_smoothing is not None:
                raise TypeError(f"Expected Gaussian() to be rounded, without var_smoothing; got {self.prior!r}")
            object.__setattr__(self, "prior", self.prior.prior)
        super().__post_init__()
        require_choice("to", self.to, ("down", "nearest"))
        of_each_column("unit", self.unit, max(1, np.size(self.unit)))

    @property
    def accepts(self) -> Support:
        unit = np.asarray(self.unit, float)
        words = f"multiples of the unit, {' or '.join(f'{v:g}' for v in unit.ravel())}"

        def contains(x: Array) -> Array:
            with np.errstate(over="ignore", invalid="ignore"):
                steps = x / unit
                return np.isfinite(x) & (np.abs(steps - np.rint(steps)) <= ON_GRID) & (np.abs(steps) <= 2.0**40)

        return Support("reals", "multiples of the unit", words, ("Gaussian",), contains)

    def unit_of(self, column: int) -> float:
        unit = np.ravel(self.unit)
        return float(unit[column if len(unit) > 1 else 0])

    def statistic(self, x: Array, members: Labels) -> CategoryCounts:
        return distinct_counts(x, members)

    def resolve_prior(self, prior: NormalGamma, s: CategoryCounts) -> intervals.RoundedNormal:
        return self._rounded(Gaussian().resolve_prior(prior, self._moments(s)), s)

    def priors(self, s: CategoryCounts, labels: Sequence[Any]) -> intervals.RoundedNormal:
        """The prior of each class and column; for constant columns, see ``Gaussian``."""
        full = self._rounded(Family.priors(Gaussian(self.prior), self._moments(s), labels), s)
        value, count = self.added(s)
        others = np.zeros_like(count)
        constant = self.constant(s)
        others[:, constant] = (count.sum(0) - count)[:, constant]
        return full.plus(value, others) if len(constant) else full

    def constant(self, s: CategoryCounts) -> Array:
        left_open = not isinstance(self.prior, Mapping) and self.prior.m is None and self.prior.b is None
        return np.flatnonzero(left_open & ((s.counts.sum(0) > 0).sum(-1) == 1))

    def learned(self, s: CategoryCounts) -> str:
        return Gaussian(self.prior).learned(self._moments(s))

    def flat(self) -> NoReturn:
        raise without_mode(intervals.NO_MODE)

    def added(self, s: CategoryCounts) -> tuple[Array, ...]:
        return np.broadcast_to(s.numbers(), s.counts.shape), s.counts

    def log_h(self, s: CategoryCounts) -> Array:
        return np.zeros(s.counts.shape[:2])

    def cells(self, posterior: intervals.RoundedNormal, x: Array) -> Cells:
        return posterior.cell(x), *self.said(x)

    def said(self, x: Column) -> Added:
        # An ``Interval`` already contains the cell, so there is nothing to add.
        return (), 0.0

    def table(self, x: Column) -> Tabulated | None:
        return tabulated(x)

    def log_density(self, theta: Theta, x: Array) -> Array:
        unit, middle = self._units(x.shape[1])
        mu, low, root = (v[..., None, :, :] for v in (theta["mu"], theta["low"], np.sqrt(theta["tau"])))
        return log_interval((((x[:, None] - mu) - low) + middle) * root, unit * root)

    def sample(self, theta: Theta, rng: Generator, s: CategoryCounts) -> Array:
        x = rng.normal(theta["mu"] + theta["low"], 1 / np.sqrt(theta["tau"]))
        unit, middle = self._units(x.shape[-1])
        return np.rint((x - middle) / unit) * unit

    def pymc_statistic(self, theta: Mapping[str, Any], s: CategoryCounts) -> Any:
        value, count = self.added(s)
        unit, middle = (v[:, None] for v in self._units(value.shape[1]))
        wide = [theta[name][..., None] for name in ("mu", "tau")]
        log_p = intervals.pymc_log_interval(*wide, shared(np.nan_to_num(value) + middle), shared(unit))
        return (shared(count) * log_p).sum()

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Array, row: Array, column: Array) -> None:
        import pymc as pm

        unit, middle = (v[column] for v in self._units(x.shape[1]))

        def log_p(value: Any, mu: Any, tau: Any) -> Any:
            return intervals.pymc_log_interval(mu, tau, value + middle, unit)

        def drawn(mu: Array, tau: Array, rng: Generator, size: Any) -> Array:
            return np.rint((rng.normal(mu, 1 / np.sqrt(tau), size) - middle) / unit) * unit

        pm.CustomDist(name, theta["mu"], theta["tau"], logp=log_p, random=drawn, observed=x[row, column])

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Array) -> Any:
        unit, middle = self._units(x.shape[1])
        log_p = intervals.pymc_log_interval(theta["mu"], theta["tau"], np.nan_to_num(x)[:, None] + middle, unit)
        return (np.where(np.isnan(x), 0.0, 1.0)[:, None] * log_p).sum(-1)

    def _units(self, n_columns: int) -> tuple[Array, Array]:
        """For each column, the rounding unit, and the distance from a rounded value to the middle of its interval."""
        unit = of_each_column("unit", self.unit, n_columns)
        return unit, unit / 2 if self.to == "down" else np.zeros(n_columns)

    def _moments(self, s: CategoryCounts) -> Moments:
        parts, (_, middle) = [], self._units(s.counts.shape[1])
        for k, values in enumerate(s.levels):
            counts = s.counts[:, k, : len(values)]
            members = Labels(np.repeat(np.arange(len(counts)), len(values)), counts.ravel(), len(counts))
            parts.append(Moments.of(np.tile(np.array(values, float) + middle[k], len(counts))[:, None], members))
        return joined(parts)

    def _rounded(self, before: NormalGamma, s: CategoryCounts) -> intervals.RoundedNormal:
        value, count = self.added(s)
        unit, middle = (np.array(np.broadcast_to(v, before.m.shape)) for v in self._units(before.m.shape[1]))
        nothing = np.zeros((*before.m.shape, 0))
        m = before.m + before.low
        empty = intervals.RoundedNormal(m, before.kappa, before.a, before.b, unit, middle, nothing, nothing)
        return empty.plus(np.broadcast_to(value[:1], count.shape), 0.0 * count)


def rounding(x: Array) -> tuple[float, float]:
    """The rounding unit of ``x`` (the largest common divisor of all differences) and its minimum; (0, 0) if not
    rounded.
    """
    values = np.unique(x[~np.isnan(x)])
    if len(values) < 2:
        return 0.0, 0.0
    steps = np.diff(values)
    for unit in (float(steps.min()), *10.0 ** -np.arange(7)):
        apart = steps / unit
        counts = np.rint(apart)
        if np.ptp(values) < 1e6 * unit and (np.abs(apart - counts) < 1e-3).all():
            return unit * float(np.gcd.reduce(counts.astype(np.int64))), float(values[0])
    return 0.0, 0.0
