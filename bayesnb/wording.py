"""What warnings and errors of all rooms have in common: the line that they point at, and the word that may be meant."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

OURS = (str(Path(__file__).parent) + os.sep,)


def warn(said: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and point at the line of the user's code that called the package."""
    warnings.warn(said, category, skip_file_prefixes=OURS)


def nearest(name: Any, names: Iterable[Any]) -> str | None:
    """The one of some names that a name is most like, regardless of capitals and blanks; ``None`` if none is."""
    folded = {str(known).strip().lower(): str(known) for known in names}
    close = get_close_matches(str(name).strip().lower(), folded, 1)
    return folded[close[0]] if close else None


def meant(asked: Any, choices: Iterable[Any], otherwise: str = "") -> str:
    """The end of an error about a choice that does not exist: the one that may be meant, or another text."""
    close = nearest(asked, choices)
    return otherwise if close is None else f"; did you mean {close!r}?"


def meant_of_all(asked: Any, choices: Iterable[Any], said: str) -> str:
    """The end of such an error that also says which choices there are, as in "families are gaussian, poisson"."""
    hint = meant(asked, choices)
    return f"{hint} The {said}" if hint else f"; the {said}"
