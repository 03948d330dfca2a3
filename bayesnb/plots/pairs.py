"""Pictures of pairs of columns: which of them depend on each other given the class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesnb.dependence.audit import Independence
from bayesnb.numerics import Array
from bayesnb.plots.panels import GREY, ON_DARK, ON_LIGHT, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_COLUMNS = 40
"""Columns whose names can still be read side by side."""

MOST_NUMBERS = 14
"""Columns up to which every cell holds its number."""

NOTHING = (0.5, 0.5, 0.5, 0.16)
"""The colour of a pair whose dependence is not shown: grey that lets a light or a dark page shine through."""


def independence(found: Independence) -> Figure:
    r"""The mutual information of every pair of columns given the class, as a heat map.

    Parameters
    ----------
    found : Independence
        From ``checks.independence(clf, X, y)``.

    Returns
    -------
    Figure
        A cell for each pair, its colour the mutual information in nats. Pairs that do not show dependence are grey.
        Of more than 40 columns, those that depend most are shown.

    Raises
    ------
    ValueError
        If there is no pair.

    Examples
    --------
    >>> from bayesnb import BayesianNB, checks, datasets
    >>> X, y = datasets.penguins()
    >>> figure = independence(checks.independence(BayesianNB().fit(X, y), X, y))
    >>> figure.axes[0].get_title()
    '11 of 21 pairs depend on each other\ngiven the class'
    """
    if found.pairs.empty:
        raise ValueError("Expected at least one pair of columns; got none, so there is nothing to draw")
    columns = _shown(found)
    n = len(columns)
    information, dependent = _matrices(found, columns)
    size = min(0.6, 7.0 / (n - 1))
    names = [plain(column, 24) for column in columns]
    margin = 0.07 * max(map(len, names))
    figure = new_figure(max(4.8, 1.8 + margin + size * (n - 1)), max(3.4, 1.6 + margin + size * (n - 1)))
    # A square map is a little larger than its layout assumes.
    figure.get_layout_engine().set(h_pad=0.1)
    axes = figure.subplots()
    below = np.tri(n - 1, dtype=bool)
    axes.imshow(np.where(below & ~dependent, 0.0, np.nan), cmap=_plain_colour(), vmin=0, vmax=1)
    top = max(float(information[below].max()), 1e-9)
    image = axes.imshow(np.where(below & dependent, information, np.nan), cmap="viridis_r", vmin=0, vmax=top)
    letters = 9 if n <= MOST_NUMBERS else min(8.0, 45 * size - 2)
    axes.set_xticks(range(n - 1), names[:-1], rotation=90, fontsize=letters)
    axes.set_yticks(range(n - 1), names[1:], fontsize=letters)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if n <= MOST_NUMBERS:
        for row, column in np.argwhere(below):
            value, strong = information[row, column], dependent[row, column]
            dark = strong and value > 0.55 * top
            axes.text(
                column, row, f"{value:.2f}", ha="center", va="center", fontsize=7.5,
                color=ON_DARK if dark else ON_LIGHT if strong else GREY,
            )  # fmt: skip
    bar = figure.colorbar(image, ax=axes, shrink=0.8, pad=0.02)
    bar.set_label("mutual information\ngiven the class [nats]", fontsize=9)
    verb = "depends" if len(found.dependent) == 1 else "depend"
    title = f"{len(found.dependent)} of {len(found.pairs)} pairs {verb} on each other\ngiven the class"
    some = "" if n == len(found.columns) else f"\nthe {n} of {len(found.columns)} columns that depend most"
    axes.set_title(title + some, fontsize=10)
    axes.set_xlabel("grey: dependence is not shown", fontsize=9)
    return figure


def _shown(found: Independence) -> list[Any]:
    """The columns that are drawn, in the order of the table."""
    if len(found.columns) <= MOST_COLUMNS:
        return list(found.columns)
    ends = zip(found.pairs["first"], found.pairs["second"], strict=True)
    most = list(dict.fromkeys(column for pair in ends for column in pair))[:MOST_COLUMNS]
    return [column for column in found.columns if column in set(most)]


def _matrices(found: Independence, columns: list[Any]) -> tuple[Array, Array]:
    """The information, and whether the pair is dependent, (row, column): rows from the second column on."""
    place = {column: k for k, column in enumerate(columns)}
    information, dependent = np.zeros((2, len(columns) - 1, len(columns) - 1))
    pairs = found.pairs
    strong = pairs["log_bayes_factor"] > found.threshold
    for a, b, value, told in zip(pairs["first"], pairs["second"], pairs["information"], strong, strict=True):
        if a in place and b in place:
            i, j = sorted((place[a], place[b]))
            information[j - 1, i], dependent[j - 1, i] = value, told
    return information, dependent.astype(bool)


def _plain_colour() -> Any:
    from matplotlib.colors import ListedColormap

    return ListedColormap([NOTHING])
