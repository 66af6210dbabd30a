"""The commands sweep, results and plot: counts, refusals, and what is written."""

import csv
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from command_line import invoke as run
from sparsetoken.work import RunStopped

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


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with a spec and its sweep; the work ran in threads of this process."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "spec.toml").write_text(SPEC)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("sparsetoken.work.WorkerPool", ThreadPoolExecutor)
        found = run("sweep", "spec.toml", "--json")
    assert found.exit_code == 0
    counts = {"done": 30, "failed": 0, "left": 0, "not_converged": 0, "damaged": 0}
    assert values(found) == counts | {"store": "spec.sweep"}
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a spec."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.toml").write_text(SPEC)
    monkeypatch.setattr("sparsetoken.work.WorkerPool", ThreadPoolExecutor)
    return tmp_path


@pytest.fixture
def done(whole, here):
    """A folder with a spec and its sweep."""
    shutil.copytree(whole / "spec.sweep", here / "spec.sweep")
    return here


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def values(found):
    return json.loads(found.stdout)


def test_a_sweep_runs_once(done):
    before = run("results", "spec.sweep", "--export", "a.csv", "--json")
    assert values(before)["done"] == 30
    assert values(before)["statuses"] == {"converged": 30}
    assert run("sweep", "spec.toml").exit_code == 0
    run("results", "spec.sweep", "--export", "b.csv")
    assert (done / "a.csv").read_bytes() == (done / "b.csv").read_bytes()
    assert table(done / "a.csv")[0]["quantity"] == "theory"
    (done / "spec.toml").write_text(SPEC.replace("[1, 2]", "[1, 2, 3]"))
    planned = values(run("sweep", "spec.toml", "--dry-run", "--json"))
    assert (planned["rows"], planned["done"], planned["left"]) == (45, 30, 15)


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


@pytest.mark.parametrize(
    ("change", "arguments", "words"),
    [
        (("trials = 2", "trails = 2"), [], "spec.toml, line 3, trails"),
        (("[1, 2]", "[1, 9]"), [], "spec.toml, line 11, axes.informative"),
        (("trials = 2", "trials = 20000"), [], "--yes"),
        (("", ""), ["--workers", "0"], "workers"),
        (("", ""), ["--cluster", "tcp://127.0.0.1:1"], "--cluster"),
    ],
)
def test_bad_input_is_one_message_and_nothing_is_written(
    here, monkeypatch, change, arguments, words
):
    monkeypatch.setattr("sparsetoken.work.cluster.TIMEOUT_SECONDS", 0.5)
    if "--cluster" in arguments:
        pytest.importorskip("distributed", reason="dask.distributed is not installed")
    (here / "spec.toml").write_text(SPEC.replace(*change, 1))
    found = run("sweep", "spec.toml", *arguments)
    assert found.exit_code == 2
    assert found.stdout == ""
    assert words in found.stderr
    assert len(found.stderr.splitlines()) == 1
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
    assert "2 failed" in found.stderr
    shown = run("results", "spec.sweep", "--export", "t.csv")
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
    (here / "file").touch()
    found = run("sweep", "spec.toml", "--store", "file/s")
    assert found.exit_code == 1
    assert "file/s cannot be read or written" in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_an_executor_that_breaks_is_one_message(here, monkeypatch):
    def broken(*args, **kwargs):
        raise RunStopped("Worker processes die before they begin.")

    monkeypatch.setattr("sparsetoken.sweep.run", broken)
    found = run("sweep", "spec.toml")
    assert found.exit_code == 1
    assert "resumes from here" in found.stderr


def test_results_of_what_is_no_store(here):
    for name in ("no", "spec.toml", "."):
        found = run("results", name)
        assert found.exit_code == 2
        assert len(found.stderr.splitlines()) == 1
    found = run("results", "spec.toml", "--export", "t.txt")
    assert found.exit_code == 2
    assert ".csv, .parquet, .nc, .zarr, .zarr.zip" in found.stderr
    (here / "t.csv").write_text("mine")
    assert run("results", "no", "--export", "t.csv").exit_code == 2
    assert (here / "t.csv").read_text() == "mine"


def damage(store):
    """Flip a bit of the file that has most results: the trials."""
    file = max((store / "pieces").iterdir(), key=lambda path: path.stat().st_size)
    content = bytearray(file.read_bytes())
    rng = random.Random(0)
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    file.write_bytes(content)


def test_what_is_damaged_is_told_left_out_and_run_again(done):
    run("results", "spec.sweep", "--export", "whole.csv")
    damage(done / "spec.sweep")
    found = run("results", "spec.sweep", "--export", "t.csv", "--json")
    assert found.exit_code == 1
    assert (values(found)["damaged"], values(found)["left"]) == (1, 20)
    assert "1 files are damaged" in found.stderr
    lines = table(done / "t.csv")
    assert [line["status"] for line in lines] == ["converged"] * 10 + ["missing"] * 20
    assert {line["cosine"] for line in lines[10:]} == {""}
    assert run("plot", "spec.sweep").exit_code == 1
    assert not (done / "spec.svg").exists()
    found = run("sweep", "spec.toml")
    assert found.exit_code == 0
    assert "1 damaged files; computed again" in found.stderr
    run("results", "spec.sweep", "--export", "again.csv")
    assert (done / "again.csv").read_bytes() == (done / "whole.csv").read_bytes()


