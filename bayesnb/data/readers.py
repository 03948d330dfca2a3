"""Read files and Arrow streams, in small tables or as one frame."""

from __future__ import annotations

import glob
import os
import re
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any

import pandas as pd

from bayesnb.data import arrow, csv_reader, folders
from bayesnb.data.amounts import FRACTIONS, GAPS, Marks, marks_among, measured
from bayesnb.data.csv_reader import CsvLayout, Format
from bayesnb.data.decoding import Workspace
from bayesnb.data.tables import Table, require_shape, tables
from bayesnb.progress import Progress

KINDS = {
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc",
    ".csv": "csv", ".tsv": "csv", ".tab": "csv", ".txt": "csv", ".dat": "csv", ".data": "csv",
    ".xlsx": "excel", ".xls": "excel", ".xlsm": "excel", ".xlsb": "excel", ".ods": "excel",
}  # fmt: skip
PACKED = {".zip": "unzip", ".bz2": "bunzip2", ".xz": "unxz", ".zst": "unzstd", ".7z": "7z x", ".rar": "unrar x"}

type Schemas = Mapping[str, tuple[Path, Any]]
"""The path as written by the user, and the Arrow schema, of each file, by absolute path."""


@dataclass(frozen=True)
class Sheet:
    """A sheet of an Excel file."""

    name: str
    others: tuple[str, ...]  # The names of all other sheets.
    hidden: tuple[str, ...]  # The names of hidden sheets before this sheet.
    titles: int  # Number of rows above the header.
    empty: int  # Number of formulas without a stored value.
    marks: Marks  # The decimal marks that the texts need.
    coded: tuple[str, ...]  # Names of columns whose cells are whole numbers typed as text, many of them equal.
    text: Path  # A CSV file with the cells.

    @property
    def unread(self) -> str:
        """The names of the other sheets, as one text, without hidden sheets that precede this sheet."""
        return ", ".join(repr(other) for other in self.others if other not in self.hidden)


@dataclass(frozen=True, eq=False)
class Source(os.PathLike):
    """A file, folder, glob of files of one kind, or stdin ("-"), with settings for reading."""

    path: str | os.PathLike
    format: Format = field(default_factory=Format)
    space: Workspace = field(default_factory=Workspace, repr=False)

    @classmethod
    def of(cls, path: str | os.PathLike) -> Source:
        return path if isinstance(path, Source) else cls(path)

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __str__(self) -> str:
        return str(self.path)

    @cached_property
    def files(self) -> dict[Path, str]:
        if str(self.path) == "-":
            return {_copy_of_stdin(self.space): "stdin"}
        files = files_of(self.path)
        if odd := [file for file in files if not file.is_file()]:
            raise ValueError(f"{odd[0]}: is a pipe or a device, which can be read only once: send it to -, as stdin")
        return {file: str(file) for file in files}

    @cached_property
    def kind(self) -> str:
        tabular = any(getattr(self.format, name) is not None for name in ("sep", "decimal", "header", "skip"))
        suffixes = {*KINDS, *PACKED, ".gz"}
        if not tabular and folders.are_texts(self.path, [*self.files], self.format.names, suffixes):
            return "text"
        kinds = {_kind(file) for file in self.files}
        if len(kinds) > 1:
            raise ValueError(f"{self}: Expected files of one kind; got {sorted(kinds)}")
        return kinds.pop()

    @cached_property
    def sheets(self) -> list[Sheet]:
        files = self.files.items() if self.kind == "excel" else ()
        return [_sheet(file, name, self.format, self.space) for file, name in files]

    def sheets_with(self, column: str) -> list[str]:
        """The names of other sheets in which a cell of the first 100 rows holds the text ``column``."""
        found: dict[str, None] = {}
        for file, sheet in zip(self.files, self.sheets, strict=False):
            book = _book(file, str(file))
            for title in sheet.others:
                rows = book.get_sheet_by_name(title).to_python(nrows=100)
                if any(column == str(cell).strip() for row in rows for cell in row):
                    found[title] = None
        return list(found)

    @cached_property
    def layouts(self) -> list[CsvLayout]:
        if self.kind not in ("csv", "excel"):
            return []
        texts = [sheet.text for sheet in self.sheets] or self.files
        both = zip(texts, self.files.values(), strict=True)
        each = [csv_reader.look(name, file, self.format, self.space) for file, name in both]
        if self.sheets:
            each = [replace(one, of_texts=sheet.marks) for one, sheet in zip(each, self.sheets, strict=True)]
        return csv_reader.read_alike(each, self.format)

    @cached_property
    def marks(self) -> Marks:
        """The decimal marks that the texts of the files need, in all columns."""
        if self.layouts:
            needed, few = (frozenset().union(*own) for own in zip(*(each.known for each in self.layouts), strict=True))
            return Marks(needed, few)
        return marks_among(() if self.kind == "text" else arrow.texts_in(self._dataset[0]))

    @cached_property
    def names(self) -> list[str]:
        if self.kind == "text":
            return folders.names_of(self.path, [*self.files])
        if self.layouts:
            return list(dict.fromkeys(name for layout in self.layouts for name in layout.names))
        return list(self._dataset[0].schema.names)

    @cached_property
    def _dataset(self) -> tuple[Any, Schemas]:
        schemas = {file.absolute().as_posix(): (file, _schema(file, self.kind)) for file in self.files}
        return _dataset(self.path, schemas, self.kind), schemas

    def batches(self) -> tuple[Iterator[Any], int | None]:
        if self.layouts:
            return chain.from_iterable(map(csv_reader.batches, self.layouts)), sum(each.rows for each in self.layouts)
        dataset, schemas = self._dataset
        batches = arrow.without_marks(_batches(dataset, schemas, self), self.format.na)
        return arrow.coded(batches, [schema.metadata for _, schema in schemas.values()]), dataset.count_rows()


