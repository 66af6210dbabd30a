"""In which scale is the readout of the mean token best fitted?

python benchmarks/readout_scale.py [--draws 16]

Columns of tokens have deviation 1 within bags; effects of bags on them are of uneven size. Classes
differ by `signal`, see `difference`. Mean test errors of readouts in the scale of tokens, in that
of mean tokens, and in the one that is chosen.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools

import numpy as np
from scipy.stats import norm

from sparsetoken.bags import Bags
from sparsetoken.estimators.fitting.features import BagFeatures
from sparsetoken.estimators.fitting.linear_fit import LinearFit
from sparsetoken.estimators.fitting.samples import Samples
from sparsetoken.estimators.fitting.standardization import Standardization
from sparsetoken.estimators.fitting.task import Task
from sparsetoken.losses import get_loss

SHAPES = ((90, 40, 200), (180, 7, 150), (90, 5, 40))  # n, L, d
UNEVEN = (0.5, 1.5)  # deviation of the logarithm of effects
SIGNALS = ("tokens", "means", "one in ten", "weights")
DISTANCE = 3.5  # of the classes, in standard deviations along the best direction


def difference(
    signal: str, token: np.ndarray, mean: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return the difference of the classes in each column."""
    units = {"means": mean, "weights": mean**2 / token}.get(signal, token)
    found = units * rng.standard_normal(len(token))
    if signal == "one in ten":
        found *= np.arange(len(token)) % 10 == 0
    return found * DISTANCE / np.linalg.norm(found / mean)


def errors(shape: tuple[int, int, int], uneven: float, signal: str, seed: int) -> list[float]:
    """Return the exact test errors of one draw: scale of tokens, of mean tokens, chosen."""
    n, L, d = shape
    rng = np.random.default_rng(seed)
    effect = 0.3 * np.exp(uneven * rng.standard_normal(d))
    token, mean = np.sqrt(1 + effect**2), np.sqrt(1 / L + effect**2)
    delta = difference(signal, token, mean, rng)
    y, ones = np.where(np.arange(n) % 2, 1.0, -1.0), np.ones(n)
    effects = effect * rng.standard_normal((n, 1, d)) + 0.5 * (y[:, None] * delta)[:, None]
    X = effects + rng.standard_normal((n, L, d))
    bags = Bags(X.reshape(n * L, d), np.arange(n + 1) * L)
    features = BagFeatures(bags, Standardization.of(bags, ones, True))
    task = Task(features, Samples(y, ones, ones), get_loss("logistic"), "auto", rescale=True)
    tokens = dataclasses.replace(task, rescale=False).mean_fit
    own = task.in_own_scale(features.means)

    def error(fit: LinearFit) -> float:
        w = features.standardization.coefficients(fit.w)
        b = fit.b + features.standardization.offset(fit.w)
        z = (0.5 * w @ delta + np.array([b, -b])) / np.linalg.norm(w * mean)
        return float(norm.cdf(-z).mean())

    return [error(fit) for fit in (tokens, own, task.mean_fit)]


def main() -> None:
    """Print a row for each law."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=16)
    draws = parser.parse_args().draws
    print("| n, L, d | unevenness | signal | tokens | mean tokens | chosen |")
    print("| --- " * 6 + "|")
    for law in itertools.product(SHAPES, UNEVEN, SIGNALS):
        found = np.mean([errors(*law, seed) for seed in range(draws)], axis=0)
        shape, uneven, signal = law
        numbers = " | ".join(f"{one:.3f}" for one in found)
        print(f"| {', '.join(map(str, shape))} | {uneven} | {signal} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
