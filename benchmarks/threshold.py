"""The threshold of mean pooling where bags of one class vary more: by left-out scores or as fitted.

python benchmarks/threshold.py [--draws 8]

Test errors of `PooledLinearClassifier`, whose calibration may move the threshold, of the same
readout with the threshold that it was fitted with, and of the best threshold of its test scores.
Laws have effects of bags whose variance differs between the classes; then the groups of
averages.py, where it does not.
"""

from __future__ import annotations

import argparse
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from averages import GROUPS
from forecast_sets import Draw
from sparsetoken import PooledLinearClassifier
from sparsetoken.estimators import linear
from sparsetoken.fitting import linear_fit
from sparsetoken.fitting.linear_fit import LinearFit
from sparsetoken.fitting.samples import Samples
from sparsetoken.losses import Loss

TEST = 1000


def uneven_bags(
    d: int, length: int, strength: float, rate: float, effects: tuple[float, float], seed: int
) -> Draw:
    """Return bags of which all tokens are shifted in positive ones.

    Variances of the effects of bags are those of negative and of positive ones, over the
    variance of tokens.
    """
    direction = np.random.default_rng(seed).standard_normal(d)
    direction *= strength / np.linalg.norm(direction)

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        y = (np.arange(n) < round(rate * n)).astype(int)
        spread = np.sqrt(np.array(effects)[y])[:, None]
        means = spread * rng.standard_normal((n, d)) + y[:, None] * direction
        return rng.standard_normal((n, length, d)) + means[:, None], y

    return draw


UNEVEN = {
    "200 columns, 60 bags, .1 and .55": (uneven_bags(200, 8, 2.6, 0.5, (0.1, 0.55), 41), 60),
    "200 columns, 100 bags, .1 and .6": (uneven_bags(200, 8, 2.6, 0.5, (0.1, 0.6), 42), 100),
    "200 columns, 80 bags, .2 and .4": (uneven_bags(200, 8, 2.6, 0.5, (0.2, 0.4), 43), 80),
    "300 columns, 60 bags, .05 and .3": (uneven_bags(300, 12, 2.0, 0.5, (0.05, 0.3), 44), 60),
    "200 columns, 100 bags, .45 and .15, 3 in 10 positive": (
        uneven_bags(200, 8, 2.6, 0.3, (0.45, 0.15), 45),
        100,
    ),
    "100 columns, 80 bags, .2 and .6, weaker": (
        uneven_bags(100, 10, 1.0, 0.5, (0.2, 0.6), 46),
        80,
    ),
    "200 columns, 60 bags, .3 in both": (uneven_bags(200, 8, 2.6, 0.5, (0.3, 0.3), 47), 60),
}


def errors(draw: Draw, n: int, rng: np.random.Generator) -> list[float]:
    """Return the errors with the threshold in use, that of the fit, and the best one."""
    (X, y), (test, truth) = draw(n, rng), draw(TEST, rng)
    moves = []

    def calibrated(fit: LinearFit, samples: Samples, loss: Loss) -> LinearFit:
        found = linear_fit.calibrated(fit, samples, loss)
        factor = np.linalg.norm(found.w) / np.linalg.norm(fit.w)
        moves.append(found.b - factor * fit.b)
        return found

    with mock.patch.object(linear, "calibrated", calibrated):
        model = PooledLinearClassifier().fit(X, y)
    scores = model.decision_function(test)
    as_fitted = np.mean((scores > moves[0]) != truth)
    order = np.argsort(scores)
    ranked = truth[order] > 0
    # Below a place all are called negative, from it on positive.
    wrong = np.concatenate([[0], np.cumsum(ranked)]) + np.concatenate(
        [np.cumsum(~ranked[::-1])[::-1], [0]]
    )
    best = wrong.min() / len(truth)
    return [1 - model.score(test, truth), as_fitted, best]


def row(name: str, laws: list[tuple[Draw, int]], draws: int) -> str:
    """Return the means over laws, and the difference with its standard error over draws."""
    rng = np.random.default_rng([sum(map(ord, name)), 5])
    found = np.array([[errors(draw, n, rng) for _ in range(draws)] for draw, n in laws])
    gaps = (found[..., 0] - found[..., 1]).mean(axis=0)
    mean = found.mean(axis=(0, 1))
    error = gaps.std(ddof=1) / np.sqrt(draws)
    cells = [*(f"{value:.3f}" for value in mean), f"{gaps.mean():.3f} ± {error:.3f}"]
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Print a row for each law, then for each group."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=8)
    asked = parser.parse_args()
    print("| laws | in use | as fitted | best | difference |\n" + "| --- " * 5 + "|")
    with threadpool_limits(1):
        for name, law in UNEVEN.items():
            print(row(name, [law], asked.draws), flush=True)
        for name, laws in GROUPS.items():
            print(row(f"{name}, {len(laws)}", list(laws.values()), asked.draws), flush=True)


if __name__ == "__main__":
    main()
