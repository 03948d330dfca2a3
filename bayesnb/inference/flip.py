"""Changes that flip a prediction: of the rows, of the probabilities, or of the strength of the priors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from bayesnb.families.columns import at_levels, dense_cells
from bayesnb.families.trials import Bernoulli, Categorical
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.questions import question
from bayesnb.inference.sensitivity import factors
from bayesnb.model import Data
from bayesnb.numerics import Array
from bayesnb.priors import Dirichlet
from bayesnb.statistics.statistic import Labels

NODES = 20_000
"""Branches to examine per class and number of rows; if there are more, the result is a bound."""

MARGIN = 1e-12
"""Scores that differ by less than this are ties, which do not change the prediction."""

POWERS = np.linspace(0, 10, 41)
"""log2 of the powers of the priors that are tried, and of their inverses."""


@dataclass(frozen=True, eq=False)
class Patterns:
    """The learned rows of a class, grouped by their missing cells and the cells that equal the predicted row's."""

    # ``agrees`` (pattern, column) is 1 if the cell equals the predicted row's cell. ``present`` (pattern, column) is 1
    # if the cell is not missing. ``members`` are the positions of the rows of each pattern. ``own`` (column,) counts
    # agreeing cells, and ``total`` (column,) counts cells that are not missing; both include the prior concentrations.
    # ``log_class(k)`` is the log class probability after k rows were removed, up to a constant.

    # Let class c have n learned rows. In column f, T_f of their cells are not missing, and o_f of these agree with the
    # predicted row. Both counts include the concentrations of the prior. Remove k rows of the class; s_f of them agree
    # in column f, and t_f are not missing there. Then the log joint of the class is, up to a constant,
    #
    #     ln(n - k) + Σ_f [ln(o_f - s_f) - ln(T_f - t_f)].
    #
    # ``docs/theory/regret-of-a-plug-in.md`` has the bounds.
    agrees: Array
    present: Array
    members: list[Array]
    own: Array
    total: Array
    log_class: Callable[[int], float]

    def score(self, k: int, agreed: Array, seen: Array) -> float:
        """The log joint probability of the class after k rows are removed, up to a constant."""
        # ``seen`` (column,) counts removed cells that are not missing. ``agreed`` (column,) counts removed cells that
        # equal the predicted row's cell.
        with np.errstate(divide="ignore"):
            return float(self.log_class(k) + (np.log(self.own - agreed) - np.log(self.total - seen)).sum())


@dataclass(frozen=True)
class Removal:
    """Rows to remove, the score after their removal, and a bound on the score for all removals of the same size."""

    score: float
    bound: float
    patterns: tuple[int, ...]


def best_removal(patterns: Patterns, k: int, sign: int, nodes: int = NODES) -> Removal:
    """The k rows of a class whose removal increases (``sign`` 1) or decreases (-1) the score of the class most."""
    # At most ``nodes`` branches of the search tree are examined; the bound on the score holds for all branches.
    # A branch is a choice of some of the k rows. In the score ± ln(o_f - s_f) ∓ ln(T_f - t_f), a convex term lies below
    # its chord over the remaining rows, a concave term below the line through its first step. These two lines bound the
    # gain per removed row of each pattern. The score so far plus the largest such gains, one for each row still to be
    # removed, is an upper bound for every removal in the branch.
    agrees, present, size = patterns.agrees, patterns.present, np.array([len(rows) for rows in patterns.members])
    most_own, most_total = size @ agrees, size @ present
    order = np.argsort(-sign * (present / patterns.total - agrees / patterns.own).sum(1), kind="stable")
    best, chosen, bound_of_rest, left = -np.inf, (), -np.inf, nodes

    def steps(level: Array, j: Array) -> tuple[Array, Array]:
        # The decrease in ln ``level`` for one removed row, and the mean decrease for each of j rows.
        start = np.log(level)
        return start - np.log(level - np.minimum(j, 1)), (start - np.log(level - j)) / np.maximum(j, 1)

    def gains(s: Array, t: Array, j: int) -> Array:
        first_own, mean_own = steps(patterns.own - s, np.minimum(j, most_own - s))
        first_total, mean_total = steps(patterns.total - t, np.minimum(j, most_total - t))
        return agrees @ (mean_own if sign < 0 else -first_own) + present @ (-first_total if sign < 0 else mean_total)

    # Search depth first, because the patterns are ordered by the gain of one row: the first branch is the greedy
    # removal, and a good first removal cuts off most other branches. The gains at a node bound all branches below it.
    # Patterns before ``at`` are not used again, so each multiset of rows is examined once. If the budget of nodes is
    # used up, the largest bound of the other branches is kept.
    def descend(at: int, taken: int, s: Array, t: Array, used: tuple[int, ...]) -> None:
        nonlocal best, chosen, bound_of_rest, left
        j, here = k - len(used), sign * patterns.score(k, s, t)
        if j == 0:
            if here > best:
                best, chosen = here, used
            return
        gain = gains(s, t, j)[order]
        for place in range(at, len(order)):
            used_up = taken if place == at else 0
            there = size[order[place:]].copy()
            there[0] -= used_up
            largest = np.argsort(-gain[place:], kind="stable")
            take = np.diff(np.minimum(np.cumsum(there[largest]), j), prepend=0)
            bound = here + float(take @ gain[place:][largest])
            if take.sum() < j or bound <= best + MARGIN:
                return
            left -= 1
            if left < 0:
                bound_of_rest = max(bound_of_rest, bound)
                return
            if there[0]:
                first = int(order[place])
                descend(place, used_up + 1, s + agrees[first], t + present[first], (*used, first))

    if k <= size.sum():
        descend(0, 0, np.zeros(agrees.shape[1]), np.zeros(agrees.shape[1]), ())
    return Removal(sign * best, sign * max(best, bound_of_rest), chosen)