def of_arrow(source: Any) -> tuple[Iterator[Table], int | None]:
    """Read any Arrow stream as tables; also return the number of rows, or ``None`` if unknown."""
    import pyarrow as pa
    import pyarrow.dataset
    import pyarrow.parquet

    if isinstance(source, pa.dataset.Dataset):
        # Scan with the dataset itself, because it may have a filter.
        batches = source.to_batches(
            batch_size=arrow.batch_rows(len(source.schema)), batch_readahead=2, fragment_readahead=1
        )
        files = source.files[:1] if getattr(getattr(source, "format", None), "default_extname", "") == "parquet" else []
        first = [pa.parquet.read_metadata(file, filesystem=source.filesystem).metadata for file in files]
        batches = arrow.coded(arrow.until_broken("the dataset", batches), first)
        return tables(batches, declares=False), source.count_rows()
    if isinstance(source, pa.dataset.Scanner):
        return tables(arrow.until_broken("the scanner", source.to_batches()), declares=False), None
    reader = source if isinstance(source, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(source)
    return tables(arrow.until_broken("the stream", reader), declares=True), None


def of_path(path: str | os.PathLike) -> tuple[Iterator[Table], int | None]:
    """Read a file, folder, glob or stdin ("-") in small tables; also return the number of rows, if known."""
    source = Source.of(path)
    if source.kind == "text":
        return (Table.of(part) for part in folders.frames(source.path, [*source.files])), None
    batches, n_rows = source.batches()
    return tables(batches, declares=False), n_rows


def frame(path: str | os.PathLike) -> pd.DataFrame:
    """Read a file, folder, glob or stdin ("-") as one frame."""
    import pyarrow as pa

    source = Source.of(path)
    if source.kind == "text":
        return folders.whole(source.path, [*source.files])
    parts, (batches, total) = [], source.batches()
    with Progress("reading") as progress:
        progress.total(total)
        for batch in batches:
            parts.append(pa.Table.from_batches([batch]))
            progress.add(batch.num_rows)
    for part in parts:
        if odd := sorted(set(part.schema.names) ^ set(parts[0].schema.names)):
            raise ValueError(f"column {odd[0]!r} is in one part of the table and not in another")
    for name in arrow.ordered_in(part.schema for part in parts):
        if len({tuple(part[name].chunk(0).dictionary.to_pylist()) for part in parts}) > 1:  # The order is not known.
            parts = [
                part.set_column(part.schema.names.index(name), name, part[name].cast(pa.string())) for part in parts
            ]
    try:
        whole = pa.concat_tables(parts, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"{path}: its parts do not fit together ({arrow.message_of(error)})") from error
    read = arrow.frame_of(whole)
    for name in read.select_dtypes("category").columns:
        column = read[name]
        if column.cat.ordered:
            continue
        text = pd.api.types.infer_dtype(column.cat.categories) == "string"
        # No file declares levels of other columns, so they are ordered as levels found in parts are.
        ordered = column.cat.categories.sort_values()
        read[name] = column.astype("str") if text else column.cat.reorder_categories(ordered)
    return read


def read_texts(path: str | os.PathLike) -> pd.DataFrame:
    """Read a folder of mail or of text files, one subfolder per class, as a table of texts.

    Parameters
    ----------
    path : path
        A folder, a glob of files, or a file. Files that end in ``.eml`` or begin with mail headers are read as mail. An
        mbox file holds several emails. Encodings are detected. Files whose names begin with a dot or an underscore are
        skipped.

    Returns
    -------
    DataFrame
        One row per mail or text file, sorted by path. The index ``file`` holds the paths relative to the folder. The
        mails of an mbox file are numbered, as "inbox.mbox#2". The column ``text`` holds the subject and the body of a
        mail (without attachments), or the text of a file. If there are subfolders, the column ``class`` holds the first
        subfolder on the path.

    Raises
    ------
    FileNotFoundError
        If the file does not exist, or if the folder holds no file.
    ValueError
        If no file holds a text.

    Warns
    -----
    UserWarning
        If some files hold no text or cannot be read. The warning names them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import bayesnb as nb
    >>> folder = Path(tempfile.mkdtemp())
    >>> for kind, text in (("ham", "see you at lunch tomorrow"), ("spam", "claim your free prize now")):
    ...     (folder / kind).mkdir()
    ...     _ = (folder / kind / "1.txt").write_text(text)
    >>> nb.read_texts(folder)
                                     text class
    file
    ham/1.txt   see you at lunch tomorrow   ham
    spam/1.txt  claim your free prize now  spam
    """
    return folders.whole(path, files_of(path))


def files_of(path: str | os.PathLike) -> list[Path]:
    """List the files of a path, glob or folder (without names that begin with a dot or underscore)."""
    place = Path(path)
    if not os.fspath(path):
        raise ValueError("the path of the table is empty: name a file or a folder; the current folder is .")
    if place.is_dir():
        files = sorted(f for f in place.rglob("*") if f.is_file() and not f.name.startswith(("_", ".")))
        if not files:
            raise FileNotFoundError(f"{path}: is an empty folder")
        return files
    if place.exists():
        return [place]
    files = [Path(name) for name in sorted(glob.glob(os.fspath(path), recursive=True))]  # noqa: PTH207
    if not files:
        raise FileNotFoundError(f"{path}: no such file")
    return [file for name in files for file in (files_of(name) if name.is_dir() else [name])]


def _kind(file: Path) -> str:
    name = file.name.lower()
    kind = KINDS.get(Path(name.removesuffix(".gz")).suffix)
    if kind is None:
        unpack = PACKED.get(Path(name).suffix)
        raise ValueError(
            f"{file}: is packed: unpack it with {unpack}"
            if unpack
            else f"{file}: is neither CSV (.csv, .tsv, .txt), Parquet (.parquet), Arrow (.arrow, .feather) nor Excel "
            "(.xlsx): save it as one of them"
        )
    return kind


def _book(file: Path, name: str) -> Any:
    try:
        import python_calamine
    except ImportError as error:
        raise ValueError(
            f"{name}: Excel files are read with python-calamine: pip install python-calamine, or save it as CSV"
        ) from error
    try:
        return python_calamine.CalamineWorkbook.from_path(file)
    except Exception as error:
        raise ValueError(f"{name}: cannot be read as Excel ({arrow.message_of(error)})") from error


def _sheet(file: Path, name: str, format: Format, space: Workspace) -> Sheet:
    book, wanted = _book(file, name), format.sheet
    import python_calamine  # `_book` has explained its absence.

    names = book.sheet_names
    seen = python_calamine.SheetVisibleEnum.Visible
    shown = [each.name for each in book.sheets_metadata if each.visible == seen and each.name in names]
    by_position = {str(k): title for k, title in enumerate(names, 1)}
    title = (shown or names)[0] if wanted is None else by_position.get(wanted, wanted)
    if title not in names:
        raise ValueError(f"{name}: there is no sheet {title!r}; its sheets are {names}: name one with --sheet")
    cells = book.get_sheet_by_name(title).to_python(skip_empty_area=True)
    # Excel does not distinguish whole numbers from floats.
    rows = [[int(c) if isinstance(c, float) and c.is_integer() else c for c in row] for row in cells]
    titles = csv_reader.titles_above(rows) if format.skip is None else format.skip
    if len(rows) - titles < 2 and len(names) > 1:
        raise ValueError(f"{name}: sheet {title!r} holds no table; its sheets are {names}: name one with --sheet")
    frame = pd.DataFrame(rows[titles:], dtype=object).apply(_written, text={*format.text} - {*format.decimals})
    frame.to_csv(text := space.path(), index=False, header=False)
    before = names[: names.index(title)] if wanted is None else []
    others = tuple(other for other in names if other != title)
    # Typed numbers do not tell the mark of texts.
    columns = [[cell for cell in column if cell != ""] for column in zip(*rows[titles + 1 :], strict=True)]
    marks = marks_among([cell for cell in column if isinstance(cell, str)] for column in columns)
    coded = tuple(str(name) for name, cells in zip(*rows[titles : titles + 1], columns, strict=False) if _coded(cells))
    return Sheet(title, others, tuple(before), titles, _without_value(file, title), marks, coded, text)


def _coded(cells: Sequence[Any]) -> bool:
    return all(isinstance(cell, str) and cell.isdecimal() for cell in cells) and 2 * len({*cells}) < len(cells)


def _written(column: pd.Series, text: Collection[str]) -> pd.Series:
    """Write the numbers in a column as text, with the decimal mark of the column's texts (default: a point)."""
    floats = column.map(lambda cell: isinstance(cell, float) and isfinite(cell))
    if not floats.any():
        return column
    texts = {cell.strip() for cell in column[1:] if isinstance(cell, str)}
    found = [measured(cell) for cell in texts if cell.lower() not in GAPS]
    marks = {*FRACTIONS}.intersection(*(cell.values for cell in found if cell is not None))
    levels = str(column.iloc[0]) in text or any(cell is None or cell.unit for cell in found)
    zero = "" if levels else "0"  # Without its last zero, 1.2340 might also be 1234.
    numbers = column[floats].map(lambda x: re.sub(r"^(-?[1-9]\d{0,2}\.\d{3})$", rf"\g<1>{zero}", repr(x)))
    return column.mask(floats, numbers.str.replace(".", ",") if marks == {","} else numbers)


SPREADSHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def _without_value(file: Path, title: str) -> int:
    import zipfile
    from xml.etree import ElementTree

    if file.suffix.lower() not in (".xlsx", ".xlsm"):
        return 0
    try:
        with zipfile.ZipFile(file) as parts:
            book = ElementTree.fromstring(parts.read("xl/workbook.xml"))
            key = next(s.get(RELATION) for s in book.iter(f"{SPREADSHEET}sheet") if s.get("name") == title)
            relations = ElementTree.fromstring(parts.read("xl/_rels/workbook.xml.rels"))
            target = next(r.get("Target") for r in relations if r.get("Id") == key)
            path = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
            with parts.open(path) as sheet:
                cells = (cell for _, cell in ElementTree.iterparse(sheet) if cell.tag == f"{SPREADSHEET}c")
                return sum(
                    cell.find(f"{SPREADSHEET}f") is not None and not cell.findtext(f"{SPREADSHEET}v") for cell in cells
                )
    except (OSError, KeyError, StopIteration, zipfile.BadZipFile, ElementTree.ParseError):
        return 0  # The values were read, so only this count is unknown.


def _dataset(path: Any, schemas: Schemas, kind: str) -> Any:
    """Join files into one Arrow dataset; a folder named k=v adds a column k with the value v."""
    import pyarrow as pa
    import pyarrow.dataset

    names, ordered = list(schemas), arrow.ordered_in(schema for _, schema in schemas.values())
    own = [arrow.plain(schema, ordered) for _, schema in schemas.values()]
    base = str(Path(path).absolute()) if Path(path).is_dir() else None
    folders = {"partitioning": "hive" if base else None, "partition_base_dir": base}
    try:
        dataset = pa.dataset.dataset(names, format=kind, **folders)
        schema = pa.unify_schemas(
            [*own, arrow.plain(dataset.schema, ordered)], promote_options="permissive"
        ).remove_metadata()
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: cannot be read as {kind} ({arrow.message_of(error)})") from error
    require_shape(schema.names)
    if kind == "parquet":
        # Parquet stores text as codes and a dictionary. Reading text in that form avoids a string object per row.
        text = {f.name for one in own for f in one if arrow.is_text(f.type)}
        kind = pa.dataset.ParquetFileFormat(
            dictionary_columns=text | ordered,
            default_fragment_scan_options=pa.dataset.ParquetFragmentScanOptions(page_checksum_verification=True),
        )
        codes = pa.dictionary(pa.int32(), pa.string())
        schema = pa.schema([f.with_type(codes) if f.name in text else f for f in schema])
    return pa.dataset.dataset(names, schema=schema, format=kind, **folders)


def _schema(file: Path, kind: str) -> Any:
    import pyarrow as pa
    from pyarrow import ipc, parquet

    try:
        if kind == "ipc":
            return ipc.open_file(file).schema
        with parquet.ParquetFile(file) as opened:
            return opened.schema_arrow.with_metadata(opened.metadata.metadata)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{file}: cannot be read as {kind} ({arrow.message_of(error)})") from error


def _batches(dataset: Any, schemas: Schemas, source: Source) -> Iterator[Any]:
    import pyarrow as pa

    _held = source  # A copy of standard input is deleted with its source.
    folders = set(dataset.schema.names).difference(*(schema.names for _, schema in schemas.values()))
    for fragment in dataset.get_fragments():
        file, own = schemas[fragment.path]
        schema = pa.schema([f for f in dataset.schema if f.name in folders.union(own.names)])
        with arrow.about_source(file, 0):
            parts = fragment.split_by_row_group() if hasattr(fragment, "split_by_row_group") else [fragment]
        read = 0
        for part in parts:
            batches = part.to_batches(schema=schema, batch_size=arrow.batch_rows(len(schema)), batch_readahead=1)
            for batch in arrow.until_broken(file, batches, read):
                read += batch.num_rows
                yield batch


def _copy_of_stdin(space: Workspace) -> Path:
    source = sys.stdin.buffer
    head = source.read(8)
    copy = space.path(".parquet" if head[:4] == b"PAR1" else ".arrow" if head[:6] == b"ARROW1" else ".csv")
    with copy.open("wb") as out:
        out.write(head)
        shutil.copyfileobj(source, out)
    return copy
