"""The output of commands: tables for people, JSON for programs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bayesnb.cli.terminal import console_of, json_text, stdout, visible
from bayesnb.cli.wording import in_options

if TYPE_CHECKING:
    import pandas as pd

    from bayesnb.dependence.audit import Independence
    from bayesnb.inference.checks import PredictiveChecks


NUMBER = re.compile(r"[-+−]?[\d∞—][-+−±–\d∞—.,:%() e]*")
"""A cell that stands on the right: a number, or one with its interval or its error."""


def print_document(document: Mapping[str, Any]) -> None:
    """A document as JSON."""
    stdout().write(json_text(document) + "\n")


def plain(record: Mapping[Any, Any]) -> dict[str, Any]:
    """Replace infinity by a text and NaN by null, since JSON has neither."""
    record_as_json = {}
    for name, value in record.items():
        value = value.item() if hasattr(value, "item") else value
        if isinstance(value, float) and not abs(value) < float("inf"):
            value = None if value != value else str(value)
        record_as_json[str(name)] = value
    return record_as_json


def records_of(frame: pd.DataFrame, index: bool = True) -> list[dict[str, Any]]:
    """The rows of a frame, by default with their index."""
    return [plain(record) for record in (frame.reset_index() if index else frame).to_dict("records")]


def grid_of(frame: pd.DataFrame, digits: int, width: int | None = None) -> Any:
    """A frame as a table for people, without the columns that are empty.

    Lines are folded between words; where words do not fit, rows become lists.

    Parameters
    ----------
    frame : DataFrame
    digits : int
        Of floats, after the point.
    width : int, optional
        Of the terminal; as wide as needed by default.
    """
    from rich.table import Table as Grid
    from rich.text import Text

    names = [visible(name) for name in frame.columns]
    rows = [[shown_text(value, digits) for value in record] for record in frame.itertuples(index=False, name=None)]
    kept = [k for k in range(len(names)) if not rows or any(row[k] for row in rows)]
    names, rows = [names[k] for k in kept], [[row[k] for k in kept] for row in rows]
    columns = list(zip(names, *rows, strict=True))
    widths = _widths(columns, None if width is None else width - 3 * len(columns) - 1)
    if widths is None:
        return _lists_of(names, rows)
    grid = Grid()
    for (name, *cells), wide in zip(columns, widths, strict=True):
        number = all(map(NUMBER.fullmatch, cells))
        grid.add_column(Text(name), justify="right" if number else "left", overflow="fold", width=wide)
    for row in rows:
        grid.add_row(*map(Text, row))
    return grid


def _widths(columns: Sequence[Sequence[str]], room: int | None) -> list[int] | None:
    """The width of each column; ``None`` if words would have to be cut."""
    from rich.cells import cell_len

    wanted = [max(map(cell_len, cells)) for cells in columns]
    if room is None or sum(wanted) <= room:
        return wanted
    least = [max(cell_len(word) for cell in cells for word in cell.split() or [""]) for cells in columns]
    spare = room - sum(least)
    if spare < 0:
        return None
    # What is left goes in equal parts to the columns that want more, those first that want the least.
    widths = list(least)
    wanting = sorted(range(len(widths)), key=lambda k: wanted[k] - least[k])
    for n, k in enumerate(wanting):
        more = min(wanted[k] - least[k], spare // (len(wanting) - n))
        widths[k], spare = least[k] + more, spare - more
    return widths


def _lists_of(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Any:
    """Each row as a list under its first cell, for narrow terminals."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    lines: list[Any] = []
    for first, *others in rows:
        said = [f"{name} {cell}" for name, cell in zip(names[1:], others, strict=True) if cell not in ("", "—")]
        head = f"{names[0]} {first}" if NUMBER.fullmatch(first) else first
        lines += [Text(head, style="bold"), Padding(Text(", ".join(said)), (0, 0, 0, 2), expand=False)]
    return Group(*lines)


def shown_text(value: Any, digits: int) -> str:
    """Write a value; a float has this many digits after the point."""
    if isinstance(value, float):
        return "—" if value != value else f"{value:.{digits}f}"
    return visible(value)


