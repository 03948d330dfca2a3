"""Prediction scores with intervals, compared with class frequencies and the model's expectation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from bayesnb.inference import scoring
from bayesnb.inference.class_prior import cure_of
from bayesnb.inference.draws import probability_of_interval
from bayesnb.numerics import Array, log
from bayesnb.wording import Cure, Message, Spelled

GROUPS = 2000
"""Largest number of rows that the bootstrap weights one by one; more rows form this many random groups."""


DRAWS = 2000
"""Number of draws behind each interval."""


SCORES = ("accuracy", "balanced_accuracy", "log_loss", "brier", "ece", "auc")

TOLERANCE = 0.001
"""Nats by which the expected log loss may be outside the interval of the log loss."""

SHARE_TOLERANCE = 0.005
"""Amount by which the expected accuracy may be outside the interval of the accuracy: half of a printed percent."""


FEW_ROWS = 10
"""Fewer learned rows than this do not tell what the rows of a class are like."""

SHIFTED = 3.0
"""Standard deviations between the share of a class and its predicted share that are worth a sentence."""

BETTER, LEAST = 3.0, 1e-4
"""Nats by which another class prior must reduce the log loss of all rows together, and its smallest probability."""


@dataclass(frozen=True)
class HeldOut:
    """How the scored rows were held out from the model."""

    # ``by`` is the number of folds of cross-validation, or a word. "loo": exact leave-one-out. "inside": folds inside
    # the fit, for the weights of averaged models. "once": one fit without the rows. "given": held out by the caller.
    # "learned": not held out. ``rows`` is the number of scored rows if these were drawn at random.

    by: int | Literal["loo", "inside", "once", "given", "learned"]
    rows: int | None = None

    def __str__(self) -> str:
        said = {
            "loo": "exact leave-one-out", "inside": "the five folds inside its fit",
            "once": "one fit without them", "given": "the given rows, taken to be new to the model",
            "learned": "the rows that the model has learned",
        }.get(self.by, f"{self.by}-fold cross-validation")  # fmt: skip
        return said if self.rows is None else f"{said} of {self.rows:,} rows drawn at random"


LEARNED_ROWS = Message(
    "These look like the rows that the model was fitted to (equal counts and sums), and it predicts new rows less "
    "well: {cure}.",
    cure=Spelled('score with cv="loo" or cv=5, which hold rows out', "use bayesnb compare, which holds rows out"),
)


@dataclass(frozen=True, eq=False)
class Scorecard:
    """Scores of the predictions of some rows, compared with the model's expectation and with constant forecasts.

    Parameters
    ----------
    table : DataFrame (score, ...)
        For ``accuracy``, ``balanced_accuracy`` (the mean recall of the classes), ``log_loss``, ``brier``, ``ece`` and
        ``auc``: the ``value`` and its interval ``lower`` to ``upper`` (for ``ece``, a conservative interval).
        ``claimed`` is the expected score if the predicted probabilities were true. ``frequencies`` is the score of
        predicting the class frequencies, and ``majority`` the score of probability 1 for the most frequent class.
    confusion : DataFrame (true class, predicted class)
        Number of rows per pair of true and predicted class. If some rows have probability 0 under every class, a last
        column counts them.
    by_class : DataFrame (class, ...)
        ``rows`` is the number of rows of the class. ``expected`` is the sum of the predicted probabilities of the
        class. ``z`` is the difference between ``rows`` and ``expected`` in standard deviations. ``recall`` is the share
        of the class's rows that are predicted correctly. ``precision`` is the share of correct predictions among the
        rows predicted as the class. Recall and precision have intervals.
    prob : float
        The probability of the intervals.
    never_learned : {class: rows}
        Number of rows of classes that the model has not learned, which are not scored.
    how : HeldOut, optional
        How the rows were held out.
    cure : Cure, optional
        What to try if the model is overconfident.
    gain : (float, float)
        Interval of the mean log loss of the class frequencies minus the mean log loss of the model.
    shifted : {class: probability}
        The class prior of the model if the model is overconfident mostly because the classes have other frequencies.
    rare : {class: rows}
        If the model is overconfident mostly in rows of classes with fewer than 10 learned rows: the number of learned
        rows of each such class.
    far : {column: rows}
        If the model is overconfident mostly in rows with numbers far from the learned ones: the number of these rows
        for each column.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets, scorecard
    >>> card = scorecard(BayesianNB(), *datasets.penguins())
    >>> card.confusion
    predicted  Adelie  Chinstrap  Gentoo
    true
    Adelie        151          1       0
    Chinstrap       5         63       0
    Gentoo          0          0     124
    >>> card.by_class["recall"].round(2).to_dict()
    {'Adelie': 0.99, 'Chinstrap': 0.93, 'Gentoo': 1.0}
    """

    table: pd.DataFrame
    confusion: pd.DataFrame
    by_class: pd.DataFrame
    prob: float
    never_learned: Mapping[Any, int] = field(default_factory=dict)
    how: HeldOut | None = None
    cure: Cure | None = None
    gain: tuple[float, float] = (-np.inf, np.inf)
    shifted: Mapping[Any, float] = field(default_factory=dict)
    rare: Mapping[Any, float] = field(default_factory=dict)
    far: Mapping[Any, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return int(self.by_class["rows"].sum())

    @property
    def confidence(self) -> Literal["overconfident", "underconfident", ""]:
        """``"overconfident"`` if the interval of the log loss is above its expectation, ``"underconfident"`` if below.

        If the expected log loss lies in the interval, or at most 0.001 nats outside, the accuracy is compared with its
        expectation instead. Learned rows never show that a model is underconfident.
        """
        found = self._apart
        return "overconfident" if found > 0 else "underconfident" if found and not self._learned else ""

    @property
    def _apart(self) -> int:
        # 1 if the model is overconfident, -1 if underconfident, otherwise 0.
        _, lower, upper, claimed, *_ = self.table.loc["accuracy"]
        return self._unexpected_loss or int(claimed > upper + SHARE_TOLERANCE) - int(claimed < lower - SHARE_TOLERANCE)

    @property
    def _learned(self) -> bool:
        return self.how is not None and self.how.by == "learned"

    @property
    def _unexpected_loss(self) -> int:
        """1 if the log loss is measurably higher than expected, -1 if measurably lower, otherwise 0."""
        _, lower, upper, claimed, *_ = self.table.loc["log_loss"]
        return int(lower - claimed >= TOLERANCE) - int(claimed - upper >= TOLERANCE)

    @property
    def finding(self) -> Message:
        right, low, high, says, _, majority = map(percent, self.table.loc["accuracy"])
        loss, lower, upper, claimed, shares, _ = self.table.loc["log_loss"]
        by = "" if self._unexpected_loss else "by its accuracy, "
        verdict = Message("{by}it is {confidence}", by=by, confidence=self.confidence)
        if not self.confidence:
            unknown = "these rows do not show whether it is underconfident"
            verdict = Message(unknown if self._apart else "it is not measurably over- or underconfident")
        elif self.cure and self.confidence == "overconfident" and not (self.shifted or self.rare or self.far):
            verdict = Message("{by}it is overconfident (try {cure})", by=by, cure=self.cure)
        rows = f"{self.rows:,} row" + "s" * (self.rows != 1)
        said = "With {rows}, the model is not measurably better than the class frequencies ({shares})."
        least, most = self.gain
        if least > 0 or most < 0:
            said = "The class frequencies alone have a log loss of {shares}: the model is {better}."
        beside = Message(said, rows=rows, shares=nats(shares), better="better" if least > 0 else "worse")
        return Message(
            "{learned} " * self._learned
            + "{right} of {rows} are predicted correctly ({prob:.0%} interval: {low} to {high}; the model "
            "expected {says}). Always guessing {largest!r} gets {majority}. Log loss {loss} ({lower} to {upper}); the "
            "model expected {claimed}: {verdict}{rare}. {beside}{shifted}{unknown}",
            learned=LEARNED_ROWS,
            right=right, rows=rows, prob=self.prob, low=low, high=high, says=says,
            largest=str(self.by_class["rows"].idxmax()), majority=majority, loss=nats(loss), lower=nats(lower),
            upper=nats(upper), claimed=nats(claimed), verdict=verdict, rare=self._rows_at_fault, beside=beside,
            shifted=self._shifted, unknown=self._unknown,
        )  # fmt: skip

    @property
    def sentence(self) -> str:
        return str(self.finding)

    @property
    def document(self) -> dict[str, Any]:
        return {
            "sentence": self.finding, "rows": self.rows, "prob": self.prob, "scored_by": str(self.how),
            "confidence": self.confidence, "gain": self.gain, "scores": self.table, "confusion": self.confusion,
            "classes": self.by_class, "never_learned": self.never_learned,
        }  # fmt: skip

    @property
    def _shifted(self) -> Message | str:
        """A sentence on the class whose share differs most from its predicted share or its class prior, or ""."""
        shares = self.by_class["rows"] / self.rows
        if self.shifted:
            prior = pd.Series(self.shifted)
            label = ((shares - prior) ** 2 / (prior * (1 - prior))).idxmax()
            share, expected = percents(shares[label], prior[label])
            said = " {label!r} has {share} of the rows, and {expected} in the class prior of the model, which explains "
            said += "most of this: if new rows have these class frequencies, {cure}."
            cure = cure_of(shares, 'card.by_class["rows"] / card.rows')
            return Message(said, label=str(label), share=share, expected=expected, cure=cure)
        label = self.by_class["z"].abs().idxmax()
        line = self.by_class.loc[label]
        if self.how is None or self.how.by != "given" or abs(line["z"]) <= SHIFTED:
            return ""
        share, expected = percents(shares[label], line["expected"] / self.rows)
        said = " {label!r} has {share} of the rows, and a mean predicted probability of {expected}."
        return Message(said, label=str(label), share=share, expected=expected)

    @property
    def _rows_at_fault(self) -> Message | str:
        if self.far:
            said = (
                ", mostly in rows with numbers far from the learned ones ({each}): correct the numbers if they are in "
            )
            said += "another unit or mean that the value is missing"
            most = sorted(self.far.items(), key=lambda held: -held[1])
            each = [f"column {str(name)!r} in {n:,} row{'s' * (n != 1)}" for name, n in most[:8]]
            return Message(said, each=", ".join(each) + ", …" * (len(most) > 8))
        shown = ", ".join(f"{str(label)!r} {count:g}" for label, count in [*self.rare.items()][:8])
        said = ", mostly in {n:,} row{s} of classes that it learned from fewer than {few} rows each ({shown}): correct "
        said += "the labels if they are misspelt"
        n = int(self.by_class.loc[[*self.rare], "rows"].sum())
        return Message(said, n=n, s="s" * (n != 1), few=FEW_ROWS, shown=shown) if self.rare else ""

    @property
    def _unknown(self) -> Message | str:
        if not self.never_learned:
            return ""
        n = sum(self.never_learned.values())
        known = {str(label).strip().lower(): str(label) for label in self.by_class.index}
        shown = [(str(label), count) for label, count in self.never_learned.items()][:8]
        alike = {label: known.get(label.strip().lower()) for label, _ in shown}
        each = ", ".join(
            f"{label!r} {count:,}" + (f", did you mean {alike[label]!r}?" if alike[label] else "")
            for label, count in shown
        )
        right = self.table.loc["accuracy", "value"] * self.rows / (self.rows + n)
        return Message(
            " {n:,} more {have} a class that the model has not learned ({each}) and no score; if they count as wrong, "
            "{right} are correct.",
            n=n, have="rows have" if n > 1 else "row has", each=each, right=percent(right),
        )  # fmt: skip

    def __str__(self) -> str:
        return f"{self.sentence}\n\n{self.table.round(3)}\n\n{self.confusion}"


def percent(share: float) -> str:
    """A share in whole percent; with one decimal if rounding would give 0 or 100 %."""
    plain = f"{share:.0%}"
    return f"{share:.1%}" if plain in ("0%", "100%") and 0 < share < 1 else plain


def percents(*shares: float) -> list[str]:
    """Shares in percent, with enough decimals to distinguish different shares."""
    plain = [percent(share) for share in shares]
    digits = 0
    while len({*plain}) < len({*shares}) and (digits := digits + 1) < 6:
        plain = [f"{share:.{digits}%}" for share in shares]
    return plain


def nats(loss: float) -> str:
    """Format a log loss with two decimals, or three if below 0.1."""
    return "∞" if loss == np.inf else f"{loss:.2f}" if loss >= 0.1 else f"{loss:.3f}"


def scorecard_of(
    log_joint: Array, codes: Array, classes: Array, prob: float | None = None, random_state: Any = 0,
    never_learned: Mapping[Any, int] | None = None, how: HeldOut | None = None, cure: Cure | None = None,
    learned: Array | None = None, far: Mapping[Any, Array] | None = None, prior: Array | None = None,
    under: Callable[[Array], Array] | None = None,
) -> Scorecard:  # fmt: skip
    """The scorecard (scores with intervals) of held-out rows."""
    # log_joint, (row, class): log p(class, row), up to a constant per row; codes: true classes; classes: their names;
    # learned: number of learned rows of each class; far: for each column with numbers far from the learned ones, a mask
    # of their rows; prior: class prior of the model; under: returns ``log_joint`` under another class prior, ``None``
    # if the class prior cannot be replaced
    # Accuracy, recall and precision are shares, with intervals of a Beta posterior, as in :func:`reliability_table`;
    # the balanced accuracy has draws of such posteriors. Every other score is a function of means over rows, with an
    # interval by the Bayesian bootstrap (Rubin 1981, The Bayesian bootstrap): each draw gives the rows new weights from
    # a Dirichlet(1, ..., 1). The log-odds of the AUC are expanded to first order in the weights, with the placements of
    # DeLong, DeLong and Clarke-Pearson (1988) as slopes. An interval always includes its score.
    share = probability_of_interval(prob)
    rng = np.random.default_rng(random_state)
    # So that intervals do not depend on the order of the rows, nor on the names of the classes.
    n_rows, log_proba = np.bincount(codes, minlength=len(classes)), scoring.log_proba_of(log_joint)
    turn = np.lexsort((np.exp(log_proba).sum(axis=0), n_rows))
    log_turned, turned = log_proba[:, turn], np.argsort(turn)[codes]
    order = np.lexsort((*log_turned.T, turned))
    log_joint, codes, log_proba = log_joint[order], codes[order], log_proba[order]
    log_turned, turned = log_turned[order], turned[order]
    guess = scoring.guesses(log_proba)
    hits = np.bincount(codes[guess == codes], minlength=len(classes))
    value = scoring.scores(log_joint, codes)
    k, n = (each[turn][n_rows[turn] > 0] for each in (hits, n_rows))
    # Draws of the mean recall over the classes that have rows; each recall has a Beta posterior (Jeffreys prior).
    recalls = rng.beta(k + 0.5, n - k + 0.5, (DRAWS, len(n))).mean(axis=1)
    ends = {
        "accuracy": scoring.share_interval(hits.sum(), len(codes), share),
        "balanced_accuracy": _ends(recalls, share),
    }
    ends |= _bootstrapped(log_turned, turned, share, rng)
    gain = ends.pop("gain")
    claimed = _claimed(log_turned, rng)
    lower, upper = ({name: pick(ends[name][k], value[name]) for name in SCORES} for k, pick in enumerate((min, max)))
    # ``claimed`` is the calibration error that chance alone explains on average; twice as much is rare.
    lower["ece"] = max(0.0, min(lower["ece"], value["ece"] - 2 * claimed["ece"]))
    columns = {"value": value, "lower": lower, "upper": upper, "claimed": claimed}
    for name, p in (("frequencies", n_rows / len(codes)), ("majority", np.eye(len(classes))[n_rows.argmax()])):
        # A forecast with the same class probabilities for every row.
        columns[name] = scoring.scores(np.broadcast_to(log(p), log_joint.shape), codes)
    table = pd.DataFrame({name: [of.get(score) for score in SCORES] for name, of in columns.items()}, [*SCORES])
    table = table.astype(float)
    names = pd.Index(classes)
    confusion = np.zeros((len(classes), len(classes) + 1), int)
    np.add.at(confusion, (codes, np.where(guess == scoring.GUESSED_NONE, len(classes), guess)), 1)
    predicted = [*classes.tolist(), "impossible"] if confusion[:, -1].any() else classes.tolist()
    counts = pd.DataFrame(confusion[:, : len(predicted)], names.rename("true"), pd.Index(predicted, name="predicted"))
    guessed = confusion.sum(axis=0)[:-1]
    proba = np.exp(log_proba)
    expected, variance = proba.sum(axis=0), (proba * (1 - proba)).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(n_rows == expected, 0.0, (n_rows - expected) / np.sqrt(variance))
    by_class = {"rows": n_rows, "expected": expected, "z": z}
    for name, of in (("recall", n_rows), ("precision", guessed)):
        with np.errstate(invalid="ignore"):
            by_class[name] = np.where(of > 0, hits / of, np.nan)
        by_class[f"{name}_lower"], by_class[f"{name}_upper"] = scoring.share_interval(hits, of, share)
    by_class = pd.DataFrame(by_class, names.rename("class"))
    of = table.rename_axis("score"), counts, by_class, share, dict(never_learned or {}), how, cure, gain
    card = Scorecard(*of)
    if learned is None or card.confidence != "overconfident" or how is None or how.by != "given":
        return card
    excess = value["log_loss"] - table.loc["log_loss", "claimed"]
    n = len(codes)
    at_fault = np.any([*(far or {}).values()], axis=0)[order] if far else np.zeros(n, bool)
    if at_fault.any() and 2 * _excess_of_rows(log_proba, codes, ~at_fault) < excess:
        return replace(card, far={name: int(rows.sum()) for name, rows in far.items()})
    rare = (learned < FEW_ROWS) & (n_rows > 0)
    if rare.any() and 2 * _excess_of_rows(log_proba, codes, ~rare[codes]) < excess:
        return replace(card, rare=dict(zip(names[rare].tolist(), learned[rare].tolist(), strict=True)))
    if prior is None or (np.abs(n_rows - n * prior) <= SHIFTED * np.sqrt(n * prior * (1 - prior))).all():
        return card
    corrected = scoring.log_proba_of(under(np.maximum(n_rows / n, LEAST))[order])
    gain = n * value["log_loss"] + scoring.own(corrected, codes).sum()
    if gain > BETTER and 2 * _excess_of_rows(corrected, codes, np.ones(n, bool)) < excess:
        return replace(card, shifted=dict(zip(names.tolist(), prior.tolist(), strict=True)))
    return card


def _excess_of_rows(log_proba: Array, codes: Array, some: Array) -> float:
    """The contribution of some rows to the difference between the mean log loss and its expectation."""
    return float((-scoring.own(log_proba, codes) - scoring.entropies(log_proba))[some].sum() / len(codes))


def _ends(drawn: Array, prob: float) -> tuple[float, float]:
    lower, upper = np.quantile(drawn, [(1 - prob) / 2, (1 + prob) / 2])
    return float(lower), float(upper)


def _widened(value: float, drawn: Array, prob: float) -> tuple[float, float]:
    # Chance makes the calibration error of rows too large, and that of weighted rows larger again by as much. So the
    # lower end is reflected at the value, as in the basic bootstrap (Davison and Hinkley 1997, section 5.2). The upper
    # end is not, so the interval is rather too wide.
    lower, upper = _ends(drawn, prob)
    return max(0.0, 2 * value - upper), min(1.0, max(upper, 2 * value - lower))


def _bootstrapped(log_proba: Array, codes: Array, prob: float, rng: np.random.Generator) -> dict[str, Any]:
    """Bayesian bootstrap intervals of scores that can be computed from means over rows."""
    # The rows are put into G random groups of m rows with one Dirichlet weight each. The variance of a mean is then
    # s²/(m (G + 1)). This is nearly s²/(n + 1), the variance if each of the n rows has its own weight.
    n, n_classes = log_proba.shape
    groups = min(n, GROUPS)
    place = rng.permutation(n) % groups

    def grouped(values: Array, by: Array | None = None, size: int = 1) -> Array:
        at = place if by is None else place * size + by
        return np.bincount(at, values, minlength=groups * size).reshape(groups, size)

    finite = bool(np.isfinite(log_p := scoring.own(log_proba, codes)).all())
    loss = -log_p if finite else np.zeros(n)
    auc, influence = scoring.auc_and_influence(np.exp(log_proba), codes)
    bin_of, gap, bins = scoring.calibration_gaps(log_proba, codes)
    parts = {
        "rows": grouped(np.ones(n)),
        "log_loss": grouped(loss),
        "gain": grouped(-loss - log(np.bincount(codes) / n)[codes]),
        "brier": grouped(scoring.brier_terms(np.exp(log_proba), codes)),
        "ece": grouped(gap, bin_of, bins),
        "class": grouped(np.ones(n), codes, n_classes),
        "auc": grouped(influence, codes, n_classes),
    }
    weight = rng.standard_exponential((DRAWS, groups))
    drawn = {name: weight @ part for name, part in parts.items()}
    total = drawn["rows"][:, 0]
    found = {
        "log_loss": _ends(drawn["log_loss"][:, 0] / total, prob) if finite else (np.inf, np.inf),
        "gain": _ends(drawn["gain"][:, 0] / total, prob) if finite else (-np.inf, -np.inf),
        "brier": _ends(drawn["brier"][:, 0] / total, prob),
        "ece": _widened(np.abs(parts["ece"].sum(axis=0)).sum() / n, np.abs(drawn["ece"]).sum(axis=1) / total, prob),
        "auc": (auc, auc),
    }
    # The AUC is a mean over pairs of rows, so it is replaced by its first-order expansion: the sum of each row's
    # influence, divided by the weight of its class in the draw. The log-odds of the AUC are expanded, so the interval
    # stays between 0 and 1.
    if 0 < auc < 1:
        present = drawn["class"].any(axis=0)
        away = (drawn["auc"][:, present] / drawn["class"][:, present]).sum(axis=1)
        log_odds = np.log(auc) - np.log1p(-auc) + away / (auc * (1 - auc))
        found["auc"] = _ends(1 / (1 + np.exp(-log_odds)), prob)
    return found


def _claimed(log_proba: Array, rng: np.random.Generator) -> dict[str, float]:
    """The expected scores if each row's class were drawn from the predicted probabilities."""
    # For accuracy, log loss and Brier score, these are the means over rows of the maximum probability, the entropy and
    # 1 - Σ p². The expected calibration error is a mean over simulations.
    proba = np.exp(log_proba)
    confidence = proba.max(axis=1)
    bin_of, _, bins = scoring.calibration_gaps(log_proba, np.zeros(len(proba), int))
    if len(proba) > GROUPS:
        # The sum over a bin of many rows is nearly normal with mean 0, so its mean absolute value is √(2 / π) sd.
        spread = np.bincount(bin_of, confidence * (1 - confidence), minlength=bins)
        ece = float(np.sqrt(2 * spread / np.pi).sum() / len(proba))
    else:
        right = rng.random((400, len(proba))) < confidence
        gaps = (confidence - right) @ np.eye(bins)[bin_of]
        ece = float(np.abs(gaps).sum(axis=1).mean() / len(proba))
    return {
        "accuracy": float(confidence.mean()),
        "log_loss": float(scoring.entropies(log_proba).mean()),
        "brier": float((1 - (proba**2).sum(axis=1)).mean()),
        "ece": ece,
    }


def worth_of_record(record: Mapping[str, Any], chosen: bool = False) -> str:
    """A text about the scores in a model file; ``chosen`` is True if the dependence was chosen on the scored rows."""
    if "log_loss" not in record:
        return "The file holds no score: bayesnb score MODEL TEST scores it on other rows."
    how = f"held out in {record['folds']} folds" if "folds" in record else "each left out"
    counting = f", which count as {record['weight']:,.10g}" if "weight" in record else ""
    learned = " Part of the weight of each held-out row was learned, so other rows may be predicted worse."
    too_good = " Its terms were chosen on these rows, so other rows are usually predicted a little less well."
    return (
        f"Of {record['rows']:,} learned rows{counting}, {how}, {percent(record['accuracy'])} were predicted correctly; "
        f"log loss {nats(record['log_loss'])} (class frequencies of the other rows "
        f"{nats(record['frequencies'])})."
        + learned * ("weight" in record)
        + too_good * (chosen and "folds" not in record)
    )
