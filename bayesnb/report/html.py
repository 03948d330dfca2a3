"""A page as one file of HTML, which asks nothing of the network and runs no script."""

from __future__ import annotations

import base64
import hashlib
import io
import warnings
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from bayesnb.report.parts import Grid, Part, Picture, Section, cells_of, one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARK = "bayesnb report"
"""Stands in the head of an HTML page, so that a page is known as one."""

STYLE = """
:root { color-scheme: light; }
body { font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
  color: #1a1a1a; background: #fff; margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 58rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; margin: 2.75rem 0 .5rem; padding-top: .75rem; border-top: 1px solid #ccc; }
p { max-width: 44rem; overflow-wrap: anywhere; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; padding: 0; }
a { color: #00527f; }
.wide { overflow-x: auto; margin: 1rem 0; }
.wide:focus-visible { outline: 2px solid #0072b2; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .25rem 0; overflow-wrap: anywhere; }
th, td { text-align: left; vertical-align: top; padding: .3rem .7rem; border-bottom: 1px solid #ddd;
  max-width: 22rem; overflow-wrap: break-word; unicode-bidi: isolate; }
thead th { border-bottom: 2px solid #888; white-space: nowrap; }
tbody th { font-weight: 600; }
.n { text-align: right; white-space: nowrap; }
figure { margin: 1.25rem 0 .5rem; }
img { max-width: 100%; height: auto; }
figcaption { font-size: .9rem; color: #444; max-width: 44rem; overflow-wrap: anywhere; }
details { margin: .25rem 0 1.25rem; }
summary { cursor: pointer; font-size: .9rem; color: #00527f; }
"""


def html(title: str, sections: Sequence[Section]) -> str:
    """The page, with a content security policy that forbids scripts and requests."""
    style = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'"
    name = escape(one_line(title))
    links = "".join(f'<li><a href="#s{k}">{escape(s.title)}</a></li>' for k, s in enumerate(sections))
    body = "\n".join(
        f'<section aria-labelledby="s{k}">\n<h2 id="s{k}">{escape(s.title)}</h2>\n'
        + "\n".join(map(_html_part, s.parts))
        + "\n</section>"
        for k, s in enumerate(sections)
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="{MARK}">
<title>{name}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{name}</h1>
<nav aria-label="Contents"><ul>{links}</ul></nav>
{body}
</main>
</body>
</html>
"""


def _html_part(part: Part) -> str:
    match part:
        case Grid():
            return _html_table(part)
        case Picture():
            says = escape(part.says)
            image, width, height = _png(part.figure)
            return (
                f'<figure><img src="data:image/png;base64,{image}" alt="{says}" width="{width}" height="{height}">'
                f"<figcaption>{escape(part.caption)}</figcaption></figure>"
            )
        case _:
            return f"<p>{escape(one_line(part, 2000))}</p>"


def _html_table(grid: Grid) -> str:
    heads, names, rows, numbers = cells_of(grid.frame)
    kinds = [' class="n"' if number else "" for number in numbers]
    caption = escape(grid.caption)
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    head += "".join(f'<th scope="col"{k}>{escape(name)}</th>' for name, k in zip(names, kinds, strict=True))
    lines = []
    for labels, cells in rows:
        line = "".join(f'<th scope="row">{escape(label)}</th>' for label in labels)
        line += "".join(f"<td{k}>{escape(cell)}</td>" for cell, k in zip(cells, kinds, strict=True))
        lines.append(f"<tr>{line}</tr>")
    body = "\n".join(lines)
    shown = (
        f'<div class="wide" role="region" tabindex="0" aria-label="{caption}"><table><caption>{caption}</caption>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )
    return f"<details><summary>The numbers: {caption}</summary>{shown}</details>" if grid.folded else shown


def _png(figure: Figure) -> tuple[str, int, int]:
    """A figure as base64, at twice the size in pixels that it has on the page, and that size."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        # What the font of the pictures cannot write stands in the tables.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(file, format="png", dpi=180, metadata={"Software": None})
    width, height = (round(90 * inches) for inches in figure.get_size_inches())
    return base64.b64encode(file.getvalue()).decode(), width, height
