"""Compare the closed form with sampled draws, quantity by quantity."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import stats

from bayesnb.chains import Convergence
from bayesnb.kernels.blocks import slices
from bayesnb.model import ESTIMATES, Data, Parameters, Posterior, normalize, part_of
from bayesnb.priors import Array, Belief, BoundaryError, Compound, ImproperError, NormalGamma, OneOf, log
from bayesnb.priors.belief import parts_of
from bayesnb.sampling import draws, layout
from bayesnb.sampling.calibration import Calibration as Calibration
from bayesnb.sampling.calibration import calibrate as calibrate

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table as Grid
    from xarray import DataTree

LEVEL = 1e-4
"""The probability that a correct model is reported to disagree is at most this number."""


class ConvergenceError(RuntimeError):
    """The chains did not converge, so they cannot check the closed form.

    Examples
    --------
    >>> from bayesnb.errors import ConvergenceError
    >>> issubclass(ConvergenceError, RuntimeError)
    True
    """


@dataclass(frozen=True, eq=False, repr=False)
class Agreement:
    """The comparison of the closed form with sampled draws.

    Parameters
    ----------
    table : DataFrame (quantity, ...)
        ``kind``, ``quantity``, ``closed``, ``sampled``, ``mcse`` and ``z`` of each checked quantity.
    plug_ins : DataFrame (row × class, ...)
        Class probabilities from draws ("sampled"), from the closed form ("predictive"), and from the plug-ins "map" and
        "mean", if these estimates exist.
    skipped : int
        Number of quantities that were not checked, because their tails are too heavy for the number of draws.
    convergence : Convergence
    sampler : str
    unjudged : tuple
        Features without a closed form, which are not checked.
    posterior, drawn : Posterior, Parameters
        The closed form and the draws.
    seconds : {"formula", "sampling"}
        Computing times.
    naive_part : bool
        Whether the model also has a ``dependence``, which is not checked.
    """

    table: pd.DataFrame
    plug_ins: pd.DataFrame
    skipped: int
    convergence: Convergence
    sampler: str
    unjudged: tuple[Any, ...] = ()
    posterior: Posterior | None = None
    drawn: Parameters | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    naive_part: bool = False

    @property
    def _scope(self) -> str:
        if not self.naive_part:
            return ""
        return (
            " Only the naive Bayes part of the model was checked; predict_proba also uses the dependence, whose "
            'exponents verify(stage="exponents", learned=(X, y)) checks.'
        )

    @property
    def sentence(self) -> str:
        """A sentence that says whether closed form and draws agree, and how long each took."""
        n, worst = len(self.table), self.to_frame().iloc[0]
        if self.agrees:
            said = (
                f"The formulas and {self.sampler or 'the draws'} agree: none of {n:,} numbers differs by more than "
                f"chance allows (the largest difference is {abs(worst['z']):.1f} Monte Carlo errors)."
            )
        else:
            beyond = int((self.table["z"].abs() > self.z_limit).sum())
            said = (
                f"The formulas and {self.sampler or 'the draws'} disagree in {beyond:,} of {n:,} numbers, most in "
                f"{worst['quantity']}: {worst['closed']:.4g} by the formula, {worst['sampled']:.4g} by the draws."
            )
        known = {name: time for name, time in self.seconds.items() if np.isfinite(time)}
        times = " and ".join(f"{time:.2g} s by {name}" for name, time in known.items())
        return f"{said} It took {times}.{self._scope}" if times else f"{said}{self._scope}"

    def __repr__(self) -> str:
        return f"<Agreement: {self.sentence}>"

    def _repr_html_(self) -> str:
        shown = self.to_frame().head(12).set_index("quantity")[["closed", "sampled", "mcse", "z"]]
        return f"<p>{escape(self.sentence)}</p>{shown.to_html(float_format='{:.4g}'.format)}"

    @property
    def p_value(self) -> float:
        """The p-value of the largest ``|z|``, with Bonferroni's correction."""
        largest = float(self.table["z"].abs().max())
        return min(1.0, 2 * stats.norm.sf(largest) * len(self.table))

    @property
    def z_limit(self) -> float:
        """The largest ``|z|`` that counts as agreement; its p-value is 1e-4."""
        return float(stats.norm.isf(LEVEL / (2 * len(self.table))))

    @property
    def agrees(self) -> bool:
        """True if ``p_value`` is at least 1e-4."""
        return bool(self.p_value >= LEVEL)

    def to_frame(self) -> pd.DataFrame:
        return self.table.reindex(self.table["z"].abs().sort_values(ascending=False).index)

    def __str__(self) -> str:
        verdict = "the two roads agree" if self.agrees else "THE TWO ROADS DISAGREE"
        worst = self.to_frame().iloc[0]
        unjudged = f"; not judged, because they are sampled: {', '.join(map(repr, self.unjudged))}"
        return (
            f"{verdict}: {len(self.table)} quantities, largest |z| {abs(worst['z']):.2f} ({worst['quantity']}), "
            f"p = {self.p_value:.3g} (they disagree below {LEVEL:g}), {self.skipped} not resolved by these draws; "
            f"{self.sampler}, {self.convergence}{unjudged if self.unjudged else ''}{'.' * self.naive_part}{self._scope}"
        )

    def __rich__(self) -> Grid:
        from rich.table import Table as Grid
        from rich.text import Text

        grid = Grid(title=Text(str(self)), title_justify="left")
        for name in ("quantity", "closed", "sampled", "mcse", "z"):
            grid.add_column(name, justify="left" if name == "quantity" else "right")
        for _, row in self.to_frame().head(12).iterrows():
            grid.add_row(
                Text(row["quantity"]), *(f"{row[k]:.4g}" for k in ("closed", "sampled", "mcse")), f"{row['z']:.2f}"
            )
        return grid

    def plot(self) -> Figure:
        """Plot z-scores against normal quantiles, and sampled class probabilities against the closed form.

        Draws and closed form agree if all z-scores lie in the grey band. Error bars show ±2 Monte Carlo standard
        errors.
        """
        import matplotlib.pyplot as plt

        figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
        z = np.sort(self.table["z"])
        expected = stats.norm.ppf((np.arange(len(z)) + 0.5) / len(z))
        left.axline((0, 0), slope=1, color="0.6", lw=1)
        left.axhspan(-self.z_limit, self.z_limit, color="0.93", lw=0, zorder=0)
        left.annotate(
            "grey: the two roads agree", (0, self.z_limit), (4, -12), xycoords=("axes fraction", "data"),
            textcoords="offset points", color="0.4", size=9,
        )  # fmt: skip
        left.plot(expected, z, "o", ms=3, color="#0072B2")
        left.set(
            xlabel="quantile of a standard normal", ylabel="difference / Monte Carlo error", title="All quantities"
        )
        shown = self.table[self.table["kind"] == "class predictive"]
        right.axline((0, 0), slope=1, color="0.6", lw=1)
        right.errorbar(shown["closed"], shown["sampled"], yerr=2 * shown["mcse"], fmt="o", ms=3, lw=1, color="#D55E00")
        right.set(xlabel="closed form", ylabel="sampled", title="p(class | row, data)")
        return figure

    def plot_parameters(self, most: int = 12) -> Figure:
        """Plot draws of at most ``most`` parameters as histograms, and the closed form as a line.

        Parameters with the largest ``|z|`` come first. The line shows 50,000 exact draws.
        """
        from matplotlib.figure import Figure

        if self.posterior is None or self.drawn is None:
            raise ValueError("there are no draws of parameters to plot")
        blocks = layout.blocks(self.posterior)
        names = layout.cell_names(self.posterior.labels, blocks)
        exact = layout.variables(self.posterior.draw(np.random.default_rng(0), (50_000,)), blocks)
        sampled = layout.variables(self.drawn.flattened(), blocks)
        panels = {}
        for variable, own in names.items():
            of_cells = zip(
                own, *(each[variable].reshape(len(each[variable]), -1).T for each in (exact, sampled)), strict=True
            )
            panels |= {name: pair for name, *pair in of_cells if np.ptp(pair[0]) > 0}
        z = self.table[self.table["kind"] == "mean"].set_index("quantity")["z"].abs()
        order = sorted(panels, key=lambda name: -z.get(f"mean {name}", 0.0))[:most]
        across = min(4, max(1, len(order)))
        down = max(1, -(-len(order) // across))
        figure = Figure(figsize=(2.6 * across, 2 * down + 0.4), layout="constrained")
        axes = figure.subplots(down, across, squeeze=False).ravel()
        for axis, name in zip(axes, order, strict=False):
            closed, drawn = panels[name]
            ends = np.quantile(closed, [0.001, 0.999])
            axis.hist(drawn, np.linspace(*ends, 31), density=True, color="#E69F00", alpha=0.6)
            height, edges = np.histogram(closed, np.linspace(*ends, 61), density=True)
            axis.plot((edges[1:] + edges[:-1]) / 2, height, color="#0072B2", lw=1.5)
            axis.set_title(name, fontsize=8)
            axis.set_yticks([])
            axis.tick_params(labelsize=7)
        for spare in axes[len(order) :]:
            spare.remove()
        figure.suptitle("line: closed form; histogram: draws", fontsize=9)
        return figure


def check(
    posterior: Posterior, tree: DataTree, data: Data, n_rows: int, sampler: str = "", unjudged: tuple[Any, ...] = (),
    naive_part: bool = False,
) -> Agreement:  # fmt: skip
    """Compare the closed form with the draws in ``tree``, for all parameters and for predictions of the given rows."""
    convergence = Convergence.of(tree, layout.dims(layout.blocks(posterior)))
    sizes = tree["posterior"].dataset.sizes
    if sizes["chain"] * sizes["draw"] < 400:
        raise ValueError(
            f"{sizes['chain'] * sizes['draw']} draws are too few for a verdict; ask for at least 400 in all"
        )
    if sampler != "exact" and not convergence.converged:
        raise ConvergenceError(
            f"the chains did not converge ({convergence}): raise draws, which is {sizes['draw']:,} per chain, or tune; "
            'or check the predictive probabilities alone, without chains, with sampler="exact"'
        )
    drawn = draws.parameters(tree, posterior)
    records = _moments(posterior, drawn)
    cuts = slices(n_rows, max(1, 2**23 // drawn.log_pi.size)) if n_rows else []
    rows = [_rows(posterior, drawn, part_of(data, cut), cut) for cut in cuts]
    skipped = sum(part[1] for part in rows)
    for part, _, _ in rows:
        records.extend(part)
    table = pd.DataFrame(records, columns=["kind", "quantity", "closed", "sampled", "mcse"])
    with np.errstate(invalid="ignore", divide="ignore"):
        table["z"] = (table["sampled"] - table["closed"]) / table["mcse"]
    # A correct quantity may be constant over draws, such as a fixed class prior: z is 0.
    still = (table["mcse"] == 0) & np.isclose(table["sampled"], table["closed"], rtol=1e-9)
    # NaN counts as disagreement.
    table["z"] = table["z"].where(~still, 0.0).fillna(np.inf)
    sampled = np.concatenate([part[2] for part in rows]) if rows else np.zeros((0, len(posterior.labels)))
    plug_ins = _plug_ins(posterior, data, n_rows, sampled)
    start = time.perf_counter()
    posterior.given(posterior.statistics).log_predictive(data, n_rows)
    seconds = {"formula": time.perf_counter() - start, "sampling": float(tree.attrs.get("sampling_time", np.nan))}
    return Agreement(table, plug_ins, skipped, convergence, sampler, unjudged, posterior, drawn, seconds, naive_part)


def _mcse(x: Array) -> Array:
    from arviz_stats.base import array_stats

    if x.ndim == 2:
        return np.asarray(array_stats.mcse(x, chain_axis=0, draw_axis=1, method="mean"))
    flat = x.reshape(*x.shape[:2], -1)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = array_stats.mcse(np.moveaxis(flat, -1, 0), chain_axis=1, draw_axis=2, method="mean")
    error = np.where(np.ptp(flat, axis=(0, 1)) == 0, 0.0, error)
    return error.reshape(x.shape[2:])


def _moments(posterior: Posterior, drawn: Parameters) -> list[tuple[Any, ...]]:
    blocks = layout.blocks(posterior)
    values = layout.variables(drawn, blocks)
    names = layout.cell_names(posterior.labels, blocks)
    records = []
    if posterior.label.variance().any():
        records += _two_moments(names["pi"], values["pi"], posterior.label.mean(), posterior.label.variance())
    for block in blocks:
        prior = block.gather(posterior.features)
        moments = parts_of(prior.mean()), parts_of(prior.variance()), _fourth_moments(prior)
        for key, m, v, fourth in zip(block.keys, *moments, strict=True):
            x = values[block.variable(key)]
            # The error of a sampled variance needs the fourth moment.
            records += _two_moments(names[block.variable(key)], x, m, np.where(fourth, v, np.inf))
    return records


def _fourth_moments(belief: Belief) -> tuple[Any, ...]:
    if isinstance(belief, Compound):
        each = [found for part in belief.parts for found in _fourth_moments(part)]
        before = belief.before if isinstance(belief, OneOf) else belief.parts
        others = [found for part in before for found in _fourth_moments(part)]
        return tuple(here & there for here, there in zip(each, others, strict=True))
    # μ has a Student-t distribution with 2a degrees of freedom, and a fourth moment if they exceed 4.
    return (belief.a > 2.5, True) if isinstance(belief, NormalGamma) else (True,) * len(belief.parameters)


def _two_moments(names: list[str], x: Array, mean: Array, variance: Array) -> list[tuple[Any, ...]]:
    first, spread = x.mean(axis=(0, 1)), (x - mean) ** 2
    first_error, second, second_error = _mcse(x), spread.mean(axis=(0, 1)), _mcse(spread)
    flat = zip(names, *(v.ravel() for v in (mean, first, first_error, variance, second, second_error)), strict=True)
    records = []
    for name, m, sampled_m, error_m, v, sampled_v, error_v in flat:
        if np.isfinite(v):
            records.append(("mean", f"mean {name}", m, sampled_m, error_m))
            records.append(("variance", f"variance {name}", v, sampled_v, error_v))
    return records


def _rows(posterior: Posterior, drawn: Parameters, data: Data, cut: slice) -> tuple[list[tuple[Any, ...]], int, Array]:
    """Compare the predictions of some rows; return the comparisons, the number skipped, and p(c | x) from the draws."""
    # p(c, x | θ) is averaged over draws before it is normalized.
    n, labels = cut.stop - cut.start, [str(label) for label in posterior.labels]
    shape = (n, len(labels))
    records: list[tuple[Any, ...]] = []
    # r is a factor at each draw divided by its mean. To first order, the sum of r - 1 over the factors is the effect of
    # a draw on log Ĵ_c (for its error). The product of the r is the joint divided by its mean.
    pi = np.exp(drawn.log_pi)
    relative = np.repeat(_relative(pi, pi.mean(axis=(0, 1)))[:, :, None, :], n, axis=2)
    move, joint = relative - 1, relative
    log_sampled = np.tile(log(pi.mean(axis=(0, 1))), (n, 1))
    resolved, powers = np.ones(shape, bool), np.zeros((2, *shape))
    for name, family in posterior.model.features.items():
        x, believed = data[name], posterior.features[name]
        closed = family.log_predictive(believed, x)
        # A cell of probability 0 by the closed form must have probability 0 at every draw.
        never = np.isneginf(closed)
        scale = np.where(never, 0.0, closed)
        ratio = np.exp(family.log_likelihood(drawn.features[name], x) - scale)
        mean, error = ratio.mean(axis=(0, 1)), _mcse(ratio)
        moments = np.stack([family.log_moment(believed, x, t) - t * scale for t in (2.0, 3.0)])
        fine = never | _resolved(moments, ratio.shape[0] * ratio.shape[1])
        for row, c in np.argwhere(fine):
            quantity = f"p({name} of row {cut.start + row} | {labels[c]}) / closed"
            records.append(("factor", quantity, float(not never[row, c]), mean[row, c], error[row, c]))
        resolved &= fine
        powers += np.where(never, 0.0, moments)
        relative = _relative(ratio, mean)
        move, joint = move + (relative - 1), joint * ratio
        log_sampled += log(mean) + scale
    joined = np.isfinite(log_sampled) & _resolved(powers, joint.shape[0] * joint.shape[1])
    mean, error = joint.mean(axis=(0, 1)), _mcse(joint)
    for row, c in np.argwhere(joined):
        records.append(("joint", f"p({labels[c]}, row {cut.start + row}) / closed", 1.0, mean[row, c], error[row, c]))
    # Use the closed predictive that users get, not the product of the factors above.
    closed = np.exp(normalize(posterior.log_predictive(data, n)))
    sampled = np.exp(normalize(log_sampled))
    for c, label in enumerate(labels):
        weight = closed[:, [c]] * (np.arange(len(labels)) == c) - closed[:, [c]] * closed
        error = _mcse((move * weight).sum(-1))
        # Ignore a class whose joint does not affect p(c).
        matters = np.abs(weight) > 1e-3 * closed[:, [c]]
        for row in np.flatnonzero((resolved | ~matters).all(axis=-1)):
            quantity = f"p({label} | row {cut.start + row})"
            records.append(("class predictive", quantity, closed[row, c], sampled[row, c], error[row]))
    asked = n * len(labels) * (len(posterior.model.features) + 2)
    return records, asked - len(records), sampled


def _relative(x: Array, mean: Array) -> Array:
    return np.where(mean == 0, 1.0, x / np.where(mean == 0, 1.0, mean))


def _resolved(log_moments: Array, n_draws: int) -> Array:
    # The average is nearly Normal only if the skewness of the averaged quantity is far smaller than √draws.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        m2, m3 = np.exp(log_moments)
        variance = m2 - 1
        skewness = (m3 - 3 * m2 + 2) / variance**1.5
        small = np.abs(skewness) < 0.1 * np.sqrt(n_draws)
    # A constant factor, such as that of a missing value, is resolved. So is a factor with NaN moments, which is then
    # reported as disagreement.
    return np.isnan(m3) | (np.isfinite(m3) & (small | (variance < 1e-12)))


def _plug_ins(posterior: Posterior, data: Data, n_rows: int, sampled: Array) -> pd.DataFrame:
    answers: dict[str, Any] = {"sampled": sampled}
    # The estimates under the same priors, the closed predictive first.
    estimates = [name for name, rule in reversed(ESTIMATES.items()) if not rule.flat]
    for estimate in estimates:
        try:
            log_joint = posterior.log_joint(data, n_rows, estimate)
        except (BoundaryError, ImproperError):
            log_joint = np.full(sampled.shape, -np.inf)
        # If an estimate gives a row probability 0 under every class, the class probabilities are NaN.
        possible = ~np.isneginf(log_joint).all(axis=1)
        answers[estimate] = np.full(sampled.shape, np.nan)
        answers[estimate][possible] = np.exp(normalize(log_joint[possible]))
    index = pd.MultiIndex.from_product([range(n_rows), list(posterior.labels)], names=["row", "class"])
    frame = pd.DataFrame({name: value.ravel() for name, value in answers.items()}, index=index)
    for estimate in estimates[1:]:
        frame[f"{estimate} - sampled"] = frame[estimate] - frame["sampled"]
        # Missing if the estimate does not exist or the row is impossible.
        other = pd.Series(answers[estimate].argmax(axis=1) != sampled.argmax(axis=1), dtype="boolean")
        other[np.isnan(answers[estimate]).any(axis=1)] = pd.NA
        frame[f"{estimate} predicts another class"] = other.repeat(len(posterior.labels)).array
    return frame


__all__ = ["Agreement", "Calibration", "ConvergenceError", "calibrate", "check"]


def __dir__() -> list[str]:
    return __all__
