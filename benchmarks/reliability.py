"""Damage, kills, signals and full disks: right results or a message, and the same after going on.

    python benchmarks/reliability.py [bits damage kills limits signals] [--count 1000] [--quick]

A sweep and a report are run as commands, whatever files they keep:

- bits: random bits are flipped, each in another file of kept work, and the run is repeated;
- damage: a file of the folder is changed by chance, then results are read and the run is repeated;
- kills: runs are killed at random moments and run again; workers are killed; several runs share a
  folder; a folder is removed under a run;
- limits: a tmpfs with little room, standard output that is full, few files that can be opened;
- signals: SIGINT, SIGTERM and SIGHUP end a command with its workers and one line.

The exit code is 1 if anything went wrong. Kills, limits and signals need Linux.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import multiprocessing
import os
import pty
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from command_line import Finished, invoke

START = [sys.executable, "-m", "sparsetoken"]
SPEC = """experiment = "learning"
quantities = ["theory", "simulation"]
trials = {trials}
[fixed]
dimension = {dimension}
alpha1 = 0.2
loss = "square"
tolerance = 1e-3
[axes]
model = ["attention", "pooled"]
strength = [1.0, 2.0, 3.0]
"""
PIECE = re.compile(r"[0-9a-f]{20}\.json")
AXES = ["quantity", "trial", "model", "strength"]
SIMULATE = ["simulate", "attention", "--dimension", "600", "--trials", "400"]
WORDS = {signal.SIGINT: "Interrupted.", signal.SIGTERM: "Terminated.", signal.SIGHUP: "Hung up."}
QUICK = "--quick" in sys.argv  # sweeps alone, as a report takes a minute
Row = dict[str, str]


class Sweep:
    """A sweep in a folder, its table, and how the table is compared."""

    def __init__(self, work: Path, trials: int = 18, dimension: int = 12) -> None:
        self.work = work
        self.spec = work / f"spec{trials}_{dimension}.toml"
        self.spec.write_text(SPEC.format(trials=trials, dimension=dimension))

    def arguments(self, folder: Path) -> list[str]:
        """Return the command that fills the folder."""
        return ["sweep", str(self.spec), "--store", str(folder), "--json"]

    def read(self, folder: Path) -> tuple[int, pd.DataFrame]:
        """Return the exit code of an export, and the rows that it gave."""
        path = self.work / "table.csv"
        path.unlink(missing_ok=True)
        done = here("results", folder, "--export", path)
        assert "Traceback" not in done.stderr, done.stderr
        empty = pd.DataFrame(columns=[*AXES, "status"], dtype=str)
        rows = pd.read_csv(path, dtype=str, keep_default_na=False) if path.exists() else empty
        rows = rows[~rows["status"].isin(["", "missing"])]
        return done.exit_code, rows.set_index(AXES).sort_index()

    def told(self, done: Finished, folder: Path) -> pd.DataFrame:
        """Return the rows that a command has left."""
        return self.read(folder)[1]


class Report:
    """A report of one experiment that has many short pieces of work, and its claims."""

    def __init__(self, work: Path) -> None:
        self.work = work

    def arguments(self, folder: Path) -> list[str]:
        """Return the command that fills the folder."""
        return ["reproduce", "ridgeless", "--out", str(folder), "--json"]

    def read(self, folder: Path) -> tuple[int, pd.DataFrame]:
        """Return the claims of the report, as they are told when it is run again."""
        done = here(*self.arguments(folder))
        assert "Traceback" not in done.stderr, done.stderr
        return done.exit_code, self.told(done, folder)

    def told(self, done: Finished, folder: Path) -> pd.DataFrame:
        """Return the claims that a command has told."""
        claims = json.loads(done.stdout)["claims"] if done.stdout.strip() else []
        return pd.DataFrame(claims).astype(str)


def here(*arguments: object) -> Finished:
    """Run a command in this process, whose workers are threads: processes take long to start."""
    many = () if arguments[0] == "results" else ("--workers", 1)
    with mock.patch("sparsetoken.work.WorkerPool", ThreadPoolExecutor):
        return invoke(*arguments, *many)


def right(found: pd.DataFrame, truth: pd.DataFrame) -> bool:
    """Return whether each row that is there says what it should."""
    if not found.index.isin(truth.index).all() or not found.columns.isin(truth.columns).all():
        return False
    return found.equals(truth.loc[found.index, found.columns])


# Bits.


def bits(work: Path, rng: random.Random, count: int) -> Iterator[Row]:
    """Flip bits, each of another file, in the half of the kept work that took least time."""
    for job in (*([] if QUICK else [Report(work)]), Sweep(work, trials=15, dimension=1000)):
        kind = type(job).__name__.lower()
        folder = work / f"{kind}_bits"
        here(*job.arguments(folder))
        truth, flipped = job.read(folder)[1], 0
        while flipped < count:
            kept = [p for p in folder.rglob("*.json") if PIECE.fullmatch(p.name)]
            kept.sort(key=lambda p: json.loads(p.read_bytes())["seconds"])
            broken = kept[: min(max(len(kept) // 2, 1), count - flipped)]
            for path in broken:
                content, bit = bytearray(path.read_bytes()), rng.randrange(8 * path.stat().st_size)
                content[bit // 8] ^= 1 << bit % 8
                path.write_bytes(content)
            flipped += len(broken)
            done = here(*job.arguments(folder))
            same = job.told(done, folder).equals(truth)
            found = "found, then the same results" if same else "WRONG values"
            seen = re.search(rf"\b{len(broken)} (damaged files|kept pieces)", done.stderr)
            if not seen or "Traceback" in done.stderr:
                found = f"WRONG: {done.stderr[-200:]}"
            for _ in broken:
                yield {"check": f"bits, {kind}", "what": "a bit flipped", "found": found}


# Damage.


def damages(path: Path, others: list[Path], rng: random.Random) -> dict[str, Callable[[], object]]:
    """Return what can be done to a file, by name; others are files to mistake it for."""
    content, other = path.read_bytes(), rng.choice(others)

    def flip() -> None:
        bit, changed = rng.randrange(8 * max(len(content), 1)), bytearray(content or b"\0")
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)

    def in_its_place(make: Callable[[Path], object]) -> Callable[[], object]:
        return lambda: (path.unlink(), make(path))

    return {
        "a bit flipped": flip,
        "cut short": lambda: path.write_bytes(content[: rng.randrange(len(content) + 1)]),
        "removed": path.unlink,
        "another file in its place": lambda: path.write_bytes(other.read_bytes()),
        "random bytes": lambda: path.write_bytes(rng.randbytes(rng.randrange(2000))),
        "JSON of something else": lambda: path.write_text(rng.choice(["{}", "[]", "null"])),
        "a folder": in_its_place(Path.mkdir),
        "a link to nowhere": in_its_place(lambda p: p.symlink_to("nowhere")),
        "a link to another file": in_its_place(lambda p: p.symlink_to(other.resolve())),
    }


def damage(work: Path, rng: random.Random, count: int) -> Iterator[Row]:
    """Damage one file at a time; half of the damages are flipped bits."""
    jobs = [(Sweep(work), Sweep(work, trials=17), 1.0)]
    if not QUICK:
        jobs.append((Report(work), Report(work), 0.1))
    for job, foreign, share in jobs:
        kind = type(job).__name__.lower()
        whole, broken, apart = (work / f"{kind}_{n}" for n in ("whole", "broken", "apart"))
        code = here(*job.arguments(whole)).exit_code
        read, truth = job.read(whole)
        here(*foreign.arguments(apart))
        names = sorted(p.relative_to(whole) for p in whole.rglob("*") if p.is_file())
        others = [p for root in (whole, apart) for p in root.rglob("*") if p.is_file()]
        for number in range(max(round(share * count), 1)):
            shutil.rmtree(broken, ignore_errors=True)
            shutil.copytree(whole, broken)
            name = rng.choice(names)
            acts = damages(broken / name, others, rng)
            what = "a bit flipped" if number % 2 else rng.choice(list(acts))
            acts[what]()
            row = {"check": f"damage, {kind}", "what": what, "where": str(name)}
            try:
                yield {**row, "found": _after_damage(job, broken, (code, read), truth)}
            except Exception as error:  # counted as what went wrong
                yield {**row, "found": f"WRONG: {type(error).__name__} {str(error)[-200:]}"}


def _after_damage(
    job: Sweep | Report, folder: Path, codes: tuple[int, int], truth: pd.DataFrame
) -> str:
    """Return what is read of a damaged folder, and after the run was repeated."""
    code, found = job.read(folder)
    if not right(found, truth):
        return "WRONG values are read"
    whole = len(found) == len(truth)
    seen = "whole" if whole else "told" if code != codes[1] else "counted as left"
    done = here(*job.arguments(folder))
    if done.exit_code not in (0, codes[0]) or not done.stdout.strip():
        lines = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
        return f"{seen}, then refused" if len(lines) == 1 else f"WRONG: {done.stderr[-200:]}"
    same = job.read(folder)[1].equals(truth)
    return f"{seen}, then the same results" if same else "WRONG values after the run"


# Kills.


def started(arguments: list[str], **options: object) -> subprocess.Popen:
    """Start a command, leader of a group of processes."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True}
    return subprocess.Popen([*START, *arguments], text=True, **{**streams, **options})


