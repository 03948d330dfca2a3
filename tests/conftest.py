"""What several files of tests share: a table, both roads of every sum, and what takes long to start."""

import atexit
import contextlib
import functools
import gc
import importlib
import io
import multiprocessing
import os
import pickle
import shutil
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ:
    # Several workers share the cores, so each has one thread for its matrices.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# PyTensor notes for each variable which lines of code made it, and spends a tenth of the time to build a model on that.
# Without a C++ compiler it evaluates a graph in Python, or samples by numba; on a new machine, it would call the
# compiler a hundred times for graphs that are evaluated once.
os.environ.setdefault("PYTENSOR_FLAGS", "traceback__limit=0,cxx=")

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings
from numpy.random import default_rng

from bayesnb import Gaussian, Multinomial, Poisson
from bayesnb.families import GaussianKnownVariance
from bayesnb.kernels import blocks

# A test does not fail because the machine has other work to do.
settings.register_profile("any machine", max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# What a column of ``mixed`` can hold, given a random generator, the code of the class of each row, and its hours. The
# last three say nothing about the class.
CELLS = {
    "levels": lambda rng, y, hours: np.take(
        list("abc"), np.where(rng.random(len(y)) < 0.4, y % 3, rng.choice(3, len(y)))
    ),
    "flag": lambda rng, y, hours: rng.random(len(y)) < 0.3 + 0.2 * y,
    "bit": lambda rng, y, hours: (rng.random(len(y)) < 0.7 - 0.2 * y).astype(float),
    "real": lambda rng, y, hours: rng.normal(y, 1.0),
    "spread": lambda rng, y, hours: rng.normal(2 * y, 1.0 + y),
    "outliers": lambda rng, y, hours: rng.standard_t(3, len(y)) + 2 * y,
    "bumps": lambda rng, y, hours: rng.normal(np.where(rng.random(len(y)) < 0.5, 0.0, 6.0 + y), 1.0),
    "positive": lambda rng, y, hours: rng.lognormal(y, 1.0),
    "wait": lambda rng, y, hours: rng.exponential(1.0 + y),
    "zeros": lambda rng, y, hours: np.where(rng.random(len(y)) < 0.4, 0.0, rng.lognormal(y, 0.5)),
    "bounded": lambda rng, y, hours: rng.uniform(0.0, 1.0 + y),
    "count": lambda rng, y, hours: rng.poisson(2.0 + y),
    "events": lambda rng, y, hours: rng.poisson(hours * (2 + y)).astype(float),
    "hours": lambda rng, y, hours: hours,
    "word": lambda rng, y, hours: rng.poisson(1.0, len(y)),
    "noise": lambda rng, y, hours: rng.normal(size=len(y)),
}
COLUMNS = {
    "c": "levels", "b": "flag", "g": "real", "h": "spread", "known": "real", "events": "events", "hours": "hours",
    "cat": "count", "dog": "word", "emu": "word",
}  # fmt: skip
FEATURES = {
    "reals": (Gaussian(), ["g", "h"]),
    "known": GaussianKnownVariance(variance=2.0),
    "events": Poisson(exposure="hours"),
    "words": (Multinomial(), ["cat", "dog", "emu"]),
}


def mixed(
    n: int, classes: Sequence[str] = "uv", columns: Mapping[str, str] = COLUMNS, seed: int = 0, missing: float = 0.15
) -> tuple[pd.DataFrame, np.ndarray]:
    """A random table of ``n`` rows, and the class of each row, each class in turn.

    ``columns`` says for each column which of ``CELLS`` it holds. The table that is made if nothing is said has a column
    for each of the first families; ``FEATURES`` names those that would not be found. A share of the cells is missing,
    but not of booleans, whole numbers and hours.
    """
    rng = default_rng(seed)
    y = np.resize(np.arange(len(classes)), n)
    hours = rng.uniform(0.5, 2.0, n)
    X = pd.DataFrame({name: CELLS[kind](rng, y, hours) for name, kind in columns.items()})
    for name, kind in columns.items():
        if kind != "hours" and X[name].dtype.kind not in "bi":
            X[name] = X[name].mask(rng.random(n) < missing)
    return X, np.array(list(classes))[y]


def run(capsys, *arguments):
    """Exit code, stdout and stderr of a command."""
    from bayesnb import cli

    with pytest.raises(SystemExit) as ended:
        cli.main([str(a) for a in arguments])
    printed = capsys.readouterr()
    return ended.value.code or 0, printed.out, printed.err


def made_up(sampler, model, names, what):
    """Draws from the prior, in place of ``Sampler.run``, for tests that do not depend on their values."""
    import pymc as pm

    from bayesnb.chains import Convergence

    drawn = pm.draw([model[name] for name in names], 400, random_seed=sampler.random_seed, mode="FAST_COMPILE")
    return dict(zip(names, drawn, strict=True)), Convergence(1, 1, 400, 0, "x")


def shown(model):
    """All that PyMC shows of a model; it must contain the names of all variables."""
    from rich.console import Console

    console = Console(record=True, width=10_000, file=io.StringIO())
    console.print(model.table())
    said = [model.str_repr(), model.str_repr(include_params=False), console.export_text()]
    names = [v.name for v in (*model.free_RVs, *model.observed_RVs, *model.potentials)]
    assert not [name for name in names for text in said if name not in text]
    return [*said, model._repr_latex_()]


@pytest.fixture(scope="module")
def few_drawn_labels():
    """An eighth of the draws of labels that may be wrong, for commands and pages that do not depend on their values."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bayesnb.inference.label_noise.DRAWS", 50)
        patch.setattr("bayesnb.inference.label_noise.TUNE", 5)
        yield


@pytest.fixture(scope="module")
def examined_once():
    """Examine each table once in a file of tests of commands: a command often follows another one on its table.

    ``test_inspect.py`` does without it, and tries the examination itself.
    """
    from bayesnb import findings

    known = {}

    def examined(*of, examine=findings._examined):
        key = pickle.dumps(of)
        if key not in known:
            known[key] = examine(*of)
        return [*known[key]]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(findings, "_examined", examined)
        yield


@pytest.fixture
def few_drawn_rows(monkeypatch):
    """A tenth of the draws of further rows, for commands that do not depend on their values."""
    from bayesnb import design

    monkeypatch.setattr(design, "worth_of_rows", functools.partial(design.worth_of_rows, draws=10))


def pytest_addoption(parser):
    """``--tables`` asks for the relations of ``test_relations.py`` on as many random tables."""
    parser.addoption("--tables", type=int, default=0, metavar="N", help="try every relation on N random tables")


def pytest_collection(session):
    """Let every second worker import the files of tests from the last to the first.

    On a new machine, all that is imported is compiled to bytecode. So two workers meet in the middle, and each finds
    half of it compiled by the other; both would compile all of it if they started at the same file.
    """
    gc.disable()  # Nothing that is imported is garbage; ``pytest_collection_finish`` lets the collector work again.
    whole = session.config.args_source is session.config.ArgsSource.TESTPATHS
    if whole and os.environ.get("PYTEST_XDIST_WORKER", "gw0")[-1] in "13579":
        for path in sorted(Path(__file__).parent.glob("test_*.py"), reverse=True):
            with contextlib.suppress(Exception):  # pytest imports it again, and says what is wrong.
                importlib.import_module(path.stem)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the notebooks, so that ``-m`` can choose them together with the tests that take long."""
    for item in items:
        if item.path.suffix == ".ipynb":
            item.add_marker("notebook")


def pytest_collection_finish(session):
    """Spare the collector of garbage all that was imported, until Python ends and extensions count what they leaked.

    It also looks for garbage less often than by default, which would take a tenth of the time of the tests.
    """
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)
    gc.enable()
    atexit.register(gc.unfreeze)


