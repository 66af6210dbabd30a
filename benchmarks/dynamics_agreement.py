"""The exact dynamics against descent on real tokens, in random settings.

Run as ``python benchmarks/dynamics_agreement.py [settings] [dimension] [trials]``. It prints, for
each setting and quantity, how many standard errors of both lie between theory and simulation
after the last step, and how these z scores are spread. Errors come from a few trials, so that the
scores follow Student's law: with 8 trials their standard deviation is 1.18. Settings with tanh
are shown but not counted: (w, q) and (-w, -q) are then one classifier, without overlap at the
start there is none in the limit, and at finite d it grows from 1/sqrt(d) within some steps.
"""

import sys
import time

import numpy as np

import sparsetoken as st

QUANTITIES = (
    "test_error",
    "training_loss",
    "cosine_q",
    "overlap_w",
    "overlap_q",
    "norm_w",
    "norm_q",
    "b",
)
ACTIVATIONS = ("erf", "sigmoid", "tanh", "linear")


def random_setting(number):
    """Return a problem and a descent, drawn at random."""
    rng = np.random.default_rng([20250929, number])
    length = int(rng.integers(2, 9))
    problem = st.SparseTokenProblem(
        length, int(rng.integers(1, min(length, 3) + 1)), rng.uniform(1.5, 4), rng.uniform(0.2, 0.7)
    )
    steps = int(rng.integers(2, 11))
    start = rng.uniform(0.1, 0.6, size=2) * (rng.random() < 0.7)
    beta = rng.uniform(0.7, 1.5)
    network = st.networks.Softmax(beta=beta)
    if rng.random() < 0.3:
        network = st.networks.Elementwise(str(rng.choice(ACTIVATIONS)), beta)
    return problem, st.Descent(
        network,
        alpha=rng.uniform(0.7, 3.0),
        steps=steps,
        rates={"w": rng.uniform(0.3, 1.5, size=steps), "q": rng.uniform(1, 5)},
        rate_c=rng.uniform(0, 0.8),
        momentum=float(rng.choice([0.0, 0.4])),
        decay={"w": float(rng.choice([0.0, 0.1])), "q": 0.0},
        batches=int(rng.choice([1, 1, 2])),
        start={"w": start[0], "q": start[1]},
        loss=str(rng.choice(["logistic", "squared_hinge", "logistic"])),
    )


def z_scores(number, dimension, trials):
    """Return the z score of each quantity after the last step; nan where it is always 0."""
    problem, descent = random_setting(number)
    theory = st.theory.descend(problem, descent)
    found = st.simulation.descend(problem, descent, dimension=dimension, trials=trials, seed=number)
    paths = theory, found.mean, theory.errors, found.standard_error
    columns = [path.columns() for path in paths]
    scores = []
    for name in QUANTITIES:
        expected, mean, *errors = (float(values[name][-1]) for values in columns)
        error = np.hypot(*errors)
        scores.append((mean - expected) / error if error > 0 else np.nan)
    return descent.network, theory, scores


def main():
    defaults = ("20", "500", "8")
    given = (*sys.argv[1:], *defaults[len(sys.argv) - 1 :])
    settings, dimension, trials = (int(value) for value in given)
    print(" " * 26 + "  ".join(name[:8].rjust(8) for name in QUANTITIES))
    table = []
    for number in range(settings):
        began = time.process_time()
        network, theory, scores = z_scores(number, dimension, trials)
        if getattr(network, "activation", "") != "tanh":
            table.append(scores)
        spent = time.process_time() - began
        name = f"{number:2d} {type(network).__name__:11s} T={len(theory) - 1:2d} {spent:5.1f}s"
        print(name.ljust(26) + "  ".join(f"{z:8.2f}" for z in scores), flush=True)
    z = np.array(table)
    z = z[np.isfinite(z)]
    print(f"{z.size} z scores: mean {z.mean():.2f}, standard deviation {z.std():.2f}, ", end="")
    print(f"|z| > 2: {np.mean(np.abs(z) > 2):.3f}, largest {np.abs(z).max():.2f}")


if __name__ == "__main__":
    main()
