"""The probability of an edge between two columns, averaged over all forests."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bayesnb.inference.classifier import Classifier
from bayesnb.inference.questions import question
from bayesnb.wording import Cure, Message, RefusedError


@question(
    "to know which columns depend on each other in the average over all forests",
    "is the model right",
    "checks",
    columns={"probability": "probability of an edge between the two columns"},
)
def forests(classifier: Classifier) -> pd.DataFrame:
    """The probability of each edge between two columns in a model with ``dependence="forests"``.

    Returns
    -------
    DataFrame (edge, ...)
        ``first`` and ``second`` are the columns. ``class`` is present if each class has its own forest. ``probability``
        is the probability of the edge given the data. ``log_bayes_factor``, in nats, compares dependence with
        independence of these two columns alone.

        ``attrs["log_gain"]`` is the increase in log evidence over naive Bayes on the same cells.
        ``attrs["log_gain_bounds"]`` are bounds of the increase if missing cells of learned rows are summed out.
        ``attrs["log_naive"]`` is the log probability that there are no edges. ``attrs["strength"]`` and
        ``attrs["beta"]`` are the hyperparameters with the largest evidence. ``attrs["says"]`` states the result.

    Raises
    ------
    ValueError
        If the model has no forests.

    Examples
    --------
    >>> from bayesnb import BayesianNB, checks, datasets
    >>> X, y = datasets.penguins()
    >>> found = checks.forests(BayesianNB(dependence="forests").fit(X, y))
    >>> found.loc[0, ["first", "second"]].tolist()
    ['body_mass_g', 'sex']
    """
    dependence = classifier.dependence
    if dependence is None or not dependence.spec.forests:
        raise RefusedError("only a model with {cure} has forests", cure=Cure("dependence", "forests"))
    held, called = dependence.terms.forests, dependence.statistics.cells.grid.names(classifier.posterior.piece_names())
    shared = dependence.spec.forests == "shared"
    lines = []
    for u, v in () if held is None else held.counts.pairs:
        for c, label in enumerate([None] if shared else classifier.classes.tolist()):
            factor = held.log_w[:, u, v].sum() if shared else held.log_w[c, u, v]
            lines.append((called[u], called[v], label, held.edges[c, u, v], factor))
    frame = pd.DataFrame(lines, columns=["first", "second", "class", "probability", "log_bayes_factor"])
    frame = frame.drop(columns="class") if shared else frame
    # Probabilities that round to 1 are ordered by the factors.
    order = np.lexsort((-frame["log_bayes_factor"], -frame["probability"].round(9)))
    frame = frame.iloc[order].reset_index(drop=True)
    if held is None:
        frame.attrs["says"] = Message("There are no two columns between which an edge could be.")
        return frame
    frame.attrs |= {"log_gain": held.log_gain, "log_gain_bounds": held.log_gain_bounds}
    frame.attrs |= {"strength": held.strength, "beta": held.beta}
    frame.attrs["log_naive"] = held.log_naive[:1] if shared else held.log_naive
    frame.attrs["says"] = Message(
        "{n} of {every} edges are more probable than not; the edges raise the log evidence by {gain:,.1f} nats over "
        "naive Bayes on the same cells.",
        n=int(np.sum(frame["probability"] > 0.5)),
        every=len(frame),
        gain=held.log_gain,
    )
    return frame
