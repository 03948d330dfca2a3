"""The bytes of a model file: HDF5 data, a digest behind them, and a limit on the memory that they may take.

The digest of all bytes before it stands behind the HDF5 data, where HDF5 readers pass over it. It is checked before
HDF5 sees a byte, so a cut or damaged file is never parsed. A correct digest does not show that a file is harmless,
because anyone can compute one. So the sizes in the file are added up before memory is allocated, and their sum may not
be larger than :func:`budget`.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bayesnb.__about__ import __version__
from bayesnb.priors import Array

FORMAT_VERSION = 3
SEAL = b"\nbayesnb sha256 "
SEAL_SIZE = len(SEAL) + 64 + 1
HDF5 = b"\x89HDF\r\n\x1a\n"
# A file may take FREE bytes of memory, and PER_BYTE more for each byte of the file.
FREE = 2**26
PER_BYTE = 32
# A Python string takes about this many bytes in addition to its letters.
TEXT = 64
ATTRIBUTES = ("format", "format_version", "bayesnb_version", "configuration", "schema", "content_hash")
# What files of format 2 and later have in addition. HDF5 keeps no more attributes than these where they can be checked.
FURTHER = ("dependence",)


class ModelFileError(ValueError):
    """A file is not a model file, is damaged, or cannot be read by this version.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import bayesnb as nb
    >>> path = Path(tempfile.mkdtemp()) / "tennis.nc"
    >>> _ = nb.BayesianNB().fit(*nb.datasets.play_tennis()).save(path)
    >>> _ = path.write_bytes(path.read_bytes()[:-100])
    >>> try:
    ...     nb.load(path)
    ... except nb.ModelFileError:
    ...     print("not whole")
    not whole
    """


@dataclass(frozen=True, eq=False)
class Variable:
    """An array of numbers or texts, and its dimensions. A variable with the name of its dimension holds coordinates."""

    dims: tuple[str, ...]
    values: Array


def sealed(attributes: Mapping[str, Any], variables: Mapping[str, Variable]) -> bytes:
    """Write attributes and variables, named "/name" or "/group/name", as the bytes of a netCDF file with its digest."""
    import h5netcdf
    import h5py

    held = io.BytesIO()
    # Not xarray: it takes seconds to import, and asks Dask for a lock if a Dask cluster runs.
    with h5netcdf.File(held, "w", track_order=True) as file:
        file.attrs.update(attributes)
        for path, variable in variables.items():
            place, _, name = path[1:].rpartition("/")
            group = file if not place else file[place] if place in file.groups else file.create_group(place)
            for dim, size in zip(variable.dims, variable.values.shape, strict=True):
                if dim not in group.dimensions and dim not in file.dimensions:
                    group.dimensions[dim] = size
            text = variable.values.dtype.kind == "O"
            kind = h5py.string_dtype() if text else "<f8"
            made = group.create_variable(name, variable.dims, kind, data=variable.values)
            if len(variable.dims) > 1 and (beside := _beside(variables, path)):
                made.attrs["coordinates"] = beside
    return seal(held.getvalue())


def _beside(variables: Mapping[str, Variable], path: str) -> str:
    """Name the other texts along the last dimension of a variable, besides the coordinates of that dimension."""
    group, dim = path.rpartition("/")[0], variables[path].dims[-1]
    names = [p.rpartition("/")[2] for p, v in variables.items() if p.rpartition("/")[0] == group and v.dims == (dim,)]
    return " ".join(name for name in names if name != dim)


def seal(data: bytes) -> bytes:
    """Append the digest to the bytes of a file."""
    return data + SEAL + hashlib.sha256(data).hexdigest().encode() + b"\n"


def content_hash(attributes: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    """Hash all names, attributes and arrays. The hash does not depend on their layout in the file."""
    digest = hashlib.sha256()

    def add(*parts: bytes) -> None:
        for part in parts:
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)

    for name in sorted(set(attributes) - {"content_hash", "bayesnb_version"}):
        add(name.encode(), str(attributes[name]).encode())
    for name, array in sorted(arrays.items()):
        numbers = array.dtype.kind == "f"
        add(name.encode(), str(array.shape).encode())
        add(*([np.ascontiguousarray(array, "<f8").tobytes()] if numbers else [str(v).encode() for v in array]))
    return digest.hexdigest()


def budget(size: int) -> int:
    """The bytes of memory that a file of ``size`` bytes may take."""
    return FREE + PER_BYTE * size


def spent(left: int, claim: int, what: str) -> int:
    """Take a claim off the bytes that are left of a budget.

    Raises
    ------
    ModelFileError
        If the claim is larger than what is left.
    """
    if claim > left:
        raise ModelFileError(f"{what} claims {claim} bytes of memory, which is too much for a file of this size")
    return left - claim


def claim(array: Array) -> int:
    """Count the bytes of memory that an array of a file takes, as :func:`opened` does."""
    texts = array.dtype.kind == "O"
    return sum(TEXT + len(str(cell).encode()) for cell in array.ravel()) if texts else array.nbytes


def require(file: Any) -> int:
    """Check that the digest at the end is that of all bytes before it, and return the size of the file."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if file.read(len(HDF5)) != HDF5:
        raise ModelFileError("is not a model file: Expected one that `save` or `bayesnb fit` wrote")
    file.seek(max(0, size - SEAL_SIZE))
    seal = file.read()
    if len(seal) != SEAL_SIZE or not seal.startswith(SEAL):
        raise ModelFileError("was cut short, or was not written by bayesnb: the digest at its end is missing")
    digest, left = hashlib.sha256(), size - SEAL_SIZE
    file.seek(0)
    while left:
        block = file.read(min(left, 2**20))
        if not block:
            break
        digest.update(block)
        left -= len(block)
    if seal != SEAL + digest.hexdigest().encode() + b"\n":
        raise ModelFileError("was damaged or changed: its digest does not fit its bytes")
    return size