@dataclass(frozen=True)
class Flip:
    """Changes that would flip one prediction.

    ``other`` is the prediction after removing ``rows``, or None if no removal was found. ``contamination`` is the
    smallest share of every column's values that could change the prediction if they came from another distribution; NaN
    if no column is categorical or 0/1. ``prior_power`` is the power of all priors that changes the prediction; NaN if
    no power between 1/1024 and 1024 does, or if a prior cannot be raised to a power (``Ordinal``, ``PolyaTree``,
    ``Mixture``, ``Rounded``).
    """

    label: Any
    other: Any
    rows: tuple[int, ...]
    at_least: int
    learned: int
    contamination: float
    prior_power: float

    @property
    def proved(self) -> bool:
        """True if ``rows`` is provably a smallest set that changes the prediction."""
        return self.other is not None and self.at_least == len(self.rows)

    def __str__(self) -> str:
        if self.other is None:
            n = self.at_least - 1
            gone = f"row of {self.learned:,} is" if n == 1 else f"{n:,} rows of {self.learned:,} are"
            said = f"It stays {self.label!r}, whichever {gone} removed."
        else:
            n, some = len(self.rows), ", ".join(map(str, self.rows[:10])) + (", …" if len(self.rows) > 10 else "")
            few = f"{n:,} row{'s' * (n > 1)} of {self.learned:,} (at {some})"
            why = "no fewer rows do that" if self.proved else f"at least {self.at_least:,} rows are needed"
            said = f"Without {few} it is {self.other!r} and not {self.label!r}; {why}."
        if np.isfinite(self.contamination):
            said += (
                f" It could change if a share of at least {self.contamination:.2g} of every column's values came from "
                "another distribution."
            )
        if np.isfinite(self.prior_power):
            said += f" It changes if all priors are raised to the power {self.prior_power:.2g}."
        return said


