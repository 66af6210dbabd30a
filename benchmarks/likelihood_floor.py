"""Classifiers on model data beside the floor under every learner, st.oracle.learning_error.

python benchmarks/likelihood_floor.py [--draws 8] [--workers 2]
"""

from __future__ import annotations

import argparse
import math
from multiprocessing import Pool
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import sparsetoken as st

TEST = 4000


class Setting(NamedTuple):
    """A problem, the dimension and the number of bags."""

    length: int
    informative: int
    strength: float
    positive_rate: float
    dimension: int
    bags: int

    @property
    def problem(self) -> st.SparseTokenProblem:
        """The law of the bags."""
        return st.SparseTokenProblem(*self[:4])


SETTINGS = (
    Setting(10, 1, 4.0, 0.5, 100, 200),
    Setting(10, 1, 4.0, 0.5, 100, 600),
    Setting(20, 1, 5.0, 0.5, 100, 300),
    Setting(20, 1, 5.0, 0.5, 200, 90),
    Setting(10, 3, 3.0, 0.5, 100, 300),
    Setting(10, 3, 2.0, 0.5, 50, 150),
    Setting(10, 1, 3.0, 0.2, 50, 500),
)
METHODS = {
    "bag": lambda random_state: st.BagClassifier(progress=False),
    "attention": lambda random_state: st.AttentionClassifier(random_state=random_state),
    "pooled": lambda random_state: st.estimators.PooledLinearClassifier(),
}


def errors(work: tuple[Setting, int]) -> list[float]:
    """Return the test error of each method on one draw, and the weight of attention."""
    setting, seed = work
    rng = np.random.default_rng(seed)
    xi = rng.standard_normal(setting.dimension)
    xi /= np.linalg.norm(xi)
    X, y = setting.problem.sample(setting.bags + TEST, xi, rng, np.dtype(np.float32))
    train, test = slice(setting.bags), slice(setting.bags, None)
    models = [make(random_state=seed).fit(X[train], y[train]) for make in METHODS.values()]
    found = [1 - model.score(X[test], y[test]) for model in models]
    weight = models[0].weights_[models[0].member_names_.index("attention"), 0]
    return [*found, float(weight)]


def main() -> None:
    """Print a row for each setting."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    print("| L, R, θ, π, d, n | floor | xi known |", " | ".join(METHODS), "| weight of attention |")
    print("| --- " * (len(METHODS) + 4) + "|")
    with Pool(asked.workers, threadpool_limits, (1,)) as pool:
        for setting in SETTINGS:
            floor = st.oracle.learning_error(setting.problem, setting.bags / setting.dimension)
            assert floor.status.converged
            works = [(setting, seed) for seed in range(asked.draws)]
            found = np.array(pool.map(errors, works, chunksize=1))
            mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / math.sqrt(len(found))
            cells = [f"{m:.3f} ± {e:.3f}" for m, e in zip(mean[:-1], error[:-1], strict=True)]
            name = ", ".join(f"{value:g}" for value in setting)
            head = f"{floor.test_error:.3f} | {floor.oracle_error:.3f}"
            print(f"| {name} | {head} | {' | '.join(cells)} | {mean[-1]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
