"""Tests of the independence of columns given the class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from bayesnb.data.rows import TrainingRows
from bayesnb.dependence.evidence import evidence_of_pairs
from bayesnb.dependence.exponents import DependenceName, Exponents, require_exact
from bayesnb.dependence.learning import learn
from bayesnb.families.gaussian import Gaussian
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.draws import probability_of_interval
from bayesnb.inference.questions import Shown, question
from bayesnb.model import Data, Posterior
from bayesnb.model.order import Order
from bayesnb.statistics.statistic import Labels
from bayesnb.wording import Cure, Message

CHANCE = 0.05
"""Largest probability of a finding in a table without any dependence."""

JUDGED = 0.89
"""Probability of the exponent's interval that decides whether log-odds are too large. Others may be displayed."""


@dataclass(frozen=True, eq=False)
class Independence:
    """The evidence against independence of the columns given the class.

    Parameters
    ----------
    pairs : DataFrame
        A row for each pair of columns (``first``, ``second``), the most dependent first. ``log_bayes_factor`` is the
        log Bayes factor, in nats, of dependence given the class. ``information`` is the mutual information given the
        class, in nats, adjusted for chance. ``lower`` and ``upper`` are the interval of the information; ``lower`` is 0
        if independence is plausible. ``gain`` is the decrease in leave-one-out log loss per row, in nats, if p(a, b |
        c) replaces p(a | c) p(b | c). ``gain`` is too small for columns of numbers that depend strongly on each other.
        ``se`` is the standard error of the gain. ``score`` is the z-score for adding the pair to a model with
        ``dependence="weighted"``.
    exponent : Series
        The posterior of one exponent, a power of the likelihoods of all columns: ``mean``, ``sd``, ``lower``,
        ``upper``, and the ``log_bayes_factor`` against exponent 1 (naive Bayes).
    columns : tuple
        The columns that were compared.
    dependence : str or Exponents, optional
        The dependence of the model.
    families : tuple of Cure
        For Gaussian columns, the families that :func:`bayesnb.inspect` prefers. A wrong family also makes log-odds too
        large.
    far : tuple of Message
        For Gaussian columns, the numbers that lie far from all others. A single outlying number also makes log-odds too
        large.
    """

    pairs: pd.DataFrame
    exponent: pd.Series
    columns: tuple[Any, ...]
    dependence: DependenceName | Exponents | None = None
    families: tuple[Cure, ...] = ()
    far: tuple[Message, ...] = ()

    @property
    def threshold(self) -> float:
        """The log Bayes factor above which a pair counts as dependent."""
        # If the Bayes factors had a mean of 1 under independence, any of m pairs would exceed m / 0.05 with probability
        # at most 0.05 (e-values: Vovk and Wang 2021). This holds only nearly (``docs/theory/exponents.md``).
        return float(np.log(max(1, len(self.pairs)) / CHANCE))

    @property
    def dependent(self) -> pd.DataFrame:
        """The pairs whose log Bayes factor is above the ``threshold``."""
        return self.pairs[self.pairs["log_bayes_factor"] > self.threshold]

    @property
    def too_sure(self) -> float:
        """The factor by which log-odds of naive Bayes are too large (below 1 if too small); 1 without evidence."""
        # As evidence counts a Bayes factor above 20 against naive Bayes, or an 89 % interval of the exponent that
        # excludes 1 (whatever interval is displayed). If the interval excludes 1 but the Bayes factor is at most 20,
        # the evidence is weak, and no other ``dependence`` is advised. If the interval reaches 0, the result is the
        # smallest factor that the interval allows.
        # The whole interval may be below 0, if the columns together are misleading.
        size = 1 / max(self._ends[1] if self._unbounded else float(self.exponent["mean"]), 0.01)
        return size if self._clear or self._excludes_1 else 1.0

    @property
    def _clear(self) -> bool:
        return bool(self.exponent["log_bayes_factor"] > -np.log(CHANCE))

    @property
    def _ends(self) -> tuple[float, float]:
        """The interval that contains the exponent with probability ``JUDGED``."""
        mean, half = float(self.exponent["mean"]), float(ndtri(0.5 + JUDGED / 2) * self.exponent["sd"])
        return mean - half, mean + half

    @property
    def _excludes_1(self) -> bool:
        return _excludes_1(*self._ends)

    @property
    def _unbounded(self) -> bool:
        return self._ends[0] <= 0 and self._ends[1] < 1

    @property
    def advice(self) -> str | None:
        """The ``dependence`` to use: "weighted", "pairwise", or ``None`` if no change is needed."""
        # "pairwise" is advised if a dependent pair has a significant score (Bonferroni), otherwise "weighted" if
        # log-odds are too large or too small.
        found = self.dependent
        if (found["score"] > ndtri(1 - CHANCE / max(1, len(found)))).any():
            return "pairwise"
        return "weighted" if self._clear else None

    @property
    def evidence(self) -> Message:
        """A message about outlying numbers, dependent pairs of columns, and too large or too small log-odds."""
        found, size, n = self.dependent, self.too_sure, len(self.pairs)
        if not n:
            counted = Message("There is no pair of columns to compare")
        elif found.empty:
            counted = Message("None of {n:,} pairs of columns shows dependence given the class", n=n)
        else:
            said = (
                "{k:,} of {n:,} pairs of columns depend on each other given the class, most of all {first!r} and "
                "{second!r}"
            )
            one = "1 of {n:,} pairs of columns depends on each other given the class: {first!r} and {second!r}"
            counted = Message(said if len(found) > 1 else one, k=len(found), n=n, **found.iloc[0][["first", "second"]])
        times = 1 / size if size < 1 else size
        odds = Message("there is no evidence of over- or underconfidence")
        if size != 1:
            way, near = "small" if size < 1 else "large", 1 + float(f"{times - 1:.1g}")  # 1.04, not 1.
            shown = f"{near:.9g}" if times < 1.1 else f"{times:{'.2g' if times < 10 else ',.0f'}}"
            whose = "" if self.dependence is None else "naive Bayes "
            least = "at least " if self._unbounded else ""
            odds = Message(
                "{whose}log-odds are {least}{times} times too {way}", whose=whose, least=least, times=shown, way=way
            )
            if not (self._clear and self._excludes_1):
                odds = Message("there is {weak}evidence that {odds}", weak="" if self._clear else "weak ", odds=odds)
        lower, upper = self._ends
        printed = self.exponent[["lower", "upper"]]
        differs = _excludes_1(*printed) != self._excludes_1
        if differs or (size != 1 and self._unbounded):
            said = "{odds} (the exponent of all columns is {lower:z.2f} to {upper:z.2f}{sure}, and 1 in naive Bayes)"
            sure = "" if np.allclose(printed, self._ends) else f" with probability {JUDGED:.0%}"
            odds = Message(said, odds=odds, lower=lower, upper=upper, sure=sure)
        said, more = Message("{counted}; {odds}", counted=counted, odds=odds), len(self.far) - 1
        if not (self.far and size > 1):
            return said
        others = f"; so do numbers of {more} more column{'s' * (more > 1)}" if more else ""
        text = "{far}{more}. One such number alone can make log-odds too large, so correct it first. {said}"
        return Message(text, far=self.far[0], more=others, said=said)

    @property
    def finding(self) -> Message:
        return Message("{evidence}; {cure}.", evidence=self.evidence, cure=self._cure)

    @property
    def _cure(self) -> Message:
        none = self.dependent.empty
        if none and self.too_sure == 1:
            return Message("nothing need be done")
        if self.dependence is not None:
            return Message("the model has {dependence}", dependence=Cure("dependence", self.dependence))
        said = "use {cure}, or another family for columns of another shape" if none else "use {cure}, or {auto}"
        then = Message(said, cure=Cure("dependence", self.advice), auto=Cure("dependence", "auto"))
        if self.advice is None:
            cure = Cure("dependence", "pairwise" if self.too_sure == 1 else "weighted")
            then = Message("compare shows whether {cure} predicts better", cure=cure)
        if not self.families:
            return then
        # The dependence of a pair is a matter of ranks, which a family does not change.
        more = len(self.families) - 1
        said = "{then}; inspect also prefers {family} to a Gaussian{more}"
        if none:
            said = "first try {family}, which inspect prefers to a Gaussian{more}; if that does not help, {then}"
        others = f" (and other families for {more} more column{'s' * (more > 1)})" if more else ""
        return Message(said, family=self.families[0], more=others, then=then)

    def __str__(self) -> str:
        return str(self.finding)

    def __repr__(self) -> str:
        return f"<Independence: {self}>"


