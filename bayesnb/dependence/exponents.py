"""Exponents: to what power each term of naive Bayes should count, as learned from the labels.

Start with :class:`Exponents`, the specification. What is learned by it stands in ``posterior``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from bayesnb.numerics import Array
from bayesnb.wording import Cure, RefusedError, meant, require_choice, require_whole


class NoExponentsError(RefusedError):
    """Exponents cannot be learned from this table; the message gives the reason and a remedy."""


type DependenceName = Literal["auto", "auto-counts", "tempered", "weighted", "pairwise", "forests"]


@dataclass(frozen=True)
class Group:
    """Terms whose exponents have one prior, Normal(mean, sd).

    Parameters
    ----------
    name : str
    terms : int
        How many they are; groups follow each other in the order of the terms.
    mean : float
        1 for features, where 1 everywhere is naive Bayes; 0 for what is added to it.
    sd : float, or tuple of float
        Where there are several, the one of the largest evidence is taken. 0 fixes the exponents at the mean.
    by_class : bool
        Whether the exponents have a deviation for each class.
    """

    name: str
    terms: int
    mean: float
    sd: float | tuple[float, ...]
    by_class: bool = False


@dataclass(frozen=True, eq=False)
class Layout:
    """Which parameters there are: first w, one a term, and then d, class by class.

    Parameters
    ----------
    terms, classes : int
        How many there are.
    own : int array (deviation,)
        The terms with a deviation for each class; behind them all cells, numbered on from ``terms``, all numbers, and
        the constant.
    cells : int
        How many cells of columns have offsets.
    numbers : int
        How many numbers have a slope for each class.
    """

    terms: int
    classes: int
    own: Array
    cells: int = 0
    numbers: int = 0

    @classmethod
    def of(cls, groups: Sequence[Group], classes: int, cells: int = 0, numbers: int = 0) -> Layout:
        """The parameters of these terms, of the offsets of so many cells, and of the slopes of so many numbers.

        Raises
        ------
        ValueError
            If there are more of them than can be learned together.
        """
        by_class = [group.by_class for group in groups for _ in range(group.terms)]
        terms = len(by_class)
        own = np.array([*np.flatnonzero(by_class), *range(terms, terms + cells + numbers + 1)])
        layout = cls(terms, classes, own, cells, numbers)
        require_few(layout.size)
        return layout

    @property
    def size(self) -> int:
        """How many parameters there are."""
        return self.terms + self.classes * len(self.own)

    def exponents(self, parameters: Array) -> Array:
        """v as (..., class, term + cell + number + 1) from (..., parameter); last stand the offsets b_c."""
        lead = parameters.shape[:-1]
        v = np.zeros((*lead, self.classes, self.width))
        v[..., : self.terms] = parameters[..., None, : self.terms]
        v[..., self.own] += parameters[..., self.terms :].reshape(*lead, self.classes, len(self.own))
        return v

    @property
    def width(self) -> int:
        """How many numbers v has for each class."""
        return self.terms + self.cells + self.numbers + 1

    def slopes(self, by_exponent: Array) -> Array:
        """Slopes in the parameters from those in v, (class, term + cell + number + 1): transposes `exponents`."""
        return np.concatenate([by_exponent[:, : self.terms].sum(0), by_exponent[:, self.own].ravel()])

    def wider(self, terms: int, numbers: int) -> Layout:
        """The layout with so many more terms, whose exponents the classes share, and with the slopes of numbers."""
        n = self.terms + terms
        own = [*self.own[self.own < self.terms], *range(n, n + self.cells + numbers + 1)]
        return Layout(n, self.classes, np.array(own), self.cells, numbers)

    def places(self, other: Layout) -> Array:
        """Where the parameters stand in a layout that begins with the same terms, (parameter,)."""
        first, there = (np.array([0, each.terms, each.terms + each.cells, each.width - 1]) for each in (self, other))
        block = np.searchsorted(first, self.own, side="right") - 1
        # Where there are no cells, those of numbers begin at the same place: the last block that begins there counts.
        columns = np.searchsorted(other.own, there[block] + self.own - first[block])
        of_class = other.terms + len(other.own) * np.arange(self.classes)[:, None] + columns
        return np.concatenate([np.arange(self.terms), of_class.ravel()])

    def within(self, points: Array, other: Layout) -> Array:
        """Points (..., parameter) as points of a layout that begins with the same terms; what is new there is 0."""
        found = np.zeros((*points.shape[:-1], other.size))
        found[..., self.places(other)] = points
        return found


@dataclass(frozen=True)
class Exponents:
    """p(c | x, w) ∝ p(c | D) exp(b_c) ∏_t p(x_t | c, D)^{w_t}, with a prior for w and b.

    w = 1 and b = 0 are naive Bayes. Two copies of one column get the exponent ½ each; a column that says nothing
    beyond the others gets 0. The exponents are learned from the labels, given what each term says of a row that was
    left out of it: Bayesian stacking by log-linear pooling (Yao, Vehtari, Simpson and Gelman 2018; Yao, Carvalho,
    Mesquita and McLatchie 2023) of the factors of a generative model, or weighted naive Bayes (Zaidi, Cerquides, Carman
    and Webb 2013) with a posterior for its weights.

    Parameters
    ----------
    by : {"feature", "model", "class"}
        One exponent a feature; one for all of them (a tempered likelihood); or one a feature and class, shrunk to the
        feature's.
    shapes : bool
        Whether a real column has two terms, one of its family and one of a Pólya tree, which knows no formula for the
        column's shape; the exponents of both are then around ½.
    pairs : int, or tuple of (column, column)
        How many pairs of columns may have a term, the most dependent ones first, or which. Where there are any, all
        Gaussian columns together have a term too, a Gaussian with a full covariance.
    kernel : bool
        Whether there is a term of the shares of the classes among near rows. It keeps the cells of all learned rows, so
        it is left out where these are more than 4,096.
    partitions : int
        How many random partitions of the rows have a term together, which says what many columns say at once.
    trees : int
        How many trees that see the label are a member of the average.
    linear : bool
        Whether a member of the average is linear in the numbers.
    forests : {"shared", "class"}, optional
        Naive Bayes averaged with every forest of edges between columns, the same forest in all classes or one in each.
        No exponent is learned then: all are 1.
    sd : float or tuple of float
        Prior standard deviation of a feature's exponent around 1. Of several, the one of the largest evidence.
    pair_sd, joint_sd, kernel_sd, partition_sd : float or tuple of float
        The same of a pair's, of the joint Gaussian's, of the kernel's and of the partitions', around 0.
    class_sd : float or tuple of float
        The same of a class's deviation from the exponent of the feature, around 0.
    offsets : {"cell", "class"}
        Whether a class has one offset b_c, or besides it one for each cell of each column: a level, or a quarter of the
        rows of a real column. They say where the classes' shares of a cell are wrong in the company of the other
        columns; with them the model holds multinomial logistic regression on the cells. Where cells times classes are
        more than the rows, or more than 1,000, a class has one offset.
    offset_sd : float
        Prior standard deviation of the classes' offsets, in nats, around 0.
    cell_sd : float or tuple of float
        The same of the offsets of cells. Of several, the one of the largest evidence.
    slope_sd : float or tuple of float
        The same of the slopes of the linear member, in nats per standard deviation of a number.
    average : bool
        Whether class probabilities are averaged over members of different freedom: the class frequencies (as if the
        label were wrong), naive Bayes, exponents of columns and shapes alone, those of all terms, and, where asked for,
        trees that see the label and a linear model. Their weights follow from their predictions of held-out rows.
    rows : int
        From how many rows, drawn at random, the exponents are learned where there are more, and real columns are cut
        into cells. The cells are counted over all rows; of a table that is read in parts, over the drawn ones.
    draws : int
        How many draws from the posterior of the exponents are kept, for intervals. Probabilities are averaged over
        the exponents without draws.
    random_seed : int
        Of these draws, and of folds, partitions and samples of rows, which also depend on the content of the rows.

    Notes
    -----
    ``estimate`` of :class:`bayesnb.BayesianNB` says what is plugged in when rows are asked:

    ============ ==================== ========================================
    estimate     θ of the columns     exponents and offsets
    ============ ==================== ========================================
    "predictive" integrated out       averaged over their posterior
    "mean"       posterior mean       posterior mean
    "map"        posterior mode       posterior mode
    "mle"        refused              no maximum where classes separate
    ============ ==================== ========================================

    They are learned in the same way under each: from terms with θ integrated out, each row left out of them. The θ of
    shapes, pairs and joint columns are always integrated out.

    Examples
    --------
    >>> from bayesnb import BayesianNB, Exponents, datasets
    >>> X, y = datasets.penguins()
    >>> clf = BayesianNB(dependence=Exponents(shapes=False, offsets="class")).fit(X, y)
    >>> clf.exponents_["mean"].round(1).head(3)
    term
    island            2.1
    bill_length_mm    1.4
    bill_depth_mm     1.4
    Name: mean, dtype: float64
    """

    by: Literal["feature", "model", "class"] = "feature"
    shapes: bool = True
    pairs: int | tuple[tuple[Any, Any], ...] = 0
    kernel: bool = False
    partitions: int = 0
    trees: int = 0
    linear: bool = False
    forests: Literal["shared", "class"] | None = None
    sd: float | tuple[float, ...] = (0.3, 1.0)
    pair_sd: float | tuple[float, ...] = (0.05, 0.1, 0.2, 0.4)
    joint_sd: float | tuple[float, ...] = (0.1, 0.3, 1.0)
    kernel_sd: float | tuple[float, ...] = (0.1, 0.3, 1.0, 3.0)
    partition_sd: float | tuple[float, ...] = (0.1, 0.3, 1.0, 3.0)
    class_sd: float | tuple[float, ...] = (0.03, 0.1, 0.3)
    offsets: Literal["cell", "class"] = "cell"
    offset_sd: float = 1.0
    cell_sd: float | tuple[float, ...] = (0.01, 0.3, 1.0)
    slope_sd: float | tuple[float, ...] = (0.1, 0.3, 1.0, 3.0)
    average: bool = False
    rows: int = 32_768
    draws: int = 64
    random_seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.pairs, int):
            if any(len(pair) != 2 or pair[0] == pair[1] for pair in self.pairs):
                raise ValueError(f"Expected pairs to be a number, or pairs of two columns each; got {self.pairs!r}")
            object.__setattr__(self, "pairs", tuple(tuple(pair) for pair in self.pairs))
        elif self.pairs < 0:
            raise ValueError(f"Expected pairs to be a number that is not negative; got {self.pairs!r}")
        require_choice("by", self.by, ("feature", "model", "class"))
        require_choice("offsets", self.offsets, ("cell", "class"))
        require_choice("forests", self.forests, (None, "shared", "class"))
        beside = self.shapes or self.pairs or self.kernel or self.partitions or self.average or self.offsets == "cell"
        if self.forests and (beside or self.by != "feature"):
            raise ValueError('forests have no other term beside them: set shapes=False and offsets="class" only')
        require_whole(1, rows=self.rows, draws=self.draws)
        require_whole(0, partitions=self.partitions, trees=self.trees)
        if (self.trees or self.linear) and not self.average:
            raise ValueError("trees and linear are members of an average: set average=True")
        for name in (f.name for f in fields(self) if f.name == "sd" or f.name.endswith("_sd")):
            value = np.asarray(getattr(self, name), float)
            if value.size == 0 or not (np.isfinite(value) & (value > 0)).all():
                raise ValueError(f"Expected {name} to be positive and finite; got {getattr(self, name)!r}")

    def prior(self, layout: Layout, groups: Sequence[Group], scales: Mapping[str, float]) -> tuple[Array, Array]:
        """Mean and standard deviation of every parameter under the prior, where each group has one of its scales."""
        mean, sd = np.zeros(layout.size), np.full(layout.size, float(scales[OWN]))
        starts = np.cumsum([0, *(group.terms for group in groups)])
        for group, (first, last) in zip(groups, pairwise(starts), strict=True):
            mean[first:last], sd[first:last] = group.mean, scales[group.name]
        by_class = sd[layout.terms :].reshape(layout.classes, -1)
        cells, numbers = len(layout.own) - layout.cells - layout.numbers - 1, len(layout.own) - layout.numbers - 1
        by_class[:, cells:numbers] = scales[CELLS]
        by_class[:, numbers:-1] = scales[SLOPES]
        by_class[:, -1] = self.offset_sd
        return mean, sd


NAMED = {
    "tempered": Exponents(by="model", shapes=False, offsets="class"),
    "weighted": Exponents(),
    "pairwise": Exponents(pairs=150),
    "auto": Exponents(pairs=150, kernel=True, partitions=100, trees=100, linear=True, average=True),
    "forests": Exponents(shapes=False, offsets="class", forests="shared"),
    "auto-counts": Exponents(pairs=150, partitions=100, trees=100, linear=True, average=True),
}
"""The specifications that have a name."""


def named(dependence: Any) -> Exponents:
    """The specification of that name.

    Raises
    ------
    ValueError
        If there is none.
    """
    if isinstance(dependence, Exponents):
        return dependence
    if not isinstance(dependence, str) or dependence not in NAMED:
        said = f"Expected dependence to be one of {list(NAMED)}, or Exponents(...); got {dependence!r}"
        raise ValueError(said + meant(dependence, NAMED))
    return NAMED[dependence]


def name_of(spec: Exponents) -> DependenceName | Exponents:
    """The name of a specification that has one, otherwise the specification itself."""
    return next((name for name, known in NAMED.items() if spec == known), spec)


OWN, CELLS, SLOPES = "classes", "cells", "slopes"
"""The groups of the classes' deviations, of their offsets in cells, and of their slopes."""

MOST_OFFSETS = 1_000
"""Offsets of cells that are learned together quickly."""

MOST_PARAMETERS = 4_000
"""Parameters whose covariance is still quickly factored."""


def require_few(parameters: int) -> None:
    """Raise ``NoExponentsError`` where there are more parameters than can be learned together."""
    if parameters > MOST_PARAMETERS:
        raise NoExponentsError(
            "{value} exponents and offsets would be learned together, and at most {expected} can be: the time grows "
            "with the cube of their number; use {cure}, which learns one exponent",
            value=parameters,
            expected=MOST_PARAMETERS,
            cure=Cure("dependence", "tempered"),
        )
