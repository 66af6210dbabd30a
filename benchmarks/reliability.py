"""Damage, kills, signals and full disks: right results or a message, and the same after going on.

    python benchmarks/reliability.py [bits damage kills limits signals] [--count 1000] [--quick]

A sweep and a report are run as commands, whatever files they keep:

- bits: random bits are flipped, each in another file of kept work, and the run is repeated;
- damage: files of the folder are changed by chance, then results are read and the run is repeated;
- kills: runs are killed at random moments and run again; workers are killed; several runs share a
  folder; a folder is removed under a run;
- limits: files that can hold little, standard output that is full, few files that can be opened;
- signals: SIGINT, SIGTERM and SIGHUP end a command with its workers and one line.

The exit code is 1 if anything went wrong. Kills, limits and signals need Linux.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
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


def damage(work: Path, rng: random.Random, count: int, bits: bool = False) -> Iterator[Row]:
    """Damage files of a folder, three at once; or flip bits in half of the kept work."""
    here(*Sweep(work, trials=17).arguments(work / "apart"))
    for job in (*([] if QUICK else [Report(work)]), Sweep(work)):
        kind, done = type(job).__name__.lower(), 0
        check = f"{'bits' if bits else 'damage'}, {kind}"
        whole, broken = work / f"{kind}_whole", work / f"{kind}_broken"
        code = here(*job.arguments(whole)).exit_code
        read, truth = job.read(whole)
        others = [p for root in (whole, work / "apart") for p in root.rglob("*") if p.is_file()]
        while done < count:
            shutil.rmtree(broken, ignore_errors=True)
            shutil.copytree(whole, broken)
            files = sorted(p for p in broken.rglob("*") if p.is_file())
            if bits:  # the half that took least time
                files = [p for p in files if PIECE.fullmatch(p.name)]
                files.sort(key=lambda p: json.loads(p.read_bytes())["seconds"])
                files = files[: min(len(files) // 2, count - done)]
            else:
                files = rng.sample(files, min(3, count - done))
            rows = []
            for path in files:
                acts = damages(path, others, rng)
                what = "a bit flipped" if bits else rng.choice(list(acts))
                acts[what]()
                where = str(path.relative_to(broken))
                rows.append({"check": check, "what": what, "where": where})
            try:
                if bits:
                    found = _after_bits(job, broken, truth, len(files))
                else:
                    found = _after_damage(job, broken, (code, read), truth)
            except Exception as error:  # counted as what went wrong
                found = f"WRONG: {type(error).__name__} {str(error)[-200:]}"
            yield from ({**row, "found": found} for row in rows)
            done += len(files)


def _after_bits(job: Sweep | Report, folder: Path, truth: pd.DataFrame, flipped: int) -> str:
    """Return whether a run finds every flipped file, and gives the same results."""
    done = here(*job.arguments(folder))
    seen = re.search(rf"\b{flipped} (damaged files|kept pieces)", done.stderr)
    if not seen or "Traceback" in done.stderr:
        return f"WRONG: {done.stderr[-200:]}"
    same = job.told(done, folder).equals(truth)
    return "found, then the same results" if same else "WRONG values"


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
    """Run commands that can write or open little, then again without a limit."""
    del rng
    sweep, out = Sweep(work), work / "out"
    invoke(*sweep.arguments(work / "there"), "--workers", "1")
    X, y = np.random.default_rng(0).standard_normal((40, 3, 4)), np.arange(40) % 2
    np.savez(work / "bags.npz", X=X, y=y)
    commands = {
        "sweep": [*sweep.arguments(out / "s"), "--workers", "1"],
        "results": ["results", str(work / "there"), "--export", str(out / "t.csv")],
        "plot": ["plot", str(work / "there"), "--out", str(out / "p.png")],
        "fit": ["fit", str(work / "bags.npz"), "--model", "pooled", "--out", str(out / "m.skops")],
    }
    if not QUICK:
        commands["reproduce"] = [*Report(work).arguments(out / "r"), "--workers", "1"]
    bounds = [(resource.RLIMIT_FSIZE, size, "bytes in a file") for size in (0, 1024, 8192, 65536)]
    bounds += [(resource.RLIMIT_NOFILE, files, "open files") for files in (8, 16, 32)]
    chosen = bounds if count > 1 else bounds[1::4]
    for (name, command), (kind, bound, of_what) in itertools.product(commands.items(), chosen):
        out.mkdir()
        limit = functools.partial(resource.setrlimit, kind, (bound, bound))
        process = started(command, preexec_fn=limit)
        found = ended(process)
        # Kept work stays, for the next run.
        left = sorted({path.name for path in out.iterdir()} - {"s", "r"})
        again = invoke(*command)
        if again.exit_code not in (0, 1):
            found = found or f"WRONG: {again.stderr[-200:]}"
        elif left and process.returncode != again.exit_code:  # 1 also tells what did not converge
            found = found or f"WRONG: left {', '.join(left)}"
        yield {"check": "limits", "what": f"{name}, {bound} {of_what}", "found": found or "held"}
        shutil.rmtree(out)
    for name, command in {"align": ["align"], "predict": ["predict", "pooled"]}.items():
        with open("/dev/full", "w") as full:
            found = ended(started([*command, "--json"], stdout=full)) or "held"
        yield {"check": "limits", "what": f"{name} > /dev/full", "found": found}


# Signals.


def signals(work: Path, rng: random.Random, count: int) -> Iterator[Row]:
    """End commands by signals, alone or with their group, on a terminal or in a pipe."""
    for one in WORDS:  # a run in the background ignores some, and commands would inherit that
        if signal.getsignal(one) is signal.SIG_IGN:
            signal.signal(one, signal.SIG_DFL)
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


CHECKS = {"bits": functools.partial(damage, bits=True), "damage": damage}
CHECKS |= {"kills": kills, "limits": limits, "signals": signals}
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
    parser.add_argument("--quick", action="store_true", help="a few of each, without reports")
    asked = parser.parse_args()
    if unknown := set(asked.checks) - set(CHECKS):
        parser.error(f"no check {', '.join(unknown)}; there are {', '.join(CHECKS)}")
    rows = []
    for name in asked.checks or CHECKS:
        count = asked.count or COUNTS[name][asked.quick]
        with tempfile.TemporaryDirectory() as folder:
            for row in CHECKS[name](Path(folder), random.Random(0), count):
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
