"""Specify the exponents: the powers to which the likelihood factors of naive Bayes are raised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from bayesnb.model import NaiveBayes, Posterior
from bayesnb.model.naive_bayes import EXACT
from bayesnb.numerics import Array
from bayesnb.statistics.statistic import Labels
from bayesnb.wording import Cure, Message, RefusedError, meant, require_choice, require_whole


class NoExponentsError(RefusedError):
    """Error: exponents (powers of likelihoods) cannot be learned from this table; the message gives a remedy."""


type DependenceName = Literal["auto", "auto-counts", "tempered", "weighted", "pairwise", "forests"]


@dataclass(frozen=True)
class Group:
    """A group of log-likelihood terms whose exponents have the same prior, Normal(mean, sd)."""

    name: str
    terms: int
    # 1 for features and forests, and 0 for other terms. If a real column has a shape term (a Pólya tree), ½ for the
    # shape term and ½ for the column's feature.
    mean: float
    sd: float | tuple[float, ...]
    by_class: bool = False  # whether each class has its own exponent: the common exponent plus a deviation


@dataclass(frozen=True, eq=False)
class Layout:
    """The order of the parameters: the exponents of all terms, then each class's deviations from these exponents."""

    terms: int
    classes: int
    # The covariates with a coefficient per class: terms with deviations, indicators of intervals and levels, numeric
    # columns, and the constant.
    own: Array
    cells: int = 0  # number of offsets per class
    numbers: int = 0  # number of slopes per class

    @classmethod
    def of(cls, groups: Sequence[Group], classes: int, cells: int = 0, numbers: int = 0) -> Layout:
        """Make the layout for ``groups`` of terms; raise an error if there are too many parameters."""
        by_class = [group.by_class for group in groups for _ in range(group.terms)]
        terms = len(by_class)
        own = np.array([*np.flatnonzero(by_class), *range(terms, terms + cells + numbers + 1)])
        layout = cls(terms, classes, own, cells, numbers)
        require_few(layout.size)
        return layout

    @property
    def copies(self) -> int:
        """Number of parameters per covariate that has a coefficient per class."""
        return self.classes

    @property
    def size(self) -> int:
        return self.terms + self.copies * len(self.own)

    @property
    def relative(self) -> Layout:
        """The order of the parameters in the optimization: :class:`Relative` if possible, otherwise this layout."""
        possible = self.classes == 2 and len(self.own) == self.width - self.terms
        return Relative(self.terms, 2, self.own, self.cells, self.numbers) if possible else self

    def narrowed(self, x: Array) -> Array:
        """Convert parameters (..., parameter) of the full order to the order for the optimization."""
        return x

    def whole(self, x: Array) -> Array:
        """Convert parameters (..., parameter) of the order for the optimization to the full order."""
        return x

    def whole_precision(self, precision: Array, sd: Array) -> Array:
        """Convert a precision matrix from the order for the optimization to the full order of parameters."""
        # sd: prior standard deviations
        return precision

    def exponents(self, parameters: Array) -> Array:
        """Convert parameters (..., parameter) to exponents (..., class, covariate)."""
        # The covariates are: terms, intervals and levels with offsets, numeric columns with slopes, and the constant 1,
        # whose exponent is the offset (intercept) of the class.
        lead = parameters.shape[:-1]
        v = np.zeros((*lead, self.classes, self.width))
        v[..., : self.terms] = parameters[..., None, : self.terms]
        v[..., self.own] += parameters[..., self.terms :].reshape(*lead, self.classes, len(self.own))
        return v

    @property
    def width(self) -> int:
        return self.terms + self.cells + self.numbers + 1

    def slopes(self, by_exponent: Array) -> Array:
        return np.concatenate([by_exponent[:, : self.terms].sum(0), by_exponent[:, self.own].ravel()])

    def wider(self, terms: int, numbers: int) -> Layout:
        n = self.terms + terms
        own = [*self.own[self.own < self.terms], *range(n, n + self.cells + numbers + 1)]
        return Layout(n, self.classes, np.array(own), self.cells, numbers)

    def places(self, other: Layout) -> Array:
        """The position of each parameter in the layout ``other``, which begins with the same terms."""
        first, there = (np.array([0, each.terms, each.terms + each.cells, each.width - 1]) for each in (self, other))
        block = np.searchsorted(first, self.own, side="right") - 1
        # If there are no cells, the block of numbers begins at the same position: the last block that begins there
        # counts.
        columns = np.searchsorted(other.own, there[block] + self.own - first[block])
        of_class = other.terms + len(other.own) * np.arange(self.classes)[:, None] + columns
        return np.concatenate([np.arange(self.terms), of_class.ravel()])

    def within(self, points: Array, other: Layout) -> Array:
        """Convert parameters to the layout ``other``, which begins with the same terms; new parameters are 0."""
        found = np.zeros((*points.shape[:-1], other.size))
        found[..., self.places(other)] = points
        return found


