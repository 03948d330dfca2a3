"""What remains true under every prior of a set: bounds of class probabilities, and classes that nothing dominates.

:func:`predict_credal` is a method of :class:`bayesnb.classifier.Classifier`, its ``self``. The formulas are in
``answers.credal`` and ``answers.prior_intervals``.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesnb.answers import prior_intervals
from bayesnb.answers.credal import Bounds, credal
from bayesnb.classifier.tabular import index_of
from bayesnb.families.columns import dense_cells
from bayesnb.families.support import LEVELS, ZEROS_AND_ONES
from bayesnb.model import Data, part_of
from bayesnb.numerics import Array, log
from bayesnb.priors import Dirichlet

if TYPE_CHECKING:
    from bayesnb.classifier import Classifier

CLASS = "(class)"
"""The name of the class prior among ``priors``."""

MOST_COMPLETIONS = 1024
"""Ways to complete a row whose missing cells may be anything."""


def predict_credal(
    self: Classifier, X: Any, s: float | None = 1.0, priors: Mapping[Any, Any] | None = None, missing: str = "ignored"
) -> pd.DataFrame:
    """Lower and upper class probabilities under a set of priors, and the classes that no other one dominates.

    Parameters
    ----------
    X : table
    s : float or None
        The total concentration of the priors of the imprecise Dirichlet model, usually 1 or 2. The set holds all of
        them, for the classes and for every column of levels or of zeros and ones, whatever prior was fitted. ``None``
        leaves these columns their own prior.
    priors : {feature or "(class)": (prior, prior)}, optional
        Intervals of hyperparameters: the priors between the two. The hyperparameters of each class and column range by
        themselves. A feature that is named here takes no part in the imprecise Dirichlet model.
    missing : {"ignored", "any"}
        What is believed of missing cells of nominal columns, learned ones and those of ``X``: that it does not matter
        why they are missing, or that each may hold any level (Corani and Zaffalon 2008). Only for the imprecise
        Dirichlet model.

    Returns
    -------
    DataFrame (row, (class, ...))
        ``lower`` and ``upper`` bound p(class | row) over all priors of the set. ``undominated`` is False if some other
        class is more probable under every one of them. A row with one undominated class has an answer that no prior of
        the set would change.

    Raises
    ------
    ValueError
        If a feature is sampled, rows without a label were learned, the features have exponents, or the estimate plugs
        in a point; if an interval has an infinite end or belongs to a bag of words.

    Notes
    -----
    This is the naive credal classifier: the concentrations of a column in a class sum to that of the class (Zaffalon
    2002). Columns that are neither nominal nor among ``priors`` keep their prior, and their precise predictive
    multiplies; so do known class probabilities. If a class was never seen with the level of a row, its lower
    probability is 0, and it dominates no other class.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> BayesianNB().fit(X, y).predict_credal(X[:3], s=1).round(2)
    class    no                     yes
          lower upper undominated lower upper undominated
    0       0.6  0.89        True  0.11   0.4       False
    1       0.8  0.96        True  0.04   0.2       False
    2       0.0  0.51        True  0.49   1.0        True
    """
    _require_priors(self)
    if s is not None and not (np.isfinite(s) and s > 0):
        raise ValueError(f"Expected s to be a positive number, such as 1 or 2, or None; got {s!r}")
    if missing not in ("ignored", "any"):
        raise ValueError(f"Expected missing to be 'ignored' or 'any'; got {missing!r}")
    priors = dict(priors or {})
    if unknown := [name for name in priors if name != CLASS and name not in self.posterior.model.features]:
        raise ValueError(f"Expected priors of {[CLASS, *self.posterior.model.features]}; got one of {unknown[0]!r}")
    data, n = self.read(X)
    nominal = [] if s is None else [
        name for name, family in self.posterior.model.features.items()
        if family.support in (LEVELS, ZEROS_AND_ONES) and name not in priors
    ]  # fmt: skip
    source = np.arange(n)
    if missing == "any":
        data, source = _completed(self, data, nominal, n)
    lower, upper, dominates = credal(_bounds(self, data, len(source), s, priors, nominal, missing))
    if missing == "any":
        starts = np.flatnonzero(np.diff(source, prepend=-1))
        lower, upper = np.minimum.reduceat(lower, starts), np.maximum.reduceat(upper, starts)
        dominates = np.logical_and.reduceat(dominates, starts)
    columns = {}
    for c, label in enumerate(self.classes):
        columns[label, "lower"], columns[label, "upper"] = lower[:, c], upper[:, c]
        columns[label, "undominated"] = ~dominates[:, :, c].any(axis=1)
    names = pd.MultiIndex.from_tuples(columns, names=["class", ""])
    return pd.DataFrame(columns, index=index_of(X)).set_axis(names, axis=1)


def _require_priors(self: Classifier) -> None:
    """Refuse models whose answers do not follow from a prior of the set by a formula."""
    self.require_one_class_prior("a set of priors")
    self.require_counted("a set of priors needs rows that were counted")
    self.posterior.model.require_exact(
        "a set of priors", "leave the column out, or give it a family that has one, such as Gaussian() or Binned()"
    )
    if self.dependence is not None:
        raise ValueError(
            "the exponents were learned under one prior and would change with it; ask a model with dependence=None"
        )
    if self.plug_in is not None:
        raise ValueError(
            f'bounds are of probabilities with all parameters integrated out, and estimate="{self.estimate}" plugs '
            'them in; ask classifier_.with_estimate("predictive")'
        )


def _bounds(
    self: Classifier, data: Data, n: int, s: float | None, priors: Mapping[Any, Any], nominal: list[Any], missing: str
) -> Bounds:
    """What each factor of the model adds: precise, between bounds, or by the imprecise Dirichlet model."""
    posterior, statistics = self.posterior, self.statistics
    rows, classes = statistics.rows, len(self.classes)
    low, high = np.zeros((2, n, classes))
    imprecise_class = s is not None and CLASS not in priors and isinstance(posterior.label_prior, Dirichlet)
    if CLASS in priors:
        for total, prior in zip((low, high), _class_interval(priors[CLASS], statistics.labels, rows), strict=True):
            total += log(rows + prior)
    elif not imprecise_class:
        for total in (low, high):
            total += log(posterior.label.mean())
    own, seen = [np.empty((n, classes, 0))], [np.empty((classes, 0))]
    for name, family in posterior.model.features.items():
        if name in nominal:
            counts = _level_counts(statistics.features[name])
            own.append(_own(counts, data[name]))
            seen.append(counts.sum(axis=-1))
            continue
        with statistics.about(name):
            if name in priors:
                added = prior_intervals.bounds(
                    family, priors[name], statistics.features[name], data[name], statistics.labels
                )
            else:
                added = (family.log_predictive(posterior.features[name], data[name]),) * 2
        low, high = low + added[0], high + added[1]
    own_low, seen = np.concatenate(own, axis=-1), np.concatenate(seen, axis=-1)
    own_high = own_low
    if missing == "any":
        # A learned cell that is missing may have held this level, or any other.
        own_high, seen = own_low + np.maximum(rows[:, None] - seen, 0.0), np.broadcast_to(rows[:, None], seen.shape)
    return Bounds(low, high, rows if imprecise_class else None, own_low, own_high, seen, 1.0 if s is None else float(s))


def _class_interval(given: Any, labels: tuple[Any, ...], rows: Array) -> tuple[Array, Array]:
    """The smallest and largest concentrations of the classes."""
    if not (isinstance(given, tuple | list) and len(given) == 2 and all(isinstance(p, Dirichlet) for p in given)):
        raise ValueError(f"class prior: Expected two Dirichlet, the ends of the intervals; got {given!r}")
    ends = [prior.over_classes(labels, rows).alpha for prior in given]
    return np.minimum(*ends), np.maximum(*ends)


def _level_counts(statistic: Any) -> Array:
    """The weight of each level, (class, column, level), also of zeros and ones."""
    if hasattr(statistic, "counts"):
        return statistic.counts
    return np.stack([statistic.n - statistic.ones, statistic.ones], axis=-1)


def _own(counts: Array, x: Any) -> Array:
    """The weight of the level of each cell, (row, class, column); NaN where the cell is missing."""
    cells = dense_cells(x)
    code = np.where(np.isnan(cells), 0, cells).astype(np.intp)
    own = np.stack([counts[:, column, code[:, column]].T for column in range(code.shape[1])], axis=-1)
    return np.where(np.isnan(cells)[:, None], np.nan, own)


def _completed(self: Classifier, data: Data, nominal: list[Any], n: int) -> tuple[Data, Array]:
    """Every way to complete the missing cells of nominal columns, as rows, and the row that each of them completes."""
    gaps: list[list[tuple[Any, int, int]]] = [[] for _ in range(n)]
    for name in nominal:
        statistic = self.statistics.features[name]
        for row, column in np.argwhere(np.isnan(dense_cells(data[name]))):
            levels = len(statistic.levels[column]) if hasattr(statistic, "levels") else 2
            gaps[row].append((name, int(column), levels))
    filled = []
    for row, gap in enumerate(gaps):
        size = int(np.prod([float(levels) for *_, levels in gap]))
        if size > MOST_COMPLETIONS:
            raise ValueError(
                f"row {row} has {len(gap)} missing cells, which can be completed in {size} ways, and at most "
                f'{MOST_COMPLETIONS} are tried; use missing="ignored"'
            )
        filled += [(row, gap, codes) for codes in product(*(range(levels) for *_, levels in gap))]
    source = np.array([row for row, *_ in filled], np.intp)
    made = dict(part_of(data, source))
    for name in nominal:
        x = made[name]
        cells = np.array(x.codes if hasattr(x, "codes") else dense_cells(x))
        for k, (_, gap, codes) in enumerate(filled):
            for (own, column, _), code in zip(gap, codes, strict=True):
                if own == name:
                    cells[k, column] = code
        made[name] = type(x)(cells, x.levels) if hasattr(x, "codes") else cells
    return made, source
