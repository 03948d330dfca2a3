"""Simulation-based calibration of a model as it is configured: start with :func:`calibrate`.

Parameters are drawn from the prior, rows from the model at these parameters, and the posterior from these rows. The
rank of each true parameter among its posterior draws is then uniform if nothing is wrong on the way (Talts, Betancourt,
Simpson, Vehtari and Gelman 2018, Validating Bayesian inference algorithms with simulation-based calibration).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd

from bayesnb.model import Data, Parameters, Posterior, part_of
from bayesnb.numerics import drawn_codes
from bayesnb.priors import Array
from bayesnb.sampling import gibbs, layout, nuts
from bayesnb.statistics.membership import Labels
from bayesnb.wording import require_choice, require_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVEL = 1e-4
"""Level of the test of all quantities: a sound model is called miscalibrated at most once in ten thousand runs."""

type Sampler = Literal["exact", "nuts", "gibbs"]


@dataclass(frozen=True, eq=False)
class Calibration:
    """The outcome of a simulation-based calibration.

    Parameters
    ----------
    ranks : DataFrame (simulation, quantity)
        How many of the posterior draws are below the true value: uniform from 0 to ``draws``.
    draws : int
        Posterior draws in each simulation.
    sampler : str
    """

    ranks: pd.DataFrame
    draws: int
    sampler: str

    @cached_property
    def shares(self) -> pd.DataFrame:
        """The ranks as numbers from 0 to 1, (simulation, quantity), uniform if the ranks are.

        Each lies in the interval of its rank, at a place that chance takes, from seed 0.
        """
        return (self.ranks + np.random.default_rng(0).random(self.ranks.shape)) / (self.draws + 1)

    @cached_property
    def p_values(self) -> pd.Series:
        """The p-value of uniform ranks of each quantity, smallest first: ArviZ's POT-C (Tesso and Vehtari 2026).

        It combines the tests of all order statistics by their Cauchy mean. Uniform ranks have a p-value below 0.01 as
        often as it says, and one below 0.1 a third more often.
        """
        from arviz_stats.base import array_stats

        found, *_ = array_stats.uniformity_test(self.shares.to_numpy(), axis=0, method="pot_c")
        return pd.Series(found, self.ranks.columns, float, "p_value").sort_values()

    @property
    def p_value(self) -> float:
        """The p-value of the least uniform quantity, by Bonferroni: valid however quantities depend on each other."""
        return min(1.0, float(self.p_values.iloc[0]) * len(self.p_values))

    @property
    def calibrated(self) -> bool:
        """The verdict, at level 1e-4."""
        return bool(self.p_value >= LEVEL)

    def to_frame(self) -> pd.DataFrame:
        """All quantities, the least uniform first.

        Returns
        -------
        DataFrame (quantity, ...)
            ``p_value``; ``centre``, the mean rank from 0 to 1, which is 0.5 if draws are neither too low (above) nor
            too high (below); ``spread``, the standard deviation of the ranks over that of uniform ones, above 1 if the
            posterior is too narrow and below 1 if it is too wide.
        """
        share = (self.ranks[self.p_values.index] + 0.5) / (self.draws + 1)
        uniform = np.sqrt((1 - (self.draws + 1.0) ** -2) / 12)
        spread = np.sqrt(((share - 0.5) ** 2).mean()) / uniform
        return pd.DataFrame({"p_value": self.p_values, "centre": share.mean(), "spread": spread})

    def __str__(self) -> str:
        verdict = "calibrated" if self.calibrated else "NOT CALIBRATED"
        return (
            f"{verdict}: {self.ranks.shape[1]} quantities in {len(self.ranks)} simulations, least uniform "
            f"{self.p_values.index[0]}, p = {self.p_value:.3g}; {self.sampler}"
        )

    def plot(self) -> Figure:
        """The empirical distribution of the ranks less the uniform one, a panel for each quantity, drawn by ArviZ.

        A line above and then below 0 is a posterior that is too narrow; the other way round, one that is too wide; on
        one side, one that is shifted. ArviZ marks the points that are unlikely for uniform ranks, and gives p-values.
        """
        from arviz_base import from_dict
        from arviz_plots import plot_ecdf_pit

        shares = {name: share.to_numpy() for name, share in self.shares.items()}
        drawn = plot_ecdf_pit(
            from_dict({"prior_sbc": shares}, sample_dims=["simulation"]),
            sample_dims=["simulation"],
            envelope_prob=1 - LEVEL / len(shares),
            backend="matplotlib",
        )
        return drawn.viz["figure"].item()


def calibrate(
    clf: Any,
    rows: int = 20,
    simulations: int = 200,
    sampler: Sampler = "exact",
    draws: int = 99,
    random_seed: Any = 0,
    unlabelled: float = 0.5,
    **arguments: Any,
) -> Calibration:
    """Check a model as it is configured, by simulation: its families, its priors, and a sampler.

    Parameters
    ----------
    clf : BayesianNB or Classifier
        A fitted model. Only its columns, levels and classes are used, and the scale of priors that are scaled to the
        data. A dependence takes no part.
    rows : int
        Rows of each simulation. Few are best: the prior matters then, and mistakes in it show.
    simulations : int
        For 25 quantities and 99 draws, 200 nearly always find a posterior whose standard deviation is 0.6 of the right
        one, 1,000 mostly one of 0.8.
    sampler : {"exact", "nuts", "gibbs"}
        What is checked: the closed form; the model in PyMC, in seconds or minutes for each simulation; or the Gibbs
        sampler for rows without a label.
    draws : int
        Posterior draws in each simulation.
    random_seed : seed
    unlabelled : float
        For "gibbs": the share of rows whose label is hidden.
    **arguments
        For "nuts", those of ``pymc.sample``; for "gibbs", ``tune``.

    Returns
    -------
    Calibration
        ``.calibrated``, ``.p_value``, ``.p_values``, ``.to_frame()``, ``.ranks``, ``.plot()``, and a sentence as
        ``str``.

    Raises
    ------
    ImproperError
        If a prior is improper, naming the feature: no parameters can be drawn from it.
    ValueError
        If a family is sampled and has no closed form, or for an unknown sampler.

    Notes
    -----
    The quantities are all parameters and the log-likelihood of the rows. Without the latter, a sampler that ignores the
    data and draws from the prior would pass (Modrák et al. 2023, Simulation-based calibration checking for Bayesian
    computation: the choice of test quantities shapes sensitivity). Ties get a random rank. Of the draws of NUTS, every
    tenth is taken; for "gibbs", the last state of as many chains as there are draws: both are then nearly independent.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> from bayesnb.sampling import agreement
    >>> clf = BayesianNB().fit(*datasets.play_tennis())
    >>> found = agreement.calibrate(clf, rows=8, simulations=50)
    >>> found.calibrated
    True
    >>> found.ranks.shape
    (50, 23)
    """
    held = getattr(clf, "classifier_", clf)
    require_choice("sampler", sampler, get_args(Sampler.__value__))
    if not 0 < unlabelled < 1:
        raise ValueError(f"Expected unlabelled to lie between 0 and 1; got {unlabelled!r}")
    if arguments and sampler == "exact":
        raise TypeError(f"exact draws take no further arguments; got {sorted(arguments)}")
    require_whole(1, rows=rows, simulations=simulations, draws=draws)
    rng, simulator = np.random.default_rng(random_seed), Simulator.of(held.posterior, held.schema)
    hidden = max(1, round(unlabelled * rows)) if sampler == "gibbs" else 0
    found = []
    for _ in range(simulations):
        theta = simulator.before.draw(rng)
        some = simulator.rows(theta, rows, rng)
        if sampler == "exact":
            drawn = simulator.given(*some).draw(rng, (draws,))
        elif sampler == "nuts":
            drawn = simulator.by_nuts(*some, draws, rng, **arguments)
        else:
            drawn = simulator.by_gibbs(*some, hidden, draws, rng, **arguments)
        found.append(simulator.ranks(theta, drawn, *some, hidden, rng))
    return Calibration(pd.DataFrame(found), draws, sampler)


@dataclass(frozen=True, eq=False)
class Simulator:
    """A model that makes rows and learns from them.

    Parameters
    ----------
    posterior : Posterior
        Its priors are used, at their full shapes, and its statistics, for what the model takes as given.
    read : callable
        How the sampled cells of a feature, by its name, become an encoded column.
    """

    posterior: Posterior
    read: Callable[[Any, Array], Any]

    @classmethod
    def of(cls, posterior: Posterior, schema: Any) -> Simulator:
        """The simulator of a fitted model, whose priors must be proper.

        Frequencies of the learned labels as class probabilities are held, too.
        """
        model = replace(posterior.model, label=posterior.label_prior)
        posterior = replace(posterior, model=model)
        posterior.before().require_proper()
        posterior.label_prior.require_proper("A simulation")
        model.require_exact("a formula for its posterior", "give the column a family that has one")
        return cls(posterior, lambda name, x: schema.features[name].read(x))

    @cached_property
    def before(self) -> Posterior:
        """The prior, as a posterior of no rows."""
        return self.posterior.before()

    def rows(self, theta: Parameters, n: int, rng: np.random.Generator) -> tuple[Data, Labels]:
        """New rows at one point of the parameters: their encoded columns, and their classes."""
        codes = drawn_codes(np.broadcast_to(theta.log_pi, (n, len(theta.log_pi))), rng)
        data = {}
        for name, family in self.posterior.model.features.items():
            own = {key: value[codes] for key, value in theta.features[name].items()}
            data[name] = self.read(name, family.sample(own, rng, self.posterior.statistics.features[name]))
        return data, Labels.of(codes, len(theta.log_pi))

    def given(self, data: Data, labels: Labels) -> Posterior:
        """The posterior given these rows."""
        return self.posterior.given(self.posterior.model.statistics(data, labels, self.posterior.labels))

    def by_nuts(
        self, data: Data, labels: Labels, draws: int, rng: np.random.Generator, chains: int = 1, **arguments: Any
    ) -> Parameters:
        """Draws by NUTS, every tenth."""
        believed = self.given(data, labels)
        each = -(-draws // chains)
        seed = int(rng.integers(2**31))
        drawn, _ = nuts.sample(believed, 10 * each, chains, seed, **arguments)
        return drawn.at((slice(None), slice(9, None, 10))).flattened().at(slice(draws))

    def by_gibbs(
        self, data: Data, labels: Labels, hidden: int, draws: int, rng: np.random.Generator, tune: int = 100
    ) -> Parameters:
        """The last states of as many chains of the Gibbs sampler, the labels of the first rows hidden."""
        alone = self.given(part_of(data, slice(hidden, None)), labels[hidden:])
        return gibbs.sample(alone, part_of(data, slice(hidden)), hidden, 1, draws, rng, tune).parameters.flattened()

    def ranks(
        self, theta: Parameters, drawn: Parameters, data: Data, labels: Labels, hidden: int, rng: np.random.Generator
    ) -> Mapping[str, int]:
        """The rank of each quantity at the true parameters among the draws."""
        blocks = layout.blocks(self.posterior)
        truth, values = layout.variables(theta, blocks), layout.variables(drawn, blocks)
        found = {}
        for name, cells in layout.cell_names(self.posterior.labels, blocks).items():
            # Probabilities that are known do not vary, and have no rank.
            if np.ptp(values[name], axis=0).any() or (values[name][0] != truth[name]).any():
                found |= dict(zip(cells, _rank(truth[name], values[name], rng).ravel().tolist(), strict=True))
        true, others = (_log_likelihood(each, data, labels, hidden) for each in (theta, drawn))
        return found | {"log likelihood": int(_rank(true, others, rng))}


def _log_likelihood(theta: Parameters, data: Data, labels: Labels, hidden: int) -> Array:
    """log p(rows | θ), (...), summed over the labels of the first rows, which are hidden."""
    joint = theta.log_joint(data, len(labels))
    own = joint[..., np.arange(len(labels)), labels.codes][..., hidden:].sum(-1)
    return own + np.logaddexp.reduce(joint[..., :hidden, :], axis=-1).sum(-1)


def _rank(truth: Array, drawn: Array, rng: np.random.Generator) -> Array:
    """How many draws, along the first axis, are below the truth; of those that equal it, a random number counts."""
    equal = (drawn == truth).sum(axis=0)
    return (drawn < truth).sum(axis=0) + rng.integers(0, equal + 1)
