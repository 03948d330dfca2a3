"""A Gibbs sampler for unlabelled or mislabelled rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betainc, betaincinv

from bayesnb.families.family import Family
from bayesnb.model import Data, NaiveBayes, Parameters, Posterior, normalize, part_of, stacks
from bayesnb.model.order import Order
from bayesnb.numerics import drawn_codes
from bayesnb.priors import Array, Prior
from bayesnb.statistics.statistic import Labels
from bayesnb.wording import require_whole

if TYPE_CHECKING:
    from xarray import Dataset

MOST_WRONG = 0.5
"""Upper end of the uniform prior of the fraction of wrong labels."""
# If more labels could be wrong, two classes could swap names.


@dataclass(frozen=True, eq=False)
class Drawn:
    """Draws of a Gibbs sampler: parameters, class probabilities and labels."""

    parameters: Parameters
    proba: Array  # p(c | x, θ), averaged over the draws of each chain: (chain, row, class)
    labels: Array  # drawn classes, (chain, draw, row)
    log_likelihood: Array  # Σ log p(x | θ) over the unlabelled rows, (chain, draw)

    def datasets(self, labels: Sequence[Any], place: Array) -> dict[str, Dataset]:
        from xarray import Dataset

        chains, draws, _ = self.labels.shape
        axes = {"chain": np.arange(chains), "draw": np.arange(draws)}
        stats = {"log_likelihood_unlabelled": (("chain", "draw"), self.log_likelihood)}
        rows = {"y": (("chain", "draw", "row"), self.labels), "p": (("chain", "row", "class_label"), self.proba)}
        names = {"row": place, "class_label": [str(label) for label in labels]}
        return {"sample_stats": Dataset(stats, axes), "unlabelled": Dataset(rows, axes | names)}


def sample(
    alone: Posterior, data: Data, n_rows: int, draws: int, chains: int, rng: np.random.Generator, tune: int = 200,
    thin: int = 1, seen: Labels | None = None,
) -> Drawn:  # fmt: skip
    """Draw the parameters and the labels of unlabelled rows from their joint posterior by Gibbs sampling."""
    # Each step draws all parameters given all labels, and then all labels given the parameters (Diebolt and Robert
    # 1994). alone: the posterior given only the labelled rows, with all classes; data, n_rows: the unlabelled rows;
    # tune: number of steps of each chain before the first draw; thin: number of steps from one draw to the next; seen:
    # labels of ``data`` that may be wrong, with row weights, at which each chain starts.
    # Chains start at draws given only the labelled rows, which are spread more widely than the posterior given all
    # rows, as r_hat requires.
    require_whole(1, draws=draws, chains=chains, thin=thin)
    require_whole(0, tune=tune)
    alone.require_proper()
    order = Order.under(alone.model, data, Labels.of(np.zeros(n_rows)) if seen is None else seen).places
    data, seen, back = part_of(data, order), None if seen is None else seen[order], np.argsort(order)
    parts = list(_parts(alone, data, n_rows * chains))
    # From here on, a "feature" is a part: the columns of several features, updated together.
    model = NaiveBayes(dict(enumerate(part.family for part in parts)))
    data = dict(enumerate(part.x for part in parts))
    n_classes, width = len(alone.labels), chains * len(alone.labels)
    # Position k of the class axis is class k % n_classes of chain k // n_classes.
    place = np.tile(np.arange(n_classes), chains)
    before = {name: part.believed.at(place) for name, part in enumerate(parts)}
    copies = part_of(data, np.tile(np.arange(n_rows), chains))
    offset = np.arange(chains)[:, None] * n_classes
    weight = None if seen is None else np.tile(seen.weight, chains)

    def learned(classes: Array) -> tuple[dict[Any, Prior], Array]:
        s = model.statistics(copies, Labels.of((classes + offset).ravel(), width, weight), range(width))
        found = {name: family.update(before[name], s.features[name]) for name, family in model.features.items()}
        return found, s.rows.reshape(chains, n_classes)

    believed, counts = before, np.zeros((chains, n_classes))
    if seen is not None:
        drawn = np.tile(seen.codes, (chains, 1))
        believed, counts = learned(drawn)
    kept: list[tuple[Array, dict[int, dict[str, Array]]]] = []
    proba, log_likelihood = np.zeros((chains, n_rows, n_classes)), np.zeros((chains, draws))
    labels = np.zeros((chains, draws, n_rows), np.min_scalar_type(n_classes))
    for step in range(-tune, (draws - 1) * thin + 1):
        log_pi = np.broadcast_to(alone.label.plus(counts).log_draw(rng), (chains, n_classes))
        theta = {name: family.draw(believed[name], rng) for name, family in model.features.items()}
        log_joint = np.zeros((n_rows, width))
        for name, family in model.features.items():
            log_joint += family.log_likelihood(theta[name], data[name])
        log_joint = np.moveaxis(log_joint.reshape(n_rows, chains, n_classes), 1, 0) + log_pi[:, None]
        if seen is not None:
            log_joint += _log_seen(seen, drawn, MOST_WRONG * max(-step, 0) / (tune + 1), rng)
        log_proba = normalize(log_joint)
        drawn = drawn_codes(log_proba, rng)
        if step >= 0 and step % thin == 0:
            kept.append((log_pi, {name: family.variables(theta[name]) for name, family in model.features.items()}))
            proba += np.exp(log_proba) / draws
            labels[:, step // thin] = drawn
            # log p(x, c | θ) - log p(c | x, θ) is log p(x | θ) for any class c; use the drawn class.
            own = (np.take_along_axis(v, drawn[..., None], -1)[..., 0] for v in (log_joint, log_proba))
            log_likelihood[:, step // thin] = np.subtract(*own).sum(-1)
        believed, counts = learned(drawn)
    return Drawn(_parameters(alone.model, parts, kept), proba[:, back], labels[..., back], log_likelihood)


def _log_seen(seen: Labels, drawn: Array, least: float, rng: np.random.Generator) -> Array:
    """Draw the fraction ε of wrong labels; return log p(seen label | class, ε), (chain, row, class)."""
    # The lower bound of ε decreases from 1/2 to 0 in the steps before the first draw. Without it, if nearly half of the
    # labels are wrong, a chain would stay near the seen labels for a long time.
    wrong = (drawn != seen.codes) @ seen.weight
    shape = 1 + wrong, 1 + seen.weight.sum() - wrong
    below = betainc(*shape, MOST_WRONG)
    share = np.where(below > 0, betaincinv(*shape, below * (1 - rng.random(len(wrong)))), MOST_WRONG)
    share = np.maximum(share, least)
    found = np.empty((len(wrong), len(seen), seen.n))
    found[:] = np.log(share / (seen.n - 1))[:, None, None]
    found[:, np.arange(len(seen)), seen.codes] = np.log1p(-share)[:, None]
    return found


@dataclass(frozen=True, eq=False)
class _Part:
    family: Family
    names: Sequence[Any]
    widths: list[int]
    believed: Prior
    x: Any


def _parts(alone: Posterior, data: Data, n_rows: int) -> Iterator[_Part]:
    """Yield the features in groups that have the same family and settings."""
    alike = stacks.stacked(alone.model.features, alone.features)
    for names, part in stacks.each(alike, n_rows, lambda *part: part, alone.statistics.about, data):
        family, believed, x = part
        widths = [alone.features[name].batch_shape[1] for name in names] if len(names) > 1 else []
        yield _Part(family, names, widths, believed, x)


def _parameters(
    model: NaiveBayes, parts: Sequence[_Part], kept: Sequence[tuple[Array, dict[int, dict[str, Array]]]]
) -> Parameters:
    log_pi, chains = np.stack([log_pi for log_pi, _ in kept], axis=1), len(kept[0][0])
    features: dict[Any, Any] = {name: {} for name in model.features}
    for place, part in enumerate(parts):
        for key in kept[0][1][place]:
            values = np.stack([variables[place][key] for _, variables in kept])
            values = np.moveaxis(values.reshape(len(kept), chains, -1, *values.shape[2:]), 0, 1)
            each = np.split(values, np.cumsum(part.widths)[:-1], axis=3) if part.widths else [values]
            for name, own in zip(part.names, each, strict=True):
                features[name][key] = own
    return Parameters(model, log_pi, {name: family.theta(features[name]) for name, family in model.features.items()})
