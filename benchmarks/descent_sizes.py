"""Descents that a search found, at several dimensions, against the limit.

Run as ``python benchmarks/descent_sizes.py FILE d:trials ... [--workers N] [--seconds S]``, as
``python benchmarks/descent_sizes.py sizes.jsonl 600:64 1200:32 2400:12``. It writes a line for
each trial as soon as it is done, and prints the distance from the limit, in its own size and in
standard errors of both. A correction of order 1/d halves from one dimension to the next. Trials
that would begin after S seconds are left out. ``--engine reduced`` draws the same law without
tokens, in a tenth of the time. ``--read`` only prints what is in the file.
"""

import argparse
import json
import math
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np

import sparsetoken as st

PROBLEM = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
REPLICAS = 96


def two_steps(alpha, steps, first_w, first_q, eta_w, eta_q, decay):
    """Return a step of the readout, one of the query, then both with momentum 0.6."""
    readout = [first_w, 0.0, *[eta_w] * (steps - 2)]
    return st.Descent(
        alpha=alpha,
        steps=steps,
        rates={"w": readout, "q": [0.0, first_q, *[eta_q] * (steps - 2)]},
        rate_c=readout,
        start=0.0,
        momentum=[0.0, 0.0, 0.0, *[0.6] * (steps - 3)],
        decay={"w": decay, "q": 0.0},
    )


def constant(alpha, steps, eta_w, eta_q, decay, odds):
    """Return constant steps with momentum odds / (1 + odds)."""
    return st.Descent(
        alpha=alpha,
        steps=steps,
        rates={"w": eta_w, "q": eta_q},
        rate_c=eta_w,
        start=0.0,
        momentum=odds / (1 + odds),
        decay={"w": decay, "q": 0.0},
    )


DESCENTS = {
    "two steps, n/d = 0.5": two_steps(0.5, 15, 0.3838, 49.085, 2.1021, 0.0012, 0.0626),
    "two steps, n/d = 2": two_steps(2.0, 14, 0.4364, 38.64, 1.6969, 0.0014, 0.0716),
    "constant, n/d = 0.5": constant(0.5, 15, 0.6465, 0.4155, 1.2835, 0.6072),
    "constant, n/d = 2": constant(2.0, 13, 1.0664, 0.2859, 0.6226, 0.7437),
}


def trial(engine, name, dimension, number):
    """Return the test error of one trial after the last step."""
    descent = DESCENTS[name]
    seed = 1000 * dimension + number  # trials of all descents at one place see the same samples
    start = time.process_time()
    found = st.simulation.descend(
        PROBLEM, descent, dimension=dimension, trials=1, seed=seed, dtype="float32", engine=engine
    ).mean.test_error[-1]
    seconds = time.process_time() - start
    return {"name": name, "d": dimension, "number": number, "error": float(found), "s": seconds}


def limit(name):
    """Return the limit after the last step, and its standard error."""
    found = st.theory.descend(PROBLEM, DESCENTS[name], replicas=REPLICAS)
    return {
        "name": name,
        "d": None,
        "error": float(found.test_error[-1]),
        "standard_error": float(found.errors.test_error[-1]),
    }


def measure(path, sizes, engine, workers, seconds):
    """Write the limits and a line for each trial, large dimensions taking turns with small."""
    start = time.monotonic()
    trials = [
        (number / most, name, dimension, number)
        for dimension, most in sizes
        for number in range(most)
        for name in DESCENTS
    ]
    apart = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, apart) as pool, Path(path).open("a") as file:
        waiting = {pool.submit(limit, name) for name in DESCENTS}
        todo = [(name, dimension, number) for _, name, dimension, number in sorted(trials)]
        while True:
            while len(waiting) < workers and todo and time.monotonic() - start < seconds:
                waiting.add(pool.submit(trial, engine, *todo.pop(0)))
            if not waiting:
                return
            done = next(as_completed(waiting))
            waiting.remove(done)
            file.write(json.dumps(done.result()) + "\n")
            file.flush()


def show(path):
    """Print a table of what is in the file."""
    rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
    for name in dict.fromkeys(row["name"] for row in rows):
        own = [row for row in rows if row["name"] == name]
        known = next(row for row in own if row["d"] is None)
        print(f"{name}: limit {known['error']:.5f} +- {known['standard_error']:.5f}")
        for dimension in sorted({row["d"] for row in own if row["d"]}):
            errors = np.array([row["error"] for row in own if row["d"] == dimension])
            spread = errors.std(ddof=1) / math.sqrt(len(errors)) if len(errors) > 1 else math.nan
            away = errors.mean() - known["error"]
            z = away / math.hypot(spread, known["standard_error"])
            print(
                f"  d = {dimension}: {len(errors)} trials, {errors.mean():.5f} +- {spread:.5f}, "
                f"distance {away:+.5f}, times d {dimension * away:+.2f}, z {z:+.2f}"
            )


def main():
    """Measure and show."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("sizes", nargs="*", help="dimension:trials")
    parser.add_argument("--engine", choices=("tensors", "reduced"), default="tensors")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--read", action="store_true")
    given = parser.parse_args()
    if not given.read:
        sizes = [tuple(int(part) for part in size.split(":")) for size in given.sizes]
        measure(given.file, sizes, given.engine, given.workers, given.seconds)
    show(given.file)


if __name__ == "__main__":
    main()