def _excludes_1(lower: float, upper: float) -> bool:
    """Whether an interval of the exponent, rounded as in the printed result, excludes 1."""
    return not round(lower, 2) <= 1 <= round(upper, 2)


def _notes(found: Independence) -> str:
    one = found.exponent
    return (
        f"One exponent for all columns: {one['mean']:.2f} ({one['lower']:.2f} to {one['upper']:.2f}), where 1 is naive "
        f"Bayes. Chance hardly gives a log Bayes factor above {found.threshold:.1f}."
    )


@question(
    "to know which columns depend on each other", "is the model right", "checks",
    Shown(
        "Dependence between columns", lines=lambda found: found.pairs.set_index(["first", "second"]),
        notes=_notes, plot="independence",
    ),
    {
        "log_bayes_factor": "evidence for dependence given the class, in nats; negative favours independence",
        "information": "mutual information given the class, in nats, adjusted for chance; numbers are cut at their "
        "quartiles, so it is at most ln 4 = 1.39 for them",
        "lower": "lower end of the interval of the mutual information",
        "upper": "upper end of the interval of the mutual information",
        "gain": "decrease in left-out log loss per row, in nats, if p(a | c) p(b | c) is replaced by p(a, b | c); "
        "numbers are cut into 16 intervals, so it is too small, even negative, for numbers that depend strongly: then "
        "the log Bayes factor decides whether they depend",
        "se": "standard error of the gain",
        "score": Message(
            "z-score of the pair's term when it is added to {model}", model=Cure("dependence", "weighted")
        ),
    },
)  # fmt: skip
def independence(
    classifier: Classifier, X: Any, y: Any, sample_weight: Any = None, prob: float | None = None
) -> Independence:
    """Which columns depend on each other given the class, how strongly, and what to do about it.

    Parameters
    ----------
    X, y, sample_weight
        Exactly the learned rows.
    prob : float, optional
        Probability of the displayed intervals, by default ArviZ's ``stats.ci_prob`` (0.89). The printed advice always
        uses the 89 % interval of the exponent (the power of the likelihoods of all columns).

    Returns
    -------
    Independence
        The result prints as one sentence of advice. :func:`bayesnb.plots.independence` draws the result.

    Raises
    ------
    ValueError
        If there are features sampled by MCMC, learned rows without a label, more than 200 columns, or a posterior that
        is improper when a row is left out.

    Notes
    -----
    Bags of words, counts with an exposure, and columns of more than 64 levels are not compared. The column
    ``gain`` is computed from at most 4,096 rows. For ``information``, numbers are cut at their quartiles, so two
    columns of numbers have at most ln 4 = 1.39 nats. For ``gain``, numbers are cut into 16 intervals. A dependence
    within the intervals is hidden, so modelling a strong dependence can gain more than ``gain``.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import BayesianNB, checks
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=500)
    >>> x = rng.normal(y)
    >>> X = {"x": x, "copy": x, "other": rng.normal(y)}
    >>> found = checks.independence(BayesianNB().fit(X, y), X, y)
    >>> print(found)
    1 of 3 pairs of columns depends on each other given the class: 'x' and 'copy'; log-odds are 1.5 times too large;
    use dependence="weighted", or dependence="auto".
    >>> found.pairs[["first", "second", "log_bayes_factor", "information"]].round(1)
      first second  log_bayes_factor  information
    0     x   copy             580.3          1.3
    1     x  other              -3.5          0.0
    2  copy  other              -3.5          0.0
    """
    classifier.require_one_class_prior("the audit of independence")
    classifier.require_counted("the audit leaves rows out, which is exact for rows that were counted")
    rows = classifier.rows(X, y, sample_weight).labelled()
    data, labels = classifier.encoded(rows)
    classifier.require_learned(labels.weights())
    found = audited(classifier.posterior, data, labels, probability_of_interval(prob))
    if classifier.dependence is not None:
        found = replace(found, dependence=classifier.dependence.spec.name)
    if found.too_sure == 1 and found.dependent.empty:
        return found
    from bayesnb.findings import far_from_others, preferred

    columns, labels = _gaussians(classifier, rows, data, labels)
    heaviest_first = sorted(columns, key=lambda column: -np.nan_to_num(column.kurt()))
    found = replace(found, far=tuple(filter(None, map(far_from_others, heaviest_first))))
    if classifier.dependence is not None:
        return found
    # A family that is named for a column of texts replaces the reading of its texts, and may not read them.
    plain = (column for column in columns if column.name not in classifier.schema.readings)
    return replace(found, families=tuple(filter(None, (preferred(column, labels) for column in plain))))


