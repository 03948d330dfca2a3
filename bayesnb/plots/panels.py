"""Shared parts of the plots, with colours for colour-blind readers (Okabe and Ito 2008)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, cast
from unicodedata import east_asian_width

import numpy as np

from bayesnb.wording import RefusedError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
FOR, AGAINST, GREY = OKABE_ITO[0], OKABE_ITO[1], "#666666"
MARKERS = "os^DvPX*"

ON_LIGHT, ON_DARK = "#111111", "#fefefe"
"""Colours of text on a coloured field, which do not change on dark pages."""

PANELS = 24
"""Largest number of readable panels in a figure."""


def takes[Plot: Callable[..., Any]](written: str, *held: str) -> Callable[[Plot], Plot]:
    """Decorate a plot function so that it checks its first argument; an error suggests the code ``written`` instead."""

    # ``held`` names columns or attributes that the first argument must have; without ``held``, the first argument must
    # be a frame or a numeric array.
    def checked(plot: Plot) -> Plot:
        @wraps(plot)
        def drawn(*args: Any, **named: Any) -> Any:
            found = args[0] if args else named.get(next(iter(signature(plot).parameters)))
            shown = all(hasattr(found, each) for each in held or ("__len__",))
            if not shown or (not held and np.ndim(found) < 2 and np.asarray(found).dtype.kind not in "biuf"):
                said = "plots.{plot} does not take a {what}: write plots.{plot}({written})"
                raise RefusedError(said, plot=plot.__name__, what=type(found).__name__, written=written)
            return plot(*args, **named)

        return cast("Plot", drawn)

    return checked


def colours_of(n: int) -> list[Any]:
    """One colour per class."""
    if n <= len(OKABE_ITO):
        return list(OKABE_ITO[:n])
    import matplotlib as mpl

    return list(mpl.colormaps["viridis"](np.linspace(0, 0.95, n)))


def marker_of(c: int) -> str:
    """The marker of a class."""
    return MARKERS[c % len(MARKERS)]


def letters(text: str) -> int:
    """The display width of a text; wide characters such as 中 count twice."""
    return sum(1 + (east_asian_width(c) in "WF") for c in text)


def plain(text: Any, most: int = 32) -> str:
    """Shorten a name to one line, and escape mathtext."""
    words = " ".join("".join(c if c.isprintable() or c.isspace() else "\ufffd" for c in str(text)).split())
    if letters(words) > most:
        words = words[: next(k for k in range(len(words), -1, -1) if letters(words[:k]) < most)] + "…"
    # A legend ignores labels that begin with an underscore.
    return (" " + words if words.startswith("_") else words).replace("$", r"\$")


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, not registered with pyplot."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def panels_of(
    n: int, width: float, height: float, columns: int | None = None, sharex: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure with ``n`` panels, and room for a legend on the right."""
    across = min(n, columns or (1 if n == 1 else 2 if n <= 4 else 3))
    down = -(-n // across)
    figure = new_figure(1.4 + width * across * (1 if across == 1 else 0.75), 0.6 + height * down)
    panels = figure.subplots(down, across, squeeze=False, sharex=sharex).ravel()
    for spare in panels[n:]:
        spare.remove()
    return figure, list(panels[:n])


def legend(figure: Figure, entries: Iterable[tuple[Any, Any, str]], where: str = "right upper", **more: Any) -> None:
    """Add a legend outside the panels, with entries (name, colour, sign), such as sign "(o)" for a hollow marker."""
    from matplotlib.lines import Line2D

    handles, names = [], []
    for name, colour, sign in entries:
        names.append(name)
        if sign in ("-", "--", ":"):
            handles.append(Line2D([], [], color=colour, ls=sign, lw=2))
        else:
            inside = "none" if sign.startswith("(") else colour
            handles.append(Line2D([], [], color=colour, ls="", marker=sign.strip("()"), ms=8, mfc=inside))
    if where.startswith("right"):
        # The figure has room for a dozen letters, and grows with longer or more names.
        width, height = figure.get_size_inches()
        more_width = max(0.0, 0.085 * (max(map(letters, names)) - 12))
        figure.set_size_inches(width + more_width, max(height, 0.4 + 0.23 * (len(names) + ("title" in more))))
    figure.legend(handles, names, loc=f"outside {where}", **{"frameon": False} | more)
