"""Predict, capacity and align at 500 random points of the documented domain: what falls short.

python benchmarks/robustness.py [--out results/robustness.jsonl]

A second run goes on where the first was cut off. Prints the Markdown tables of docs/archive.md
and then every point that fell short. Seconds are those of the processor, so that other work on
the machine does not count; they include compiling.
"""

from __future__ import annotations

import collections
import math
import time
import warnings

import numpy as np

from resumable import rows
from sparsetoken import (
    Query,
    Readout,
    SparseTokenProblem,
    TwoSteps,
    align,
    capacity,
    predict,
)
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.architectures.weights import ACTIVATIONS
from sparsetoken.model.models import make_model

POINTS, SEED = 500, 0
MODELS = {"attention": 0.4, "elementwise": 0.3, "pooled": 0.15, "vectorized": 0.15}
LOSSES = ["square", "logistic", "hinge", "squared_hinge"]
COMMANDS = ("predict", "capacity", "align")
BOUNDED = ("erf", "sigmoid", "tanh")
ENDS = ("converged", "tolerance_not_reached", "max_iterations", "no_limit", "refused")


def draw(index: int) -> dict:
    """Return the point with that index."""
    rng = np.random.default_rng([SEED, index])
    length = int(np.floor(np.exp(rng.uniform(0, np.log(65)))))
    return {
        "model": str(rng.choice(list(MODELS), p=list(MODELS.values()))),
        "activation": str(rng.choice(list(ACTIVATIONS))),
        "loss": str(rng.choice(LOSSES)),
        "length": length,
        "informative": int(rng.integers(1, min(length, 8) + 1)),
        "strength": rng.uniform(0, 8),
        "positive_rate": rng.uniform(0.02, 0.98),
        "cosine": rng.uniform(-1, 1),
        "sharpness": 10 ** rng.uniform(-2, 1) if rng.random() < 0.95 else 0.0,
        "alpha": 10 ** rng.uniform(math.log10(0.05), 2) if rng.random() < 0.9 else math.inf,
        "ridge": 10 ** rng.uniform(-6, 1) if rng.random() < 0.9 else 0.0,
        "alpha0": 10 ** rng.uniform(math.log10(0.05), 2),
        "eta": 10 ** rng.uniform(-1, 1),
    }


def answer(command: str, point: dict):
    """Return the result of a command at a point, all tolerances at their defaults."""
    names = ("length", "informative", "strength", "positive_rate")
    problem = SparseTokenProblem(*(point[name] for name in names))
    if command == "align":
        return align(problem, TwoSteps(point["alpha0"], eta_w=point["eta"], loss=point["loss"]))
    query = Query(point["cosine"], point["sharpness"])
    model = make_model(point["model"], query, activation=point["activation"])
    if command == "capacity":
        return capacity(problem, model)
    return predict(problem, model, Readout(point["loss"], point["ridge"], point["alpha"]))


def ended(command: str, point: dict) -> dict:
    """Return how a command ended, its remedy, its numbers and its time."""
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = answer(command, point)
    except InvalidInput as refusal:
        return {"status": "refused", "why": str(refusal)}
    except Exception as error:  # a benchmark of robustness counts these too
        return {"status": type(error).__name__, "why": str(error)}
    numbers = ("test_error", "capacity", "cosine", "numerical_error")
    return {
        "status": str(result.status.code),
        "why": result.status.remedy,
        **{name: getattr(result, name) for name in numbers if hasattr(result, name)},
        "seconds": time.process_time() - start,
    }


def run(index: int) -> dict:
    """Return the point with the ends of all commands there."""
    point = draw(index)
    return {**point, **{command: ended(command, point) for command in COMMANDS}}


def kind(row: dict) -> str:
    """Return the model, and of elementwise what sort of phi it has."""
    if row["model"] != "elementwise":
        return row["model"]
    phi = row["activation"]
    return f"elementwise, {'bounded φ' if phi in BOUNDED else phi}"


def table(command: str, groups: dict[str, list[dict]]) -> str:
    """Return a Markdown table: one line for each group of rows."""
    lines = [
        f"| {command} | points | converged | tolerance not reached | not solved | no limit "
        "| refused | other | seconds: median | 90% | 99% |",
        "|" + " --- |" * 11,
    ]
    for name, members in groups.items():
        found = [row[command] for row in members]
        counts = collections.Counter(f["status"] for f in found)
        seconds = [f["seconds"] for f in found if "seconds" in f] or [math.nan]
        times = [f"{np.quantile(seconds, q):.2g}" for q in (0.5, 0.9, 0.99)]
        other = sum(counts.values()) - sum(counts[end] for end in ENDS)
        cells = [name, len(found), *(counts[end] for end in ENDS), other, *times]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def grouped(found: list[dict], key) -> dict[str, list[dict]]:
    """Return the rows by a key, in its order, and all of them."""
    groups: dict[str, list[dict]] = {}
    for row in sorted(found, key=key):
        groups.setdefault(key(row), []).append(row)
    return {**groups, "all": found}


def main() -> None:
    """Run what is missing, then print the tables and what fell short."""
    found = rows(__doc__, POINTS, run)
    for command in ("predict", "capacity"):
        print(table(command, grouped(found, kind)), end="\n\n")
    print(table("predict", grouped(found, lambda row: row["loss"])), end="\n\n")
    print(table("align", {"all": found}), end="\n\n")
    for row in found:
        point = {key: value for key, value in row.items() if key not in COMMANDS}
        for command in COMMANDS:
            if row[command]["status"] != "converged":
                print(command, row[command], point)


if __name__ == "__main__":
    main()
