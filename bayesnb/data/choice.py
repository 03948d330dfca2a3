"""Choose the distribution (family) of each numeric column by comparing candidates on the rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import log_softmax

from bayesnb.data.encoders import Origin
from bayesnb.data.inferring import inferred
from bayesnb.data.schema import Schema
from bayesnb.data.specifications import BestFamily, Entry, EstimatorParameters, entries
from bayesnb.data.tables import Table
from bayesnb.data.targets import Target, with_named
from bayesnb.families.compound import Hurdle
from bayesnb.families.family import Family
from bayesnb.families.gaussian import Gaussian, LogNormal
from bayesnb.families.rates import Exponential, Poisson
from bayesnb.families.trees import PolyaTree
from bayesnb.families.trials import NegativeBinomial
from bayesnb.model import about
from bayesnb.model.order import Order
from bayesnb.priors import Array
from bayesnb.statistics.statistic import Labels
from bayesnb.wording import Cure, RefusedError

CANDIDATES = (Gaussian(), LogNormal(), Exponential(), Poisson(), NegativeBinomial(), PolyaTree(), Hurdle())
"""The families tried by default."""

PASSES = 20
"""Largest number of passes that change the families of columns."""


type Tried = tuple[tuple[str, float, float], ...]
"""The name, the log evidence and the log score of each candidate family that can read a column."""

type Reasons = Mapping[Any, Mapping[str, Any]]
"""For each column whose family was chosen: the reason of the choice, and the candidate families."""


def _reason(name: str, by: str, tried: Tried) -> Origin:
    place = 1 if by == "evidence" else 2
    scores = {one[0]: one[place] for one in tried if not np.isnan(one[place])}
    own = scores.pop(name)
    second = max(scores, key=scores.__getitem__, default="")
    return Origin("rows", best_by=by, ahead=own - scores[second] if second else 0.0, second=second)


@dataclass(frozen=True, eq=False)
class FamilyChoice:
    """The family chosen for each column of numbers, and the scores of all candidate families that can read the column.

    Parameters
    ----------
    features : {column: Family}
        The chosen families, for ``BayesianNB(features=...)``.
    table : DataFrame (column and family, ...)
        ``evidence`` is log p(column | classes) in nats, and ``weight`` the posterior probability of the family under
        equal prior probabilities. ``log_score`` is the leave-one-out log score of the classifier in nats, summed over
        rows, with this family and the chosen families of other columns. ``chosen`` is True for the chosen family.

    Examples
    --------
    >>> import bayesnb as nb
    >>> by_evidence = nb.BestFamily([nb.Gaussian(), nb.families.LogNormal()], by="evidence")
    >>> choice = nb.BayesianNB(by_evidence).fit(*nb.datasets.heights()).classifier_.choice
    >>> {column: type(family).__name__ for column, family in choice.features.items()}
    {'height_cm': 'Gaussian', 'weight_kg': 'Gaussian'}
    """

    features: Mapping[Any, Family]
    table: pd.DataFrame

    @classmethod
    def of(cls, each: Mapping[Any, tuple[Family, Sequence[tuple[str, float, float]]]]) -> FamilyChoice:
        rows = []
        for column, (family, tried) in each.items():
            evidence = np.array([one[1] for one in tried])
            known = ~np.isnan(evidence)
            weight = np.where(known, np.exp(evidence - np.logaddexp.reduce(evidence[known], initial=-np.inf)), np.nan)
            for (name, own, score), probability in zip(tried, weight, strict=True):
                rows.append((column, name, own, probability, score, name == family.title))
        titles = ["column", "family", "evidence", "weight", "log_score", "chosen"]
        table = pd.DataFrame(rows, columns=titles).set_index(["column", "family"])
        return cls({column: family for column, (family, _) in each.items()}, table)

    def __repr__(self) -> str:
        return f"FamilyChoice of {len(self.features)} columns\n{self.table.round(2)}"


def chosen(
    table: Table, target: Target, weight: Array, features: Any, settings: EstimatorParameters
) -> tuple[Any, Reasons]:
    """Choose the family of each column that is specified as "best"; return all specifications, and the reasons by
    column.
    """
    asked = {entry.key: entry for entry in entries(features) if isinstance(entry.spec, BestFamily)}
    if not asked:
        return features, {}
    columns, label = _columns(table, asked.values(), weight), settings.label_prior
    others = {k: v for k, v in features.items() if k not in asked} if isinstance(features, Mapping) else {}
    if not columns:
        return others or None, {}
    if not target.labelled.any():
        raise ValueError("families are chosen by rows with a label, and no row has one: name the families instead")
    table, target, weight = table.rows(target.labelled), target.rows(target.labelled), weight[target.labelled]
    specs, most = others | dict.fromkeys(columns, Gaussian()), max(one.rows for one in columns.values())
    schema, labels = Schema.infer(table, specs, "missing", weight), Labels(target.codes, weight, len(target.classes))
    if labels.size > most:
        schema, data = schema.read(table, learn=True)
        some, own = Order.under(schema.model(label), data, labels).drawn(labels, most, 0)
        table, target, weight = table.rows(np.asarray(some)), target.rows(some), own.weight
        schema = Schema.infer(table, specs, "missing", weight)
    # As in a fit, a class exists if rows have it or if it is named.
    classes = with_named(target.classes, [*target.declared, *schema.model(label).named_classes(list(target.classes))])
    labels = Labels(target.among(classes), weight, len(classes))
    tried = {column: _tried(table, column, spec, labels, classes.tolist()) for column, spec in columns.items()}
    others_read = replace(schema, features={n: f for n, f in schema.features.items() if n not in columns})
    others_read, data = others_read.read(table, learn=True) if others_read.features else (others_read, {})
    model = others_read.model(label)
    total = model.posterior(model.statistics(data, labels, classes.tolist())).log_left_out(data, labels.once())
    best = {column: _by_evidence(column, of, columns[column]) for column, of in tried.items()}
    total = total + sum(tried[column][name].terms for column, name in best.items())
    for_class = {column: of for column, of in tried.items() if columns[column].by == "class"}
    best, total = _improved(best, total, for_class, labels)
    reasons = {}
    for column, of in tried.items():
        others_total = total - of[best[column]].terms
        rows = {name: log_scores(others_total + one.terms, labels) for name, one in of.items()}
        scores = tuple((name, one.evidence, float(rows[name] @ labels.weight)) for name, one in of.items())
        origin = _reason(best[column], columns[column].by, scores)
        if origin.second and origin.best_by == "class":
            origin = replace(origin, error=standard_error(rows[best[column]] - rows[origin.second], labels.weight))
        reasons[column] = {"origin": origin, "tried": scores}
    return others | {column: of[best[column]].family for column, of in tried.items()}, reasons


@dataclass(frozen=True, eq=False)
class _Candidate:
    family: Family
    terms: Array
    evidence: float


def _columns(table: Table, asked: Iterable[Entry], weight: Array) -> dict[Any, BestFamily]:
    found = {}
    for entry in asked:
        if entry.columns is None:
            by_type = inferred(table, None, "missing", weight, {})
            numbers = [f for f in by_type.values() if type(f.family) is Gaussian and f.origin.kind == "number"]
            columns = [column for feature in numbers for column in feature.columns]
        else:
            columns = tuple(map(table.resolved, entry.columns))
        found |= dict.fromkeys(columns, entry.spec)
    return found


def _tried(table: Table, column: Any, spec: BestFamily, labels: Labels, named: Sequence[Any]) -> dict[str, _Candidate]:
    x, found, families = table.column(column).ordinary(), {}, spec.families or CANDIDATES
    for family in families:
        if not _suits(family, x):
            continue
        own = family.placed([x], labels.weight) if family.needs_rows else family
        with about(f"column {column!r}: {family.title}", named):
            s = own.statistic(x[:, None], labels)
            prior = own.priors(s, named)
            believed = own.update(prior, s)
            terms = own.left_out_of_all(believed, s, x[:, None], labels.once())
            # Cells placed by the column depend on the rows, and a probability at 0 is not comparable with a density.
            compared = not (family.needs_rows or family.atoms)
            evidence = float(own.log_evidence(prior, s).sum()) if compared else np.nan
        found[family.title] = _Candidate(family, terms, evidence)
    if not found:
        names = [family.title for family in families]
        cure = (Cure("family", "Gaussian"), Cure("family", "PolyaTree"))
        raise RefusedError(
            "none of {names} can read column {column!r}; add {cure}", names=names, column=column, cure=cure
        )
    return found


def _suits(family: Family, x: Array) -> bool:
    zeros = (x == 0).sum()
    both = 0 < zeros < (~np.isnan(x)).sum()
    return not family.accepts.invalid(x).any() and (both or not isinstance(family, Hurdle))


def _by_evidence(column: Any, of: Mapping[str, _Candidate], spec: BestFamily) -> str:
    best = max(of, key=lambda name: np.nan_to_num(of[name].evidence, nan=-np.inf))
    if spec.by == "evidence" and np.isnan(of[best].evidence):
        raise ValueError(f"no candidate has an evidence for {column!r}; give PolyaTree its edges, or use by='class'")
    return best


def log_scores(total: Array, labels: Labels) -> Array:
    """log p(true class | row), (row,), from log p(row, class), (row, class)."""
    return log_softmax(total, axis=1)[np.arange(len(labels)), labels.codes]


def left_out_score(total: Array, labels: Labels) -> float:
    """The weighted sum of :func:`log_scores` over the rows."""
    return float(log_scores(total, labels) @ labels.weight)


def standard_error(gains: Array, weight: Array) -> float:
    """The standard error of the weighted sum of ``gains``, which holds one gain per row."""
    away = gains - np.average(gains, weights=weight) if weight.any() else gains
    return float(np.sqrt((weight * away**2).sum()))  # A product by BLAS is slow if its threads share the processor.


def _improved(
    best: Mapping[Any, str], total: Array, tried: Mapping[Any, Mapping[str, _Candidate]], labels: Labels
) -> tuple[dict[Any, str], Array]:
    best = dict(best)
    for _ in range(PASSES):
        before = dict(best)
        for column, of in tried.items():
            others = total - of[best[column]].terms
            # To keep a Gaussian unless another family is clearly better makes held-out predictions worse: differences
            # within their error add up over columns.
            scores = {name: left_out_score(others + one.terms, labels) for name, one in of.items()}
            if max(scores.values()) > scores[best[column]]:
                best[column] = max(scores, key=scores.__getitem__)
            total = others + of[best[column]].terms
        if best == before:
            break
    return best, total
