"""Runs: any executor, any order, deaths of workers, several runs at once."""

import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import xarray as xr

from sparsetoken.base.validation import InvalidInput
from sparsetoken.sweep import Counts, Grid, compute, run, to_frame, to_xarray
from sparsetoken.sweep.runs import count

GRIDS = {
    "alignment": Grid(
        "alignment",
        {"strength": [1.0, 1.6, 2.2, 2.8, 3.4, 4.0], "length": [2, 4, 8]},
        {"dimension": 12},
        quantities=("theory", "simulation"),
        trials=30,
    ),
    "learning": Grid(
        "learning",
        {
            "model": ["attention", "pooled"],
            "alpha1": [1.0, 3.0],
            "ridge": [0.01, 0.1],
        },
        {"dimension": 12, "length": 4, "tolerance": 1e-2, "cosine": 0.5, "sharpness": 1.0},
        quantities=("theory", "simulation"),
        trials=2,
    ),
    "capacity": Grid(
        "capacity",
        {"strength": [1.0, 4.0], "alpha1": [1.0, 3.0]},
        {"dimension": 12, "length": 4, "tolerance": 1e-2, "cosine": 0.5, "sharpness": 1.0},
        quantities=("theory", "simulation"),
        trials=2,
    ),
}
GRID = GRIDS["alignment"]


def test_a_run_draws_no_number_of_the_caller(tmp_path):
    random.seed(0)
    before = random.getstate()
    run(Grid("alignment", {"strength": [1.0, 2.0]}, {"length": 4}), tmp_path / "sweep")
    assert random.getstate() == before


def small_pieces(monkeypatch):
    """Let a piece of work have few results, so that a small grid has several."""
    monkeypatch.setattr(compute, "MOST_PREDICTIONS", dict.fromkeys(GRIDS, 3))
    monkeypatch.setattr(compute, "MOST_TRIALS", 20)


@pytest.mark.parametrize("experiment", GRIDS)
def test_results_do_not_depend_on_the_executor_or_on_restarts(
    tmp_path, pool, experiment, monkeypatch
):
    small_pieces(monkeypatch)
    grid = GRIDS[experiment]
    run(grid, tmp_path / "alone")
    expected = to_xarray(tmp_path / "alone")
    run(grid, tmp_path / "processes", pool)
    with ThreadPoolExecutor(2) as threads:
        run(grid, tmp_path / "threads", threads)

    def stop(counts):
        if counts.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(grid, tmp_path / "cut", on_counts=stop)
    assert 0 < count(grid, tmp_path / "cut").left < sum(grid.rows.values())
    run(grid, tmp_path / "cut")
    for name in ("processes", "threads", "cut"):
        assert to_xarray(tmp_path / name).identical(expected)


def test_what_does_not_depend_on_an_axis_is_computed_once(tmp_path, monkeypatch):
    grid = Grid(
        "learning",
        {
            "model": ["attention", "pooled"],
            "cosine": np.linspace(0.1, 0.9, 5),
            "alpha1": [1.0, 2.0],
        },
        {"length": 4, "sharpness": 1.0, "tolerance": 1e-1},
    )
    seen = []
    tried = compute._tried
    monkeypatch.setattr(compute, "_tried", lambda r, *rest: seen.extend(r) or tried(r, *rest))
    assert run(grid, tmp_path / "s.zarr").done == 20
    names = [call.trained.name for call in seen]
    assert (names.count("attention"), names.count("pooled")) == (10, 2)
    table = to_frame(tmp_path / "s.zarr").query("model == 'pooled'")
    assert table["test_error"].nunique() == 2


def failing(tmp_path):
    """Return a grid of which one trial of two fails: its exponential weights overflow."""
    fixed = {"model": "elementwise", "activation": "exp", "eta_q": 1e5, "dimension": 10}
    return Grid("learning", {"strength": [1.0, 6.0]}, fixed, quantities=("simulation",), trials=2)


def test_an_error_is_the_result_of_its_row_and_runs_again_on_request_only(tmp_path, monkeypatch):
    grid = failing(tmp_path)
    found = run(grid, tmp_path / "s.zarr")
    assert found == Counts(0, 4, 0, 0)
    table = to_frame(tmp_path / "s.zarr")
    assert table["message"].str.startswith("InvalidInput").all()
    seen = []
    tried = compute._tried
    monkeypatch.setattr(compute, "_tried", lambda r, *rest: seen.extend(r) or tried(r, *rest))
    assert run(grid, tmp_path / "s.zarr") == found
    assert seen == []
    assert run(grid, tmp_path / "s.zarr", retry_failed=True) == found
    assert len({call.name for call in seen}) == 4


RUN = """
import sys
import numpy as np
from sparsetoken.sweep import Grid, run
grid = Grid("alignment", {"strength": np.linspace(1, 4, 40)}, {"dimension": 12, "length": 4},
            quantities=("simulation",), trials=32)
if __name__ == "__main__":
    run(grid, sys.argv[1], on_counts=lambda counts: print(counts.left, flush=True))
"""


def start(script, *arguments):
    command = [sys.executable, str(script), *(str(a) for a in arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "run.py"
    path.write_text(RUN)
    return path


def test_two_runs_at_once_after_one_that_is_killed_give_the_same_results(tmp_path, script):
    with start(script, tmp_path / "cut") as process:
        for _ in range(4):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    both = [start(script, tmp_path / "cut") for _ in range(2)]
    found = {}
    exec(script.read_text(), found)
    run(found["grid"], tmp_path / "whole")
    for process in both:
        process.communicate(timeout=240)
        assert process.returncode == 0
    assert to_xarray(tmp_path / "cut").identical(to_xarray(tmp_path / "whole"))
    for name in ("cut", "whole"):
        arrays = xr.open_zarr(tmp_path / name / "results.zarr")["simulation_cosine"]
        assert (arrays == to_xarray(tmp_path / name)["simulation_cosine"]).all()


def test_a_killed_worker_costs_nothing(tmp_path, pool, monkeypatch):
    small_pieces(monkeypatch)
    run(GRID, tmp_path / "whole")
    killed = []

    def kill(counts):
        if counts.done and not killed:
            killed.append(pool._processes()[0])
            killed[0].kill()

    run(GRID, tmp_path / "killed", pool, on_counts=kill)
    assert killed
    assert to_xarray(tmp_path / "killed").identical(to_xarray(tmp_path / "whole"))


@pytest.mark.parametrize("workers", [0, -(10**5000), 1.5], ids=["0", "long", "1.5"])
def test_a_run_has_a_worker(tmp_path, workers):
    with pytest.raises(InvalidInput, match="workers must be an integer >= 1"):
        run(GRID, tmp_path / "s.zarr", workers=workers)
    assert not (tmp_path / "s.zarr").exists()


def test_what_is_no_executor_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="executor must be"):
        run(GRID, tmp_path / "s.zarr", 2)
    with pytest.raises(InvalidInput, match="grid must be a Grid"):
        run("spec.toml", tmp_path / "s.zarr")
    assert not (tmp_path / "s.zarr").exists()


@pytest.mark.slow
def test_a_cluster_gives_the_same_results(tmp_path):
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    grid = GRIDS["capacity"]
    run(grid, tmp_path / "here")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, worker_dashboard_address=None
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        run(grid, tmp_path / "there", client.get_executor(), workers=2)
    assert to_xarray(tmp_path / "there").identical(to_xarray(tmp_path / "here"))
