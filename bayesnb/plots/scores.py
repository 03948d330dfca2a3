"""Plots of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesnb.inference import scoring
from bayesnb.inference.draws import probability_of_interval
from bayesnb.model import ESTIMATES
from bayesnb.plots import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FORECASTS = "clf.predict_proba(X), pd.Categorical(y, clf.classes_).codes"

reliability_table = panels.takes(FORECASTS)(scoring.reliability_table)


@panels.takes(FORECASTS)
def reliability(proba: Any, codes: Any, bins: int = 10, code: int | None = None, prob: float | None = None) -> Figure:
    """Plot how often predictions are correct, by predicted probability.

    Parameters
    ----------
    proba : array (row, class)
        Predictions of held-out rows, or leave-one-out predictions, ``clf.loo(X, y)["probability"]``.
    codes : int array (row,)
        Position of each row's true class.
    bins : int
        Number of intervals of equal width.
    code : int, optional
        Position of the class whose probability is plotted; by default, the most probable class of each row.
    prob : float, optional
        Probability of the binomial error bars; ArviZ's ``stats.ci_prob`` (0.89) by default.

    Raises
    ------
    ValueError
        If the shapes disagree, or a probability or a code is invalid.

    See Also
    --------
    sklearn.calibration.CalibrationDisplay : A calibration curve for two classes, without error bars.
    arviz_plots.plot_ppc_pava : A calibration plot without bins, computed from posterior predictive draws; plotly and
        bokeh can draw this plot, too.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.penguins()
    >>> left_out = BayesianNB().fit(X, y).loo(X, y)["probability"]
    >>> figure = reliability(left_out, y.factorize(sort=True)[0])
    >>> figure.axes[0].get_ylabel()
    'share of rows where the predicted class is true'
    """
    table = reliability_table(proba, codes, bins, code, prob)
    figure = panels.new_figure(5.2, 5.2)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3.5, 1])
    above.plot([0, 1], [0, 1], color="0.7", lw=1)
    errors = np.abs(table[["lower", "upper"]].to_numpy().T - table["share"].to_numpy())
    above.errorbar(table["confidence"], table["share"], yerr=errors, fmt="o", ms=5, lw=1.3, capsize=3, color=panels.FOR)
    above.plot(table["confidence"], table["share"], color=panels.FOR, lw=1.3, alpha=0.35)
    what = "the predicted class" if code is None else f"class {code}"
    share = f"{probability_of_interval(prob):.0%}"
    above.set(ylim=(-0.03, 1.03), ylabel=f"share of rows where {what} is true", title=f"reliability, {share} intervals")
    below.bar(table["from"], table["rows"], np.diff(table[["from", "to"]])[:, 0], align="edge", color="0.6", ec="white")
    below.set(xlim=(-0.02, 1.02), ylabel="rows", xlabel=f"probability of {what}")
    below.yaxis.get_major_locator().set_params(integer=True, nbins=3)
    return figure


@panels.takes("plug_in.predict_proba(X), clf.predict_proba(X), clf.classes_")
def map_against_bayes(
    plug_in: Any, predictive: Any = None, classes: Sequence[Any] | None = None, estimate: str = "map"
) -> Figure:
    """Plot plug-in probabilities against full-Bayes probabilities, row by row.

    Parameters
    ----------
    plug_in : DataFrame ((row, class), ...) or array (row, class)
        Class probabilities under a plug-in estimate, NaN for impossible rows. If this is the frame
        ``Agreement.plug_ins``, omit ``predictive`` and ``classes``.
    predictive : array (row, class), optional
        The probabilities of full Bayes.
    classes : sequence (class,), optional
        The names of the classes; by default, their positions.
    estimate : {"map", "mean", ...}
        The plug-in estimate: a column of the frame, and the label of the axis.

    Returns
    -------
    Figure
        With two classes, only the second class is shown. On the diagonal line, the plug-in estimate and full Bayes
        agree. A circle marks a row for which the two predictions differ.

    Raises
    ------
    ValueError
        If the shapes differ, or there is nothing to compare.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> counted = BayesianNB(estimate="mle").fit(X, y)
    >>> figure = map_against_bayes(counted.predict_proba(X), clf.predict_proba(X), clf.classes_, estimate="mle")
    >>> figure.axes[0].get_ylabel()
    'plug-in (MLE)'
    """
    if isinstance(plug_in, pd.DataFrame) and predictive is None:
        if missing := [name for name in (estimate, "predictive") if name not in plug_in]:
            raise ValueError(f"Expected a frame with a column {missing[0]!r}; it has {list(plug_in.columns)}")
        classes = list(dict.fromkeys(plug_in.index.get_level_values("class")))
        plug_in, predictive = (plug_in[name].to_numpy().reshape(-1, len(classes)) for name in (estimate, "predictive"))
    y, x = np.asarray(plug_in, float), np.asarray(predictive, float)
    if x.ndim != 2 or x.shape != y.shape or not x.size:
        raise ValueError(f"Expected two arrays (row, class) of one shape; got shapes {y.shape} and {x.shape}")
    names = range(x.shape[1]) if classes is None else classes
    if len(names) != x.shape[1]:
        raise ValueError(f"Expected {x.shape[1]} classes; got {list(names)}")
    possible = ~np.isnan(y).any(axis=1)
    if not possible.any():
        raise ValueError("the plug-in gives every row probability 0, so there is nothing to compare")
    x, y = x[possible], y[possible]
    other = x.argmax(axis=1) != y.argmax(axis=1)
    figure, (axes,) = panels.panels_of(1, 6.2, 4.6)
    axes.axline((0, 0), slope=1, color="0.7", lw=1, zorder=0)
    first = 1 if x.shape[1] == 2 else 0
    colours = panels.colours_of(x.shape[1])
    entries = []
    for c in range(first, x.shape[1]):
        axes.scatter(x[:, c], y[:, c], s=26, color=colours[c], marker=panels.marker_of(c), alpha=0.7, lw=0)
        axes.scatter(x[other, c], y[other, c], s=90, facecolor="none", edgecolor="black", lw=1.2)
        entries.append((f"p({panels.plain(names[c])})", colours[c], panels.marker_of(c)))
    entries.append((f"another class is predicted\n({int(other.sum()):,} of {len(x):,} rows)", "black", "(o)"))
    title = "" if possible.all() else f"{int((~possible).sum())} rows are impossible by the plug-in, and not shown"
    name = ESTIMATES[estimate].label if estimate in ESTIMATES else estimate
    axes.set(
        xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), title=title,
        xlabel="full Bayes (predictive)", ylabel=f"plug-in ({name})",
    )  # fmt: skip
    panels.legend(figure, entries)
    return figure


@panels.takes("design.worth_of_rows(clf, [0, 100, 1000])", "loss")
def worth_of_rows(found: pd.DataFrame) -> Figure:
    """Plot the expected loss, and the regret of each plug-in estimate, against the number of rows.

    Parameters
    ----------
    found : DataFrame
        The result of :func:`bayesnb.design.worth_of_rows` for at least two numbers of rows.

    Returns
    -------
    Figure
        The expected loss per row (left), with a band if ``found`` has intervals, and the regret of each plug-in
        estimate (right). A regret below the dashed line is negligible.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets, design
    >>> X, y = datasets.heights()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> figure = worth_of_rows(design.worth_of_rows(clf, [0, 40, 400], draws=20))
    >>> figure.axes[1].get_ylabel()
    'regret beside full Bayes'
    """
    rows = found.index.to_numpy() + found.attrs["learned"]
    figure, (left, right) = panels.panels_of(2, 4.8, 3.6)
    banded = "lower" in found
    if banded:
        left.fill_between(rows, found["lower"], found["upper"], color=panels.FOR, alpha=0.18, lw=0)
    left.plot(rows, found["loss"], "o-", color=panels.FOR, ms=4)
    left.set(
        xscale="log", xlabel="rows learned", ylabel="loss of a row",
        ylim=(0, 1.1 * found["upper" if banded else "loss"].max()),
        title="full Bayes" + f", with the {found.attrs['prob']:.0%} band" * banded,
    )  # fmt: skip
    entries, infinite = [], []
    for k, estimate in enumerate(name for name in ESTIMATES if f"regret of {name}" in found):
        regret, colour = found[f"regret of {estimate}"], panels.colours_of(4)[k + 1]
        infinite += [ESTIMATES[estimate].label] * bool(np.isinf(regret).any())
        if (regret[np.isfinite(regret)] > 0).any():
            right.plot(rows, regret, color=colour, marker=panels.marker_of(k), ms=5)
            entries.append((ESTIMATES[estimate].label, colour, panels.marker_of(k)))
    right.axhline(found.attrs["bound"], color="0.6", lw=1, ls="--")
    right.set(xscale="log", yscale="log", xlabel="rows learned", ylabel="regret beside full Bayes")
    right.set_title("plug-ins" + (f"; infinite: {', '.join(infinite)}" if infinite else ""))
    for axes in (left, right):
        axes.minorticks_off()
        axes.set_xticks(rows, [f"{n:,.0f}" for n in rows])
    panels.legend(figure, [*entries, ("does not matter", "0.6", "--")])
    return figure
