"""Results as pictures: each function takes what the estimator or an evaluation returned, and returns a Figure.

Start with :func:`ledger`, for one row, and :func:`reliability`, for all of them. Nothing is shown and nothing is kept
by pyplot; ``figure.savefig`` writes a picture, and a notebook shows it after ``%matplotlib inline``. The colours are
those of Okabe and Ito (2008), which colour-blind readers can tell apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import beta, entropy

from bayesnb.model import ESTIMATES
from bayesnb.priors import Array
from bayesnb.scoring import log_proba_of
from bayesnb.tables import Table
from bayesnb.targets import codes_of
from bayesnb.uncertainty import probability_of_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from xarray import DataArray, DataTree

    from bayesnb.estimator import BayesianNB

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
FOR, AGAINST, GREY = OKABE_ITO[0], OKABE_ITO[1], "#666666"
MARKERS = "os^DvPX*"

PANELS = 24
"""More panels than this in one picture cannot be read."""


def prior_posterior(tree: DataTree, variable: str, **selection: Any) -> Figure:
    """Prior to posterior of a parameter, by class.

    Parameters
    ----------
    tree : DataTree
        From ``sample_posterior`` or PyMC, with a group ``posterior`` and, where it is proper, ``prior``.
    variable : str
        One of the tree, such as ``"pi"`` or ``"mu_gaussian"``.
    **selection
        Coordinates to keep, such as ``gaussian_feature="bill_length_mm"``; a list keeps several. What is left besides
        the class has a panel each.

    Returns
    -------
    Figure
        A density for each class, in the unit of the parameter; the prior is dashed. A panel is as wide as the
        posteriors and half as much on either side: what a prior has beyond is not in sight.

    Raises
    ------
    ValueError
        If the tree has no such variable, dimension or coordinate, or the panels are too many to read.

    See Also
    --------
    arviz_plots.plot_prior_posterior : One panel a class, as wide as the prior, and also in plotly and bokeh.
    arviz_plots.plot_dist : With ``aes={"color": ["class_label"]}``, the posteriors by class.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> figure = prior_posterior(clf.sample_posterior(draws=500), "pi")
    >>> figure.axes[0].get_xlabel()
    'pi'
    """
    posterior = _selected(tree, "posterior", variable, selection)
    prior = _selected(tree, "prior", variable, selection) if "prior" in tree.children else None
    classes = (
        [str(label) for label in np.atleast_1d(posterior["class_label"])] if "class_label" in posterior.coords else [""]
    )
    figure, panels = _grid(posterior.shape[2], 4.2, 2.8)
    colours = _colours(len(classes))
    for k, axes in enumerate(panels):
        after = posterior.to_numpy()[:, :, k]
        before = None if prior is None else prior.to_numpy()[:, :, k]
        _two_densities(axes, after, before, colours)
        axes.set(xlabel=_plain(variable), ylabel="density", title=_plain(posterior["panel"].to_numpy()[k]))
        axes.locator_params(axis="x", nbins=4)
        axes.ticklabel_format(axis="x", useOffset=False)
    handles = [_line(colour) for colour in colours]
    labels = [_plain(name) for name in classes]
    if prior is not None:
        handles, labels = [*handles, _line(GREY), _line(GREY, "--")], [*labels, "posterior", "prior"]
    figure.legend(handles, labels, loc="outside right upper", frameon=False)
    return figure


def _selected(tree: DataTree, group: str, variable: str, selection: dict[str, Any]) -> DataArray:
    """Draws of a variable as (sample, class, panel), the panels named."""
    held = tree[group].dataset
    if variable not in held:
        raise ValueError(f"Expected a variable of the tree, one of {list(held.data_vars)}; got {variable!r}")
    values = held[variable]
    for dim, wanted in selection.items():
        if dim not in values.dims or dim in ("chain", "draw"):
            rest = [d for d in values.dims if d not in ("chain", "draw")]
            raise ValueError(f"Expected a dimension of {variable!r}, one of {rest}; got {dim!r}")
        known = values[dim].to_numpy().tolist()
        if odd := [name for name in np.atleast_1d(wanted).tolist() if name not in known]:
            raise ValueError(f"Expected {dim} to be of {known[:20]}; got {odd[0]!r}")
        values = values.sel({dim: np.atleast_1d(wanted)})
    inner = [dim for dim in values.dims if dim not in ("chain", "draw", "class_label")]
    titles = _titles(tree, values, inner)
    if len(titles) > PANELS:
        raise ValueError(
            f"{variable!r} has {len(titles)} panels, and more than {PANELS} cannot be read: keep some, such as "
            f"{inner[0]}={str(values[inner[0]].to_numpy()[0])!r}"
        )
    if "class_label" not in values.dims:
        values = values.expand_dims("class_label")
    values = values.stack(sample=("chain", "draw"), create_index=False)
    values = values.stack(panel=inner, create_index=False) if inner else values.expand_dims("panel")
    return values.transpose("sample", "class_label", "panel").assign_coords(panel=titles)


def _titles(tree: DataTree, values: DataArray, inner: Sequence[str]) -> list[str]:
    """A title for each panel; a category that columns share goes by the name that its own column has for it."""
    titles = [""]
    for dim in inner:
        titles = [f"{title}, {name}" if title else str(name) for title in titles for name in values[dim].to_numpy()]
    shared = f"level_{inner[-1].removesuffix('_category')}" if inner else ""
    if "constant_data" not in tree.children or shared not in tree["constant_data"].dataset:
        return titles
    levels = tree["constant_data"].dataset[shared].sel({dim: values[dim].to_numpy() for dim in inner})
    return [
        f"{column}, {name}"
        for column, row in zip(values[inner[0]].to_numpy(), levels, strict=True)
        for name in row.to_numpy()
    ]


def _two_densities(axes: Axes, after: Array, before: Array | None, colours: Sequence[Any]) -> None:
    """Densities of draws (sample, class), those of the posterior filled."""
    low, high = np.quantile(after, [0.005, 0.995], axis=0)
    low, high = low.min(), high.max()
    everything = after if before is None else np.concatenate([after, before])
    half = (high - low) / 2 or 0.5 * abs(low) or 0.5
    window = max(low - half, everything.min()), min(high + half, everything.max())
    if not window[0] < window[1]:
        window = low - half, high + half
    tallest = {"-": 0.0, "--": 0.0}
    for style, draws in (("--", before), ("-", after)):
        for colour, x in zip(colours, () if draws is None else draws.T, strict=draws is not None):
            if np.ptp(x) == 0:
                axes.axvline(x[0], color=colour, ls=style)
                continue
            grid, density = _density(x, window)
            tallest[style] = max(tallest[style], density.max())
            axes.plot(grid, density, color=colour, ls=style, lw=1.5)
            if style == "-":
                axes.fill_between(grid, density, color=colour, alpha=0.25, lw=0)
    # A prior may rise without bound at the end of its range; the posterior is what must stay readable.
    top = min(max(tallest.values()), 2 * tallest["-"] or np.inf)
    axes.set(xlim=window, ylim=(0, 1.08 * top if top > 0 else 1))


def _density(x: Array, window: tuple[float, float]) -> tuple[Array, Array]:
    """Kernel density of the draws within a window, as a part of all draws."""
    from arviz_stats.base import array_stats

    inside = x[(window[0] <= x) & (x <= window[1])]
    if len(inside) < 2 or np.ptp(inside) == 0:
        return np.array(window), np.zeros(2)
    grid, density, _ = array_stats.kde(inside, custom_lims=window, bound_correction=True)
    return grid, density * len(inside) / len(x)


def class_probability(
    draws: Any, classes: Sequence[Any], rows: Sequence[int] | None = None, predictive: Any = None
) -> Figure:
    """Draws of p(class | row, θ), a panel a row: how well each class probability is known.

    Parameters
    ----------
    draws : array (draw, row, class)
        From ``sample_proba``.
    classes : sequence (class,)
    rows : sequence of int, optional
        Positions of the rows to show; the first 8 by default.
    predictive : array (row, class), optional
        From ``predict_proba``, of the same rows as ``draws``: marked with a line and a triangle.

    Returns
    -------
    Figure
        Histograms, each as high as the others: a class that is nearly ruled out does not flatten the rest.

    Raises
    ------
    ValueError
        If the shapes do not fit, or a row is not there.

    See Also
    --------
    arviz_plots.plot_ridge, arviz_plots.plot_forest : Of the draws through ``arviz_base.from_dict``, in any backend.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> figure = class_probability(clf.sample_proba(X), clf.classes_, rows=[0, 2], predictive=clf.predict_proba(X))
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
    if len(shown) > PANELS:
        raise ValueError(f"Expected at most {PANELS} rows, for more cannot be read; got {len(shown)}")
    figure, panels = _grid(len(shown), 7.0, 0.85, columns=1, sharex=True)
    colours, edges = _colours(len(classes)), np.linspace(0, 1, 51)
    for row, axes in zip(shown, panels, strict=True):
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
    panels[-1].set_xlabel("p(class | row, θ)")
    handles, labels = [_line(colour) for colour in colours], [_plain(label) for label in classes]
    if marks is not None:
        handles, labels = [*handles, _point(GREY, "^")], [*labels, "predictive"]
    figure.legend(handles, labels, loc="outside right upper", frameon=False)
    return figure


