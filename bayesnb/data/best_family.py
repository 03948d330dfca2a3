"""Columns of numbers whose family is chosen by the rows: :class:`BestFamily` says among which families, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bayesnb.families.exponential import Exponential
from bayesnb.families.family import Family
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.hurdle import Hurdle
from bayesnb.families.log_normal import LogNormal
from bayesnb.families.negative_binomial import NegativeBinomial
from bayesnb.families.poisson import Poisson
from bayesnb.families.polya_tree import PolyaTree
from bayesnb.families.support import BAG, LEVELS

CANDIDATES = (Gaussian(), LogNormal(), Exponential(), Poisson(), NegativeBinomial(), PolyaTree(), Hurdle())
"""The families that are tried if none are named."""

ROWS = 10_000
"""How many rows take part in the choice by default, at most."""


@dataclass(frozen=True, eq=False)
class BestFamily:
    """Choose the family of a column of numbers by the rows of the first fit: ``features="best"`` with settings.

    As ``features`` it is for all columns of numbers, and the other columns get the family of their type. In
    ``features={column: BestFamily()}`` it is for single columns. :func:`bayesnb.choose_families` says what the criteria
    mean.

    Parameters
    ----------
    families : sequence of Family, optional
        The candidates, each with another name. By default Gaussian, LogNormal, Exponential, Poisson, NegativeBinomial,
        PolyaTree and Hurdle; each is tried on the columns that it can read, and a Hurdle on those that hold zeros and
        other numbers.
    by : {"class", "evidence"}
        Which families predict the class best (for classification), or which predicted the values of the column best
        (to describe it, or to draw rows).
    rows : int
        How many rows take part in the choice at most; of more, so many are drawn, always the same ones. What is chosen
        learns from all rows.

    Raises
    ------
    ValueError
        For another criterion, no candidates, candidates of one name, or a family that cannot be a candidate.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.heights()
    >>> by_evidence = nb.BestFamily([nb.Gaussian(), nb.LogNormal()], by="evidence")
    >>> nb.BayesianNB(by_evidence).fit(X, y).describe()["family"].to_dict()
    {'height_cm': 'Gaussian', 'weight_kg': 'Gaussian'}
    """

    families: Any = None
    by: Literal["class", "evidence"] = "class"
    rows: int = ROWS

    def __post_init__(self) -> None:
        if self.by not in ("class", "evidence"):
            raise ValueError(f"Expected by to be 'class' or 'evidence'; got {self.by!r}")
        if isinstance(self.rows, bool) or not isinstance(self.rows, int) or self.rows < 1:
            raise ValueError(f"Expected rows to be a positive number of rows; got {self.rows!r}")
        if self.families is None:
            return
        given = tuple(self.families) if isinstance(self.families, Sequence) else (self.families,)
        if odd := [family for family in given if not isinstance(family, Family)]:
            raise ValueError(f"Expected candidates to be families, such as Gaussian(); got {odd[0]!r}")
        names = [family.title for family in given]
        if len(set(names)) < len(names) or not names:
            raise ValueError(f"Expected candidates of different names; got {names}")
        for family in given:
            of_numbers = family.support not in (LEVELS, BAG) and getattr(family, "exposure", None) is None
            if not (family.exact and of_numbers and not family.whole_rows):
                raise ValueError(
                    f"{family.title} cannot be a candidate: candidates read the numbers of one column and have a "
                    "closed form; name its columns, as features={column: family}"
                )
        object.__setattr__(self, "families", given)

    @property
    def candidates(self) -> tuple[Family, ...]:
        """The families that are tried."""
        return CANDIDATES if self.families is None else self.families
