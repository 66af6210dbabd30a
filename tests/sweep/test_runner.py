"""Runs: any executor, any order, deaths of workers, two processes."""

import dataclasses
import hashlib
import math
import multiprocessing
import operator
import os
import signal
import subprocess
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest
import threadpoolctl

from sparsetoken.sweep import (
    Grid,
    GridPlan,
    JobPlan,
    RunStopped,
    Store,
    WorkerPool,
    export_table,
    linear,
    listed,
    run,
    runner,
)
from sparsetoken.sweep.batch import run_batch
from sparsetoken.sweep.processes import WorkerDied
from sparsetoken.sweep.records import Call, Counts
from sparsetoken.validation import InvalidInput


@dataclasses.dataclass(frozen=True)
class Job:
    work: object
    arguments: tuple
    cost: float = 1.0
    version: int = 1

    @property
    def name(self):
        return f"{self.work.__name__}{self.arguments!r}"


def square_roots(count):
    return [Job(math.sqrt, (float(n),)) for n in range(count)]


def results(store):
    return {row.configuration["job"]: row.values["result"] for row in store.rows()}


GRID = Grid(
    "alignment",
    [linear("strength", 1, 4, 6), listed("length", [2, 4, 8])],
    {"dimension": 12},
    quantities=("theory", "simulation"),
    trials=2,
)


def exported(tmp_path, name, grid=GRID, **options):
    with Store(tmp_path / f"{name}.sqlite") as store:
        run(store, GridPlan(grid), **options)
        export_table(store, tmp_path / f"{name}.csv")
    return (tmp_path / f"{name}.csv").read_bytes()


def test_jobs_of_any_kind_run_once(tmp_path):
    plan = JobPlan(square_roots(30), float)
    with Store(tmp_path / "s.sqlite") as store:
        counts = run(store, plan)
        assert counts == Counts(30, 0, 0, 0)
        assert results(store) == {f"sqrt({float(n)!r},)": math.sqrt(n) for n in range(30)}
        refuse = ThreadPoolExecutor(1)
        refuse.shutdown()  # takes no work: there is none
        assert run(store, plan, refuse) == counts


def test_results_come_back_in_the_order_of_the_jobs(tmp_path):
    jobs = [Job(math.sqrt, (float(n),), cost=n) for n in (1, 9, 4)]
    plan = JobPlan(jobs, float)
    with Store(tmp_path / "s.sqlite") as store:
        with pytest.raises(RuntimeError, match=r"sqrt\(1\.0,\) has no result. It has not run"):
            plan.results(store)
        run(store, plan)
        assert plan.results(store) == [1.0, 3.0, 2.0]
        failing = JobPlan([*jobs, Job(math.sqrt, (-1.0,))], float)
        run(store, failing)
        with pytest.raises(RuntimeError, match="math domain error"):
            failing.results(store)
        assert plan.results(store) == [1.0, 3.0, 2.0]


def test_jobs_run_in_order_of_falling_cost(tmp_path):
    jobs = [Job(math.sqrt, (float(n),), cost=n % 5) for n in range(10)]
    costs = {f"sqrt({float(n)!r},)": n % 5 for n in range(10)}
    order = [costs[row["job"]] for row in JobPlan(jobs, float).rows()]
    assert order == sorted(order, reverse=True)


def test_an_error_is_the_answer_of_its_row(tmp_path):
    jobs = [*square_roots(3), Job(math.sqrt, (-1.0,)), Job(operator.truediv, (1, 0))]
    with Store(tmp_path / "s.sqlite") as store:
        assert run(store, JobPlan(jobs, float)) == Counts(3, 2, 0, 0)
        messages = {row.message.partition(":")[0] for row in store.rows() if row.message}
        assert messages == {"ValueError", "ZeroDivisionError"}
        assert run(store, JobPlan(jobs, float)).failed == 2


