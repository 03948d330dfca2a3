"""The content of a model file, which is checked completely and never executed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, BinaryIO

from bayesnb.data import writers
from bayesnb.data.schema import Schema
from bayesnb.dependence.learned import Dependence
from bayesnb.families.sampled import Draws
from bayesnb.model import Statistics
from bayesnb.modelfile import checks, codec, container
from bayesnb.numerics import Array


class ModelChangedError(ValueError):
    """A model file was changed by someone else after it was read, so nothing was written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.play_tennis()
    >>> path = Path(tempfile.mkdtemp()) / "tennis.bayesnb"
    >>> _ = nb.BayesianNB().fit(X, y).save(path)
    >>> mine, theirs = nb.load(path), nb.load(path)
    >>> _ = theirs.partial_fit(X, y).save(path, replacing=True)
    >>> try:
    ...     mine.partial_fit(X, y).save(path, replacing=True)
    ... except nb.errors.ModelChangedError:
    ...     print("read it again, and learn from the rows again")
    read it again, and learn from the rows again
    """


@dataclass(frozen=True, eq=False)
class Contents:
    """The contents of a model file."""

    configuration: Mapping[str, Any]  # The parameters of the estimator.
    schema: Schema
    statistics: Statistics
    classes: Array
    target: Any = None  # The name of the class column.
    # The columns that the command line ignored, and the markers of missing values.
    reading: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    expected: bool = False  # Whether unlabelled rows were counted by class probabilities.
    declared: tuple[Any, ...] = ()  # Classes that need no rows.
    dependence: Dependence | None = None
    draws: Mapping[Any, Draws] = field(default_factory=dict)  # Draws of the sampled features.
    drawn: Mapping[str, Any] = field(default_factory=dict)  # Draws of all parameters of a model from ``from_draws``.
    # The table's name and scores, if the command line fitted the model. Learning more rows clears the record.
    record: Mapping[str, Any] = field(default_factory=dict)
    hash: str = ""  # The digest of all other fields, 64 hexadecimal digits.
    version: str = ""  # The version of bayesnb that wrote the file.

    @classmethod
    def of(cls, configuration: Mapping[str, Any], learned: Any) -> Contents:
        fitted = learned.posterior.fitted
        draws = {name: fitted.features[name] for name in fitted.model.sampled}
        same = {name: getattr(learned, name) for name in WRITTEN if name not in ("configuration", "draws", "drawn")}
        return cls(configuration, draws=draws, drawn=learned.posterior.stored(), **same)

    def require_sound(self) -> None:
        labels = self.statistics.labels
        distinct = 0 < len(labels) == len(set(labels)) and tuple(self.classes.tolist()) == labels
        checks.require(distinct, f"its classes are {list(labels)[:8]}")
        sound = isinstance(self.configuration, dict) and isinstance(self.declared, tuple)
        checks.require(sound, "its configuration is not one")
        checks.require_schema(self.schema)
        checks.require_statistics(self.statistics, self.schema)
        checks.require_draws(self.draws, self.schema, len(labels))
        checks.require_record(self.record)
        if self.drawn:
            checks.require_drawn(self.drawn, self.schema, len(labels))
        if self.dependence is not None:
            checks.require_dependence(self.dependence, self.schema, self.statistics.rows)


WRITTEN = tuple(f.name for f in fields(Contents) if f.name not in ("hash", "version"))


def write(contents: Contents, path: str | os.PathLike, replacing: str | None = None) -> str:
    """Write a model file completely or not at all, and return its content hash."""
    path = Path(os.path.realpath(path))
    data, own = to_bytes(contents)
    writers.require_folder(path)  # The lock would create it.
    with _alone(path):
        # ``replacing`` is the content hash of the file to replace.
        if replacing is not None and (held := content_hash(path)) != replacing:
            raise ModelChangedError(
                f"{path}: was changed since it was read (its content was {replacing[:12]} and is {held[:12]}); nothing "
                "was written. Read it again and repeat the change"
            )
        with writers.replacing(path) as part, part.open("wb") as file:
            file.write(data)
    return own


def to_bytes(contents: Contents) -> tuple[bytes, str]:
    """Return the bytes of a model file, and its content hash."""
    from safetensors import SafetensorError

    arrays: dict[str, Array] = {}
    try:
        tree = {name: codec.encode(getattr(contents, name), arrays, f".{name}") for name in WRITTEN}
        return container.packed(tree, arrays)
    except (codec.NotPlainError, SafetensorError) as error:
        raise ValueError(f"this model cannot be written to a file: {error}") from error


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Lock a path against other processes that write to it."""
    from filelock import FileLock

    beside = path.with_name(f".{path.name}.lock")
    with contextlib.ExitStack() as held:
        with writers.naming(path, beside):
            held.enter_context(FileLock(beside, timeout=60))
        try:
            yield
        finally:
            # The lock file is deleted while the lock is held; a process that waited for it then locks a new file.
            with contextlib.suppress(OSError):
                # Windows refuses to delete an open file, so the lock file stays there.
                beside.unlink()


