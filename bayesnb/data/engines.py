"""Compute sufficient statistics of a table of any size, part by part."""

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

from bayesnb.data import readers
from bayesnb.data.amounts import Marks
from bayesnb.data.arrow import batch_rows
from bayesnb.data.drawing import drawn
from bayesnb.data.parts import PartSummarizer
from bayesnb.data.rows import TrainingRows
from bayesnb.data.summary import EmptySummary, Summary, pooled
from bayesnb.data.tables import Table, about_engine, engine_of, tables
from bayesnb.data.targets import NO_LABEL
from bayesnb.kernels.blocks import COMPILED_FROM, WORKER, threads
from bayesnb.model import Statistics
from bayesnb.progress import Progress
from bayesnb.wording import Cure, RefusedError, counted_from

if TYPE_CHECKING:
    import pandas as pd

    from bayesnb.data.schema import Schema

AT_ONCE = 256
"""Number of Dask partitions whose summaries are computed together."""

type Score = Callable[[Any], pd.DataFrame]


def statistics(model: Any, source: Any, target: Any, weight: Any = None) -> Statistics:
    """Compute sufficient statistics of a table of any size. All engines give the same statistics up to rounding.

    Parameters
    ----------
    model : BayesianNB
        Only ``features``, ``unseen`` and ``unlabelled`` are used; a fit is not needed.
    source : path, iterator of frames, dataset, or table of an engine
        As for :meth:`bayesnb.BayesianNB.fit`.
    target, weight : column names
        The class column, and the column of frequency weights.

    Raises
    ------
    ValueError
        For a cell that the column's family cannot read. The error message names the part of the table.
    """
    return summary(model, source, target, weight).statistics


def summary(
    model: Any, source: Any, target: Any, weight: Any = None, schema: Schema | None = None,
    again: Callable[[], Iterable[Table]] | None = None, marks: Callable[[], Marks] | None = None,
) -> Summary:  # fmt: skip
    """Summarise a table; ``target=None`` puts all rows into one class."""
    if isinstance(source, str | os.PathLike):
        file = source = readers.Source.of(source)
        again, marks = lambda: frames(file)[0], lambda: file.marks
    # ``again`` reads the table a second time, to find the row that caused an error; ``marks`` returns the decimal marks
    # that the texts of a file need.
    reading = PartSummarizer.of(model, target, weight, schema, marks=marks)
    with Progress("reading") as progress:
        match engine_of(source):
            case "dask":
                parts = _dask_parts(source, reading.require_placed(), progress)
            case "spark":
                parts = _spark_parts(source, reading.require_placed())
            case _:
                parts = _each(source, reading, progress, reading.placed)
        with contextlib.closing(parts), about_engine(source):
            whole = pooled(parts)
    if isinstance(whole, EmptySummary):
        weightless = f" of positive weight in {weight!r}" if weight is not None and whole.blank < whole.rows else ""
        raise ValueError(f"{NO_LABEL}{weightless}: {whole.rows} rows were read" if whole.rows else "there are no rows")
    first_rows = None if again is None else lambda column: _first_rows(column, again())
    return reading.complete(whole, first_rows).settled(schema)


def _first_rows(column: Any, parts: Iterable[Table]) -> dict[Any, int]:
    """The number of the first row of each distinct value of a column, {value: row}."""
    start, found = 0, dict[Any, int]()
    for table in parts:
        for value, row in table.column(column).first_rows().items() if column in table.place else ():
            found.setdefault(value, start + row)
        start += table.n_rows
    return found


def summary_and_sample(
    model: Any,
    source: Any,
    target: Any,
    weight: Any,
    most: int,
    seed: int,
    again: Callable[[], Iterable[Table]] | None = None,
    marks: Callable[[], Marks] | None = None,
) -> tuple[Summary, TrainingRows | None]:
    """Summarise a table, and draw a random sample of at most ``most`` rows."""
    _require_here(source)

    def tables() -> Iterator[Table]:
        with about_engine(source):
            yield from frames(source)[0]

    if isinstance(source, str | os.PathLike):
        file = source = readers.Source.of(source)
        again, marks = tables, lambda: file.marks
    passing, sample = drawn(tables(), most, seed)
    whole = summary(model, passing, target, weight, None, again, marks)
    reading = PartSummarizer.of(model, target, weight, drop=True)
    return whole, reading.rows(sample())


