"""Plot of decision regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from scipy.special import entr

from bayesnb.data.rows import given_beside
from bayesnb.data.tables import Table
from bayesnb.data.targets import codes_of
from bayesnb.inference.scoring import log_proba_of
from bayesnb.numerics import Array
from bayesnb.plots.panels import colours_of, legend, marker_of, panels_of, plain, takes
from bayesnb.wording import require_choice, require_whole, some

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesnb.estimator import BayesianNB


@takes("clf, X, y, (column, column)", "learn_exponents")
def decision_regions(
    clf: BayesianNB,
    X: Any,
    y: Any,
    features: tuple[Any, Any],
    response: Literal["entropy", "class"] = "entropy",
    grid_resolution: int = 200,
) -> Figure:
    """Plot predictions from two columns of real numbers, with all other columns missing.

    Parameters
    ----------
    clf : BayesianNB
        A fitted classifier.
    X, y : table and labels
        Rows to show as points, if the values of both columns are known.
    features : (column, column)
        The columns of the horizontal and the vertical axis, by name, or by position if columns have no names.
    response : {"entropy", "class"}
        The background: entropy of the class probabilities in nats, or the most probable class.
    grid_resolution : int
        Number of grid points per axis.

    Raises
    ------
    ValueError
        If a column was not fitted or is not read as real numbers, or if no row has values in both columns.

    See Also
    --------
    sklearn.inspection.DecisionBoundaryDisplay : A similar plot without entropy, for tables with exactly two columns.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.penguins()
    >>> clf = BayesianNB().fit(X, y)
    >>> figure = decision_regions(clf, X, y, ("bill_length_mm", "bill_depth_mm"), grid_resolution=100)
    >>> figure.axes[0].get_xlabel()
    'bill_length_mm'
    """
    require_choice("response", response, ("entropy", "class"))
    require_whole(2, grid_resolution=grid_resolution)
    names = _real_columns(clf, features)
    y, X = given_beside(X, {"y": y})
    table = Table.of(X)
    table = table if table.named else replace(table, names=clf.classifier_.schema.names)
    table = clf.classifier_.schema.through(table)
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
    figure, (axes,) = panels_of(1, 7.2, 5.0)
    colours = colours_of(len(clf.classes_))
    _background(axes, sides, log_proba, response, colours)
    for c, colour in enumerate(colours):
        axes.scatter(*points[:, codes == c], s=26, color=colour, marker=marker_of(c), ec="white", lw=0.6, zorder=3)
    left_out = "" if there.all() else f"{int((~there).sum())} rows that lack a value are not shown"
    axes.set(xlabel=plain(names[0]), ylabel=plain(names[1]), title=left_out)
    legend(figure, ((plain(label), colours[c], marker_of(c)) for c, label in enumerate(clf.classes_)))
    return figure


def _real_columns(clf: BayesianNB, features: tuple[Any, Any]) -> list[Any]:
    if isinstance(features, str) or len(features) != 2 or features[0] == features[1]:
        raise ValueError(f"Expected two different columns; got {features!r}")
    owner = {column: feature for feature in clf.classifier_.schema.features.values() for column in feature.named}
    columns = []
    for name in features:
        position = name if isinstance(name, int | np.integer) and not clf.classifier_.schema.named else None
        if position is not None and 0 <= position < len(clf.classifier_.schema.names):
            name = clf.classifier_.schema.names[position]
        if name not in owner:
            raise ValueError(f"column {name!r} was not fitted; the columns are {some(owner)}")
        if owner[name].family.support.kind != "reals" and owner[name].cuts is None:
            raise ValueError(
                f"Expected two columns of real numbers; {name!r} is read by {type(owner[name].family).__name__}"
            )
        columns.append(name)
    return columns


def _log_proba_of(clf: BayesianNB, columns: dict[Any, Array]) -> Array:
    if clf.classifier_.schema.named:
        grid: Any = pd.DataFrame(columns)
    else:
        grid = np.full((len(next(iter(columns.values()))), len(clf.classifier_.schema.names)), np.nan)
        for name, values in columns.items():
            grid[:, clf.classifier_.schema.names.index(name)] = values
    lenient = replace(clf.classifier_, absent="missing")
    log_proba = log_proba_of(lenient.predict_joint_log_proba(grid))
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
            *sides, entr(np.exp(log_proba)).sum(-1), cmap="Greys", vmin=0, vmax=1.4 * most, rasterized=True
        )
        bar = axes.figure.colorbar(shade, ax=axes, label="entropy of p(class | both columns) [nats]", location="bottom")
        bar.ax.set_xlim(0, most)
    level = np.clip(np.nan_to_num(log_proba, nan=0.0), -700, 0)
    for c in range(len(colours)):
        if 0 < (codes == c).mean() < 1:
            lead = level[..., c] - np.delete(level, c, axis=-1).max(axis=-1)
            axes.contour(*sides, lead, levels=[0.0], colors="black", linewidths=0.7)