def _gaussians(
    classifier: Classifier, rows: TrainingRows, data: Data, labels: Labels
) -> tuple[list[pd.Series], pd.Series]:
    """The values of columns that are modelled as Gaussian, and the class of each row; large tables are sampled."""
    from bayesnb.findings import LOOKED_AT

    schema, some = classifier.schema, np.arange(len(labels))
    table = schema.through(rows.table)
    names = [name for f in schema.features.values() if type(f.family) is Gaussian for name in f.columns]
    names = names if schema.named and not table.sparse else []  # Families are proposed by the names of columns.
    if names and labels.size > LOOKED_AT:
        drawn, labels = Order.under(classifier.posterior.model, data, labels).drawn(labels, LOOKED_AT, 0)
        some = some[drawn]
    copies = labels.weight.astype(int) if labels.whole else labels.weight > 0
    some, codes = np.repeat(some, copies), np.repeat(labels.codes, copies)
    return [pd.Series(table.column(name).reals()[some], name=name) for name in names], pd.Series(codes)


def audited(posterior: Posterior, data: Data, labels: Labels, level: float = JUDGED) -> Independence:
    """Test every pair of columns for dependence given the class, with intervals of probability ``level``."""
    require_exact(posterior.model, Message("or {cure}", cure=Cure("drop")))
    pairs, columns = evidence_of_pairs(posterior, data, labels, level)
    tempered = learn(posterior, data, labels, "tempered")
    return Independence(pairs, tempered.exponents.table(level).iloc[0], columns)
