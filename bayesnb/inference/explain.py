"""Split the log-odds of a prediction into the prior and one contribution per column."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, Literal

import numpy as np
import pandas as pd

from bayesnb.data.new_rows import unseen_levels
from bayesnb.data.targets import codes_of
from bayesnb.inference import contributions
from bayesnb.inference.classifier import Classifier, FarRowError, index_of
from bayesnb.inference.draws import probability_of_interval
from bayesnb.inference.questions import question
from bayesnb.kernels.blocks import slices
from bayesnb.model import DrawnPosterior, normalize, part_of
from bayesnb.priors import Array

type Unit = Literal["nats", "bits", "decibans"]

UNITS: Mapping[Unit, float] = {"nats": 1.0, "bits": 1 / np.log(2), "decibans": 10 / np.log(10)}
"""The size of one nat of log-odds in each unit (Good 1950; Jaynes 2003, 4.2)."""

BLOCK = 32
"""Rows per batch if terms have exponents: every cell then has 1,000 draws."""


@question("what each value of a row adds to the log-odds", "why")
def explain(
    classifier: Classifier,
    X: Any,
    label: Any = None,
    against: Any = None,
    unit: Unit = "nats",
    prob: float | None = None,
) -> pd.DataFrame:
    """What each value of a row adds to the log-odds of two classes.

    Parameters
    ----------
    X : table
        The rows to explain.
    label : optional
        The class to explain; by default the most probable class.
    against : optional
        The class to compare ``label`` with; by default the most probable of the other classes.
    unit : {"nats", "bits", "decibans"}
        The unit of the log-odds. Ten decibans multiply the odds by ten.
    prob : float, optional
        Probability of the intervals, by default ArviZ's ``stats.ci_prob`` (0.89).

    Returns
    -------
    DataFrame ((row, entry), ...)
        The columns are ``label``, ``against``, ``value``, ``log_odds``, ``lower``, ``upper`` and ``missing``. The first
        entry is "(prior)". Each column, or each word of a bag of words, has an entry. The last entry, "(total)", is the
        log-odds under the chosen estimate.

        ``lower`` and ``upper`` are an equal-tailed posterior interval, NaN for entries without an interval. For an
        unseen level, ``missing`` is true, but ``value`` shows the level.

        ``log_odds`` uses probabilities averaged over the parameters, but the interval describes the log-odds under
        single values of the parameters. Therefore, ``log_odds`` may lie outside the interval, for example if few rows
        were learned.

    Notes
    -----
    If the model has exponents, the entry of a column is its log-likelihood ratio times its exponent, plus learned
    corrections. Effects that belong to no single column, such as the effect of similar learned rows, are divided among
    the columns (``docs/theory/exponents.md``). There are separate entries for the histogram of a column, for a pair or
    group of columns, and for decision trees. "(offset)" is the learned correction of the class frequencies.
    "(averaging)" is the effect of averaging over exponents or dependent parameters instead of plugging in estimates.

    With ``dependence="forests"``, columns contribute as in naive Bayes. In addition, each edge between two columns
    contributes its log density ratio times its average probability (``docs/theory/forests.md``). An edge has an entry
    if its probability given the data, shown under ``value``, is at least 0.1. "(other edges)" is the sum of all other
    edges, and of edges with a missing cell.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.explain(X[:1])[["value", "log_odds"]].round(2).droplevel("row")
                 value  log_odds
    entry
    (prior)       None     -0.51
    outlook      sunny      0.69
    temperature    hot      0.41
    humidity      high      0.68
    wind          weak     -0.40
    (total)       None      0.87
    """
    table = classifier.schema.table_of(X)
    classifier.posterior.warn_of_chains()
    data, n = classifier.encoded_table(table), table.n_rows
    if not n:
        raise ValueError("there are no rows to explain")
    tail = (1 - probability_of_interval(prob)) / 2
    log_joint, labels = classifier.believed.log_joint(data, n), classifier.posterior.labels
    terms = contributions.naive_terms if classifier.believed.naive else contributions.weighed_terms
    terms = contributions.forest_terms if classifier.believed.of_forests else terms
    terms = contributions.drawn_terms if isinstance(classifier.posterior, DrawnPosterior) else terms
    pairs = _contrast(classifier, log_joint, label, against)
    offset, parts = np.broadcast_to(classifier.believed.offset, log_joint.shape), []
    for a, b in np.unique(pairs, axis=0):
        every = np.flatnonzero((pairs == (a, b)).all(axis=1))
        for cut in slices(len(every), len(every) if terms is contributions.naive_terms else BLOCK):
            rows = every[cut]
            asked = classifier, part_of(data, rows), log_joint[rows], offset[rows], int(a), int(b)
            for entry, log_odds, spread in terms(*asked):
                alone, n = isinstance(entry, str), len(log_odds)
                ends = spread.quantile(np.array([tail, 1 - tail]))
                parts.append(
                    {
                        "row": rows if alone else rows[entry.rows],
                        "entry": [entry] * n if alone else [*entry.name],
                        "label": [labels[a]] * n,
                        "against": [labels[b]] * n,
                        "value": [None] * n if alone else [*entry.value],
                        "log_odds": log_odds,
                        "lower": ends[:, 0],
                        "upper": ends[:, 1],
                        "missing": np.broadcast_to(not alone and entry.missing, n),
                    }
                )
    joined = {}
    for name, first in parts[0].items():
        each = [part[name] for part in parts]
        of_objects = object if name in ("entry", "value") else None
        arrays = isinstance(first, np.ndarray)
        joined[name] = np.concatenate(each) if arrays else pd.Series([*chain.from_iterable(each)], dtype=of_objects)
    found = pd.DataFrame(joined).sort_values("row", kind="stable").set_index(["row", "entry"])
    unknown = np.isfinite(found["log_odds"]) & found[["lower", "upper"]].isna().any(axis=1)
    if unknown.any():
        raise FarRowError(np.unique(found.index.get_level_values("row")[unknown]))
    # Averaging is no parameter, and few draws of an average may belong to the member of an entry.
    averages = classifier.dependence is not None and classifier.dependence.spec.average
    entry = found.index.get_level_values("entry")
    alone = averages & (found["lower"] == found["upper"]) & ~found["missing"] & (entry != contributions.PRIOR)
    found.loc[((entry == contributions.AVERAGING) | alone) & np.isfinite(found["lower"]), ["lower", "upper"]] = np.nan
    for name in unseen_levels(classifier.schema, table):
        # An unseen level contributes nothing, like a missing value, but it is shown.
        here = found.index.get_level_values("entry") == name
        kept, (codes, distinct) = found.loc[here, "value"].tolist(), table.column(name).coded
        cells = [None if code < 0 else distinct[code] for code in codes]  # As the user wrote them.
        found["value"] = found["value"].astype(object)
        found.loc[here, "value"] = [cell if old is None else old for old, cell in zip(kept, cells, strict=True)]
    found[["log_odds", "lower", "upper"]] *= UNITS[unit]
    found.attrs["unit"] = unit
    if (index := index_of(X)) is not None:
        # Replace row positions by the index of the table.
        rows = index.take(found.index.get_level_values("row"))
        names = [*(index.names if rows.nlevels > 1 else ["row"]), "entry"]
        outer = [rows.get_level_values(k) for k in range(rows.nlevels)]
        found.index = pd.MultiIndex.from_arrays([*outer, found.index.get_level_values("entry")], names=names)
    return found


def _contrast(classifier: Classifier, log_joint: Array, label: Any, against: Any) -> Array:
    classifier.require_two_classes()
    normalize(log_joint)
    given = [None if c is None else int(codes_of(classifier.classes, np.asarray([c]))[0]) for c in (label, against)]
    if None not in given and given[0] == given[1]:
        raise ValueError(f"Expected two different classes; got {label!r} twice")
    pairs, rest, row = np.empty((len(log_joint), 2), np.intp), log_joint.copy(), np.arange(len(log_joint))
    for place, code in enumerate(given):
        if code is not None:
            pairs[:, place], rest[:, code] = code, np.nan
    for place, code in enumerate(given):
        if code is None:
            pairs[:, place] = np.nanargmax(rest, axis=1)
            rest[row, pairs[:, place]] = np.nan
    return pairs
