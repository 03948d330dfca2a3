"""Markov chains: how NUTS is run here, and whether its chains converged.

:func:`run_nuts` is the only call of ``pymc.sample``: for the whole model, and for the one feature of a sampled family.
:class:`Convergence` says whether the chains converged, and how many independent draws they amount to.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    import pymc as pm
    from xarray import DataTree


@contextmanager
def without_warnings() -> Iterator[None]:
    """Silence what PyMC, PyTensor and ArviZ warn of while they sample: :class:`Convergence` reports it by name."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning, module="pymc|arviz|pytensor|nutpie")
        warnings.filterwarnings("ignore", category=FutureWarning)
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        yield


def run_nuts(model: pm.Model, draws: int, chains: int, **arguments: Any) -> DataTree:
    """Draws of a PyMC model, in one process and without output; ``arguments`` are those of ``pymc.sample``."""
    import pymc as pm

    settings = {"progressbar": False, "compute_convergence_checks": False, "cores": 1, "quiet": True}
    with model, without_warnings():
        return pm.sample(draws, chains=chains, **settings | arguments)


@dataclass(frozen=True)
class Convergence:
    """The diagnostics of chains.

    Parameters
    ----------
    r_hat : float
        The largest over all parameters; 1 for chains that no longer depend on where they started.
    by_chance : float
        The largest of so many r_hats is below this in 99 of 100 runs, if the chains have converged and their draws are
        independent. In short runs it is above 1.01, because r_hat exceeds 1.01 by chance.
    ess : float
        The smallest effective number of draws, of bulk and tail.
    divergences : int
    worst : str
        The variable with the largest ``r_hat``.
    """

    r_hat: float
    by_chance: float
    ess: float
    divergences: int
    worst: str

    @classmethod
    def of(cls, tree: DataTree) -> Convergence:
        """Diagnostics of a tree's posterior (Vehtari et al. 2021); independent draws pass them too."""
        import arviz as az

        posterior = tree["posterior"].dataset
        # A constant is found by its range, because rounding makes the standard deviation of 0.1, 0.1, ... positive.
        spread = posterior.max(("chain", "draw")) - posterior.min(("chain", "draw"))
        moving = posterior[[name for name, v in spread.items() if float(v.max()) > 0]]
        if not moving:
            return cls(1.0, 1.0, float(posterior.sizes["chain"] * posterior.sizes["draw"]), 0, "nothing moves")
        # A single parameter may be constant, such as a structural zero; it has no r_hat, and max leaves it out.
        with np.errstate(invalid="ignore", divide="ignore"):
            r_hat = {name: float(v.max()) for name, v in az.rhat(moving).items()}
            ess = [float(v.min()) for kind in ("bulk", "tail") for v in az.ess(moving, method=kind).values()]
        cells = sum(v.size for v in spread[list(moving)].values())
        sample_stats = tree["sample_stats"].dataset if "sample_stats" in tree else {}
        divergences = int(sample_stats["diverging"].sum()) if "diverging" in sample_stats else 0
        worst = max(r_hat, key=r_hat.__getitem__)
        by_chance = _by_chance(posterior.sizes["chain"], posterior.sizes["draw"], cells)
        return cls(r_hat[worst], by_chance, min(ess), divergences, worst)

    @property
    def converged(self) -> bool:
        """r_hat at most 1.01 or what chance explains, at least 400 effective draws, no divergence."""
        return self.r_hat <= max(1.01, self.by_chance) and self.ess >= 400 and self.divergences == 0

    def __str__(self) -> str:
        return (
            f"largest r_hat {self.r_hat:.4f} ({self.worst}), at most {max(1.01, self.by_chance):.4f} allowed, "
            f"fewest effective draws {self.ess:.0f}, {self.divergences} divergences"
        )


def _by_chance(chains: int, draws: int, cells: int) -> float:
    """The 0.99 quantile of the largest r_hat of so many independent draws, by Bonferroni.

    Each chain is split into halves, so M = 2 × chains means are compared. If all have one target, the sum of their
    squared distances from their mean, over σ² M / (chains × draws), is chi-squared with M - 1 degrees of freedom; and
    r_hat² is about 1 + (variance of the means) / σ² (Gelman and Rubin 1992). Each cell has two r_hats, of ranks and of
    folded ranks (Vehtari et al. 2021). Draws count as independent here, because an effective number would fall where
    chains disagree, and so excuse them.
    """
    halves = 2 * chains
    largest = stats.chi2.isf(0.01 / (2 * cells), halves - 1)
    return float(np.sqrt(1 + halves * largest / ((halves - 1) * chains * draws)))