def members(leader: int, of_workers: bool = True) -> list[int]:
    """Return the processes of a group but its leader; by default those that work for it."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, group = stat.read_text().rpartition(")")[2].split()[:3]
            pid = int(stat.parent.name)
            worker = not of_workers or b"spawn_main" in stat.with_name("cmdline").read_bytes()
            if int(group) == leader != pid and state not in "ZX" and worker:
                found.append(pid)
    return found


def ended(process: subprocess.Popen) -> str:
    """Return what is wrong with the end of a command: it did its work, or says why in one line."""
    text = process.communicate()[1] or ""
    errors = [line for line in text.splitlines() if line.startswith("Error: ")]
    clean = "Traceback" not in text and "Exception" not in text
    if clean and (process.returncode == 0 or (process.returncode in (1, 2) and len(errors) <= 1)):
        return ""
    return f"WRONG: exit code {process.returncode}, {text[-300:]}"


def kills(work: Path, rng: random.Random, count: int) -> Iterator[Row]:
    """Kill runs, or a worker of one in ten; each run that comes to its end is compared."""
    for job in (*([] if QUICK else [Report(work)]), Sweep(work, trials=15, dimension=1000)):
        kind = type(job).__name__.lower()
        begun = time.monotonic()
        _child(job.arguments(work / f"{kind}_kills")).join()
        seconds, (_, truth) = time.monotonic() - begun, job.read(work / f"{kind}_kills")
        done = hits = 0
        while hits < count:
            folder = work / f"{kind}_kills_{done}"
            what, hit, wrong = "a run", False, ""
            if hits % 10 < 9:
                child = _child(job.arguments(folder))
                child.join(rng.uniform(0, seconds / 12))
                child.kill()
                child.join()
                hit, ended_well = child.exitcode == -signal.SIGKILL, child.exitcode == 0
            else:
                what, (hit, wrong) = (
                    "a worker",
                    _worker_killed(job, folder, rng.uniform(1, seconds)),
                )
                ended_well = not wrong
            if hit:
                hits += 1
                yield {"check": f"kills, {kind}", "what": what, "found": wrong or "killed"}
            if ended_well or hits == count:
                last = here(*job.arguments(folder))
                same = last.exit_code == 0 and job.told(last, folder).equals(truth)
                found = "the same results" if same else "WRONG results after kills"
                yield {"check": f"kills, {kind}", "what": "a run that ended", "found": found}
                done += 1
        yield from _shared(job, kind, truth)


def _child(arguments: list[str]) -> multiprocessing.Process:
    """Return a process that runs a command, begun where all is imported and nothing computed."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", "sparsetoken.experiments.report.reproduce"])
    child = context.Process(target=_run, args=(arguments,))
    child.start()
    return child


