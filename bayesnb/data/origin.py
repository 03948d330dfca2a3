"""Record why a column has its family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

type OriginKind = Literal[
    "specified", "rows", "nothing", "number", "zero_one", "boolean", "text", "categories", "sentences", "sparse", "gaps"
]
KINDS: tuple[OriginKind, ...] = get_args(OriginKind.__value__)

NUMBERS: tuple[OriginKind, ...] = ("nothing", "zero_one", "number")
"""The kinds of numbers: the values of a later kind contain those of the earlier ones."""

SHOWN = {
    "nothing": "no value seen", "number": "numbers", "zero_one": "0 and 1", "boolean": "True and False",
    "sentences": "text of sentences", "sparse": "sparse counts", "gaps": "missing cells of",
}  # fmt: skip
"""Displayed names of kinds that differ from the names of the kinds."""


@dataclass(frozen=True)
class Origin:
    """Why a column has its family.

    ``kind`` is "specified" if the user named the family, and "rows" if the family scored best on the rows. ``kind`` is
    "gaps" if the column flags the missing cells of another column. If the type of the values decided the family,
    ``kind`` is this type, or "nothing" if there are no values. ``detail`` says how a column is cut, or names the column
    whose missing cells are flagged. ``best_by`` is the score that was compared, "evidence" or "class". ``ahead`` is the
    lead over the family ``second``, in nats.
    """

    kind: OriginKind
    detail: str = ""
    best_by: str = ""
    ahead: float = 0.0
    second: str = ""

    @property
    def inferred(self) -> bool:
        """Whether the family was chosen by the kind of the values, so that further rows may change the family."""
        return self.kind not in ("specified", "rows", "gaps")

    def __str__(self) -> str:
        if self.kind != "rows":
            shown = SHOWN.get(self.kind, self.kind)
            return f"{shown} {self.detail}" if self.kind == "gaps" else f"{shown}, {self.detail}".removesuffix(", ")
        best = "best by evidence" if self.best_by == "evidence" else "best for the class"
        if not self.second:
            return f"{best}, the only candidate"
        return (
            f"{best}, as good as {self.second}"
            if self.ahead <= 0
            else f"{best}, {self.ahead:.3g} nats before {self.second}"
        )
