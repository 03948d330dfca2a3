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


def meant(asked: Any, choices: Iterable[str]) -> str:
    """The end of an error about a choice that does not exist: the one that may be meant, or nothing."""
    close = get_close_matches(asked.strip().lower(), choices, 1) if isinstance(asked, str) else []
    return f"; did you mean {close[0]!r}?" if close else ""
