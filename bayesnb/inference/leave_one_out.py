"""Exact leave-one-out: predict each learned row by the posterior given all other rows."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd

from bayesnb.data.rows import TrainingRows
from bayesnb.data.schema import PRIOR
from bayesnb.dependence.learning import FOLDS
from bayesnb.inference.classifier import Classifier, index_of, warn_of_weights
from bayesnb.inference.questions import question
from bayesnb.inference.scoring import log_proba_of, own
from bayesnb.model import Data, normalize, part_of
from bayesnb.model.order import Order
from bayesnb.statistics.statistic import Labels
from bayesnb.wording import Message, Spelled, warn

SEEN = Message(
    "the exponents have seen the label of each row, so these probabilities are too good; {cure} learns the exponents "
    "again in each fold",
    cure=Spelled("nb.evaluate(..., cv=5)", "bayesnb compare"),
)
"""The note on leave-one-out probabilities of a model with a dependence."""


@question(
    "the prediction of each learned row without itself",
    "is the model right",
    columns={
        "log_density": "log p(row, class) given all other rows",
        "probability": "p(class | row) given all other rows",
        "pareto_k": "reliability of the importance weights, which should be below 0.7",
    },
)
def loo(
    classifier: Classifier,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    by: Literal["row", "feature"] = "row",
    refit: bool = False,
) -> pd.DataFrame:
    """Predict each learned row from all other rows.

    The predictions are exact, except for features sampled by MCMC.

    Parameters
    ----------
    X, y, sample_weight
        Exactly the learned rows.
    by : {"row", "feature"}
        Return one result per row, or one result per row and term (class prior or column).
    refit : bool
        Whether to run MCMC again without a row, if the importance weights of the row are unreliable. Each run takes as
        long as fitting the column.

    Returns
    -------
    DataFrame (row, ...)
        With ``by="row"``, densities are computed under the chosen estimate. ``log_density`` is log p(class, row) for
        the row's class, and ``probability`` is p(class | row) of each class. ``pareto_k`` has one column for each
        column sampled by MCMC.

        With ``by="feature"``, columns (class, term) hold log densities in nats with all parameters integrated out. The
        term "(prior)" is the log probability of the class, and the term of a column is log p(cell | class).

    Warns
    -----
    UserWarning
        If importance weights are unreliable (``pareto_k`` above 0.7), chains did not converge, or there is a
        ``dependence``.

    Notes
    -----
    Prior scales that are computed from data still include the left-out row. For features sampled by MCMC, a row is left
    out by importance sampling with smoothed weights (Vehtari et al. 2024). ``pareto_k`` is the shape parameter of the
    tail of the weights. ``pareto_k`` is 0 for a feature that was sampled again, and NaN for a missing cell.

    If the model has exponents, the probabilities are too optimistic, because the exponents were learned from all rows.
    ``attrs["note"]`` and a warning state this bias. With ``by="feature"``, log densities are not multiplied by the
    exponents that a ``dependence`` learns.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.loo(X, y).head(2).round(2)
      log_density probability
                           no   yes
    0        -4.7        0.48  0.52
    1        -4.3        0.71  0.29
    """
    if by == "feature":
        return terms_left_out(classifier, *classifier.learned(X, y, sample_weight, whole=True), refit, index_of(X))
    log_joint, codes, sampled = classifier.left_out(X, y, sample_weight, refit, whole=True)
    proba = np.exp(normalize(log_joint))
    columns = {("log_density", ""): own(log_joint, codes)}
    columns |= {("probability", label): proba[:, c] for c, label in enumerate(classifier.classes)}
    for name, found in sampled.items():
        named = enumerate(classifier.schema.features[name].columns)
        columns |= {("pareto_k", column): found.k[:, j] for j, column in named}
    found = pd.DataFrame(columns, index=index_of(X))
    if classifier.dependence is not None and not classifier.dependence.spec.forests:
        found.attrs["note"] = SEEN
        warn(SEEN)
    return found


def terms_left_out(
    classifier: Classifier, data: Data, labels: Labels, refit: bool = False, index: Any = None
) -> pd.DataFrame:
    """Leave-one-out log density of each term for each learned row; columns are (class, term)."""
    prior = classifier.posterior.only(()).log_left_out({}, labels)
    names, found, sampled = classifier.believed.terms_left_out(data, labels, refit)
    warn_of_weights(classifier.schema, sampled)
    columns = pd.MultiIndex.from_product([classifier.classes, [PRIOR, *names]], names=["class", "term"])
    found = np.concatenate([prior[:, :, None], found], axis=-1).reshape(len(found), -1)
    return pd.DataFrame(found, index=index, columns=columns)


SCORED = 2000
"""Largest number of rows that :func:`left_out_scores` scores."""


def left_out_scores(classifier: Classifier, rows: TrainingRows | None) -> dict[str, float]:
    """Held-out scores of the learned rows, or of a random sample of 2,000 of them; {} if there are no such scores."""
    # The entry "frequencies" is the log loss of predicting the class frequencies. The entry "folds" exists only if rows
    # were held out in folds, and "weight", the total weight of the scored rows, only if it exceeds their number.
    if rows is None or len(classifier.classes) < 2:
        return {}
    rows = rows.labelled()
    data, labels = classifier.encoded(rows)
    if len(labels) > SCORED:
        some, labels = Order.under(classifier.posterior.model, data, labels).drawn(labels, SCORED, 0)
        data = part_of(data, some)
    dependence, by = classifier.dependence, {}
    # A model average's held-out predictions are scored if they cover all rows, as in ``compare``. With any other
    # dependence, each row is left out, and importance sampling removes the label's effect on the exponents.
    try:
        if dependence is None:
            log_proba = log_proba_of(classifier.believed.left_out(data, labels)[0])
        elif dependence.held_out is not None and len(dependence.held_out) == len(labels):
            log_proba, by = dependence.held_out, {"folds": FOLDS}
        else:
            asked = dependence.some_rows(classifier.posterior, data, labels)
            log_proba = dependence.left_out_of_exponents(asked, labels.n, classifier.posterior.change_of_prior())[1]
        # The frequencies of the labels, whichever class prior was specified.
        shares = normalize(classifier.posterior.with_default_class_prior().only(()).log_left_out({}, labels))
    except ValueError:  # Under an improper prior, or without a closed form, some rows cannot be left out.
        return {}
    losses = (-own(each, labels.codes) for each in (log_proba, shares))
    right = log_proba.argmax(axis=1) == labels.codes
    accuracy, loss, frequencies = (float(np.average(each, weights=labels.weight)) for each in (right, *losses))
    if (weight := float(labels.weight.sum())) > len(labels):
        by["weight"] = weight
    return {"rows": len(labels), "accuracy": accuracy, "log_loss": loss, "frequencies": frequencies} | by
