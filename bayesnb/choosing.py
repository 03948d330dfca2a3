"""Which family a column of numbers gets, chosen by data: :func:`choose_families`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import log_softmax

from bayesnb.data.tables import Table
from bayesnb.estimator import BayesianNB
from bayesnb.families.exponential import Exponential
from bayesnb.families.family import Family
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.hurdle import Hurdle
from bayesnb.families.log_normal import LogNormal
from bayesnb.families.negative_binomial import NegativeBinomial
from bayesnb.families.poisson import Poisson
from bayesnb.families.polya_tree import PolyaTree
from bayesnb.priors import Array

CANDIDATES = (Gaussian(), LogNormal(), Exponential(), Poisson(), NegativeBinomial(), PolyaTree(), Hurdle())
"""The families that are tried if none are named."""

PASSES = 20
"""How often all columns are gone through at most."""


@dataclass(frozen=True, eq=False)
class FamilyChoice:
    """A family for each column of numbers, and what every family that can read the column has to say for itself.

    Parameters
    ----------
    features : {column: Family}
        The chosen families, as ``BayesianNB(features=...)`` takes them.
    table : DataFrame (column and family, ...)
        ``evidence``, log p(column | classes), in nats; ``weight``, the posterior probability of the family among those
        of its column, which have equal prior probabilities; ``log_score``, Σ_i log p(y_i | x_i, all rows but i) of the
        whole model, if this column has this family and all others have the chosen ones; ``chosen``.

    Examples
    --------
    >>> from bayesnb import datasets
    >>> choice = choose_families(*datasets.heights(), families=[Gaussian(), LogNormal()], by="evidence")
    >>> {column: type(family).__name__ for column, family in choice.features.items()}
    {'height_cm': 'Gaussian', 'weight_kg': 'Gaussian'}
    """

    features: Mapping[Any, Family]
    table: pd.DataFrame

    def __repr__(self) -> str:
        return f"FamilyChoice of {len(self.features)} columns\n{self.table.round(2)}"


def choose_families(
    X: Any, y: Any, families: Sequence[Family] | None = None, by: Literal["class", "evidence"] = "class"
) -> FamilyChoice:
    """Choose a family for each column of numbers.

    The two criteria answer different questions. ``"class"`` asks which families predict the *class* best, and is the
    one for classification: it is the exact leave-one-out log score of the whole classifier. ``"evidence"`` asks which
    family predicted the values of the *column* best, given the class, and is the one for describing a column or for
    drawing rows. Often they disagree.

    Parameters
    ----------
    X : table with named columns
        Columns that are no numbers, or are only 0 and 1, keep the family of their type.
    y : array (row,)
    families : sequence of Family, optional
        The candidates, each with another name (``family.title``). By default Gaussian, LogNormal, Exponential, Poisson,
        NegativeBinomial, PolyaTree and Hurdle; each is tried on the columns that it can read, and a Hurdle on those
        that hold zeros and other numbers.
    by : {"class", "evidence"}

    Returns
    -------
    FamilyChoice

    Raises
    ------
    ValueError
        If the columns have no names, no column holds numbers, or two candidates have one name.

    Notes
    -----
    Each candidate is fitted once. The leave-one-out terms of a column do not depend on the other columns, so the score
    of any combination of families is a sum of known terms; the columns are gone through until no change of one family
    improves the score. The choice itself is not left out of the score. With more columns than rows it can be too good;
    then score ``BayesianNB(choice.features)`` on rows that took no part in the choice.

    A density and a probability can only be compared where the column holds whole numbers, because a density per unit is
    then nearly the probability of a whole number. A PolyaTree that takes its cells from the column has no evidence that
    could be compared, because the cells have seen the rows already; with given ``edges`` it has one. Nor has a Hurdle
    of amounts, because it gives 0 a probability where the others have a density.

    Examples
    --------
    >>> from bayesnb import datasets
    >>> choice = choose_families(*datasets.heights(), families=[Gaussian(), LogNormal()])
    >>> choice.table.round(2)
                         evidence  weight  log_score  chosen
    column    family
    height_cm Gaussian    -140.46    0.51     -18.42    True
              LogNormal   -140.50    0.49     -18.47   False
    weight_kg Gaussian    -149.20    0.61     -18.45   False
              LogNormal   -149.66    0.39     -18.42    True
    """
    if by not in ("class", "evidence"):
        raise ValueError(f"Expected by to be 'class' or 'evidence'; got {by!r}")
    families = CANDIDATES if families is None else tuple(families)
    names = [family.title for family in families]
    if len(set(names)) < len(names) or not names:
        raise ValueError(f"Expected candidates of different names; got {names}")
    table = Table.of(X)
    if not table.named:
        raise ValueError("Expected a table whose columns have names; give a DataFrame or {name: values}")
    found = _Terms.of(BayesianNB().fit(X, y), X, y)
    columns = [name for name, family in found.families.items() if type(family) is Gaussian]
    if not columns:
        raise ValueError("no column holds numbers, so there is no family to choose")
    tried: dict[Any, dict[str, tuple[Array, float, Family]]] = {column: {} for column in columns}
    for name, family in zip(names, families, strict=True):
        readable = [c for c in columns if _suits(family, table.column(c).reals())]
        own = _Terms.of(BayesianNB(dict.fromkeys(readable, family)).fit(X, y), X, y) if readable else found
        for column in readable:
            evidence = np.nan if family.needs_rows or family.atoms() else own.evidence[column]
            tried[column][name] = own.terms[column], evidence, family
    if none := [column for column in columns if not tried[column]]:
        raise ValueError(f"none of {names} can read column {none[0]!r}; add Gaussian() or PolyaTree()")
    chosen = {column: max(of, key=lambda name: np.nan_to_num(of[name][1], nan=-np.inf)) for column, of in tried.items()}
    if by == "evidence" and (none := [c for c in columns if np.isnan(tried[c][chosen[c]][1])]):
        raise ValueError(f"no candidate has an evidence for {none[0]!r}; give PolyaTree its edges, or use by='class'")
    total = found.prior + sum(found.terms[c] for c in found.terms if c not in tried)
    total = total + sum(tried[column][chosen[column]][0] for column in columns)
    if by == "class":
        chosen, total = _improved(chosen, total, tried, found.codes)
    return FamilyChoice(
        {column: tried[column][name][2] for column, name in chosen.items()}, _shown(chosen, total, tried, found.codes)
    )


@dataclass(frozen=True, eq=False)
class _Terms:
    """The leave-one-out terms of a fitted model, (row, class) each, and the evidence of each column."""

    prior: Array
    terms: Mapping[Any, Array]
    evidence: Mapping[Any, float]
    families: Mapping[Any, Family]
    codes: Array

    @classmethod
    def of(cls, clf: BayesianNB, X: Any, y: Any) -> _Terms:
        frame = clf.loo(X, y, by="feature")
        classes = list(clf.classes_)
        families = {name: feature.family for name, feature in clf.schema_.features.items()}
        terms = {name: frame.loc[:, [(c, name) for c in classes]].to_numpy() for name in families}
        prior = frame.loc[:, [(c, "(prior)") for c in classes]].to_numpy()
        return cls(prior, terms, clf.log_evidence_.features, families, np.searchsorted(clf.classes_, np.asarray(y)))


def _suits(family: Family, x: Array) -> bool:
    """Whether a family can read a column; a Hurdle also needs zeros there, and other numbers."""
    zeros = (x == 0).sum()
    both = 0 < zeros < (~np.isnan(x)).sum()
    return not family.support.invalid(x).any() and (both or not isinstance(family, Hurdle))


def _score(total: Array, codes: Array) -> float:
    return float(log_softmax(total, axis=1)[np.arange(len(codes)), codes].sum())


def _improved(
    chosen: Mapping[Any, str], total: Array, tried: Mapping[Any, Mapping[str, Any]], codes: Array
) -> tuple[dict[Any, str], Array]:
    """Change one family after another while that improves the score."""
    best = dict(chosen)
    for _ in range(PASSES):
        before = dict(best)
        for column, of in tried.items():
            others = total - of[best[column]][0]
            best[column] = max(of, key=lambda name: _score(others + of[name][0], codes))
            total = others + of[best[column]][0]
        if best == before:
            break
    return best, total


def _shown(
    chosen: Mapping[Any, str], total: Array, tried: Mapping[Any, Mapping[str, Any]], codes: Array
) -> pd.DataFrame:
    rows = []
    for column, of in tried.items():
        evidence = np.array([one[1] for one in of.values()])
        known = ~np.isnan(evidence)
        weight = np.where(known, np.exp(evidence - np.logaddexp.reduce(evidence[known], initial=-np.inf)), np.nan)
        others = total - of[chosen[column]][0]
        for k, (name, (term, _, _)) in enumerate(of.items()):
            score = _score(others + term, codes)
            rows.append((column, name, evidence[k], weight[k], score, name == chosen[column]))
    titles = ["column", "family", "evidence", "weight", "log_score", "chosen"]
    return pd.DataFrame(rows, columns=titles).set_index(["column", "family"])
