"""The section about uncertain rows, with the contributions of their values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import entropy

from bayesnb import plots
from bayesnb.data.tables import Table
from bayesnb.estimator import BayesianNB
from bayesnb.evaluation import rows_at
from bayesnb.inference.explain import oddities
from bayesnb.priors import Array
from bayesnb.report.parts import Grid, Ledger, Part, Picture, Section, one_line

UNCERTAIN = "Uncertain rows"

CANDIDATES = 500
"""Rows whose uncertainty is split by draws: those of the highest predictive entropy."""

MOST_ENTRIES = 12
"""Entries of a ledger; the smallest contributions share one line."""


def uncertain(
    clf: BayesianNB, table: Table, labels: pd.Index, codes: Array, explain: int, by: str, unit: str, share: float,
    draws: int,
) -> Section:  # fmt: skip
    """How the uncertainty of rows splits, and where the most uncertain predictions come from."""
    log_proba = clf.predict_log_proba(table)
    order = np.argsort(-entropy(np.exp(log_proba), axis=1), kind="stable")
    chosen = np.sort(order[:CANDIDATES])
    split = clf.uncertainty(rows_at(table, chosen), prob=share, draws=draws)
    split.insert(0, "true", clf.classes_[codes[chosen]])
    split.index = labels[chosen].rename("row")
    text = (
        "The entropy of a row's class (total, in nats) is the sum of what is expected to remain if the parameters were "
        "known (aleatoric) and of what knowing them would remove (epistemic). lower and upper bound the probability of "
        f"the predicted class, under the posterior of the parameters, with probability {share:.0%}; top is the "
        "probability that it is the most probable class. The rows were learned, so that they look a little surer than "
        "new ones."
    )
    parts: list[Part] = [text]
    if table.n_rows > len(chosen):
        parts.append(f"Of {table.n_rows} rows, the {len(chosen)} with the highest predictive entropy are shown.")
    says = (
        f"Aleatoric against epistemic entropy of {len(chosen)} rows. Largest: aleatoric {split['aleatoric'].max():.3g} "
        f"nats, epistemic {split['epistemic'].max():.3g} nats."
    )
    parts.append(Picture(plots.uncertainty_scatter(split), "Uncertainty of each row", says))
    top = np.argsort(-split[by].to_numpy(), kind="stable")[: max(explain, 1)]
    first = split.iloc[top[0]]
    finding = (
        f"The most uncertain row is {one_line(split.index[top[0]], 40)}: {one_line(first['prediction'], 60)!r} with "
        f"probability {first['probability']:.2f} ({share:.0%} interval: {first['lower']:.2f} to {first['upper']:.2f})."
    )
    if explain:
        parts.append(Grid(split.iloc[top], f"The rows of the highest {by} entropy"))
        parts.append(
            "Where these predictions come from: each value adds its log-odds for one of the two most probable classes, "
            f"the largest first. A line is the {share:.0%} interval of what the value adds, given the learned rows."
        )
        for k in top:
            parts += _ledger(clf, table, chosen[k], labels[chosen[k]], unit, share)
    return Section(UNCERTAIN, parts, finding=finding)


def _ledger(clf: BayesianNB, table: Table, position: int, label: Any, unit: str, share: float) -> Iterator[Part]:
    """The contributions to the log-odds of one row, the largest first, and what is odd about them."""
    frame = clf.explain(rows_at(table, np.array([position])), unit=unit, prob=share).reset_index("row", drop=True)
    pair, total = frame.iloc[-1][["label", "against"]], frame["log_odds"].iloc[-1]
    said = {"label": one_line(pair["label"]), "against": one_line(pair["against"])}
    frame["value"] = _values(frame)
    lines = by_size(frame)
    caption = f"Row {one_line(label)}, {said['label']} against {said['against']}: log-odds {total:+.3g} {unit} in all"
    yield Ledger(lines, caption=caption, **said)
    yield from oddities(lines)


def _values(frame: pd.DataFrame) -> pd.Series:
    values = zip(frame["value"], frame["missing"], strict=True)
    shown = [("missing" if v is None or v != v else f"{v} (never seen)") if gone else v for v, gone in values]
    return pd.Series(shown, frame.index, dtype=object)


def by_size(frame: pd.DataFrame) -> pd.DataFrame:
    """The contributions from the largest to the smallest, the small ones of many in one line, and the total."""
    size = frame["log_odds"].abs().fillna(np.inf).to_numpy()[:-1]
    order = np.argsort(-size, kind="stable")
    if len(order) <= MOST_ENTRIES:
        return frame.iloc[[*order, len(order)]]
    kept, rest = order[: MOST_ENTRIES - 1], order[MOST_ENTRIES - 1 :]
    others = frame.iloc[rest[:1]].set_axis([f"({len(rest)} others)"]).rename_axis(frame.index.name)
    others = others.assign(value=None, log_odds=frame["log_odds"].iloc[rest].sum(), lower=np.nan, upper=np.nan)
    return pd.concat([frame.iloc[kept], others, frame.iloc[[-1]]])
