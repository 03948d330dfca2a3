"""Tables larger than memory or the machine: an engine gives frames, each is summarised, and the summaries are added.

Start with :func:`statistics`. What may be given is a file, folder or glob (Parquet, CSV, Arrow), an iterator of
frames, anything that streams Arrow (a polars LazyFrame, a DuckDB relation, a pyarrow dataset or reader), a Dask
DataFrame or a Spark DataFrame. No engine is imported unless a table of its own is passed in.
"""

from __future__ import annotations

import contextlib
import os
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from bayesnb.data import arrow, readers
from bayesnb.data.rows import Rows, drawn
from bayesnb.data.summary import EmptySummary, PartSummarizer, Summary, pooled
from bayesnb.data.tables import Table, tables
from bayesnb.data.targets import NO_LABEL
from bayesnb.kernels.blocks import WORKER, large_enough, threads
from bayesnb.model import Statistics
from bayesnb.progress import Progress
from bayesnb.wording import Cure, RefusedError

if TYPE_CHECKING:
    import pandas as pd

    from bayesnb.data.schema import Schema

PACKAGES = ("polars", "duckdb", "_duckdb", "dask", "distributed", "pyspark", "pyarrow")
"""Packages whose errors an engine may raise while its rows are read."""

AT_ONCE = 256
"""Partitions of Dask whose summaries are asked for together."""

type Score = Callable[[Any], pd.DataFrame]


def streams(source: Any) -> bool:
    """True if a source is read in parts, and not as one table in memory."""
    return isinstance(source, str | os.PathLike | Iterator) or _engine(source) is not None


def _engine(source: Any) -> str | None:
    """The engine of a table, by the name of its class; so no engine has to be imported."""
    names = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(source).__mro__}
    if ("polars", "LazyFrame") in names:
        return "polars"
    if names & {("duckdb", "DuckDBPyRelation"), ("_duckdb", "DuckDBPyRelation")}:
        return "duckdb"
    if ("pyarrow", "Dataset") in names or ("pyarrow", "RecordBatchReader") in names or ("pyarrow", "Scanner") in names:
        return "arrow"
    if any(package.startswith("dask") and name == "DataFrame" for package, name in names):
        return "dask"
    return "spark" if ("pyspark", "DataFrame") in names else None


def statistics(model: Any, source: Any, target: Any, weight: Any = None) -> Statistics:
    """Sufficient statistics of a table of any size, the same on every engine up to rounding.

    Parameters
    ----------
    model : BayesianNB
        Whose ``features``, ``unseen`` and ``unlabelled`` are read; it need not be fitted.
    source : path, iterator of frames, dataset, or table of an engine
        See ``bayesnb.data.engines``.
    target, weight : column names
        The class, and the frequency weight if there is one.

    Raises
    ------
    ValueError
        For a value that its family cannot read; the error names the part of the table that holds it.
    """
    return summary(model, source, target, weight).statistics


def summary(model: Any, source: Any, target: Any, weight: Any = None, schema: Schema | None = None) -> Summary:
    """The statistics of a table, with its schema and classes; ``target=None`` puts all rows into one class."""
    reading = PartSummarizer.of(model, target, weight, schema)
    with Progress("reading") as progress:
        match _engine(source):
            case "dask":
                parts = _dask_parts(source, reading.require_placed(), progress)
            case "spark":
                parts = _spark_parts(source, reading.require_placed())
            case _:
                parts = _each(source, reading, progress, reading.placed)
        with contextlib.closing(parts), _about_engine(source):
            whole = pooled(parts)
    if isinstance(whole, EmptySummary):
        weightless = f" of positive weight in {weight!r}" if weight is not None and whole.blank < whole.rows else ""
        raise ValueError(f"{NO_LABEL}{weightless}: {whole.rows} rows were read" if whole.rows else "there are no rows")
    return reading.complete(whole).settled(schema)


def summary_and_sample(
    model: Any, source: Any, target: Any, weight: Any, most: int, seed: int
) -> tuple[Summary, Rows | None]:
    """The summary of a table, and at most so many of its rows, drawn at random while it is read.

    Raises
    ------
    ValueError
        For the frames of Dask and Spark, which are read elsewhere.
    """
    _require_here(source)

    def tables() -> Iterator[Table]:
        with _about_engine(source):
            yield from frames(source)[0]

    passing, sample = drawn(tables(), most, seed)
    whole = summary(model, passing, target, weight)
    reading = PartSummarizer.of(model, target, weight, drop=True)
    return whole, reading.rows(sample())[2]


def _require_here(source: Any) -> None:
    """Raise ``ValueError`` for a frame of Dask or Spark: a dependence is learned of rows in this process."""
    if (engine := _engine(source)) in ("dask", "spark"):
        raise RefusedError(
            "the rows of a {engine} DataFrame are read elsewhere, and a dependence is learned of rows in this process: "
            "pass an iterator of its parts, or fit it with {cure}, then set_params(dependence=...) and "
            "learn_exponents(X, y) from a sample in memory",
            engine=engine.capitalize(),
            cure=Cure("dependence"),
        )


def rows(model: Any, source: Any, target: Any, weight: Any, schema: Schema) -> Iterator[Rows]:
    """The rows of each part of a table that is read in this process, for what is counted of rows in memory.

    Raises
    ------
    ValueError
        For the frames of Dask and Spark, which are read elsewhere, and where no row has a class.
    """
    _require_here(source)
    reading = PartSummarizer.of(model, target, weight, schema)
    found = False
    for _, _, part in _each(source, reading.rows, Progress("reading")):
        if part is not None:
            found = True
            yield part
    if not found:
        raise ValueError(NO_LABEL)


