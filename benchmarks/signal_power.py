"""How much of the score attention has: without a signal, with one of the mean token or of a few.

python benchmarks/signal_power.py [--draws 40] [--workers 2]

For each kind of data: p-values below 0.05 of the test against mean pooling and of the test of any
signal, how often attention has any share of the score, its mean share, and the mean test errors
of mean pooling and of the classifier.
"""

from __future__ import annotations

import argparse
import warnings
from multiprocessing import Pool
from typing import NamedTuple

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from sparsetoken import AttentionClassifier, PooledLinearClassifier
from sparsetoken.estimators import QueryWarning

TEST = 2000


class Kind(NamedTuple):
    """A law of tokens and of labels.

    With `informative` tokens positive bags have them, of this strength; with 0 tokens labels are
    of the mean token, their log odds of this deviation; at strength 0 they are of nothing.
    """

    law: str
    bags: int
    length: int
    dimension: int
    informative: int = 0
    strength: float = 0.0
    every: int = 2  # one bag in so many is positive


KINDS = (
    Kind("normal", 100, 10, 20),
    Kind("student", 90, 20, 50),
    Kind("steep", 60, 20, 100),
    Kind("skewed", 160, 10, 30, every=8),
    Kind("effects", 90, 20, 50),
    Kind("effects", 300, 5, 10),
    Kind("normal", 100, 10, 20, 0, 2.5),
    Kind("effects", 150, 20, 50, 0, 3.0),
    Kind("normal", 150, 10, 50, 3, 2.0),
    Kind("normal", 150, 10, 50, 5, 1.4),
    Kind("normal", 100, 10, 100, 1, 3.5),
    Kind("normal", 500, 10, 100, 5, 1.0),
    Kind("student", 200, 20, 50, 2, 1.8),
    Kind("effects", 200, 10, 50, 5, 1.5),
    Kind("effects", 400, 10, 50, 3, 1.5),
    Kind("steep", 200, 20, 100, 5, 0.7),
)


def tokens(kind: Kind, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n bags of tokens without a signal."""
    shape = (n, kind.length, kind.dimension)
    if kind.law == "student":
        return rng.standard_t(3, shape)
    if kind.law == "skewed":
        return rng.exponential(size=shape) - 1
    X = rng.standard_normal(shape)
    if kind.law == "effects":
        X += 0.7 * rng.standard_normal((n, 1, kind.dimension))
    if kind.law == "steep":  # columns are mixtures of a few strong and many weak directions
        d = kind.dimension
        mix = np.linalg.qr(np.random.default_rng(d).standard_normal((d, d)))[0]
        X = X * np.arange(1, d + 1) ** -0.7 @ mix
    return X


def drawn(
    kind: Kind, n: int, mu: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return bags and labels."""
    X = tokens(kind, n, rng)
    if kind.strength and not kind.informative:
        score = X.mean(axis=1) @ mu
        y = rng.random(n) < expit(kind.strength * score / score.std())
        return X, y.astype(int)
    y = (np.arange(n) % kind.every == 0).astype(int)
    spread = np.sqrt(np.square(X @ mu).mean())
    X[y == 1, : kind.informative] += kind.strength * spread * mu
    return X, y


def run(work: tuple[Kind, int]) -> list[float]:
    """Return what one draw gives."""
    kind, seed = work
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    mu = tokens(kind, 1, rng)[0, 0]
    mu /= np.linalg.norm(mu)
    X, y = drawn(kind, kind.bags, mu, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryWarning)
        model = AttentionClassifier(random_state=seed).fit(X, y)
    pooled = PooledLinearClassifier().fit(X, y)
    test = drawn(kind, TEST, mu, rng)
    pvalues = [float(model.attention_pvalue_[0] < 0.05), float(model.signal_pvalue_[0] < 0.05)]
    errors = [1 - pooled.score(*test), 1 - model.score(*test)]
    share = float(model.shares_[0, 0])
    return [*pvalues, float(share > 0), share, *errors]


def main() -> None:
    """Print a row for each kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    columns = ["p pooling", "p signal", "any share", "mean share", "pooled", "attention"]
    print(f"| tokens, n, L, d, R, θ, one positive in | {' | '.join(columns)} |")
    print("| --- " * (1 + len(columns)) + "|")
    with Pool(asked.workers, threadpool_limits, (1,)) as pool:
        for kind in KINDS:
            found = np.mean(pool.map(run, [(kind, s) for s in range(asked.draws)], 1), axis=0)
            shares = " | ".join(f"{share:.2f}" for share in found[:4])
            name = ", ".join(map(str, kind))
            print(f"| {name} | {shares} | {found[4]:.3f} | {found[5]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
