"""The commands sweep, results and plot: counts, refusals, and what is written."""

import contextlib
import csv
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command_line import invoke
from sparsetoken.sweep import RunStopped, WorkerPool, runner

SPEC = """\
experiment = "alignment"
quantities = ["theory", "simulation"]
trials = 2

[fixed]
dimension = 12
length = 4

[axes]
strength = { from = 1, to = 4, points = 5 }
informative = [1, 2]

[plot]
x = "strength"
curves = "informative"
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a spec; rows run in this process."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.toml").write_text(SPEC)

    class Lanes(runner.InProcess):
        def __init__(self, workers):
            super().__init__()

    monkeypatch.setattr("sparsetoken.sweep.WorkerPool", Lanes)
    return tmp_path


def run(*arguments):
    return invoke(*arguments)


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def values(found):
    return json.loads(found.stdout)


def test_a_sweep_runs_once(here):
    found = run("sweep", "spec.toml", "--store", "s.sqlite", "--json")
    assert found.exit_code == 0
    counts = {"done": 30, "failed": 0, "left": 0, "not_converged": 0, "store": "s.sqlite"}
    assert values(found) == counts
    before = run("results", "s.sqlite", "--export", "a.csv", "--json")
    assert values(before)["done"] == 30
    assert run("sweep", "spec.toml", "--store", "s.sqlite").exit_code == 0
    run("results", "s.sqlite", "--export", "b.csv")
    assert (here / "a.csv").read_bytes() == (here / "b.csv").read_bytes()
    assert table(here / "a.csv")[0]["experiment"] == "alignment"


def test_the_store_is_named_after_the_spec(here):
    run("sweep", "spec.toml")
    assert (here / "spec.sqlite").exists()


def test_raising_trials_adds_the_missing_ones(here):
    run("sweep", "spec.toml")
    (here / "spec.toml").write_text(SPEC.replace("trials = 2", "trials = 5"))
    planned = values(run("sweep", "spec.toml", "--dry-run", "--json"))
    assert (planned["rows"], planned["done"], planned["left"]) == (60, 30, 30)
    assert values(run("sweep", "spec.toml", "--json"))["done"] == 60


def test_the_points_of_a_known_sweep_are_not_checked_again(here, monkeypatch):
    run("sweep", "spec.toml")
    checked = []
    monkeypatch.setattr(
        "sparsetoken.sweep.grid.Grid.check_points", lambda *_, **__: checked.append(1)
    )
    assert run("sweep", "spec.toml").exit_code == 0
    assert checked == []
    assert run("sweep", "spec.toml", "--memory-budget", "1000000000").exit_code == 0
    assert checked == [1]


def test_a_dry_run_writes_nothing(here):
    found = run("sweep", "spec.toml", "--dry-run", "--json")
    assert found.exit_code == 0
    planned = values(found)
    assert planned["points"] == 10
    assert planned["theory_rows"] == 10
    assert planned["simulation_rows"] == 20
    assert planned["seconds"] > 0
    assert os.listdir(here) == ["spec.toml"]
    assert "points" in run("sweep", "spec.toml", "--dry-run").stdout


def test_progress_and_tables_for_people(here):
    found = run("sweep", "spec.toml")
    assert "done" in found.stdout
    found = run("results", "spec.sqlite")
    assert found.exit_code == 0
    assert "status converged" in found.stdout


@pytest.mark.parametrize(
    ("change", "arguments", "words"),
    [
        (("trials = 2", "trails = 2"), [], "spec.toml, line 3, trails"),
        (("[1, 2]", "[]"), [], "spec.toml, line 11, axes.informative"),
        (("[1, 2]", "[1, 9]"), [], "spec.toml, line 11, axes.informative"),
        (("length = 4", "strength = 4"), [], "spec.toml, line 7, fixed.strength"),
        (("trials = 2", "trials = -2"), [], "spec.toml, line 3, trials"),
        (("trials = 2", "trials = 20000"), [], "--yes"),
        (("", ""), ["--workers", "-1"], "workers"),
        (("", ""), ["--memory-budget", "0"], "--memory-budget"),
        (("", ""), ["--memory-budget", "100"], "memory_budget"),
        (("", ""), ["--cluster", "tcp://127.0.0.1:1"], "--cluster"),
    ],
)
def test_bad_input_is_one_message_and_nothing_is_written(
    here, monkeypatch, change, arguments, words
):
    monkeypatch.setattr("sparsetoken.sweep.cluster.TIMEOUT_SECONDS", 0.5)
    if "--cluster" in arguments:
        pytest.importorskip("distributed", reason="dask.distributed is not installed")
    (here / "spec.toml").write_text(SPEC.replace(*change, 1))
    found = run("sweep", "spec.toml", *arguments)
    assert found.exit_code == 2
    assert found.stdout == ""
    assert words in found.stderr
    assert len(found.stderr.splitlines()) == 1
    assert os.listdir(here) == ["spec.toml"]


def test_a_cluster_without_dask_names_the_extra(here, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    found = run("sweep", "spec.toml", "--cluster", "tcp://127.0.0.1:1")
    assert found.exit_code == 2
    assert "sparsetoken[cluster]" in found.stderr
    assert os.listdir(here) == ["spec.toml"]


def test_failed_rows_are_told_and_retried_on_request(here, monkeypatch):
    # exponential weights at the query that training finds overflow, which no check can foresee
    (here / "spec.toml").write_text(
        'experiment = "learning"\nquantities = ["simulation"]\n[fixed]\nmodel = "elementwise"\n'
        'activation = "exp"\neta_q = 1e5\ndimension = 10\n[axes]\nstrength = [1, 6]\n'
    )
    found = run("sweep", "spec.toml", "--json")
    assert found.exit_code == 1
    assert values(found)["failed"] == 2
    assert "2 rows failed" in found.stderr
    shown = run("results", "spec.sqlite", "--export", "t.csv")
    assert shown.exit_code == 0
    assert "failed: InvalidInput" in shown.stderr
    assert {row["status"] for row in table(here / "t.csv")} == {"failed"}
    again = run("sweep", "spec.toml", "--retry-failed", "--json")
    assert values(again)["failed"] == 2


def test_rows_that_did_not_converge_end_with_exit_code_1(here):
    (here / "spec.toml").write_text(
        'experiment = "learning"\nquantities = ["simulation"]\n[fixed]\nmodel = "pooled"\n'
        "alpha1 = 0.1\ndimension = 10\n[axes]\nstrength = [1, 2]\n"
    )
    found = run("sweep", "spec.toml", "--json")
    assert found.exit_code == 1
    assert values(found)["not_converged"] == 2
    assert "did not converge" in found.stderr


def test_a_store_that_cannot_be_made_is_one_message(here):
    found = run("sweep", "spec.toml", "--store", "no/s.sqlite")
    assert found.exit_code == 1
    assert "cannot be opened or created" in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_an_executor_that_breaks_is_one_message(here, monkeypatch):
    def broken(*args, **kwargs):
        raise RunStopped("Worker processes die before they begin.")

    monkeypatch.setattr("sparsetoken.sweep.run", broken)
    found = run("sweep", "spec.toml")
    assert found.exit_code == 1
    assert "goes on from here" in found.stderr


def test_results_of_what_is_no_store(here):
    assert run("results", "no.sqlite").exit_code == 2
    assert run("results", "spec.toml").exit_code == 1
    found = run("results", "spec.toml", "--export", "t.txt")
    assert found.exit_code == 2
    assert ".csv, .parquet or .sqlite" in found.stderr


def test_a_damaged_store_is_told_and_exported_as_far_as_it_can_be_read(here):
    run("sweep", "spec.toml")
    with sqlite3.connect("spec.sqlite") as connection:
        connection.execute("UPDATE results SET content = '[1, 2, 3, 4, 5]' WHERE id = 7")
    connection.close()
    found = run("results", "spec.sqlite", "--export", "t.csv", "--json")
    assert found.exit_code == 1
    assert values(found)["damage"] == "1 finished rows cannot be read"
    assert "1 finished rows cannot be read" in found.stderr
    assert len(table(here / "t.csv")) == 29


def test_a_sweep_on_a_damaged_store_is_refused(here):
    run("sweep", "spec.toml")
    data = bytearray((here / "spec.sqlite").read_bytes())
    data[8192:12288] = bytes(4096)  # the third page of the file
    (here / "spec.sqlite").write_bytes(data)
    found = run("sweep", "spec.toml")
    assert found.exit_code == 1
    assert "is damaged" in found.stderr
    assert len(found.stderr.splitlines()) == 1
    assert (here / "spec.sqlite").read_bytes()[8192:12288] == bytes(4096)


def test_plot_draws_what_the_spec_says(here):
    run("sweep", "spec.toml")
    found = run("plot", "spec.sqlite", "--json")
    assert found.exit_code == 0
    assert values(found) == {
        "figure": "spec.svg",
        "points": 20,
        "not_converged": 0,
        "missing": 0,
    }
    first = (here / "spec.svg").read_bytes()
    assert b"<svg" in first
    run("plot", "spec.sqlite", "--out", "again.svg")
    assert (here / "again.svg").read_bytes() == first
    run("plot", "spec.sqlite", "--out", "a.pdf")
    assert b"CreationDate" not in (here / "a.pdf").read_bytes()
    found = run("plot", "spec.sqlite", "--x", "strength", "--y", "informative", "--out", "m.png")
    assert found.exit_code == 0
    assert (here / "m.png").read_bytes()[1:4] == b"PNG"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--x", "length"], "name of an axis"),
        (["--value", "beauty"], "plot.value"),
        (["--out", "a.txt"], ".svg"),
        (["--out", "no/a.svg"], "can be written"),
        (["--sweep", "5"], "one of 1"),
    ],
)
def test_plots_that_are_refused(here, arguments, words):
    run("sweep", "spec.toml")
    found = run("plot", "spec.sqlite", *arguments)
    assert found.exit_code == 2
    assert words in found.stderr


def test_processes_are_the_default():
    with WorkerPool(1) as pool:
        assert pool.submit(os.getpid).result() != os.getpid()


def test_ctrl_c_ends_at_once_and_the_store_resumes(tmp_path):
    (tmp_path / "spec.toml").write_text(
        SPEC.replace('"theory", ', "")
        .replace("points = 5", "points = 400")
        .replace("trials = 2", "trials = 20")
    )
    command = [sys.executable, "-c", RESTORED, "sweep", "spec.toml", "--workers", "2", "--json"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 240  # on a busy machine the workers take long to start
    while time.monotonic() < deadline and _done(tmp_path / "spec.sqlite") < 20:
        time.sleep(0.02)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert time.monotonic() - start < 30
    assert process.returncode == 130
    assert "Interrupted" in said
    assert 20 <= _done(tmp_path / "spec.sqlite") < 16000


# Ctrl-C also where the tests themselves were started with it ignored.
RESTORED = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from sparsetoken.cli import main; main()"
)


def _done(path):
    if not path.exists():
        return 0
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT count(*) FROM tasks WHERE state > 1").fetchone()[0]
    except sqlite3.Error:
        return 0
    finally:
        connection.close()


def test_an_export_does_not_replace_the_store(here):
    run("sweep", "spec.toml", "--store", "s.csv")
    before = (here / "s.csv").read_bytes()
    found = run("results", "s.csv", "--export", "s.csv")
    assert found.exit_code == 2
    assert "another file than the input" in found.stderr
    (here / "s.svg").write_bytes(before)
    assert run("plot", "s.svg").exit_code == 2
    assert (here / "s.csv").read_bytes() == (here / "s.svg").read_bytes() == before


def full(*_, **__):
    raise OSError(28, "No space left on device")


def files(folder):
    """Return what lies in a folder, but for what SQLite leaves beside a store."""
    return sorted(p.name for p in folder.iterdir() if not p.name.endswith(("-wal", "-shm")))


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_table_on_a_full_disk_leaves_nothing(name, here, monkeypatch):
    if name == "t.parquet":
        pytest.importorskip("pyarrow")
    run("sweep", "spec.toml")
    known = files(here)
    monkeypatch.setattr("sparsetoken.files.os.fsync", full)
    found = run("results", "spec.sqlite", "--export", name)
    assert found.exit_code == 1
    assert "No space left on device" in found.stderr
    assert files(here) == known


def test_a_store_on_a_full_disk_leaves_nothing(here, monkeypatch):
    run("sweep", "spec.toml")
    known = files(here)
    monkeypatch.setattr("sparsetoken.sweep.store.Store.add_finished", full)
    found = run("results", "spec.sqlite", "--export", "t.sqlite")
    assert found.exit_code == 1
    assert "No space left on device" in found.stderr
    assert files(here) == known


def test_a_picture_on_a_full_disk_leaves_nothing(here, monkeypatch):
    run("sweep", "spec.toml")
    known = files(here)
    monkeypatch.setattr("sparsetoken.files.os.fsync", full)
    found = run("plot", "spec.sqlite", "--out", "s.png")
    assert found.exit_code == 1
    assert "No space left on device" in found.stderr
    assert files(here) == known


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_disk_that_fills_up_in_the_middle_of_a_picture_is_one_message(here, monkeypatch):
    run("sweep", "spec.toml")
    device = contextlib.nullcontext(Path("/dev/full"))
    monkeypatch.setattr("sparsetoken.cli.sweeps.written_whole", lambda path: device)
    found = run("plot", "spec.sqlite", "--out", "s.pdf")
    assert found.exit_code == 1
    assert found.stderr.count("\n") == 1
    assert "No space left on device" in found.stderr


def test_damaged_rows_are_told_and_run_again(here):
    run("sweep", "spec.toml")
    run("results", "spec.sqlite", "--export", "whole.csv")
    with sqlite3.connect("spec.sqlite") as connection:
        connection.execute("UPDATE configurations SET content = '[]' WHERE id < 4")
    connection.close()
    found = run("sweep", "spec.toml")
    assert found.exit_code == 0
    assert "3 rows are damaged and run again" in found.stderr
    run("results", "spec.sqlite", "--export", "again.csv")
    assert (here / "again.csv").read_bytes() == (here / "whole.csv").read_bytes()


def test_a_store_whose_creation_was_interrupted_is_run_on(here):
    connection = sqlite3.connect("spec.sqlite")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    assert run("sweep", "spec.toml", "--dry-run").exit_code == 0
    assert run("sweep", "spec.toml").exit_code == 0


def test_what_is_wrong_with_a_store_is_not_said_of_the_spec(here):
    (here / "[").mkdir()
    with sqlite3.connect("[/x].sqlite") as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    found = run("sweep", "spec.toml", "--store", "[/x].sqlite")
    assert found.exit_code == 2
    assert "[/x].sqlite, another SQLite file" in found.stderr
    assert "spec.toml" not in found.stderr


def test_the_name_of_a_store_is_no_markup(here):
    (here / "[").mkdir()
    name = "[/x][b].sqlite"
    assert run("sweep", "spec.toml", "--store", name).exit_code == 0
    found = run("results", name)
    assert found.exit_code == 0
    assert "[/x][b]" in found.stdout
    assert run("plot", name, "--out", "[/x].svg").exit_code == 0


def test_a_store_named_memory_is_a_file(here):
    assert run("sweep", "spec.toml", "--store", ":memory:").exit_code == 0
    assert (here / ":memory:").stat().st_size > 0


def test_a_large_grid_is_counted_before_its_points_are_checked(here, monkeypatch):
    def check(*_):
        raise AssertionError("checked")

    monkeypatch.setattr("sparsetoken.sweep.grid.Grid.check_points", check)
    (here / "large.toml").write_text(
        'experiment = "learning"\n[axes]\n'
        "alpha1 = { from = 1, to = 9, points = 2000 }\n"
        "strength = { from = 1, to = 9, points = 2000 }\n"
    )
    found = run("sweep", "large.toml")
    assert found.exit_code == 2
    assert "got 4000000" in found.stderr


def test_an_address_that_is_none(here):
    found = run("sweep", "spec.toml", "--cluster", "x")
    assert found.exit_code == 2
    assert "tcp://host:8786; got 'x'" in found.stderr
