"""The bytes of a model file: safetensors whose metadata hold a JSON document and a digest."""

# The digest (a hash of the document and all arrays) detects damage, but not forgery.

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from bayesnb.__about__ import __version__
from bayesnb.numerics import Array

FORMAT = 1
KEY = "bayesnb"
START = b'{"__metadata__":{"bayesnb":'
"""First bytes of the header of a model file. The header follows eight bytes that hold its length."""


class ModelFileError(ValueError):
    """A file is not a model file, is damaged, or cannot be read by this version.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import bayesnb as nb
    >>> path = Path(tempfile.mkdtemp()) / "tennis.bayesnb"
    >>> _ = nb.BayesianNB().fit(*nb.datasets.play_tennis()).save(path)
    >>> _ = path.write_bytes(path.read_bytes()[:-100])
    >>> try:
    ...     nb.load(path)
    ... except nb.errors.ModelFileError:
    ...     print("not whole")
    not whole
    """


def packed(content: Any, arrays: Mapping[str, Array]) -> tuple[bytes, str]:
    """Return the bytes of a model file, and its digest."""
    from safetensors.numpy import save

    # Safetensors would store an array in Fortran order with its cells permuted.
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    said = {"format": FORMAT, "version": __version__, "content": content}
    digest = _digest(said, arrays)
    # The metadata are one text, because safetensors writes several entries in any order.
    return save(arrays, {KEY: _text({"digest": digest, **said})}), digest


def is_model(path: str | os.PathLike) -> bool:
    """Whether the first bytes of a file are those of a model file."""
    try:
        with Path(path).open("rb") as file:
            return file.read(8 + len(START))[8:] == START
    except OSError:
        return False


def unpacked(file: BinaryIO) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read the bytes of a model file; return the metadata ("digest", "format", "version", "content") and the arrays."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    start = file.read(8 + len(START))
    if start[8:] != START:
        raise ModelFileError("is not a model file: Expected one that `save` or `bayesnb fit` wrote")
    data = start + file.read()
    try:
        arrays = load(data)
    except (SafetensorError, KeyError) as error:
        raise ModelFileError(f"was cut short or damaged ({error})") from error
    header = data[8 : 8 + int.from_bytes(data[:8], "little")]
    said = json.loads(json.loads(header)["__metadata__"][KEY], object_pairs_hook=_each_once)
    digest, version = said.pop("digest"), said.get("format")
    if type(version) is int and version > FORMAT:
        raise ModelFileError(
            f"was written by a newer bayesnb (format {version}); this one, {__version__}, reads formats up to "
            f"{FORMAT}: update it"
        )
    if digest != _digest(said, arrays):
        raise ModelFileError("was damaged or changed: its digest does not fit its content")
    return {"digest": digest, **said}, arrays


def _digest(said: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    digest = hashlib.sha256(_text(said).encode())
    for name, array in sorted(arrays.items()):
        little = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
        digest.update(_text([name, little.dtype.str, little.shape]).encode())
        digest.update(little.tobytes())
    return digest.hexdigest()


def _text(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found
