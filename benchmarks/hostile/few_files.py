"""Run commands with few files that can be opened (RLIMIT_NOFILE), which stands for a full table.

Each must end with its result, or with exit code 1 or 2 and one message, without a traceback. The
table of the whole system is left alone: root may open files beyond it. Needs Linux or macOS.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

LIMITS = (6, 8, 10, 12, 16, 24, 32, 48, 80)
SPEC = 'experiment = "alignment"\n[axes]\nstrength = [1.0, 2.0, 3.0]\n'
COMMANDS = (
    ("sweep", "spec.toml", "--store", "new.zarr", "--workers", "1"),
    ("results", "s.zarr", "--export", "t.csv"),
    ("plot", "s.zarr", "--out", "p.svg"),
    ("fit", "bags.npz", "--out", "m.skops"),
    ("predict", "pooled"),
)
START = [sys.executable, "-m", "sparsetoken"]


def make(folder: Path) -> None:
    """Make the files that the commands read."""
    (folder / "spec.toml").write_text(SPEC)
    rng = np.random.default_rng(0)
    np.savez(folder / "bags.npz", X=rng.standard_normal((40, 3, 4)), y=np.arange(40) % 2)
    sweep = [*START, "sweep", "spec.toml", "--store", "s.zarr", "--workers", "1"]
    subprocess.run(sweep, cwd=folder, check=True, capture_output=True)


def fault(command: tuple[str, ...], limit: int, folder: Path) -> tuple[int, str]:
    """Return the exit code, and what is wrong with the way in which a command ends."""
    done = subprocess.run(
        [*START, *command],
        cwd=folder,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),
    )
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    messy = "Traceback" in done.stderr or "Exception" in done.stderr
    whole = done.returncode == 0 or (done.returncode in (1, 2) and len(errors) == 1)
    return done.returncode, "" if whole and not messy else done.stderr[-400:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limits", type=int, nargs="+", default=LIMITS)
    limits = parser.parse_args().limits
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder)
        many = (*COMMANDS[0][:-1], "400")
        cases = [(many, 64), *((command, n) for command in COMMANDS for n in limits)]
        for command, limit in cases:
            shutil.rmtree(folder / "new.zarr", ignore_errors=True)
            code, told = fault(command, limit, folder)
            wrong += bool(told)
            print(f"{' '.join(command)}, {limit} files: exit code {code} {told}", flush=True)
    print(f"{len(cases)} tried, {wrong} wrong")


if __name__ == "__main__":
    main()
