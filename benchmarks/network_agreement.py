"""Theory and real tensors of random networks, tasks and spectra, in standard errors.

    python benchmarks/network_agreement.py --settings 30 --seed 0

Each setting is drawn from the seed and its number. Test error, training loss, attended share,
overlaps and squared lengths are compared after half of the steps and after all of them. Where one
of them has |z| > 3 the same law is drawn without tokens at two larger dimensions, if the tokens are
isotropic, and theory is compared with the line through both in 1/d.
"""

import argparse
import math
import time

import jax
import numpy as np

import sparsetoken as st
from sparsetoken import simulation
from sparsetoken.experiments.core.rules import normal_score
from sparsetoken.model import networks
from sparsetoken.results import StatusCode
from sparsetoken.theory import descend

TRIALS, DIMENSION, REPLICAS = 12, 600, 8
LARGE, MANY = (1200, 4800), 24  # dimensions and trials of the second look


def largest(H, c):
    """A smooth maximum over the tokens."""
    return jax.nn.logsumexp(2 * H[:, 0]) / 2 + c[0]


def drawn(seed, number):
    """Return a task and a descent."""
    rng = np.random.default_rng((seed, number))
    L = int(rng.integers(2, 9))
    task, kind = drawn_task(rng, L)
    outputs = 1 if getattr(task, "classes", 2) == 2 else task.classes
    choices = [
        networks.Softmax(heads=int(rng.integers(1, 4))),
        networks.Gated(hidden=int(rng.integers(1, 5))),
        networks.SelfAttention(rank=int(rng.integers(1, 3))),
        networks.Elementwise(str(rng.choice(["erf", "sigmoid", "tanh"]))),
        networks.DeepSets(hidden=int(rng.integers(1, 5))),
        networks.Pooled(),
        networks.Network(largest, columns=["w"], weights=["b"]),
    ]
    network = choices[number % (len(choices) if outputs == 1 else len(choices) - 1)]
    columns = network.column_names(outputs)
    loss = (
        "logistic"
        if outputs > 1
        else str(rng.choice(["logistic", "logistic", "square", "squared_hinge"]))
    )
    slow = 0.3 if loss == "square" else 1.0
    descent = st.Descent(
        network,
        alpha=float(np.exp(rng.uniform(math.log(0.5), math.log(4)))),
        steps=int(rng.integers(6, 15)),
        rates=slow * np.exp(rng.uniform(math.log(0.3), math.log(2), len(columns))),
        rate_c=slow * float(rng.uniform(0, 1)),
        start=rng.uniform(0.2, 0.7, len(columns)),
        start_overlaps=rng.uniform(0, 0.3, len(columns)) if rng.random() < 0.5 else 0.0,
        momentum=float(rng.choice([0.0, 0.0, 0.4])),
        decay=float(rng.choice([0.0, 0.0, 0.05])),
        batches=int(rng.choice([1, 1, 2])),
        loss=loss,
    )
    return task, descent, kind