def pytest_runtest_setup(item):
    """Print tables as wide as where nothing says how wide the terminal is; processes of pytest say so themselves."""
    os.environ.pop("COLUMNS", None)


def pytest_configure(config):
    """Let all processes of the tests share their bytecode, even where Python is told to write none, and end quickly.

    Without bytecode each of them compiles all that it imports of pandas, scipy and scikit-learn again.
    """
    if sys.dont_write_bytecode and config.pluginmanager.has_plugin("cacheprovider"):
        os.environ.setdefault("PYTHONPYCACHEPREFIX", str(config.cache.mkdir("bytecode")))
        del os.environ["PYTHONDONTWRITEBYTECODE"]
    os.fsync = lambda descriptor: None  # No test depends on what a disk holds after a power failure.
    if hasattr(config, "workerinput"):
        # A worker has reported everything when Python ends. To free each object would take it seconds.
        atexit.register(os._exit, 0)


@pytest.fixture(scope="module", params=["numpy", "compiled"])
def road(request):
    """The form in which every sum is taken: numpy, as for small tables, or the compiled loops, as for large ones."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "compiled":
            patch.setattr(blocks, "COMPILED_FROM", 0)
            patch.setattr(blocks, "ALONE", 0)
        yield request.param


@pytest.fixture(scope="session")
def processes():
    """Processes that start quickly: a server, which has imported what they need, forks them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["bayesnb.cli", "bayesnb.estimator", "bayesnb.modelfile.document", "safetensors.numpy", "pyarrow.parquet"]
    )
    return context


@pytest.fixture(scope="session")
def spark():
    """Spark on two threads; a task may fail once."""
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17, and there is no java on the PATH")
    pytest.importorskip("pyspark", reason="pyspark is not installed (uv run --group dev --extra spark pytest -m spark)")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        session = (
            SparkSession.builder.master("local[2,2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.shuffle.partitions", "2")
            .getOrCreate()
        )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium. Its event loop would disturb the tests of other modules."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed (apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    arguments = [
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
    ]  # fmt: skip
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield browser
        browser.close()
