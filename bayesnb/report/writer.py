"""A page as one file of HTML, which asks nothing of the network and runs no script, or as Markdown.

The templates are ``templates/page.html`` and ``templates/page.md``. In HTML, Jinja2 escapes every text that it fills
in. Tables of pandas are written by them too: ``DataFrame.to_html`` can neither mark a column of numbers nor say what a
heading is the heading of, and ``Styler.to_html`` escapes no caption and adds a style sheet, which the content policy of
the page forbids.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesnb.plots.panels import AGAINST, FOR, GREY
from bayesnb.report.parts import Bars, Cells, Findings, Grid, Page, Part, Picture, cells_of, one_line
from bayesnb.wording import Form, written

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARK = "bayesnb report"
"""Stands in the head of an HTML page, so that a page is known as one."""

LONGEST = 2000
"""The most characters of a paragraph."""

PHONE = 46
"""Letters of a table that stand side by side on a screen of 390 pixels."""


def page_as(page: Page, format: str, form: Form = "python") -> str:
    """Write the page as "html" or as "md". The content security policy of HTML forbids scripts and requests.

    ``form`` says whether cures are spelled as in Python or as on the command line.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("bayesnb.report"), undefined=StrictUndefined, keep_trailing_newline=True,
        autoescape=format == "html", trim_blocks=format == "md", lstrip_blocks=format == "md",
    )  # fmt: skip
    environment.filters |= {
        "line": one_line, "paragraph": lambda text: one_line(written(text, form), LONGEST), "md": escaped
    }  # fmt: skip
    # The style sheet is the package's own text, and its hash allows it: escaped it would be another.
    style = Markup(environment.loader.get_source(environment, "style.css")[0])
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template(f"page.{format}").render(
        page=page,
        anchors={section.title: f"s{k}" for k, section in enumerate(page.sections)},
        filled=_filled if format == "html" else _in_words,
        style=style,
        mark=MARK,
        policy=f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
    )


def _in_words(part: Part) -> dict[str, Any]:
    """What the template of Markdown needs of a part, and its kind: words in place of pictures."""
    match part:
        case Grid():
            return {"kind": "grid", "cells": cells_of(part.frame), "caption": part.caption}
        case Picture():
            return {"kind": "text", "text": part.says}
        case Findings():
            return {"kind": "findings", "entries": part.items}
    return {"kind": "text", "text": part}


def _filled(part: Part) -> dict[str, Any]:
    """What the template of HTML needs of a part, and its kind."""
    match part:
        case Picture():
            image, width, height = svg(part.figure())
            data = "data:image/svg+xml;base64," + base64.b64encode(image.encode()).decode()
            return {
                "kind": "picture", "image": data, "width": width, "height": height, "says": part.says,
                "caption": part.caption,
            }  # fmt: skip
        case Grid():
            found = _in_words(part) | {"folded": part.folded, "bars": part.bars and _places(part.bars)}
            return found | {"wide": part.bars is None and _letters(found["cells"]) > PHONE}
    return _in_words(part)


def _letters(cells: Cells) -> int:
    """About how many letters wide a table is, at least: a heading is one line, and a cell is broken between words."""
    columns = zip(cells.names, zip(*cells.rows, strict=True), strict=True)
    words = (
        [name, *(word for cell in column for word in re.split(r" \(|(?<!to) (?!±|to)", cell))]
        for name, column in columns
    )
    return sum(3 + max(map(len, each)) for each in words)


def _places(bars: Bars) -> dict[str, Any]:
    """What the bars are for, and where each begins and ends, and its interval, from -100 to 100."""
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
    """Escape a text so that Markdown shows it as it is, also in the cell of a table."""
    text = str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # In the middle of a word an underscore means nothing, and stays.
    text = re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", re.sub(r"([\\`*\[\]|~$])", r"\\\1", text))
    # At the start of a line these signs would begin a heading or a list.
    text = re.sub(r"^(\s*)(#|[-+=](?=[\s=-]|$))|^(\s*\d+)([.)])(?=\s|$)", r"\1\3\\\2\4", text)
    return text.replace("://", "&#58;//").strip()


# Pictures as SVG that can be read on a light and on a dark page. The colours of text, axes and ground are variables of
# the picture's own style sheet, which asks the browser whether the page is dark. The blue and the orange become lighter
# there too, so that they stand out. Letters are drawn as outlines: a picture looks the same wherever it is opened.


PIXELS = 90
"""Pixels on the page for each inch of a figure."""

SHADES = {
    "#000000": ("ink", "#1b1f24", "#eceff2"),
    "#ffffff": ("ground", "#ffffff", "#15181c"),
    GREY.lower(): ("grey", GREY.lower(), "#a3abb4"),
    FOR.lower(): ("for", FOR.lower(), "#56a8dd"),
    AGAINST.lower(): ("against", AGAINST.lower(), "#ff8a45"),
}
"""Colours of matplotlib, each with its name in the style sheet and its colours on a light and on a dark page."""


def svg(figure: Figure) -> tuple[str, int, int]:
    """Draw a figure as SVG, and return its width and height on the page in pixels too."""
    import matplotlib as mpl

    file = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": "bayesnb"}), warnings.catch_warnings():
        # A name that the font of the pictures lacks can be read in the tables.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    # What stands before the picture, and the texts that its outlines were drawn from, are not needed.
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
