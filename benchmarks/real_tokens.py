"""Test errors on bags of real tokens, predicted and measured.

    python benchmarks/real_tokens.py [--quick]

Tokens are handwritten digits (8 x 8 pixels; one of a positive bag is a 9) or patches of two
photographs (one of a positive bag is of the flower), standardised. Features of a bag are the mean
token, or the softmax mean by a given query, the linear discriminant of single tokens. The theory
knows the mean and covariance of the features of each class, from bags of their own, and nothing
else. Measured are readouts that are fitted to fresh bags and tested on others.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.datasets import load_digits, load_sample_image

from sparsetoken.losses import get_loss
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.theory.laws.feature_law import FeatureLaw
from sparsetoken.theory.outcome.measured import scores_on
from sparsetoken.theory.saddle.covariances import (
    Covariances,
    Directions,
    Pull,
    Response,
    assembled,
)
from sparsetoken.theory.saddle.equations import Load, SaddleEquations
from sparsetoken.theory.saddle.solve import solve_readout

DIGIT, PATCHES = 9, 5000  # the digit that is looked for, and patches of each photograph
BAGS = (("digits", 5), ("digits", 20), ("digits", 50), ("textures", 20))
LOSS, RIDGE, SHARPNESS = get_loss("logistic"), 0.02, 1.0
SIZES = (40, 80, 160, 320, 640, 1280)


class Tokens(NamedTuple):
    """Tokens that any bag may hold, tokens that a positive bag has one of, and the query."""

    others: np.ndarray
    wanted: np.ndarray
    query: np.ndarray


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Return the pixels that vary, and which images are of the digit."""
    X, label = load_digits(return_X_y=True)
    return X[:, X.std(axis=0) > 0], label == DIGIT


def textures() -> tuple[np.ndarray, np.ndarray]:
    """Return every fourth grey value and the log spectrum of patches; half are of the flower."""
    rng, features = np.random.default_rng(0), []
    for name in ("china.jpg", "flower.jpg"):
        image = load_sample_image(name).mean(axis=2) / 255
        windows = np.lib.stride_tricks.sliding_window_view(image, (8, 8))
        i, j = (rng.integers(0, n, PATCHES) for n in windows.shape[:2])
        grey = windows[i, j]
        amplitudes = np.abs(np.fft.rfft2(grey))[:, :, 1:4]  # the other columns repeat values
        spectrum = np.log(amplitudes + 0.05).reshape(PATCHES, -1)
        features.append(np.hstack([grey.reshape(PATCHES, -1)[:, ::4], spectrum]))
    return np.concatenate(features), np.repeat([False, True], PATCHES)


@functools.cache
def source(name: str) -> Tokens:
    """Return the standardised tokens of a kind."""
    X, wanted = digits() if name == "digits" else textures()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    S = np.cov(X[~wanted].T)
    query = np.linalg.solve(S, X[wanted].mean(axis=0) - X[~wanted].mean(axis=0))
    return Tokens(X[~wanted], X[wanted], query / np.sqrt(query @ S @ query))


def pooled(bags: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Return mean tokens."""
    return bags.mean(axis=1)


def attention(bags: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Return means weighted by the softmax of the scores."""
    weights = softmax(SHARPNESS * (bags @ query), axis=1)
    return np.einsum("nl,nld->nd", weights, bags)


Pool = Callable[[np.ndarray, np.ndarray], np.ndarray]


def draw(
    name: str, length: int, pool: Pool, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw n bags, every other one positive; return their features and labels."""
    others, wanted, query = source(name)
    y = np.where(np.arange(n) % 2, 1, -1)
    bags = others[rng.integers(len(others), size=(n, length))]
    bags[y > 0, 0] = wanted[rng.integers(len(wanted), size=int(np.sum(y > 0)))]
    return pool(bags, query), y


class FullCovariances(Covariances):
    """Covariances that need not commute: each step inverts H."""

    def __init__(self, matrices: np.ndarray, directions: np.ndarray) -> None:
        # Traces are those of the diagonals.
        super().__init__(np.einsum("kii->ki", matrices), Directions(directions))
        self.matrices = matrices

    def response(
        self, pull: Pull, ridge: float, n: float, removed: np.ndarray | None = None
    ) -> Response:
        """Return the readout under a pull."""
        M = self.directions.mean
        H = ridge * np.eye(self.dimension) + np.tensordot(pull.kappa, self.matrices, 1)
        inverse = np.linalg.inv(H)
        R = self.matrices @ inverse  # G_k H^-1
        moved, pulled = inverse @ M, R @ (M @ pull.eta)
        two = np.einsum("kab,mba->km", R, R)
        three = np.einsum("jab,kbc,mca->jkm", R, R, R, optimize=True)
        bent = pulled @ inverse @ pulled.T + three @ pull.rho / n
        traces = np.einsum("kaa->k", R), two
        return assembled(pull, (M.T @ moved, pulled @ moved, bent), traces, n, removed)

    @property
    def largest(self) -> np.ndarray:
        """The largest row sum of each."""
        return np.abs(self.matrices).sum(axis=2).max(axis=1)


def predicted(name: str, length: int, pool: Pool, bags: int) -> list[float]:
    """Predict the test error at each size from the two classes of features of so many bags.

    In the general form of the theory the directions are the class means, and each node is a class.
    """
    F, y = draw(name, length, pool, bags, np.random.default_rng([1, length]))
    plus, minus = F[y > 0], F[y < 0]
    M = np.stack([some.mean(axis=0) - F.mean(axis=0) for some in (plus, minus)], axis=1)
    G = np.array([np.cov(plus.T), np.cov(minus.T)])
    nodes = FeatureLaw.of(np.eye(2), np.eye(2), [1, -1], [0.5, 0.5])
    readout, solved, errors = SaddleEquations(nodes, LOSS, FullCovariances(G, M)), None, []
    for n in SIZES:
        solved = solve_readout(readout, Load(float(n), RIDGE), solved)
        errors.append(scores_on(nodes, solved.state).test_error() if solved.converged else np.nan)
    return errors


def measured(name: str, length: int, pool: Pool, n: int, trials: int, test: int) -> np.ndarray:
    """Return the test error of readouts fitted to n bags, of each trial."""
    errors = []
    for trial in range(trials):
        rng = np.random.default_rng([2, length, n, trial])
        F, y = draw(name, length, pool, n, rng)
        fit = fit_readout(F, y, LOSS, RIDGE)
        rest, truth = draw(name, length, pool, test, rng)
        errors.append(np.mean((rest @ fit.w + fit.b > 0) != (truth > 0)))
    return np.array(errors)


def main() -> None:
    """Print a table of test errors, and how far the predicted ones are off."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer bags and trials")
    quick = parser.parse_args().quick
    law_bags, trials, test = (4000, 4, 500) if quick else (30000, 32, 4000)
    for pool in (pooled, attention):
        gaps = []
        for name, length in BAGS:
            cells = []
            for n, expected in zip(SIZES, predicted(name, length, pool, law_bags), strict=True):
                errors = measured(name, length, pool, n, trials, test)
                gaps.append(abs(errors.mean() - expected))
                error = errors.std(ddof=1) / np.sqrt(trials)
                cells.append(f"{expected:.3f}, {errors.mean():.3f} ± {error:.3f}")
            print(f"| {length} {name} | {pool.__name__} |", " | ".join(cells), "|")
        print(f"{pool.__name__}: mean difference {np.mean(gaps):.3f}, largest {max(gaps):.3f}")


if __name__ == "__main__":
    main()
