"""One of K levels: categorical features with a Dirichlet prior, where smoothing lives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from bayesnb.families.family import Added, Cells, Conjugate
from bayesnb.families.membership import Labels, Membership
from bayesnb.families.statistic import Statistic, per
from bayesnb.kernels import densities
from bayesnb.kernels.blocks import worth
from bayesnb.numerics import Array
from bayesnb.priors import Chance, Dirichlet, Theta


@dataclass(frozen=True, eq=False)
class Coded:
    """Columns as codes and a dictionary, as Arrow and pandas keep them.

    Parameters
    ----------
    codes : int array (row, column)
        Position of the level in its column's dictionary; -1 is missing.
    levels : tuple of tuples
        The dictionary of each column.
    guessed : bool
        Whether the levels are those of some rows, so that a code which is none of theirs is an error to be noticed.
    """

    codes: Array
    levels: tuple[tuple[Any, ...], ...]
    guessed: bool = False

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Coded:
        return replace(self, codes=self.codes[rows])

    def missing(self) -> Array:
        """Which cells hold no level."""
        return self.codes < 0

    def columns(self, index: Sequence[int]) -> Coded:
        """Some of the columns."""
        return replace(self, codes=self.codes[:, index], levels=tuple(self.levels[k] for k in index))


@dataclass(frozen=True, eq=False)
class CategoryCounts(Statistic):
    """Weight of each level, ``counts`` (class, column, level), and what the levels are called."""

    counts: Array = per("category")
    levels: tuple[tuple[Any, ...], ...]

    group = "categorical"

    def __add__(self, other: CategoryCounts) -> CategoryCounts:
        if self.levels == other.levels:
            return CategoryCounts(self.counts + other.counts, self.levels)
        if len(self.levels) != len(other.levels):
            raise ValueError(f"Expected {len(self.levels)} columns; got {len(other.levels)}")
        levels = tuple(united(*pair) for pair in zip(self.levels, other.levels, strict=True))
        return CategoryCounts(self.over(levels).counts + other.over(levels).counts, levels)

    def over(self, levels: tuple[tuple[Any, ...], ...]) -> CategoryCounts:
        """The same counts in another dictionary; a level that it does not name is dropped."""
        counts = np.zeros((*self.counts.shape[:2], widest(levels)))
        for column, (mine, wanted) in enumerate(zip(self.levels, levels, strict=True)):
            place = {name: k for k, name in enumerate(mine)}
            kept = [k for k, name in enumerate(wanted) if name in place]
            counts[:, column, kept] = self.counts[:, column, [place[wanted[k]] for k in kept]]
        return CategoryCounts(counts, levels)

    def named_as(self, other: CategoryCounts) -> CategoryCounts:
        return self.over(other.levels)

    def __mul__(self, factor: float) -> CategoryCounts:
        return CategoryCounts(self.counts * factor, self.levels)

    def seen(self) -> Array:
        return self.counts.sum(-1)

    def for_file(self) -> dict[str, Array]:
        # The columns with fewer levels are filled up in memory, and not in a file.
        return {"counts": np.hstack([self.counts[:, k, : len(names)] for k, names in enumerate(self.levels)])}

    @classmethod
    def from_file(cls, cells: Mapping[str, Array], columns: tuple[Any, ...], levels: Any) -> CategoryCounts:
        counts, start = np.zeros((len(cells["counts"]), len(columns), widest(levels))), 0
        for k, names in enumerate(levels):
            counts[:, k, : len(names)] = cells["counts"][:, start : start + len(names)]
            start += len(names)
        return cls(counts, levels)


def log_less_one(posterior: Dirichlet) -> Array:
    """Log mean of each level once one row of it is left out, (class, column, level); NaN where nothing is left."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = np.log(np.where(posterior.total > 1, posterior.total - 1, np.nan))
        return np.log(posterior.alpha - 1) - rest[..., None]


def widest(levels: tuple[tuple[Any, ...], ...]) -> int:
    """The largest number of levels of a column; at least one, though nobody may have seen it yet."""
    return max([1, *map(len, levels)])


