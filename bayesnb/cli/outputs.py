"""Output files: without ``--force``, a command overwrites only files of its own kind, and never an input."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayesnb.cli.terminal import say, stdout, visible

if TYPE_CHECKING:
    from bayesnb.inference.classifier import Classifier
    from bayesnb.learning import EstimatorParameters

WRITTEN = {
    "model": ("a model file", (".bayesnb", ".safetensors")),
    "table": ("a table", (".parquet", ".pq", ".csv", ".tsv")),
    "html": ("a page in HTML", (".html", ".htm")),
    "md": ("a page in Markdown", (".md", ".markdown", ".txt")),
    "sql": ("a query in SQL", (".sql", ".txt")),
    "picture": ("a picture", (".png", ".svg")),
}
"""Name and suffixes of each kind of file."""

OWN_PICTURE = "bayesnb audit"
"""Text in the metadata of pictures drawn by a command."""


def require_output(
    output: str | None, kind: str, inputs: Iterable[str], is_own: Callable[[str], bool] | None, force: bool
) -> None:
    """Raise ``click.BadParameter`` for a wrong suffix, a missing folder, or a file that must not be replaced."""
    if output is None or output == "-":
        return
    path, suffix = Path(output), Path(output).suffix.lower()
    called, suffixes = WRITTEN[kind]
    # A model or a page may lack a suffix. The suffix of a table or a picture selects its format, so it is required.
    if suffix not in suffixes and (suffix or kind in ("table", "picture")):
        *others, last = suffixes
        ends = f"{', '.join(others)} or {last}" if others else last
        _refuse(f"{output}: Expected {called}, which ends in {ends}; got the suffix {suffix!r}")
    if path.is_dir():
        _refuse(f"{output} is a folder")
    if not path.parent.is_dir():
        _refuse(f"{output}: there is no folder {path.parent}")
    if not path.is_file():
        return
    for given in inputs:
        if any(path.samefile(file) for file in _files(given)) or (given == "-" and _is_stdin(path)):
            _refuse(f"{output} is read, as {'stdin' if given == '-' else given}: write to another file")
    if not force and path.stat().st_size and not (is_own and is_own(output)):
        why = ", and is not what this command writes" if is_own else ""
        _refuse(f"{output} exists{why}: name another file, or replace it with --force")


def _refuse(said: str) -> None:
    raise click.BadParameter(visible(said), param_hint="--output")


def _files(given: str) -> Iterator[Path]:
    paths = [given] if Path(given).exists() else glob.glob(given, recursive=True)  # noqa: PTH207
    for path in map(Path, paths):
        yield from (file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def _is_stdin(path: Path) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(sys.stdin.fileno()))
    except (OSError, AttributeError, ValueError):
        return False


def write_text(text: str, output: str) -> None:
    """Write a text to stdout ("-") or to a file."""
    if output == "-":
        stdout().write(text)
        return
    from bayesnb.data.writers import replacing

    with replacing(output) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


def save_model(parameters: EstimatorParameters, clf: Classifier, path: str, replacing: str | None = None) -> None:
    """Write a model to a file or stdout."""
    from bayesnb.modelfile import document

    contents = document.Contents.of(parameters.by_name(), clf)
    if clf.dependence is not None and (kept := clf.dependence.statistics.near.counts.sum()):
        say(
            f"the file holds the cells of {clf.statistics.counted(kept)} that were learned, which --dependence auto "
            "compares with new rows; with --dependence auto-counts it holds counts and no row"
        )
    if path != "-":
        document.write(contents, path, replacing)
    else:
        sys.stdout.buffer.write(document.to_bytes(contents)[0])


def save_picture(figure: Any, output: str) -> None:
    """Write a picture, and mark it as drawn by a command."""
    from bayesnb.data.writers import replacing

    suffix = Path(output).suffix.lower()
    written_by = {".png": "Software", ".svg": "Creator"}[suffix]
    with replacing(output) as part:
        figure.savefig(part, format=suffix[1:], dpi=180, metadata={written_by: OWN_PICTURE})


def same_place(output: str | None, model: str) -> bool:
    """True if the output replaces the model file that was read."""
    return model != "-" and (output is None or os.path.realpath(output) == os.path.realpath(model))


def is_model(path: str) -> bool:
    """Whether the file is a model file."""
    from bayesnb.modelfile import container

    return container.is_model(path)


def is_picture(path: str) -> bool:
    """Whether the file is a picture drawn by ``bayesnb audit``."""
    return OWN_PICTURE.encode() in Path(path).read_bytes()[:4096]


def is_predictions(path: str) -> bool:
    """Whether a file holds predictions."""
    try:
        if path.lower().endswith((".parquet", ".pq")):
            from pyarrow import parquet

            names = parquet.read_schema(path).names
        else:
            with Path(path).open(encoding="utf-8") as lines:
                names = lines.readline(2**20).strip().split("\t" if path.lower().endswith(".tsv") else ",")
    except Exception:
        return False
    if "prediction" not in names:
        return False
    return any(name.startswith("p_") for name in names[names.index("prediction") + 1 :])
