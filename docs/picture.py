"""Draw the picture of the README: ``uv run --group dev python docs/picture.py``.

Above, how well the probability of Mitchell's day is known after his fourteen days, and after a hundred times as many
that look the same. Below, what each value of the day says, with the interval of what it says. A phone shows the picture
less than 400 pixels wide: so one panel stands above the other, and letters are large.
"""

from pathlib import Path

import numpy as np
from matplotlib import rc_context
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
    with rc_context({"font.size": 14}):
        figure = Figure(figsize=(6.4, 7.6), dpi=120, layout="constrained")
        above, below = figure.subplots(2, 1)
        knowledge(above)
        ledger(below)
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def knowledge(axes: Axes) -> None:
    """The posterior density of p(no | day, θ) given the day too, from the saddlepoint distribution function."""
    p = np.linspace(0.002, 0.998, 499)
    rows = TODAY.iloc[np.zeros(len(p), int)]
    for times, style in ((1, "-"), (100, ":")):
        clf = BayesianNB().fit(X, Y, sample_weight=np.full(14, float(times)))
        _, data = clf.classifier_.schema.read(Table.of(rows))
        density = np.gradient(LogOdds.of(clf.posterior_, data, len(p), power=1).cdf(logit(p)), p)
        axes.plot(
            p,
            density,
            style,
            color=BLUE,
            lw=2.6,
            label=f"{14 * times:,} days" + (" like these" if times > 1 else ""),
        )
        if times == 1:
            low, _, high = clf.predict_interval(TODAY)["no"].to_numpy()[0]
            inside = (p >= low) & (p <= high)
            axes.fill_between(p[inside], density[inside], color=BLUE, alpha=0.18, lw=0, label="89 % interval")
    plug_in = BayesianNB(estimate="map").fit(X, Y).predict_proba(TODAY)[0, 0]
    axes.axvline(plug_in, color=ORANGE, lw=2, label=f"MAP, both times: {plug_in:.3f}")
    axes.set(xlim=(0, 1), xlabel="probability of no tennis on that day", yticks=[], ylabel="posterior density")
    axes.set_ylim(0)
    axes.set_title("How well is a probability known?", loc="left", fontweight="bold")
    axes.legend(loc="upper left", frameon=False, fontsize=13)


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
    axes.set(xlabel="for yes ←   decibans   → for no", xlim=(-12, 24))
    axes.set_title("What does each value say?", loc="left", fontweight="bold")
    together = expit(length.iloc[-1] * np.log(10) / 10)
    axes.text(24, at[-1] + 0.12, f"p(no) = {together:.3f}", va="bottom", ha="right")


if __name__ == "__main__":
    draw().savefig(Path(__file__).parent / "_static" / "picture.png", metadata={"Software": None})