def drawn_task(rng, L):
    kind = rng.choice(["one", "both", "classes", "atoms", "shared", "power"])
    strength = float(rng.uniform(2.0, 5.0))
    if kind == "both" and L > 1:
        patterns, rates, labels = (
            [[1, 1], [0, 0], [1, 0], [0, 1]],
            [0.4, 0.2, 0.2, 0.2],
            [1, 0, 0, 0],
        )
        return st.model.ConceptProblem(L, [strength + 1, strength], patterns, rates, labels), kind
    if kind == "classes":
        patterns, rates = [[0, 0], [1, 0], [0, 1]], [0.4, 0.3, 0.3]
        return st.model.ConceptProblem(
            L, [strength + 1, strength], patterns, rates, [0, 1, 2]
        ), kind
    informative, pi = int(rng.integers(1, min(L, 3) + 1)), float(rng.uniform(0.3, 0.7))
    given = {"length": L, "informative": informative, "strength": strength, "positive_rate": pi}
    d, between = 600, None
    if kind == "power":
        within = np.arange(1.0, d + 1) ** -0.4
    elif kind in ("atoms", "shared"):
        within = np.repeat(rng.uniform(0.3, 2.0, 3), d // 3)
    else:
        return st.SparseTokenProblem(**given), kind
    if kind == "shared":
        between = np.repeat(rng.uniform(0.0, 0.5, 3), d // 3)
    signal = rng.standard_normal(d)
    tokens = st.TokenCovariance(within / within.mean(), between, signal / np.linalg.norm(signal))
    return st.SparseTokenProblem(**given, tokens=tokens), kind


def numbers(path, t):
    """Return what is compared after a step: the three quantities, then overlaps and lengths."""
    three = [path.test_error[t], path.training_loss[t], path.attended[t]]
    squares = np.diagonal(path.weights.gram[t])
    return np.concatenate([three, path.weights.overlaps[t].ravel(), squares])


def scores(theory, error, found, spread, trials):
    """Return z by Student's law; 0 where nothing is random."""
    scale = np.hypot(error, spread)
    freedom = (trials - 1) * np.divide(
        scale, spread, out=np.ones_like(scale), where=spread > 0
    ) ** 4
    moving = np.isfinite(scale) & np.isfinite(found - theory) & (scale > 1e-9)
    return np.array(
        [
            math.copysign(normal_score(abs(a - b) / s, f), b - a)
            for a, b, s, f in zip(
                theory[moving], found[moving], scale[moving], freedom[moving], strict=True
            )
        ]
    )


def compared(course, task, descent, at, number):
    """Return z of all numbers, and of those carried to infinite dimension if some are large."""
    spectral = isinstance(getattr(task, "tokens", None), st.TokenCovariance)
    sizes = {"dimension": DIMENSION, "trials": TRIALS, "seed": number, "at": at}
    measured = simulation.descend(task, descent, engine="tensors", **sizes)

    def put(path):
        return np.concatenate([numbers(path, t) for t in at])

    known, error = put(course), put(course.errors)
    where = np.concatenate([[1.0, *[0.0] * (len(numbers(course, t)) - 1)] for t in at])
    error = np.hypot(error, where * course.numerical_error)
    z = scores(known, error, put(measured.mean), put(measured.standard_error), TRIALS)
    if np.abs(z).max() <= 3 or spectral:
        return z, None
    means, errors = [], []
    for d in LARGE:
        sizes = {"dimension": d, "trials": MANY, "seed": number, "at": at}
        found = simulation.descend(task, descent, engine="reduced", **sizes)
        means.append(put(found.mean))
        errors.append(put(found.standard_error))
    ratio = LARGE[1] / LARGE[0]
    limit = (ratio * means[1] - means[0]) / (ratio - 1)
    spread = np.hypot(ratio * errors[1], errors[0]) / (ratio - 1)
    return z, scores(known, error, limit, spread, MANY)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    everything, left, began = [], 0, time.perf_counter()
    for number in range(given.settings):
        task, descent, kind = drawn(given.seed, number)
        course = descend(task, descent, replicas=REPLICAS, progress=False)
        known = int(np.isfinite(course.test_error).sum()) - 1
        name = descent.network.name
        print(f"{number:3d} {kind:8s} {name:14s} L = {task.length}", end=" ", flush=True)
        if known < descent.steps or course.status.code is StatusCode.NO_LIMIT:
            left += 1
            print(f"known to step {known}: {course.status.remedy}", flush=True)
        at = sorted({max(known // 2, 1), known})
        z, carried = compared(course, task, descent, at, number)
        large = f"{np.abs(z).max():.1f}"
        if carried is not None:
            large += f", at infinite d {np.abs(carried).max():.1f}"
        everything.append(z if carried is None else carried)
        notes = ", a symmetry is broken" if course.notes else ""
        print(f"n/d = {descent.alpha:.2f}: {len(z)} numbers, |z| up to {large}{notes}", flush=True)
    z = np.concatenate(everything)
    print(
        f"{given.settings} settings ({left} cut short), {len(z)} numbers: z has standard deviation "
        f"{z.std():.2f}, {np.sum(np.abs(z) > 3)} above 3, the largest {np.abs(z).max():.1f}; "
        f"{time.perf_counter() - began:.0f} s"
    )


if __name__ == "__main__":
    main()
