"""Pictures as SVG that can be read on a light and on a dark page.

The colours of text, axes and ground are variables of the picture's own style sheet, which asks the browser whether the
page is dark. The blue and the orange become lighter there too, so that they stand out. Letters are drawn as outlines: a
picture looks the same wherever it is opened.
"""

from __future__ import annotations

import io
import re
import warnings
from typing import TYPE_CHECKING

from bayesnb.plots.panels import AGAINST, FOR, GREY

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