def row_grid(answer: Mapping[str, Any], prob: float, width: int | None = None) -> Any:
    """The probabilities of one row by each estimate, and their interval."""
    import pandas as pd

    labels = list(answer["interval"])
    records = []
    for estimate, proba in answer["estimates"].items():
        said = dict.fromkeys(labels, float("nan")) if isinstance(proba, str) else proba
        records.append({"estimate": estimate, **{f"p({label})": said[label] for label in labels}})
    for what in ("lower", "median", "upper"):
        values = {f"p({label})": answer["interval"][label][what] for label in labels}
        records.append({"estimate": "median of p" if what == "median" else f"{prob:.0%} interval, {what}", **values})
    return grid_of(pd.DataFrame(records), 3, width)


def print_contributions(asked: dict[str, Any], contributions: pd.DataFrame, unit: str, prob: float) -> None:
    """Print the contributions of a row with their bars."""
    import pandas as pd
    from rich.table import Column
    from rich.table import Table as Grid
    from rich.text import Text

    from bayesnb.inference.explain import oddities

    console = console_of()
    label, against = contributions.iloc[0][["label", "against"]]
    said = ", ".join(f"{k}={v}" for k, v in asked.items())
    console.print(f"The row {visible(said)}", style="bold", markup=False)
    # A bar has two halves. On narrow terminals they are shorter, and on very narrow ones there are none.
    half = 12 if console.width >= 100 else 5 if console.width >= 84 else 0
    titles = ["entry", "value", f"log-odds [{unit}]", "lower", "upper"]
    rows = [
        [visible(entry), _value_of(line), *(shown_text(float(line[k]), 3) for k in ("log_odds", "lower", "upper"))]
        for entry, line in contributions.iterrows()
    ]
    if half:
        grid = Grid("entry", "value", *(Column(Text(title), justify="right") for title in titles[2:]))
        sides = [f"{name[: half - 3]}…" if len(name) > half - 2 else name for name in map(visible, (against, label))]
        grid.add_column(Text(f"{sides[0] + ' ←':>{half}}│{'→ ' + sides[1]:<{half}}"), no_wrap=True)
        widest = max((abs(v) for v in contributions["log_odds"] if abs(v) < float("inf")), default=0.0) or 1.0
        for k, (row, size) in enumerate(zip(rows, contributions["log_odds"], strict=True)):
            grid.add_row(*map(Text, row), bar_of(size / widest, half), end_section=k == len(rows) - 2)
    else:
        grid = grid_of(pd.DataFrame(rows, columns=titles), 3, console.width)
    console.print(grid)
    pair = f"{visible(label)} against {visible(against)}"
    console.print(
        f"log-odds of {pair}; the entries sum to the total; lower and upper: {prob:.0%} interval "
        "under the posterior of the parameters",
        markup=False,
    )
    for said in oddities(contributions):
        console.print(visible(said), markup=False)


def _value_of(line: pd.Series) -> str:
    """The value of an entry, as text."""
    value = line["value"]
    empty = value is None or value != value
    text = "" if empty else f"{value:g}" if isinstance(value, float) else visible(value)
    if not line["missing"]:
        return text
    return f"{text} (never seen)" if text else "missing"


def print_questions(questions: pd.DataFrame) -> None:
    """Print how much each missing value of a row would tell about the class."""
    if questions.empty:
        return
    told = [f"{column} {value:.3f}" for column, value in questions["information"].head(8).items()]
    more = f", and {len(questions) - 8} more" if len(questions) > 8 else ""
    console_of().print(
        visible(
            f"What to ask next: {', '.join(told)}{more} nats of information about the class, of "
            f"{questions.attrs['entropy']:.3f} that are missing"
        ),
        markup=False,
    )


