"""The alarm of ``checks.watch`` beside river's ADWIN and KSWIN, on the same streams: false alarms, and shifts found.

    python -m benchmarks.alarms [WORD]

One column, level 0.05, streams of 400 rows. Printed are the share of streams with an alarm, and its standard error; for
changes, the share whose first alarm comes after the change, and the median delay of these alarms in rows. An alarm
before the change does not count.

river's detectors have a probability of an error per look, not for the whole stream. So each has two settings: its
default, and 0.05 (ADWIN), or 0.05 divided by the number of rows (KSWIN). ADWIN sees all learned rows first; KSWIN
compares the last 30 rows with the 70 before, and begins with the last 100 learned rows. Levels are given to both as 0
and 1, or as 0, 1, 2. Without river, only the alarm of this package is measured: ``uv run --group dev --with river``.
WORD chooses lines by name. It takes about five minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from scipy.stats import ks_2samp as exact

from bayesnb.inference.watch import Bets, Levels, Line, Normals, Ranks, Rates, Reader

type Array = np.ndarray
type Draw = Callable[[np.random.Generator, int], Array]

LEVEL, ROWS, STREAMS, OF_RIVALS = 0.05, 400, 1000, 200
"""Rivals see only the first of the streams."""

LEARNED, LEARNED_BEFORE_CHANGES, CHANGES = (10, 200), 500, 100


def normal(mean: float, sd: float) -> Draw:
    """Return a source of Normal numbers."""
    return lambda rng, n: rng.normal(mean, sd, n)


def levels(*shares: float) -> Draw:
    """Return a source of levels, as numbers from 0."""
    return lambda rng, n: rng.choice(len(shares), n, p=shares).astype(float)


def poisson(rate: float) -> Draw:
    """Return a source of counts."""
    return lambda rng, n: rng.poisson(rate, n).astype(float)


def heavy(rng: np.random.Generator, n: int) -> Array:
    """Draw from a Student t with 2 degrees of freedom."""
    return rng.standard_t(2, n)


def of_normal(x: Array) -> Reader:
    """Read learned rows as Normal."""
    return Normals(float(len(x)), float(x.mean()), float(len(x) * x.var()))


def of_levels(count: int) -> Callable[[Array], Reader]:
    """Read learned rows as levels."""
    return lambda x: Levels(np.bincount(x.astype(int), minlength=count) * 1.0)


def of_counts(x: Array) -> Reader:
    """Read learned rows as Poisson counts."""
    return Rates(float(len(x)), float(x.sum()))


def of_ranks(x: Array) -> Reader:
    """Keep the learned rows for their ranks."""
    return Ranks(tuple(np.sort(x).tolist()))


@dataclass(frozen=True)
class Stream:
    """Where rows come from, before and after the change, and how the alarm reads the learned rows."""

    name: str
    before: Draw
    reader: Callable[[Array], Reader]
    after: Draw | None = None


FIXED = (
    Stream("Normal(0, 1)", normal(0, 1), of_normal),
    Stream("Normal(1000, 7)", normal(1000, 7), of_normal),
    Stream("levels (0.5, 0.5)", levels(0.5, 0.5), of_levels(2)),
    Stream("levels (0.05, 0.95)", levels(0.05, 0.95), of_levels(2)),
    Stream("levels (0.2, 0.3, 0.5)", levels(0.2, 0.3, 0.5), of_levels(3)),
    Stream("Poisson(0.3)", poisson(0.3), of_counts),
    Stream("Poisson(8)", poisson(8), of_counts),
    Stream("Student t, 2 degrees, by ranks", heavy, of_ranks),
)
SHIFTS = (
    *(Stream(f"Normal, shift of {d} sd", normal(0, 1), of_normal, normal(d, 1)) for d in (0.2, 0.5, 1.0)),
    *(Stream(f"level from 0.3 to {p}", levels(0.7, 0.3), of_levels(2), levels(1 - p, p)) for p in (0.4, 0.5)),
)


def ours(stream: Stream, learned: Array, x: Array, rng: np.random.Generator) -> dict[str, int]:
    """Return the row of the alarm, 0 without one."""
    reader = stream.reader(learned)
    line = Line("x", None, None, 0, reader, (Bets.new(),) * reader.streams)
    return {"watch": line.after(x, rng.random(len(x)), np.arange(1, len(x) + 1), -np.log(LEVEL)).alarm}


P_VALUES: dict[tuple[int, int, int], float] = {}


def two_samples(a: list[float], b: list[float], method: str) -> tuple[float, float]:
    """Return scipy's statistic and p-value; the p-value depends on the statistic only, so it is computed once."""
    both = np.sort(np.concatenate([a, b]))
    apart = [np.searchsorted(np.sort(each), both, side="right") / len(each) for each in (a, b)]
    largest = float(np.abs(apart[0] - apart[1]).max())
    key = len(a), len(b), round(largest * len(a) * len(b))
    if key not in P_VALUES:
        P_VALUES[key] = float(exact(a, b, method=method).pvalue)
    return largest, P_VALUES[key]


