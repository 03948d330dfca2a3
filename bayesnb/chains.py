"""Markov chains: sampling by NUTS, convergence diagnostics, and importance weights that leave a row out."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtri

from bayesnb.progress import Progress
from bayesnb.wording import require_whole

if TYPE_CHECKING:
    import pymc as pm
    from xarray import DataTree


@contextmanager
def without_warnings() -> Iterator[None]:
    """Silence sampling warnings; :class:`Convergence` reports the same problems."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning, module="pymc|arviz|pytensor|nutpie")
        warnings.filterwarnings("ignore", category=FutureWarning)
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        yield


def run_nuts(model: pm.Model, draws: int, chains: int, what: str = "the model", **arguments: Any) -> DataTree:
    """Call ``pymc.sample`` in one process, with the text ``what`` on the progress bar."""
    import pymc as pm

    settings = {"progressbar": False, "compute_convergence_checks": False, "cores": 1, "quiet": True}
    settings |= arguments
    if find_spec("nutpie") is None:
        settings.setdefault("nuts_sampler", "pymc")
    with model, without_warnings(), Progress(f"sampling {what}") as progress:
        progress.total(chains * (draws + settings.get("tune", 1000)), "draws")
        # Only PyMC's sampler has a callback per draw; with progressbar=True, PyMC shows its own progress bar.
        if settings.get("nuts_sampler") == "pymc" and not settings["progressbar"]:
            settings.setdefault("callback", lambda trace, draw: progress.add(1))
        return pm.sample(draws, chains=chains, **settings)


@dataclass(frozen=True)
class Sampler:
    """Settings of NUTS for a feature without a closed-form posterior.

    Parameters
    ----------
    draws, tune, chains : int
        Kept draws and tuning steps per chain, and the number of chains.
    random_seed : int
        The seed is fixed, so predictions are reproducible.
    target_accept : float
        Target acceptance rate; larger values are slower, with fewer divergences.
    """

    draws: int = 1000
    tune: int = 1000
    chains: int = 4
    random_seed: int = 0
    target_accept: float = 0.9

    def __post_init__(self) -> None:
        require_whole(1, draws=self.draws, tune=self.tune, chains=self.chains)
        if not 0 < self.target_accept < 1:
            raise ValueError(f"Expected target_accept to lie between 0 and 1; got {self.target_accept!r}")

    def run(self, model: pm.Model, names: Sequence[str], what: str) -> tuple[dict[str, np.ndarray], Convergence]:
        from pymc.exceptions import SamplingError

        try:
            tree = run_nuts(
                model, self.draws, self.chains, what, tune=self.tune, nuts_sampler="pymc",
                target_accept=self.target_accept, random_seed=self.random_seed, var_names=list(names),
            )  # fmt: skip
        except SamplingError as error:
            raise ValueError(
                "NUTS cannot start: a value has probability 0 at the starting point. Check whether the value is "
                "possible under the distribution, and whether the prior is far from the data."
            ) from error
        drawn = {str(name): v.to_numpy() for name, v in tree["posterior"].dataset.items()}
        return {name: v.reshape(-1, *v.shape[2:]) for name, v in drawn.items()}, Convergence.of(tree)


GOOD_K = 0.7
"""Largest Pareto shape k at which importance weights are reliable (Vehtari, Simpson, Gelman, Yao and Gabry 2024)."""


def weights_without(log_likelihood: np.ndarray, weight: np.ndarray, chains: int) -> tuple[np.ndarray, np.ndarray]:
    """Pareto-smoothed importance weights that make posterior draws represent the posterior without one table cell.

    Returns
    -------
    log_weight : array (draw, cell)
        Log weights. For each cell, the weights of all draws sum to 1.
    k : array (cell,)
        Shape of the Pareto distribution; weights with ``k`` above 0.7 are unreliable.
    """
    from arviz_stats.base import array_stats

    # ``weight`` (cell,) is the sample weight of the row of each cell.
    learned = (log_likelihood * weight).T
    each = np.exp(learned - learned.max(axis=1, keepdims=True)).reshape(len(weight), chains, -1)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = array_stats.ess(each, chain_axis=1, draw_axis=2, method="mean") / learned.shape[1]
    # If a cell has the same likelihood at every draw, the effective number of draws is undefined and not needed.
    share = np.where(np.isfinite(share), share, 1.0)
    log_weight, k = np.empty(learned.shape), np.empty(len(weight))
    for i, (own, r_eff) in enumerate(zip(learned, share, strict=True)):
        if np.ptp(own) == 0:
            log_weight[i], k[i] = -np.log(len(own)), -np.inf
        else:
            with without_warnings(), np.errstate(all="ignore"):
                log_weight[i], k[i] = array_stats.psislw(own, r_eff=r_eff)
    # If no Pareto distribution can be fitted to the tail, very few draws have all the weight.
    return log_weight.T, np.where(np.isnan(k), np.inf, k)


