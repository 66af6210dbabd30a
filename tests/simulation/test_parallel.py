"""Trials in executors whose workers die."""

import os
from concurrent.futures import Executor, Future

import cloudpickle
import pytest

from sparsetoken.simulation.parallel import WorkersDied, run_all
from sparsetoken.sweep.processes import WorkerDied, WorkerPool


def square(number):
    return number * number


class Sent:
    """A function of this test that worker processes can call."""

    def __init__(self, function):
        self.function = function

    def __call__(self, number):
        return self.function(number)

    def __reduce__(self):
        return cloudpickle.loads, (cloudpickle.dumps(self.function),)


def ignore(number, result):
    pass


def test_the_death_of_a_worker_loses_no_trial(tmp_path):
    told, mark = [], tmp_path / "died"

    def run(number):
        if number == 1 and not mark.exists():
            mark.touch()
            os._exit(9)
        return number * number

    with WorkerPool(2) as pool:
        found = run_all(Sent(run), 4, pool, lambda *pair: told.append(pair))
    assert mark.exists()
    assert found == [0, 1, 4, 9]
    assert sorted(told) == [(0, 0), (1, 1), (2, 4), (3, 9)]


def test_a_trial_that_kills_its_workers_is_given_up():
    with WorkerPool(1) as pool, pytest.raises(WorkersDied, match="trial 0 died 3 times"):
        run_all(os._exit, 1, pool, ignore)


class Dying(Executor):
    """Loses the second trial to the death of the worker at the first."""

    def __init__(self):
        self.calls = []

    def submit(self, fn, /, *args, **kwargs):
        self.calls.append(args[0])
        future = Future()
        if self.calls.count(args[0]) < 3:
            future.set_exception(WorkerDied(-1 if args[0] == 0 else None))
        else:
            future.set_result(fn(*args))
        return future


def test_trials_that_waited_for_a_worker_that_died_are_not_counted_against():
    executor = Dying()
    assert run_all(square, 2, executor, ignore) == [0, 1]
    assert sorted(executor.calls) == [0] * 3 + [1] * 3


def test_an_executor_that_is_broken():
    class Broken(Executor):
        def submit(self, fn, /, *args, **kwargs):
            raise WorkerDied(None)

    with pytest.raises(WorkersDied, match="takes no more trials"):
        run_all(square, 2, Broken(), ignore)
