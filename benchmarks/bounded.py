"""Numbers below a detection limit: how well :class:`bayesnb.Bounded` predicts, and how wrong its parameters are.

    python -m benchmarks.bounded

Two classes of equal probability and one column, Normal (means 5 and 6, deviation 1) or Exponential (means 1 and 2.5).
Values below a limit are reported as "<LIMIT"; the limit censors 10, 30 or 60 % of all values. Each of 20 tables has 300
rows to learn and 1,000 to predict. The reference knows the family of the values behind the limit and integrates its
parameters by quadrature: the class means (and deviations) have uniform weights on a grid. It takes about two minutes.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

import bayesnb as nb

type Array = np.ndarray

TABLES, LEARNED, NEW = 20, 300, 1000
CENSORED = (0.1, 0.3, 0.6)
LEVEL = 0.89


@dataclass(frozen=True)
class World:
    """The distribution of the column in each class, the family that has its shape, and the grids of the reference."""

    laws: tuple
    family: nb.families.Family
    grids: tuple[Array, ...]

    def law(self, *grid: Array) -> Any:
        """Return the distribution with the parameters of the grids."""
        return stats.norm(*grid) if len(grid) > 1 else stats.expon(scale=grid[0])

    def limit(self, share: float) -> float:
        """Return the limit below which a share of all values lies, to two digits."""
        x = np.linspace(0.0, 10.0, 100_001)
        return round(float(x[np.searchsorted(sum(law.cdf(x) for law in self.laws) / 2, share)]), 2)


WORLDS = {
    "Normal": World((stats.norm(5, 1), stats.norm(6, 1)), nb.Gaussian(),
                    (np.linspace(3, 8, 50), np.geomspace(0.6, 2, 25))),
    "Exponential": World((stats.expon(), stats.expon(scale=2.5)), nb.families.Exponential(),
                         (np.geomspace(0.4, 6, 200),)),
}  # fmt: skip


def draw(world: World, rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Return values and classes."""
    y = rng.integers(0, 2, n)
    return np.where(y == 0, world.laws[0].rvs(n, random_state=rng), world.laws[1].rvs(n, random_state=rng)), y


def cells(x: Array, limit: float) -> list[str]:
    """Return the cells as a laboratory writes them."""
    return [f"<{limit:g}" if value < limit else repr(float(value)) for value in x]


def reference(world: World, x: Array, y: Array, new: Array, limit: float) -> Array:
    """Return log p(cell | class) for new values, (row, class), with the parameters of the right family integrated."""
    grid = np.meshgrid(*world.grids, indexing="ij")
    law = world.law(*(part.ravel() for part in grid))
    below = law.logcdf(limit)
    found = []
    for c in (0, 1):
        own = x[y == c]
        known = own[own >= limit]
        log_p = law.logpdf(known[:, None]).sum(0) + (len(own) - len(known)) * below
        p = np.exp(log_p - log_p.max())
        given = law.pdf(new[:, None]) @ (p / p.sum())
        found.append(np.log(np.where(new < limit, np.exp(below) @ (p / p.sum()), given)))
    return np.stack(found, axis=1)


def loss(log_p: Array, y: Array) -> float:
    """Return the mean log loss of normalized log probabilities."""
    log_p = log_p - np.logaddexp.reduce(log_p, axis=1, keepdims=True)
    return float(-log_p[np.arange(len(y)), y].mean())


def truth(world: World, limit: float) -> dict[str, Array]:
    """Return P(bound | class) and the mean of the numbers that are given, by class."""
    return {
        "bound": np.array([law.cdf(limit) for law in world.laws]),
        "mean": np.array([law.expect(lb=limit, conditional=True) for law in world.laws]),
    }


def estimates(clf: nb.BayesianNB) -> dict[str, tuple[Array, Array, Array]]:
    """Return the posterior mean and the interval of both, by class."""
    kinds, numbers = clf.posterior_.features["kind of x"], clf.posterior_.features["number of x"]
    alpha = np.asarray(kinds.alpha)[:, 0]
    bound = stats.beta(alpha[:, 0], alpha[:, 1:].sum(1))
    m, kappa, a, b = (np.asarray(getattr(numbers, name))[:, 0] for name in ("m", "kappa", "a", "b"))
    mean = stats.t(2 * a, m, np.sqrt(b / (a * kappa)))
    return {what: (law.mean(), *law.interval(LEVEL)) for what, law in (("bound", bound), ("mean", mean))}


def simulate(world: World, share: float, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the log losses of each table, and the errors and hits of the parameters."""
    limit = world.limit(share)
    true, losses, errors = truth(world, limit), [], []
    for _ in range(TABLES):
        (x, y), (new, labels) = draw(world, rng, LEARNED), draw(world, rng, NEW)
        made, asked = {"x": cells(x, limit)}, {"x": cells(new, limit)}
        clf = nb.BayesianNB({"x": nb.Bounded()}).fit(made, y)
        prior = np.log(np.bincount(y) + 1.0)
        line = {"dropped": loss(np.tile(prior, (NEW, 1)), labels)}
        for name, at in (("at the limit", limit), ("at half the limit", limit / 2)):
            filled = nb.BayesianNB({"x": world.family}).fit({"x": np.where(x < limit, at, x)}, y)
            line[name] = loss(filled.predict_log_proba({"x": np.where(new < limit, at, new)}), labels)
        line["Bounded, Gaussian"] = loss(clf.predict_log_proba(asked), labels)
        tree = nb.BayesianNB({"x": nb.Bounded(), "number of x": "best"}).fit(made, y)
        line["Bounded, best"] = loss(tree.predict_log_proba(asked), labels)
        line["right family"] = loss(reference(world, x, y, new, limit) + prior, labels)
        line["true model"] = loss(np.stack([np.where(new < limit, law.logcdf(limit), law.logpdf(new))
                                            for law in world.laws], 1), labels)  # fmt: skip
        losses.append(line)
        for what, (mean, low, high) in estimates(clf).items():
            for c in (0, 1):
                hit = low[c] <= true[what][c] <= high[c]
                errors.append((what, mean[c] - true[what][c], true[what][c], hit))
    return pd.DataFrame(losses), pd.DataFrame(errors, columns=["parameter", "error", "true", "hit"])


def main() -> None:
    """Print the tables."""
    warnings.simplefilter("ignore")
    rng, losses, errors = np.random.default_rng(0), {}, {}
    for name, world in WORLDS.items():
        for share in CENSORED:
            found, own = simulate(world, share, rng)
            apart = found.sub(found["right family"], axis=0).std().drop("dropped")
            losses[name, share] = found.mean().to_dict() | {"largest standard error": apart.max() / TABLES**0.5}
            each = own.groupby("parameter")
            errors[name, share] = {f"{w}, bias": g["error"].mean() for w, g in each} | {
                f"{w}, coverage": g["hit"].mean() for w, g in each
            }
            print(name, share, flush=True)
    print(pd.DataFrame(losses).T.round(3).to_string())
    print(pd.DataFrame(errors).T.round(3).to_string())


if __name__ == "__main__":
    main()
