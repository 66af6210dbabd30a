"""Workers: processes that end and are replaced, calls that survive them, and clusters."""

import contextlib
import importlib
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from types import SimpleNamespace

import pytest

from sparsetoken import work as workers
from sparsetoken.base.validation import InvalidInput
from sparsetoken.work import RunStopped, WorkerDied, WorkerPool, cluster, completed, pool


def test_workers_have_one_thread_unless_the_user_has_chosen(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "3")
    with WorkerPool(1) as processes:
        assert processes.submit(os.getenv, "OMP_NUM_THREADS").result() == "1"
        assert processes.submit(os.getenv, "MKL_NUM_THREADS").result() == "3"
    assert "OMP_NUM_THREADS" not in os.environ


def test_an_error_ends_the_processes_at_once():
    with contextlib.suppress(ZeroDivisionError), WorkerPool(1) as processes:
        slept = processes.submit(time.sleep, 1000)
        _ = 1 / 0
    with pytest.raises(BrokenExecutor):
        slept.result(timeout=60)
    with pytest.raises(RuntimeError, match="ended"):
        processes.submit(os.getpid)


ORPHANED = """
import os, time
from sparsetoken.work import WorkerPool
if __name__ == "__main__":
    with WorkerPool(1) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 1000)
        time.sleep(1000)
"""


