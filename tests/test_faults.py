"""If anything fails while a model is learned or written, the old model is still there and nothing is half written."""

import contextlib
import errno
import multiprocessing
import os
import resource
import signal
import sys
import time
import warnings
from itertools import cycle
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import mixed

import bayesnb as nb
from bayesnb import cli, datasets, deploy
from bayesnb.data import writers


def numbers(n=4000):
    X, y = mixed(n, "pq", {"x": "noise", "c": "levels"}, missing=0.0)
    return X.assign(y=y)


def fitted(frame):
    return nb.BayesianNB().fit(frame.drop(columns="y"), frame["y"])


def assert_same(a, b):
    assert a.labels == b.labels
    for name, s in a.features.items():
        for what, value in s.arrays().items():
            if what != "lost" and not what.endswith("_rest"):  # These are below the digits of one float.
                np.testing.assert_allclose(value, b.features[name].arrays()[what], rtol=1e-12)


@pytest.fixture
def model(tmp_path):
    """A model file of PlayTennis, in a folder with nothing else."""
    path = tmp_path / "model.bayesnb"
    X, y = datasets.play_tennis()
    nb.BayesianNB(unlabelled=nb.Unlabelled(weight=0)).fit(X, y).save(path)
    return path


def others_in(folder):
    return [p.name for p in folder.iterdir() if p.suffix == ".part"]


# Workers that die, tasks that fail


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_a_spark_task_that_fails_once_is_repeated_and_counts_once(spark, tmp_path):
    frame, flag = numbers(), str(tmp_path / "failed")

    def fails_once(batches):
        for batch in batches:
            if not os.path.exists(flag):  # noqa: PTH110
                open(flag, "w").close()  # noqa: PTH123
                raise RuntimeError("the first try fails")
            yield batch

    rows = [tuple(row) for row in frame.itertuples(index=False)]
    source = spark.createDataFrame(rows, "x double, c string, y string").repartition(2)
    source = source.mapInArrow(fails_once, source.schema)
    found = nb.BayesianNB().fit(source, "y")
    assert Path(flag).exists()
    assert_same(found.classifier_.statistics, fitted(frame).classifier_.statistics)


# Files that end too soon


def damaged(path):
    """A Parquet file whose last row group is overwritten by zeros, with an intact footer."""
    frame = numbers()
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=1000, compression="zstd")
    last = pq.ParquetFile(path).metadata.row_group(3)
    start = min(last.column(k).dictionary_page_offset or last.column(k).data_page_offset for k in range(3))
    data = bytearray(path.read_bytes())
    end = start + sum(last.column(k).total_compressed_size for k in range(3))
    data[start:end] = bytes(end - start)
    path.write_bytes(data)
    return path


def test_a_damaged_parquet_file_is_refused_with_its_name_and_leaves_neither_model_nor_predictions_changed(tmp_path):
    clf, out = fitted(numbers(100)), tmp_path / "out.parquet"
    before, broken, cut = clf.classifier_, damaged(tmp_path / "broken.parquet"), tmp_path / "cut.parquet"
    cut.write_bytes(broken.read_bytes()[:-2000])
    refused = {broken: r"broken\.parquet: cannot be read past row \d+", cut: r"cut\.parquet: cannot be read as parquet"}
    for path, said in refused.items():
        with pytest.raises(ValueError, match=said):
            clf.partial_fit(path, "y")
        with pytest.raises(ValueError, match=said):
            deploy.write_predictions(clf, path, out)
    assert clf.classifier_ is before
    assert not out.exists()
    assert others_in(tmp_path) == []


# A disk that takes no more


def wide_model():
    levels = [f"level {k}" for k in range(3000)]
    return nb.BayesianNB({"c": "categorical"}).fit(pd.DataFrame({"c": levels}), ["a", "b"] * 1500)


def test_a_file_size_limit_during_save_keeps_the_old_file(tmp_path):
    path = tmp_path / "model.bayesnb"
    fitted(numbers()).save(path)
    old, clf = path.read_bytes(), wide_model()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(old) + 1000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            clf.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == old
    assert others_in(tmp_path) == []


