"""Worker processes: one BLAS thread each, and nothing left in the environment."""

import os
import signal
import subprocess
import sys
import time

import pytest

from sparsetoken.sweep.processes import WorkerPool, one_thread_each, worker_pool
from sparsetoken.validation import InvalidInput


def test_workers_have_one_thread(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with worker_pool(1) as pool:
        assert pool.submit(os.getenv, "OMP_NUM_THREADS").result() == "1"
    assert "OMP_NUM_THREADS" not in os.environ


def test_the_choice_of_the_user_stays(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    with one_thread_each():
        assert os.environ["OMP_NUM_THREADS"] == "3"
    assert os.environ["OMP_NUM_THREADS"] == "3"


def test_an_error_drops_the_rest():
    with pytest.raises(RuntimeError, match="stop"), worker_pool(1):
        raise RuntimeError("stop")


ORPHANED = """
import os, time
from sparsetoken.sweep.processes import worker_pool
if __name__ == "__main__":
    with worker_pool(1) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 100)
        time.sleep(100)
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
        start = time.monotonic()
        process.communicate(timeout=60)
    assert time.monotonic() - start < 30  # the worker would sleep for 100 seconds


def test_more_workers_than_files_may_be_open(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
    with pytest.raises(InvalidInput, match="at most 16 here; got 400"):
        WorkerPool(400)
