"""Class probabilities under a set of priors: lower and upper bounds, and the undominated classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import expit

from bayesnb.data.schema import CLASS
from bayesnb.families.columns import at_levels, dense_cells, known_cells
from bayesnb.families.conjugate import Conjugate
from bayesnb.families.trials import BinaryCounts
from bayesnb.inference.classifier import Classifier, index_of
from bayesnb.inference.questions import Shown, question
from bayesnb.kernels.blocks import slices
from bayesnb.model import Data, part_of
from bayesnb.model.naive_bayes import EXACT
from bayesnb.numerics import Array, log
from bayesnb.priors import Beta, Dirichlet, Gamma, Normal, NormalGamma, Prior
from bayesnb.statistics.statistic import Column, Statistic
from bayesnb.wording import Message

LEAST = 1e-12
"""The smallest share t; 0 itself is not in the set."""


HALVINGS = 48
"""Steps of a bisection, which shrink the interval to 4e-15 of its first length."""


GRID = 17
"""Points of the initial grid in one dimension, for problems that are not convex."""


SECTIONS = 28
"""Golden-section steps, which shrink the interval to 1e-6 of its first length; the error of a maximum is its square."""


SWEEPS = 12
"""Largest number of sweeps of exchanges between all pairs of classes."""


CELLS = 2**18
"""Size of a temporary array."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds of ln p(class, row), up to a constant, as functions of t, each class's share of the prior weight."""

    # ``low`` and ``high``, (row, class), are the parts of the bounds that do not depend on the share. ``own_low`` and
    # ``own_high``, (row, class, column), bound the number of learned cells equal to the row's cell. ``seen``, (class,
    # column), is the number of learned cells. ``rows``, (class,), holds the class weights, or is None if ``low`` and
    # ``high`` include the class probabilities.

    low: Array
    high: Array
    rows: Array | None
    own_low: Array
    own_high: Array
    seen: Array
    s: float

    def part(self, cut: slice) -> Bounds:
        rows = (self.low[cut], self.high[cut], self.rows, self.own_low[cut], self.own_high[cut])
        return Bounds(*rows, self.seen, self.s)

    def f(self, t: Array) -> tuple[Array, Array]:
        """The smallest ln p(class, row) if ``t`` is the class's share of the prior weight, and the derivative in t."""
        return self._log_j(t, self.low, self.own_low, 0.0)

    def h(self, t: Array) -> tuple[Array, Array]:
        """The largest ln p(class, row) if ``t`` is the class's share of the prior weight, and the derivative in t."""
        return self._log_j(t, self.high, self.own_high, 1.0)

    def _log_j(self, t: Array, base: Array, own: Array, added: float) -> tuple[Array, Array]:
        u = self.s * np.maximum(t, LEAST)
        own, seen, known = own + added * u[..., None], self.seen + u[..., None], ~np.isnan(own)
        value = base + np.where(known, log(own) - np.log(seen), 0.0).sum(axis=-1)
        slope = np.where(known, (added / own if added else 0.0) - 1 / seen, 0.0).sum(axis=-1)
        if self.rows is not None:
            value, slope = value + np.log(self.rows + u), slope + 1 / (self.rows + u)
        return value, self.s * slope


