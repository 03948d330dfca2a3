"""What several files of tests share: both roads of every sum, and engines that take long to start."""

import os
import shutil
import sys
import warnings

import pytest

from bayesnb.kernels import blocks


@pytest.fixture(scope="module", params=["numpy", "compiled"])
def road(request):
    """The form in which every sum is taken: numpy, as for small tables, or the compiled loops, as for large ones."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "compiled":
            patch.setattr(blocks, "COMPILED_FROM", 0)
        yield request.param


@pytest.fixture(scope="session")
def cluster():
    """A Dask cluster of two processes, and the client that makes it the default."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as local,
        Client(local) as client,
    ):
        yield client


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
