"""Fitting and predicting tables that outgrow memory, beside one read of the same files with the same engine.

    uv run --group dev python -m benchmarks.engines [--rows 10000000] [--engine parquet ...] [--keep FOLDER] [--predict]

A table of 5 categorical columns (2, 5, 20, 200 and 2000 levels, as text) and 5 real ones, 3 % of the cells missing,
and a class of three, in Parquet files of a million rows. Each engine works in a process of its own, which fits the
first file ("start": importing is most of it), reads the table once, fits, and reads it once more; the ratio is the fit
over the shorter read, each cell read and none looked at. The peak is of the memory that is the process's own (Linux:
RssAnon), and of its children where there are any.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

FILE_ROWS = 1_000_000
LEVELS = (2, 5, 20, 200, 2000)
ENGINES = ("parquet", "polars", "duckdb", "dask", "cluster", "spark", "csv")


def write_table(folder: Path, rows: int) -> None:
    """The table in files of a million rows, each with a seed of its own."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    for number, start in enumerate(range(0, rows, FILE_ROWS)):
        n, rng = min(FILE_ROWS, rows - start), np.random.default_rng(number)
        label = rng.integers(0, 3, n)
        columns: dict[str, Any] = {"label": np.array(["low", "middle", "high"])[label]}
        for levels in LEVELS:
            names = pa.array([f"c{levels}_{k}" for k in range(levels)])
            code = np.minimum((levels * rng.random(n) ** (1 + label)).astype(np.int32), levels - 1)
            columns[f"c{levels}"] = pa.DictionaryArray.from_arrays(
                pa.array(code, mask=rng.random(n) < 0.03), names
            ).cast(pa.string())
        for k in range(5):
            real = 10.0**k + rng.normal(label, 1.0 + k, n)
            columns[f"r{k}"] = pa.array(real, mask=rng.random(n) < 0.03)
        table = pa.table(columns)
        if folder.name == "csv":
            csv.write_csv(table, folder / f"{number:04}.csv")
        else:
            parquet.write_table(table, folder / f"{number:04}.parquet", row_group_size=250_000)


def source_of(engine: str, folder: Path) -> Any:
    """The table as the engine holds it."""
    match engine:
        case "polars":
            import polars

            return polars.scan_parquet(folder / "*.parquet")
        case "duckdb":
            import duckdb

            return duckdb.sql(f"select * from '{folder}/*.parquet'")
        case "dask" | "cluster":
            import dask.dataframe

            return dask.dataframe.read_parquet(folder, split_row_groups=True)
        case "spark":
            return spark().read.parquet(str(folder))
    return folder


def spark() -> Any:
    """Spark on two threads."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    return builder.config("spark.driver.host", "127.0.0.1").getOrCreate()


def reader_of(engine: str, folder: Path) -> Callable[[], int]:
    """One read of all columns by the engine, nothing done with them; returns the rows."""
    source = source_of(engine, folder)
    match engine:
        case "polars":
            return lambda: sum(len(batch) for batch in source.collect_batches())
        case "duckdb":
            return lambda: sum(batch.num_rows for batch in source.to_arrow_reader(2**18))
        case "dask" | "cluster":
            import dask

            return lambda: sum(dask.compute(*(dask.delayed(len)(part) for part in source.to_delayed())))
        case "spark":

            def counted(batches: Any) -> Any:
                import pyarrow as pa

                yield pa.RecordBatch.from_pydict({"rows": [sum(batch.num_rows for batch in batches)]})

            return lambda: sum(row["rows"] for row in source.mapInArrow(counted, "rows long").collect())
        case "csv":
            from pyarrow import csv

            return lambda: sum(b.num_rows for f in sorted(folder.iterdir()) for b in csv.open_csv(f))
    import pyarrow.dataset

    dataset = pyarrow.dataset.dataset(folder)
    return lambda: sum(batch.num_rows for batch in dataset.to_batches(batch_readahead=2, fragment_readahead=1))


class Peak:
    """The largest private memory of this process and its children while it lasts, in MiB."""

    def __enter__(self) -> Peak:
        self.most, self.over = 0.0, threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()

    def _watch(self) -> None:
        while not self.over.wait(0.02):
            self.most = max(self.most, sum(map(_private, _family(os.getpid()))))


def _family(pid: int) -> list[int]:
    children = [int(c) for t in Path(f"/proc/{pid}/task").glob("*/children") for c in t.read_text().split()]
    return [pid, *(p for child in children for p in _family(child))]


def _private(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon")), 0.0)


def measure(engine: str, folder: Path, predict: bool, out: Any) -> None:
    """What one engine takes, in this process."""
    cluster = None
    if engine == "cluster":
        from distributed import Client, LocalCluster

        cluster = Client(LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"))
    from bayesnb import BayesianNB, deploy

    read = reader_of(engine, folder)
    # What is imported, and loaded of what was compiled, once in a process is measured apart.
    begin = time.perf_counter()
    if engine in ("spark", "cluster"):
        read()
        few = source_of(engine, folder)
        BayesianNB().fit(few.partitions[:4] if engine == "cluster" else few.limit(1000).repartition(2), "label")
    else:
        BayesianNB().fit(min(folder.iterdir()), "label")
    start = time.perf_counter() - begin
    begin = time.perf_counter()
    rows = read()
    first = time.perf_counter() - begin
    with Peak() as peak:
        begin = time.perf_counter()
        clf = BayesianNB().fit(source_of(engine, folder), "label")
        fit = time.perf_counter() - begin
    begin = time.perf_counter()
    read()
    again = time.perf_counter() - begin
    found = {
        "engine": engine, "rows": rows, "start": start, "read": min(first, again), "fit": fit,
        "ratio": fit / min(first, again), "peak": peak.most,
    }  # fmt: skip
    assert clf.class_count_.sum() == rows
    if predict and engine not in ("dask", "cluster", "spark"):
        with Peak() as peak, tempfile.TemporaryDirectory() as to:
            begin = time.perf_counter()
            deploy.write_predictions(clf, source_of(engine, folder), Path(to) / "out.parquet")
            found |= {"predict": time.perf_counter() - begin, "predict_peak": peak.most}
    if cluster is not None:
        cluster.close()
    out.put(found)


def main() -> None:
    """Write the table, let each engine fit it, and print a line for each."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rows", type=int, nargs="+", default=[10_000_000])
    arguments.add_argument("--engine", choices=ENGINES, nargs="+", default=["parquet", "polars", "duckdb", "dask"])
    arguments.add_argument("--keep", type=Path, help="Folder for the tables, which are then kept and used again.")
    arguments.add_argument("--predict", action="store_true")
    arguments.add_argument("--json", type=Path)
    told = arguments.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        for rows in told.rows:
            for engine in told.engine:
                kind = "csv" if engine == "csv" else "parquet"
                folder = (told.keep or Path(scratch)) / f"{rows}" / kind
                if not folder.exists():
                    folder.mkdir(parents=True)
                    write_table(folder, rows)
                context = multiprocessing.get_context("spawn")
                out = context.Queue()
                process = context.Process(target=measure, args=(engine, folder, told.predict, out))
                process.start()
                process.join()
                found.append(line := out.get(timeout=5))
                print(
                    f"| {line['engine']} | {line['rows']:,} | {line['start']:.1f} | {line['read']:.1f} | "
                    f"{line['fit']:.1f} | {line['ratio']:.1f} | {line['peak']:.0f} |"
                    + (f" {line['predict']:.1f} | {line['predict_peak']:.0f} |" if "predict" in line else ""),
                    flush=True,
                )
    if told.json:
        told.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
