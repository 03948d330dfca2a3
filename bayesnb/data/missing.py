"""Columns of which it says something about the class whether a cell is missing: :class:`Missing`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bayesnb.data.binning import Binned
from bayesnb.families.family import Family
from bayesnb.priors import Beta


@dataclass(frozen=True, eq=False)
class Missing:
    """A column that is read twice: its values by a family, and whether a cell is missing as a Bernoulli of the class.

    By default a missing cell says nothing. That is right if cells are missing regardless of the class and of their
    value. Often they are not: a test that only ill people are sent to, a question that one party leaves out. With
    ``Missing`` the model has a second feature, "COLUMN is missing", which is 1 where the cell is missing and 0 where it
    has a value, with a probability θ ~ Beta in each class. Given the class, it is independent of the value; so the
    joint density is P(missing | class) where the cell is missing, and P(not missing | class) p(value | class) where it
    is not (the pattern model of Little and Rubin 2019, 15.4, with one pattern for each column).

    A column that a whole table lacks is not missing cell by cell, and says nothing. A level that was never seen is a
    value, and not missing.

    Parameters
    ----------
    family : Family or Binned, optional
        How values are read. By default, the type of the column decides.
    prior : Beta
        Of the probability that a cell is missing.

    Raises
    ------
    TypeError, ValueError
        If the family is none, or reads all columns of a row together, so that no cell is missing by itself.

    Examples
    --------
    >>> import bayesnb as nb
    >>> sent = {"blood_test": [5.1, None, None, None, 6.3, 7.2, 5.9, None]}
    >>> clf = nb.BayesianNB({"blood_test": Missing()}).fit(sent, ["well"] * 4 + ["ill"] * 4)
    >>> clf.tables()["blood_test is missing"].round(2)
              0     1
    class
    ill    0.67  0.33
    well   0.33  0.67
    >>> clf.predict_proba({"blood_test": [None]}).round(2)
    array([[0.33, 0.67]])
    """

    family: Any = None
    prior: Any = field(default_factory=Beta)

    def __post_init__(self) -> None:
        if not isinstance(self.prior, Beta):
            raise TypeError(f"Expected the prior of Missing to be a Beta; got {self.prior!r}")
        if self.family is None or isinstance(self.family, Binned):
            return
        if not isinstance(self.family, Family):
            raise TypeError(
                "Expected Missing of a family, such as Missing(Poisson()), of Binned(), or of nothing, so that the "
                f"type of the column decides; got {self.family!r}"
            )
        if self.family.whole_rows:
            raise ValueError(
                f"{type(self.family).__name__} reads its columns together, so none of their cells is missing by "
                "itself; use Missing for columns that are read one by one"
            )


def name_of(what: Any) -> str:
    """What the feature, and the column of the model, that says whether a cell is missing is called."""
    return f"{what} is missing"


def values_of(spec: Any) -> Any:
    """How values are read: the family of a ``Missing`` (None if the type decides), and any other specification."""
    return spec.family if isinstance(spec, Missing) else spec
