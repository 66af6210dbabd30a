"""A cluster of dask: the same bytes, also when a worker is killed."""

import os
import socket
import sys

import pytest

from sparsetoken.sweep import (
    Grid,
    GridPlan,
    JobPlan,
    Store,
    cluster,
    export_table,
    linear,
    run,
)
from sparsetoken.sweep.records import Counts
from sparsetoken.validation import InvalidInput

GRID = Grid(
    "alignment",
    [linear("strength", 1, 4, 40)],
    {"dimension": 12, "length": 4},
    quantities=("simulation",),
    trials=5,
)


def exported(tmp_path, name, **options):
    with Store(tmp_path / f"{name}.sqlite") as store:
        run(store, GridPlan(GRID), **options)
        export_table(store, tmp_path / f"{name}.csv")
    return (tmp_path / f"{name}.csv").read_bytes()


@pytest.fixture(scope="module")
def dask():
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as local:
        yield local


@pytest.mark.filterwarnings("ignore")  # of dask, about its own sockets and event loops
def test_a_cluster_gives_the_same_bytes_and_a_killed_worker_costs_nothing(dask, tmp_path):
    expected = exported(tmp_path, "here")
    killed = []

    def kill(counts):
        if counts.done > 20 and not killed:
            nanny = next(iter(dask.workers.values()))
            killed.append(nanny.pid)
            nanny.process.process.kill()

    with cluster.connected(dask.scheduler_address) as (executor, workers):
        assert workers == 2
        options = {"executor": executor, "workers": workers, "on_counts": kill}
        assert exported(tmp_path, "dask", **options) == expected
    assert killed


@pytest.mark.filterwarnings("ignore")
def test_a_worker_of_another_version_is_refused(dask, monkeypatch):
    monkeypatch.setattr(cluster, "_versions", lambda client: {"tcp://w": "0.0.0"})
    with (
        pytest.raises(InvalidInput, match=r"0\.0\.0 on tcp://w"),
        cluster.connected(dask.scheduler_address),
    ):
        pass


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_does_not_answer(monkeypatch):
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    monkeypatch.setattr(cluster, "TIMEOUT_SECONDS", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(InvalidInput, match="--cluster must be"), cluster.connected(address):
            pass


@pytest.mark.parametrize("address", ["nonsense://x", "tcp://"])
@pytest.mark.filterwarnings("ignore")
def test_an_address_that_is_none(monkeypatch, address):
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    monkeypatch.setattr(cluster, "TIMEOUT_SECONDS", 0.5)
    with pytest.raises(InvalidInput, match="--cluster must be"), cluster.connected(address):
        pass


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(InvalidInput, match=r"sparsetoken\[cluster\]"),
        cluster.connected("tcp://x:1"),
    ):
        pass


@pytest.mark.filterwarnings("ignore")
def test_a_job_that_kills_dask_workers_is_given_up(dask, tmp_path):
    class Job:
        work, arguments, cost, name, version = os._exit, (1,), 1.0, "death", 1

    with (
        Store(tmp_path / "s.sqlite") as store,
        cluster.connected(dask.scheduler_address) as (executor, workers),
    ):
        assert run(store, JobPlan([Job], str), executor, workers=workers) == Counts(0, 1, 0, 0)