def first(over: list[bool]) -> int:
    """Return the first row with an alarm, 0 without one."""
    return over.index(True) + 1 if any(over) else 0


def rivals(learned: Array, x: Array, seed: int) -> dict[str, int]:
    """Return the row of the first alarm of each rival, 0 without one."""
    from river import drift

    found, window = {}, learned[-100:].tolist()
    for name, delta in (("ADWIN", 0.002), (f"ADWIN, {LEVEL}", LEVEL)):
        rival: Any = drift.ADWIN(delta=delta)
        for value in learned:
            rival.update(value)
        found[name] = first([_drift(rival, value) for value in x.tolist()])
    # Up to its first alarm, KSWIN is the same for each threshold of its p-value.
    rival, p = drift.KSWIN(alpha=0.0, window=window, seed=seed), []
    with patch("river.drift.kswin.stats.ks_2samp", two_samples):
        for value in x.tolist():
            rival.update(value)
            p.append(rival.p_value if len(rival.window) == rival.window_size else 1.0)
    found["KSWIN"] = first([value <= 0.005 for value in p])
    found[f"KSWIN, {LEVEL} / rows"] = first([value <= LEVEL / len(x) for value in p])
    return found


def _drift(rival: Any, value: float) -> bool:
    rival.update(value)
    return rival.drift_detected


def alarms(stream: Stream, learned: int, streams: int, change: int = ROWS) -> pd.DataFrame:
    """Return the row of the first alarm of each detector, one line per stream; 0 without, missing if not measured."""
    found = []
    for seed in range(streams):
        rng = np.random.default_rng([seed, learned, change])
        rows = stream.before(rng, learned), stream.before(rng, change)
        x = rows[1] if stream.after is None else np.concatenate([rows[1], stream.after(rng, ROWS - change)])
        line = ours(stream, rows[0], x, rng)
        if seed < OF_RIVALS and find_spec("river"):
            line |= rivals(rows[0], x, seed)
        found.append(line)
    return pd.DataFrame(found)


def main(word: str = "") -> None:
    """Print the tables."""
    lines = {}
    for stream in FIXED:
        for learned in LEARNED if word in stream.name else ():
            each = alarms(stream, learned, STREAMS)
            share, n = (each.dropna(axis=0, how="all") > 0)[each.notna()].mean(), each.notna().sum()
            lines[stream.name, learned] = {
                name: f"{share[name]:.3f} ± {np.sqrt(share[name] * (1 - share[name]) / n[name]):.3f}" for name in each
            }
    print("False alarms", pd.DataFrame(lines).T.to_string(), sep="\n")
    lines = {}
    for stream in SHIFTS:
        for change in (0, ROWS // 2) if word in stream.name else ():
            each = alarms(stream, LEARNED_BEFORE_CHANGES, CHANGES, change)
            late = each.where(each > change) - change
            lines[stream.name, change + 1] = {
                name: f"{late[name].notna().mean():.2f}, {late[name].median():.0f}; "
                f"early {((each[name] > 0) & (each[name] <= change)).mean():.2f}"
                for name in each
            }
    print("Alarms after the change, median delay; alarms before it", pd.DataFrame(lines).T.to_string(), sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
