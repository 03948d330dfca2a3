"""Pictures of how much each prior matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesnb.plots.panels import AGAINST, FOR, legend, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 30
"""Factors that are shown: of more, those whose priors matter most, and all together."""


def sensitivity(table: pd.DataFrame) -> Figure:
    """The change of class probabilities with each doubling of the power of a prior, and of its likelihood.

    Parameters
    ----------
    table : DataFrame
        From ``checks.sensitivity(clf, X)``.

    Returns
    -------
    Figure
        A line for each factor of the model, the last all of them together: a filled marker at the mean over the rows
        of the largest change of a class probability, and a hollow one at the largest over the rows. Of more than 30
        factors, those whose priors matter most are shown.

    Raises
    ------
    ValueError
        If the table is not one of ``sensitivity`` by factor.

    Examples
    --------
    >>> from bayesnb import BayesianNB, checks, datasets
    >>> X, y = datasets.play_tennis()
    >>> figure = sensitivity(checks.sensitivity(BayesianNB().fit(X, y), X, scaling="rows"))
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['(class)', 'outlook', 'temperature', 'humidity', 'wind', '(all)']
    """
    wanted = [(part, name) for part in ("prior", "likelihood") for name in ("mean", "largest")]
    if not isinstance(table, pd.DataFrame) or not set(wanted) <= set(table.columns):
        raise ValueError("Expected the table of checks.sensitivity(clf, X), one line for each factor")
    shown = table
    if len(table) > MOST:
        first = np.argsort(-table["prior", "largest"].to_numpy()[:-1], kind="stable")[: MOST - 1]
        shown = table.iloc[[*np.sort(first), len(table) - 1]]
    names = [plain(name, 28) for name in shown.index]
    figure = new_figure(5.2 + 0.06 * max(map(len, names)), 1.4 + 0.32 * len(shown))
    axes = figure.subplots()
    for part, colour, marker, shift in (("prior", AGAINST, "D", 0.14), ("likelihood", FOR, "o", -0.14)):
        place = -np.arange(len(shown)) + shift
        mean, largest = shown[part, "mean"], shown[part, "largest"]
        axes.hlines(place, mean, largest, color=colour, lw=1.2)
        axes.plot(mean, place, color=colour, marker=marker, ls="", ms=6)
        axes.plot(largest, place, color=colour, marker=marker, ls="", ms=6, mfc="white")
    axes.set_yticks(-np.arange(len(shown)), names)
    axes.set_xlim(left=0)
    axes.margins(x=0.05)
    axes.set_xlabel("change of a class probability with each doubling of the power")
    some = "" if len(shown) == len(table) else f"\nthe {len(shown) - 1} of {len(table) - 1} priors that matter most"
    axes.set_title(f"How much the priors and the rows matter{some}", fontsize=10)
    entries = [("prior, mean of the rows", AGAINST, "D"), ("prior, largest", AGAINST, "(D)")]
    entries += [("likelihood, mean of the rows", FOR, "o"), ("likelihood, largest", FOR, "(o)")]
    legend(figure, entries, "lower center", ncols=2, fontsize=8)
    return figure
