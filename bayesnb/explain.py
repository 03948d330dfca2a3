"""A fitted model as numbers to read: tables of its parameters, the classifier as softmax regression, and the
ledger of a row, which says what each of its values speaks for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from bayesnb.encoding import Feature
from bayesnb.families.family import Family, Theta
from bayesnb.families.multinomial import Bag
from bayesnb.model import Data, Estimate, Parameters, Posterior, about
from bayesnb.priors import Array, Dirichlet, Prior, log, log_rising
from bayesnb.schema import Schema
from bayesnb.uncertainty import LogOdds


def parameter_tables(schema: Schema, point: Parameters, classes: Array) -> dict[Any, pd.DataFrame]:
    """The parameters of each feature at a point, in the terms of the data.

    Returns
    -------
    {name: DataFrame}
        One row a class, or a (class, column) where the feature has several columns. The class probabilities
        stand first, under "(class)".
    """
    label = pd.Index(classes, name="class")
    found = {"(class)": pd.DataFrame({"probability": np.exp(point.log_pi)}, index=label)}
    for name, feature in schema.features.items():
        found[name] = _table(feature, point.features[name], label)
    return found


def _table(feature: Feature, theta: Theta, label: pd.Index) -> pd.DataFrame:
    values = _readable(theta) if feature.family.exact or feature.levels is not None else dict(theta)
    if feature.family.reads == "bag":
        return pd.DataFrame(values["probability"], index=label, columns=list(feature.columns))
    parts = {}
    for k, column in enumerate(feature.columns):
        cells = {what: value[:, k] for what, value in values.items()}
        if feature.levels is not None:
            parts[column] = pd.DataFrame(
                cells["probability"][:, : len(feature.levels[k])], index=label, columns=list(feature.levels[k])
            )
        elif feature.family.reads == "binary":
            parts[column] = pd.DataFrame(cells["probability"], index=label, columns=[0, 1])
        else:
            parts[column] = pd.DataFrame(cells, index=label)
    if len(parts) == 1:
        return next(iter(parts.values()))
    return pd.concat(parts, names=["column", "class"]).swaplevel()


def _readable(theta: Theta) -> dict[str, Array]:
    """Parameters in the units of the data: probabilities, rates, means and standard deviations."""
    names = {"log_theta": "probability", "log_rate": "rate", "mu": "mean", "tau": "sd"}
    return {
        names.get(key, key): np.exp(value) if key.startswith("log_") else 1 / np.sqrt(value) if key == "tau" else value
        for key, value in theta.items()
    }


def linear_form(
    schema: Schema, point: Parameters, classes: Array, estimate: Estimate
) -> tuple[pd.DataFrame, pd.Series]:
    """Weights β (term, class) and intercept γ (class,) with p(c | x) ∝ exp(γ_c + β_c · φ(x)).

    Raises
    ------
    ValueError
        Where that is not what the estimate predicts, naming the feature.
    """
    intercept, weights = point.log_pi.copy(), {}
    for name, feature in schema.features.items():
        with about(f"feature {name!r} has no linear form"):
            if estimate == "predictive" and feature.family.reads not in ("levels", "binary"):
                raise ValueError('its predictive is not a plug-in; use estimate="mean", "map" or "mle"')
            beta, offset = feature.family.linear(point.features[name])
        intercept += offset
        weights |= _terms(feature, beta)
    frame = pd.DataFrame(np.array(list(weights.values())).reshape(len(weights), -1), columns=pd.Index(classes))
    frame.index = pd.MultiIndex.from_tuples(list(weights), names=["column", "level"])
    return frame, pd.Series(intercept, index=pd.Index(classes), name="intercept")


def _terms(feature: Feature, beta: Array) -> Mapping[tuple[Any, Any], Array]:
    """Weights (class,) by (column, level)."""
    if feature.levels is None:
        return {(column, ""): beta[:, k] for k, column in enumerate(feature.columns)}
    widest = beta.shape[1] // len(feature.columns)
    return {
        (column, level): beta[:, k * widest + i]
        for k, column in enumerate(feature.columns)
        for i, level in enumerate(feature.levels[k])
    }


UNITS = {"nats": 1.0, "bits": 1 / np.log(2), "decibans": 10 / np.log(10)}
"""What one nat of log-odds is in each unit (Good 1950; Jaynes 2003, 4.2)."""

PRIOR, TOTAL = "(prior)", "(total)"


@dataclass(frozen=True, eq=False)
class Entry:
    """What one column, or one word, says of some rows.

    Parameters
    ----------
    name : column name
    rows : int array (entry,)
        The rows that it speaks of.
    log_p : array (entry, class)
        ln p(x_f | c) by the chosen estimate.
    factor : (Family, Prior, encoded column)
        Of these rows: where the interval comes from.
    value : sequence (entry,)
        The cells.
    missing : bool array (entry,)
    """

    name: Any
    rows: Array
    log_p: Array
    factor: tuple[Family, Prior, Any]
    value: Sequence[Any]
    missing: Array


def ledger(
    schema: Schema,
    posterior: Posterior,
    point: Parameters | None,
    data: Data,
    pairs: Array,
    shares: tuple[float, float],
    offset: Array = 0.0,
) -> pd.DataFrame:
    """Where the log-odds of each row come from: prior, one signed entry a column, total.

    Parameters
    ----------
    schema, posterior
    point : Parameters or None
        What is plugged in; ``None`` integrates the parameters out.
    data : {name: encoded column}
    pairs : int array (row, 2)
        The two classes whose log-odds are split.
    shares : (low, high)
        The quantiles of the interval of each entry under the posterior of the parameters.
    offset : array that spreads to (row, class)
        Added to the log prior.

    Returns
    -------
    DataFrame ((row, entry), ...)
        ``label``, ``against``, ``value``, ``log_odds``, ``lower``, ``upper``, ``missing``; in nats.

    Notes
    -----
    The words of a row share one θ, so that their joint predictive is no product over words: what the length of the
    row takes from all of them is charged to each by its count.
    """
    offset = np.broadcast_to(offset, (len(pairs), len(posterior.labels)))
    log_prior = log(posterior.label.mean()) if point is None else point.log_pi
    parts = []
    for a, b in np.unique(pairs, axis=0):
        rows = np.flatnonzero((pairs == (a, b)).all(axis=1))
        some = {name: x[rows] for name, x in data.items()}
        whole = LogOdds.of(posterior, some, len(rows), a, b, offset[rows])
        prior = log_prior[a] - log_prior[b] + offset[rows, a] - offset[rows, b]
        lines = [_lines(PRIOR, prior, replace(whole, factors=()), shares)]
        for entry in _entries(schema, posterior, point, some):
            family, believed, x = entry.factor
            alone = LogOdds([(family, believed.at([a, b]), x)], None, np.zeros(len(x)))
            log_odds = entry.log_p[:, a] - entry.log_p[:, b]
            lines.append(_lines(entry.name, log_odds, alone, shares, entry.rows, entry.value, entry.missing))
        sums = pd.concat(lines).groupby("row")["log_odds"].sum().to_numpy()
        lines.append(_lines(TOTAL, sums, whole, shares))
        found = pd.concat(lines, ignore_index=True)
        found["row"] = rows[found["row"]]
        parts.append(found.assign(label=posterior.labels[a], against=posterior.labels[b]))
    found = pd.concat(parts, ignore_index=True).sort_values("row", kind="stable").set_index(["row", "entry"])
    return found[["label", "against", "value", "log_odds", "lower", "upper", "missing"]]


def _lines(
    name: Any,
    log_odds: Array,
    distribution: LogOdds,
    shares: tuple[float, float],
    rows: Array | None = None,
    value: Sequence[Any] | None = None,
    missing: Array | None = None,
) -> pd.DataFrame:
    n = len(log_odds)
    columns = {
        "row": np.arange(n) if rows is None else rows,
        "entry": pd.Series([name] * n, dtype=object),
        "value": pd.Series([None] * n if value is None else list(value), dtype=object),
        "log_odds": log_odds,
        "lower": distribution.quantile(shares[0]),
        "upper": distribution.quantile(shares[1]),
        "missing": np.zeros(n, bool) if missing is None else missing,
    }
    return pd.DataFrame(columns)


def _entries(schema: Schema, posterior: Posterior, point: Parameters | None, data: Data) -> Iterator[Entry]:
    """An entry for each column; of a bag of words, one for each word that occurs."""
    for name, feature in schema.features.items():
        family, believed, x = posterior.model.features[name], posterior.features[name], data[name]
        theta = None if point is None else point.features[name]
        if family.reads == "bag":
            yield from _words(name, family, believed, theta, x)
            continue
        cells = getattr(x, "codes", getattr(x, "counts", x))
        cells = cells.toarray() if sparse.issparse(cells) else np.asarray(cells)
        missing = cells < 0 if feature.levels is not None else np.isnan(cells.astype(float))
        shown = feature.decode(cells)
        for k, column in enumerate(feature.columns):
            alone, prior = family.gathered([(family, k)]), believed.columns([k])
            cell = x.columns([k]) if hasattr(x, "columns") else x[:, [k]]
            if theta is None:
                log_p = alone.log_predictive(prior, cell)
            else:
                log_p = alone.log_likelihood({key: v[:, [k]] for key, v in theta.items()}, cell)
            yield Entry(column, np.arange(len(x)), log_p, (alone, prior, cell), shown[column], missing[:, k])


def _words(name: Any, family: Family, believed: Dirichlet, theta: Theta | None, x: Bag) -> Iterator[Entry]:
    """One word against all others has a Dirichlet of two."""
    counts = x.counts.toarray() if sparse.issparse(x.counts) else np.asarray(x.counts, float)
    alpha, total, two = believed.alpha, believed.total, ("word", "others")
    blank = np.flatnonzero(np.isnan(counts).all(axis=1))
    if len(blank):
        nothing = Dirichlet(np.ones((len(alpha), 2))), Bag(np.zeros((len(blank), 2)), two)
        zero = np.zeros((len(blank), len(alpha)))
        yield Entry(name, blank, zero, (family, *nothing), [None] * len(blank), np.ones(len(blank), bool))
    counts = np.nan_to_num(counts)
    length = counts.sum(axis=1)
    for k in np.flatnonzero(counts.any(axis=0)):
        rows = np.flatnonzero(counts[:, k])
        n, N = counts[rows, k][:, None], length[rows][:, None]
        if theta is None:
            log_p = log_rising(alpha[:, k], n) - n / N * log_rising(total, N)
        else:
            log_p = n * theta["log_theta"][:, k]
        pair = Dirichlet(np.stack([alpha[:, k], total - alpha[:, k]], axis=-1))
        alone = Bag(np.hstack([n, np.zeros_like(n)]), two)
        yield Entry(x.words[k], rows, log_p, (family, pair, alone), n[:, 0], np.zeros(len(rows), bool))
