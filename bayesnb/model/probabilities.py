"""Class probabilities and marginal likelihoods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.kernels.blocks import slices, written
from bayesnb.priors import Array
from bayesnb.wording import RefusedError, RefusedRowsError

NEAR = 2**16
"""How many numbers fit into the second-level cache."""


class ImpossibleRowError(RefusedRowsError):
    """Some rows have probability 0 under every class; ``rows`` holds their positions.

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> clf = BayesianNB(estimate="mle").fit({"a": ["x", "y"], "b": ["x", "y"]}, [0, 1])
    >>> clf.predict({"a": ["x"], "b": ["y"]})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    bayesnb.model.probabilities.ImpossibleRowError: row 0 has probability 0 under every class, so no class ...
    """

    reason = (
        "has probability 0 under every class, so no class can be preferred; each class rules out one of its values. "
        'The estimates "predictive" and "mean" rule out none under priors without zeros; "map" needs concentrations '
        'above 1 for that, and "mle" rules out all that was never seen'
    )


def normalize(log_joint: Array, log: bool = True, out: Array | None = None) -> Array:
    """Convert log p(c, x) (..., class) to log p(c | x), or to p(c | x) if ``log`` is false.

    The result is written to ``out``, which may be ``log_joint`` itself.

    Raises
    ------
    ImpossibleRowError
        If, in any draw, a row has -inf for every class.

    Examples
    --------
    >>> normalize(np.log(np.array([[0.0206, 0.0053]])), log=False).round(3)
    array([[0.795, 0.205]])
    """
    rows = log_joint.reshape(-1, log_joint.shape[-1])

    def part(cut: slice, found: Array) -> None:
        # Transposed, because numpy is slow at many short rows.
        below = np.array(rows[cut].T, order="C")
        top = below.max(axis=0)
        if (top == -np.inf).any():
            impossible = np.isneginf(log_joint).all(axis=-1)
            raise ImpossibleRowError(np.unique(np.argwhere(impossible)[:, -1] if impossible.ndim else [0]))
        below -= top
        if log:
            powers, tops = np.exp(below), below == 0
            powers[tops] = 0.0
            below -= np.log1p(powers.sum(axis=0) + (tops.sum(axis=0) - 1.0))
            found[:] = below.T
        else:
            np.exp(below, out=below)
            np.divide(below, below.sum(axis=0), out=found.T)

    parts = slices(len(rows), max(1, NEAR // max(1, rows.shape[1])))
    found = np.empty(rows.shape) if out is None else out.reshape(rows.shape)
    return written(found, part, parts).reshape(log_joint.shape)


def add_row(joint: Array, row: Array) -> Array:
    """Add the vector ``row`` to every row of the array, in place."""
    if len(row) >= 64:
        joint += row
        return joint
    # Class by class, because numpy is slow at many short rows.
    for c, value in enumerate(row):
        joint[:, c] += value
    return joint


@dataclass(frozen=True)
class Evidence:
    """The log marginal likelihood of the data, with all parameters integrated out.

    Parameters
    ----------
    label : float
        log p(y), from the class prior.
    features : {name: float}
        log p(x_f | y); their sum is log p(X | y).

    Examples
    --------
    >>> evidence = Evidence(-1.5, {"outlook": -3.0, "wind": -2.0})
    >>> evidence.conditional, evidence.joint
    (-5.0, -6.5)
    """

    label: float
    features: Mapping[str, float]

    @property
    def conditional(self) -> float:
        return float(sum(self.features.values()))

    @property
    def joint(self) -> float:
        return self.label + self.conditional

    def __float__(self) -> float:
        return self.joint


class NoClosedFormError(RefusedError):
    """A method needs a closed-form posterior, but the model has only draws (:func:`bayesnb.from_draws`).

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.play_tennis()
    >>> clf = nb.BayesianNB(random_state=0).fit(X, y)
    >>> drawn = nb.from_draws(clf, clf.sample_posterior())
    >>> try:
    ...     drawn.forget(X[:1], y[:1])
    ... except nb.errors.NoClosedFormError as error:
    ...     print(error)
    forget needs the posterior in closed form, and this model has 4,000 draws of its posterior (from_draws): use the
    fitted model that it was made from, to which edits in PyMC are unknown
    """

    def __init__(self, draws: int, what: Any = "the question", cure: Any = None) -> None:
        self.draws = draws
        super().__init__(
            "{what} needs the posterior in closed form, and this model has {draws:,} draws of its posterior "
            "(from_draws): {cure}",
            what=what,
            draws=draws,
            cure=cure or "use the fitted model that it was made from, to which edits in PyMC are unknown",
        )

    def about(self, what: str) -> NoClosedFormError:
        """A copy of the error whose message contains the function name ``what``."""
        return NoClosedFormError(self.draws, what)

    def __reduce__(self) -> tuple[Any, ...]:
        said = self.args[0]
        return NoClosedFormError, (self.draws, said.data["what"], said.data["cure"])
