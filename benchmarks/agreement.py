"""Theory against real tensors at 30 random settings: are the z scores standard normal?

    python benchmarks/agreement.py [--out results/agreement.jsonl]

d = 500, all models, square and logistic loss, ten trials each. Half of the settings take
the query of the first three stages, half a given one. A z score is the difference of the
means over its standard error, Student's law with 9 degrees of freedom turned into a normal.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import stats

from resumable import rows
from sparsetoken import Query, Readout, SparseTokenProblem, TwoSteps, predict, simulate
from sparsetoken.model.models import Model, make_model

SETTINGS, TRIALS, DIMENSION, SEED = 30, 10, 500, 1
NAMES = ["attention", "pooled", "vectorized", "elementwise", "attention"]
ACTIVATIONS = ["erf", "sigmoid", "tanh", "relu", "linear"]
QUANTITIES = ["test_error", "training_loss"]


class Setting(NamedTuple):
    """What is drawn at random."""

    problem: SparseTokenProblem
    model: Model
    readout: Readout


def drawn(index: int) -> Setting:
    """Return one of the settings."""
    rng = np.random.default_rng([SEED, index])
    length = int(rng.integers(2, 13))
    problem = SparseTokenProblem(
        length,
        int(rng.integers(1, length // 2 + 1)),
        rng.uniform(1, 5),
        rng.uniform(0.2, 0.8),
    )
    loss = ["square", "logistic"][index % 2]
    steps = TwoSteps(alpha0=rng.uniform(1, 4), eta_q=10 ** rng.uniform(0.5, 1.5), loss=loss)
    ridge = 10 ** rng.uniform(-3, 0)
    given = Query(rng.uniform(-0.5, 1), rng.uniform(0.3, 3)) if rng.random() < 0.5 else None
    activation = str(rng.choice(ACTIVATIONS))
    model = make_model(NAMES[index % len(NAMES)], given or steps, activation=activation)
    return Setting(problem, model, Readout(loss, ridge, rng.uniform(0.5, 3)))


def run(index: int) -> dict:
    """Return one setting with theory, mean, standard error and z of each quantity."""
    setting = drawn(index)
    theory = predict(*setting)
    trials = simulate(*setting, dimension=DIMENSION, trials=TRIALS, engine="tensors", seed=SEED)
    model = setting.model
    row: dict = {
        "model": model.name,
        "activation": getattr(model, "activation", None),
        "problem": repr(setting.problem),
        "query": repr(model.query) if model.query else None,
        "readout": repr(setting.readout),
        "status": [str(theory.status.code), str(trials.status.code)],
    }
    for name in QUANTITIES:
        predicted, mean = getattr(theory, name), getattr(trials.mean, name)
        error = getattr(trials.standard_error, name)
        t = (mean - predicted) / math.hypot(error, theory.numerical_error)
        z = math.copysign(stats.norm.isf(stats.t.sf(abs(t), TRIALS - 1)), t)
        row[name] = {"theory": predicted, "mean": mean, "standard_error": error, "z": z}
    return row


def main() -> None:
    """Run what is missing, then print the settings and a summary of the z scores."""
    found = rows(__doc__, SETTINGS, run)
    for i, row in enumerate(found):
        values = "  ".join(
            f"{name} {row[name]['theory']:.4f} {row[name]['mean']:.4f} z {row[name]['z']:+.2f}"
            for name in QUANTITIES
        )
        print(f"{i:2} {row['model']:11} {values}  {row['status']}")
    for name in QUANTITIES:
        z = np.array([row[name]["z"] for row in found])
        p = stats.kstest(z, "norm").pvalue
        spread = f"mean {z.mean():+.2f}, sd {z.std(ddof=1):.2f}, largest {np.abs(z).max():.2f}"
        print(f"{name:14} {spread}, Kolmogorov-Smirnov p {p:.2f}")


if __name__ == "__main__":
    main()
