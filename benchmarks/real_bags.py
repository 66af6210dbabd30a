"""Accuracy and AUC on 15 real multiple-instance sets, five repeats of published ten folds.

python benchmarks/real_bags.py [--sets musk1 fox] [--methods attention] [--repeats 0 1]

A second run goes on where the first was stopped. The sets are not part of the package: --data
names the folder with musk1.npz and the others.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
import warnings
from collections.abc import Iterator
from multiprocessing import Pool
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from real_bags_methods import METHODS
from real_bags_sets import FOLDS, REPEATS, SETS, load
from real_bags_tables import tables
from sparsetoken.estimators import QueryWarning

Job = tuple[str, str, int, int]


class Work(NamedTuple):
    """One fit: where the sets are, and which set, method, repeat and fold."""

    folder: Path
    job: Job


def run(work: Work) -> dict[str, Any]:
    """Fit on nine folds and score on the tenth."""
    name, method, repeat, fold = work.job
    data = load(work.folder, name)
    test = data.folds[repeat] == fold
    model = METHODS[method](random_state=10 * repeat + fold)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryWarning)  # the table tells how good the query was
        model.fit(data.bags[~test], data.y[~test])
    seconds = time.process_time() - start
    row = {"set": name, "method": method, "repeat": repeat, "fold": fold}
    return {**row, **data.scores(model, test), "seconds": round(seconds, 3)}


def key(row: dict[str, Any]) -> Job:
    """Return what tells a row from others."""
    return row["set"], row["method"], row["repeat"], row["fold"]


def read(out: Path) -> dict[Job, dict[str, Any]]:
    """Return the rows of the file; a last line that was cut off does not count."""
    lines = out.read_text().splitlines() if out.exists() else []
    rows = [json.loads(line) for line in lines if line.endswith("}")]
    return {key(row): row for row in rows}


def complete(out: Path, jobs: list[Job], folder: Path, workers: int) -> dict[Job, dict[str, Any]]:
    """Run the jobs that the file lacks; append each as it ends."""
    done = read(out)
    missing = [Work(folder, job) for job in jobs if job not in done]
    if out.exists():
        out.write_text("".join(json.dumps(row) + "\n" for row in done.values()))
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a") as file, Pool(workers, threadpool_limits, (1,)) as pool:
        for row in progress(pool.imap_unordered(run, missing), len(missing)):
            file.write(json.dumps(row) + "\n")
            file.flush()
            done[key(row)] = row
    return done


def progress(rows: Iterator[Any], count: int) -> Iterator[Any]:
    """Pass rows on; tell how many are done and how long the others will take."""
    start = time.monotonic()
    for number, row in enumerate(rows, 1):
        yield row
        left = (time.monotonic() - start) / number * (count - number)
        print(f"\r{number}/{count}, {left:.0f} s left ", end="", file=sys.stderr)
    print(file=sys.stderr)


def main() -> None:
    """Run what is missing, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data/mil"))
    parser.add_argument("--out", type=Path, default=Path("results/real_bags.jsonl"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--repeats", nargs="+", type=int, choices=REPEATS, default=REPEATS)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    absent = [name for name in asked.sets if not (asked.data / f"{name}.npz").exists()]
    if absent:
        parser.error(f"{asked.data} lacks {', '.join(absent)}; give the folder by --data")
    # Whole repeats first: a run that was stopped has something to show of every set.
    grid = itertools.product(asked.repeats, asked.sets, asked.methods, FOLDS)
    jobs = [(name, method, repeat, fold) for repeat, name, method, fold in grid]
    done = complete(asked.out, jobs, asked.data, asked.workers)
    print(tables([done[job] for job in jobs]))


if __name__ == "__main__":
    main()
