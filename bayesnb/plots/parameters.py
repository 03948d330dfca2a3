"""Plots of the prior and posterior of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesnb.numerics import Array
from bayesnb.plots.panels import GREY, PANELS, colours_of, legend, panels_of, plain, takes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from xarray import DataArray, DataTree


@takes('clf.sample_posterior(), "pi"', "children")
def prior_posterior(tree: DataTree, variable: str | Sequence[str], **selection: Any) -> Figure:
    """Plot prior and posterior densities of parameters, by class.

    Parameters
    ----------
    tree : DataTree
        From ``sample_posterior`` or PyMC, with a group ``posterior`` and, if the prior is proper, a group ``prior``.
    variable : str or list of str
        Variables of the tree, such as ``"pi"`` or ``["mu_bill_length_mm", "mu_bill_depth_mm"]``.
    **selection
        Coordinates to show, one per panel, such as ``outlook_category="sunny"`` or a list.

    Returns
    -------
    Figure
        One density per class. Priors are dashed. Each axis covers the range of the posteriors, extended on each side by
        half of this range.

    Raises
    ------
    ValueError
        If the tree lacks a variable, dimension or coordinate, or there are more than 24 panels.

    See Also
    --------
    arviz_plots.plot_prior_posterior : One panel per class, with the whole range of the prior; also in plotly and bokeh.
    arviz_plots.plot_dist : The posterior of each class, with ``aes={"color": ["class_label"]}``.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> figure = prior_posterior(clf.sample_posterior(draws=500), "pi")
    >>> figure.axes[0].get_xlabel()
    'pi'
    """
    names = [variable] if isinstance(variable, str) else list(variable)
    drawn = {name: _selected(tree, "posterior", name, selection) for name in names}
    before = {name: _selected(tree, "prior", name, selection) for name in names if "prior" in tree.children}
    shown = [(name, k) for name, values in drawn.items() for k in range(values.shape[2])]
    _require_readable([f"{name}, {drawn[name]['panel'].to_numpy()[k]}" for name, k in shown])
    labels = [values["class_label"] for values in drawn.values() if "class_label" in values.coords]
    classes = [str(label) for label in np.atleast_1d(labels[0])] if labels else [""]
    figure, panels = panels_of(len(shown), 4.2, 2.8)
    colours = colours_of(len(classes))
    for axes, (name, k) in zip(panels, shown, strict=True):
        _two_densities(
            axes, drawn[name].to_numpy()[:, :, k], before[name].to_numpy()[:, :, k] if before else None, colours
        )
        axes.set(xlabel=plain(name), ylabel="density", title=plain(drawn[name]["panel"].to_numpy()[k]))
        axes.locator_params(axis="x", nbins=4)
        axes.ticklabel_format(axis="x", useOffset=False)
    entries = [(plain(name), colour, "-") for name, colour in zip(classes, colours, strict=True)]
    both = [("posterior", GREY, "-"), ("prior", GREY, "--")]
    legend(figure, [*entries, *both] if before else entries)
    return figure


def _selected(tree: DataTree, group: str, variable: str, selection: dict[str, Any]) -> DataArray:
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
    if "class_label" not in values.dims:
        values = values.expand_dims("class_label")
    values = values.stack(sample=("chain", "draw"), create_index=False)
    values = values.stack(panel=inner, create_index=False) if inner else values.expand_dims("panel")
    return values.transpose("sample", "class_label", "panel").assign_coords(panel=titles)


def _require_readable(titles: Sequence[str]) -> None:
    if len(titles) > PANELS:
        raise ValueError(
            f"{len(titles)} panels are more than {PANELS}, which cannot be read: keep some by their coordinates; the "
            f"first panels are {list(titles[:3])}"
        )


def _titles(tree: DataTree, values: DataArray, inner: Sequence[str]) -> list[str]:
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
    # A prior density may be unbounded at the end of its range; limit the height so that the posterior stays readable.
    top = min(max(tallest.values()), 2 * tallest["-"] or np.inf)
    axes.set(xlim=window, ylim=(0, 1.08 * top if top > 0 else 1))


def _density(x: Array, window: tuple[float, float]) -> tuple[Array, Array]:
    from arviz_stats.base import array_stats

    inside = x[(window[0] <= x) & (x <= window[1])]
    if len(inside) < 2 or np.ptp(inside) == 0:
        return np.array(window), np.zeros(2)
    grid, density, _ = array_stats.kde(inside, custom_lims=window, bound_correction=True)
    return grid, density * len(inside) / len(x)
