"""Trials in executors whose workers die."""

import os
from concurrent.futures import ThreadPoolExecutor

import cloudpickle
import pytest

from sparsetoken.base.validation import InvalidInput
from sparsetoken.results import CONVERGED, Status
from sparsetoken.simulation.parallel import WorkersDied, _status, run_all
from sparsetoken.work import WorkerPool


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
    text = "Trial 0 has no result. Its worker process died 3 times"
    with WorkerPool(1) as pool, pytest.raises(WorkersDied, match=text):
        run_all(os._exit, 1, pool, ignore)


def test_the_worst_status_of_the_trials_is_that_of_all():
    stuck, nothing = Status("tolerance_not_reached", "more"), Status("no_limit", "less")
    for given, expected, remedy in (
        ([CONVERGED, CONVERGED], "converged", ""),
        ([CONVERGED, stuck], "tolerance_not_reached", "1 of 2 trials, first 1: more"),
        ([stuck, nothing, CONVERGED, nothing], "no_limit", "2 of 4 trials, first 1: less"),
    ):
        found = _status(given)
        assert (found, found.remedy) == (expected, remedy)


def test_an_executor_that_has_ended_or_is_none():
    threads = ThreadPoolExecutor(1)
    threads.shutdown()
    with pytest.raises(WorkersDied, match="takes no more work") as error:
        run_all(abs, 2, threads, ignore)
    assert "next run" not in str(error.value)
    with pytest.raises(InvalidInput, match="executor must be"):
        run_all(abs, 2, "threads", ignore)
