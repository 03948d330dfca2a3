"""Which labels are doubtful, and how many are wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.data.rows import given_beside
from bayesnb.inference.classifier import Classifier, index_of
from bayesnb.inference.questions import Shown, question
from bayesnb.model import Data, Posterior, normalize, part_of
from bayesnb.priors import Array, ImproperError
from bayesnb.sampling import gibbs
from bayesnb.statistics.statistic import Labels
from bayesnb.wording import Message

MOST = gibbs.MOST_WRONG
"""Upper end of the uniform prior of the share of wrong labels."""


DEPTH = 40.0
"""Integrate over log densities of the share within this of the maximum (e^-40 is 4e-18)."""


NODES = 64


TUNE = 50
"""Warm-up steps of a chain; few suffice, because it starts at the observed labels, which are mostly right."""


DRAWS, FEWEST = 400, 50
"""Number of draws, in four chains; and the smallest number, in one chain for large tables."""


CELLS = 10**7
"""Largest number of cells that all draws read together; larger tables get fewer draws."""


QUICK, MOST_CHAINS = 10**6, 16
"""A small table gets more than four chains, which together read this number of cells, in little more time."""


MOST_ROWS = 5 * 10**6
"""Largest number of rows for which right labels are drawn; a row of weight 2 counts as two."""


@dataclass(frozen=True, eq=False)
class WrongLabels:
    """The probability that each label is wrong, and the mean and standard deviation of the number of wrong labels."""

    each: Array
    expected: float
    sd: float
    mcse: float = 0.0  # largest Monte Carlo standard error of a probability: 0 without draws, NaN for one chain


def drawn_wrong_labels(before: Posterior, data: Data, labels: Labels, random_seed: Any = 0) -> WrongLabels:
    """Draw which labels are wrong, by a Gibbs sampler.

    The argument ``before`` is the prior, a ``Posterior`` that has learned no rows. An improper prior raises
    ``ImproperError``.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import BayesianNB
    >>> from bayesnb.statistics.statistic import Labels
    >>> y = np.arange(100) % 2
    >>> x = np.random.default_rng(0).normal(5.0 * y)
    >>> y[:6] = 1 - y[:6]
    >>> found = drawn_wrong_labels(BayesianNB().fit({"x": x}, y).posterior_.before(), {"x": x[:, None]}, Labels.of(y))
    >>> round(found.expected), found.each[[0, -1]].round(1)
    (6, array([1., 0.]))
    """
    # A right label z_i comes from the class prior, and the row from the model. The observed label is z_i with
    # probability 1 - ε, otherwise any other class with equal probability; ε is uniform from 0 to 1/2. θ given z is
    # conjugate, ε given z has a Beta distribution truncated at 1/2, and z_i given θ and ε is proportional to p(z_i |
    # x_i, θ) times the probability of the observed label.
    copies = np.maximum(np.ceil(labels.weight), 1).astype(int)
    row = np.repeat(np.arange(len(labels)), copies)
    # The last copy of a row of weight 2.5 has the weight 0.5.
    part = np.ones(len(row))
    part[np.cumsum(copies) - 1] = labels.weight - (copies - 1)
    seen = Labels(labels.codes[row], part, labels.n)
    cells = max(1, len(row) * len(data))
    draws = int(np.clip(CELLS // cells, FEWEST, DRAWS))
    chains, length = (4, draws // 4) if draws == DRAWS else (1, draws)
    chains = int(np.clip(QUICK // (cells * length), chains, MOST_CHAINS))
    rng = np.random.default_rng(random_seed)
    drawn = gibbs.sample(before, part_of(data, row), len(row), length, chains, rng, TUNE, seen=seen)
    wrong = 1 - drawn.proba[:, np.arange(len(row)), seen.codes]
    number = (drawn.labels != seen.codes) @ part
    each = np.bincount(row, np.clip(wrong.mean(0), 0.0, 1.0), len(labels)) / copies
    mcse = wrong.std(0, ddof=1).max() / np.sqrt(chains) if chains > 1 else np.nan
    return WrongLabels(each, float(labels.weight @ each), float(number.std()), float(mcse))


def wrong_labels(probability: Array, n_classes: int, weight: Array) -> WrongLabels:
    """Estimate which labels are wrong, given fixed class probabilities.

    ``probability`` (row,) is the probability of each label under a model fitted without its row.

    References
    ----------
    Lawrence and Schölkopf (2001), Estimating a kernel Fisher discriminant in the presence of label noise.

    Examples
    --------
    >>> import numpy as np
    >>> found = wrong_labels(np.r_[np.full(95, 0.999), np.full(5, 0.001)], 2, np.ones(100))
    >>> round(found.expected, 1), round(found.sd, 1), found.each[[0, -1]].round(2)
    (4.9, 0.3, array([0.  , 0.98]))
    """
    # If classes overlap, some right labels are improbable too. The probabilities determine how many improbable labels
    # to expect if all labels are right; the excess is attributed to wrong labels.
    # Let z_i indicate that label i was replaced by another class, with probability ε. Then p(y_i | x_i, ε) = (1 - ε)
    # p_i + ε q_i with q_i = (1 - p_i) / (C - 1), and p(z_i | x_i, y_i, ε) = ε q_i over this sum.
    # The log of the sum is concave in ε, so the posterior of ε under a uniform prior has one mode, which bisection
    # finds. Gauss-Legendre quadrature around the mode integrates out ε. Given ε the z_i are independent, which gives
    # the variance of their number.
    if n_classes < 2:
        raise ValueError("there is one class, so no label can be wrong")
    p = np.asarray(probability, float)
    q = (1 - p) / (n_classes - 1)

    def log_posterior(share: float) -> float:
        with np.errstate(divide="ignore"):
            return float(weight @ np.log((1 - share) * p + share * q))

    def slope(share: float) -> float:
        with np.errstate(divide="ignore"):
            return float(weight @ ((q - p) / ((1 - share) * p + share * q)))

    mode = _root(slope, 0.0, MOST)
    top = log_posterior(mode)
    low, high = (_root(lambda share: log_posterior(share) - top + DEPTH, mode, end) for end in (0.0, MOST))
    nodes, step = np.polynomial.legendre.leggauss(NODES)
    shares = low + (high - low) * (nodes + 1) / 2
    density = step * np.exp(np.array([log_posterior(share) for share in shares]) - top)
    density /= density.sum()
    each, expected, variance = np.zeros(len(p)), np.zeros(NODES), np.zeros(NODES)
    for k, share in enumerate(shares):
        wrong = share * q / ((1 - share) * p + share * q)
        each += density[k] * wrong
        expected[k], variance[k] = weight @ wrong, weight @ (wrong * (1 - wrong))
    mean = float(density @ expected)
    return WrongLabels(each, mean, float(np.sqrt(density @ (variance + (expected - mean) ** 2))))


def _root(f: Callable[[float], float], start: float, end: float) -> float:
    for _ in range(60):
        middle = (start + end) / 2
        start, end = (middle, end) if f(middle) > 0 else (start, middle)
    return (start + end) / 2


def sentence(expected: float, sd: float, n: int, note: str = "") -> Message:
    """A sentence on the expected number of wrong labels; ``note`` says why the number is a rough estimate."""
    said = "{expected:.1f} ± {sd:.1f} of {n:,} labels are expected to be wrong, if naive Bayes is exactly right. If "
    said += "columns depend on each other given the class, or a family does not fit, the number is far too large. "
    said += "{more}"
    if expected < 0.05:
        said, note = "None of {n:,} labels is expected to be wrong.", ""
    elif note:
        said = "About {expected:.1f} of {n:,} labels are expected to be wrong. {more} It is a rough estimate: {note}."
    more = "The expected number is above 0 even if all labels are right."
    return Message(said, expected=expected, sd=sd, n=n, more=more, note=note)


EXPONENTS_KNOW = (
    "the exponents were learned from all labels, also from that of the row itself and from wrong ones. Trust the order "
    "of the rows more than the number"
)
"""The note for models with a dependence."""


HELD = (
    "{reason}, so the parameters are fixed; they have learned from wrong labels too. If columns depend on each other "
    "given the class, naive Bayes is overconfident, and the number is too large"
)
"""The note if right labels and parameters cannot be drawn together."""


@question(
    "the labels that are doubtful", "is the model right", "checks",
    Shown("Labels to doubt", lambda found: found[found["wrong"] >= 0.01], advised=True),
    {
        "label": "the label of the row",
        "probability": "leave-one-out probability of the label",
        "suggested": "the most probable class of the row",
        "suggested_probability": "probability of the suggested class",
        "wrong": "probability that the label is wrong; if classes overlap, an improbable label may be correct",
    },
)  # fmt: skip
def suspicious_labels(classifier: Classifier, X: Any, y: Any, sample_weight: Any = None) -> pd.DataFrame:
    """Learned rows, ranked by the leave-one-out probability of their label, the most doubtful label first.

    Parameters
    ----------
    X, y, sample_weight
        Exactly the learned rows.

    Returns
    -------
    DataFrame (row, ...)
        The rows, with the index of ``X``. ``probability`` is the leave-one-out probability of ``label`` under the
        chosen estimate. Without a ``dependence``, ``probability`` is exact. With a ``dependence``, the exponents are
        not learned again without the row. ``suggested`` is the most probable class, with ``suggested_probability``.
        ``wrong`` is the probability that the label is wrong.

        ``attrs["expected"]`` is the expected number of wrong labels, and ``attrs["sd"]`` its standard deviation. A row
        of weight 2 counts as two rows. ``attrs["mcse"]`` is the largest Monte Carlo standard error of ``wrong``, and
        NaN for a table so large that only one chain is drawn. If the expected number is only a rough estimate,
        ``attrs["note"]`` gives the reason, and ``sd`` is NaN. ``attrs["says"]`` states the result as a sentence.

    Raises
    ------
    ValueError
        If there is only one class, if a label is missing, or if rows without a label were learned.

    Notes
    -----
    If classes overlap, correct labels can be improbable; column ``wrong`` takes the overlap into account.
    The share of wrong labels has a uniform prior from 0 to 1/2, and all wrong classes are equally probable.

    Naive Bayes counts many right labels as wrong if columns depend on each other given the class, or if a family does
    not fit. With a ``dependence``, the ranking of the rows is reliable, but the expected number of wrong labels is not
    (``docs/how-to/labels-to-doubt.md``).

    Examples
    --------
    >>> from bayesnb import BayesianNB, checks, datasets
    >>> X, y = datasets.penguins()
    >>> y = y.mask(y.index.isin([3, 200]), "Chinstrap")
    >>> found = checks.suspicious_labels(BayesianNB().fit(X, y), X, y)
    >>> found.head(2).round(2)
             label  probability suggested  suggested_probability  wrong
    200  Chinstrap         0.00    Gentoo                   1.00   1.00
    3    Chinstrap         0.02    Adelie                   0.96   0.15
    >>> round(found.attrs["expected"], 1), round(found.attrs["sd"], 1)
    (1.5, 0.8)
    """
    y, sample_weight, X = given_beside(X, {"y": y, "sample_weight": sample_weight})
    log_joint, codes, _ = classifier.left_out(X, y, sample_weight, whole=True)
    log_proba, row = normalize(log_joint), np.arange(len(codes))
    best = log_proba.argmax(axis=1)
    log_own = log_proba[row, codes]
    data, labels = classifier.learned(X, y, sample_weight)
    found, note = _wrong(classifier, data, labels, np.exp(log_own), best)
    columns = {
        "label": classifier.classes[codes],
        "probability": np.exp(log_own),
        "suggested": classifier.classes[best],
        "suggested_probability": np.exp(log_proba[row, best]),
        "wrong": found.each,
    }
    frame = pd.DataFrame(columns, index=index_of(X)).iloc[np.argsort(log_own, kind="stable")]
    frame.attrs |= {"expected": found.expected, "sd": np.nan if note else found.sd, "mcse": found.mcse}
    frame.attrs |= {"note": note} if note else {}
    frame.attrs["says"] = sentence(found.expected, found.sd, len(frame), note)
    return frame


def _wrong(classifier: Classifier, data: Data, labels: Labels, own: Array, best: Array) -> tuple[WrongLabels, str]:
    if labels.n < 2 or not classifier.believed.naive:
        return wrong_labels(own, labels.n, labels.weight), EXPONENTS_KNOW
    if classifier.posterior.model.sampled:
        reason = f"feature {classifier.posterior.model.sampled[0]!r} is sampled"
    elif labels.weight.sum() > MOST_ROWS:
        reason = f"there are more than {MOST_ROWS:,} rows"
    else:
        try:
            seed = 0 if classifier.seed is None else classifier.seed
            data = classifier.posterior.without_constant(data)
            found = drawn_wrong_labels(classifier.posterior.before(), data, labels, seed)
        except ImproperError:
            reason = "a prior is improper"
        else:
            # If the columns have other groups than the classes, the drawn labels may follow these groups. Then most
            # rows that seem wrong have the label that all other rows suggest.
            doubtful = np.where(found.each >= 0.5, labels.weight, 0.0)
            if doubtful[best == labels.codes].sum() <= doubtful[best != labels.codes].sum():
                return found, ""
            reason = "the columns have other groups of rows than the classes"
    return wrong_labels(own, labels.n, labels.weight), HELD.format(reason=reason)
