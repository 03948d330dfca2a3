"""Uncertainty of predicted classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from bayesnb.inference.believed import Given
from bayesnb.inference.classifier import Classifier, index_of, of_near_rows
from bayesnb.inference.draws import probability_of_interval, quantiles
from bayesnb.inference.intervals import ENDS, answering, intervals_of, with_notes
from bayesnb.inference.law import Law
from bayesnb.inference.leave_one_out import warn_of_weights
from bayesnb.inference.questions import Shown, question
from bayesnb.model import Data, normalize, part_of, pieces
from bayesnb.priors import Array


@question(
    "to know what is uncertain about a row, and why",
    "how sure",
    shown=Shown(
        "Uncertain rows", lines=lambda found: found.sort_values("total", ascending=False, kind="stable"),
        plot="uncertainty_scatter",
    ),
    columns={
        "probability": "probability of the predicted class",
        "median": "posterior median of p(class | row, parameters)",
        "lower": "lower end of the interval of p(class | row, parameters)",
        "upper": "upper end of the interval of p(class | row, parameters)",
        "top": "posterior probability that the predicted class is the most probable one",
        "total": "entropy of the predicted class, in nats",
        "aleatoric": "part of the entropy that would remain if the parameters were known",
        "epistemic": "part of the entropy due to unknown parameters",
        "novelty": "-ln p(row), high for rows unlike any learned row",
        "novelty_rank": "share of the learned rows that are less novel in the same known cells",
    },
)  # fmt: skip
@of_near_rows
def uncertainty(
    classifier: Classifier,
    X: Any,
    learned: tuple[Any, ...] | None = None,
    prob: float | None = None,
    draws: int = 4000,
    given: Given | None = None,
) -> pd.DataFrame:
    """How uncertain the class of each row is, and why.

    Parameters
    ----------
    X : table
        The rows to predict.
    learned : (X, y) or (X, y, sample_weight), optional
        The learned rows, for ``novelty_rank``.
    prob : float, optional
        Probability of the interval, by default ArviZ's ``stats.ci_prob`` (0.89).
    draws : int
        Number of draws of the parameters, if there is no closed form.
    given : {"row", "data"}, optional
        The posterior of θ, as in :meth:`predict_interval`.

    Returns
    -------
    DataFrame (row, ...)
        The columns are:

        * ``prediction``, and its ``probability`` under the chosen estimate;
        * ``lower``, ``median``, ``upper``: interval and posterior median of p(class | row, θ) of the predicted class;
        * ``top``: the posterior probability that the predicted class is the most probable one under θ;
        * ``total``: the entropy of the mean of p(class | row, θ), in nats;
        * ``aleatoric``: the expected entropy of p(class | row, θ), in nats;
        * ``epistemic``: total minus aleatoric, the mutual information of the row's class and the parameters;
        * ``novelty``: -ln p(row), high for rows that resemble no learned row;
        * ``novelty_rank``: the share of the learned rows whose leave-one-out novelty is lower. The comparison uses only
          the row's known columns, and only learned rows in which all these columns are known (NaN without such rows).

        ``attrs["given"]`` is "row" or "data". If draws were used, ``attrs["mcse"]`` holds the largest Monte Carlo
        standard error of each column. ``attrs["note"]`` warns if expected counts replaced missing labels.

    Notes
    -----
    After a fit with unlabelled rows, all results are overconfident. Novelties of rows with different missing values (or
    unseen levels) cannot be compared; their ranks can. ``probability`` is a mean, and may lie outside the interval. See
    ``docs/how-to/uncertainty.md``.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> clf.uncertainty(X[:2], learned=(X, y))[["prediction", "total", "novelty", "novelty_rank"]].round(1)
      prediction  total  novelty  novelty_rank
    0         no    0.6      3.5           0.0
    1         no    0.4      3.4           0.0
    """
    data, n = classifier.read(X)
    log_joint = classifier.believed.log_joint(data, n)
    codes, row = log_joint.argmax(axis=1), np.arange(n)
    tail = (1 - probability_of_interval(prob)) / 2
    shares = [tail, 0.5, 1 - tail]
    answers, by_formula = answering(classifier, "auto", draws, given)
    predictive = classifier.believed.log_predictive(data, n)
    asks = {"entropies": answers.believed.entropies(answers.believed.log_proba(data, n))}
    if not by_formula:
        asks |= {"interval": quantiles(shares), "top": lambda p, rows: (p.argmax(-1) == codes[rows]).mean(0)}
    found = answers.answers(asks, data, n)
    entropies, entropy_errors = np.moveaxis(found["entropies"], 1, 0)
    errors: dict[str, Array] = dict(zip(("total", "aleatoric", "epistemic"), entropy_errors.T, strict=True))
    if by_formula:
        found["interval"], _ = intervals_of(answers, True, data, n, shares)
        first = 1 - Law.of(answers, data, n).in_blocks(lambda law: law.cdf(0.0))
        found["top"] = np.where(codes == 0, first, 1 - first)
    else:
        errors |= dict(zip(ENDS, found["interval"][row, codes, :, 1].T, strict=True))
        found["interval"] = found["interval"][..., 0]
        errors["top"] = np.sqrt(found["top"] * (1 - found["top"]) / draws)
    novelty = -logsumexp(predictive, axis=1)
    columns = {
        "prediction": classifier.classes[codes],
        "probability": np.exp(normalize(log_joint))[row, codes],
        **dict(zip(ENDS, found["interval"][row, codes].T, strict=True)),
        "top": found["top"],
        **dict(zip(("total", "aleatoric", "epistemic"), entropies.T, strict=True)),
        "novelty": novelty,
    }
    if learned is not None:
        if not isinstance(learned, tuple) or len(learned) not in (2, 3):
            raise ValueError("Expected learned as (X, y) or (X, y, sample_weight), the learned rows")
        columns["novelty_rank"] = _novelty_rank(classifier, data, novelty, *learned)
    widening = answers.widening(data, n)
    largest = {name: float((error * widening).max(initial=0.0)) for name, error in errors.items()}
    notes = {"given": answers.believed.given, "mcse": largest}
    return with_notes(classifier, pd.DataFrame(columns, index=index_of(X)), notes)


def _novelty_rank(
    classifier: Classifier, data: Data, novelty: Array, X: Any, y: Any, sample_weight: Any = None
) -> Array:
    # A row is compared with the learned rows that know all of its known cells, by the densities of these cells.
    posterior, (learned, labels) = classifier.posterior, classifier.learned(X, y, sample_weight)
    gaps: dict[tuple[str, int | None], tuple[Array, Array]] = {}
    for piece in posterior.pieces:
        new, old = (piece.known(rows[piece.feature]) for rows in (data, learned))
        if len({*np.unique(new), *np.unique(old)}) > 1:
            gaps[piece.feature, piece.column] = new, old
    parted = {feature for (feature, _), (new, _) in gaps.items() if not new.all()}
    base, sampled = posterior.only(posterior.features.keys() - parted).left_out(learned, labels)
    warn_of_weights(classifier.schema, sampled)
    some, cells = posterior.only(parted), {name: learned[name] for name in parted}
    place = [[*gaps].index(key) if key in gaps else None for key in ((p.feature, p.column) for p in some.pieces)]
    sizes = len(novelty), len(labels)
    new, old = (np.array([g[k] for g in gaps.values()]).reshape(len(gaps), n).T for k, n in enumerate(sizes))
    patterns, which = np.unique(new, axis=0, return_inverse=True)
    below, total = np.zeros(len(novelty)), np.zeros(len(patterns))
    for rows in pieces.in_blocks(len(labels), labels.n, len(place)):
        own = pieces.left_out(some, part_of(cells, rows), labels[rows])
        for k, pattern in enumerate(patterns):
            same = ((old[rows] == pattern) | (pattern == 0)).all(axis=1)
            used = [j for j, at in enumerate(place) if at is None or pattern[at]]
            left_out = -logsumexp(base[rows][same] + own[same][:, :, used].sum(axis=-1), axis=1)
            order, weight = np.argsort(left_out), labels.weight[rows][same]
            asked = which == k
            share = np.concatenate([[0.0], weight[order].cumsum()])
            below[asked] += share[np.searchsorted(left_out[order], novelty[asked])]
            total[k] += share[-1]
    return np.divide(below, total[which], out=np.full(len(below), np.nan), where=total[which] > 0)