ENOUGH = 400
"""Effective number of draws needed for reliable quantiles and r_hat (Vehtari et al. 2021)."""


@dataclass(frozen=True)
class Convergence:
    """Convergence diagnostics of chains.

    Parameters
    ----------
    r_hat : float
        The largest r_hat over all parameters.
    by_chance : float
        The 0.99 quantile of ``r_hat`` if the chains have converged.
    ess : float
        The smallest effective number of draws, for means ("bulk") and for quantiles ("tail").
    divergences : int
    worst : str
        The variable with the largest r_hat or, if only ``ess`` is too small, with the fewest effective draws.
    """

    r_hat: float
    by_chance: float
    ess: float
    divergences: int
    worst: str

    @classmethod
    def of(cls, tree: DataTree, names: Iterable[str] | None = None) -> Convergence:
        """Diagnose the posterior draws in ``tree`` (Vehtari et al. 2021)."""
        import arviz as az

        posterior = tree["posterior"].dataset
        posterior = posterior if names is None else posterior[[name for name in names if name in posterior]]
        # Recognize constants by their range: rounding makes the standard deviation of 0.1, 0.1, ... positive.
        spread = posterior.max(("chain", "draw")) - posterior.min(("chain", "draw"))
        moving = posterior[[name for name, v in spread.items() if float(v.max()) > 0]]
        if not moving:
            return cls(1.0, 1.0, float(posterior.sizes["chain"] * posterior.sizes["draw"]), 0, "nothing moves")
        # A single constant parameter, such as a structural zero, has no r_hat, and max ignores it.
        with np.errstate(invalid="ignore", divide="ignore"):
            r_hat = {name: float(v.max()) for name, v in az.rhat(moving).items()}
            each = [az.ess(moving, method=kind) for kind in ("bulk", "tail")]
            ess = {name: min(float(kind[name].min()) for kind in each) for name in moving}
        cells = sum(v.size for v in spread[list(moving)].values())
        sample_stats = tree["sample_stats"].dataset if "sample_stats" in tree else {}
        divergences = int(sample_stats["diverging"].sum()) if "diverging" in sample_stats else 0
        worst, fewest = max(r_hat, key=r_hat.__getitem__), min(ess, key=ess.__getitem__)
        by_chance = _by_chance(posterior.sizes["chain"], posterior.sizes["draw"], cells)
        found = cls(r_hat[worst], by_chance, ess[fewest], divergences, worst)
        return replace(found, worst=fewest) if found.mixed and ess[fewest] < ENOUGH else found

    @property
    def converged(self) -> bool:
        """True if r_hat ≤ max(1.01, ``by_chance``), ``ess`` ≥ 400 and there are no divergences."""
        return self.mixed and self.ess >= ENOUGH and self.divergences == 0

    @property
    def mixed(self) -> bool:
        """True if r_hat ≤ max(1.01, ``by_chance``)."""
        return self.r_hat <= max(1.01, self.by_chance)

    def __str__(self) -> str:
        allowed = max(1.01, self.by_chance)
        digits = 4 if f"{self.r_hat:.4f}" != f"{allowed:.4f}" else 6
        failed = [
            f"largest r_hat {self.r_hat:.{digits}f} ({self.worst}), at most {allowed:.{digits}f} allowed"
            * (not self.mixed),
            f"only {self.ess:.0f} effective draws{f' of {self.worst}' * self.mixed}, at least {ENOUGH} needed"
            * (self.ess < ENOUGH),
            f"{self.divergences} divergence{'s' * (self.divergences != 1)}" * (self.divergences > 0),
        ]
        return "; ".join(filter(None, failed)) or (
            f"largest r_hat {self.r_hat:.4f} ({self.worst}), fewest effective draws {self.ess:.0f}, no divergence"
        )


def _by_chance(chains: int, draws: int, cells: int) -> float:
    """The 0.99 quantile of the largest r_hat of ``cells`` parameters if all draws are independent."""
    halves = 2 * chains
    # By Bonferroni's inequality, one parameter exceeds it with probability 0.01 / cells.
    # r_hat² is about 1 + v / σ² (Gelman and Rubin 1992), where v is the variance of the half-chain means. If all M
    # half-chains have the same distribution, the sum of squared deviations of their means, divided by
    # σ² M / (chains × draws), is chi-squared with M - 1 degrees of freedom. Each parameter has two values of r_hat, for
    # ranks and folded ranks (Vehtari et al. 2021).
    largest = chdtri(halves - 1, 0.01 / (2 * cells))
    return float(np.sqrt(1 + halves * largest / ((halves - 1) * chains * draws)))
