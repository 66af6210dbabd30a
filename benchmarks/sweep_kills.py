"""Kill the coordinator and its workers during a sweep; compare the exported bytes.

The sweep is examples/sweep.toml, 2000 points. An undisturbed run is killed nowhere; in the
second the coordinator, then workers, are killed at random moments and the sweep is resumed.
With --dask the sweep runs on a local cluster of two workers, one killed on the way.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SPEC = Path(__file__).parents[1] / "examples" / "sweep.toml"
COMMAND = [sys.executable, "-m", "sparsetoken"]


def start(store: Path, spec: Path, *options: str) -> subprocess.Popen:
    command = [*COMMAND, "sweep", str(spec), "--store", str(store), "--json", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def done(store: Path) -> int:
    """Return the rows that have a result."""
    try:
        connection = sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)
    except sqlite3.Error:
        return 0
    try:
        return connection.execute("SELECT count(*) FROM tasks WHERE state > 1").fetchone()[0]
    except sqlite3.Error:
        return 0
    finally:
        connection.close()


def exported(store: Path) -> bytes:
    path = store.with_suffix(".csv")
    command = [*COMMAND, "results", str(store), "--export", str(path), "--json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return path.read_bytes()


def whole(store: Path, spec: Path, *options: str) -> float:
    """Run to the end; return the seconds."""
    begun = time.perf_counter()
    process = start(store, spec, *options)
    said, _ = process.communicate()
    print(f"  {' '.join(said.split())}, {time.perf_counter() - begun:.0f} s", flush=True)
    return time.perf_counter() - begun


def children(pid: int) -> list[int]:
    """Return the worker processes of a coordinator, the tracker of resources left out."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            text = (stat.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) == pid and b"spawn_main" in text:
            found.append(int(stat.parent.name))
    return found


def kill_coordinator(store: Path, spec: Path, kills: int, seconds: float, rng) -> int:
    """Kill it at random moments of its work; return how many kills hit a running sweep."""
    hit = 0
    for _ in range(kills):
        process = start(store, spec)
        time.sleep(rng.uniform(0.5, seconds))
        hit += process.poll() is None
        process.kill()
        process.communicate()
        print(f"  coordinator killed, {done(store)} rows done", flush=True)
    return hit


def kill_workers(store: Path, spec: Path, kills: int, seconds: float, rng) -> int:
    """Kill one worker after another of a running sweep; return how many were hit."""
    hit = 0
    process = start(store, spec)
    while hit < kills and process.poll() is None:
        time.sleep(rng.uniform(0.2, seconds))
        workers = children(process.pid)
        if workers:
            os.kill(rng.choice(workers), signal.SIGKILL)
            hit += 1
    said, _ = process.communicate()
    print(f"  {hit} workers killed: {' '.join(said.split())}", flush=True)
    return hit


def on_dask(folder: Path, spec: Path, expected: bytes) -> None:
    from distributed import LocalCluster

    store = folder / "dask.sqlite"
    with LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as local:
        process = start(store, spec, "--cluster", local.scheduler_address)
        while done(store) < 500 and process.poll() is None:
            time.sleep(0.1)
        next(iter(local.workers.values())).process.process.kill()
        print(f"  one of two dask workers killed at {done(store)} rows", flush=True)
        said, _ = process.communicate()
        print(f"  {' '.join(said.split())}", flush=True)
    print("dask: same bytes" if exported(store) == expected else "dask: BYTES DIFFER")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spec", type=Path, default=SPEC)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dask", action="store_true")
    parser.add_argument("--keep", type=Path, help="empty folder for the stores")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) if arguments.keep is None else arguments.keep.resolve()
        seconds = whole(folder / "whole.sqlite", arguments.spec)
        expected = exported(folder / "whole.sqlite")
        print(f"undisturbed: {len(expected.splitlines()) - 1} rows, {seconds:.0f} s", flush=True)
        if arguments.dask:
            on_dask(folder, arguments.spec, expected)
            return
        for kill in (kill_coordinator, kill_workers):
            store = folder / f"{kill.__name__}.sqlite"
            # Runs that are killed last longer: start-up and lost rows.
            hit = kill(store, arguments.spec, arguments.kills, 2.2 * seconds / arguments.kills, rng)
            whole(store, arguments.spec)
            same = exported(store) == expected
            print(f"{kill.__name__}: {hit} kills, {'same bytes' if same else 'BYTES DIFFER'}")


if __name__ == "__main__":
    main()