def _require_here(source: Any) -> None:
    if (engine := engine_of(source)) in ("dask", "spark"):
        raise RefusedError(
            "the rows of a {engine} DataFrame are read elsewhere, and a dependence is learned of rows in this process: "
            "pass an iterator of its parts, or fit it with {cure}, then set_params(dependence=...) and "
            "learn_exponents(X, y) from a sample in memory",
            engine=engine.capitalize(),
            cure=Cure("dependence"),
        )


def rows(model: Any, source: Any, target: Any, weight: Any, schema: Schema) -> Iterator[TrainingRows]:
    """Yield each part's rows; raise ``ValueError`` for Dask and Spark frames, or if no row has a class."""
    _require_here(source)
    reading = PartSummarizer.of(model, target, weight, schema)
    found = False
    for part in _each(source, reading.rows, Progress("reading")):
        if part is not None:
            found = True
            yield part
    if not found:
        raise ValueError(NO_LABEL)


def scores(score: Score, columns: Sequence[tuple[str, Any]], source: Any, keep: Sequence[Any] = ()) -> Any:
    """Apply ``score`` to each frame of a table; return a lazy frame for Dask and Spark, otherwise an iterator."""
    # ``columns`` lists (name, dtype) of each column that ``score`` computes, after the columns ``keep`` of the table.
    match engine_of(source):
        case "dask":
            import pandas as pd

            meta = pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in columns}, index=source._meta.index)
            return source.map_partitions(score, meta=pd.concat([source._meta[list(keep)], meta], axis=1))
        case "spark":
            return _spark_scores(source, score, columns, keep)
    return _each(source, score, Progress("predicting"))


def _each(
    source: Any, ask: Callable[[Table], Any], progress: Progress,
    first: Callable[[Table], Callable[[Table], Any]] | None = None,
) -> Iterator[Any]:  # fmt: skip
    """Yield ``ask(table)`` for each table of a source; if ``first`` is given, ``ask`` is ``first(first table)``."""
    row = 0
    with about_engine(source), contextlib.ExitStack() as stack:
        tables, total = frames(source)
        stack.enter_context(contextlib.closing(tables))
        stack.enter_context(progress)
        progress.total(total)
        if first is not None and (head := next(tables, None)) is not None:
            ask, tables = first(head), chain([head], tables)
        for n_rows, answer_of in _asked(tables, ask):
            with counted_from(row):
                answer = answer_of()
            row += n_rows
            yield answer
            progress.add(n_rows)


def _asked(tables: Iterable[Table], ask: Callable[[Table], Any]) -> Iterator[tuple[int, Callable[[], Any]]]:
    """Yield, for each table, (number of rows, function that returns ``ask(table)``)."""
    waiting: deque[tuple[int, Callable[[], Any]]] = deque()
    with contextlib.ExitStack() as stack:
        pool = None
        for table in tables:
            if pool is None:
                if table.n_rows * len(table.names) < COMPILED_FROM:
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
    """Read a source as small tables; also return the number of rows, or ``None`` if unknown."""
    match engine_of(source):
        case "polars":
            columns = len(source.collect_schema().names())
            batches = source.collect_batches(chunk_size=batch_rows(columns), maintain_order=True)
            return (Table.of(batch) for batch in batches), None
        case "dataset" | "arrow":
            return readers.of_arrow(source)
    if isinstance(source, str | os.PathLike):
        return readers.of_path(source)
    return (Table.of(frame) for frame in source), None


def _dask_parts(source: Any, reading: PartSummarizer, progress: Progress) -> Iterator[Summary | EmptySummary]:
    import dask

    delayed = [dask.delayed(reading)(part) for part in source.to_delayed()]
    progress.total(len(delayed), "parts")
    for start in range(0, len(delayed), AT_ONCE):
        parts = dask.compute(*delayed[start : start + AT_ONCE])
        yield from parts
        progress.add(len(parts))


def _spark_parts(source: Any, reading: PartSummarizer) -> Iterator[Summary | EmptySummary]:
    def summarise(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        whole = pooled(reading(table) for table in tables(batches, declares=False))
        yield pa.RecordBatch.from_pydict({"summary": [pickle.dumps(whole)]})

    for row in source.mapInArrow(summarise, "summary binary").collect():
        yield pickle.loads(row["summary"])


def _spark_scores(source: Any, score: Score, columns: Sequence[tuple[str, Any]], keep: Sequence[Any]) -> Any:
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
