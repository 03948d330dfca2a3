"""Which family a column of numbers gets, chosen by data: :func:`choose_families`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from bayesnb.data.choice import FamilyChoice, chosen
from bayesnb.data.rows import Rows
from bayesnb.data.specifications import ROWS, BestFamily
from bayesnb.families.family import Family
from bayesnb.priors import Dirichlet


def choose_families(
    X: Any,
    y: Any,
    families: Sequence[Family] | None = None,
    by: Literal["class", "evidence"] = "class",
    rows: int = ROWS,
) -> FamilyChoice:
    """Choose a family for each column of numbers, as ``BayesianNB(features="best")`` does, and show what was tried.

    The two criteria answer different questions. ``"class"`` asks which families predict the *class* best, and is the
    one for classification: it is the exact leave-one-out log score of the whole classifier. ``"evidence"`` asks which
    family predicted the values of the *column* best, given the class, and is the one for describing a column or for
    drawing rows. Often they disagree.

    Parameters
    ----------
    X : table
        Columns that are no numbers, or are only 0 and 1, keep the family of their type.
    y : array (row,)
    families : sequence of Family, optional
        The candidates, each with another name (``family.title``). By default Gaussian, LogNormal, Exponential, Poisson,
        NegativeBinomial, PolyaTree and Hurdle; each is tried on the columns that it can read, and a Hurdle on those
        that hold zeros and other numbers.
    by : {"class", "evidence"}
    rows : int
        How many rows take part at most; of more, so many are drawn, always the same ones.

    Returns
    -------
    FamilyChoice

    Raises
    ------
    ValueError
        If no column holds numbers, two candidates have one name, or one cannot read the numbers of a single column.

    Notes
    -----
    Each candidate is fitted once. The leave-one-out terms of a column do not depend on the other columns, so the score
    of any combination of families is a sum of known terms; the columns are gone through until no change of one family
    improves the score. The choice itself is not left out of the score. With more columns than rows it can be too good;
    then score ``BayesianNB(choice.features)`` on rows that took no part in the choice.

    A density and a probability can only be compared where the column holds whole numbers, because a density per unit is
    then nearly the probability of a whole number. A PolyaTree that takes its cells from the column has no evidence that
    could be compared, because the cells have seen the rows already; with given ``edges`` it has one. Nor has a Hurdle
    of amounts, because it gives 0 a probability where the others have a density.

    Examples
    --------
    >>> from bayesnb import Gaussian, LogNormal, datasets
    >>> choice = choose_families(*datasets.heights(), families=[Gaussian(), LogNormal()])
    >>> choice.table.round(2)
                         evidence  weight  log_score  chosen
    column    family
    height_cm Gaussian    -140.46    0.51     -18.42    True
              LogNormal   -140.50    0.49     -18.47   False
    weight_kg Gaussian    -149.20    0.61     -18.45   False
              LogNormal   -149.66    0.39     -18.42    True
    """
    spec = BestFamily(families, by, rows)
    given = Rows.of(X, y).labelled()
    _, choices = chosen(given.table, given.target, given.weight, spec, Dirichlet())
    if not choices:
        raise ValueError("no column holds numbers, so there is no family to choose")
    return FamilyChoice.of({column: (choice.family, choice.tried) for column, choice in choices.items()})
