"""The content of a model file: schema, statistics, classes, and the parameters of the estimator.

Start with :func:`write` and :func:`read`. The schema and the settings are JSON in the attributes of the file (see
``values``), the statistics are its arrays (see ``arrays``). Nothing in a file is executed. All that is read is
checked, so the numbers are finite and some rows can have led to them.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from bayesnb.__about__ import __version__
from bayesnb.data import writers
from bayesnb.data.schema import Schema
from bayesnb.data.targets import labels_of
from bayesnb.dependence.learned import Dependence
from bayesnb.families.sampled import Draws
from bayesnb.model import Statistics
from bayesnb.modelfile import container, dependence, features, sampled, values
from bayesnb.modelfile.arrays import claim, packed, unpacked
from bayesnb.modelfile.container import ModelFileError
from bayesnb.priors import Array

UNSEEN_POLICIES = ("missing", "new", "error")


class ModelChangedError(ValueError):
    """A model file was changed by someone else after it was read; nothing was written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.play_tennis()
    >>> path = Path(tempfile.mkdtemp()) / "tennis.nc"
    >>> read = nb.BayesianNB().fit(X, y).save(path)
    >>> mine, theirs = nb.load(path), nb.load(path)
    >>> _ = theirs.partial_fit(X, y).save(path, replacing=read)
    >>> try:
    ...     mine.partial_fit(X, y).save(path, replacing=read)
    ... except nb.ModelChangedError:
    ...     print("read it again, and learn from the rows again")
    read it again, and learn from the rows again
    """


@dataclass(frozen=True, eq=False)
class Contents:
    """What a model file holds.

    Parameters
    ----------
    configuration : {name: value}
        The parameters of the estimator.
    schema : Schema
    statistics : Statistics
    classes : array (class,)
    target : column name or None
        The column that held the class, if it is known.
    expected : bool
        True if unlabelled rows were counted by their responsibilities.
    hash : str
        Of everything above, as 64 hexadecimal digits; "" before it is written.
    version : str
        Of the bayesnb that wrote it.
    declared : tuple
        Classes that exist though no row may have them.
    dependence : Dependence or None
        How the features depend on each other, if that was learned.
    draws : {name: Draws}
        Of the sampled features.
    """

    configuration: Mapping[str, Any]
    schema: Schema
    statistics: Statistics
    classes: Array
    target: Any = None
    expected: bool = False
    hash: str = ""
    version: str = __version__
    declared: tuple[Any, ...] = ()
    dependence: Dependence | None = None
    draws: Mapping[Any, Draws] = field(default_factory=dict)

    @property
    def format_version(self) -> int:
        """The oldest format that can hold it: naive Bayes is written as it always was, for older readers."""
        if self.draws:
            return 3
        return 1 if self.dependence is None and "dependence" not in self.configuration else 2

    @classmethod
    def of(cls, clf: Any) -> Contents:
        """Collect what the file of a fitted :class:`bayesnb.BayesianNB` holds."""
        learned, configuration = clf.classifier_, clf.get_params(deep=False)
        # A file without the parameters that came later is read by older versions too.
        for name, default in (("dependence", None), ("columns", "fixed")):
            if configuration[name] == default:
                del configuration[name]
        return cls(
            configuration,
            learned.schema,
            learned.statistics,
            learned.classes,
            learned.target,
            learned.expected,
            declared=learned.declared,
            dependence=learned.dependence,
            draws={name: learned.posterior.features[name] for name in learned.posterior.model.sampled},
        )


def write(contents: Contents, path: str | os.PathLike, replacing: str | None = None) -> str:
    """Write a model file, all of it or nothing, and return its content hash.

    Parameters
    ----------
    contents : Contents
    path : path
    replacing : str, optional
        The content hash of the file that is to be replaced. Who else writes it waits for that.

    Raises
    ------
    ModelChangedError
        If ``path`` holds another model by now.
    ValueError
        For what no file can hold, such as a function as a prior; nothing is written.
    OSError
        If the disk is full or the folder cannot be written; the old file is then as it was.
    """
    path = Path(os.path.realpath(path))
    data, own = to_bytes(contents)
    with _alone(path):
        if replacing is not None and (held := content_hash(path)) != replacing:
            raise ModelChangedError(
                f"{path}: was changed since it was read (its content was {replacing[:12]} and is {held[:12]}); nothing "
                "was written. Read it again and repeat the change"
            )
        with writers.replacing(path) as part, part.open("wb") as file:
            file.write(data)
    return own


def to_bytes(contents: Contents) -> tuple[bytes, str]:
    """Make the bytes of a model file, and its content hash."""
    schema, statistics = contents.schema, contents.statistics
    described = {
        "labels": list(statistics.labels),
        "classes": np.asarray(contents.classes).dtype.str,
        "target": contents.target,
        "expected": contents.expected,
        "names": schema.names,
        "named": schema.named,
        "unseen": schema.unseen,
        "features": [[name, features.described(feature)] for name, feature in schema.features.items()],
    }
    if contents.declared:
        described["declared"] = list(contents.declared)
    variables = packed(schema, statistics)
    documents = {"configuration": dict(contents.configuration), "schema": described}
    if contents.format_version > 1:
        documents["dependence"], further = dependence.packed(contents.dependence)
        variables |= further
    if contents.draws:
        described["sampled"], further = sampled.packed(schema, statistics, contents.draws)
        variables |= further
    try:
        texts = {name: values.dumps(document) for name, document in documents.items()}
    except values.NotPlainError as error:
        raise ValueError(f"this model cannot be written to a file: {error}") from error
    attributes = {"format": "bayesnb", "format_version": contents.format_version, **texts}
    attributes["bayesnb_version"] = contents.version
    arrays = {name: variable.values for name, variable in variables.items()}
    attributes["content_hash"] = container.content_hash(attributes, arrays)
    data = container.sealed(attributes, variables)
    try:
        # Reading applies the same limit. A file beyond it could not be read again, and the model would be lost.
        left = container.spent(container.budget(len(data)), sum(map(container.claim, arrays.values())), "what it holds")
        for text in texts.values():
            left -= values.loads(text, left)[1]
        _padded(left, schema, len(statistics.labels))
    except ValueError as error:
        raise ValueError(f"this model cannot be written to a file: {error}") from error
    return data, attributes["content_hash"]


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Lock a path against other writers. The system frees the lock if its holder dies.

    The file of the lock is deleted while it is held. Who has waited for it sees that it is gone, and locks a new one.
    """
    from filelock import FileLock

    beside = path.with_name(f".{path.name}.lock")
    with contextlib.ExitStack() as held:
        with writers.naming(path, beside):
            held.enter_context(FileLock(beside, timeout=60))
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                # Windows refuses to delete an open file; there it stays.
                beside.unlink()