# Reading


def content_hash(path: str | os.PathLike) -> str:
    """The content hash of a model file, or "" if the file does not exist."""
    return read(path).hash if Path(path).exists() else ""


def read(path: str | os.PathLike | BinaryIO) -> Contents:
    """Read and check the contents of a model file, from a path or a seekable binary file."""
    if hasattr(path, "read"):
        return _read(path, getattr(path, "name", "the file"))
    with Path(path).open("rb") as file:
        return _read(file, path)


def _read(file: BinaryIO, name: Any) -> Contents:
    try:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        said, arrays = container.unpacked(file)
        tree = said["content"]
        if not set(WRITTEN) - {"drawn", "record"} <= set(tree) <= set(WRITTEN):  # Older files lack these two.
            raise container.ModelFileError(f"holds {sorted(tree)}; Expected {sorted(WRITTEN)}")
        decoded = codec.decode(list(tree.values()), arrays, size)
        found = Contents(**dict(zip(tree, decoded, strict=True)), hash=said["digest"], version=said["version"])
        found.require_sound()
    except MemoryError as error:
        raise container.ModelFileError(f"{name}: is a model that does not fit into memory") from error
    except container.ModelFileError as error:
        raise container.ModelFileError(f"{name}: {error}") from error.__cause__
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RuntimeError, OSError) as error:
        said = " ".join(str(error).split())
        raise container.ModelFileError(f"{name}: is not a model that can be read ({said[:200]})") from error
    return found


def describe(path: str | os.PathLike) -> dict[str, Any]:
    """Describe the contents of a model file.

    Returns
    -------
    dict
        ``format_version``, ``bayesnb_version``, ``content_hash``, ``target``, ``rows`` (weight by class),
        ``effective_rows`` ((Σ w)² / Σ w²), ``configuration`` (the parameters of the estimator), ``record`` (the name of
        the table and its scores, if the command line fitted the model), and ``features``. Each feature has ``feature``,
        ``family``, ``prior``, ``columns``, ``levels``, ``missing`` (fraction) and ``chosen`` (why this family).

    Raises
    ------
    FileNotFoundError, ModelFileError

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import bayesnb as nb
    >>> path = Path(tempfile.mkdtemp()) / "tennis.bayesnb"
    >>> _ = nb.BayesianNB().fit(*nb.datasets.play_tennis()).save(path)
    >>> nb.describe(path)["rows"]
    {'no': 5.0, 'yes': 9.0}
    """
    contents = read(path)
    table = contents.schema.describe(contents.statistics).reset_index()
    return {
        "format_version": container.FORMAT,
        "bayesnb_version": contents.version,
        "content_hash": contents.hash,
        "target": contents.target,
        "rows": dict(zip(contents.statistics.labels, contents.statistics.rows.tolist(), strict=True)),
        "effective_rows": contents.statistics.effective_rows,
        "configuration": dict(contents.configuration),
        "record": dict(contents.record),
        "features": table.to_dict("records"),
    }
