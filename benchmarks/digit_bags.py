"""Bags of 20 handwritten digits, "contains an 8" and "contains a 3": ours and gated attention.

python benchmarks/digit_bags.py [--methods linear kernels abmil] [--targets 8 3] [--draws 0 1]

Training and test digits are other images. Each positive bag has one digit of the kind. Gated
attention needs PyTorch, which is no dependency: `pip install torch`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits

from gated_attention import GatedAttention

LENGTH, TRAIN, TEST = 20, 800, 1000


class Draw(NamedTuple):
    """Bags (n, L, 64) and labels, to train on and to test on."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def drawn(target: int, seed: int) -> Draw:
    """Return bags of digits, half of which contain one `target`."""
    rng, digits = np.random.default_rng(seed), load_digits()
    order = rng.permutation(len(digits.target))
    cut, found = 2 * len(order) // 3, []
    for images, n in ((order[:cut], TRAIN), (order[cut:], TEST)):
        kind, y = digits.target[images], np.arange(n) % 2
        others, those = images[kind != target], images[kind == target]
        X = np.stack([digits.data[rng.choice(others, LENGTH)] for _ in y]).astype(np.float32)
        for i in np.flatnonzero(y):
            X[i, rng.integers(LENGTH)] = digits.data[rng.choice(those)]
        found += [X, y]
    return Draw(*found)


def linear(data: Draw, seed: int) -> float:
    """Return the test error of attention to the pixels."""
    return _ours(None, data, seed)


def kernels(data: Draw, seed: int) -> float:
    """Return the test error with features chosen by left-out loss."""
    return _ours("auto", data, seed)


def _ours(token_features: str | None, data: Draw, seed: int) -> float:
    from sparsetoken import AttentionClassifier

    model = AttentionClassifier(token_features=token_features, random_state=seed)
    return 1 - model.fit(data.X, data.y).score(data.X_test, data.y_test)


def abmil(data: Draw, seed: int) -> float:
    """Return the test error of gated attention, which needs PyTorch."""
    model = GatedAttention(random_state=seed).fit(data.X, data.y)
    return 1 - model.score(data.X_test, data.y_test)


METHODS: dict[str, Callable[[Draw, int], float]] = {
    "linear": linear,
    "kernels": kernels,
    "abmil": abmil,
}


def main() -> None:
    """Print a row for each draw and method: test error and processor seconds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--targets", nargs="+", type=int, default=[8, 3])
    parser.add_argument("--draws", nargs="+", type=int, default=[0, 1])
    asked = parser.parse_args()
    print("| target | draw | method | test error | processor s |\n|---|---|---|---|---|")
    for target in asked.targets:
        for draw in asked.draws:
            data = drawn(target, draw)
            for method in asked.methods:
                start = time.process_time()
                error = METHODS[method](data, draw)
                spent = time.process_time() - start
                print(f"| {target} | {draw} | {method} | {error:.3f} | {spent:.1f} |", flush=True)


if __name__ == "__main__":
    main()