# Reading


def content_hash(path: str | os.PathLike) -> str:
    """Read the content hash of a model file; "" if there is no file."""
    return read(path).hash if Path(path).exists() else ""


def is_model(path: str | os.PathLike) -> bool:
    """True if the content of a file begins as that of a model file, whatever the name of the file is."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(container.HDF5)) == container.HDF5
    except OSError:
        return False


def read(path: str | os.PathLike | BinaryIO) -> Contents:
    """Read and check the contents of a model file.

    Parameters
    ----------
    path : path, or a binary file that can be read and sought

    Raises
    ------
    FileNotFoundError
    ModelFileError
        If it is no model file, was cut short or changed, is of a newer format, or holds what no model can.
    """
    if hasattr(path, "read"):
        return _read(path, getattr(path, "name", "the file"))
    with Path(path).open("rb") as file:
        return _read(file, path)


def _read(file: BinaryIO, name: Any) -> Contents:
    try:
        size = container.require(file)
        return _contents(*container.opened(file, container.budget(size)))
    except MemoryError as error:
        raise ModelFileError(f"{name}: is a model that does not fit into memory") from error
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from error.__cause__
    except (
        ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RuntimeError, OSError, struct.error
    ) as error:  # fmt: skip
        said = " ".join(str(error).split())
        raise ModelFileError(f"{name}: is not a model that can be read ({said[:200]})") from error


# Making a model of what was read


def _contents(attributes: Mapping[str, Any], arrays: Mapping[str, Array], left: int) -> Contents:
    """Make the contents of attributes and arrays, within the bytes that are left of the file's budget."""
    configuration, size = values.loads(attributes["configuration"], left)
    left -= size
    said, size = values.loads(attributes["schema"], left)
    left -= size
    labels = tuple(said["labels"])
    left = container.spent(left, values.dtype_of(said["classes"]).itemsize * len(labels), "the array of its classes")
    classes = values.filled(labels, said["classes"])
    if not labels or labels_of(classes) != labels or len(set(labels)) < len(labels):
        raise ModelFileError(f"its classes are {list(labels)[:8]}")
    names, by_name = said["names"], {name: features.read(name, each) for name, each in said["features"]}
    used = {column for feature in by_name.values() for column in (*feature.reads, *feature.exposure)}
    sound = isinstance(names, tuple) and isinstance(said["named"], bool) and said["unseen"] in UNSEEN_POLICIES
    if not sound or not by_name or not used <= set(names):
        raise ModelFileError("its schema is not one")
    schema = Schema(names, said["named"], by_name, said["unseen"])
    _padded(left, schema, len(labels))
    further = {path: a for path, a in arrays.items() if sampled.owns(path)}
    draws, others = sampled.unpacked(said.get("sampled", []), further, schema, len(labels))
    own = {path: a for path, a in arrays.items() if not (dependence.owns(path) or sampled.owns(path))}
    each = unpacked(schema, own, len(labels), others)
    rows = arrays["/rows"]
    if rows.shape != (len(labels),):
        raise ModelFileError(f"its rows are of shape {rows.shape}; there are {len(labels)} classes")
    statistics = Statistics(labels, rows, each)
    _require_possible(statistics)
    if not isinstance(configuration, dict):
        raise ModelFileError("its configuration is not one")
    further = {path: a for path, a in arrays.items() if dependence.owns(path)}
    said_of_exponents, size = values.loads(attributes.get("dependence", "null"), left)
    learned = dependence.unpacked(said_of_exponents, further, schema, rows)
    return Contents(
        configuration,
        schema,
        statistics,
        classes,
        said["target"],
        bool(said["expected"]),
        attributes["content_hash"],
        attributes["bayesnb_version"],
        tuple(said.get("declared", ())),
        learned,
        draws,
    )