def test_workers_end_with_their_parent(tmp_path):
    (tmp_path / "orphaned.py").write_text(ORPHANED)
    command = [sys.executable, str(tmp_path / "orphaned.py")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        # The output of the parent is open until the last process that has it ends.
        process.communicate(timeout=60)  # the worker would sleep for 1000 seconds


def test_more_workers_than_files_may_be_open(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
    with pytest.raises(InvalidInput, match="at most 48 here; got 400"):
        WorkerPool(400)


def large(memory):
    return SimpleNamespace(memory=memory, process=os.getpid())


def test_a_process_that_grows_too_large_is_replaced():
    with WorkerPool(1, memory=1000) as processes:
        first, second, third = [processes.submit(large, m).result() for m in (1000, 1001, 1)]
    assert first.process == second.process != third.process


def die(*_):
    os._exit(9)


def test_processes_that_die_before_they_begin(monkeypatch):
    monkeypatch.setattr(pool, "_begin_worker", die)
    with WorkerPool(1) as processes, pytest.raises(RunStopped) as error:
        list(completed(abs, [0], processes))
    assert str(error.value) == (
        "Worker processes die before they begin. Is there enough memory? "
        "The next run resumes from here."
    )


class Died:
    """Ends its process at marked tasks; with a file, only until that is there."""

    def __init__(self, killers, once=None):
        self.killers, self.once = killers, once

    def __call__(self, task):
        if task in self.killers and not (self.once and self.once.exists()):
            if self.once:
                self.once.touch()
            os._exit(9)
        return task * task


@pytest.fixture(scope="module")
def two():
    with WorkerPool(2) as processes:
        yield processes


def test_a_death_loses_no_task(tmp_path, two):
    found = dict(completed(Died({3}, tmp_path / "died"), range(8), two, 2))
    assert (tmp_path / "died").exists()
    assert found == {n: n * n for n in range(8)}


def test_an_innocent_task_beside_killers_is_never_given_up(two):
    found = dict(completed(Died({0, 2}), range(4), two, 2))
    given_up = {task for task, result in found.items() if isinstance(result, WorkerDied)}
    assert given_up == {0, 2}
    assert (found[1], found[3]) == (1, 9)
    assert "died 3 times" in str(found[0])


def test_the_processes_beside_one_that_died_end(two):
    two.submit(os.getpid).result()
    beside = two._processes()
    two._pool._broken = "a process died, and the thread that ends the others has failed"
    assert two.submit(os.getpid).result() not in [process.pid for process in beside]
    for process in beside:
        process.join(60)
    assert {process.exitcode for process in beside} == {-signal.SIGKILL}


def test_tasks_are_drawn_as_there_is_room():
    drawn, release = [], threading.Event()

    def tasks():
        for number in range(20):
            drawn.append(number)
            if len(drawn) == 6:
                release.set()  # only now may the first ones end
            yield number

    def wait(number):
        return release.wait(60)

    with ThreadPoolExecutor(3) as threads:
        ended = completed(wait, tasks(), threads, 3)
        assert next(ended)[1]
        assert len(drawn) == 6
        assert len(list(ended)) == 19
    assert len(drawn) == 20


class Held(Executor):
    """Keeps its calls until they are told to end."""

    def __init__(self):
        self.futures = []

    def submit(self, fn, /, *args):
        self.futures.append(Future())
        return self.futures[-1]


def test_an_error_and_the_end_of_the_generator_cancel_what_is_in_flight():
    def tasks(held, end, value):
        yield 1
        end(held.futures[0], value)
        yield from (2, 3)

    held = Held()
    with pytest.raises(ZeroDivisionError):
        next(completed(abs, tasks(held, Future.set_exception, ZeroDivisionError()), held, 2))
    assert [future.cancelled() for future in held.futures] == [False, True, True]
    held = Held()
    ended = completed(abs, tasks(held, Future.set_result, 1), held, 2)
    assert next(ended) == (1, 1)
    ended.close()
    assert [future.cancelled() for future in held.futures] == [False, True, True]


def test_an_executor_that_cancels_or_takes_no_more_work():
    held = Held()

    def cancelled():
        yield 1
        held.futures[0].cancel()

    with pytest.raises(RunStopped, match="was shut down"):
        list(completed(abs, cancelled(), held))
    threads = ThreadPoolExecutor(1)
    threads.shutdown()
    with pytest.raises(RunStopped, match="takes no more work"):
        list(completed(abs, [1], threads))
    spawn = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(1, spawn) as broken,
        pytest.raises(RunStopped, match="takes no more work"),
    ):
        list(completed(die, [1], broken))


def test_without_an_executor_tasks_run_here_one_after_another():
    order = []
    tasks = (order.append(("drawn", n)) or n for n in range(2))
    for task, _ in completed(lambda n: order.append(("ran", n)), tasks):
        order.append(("ended", task))
    assert order == [(step, n) for n in range(2) for step in ("drawn", "ran", "ended")]


@pytest.fixture(scope="module")
def dask():
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    # By default dask gives a call up after four deaths; here after one, beside innocent calls.
    with (
        importlib.import_module("dask").config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as local,
    ):
        yield local


@pytest.mark.filterwarnings("ignore")  # of dask, about its own sockets and event loops
def test_a_worker_of_another_version_is_refused(dask, monkeypatch):
    monkeypatch.setattr(cluster, "_versions", lambda client: {"tcp://w": "0.0.0"})
    with (
        pytest.raises(InvalidInput, match=r"0\.0\.0 on tcp://w"),
        cluster.connected(dask.scheduler_address),
    ):
        pass


@pytest.mark.filterwarnings("ignore")
def test_a_task_that_kills_dask_workers_is_given_up_alone(dask):
    with workers.executor_of(1, dask.scheduler_address) as (executor, width):
        assert width == 2
        found = dict(completed(Died({1}), range(6), executor, width))
    assert isinstance(found.pop(1), WorkerDied)
    assert found == {n: n * n for n in (0, 2, 3, 4, 5)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("address", ["nonsense://x", "tcp://", "tcp://127.0.0.1:{free}"])
def test_an_address_that_does_not_answer(monkeypatch, address):
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    monkeypatch.setattr(cluster, "TIMEOUT_SECONDS", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = address.format(free=free.getsockname()[1])
        with pytest.raises(InvalidInput, match="--cluster must be"), cluster.connected(address):
            pass


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(InvalidInput, match=r"sparsetoken\[cluster\]"),
        cluster.connected("tcp://x:1"),
    ):
        pass