def is_sealed(path: str | os.PathLike) -> bool:
    """True if a file begins and ends as a model file does; the rest of it is not read."""
    try:
        with Path(path).open("rb") as file:
            if file.read(len(HDF5)) != HDF5:
                return False
            file.seek(max(0, file.seek(0, os.SEEK_END) - SEAL_SIZE))
            return file.read(len(SEAL)) == SEAL
    except OSError:
        return False


def opened(file: Any, left: int) -> tuple[dict[str, Any], dict[str, Array], int]:
    """Read attributes and arrays, and return what is left of the budget. Sizes are added up before arrays are read."""
    import h5py

    file.seek(0)
    with h5py.File(file, "r") as held:
        lengths = _text_lengths(file, h5py.h5o.get_info(held.id).addr)
        left = spent(left, sum(lengths), "what its attributes say")
        attributes = {name: _attribute(held, name) for name in ("format", "format_version")}
        if attributes["format"] != "bayesnb":
            raise ModelFileError("is not a model file: its attribute 'format' is not 'bayesnb'")
        version = attributes["format_version"]
        if version > FORMAT_VERSION:
            raise ModelFileError(
                f"was written by a newer bayesnb (format {version}); this one, {__version__}, reads formats up to "
                f"{FORMAT_VERSION}: update it"
            )
        attributes |= {name: _attribute(held, name) for name in ATTRIBUTES}
        if version > 1:
            attributes |= {name: _attribute(held, name) for name in FURTHER}
        datasets: dict[str, Any] = {}
        for name, item in _items(held):
            if isinstance(item, h5py.Group):
                datasets |= {f"/{name}/{inner}": each for inner, each in _items(item)}
            else:
                datasets[f"/{name}"] = item
        left = spent(left, sum(_claim(name, each, file) for name, each in datasets.items()), "what it holds")
        arrays = {name: _array(each) for name, each in datasets.items()}
    if attributes["content_hash"] != content_hash(attributes, arrays):
        raise ModelFileError("was changed: its content hash does not fit its content")
    return attributes, arrays, left


