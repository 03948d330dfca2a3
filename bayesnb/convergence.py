"""What is known of Markov chains: whether they forgot where they started, and what they are worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from xarray import DataTree


@dataclass(frozen=True)
class Convergence:
    """What is known of the chains.

    Parameters
    ----------
    r_hat : float
        The largest over all parameters; 1 for chains that forgot where they started.
    ess : float
        The smallest effective number of draws, of bulk and tail.
    divergences : int
    worst : str
        The variable with the largest ``r_hat``.
    """

    r_hat: float
    ess: float
    divergences: int
    worst: str

    @classmethod
    def of(cls, tree: DataTree) -> Convergence:
        """Diagnostics of a tree's posterior (Vehtari et al. 2021); independent draws pass them too."""
        import arviz_stats

        posterior = tree["posterior"].dataset
        # The standard deviation of a constant that is no binary fraction is not 0.
        spread = posterior.max(("chain", "draw")) - posterior.min(("chain", "draw"))
        moving = posterior[[name for name, v in spread.items() if float(v.max()) > 0]]
        if not moving:
            return cls(1.0, float(posterior.sizes["chain"] * posterior.sizes["draw"]), 0, "nothing moves")
        # Single cells may stand still, such as a structural zero; they have no r_hat, and max leaves them out.
        with np.errstate(invalid="ignore", divide="ignore"):
            r_hat = {name: float(v.max()) for name, v in arviz_stats.rhat(moving).items()}
            ess = [float(v.min()) for kind in ("bulk", "tail") for v in arviz_stats.ess(moving, method=kind).values()]
        sample_stats = tree["sample_stats"].dataset if "sample_stats" in tree else {}
        divergences = int(sample_stats["diverging"].sum()) if "diverging" in sample_stats else 0
        worst = max(r_hat, key=r_hat.__getitem__)
        return cls(r_hat[worst], min(ess), divergences, worst)

    @property
    def converged(self) -> bool:
        """r_hat at most 1.01, at least 400 effective draws, no divergence."""
        return self.r_hat <= 1.01 and self.ess >= 400 and self.divergences == 0

    def __str__(self) -> str:
        return (
            f"largest r_hat {self.r_hat:.4f} ({self.worst}), fewest effective draws {self.ess:.0f}, "
            f"{self.divergences} divergences"
        )
