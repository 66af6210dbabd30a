"""Points in worker processes and on a cluster, and what is kept of them."""

import functools
import gc
import os
import pickle
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import jax.numpy as jnp
import joblib
import numpy as np
import pytest

import sparsetoken as st
from command_line import limited
from sparsetoken.base.validation import Failure, InvalidInput
from sparsetoken.losses import CustomLoss
from sparsetoken.theory.readout.curve import LearningCurve
from sparsetoken.work import DamagedResultWarning, WorkerDied, _Sent, map_points

PROBLEM = st.SparseTokenProblem(4, 1, [[2.0], [3.0]])
LOADS = st.Readout("square", 0.1, [0.5, 1.0, 2.0])


def squares(numbers):
    return [number * number for number in numbers]


class Logged:
    """Squares numbers and writes down which."""

    def __init__(self, path, fails=()):
        self.path, self.fails = path, fails

    def __call__(self, numbers):
        with open(self.path, "a") as file:
            file.writelines(f"{number}\n" for number in numbers)
        return [ValueError(n) if n in self.fails else n * n for n in numbers]

    def done(self):
        return sorted(map(int, self.path.read_text().split())) if self.path.exists() else []


def test_results_are_in_order_whoever_computes_them():
    for workers in (1, 2):
        together = {"together": lambda number: number % 2, "workers": workers}
        assert map_points(squares, [3, 1, 2, 5], call=[], **together) == [9, 1, 4, 25]


def test_what_is_kept_is_not_computed_again_and_the_rest_is(tmp_path):
    call, log = {"call": ["squares"], "keep": tmp_path / "kept"}, tmp_path / "log"
    assert map_points(Logged(log), [1, 2], **call) == [1, 4]
    assert map_points(Logged(log), [2, 1, 3], **call) == [4, 1, 9]
    assert log.read_text().split() == ["1", "2", "3"]
    assert map_points(Logged(log), [1], call=["others"], keep=tmp_path / "kept") == [1]
    assert log.read_text().split() == ["1", "2", "3", "1"]


