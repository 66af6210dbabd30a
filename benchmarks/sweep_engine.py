"""What the engine of sweeps costs: rows that do nothing, two workers against one, 10^6 rows."""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sparsetoken.sweep import (
    Grid,
    GridPlan,
    JobPlan,
    Store,
    WorkerPool,
    export_table,
    linear,
    listed,
    logarithmic,
    run,
)
from sparsetoken.sweep.integrity import find_damage
from sparsetoken.sweep.records import Answer, Result


@dataclasses.dataclass(frozen=True)
class Job:
    """A call of the standard library, which workers can import."""

    work: Callable[..., Any]
    arguments: tuple
    cost: float = 1.0
    version: int = 1

    @property
    def name(self) -> str:
        return f"{self.work.__name__}{self.arguments!r}"


def nothing(folder: Path, count: int) -> None:
    """Rows that do nothing, in this process and in two others."""
    jobs = [Job(math.sqrt, (float(n),)) for n in range(count)]
    for workers in (0, 1, 2):
        start, busy = time.perf_counter(), time.process_time()
        with Store(folder / f"nothing{workers}.sqlite") as store:
            if workers:
                with WorkerPool(workers) as pool:
                    counts = run(store, JobPlan(jobs, float), pool, workers=workers)
            else:
                counts = run(store, JobPlan(jobs, float))
        seconds, busy = time.perf_counter() - start, time.process_time() - busy
        assert counts.done == count
        where = f"{workers} workers" if workers else "in process"
        print(
            f"nothing, {where}: {count} rows, {1e3 * seconds / count:.3f} ms a row, "
            f"{1e3 * busy / count:.3f} ms of the coordinator's processor",
            flush=True,
        )


def spin(seconds: float) -> str:
    """Return the source of a row that computes for so many seconds of its processor."""
    return (
        "import time; end = time.process_time() + "
        f"{seconds}\nwhile time.process_time() < end: sum(range(1000))"
    )


def two_workers(folder: Path, seconds: float = 0.05, count: int = 400) -> None:
    """Rows of 50 ms on one worker and on two, the workers started before the clock."""
    jobs = [Job(exec, (spin(seconds) + f" # {n}",)) for n in range(count)]
    taken = {}
    for workers in (1, 2):
        with (
            Store(folder / f"two{workers}.sqlite") as store,
            WorkerPool(workers) as pool,
        ):
            warm = [pool.submit(time.sleep, 1.0) for _ in range(workers)]
            for call in warm:
                call.result()
            start = time.perf_counter()
            run(store, JobPlan(jobs, str), pool, workers=workers)
            taken[workers] = time.perf_counter() - start
    print(
        f"{count} rows of {1e3 * seconds:.0f} ms: {taken[1]:.1f} s on one worker, {taken[2]:.1f} s "
        f"on two, ratio {taken[1] / taken[2]:.2f}; load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


def many_rows(folder: Path, count: int) -> None:
    """A store of many rows: written down, filled, resumed, exported."""
    steps = round((count / 4) ** 0.5)
    grid = Grid(
        "learning",
        [
            listed("model", ["attention", "pooled"]),
            logarithmic("alpha1", 0.1, 100, steps),
            linear("strength", 0, 10, steps),
        ],
        {"cosine": 0.8, "sharpness": 1.0},
        quantities=("theory", "simulation"),
    )
    path = folder / "many.sqlite"
    plan = GridPlan(grid)
    with Store(path) as store:
        store.begin("1")
        with clock("write the rows down"):
            sweep = store.add_sweep(plan.text, plan.rows(), plan.shape)
        total = store.counts(sweep).total
        with clock(f"fill {total} rows"):
            fill(store, sweep)
    with clock("resume: open, count, lease"), Store(path) as store:
        store.begin("1")
        sweep = store.add_sweep(plan.text, plan.rows(), plan.shape)
        assert store.counts(sweep).left == 1
        assert len(store.lease(sweep, 0, 10)) == 1
    with clock("check the structure of the file"), Store(path) as store:
        assert not find_damage(store)
    size = sum(file.stat().st_size for file in folder.glob("many.sqlite*"))
    print(f"{size / total:.0f} bytes a row", flush=True)
    for name in ("t.csv", "t.parquet"):
        with clock(f"export {name}"), Store(path, write=False) as store:
            export_table(store, folder / name)
    more = dataclasses.replace(grid, trials=2)
    with clock("write down one more trial for each"), Store(path) as store:
        store.begin("1")
        plan = GridPlan(more)
        print(store.counts(store.add_sweep(plan.text, plan.rows(), plan.shape)))


def fill(store: Store, sweep: int) -> None:
    """Finish all rows but one with numbers of full length."""
    names = ("test_error", "training_loss", "training_error", "auc", "query_overlap")
    names += ("orthogonal_overlap", "noise_overlap", "bias", "cosine", "sharpness")
    rng, after = random.Random(0), 0
    facts = '{"numpy": "2.4.6", "host": "somewhere"}'
    while leases := store.lease(sweep, after, 5000):
        after = leases[-1].id
        store.finish(
            [
                Answer(
                    lease.id,
                    Result({name: rng.random() for name in names}, seed=rng.getrandbits(128)),
                    rng.random(),
                )
                for lease in leases
            ],
            facts,
        )
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE tasks SET state = 0 WHERE id = ?", (after,))
        connection.execute("DELETE FROM results WHERE id = ?", (after,))
    connection.close()


class clock:
    """Print how long a block took, and how much of a processor; the second ignores the load."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None:
        self.start, self.busy = time.perf_counter(), time.process_time()

    def __exit__(self, *_: object) -> None:
        seconds, busy = time.perf_counter() - self.start, time.process_time() - self.busy
        print(f"{self.what}: {seconds:.2f} s, {busy:.2f} s of a processor", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nothing", type=int, default=100_000)
    parser.add_argument("--many", type=int, default=1_000_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        two_workers(folder)
        nothing(folder, arguments.nothing)
        many_rows(folder, arguments.many)


if __name__ == "__main__":
    main()
