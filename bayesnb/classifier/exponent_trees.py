"""Draws of the exponents as an ArviZ ``DataTree``, with the groups that draws of the parameters have.

Start with :func:`sample`, which ``sample_posterior`` calls for ``stage="exponents"``. The terms of the rows are data
here, so the likelihood of a row is p(y_i | terms, w): that of its class alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesnb.classifier.sampling import second_stage
from bayesnb.dependence.conditional import Rows, log_posterior_of_classes
from bayesnb.dependence.learned_exponents import LearnedExponents
from bayesnb.kernels.blocks import slices
from bayesnb.numerics import Array
from bayesnb.wording import warn

if TYPE_CHECKING:
    from xarray import DataTree

    from bayesnb.classifier import Classifier


def sample(
    self: Classifier,
    draws: int,
    chains: int,
    sampler: str,
    random_seed: Any,
    rows_of: tuple[Any, Any, Any],
    wanted: Sequence[str],
    arguments: Mapping[str, Any],
) -> DataTree:
    """Draws of the exponents as a tree; ``rows_of`` is (X, y, sample_weight), as they were learned from."""
    from xarray import DataTree

    from bayesnb.chains import Convergence, run_nuts
    from bayesnb.dependence import program
    from bayesnb.sampling import draws as drawing
    from bayesnb.sampling import nuts, trees

    rows = second_stage(self, *rows_of)
    if sampler not in ("exact", "nuts"):
        raise ValueError(f"Expected sampler to be 'exact' or 'nuts' for the exponents; got {sampler!r}")
    if arguments and sampler == "exact":
        raise TypeError(f"exact draws take no arguments of pymc.sample; got {sorted(arguments)}")
    if "columns" in wanted:
        raise ValueError("the second stage describes labels given terms, so its tree has no columns")
    weight, learned = rows_of[2], self.dependence.exponents
    place = np.arange(len(rows.codes)) if weight is None else np.flatnonzero(np.asarray(weight) > 0)
    seed = self.seed if random_seed is None else random_seed
    rng = np.random.default_rng(seed)
    origin = trees.Origin("laplace" if sampler == "exact" else sampler, seed, time.perf_counter())
    stats = drawing.no_divergences(chains, draws)
    if sampler == "nuts":
        settings = {"random_seed": int(rng.integers(2**31)), **arguments}
        sampled = run_nuts(program.pymc_model(rows, learned), draws, chains, **settings)
        stats, origin = sampled["sample_stats"].dataset, replace(origin, **nuts.library_of(sampled))
        drawn = {name: v.to_numpy() for name, v in sampled["posterior"].data_vars.items()}
        points = program.parameters_of({name: v.reshape(-1, *v.shape[2:]) for name, v in drawn.items()})
    else:
        points = learned.drawn(rng, chains * draws)
    names = {
        "class_label": [str(label) for label in self.classes],
        "cell": self.dependence.offset_names(self.posterior),
        "row": place,
    }
    points = points.reshape(chains, draws, -1)
    tree = build(points, learned, rows, names, wanted, rng, origin.attributes())
    tree["sample_stats"] = DataTree(stats)
    if sampler == "nuts" and not (convergence := Convergence.of(tree)).converged:
        warn(f"NUTS did not converge: {convergence}")
    return tree


def build(
    points: Array,
    learned: LearnedExponents,
    rows: Rows,
    names: Mapping[str, Sequence[str]],
    wanted: Sequence[str],
    rng: np.random.Generator,
    attributes: Mapping[str, Any],
) -> DataTree:
    """The tree of the second stage.

    Parameters
    ----------
    points : array (chain, draw, parameter)
        Draws from the posterior, in the order of ``learned.layout``.
    learned : LearnedExponents
    rows : Rows
        The rows that the exponents were learned from, each left out of its own terms.
    names : {"class_label", "cell", "row"}
        Coordinates of the classes, of the cells that have offsets, and of the rows.
    wanted : sequence of str
        Of ``trees.OPTIONAL``, but no "columns".
    rng : Generator
    attributes : mapping

    Returns
    -------
    DataTree
        With the variables of the model in PyMC: ``w`` (term) and ``b`` (class); ``b_cell`` (class, cell) where cells
        have offsets, and ``d`` (class, deviation) where exponents differ by class.
    """
    from bayesnb.sampling import trees

    lead, size = points.shape[:2], points.shape[-1]
    prior = learned.mean + learned.sd * rng.standard_normal((*lead, size))
    groups = {"posterior": _variables(points, learned), "prior": _variables(prior, learned)}
    if "log_prior" in wanted:
        z = (points - learned.mean) / learned.sd
        groups["log_prior"] = _variables(-0.5 * z**2 - np.log(learned.sd) - 0.5 * np.log(2 * np.pi), learned)
    for source, drawn in (("posterior", points), ("prior", prior)):
        own, y = _classes(drawn, learned, rows, rng)
        if f"{source}_predictive" in wanted:
            groups[f"{source}_predictive"] = {"y": y}
        if source == "posterior" and "log_likelihood" in wanted:
            groups["log_likelihood"] = {"y": own}
    terms = [str(name) for name in learned.table().index]
    deviations = [terms[t] for t in learned.layout.own if t < learned.layout.terms]
    groups["observed_data"] = {"y": rows.codes}
    groups["constant_data"] = {
        "rows": np.bincount(rows.codes, rows.weight, len(names["class_label"])), "weight": rows.weight
    }  # fmt: skip
    shapes = {
        "w": ["term"], "b": ["class_label"], "b_cell": ["class_label", "cell"], "d": ["class_label", "deviation"],
        "y": ["row"], "rows": ["class_label"], "weight": ["row"],
    }  # fmt: skip
    return trees.tree_of(groups, {**names, "term": terms, "deviation": deviations}, shapes, attributes)


def _variables(points: Array, learned: LearnedExponents) -> dict[str, Array]:
    """The variables of the model from the parameters in their order, (chain, draw) in front."""
    layout = learned.layout
    own = points[..., layout.terms :].reshape(*points.shape[:-1], layout.classes, len(layout.own))
    n = int((layout.own < layout.terms).sum())
    found = {"w": points[..., : layout.terms], "b": own[..., -1], "b_cell": own[..., n:-1], "d": own[..., :n]}
    return {name: value for name, value in found.items() if value.size}


def _classes(points: Array, learned: LearnedExponents, rows: Rows, rng: np.random.Generator) -> tuple[Array, Array]:
    """The weighted log p(y_i | terms, w), and classes drawn from p(y | terms, w), both (chain, draw, row)."""
    from bayesnb.sampling.trees import NUMBERS

    v, n = learned.layout.exponents(points.reshape(-1, points.shape[-1])), len(rows.codes)
    own, y = np.empty((len(v), n)), np.empty((len(v), n), np.int64)
    for cut in slices(len(v), max(1, NUMBERS // max(1, n * learned.layout.classes))):
        log_p = log_posterior_of_classes(rows.terms, rows.offset, v[cut], rows.cells)
        own[cut] = log_p[rows.codes, np.arange(n)].T * rows.weight
        # The largest of log p plus Gumbel noise falls on a class with its probability.
        y[cut] = (log_p + rng.gumbel(size=log_p.shape)).argmax(0).T
    return own.reshape(*points.shape[:2], n), y.reshape(*points.shape[:2], n)
