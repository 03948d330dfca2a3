"""The family that a column gets by its type, where no family was specified for it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from bayesnb.families.bernoulli import Bernoulli
from bayesnb.families.categorical import Categorical
from bayesnb.families.family import Family
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.multinomial import Multinomial
from bayesnb.families.support import BAG, LEVELS, ZEROS_AND_ONES

KINDS = {
    "number": "numbers",
    "text": "text and categories",
    "boolean": "True and False",
    "zero_one": "integers of 0 and 1",
    "sparse": "sparse matrices",
}


@dataclass(frozen=True, eq=False)
class ByType:
    """A family for each type of column, instead of the families that columns get by default.

    Use it where all columns of a type shall have the same prior, whatever their names are. ``None`` instead of a
    family refuses columns of this type.

    Parameters
    ----------
    number : Family or None
        Of numbers, except integers of 0 and 1.
    text : Family or None
        Of text and categories: a family of levels.
    boolean : Family or None
        Of columns of True and False.
    zero_one : Family or None
        Of integers of 0 and 1, and of an array that holds nothing else.
    sparse : Family or None
        Of a sparse matrix: a family of rows of counts, or Gaussian.

    Raises
    ------
    TypeError
        If one of them is no family, or a family of another type of column.
    ValueError
        If a family takes something from the first rows: name its columns instead, as ``features={column: family}``.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.play_tennis()
    >>> smooth = nb.ByType(text=nb.Categorical(nb.Dirichlet(5)))
    >>> nb.BayesianNB(smooth).fit(X, y).predict_proba(X[:1]).round(3)
    array([[0.531, 0.469]])
    """

    number: Any = field(default_factory=Gaussian)
    text: Any = field(default_factory=Categorical)
    boolean: Any = field(default_factory=Bernoulli)
    zero_one: Any = field(default_factory=Bernoulli)
    sparse: Any = field(default_factory=Multinomial)

    def __post_init__(self) -> None:
        for kind, family in self.families().items():
            if family is None:
                continue
            if not isinstance(family, Family):
                raise TypeError(f"{kind}: Expected a family, such as {_default(kind)}; got {family!r}")
            wanted = {"text": LEVELS, "sparse": BAG}.get(kind)
            wanted = family.support if kind == "sparse" and family.reads_sparse else wanted
            if (wanted is not None and family.support != wanted) or (wanted is None and family.support == BAG):
                raise TypeError(f"{kind}: {type(family).__name__} cannot read these columns; see {_default(kind)}")
            if family.needs_rows or getattr(family, "exposure", None) is not None:
                raise ValueError(
                    f"{kind}: {type(family).__name__} takes something from the rows or from another column; name its "
                    "columns, as features={column: family}"
                )

    def of(self, kind: str, columns: Any) -> Family:
        """The family of a type of column, or ``ValueError``, naming the columns, if they are refused."""
        family = getattr(self, kind)
        if family is None:
            raise ValueError(
                f"columns {list(columns)[:8]}: these settings have no family for {KINDS[kind]}; give these columns "
                "another type, or use other features"
            )
        return family

    def families(self) -> dict[str, Any]:
        """The families by type of column; ``None`` where a type is refused."""
        return {kind: getattr(self, kind) for kind in KINDS}


def _default(kind: str) -> str:
    """The family that columns of this type have by default, as it is written."""
    (family,) = (f.default_factory for f in fields(ByType) if f.name == kind)
    return f"{family.__name__}()"


def together_name(family: Family) -> str:
    """What the feature of columns that are read together is called."""
    return {LEVELS: "levels", ZEROS_AND_ONES: "flags"}.get(family.support, "numbers")


def together(found: dict[Any, tuple[Family, tuple[Any, ...], str]]) -> dict[Any, tuple[Family, tuple[Any, ...], str]]:
    """The same, with the columns whose family reads them together as one feature."""
    shared = {name: spec for name, spec in found.items() if spec[0].reads_together}
    if not shared:
        return found
    families = {id(family): family for family, _, _ in shared.values()}
    rest = {name: spec for name, spec in found.items() if name not in shared}
    for family in families.values():
        names = tuple(name for name, spec in shared.items() if spec[0] is family)
        key = together_name(family)
        key = key if key not in rest or key in found else f"{key} 2"
        if key in rest:
            raise ValueError(f"a column is called {key!r}, as the feature of {list(names)[:8]} is; rename that column")
        rest[key] = (family, names, ", ".join(dict.fromkeys(shared[name][2] for name in names)))
    return rest