def test_exceptions_are_results_that_are_not_kept(tmp_path):
    call, log = {"call": [], "keep": tmp_path / "kept"}, tmp_path / "log"
    first = map_points(Logged(log, fails=[2]), [1, 2], **call)
    assert isinstance(first[1], ValueError)
    assert map_points(Logged(log), [1, 2], **call) == [1, 4]
    assert log.read_text().split() == ["1", "2", "2"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-1],
        lambda content: b"",
        lambda content: content[:-3] + bytes([content[-3] ^ 1]) + content[-2:],
        lambda content: bytes([content[0] ^ 1]) + content[1:],
    ],
    ids=["cut", "empty", "a bit", "checksum"],
)
def test_a_damaged_result_is_computed_again_with_a_warning(tmp_path, damage):
    found = st.predict(PROBLEM, st.Pooled(), LOADS, keep=tmp_path)
    paths = sorted(tmp_path.iterdir())
    assert len(paths) == 6
    paths[2].write_bytes(damage(paths[2].read_bytes()))
    with pytest.warns(DamagedResultWarning, match=paths[2].name):
        again = st.predict(PROBLEM, st.Pooled(), LOADS, keep=tmp_path)
    np.testing.assert_allclose(again.test_error, found.test_error, rtol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        st.predict(PROBLEM, st.Pooled(), LOADS, keep=tmp_path)


def test_a_result_that_cannot_be_read_is_computed_again_with_a_warning(tmp_path, monkeypatch):
    found = st.predict(PROBLEM, st.Pooled(), LOADS, keep=tmp_path)

    def refused(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.warns(DamagedResultWarning, match="^6 kept results in .* are damaged") as told:
        again = st.predict(PROBLEM, st.Pooled(), LOADS, keep=tmp_path)
    assert len(told) == 1
    np.testing.assert_allclose(again.test_error, found.test_error, rtol=1e-12)


@pytest.mark.skipif(os.name != "posix", reason="needs pipes")
def some_squares(numbers):
    """Yield squares until a number is negative."""
    for x in numbers:
        if x < 0:
            raise ArithmeticError
        yield x * x


def test_each_point_is_kept_as_it_ends(tmp_path):
    """Points are solved together; a kill loses the one in flight."""
    options = {"call": ["x"], "keep": tmp_path, "together": lambda x: 0}
    with pytest.raises(ArithmeticError):
        map_points(some_squares, [1, 2, 3, -4, 5], **options)
    assert len(list(tmp_path.iterdir())) == 3
    asked = []

    def rest(numbers):
        asked.extend(numbers)
        return [x * x for x in numbers]

    assert map_points(rest, [1, 2, 3, -4, 5], **options) == [1, 4, 9, 16, 25]
    assert asked == [-4, 5]


def who(numbers):
    """Yield the process that solves each number."""
    for _ in numbers:
        time.sleep(0.3)
        yield os.getpid()


def test_points_that_are_solved_together_are_shared_out():
    found = map_points(who, [*range(8)], call=["x"], together=lambda x: 0, workers=2)
    assert len({*found}) == 2
    assert os.getpid() not in found


def test_a_curve_is_kept_load_by_load(tmp_path, monkeypatch):
    plain, seen = LearningCurve.solve, []

    def killed(self, alpha, ridge):
        seen.append(alpha)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return plain(self, alpha, ridge)

    monkeypatch.setattr(LearningCurve, "solve", killed)
    problem = st.SparseTokenProblem(4, 1, 3.0)
    with pytest.raises(KeyboardInterrupt):
        st.predict(problem, st.Pooled(), LOADS, keep=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    st.predict(problem, st.Pooled(), LOADS, keep=tmp_path)
    assert seen == [0.5, 1.0, 2.0, 2.0]


def test_a_result_of_another_call_under_its_name_is_none(tmp_path):
    found = st.predict(PROBLEM, st.Pooled(), LOADS, keep=tmp_path)
    first, second, *_ = sorted(tmp_path.iterdir())
    first.write_bytes(second.read_bytes())
    with pytest.warns(DamagedResultWarning):
        again = st.predict(PROBLEM, st.Pooled(), LOADS, keep=tmp_path)
    np.testing.assert_allclose(again.test_error, found.test_error, rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "results"),
    [
        (functools.partial(st.predict, PROBLEM, st.Pooled(), LOADS), 6),
        (functools.partial(st.predict, st.tasks.needle_with_value(3), st.Pooled(), LOADS), 3),
        (functools.partial(st.align, PROBLEM), 2),
        (functools.partial(st.capacity, PROBLEM, st.Pooled()), 2),
        (functools.partial(st.descend, PROBLEM, st.Descent(steps=2), replicas=2), 2),
        (functools.partial(st.simulate, PROBLEM, st.Pooled(), LOADS, dimension=20, trials=2), 12),
        (functools.partial(st.simulation.align, PROBLEM, dimension=20, trials=2), 4),
        (
            functools.partial(
                st.simulation.descend, PROBLEM, st.Descent(steps=2), dimension=20, trials=2
            ),
            4,
        ),
        (
            functools.partial(
                st.simulation.pass_messages, st.SparseTokenProblem(4), 1.0, dimension=20, trials=2
            ),
            2,
        ),
    ],
    ids=lambda given: given.func.__name__ if hasattr(given, "func") else "",
)
def test_every_call_gives_the_same_in_workers_and_kept(tmp_path, call, results):
    alone, shared = call(progress=False), call(workers=2, keep=tmp_path)
    if call.func is st.predict:  # a neighbour that another process has gives no start
        # of Newton's method, whose error is the square of its last relative step, 1e-6.
        for name in ("test_error", "training_loss"):
            np.testing.assert_allclose(getattr(shared, name), getattr(alone, name), rtol=1e-11)
    else:
        assert shared == alone
    assert len([*tmp_path.iterdir()]) == results
    with pytest.MonkeyPatch.context() as patch:
        for where in ("_computed", "_here"):
            patch.setattr(f"sparsetoken.work.{where}", lambda *_: pytest.fail("computed again"))
        assert call(keep=tmp_path) == shared


def test_lengths_may_be_several():
    found = st.predict(st.SparseTokenProblem([4, 8], 1, 3.0), st.Pooled())
    assert (found.dims, found.coords["length"].tolist()) == (("length",), [4, 8])
    for one in found:
        length = int(one.coords["length"])
        assert one == st.predict(st.SparseTokenProblem(length, 1, 3.0), st.Pooled())
    with pytest.raises(InvalidInput, match="at most L = 2"):
        st.predict(st.SparseTokenProblem([2, 8], 3, 3.0), st.Pooled())


def test_after_a_change_of_the_package_all_is_computed_again(tmp_path, monkeypatch):
    call, log = {"call": ["squares"], "keep": tmp_path / "kept"}, tmp_path / "log"
    map_points(Logged(log), [1, 2], **call)
    monkeypatch.setattr("sparsetoken.work.digest_of_source", lambda: "of another version")
    for _ in range(2):
        assert map_points(Logged(log), [1, 2], **call) == [1, 4]
    assert log.read_text().split() == ["1", "2", "1", "2"]


def test_a_loss_of_ones_own_is_kept_under_its_version_and_refused_without(tmp_path):
    def kept(slope, **version):
        loss = CustomLoss("mine", lambda y, z: -slope * y * z, **version)
        readout = st.Readout(loss, 0.1)
        return st.predict(
            st.SparseTokenProblem(4), st.Pooled(), readout, keep=tmp_path
        ).training_loss

    first = kept(1.0, version="1")
    assert kept(2.0, version="1") == first
    assert kept(2.0, version="2") != first
    with pytest.raises(InvalidInput, match=r"given a version; got .*lambda.*change"):
        kept(1.0)


def test_losses_and_tasks_of_local_functions_go_to_workers():
    loss = CustomLoss("mine", lambda y, z: jnp.logaddexp(0.0, 1.0 - y * z))
    call = functools.partial(st.predict, PROBLEM, st.Pooled(), st.Readout(loss, 0.1))
    np.testing.assert_array_equal(call(workers=2).test_error, call().test_error)

    def draw(n, rng):
        return {"coefficients": np.full((n, 3, 1), 2.0)}

    task = st.Task(3, 1, draw, lambda latent, Z: np.sign(Z[:, 0, 0]))
    descent = st.Descent(loss=lambda score, y: (score - y) ** 2, steps=1, alpha=[1.0, 2.0])
    call = functools.partial(st.descend, task, descent, replicas=2, tolerance=0.5)
    np.testing.assert_array_equal(call(workers=2).test_error, call().test_error)


def test_what_was_compiled_for_a_function_is_found_when_it_is_sent_again():
    def received(function):
        return pickle.loads(pickle.dumps(_Sent([function, CustomLoss("mine", function)]))).value

    one, other = (lambda y, z, power=power: (y - z) ** power for power in (2, 4))
    (function, loss), again = received(one), received(one)
    assert function(1.0, 4.0) == 9.0
    assert again[0] is function
    assert again[1] == loss
    assert received(other)[0](1.0, 3.0) == 16.0


class Counted(Logged):
    """What workers are sent of a class that is defined in a script: with its methods."""

    def done(self):
        return super().done()


def test_a_class_of_a_script_is_sent_with_its_methods(tmp_path, monkeypatch):
    monkeypatch.setattr(Counted, "__module__", "__main__")  # which no worker can import
    sent = pickle.loads(pickle.dumps(_Sent(Counted(tmp_path / "log")))).value
    assert (sent([3]), sent.done()) == ([9], [3])


def test_no_more_workers_start_than_there_are_calls(monkeypatch):
    asked = []
    parallel = joblib.Parallel

    def noted(n_jobs, **options):
        asked.append(n_jobs)
        return parallel(n_jobs=1, **options)

    monkeypatch.setattr(joblib, "Parallel", noted)
    assert map_points(squares, [0, 1, 2], call=["x"], workers=100_000) == [0, 1, 4]
    assert asked == [3]


@pytest.mark.parametrize("given", [0, -1, 1.5, "2"])
def test_a_wrong_number_of_workers_is_refused(given):
    with pytest.raises(InvalidInput, match="workers must be an integer"):
        st.align(PROBLEM, workers=given)


def test_a_folder_that_cannot_be_is_refused():
    with pytest.raises(InvalidInput, match="keep must be a folder"):
        st.align(PROBLEM, keep=__file__)
    for given in ("", 3):  # "" is a variable of the shell that is not set
        with pytest.raises(InvalidInput, match="keep must be a path"):
            st.align(PROBLEM, keep=given)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_is_one_error_and_the_next_run_resumes(tmp_path, workers):
    sizes, call = [10, 20, 10_000, *range(30, 60)], {"call": ["zeros"], "keep": tmp_path}
    told = f"{tmp_path}: File too large. What had ended before is kept there: run it again"
    with limited(4096), pytest.raises(Failure, match=re.escape(told)):
        map_points(zeros, sizes, **call, workers=workers)
    gc.collect()  # what still runs ends without a warning
    saved = len([*tmp_path.iterdir()])
    made = []
    map_points(lambda some: made.extend(some) or zeros(some), sizes, **call)
    assert 0 < saved == len(sizes) - len(made) < len(sizes)


def zeros(sizes):
    return list(map(bytes, sizes))


def dies(numbers):
    if 2 in numbers:
        os.kill(os.getpid(), signal.SIGKILL)
    return squares(numbers)


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_worker_that_dies_is_one_error_and_the_next_run_resumes(tmp_path):
    with pytest.raises(WorkerDied, match="What has ended is kept"):
        map_points(dies, [0, 1, 2, 3], call=["x"], workers=2, keep=tmp_path)
    assert map_points(squares, [0, 1, 2, 3], call=["x"], workers=2, keep=tmp_path) == [0, 1, 4, 9]


ORPHAN = """
import multiprocessing.process as process, os, time, types
process._parent_process = types.SimpleNamespace(pid=os.getppid() + 1)
from sparsetoken.work import _follow_parent
_follow_parent()
time.sleep(600)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs the process that has adopted another")
def test_a_worker_whose_parent_died_before_its_first_call_ends():
    assert subprocess.run([sys.executable, "-c", ORPHAN], timeout=60).returncode == 1


SCRIPT = """
import sys, numpy as np, sparsetoken as st
keep, workers = sys.argv[1], int(sys.argv[2])
problem = st.SparseTokenProblem(6, 1, np.linspace(2, 4, 8)[:, None])
readout = st.Readout(alpha1=[1.0, 2.0])
found = st.predict(problem, st.Pooled(), readout, keep=keep, workers=workers)
trials = st.simulate(
    problem, st.Pooled(), readout, dimension=60, trials=4, keep=keep, workers=workers
)
print(found.test_error.sum().hex(), trials.mean.test_error.sum().hex())
"""


def begun(folder, workers=1, **streams):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-c", SCRIPT, str(folder), str(workers)]
    return subprocess.Popen(command, text=True, **{**pipes, **streams})


def numbers_of(text):
    return [float.fromhex(word) for word in text.split()]


def test_two_runs_on_one_folder_agree(tmp_path):
    runs = [begun(tmp_path), begun(tmp_path)]
    said = [run.communicate(timeout=120) for run in runs]
    (first, second), errors = zip(*said, strict=True)
    assert errors == ("", "")
    # What another run has solved gives no start of Newton's method: see above.
    np.testing.assert_allclose(numbers_of(first), numbers_of(second), rtol=1e-11)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_hundred_kills_change_no_number(tmp_path, workers):
    whole, said = begun(tmp_path / "whole").communicate(timeout=120)
    assert said == ""
    rng = np.random.default_rng(workers)
    for number in range(50):
        folder = tmp_path / f"kept{number // 10}"
        # A worker that was just starting may hold a pipe open after the process is gone.
        with (tmp_path / "said").open("w") as said:
            run = begun(folder, workers, stdout=subprocess.DEVNULL, stderr=said)
            time.sleep(rng.uniform(0.5, 5.0))
            run.send_signal(signal.SIGKILL)
            run.wait(timeout=10)
        assert "Traceback" not in (tmp_path / "said").read_text()
    for number in range(5):
        found, said = begun(tmp_path / f"kept{number}", workers).communicate(timeout=120)
        assert said == ""
        np.testing.assert_allclose(numbers_of(found), numbers_of(whole), rtol=1e-11)


@pytest.fixture
def dask():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


def dies_once(mark, numbers):
    if 3 in numbers and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return squares(numbers)


def test_a_cluster_whose_worker_is_killed_loses_nothing(dask, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.Client(dask, set_as_default=False) as client:
        mark, keep = tmp_path / "mark", tmp_path / "kept"
        with joblib.parallel_config(backend="dask", client=client):
            found = map_points(functools.partial(dies_once, mark), range(12), call=["c"], keep=keep)
    assert mark.exists()
    assert found == squares(range(12))
    assert len([*keep.iterdir()]) == 12


def test_the_command_line_runs_on_a_cluster(dask, tmp_path):
    command = [sys.executable, "-m", "sparsetoken", "align", "--strength", "2,3", "--json"]
    alone, there = (
        subprocess.run([*command, *more], capture_output=True, text=True, timeout=120)
        for more in ([], ["--cluster", dask.scheduler_address])
    )
    assert (there.stdout, there.stderr) == (alone.stdout, alone.stderr)
    assert there.returncode == 0
