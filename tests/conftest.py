"""What several files of tests share: a table, both roads of every sum, and what takes long to start."""

import multiprocessing
import os
import shutil
import sys
import warnings

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

from bayesnb import Gaussian, GaussianKnownVariance, Multinomial, Poisson
from bayesnb.kernels import blocks

# A test does not fail because the machine has other work to do.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

FEATURES = {
    "reals": (Gaussian(), ["g", "h"]),
    "known": GaussianKnownVariance(variance=2.0),
    "events": Poisson(exposure="hours"),
    "words": (Multinomial(), ["cat", "dog", "emu"]),
}


def mixed(n: int, n_classes: int = 2, seed: int = 0, missing: float = 0.15) -> tuple[pd.DataFrame, np.ndarray]:
    """A table with a column for each family, and its classes, "u" to "w"; ``FEATURES`` names the families.

    "c" has levels and "b" is true or false; "g", "h" and "known" are real; "events" are counts within "hours"; "cat",
    "dog" and "emu" are counts of words. A share of the cells of "c", "g" and "events" is missing.
    """
    rng = default_rng(seed)
    y = np.resize(np.arange(n_classes), n)
    hours = rng.uniform(0.5, 2.0, n)
    X = pd.DataFrame(
        {
            "c": rng.choice(list("abc"), n),
            "b": rng.random(n) < 0.3 + 0.2 * y,
            "g": rng.normal(y, 1.0),
            "h": rng.normal(2 * y, 1.0 + y),
            "known": rng.normal(y, 1.4),
            "events": rng.poisson(hours * (2 + y)).astype(float),
            "hours": hours,
            "cat": rng.poisson(1.0 + y),
            "dog": rng.poisson(2.0, n),
            "emu": rng.poisson(0.5, n),
        }
    )
    for name in ("c", "g", "events"):
        X[name] = X[name].mask(rng.random(n) < missing)
    return X, np.array(list("uvw"))[y]


def made_up(sampler, model, names, what):
    """Draws from the prior, in place of ``Sampler.run``, for tests that do not depend on their values."""
    import pymc as pm

    from bayesnb.chains import Convergence

    drawn = pm.draw([model[name] for name in names], 400, random_seed=sampler.random_seed, mode="FAST_COMPILE")
    return dict(zip(names, drawn, strict=True)), Convergence(1, 1, 400, 0, "x")


def pytest_runtest_setup(item):
    """Print tables as wide as where nothing says how wide the terminal is; processes of pytest say so themselves."""
    os.environ.pop("COLUMNS", None)


def pytest_configure(config):
    """Let all processes of the tests share their bytecode, even where Python is told to write none.

    Without it each of them compiles all that it imports of pandas, scipy and scikit-learn again.
    """
    if sys.dont_write_bytecode and config.pluginmanager.has_plugin("cacheprovider"):
        os.environ.setdefault("PYTHONPYCACHEPREFIX", str(config.cache.mkdir("bytecode")))
        del os.environ["PYTHONDONTWRITEBYTECODE"]


@pytest.fixture(scope="module", params=["numpy", "compiled"])
def road(request):
    """The form in which every sum is taken: numpy, as for small tables, or the compiled loops, as for large ones."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "compiled":
            patch.setattr(blocks, "COMPILED_FROM", 0)
        yield request.param


@pytest.fixture(scope="session")
def processes():
    """Processes that start quickly: a server, which has imported what they need, forks them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["bayesnb.cli", "bayesnb.estimator", "bayesnb.modelfile", "h5py", "pyarrow.parquet"])
    return context


@pytest.fixture(scope="session")
def spark():
    """Spark on two threads; a task may fail once."""
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17, and there is no java on the PATH")
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