def _padded(left: int, schema: Schema, n_classes: int) -> int:
    """Take the tables of levels off the bytes that are left of a budget."""
    return container.spent(left, claim(schema, n_classes), "filling up the columns with fewer levels")


def _require_possible(statistics: Statistics) -> None:
    """Refuse numbers that no rows can have led to: infinite ones, negative weights, or more values than rows."""
    rows = statistics.rows
    if not (np.isfinite(rows) & (rows >= 0)).all():
        raise ModelFileError(f"its rows of the classes are {rows.tolist()[:8]}")
    for name, s in statistics.features.items():
        for what, value in s.arrays().items():
            if not np.isfinite(value).all() or (what not in s.signed and (value < 0).any()):
                worst = value[~np.isfinite(value)] if not np.isfinite(value).all() else value[value < 0]
                raise ModelFileError(f"feature {name!r}: its {what} is {worst[0]:g} somewhere")
        if (s.seen() > rows[:, None] * (1 + 1e-6)).any():
            raise ModelFileError(f"feature {name!r}: more values were seen than there are rows")
        if said := s.contradiction():
            raise ModelFileError(f"feature {name!r}: {said}")


def describe(path: str | os.PathLike) -> dict[str, Any]:
    """Describe what a model file holds, without fitting an estimator.

    Returns
    -------
    dict
        ``format_version``, ``bayesnb_version``, ``content_hash``, ``target``, ``rows`` (weight by class),
        ``configuration`` (the parameters of the estimator), and ``features``: one dictionary each of ``feature``,
        ``family``, ``prior``, ``columns``, ``levels``, ``missing`` (share) and ``chosen`` (why this family).

    Raises
    ------
    FileNotFoundError, ModelFileError

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import bayesnb as nb
    >>> path = Path(tempfile.mkdtemp()) / "tennis.nc"
    >>> _ = nb.BayesianNB().fit(*nb.datasets.play_tennis()).save(path)
    >>> nb.describe(path)["rows"]
    {'no': 5.0, 'yes': 9.0}
    """
    contents = read(path)
    table = contents.schema.describe(contents.statistics).reset_index()
    return {
        "format_version": contents.format_version,
        "bayesnb_version": contents.version,
        "content_hash": contents.hash,
        "target": contents.target,
        "rows": dict(zip(contents.statistics.labels, contents.statistics.rows.tolist(), strict=True)),
        "configuration": dict(contents.configuration),
        "features": table.to_dict("records"),
    }