def _run(arguments: list[str]) -> None:
    sys.exit(here(*arguments).exit_code)


def _worker_killed(job: Sweep | Report, folder: Path, after: float) -> tuple[bool, str]:
    """Kill a worker of a command; return whether there was one, and what is wrong with its end."""
    process = started([*job.arguments(folder), "--workers", "2"])
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(after)
    at = [] if process.poll() is not None else members(process.pid)
    for pid in at[:1]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return bool(at), ended(process)


def _shared(job: Sweep | Report, kind: str, truth: pd.DataFrame) -> Iterator[Row]:
    """Run twice at once in one folder, then remove a folder under a run."""
    folder = job.work / f"{kind}_shared"
    both = [started([*job.arguments(folder), "--workers", "1"]) for _ in range(2)]
    wrong = "".join(ended(process) for process in both)
    same = "the same results" if job.read(folder)[1].equals(truth) else "WRONG results"
    yield {"check": f"kills, {kind}", "what": "two at once", "found": wrong or same}
    shutil.rmtree(folder)
    process = started([*job.arguments(folder), "--workers", "1"])
    while process.poll() is None and len(list(folder.rglob("*"))) < 5:
        time.sleep(0.02)
    shutil.rmtree(folder, ignore_errors=True)
    yield {"check": f"kills, {kind}", "what": "folder removed", "found": ended(process) or "ended"}