def test_plot_draws_what_the_spec_says(done):
    found = run("plot", "spec.sweep", "--json")
    assert found.exit_code == 0
    assert values(found) == {
        "figure": "spec.svg",
        "points": 20,
        "not_converged": 0,
        "missing": 0,
    }
    first = (done / "spec.svg").read_bytes()
    assert b"<svg" in first
    run("plot", "spec.sweep", "--out", "again.svg")
    assert (done / "again.svg").read_bytes() == first
    run("plot", "spec.sweep", "--out", "a.pdf")
    assert b"CreationDate" not in (done / "a.pdf").read_bytes()
    found = run("plot", "spec.sweep", "--x", "strength", "--y", "informative", "--out", "m.png")
    assert found.exit_code == 0
    assert (done / "m.png").read_bytes()[1:4] == b"PNG"


def test_a_plot_does_not_depend_on_the_backend_of_the_user(done):
    command = [sys.executable, "-m", "sparsetoken", "plot", "spec.sweep"]
    environ = {**os.environ, "MPLBACKEND": "none_such"}
    subprocess.run(command, cwd=done, env=environ, check=True)
    assert (done / "spec.svg").exists()


def test_plots_that_are_refused(done):
    (done / "spec.sweep.svg").mkdir()
    for arguments, words in [
        (["--x", "length"], "--x must be the name of an axis"),
        (["--value", "beauty"], "--value must be one of"),
        (["--out", "a.txt"], ".svg"),
        (["--out", "no/a.svg"], "writable folder"),
        (["--out", "spec.sweep.svg"], "a file; got"),
    ]:
        found = run("plot", "spec.sweep", *arguments)
        assert found.exit_code == 2
        assert words in found.stderr


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
    while time.monotonic() < deadline and _done(tmp_path / "spec.sweep") < 4:
        time.sleep(0.02)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert time.monotonic() - start < 30
    assert process.returncode == 130
    assert "Interrupted" in said
    assert 4 <= _done(tmp_path / "spec.sweep") < 126


# Ctrl-C also where the tests themselves were started with it ignored.
RESTORED = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from sparsetoken.cli import main; main()"
)


def _done(path):
    """Return the number of pieces that have been kept."""
    return len([*path.glob("pieces/[0-9a-f]*.json")])


def full(*_, **__):
    raise OSError(28, "No space left on device")


def files(folder):
    return sorted(p.name for p in folder.iterdir())


@pytest.mark.parametrize("name", ["t.csv", "t.zarr.zip"])
def test_an_export_on_a_full_disk_leaves_nothing(name, done, monkeypatch):
    known = files(done)
    monkeypatch.setattr("sparsetoken.base.files.os.fsync", full)
    found = run("results", "spec.sweep", "--export", name)
    assert found.exit_code == 1
    assert "No space left on device" in found.stderr
    assert files(done) == known


def test_an_export_to_a_folder(done):
    assert run("results", "spec.sweep", "--export", "t.zarr").exit_code == 0
    assert (done / "t.zarr" / "zarr.json").is_file()
    found = run("results", "spec.sweep", "--export", "t.zarr")
    assert found.exit_code == 2
    assert "--export must be a file; got 't.zarr, a folder'" in found.stderr


@pytest.mark.parametrize(("points", "seconds"), [(10**4, 10**6), (10**5, 10**9)])
def test_a_huge_grid_is_planned_and_refused_at_once(points, seconds, here):
    ends = f"{{ from = 1, to = 2, points = {points} }}"
    (here / "huge.toml").write_text(
        'experiment = "alignment"\n[fixed]\nlength = 4\n[axes]\n'
        + "".join(f"{name} = {ends}\n" for name in ("strength", "alpha0", "beta"))
    )
    planned = values(run("sweep", "huge.toml", "--dry-run", "--json"))
    assert planned["points"] == planned["rows"] == points**3
    assert planned["seconds"] > seconds
    found = run("sweep", "huge.toml", "--yes")
    assert found.exit_code == 2
    assert "GiB in memory" in found.stderr
    assert not (here / "huge.sweep").exists()


def test_an_export_does_not_replace_the_store(here):
    for name in ("s.csv", "s.svg"):
        run("sweep", "spec.toml", "--store", name)
    found = run("results", "s.csv", "--export", "s.csv")
    assert found.exit_code == 2
    assert "a file other than the input" in found.stderr
    assert run("plot", "s.svg").exit_code == 2
    assert run("results", "s.csv").exit_code == run("results", "s.svg").exit_code == 0
