"""What warnings and errors of all rooms have in common: the line that they point at, and the word that may be meant."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Integral
from pathlib import Path
from typing import Any

OURS = (str(Path(__file__).parent) + os.sep,)


def warn(said: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and point at the line of the user's code that called the package."""
    warnings.warn(said, category, skip_file_prefixes=OURS)


def require_choice(name: str, value: Any, choices: Iterable[Any]) -> None:
    """Raise ``ValueError`` for a value that is none of these words; ``None`` among them says that it is optional."""
    known = [*choices]
    if (value is None or isinstance(value, str)) and value in known:
        return
    *others, last = (repr(word) for word in known if word is not None)
    said = f"{'one of ' * (len(others) > 1)}{', '.join(others)} or {last}"
    raise ValueError(f"Expected {name} to be {said}; got {value!r}" + meant(value, filter(None, known)))


def require_whole(least: int, **values: Any) -> None:
    """Raise ``ValueError`` for a value, by its name, that is no whole number, or below the least."""
    for name, value in values.items():
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise ValueError(f"Expected {name} to be a whole number, {least} or more; got {value!r}")


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
