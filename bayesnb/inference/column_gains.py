"""How informative each column is."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import log_softmax

from bayesnb.data.targets import read_target
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.leave_one_out import terms_left_out
from bayesnb.inference.questions import Shown, question
from bayesnb.inference.scoring import entropies, own
from bayesnb.model import DrawnPosterior, normalize, part_of
from bayesnb.model.order import Order
from bayesnb.priors import Array
from bayesnb.wording import Message

NUMBERS = 2**24
"""Largest number of log probabilities; larger tables are subsampled by rows."""


@question(
    "to know what each column tells about the class", "why", "checks",
    Shown("What each column tells", lines=lambda found: found.rename_axis("column"), top=40),
    {
        "alone": "measured decrease in log loss per row, in nats, from the class frequencies to a model with only this "
        "column; inspect MODEL shows the expected decrease",
        "alone_se": "standard error of alone",
        "without": "increase in log loss per row, in nats, without this column; negative if leaving it out helps",
        "without_se": "standard error of without",
    },
)  # fmt: skip
def column_gains(classifier: Classifier, X: Any, y: Any, sample_weight: Any = None) -> pd.DataFrame:
    """How informative each column is by itself, and how much the log loss increases without the column.

    Parameters
    ----------
    X, y, sample_weight
        Exactly the learned rows. A row of weight 2 counts as two rows.

    Returns
    -------
    DataFrame (column, ...)
        The most informative column comes first. ``alone`` is the decrease in log loss per row, in nats, from predicting
        the class frequencies to predicting with this column alone. ``without`` is the increase in log loss per row
        without this column; negative if leaving out the column helps. ``alone_se`` and ``without_se`` are standard
        errors. ``attrs["says"]`` summarizes the table.

    Notes
    -----
    Even with a ``dependence``, all numbers come from exact leave-one-out under naive Bayes. For a large table, only a
    random sample of rows is used.

    Examples
    --------
    >>> from bayesnb import BayesianNB, checks, datasets
    >>> X, y = datasets.penguins()
    >>> checks.column_gains(BayesianNB().fit(X, y), X, y)[["alone", "without"]].head(2).round(2)
                       alone  without
    flipper_length_mm   0.62    -0.01
    bill_length_mm      0.55     0.18
    """
    read_target(y, classifier.unlabelled_rows.marker).require_labels("what a column tells is asked of labelled rows")
    names, (data, labels) = classifier.posterior.piece_names(), classifier.learned(X, y, sample_weight, whole=True)
    most = max(1000, NUMBERS // (labels.n * (len(names) + 1)))
    if len(labels) > most:
        some = np.asarray(Order.under(classifier.posterior.model, data, labels).drawn(labels, most, 0)[0])
        data, labels = part_of(data, some), labels[some]
    codes, weight = labels.codes, labels.weight
    found = terms_left_out(classifier, data, labels.once()).to_numpy()
    # Further terms of a dependence, which follow those of the columns, are not used.
    log_p = found.reshape(len(codes), len(classifier.classes), -1)[:, :, : 1 + len(names)]
    prior, whole = log_p[:, :, 0], log_p.sum(axis=2)
    lines = []
    for k in range(1, log_p.shape[2]):
        alone = _loss(prior, codes) - _loss(prior + log_p[:, :, k], codes)
        without = _loss(whole - log_p[:, :, k], codes) - _loss(whole, codes)
        lines.append((*_mean(alone, weight), *_mean(without, weight)))
    frame = pd.DataFrame(lines, pd.Index(names), ["alone", "alone_se", "without", "without_se"])
    frame = frame.sort_values("alone", ascending=False, kind="stable")
    frame.attrs["says"] = _telling(frame, classifier.dependence is None)
    return frame


def _loss(log_joint: Array, codes: Array) -> Array:
    return -own(log_softmax(log_joint, axis=1), codes)


def _mean(gains: Array, weight: Array) -> tuple[float, float]:
    """The mean gain of all rows, and its standard error."""
    n = weight.sum()
    mean = weight @ gains / n
    return float(mean), float(np.sqrt(weight @ (gains - mean) ** 2 / ((n - 1) * n))) if n > 1 else np.nan


def _telling(frame: pd.DataFrame, naive: bool) -> Message:
    telling = frame[frame["alone"] > 2 * frame["alone_se"]]
    harmful = frame[frame["without"] < -2 * frame["without_se"]]
    gains = telling["alone"].head(3)
    named = ", ".join(f"{name} ({gain:.{2 if gain >= 0.095 else 3}f} nats)" for name, gain in gains.items())
    named += f" and {len(telling) - len(gains)} more" * (len(telling) > len(gains))
    said = Message("Measurably informative by themselves, under their families: {named}.", named=named)
    if telling.empty:
        said = Message("No column is measurably informative by itself, under its family.")
    if not naive:
        caution = "These are the gains of naive Bayes. For the model with its dependence, use scikit-learn's "
        caution += "permutation_importance on rows that were not learned."
        return Message("{said} {caution}", said=said, caution=Message(caution))
    if harmful.empty:
        return said
    return Message(
        "{said} {k} of {n} columns {are} better left out, one at a time: first {few}.",
        said=said, k=len(harmful), n=len(frame), are="is" if len(harmful) == 1 else "are",
        few=", ".join(map(str, harmful.sort_values("without").index[:3])),
    )  # fmt: skip


DRAWN = 512
"""Values that :func:`information` draws per class and column."""


def information(classifier: Classifier) -> tuple[float, dict[Any, float]]:
    """The class's entropy, and its mutual information with each feature (NaN if values cannot be drawn), in nats."""
    # No rows are needed: I(c; x) = H(c) - Σ_c p(c) E[H(c | x) | c], where the expectation is over values drawn from the
    # posterior predictive of each class. Each class and feature has the same stream of random numbers, so that the
    # answer does not depend on their order.
    whole, found = classifier.posterior, dict[Any, float]()
    if isinstance(whole, DrawnPosterior):
        return np.nan, dict.fromkeys(classifier.schema.features, np.nan)
    some, prior = np.arange(DRAWN), normalize(whole.only(()).log_predictive({}, 1))
    entropy = float(entropies(prior)[0])
    for name, feature in classifier.schema.features.items():
        one = whole.only((name,))
        left = np.zeros(prior.shape[1])
        try:
            begun = np.random.default_rng(0)
            drawn = one.draw(begun, (DRAWN,))
            for c in range(len(left)):
                theta, rng = drawn.at((some, np.full(DRAWN, c))), copy.deepcopy(begun)
                values = one.model.features[name].sample(theta.features[name], rng, whole.statistics.features[name])
                left[c] = entropies(normalize(one.log_predictive({name: feature.read(values)}, DRAWN))).mean()
            found[name] = max(0.0, entropy - float(np.exp(prior[0]) @ left))
        except ValueError:
            found[name] = np.nan
    return entropy, found