# Limits.


def limits(work: Path, rng: random.Random, count: int) -> Iterator[Row]:
    """Run commands with little room for files, then again with room."""
    del rng
    sweep = Sweep(work)
    invoke(*sweep.arguments(work / "there"), "--workers", "1")
    X, y = np.random.default_rng(0).standard_normal((40, 3, 4)), np.arange(40) % 2
    np.savez(work / "bags.npz", X=X, y=y)
    disk = work / "disk"
    disk.mkdir()
    if "--inside" not in sys.argv:
        yield {"check": "limits", "what": "disk", "found": "left out: nothing can be mounted"}
        return
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)], check=True)
    commands = {
        "sweep": [*sweep.arguments(disk / "s"), "--workers", "1"],
        "results": ["results", str(work / "there"), "--export", str(disk / "t.csv")],
        "plot": ["plot", str(work / "there"), "--out", str(disk / "p.png")],
        "fit": ["fit", str(work / "bags.npz"), "--model", "pooled", "--out", str(disk / "m.skops")],
    }
    if not QUICK:
        commands["reproduce"] = [*Report(work).arguments(disk / "r"), "--workers", "1"]
    rooms = (0, 4, 16, 100)[: max(count, 1)]
    for (name, command), free in itertools.product(commands.items(), rooms):
        with _room(disk, 1024 * free):
            process = started(command)
            found = ended(process) or (_litter(disk) if process.returncode else "")
        again = invoke(*command)
        found = found or ("" if again.exit_code in (0, 1) else f"WRONG: {again.stderr[-200:]}")
        yield {"check": "limits", "what": f"{name}, {free} KiB free", "found": found or "held"}
        for path in disk.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, command in {"align": ["align"], "predict": ["predict", "pooled"]}.items():
        with open("/dev/full", "w") as full:
            found = ended(started([*command, "--json"], stdout=full)) or "held"
        yield {"check": "limits", "what": f"{name} > /dev/full", "found": found}
    for (name, command), files in itertools.product(commands.items(), (8, 16, 32)[:count]):
        few = (resource.RLIMIT_NOFILE, (files, files))
        process = started(command, preexec_fn=lambda few=few: resource.setrlimit(*few))
        found = ended(process) or "held"
        yield {"check": "limits", "what": f"{name}, {files} open files", "found": found}
    subprocess.run(["umount", str(disk)], check=True)