def _text_lengths(file: Any, address: int) -> Iterator[int]:
    """Read the lengths of the texts among the attributes of the group whose object header is at this address.

    HDF5 allocates the length of such a text before it looks whether it is there, and offers no way to ask for the
    length alone. So the header is read here: blocks of messages, each with its type, size and flags, and in each
    attribute message the name, type and shape before the value (HDF5 File Format Specification 3.0, IV.A.1.b, IV.A.2.m,
    IV.A.2.q and IV.A.2.v).
    """
    file.seek(address)
    signature, version, flags = struct.unpack("<4sBB", file.read(6))
    if (signature, version) != (b"OHDR", 2):
        raise ModelFileError("has its attributes where bayesnb does not write them")
    file.seek((16 if flags & 32 else 0) + (4 if flags & 16 else 0), os.SEEK_CUR)
    size = int.from_bytes(file.read(1 << (flags & 3)), "little")
    blocks, head = [(file.tell(), size)], 6 if flags & 4 else 4
    for start, size in blocks:
        file.seek(start)
        block = file.read(size)
        while len(block) > head:
            kind, size, shared = struct.unpack("<BHB", block[:4])
            message, block = block[head : head + size], block[head + size :]
            if kind == 0x10:
                at, size = struct.unpack("<QQ", message[:16])
                blocks.append((at + 4, size - 8))
            elif kind == 0x0C:
                yield _text_length(message, shared)
            elif kind == 0x15 and message[2 + 2 * (message[1] & 1) :][:8] != b"\xff" * 8:
                raise ModelFileError("has more attributes than a model")
        if len(blocks) > 100:
            raise ModelFileError("has more attributes than a model")


def _text_length(message: bytes, shared: int) -> int:
    """Read the length of the text of an attribute message; 0 for a number, whose bytes the message itself holds."""
    version, flags, *sizes = struct.unpack("<BBHHH", message[:8])
    # Version 1 fills each part up to a multiple of eight bytes; version 3 has one more byte before the name.
    name, kind, shape = (-(-size // 8) * 8 if version == 1 else size for size in sizes)
    start = (9 if version == 3 else 8) + name
    number, fixed, long = 0, 3, 9
    if version > 3 or flags or shared & 2 or message[start] & 15 not in (number, fixed, long):
        raise ModelFileError("has attributes that no model has")
    value = message[start + kind + shape :]
    return int.from_bytes(value[:4], "little") if message[start] & 15 == long else 0


def _items(group: Any) -> Iterator[tuple[str, Any]]:
    """List what a group holds itself. A link to another place is refused, because it could lead anywhere."""
    import h5py

    for name in group:
        if group.get(name, getlink=True, getclass=True) is not h5py.HardLink:
            raise ModelFileError(f"holds a link, {name!r}, which no model has")
        yield name, group[name]


def _attribute(held: Any, name: str) -> Any:
    """Read an attribute that is a text or a whole number."""
    if name not in held.attrs:
        raise ModelFileError(f"has no attribute {name!r}")
    identity = held.attrs.get_id(name)
    if identity.shape not in ((), (1,)):
        raise ModelFileError(f"its attribute {name!r} is of shape {identity.shape}")
    value = held.attrs[name]
    value = value.item() if isinstance(value, np.ndarray | np.generic) else value
    if not isinstance(value, int if name == "format_version" else str) or isinstance(value, bool):
        raise ModelFileError(f"its attribute {name!r} is {type(value).__name__}")
    return value


def _claim(name: str, item: Any, file: Any) -> int:
    """Count the bytes of memory that a dataset takes, without reading it.

    A header may claim any number of cells, so they must stand in the file as they are. A text cell is a length, an
    address and an index, sixteen bytes in all; HDF5 allocates that length before it looks whether there is such a
    text, and many cells may point to one. So the lengths are read here and summed.
    """
    import h5py

    if not isinstance(item, h5py.Dataset):
        raise ModelFileError(f"holds {name!r}, which no model has")
    text = h5py.check_string_dtype(item.dtype) is not None
    if not text and item.dtype != np.dtype("<f8"):
        raise ModelFileError(f"its array {name!r} is of type {item.dtype}, and not float64 or text")
    cells = math.prod(map(int, item.shape))
    wide = h5py.check_string_dtype(item.dtype).length if text else 8
    size = cells * (16 if wide is None else wide)
    layout = item.id.get_create_plist()
    plain = layout.get_layout() == h5py.h5d.CONTIGUOUS and not layout.get_nfilters() and not layout.get_external_count()
    if not plain or item.id.get_storage_size() < size:
        raise ModelFileError(f"its array {name!r} claims {size} bytes, which the file does not hold")
    if not text:
        return size
    if wide is not None or not cells:
        return cells * TEXT + size
    file.seek(item.id.get_offset())
    lengths = np.frombuffer(file.read(size), "<u4")[::4]
    return cells * TEXT + int(lengths.sum(dtype=np.int64))


def _array(item: Any) -> Array:
    """Read the numbers or texts of a dataset."""
    import h5py

    return item[()] if h5py.check_string_dtype(item.dtype) is None else item.asstr()[()]
