"""Plots of single rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesnb.inference.contributions import in_one
from bayesnb.plots import panels
from bayesnb.wording import require_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@panels.takes("draws.sample_proba(clf, X), clf.classes_")
def class_probability(
    draws: Any, classes: Sequence[Any], rows: Sequence[int] | None = None, predictive: Any = None
) -> Figure:
    """Plot draws of p(class | row, θ), one panel per row.

    Parameters
    ----------
    draws : array (draw, row, class)
        From ``sample_proba``.
    classes : sequence (class,)
    rows : sequence of int, optional
        Positions of the rows to show; the first 8 by default.
    predictive : array (row, class), optional
        From ``predict_proba``, for the same rows as ``draws``; marked by a line and a triangle.

    Returns
    -------
    Figure
        All histograms are scaled to equal height.

    Raises
    ------
    ValueError
        If the shapes disagree, or a row does not exist.

    See Also
    --------
    arviz_plots.plot_ridge, arviz_plots.plot_forest : Similar plots in any ArviZ backend; ``arviz_base.from_dict``
    converts
        the draws.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets, draws
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> p = draws.sample_proba(clf, X)
    >>> figure = class_probability(p, clf.classes_, rows=[0, 2], predictive=clf.predict_proba(X))
    >>> len(figure.axes)
    2
    """
    draws = np.asarray(draws, float)
    if draws.ndim != 3 or not draws.size or draws.shape[2] != len(classes):
        raise ValueError(f"Expected draws (draw, row, class) of {len(classes)} classes; got shape {draws.shape}")
    marks = None if predictive is None else np.asarray(predictive, float)
    if marks is not None and marks.shape != draws.shape[1:]:
        raise ValueError(f"Expected predictive (row, class) of shape {draws.shape[1:]}; got {marks.shape}")
    shown = list(range(min(8, draws.shape[1]))) if rows is None else [int(row) for row in rows]
    if not shown or not all(0 <= row < draws.shape[1] for row in shown):
        raise ValueError(f"Expected rows from 0 to {draws.shape[1] - 1}, at least one; got {shown}")
    if len(shown) > panels.PANELS:
        raise ValueError(f"Expected at most {panels.PANELS} rows, for more cannot be read; got {len(shown)}")
    figure, axes_of_rows = panels.panels_of(len(shown), 7.0, 0.85, columns=1, sharex=True)
    colours, edges = panels.colours_of(len(classes)), np.linspace(0, 1, 51)
    for row, axes in zip(shown, axes_of_rows, strict=True):
        for c, colour in enumerate(colours):
            heights = np.histogram(draws[:, row, c], edges)[0]
            heights = heights / heights.max()
            axes.stairs(heights, edges, fill=True, color=colour, alpha=0.35)
            axes.stairs(heights, edges, color=colour, lw=1.2)
            if marks is not None:
                axes.axvline(marks[row, c], color=colour, lw=1.5)
                axes.plot(marks[row, c], 0, "^", color=colour, ms=9, mec="white", clip_on=False, zorder=5)
        axes.set(xlim=(0, 1), yticks=[])
        axes.set_ylabel(f"row {row}", rotation=0, ha="right", va="center")
        axes.spines[["top", "left", "right"]].set_visible(False)
    axes_of_rows[-1].set_xlabel("p(class | row, θ)")
    entries = [(panels.plain(label), colour, "-") for label, colour in zip(classes, colours, strict=True)]
    panels.legend(figure, entries if marks is None else [*entries, ("predictive", panels.GREY, "^")])
    return figure


@panels.takes("clf.explain(row)", "label", "against", "value", "log_odds", "lower", "upper", "missing")
def ledger(frame: pd.DataFrame, unit: str | None = None, entries: int = 20) -> Figure:
    """Plot as bars how much each value of a row contributes to the log-odds of two classes.

    Parameters
    ----------
    frame : DataFrame ((row, entry) or (entry,), ...)
        The result of ``explain`` for one row.
    unit : str, optional
        The unit of the axis; by default the unit in ``frame.attrs``.
    entries : int
        Maximum number of bars, besides (prior) and (total). If there are more contributions than bars, the last bar is
        the sum of the smallest ones.

    Returns
    -------
    Figure
        Bars to the right favour the class ``label``, bars to the left favour ``against``. Lines are intervals. A
        missing value has no bar. An infinite bar reaches the edge of the plot. The text 0/0 marks a value with
        probability 0 in both classes.

    Raises
    ------
    ValueError
        If the frame has several rows, or is not a result of ``explain``.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> figure = ledger(clf.explain(X[:1], unit="decibans"))
    >>> figure.axes[0].get_xlabel()
    'log-odds [decibans]'
    """
    lines, label, against = _one_ledger(frame)
    lines, unit = _shortened(lines, entries), frame.attrs.get("unit") if unit is None else unit
    names = [_entry(name, value, gone) for name, value, gone in lines[["entry", "value", "missing"]].to_numpy()]
    figure = panels.new_figure(max(7.5, 4.5 + 0.08 * max(map(panels.letters, names))), 1.3 + 0.34 * len(lines))
    axes = figure.subplots()
    size, place = lines["log_odds"].to_numpy(float), np.arange(len(lines))
    ends = lines[["lower", "upper"]].to_numpy(float)
    finite = np.concatenate([size, ends.ravel()])
    finite = finite[np.isfinite(finite)]
    far = 1.15 * (np.abs(finite).max(initial=0) or 1.0)
    bars = axes.barh(place, np.clip(size, -far, far), color=np.where(size < 0, panels.AGAINST, panels.FOR), height=0.66)
    known = np.isfinite(ends).any(axis=1) & ~lines["missing"].to_numpy(bool)
    axes.hlines(place[known], *np.clip(ends[known], -far, far).T, color="black", lw=1.3)
    for end in (0, 1):
        axes.plot(np.clip(ends[known, end], -far, far), place[known], "|", color="black", ms=6)
    for k in np.flatnonzero(np.isinf(size)):
        axes.text(0.97 * np.clip(size[k], -far, far), k, "−∞" if size[k] < 0 else "∞", weight="bold", va="center",
                  ha="left" if size[k] < 0 else "right", color=panels.ON_DARK)  # fmt: skip
    for k in np.flatnonzero(np.isnan(size)):
        axes.text(0, k, " 0/0", color=panels.GREY, va="center")
    bars[-1].set(edgecolor="black", linewidth=1.2)
    axes.axhline(len(lines) - 1.5, color="0.5", lw=0.8)
    axes.axvline(0, color="black", lw=0.8)
    axes.set_yticks(place, names)
    for text, gone in zip(axes.get_yticklabels(), lines["missing"], strict=True):
        text.set(color=panels.GREY if gone else "black", style="italic" if gone else "normal")
    axes.set(ylim=(len(lines) - 0.4, -0.6), xlim=(-1.04 * far, 1.04 * far))
    axes.set_xlabel(f"log-odds{f' [{unit}]' if unit else ''}")
    axes.set_title(f"← for {panels.plain(against, 20)}", loc="left", size=10, color=panels.AGAINST)
    axes.set_title(f"for {panels.plain(label, 20)} →", loc="right", size=10, color=panels.FOR)
    axes.spines[["top", "left", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return figure


def _one_ledger(frame: pd.DataFrame) -> tuple[pd.DataFrame, Any, Any]:
    entries = frame.index.get_level_values(-1).tolist()
    if entries[:1] != ["(prior)"] or entries[-1] != "(total)":
        raise ValueError(f"Expected the entries of a row from '(prior)' to '(total)'; got {entries[:20]}")
    if (rows := entries.count("(total)")) > 1:
        raise ValueError(f"Expected the ledger of one row; got {rows} rows: choose one, such as frame.loc[[row]]")
    lines = frame.reset_index(drop=True)
    lines.insert(0, "entry", pd.Series(entries, dtype=object))
    return lines, lines["label"].iloc[0], lines["against"].iloc[0]


def _shortened(lines: pd.DataFrame, entries: int) -> pd.DataFrame:
    require_whole(1, entries=entries)
    columns = lines.index[1:-1]
    if len(columns) <= entries:
        return lines
    order = lines.loc[columns, "log_odds"].abs().sort_values(ascending=False, kind="stable").index
    kept, rest = np.sort(order[: entries - 1]), order[entries - 1 :]
    return pd.concat([lines.iloc[[0]], lines.loc[kept], in_one(lines, rest), lines.iloc[[-1]]], ignore_index=True)


def _entry(name: Any, value: Any, missing: bool) -> str:
    if missing:
        return f"{panels.plain(name, 48)} (missing)"
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return panels.plain(name, 48)
    shown = f"{value:.7g}" if isinstance(value, float | np.floating) else panels.plain(value, 40)
    return f"{panels.plain(name, 48)} = {shown}"


@panels.takes("clf.uncertainty(X)", "prediction", "aleatoric", "epistemic")
def uncertainty_scatter(frame: pd.DataFrame) -> Figure:
    """Plot epistemic against aleatoric uncertainty, one point per row.

    Parameters
    ----------
    frame : DataFrame (row, ...)
        From ``uncertainty``, with ``prediction``, ``aleatoric`` and ``epistemic``.

    Returns
    -------
    Figure
        Entropies in nats, coloured by predicted class. The total entropy is constant along a dotted line.

    Raises
    ------
    ValueError
        If a column is missing, or there are no rows.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.penguins()
    >>> clf = BayesianNB(random_state=0).fit(X[::10], y[::10])
    >>> figure = uncertainty_scatter(clf.uncertainty(X))
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    ('aleatoric: expected entropy given θ [nats]', 'epistemic: entropy that knowing θ removes [nats]')
    """
    if not len(frame):
        raise ValueError("Expected at least one row; got none")
    figure, (axes,) = panels.panels_of(1, 7.0, 4.6)
    x, y = (frame[name].to_numpy(float) for name in ("aleatoric", "epistemic"))
    codes, classes = pd.factorize(frame["prediction"], sort=True)
    colours = panels.colours_of(len(classes))
    for c, colour in enumerate(colours):
        axes.scatter(
            x[codes == c], y[codes == c], s=34, color=colour, marker=panels.marker_of(c), alpha=0.75, ec="white", lw=0.4
        )
    right, top = 1.05 * x.max() or 0.1, 1.08 * y.max() or 0.1
    _equal_totals(axes, right, top)
    axes.set(xlim=(0, right), ylim=(0, top))
    axes.set(
        xlabel="aleatoric: expected entropy given θ [nats]", ylabel="epistemic: entropy that knowing θ removes [nats]"
    )
    entries = [(panels.plain(label), colours[c], panels.marker_of(c)) for c, label in enumerate(classes)]
    panels.legend(figure, [*entries, ("equal total", "0.5", ":")], title="predicted")
    return figure


def _equal_totals(axes: Axes, right: float, top: float) -> None:
    from matplotlib.ticker import MaxNLocator

    for total in MaxNLocator(7).tick_values(0, right + top):
        if 0 < total < right + top:
            axes.plot([0, total], [total, 0], ":", color="0.5", lw=1, zorder=0)
        if top <= total <= top + right:
            axes.text(total - top, top, f"{total:.3g}", color=panels.GREY, size=8, ha="center", va="bottom")
