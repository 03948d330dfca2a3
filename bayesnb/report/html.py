"""A page as one file of HTML, which asks nothing of the network and runs no script.

The template is ``templates/page.html``, and Jinja2 escapes every text that it fills in. Tables of pandas are written by
it too: ``DataFrame.to_html`` can neither mark a column of numbers nor say what a heading is the heading of, and
``Styler.to_html`` escapes no caption and adds a style sheet, which the content policy of the page forbids.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bayesnb.report.parts import (
    Findings,
    Grid,
    Ledger,
    Page,
    Part,
    Picture,
    cells_of,
    ledger_frame,
    one_line,
    paragraph,
    shown,
)
from bayesnb.report.pictures import svg

MARK = "bayesnb report"
"""Stands in the head of an HTML page, so that a page is known as one."""


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("bayesnb.report"), autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True
    )


def html(page: Page) -> str:
    """Write the page. Its content security policy forbids scripts and requests."""
    environment = _environment()
    # The style sheet is the package's own text, and its hash allows it: escaped it would be another.
    style = Markup(environment.loader.get_source(environment, "style.css")[0])
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    anchors = {section.title: f"s{k}" for k, section in enumerate(page.sections)}
    sections = [
        {
            "title": section.title,
            "anchor": anchors[section.title],
            "folded": section.folded,
            "lead": paragraph(section.lead),
            "parts": [_filled(part, anchors) for part in section.parts],
        }
        for section in page.sections
    ]
    return environment.get_template("page.html").render(
        title=one_line(page.title),
        about=paragraph(page.about),
        sections=sections,
        style=style,
        mark=MARK,
        policy=(f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"),
    )


def _filled(part: Part, anchors: dict[str, str]) -> dict[str, Any]:
    """What the template needs of a part, and its kind."""
    match part:
        case Grid():
            return {
                "kind": "grid",
                "cells": cells_of(part.frame),
                "caption": one_line(part.caption),
                "folded": part.folded,
            }
        case Picture():
            image, width, height = svg(part.figure)
            data = "data:image/svg+xml;base64," + base64.b64encode(image.encode()).decode()
            return {
                "kind": "picture", "image": data, "width": width, "height": height, "says": paragraph(part.says),
                "caption": one_line(part.caption),
            }  # fmt: skip
        case Ledger():
            return {
                "kind": "ledger", "label": one_line(part.label, 30), "against": one_line(part.against, 30),
                "caption": one_line(part.caption), "lines": _bars(part),
            }  # fmt: skip
        case Findings():
            return {
                "kind": "findings",
                "entries": [(paragraph(said), anchors.get(title) if title else None) for said, title in part.items],
            }
        case _:
            return {"kind": "text", "text": paragraph(part)}


def _short(number: float) -> str:
    """A number with two decimals."""
    return shown(float(number), 2) if np.isinf(number) or abs(number) >= 1e6 else f"{number:.2f}"


def _bars(ledger: Ledger) -> list[dict[str, Any]]:
    """The lines of a ledger, with the places of bars and intervals from -100 to 100."""
    frame = ledger_frame(ledger)
    numbers = frame[["log_odds", "lower", "upper"]].to_numpy(float)
    far = 1.04 * (np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0) or 1.0)
    place = np.clip(100 * numbers / far, -100, 100).round(2)
    lines = []
    for entry, value, at, (size, low, high) in zip(frame.index, frame["value"], place, numbers, strict=True):
        known = bool(np.isfinite([low, high]).any())
        lines.append({
            "entry": one_line(entry), "value": "" if value is None else shown(value, None), "size": size,
            "left": min(at[0], 0.0), "width": 0.0 if np.isnan(size) else abs(at[0]),
            "lower": at[1] if known else None, "upper": at[2] if known else None,
            "number": "0/0" if np.isnan(size) else ("+" if size > 0 else "") + _short(size),
            "interval": f"{_short(low)} to {_short(high)}" if known else "—",
        })  # fmt: skip
    return lines
