"""Markov chains: running NUTS, checking whether its chains converged, and weighting their draws to leave a row out.

:func:`run_nuts` is the only call of ``pymc.sample``: for the whole model, and for a feature of a sampled family, whose
:class:`Sampler` has the settings. :class:`Convergence` says whether the chains converged, and how many independent
draws they amount to. :func:`weights_without` gives the draws the weights that they have if a row is left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtri

from bayesnb.progress import Progress

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


def run_nuts(model: pm.Model, draws: int, chains: int, what: str = "the model", **arguments: Any) -> DataTree:
    """Draws of a PyMC model, in one process; ``arguments`` are those of ``pymc.sample``.

    If PyMC's own sampler takes long, a terminal shows a progress bar with the text "sampling" and ``what``.
    """
    import pymc as pm

    settings = {"progressbar": False, "compute_convergence_checks": False, "cores": 1, "quiet": True}
    settings |= arguments
    if find_spec("nutpie") is None:
        settings.setdefault("nuts_sampler", "pymc")
    with model, without_warnings(), Progress(f"sampling {what}") as progress:
        progress.total(chains * (draws + settings.get("tune", 1000)), "draws")
        # Only PyMC's own sampler tells of each draw, and PyMC would draw a bar of its own where one is asked for.
        if settings.get("nuts_sampler") == "pymc" and not settings["progressbar"]:
            settings.setdefault("callback", lambda trace, draw: progress.add(1))
        return pm.sample(draws, chains=chains, **settings)


@dataclass(frozen=True)
class Sampler:
    """How NUTS is run on a feature; the seed makes predictions the same every time.

    Parameters
    ----------
    draws, tune, chains : int
        Kept draws and tuning steps of each chain, and the number of chains.
    random_seed : int
    target_accept : float
        Acceptance that the step size is tuned to; more is slower and diverges less.
    """

    draws: int = 1000
    tune: int = 1000
    chains: int = 4
    random_seed: int = 0
    target_accept: float = 0.9

    def __post_init__(self) -> None:
        for name in ("draws", "tune", "chains"):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < 1:
                raise ValueError(f"Expected {name} to be a positive whole number; got {value!r}")
        if not 0 < self.target_accept < 1:
            raise ValueError(f"Expected target_accept to lie between 0 and 1; got {self.target_accept!r}")

    def run(self, model: pm.Model, names: Sequence[str], what: str) -> tuple[dict[str, np.ndarray], Convergence]:
        """Draws of the variables of these names, (draw, ...) with the chains one after the other, and how they went.

        Parameters
        ----------
        model : pymc.Model
        names : sequence of str
        what : str
            What is sampled, for the progress bar.
        """
        from pymc.exceptions import SamplingError

        try:
            tree = run_nuts(
                model,
                self.draws,
                self.chains,
                what,
                tune=self.tune,
                nuts_sampler="pymc",
                target_accept=self.target_accept,
                random_seed=self.random_seed,
                var_names=list(names),
            )
        except SamplingError as error:
            raise ValueError(
                "NUTS cannot start: some value has probability 0 where the priors begin. Is it outside of what the "
                "distribution can give, or the prior far from the data?"
            ) from error
        drawn = {str(name): v.to_numpy() for name, v in tree["posterior"].dataset.items()}
        return {name: v.reshape(-1, *v.shape[2:]) for name, v in drawn.items()}, Convergence.of(tree)


GOOD_K = 0.7
"""Up to this shape of their tail, weights of draws can be trusted (Vehtari, Simpson, Gelman, Yao and Gabry 2024)."""


def weights_without(log_likelihood: np.ndarray, weight: np.ndarray, chains: int) -> tuple[np.ndarray, np.ndarray]:
    """The weights of draws if a cell is left out, by Pareto-smoothed importance sampling.

    The posterior without a cell is the posterior divided by the cell's likelihood. So the raw weight of a draw is
    1 / p(x | θ), and its largest values are replaced by quantiles of a Pareto distribution that is fitted to them.

    Parameters
    ----------
    log_likelihood : array (draw, cell)
        log p(x | θ) of each cell at each draw, the chains one after the other.
    weight : array (cell,)
        How often the cell was learned.
    chains : int

    Returns
    -------
    log_weight : array (draw, cell)
        Normalized: the weights of a cell add up to 1.
    k : array (cell,)
        The shape of the Pareto distribution; weights with a ``k`` above ``GOOD_K`` cannot be trusted.
    """
    from arviz_stats.base import array_stats

    learned = (log_likelihood * weight).T
    each = np.exp(learned - learned.max(axis=1, keepdims=True)).reshape(len(weight), chains, -1)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = array_stats.ess(each, chain_axis=1, draw_axis=2, method="mean") / learned.shape[1]
    # A cell with the same likelihood at every draw has no effective number, and needs none.
    share = np.where(np.isfinite(share), share, 1.0)
    log_weight, k = np.empty(learned.shape), np.empty(len(weight))
    for i, (own, r_eff) in enumerate(zip(learned, share, strict=True)):
        if np.ptp(own) == 0:
            log_weight[i], k[i] = -np.log(len(own)), -np.inf
        else:
            with without_warnings(), np.errstate(all="ignore"):
                log_weight[i], k[i] = array_stats.psislw(own, r_eff=r_eff)
    # Where no Pareto distribution fits the tail at all, a few draws have all the weight.
    return log_weight.T, np.where(np.isnan(k), np.inf, k)


ENOUGH = 400
"""Effective draws from which quantiles and r_hat are reliable (Vehtari et al. 2021)."""


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
    def of(cls, tree: DataTree, names: Iterable[str] | None = None) -> Convergence:
        """Diagnostics of a tree's posterior (Vehtari et al. 2021); independent draws pass them too.

        By default, of all variables; else of those of these ``names`` that it has.
        """
        import arviz as az

        posterior = tree["posterior"].dataset
        posterior = posterior if names is None else posterior[[name for name in names if name in posterior]]
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
        return self.r_hat <= max(1.01, self.by_chance) and self.ess >= ENOUGH and self.divergences == 0

    def __str__(self) -> str:
        allowed = max(1.01, self.by_chance)
        failed = [
            f"largest r_hat {self.r_hat:.4f} ({self.worst}), at most {allowed:.4f} allowed"
            * (not self.r_hat <= allowed),
            f"only {self.ess:.0f} effective draws, at least {ENOUGH} needed" * (self.ess < ENOUGH),
            f"{self.divergences} divergence{'s' * (self.divergences != 1)}" * (self.divergences > 0),
        ]
        return "; ".join(filter(None, failed)) or (
            f"largest r_hat {self.r_hat:.4f} ({self.worst}), fewest effective draws {self.ess:.0f}, no divergence"
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
    largest = chdtri(halves - 1, 0.01 / (2 * cells))
    return float(np.sqrt(1 + halves * largest / ((halves - 1) * chains * draws)))
