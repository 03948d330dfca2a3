"""A page as Markdown, with tables in place of the pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pandas as pd

from bayesnb.report.parts import Grid, Picture, Section, cells_of, one_line


def markdown(title: str, sections: Sequence[Section]) -> str:
    """Write the page, with the description of each picture in its place."""
    lines = [f"# {escaped(one_line(title))}"]
    for section in sections:
        lines += ["", f"## {escaped(section.title)}"]
        for part in section.parts:
            match part:
                case Grid():
                    lines += ["", f"**{escaped(part.caption)}**", "", *_markdown_table(part.frame)]
                case Picture():
                    lines += ["", escaped(part.says)]
                case _:
                    lines += ["", escaped(one_line(part, 2000))]
    return "\n".join(lines) + "\n"


def _markdown_table(frame: pd.DataFrame) -> Iterator[str]:
    heads, names, rows, numbers = cells_of(frame)

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(map(escaped, cells)) + " |"

    yield line([*heads, *names])
    yield "|" + " --- |" * len(heads) + "".join(" ---: |" if number else " --- |" for number in numbers)
    for labels, cells in rows:
        yield line([*labels, *cells])


def escaped(text: str) -> str:
    """Escape a text so that Markdown shows it as it is, also in the cell of a table."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # In the middle of a word an underscore means nothing, and stays.
    text = re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", re.sub(r"([\\`*\[\]|~$])", r"\\\1", text))
    # At the start of a line these signs would begin a heading or a list.
    text = re.sub(r"^(\s*)(#|[-+=](?=[\s=-]|$))|^(\s*\d+)([.)])(?=\s|$)", r"\1\3\\\2\4", text)
    return text.replace("://", "&#58;//").strip()
