"""Draw the picture of the README: ``uv run --group dev python docs/picture.py``.

Left, how well the probability of Mitchell's day is known after his fourteen days, and after ten and a hundred times as
many that look the same. Right, what each value of the day says, with the interval of what it says.
"""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import expit, logit

from bayesnb import BayesianNB, datasets
from bayesnb.data.tables import Table
from bayesnb.inference.saddlepoint import LogOdds
from bayesnb.plots import OKABE_ITO

BLUE, ORANGE, GREY = OKABE_ITO[0], OKABE_ITO[1], "#555555"
X, Y = datasets.play_tennis()
TODAY = X.iloc[[0]].assign(temperature="cool", wind="strong")


def draw() -> Figure:
    """Both panels."""
    figure = Figure(figsize=(10.4, 3.9), dpi=150, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
    knowledge(left)
    ledger(right)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def knowledge(axes: Axes) -> None:
    """The posterior density of p(no | day, θ) given the day too, from the saddlepoint distribution function."""
    p = np.linspace(0.002, 0.998, 499)
    rows = TODAY.iloc[np.zeros(len(p), int)]
    for times, style, width in ((1, "-", 2.6), (10, "--", 2.0), (100, ":", 2.2)):
        clf = BayesianNB().fit(X, Y, sample_weight=np.full(14, float(times)))
        _, data = clf.classifier_.schema.read(Table.of(rows))
        density = np.gradient(LogOdds.of(clf.posterior_, data, len(p), power=1).cdf(logit(p)), p)
        axes.plot(
            p,
            density,
            style,
            color=BLUE,
            lw=width,
            label=f"{14 * times:,} days" + (" that look the same" if times > 1 else ""),
        )
        if times == 1:
            low, _, high = clf.predict_interval(TODAY)["no"].to_numpy()[0]
            inside = (p >= low) & (p <= high)
            axes.fill_between(p[inside], density[inside], color=BLUE, alpha=0.18, lw=0, label="89 % interval, 14 days")
    plug_in = BayesianNB(estimate="map").fit(X, Y).predict_proba(TODAY)[0, 0]
    axes.axvline(plug_in, color=ORANGE, lw=2, label=f"MAP, however many days: {plug_in:.3f}")
    axes.set(xlim=(0, 1), xlabel="p(no tennis | sunny, cool, high, strong; θ)", ylabel="posterior density")
    axes.set_ylim(0)
    axes.set_title("How well is a probability known?", loc="left", fontweight="bold")
    axes.legend(loc="upper left", frameon=False, fontsize=9)


def ledger(axes: Axes) -> None:
    """What each value says, in decibans: ten are odds of ten to one."""
    entries = BayesianNB().fit(X, Y).explain(TODAY, label="no", unit="decibans").droplevel("row")
    at, length = -np.arange(len(entries)), entries["log_odds"]
    named = entries.index.str.startswith("(")
    colours = np.where(named, GREY, np.where(length > 0, BLUE, ORANGE))
    axes.barh(at, length, color=colours, height=0.62)
    axes.hlines(at, entries["lower"], entries["upper"], color="black", lw=1.4)
    axes.axvline(0, color="black", lw=0.8)
    names = {"(prior)": "class prior", "(total)": "together"}
    axes.set_yticks(at, [names.get(name, f"{name} = {value}") for name, value in entries["value"].items()])
    axes.set(xlabel="for yes ←   decibans   → for no", xlim=(-12, 22))
    axes.set_title("What does each value say?", loc="left", fontweight="bold")
    together = expit(length.iloc[-1] * np.log(10) / 10)
    axes.text(entries["upper"].iloc[-1] + 0.5, at[-1], f"p(no) = {together:.3f}", va="center", fontsize=9)


if __name__ == "__main__":
    draw().savefig(Path(__file__).parent / "_static" / "picture.png", metadata={"Software": None})
