"""A page as Markdown, with tables in place of the pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bayesnb.report.parts import Cells, Findings, Grid, Ledger, Page, Part, Picture, cells_of, ledger_frame, one_line
from bayesnb.report.parts import paragraph as long_line


def markdown(page: Page) -> str:
    """Write the page, with the description of each picture in its place."""
    lines = [f"# {escaped(one_line(page.title))}", "", escaped(long_line(page.about))]
    for section in page.sections:
        lines += ["", f"## {escaped(section.title)}"]
        if section.lead:
            lines += ["", f"**{escaped(long_line(section.lead))}**"]
        for part in section.parts:
            lines += ["", *_lines(part)]
    return "\n".join(lines) + "\n"


def _lines(part: Part) -> Iterator[str]:
    match part:
        case Grid():
            yield from [f"**{escaped(part.caption)}**", "", *_table(cells_of(part.frame))]
        case Ledger():
            yield from [f"**{escaped(part.caption)}**", "", *_table(cells_of(ledger_frame(part)))]
        case Picture():
            yield escaped(part.says)
        case Findings():
            yield from (f"- {escaped(long_line(said))}" for said, _ in part.items)
        case _:
            yield escaped(long_line(part))


def _table(cells: Cells) -> Iterator[str]:
    def line(texts: Sequence[str]) -> str:
        return "| " + " | ".join(map(escaped, texts)) + " |"

    yield line([*cells.heads, *cells.names])
    yield "|" + " --- |" * len(cells.heads) + "".join(" ---: |" if number else " --- |" for number in cells.numbers)
    for labels, values in cells.rows:
        yield line([*labels, *values])


def escaped(text: str) -> str:
    """Escape a text so that Markdown shows it as it is, also in the cell of a table."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # In the middle of a word an underscore means nothing, and stays.
    text = re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", re.sub(r"([\\`*\[\]|~$])", r"\\\1", text))
    # At the start of a line these signs would begin a heading or a list.
    text = re.sub(r"^(\s*)(#|[-+=](?=[\s=-]|$))|^(\s*\d+)([.)])(?=\s|$)", r"\1\3\\\2\4", text)
    return text.replace("://", "&#58;//").strip()
