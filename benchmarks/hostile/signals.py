"""End commands by signals: what they leave on the terminal and among the processes.

`sweep` and `simulate` run with two workers, on a terminal and into a pipe, and get SIGINT, SIGTERM
or SIGHUP, alone or with their whole group as from a terminal. Each must end with exit code 128 + n
and one line, show the cursor, and leave no process and no warning. SIGKILL of one worker of
`simulate` must change no result. Needs Linux.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import pty
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SPEC = """experiment = "learning"
quantities = ["simulation"]
trials = 400
[fixed]
dimension = 400
[axes]
strength = [1.0, 2.0, 3.0]
"""
SIMULATE = ["simulate", "attention", "--dimension", "600", "--workers", "2", "--trials", "400"]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
WORDS = {signal.SIGINT: "Interrupted.", signal.SIGTERM: "Terminated.", signal.SIGHUP: "Hung up."}


def group(leader: int) -> list[int]:
    """Return the processes of a group that run, but for the leader."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[2]) == leader and fields[0] not in "ZX":
                found.append(int(stat.parent.name))
    return [pid for pid in found if pid != leader]


def workers(leader: int) -> list[int]:
    """Return the worker processes of a command."""
    found = []
    for pid in group(leader):
        with contextlib.suppress(OSError):
            if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


class Command:
    """A command in a group of its own, on a terminal or not."""

    def __init__(self, arguments: list[str], terminal: bool) -> None:
        command = [sys.executable, "-m", "sparsetoken", *arguments]
        self._read, write = pty.openpty() if terminal else os.pipe()
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=write,
            start_new_session=True,
        )
        os.close(write)

    def wait_for_work(self) -> None:
        while len(workers(self.process.pid)) < 2 and self.process.poll() is None:
            time.sleep(0.1)
        time.sleep(random.uniform(0.0, 8.0))

    def said(self) -> str:
        """Return what it wrote to standard error until its end."""
        parts = []
        with contextlib.suppress(OSError):  # the end of a terminal
            while part := os.read(self._read, 65536):
                parts.append(part)
        os.close(self._read)
        return b"".join(parts).decode(errors="replace")


def ended(arguments: list[str], number: signal.Signals, whole: bool, terminal: bool) -> list[str]:
    """Return what is wrong with a command that a signal has ended."""
    command = Command(arguments, terminal)
    command.wait_for_work()
    send = os.killpg if whole else os.kill
    send(command.process.pid, number)
    said = command.said()
    code = command.process.wait()
    faults = [] if code == 128 + number else [f"exit code {code}"]
    if terminal and "\x1b[?25l" in said and not said.rstrip().endswith(WORDS[number]):
        faults.append("last line")
    if terminal and said.rfind("\x1b[?25h") < said.rfind("\x1b[?25l"):
        faults.append("no cursor")
    if not terminal and said.strip() != WORDS[number]:
        faults.append(f"said {said.strip()!r}")
    if "resource_tracker" in said or "Traceback" in said:
        faults.append(f"warning {said[-600:]!r}")
    deadline = time.monotonic() + 10
    while group(command.process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    left = group(command.process.pid)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return faults + ([f"{len(left)} processes left"] if left else [])


def survives(kills: int) -> list[str]:
    """Kill workers of `simulate`; return what is wrong with its result."""
    arguments = [*SIMULATE, "--json"]
    command = [sys.executable, "-m", "sparsetoken", *arguments]
    expected = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    hit = 0
    while hit < kills and process.poll() is None:
        time.sleep(random.uniform(0.5, 2.0))
        for pid in workers(process.pid)[:1]:
            os.kill(pid, signal.SIGKILL)
            hit += 1
    out, error = process.communicate()
    print(f"simulate: {hit} workers killed, exit code {process.returncode}", flush=True)
    if process.returncode:
        return [error.decode()[-300:]]
    return [] if json.loads(out) == expected else ["other results"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    random.seed(parser.parse_args().seed)
    tried, wrong = 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "spec.toml").write_text(SPEC)
        cases = itertools.product(("sweep", "simulate"), SIGNALS, (False, True), (False, True))
        for number, (kind, sent, whole, terminal) in enumerate(cases):
            arguments = SIMULATE
            if kind == "sweep":
                store = str(folder / f"{number}.zarr")
                arguments = ["sweep", str(folder / "spec.toml"), "--store", store, "--workers", "2"]
            faults = ended(arguments, sent, whole, terminal)
            tried, wrong = tried + 1, wrong + bool(faults)
            where = f"{'group' if whole else 'alone'}, {'terminal' if terminal else 'pipe'}"
            print(f"{kind}, {sent.name}, {where}: {'; '.join(faults) or 'ended'}", flush=True)
        faults = survives(2)
        print(f"simulate: {'; '.join(faults) or 'same result'}")
    print(f"{tried} signals, {wrong} wrong")


if __name__ == "__main__":
    main()