def map_against_bayes(
    plug_in: Any, predictive: Any = None, classes: Sequence[Any] | None = None, estimate: str = "map"
) -> Figure:
    """A plug-in against full Bayes, row by row.

    Parameters
    ----------
    plug_in : DataFrame ((row, class), ...) or array (row, class)
        The frame of ``Agreement.plug_ins``, with columns ``predictive`` and the estimate; or the probabilities of the
        plug-in, a row it calls impossible being NaN.
    predictive : array (row, class), optional
        Of full Bayes, for arrays.
    classes : sequence (class,), optional
        For arrays; their positions by default.
    estimate : {"map", "mean", ...}
        Column of the frame, and name on the axis.

    Returns
    -------
    Figure
        Of two classes, the probability of the second; of more, a colour each. On the line both are equal. Rows whose
        predicted class differs are ringed.

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
        raise ValueError("the plug-in calls every row impossible: there is nothing to compare")
    x, y = x[possible], y[possible]
    other = x.argmax(axis=1) != y.argmax(axis=1)
    figure, (axes,) = _grid(1, 6.2, 4.6)
    axes.axline((0, 0), slope=1, color="0.7", lw=1, zorder=0)
    first = 1 if x.shape[1] == 2 else 0
    colours = _colours(x.shape[1])
    handles, labels = [], []
    for c in range(first, x.shape[1]):
        axes.scatter(x[:, c], y[:, c], s=26, color=colours[c], marker=_marker(c), alpha=0.7, lw=0)
        axes.scatter(x[other, c], y[other, c], s=90, facecolor="none", edgecolor="black", lw=1.2)
        handles.append(_point(colours[c], _marker(c)))
        labels.append(f"p({_plain(names[c])})")
    handles.append(_point("black", "o", hollow=True))
    labels.append(f"another class is predicted\n({int(other.sum())} of {len(x)} rows)")
    title = "" if possible.all() else f"{int((~possible).sum())} rows are impossible by the plug-in, and not shown"
    name = ESTIMATES[estimate].label if estimate in ESTIMATES else estimate
    axes.set(
        xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), title=title,
        xlabel="full Bayes (predictive)", ylabel=f"plug-in ({name})",
    )  # fmt: skip
    figure.legend(handles, labels, loc="outside right upper", frameon=False)
    return figure


def reliability_table(
    proba: Any, codes: Any, bins: int = 10, code: int | None = None, prob: float | None = None
) -> pd.DataFrame:
    """What :func:`reliability` shows, as numbers.

    Returns
    -------
    DataFrame (bin, ...)
        Of the bins that hold a row: ``from`` and ``to``, their ends; ``rows``; ``confidence``, the mean probability;
        ``share``, how often the class was the true one; ``lower`` and ``upper``, of that share. The bins are those of
        :func:`bayesnb.scoring.calibration_error`.

    Notes
    -----
    The interval is equal-tailed, of a Beta(k + 1/2, n - k + 1/2), its end at 0 or 1 where k is 0 or n (Brown, Cai and
    DasGupta 2001). It takes rows as independent, which leave-one-out predictions are nearly.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> left_out = clf.loo(X, y)["probability"]
    >>> reliability_table(left_out, (y == "yes").astype(int), bins=2, code=1)[["rows", "confidence", "share"]].round(2)
       rows  confidence  share
    0     4        0.38   0.75
    1    10        0.71   0.60
    """
    proba, codes = np.asarray(proba, float), np.asarray(codes)
    if proba.ndim != 2 or codes.shape != proba.shape[:1] or not len(codes):
        raise ValueError(
            f"Expected probabilities (row, class) and one code a row; got shapes {proba.shape} and {codes.shape}"
        )
    if not isinstance(bins, int | np.integer) or bins < 1:
        raise ValueError(f"Expected bins to be an integer of 1 or more; got {bins!r}")
    if not ((proba >= 0) & (proba <= 1 + 1e-9)).all():
        raise ValueError("Expected probabilities between 0 and 1; got others")
    if codes.dtype.kind not in "iu" or codes.min() < 0 or codes.max() >= proba.shape[1]:
        raise ValueError(f"Expected codes from 0 to {proba.shape[1] - 1}; got {np.unique(codes).tolist()}")
    if code is not None and not 0 <= code < proba.shape[1]:
        raise ValueError(f"Expected code to be from 0 to {proba.shape[1] - 1}; got {code!r}")
    p, right = (proba.max(1), proba.argmax(1) == codes) if code is None else (proba[:, code], codes == code)
    which, place, n = np.unique(np.minimum((p * bins).astype(int), bins - 1), return_inverse=True, return_counts=True)
    k, tail = np.bincount(place, right), (1 - probability_of_interval(prob)) / 2
    return pd.DataFrame({
        "from": which / bins,
        "to": (which + 1) / bins,
        "rows": n,
        "confidence": np.bincount(place, p) / n,
        "share": k / n,
        "lower": np.where(k == 0, 0.0, beta.ppf(tail, k + 0.5, n - k + 0.5)),
        "upper": np.where(k == n, 1.0, beta.ppf(1 - tail, k + 0.5, n - k + 0.5)),
    })  # fmt: skip


def reliability(proba: Any, codes: Any, bins: int = 10, code: int | None = None, prob: float | None = None) -> Figure:
    """How often predictions of a confidence come true, over a histogram of the confidences.

    Parameters
    ----------
    proba : array (row, class)
        Of rows that were not learned: leave-one-out, ``clf.loo(X, y)["probability"]``, or held out.
    codes : int array (row,)
        Positions of the true classes.
    bins : int
        Intervals of equal width.
    code : int, optional
        A class whose probability to judge, against the rest; by default the most probable class of each row.
    prob : float, optional
        Of the error bars, which are binomial; ArviZ's ``stats.ci_prob`` (0.89) by default.

    Raises
    ------
    ValueError
        If the shapes do not fit, a probability is outside [0, 1], or a code is not that of a class.

    See Also
    --------
    sklearn.calibration.CalibrationDisplay : The curve of two classes, without error bars.
    arviz_plots.plot_ppc_pava : Without bins, of posterior predictive draws, also in plotly and bokeh.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> left_out = clf.loo(X, y)["probability"]
    >>> figure = reliability(left_out, (y == "yes").astype(int), bins=5)
    >>> figure.axes[0].get_ylabel()
    'share of rows where the predicted class is true'
    """
    table = reliability_table(proba, codes, bins, code, prob)
    figure = _figure(5.2, 5.2)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3.5, 1])
    above.plot([0, 1], [0, 1], color="0.7", lw=1)
    errors = np.abs(table[["lower", "upper"]].to_numpy().T - table["share"].to_numpy())
    above.errorbar(table["confidence"], table["share"], yerr=errors, fmt="o", ms=5, lw=1.3, capsize=3, color=FOR)
    above.plot(table["confidence"], table["share"], color=FOR, lw=1.3, alpha=0.35)
    what = "the predicted class" if code is None else f"class {code}"
    share = f"{probability_of_interval(prob):.0%}"
    above.set(ylim=(-0.03, 1.03), ylabel=f"share of rows where {what} is true", title=f"reliability, {share} intervals")
    below.bar(table["from"], table["rows"], np.diff(table[["from", "to"]])[:, 0], align="edge", color="0.6", ec="white")
    below.set(xlim=(-0.02, 1.02), ylabel="rows", xlabel=f"probability of {what}")
    below.yaxis.get_major_locator().set_params(integer=True, nbins=3)
    return figure


def ledger(frame: pd.DataFrame, unit: str | None = None, entries: int = 20) -> Figure:
    """The ledger of a row: what each of its values adds to the log-odds of two classes.

    Parameters
    ----------
    frame : DataFrame ((row, entry) or (entry,), ...)
        Of one row, from ``explain``.
    unit : str, optional
        By default the one that ``explain`` left in ``frame.attrs``.
    entries : int
        Of more columns than this, the least are summed up in one bar.

    Returns
    -------
    Figure
        Bars to the right speak for the label, bars to the left against it; the lines are the intervals. A missing
        value is named, and adds nothing. An infinite entry, of a probability of 0, runs out of the picture; where both
        are 0, it says so.

    Raises
    ------
    ValueError
        If the frame has several rows, or is no ledger.

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
    figure = _figure(7.5, 1.3 + 0.34 * len(lines))
    axes = figure.subplots()
    size, place = lines["log_odds"].to_numpy(float), np.arange(len(lines))
    ends = lines[["lower", "upper"]].to_numpy(float)
    finite = np.concatenate([size, ends.ravel()])
    finite = finite[np.isfinite(finite)]
    far = 1.15 * (np.abs(finite).max(initial=0) or 1.0)
    bars = axes.barh(place, np.clip(size, -far, far), color=np.where(size < 0, AGAINST, FOR), height=0.66)
    known = np.isfinite(ends).any(axis=1) & ~lines["missing"].to_numpy(bool)
    axes.hlines(place[known], *np.clip(ends[known], -far, far).T, color="black", lw=1.3)
    for end in (0, 1):
        axes.plot(np.clip(ends[known, end], -far, far), place[known], "|", color="black", ms=6)
    for k in np.flatnonzero(np.isinf(size)):
        axes.text(0.97 * np.clip(size[k], -far, far), k, "−∞" if size[k] < 0 else "∞", color="white", va="center",
                  ha="left" if size[k] < 0 else "right", weight="bold")  # fmt: skip
    for k in np.flatnonzero(np.isnan(size)):
        axes.text(0, k, " 0/0", color=GREY, va="center")
    bars[-1].set(edgecolor="black", linewidth=1.2)
    axes.axhline(len(lines) - 1.5, color="0.5", lw=0.8)
    axes.axvline(0, color="black", lw=0.8)
    axes.set_yticks(place, names)
    for text, gone in zip(axes.get_yticklabels(), lines["missing"], strict=True):
        text.set(color=GREY if gone else "black", style="italic" if gone else "normal")
    axes.set(ylim=(len(lines) - 0.4, -0.6), xlim=(-1.04 * far, 1.04 * far))
    axes.set_xlabel(f"log-odds{f' [{unit}]' if unit else ''}")
    axes.set_title(f"← for {_plain(against, 20)}", loc="left", size=10, color=AGAINST)
    axes.set_title(f"for {_plain(label, 20)} →", loc="right", size=10, color=FOR)
    axes.spines[["top", "left", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return figure


def _one_ledger(frame: pd.DataFrame) -> tuple[pd.DataFrame, Any, Any]:
    """The entries of the only row, from the prior to the total, and its two classes."""
    needed = ["label", "against", "value", "log_odds", "lower", "upper", "missing"]
    if missing := [name for name in needed if name not in getattr(frame, "columns", ())]:
        raise ValueError(f"Expected a ledger, as explain returns it; there is no column {missing[0]!r}")
    entries = frame.index.get_level_values(-1).tolist()
    if entries[:1] != ["(prior)"] or entries[-1] != "(total)":
        raise ValueError(f"Expected the entries of a row from '(prior)' to '(total)'; got {entries[:20]}")
    # A column of the table may be called like one of them, but hardly like both.
    rows = max(
        min(map(entries.count, ("(prior)", "(total)"))),
        frame.index.droplevel(-1).nunique() if frame.index.nlevels > 1 else 1,
    )
    if rows > 1:
        raise ValueError(f"Expected the ledger of one row; got {rows} rows: choose one, such as frame.loc[[row]]")
    lines = frame.reset_index(drop=True)
    lines.insert(0, "entry", pd.Series(entries, dtype=object))
    return lines, lines["label"].iloc[0], lines["against"].iloc[0]


def _shortened(lines: pd.DataFrame, entries: int) -> pd.DataFrame:
    """The prior, the largest entries in their order, the sum of the others, and the total."""
    if entries < 1:
        raise ValueError(f"Expected entries to be 1 or more; got {entries!r}")
    columns = lines.index[1:-1]
    if len(columns) <= entries:
        return lines
    order = lines.loc[columns, "log_odds"].abs().sort_values(ascending=False, kind="stable").index
    kept, rest = np.sort(order[: entries - 1]), order[entries - 1 :]
    others = lines.loc[rest[:1]].assign(
        entry=f"({len(rest)} others)", value=None, log_odds=lines.loc[rest, "log_odds"].sum(),
        lower=np.nan, upper=np.nan, missing=False,
    )  # fmt: skip
    return pd.concat([lines.iloc[[0]], lines.loc[kept], others, lines.iloc[[-1]]], ignore_index=True)


def _entry(name: Any, value: Any, missing: bool) -> str:
    if missing:
        return f"{_plain(name, 24)} (missing)"
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return _plain(name, 40)
    shown = f"{value:.4g}" if isinstance(value, float | np.floating) else _plain(value, 24)
    return f"{_plain(name, 24)} = {shown}"


def uncertainty_scatter(frame: pd.DataFrame) -> Figure:
    """What more rows could teach against what they could not, row by row.

    Parameters
    ----------
    frame : DataFrame (row, ...)
        From ``uncertainty``, with ``prediction``, ``aleatoric`` and ``epistemic``.

    Returns
    -------
    Figure
        Aleatoric against epistemic entropy in nats, coloured by predicted class; on a dotted line the total is equal.

    Raises
    ------
    ValueError
        If a column is not there, or there are no rows.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> figure = uncertainty_scatter(clf.uncertainty(X))
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    ('aleatoric: expected entropy given θ [nats]', 'epistemic: entropy that knowing θ removes [nats]')
    """
    if missing := [name for name in ("prediction", "aleatoric", "epistemic") if name not in frame]:
        raise ValueError(f"Expected a frame with a column {missing[0]!r}, as uncertainty returns it")
    if not len(frame):
        raise ValueError("Expected at least one row; got none")
    figure, (axes,) = _grid(1, 7.0, 4.6)
    x, y = (frame[name].to_numpy(float) for name in ("aleatoric", "epistemic"))
    codes, classes = pd.factorize(frame["prediction"], sort=True)
    colours, handles = _colours(len(classes)), []
    for c, colour in enumerate(colours):
        axes.scatter(
            x[codes == c], y[codes == c], s=34, color=colour, marker=_marker(c), alpha=0.75, ec="white", lw=0.4
        )
        handles.append(_point(colour, _marker(c)))
    right, top = 1.05 * x.max() or 0.1, 1.08 * y.max() or 0.1
    _equal_totals(axes, right, top)
    axes.set(xlim=(0, right), ylim=(0, top))
    axes.set(
        xlabel="aleatoric: expected entropy given θ [nats]", ylabel="epistemic: entropy that knowing θ removes [nats]"
    )
    labels = [*map(_plain, classes), "equal total"]
    figure.legend([*handles, _line("0.5", ":")], labels, title="predicted", loc="outside right upper", frameon=False)
    return figure


def _equal_totals(axes: Axes, right: float, top: float) -> None:
    """Lines of equal aleatoric + epistemic, each named where it leaves the picture."""
    from matplotlib.ticker import MaxNLocator

    for total in MaxNLocator(7).tick_values(0, right + top):
        if 0 < total < right + top:
            axes.plot([0, total], [total, 0], ":", color="0.5", lw=1, zorder=0)
        if top <= total <= top + right:
            axes.text(total - top, top, f"{total:.3g}", color=GREY, size=8, ha="center", va="bottom")


def decision_regions(
    clf: BayesianNB,
    X: Any,
    y: Any,
    features: tuple[Any, Any],
    response: Literal["entropy", "class"] = "entropy",
    grid_resolution: int = 200,
) -> Figure:
    """What is predicted over the plane of two real columns, every other column missing.

    Parameters
    ----------
    clf : BayesianNB
        Fitted; it predicts by its own estimate.
    X, y : table and labels
        Rows to put on top; those that lack one of the two values are left out.
    features : (column, column)
        Across and up; positions where the table has no names.
    response : {"entropy", "class"}
        The background: entropy of the predicted probabilities in nats, or the most probable class.
    grid_resolution : int
        Points a side.

    Raises
    ------
    ValueError
        If a column was not fitted, is not read as real numbers, or no row has both values.

    See Also
    --------
    sklearn.inspection.DecisionBoundaryDisplay : Of tables of two columns, and without the entropy of several classes.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.heights()
    >>> figure = decision_regions(BayesianNB().fit(X, y), X, y, ("height_cm", "weight_kg"), grid_resolution=20)
    >>> figure.axes[0].get_xlabel()
    'height_cm'
    """
    if response not in ("entropy", "class"):
        raise ValueError(f"Expected response to be 'entropy' or 'class'; got {response!r}")
    if grid_resolution < 2:
        raise ValueError(f"Expected grid_resolution to be 2 or more; got {grid_resolution!r}")
    names = _real_columns(clf, features)
    table = Table.of(X)
    table = table if table.named else replace(table, names=clf.schema_.names)
    codes = codes_of(clf.classes_, np.asarray(y))
    if len(codes) != table.n_rows:
        raise ValueError(f"X has {table.n_rows} rows and y has {len(codes)}")
    points = np.stack([table.column(name).reals() for name in names])
    there = np.isfinite(points).all(axis=0)
    if not there.any():
        raise ValueError(f"no row has both {names[0]!r} and {names[1]!r}")
    points, codes = points[:, there], codes[there]
    low, high = points.min(axis=1), points.max(axis=1)
    margin = np.where(high > low, 0.08 * (high - low), 1.0)
    sides = [np.linspace(*ends, grid_resolution) for ends in zip(low - margin, high + margin, strict=True)]
    grid = dict(zip(names, (axis.ravel() for axis in np.meshgrid(*sides)), strict=True))
    log_proba = _log_proba_of(clf, grid).reshape(grid_resolution, grid_resolution, -1)
    figure, (axes,) = _grid(1, 7.2, 5.0)
    colours = _colours(len(clf.classes_))
    _background(axes, sides, log_proba, response, colours)
    handles = []
    for c, colour in enumerate(colours):
        axes.scatter(*points[:, codes == c], s=26, color=colour, marker=_marker(c), ec="white", lw=0.6, zorder=3)
        handles.append(_point(colour, _marker(c)))
    left_out = "" if there.all() else f"{int((~there).sum())} rows that lack a value are not shown"
    axes.set(xlabel=_plain(names[0]), ylabel=_plain(names[1]), title=left_out)
    figure.legend(handles, [_plain(label) for label in clf.classes_], loc="outside right upper", frameon=False)
    return figure


def _real_columns(clf: BayesianNB, features: tuple[Any, Any]) -> list[Any]:
    """The two columns, both read as real numbers."""
    if isinstance(features, str) or len(features) != 2 or features[0] == features[1]:
        raise ValueError(f"Expected two different columns; got {features!r}")
    owner = {column: feature for feature in clf.schema_.features.values() for column in feature.columns}
    found = []
    for name in features:
        position = name if isinstance(name, int | np.integer) and not clf.schema_.named else None
        if position is not None and 0 <= position < len(clf.schema_.names):
            name = clf.schema_.names[position]
        if name not in owner:
            raise ValueError(f"column {name!r} was not fitted; the columns are {list(owner)[:20]}")
        if owner[name].family.reads != "reals" and owner[name].cuts is None:
            raise ValueError(
                f"Expected two columns of real numbers; {name!r} is read by {type(owner[name].family).__name__}"
            )
        found.append(name)
    return found


def _log_proba_of(clf: BayesianNB, columns: dict[Any, Array]) -> Array:
    """log p(class | two columns), (row, class), NaN where the estimate calls a row impossible."""
    if clf.schema_.named:
        grid: Any = pd.DataFrame(columns)
    else:
        grid = np.full((len(next(iter(columns.values()))), len(clf.schema_.names)), np.nan)
        for name, values in columns.items():
            grid[:, clf.schema_.names.index(name)] = values
    view = replace(clf.classifier_, absent="missing")
    log_proba = log_proba_of(view.predict_joint_log_proba(grid))
    return np.where(np.isneginf(log_proba).all(axis=1, keepdims=True), np.nan, log_proba)


def _background(axes: Axes, sides: list[Array], log_proba: Array, response: str, colours: Sequence[Any]) -> None:
    from matplotlib.colors import ListedColormap, to_rgb

    codes = np.where(np.isnan(log_proba).any(-1), np.nan, np.argmax(log_proba, axis=-1))
    if response == "class":
        pale = ListedColormap([0.3 * np.array(to_rgb(colour)) + 0.7 for colour in colours])
        axes.pcolormesh(*sides, codes, cmap=pale, vmin=-0.5, vmax=len(colours) - 0.5, rasterized=True)
    else:
        most = np.log(max(len(colours), 2))
        shade = axes.pcolormesh(
            *sides, entropy(np.exp(log_proba), axis=-1), cmap="Greys", vmin=0, vmax=1.4 * most, rasterized=True
        )
        bar = axes.figure.colorbar(shade, ax=axes, label="entropy of p(class | both columns) [nats]", location="bottom")
        bar.ax.set_xlim(0, most)
    level = np.clip(np.nan_to_num(log_proba, nan=0.0), -700, 0)
    for c in range(len(colours)):
        if 0 < (codes == c).mean() < 1:
            lead = level[..., c] - np.delete(level, c, axis=-1).max(axis=-1)
            axes.contour(*sides, lead, levels=[0.0], colors="black", linewidths=0.7)


def _colours(n: int) -> list[Any]:
    """A colour for each class: Okabe and Ito's, or a scale of more."""
    if n <= len(OKABE_ITO):
        return list(OKABE_ITO[:n])
    import matplotlib as mpl

    return list(mpl.colormaps["viridis"](np.linspace(0, 0.95, n)))


def _marker(c: int) -> str:
    return MARKERS[c % len(MARKERS)]


def _plain(text: Any, most: int = 32) -> str:
    """A name as matplotlib shows it letter by letter: one line, not too long, no mathematics."""
    words = " ".join("".join(c if c.isprintable() or c.isspace() else "\ufffd" for c in str(text)).split())
    words = words if len(words) <= most else words[: most - 1] + "…"
    # A legend leaves out what begins with an underscore.
    return (" " + words if words.startswith("_") else words).replace("$", r"\$")


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _grid(
    n: int, width: float, height: float, columns: int | None = None, sharex: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure of ``n`` panels of that size in inches, with room for a legend on the right."""
    across = min(n, columns or (1 if n == 1 else 2 if n <= 4 else 3))
    down = -(-n // across)
    figure = _figure(1.4 + width * across * (1 if across == 1 else 0.75), 0.6 + height * down)
    panels = figure.subplots(down, across, squeeze=False, sharex=sharex).ravel()
    for spare in panels[n:]:
        spare.remove()
    return figure, list(panels[:n])


def _line(colour: Any, style: str = "-") -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, ls=style, lw=2)


def _point(colour: Any, marker: str, hollow: bool = False) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, ls="", marker=marker, ms=8, mfc="none" if hollow else colour)