# Ctrl-C at any moment


class Interruption:
    """Ctrl-C after so many calls of functions."""

    def __init__(self, after):
        self.left = after

    def __call__(self, frame, event, argument):
        if event == "call":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

    def during(self, action):
        """Whether the action was interrupted."""
        sys.setprofile(self)
        try:
            action()
        except KeyboardInterrupt:
            return True
        finally:
            sys.setprofile(None)
        return False


def moments(action, most=12, last=12):
    """Moments for an interruption: spread over the action, more at its end, where state changes, and one after."""
    counted = Interruption(-1)
    counted.during(action)
    calls = -counted.left - 1
    spread = np.unique(np.linspace(1, calls, most).astype(int)).tolist()
    return sorted({*spread, *range(max(1, calls - last), calls + 1), 10 * calls})


# Where it falls into the clean-up of an object Python drops it, and the save goes on.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupted_save_leaves_the_old_file_or_the_new_one(model):
    old = nb.load(model)
    X, y = datasets.play_tennis()
    new = nb.load(model).partial_fit(X, y)
    before = nb.describe(model)["content_hash"]
    contents = {before}
    for moment in moments(lambda: new.save(model)):
        old.save(model)
        Interruption(moment).during(lambda: new.save(model))
        contents.add(nb.describe(model)["content_hash"])
        for left in model.parent.glob(".*.part"):
            left.unlink()
    assert contents == {before, new.save(model)}


def while_reading(*_):
    raise RuntimeError("Query interrupted")


def while_it_is_imported(*_):
    with contextlib.suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    raise ImportError("Encountered an error while initializing the extension.")


@pytest.mark.parametrize("interrupted", [while_reading, while_it_is_imported])
def test_an_interruption_that_duckdb_reports_ends_the_command_as_any_other(
    interrupted, model, tmp_path, monkeypatch, capsys
):
    (tmp_path / "more.csv").write_text("a,play\n1,no\n")
    monkeypatch.setattr("bayesnb.data.csv_reader._layout", interrupted)
    # Of a process in the background Ctrl-C is ignored, and Python has no handler of its own.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(SystemExit) as ended:
        cli.main(["update", str(model), str(tmp_path / "more.csv")])
    assert ended.value.code == 130
    assert capsys.readouterr().err.strip() == "interrupted"


def command(ready, *arguments):
    """Run a command of bayesnb in this process, which ends with its exit code."""
    warnings.simplefilter("error")
    ready.set()
    try:
        cli.main([str(argument) for argument in arguments])
    except SystemExit as ended:
        os._exit(ended.code or 0)


def running(processes, *arguments):
    """A process that has begun to run a command."""
    ready = processes.Event()
    process = processes.Process(target=command, args=(ready, *arguments))
    process.start()
    assert ready.wait(300)
    return process


def run(processes, *arguments):
    """Run a command that must succeed in another process."""
    process = running(processes, *arguments)
    process.join()
    assert process.exitcode == 0


@pytest.mark.parametrize(
    "shares", [pytest.param((0.6, 0.9), id="twice"), pytest.param(np.linspace(0.1, 1, 10), marks=pytest.mark.slow)]
)
def test_an_update_that_is_interrupted_or_killed_leaves_a_complete_model(shares, model, processes, tmp_path):
    X, y = datasets.play_tennis()
    more = tmp_path / "more.csv"
    X.assign(play=y).to_csv(more, index=False)
    process = running(processes, "update", model, more)
    begin = time.monotonic()
    process.join()
    whole, before = time.monotonic() - begin, nb.load(model).class_count_.sum()
    assert before == 28
    for share, sent in zip(shares, cycle((signal.SIGINT, signal.SIGKILL))):
        process = running(processes, "update", model, more)
        time.sleep(share * whole)
        with contextlib.suppress(ProcessLookupError):  # It was quicker.
            os.kill(process.pid, sent)
        process.join()
        # DuckDB ends the process with SIGABRT if an interrupt arrives while its types are being imported.
        aborted = (-signal.SIGABRT,) if sent is signal.SIGINT else ()
        assert process.exitcode in (0, 130, -sent, *aborted)
        after = nb.load(model).class_count_.sum()
        assert after in (before, before + 14)
        if process.exitcode == 0:
            assert after == before + 14
        before = after
    nb.load(model).partial_fit(more, "play").save(model)
    assert nb.load(model).class_count_.sum() == before + 14


