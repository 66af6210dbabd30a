"""How finite dimension shifts what is measured: c in mean = limit (1 + c/d), without the theory.

    python benchmarks/finite_dimension.py [--out results/finite_dimension.jsonl]

Settings drawn at random, each simulated at several d; a line in 1/d gives c and its error. The
coefficients that the verdicts of `reproduce` use, by quantity, are written at the end into
src/sparsetoken/experiments/core/shifts.json: the middle over settings, its standard error, and the
spread between settings beyond the noise of the trials.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from resumable import rows
from sparsetoken import Query, Readout, SparseTokenProblem, TwoSteps, simulate, simulation
from sparsetoken.experiments.core.finite_dimension import Shift, fitted_shift, pooled_shift
from sparsetoken.experiments.core.rows import Row, averaged, measured
from sparsetoken.model.models import Model, make_model

TARGET = Path(__file__).parents[1] / "src/sparsetoken/experiments/core/shifts.json"
SETTINGS, SEED = 36, 5
DIMENSIONS = {100: 240, 200: 120, 400: 60}
"""Trials by d, about the same error of the coefficient from each."""
ALIGNMENTS = 10
"""Times as many trials of the query alone, which cost little."""
NAMES = ["attention", "pooled", "attention", "vectorized"]
QUANTITIES = ("test_error", "training_loss", "training_error", "auc")
COSINES = ("cosine", "readout_cosine")


class Setting(NamedTuple):
    """What is drawn at random."""

    problem: SparseTokenProblem
    steps: TwoSteps
    model: Model
    readout: Readout


def drawn(index: int) -> Setting:
    """Return one of the settings; loads are multiples of 1/20, so that alpha d is whole."""
    rng = np.random.default_rng([SEED, index])
    length = int(rng.integers(3, 13))
    rate, strength = rng.uniform(0.2, 0.8), rng.uniform(2, 6)
    problem = SparseTokenProblem(length, int(rng.integers(1, 4)), strength, rate)
    loss = ["square", "logistic"][index // 2 % 2]
    steps = TwoSteps(rng.integers(10, 81) / 20, eta_q=10 ** rng.uniform(0.5, 1.5), loss=loss)
    given = Query(rng.uniform(0.2, 1), rng.uniform(0.3, 2))
    model = make_model(NAMES[index % len(NAMES)], steps if index % 8 < 4 else given)
    readout = Readout(loss, 10 ** rng.uniform(-5, -1), rng.integers(10, 81) / 20)
    return Setting(problem, steps, model, readout)


def run(index: int) -> dict:
    """Return c and its error of each quantity in one setting."""
    problem, steps, model, readout = drawn(index)
    found: dict[str, list[Row]] = {}
    for d, trials in DIMENSIONS.items():
        fits = simulate(problem, model, readout, dimension=d, trials=trials, seed=d + SEED)
        queries = simulation.align(
            problem, steps, dimension=d, trials=ALIGNMENTS * trials, seed=d + SEED
        )
        for names, result in ((QUANTITIES, fits), (COSINES, queries)):
            for name in names:
                found.setdefault(name, []).append(measured(result, name, dimension=d))
        gap = 1 - np.abs(queries.trials.cosine)
        found.setdefault("misalignment", []).append(averaged(gap, dimension=d))
    return {"model": model.name, **{name: _coefficient(name, m) for name, m in found.items()}}


def _coefficient(name: str, found: Sequence[Row]) -> list[float] | None:
    """Return c and its error; None where the quantity is too near 0 for a relative shift."""
    if name in COSINES and abs(found[-1].value) < 0.5:
        return None
    if any(m.value <= 5 * m.error for m in found) and name not in COSINES:
        return None
    return list(fitted_shift(name, found))


def main() -> None:
    """Run what is missing, then write the coefficients."""
    found = rows(__doc__, SETTINGS, run)
    shifts: dict[str, Shift] = {}
    for name in (*QUANTITIES, *COSINES, "misalignment"):
        known = [tuple(row[name]) for row in found if row[name] is not None]
        shifts[name] = pooled_shift(known)
        print(name, shifts[name], " ".join(f"{c:.1f}({e:.1f})" for c, e in sorted(known)))
    rounded = {name: [round(x, 2) for x in shift] for name, shift in shifts.items()}
    TARGET.write_text(json.dumps(rounded, indent=2) + "\n")


if __name__ == "__main__":
    main()
