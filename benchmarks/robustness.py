"""Predict at 500 random points of the whole domain; count what converges.

python benchmarks/robustness.py [--out results/robustness.jsonl]
"""

from __future__ import annotations

import collections
import time

import numpy as np

from resumable import rows
from sparsetoken import FourStageTraining, InvalidInput, Query, SparseTokenProblem, predict
from sparsetoken.attention import ACTIVATIONS

POINTS, SEED = 500, 0
MODELS = {"attention": 0.5, "elementwise": 0.3, "pooled": 0.1, "vectorized": 0.1}
LOSSES = ["square", "logistic", "hinge", "squared_hinge"]


def draw(index: int) -> dict:
    """Return the point with that index; k is drawn half evenly, half on a log scale."""
    rng = np.random.default_rng([SEED, index])
    length = int(np.floor(2 ** rng.uniform(0, 10.0005)))
    sharpness = rng.uniform(0, 20) if rng.random() < 0.5 else 10 ** rng.uniform(-3, 1.3)
    return {
        "model": str(rng.choice(list(MODELS), p=list(MODELS.values()))),
        "activation": str(rng.choice(list(ACTIVATIONS))),
        "loss": str(rng.choice(LOSSES)),
        "length": length,
        "informative": int(np.floor(np.exp(rng.uniform(0, np.log(length + 0.999))))),
        "strength": rng.uniform(0, 20),
        "positive_rate": rng.uniform(0.01, 0.99),
        "cosine": rng.uniform(-1, 1),
        "sharpness": sharpness,
        "alpha1": 10 ** rng.uniform(-1, 2),
        "ridge": 10 ** rng.uniform(-6, 3),
    }


def run(index: int) -> dict:
    """Return the point with the prediction's status, error and time."""
    point = draw(index)
    problem = SparseTokenProblem(
        point["length"], point["informative"], point["strength"], point["positive_rate"]
    )
    training = FourStageTraining(loss=point["loss"], ridge=point["ridge"])
    start = time.perf_counter()
    try:
        result = predict(
            point["model"],
            problem,
            training,
            point["alpha1"],
            query=Query(point["cosine"], point["sharpness"]),
            activation=point["activation"],
        )
    except InvalidInput as refusal:
        return {**point, "status": "refused", "why": str(refusal)}
    return {
        **point,
        "status": str(result.status.code),
        "why": result.status.remedy,
        "test_error": result.test_error,
        "numerical_error": result.numerical_error,
        "residual": result.residual,
        "iterations": result.iterations,
        "seconds": time.perf_counter() - start,
    }


def main() -> None:
    """Run what is missing, then print the counts."""
    found = rows(__doc__, POINTS, run)
    for model in MODELS:
        mine = [r for r in found if r["model"] == model]
        counts = dict(collections.Counter(r["status"] for r in mine))
        seconds = np.median([r["seconds"] for r in mine if "seconds" in r])
        print(f"{model:12} {len(mine):4} points  {counts}  median {seconds:.2f} s")
    for row in found:
        if row["status"] != "converged":
            print(row)


if __name__ == "__main__":
    main()
