"""Run the commands that write files on a disk that is full, read-only or without inodes.

The disk is a small tmpfs of its own, which needs the right to mount (root, or a user namespace).
Where there is none, the size of files is limited instead (RLIMIT_FSIZE), and the script says so.
Each command runs with several sizes of free space. It must end with the same output as with room,
or with exit code 1 or 2 and one message, without a traceback; then it must have left nothing but a
store and the finished pieces of a report. After space is freed the same command must end with the
same output. Needs Linux.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from sparsetoken.estimators.saving import load
from sparsetoken.sweep import to_frame

INNER = "--inside"
SIZE, INODES = 4096, 512  # KiB and inodes of the disk
SPEC = """experiment = "alignment"
[axes]
strength = { from = 1, to = 5, points = 100 }
length = [4, 10]
"""
SMALL_PAGE = (
    "import sparsetoken.explorer.export as e; from sparsetoken.cli import main; "
    "grid = {name: values[:1] for name, values in e.PRESETS[0]['grid'].items()}; "
    "e.PRESETS[:] = [{**e.PRESETS[0], 'grid': grid}]; main()"
)
FIT = ("fit", "MADE/bags.npz", "--model", "pooled", "--out")
READ_ONLY = -1  # in place of the KiB that are free


@dataclasses.dataclass(frozen=True)
class Case:
    """A command on the disk.

    Attributes
    ----------
    name : str
    arguments : tuple of str
        DISK and MADE stand for the folder on the disk and the one with what was made before.
    result : str
        What it writes: a file or folder on the disk; "" if that is its standard output.
    free : tuple of int
        KiB that are free.
    given : str
        What is copied onto the disk first: a name in MADE.
    program : str
        Python code in place of ``python -m sparsetoken``.
    """

    name: str
    arguments: tuple[str, ...]
    result: str = ""
    free: tuple[int, ...] = (0, 4, 16)
    given: str = ""
    program: str = ""


CASES = (
    Case(
        "sweep",
        ("sweep", "MADE/spec.toml", "--store", "DISK/s.zarr", "--workers", "1"),
        "s.zarr",
        (0, 4, 16, 40, 64, 80, 96),
    ),
    *(
        Case(f"results {end}", ("results", "MADE/s.zarr", "--export", f"DISK/t{end}"), f"t{end}")
        for end in (".csv", ".parquet", ".nc", ".zarr.zip")
    ),
    Case("results of a store on it", ("results", "DISK/s.zarr"), "s.zarr", (0, 4), "s.zarr"),
    *(
        Case(f"plot {end}", ("plot", "MADE/s.zarr", "--out", f"DISK/p{end}"), f"p{end}", (0, 8))
        for end in (".svg", ".png", ".pdf")
    ),
    *(Case(f"fit {end}", (*FIT, f"DISK/m{end}"), f"m{end}", (0,)) for end in (".skops", ".joblib")),
    Case("reproduce, from nothing", ("reproduce", "alignment", "--out", "DISK/r"), "r", (0, 100)),
    Case(
        "reproduce, from the store",
        ("reproduce", "alignment", "--out", "DISK/r"),
        "r",
        (0, 100, 250),
        "r",
    ),
    Case(
        "explore --export",
        ("explore", "--export", "DISK/page"),
        "page",
        (0, 4, 60),
        program=SMALL_PAGE,
    ),
    *(
        Case(f"{command[0]} > file", (*command, "--json"), free=(0,))
        for command in (
            ("forecast", "MADE/bags.npz"),
            ("predict", "pooled"),
            ("simulate", "pooled", "--dimension", "20", "--trials", "2"),
            ("results", "MADE/s.zarr"),
            ("align",),
        )
    ),
)


class Tmpfs:
    """A disk of memory, filled up by a ballast."""

    words = "a tmpfs that is full"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}k,nr_inodes={INODES}"]
        subprocess.run([*command, "tmpfs", str(folder)], check=True)

    def _mount(self, how: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{how}", str(self.folder)], check=True)

    @contextlib.contextmanager
    def with_free(self, kib: int, inodes: int):
        """Leave so many KiB and inodes, and return what a process must do before it starts."""
        if kib == READ_ONLY:
            self._mount("ro")
            yield None
            self._mount("rw")
            return
        ballast = self.folder / "ballast"
        ballast.mkdir()
        state = os.statvfs(self.folder)
        for number in range(state.f_ffree - inodes - 1):
            (ballast / str(number)).touch()
        rest = state.f_bavail * state.f_bsize - 1024 * kib
        with (ballast / "large").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(rest, 1))
        try:
            yield None
        finally:
            shutil.rmtree(ballast)


class Limited:
    """A folder in which files may have so many KiB; it stands for a disk that is full."""

    words = "RLIMIT_FSIZE in place of a full disk: nothing can be mounted here"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def with_free(self, kib: int, inodes: int):
        yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024 * kib, 1024 * kib))


class Trial:
    """A case on a disk."""

    def __init__(self, case: Case, disk: Tmpfs | Limited, made: Path, work: Path) -> None:
        self.case, self.disk, self.made, self.work = case, disk, made, work
        self.said = ""

    def run(self, before=None) -> int:
        case, folder = self.case, self.disk.folder
        start = ["-c", case.program] if case.program else ["-m", "sparsetoken"]
        names = {"DISK": str(folder), "MADE": str(self.made)}
        arguments = list(case.arguments)
        for short, name in names.items():
            arguments = [part.replace(short, name) for part in arguments]
        out = folder / "out" if not case.result else self.work / "out"
        with out.open("wb") as file:
            done = subprocess.run(
                [sys.executable, *start, *arguments],
                stdout=file,
                stderr=subprocess.PIPE,
                preexec_fn=before,
                cwd=self.work,
            )
        self.said = done.stderr.decode(errors="replace")
        return done.returncode

    def emptied(self) -> None:
        """Leave on the disk what is given, and nothing else."""
        for path in self.disk.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        if given := self.case.given:
            source, target = self.made / given, self.disk.folder / given
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)

    def result(self) -> object:
        """Return what the command has made; of a store its table, of a report its claims."""
        path = self.disk.folder / (self.case.result or "out")
        if path.suffix == ".zarr":
            return to_frame(path).to_csv()
        if path.is_dir():
            claims = path / "claims.json"
            if claims.exists():
                return json.loads(claims.read_text())["claims"]
            return (path / "index.html").read_bytes()
        if path.suffix in (".skops", ".joblib"):
            return load(path, trust_pickle=True).coef_.tobytes()
        return path.read_bytes()

    def faults(self, kib: int, inodes: int, expected: object) -> list[str]:
        self.emptied()
        with self.disk.with_free(kib, inodes) as before:
            code = self.run(before)
            found = self.refusal(code) if code else []
        if not code and self.result() != expected:
            found.append("exit code 0 and another output")
        if self.run():
            found.append(f"does not go on: {self.said[-300:]}")
        elif self.result() != expected:
            found.append("another output after space was freed")
        return found

    def refusal(self, code: int) -> list[str]:
        """Return what is wrong with the way in which a command gives up."""
        found = [] if code in (1, 2) else [f"exit code {code}"]
        errors = [line for line in self.said.splitlines() if line.startswith("Error: ")]
        if len(errors) != 1 or "Traceback" in self.said or "Exception" in self.said:
            found.append(f"said {self.said[-500:]!r}")
        return found + [f"left {name}" for name in self.litter()]

    def litter(self) -> list[str]:
        """Return the files that should not be there."""
        found = []
        for path in sorted(self.disk.folder.rglob("*")):
            if path.is_dir() or "ballast" in path.parts or path.name == "out":
                continue
            kept = "s.zarr" in path.parts or path.parent.name == "work"
            if kept and not path.name.startswith(".") and path.suffix != ".partial":
                continue
            if self.case.given and (self.made / path.relative_to(self.disk.folder)).exists():
                continue
            found.append(f"{path.name} ({path.stat().st_size} bytes)")
        return found


def make(folder: Path, report: bool) -> None:
    """Make the files that commands read, on demand the store of a report too."""
    (folder / "spec.toml").write_text(SPEC)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3, 4)), np.arange(60) % 2
    X[:, 0, 0] += 3 * y
    np.savez(folder / "bags.npz", X=X, y=y)
    start = [sys.executable, "-m", "sparsetoken"]
    commands = [["sweep", "spec.toml", "--store", "s.zarr"]]
    commands += [["reproduce", "alignment", "--out", "r"]] if report else []
    for command in commands:
        subprocess.run([*start, *command], cwd=folder, check=True, capture_output=True)
    if not report:
        return
    for path in (folder / "r").iterdir():
        if path.name != "work":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def measure(disk: Tmpfs | Limited, work: Path, only: str) -> None:
    found: collections.Counter = collections.Counter()
    made = work / "made"
    made.mkdir()
    cases = [case for case in CASES if only in case.name]
    make(made, any(case.given == "r" for case in cases))
    for case in cases:
        trial = Trial(case, disk, made, work)
        trial.emptied()
        if trial.run():
            raise SystemExit(f"{case.name}: {trial.said}")
        expected = trial.result()
        free = [(kib, INODES // 2) for kib in case.free]
        if isinstance(disk, Tmpfs) and case.result and not case.given:
            free += [(SIZE // 2, inodes) for inodes in (0, 1)] + [(READ_ONLY, 0)]
        for kib, inodes in free:
            faults = trial.faults(kib, inodes, expected)
            found["tried"] += 1
            found["wrong"] += bool(faults)
            told = "; ".join(faults) or "held"
            room = "read-only" if kib == READ_ONLY else f"{kib} KiB, {inodes} inodes free"
            print(f"{case.name}, {room}: {told}", flush=True)
    print(f"{disk.words}: {found['tried']} tried, {found['wrong']} wrong")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="Cases whose name has this part.")
    parser.add_argument(INNER, action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not arguments.inside:
        for unshare in (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"]):
            if shutil.which("unshare") and not subprocess.run([*unshare, "true"]).returncode:
                os.execvp("unshare", [*unshare, sys.executable, *sys.argv, INNER])
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name) / "disk"
        folder.mkdir()
        disk: Tmpfs | Limited = Limited(folder)
        if arguments.inside:
            disk = Tmpfs(folder)
            stack.callback(subprocess.run, ["umount", str(folder)], check=True)
        measure(disk, Path(name), arguments.only)


if __name__ == "__main__":
    main()
