"""Random queries: mean and spread of the test error over draws of D0, predicted and measured.

    python benchmarks/random_queries.py [--out results/random_queries.jsonl]
    python benchmarks/random_queries.py full

Twenty settings from flat to steep spectra, d = 200 to 2000, the first two those of theory3.md,
section 18. The query of each draw is found on real tokens, by the two gradients written out
here; the readout's test error given that query is the theory's, which is exact. ``full`` runs
the whole experiment on real tokens, readout and all, at some of the settings: its spread has
the share of D1 as well, which shows where that of D0 is small. A z score is the
difference of means, or of logarithms of standard deviations, over its standard error.
"""

from __future__ import annotations

import math
import sys
import time
from typing import NamedTuple

import numpy as np

from resumable import rows
from sparsetoken import Attention, Readout, SparseTokenProblem, TokenCovariance, TwoSteps, simulate
from sparsetoken.model import QueryVector
from sparsetoken.results import Prediction
from sparsetoken.theory import predict_readouts
from sparsetoken.theory.alignment.draws import drawn_queries, effective_directions
from sparsetoken.theory.random_queries import predict_over_draws

SETTINGS, SEED = 20, 18
FULL = (0, 1, 3, 6)
FULL_TRIALS = 48


class Setting(NamedTuple):
    """One experiment, and how often it is drawn."""

    name: str
    problem: SparseTokenProblem
    steps: TwoSteps
    readout: Readout
    draws: int


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def setting(index: int) -> Setting:
    """Return a setting: two known ones, then spectra (j + 1)^-a with a from 0 to 1.5."""
    if index < 2:
        return _known(index)
    rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(index,)))
    d = (200, 300, 500, 200, 300, 1000)[index % 6] if index < SETTINGS - 2 else 2000
    power = 1.5 * ((index - 2) % 9) / 8
    j = np.arange(d)
    S = (j + 1.0) ** -power
    S /= S.mean()
    xi = _unit(S ** rng.uniform(0, 0.5) * rng.standard_normal(d))
    large = d == 2000  # the tokens of D0 are held in memory
    L, R = 4 if large else int(rng.integers(3, 11)), int(rng.integers(1, 3))
    between = 0.2 * S[::-1].copy() if index % 3 == 0 else None
    if index == 9:  # with eigenvectors of its own
        between = 0.2 * 0.9 ** np.abs(j[:, None] - j)
    # As visible as a signal of 2.5 to 4 widths among isotropic tokens of the leading directions
    theta = rng.uniform(2.5, 4) / math.sqrt(R) * math.sqrt(xi @ (S * xi))
    problem = SparseTokenProblem(
        L, R, theta, float(rng.uniform(0.3, 0.6)), tokens=TokenCovariance(S, between, signal=xi)
    )
    loss = ("logistic", "square", "logistic", "squared_hinge")[index % 4]
    alpha0 = 1.0 if large else float(rng.uniform(0.5, 3))
    steps = TwoSteps(alpha0, eta_w=0.5, eta_b=0.5, loss=loss)
    # The step size that gives the median draw a sharpness of 1.5.
    usual = float(np.median(drawn_queries(problem, steps, 256, seed=1).sharpness))
    steps = TwoSteps(steps.alpha0, 0.5, 0.5, float(f"{steps.eta_q * 1.5 / usual:.2g}"), loss=loss)
    readout = Readout(
        ("logistic", "square")[index % 2], ridge=(0.01, 0.1)[index % 5 == 0], alpha1=2.0
    )
    between_word = "" if between is None else " + between"
    name = f"power {power:.2f}{between_word}, d {d}"
    return Setting(name, problem, steps, readout, 24 if large else 64)


def _known(index: int) -> Setting:
    d, j = 300, np.arange(300)
    S, xi, theta, eta_q = np.ones(d), np.cos(1.7 * j), 4.0, 25.0
    S[:3] = 60, 30, 15
    name = "section 18: 60, 30, 15 in front, d 300"
    if index:
        S = (j + 1) ** -1.5 / np.mean((j + 1) ** -1.5)
        xi, theta, eta_q = np.sqrt(S) * xi, 30.0, 1.0
        name = "section 18: power 1.5, d 300"
    tokens = TokenCovariance(S, signal=_unit(xi))
    problem = SparseTokenProblem(8, 1, theta, 0.5, tokens=tokens)
    steps = TwoSteps(2.0, 0.5, 0.5, eta_q)
    return Setting(name, problem, steps, Readout("logistic", ridge=0.01, alpha1=2.0), 256)


