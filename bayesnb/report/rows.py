"""The sections about rows: those that are uncertain, and what each value of a row adds to its log-odds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import entr

from bayesnb import plots
from bayesnb.evaluation import rows_at
from bayesnb.inference.explain import oddities
from bayesnb.inference.questions import QUESTIONS
from bayesnb.report.parts import Bars, Grid, Part, Section, one_line, readable, with_interval
from bayesnb.report.questions import section_of

if TYPE_CHECKING:
    from bayesnb.data.tables import Table
    from bayesnb.estimator import BayesianNB
    from bayesnb.priors import Array

UNCERTAIN = "Uncertain rows"

CANDIDATES = 500
"""Rows whose uncertainty is split by draws: those of the highest predictive entropy."""

MOST_ENTRIES = 12
"""Entries of a ledger on a page; the smallest contributions share one line."""


def uncertain(
    clf: BayesianNB, table: Table, codes: Array, explain: int, by: str, unit: str, share: float, draws: int
) -> Section:
    """How the uncertainty of rows splits, and where the most uncertain predictions come from."""
    log_proba = clf.predict_log_proba(table)
    order = np.argsort(-entr(np.exp(log_proba)).sum(1), kind="stable")
    chosen = np.sort(order[:CANDIDATES])
    split = clf.uncertainty(rows_at(table, chosen), prob=share, draws=draws)
    split.insert(0, "true", clf.classes_[codes[chosen]])
    top = np.argsort(-split[by].to_numpy(), kind="stable")[: max(explain, 1)]
    first = split.iloc[top[0]]
    sure = with_interval(first["probability"], first["lower"], first["upper"])
    finding = (
        f"The most uncertain row is {one_line(split.index[top[0]], 40)}: {one_line(first['prediction'], 60)!r} with "
        f"probability {sure}."
    )
    made = section_of(QUESTIONS["uncertainty"], split.iloc[top], len(split))
    picture, grid, legend = made.parts
    learned = "The rows were learned, so that they look a little surer than new ones."
    if table.n_rows > len(chosen):
        learned += f" Of {table.n_rows} rows, the {len(chosen)} with the highest predictive entropy are shown."
    says = (
        f"Aleatoric against epistemic entropy of {len(chosen)} rows. Largest: aleatoric {split['aleatoric'].max():.3g} "
        f"nats, epistemic {split['epistemic'].max():.3g} nats."
    )
    parts: list[Part] = [
        replace(picture, figure=lambda: plots.uncertainty_scatter(split), says=says),
        f"{legend} {learned}",
    ]
    if explain:
        parts.append(replace(grid, caption=f"The rows of the highest {by} entropy"))
        for k in top:
            row = rows_at(table, np.array([chosen[k]]))
            contributions = clf.explain(row, unit=unit, prob=share).droplevel("row")
            parts += ledger(contributions, unit, f"Row {one_line(split.index[k])}, ", folded=True)
    return replace(made, parts=parts, finding=finding, folded=False)


def ledger(contributions: pd.DataFrame, unit: str, row: str = "", folded: bool = False) -> Iterator[Part]:
    """The contributions to the log-odds of one row, from the largest to the smallest, and what is odd about them."""
    label, against = map(str, contributions.iloc[-1][["label", "against"]])
    shown = by_size(contributions)
    sizes, lower, upper = (shown[name].to_numpy(float) for name in ("log_odds", "lower", "upper"))
    caption = f"{row}{one_line(label)} against {one_line(against)}: log-odds {sizes[-1]:+.3g} {unit} in all"
    frame = readable(shown[["log_odds", "lower", "upper"]].set_axis(pd.Index(_named(shown), name="entry")))
    yield Grid(frame, caption, folded, Bars(sizes, lower, upper, label, against))
    yield from oddities(shown)


def answer(proba: Array, ends: pd.DataFrame, classes: Array, label: Any, prob: float) -> str:
    """The probability of a class for one row with its interval, in words; and the prediction, where it is another."""
    best = classes[proba.argmax()]
    shown = best if label is None else label
    lower, upper = (float(ends[shown, end].iloc[0]) for end in ("lower", "upper"))
    p = float(proba[[*classes].index(shown)])
    said = f"{one_line(shown, 60)}: probability {p:.3f} ({prob:.0%} interval: {lower:.3f} to {upper:.3f})."
    return said if shown == best else f"{said} The most probable class is {one_line(best, 60)} ({proba.max():.3f})."


def _named(frame: pd.DataFrame) -> Iterator[str]:
    """The name of each entry, with the value that it has in the row."""
    for entry, value, gone in zip(frame.index, frame["value"], frame["missing"], strict=True):
        empty = value is None or value != value
        text = "" if empty else f"{value:g}" if isinstance(value, float) else str(value)
        said = text if not gone else "missing" if empty else f"{text} (never seen)"
        yield f"{one_line(entry)} = {one_line(said)}" if said else one_line(entry)


def by_size(frame: pd.DataFrame) -> pd.DataFrame:
    """The contributions from the largest to the smallest, the small ones of many in one line, and the total."""
    size = frame["log_odds"].abs().fillna(np.inf).to_numpy()[:-1]
    order = np.argsort(-size, kind="stable")
    if len(order) <= MOST_ENTRIES:
        return frame.iloc[[*order, len(order)]]
    kept, rest = order[: MOST_ENTRIES - 1], order[MOST_ENTRIES - 1 :]
    others = frame.iloc[rest[:1]].set_axis([f"({len(rest)} others)"]).rename_axis(frame.index.name)
    others = others.assign(
        value=None, missing=False, log_odds=frame["log_odds"].iloc[rest].sum(), lower=np.nan, upper=np.nan
    )
    return pd.concat([frame.iloc[kept], others, frame.iloc[[-1]]])
