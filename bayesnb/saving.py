"""How an estimator becomes a file: a method of :class:`bayesnb.BayesianNB`, its ``self``."""

from __future__ import annotations

import os
from typing import Any

from bayesnb.modelfile import document


def save(self: Any, path: str | os.PathLike, replacing: str | None = None) -> str:
    """Write a model file, and return its content hash. It holds the parameters and what was learned, and no rows.

    The file is in the safetensors format. At every moment ``path`` holds the old file or the whole new one.

    Parameters
    ----------
    path : path
        Any name; ".bayesnb" is usual.
    replacing : str, optional
        ``content_hash_`` of the file that this model came from. If ``path`` was changed since, it is kept, and
        :class:`bayesnb.errors.ModelChangedError` is raised.

    Raises
    ------
    ValueError
        For what no file can hold: a function as a prior of ``FromPyMC``, a generator as ``random_state``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bayesnb import BayesianNB, datasets, load
    >>> path = Path(tempfile.mkdtemp()) / "tennis.bayesnb"
    >>> clf = BayesianNB().fit(*datasets.play_tennis())
    >>> clf.save(path) == load(path).content_hash_
    True
    """
    self.content_hash_ = document.write(document.Contents.of(self), path, replacing)
    return self.content_hash_