class Relative(Layout):
    """The parameters for two classes, with one coefficient per covariate instead of one per class and covariate."""

    # Class probabilities depend only on the difference of the deviations d_0 and d_1 of a covariate with one value for
    # both classes, so their single parameter is (d_1 - d_0) / √2.

    @property
    def copies(self) -> int:
        return 1

    @property
    def relative(self) -> Layout:
        return self

    def narrowed(self, x: Array) -> Array:
        first, second = np.split(x[..., self.terms :], 2, axis=-1)
        return np.concatenate([x[..., : self.terms], (second - first) / np.sqrt(2)], axis=-1)

    def whole(self, x: Array) -> Array:
        half = x[..., self.terms :] / np.sqrt(2)
        return np.concatenate([x[..., : self.terms], -half, half], axis=-1)

    def whole_precision(self, precision: Array, sd: Array) -> Array:
        found, n = self.whole(self.whole(precision).T), self.terms
        found[n:, n:] += np.tile(np.diag(0.5 / sd[n:] ** 2), (2, 2))
        return found


@dataclass(frozen=True)
class Exponents:
    """Naive Bayes with exponents w and offsets b: p(c | x, w) ∝ p(c | D) exp(b_c) ∏_t p(x_t | c, D)^{w_t}.

    The exponents and offsets have priors, and are learned from the labels. Plain naive Bayes has w = 1 and b = 0. If a
    column occurs twice, each copy gets the exponent ½. While exponents are learned, the likelihoods of each row are
    computed without the row (leave-one-out). ``docs/theory/exponents.md`` has the details and the sources.

    Parameters
    ----------
    by : {"feature", "model", "class"}
        One exponent per feature, one exponent for all features (a tempered likelihood), or one exponent per feature and
        class, shrunk towards the exponent of the feature.
    shapes : bool
        Whether each real column gets a second likelihood factor: a Pólya tree (a nonparametric density).
    pairs : int, or tuple of (column, column)
        Largest number of pairs of columns that get an interaction term, or the pairs themselves. Unless ``pairs`` is 0,
        a joint Gaussian term (with a full covariance per class) is also added for all Gaussian columns.
    kernel : bool
        Whether to add a factor for the class frequencies among similar rows (a kernel estimate). This factor is left
        out with more than 4,096 rows, because it stores the cells of all rows.
    partitions : int
        Number of random partitions of the rows, for interactions of many columns.
    trees : int
        Number of classification trees (one model of the model average).
    linear : bool
        Whether the model average includes a model whose log-odds are linear in the numeric columns.
    forests : {"shared", "class"}, optional
        Average over all forests of edges between columns, without exponents; all classes share a forest ("shared"), or
        each class has a forest ("class"). If the rows have missing cells, the log marginal likelihood may be
        approximate; :func:`~bayesnb.checks.forests` bounds the error.
    sd : float or tuple of float
        Prior standard deviation of the exponents of features and Pólya trees. If there are several values, the value
        with the largest marginal likelihood is used.
    pair_sd, joint_sd, kernel_sd, partition_sd : float or tuple of float
        Like ``sd``, for pairs, the joint Gaussian, the kernel and the partitions.
    class_sd : float or tuple of float
        Like ``sd``, for the deviation of a class's exponent from the feature's exponent.
    offsets : {"cell", "class"}
        With "class", each class c has an offset b_c. With "cell", each interval or level of a column also has an offset
        per class, unless these offsets would outnumber the rows or exceed 1,000.
    offset_sd : float
        Prior standard deviation of the offsets b_c, in nats.
    cell_sd : float or tuple of float
        Like ``sd``, for the offsets of intervals and levels.
    slope_sd : float or tuple of float
        Prior standard deviation of the slopes of the linear model, in nats per standard deviation of a numeric column.
    average : bool
        Whether to average class probabilities over models of different flexibility, with weights from held-out rows
        (stacking).
    rows : int
        Largest number of rows from which exponents and the intervals of real columns are learned. From a larger table,
        a sample is used.
    draws : int
        Number of draws from the posterior of the exponents, for intervals.
    random_seed : int
        Seed of draws, folds, partitions, trees and samples of rows. Random choices depend only on the seed and on the
        content of the rows.

    Notes
    -----
    The option ``estimate`` of :class:`bayesnb.BayesianNB` determines which parameters are plugged in for prediction:

    ============ ==================== ========================================
    estimate     θ of the columns     exponents and offsets
    ============ ==================== ========================================
    "predictive" integrated out       averaged over their posterior
    "mean"       posterior mean       posterior mean
    "map"        posterior mode       posterior mode
    "mle"        refused              no maximum if classes separate
    ============ ==================== ========================================

    θ is always integrated out of the terms of Pólya trees, pairs and joint columns. To learn exponents, θ is
    integrated out of all terms.

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

    @property
    def name(self) -> DependenceName | Exponents:
        """The name of these settings, such as "auto"; the settings themselves if they have no name."""
        return next((name for name, known in NAMED.items() if self == known), self)

    def offset_cells(self, cells: int, n_classes: int, rows: float) -> int:
        """Return ``cells``, the number of intervals and levels, if each has an offset per class; otherwise 0.

        Intervals and levels have offsets if ``offsets`` is "cell" and the number of offsets is at most ``rows`` and
        1,000.
        """
        few = self.offsets == "cell" and cells * n_classes <= min(MOST_OFFSETS, rows)
        return cells if few else 0

    def prior(self, layout: Layout, groups: Sequence[Group], scales: Mapping[str, float]) -> tuple[Array, Array]:
        """Prior mean and standard deviation of each parameter."""
        own = len(layout.own) - layout.cells - layout.numbers - 1
        each = [(group.terms, group.mean, scales[group.name]) for group in groups]
        each += [
            (own, 0.0, scales[OWN]), (layout.cells, 0.0, scales[CELLS]), (layout.numbers, 0.0, scales[SLOPES]),
            (1, 0.0, self.offset_sd),
        ] * layout.copies  # fmt: skip
        sizes, means, deviations = zip(*each, strict=True)
        return np.repeat(means, sizes), np.repeat(np.array(deviations, float), sizes)


NAMED = {
    "tempered": Exponents(by="model", shapes=False, offsets="class"),
    "weighted": Exponents(),
    "pairwise": Exponents(pairs=150),
    "auto": Exponents(pairs=150, kernel=True, partitions=100, trees=100, linear=True, average=True),
    "forests": Exponents(shapes=False, offsets="class", forests="shared"),
    "auto-counts": Exponents(pairs=150, partitions=100, trees=100, linear=True, average=True),
}
"""The named specifications."""


def named(dependence: Any) -> Exponents:
    """Return the ``Exponents`` for a name such as "auto"."""
    if isinstance(dependence, Exponents):
        return dependence
    if not isinstance(dependence, str) or dependence not in NAMED:
        said = f"Expected dependence to be None, one of {list(NAMED)}, or Exponents(...); got {dependence!r}"
        raise ValueError(said + meant(dependence, NAMED))
    return NAMED[dependence]


OWN, CELLS, SLOPES = "classes", "cells", "slopes"
"""The groups of the deviations per class, of the offsets of cells, and of the slopes."""

STACKED = 2_048
"""Largest number of held-out rows for the weights of an average."""

MOST_OFFSETS = 1_000
"""Largest number of offsets of cells that are learned."""

MOST_PARAMETERS = 4_000
"""Largest number of parameters: the time to factor their covariance grows with the cube of it."""


def require_few(parameters: int) -> None:
    """Raise ``NoExponentsError`` if there are too many ``parameters``."""
    if parameters > MOST_PARAMETERS:
        raise NoExponentsError(
            "{value} exponents and offsets would be learned together, and at most {expected} can be: the time grows "
            "with the cube of their number; use {cure}, which learns one exponent",
            value=parameters, expected=MOST_PARAMETERS, cure=Cure("dependence", "tempered"),
        )  # fmt: skip


OR_NAIVE = Message("or use {cure}", cure=Cure("dependence"))


def require_exact(model: NaiveBayes, other: str | Message = OR_NAIVE) -> None:
    """Raise ``NoExponentsError`` if a feature does not support exact leave-one-out."""
    cure = Message("give the column a family that has one, such as {families}, {other}", families=EXACT, other=other)
    try:
        model.require_exact("leave-one-out, from which exponents are learned", cure)
    except RefusedError as error:
        raise NoExponentsError(error.args[0]) from None


def require_learnable(posterior: Posterior, labels: Labels, spec: Exponents) -> None:
    """Raise ``NoExponentsError`` if there are too many exponents, or if the features or rows do not allow learning."""
    require_exact(posterior.model)
    weight, rows = labels.weights(), np.bincount(labels.codes[labels.weight > 0], minlength=labels.n)
    if rows.sum() > 1 and weight[(rows == 1) & (weight <= 1)].sum() > weight.sum() / 2:
        raise NoExponentsError(
            "{value} of {expected} rows are the only row of their class, and no exponent is learned from such rows; "
            "take a class that several rows share, {other}",
            value=int((rows == 1).sum()), expected=int(rows.sum()), other=OR_NAIVE,
        )  # fmt: skip
    columns = 1 if spec.by == "model" else len(posterior.pieces)
    require_few(columns + len(posterior.labels) * (1 + (spec.by == "class") * columns))