def test_retry_failed_runs_them_again(tmp_path):
    mark = tmp_path / "ready"
    jobs = [*square_roots(3), Job(os.stat, (str(mark),))]
    with Store(tmp_path / "s.sqlite") as store:
        assert run(store, JobPlan(jobs, str)).failed == 1
        mark.touch()
        assert run(store, JobPlan(jobs, str)).failed == 1
        assert run(store, JobPlan(jobs, str), retry_failed=True) == Counts(4, 0, 0, 0)


def test_a_result_that_no_store_can_hold_is_an_error(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        assert run(store, JobPlan(square_roots(1), complex)).failed == 1


def test_batches_grow_with_what_rows_take(tmp_path):
    sizes = []

    class Counting(runner.InProcess):
        def submit(self, fn, calls):
            sizes.append(len(calls))
            return super().submit(fn, calls)

    with Store(tmp_path / "s.sqlite") as store:
        run(store, JobPlan(square_roots(2000), float), Counting())
    assert sizes[0] == 1
    assert max(sizes) > 100
    assert sum(sizes) == 2000


def test_bytes_do_not_depend_on_executor_order_or_restarts(tmp_path):
    expected = exported(tmp_path, "alone")
    with WorkerPool(2) as pool:
        assert exported(tmp_path, "processes", executor=pool, workers=2) == expected
    with ThreadPoolExecutor(2) as threads:
        assert exported(tmp_path, "threads", executor=threads, workers=2) == expected
    turned = dataclasses.replace(GRID, axes=GRID.axes[::-1], quantities=("simulation", "theory"))
    assert exported(tmp_path, "turned", turned) == expected
    for trials, axes in ((1, GRID.axes), (2, (*GRID.axes[:1], listed("length", [8])))):
        exported(tmp_path, "parts", dataclasses.replace(GRID, trials=trials, axes=axes))
    assert exported(tmp_path, "parts") == expected


def test_a_python_error_of_the_caller_leaves_a_store_that_resumes(tmp_path):
    expected = exported(tmp_path, "whole")
    calls = []

    def stop(counts):
        calls.append(counts)
        if len(calls) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        exported(tmp_path, "cut", on_counts=stop)
    assert exported(tmp_path, "cut") == expected


KILLER = "import os; f = open({path!r}, 'a'); f.write('x'); f.close(); os._exit(9)"
TWICE = "import os; f = open({path!r}, 'a+'); f.write('x'); f.seek(0); n = len(f.read()); f.close()"


def test_a_row_that_kills_its_worker_three_times_is_failed(tmp_path):
    path = tmp_path / "deaths"
    jobs = [*square_roots(20), Job(exec, (KILLER.format(path=str(path)),), cost=0.5)]
    with Store(tmp_path / "s.sqlite") as store, WorkerPool(2) as pool:
        assert run(store, JobPlan(jobs, str), pool, workers=2) == Counts(20, 1, 0, 0)
        (failed,) = (row for row in store.rows() if row.status == "failed")
    assert "died 3 times" in failed.message
    assert path.read_text() == "xxx"


def test_a_row_whose_worker_died_twice_is_done(tmp_path):
    path = tmp_path / "deaths"
    code = TWICE.format(path=str(path)) + "\nif n < 3: os._exit(9)"
    jobs = [Job(exec, (code,)), *square_roots(20)]
    with Store(tmp_path / "s.sqlite") as store, WorkerPool(2) as pool:
        assert run(store, JobPlan(jobs, str), pool, workers=2) == Counts(21, 0, 0, 0)
    assert path.read_text() == "xxx"


def test_deaths_are_counted_over_restarts(tmp_path):
    path = tmp_path / "deaths"
    plan = JobPlan([Job(exec, (KILLER.format(path=str(path)),))], str)
    for _ in range(2):
        with Store(tmp_path / "s.sqlite") as store, WorkerPool(1) as pool:

            def stop(counts):
                if path.exists():
                    raise KeyboardInterrupt

            path.unlink(missing_ok=True)
            with pytest.raises(KeyboardInterrupt):
                run(store, plan, pool, on_counts=stop)
    path.unlink()
    with Store(tmp_path / "s.sqlite") as store, WorkerPool(1) as pool:
        assert run(store, plan, pool) == Counts(0, 1, 0, 0)
    assert path.read_text() == "x"


def test_only_the_calls_of_a_dead_worker_are_lost():
    with WorkerPool(2) as pool:
        calls = [pool.submit(os._exit, 1), pool.submit(math.sqrt, 4.0)]
        behind = pool.submit(math.sqrt, 9.0)  # waits in the queue of one of them
        assert isinstance(calls[0].exception(), WorkerDied)
        assert calls[1].result() == 2.0
        error = behind.exception()
        assert error is None or (isinstance(error, WorkerDied) and error.row is None)
        assert pool.submit(math.sqrt, 16.0).result() == 4.0


def test_a_worker_that_has_taken_too_much_memory_is_replaced():
    with WorkerPool(1, memory=1) as pool:
        pids = [worker_id(pool) for _ in range(2)]
    with WorkerPool(1) as pool:
        same = [worker_id(pool) for _ in range(2)]
    assert pids[0] != pids[1]
    assert same[0] == same[1]


def worker_id(pool):
    """Return the process that runs a batch: its one row fails, for os.getpid takes no argument."""
    pool.submit(run_batch, [Call((0,), os.getpid, (1,))]).result()
    return pool.submit(os.getpid).result()


class Broken(Executor):
    """Loses its calls in a given way."""

    def __init__(self, error):
        self.error = error

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        if self.error is None:
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            future.set_exception(self.error)
        return future


class KilledWorker(Exception):
    """As dask raises it."""


def test_a_row_that_a_cluster_gives_up_is_failed(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        plan = JobPlan(square_roots(3), float)
        assert run(store, plan, Broken(KilledWorker("x"))) == Counts(0, 3, 0, 0)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError("no connection"), "lost a batch"),
        (WorkerDied(-1), "die before they begin"),
        (None, "cancelled"),
    ],
)
def test_an_executor_that_breaks_stops_the_run_and_loses_nothing(tmp_path, error, words):
    plan = JobPlan(square_roots(3), float)
    with Store(tmp_path / "s.sqlite") as store, pytest.raises(RunStopped, match=words):
        run(store, plan, Broken(error))
    with Store(tmp_path / "s.sqlite") as store:
        assert run(store, plan) == Counts(3, 0, 0, 0)


