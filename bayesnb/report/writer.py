"""Render a page as one HTML file, without scripts or requests, or as Markdown."""

# Jinja2 escapes every text that is inserted into HTML.

# Templates write the tables: pandas does not escape captions, and adds styles that the page forbids.

from __future__ import annotations

import base64
import hashlib
import io
import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesnb.plots.panels import AGAINST, FOR, GREY
from bayesnb.report.parts import Bars, CellTexts, FindingList, Part, Picture, Section, TablePart, cells_of, one_line
from bayesnb.wording import Form, written

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARK = "bayesnb report"
"""Marker in the head of an HTML page, which identifies it as a report."""

LONGEST = 2000
"""Largest length of a paragraph, in characters."""

PHONE = 46
"""Width of a table, in letters, that fits a screen of 390 pixels."""


def page_as(title: str, about: str, sections: Sequence[Section], format: str, form: Form = "python") -> str:
    """Write a page as "html" or "md", with recommendations as Python code or ("command") as command-line options."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("bayesnb.report"), undefined=StrictUndefined, keep_trailing_newline=True,
        autoescape=format == "html", trim_blocks=format == "md", lstrip_blocks=format == "md",
    )  # fmt: skip
    environment.filters |= {
        "line": one_line, "paragraph": lambda text: one_line(written(text, form), LONGEST), "md": escaped,
        "name": _name,
        "prose": lambda text: _with_whole_options(one_line(written(text, form, TIE), LONGEST)),
    }  # fmt: skip
    # The policy allows the style sheet by its hash, so it must not be escaped; it contains no text of users.
    style = Markup(environment.loader.get_source(environment, "style.css")[0])
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template(f"page.{format}").render(
        page={"title": title, "about": about, "sections": sections},
        anchors={section.title: f"s{k}" for k, section in enumerate(sections)},
        filled=_filled if format == "html" else _in_words,
        style=style,
        mark=MARK,
        policy=f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
    )


def _name(text: Any) -> str:
    # Lines may end after underscores.
    from markupsafe import Markup, escape

    return Markup(str(escape(one_line(text))).replace("_", "_<wbr>"))


TIE = "\u2040"
"""A printable character that replaces the spaces of a recommendation until its options are marked."""
OPTION = re.compile(rf"[^ {TIE}]*--[^ {TIE}]+(?:{TIE}[^ {TIE}]+)?")
"""An option of a command with its value."""
LONGEST_OPTION = 40
"""Largest length of an option whose value stays in the same line, in characters."""


def _with_whole_options(text: str) -> str:
    """Convert text to HTML without line breaks inside options of at most ``LONGEST_OPTION`` characters."""
    from markupsafe import Markup, escape

    html, end = Markup(), 0
    for found in OPTION.finditer(text):
        name, tie, value = (found[0], "", "") if len(found[0]) <= LONGEST_OPTION else found[0].partition(TIE)
        html += escape(text[end : found.start()]) + Markup('<span class="option">{}</span>').format(name) + tie + value
        end = found.end()
    return Markup((html + text[end:]).replace(TIE, " "))


def _in_words(part: Part) -> dict[str, Any]:
    match part:
        case TablePart():
            return {"kind": "grid", "cells": cells_of(part.frame), "caption": part.caption}
        case Picture():
            return {"kind": "text", "text": part.says}
        case FindingList():
            return {"kind": "findings", "entries": part.items}
    return {"kind": "text", "text": part}


def _filled(part: Part) -> dict[str, Any]:
    match part:
        case Picture():
            image, width, height = svg(part.figure())
            data = "data:image/svg+xml;base64," + base64.b64encode(image.encode()).decode()
            return {
                "kind": "picture", "image": data, "width": width, "height": height, "says": part.says,
                "caption": part.caption,
            }  # fmt: skip
        case TablePart():
            found = _in_words(part) | {"folded": part.folded, "bars": part.bars and _places(part.bars)}
            return found | {"wide": part.bars is None and _letters(found["cells"]) > PHONE}
    return _in_words(part)


def _letters(cells: CellTexts) -> int:
    columns = zip(cells.names, zip(*cells.rows, strict=True), strict=True)
    words = (
        [name, *(word for cell in column for word in re.split(r" \(|(?<!to) (?!±|to)", cell))]
        for name, column in columns
    )
    return sum(3 + max(map(len, each)) for each in words)


def _places(bars: Bars) -> dict[str, Any]:
    numbers = np.array([bars.sizes, bars.lower, bars.upper]).T
    far = 1.04 * (np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0) or 1.0)
    lines = []
    for at, (size, low, high) in zip(np.clip(100 * numbers / far, -100, 100).round(2), numbers, strict=True):
        known = bool(np.isfinite([low, high]).any())
        lines.append({
            "size": size, "left": min(at[0], 0.0), "width": 0.0 if np.isnan(size) else abs(at[0]),
            "lower": at[1] if known else None, "upper": at[2] if known else None,
        })  # fmt: skip
    return {"label": bars.label, "against": bars.against, "lines": lines}


def escaped(text: Any) -> str:
    """Escape a text so that Markdown shows it literally."""
    text = str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # An underscore inside a word has no meaning in Markdown, so it stays.
    text = re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", re.sub(r"([\\`*\[\]|~$])", r"\\\1", text))
    # At the start of a line, these characters would begin a heading or a list.
    text = re.sub(r"^(\s*)(#|[-+=](?=[\s=-]|$))|^(\s*\d+)([.)])(?=\s|$)", r"\1\3\\\2\4", text)
    return text.replace("://", "&#58;//").strip()


# Pictures are SVG for light and dark pages. The colours of text, axes and background are variables in the style sheet
# of the picture, which follows the browser's preference; the blue and the orange become lighter on dark pages. Letters
# are outlines, so a picture looks the same everywhere.


PIXELS = 90
"""Pixels on the page per inch of a figure."""

SHADES = {
    "#000000": ("ink", "#1b1f24", "#eceff2"),
    "#ffffff": ("ground", "#ffffff", "#15181c"),
    GREY.lower(): ("grey", GREY.lower(), "#a3abb4"),
    FOR.lower(): ("for", FOR.lower(), "#56a8dd"),
    AGAINST.lower(): ("against", AGAINST.lower(), "#ff8a45"),
}
"""Colours of matplotlib, their names in the style sheet, and their colours on light and on dark pages."""


def svg(figure: Figure) -> tuple[str, int, int]:
    """A figure as SVG, with width and height in pixels."""
    import matplotlib as mpl

    file = io.StringIO()
    with (
        mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": "bayesnb", "savefig.bbox": "standard"}),
        warnings.catch_warnings(),
    ):
        # Characters missing from the font of the pictures are still readable in the tables.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    # Drop the XML prologue and the comments with the texts of the outlines.
    text = re.sub(r"<!--.*?-->", "", file.getvalue(), flags=re.DOTALL)
    start = text.index("<svg")
    head, _, body = text[start:].partition(">")
    for colour, (name, _, _) in SHADES.items():
        body = body.replace(colour, f"var(--{name})")
    width, height = (round(PIXELS * inches) for inches in figure.get_size_inches())
    return f'{head} fill="var(--ink)"><style>{_style()}</style>{body}', width, height


def _style() -> str:
    light = ";".join(f"--{name}:{colour}" for name, colour, _ in SHADES.values())
    dark = ";".join(f"--{name}:{colour}" for name, _, colour in SHADES.values())
    return f"svg{{{light}}}@media (prefers-color-scheme:dark){{svg{{{dark}}}}}"