@question("to know what would change an answer", "why", "checks")
def flip(classifier: Classifier, row: Any, X: Any, y: Any, limit: int = 10) -> Flip:
    """The smallest changes that flip a prediction: of the rows, of the probabilities, or of the strength of the priors.

    If all columns are categorical or 0/1, the number of removed rows is a proven minimum. Otherwise, rows are removed
    one by one, and a smaller number of rows may suffice.

    Parameters
    ----------
    row : table of one row
        The row to predict.
    X, y : table and labels
        Exactly the learned rows, each of weight 1.
    limit : int
        The largest number of rows to remove.

    Returns
    -------
    Flip
        The result prints as a sentence. ``rows`` are the positions in X of the rows to remove. ``at_least`` is a lower
        bound on the number of rows needed.

        ``contamination`` is the smallest ε that can change the prediction if each probability table p becomes (1 - ε) p
        + ε q for some table q. ``prior_power`` is the power nearest to 1 that changes the prediction if all priors are
        raised to it (see :func:`sensitivity`).

    Raises
    ------
    ValueError
        If the model has one class, a ``dependence``, a feature sampled by MCMC, or the estimate "map" or "mle"; ``row``
        is not one row; or ``X`` and ``y`` are not the learned rows.

    Notes
    -----
    Prior scales computed from data stay fixed when rows are removed. A class remains in the model even if all its rows
    are removed.

    References
    ----------
    Yang, Jain and Wallace (2023), How many and which training points would need to be removed to flip this
    prediction?; Detavernier and De Bock (2025), Robustness quantification.

    Examples
    --------
    >>> from bayesnb import BayesianNB, checks, datasets
    >>> X, y = datasets.play_tennis()
    >>> day = {"outlook": ["sunny"], "temperature": ["cool"], "humidity": ["high"], "wind": ["strong"]}
    >>> found = checks.flip(BayesianNB().fit(X, y), day, X, y)
    >>> found.rows, found.proved, round(found.contamination, 3)
    ((1, 5), True, 0.085)
    """
    classifier.require_two_classes()
    classifier.require_one_class_prior("what turns an answer")
    classifier.require_counted("rows are removed that were counted")
    classifier.believed.require_naive("exponents were learned from all rows, and would change with each")
    classifier.posterior.require_exact("the removal of rows", "ask a model of exact families")
    classifier.believed.require_predictive("rows are removed from a model whose parameters are integrated out")
    asked, n = classifier.read(row)
    if n != 1:
        raise ValueError(f"Expected a table of one row, such as X[:1]; got {n} rows")
    data, labels = classifier.learned(X, y, None, whole=True)
    log_joint = classifier.posterior.log_predictive(asked, 1)[0]
    top, tables = int(log_joint.argmax()), _tables(classifier, asked)
    if len(tables) == len(asked):
        patterns = _patterns(classifier, asked, data, labels, *np.concatenate([*tables.values()], axis=2))
        rows, at_least, other = _fewest(patterns, top, limit)
    else:
        rows, at_least, other = _greedily(classifier, asked, data, labels, top, limit)
    names = classifier.classes.tolist()
    new, removed = None if other is None else names[other], tuple(sorted(int(row) for row in rows))
    contamination = _contamination(log_joint, [own / total for own, total in tables.values()], top)
    return Flip(names[top], new, removed, at_least, len(labels), contamination, _power(classifier, asked, top))


def _tables(classifier: Classifier, asked: Data) -> dict[Any, Array]:
    """For each feature: posterior concentrations of the row's level and of all levels together, (2, class, column)."""
    found = {}
    for name, family in classifier.posterior.model.features.items():
        if type(family) in (Categorical, Bernoulli):
            (cells,), believed = dense_cells(asked[name]), classifier.posterior.features[name]
            (own,), known = at_levels(believed.concentrations, np.nan_to_num(cells)[None]), ~np.isnan(cells)
            found[name] = np.stack([own, believed.total])[..., known]
    return found


def _patterns(
    classifier: Classifier, asked: Data, data: Data, labels: Labels, own: Array, total: Array
) -> list[Patterns]:
    value, cells = (np.concatenate([dense_cells(x[name]) for name in asked], axis=1) for x in (asked, data))
    known = ~np.isnan(value[0])
    both = np.concatenate([(cells == value)[:, known], ~np.isnan(cells)[:, known]], axis=1).astype(float)
    found = []
    for c in range(len(classifier.classes)):
        rows = np.flatnonzero(labels.codes == c)
        kinds, which = np.unique(both[rows], axis=0, return_inverse=True)
        members = [rows[which == kind] for kind in range(len(kinds))]
        agrees, present = np.split(kinds, 2, axis=1)
        found.append(Patterns(agrees, present, members, own[c], total[c], _log_class(classifier, c)))
    return found


def _log_class(classifier: Classifier, c: int) -> Callable[[int], float]:
    label = classifier.posterior.label
    if isinstance(label, Dirichlet):
        return lambda k: float(np.log(label.alpha[c] - k))
    return lambda k: float(classifier.posterior.log_label[c])


