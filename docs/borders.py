"""Draw the picture of the three borders: ``uv run --group dev python docs/borders.py``.

Two columns of the penguins, and the border between each two species under a diagonal, a shared and a full covariance.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bayesnb import BayesianNB, datasets
from bayesnb.plots import OKABE_ITO

COVARIANCES = {
    "gaussian": "diagonal: each column by itself",
    "shared-gaussian": "shared: one covariance",
    "multivariate-gaussian": "full: one for each class",
}
X, Y = datasets.penguins()
X = X[["bill_length_mm", "bill_depth_mm"]].dropna()
Y = Y[X.index]


def draw() -> Figure:
    """One panel for each covariance."""
    figure = Figure(figsize=(9.6, 3.6), dpi=120, layout="constrained")
    ends = [np.linspace(X[name].min() - 1, X[name].max() + 1, 300) for name in X]
    across, up = np.meshgrid(*ends)
    plane = pd.DataFrame({name: axis.ravel() for name, axis in zip(X, (across, up), strict=True)})
    for axes, (features, title) in zip(figure.subplots(1, 3, sharey=True), COVARIANCES.items(), strict=True):
        clf = BayesianNB(features, estimate="mean").fit(X, Y)
        best = clf.predict_proba(plane).argmax(axis=1).reshape(across.shape)
        axes.contour(across, up, best, levels=[0.5, 1.5], colors="black", linewidths=1.2)
        for color, label in zip(OKABE_ITO, clf.classes_, strict=False):
            own = X[label == Y]
            axes.plot(*own.to_numpy().T, ".", color=color, markersize=4, label=label)
        axes.set(title=title, xlabel="bill length, mm")
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("bill depth, mm")
    figure.axes[0].legend(frameon=False, fontsize=8, loc="lower right")
    return figure


if __name__ == "__main__":
    draw().savefig(Path(__file__).parent / "_static" / "borders.png")
