"""Print command output as sections for people, or as JSON or CSV for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from textwrap import indent
from typing import TYPE_CHECKING, Any

from bayesnb.cli.terminal import console_of, json_text, stdout, visible, wrapped
from bayesnb.wording import Cure, Message, written

if TYPE_CHECKING:
    import pandas as pd

    from bayesnb.report.parts import Section, TablePart


HALVES = (12, 10, 8, 6, 5)
"""Possible lengths of a bar to each side, in characters. The longest that wraps no other column is used."""


def print_command(command: str) -> None:
    """Print a command on a separate line."""
    stdout().write(visible(f"\n{command}\n", keep="\n"))


def plain(value: Any) -> Any:
    """Convert a value to JSON types: tables to lists of records, infinity to text, NaN to null."""
    if hasattr(value, "to_dict"):
        named = any(name is not None for name in value.index.names)
        return [plain(line) for line in (value.reset_index() if named else value).to_dict("records")]
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, Message | Cure):
        return written(value, "command")
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None if value != value else str(value)
    return value


def print_answer(
    layout: str, document: Mapping[str, Any], frame: pd.DataFrame, sections: Callable[[], Iterable[Section]]
) -> None:
    """Print an answer: ``document`` if ``layout`` is "json", ``frame`` if it is "csv", otherwise ``sections``."""
    if layout == "json":
        stdout().write(json_text(plain(document)) + "\n")
    elif layout == "csv":
        stdout().write(flat(frame).to_csv(index=any(name is not None for name in frame.index.names)))
    else:
        print_sections(sections())


def flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Join multi-level column names into one text, such as ("no", "lower") into "no: lower"."""
    if frame.columns.nlevels == 1:
        return frame
    return frame.set_axis([": ".join(str(word) for word in name if word != "") for name in frame.columns], axis=1)


def print_sections(sections: Iterable[Section]) -> None:
    """Print the lead sentence or title of each section in bold, then its tables and legends."""
    from rich.text import Text

    from bayesnb.report.parts import TablePart, by_position

    console, cut = console_of(), False
    for k, section in enumerate(by_position(sections)):
        heading = section.lead or section.title
        lines = [*([] if k == 0 else [""]), *([Text(wrapped(heading, console.width))] if heading else [])]
        console.print(*lines, style="bold", sep="\n", end="\n" if lines else "", soft_wrap=True)
        for n, part in enumerate(part for part in section.parts if isinstance(part, TablePart | str)):
            if not isinstance(part, TablePart):
                console.print(Text(wrapped(part, console.width)), style="dim", soft_wrap=True)
                continue
            if part.caption and part.caption != heading:
                caption = Text(wrapped(f"\n{part.caption}" if n else part.caption, console.width))
                console.print(caption, style="bold" if n or not heading else None, soft_wrap=True)
            table, cut = table_of(part, console), cut or part.cut
            console.print(table, soft_wrap=isinstance(table, Text))
    if cut:
        console.print("--format json prints complete tables.", style="dim")


def table_of(shown: TablePart, console: Any) -> Any:
    """A table for a console, or a list per row if the console is too narrow for the longest words."""
    from rich.cells import cell_len, set_cell_size
    from rich.table import Table
    from rich.text import Text

    from bayesnb.report.parts import cells_of

    cells, bars = cells_of(shown.frame), shown.bars
    # A name may be broken after an underscore.
    heads = [visible(name).replace("_", "_ ") for name in cells.names]
    rows = [[Text(visible(cell)) for cell in row] for row in (heads, *cells.rows)]
    sizes = [[console.measure(cell) for cell in column] for column in zip(*rows, strict=True)]
    least = [max(size.minimum for size in column) for column in sizes]
    wanted = [max(size.maximum for size in column) for column in sizes]
    spare = console.width - 3 * len(sizes) - 1 - sum(least)
    half = 0
    if bars is not None:
        unwrapped = spare + sum(least) - sum(wanted)
        half = next((half for half in HALVES if unwrapped >= 2 * half + 4), HALVES[-1])
        half = half if spare >= 2 * half + 4 else 0
    spare -= 2 * half + 4 if half else 0
    if spare < 0:
        lines: list[Any] = []
        for first, *others in cells.rows:
            named = zip(cells.names[1:], others, strict=True)
            said = "; ".join(f"{name}: {cell}" for name, cell in named if cell not in ("", "—"))
            head = f"{cells.names[0]} {first}" if cells.numbers[0] else first
            lines.append(Text(wrapped(visible(head), console.width), "bold"))
            lines.append(Text(indent(wrapped(visible(said), console.width - 2), "  ")))
        return Text("\n").join(lines)
    grid, widths = Table(), dict(enumerate(least))
    # Divide the remaining width equally among the columns that need more, starting with the smallest need.
    for n, k in enumerate(sorted(widths, key=lambda k: wanted[k] - least[k])):
        more = min(wanted[k] - least[k], spare // (len(widths) - n))
        widths[k], spare = least[k] + more, spare - more
    for k, (name, number) in enumerate(zip(heads, cells.numbers, strict=True)):
        grid.add_column(
            Text(wrapped(name, widths[k]).replace("_ ", "_")),
            justify="right" if number else "left",
            overflow="fold",
            width=widths[k],
        )
    drawn: list[list[Any]] = [[] for _ in cells.rows]
    if bars is not None and half:
        names = (visible(bars.against), visible(bars.label))
        left, right = (
            f"{set_cell_size(name, half - 3).rstrip()}…" if cell_len(name) > half - 2 else name for name in names
        )
        head = f"{' ' * (half - 2 - cell_len(left))}{left} ←│→ {right}"
        grid.add_column(Text(set_cell_size(head, 2 * half + 1)), no_wrap=True)
        widest = max((abs(size) for size in bars.sizes if abs(size) < float("inf")), default=0.0) or 1.0
        drawn = [[bar_of(size / widest, half)] for size in bars.sizes]
    for k, (row, bar) in enumerate(zip(rows[1:], drawn, strict=True)):
        grid.add_row(*row, *bar, end_section=bars is not None and k == len(drawn) - 2)
    return grid


def bar_of(share: float, half: int) -> Any:
    """Draw ``share`` as a bar to the right or, if negative, to the left; infinite bars end in an arrow."""
    from rich.text import Text

    size = min(abs(share), 1.0) * half
    bar = "█" * int(size) + ("▌" if size % 1 >= 0.5 else "")
    endless = abs(share) == float("inf")
    if share < 0:
        # The block character whose right half is filled.
        bar = bar[::-1].replace("▌", "▐")
        bar = "◀" + bar[1:] if endless else bar
        return Text.assemble((bar.rjust(half), "dark_orange3"), "│", " " * half)
    bar = bar[:-1] + "▶" if endless else bar
    return Text.assemble(" " * half, "│", (bar.ljust(half), "blue"))
