"""How much depth buys, as more tokens have to be read one after another.

For the task of a value that is looked up in one, two or three hops, and for one, two and three
layers of ten columns each: the error of the best weights, by minimising the population loss from
random starts, and the least error over the steps of descents at several loads, which start half
way towards these weights.

    python benchmarks/depth.py [--hops 1 2 3] [--quick] [--out results/depth.json]

The file has what was computed, so that a second run goes on.
"""

from __future__ import annotations

import argparse
import json
import math
from functools import partial
from pathlib import Path

import jax
import numpy as np
from scipy import optimize

import sparsetoken as st
from sparsetoken.base.content import digest_of_files, digest_of_source
from sparsetoken.model.architectures.base import scores_of
from sparsetoken.model.network_checks import sample_loss
from sparsetoken.numerics.errors import stated_error
from sparsetoken.theory.minimum.equations import nodes_of

NETWORKS = {
    "1 layer": st.networks.Softmax(heads=5),
    "2 layers": st.networks.Transformer(layers=2, heads=2),
    "3 layers": st.networks.Transformer(layers=3),
}
LENGTH, STRENGTH = 6, 4.0
LOADS = (2.0, 8.0, math.inf)
FEW, MANY, TESTS = 2048, 16384, 2**16  # bags of each kind: of all starts, of the best one, of tests
STEPS, RATES, REPLICAS = 16, (0.05, 0.1), 4  # of descents with normalised steps


def best_weights(task, network, starts):
    """Return overlaps, Gram matrix and c of the least population loss, and errors on new bags.

    Columns are U = Xi M^T + A beside the signals, of which only A^T A matters.
    """
    m, P = len(network.column_names(1)), len(task.directions)
    loss = sample_loss(st.Descent().loss, 1)

    def weights(v):
        M, A, c = v[: m * P].reshape(m, P), v[m * P : -1].reshape(m, m), v[-1:]
        return M, A, c

    def scores(v, Z, g):
        M, A, c = weights(v)
        gram = A.T @ A + M @ M.T
        return jax.vmap(lambda h: scores_of(network, h, c, gram, 1))(Z @ M.T + g @ A)

    @jax.jit
    def objective(v, Z, g, y):
        return jax.value_and_grad(lambda v: jax.vmap(loss)(scores(v, Z, g), y).mean())(v)

    def minimum(v, nodes, most):
        bags = nodes.Z, nodes.g, nodes.y
        found = optimize.minimize(
            lambda v: tuple(np.asarray(part, float) for part in objective(v, *bags)),
            v,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": most, "maxcor": 20},
        )
        return found.fun, found.x

    few, many = (nodes_of(network, task, size, 0) for size in (FEW, MANY))
    ends = []
    for seed in range(starts):
        v = np.random.default_rng(seed).standard_normal(m * (P + m) + 1) / math.sqrt(P)
        v[m * P :] *= 0.3
        ends.append(minimum(v, few, 200))
    ends = sorted(ends, key=lambda end: end[0])
    _, v = min((minimum(v, many, 200) for _, v in ends[:2]), key=lambda end: end[0])
    forward, errors = jax.jit(scores), []
    for scramble in range(1, 5):
        nodes = nodes_of(network, task, TESTS // 4, scramble)
        errors.append(float(np.mean(np.sign(forward(v, nodes.Z, nodes.g)[:, 0]) != nodes.y)))
    M, A, c = weights(v)
    reached = sum(loss < ends[0][0] * 1.05 for loss, _ in ends)
    return {
        "error": float(np.mean(errors)),
        "error_se": stated_error(np.array(errors)).item(),
        "starts": starts,
        "starts_within_5_percent": reached,
        "overlaps": M.tolist(),
        "rest": (A.T @ A).tolist(),
        "c": c.tolist(),
    }


def start_of(network, best, size=0.5):
    """Return settings of a descent that starts at a share of the best weights, in directions."""
    columns = network.column_names(1)
    M, rest = np.array(best["overlaps"]), np.array(best["rest"])
    norms = np.sqrt((M**2).sum(axis=1) + np.diag(rest))
    beside = np.sqrt(np.maximum(np.diag(rest), 1e-12))
    cosines = rest / (beside[:, None] * beside)
    M = size * M / norms[:, None]
    pairs = [(i, j) for i in range(len(M)) for j in range(i)]
    return {
        "start": np.sqrt(1 - (M**2).sum(axis=1)),
        "start_overlaps": M,
        "start_cosines": {(columns[i], columns[j]): 0.5 * cosines[i, j] for i, j in pairs}
        if network.uses_gram
        else None,
    }


def least_error(task, network, best, alpha):
    """Return the least error over steps and rates, with its standard error.

    It is that of the least upper end, two standard errors above: replicas may part.
    """
    found = []
    for rate in RATES:
        descent = st.Descent(
            network,
            alpha=alpha,
            steps=STEPS,
            rates=rate,
            normalised=True,
            **start_of(network, best),
        )
        trajectory = st.descend(task, descent, replicas=REPLICAS, tolerance=0.5, progress=False)
        step = int(np.nanargmin(trajectory.test_error + 2 * trajectory.errors.test_error))
        error, se = float(trajectory.test_error[step]), float(trajectory.errors.test_error[step])
        found.append({"error": error, "error_se": se, "rate": rate, "step": step})
    return min(found, key=lambda one: one["error"] + 2 * one["error_se"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/depth.json"))
    parser.add_argument("--hops", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--quick", action="store_true", help="one start, and no descents")
    options = parser.parse_args()
    starts = 1 if options.quick else 20
    jax.config.update("jax_enable_x64", True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    table = json.loads(options.out.read_text()) if options.out.exists() else {}
    # Rows of other code, or of fewer starts, are computed again.
    made_by = [digest_of_source(), digest_of_files(Path(__file__).parent), starts]
    if table.get("made_by") != made_by:
        table = {"made_by": made_by}

    def keep(name, compute):
        if name not in table:
            table[name] = compute()
            options.out.write_text(json.dumps(table, indent=1))
            print(name, {key: table[name][key] for key in ("error", "error_se")}, flush=True)
        return table[name]

    for hops in options.hops:
        task = st.tasks.lookup(LENGTH, hops, strengths=STRENGTH)
        for name, network in NETWORKS.items():
            row = f"{hops} hops, {name}"
            best = keep(f"{row}, best", partial(best_weights, task, network, starts))
            for alpha in () if options.quick else LOADS:
                keep(f"{row}, alpha {alpha:g}", partial(least_error, task, network, best, alpha))


if __name__ == "__main__":
    main()
