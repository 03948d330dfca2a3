"""Pictures of predictive checks: how far the rows are from the tables that the model makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesnb.inference.checks import PredictiveChecks
from bayesnb.plots.panels import AGAINST, FOR, GREY, legend, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def predictive_checks(found: PredictiveChecks, most: int = 20) -> Figure:
    r"""The checks that are farthest from what the model makes, as points beside the range that chance gives.

    Parameters
    ----------
    found : PredictiveChecks
        From ``checks.predictive_checks(clf, X, y)``.
    most : int
        How many checks to show.

    Returns
    -------
    Figure
        A line for each check, the worst on top. The point is the observed value, in standard deviations of the
        replicated tables from their mean. The band is the range in which all checks of 19 of 20 replicated tables lie.

    Raises
    ------
    ValueError
        If there is no check, or ``most`` is below 1.

    Examples
    --------
    >>> from bayesnb import BayesianNB, checks, datasets
    >>> X, y = datasets.play_tennis()
    >>> figure = predictive_checks(checks.predictive_checks(BayesianNB().fit(X, y), X, y))
    >>> figure.axes[0].get_title()
    'none of 12 checks speaks against the model'
    """
    if found.table.empty:
        raise ValueError("Expected at least one check; got none, so there is nothing to draw")
    if most < 1:
        raise ValueError(f"Expected most to be 1 or more; got {most!r}")
    shown = found.table.head(most)
    names = []
    for first, second, statistic, label in shown[["first", "second", "statistic", "class"]].itertuples(index=False):
        columns = plain(first, 22) if second is None else f"{plain(first, 18)}, {plain(second, 18)}"
        names.append(f"{plain(statistic)}: {columns} | {plain(label, 12)}")
    place, distance = -np.arange(len(shown)), shown["distance"].to_numpy()
    failed = shown["p_adjusted"].to_numpy() <= found.alarm
    figure = new_figure(4.4 + 0.065 * max(map(len, names)), 1.3 + 0.24 * max(4, len(shown)))
    axes = figure.subplots()
    # A finite picture of what no replicated table comes near to.
    edge = 1.15 * max(1.0, float(np.abs(distance[np.abs(distance) < 1e3]).max(initial=0.0)))
    if np.isfinite(found.threshold):
        axes.axvspan(-found.threshold, found.threshold, color=GREY, alpha=0.15, lw=0)
        edge = max(edge, 1.15 * found.threshold)
    axes.axvline(0, color=GREY, lw=0.8)
    at = np.clip(distance, -0.97 * edge, 0.97 * edge)
    for which, colour, marker in ((failed, AGAINST, "D"), (~failed, FOR, "o")):
        axes.plot(at[which], place[which], color=colour, marker=marker, ls="", ms=6)
    axes.set_yticks(place, names, fontsize=8)
    axes.set_ylim(place[-1] - 0.7, 0.7)
    axes.set_xlim(-edge, edge)
    axes.set_xlabel("observed value, in standard deviations\nof the replicated tables from their mean", fontsize=9)
    n, verb = len(found.failed), "speaks" if len(found.failed) < 2 else "speak"
    some = "" if len(shown) == len(found.table) else f"\nthe {len(shown)} that are farthest away"
    axes.set_title(f"{n or 'none'} of {len(found.table)} checks {verb} against the model{some}", fontsize=10)
    entries = [("speaks against the model", AGAINST, "D"), ("does not", FOR, "o")]
    legend(figure, entries, "lower right", ncols=2, fontsize=8)
    return figure