def united(mine: tuple[Any, ...], theirs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Both lists of names: mine in their order, then what is new."""
    return tuple(dict.fromkeys((*mine, *theirs)))


@dataclass(frozen=True, eq=False)
class Categorical(Conjugate[Dirichlet, CategoryCounts]):
    """x | θ ~ Categorical(θ) with θ ~ Dirichlet(α) (Murphy, PML1, 4.6.3; Mitchell, 6.9).

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> days = {"outlook": ["sunny", "rain", "sunny", "sunny"]}
    >>> laplace = Categorical(Dirichlet({"sunny": 1, "rain": 1, "snow": 1}))
    >>> BayesianNB({"outlook": laplace}).fit(days, ["a", "a", "a", "b"]).tables()["outlook"].round(2)
           rain  sunny  snow
    class
    a      0.33    0.5  0.17
    b      0.25    0.5  0.25
    """

    prior: Any = field(default_factory=Dirichlet)

    conjugate = Dirichlet
    reads = "levels"
    notices = True

    def statistic(self, x: Coded, members: Membership) -> CategoryCounts:
        counts = members.table(x.codes, widest(x.levels), x.guessed)
        if x.guessed and any(counts[:, column, len(names) :].any() for column, names in enumerate(x.levels)):
            counts[:] = np.nan
        return CategoryCounts(counts, x.levels)

    def resolve_prior(self, prior: Dirichlet, s: CategoryCounts) -> Dirichlet:
        return prior.over(s.levels, s.counts.shape[0])

    def added(self, s: CategoryCounts) -> Added:
        return (s.counts,), Dirichlet.peak(s.counts)

    def cells(self, posterior: Dirichlet, x: Coded) -> Cells:
        column, code = np.arange(x.codes.shape[1]), x.codes[:, None].astype(np.intp)
        own = posterior.alpha[np.arange(len(posterior.alpha))[:, None], column, code]
        return Chance(own, posterior.total), (), 0.0

    def log_likelihood(self, theta: Theta, x: Coded) -> Array:
        table = theta["log_theta"]
        if table.ndim == 3 and worth(x.codes.size * len(table)):
            return densities.looked_up(x.codes, table)
        # A missing value, code -1, reads the last cell: a factor of one.
        table = np.concatenate([table, np.zeros((*table.shape[:-1], 1))], axis=-1)
        total = np.zeros((*table.shape[:-2], len(x)))
        for column, code in enumerate(x.codes.T):
            total += table[..., column, :][..., code]
        return np.swapaxes(total, -1, -2)

    def quick_predictive(self, posterior: Dirichlet, x: Coded) -> Array:
        # One trial: E[θ] is the predictive probability.
        return self.log_likelihood(self.mean(posterior), x)

    def quick_left_out(self, posterior: Dirichlet, x: Coded, labels: Labels) -> Array | None:
        if not labels.worth_counting(x.codes.size):
            return None
        return densities.looked_up(x.codes, log_less_one(posterior), labels.codes)

    def sample(self, theta: Theta, rng: Generator, s: CategoryCounts) -> Array:
        # The largest of log θ plus Gumbel noise falls on a level with its probability θ.
        noisy = theta["log_theta"] + rng.gumbel(size=theta["log_theta"].shape)
        return noisy.argmax(-1)

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        table = theta["log_theta"]
        return table.reshape(len(table), -1), np.zeros(len(table))

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Coded, y: Any) -> None:
        import pymc as pm

        row, column = np.nonzero(x.codes >= 0)
        pm.Categorical(name, p=theta["theta"][y[row], column], observed=x.codes[row, column])

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Coded) -> Any:
        from pytensor import tensor as pt

        # Missing cells read level 0 and are masked.
        picked = pt.log(theta["theta"])[:, np.arange(x.codes.shape[1]), np.maximum(x.codes, 0)]
        return (picked * (x.codes >= 0)).sum(-1).T
