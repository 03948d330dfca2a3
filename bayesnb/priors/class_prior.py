"""The prior of the class probabilities, as a user writes it and as the model holds it.

Start with :func:`read`, the one reader: of what :class:`bayesnb.BayesianNB` is given, of what ``with_class_prior`` is
given, and of what is written on the command line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.priors import Array, Dirichlet, FixedProbabilities
from bayesnb.priors.fixed import repeated, require_each

SUM = 1e-9
"""The largest distance from 1 that the sum of class probabilities may have."""

FORMS = "a Dirichlet, {label: probability}, a Series by label, an array in the order of the classes, 'frequencies' or "
FORMS += "'uniform'"


def read(given: Any) -> Dirichlet | FixedProbabilities:
    """A class prior in any form that a user may write.

    Parameters
    ----------
    given : Dirichlet, FixedProbabilities, {label: probability}, Series, array (class,), "frequencies" or "uniform"
        Probabilities are taken as known: a mapping and a Series by label, an array in the order of the classes.
        "frequencies" are those of the labels.

    Raises
    ------
    ValueError
        For another form, a label that is there more than once, a probability that is negative or not a number, or a
        sum further than 1e-9 from 1.
    """
    if isinstance(given, Dirichlet | FixedProbabilities):
        return given
    if isinstance(given, str):
        if given not in ("frequencies", "uniform"):
            raise ValueError(f"class prior: Expected {FORMS}; got {given!r}")
        return FixedProbabilities(None if given == "frequencies" else "uniform")
    by_label = isinstance(given, Mapping | pd.Series)
    labels = list(given.keys()) if by_label else []
    if twice := repeated(labels):
        raise ValueError(f"class prior: Expected one probability for each class; got {twice[0]!r} more than once")
    try:
        p = np.array(list(dict(given.items()).values()) if by_label else given, float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"class prior: Expected {FORMS}; got {given!r} ({error})") from error
    if p.ndim != 1:
        raise ValueError(f"class prior: Expected {FORMS}; got an array of shape {p.shape}")
    _require_probabilities(p, labels)
    return FixedProbabilities(dict(zip(labels, p.tolist(), strict=True)) if by_label else p)


def of_each_row(given: Any, labels: Sequence[Any]) -> Array | None:
    """Class probabilities of each row as (row, class), or ``None`` where there is one prior for all rows.

    Parameters
    ----------
    given : DataFrame or array (row, class), or what :func:`read` takes
        A DataFrame has a column for each class, in any order; an array is in the order of the classes.
    labels : sequence
        The classes.

    Raises
    ------
    ValueError
        For a class that is missing, unknown or repeated, a probability that is negative or not a number, or a sum
        further than 1e-9 from 1.
    """
    if isinstance(given, pd.DataFrame):
        require_each(given.columns.tolist(), labels, "class prior", "one column for each class")
        given = given[list(labels)].to_numpy()
    elif isinstance(given, Dirichlet | FixedProbabilities | Mapping | pd.Series | str):
        return None
    try:
        p = np.array(given, float)
    except (TypeError, ValueError):
        return None
    if p.ndim != 2:
        return None
    if p.shape[1] != len(labels):
        raise ValueError(
            f"class prior: Expected one probability a row for each class, in the order of {list(labels)}; got shape "
            f"{p.shape}"
        )
    _require_probabilities(p, labels)
    return p


def _require_probabilities(p: Array, labels: Sequence[Any]) -> None:
    """Refuse what are not probabilities of the classes, on the last axis; ``labels`` are empty if not known yet."""
    if (odd := ~(p >= 0)).any():
        *row, c = np.argwhere(odd)[0]
        whose = f"for class {labels[c]!r}" if len(labels) else f"in place {c}"
        raise ValueError(f"class prior: Expected probabilities of 0 or more; got {p[*row, c]} {whose}{_in(row)}")
    if (odd := ~(np.abs(p.sum(axis=-1) - 1) <= SUM)).any():
        row = list(np.argwhere(odd)[0])
        raise ValueError(
            f"class prior: Expected probabilities that sum to 1; got a sum of {p[tuple(row)].sum()}{_in(row)}"
        )


def _in(row: Sequence[int]) -> str:
    return f" in row {row[0]}" if len(row) else ""
