"""What the engine of sweeps costs: reading, scanning and writing a piece of work, and a long sweep.

The long sweep has 20 000 trials of alignment at dimension 10, which cost little.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sparsetoken.sweep import Grid, Store, linear, run
from sparsetoken.sweep.dataset import export, read
from sparsetoken.sweep.layout import Layout
from sparsetoken.sweep.runs import count
from sparsetoken.work import WorkerPool

GRID = Grid(
    "alignment",
    [linear("strength", 1, 5, 25), linear("positive_rate", 0.2, 0.8, 25)],
    {"length": 4, "dimension": 10},
    quantities=("simulation",),
    trials=32,
)


def timed(what: str, action: Callable[[], object], pieces: int) -> None:
    """Print how long it took; the time of this process ignores other load."""
    start, busy = time.perf_counter(), time.process_time()
    action()
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    each = f"{1e3 * seconds / pieces:.2f} ms a piece, {1e3 * busy / pieces:.2f} ms of this process"
    print(f"{what}: {seconds:.2f} s, {each}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=32, help="Of each of 625 points.")
    grid = dataclasses.replace(GRID, trials=parser.parse_args().trials)
    pieces = math.prod(Layout(grid, "simulation").pieces)
    print(f"{sum(grid.rows.values())} trials in {pieces} pieces")
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "s.zarr"
        store = Store(path)
        timed("sweep in this process", lambda: run(grid, store), pieces)
        with WorkerPool(2) as pool:
            [call.result() for call in [pool.submit(time.sleep, 1.0) for _ in range(2)]]
            two = Path(name) / "two.zarr"
            timed("sweep, two workers", lambda: run(grid, two, pool, workers=2), pieces)
        timed("the same again: scan twice", lambda: run(grid, path), pieces)
        timed("scan: read, check, count", lambda: count(store), pieces)
        found = list(store.pieces())
        facts = store.facts("simulation", found[0].place)
        timed(
            "write",
            lambda: [store.write(p.quantity, p.place, p.entries, facts) for p in found],
            pieces,
        )
        timed("read as a Dataset", lambda: read(store), pieces)
        whole, _ = read(store)
        timed("export CSV", lambda: export(whole, Path(name) / "t.csv"), pieces)
        timed("copy to .zarr.zip", lambda: store.copy_to_zip(Path(name) / "s.zarr.zip"), pieces)
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        print(f"{size / sum(grid.rows.values()):.0f} bytes a trial")


if __name__ == "__main__":
    main()