def credal(bounds: Bounds) -> tuple[Array, Array, Array]:
    """Lower and upper probabilities, (row, class), and whether class k dominates class c in row i, (i, k, c)."""
    # Let class c have the share t_c of the total concentration s. Then f_c(t_c) and h_c(t_c) are the logarithms of the
    # smallest and the largest J_c ∝ p(c, x). ``docs/how-to/how-much-the-prior-matters.md`` derives the bounds from two
    # facts. First, f is convex and, if a nominal column is seen, falling; h is concave and rising (n_{c,i} ≤ n_c). So
    # dominance and upper probabilities are convex problems. Second, exp(h_k) is convex if no learned cell is missing.
    # Then only one t_k besides t_c is above 0 at the lower probability of c, and a search in one dimension for each k
    # finds it. Otherwise exchanges of shares search for a local maximum.
    n, classes, columns = bounds.own_low.shape
    parts = [_block(bounds.part(cut)) for cut in slices(n, max(1, CELLS // (GRID * classes**2 * max(1, columns))))]
    lower, upper, dominates = (np.concatenate(part) for part in zip(*parts, strict=True))
    return lower, upper, dominates


def _block(bounds: Bounds) -> tuple[Array, Array, Array]:
    def log_ratio(t: Array) -> Array:
        return bounds.f(t)[0] - np.swapaxes(bounds.h(1 - np.swapaxes(t, 0, 2))[0], 0, 2)

    n, classes = bounds.low.shape
    ratio = log_ratio(best_share(lambda t: -log_ratio(t), (classes, n, classes), GRID))
    # A difference of the size of rounding errors does not count as dominance.
    dominates = np.moveaxis((ratio > 1e-9) & ~np.eye(classes, dtype=bool)[:, None], 0, 2)
    if classes == 2:
        upper = np.stack([expit(-ratio[0, :, 1]), expit(-ratio[1, :, 0])], axis=1)
        return 1 - upper[:, ::-1], upper, dominates
    return _lower(bounds), _upper(bounds), dominates


def _bisected(below: Callable[[Array], Array], low: Array, high: Array) -> tuple[Array, Array]:
    """Narrow the interval from ``low`` to ``high`` by bisection, to the point at which ``below`` becomes false."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        held = below(middle)
        low, high = np.where(held, middle, low), np.where(held, high, middle)
    return low, high


def _upper(bounds: Bounds) -> Array:
    # At the minimum, -d exp(f_k)/dt_k equals one multiplier μ for all k, except if t_k is 0 or 1. This derivative
    # decreases in t_k, so bisection finds each t_k from μ. The slope of the objective along t_c = 1 - Σ t_k grows with
    # μ, so bisection finds μ too.
    n, classes = bounds.low.shape
    shape, c = (classes, n, classes), np.arange(classes)  # (c, row, k)
    others = ~np.eye(classes, dtype=bool)[:, None]

    def log_slope(t: Array) -> Array:
        value, slope = bounds.f(t)
        return log(np.maximum(-slope, 0.0)) + value

    def judged(log_mu: Array) -> tuple[Array, Array]:
        # Find the shares t; return whether μ is too small, and the log-odds against class c, both (c, row).
        low, high = _bisected(lambda t: log_slope(t) > log_mu[..., None], np.zeros(shape), np.ones(shape))
        # If ``low`` is still 0, -d exp(f)/dt is below μ at every t, so t is 0.
        t = np.where(others & (low > 0), high, 0.0)
        rest = 1 - t.sum(axis=-1)
        value = np.logaddexp.reduce(np.where(others, bounds.f(t)[0], -np.inf), axis=-1)
        best, slope = (v[c, :, c] for v in bounds.h(np.broadcast_to(np.clip(rest, 0.0, 1.0)[..., None], shape)))
        with np.errstate(invalid="ignore"):
            return (rest < 0) | (log_mu - value < log(slope)), value - best

    ends = [np.where(others, log_slope(np.full((1, 1, classes), end)), np.nan) for end in (1.0, 0.0)]
    finite = np.where(np.isfinite(ends), ends, np.nan)
    most = np.nan_to_num(np.fmax.reduce(finite[1], axis=-1)) + 1.0
    least = np.minimum(np.nan_to_num(np.fmin.reduce(finite[0], axis=-1)) - 50.0, most - 100.0)
    return expit(-judged(_bisected(lambda log_mu: judged(log_mu)[0], least, most)[1])[1]).T


def _lower(bounds: Bounds) -> Array:
    # For each other class k, search the shares of c and k, with all other shares 0. If learned cells are missing,
    # exchange shares between pairs of classes until the objective stops increasing. Start from the best point of the
    # search, and from equal shares.
    n, classes = bounds.low.shape
    complete = bounds.rows is not None and (bounds.seen >= bounds.rows[:, None]).all()
    found = np.empty((n, classes))
    for c in range(classes):
        others = np.arange(classes) != c

        def odds(t: Array, c: int = c, others: Array = others) -> Array:
            return np.logaddexp.reduce(bounds.h(t)[0][..., others], axis=-1) - bounds.f(t)[0][..., c]

        alone = np.tile(np.eye(classes)[c], (n, 1))
        t = np.stack([alone, *(_exchanged(odds, alone, c, k) for k in np.flatnonzero(others).tolist())])
        if not complete:
            best = t[odds(t).argmax(axis=0), np.arange(n)]
            t, before = np.stack([best, np.full_like(best, 1 / classes)]), np.full(n, -np.inf)
            for _ in range(SWEEPS):
                for a, b in combinations(range(classes), 2):
                    t = _exchanged(odds, t, a, b)
                if ((now := odds(t).max(axis=0)) <= before + 1e-10).all():
                    break
                before = now
        found[:, c] = odds(t).max(axis=0)
    return expit(-found)


def _exchanged(value: Callable[[Array], Array], t: Array, a: int, b: int) -> Array:
    """Maximize ``value`` by moving prior weight between classes a and b; return the shares of all classes."""
    both = t[..., a] + t[..., b]

    def at(share: Array) -> Array:
        moved = t.copy()
        moved[..., a], moved[..., b] = share * both, (1 - share) * both
        return moved

    return at(best_share(lambda share: value(at(share)), both.shape, GRID))


MOST_COMPLETIONS = 1024
"""Largest number of completions of a row whose missing cells may have any level."""


def _one_class(found: pd.DataFrame) -> pd.Series:
    return found.xs("undominated", axis=1, level=1).sum(axis=1) == 1


def _undecided(found: pd.DataFrame) -> str:
    sure = _one_class(found)
    return (
        "Under all priors of the imprecise Dirichlet model (s = 1) for nominal columns and the classes, "
        f"{int(sure.sum()):,} of {len(sure):,} rows have one class that is more probable than any other."
        + ("" if sure.all() else " The choice of the prior can decide the others.")
    )


@question(
    "bounds of class probabilities under a set of priors", "how sure", "sets",
    Shown("Rows that a prior decides", lines=lambda found: found[~_one_class(found)], says=_undecided),
    {
        "lower": "smallest p(class | row) under any prior of the set",
        "upper": "largest p(class | row) under any prior of the set",
        "undominated": "false if another class is more probable under every prior of the set",
    },
)  # fmt: skip
def predict_credal(
    classifier: Classifier,
    X: Any,
    s: float | None = 1.0,
    priors: Mapping[Any, Any] | None = None,
    missing: Literal["ignored", "any"] = "ignored",
) -> pd.DataFrame:
    """Lower and upper class probabilities under a set of priors, and the undominated classes.

    By default, the set is the imprecise Dirichlet model of the naive credal classifier (Walley 1996, Zaffalon 2002).

    Parameters
    ----------
    X : table
        The rows to predict.
    s : float or None
        The total concentration of the Dirichlet priors in the set, usually 1 or 2. ``s`` applies to the classes and to
        categorical and 0/1 columns; all other columns keep their fitted prior. With ``s=None`` (only in Python), all
        priors are the fitted priors.
    priors : {feature or "(class)": (prior, prior)}, optional
        Two priors. Each hyperparameter varies between its values in the two priors, independently for each class and
        column.
    missing : {"ignored", "any"}
        Whether missing cells of nominal columns are missing at random ("ignored"), or may have any level (Corani and
        Zaffalon 2008).

    Returns
    -------
    DataFrame (row, (class, ...))
        ``lower`` and ``upper`` are the smallest and largest p(class | row) over all priors of the set. ``undominated``
        is False if some other class is more probable under every prior.

    Raises
    ------
    ValueError
        If a feature is sampled by MCMC, rows without a label were learned, or the model has a ``dependence`` or an
        estimate other than "predictive". If an interval in ``priors`` has an infinite end or belongs to a bag of words.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets, sets
    >>> X, y = datasets.play_tennis()
    >>> sets.predict_credal(BayesianNB().fit(X, y), X[:3], s=1).round(2)
    class    no                     yes
          lower upper undominated lower upper undominated
    0       0.6  0.89        True  0.11   0.4       False
    1       0.8  0.96        True  0.04   0.2       False
    2       0.0  0.51        True  0.49   1.0        True
    """
    _require_priors(classifier)
    if s is not None and not (np.isfinite(s) and s > 0):
        raise ValueError(f"Expected s to be a positive number, such as 1 or 2, or None; got {s!r}")
    priors = dict(priors or {})
    if unknown := [name for name in priors if name != CLASS and name not in classifier.posterior.model.features]:
        raise ValueError(
            f"Expected priors of {[CLASS, *classifier.posterior.model.features]}; got one of {unknown[0]!r}"
        )
    data, n = classifier.read(X)
    source = np.arange(n)
    cells = {} if s is None else {
        name: dense_cells(data[name]) for name, family in classifier.posterior.model.features.items()
        if family.support.kind in ("levels", "zero_one") and name not in priors
    }  # fmt: skip
    if missing == "any" and cells:
        cells, source = _completed(cells, {name: _level_counts(classifier, name)[1] for name in cells}, n)
    lower, upper, dominates = credal(_bounds(classifier, part_of(data, source), cells, len(source), s, priors, missing))
    if len(source) > n:
        starts = np.flatnonzero(np.diff(source, prepend=-1))
        lower, upper = np.minimum.reduceat(lower, starts), np.maximum.reduceat(upper, starts)
        dominates = np.logical_and.reduceat(dominates, starts)
    columns = pd.MultiIndex.from_product([classifier.classes, ["lower", "upper", "undominated"]], names=["class", ""])
    found = np.stack([lower, upper, ~dominates.any(axis=1)], axis=2, dtype=object)
    return pd.DataFrame(found.reshape(n, len(columns)), index_of(X), columns).infer_objects()


def _require_priors(classifier: Classifier) -> None:
    classifier.require_one_class_prior("a set of priors")
    classifier.require_counted("a set of priors needs rows that were counted")
    said = "leave the column out, or give it a family that has one, such as {cure}"
    classifier.posterior.require_exact("a set of priors", Message(said, cure=EXACT))
    classifier.believed.require_naive("the exponents were learned under one prior and would change with it")
    classifier.believed.require_predictive("bounds are of probabilities with all parameters integrated out")


def _bounds(
    classifier: Classifier, data: Data, cells: Mapping[Any, Array], n: int, s: float | None, priors: Mapping[Any, Any],
    missing: str,
) -> Bounds:  # fmt: skip
    """Bounds of ln p(class, row) over the sets of priors of the classes and of all features."""
    # cells: for the features whose Dirichlet priors vary
    posterior, statistics = classifier.posterior, classifier.statistics
    rows, classes = statistics.rows, len(classifier.classes)
    imprecise_class = s is not None and CLASS not in priors and isinstance(posterior.label_prior, Dirichlet)
    # The first axis has the lower and the upper bound, (bound, row, class).
    low, high = total = np.zeros((2, n, classes))
    if CLASS in priors:
        given = priors[CLASS]
        if not (isinstance(given, tuple | list) and len(given) == 2 and all(isinstance(p, Dirichlet) for p in given)):
            raise ValueError(f"class prior: Expected two Dirichlet, the ends of the intervals; got {given!r}")
        ends = [prior.over_classes(statistics.labels, rows).alpha for prior in given]
        total += log(rows + np.sort(ends, axis=0))[:, None]
    elif not imprecise_class:
        total += log(posterior.label.mean())
    own, seen = [np.empty((n, classes, 0))], [np.empty((classes, 0))]
    for name, family in posterior.model.features.items():
        if name in cells:
            counts, _ = _level_counts(classifier, name)
            known = ~np.isnan(cells[name])[:, None]
            own.append(np.where(known, at_levels(counts, np.nan_to_num(cells[name])), np.nan))
            seen.append(counts.sum(axis=-1))
            continue
        with statistics.about(name):
            if name in priors:
                total += interval_bounds(family, priors[name], statistics.features[name], data[name], statistics.labels)
            else:
                total += family.log_predictive(posterior.features[name], data[name])
    own_low, seen = np.concatenate(own, axis=-1), np.concatenate(seen, axis=-1)
    # A missing learned cell may have had this level or any other.
    gaps = np.maximum(rows[:, None] - seen, 0.0) if missing == "any" else 0.0
    of_classes = rows if imprecise_class else None
    return Bounds(low, high, of_classes, own_low, own_low + gaps, seen + gaps, s or 1.0)


def _level_counts(classifier: Classifier, name: Any) -> tuple[Array, list[int]]:
    """The weight of each level, (class, column, level), and the number of levels per column."""
    s = classifier.statistics.features[name]
    if isinstance(s, BinaryCounts):
        return np.stack([s.n - s.ones, s.ones], axis=-1), [2] * s.n.shape[1]
    return s.counts, [len(levels) for levels in s.levels]


def _completed(cells: Mapping[Any, Array], levels: Mapping[Any, list[int]], n: int) -> tuple[dict[Any, Array], Array]:
    """Fill missing nominal cells in all possible ways; return filled rows and their original positions."""
    whole, sizes, parts = np.concatenate([*cells.values()], axis=1), np.concatenate([*levels.values()]), []
    for row in range(n):
        gaps = np.flatnonzero(np.isnan(whole[row]))
        if (size := int(np.prod(sizes[gaps], dtype=float))) > MOST_COMPLETIONS:
            raise ValueError(
                f"row {row} has {len(gaps)} missing cells, which can be completed in {size} ways, and at most "
                f'{MOST_COMPLETIONS} are tried; use missing="ignored"'
            )
        parts.append(np.repeat(whole[[row]], size, axis=0))
        parts[-1][:, gaps] = list(product(*map(range, sizes[gaps])))
    source = np.repeat(np.arange(n), [len(part) for part in parts])
    ends = np.cumsum([own.shape[1] for own in cells.values()])[:-1]
    made = np.split(np.concatenate([np.empty((0, whole.shape[1])), *parts]), ends, axis=1)
    return dict(zip(cells, made, strict=True)), source


# Bounds of a column's predictive if the hyperparameters may have any value in given intervals, independently for each
# class and column.


PARAMETERS: Mapping[type[Prior], tuple[str, ...]] = {
    Gamma: ("alpha", "beta"),
    Normal: ("m", "v"),
    NormalGamma: ("m", "kappa", "a", "b"),
}
"""The hyperparameters to search, where there is no formula."""


POINTS, ROUNDS = 9, 4
"""Points of the initial grid along a hyperparameter, and sweeps over all hyperparameters."""


ROWS = 512
"""Rows per batch of the search."""


def interval_bounds(
    family: Conjugate, intervals: tuple[Prior, Prior], s: Statistic, x: Column, labels: tuple[Any, ...]
) -> tuple[Array, Array]:
    """The smallest and the largest log density of each row, (row, class), over all priors between two given priors."""
    if not (isinstance(intervals, tuple | list) and len(intervals) == 2):
        raise ValueError(f"Expected two priors, the ends of the intervals; got {intervals!r}")
    if family.whole_rows:
        raise ValueError("its columns share one θ, and have no bounds under intervals of its prior")
    ends = [replace(family, prior=prior).priors(s, labels) for prior in intervals]
    if isinstance(ends[0], Dirichlet | Beta):
        return _of_levels(family, ends, s, x)
    if type(ends[0]) not in PARAMETERS:
        raise ValueError(f"there are no bounds under intervals of a {type(ends[0]).__name__}")
    return _searched(family, ends, s, x)


def _of_levels(family: Conjugate, ends: list[Any], s: Statistic, x: Column) -> tuple[Array, Array]:
    # A level is most probable if its concentration is largest and all other concentrations are smallest.
    low, high = np.sort([family.update(prior, s).concentrations for prior in ends], axis=0)
    cells = dense_cells(x)

    def added(own: Array, others: Array) -> Array:
        table = log(own) - log(own + others.sum(axis=-1, keepdims=True) - others)
        return np.where(np.isnan(cells)[:, None], 0.0, at_levels(table, np.nan_to_num(cells))).sum(axis=-1)

    return added(low, high), added(high, low)


def _searched(family: Conjugate, ends: list[Any], s: Statistic, x: Column) -> tuple[Array, Array]:
    # Coordinate search over hyperparameters, started at every corner and at the middle of the intervals.
    # The search starts at every corner and at the middle of the intervals.
    pairs = {name: np.sort([getattr(end, name) for end in ends], axis=0) for name in PARAMETERS[type(ends[0])]}
    pairs = {name: pair for name, pair in pairs.items() if (pair[0] != pair[1]).any()}
    if not all(np.isfinite(pair).all() for pair in pairs.values()):
        raise ValueError("Expected intervals of hyperparameters to have finite ends")
    d = family.added(s)
    starts = np.array([*product((0.0, 1.0), repeat=len(pairs)), (0.5,) * len(pairs)]).T[..., None, None, None]

    def between(pair: Array, share: Array, even: bool) -> Array:
        low, high = pair if even else np.log(pair)
        return low + share * (high - low) if even else np.exp(low + share * (high - low))

    found: tuple[list[Array], list[Array]] = ([], [])
    for rows in slices(x.shape[0], ROWS):
        part = family.read(x[rows])[0]  # What it sets apart is the same in every class.
        _, cell, log_h = family.cells(ends[0], part)
        known = np.broadcast_to(known_cells(part), (part.shape[0], *ends[0].batch_shape))

        def value(shares: Array, cell: Any = cell, log_h: Any = log_h) -> Array:
            made = {name: between(pair, share, name == "m" or (pair <= 0).any())
                    for (name, pair), share in zip(pairs.items(), shares, strict=True)}  # fmt: skip
            with np.errstate(all="ignore"):
                return np.nan_to_num(ends[0]._with(**made).plus(*d).along(*cell) + log_h, nan=-np.inf)

        for sign, bound in zip((-1.0, 1.0), found, strict=True):
            shares = np.array(np.broadcast_to(starts, (*starts.shape[:2], *known.shape)))
            for k in [*range(len(pairs))] * (ROUNDS if len(pairs) > 1 else 1):

                def along(share: Array, k: int = k, shares: Array = shares, sign: float = sign) -> Array:
                    return sign * value([*shares[:k], share, *shares[k + 1 :]])

                shares[k] = best_share(along, shares[k].shape, POINTS)
            best = sign * (sign * value(shares)).max(axis=0)
            bound.append(np.where(known, best, 0.0).sum(axis=-1))
    return np.concatenate(found[0]), np.concatenate(found[1])


def best_share(value: Callable[[Array], Array], shape: tuple[int, ...], points: int) -> Array:
    """Maximize a function on [0, 1] elementwise by golden-section search around the best grid point."""
    grid, golden = np.linspace(0, 1, points), (np.sqrt(5) - 1) / 2
    at = np.stack([value(np.full(shape, point)) for point in grid])
    best = at.argmax(axis=0)
    low, high = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, points - 1)]
    for _ in range(SECTIONS):
        a, b = high - golden * (high - low), low + golden * (high - low)
        left = value(a) > value(b)
        low, high = np.where(left, low, a), np.where(left, b, high)
    middle = (low + high) / 2
    # The end of the interval may be better than the middle of the last section.
    return np.where(value(middle) >= at.max(axis=0), middle, grid[best])