def print_pairs(found: Independence, top: int, prob: float) -> None:
    """Print the advice of an audit, and the pairs that depend most."""
    import pandas as pd

    console = console_of()
    console.print(visible(in_options(str(found))), style="bold", markup=False)
    w = found.exponent
    console.print(
        f"One exponent for all columns: {w['mean']:.2f}, {prob:.0%} interval {w['lower']:.2f} to {w['upper']:.2f} "
        "(1 is naive Bayes)",
        markup=False,
    )
    pairs = found.pairs.head(top)
    if pairs.empty:
        return
    lines = zip(*(pairs[name] for name in pairs), strict=True)
    records = [
        (f"{a} × {b}", f"{factor:.1f}", f"{mean:.2f} ({low:.2f}–{high:.2f})", f"{gain:+.3f} ±{se:.3f}", f"{z:+.1f}")
        for a, b, factor, mean, low, high, gain, se, z in lines
    ]
    frame = pd.DataFrame(records, columns=["pair", "log BF", "information", "gain", "score"])
    console.print(grid_of(frame, 2, console.width))
    shown = f"The {len(pairs)} most dependent of {len(found.pairs)} pairs. " if len(pairs) < len(found.pairs) else ""
    console.print(
        f"{shown}log BF: log Bayes factor of dependence given the class; chance hardly gives more than "
        f"{found.threshold:.1f}. information: mutual information given the class, adjusted for what chance gives, with "
        f"its {prob:.0%} interval. gain: by how much the log loss of left-out rows falls when the pair is modelled. "
        "All in nats. score: by how many standard errors the labels speak for the pair on top of "
        'dependence="weighted".',
        markup=False,
    )


def print_labels(found: pd.DataFrame, top: int, advice: str | None) -> None:
    """Print how many labels are expected to be wrong, and the rows whose label is the least probable."""
    from bayesnb.inference.label_noise import sentence

    console = console_of()
    console.print(f"\n{sentence(n=len(found), **found.attrs)}", style="bold", markup=False)
    if advice is not None:
        console.print(f'Labels are judged with dependence="{advice}", which the audit advises.', markup=False)
    shown = found.head(top).rename(columns={"suggested_probability": "its probability"})
    console.print(grid_of(shown.rename_axis("row").reset_index(), 3, console.width))
    console.print(
        "probability: of the label, by the model of all other rows. suggested: the most probable class, and its "
        "probability. wrong: the "
        "probability that the label is wrong, if a share of all labels was replaced by another class.",
        markup=False,
    )


def print_checks(found: PredictiveChecks, top: int, prob: float) -> None:
    """Print what predictive checks say, and those that speak against the model most."""
    import pandas as pd

    console = console_of()
    console.print(f"\n{visible(found)}", style="bold", markup=False)
    if found.fits:
        return
    lines = found.failed.head(top)[
        ["statistic", "first", "second", "class", "observed", "lower", "upper", "p_adjusted"]
    ]
    records = [
        (a if b is None else f"{a} × {b}", str(label), name, f"{seen:.3g}", f"{low:.3g} to {high:.3g}", f"{p:.3f}")
        for name, a, b, label, seen, low, high, p in lines.itertuples(index=False)
    ]
    columns = ["column", "class", "statistic", "observed", "from the model", "p adjusted"]
    console.print(grid_of(pd.DataFrame(records, columns=columns), 2, console.width))
    shown = f"The {len(records)} worst of {len(found.failed)}. " if len(records) < len(found.failed) else ""
    console.print(
        f"{shown}from the model: the {prob:.0%} interval in {found.draws} tables that it makes. p adjusted: the share "
        "of these tables in which any check is as far away.",
        markup=False,
    )


def bar_of(share: float, half: int = 12) -> Any:
    """Draw a bar, to the right if the share is positive and to the left if it is negative; an arrow means infinite."""
    from rich.text import Text

    size = min(abs(share), 1.0) * half
    bar = "█" * int(size) + ("▌" if size % 1 >= 0.5 else "")
    endless = abs(share) == float("inf")
    if share < 0:
        # The half block that fills its right side.
        bar = bar[::-1].replace("▌", "▐")
        bar = "◀" + bar[1:] if endless else bar
        return Text.assemble((bar.rjust(half), "dark_orange3"), "│", " " * half)
    bar = bar[:-1] + "▶" if endless else bar
    return Text.assemble(" " * half, "│", (bar.ljust(half), "blue"))
