"""Plots of model checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesnb.inference.independence import Independence
from bayesnb.inference.predictive_checks import PredictiveChecks
from bayesnb.inference.watch import Watch
from bayesnb.numerics import Array
from bayesnb.plots.panels import AGAINST, FOR, GREY, ON_DARK, ON_LIGHT, legend, letters, new_figure, plain, takes
from bayesnb.wording import require_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_COLUMNS = 40
"""Largest number of columns with readable names."""

MOST_NUMBERS = 14
"""Largest number of columns of a heat map with a number in each cell."""

NOTHING = (0.5, 0.5, 0.5, 0.16)
"""Colour of a pair without evidence of dependence, for light and dark pages."""

MOST_FACTORS = 30
"""Largest number of factors shown."""


@takes("checks.predictive_checks(clf, X, y)", "alarm")
def predictive_checks(found: PredictiveChecks, most: int = 20) -> Figure:
    r"""Plot the posterior predictive checks whose observed values deviate most from replicated tables.

    Parameters
    ----------
    found : PredictiveChecks
        From ``checks.predictive_checks(clf, X, y)``.
    most : int
        The largest number of checks to show.

    Returns
    -------
    Figure
        One point per check, the worst check on top. The point shows the distance of the observed value from the mean of
        replicated tables, in standard deviations. In 19 of 20 replicated tables, all checks lie in the grey band.

    Raises
    ------
    ValueError
        If there are no checks, or ``most`` is below 1.

    Examples
    --------
    >>> from bayesnb import BayesianNB, checks, datasets
    >>> X, y = datasets.play_tennis()
    >>> figure = predictive_checks(checks.predictive_checks(BayesianNB().fit(X, y), X, y))
    >>> figure.axes[0].get_title()
    'none of 12 checks fails'
    """
    if found.table.empty:
        raise ValueError("Expected at least one check; got none, so there is nothing to draw")
    require_whole(1, most=most)
    shown = found.table.head(most)
    names = []
    for first, second, statistic, label in shown[["first", "second", "statistic", "class"]].itertuples(index=False):
        columns = plain(first, 22) if second is None else f"{plain(first, 18)}, {plain(second, 18)}"
        names.append(f"{plain(statistic)}: {columns} | {plain(label, 12)}")
    place, distance = -np.arange(len(shown)), shown["distance"].to_numpy()
    failed = shown["p_adjusted"].to_numpy() <= found.alarm
    figure = new_figure(4.4 + 0.065 * max(map(letters, names)), 1.3 + 0.24 * max(4, len(shown)))
    axes = figure.subplots()
    # Limit the axis: some observed values are far outside all replicated tables.
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
    n, verb = len(found.failed), "fails" if len(found.failed) < 2 else "fail"
    some = "" if len(shown) == len(found.table) else f"\nthe {len(shown)} that are farthest away"
    axes.set_title(f"{f'{n:,}' if n else 'none'} of {len(found.table):,} checks {verb}{some}", fontsize=10)
    entries = [("fails", AGAINST, "D"), ("does not", FOR, "o")]
    legend(figure, entries, "lower right", ncols=2, fontsize=8)
    return figure


@takes("checks.independence(clf, X, y)", "pairs")
def independence(found: Independence) -> Figure:
    r"""Plot the mutual information of each pair of columns given the class, as a heat map.

    Parameters
    ----------
    found : Independence
        From ``checks.independence(clf, X, y)``.

    Returns
    -------
    Figure
        The colour of a cell is the mutual information in nats. Grey means no evidence of dependence. Only the 40 most
        dependent columns are shown.

    Raises
    ------
    ValueError
        If there are no pairs.

    Examples
    --------
    >>> from bayesnb import BayesianNB, checks, datasets
    >>> X, y = datasets.penguins()
    >>> figure = independence(checks.independence(BayesianNB().fit(X, y), X, y))
    >>> figure.axes[0].get_title()
    '11 of 21 pairs depend on each other\ngiven the class'
    """
    from matplotlib.colors import ListedColormap

    if found.pairs.empty:
        raise ValueError("Expected at least one pair of columns; got none, so there is nothing to draw")
    columns = _shown(found)
    n = len(columns)
    information, dependent = _matrices(found, columns)
    size = min(0.6, 7.0 / (n - 1))
    names = [plain(column, 24) for column in columns]
    margin = 0.07 * max(map(letters, names))
    figure = new_figure(max(4.8, 1.8 + margin + size * (n - 1)), max(3.4, 1.6 + margin + size * (n - 1)))
    # A square map needs slightly more space than its layout assumes.
    figure.get_layout_engine().set(h_pad=0.1)
    axes = figure.subplots()
    below = np.tri(n - 1, dtype=bool)
    axes.imshow(np.where(below & ~dependent, 0.0, np.nan), cmap=ListedColormap([NOTHING]), vmin=0, vmax=1)
    top = max(float(information[below].max()), 1e-9)
    image = axes.imshow(np.where(below & dependent, information, np.nan), cmap="viridis_r", vmin=0, vmax=top)
    points = 9 if n <= MOST_NUMBERS else min(8.0, 45 * size - 2)
    axes.set_xticks(range(n - 1), names[:-1], rotation=90, fontsize=points)
    axes.set_yticks(range(n - 1), names[1:], fontsize=points)
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
    title = f"{len(found.dependent):,} of {len(found.pairs):,} pairs {verb} on each other\ngiven the class"
    some = "" if n == len(found.columns) else f"\nthe {n} of {len(found.columns)} columns that depend most"
    axes.set_title(title + some, fontsize=10)
    axes.set_xlabel("grey: dependence is not shown", fontsize=9)
    return figure


def _shown(found: Independence) -> list[Any]:
    if len(found.columns) <= MOST_COLUMNS:
        return list(found.columns)
    ends = zip(found.pairs["first"], found.pairs["second"], strict=True)
    most = list(dict.fromkeys(column for pair in ends for column in pair))[:MOST_COLUMNS]
    return [column for column in found.columns if column in set(most)]


def _matrices(found: Independence, columns: list[Any]) -> tuple[Array, Array]:
    place = {column: k for k, column in enumerate(columns)}
    information, dependent = np.zeros((2, len(columns) - 1, len(columns) - 1))
    pairs = found.pairs
    strong = pairs["log_bayes_factor"] > found.threshold
    for a, b, value, told in zip(pairs["first"], pairs["second"], pairs["information"], strong, strict=True):
        if a in place and b in place:
            i, j = sorted((place[a], place[b]))
            information[j - 1, i], dependent[j - 1, i] = value, told
    return information, dependent.astype(bool)


@takes("checks.sensitivity(clf, X)", "prior", "likelihood")
def sensitivity(table: pd.DataFrame) -> Figure:
    """Plot how much class probabilities change when the power of a prior or likelihood is doubled.

    Parameters
    ----------
    table : DataFrame
        From ``checks.sensitivity(clf, X)``.

    Returns
    -------
    Figure
        One line per factor of the model (a feature or the class probabilities), and a last line for all factors
        together. For each row, the largest change of a class probability is computed; markers show the mean (filled)
        and the maximum (hollow) over the rows. At most 30 lines are shown, for the most influential priors.

    Raises
    ------
    ValueError
        If ``table`` is not from ``sensitivity`` with ``by="factor"``.

    Examples
    --------
    >>> from bayesnb import BayesianNB, checks, datasets
    >>> X, y = datasets.play_tennis()
    >>> figure = sensitivity(checks.sensitivity(BayesianNB().fit(X, y), X, scaling="rows"))
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['(class)', 'outlook', 'temperature', 'humidity', 'wind', '(all)']
    """
    wanted = [(part, name) for part in ("prior", "likelihood") for name in ("mean", "largest")]
    if not set(wanted) <= set(table.columns):
        raise ValueError("Expected the table of checks.sensitivity(clf, X), one line for each factor")
    shown = table
    if len(table) > MOST_FACTORS:
        first = np.argsort(-table["prior", "largest"].to_numpy()[:-1], kind="stable")[: MOST_FACTORS - 1]
        shown = table.iloc[[*np.sort(first), len(table) - 1]]
    names = [plain(name, 28) for name in shown.index]
    figure = new_figure(4.9 + 0.09 * max(map(letters, names)), 1.4 + 0.32 * len(shown))
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


@takes("checks.watch(clf).update(X, y)", "lines")
def watch(found: Watch, most: int = 8) -> Figure:
    r"""Plot how the evidence that a stream no longer follows the model changes from row to row.

    Parameters
    ----------
    found : Watch
        From ``checks.watch(clf).update(X, y)``.
    most : int
        The largest number of lines; lines with the highest peaks are shown.

    Returns
    -------
    Figure
        One line per column and class: its log e-value. A line that reaches the dashed line raises an alarm.
        A column of dates raises an alarm only if dates are earlier than the learned dates.

    Raises
    ------
    ValueError
        If no row has been seen, or ``most`` is below 1.

    Examples
    --------
    >>> from bayesnb import BayesianNB, checks, datasets
    >>> X, y = datasets.penguins()
    >>> figure = watch(checks.watch(BayesianNB().fit(X[::2], y[::2])).update(X[1::2], y[1::2]))
    >>> figure.axes[0].get_xlabel()
    'rows of the stream'
    """
    require_whole(1, most=most)
    shown = sorted((line for line in found.lines if line.path), key=lambda line: -line.log_largest)[:most]
    if not shown:
        raise ValueError("Expected a watch of at least one row; got none, so there is nothing to draw")
    figure = new_figure(6.4, 3.6)
    axes = figure.subplots()
    for line in shown:
        name = plain(line.column, 22) + ("" if line.label is None else f" | {plain(line.label, 12)}")
        axes.plot(*np.concatenate(line.path, axis=1), lw=1.2, label=name)
    axes.axhline(np.log(len(found.lines) / found.level), color=AGAINST, ls="--", lw=1)
    axes.axhline(0, color=GREY, lw=0.8)
    axes.set_xlabel("rows of the stream")
    axes.set_ylabel("log e-value")
    axes.set_title(plain(str(found), 90), fontsize=9)
    axes.legend(fontsize=7)
    return figure


@takes("checks.forests(clf)", "probability")
def forest(found: pd.DataFrame, least: float = 0.1) -> Figure:
    r"""Plot the edges between columns as a graph; probable edges are dark and thick.

    Parameters
    ----------
    found : DataFrame
        From ``checks.forests(clf)``. Probabilities are averaged over the classes.
    least : float
        Edges with a smaller probability are not drawn.

    Returns
    -------
    Figure
        The columns are on a circle in alphabetical order.

    Raises
    ------
    ValueError
        If there are no edges, or ``least`` is not a probability.

    Examples
    --------
    >>> from bayesnb import BayesianNB, checks, datasets
    >>> X, y = datasets.penguins()
    >>> figure = forest(checks.forests(BayesianNB(dependence="forests").fit(X, y)))
    >>> len(figure.axes[0].texts)
    7
    """
    if found.empty:
        raise ValueError("Expected at least two columns with cells; there are no edges to draw")
    if not 0 <= least <= 1:
        raise ValueError(f"Expected least to be between 0 and 1; got {least!r}")
    edges = found.groupby(["first", "second"], sort=False)["probability"].mean()
    columns = sorted({*found["first"], *found["second"]}, key=str)
    angle = dict(zip(columns, 2 * np.pi * np.arange(len(columns)) / len(columns), strict=True))
    figure = new_figure(5.6, 5.0)
    axes = figure.subplots()
    for (first, second), p in edges[edges >= least].items():
        ends = np.array([angle[first], angle[second]])
        axes.plot(np.cos(ends), np.sin(ends), color=FOR, alpha=0.15 + 0.85 * p, lw=0.5 + 3 * p, zorder=1)
    for column, at in angle.items():
        axes.plot(np.cos(at), np.sin(at), "o", color=GREY, ms=6, zorder=2)
        side = "center" if abs(np.cos(at)) < 0.3 else "left" if np.cos(at) > 0 else "right"
        axes.text(1.08 * np.cos(at), 1.08 * np.sin(at), plain(column, 22), ha=side, va="center", fontsize=8)
    n = int((edges > 0.5).sum())
    axes.set_title(f"{n} edge{'' if n == 1 else 's'} of {len(edges)} more probable than not", fontsize=10)
    axes.set_xlim(-1.9, 1.9)
    axes.set_ylim(-1.3, 1.3)
    axes.set_axis_off()
    return figure
