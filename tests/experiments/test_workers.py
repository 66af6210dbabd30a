"""Worker processes: one BLAS thread each, and nothing left in the environment."""

import os

import pytest

from sparsetoken.experiments.workers import one_thread_each, worker_pool


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