def scores(score: Score, columns: Sequence[tuple[str, Any]], source: Any, keep: Sequence[Any] = ()) -> Any:
    """Apply a function to each frame of a table: lazily on Dask and Spark, else as an iterator.

    Parameters
    ----------
    score : function of a frame
        It is sent to where the frames are.
    columns : sequence of (name, dtype)
        The columns that it returns; they follow the kept columns.
    keep : sequence of column names
    source : as for :func:`statistics`
    """
    match _engine(source):
        case "dask":
            import pandas as pd

            meta = pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in columns}, index=source._meta.index)
            return source.map_partitions(score, meta=pd.concat([source._meta[list(keep)], meta], axis=1))
        case "spark":
            return _spark_scores(source, score, columns, keep)
    return _each(source, score, Progress("predicting"))


def _each(
    source: Any,
    ask: Callable[[Table], Any],
    progress: Progress,
    first: Callable[[Table], Callable[[Table], Any]] | None = None,
) -> Iterator[Any]:
    """Yield ``ask(frame)`` for each frame of a source; ``first(frame 0)``, if given, returns ``ask``."""
    row = 0
    with _about_engine(source), contextlib.ExitStack() as stack:
        tables, total = frames(source)
        stack.enter_context(contextlib.closing(tables))
        stack.enter_context(progress)
        progress.total(total)
        if first is not None and (head := next(tables, None)) is not None:
            ask, tables = first(head), chain([head], tables)
        for n_rows, answer_of in _asked(tables, ask):
            try:
                answer = answer_of()
            except ValueError as error:
                if not row:
                    raise
                raise RefusedError(
                    "{error} (rows counted from row {start} of the source)", error=error, start=row
                ) from error
            row += n_rows
            yield answer
            progress.add(n_rows)


@contextlib.contextmanager
def _about_engine(source: Any) -> Iterator[None]:
    """Convert an error of an engine's own class to a ``ValueError`` that names the engine; others stay as they are."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in PACKAGES:
            raise
        text = f"{type(error).__name__}: {arrow.message_of(error)}"
        raise ValueError(f"the {type(source).__name__} cannot be read ({text})") from error


def _asked(tables: Iterable[Table], ask: Callable[[Table], Any]) -> Iterator[tuple[int, Callable[[], Any]]]:
    """Yield a function that returns the answer for each table, in order; large tables use several threads."""
    waiting: deque[tuple[int, Callable[[], Any]]] = deque()
    with contextlib.ExitStack() as stack:
        pool = None
        for table in tables:
            if pool is None:
                if not large_enough(table.n_rows * len(table.names)):
                    yield table.n_rows, partial(ask, table)
                    continue
                n = threads()
                pool = stack.enter_context(ThreadPoolExecutor(n, WORKER))
                stack.callback(pool.shutdown, cancel_futures=True)
            waiting.append((table.n_rows, pool.submit(ask, table).result))
            if len(waiting) > n:
                yield waiting.popleft()
        yield from waiting


def frames(source: Any) -> tuple[Iterator[Table], int | None]:
    """A source that is read in this process, as tables of bounded size, and its number of rows if known."""
    match _engine(source):
        case "polars":
            columns = len(source.collect_schema().names())
            batches = source.collect_batches(chunk_size=arrow.batch_rows(columns), maintain_order=True)
            return (Table.of(batch) for batch in batches), None
        case "duckdb" | "arrow":
            return readers.of_arrow(source)
    if isinstance(source, str | os.PathLike):
        return readers.of_path(source)
    return (Table.of(frame) for frame in source), None


def _dask_parts(source: Any, reading: PartSummarizer, progress: Progress) -> Iterator[Summary | EmptySummary]:
    """The summary of each partition, computed where it is; a cluster repeats the partitions of a lost worker."""
    import dask

    delayed = [dask.delayed(reading)(part) for part in source.to_delayed()]
    progress.total(len(delayed), "parts")
    for start in range(0, len(delayed), AT_ONCE):
        parts = dask.compute(*delayed[start : start + AT_ONCE])
        yield from parts
        progress.add(len(parts))


def _spark_parts(source: Any, reading: PartSummarizer) -> Iterator[Summary | EmptySummary]:
    """The summary of each partition, sent as bytes from the workers of this session to its driver."""

    def summarise(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        whole = pooled(reading(table) for table in tables(batches, declares=False))
        yield pa.RecordBatch.from_pydict({"summary": [pickle.dumps(whole)]})

    for row in source.mapInArrow(summarise, "summary binary").collect():
        yield pickle.loads(row["summary"])


def _spark_scores(source: Any, score: Score, columns: Sequence[tuple[str, Any]], keep: Sequence[Any]) -> Any:
    """The scored table, lazily, by ``mapInArrow``."""

    def scored(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for table in tables(batches, declares=False):
            yield from pa.Table.from_pandas(score(table), preserve_index=False).to_batches()

    import pandas as pd
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema

    empty = pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in columns})
    schema = from_arrow_schema(pa.Table.from_pandas(empty, preserve_index=False).schema)
    kept = [field for field in source.schema if field.name in keep]
    return source.mapInArrow(scored, type(schema)([*kept, *schema]))