# Two at once


def slow_update(path, csv, line):
    """Learn a table, say so, wait for a word, and save."""
    clf = nb.load(path)
    clf.partial_fit(csv, "play")
    line.send("ready")
    line.recv()
    try:
        clf.save(path, replacing=True)
    except nb.errors.ModelChangedError as error:
        line.send(str(error))
    else:
        line.send("saved")


def test_the_second_of_two_processes_that_update_one_file_gets_an_error_and_no_rows_are_lost(
    model, processes, tmp_path
):
    X, y = datasets.play_tennis()
    tables = [tmp_path / "a.csv", tmp_path / "b.csv"]
    X[:5].assign(play=y[:5]).to_csv(tables[0], index=False)
    X[5:].assign(play=y[5:]).to_csv(tables[1], index=False)
    lines = []
    for table in tables:
        ours, theirs = processes.Pipe()
        processes.Process(target=slow_update, args=(model, table, theirs)).start()
        lines.append(ours)
    assert [line.recv() for line in lines] == ["ready", "ready"]
    said = []
    for line in lines:
        line.send("go")
        said.append(line.recv())
    assert said[0] == "saved"
    assert "was changed since it was read" in said[1]
    assert nb.load(model).class_count_.sum() == 14 + 5
    run(processes, "update", model, tables[1])
    X2, y2 = pd.concat([X, X]), pd.concat([y, y])
    assert_same(nb.load(model).classifier_.statistics, nb.BayesianNB().fit(X2, y2).classifier_.statistics)


# Written whole or not at all


def test_replacing_a_file_keeps_its_permissions_and_follows_a_link(tmp_path):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old", encoding="utf-8")
    target.chmod(0o640)
    link.symlink_to(target)
    writers.write([pd.DataFrame({"a": [1]})], link)
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "a\n1\n"
    assert target.stat().st_mode & 0o777 == 0o640


# The path that the user has named


def refusing(what, ending):
    """The same function, which may open no file of this ending."""

    def opened(path, *args, **kwargs):
        if str(path).endswith(ending):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return what(path, *args, **kwargs)

    return opened


@pytest.mark.parametrize(("where", "name", "ending"), [(os, "open", ".lock"), (Path, "open", ".part")])
def test_an_error_in_a_folder_that_takes_no_file_names_the_file_that_was_to_be_written(
    model, monkeypatch, where, name, ending
):
    clf, before = nb.load(model), model.read_bytes()
    monkeypatch.setattr(where, name, refusing(getattr(where, name), ending))
    with pytest.raises(PermissionError, match="its folder takes no new file") as refused:
        clf.save(model)
    assert refused.value.filename == str(model)
    assert model.read_bytes() == before
    assert others_in(model.parent) == []


def slow_predictions(ready, *arguments):
    """Predict a table into a file, and say when half of it is written."""

    def half(frames, file, separator):
        file.write("half a file")
        file.flush()
        ready.set()
        time.sleep(300)

    writers.write_csv = half
    command(multiprocessing.get_context().Event(), *arguments)


def test_sigterm_leaves_no_half_written_predictions_and_the_old_ones(model, processes, tmp_path):
    X, _ = datasets.play_tennis()
    X.to_csv(tmp_path / "new.csv", index=False)
    (tmp_path / "p.csv").write_text("prediction,p_no\n")
    arguments = "predict", model, tmp_path / "new.csv", "-o", tmp_path / "p.csv"
    ready = processes.Event()
    process = processes.Process(target=slow_predictions, args=(ready, *arguments))
    process.start()
    assert ready.wait(300)
    assert list(tmp_path.glob(".*.part"))
    process.terminate()
    process.join()
    assert process.exitcode == 130
    assert list(tmp_path.glob(".*.part")) == []
    assert (tmp_path / "p.csv").read_text() == "prediction,p_no\n"