def tensor_query(
    problem: SparseTokenProblem, steps: TwoSteps, rng: np.random.Generator
) -> np.ndarray:
    """Return q2: two gradient steps on real tokens, as they are defined."""
    xi, d = problem.tokens.signal, problem.tokens.dimension
    n = round(steps.alpha0 * d)
    X, y = problem.sample(n, xi, rng)
    mean = X.mean(axis=1)
    h = np.asarray(steps.loss.slope(y, np.zeros(n)), dtype=float)
    w, b = -steps.eta_w * (h @ mean) / n, -steps.eta_b * h.mean()
    h = np.asarray(steps.loss.slope(y, mean @ w + b), dtype=float)
    scores = (X - mean[:, None]) @ w
    gradient = (h[:, None] * scores).ravel() @ X.reshape(-1, d) / (n * problem.length)
    return -steps.eta_q * steps.beta * gradient


def row(index: int) -> dict[str, object]:
    """Return one setting's line of the table."""
    at = setting(index)
    problem, steps, readout = at.problem, at.steps, at.readout
    (limit,) = predict_readouts(problem, Attention(steps), [readout], nodes=2048)
    start = time.perf_counter()
    (found,) = predict_over_draws(problem, Attention(steps), [readout])
    seconds = time.perf_counter() - start
    rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(index, 1)))
    errors, sharpness = [], []
    for _ in range(at.draws):
        q = tensor_query(problem, steps, rng)
        S = problem.tokens.within
        k = math.sqrt(float(q @ (S * q)))
        given = Attention(QueryVector(q.tolist(), k))
        errors.append(predict_readouts(problem, given, [readout], 1e-3)[0].test_error)
        sharpness.append(k)
    own = drawn_queries(problem, steps, 2048).sharpness
    return {
        "index": index,
        "setting": at.name,
        "directions": effective_directions(problem, steps),
        "limit": limit.test_error,
        **compared(found, np.array(errors)),
        "status": str(found.status),
        "seconds": seconds,
        "z sharpness": z_mean(own.mean(), own.std() / math.sqrt(len(own)), np.array(sharpness)),
    }


def z_mean(mean: float, error: float, measured: np.ndarray) -> float:
    """Return the z score of a mean."""
    own = measured.std(ddof=1) / math.sqrt(len(measured))
    return float((measured.mean() - mean) / math.hypot(own, error))


def compared(found: Prediction, measured: np.ndarray) -> dict[str, float | int]:
    """Return predicted and measured mean and spread, and z scores.

    The standard error of log(standard deviation) is from the bootstrap; that of the prediction
    is a twentieth, as far as what the spline leaves out may go.
    """
    mean, error, spread = found.test_error, found.numerical_error, found.spread
    n, sd = len(measured), float(measured.std(ddof=1))
    again = np.random.default_rng(SEED).choice(measured, (1000, n)).std(axis=1, ddof=1)
    own = float(np.std(np.log(again)))
    return {
        "mean": mean,
        "se": error,
        "spread": spread,
        "tensors": float(measured.mean()),
        "tensors se": sd / math.sqrt(n),
        "tensors spread": sd,
        "draws": n,
        "z mean": z_mean(mean, error, measured),
        "z spread": math.log(sd / spread) / math.hypot(own, 0.05),
    }


def full(index: int) -> dict[str, object]:
    """Return the whole experiment with real tokens at one setting."""
    at = setting(index)
    (found,) = predict_over_draws(at.problem, Attention(at.steps), [at.readout])
    ran = simulate(
        at.problem,
        Attention(at.steps),
        at.readout,
        trials=FULL_TRIALS,
        seed=SEED,
        engine="tensors",
        progress=False,
    )
    measured = np.asarray(ran.trials.test_error)
    return {"index": index, "setting": at.name, **compared(found, measured)}


def shown(line: dict[str, object]) -> None:
    """Print one line."""
    print("  ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{v}" for k, v in line.items()))


if __name__ == "__main__":
    if sys.argv[1:] == ["full"]:
        for number in FULL:
            shown(full(number))
    else:
        for line in rows(__doc__, SETTINGS, row):
            shown(line)
