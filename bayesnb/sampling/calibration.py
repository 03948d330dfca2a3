"""Simulation-based calibration of a configured model (Talts et al. 2018, arXiv 1804.06788)."""

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
from bayesnb.statistics.statistic import Labels
from bayesnb.wording import require_choice, require_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVEL = 1e-4
"""The probability that a correct model is reported as miscalibrated is at most this number."""

type Sampler = Literal["exact", "nuts", "gibbs"]


@dataclass(frozen=True, eq=False)
class Calibration:
    """The result of a simulation-based calibration.

    Parameters
    ----------
    ranks : DataFrame (simulation, quantity)
        Number of posterior draws below the true value. This number is uniform on 0, …, ``draws`` if the model is
        calibrated.
    draws : int
        Posterior draws per simulation.
    sampler : str
    """

    ranks: pd.DataFrame
    draws: int
    sampler: str

    @cached_property
    def shares(self) -> pd.DataFrame:
        """The ranks, rescaled to numbers between 0 and 1."""
        return (self.ranks + np.random.default_rng(0).random(self.ranks.shape)) / (self.draws + 1)

    @cached_property
    def p_values(self) -> pd.Series:
        """The p-value of each quantity, smallest first, by the POT-C test of uniformity (Tesso and Vehtari 2026).

        Small p-values are exact, larger ones too small: if ranks are uniform, p < 0.1 has a probability of about 0.13.
        """
        from arviz_stats.base import array_stats

        found, *_ = array_stats.uniformity_test(self.shares.to_numpy(), axis=0, method="pot_c")
        return pd.Series(found, self.ranks.columns, float, "p_value").sort_values()

    @property
    def p_value(self) -> float:
        """The smallest p-value with Bonferroni's correction."""
        return min(1.0, float(self.p_values.iloc[0]) * len(self.p_values))

    @property
    def calibrated(self) -> bool:
        """True if ``p_value`` is at least 1e-4."""
        return bool(self.p_value >= LEVEL)

    def to_frame(self) -> pd.DataFrame:
        """A table of all quantities, the least uniform first.

        Returns
        -------
        DataFrame (quantity, ...)
            ``p_value`` is small if the ranks are not uniform. ``centre`` is the mean rank on a scale from 0 to 1: above
            0.5 if draws are too low, below 0.5 if draws are too high. ``spread`` is the standard deviation of the
            ranks, relative to uniform ranks: above 1 if the posterior is too narrow, below 1 if the posterior is too
            wide.
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
        """Plot the empirical minus the uniform distribution function of the ranks, one line per quantity.

        The posterior is too narrow if the line falls from above 0 to below 0, and too wide if the line rises from below
        0 to above 0. The posterior is shifted if the line stays on one side of 0.
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
    """Check a configured model (its families and priors) and a sampler by simulation.

    Parameters
    ----------
    clf : BayesianNB or Classifier
        A fitted model, whose columns, levels, classes and prior scales are used. The ``dependence`` is ignored.
    rows : int
        Rows per simulation. Errors in the prior are detected only if there are few rows.
    simulations : int
        Number of simulated tables. With 25 quantities and 99 draws, 200 simulations nearly always detect a posterior
        standard deviation that is 40 % too small. To detect 20 %, 1,000 simulations usually suffice.
    sampler : {"exact", "nuts", "gibbs"}
        "exact" is the closed form. "nuts" samples the PyMC model, in seconds to minutes per simulation. "gibbs" is the
        sampler for unlabelled rows.
    draws : int
        Posterior draws per simulation.
    random_seed : seed
    unlabelled : float
        For "gibbs": the fraction of rows without a label.
    **arguments
        For "nuts", arguments of ``pymc.sample``; for "gibbs", ``tune``.

    Returns
    -------
    Calibration
        ``print(result)`` shows a summary in one line.

    Raises
    ------
    ImproperError
        If the prior of a feature is improper.
    ValueError
        If a family has no closed form, or the sampler is unknown.

    Notes
    -----
    Each simulation draws true parameters from the prior, rows given the parameters, and posterior draws given the rows.
    If model and sampler are correct, the ranks of the true parameters among the draws are uniform.

    The checked quantities are all parameters and the log-likelihood of the rows. Without the log-likelihood, a sampler
    that ignores the data would appear calibrated (Modrák et al. 2023, arXiv 2211.02383). "nuts" uses every tenth draw.
    "gibbs" uses the last state of one chain per draw.

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
    """A model that simulates rows from its priors, and computes posteriors given these rows."""

    posterior: Posterior
    read: Callable[[Any, Array], Any]

    @classmethod
    def of(cls, posterior: Posterior, schema: Any) -> Simulator:
        """Make the simulator of a fitted model, all of whose priors must be proper."""
        # Class probabilities that are frequencies of the learned labels stay fixed.
        model = replace(posterior.model, label=posterior.label_prior)
        posterior = replace(posterior, model=model)
        posterior.before().require_proper()
        posterior.label_prior.require_proper("A simulation")
        model.require_exact("a formula for its posterior", "give the column a family that has one")
        return cls(posterior, lambda name, x: schema.features[name].read(x))

    @cached_property
    def before(self) -> Posterior:
        return self.posterior.before()

    def rows(self, theta: Parameters, n: int, rng: np.random.Generator) -> tuple[Data, Labels]:
        codes = drawn_codes(np.broadcast_to(theta.log_pi, (n, len(theta.log_pi))), rng)
        data = {}
        for name, family in self.posterior.model.features.items():
            own = {key: value[codes] for key, value in theta.features[name].items()}
            data[name] = self.read(name, family.sample(own, rng, self.posterior.statistics.features[name]))
        return data, Labels.of(codes, len(theta.log_pi))

    def given(self, data: Data, labels: Labels) -> Posterior:
        return self.posterior.given(self.posterior.model.statistics(data, labels, self.posterior.labels))

    def by_nuts(
        self, data: Data, labels: Labels, draws: int, rng: np.random.Generator, chains: int = 1, **arguments: Any
    ) -> Parameters:
        believed = self.given(data, labels)
        each = -(-draws // chains)
        seed = int(rng.integers(2**31))
        drawn, _ = nuts.sample(believed, 10 * each, chains, seed, **arguments)
        return drawn.at((slice(None), slice(9, None, 10))).flattened().at(slice(draws))

    def by_gibbs(
        self, data: Data, labels: Labels, hidden: int, draws: int, rng: np.random.Generator, tune: int = 100
    ) -> Parameters:
        """The last states of ``draws`` Gibbs chains, in which the labels of the first ``hidden`` rows are unknown."""
        alone = self.given(part_of(data, slice(hidden, None)), labels[hidden:])
        return gibbs.sample(alone, part_of(data, slice(hidden)), hidden, 1, draws, rng, tune).parameters.flattened()

    def ranks(
        self, theta: Parameters, drawn: Parameters, data: Data, labels: Labels, hidden: int, rng: np.random.Generator
    ) -> Mapping[str, int]:
        blocks = layout.blocks(self.posterior)
        truth, values = layout.variables(theta, blocks), layout.variables(drawn, blocks)
        found = {}
        for name, cells in layout.cell_names(self.posterior.labels, blocks).items():
            # Known probabilities do not vary, so they have no rank.
            if np.ptp(values[name], axis=0).any() or (values[name][0] != truth[name]).any():
                found |= dict(zip(cells, _rank(truth[name], values[name], rng).ravel().tolist(), strict=True))
        true, others = (_log_likelihood(each, data, labels, hidden) for each in (theta, drawn))
        return found | {"log likelihood": int(_rank(true, others, rng))}


def _log_likelihood(theta: Parameters, data: Data, labels: Labels, hidden: int) -> Array:
    joint = theta.log_joint(data, len(labels))
    own = joint[..., np.arange(len(labels)), labels.codes][..., hidden:].sum(-1)
    return own + np.logaddexp.reduce(joint[..., :hidden, :], axis=-1).sum(-1)


def _rank(truth: Array, drawn: Array, rng: np.random.Generator) -> Array:
    """The number of draws below ``truth``, with ties broken at random."""
    equal = (drawn == truth).sum(axis=0)
    return (drawn < truth).sum(axis=0) + rng.integers(0, equal + 1)
