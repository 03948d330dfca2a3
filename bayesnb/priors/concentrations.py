"""The concentrations of the levels of one column, in whatever form a Dirichlet was given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from bayesnb.numerics import Array
from bayesnb.priors.belief import UNSEEN

type Per = Literal["level", "class", "feature", "pooled"]


def concentrations(
    alpha: float | Array | Mapping[Any, float],
    per: Per,
    column: int,
    names: tuple[Any, ...],
    n_classes: int,
    counts: Array | None,
) -> Array:
    """The concentration of each level of a column, which spreads to (class, level).

    Parameters
    ----------
    alpha, per
        As :class:`bayesnb.Dirichlet` has them.
    column : int
        The position of the column.
    names : tuple
        Its levels.
    n_classes : int
    counts : array (level,) or None
        Weight of each level in the whole column, if it is known.
    """
    if isinstance(alpha, Mapping):
        given = list(alpha)
        # The level that stands for all others weighs as much as a named one, unless it is named.
        alpha = {UNSEEN: float(np.mean(list(alpha.values()))), **alpha}
        missing = [name for name in names if name not in alpha]
        if missing:
            raise ValueError(
                f"Expected a concentration for every level; got none for {missing[0]!r}: "
                f"add it to {sorted(map(str, given))}"
            )
        return np.array([alpha[name] for name in names], float)
    alpha = np.asarray(alpha)
    if per == "pooled":
        if counts is None:
            raise ValueError("a Dirichlet around pooled frequencies is a prior of columns, not of classes or of itself")
        # A row for each level, so that no level is impossible.
        return alpha * (counts + 1) / (counts.sum() + len(counts))
    if per != "level":
        return alpha / max(1, len(names) * (n_classes if per == "feature" else 1))
    if alpha.ndim == 3:
        alpha = alpha[:, column] if alpha.shape[1] > 1 else alpha[:, 0]
    if UNSEEN in names and alpha.ndim and alpha.shape[-1] == len(names) - 1 > 1:
        alpha = np.insert(alpha, names.index(UNSEEN), alpha.mean(-1), axis=-1)
    try:
        return np.broadcast_to(alpha, (n_classes, len(names)))
    except ValueError:
        raise ValueError(
            f"Expected alpha to fit {n_classes} classes and the {len(names)} levels "
            f"{list(names[:8])}; got shape {alpha.shape}. Give {{level: concentration}} or "
            f"{{class: Dirichlet(...)}} to be independent of their order"
        ) from None