def _fewest(patterns: list[Patterns], top: int, limit: int) -> tuple[list[int], int, int | None]:
    """The fewest rows whose removal changes the prediction, a lower bound on their number, and the new prediction."""

    @cache
    def removal(c: int, k: int) -> Removal:
        return best_removal(patterns[c], k, -1 if c == top else 1)

    at_least = 0
    # Try the runner-up first: it becomes the prediction if only rows of the predicted class are removed.
    others = sorted({*range(len(patterns))} - {top}, key=lambda c: -removal(c, 0).score)
    for n in range(1, limit + 1):
        for other in others:
            for k in range(n + 1):
                less, more = removal(top, k), removal(other, n - k)
                if not at_least and less.bound < more.bound - MARGIN:
                    at_least = n
                if less.score < more.score - MARGIN:
                    return _picked(patterns[top], less) + _picked(patterns[other], more), at_least, other
    return [], at_least or limit + 1, None


def _picked(patterns: Patterns, removal: Removal) -> list[int]:
    which, times = np.unique(removal.patterns, return_counts=True)
    return [row for p, n in zip(which, times, strict=True) for row in patterns.members[int(p)][:n].tolist()]


def _greedily(
    classifier: Classifier, asked: Data, data: Data, labels: Labels, top: int, limit: int
) -> tuple[list[int], int, int | None]:
    # All removals are evaluated at once: each row becomes a further class, with the statistic of its class without the
    # row.
    posterior, classes = classifier.posterior, np.arange(len(classifier.classes))
    statistics, removed, left = dict(posterior.statistics.features), [], np.arange(len(labels))
    log_class = [_log_class(classifier, c) for c in range(len(classes))]
    current = np.array([own(0) for own in log_class]) + posterior.log_predictive_features(asked, 1)[0]
    while len(removed) < limit and len(left):
        codes, gone = labels.codes[left], np.bincount(labels.codes[removed], minlength=len(classes))
        # Per remaining row, the score of its class without it and the rows removed before.
        without = np.array([log_class[c](int(gone[c]) + 1) for c in codes])
        for name, family in posterior.model.features.items():
            one = family.statistic(data[name][left], Labels.of(np.arange(len(left)), len(left)))
            believed = family.update(posterior.prior[name].at(codes), statistics[name].take(codes) - one)
            without += family.log_predictive(believed, asked[name])[0]
        after = np.where(codes[:, None] == classes, without[:, None], current)
        rivals = np.where(classes == top, -np.inf, after)
        lead = after[:, top] - rivals.max(axis=1)
        best = int(lead.argmin())
        row, current, left = int(left[best]), after[best], np.delete(left, best)
        removed.append(row)
        if lead[best] < -MARGIN:
            return removed, min(len(removed), 2), int(rivals[best].argmax())
        for name, family in posterior.model.features.items():
            statistics[name] = statistics[name] - family.statistic(data[name][[row]], labels[[row]])
    return [], 2, None


def _contamination(log_joint: Array, tables: list[Array], top: int) -> float:
    """The smallest contaminated fraction of every column at which another class ties with the predicted class."""
    # Each table entry p becomes (1 - ε) p + ε for the other class, and (1 - ε) p for the predicted class.
    from scipy.optimize import brentq  # Imported here because the import takes a tenth of the time of a command.

    p = np.concatenate([np.empty((len(log_joint), 0)), *tables], axis=1)
    if not p.size:
        return np.nan
    fixed = log_joint - np.log(p).sum(axis=1)

    def lead(epsilon: float, other: int) -> float:
        with np.errstate(divide="ignore"):
            ours = fixed[top] + np.log((1 - epsilon) * p[top]).sum()
            return float(ours - fixed[other] - np.log((1 - epsilon) * p[other] + epsilon).sum())

    return min(brentq(lead, 0.0, 1.0 - 1e-12, args=(c,)) for c in range(len(p)) if c != top)


def _power(classifier: Classifier, asked: Data, top: int) -> float:
    """The power nearest to 1 that changes the prediction if applied to all priors, or NaN."""
    from scipy.optimize import brentq

    every, fixed = factors(classifier.posterior, asked, classifier.estimate, "rows")
    if fixed:
        return np.nan

    def lead(log2: float) -> float:
        try:
            with np.errstate(all="ignore"):
                (joint,) = sum(np.atleast_2d(f.log_term(2.0**log2, 1.0)) for parts in every.values() for f in parts)
        except ValueError:
            return np.nan
        return float(joint[top] - np.delete(joint, top).max())

    ends = []
    for powers in (POWERS, -POWERS):
        behind = np.flatnonzero([lead(log2) < 0 for log2 in powers[1:]])
        if len(behind):
            ends.append(brentq(lead, *powers[behind[0] : behind[0] + 2]))
    return float(2.0 ** min(ends, key=abs)) if ends else np.nan
