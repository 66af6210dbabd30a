"""The capacity of elementwise attention against linear programming on real tokens.

    python benchmarks/elementwise_capacity.py [--out results/elementwise_capacity.jsonl]

For every weight function and sharpness, the load up to which a training set of real tokens stays
separable as it grows, at two dimensions: the median of some sets, and its standard error.
`simulation.is_separable` finds a hyperplane or proves that there is none, and asks a linear program
where it can do neither. Prints the table of docs/benchmarks.md.
"""

from __future__ import annotations

import math

import numpy as np

from resumable import rows
from sparsetoken import Elementwise, Query, SparseTokenProblem, capacity
from sparsetoken.simulation import draw_training_set, is_separable

PROBLEM, COSINE, SEED = SparseTokenProblem(5, 1, 4.0, 0.4), 0.6, 20
FUNCTIONS = ("erf", "sigmoid", "exp", "tanh", "linear", "relu")
SHARPNESSES = (0.5, 1.0, 2.0, 4.0, 8.0)
PLACES = [(f, k) for f in FUNCTIONS for k in SHARPNESSES if f != "relu" or k == 1.0]
"""Sharpness only scales what relu weighs."""
SETS = {120: 16, 240: 8}
"""Training sets by dimension; their thresholds spread by about 8%."""
LOWEST, HIGHEST, FINEST = 0.4, 1.8, 0.05
"""Of the loads tried, as multiples of the theory, and their distance at the end."""


def threshold(model: Elementwise, guess: float, d: int, trial: int) -> float:
    """Return the load at which one growing training set stops being separable."""
    options = {"dimension": d, "seed": SEED, "trial": trial, "engine": "tensors"}
    F, y = draw_training_set(PROBLEM, model, HIGHEST * guess, **options)
    low, high = LOWEST * guess, HIGHEST * guess
    while high - low > FINEST * guess:
        load = 0.5 * (low + high)
        n = round(load * d)
        low, high = (load, high) if is_separable(F[:n], y[:n]) else (low, load)
    return 0.5 * (low + high)


def row(index: int) -> dict:
    """Return the theory of one weight function, and the thresholds of training sets."""
    name, k = PLACES[index]
    model = Elementwise(Query(COSINE, k), name)
    found = capacity(PROBLEM, model, tolerance=1e-3, progress=False)
    line = {"weights": name, "sharpness": k, "capacity": float(found.capacity)}
    line |= {"error": float(found.numerical_error), "status": str(found.status)}
    for d, sets in SETS.items():
        loads = [threshold(model, found.capacity, d, trial) for trial in range(sets)]
        # A median has pi/2 times the variance of a mean.
        error = math.sqrt(math.pi / 2 / sets) * float(np.std(loads, ddof=1))
        line[f"d {d}"] = [float(np.median(loads)), error]
    return line


def main() -> None:
    """Run what is missing, then print the table."""
    print("| weights | sharpness | theory | status |", *(f"d = {d} |" for d in SETS))
    print("|---|--:|--:|---|" + "--:|" * len(SETS))
    for line in rows(__doc__, len(PLACES), row):
        theory = f"{line['capacity']:.3f} ± {line['error']:.3f}"
        cells = [f"{v:.2f} ± {e:.2f}" for v, e in (line[f"d {d}"] for d in SETS)]
        place = line["weights"], f"{line['sharpness']:g}"
        print("|", " | ".join([*place, theory, f"`{line['status']}`", *cells]), "|")


if __name__ == "__main__":
    main()
