"""The table of the page about sets of classes: how often they hold the true class, and how large they are."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bayesnb.inference import conformal
from bayesnb.inference.decide import smallest_set
from bayesnb.priors import Array
from bayesnb.report.parts import Grid, Part

ASKED = (0.8, 0.9, 0.95)


def sets(proba: Array, codes: Array, classes: Array, how: str) -> list[Part]:
    """Sets by summed probability beside conformal ones, of rows that were not learned."""
    with np.errstate(divide="ignore"):
        log_proba = np.log(proba)
    scores, every = conformal.nonconformity(log_proba, codes), conformal.of_every_class(log_proba)
    p = conformal.counts(scores, codes, np.ones(len(codes)), every, by_class=False).p_values()
    lines = {}
    for asked in ASKED:
        by_mass = smallest_set(proba, classes, asked).to_numpy()
        inside = by_mass[np.arange(len(codes)), codes].mean()
        lines[asked] = {
            "held": inside,
            "size": by_mass.sum(1).mean(),
            "conformal_size": conformal.in_set(p, asked).sum(1).mean(),
        }
    text = (
        "A set of classes is asked to hold the true one with a probability. held says how often the smallest set of "
        f"that probability (predict_set; {how}) does, and size how many classes it has. Sets that hold it as often as "
        "asked, whatever the model, have about conformal_size classes; clf.conformal(X, y) makes them."
    )
    frame = pd.DataFrame(lines).T.rename_axis("asked")
    return [text, Grid(frame, "Sets of classes")]
