"""Dask, in two processes: the statistics and predictions of one process, and a fit that survives a worker."""

import os
import signal

import numpy as np
import pytest
from test_engines import FRAME, TOLD, assert_same, dask_frame
from test_faults import fitted, numbers

import bayesnb as nb
from bayesnb import BayesianNB
from bayesnb.data import engines

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster():
    """A Dask cluster of two processes, and the client that makes it the default.

    It works even while nobody asks it anything, so it ends with the tests of this file.
    """
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as local,
        Client(local) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def one_pass():
    return BayesianNB(TOLD).fit(FRAME.drop(columns=["kind", "weight"]), FRAME["kind"], FRAME["weight"])


def test_a_dask_cluster_of_two_processes_finds_the_same_statistics(cluster, one_pass):
    found = engines.statistics(BayesianNB(TOLD), dask_frame(), "kind", "weight")
    assert_same(found, one_pass.classifier_.statistics)


def test_dask_predicts_lazily_and_keeps_the_index(cluster, one_pass):
    expected = one_pass.predict_proba(FRAME.drop(columns=["kind", "weight"]))
    found = nb.deploy.predict_table(one_pass, dask_frame(), keep=["count"])
    assert found.npartitions == 5
    computed = found.compute()
    assert computed.columns.tolist() == found.columns.tolist()
    assert computed.index.tolist() == FRAME.index.tolist()
    np.testing.assert_array_equal(computed["count"], FRAME["count"])
    np.testing.assert_allclose(computed[["p_ash", "p_birch", "p_cedar"]], expected, rtol=1e-12)
    with pytest.raises(TypeError, match="written by its own engine"):
        nb.deploy.write_predictions(one_pass, dask_frame(), "x.parquet")


def test_a_fit_is_complete_although_a_dask_worker_is_killed(cluster, tmp_path):
    import dask.dataframe as dd

    frame = numbers()
    flag = tmp_path / "killed"

    def part(k):
        if k == 5 and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return frame.iloc[k * 500 : (k + 1) * 500]

    source = dd.from_map(part, range(8), meta=frame.head(0))
    found = BayesianNB().fit(source, "y")
    assert flag.exists()
    assert_same(found.classifier_.statistics, fitted(frame).classifier_.statistics)


def test_an_error_in_one_dask_part_leaves_the_estimator_unchanged(cluster):
    import dask.dataframe as dd

    frame = numbers()
    clf = fitted(frame)
    before = clf.classifier_.statistics

    def part(k):
        return frame.iloc[:100] if k else frame.iloc[:100].assign(x=np.inf)

    with pytest.raises(ValueError, match="column 'x' is infinite"):
        clf.partial_fit(dd.from_map(part, range(3), meta=frame.head(0)), "y")
    assert clf.classifier_.statistics is before
