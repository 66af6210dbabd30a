"""How commands end: signals, and a standard output that is full."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "sparsetoken"]
SIMULATE = ["simulate", "attention", "--dimension", "600", "--trials", "4000"]

# Tests in the background inherit that SIGINT or SIGHUP is ignored: set them back before the start.
HEEDING = (
    "import os, signal, sys; [signal.signal(n, signal.SIG_DFL) for n in (1, 2, 15)]; "
    "os.execv(sys.executable, {0})"
)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_standard_output_is_one_message():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "align", "--json"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("Error: standard output or a file cannot be")
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize("option", ["--json", "--help"])
def test_whoever_stops_reading_hears_no_message(option):
    script = " ".join([*COMMAND, "align", option, "| true; exit ${PIPESTATUS[0]}"])
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (141, "", "")  # as of other tools


def test_a_message_without_standard_error_does_not_go_to_the_output():
    command = " ".join([*COMMAND, "align", "--length", "0", "--json", "2>&-"])
    done = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, text=True)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("columns", ["0", "1"])
def test_the_help_ends_in_any_width(columns):
    command, environ = [*COMMAND, "align", "--help"], {**os.environ, "COLUMNS": columns}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    assert "--strength" in done.stdout


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_signal_to_all_processes_leaves_one_line():
    """The workers are hit while they start, which is when Python would write a traceback."""
    command = [*COMMAND, *SIMULATE, "--workers", "2"]
    process = subprocess.Popen(
        [sys.executable, "-c", HEEDING.format(command)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while process.poll() is None and len(_workers(process.pid)) < 2:
        time.sleep(0.05)
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.strip() == "Interrupted."


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("arguments", "number", "word", "seconds"),
    [
        (["predict", "attention"], signal.SIGTERM, "Terminated.", 0.0),
        (SIMULATE, signal.SIGHUP, "Hung up.", 0.2),
    ],
)
def test_a_signal_while_modules_are_imported_leaves_one_line(arguments, number, word, seconds):
    command = [*COMMAND, *arguments]
    process = subprocess.Popen(
        [sys.executable, "-c", HEEDING.format(command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not _catches(process.pid, signal.SIGHUP):  # the last one that is set
        assert process.poll() is None
    time.sleep(seconds)
    process.send_signal(number)
    out, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert out == ""
    assert said.strip() == word


ENDED = """
import multiprocessing.util, subprocess, types
from sparsetoken.cli.ending import end
gone = subprocess.Popen(["true"])
gone.wait()
worker = subprocess.Popen(["sleep", "600"])
multiprocessing.active_children = lambda: [types.SimpleNamespace(pid=p.pid) for p in (gone, worker)]
end("", 3)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_all_workers_are_killed_even_if_one_has_ended():
    """Those of joblib have a pid, and no kill()."""
    command = [sys.executable, "-c", ENDED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            process.communicate(timeout=30)  # the worker has the pipe, too
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 3


GRID = ["--alpha1", "0.5:8:40", "--length", "5,10,20", "--workers", "2"]
SCRIPT = """
import numpy as np, sparsetoken as st
problem, loads = st.SparseTokenProblem([[5], [10], [20]]), np.linspace(0.5, 8, 40)
st.predict(problem, st.Attention(), st.Readout(alpha1=loads), workers=2)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
@pytest.mark.parametrize(
    "command",
    [[*COMMAND, "predict", "attention", *GRID], [sys.executable, "-c", SCRIPT]],
    ids=["command", "script"],
)
def test_no_worker_outlives_what_started_it(command, name):
    for seconds in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5):  # of the start of the workers
        process = subprocess.Popen(
            [sys.executable, "-c", HEEDING.format(command)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        while not _workers(process.pid):
            assert process.poll() is None
            time.sleep(0.02)
        time.sleep(seconds)
        process.send_signal(getattr(signal, name))
        process.wait(timeout=60)
        for _ in range(100):  # those that follow their parent look once a second
            if not (left := _processes(process.pid)):
                break
            time.sleep(0.2)
        else:
            os.killpg(process.pid, signal.SIGKILL)
        assert not left, f"{name} after {seconds} s"


def _catches(pid, number):
    (mask,) = re.findall(r"SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())
    return int(mask, 16) >> (number - 1) & 1


def _workers(leader):
    return [one for one, text in _processes(leader).items() if b"popen_loky" in text]


def _processes(leader):
    """Return the command lines of the living processes of a group."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            text = (stat.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[2]) == leader and fields[0] != "Z":
            found[stat] = text
    return found