@contextlib.contextmanager
def _room(disk: Path, size: int) -> Iterator[None]:
    """Leave so much room on the disk."""
    state, ballast = os.statvfs(disk), disk / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, state.f_bavail * state.f_bsize - size)
    try:
        yield
    finally:
        ballast.unlink()


def _litter(disk: Path) -> str:
    """Return what a command that gave up left, but for the folders of kept work."""
    found = sorted({path.name for path in disk.iterdir()} - {"s", "r", "ballast"})
    return f"WRONG: left {', '.join(found)}" if found else ""


# Signals.


def signals(work: Path, rng: random.Random, count: int) -> Iterator[Row]:
    """End commands by signals, alone or with their group, on a terminal or in a pipe."""
    sweep = Sweep(work, trials=400, dimension=400)
    cases = list(itertools.product(("sweep", "simulate"), WORDS, (False, True), (False, True)))
    for number, (kind, sent, whole, terminal) in enumerate(rng.sample(cases, min(count, 24))):
        arguments = SIMULATE if kind == "simulate" else sweep.arguments(work / f"signal{number}")
        read, write = pty.openpty() if terminal else os.pipe()
        process = started([*arguments, "--workers", "2"], stderr=write)
        os.close(write)
        while len(members(process.pid)) < 2 and process.poll() is None:
            time.sleep(0.1)
        time.sleep(rng.uniform(0.0, 5.0))
        (os.killpg if whole else os.kill)(process.pid, sent)
        parts = []
        with contextlib.suppress(OSError), os.fdopen(read, "rb") as stream:  # a terminal's end
            while part := stream.read1(65536):
                parts.append(part)
        process.communicate()
        text = b"".join(parts).decode(errors="replace")
        faults = [] if process.returncode == 128 + sent else [f"exit code {process.returncode}"]
        faults += [] if WORDS[sent] in text and "Traceback" not in text else [text[-200:]]
        if text.rfind("\x1b[?25h") < text.rfind("\x1b[?25l"):
            faults.append("the cursor is hidden")
        deadline = time.monotonic() + 10
        while (left := members(process.pid, False)) and time.monotonic() < deadline:
            time.sleep(0.1)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        faults += [f"{len(left)} processes left"] if left else []
        where = f"{kind}, {'group' if whole else 'alone'}, {'terminal' if terminal else 'pipe'}"
        found = f"WRONG: {'; '.join(faults)}" if faults else "one line, no process left"
        yield {"check": "signals", "what": f"{sent.name}, {where}", "found": found}


CHECKS = {"bits": bits, "damage": damage, "kills": kills, "limits": limits, "signals": signals}
COUNTS = {
    **{"bits": (1000, 6), "damage": (100, 6), "kills": (100, 2)},
    **{"limits": (4, 1), "signals": (24, 2)},
}
"""Of each check, and in the quick setting."""


def main() -> int:
    """Run the checks, print what went wrong as it does, then a table of counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=", ".join(CHECKS))
    parser.add_argument("--count", type=int, help="of each check")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a few of each, without reports")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if unknown := set(asked.checks) - set(CHECKS):
        parser.error(f"no check {', '.join(unknown)}; there are {', '.join(CHECKS)}")
    if not asked.inside:  # in a namespace of its own a disk can be mounted
        for unshare in (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"]):
            if shutil.which("unshare") and not subprocess.run([*unshare, "true"]).returncode:
                os.execvp("unshare", [*unshare, sys.executable, *sys.argv, "--inside"])
    rows = []
    for name in asked.checks or CHECKS:
        count = asked.count or COUNTS[name][asked.quick]
        with tempfile.TemporaryDirectory() as folder:
            for row in CHECKS[name](Path(folder), random.Random(asked.seed), count):
                rows.append(row)
                print(*row.values(), sep=": ", file=sys.stderr, flush=True)
    table = pd.DataFrame(rows)
    counts = table.groupby(["check", "what", "found"]).size()
    print(counts.to_string())
    wrong = int(table["found"].str.startswith("WRONG").sum())
    print(f"{len(table)} tried, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