def test_a_pool_of_the_standard_library_that_breaks_stops_the_run(tmp_path):
    pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
    plan = JobPlan([Job(os._exit, (1,))], str)
    with Store(tmp_path / "s.sqlite") as store, pytest.raises(RunStopped):
        run(store, plan, pool)
    pool.shutdown()


RUN = """
import sys
from sparsetoken.sweep import *
from sparsetoken.sweep import runner
runner.LARGEST_BATCH = 10
if __name__ == "__main__":
    grid = Grid("alignment", [linear("strength", 1, 4, 150)], {"dimension": 12, "length": 4},
                quantities=("simulation",), trials=4)
    with Store(sys.argv[1]) as store:
        run(store, GridPlan(grid), on_counts=lambda counts: print(counts.left, flush=True))
        if len(sys.argv) > 2:
            export_table(store, sys.argv[2])
"""


def start(script, *arguments):
    command = [sys.executable, str(script), *(str(a) for a in arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_two_processes_on_one_store_lose_and_double_nothing(tmp_path):
    script = tmp_path / "run.py"
    script.write_text(RUN)
    both = [start(script, tmp_path / "s.sqlite", tmp_path / f"{i}.csv") for i in range(2)]
    for process in both:
        process.communicate(timeout=120)
        assert process.returncode == 0
    tables = [(tmp_path / f"{i}.csv").read_bytes() for i in range(2)]
    assert tables[0] == tables[1]
    alone = start(script, tmp_path / "alone.sqlite", tmp_path / "alone.csv")
    alone.communicate(timeout=120)
    digest = hashlib.sha256((tmp_path / "alone.csv").read_bytes())
    assert hashlib.sha256(tables[0]).digest() == digest.digest()
    assert tables[0].count(b"\n") == 601


def test_a_killed_process_leaves_a_store_that_resumes(tmp_path):
    script = tmp_path / "run.py"
    script.write_text(RUN)
    for lines in (1, 3, 6):
        with start(script, tmp_path / "s.sqlite") as process:
            for _ in range(lines):
                process.stdout.readline()
            process.send_signal(signal.SIGKILL)
    with Store(tmp_path / "s.sqlite", write=False) as store:
        assert 0 < store.counts().done < 600
    start(script, tmp_path / "s.sqlite", tmp_path / "cut.csv").communicate(timeout=120)
    start(script, tmp_path / "whole.sqlite", tmp_path / "whole.csv").communicate(timeout=120)
    assert (tmp_path / "cut.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_a_killed_worker_costs_nothing(tmp_path):
    grid = dataclasses.replace(GRID, quantities=("simulation",), trials=5)
    expected = exported(tmp_path, "whole", grid)
    killed = []
    with WorkerPool(2) as pool:

        def kill(counts):
            if len(killed) < 3 and counts.done > 10 * len(killed):
                worker = pool._workers[len(killed) % 2]
                for process in list((worker.executor._processes or {}).values()):
                    process.kill()
                    killed.append(process.pid)

        options = {"executor": pool, "workers": 2, "on_counts": kill}
        assert exported(tmp_path, "killed", grid, **options) == expected
    assert len(killed) == 3


def test_waiting_for_another_process_ends_when_it_dies(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "POLL_SECONDS", 0.01)
    plan = JobPlan(square_roots(10), float)
    with Store(tmp_path / "s.sqlite") as other, Store(tmp_path / "s.sqlite") as store:
        other.begin(runner.package_version())
        leases = other.lease(other.add_sweep(plan.text, plan.rows()), 0, 4)
        seen = []

        def look(counts):
            seen.append(counts.left)
            if len(seen) > 20:  # long after its own rows: the other dies
                store.query("UPDATE holders SET started = 'before' WHERE id = 1")

        assert len(leases) == 4
        assert run(store, plan, on_counts=look) == Counts(10, 0, 0, 0)
    assert 4 in seen


def blas_threads():
    return {library["num_threads"] for library in threadpoolctl.threadpool_info()}


def test_rows_in_this_process_have_one_blas_thread_and_the_rest_as_before(tmp_path):
    with threadpoolctl.threadpool_limits(2):
        seen = []
        with Store(tmp_path / "s.sqlite") as store:
            run(store, JobPlan(square_roots(3), lambda _: seen.append(blas_threads())))
        assert seen == [{1}] * 3
        assert blas_threads() == {2}


def test_workers_have_one_blas_thread_whatever_the_environment_says(monkeypatch):
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "2")
    with WorkerPool(1) as pool:
        pool.submit(run_batch, []).result()
        libraries = pool.submit(threadpoolctl.threadpool_info).result()
    assert {library["num_threads"] for library in libraries} == {1}
    assert len(libraries) >= 2  # of numpy and of scipy


@pytest.mark.parametrize("workers", [0, -(10**5000), 1.5], ids=["0", "long", "1.5"])
def test_a_run_has_a_worker(tmp_path, workers):
    refused = pytest.raises(InvalidInput, match="workers must be an integer >= 1")
    with Store(tmp_path / "s.sqlite") as store, refused:
        run(store, JobPlan([], str), workers=workers)
    with refused:
        WorkerPool(workers)
