"""Kill a sweep and its workers at random moments; the exported table must have the same bytes.

Of each experiment, theory and simulation: kills of the coordinator and of workers in turn by
chance, two and three sweeps at once on one store, one of two workers of a local dask cluster
killed, and the folder removed while the sweep runs, which must end it with one message.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SPECS = {
    "alignment": "trials = 64\n[fixed]\ndimension = 400\n[axes]\nlength = [4, 10]\n"
    "strength = { from = 1, to = 5, points = 20 }",
    "learning": "trials = 24\n[fixed]\ndimension = 200\ncosine = 0.8\nsharpness = 1.0\n"
    'loss = "square"\n[axes]\nmodel = ["attention", "pooled"]\n'
    "alpha1 = { from = 0.1, to = 8, points = 20 }\nstrength = [1.0, 2.0, 3.0, 4.0]",
    "capacity": "trials = 16\n[fixed]\ndimension = 100\n[axes]\nalpha1 = [1.0, 1.5, 2.0, 3.0]\n"
    "strength = { from = 1, to = 5, points = 20 }",
}


def start(store: Path, *options: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "sparsetoken", "sweep", str(store.with_name("spec.toml"))]
    command += ["--store", str(store), "--json", "--workers", "2", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen) -> str:
    """Return how a sweep ended, in a few words."""
    _, said = process.communicate()
    words = " ".join(said.split())
    return f"exit code {process.returncode}" + f" ({words[:200]})" * bool(words)


def written(store: Path) -> int:
    """Return the number of pieces of work that are there."""
    paths = [p for name in ("theory", "simulation") for p in (store / name / "c").rglob("*")]
    return sum(p.name.isdecimal() and p.is_file() for p in paths)


def table(store: Path) -> bytes:
    path = store.with_suffix(".csv")
    command = [sys.executable, "-m", "sparsetoken", "results", str(store), "--export", str(path)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return path.read_bytes()


def workers(pid: int) -> list[int]:
    """Return the worker processes of a coordinator."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            if parent == pid and b"spawn_main" in (stat.parent / "cmdline").read_bytes():
                found.append(int(stat.parent.name))
        except OSError:
            continue
    return found


def until(process: subprocess.Popen, store: Path, pieces: int) -> None:
    while process.poll() is None and written(store) < pieces:
        time.sleep(0.02)


def killed(folder: Path, kills: int, expected: bytes, rng: random.Random) -> None:
    """Kill sweeps so often; one that comes to its end is compared, and another begun.

    Pieces that are given up, since three kills have hit their worker, are tried again.
    """
    hits = {"coordinator": 0, "worker": 0}
    ends = same = 0
    while sum(hits.values()) < kills or not ends:
        store = folder / f"killed{ends}.zarr"
        process = start(store, "--retry-failed")
        until(process, store, written(store) + rng.randrange(6))
        while process.poll() is None and sum(hits.values()) < kills:
            time.sleep(rng.uniform(0.0, 1.5))
            victims = workers(process.pid)
            if rng.random() < 0.5 or not victims:
                hits["coordinator"] += process.poll() is None
                process.kill()
                break
            hits["worker"] += 1
            os.kill(rng.choice(victims), signal.SIGKILL)
        how = ended(process)
        if process.returncode == 0:
            ends, same = ends + 1, same + (table(store) == expected)
        elif process.returncode != -signal.SIGKILL:
            print(f"  after {hits}: {how}")
    print(f"  kills {hits}: {ends} sweeps ended, {same} with the same bytes", flush=True)


def at_once(store: Path, count: int, expected: bytes) -> None:
    processes = [start(store) for _ in range(count)]
    ends = {ended(process) for process in processes}
    print(f"  {count} at once: {sorted(ends)}, same bytes: {table(store) == expected}", flush=True)


def removed(store: Path) -> None:
    process = start(store)
    until(process, store, 5)
    shutil.rmtree(store, ignore_errors=True)
    print(f"  removed: {ended(process)}", flush=True)


def on_dask(store: Path, expected: bytes) -> None:
    from distributed import LocalCluster

    with LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as local:
        process = start(store, "--cluster", local.scheduler_address)
        until(process, store, 5)
        next(iter(local.workers.values())).process.process.kill()
        at = written(store)
        how = ended(process)
    print(f"  dask, a worker killed at {at}: {how}, same bytes: {table(store) == expected}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", choices=["", *SPECS])
    parser.add_argument("--dask", action="store_true", help="Of all this, the cluster.")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    for experiment in [arguments.only] if arguments.only else SPECS:
        with tempfile.TemporaryDirectory() as name:
            folder, begun = Path(name), time.perf_counter()
            head = f'experiment = "{experiment}"\nquantities = ["theory", "simulation"]\n'
            (folder / "spec.toml").write_text(head + SPECS[experiment])
            how = ended(start(folder / "whole.zarr"))
            seconds, expected = time.perf_counter() - begun, table(folder / "whole.zarr")
            rows, pieces = expected.count(b"\n") - 1, written(folder / "whole.zarr")
            print(f"{experiment}: {how}, {rows} rows, {pieces} pieces, {seconds:.0f} s", flush=True)
            if arguments.dask:
                on_dask(folder / "dask.zarr", expected)
                continue
            killed(folder, arguments.kills, expected, rng)
            at_once(folder / "two.zarr", 2, expected)
            at_once(folder / "three.zarr", 3, expected)
            removed(folder / "removed.zarr")


if __name__ == "__main__":
    main()
