"""What is computed and simulated."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy.special import logsumexp

from sparsetoken.experiments.experiment import Job, version
from sparsetoken.experiments.representation.rows import BestError, Critical, FreshSamples
from sparsetoken.experiments.rows import averaged, predicted
from sparsetoken.models import Attention
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.theory import oracle
from sparsetoken.theory.oracle.strength import CURVES, Curve

__all__ = ["BLOCKS", "LEVEL", "PROFILES", "TUNED", "Profile", "jobs"]

LEVEL = 0.01
TUNED = "attention_tuned"
BLOCKS = 16
TESTED = ("pooled", "attention", "attention_fixed", "elementwise_relu")
"""The curves whose best tests are tried on fresh samples."""
_CHUNK = 2_000_000  # projections held at once


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    lengths : tuple of int
    informative : tuple of int
        Values of R; growth laws are judged for the first, which is 1.
    curve_length : int
        L of the errors against theta.
    strengths : tuple of float
        theta of these errors.
    places : tuple of (L, R, theta)
        Where fresh samples are drawn.
    samples : int
        Fresh samples of each class, divided among 16 blocks.
    """

    lengths: tuple[int, ...]
    informative: tuple[int, ...]
    curve_length: int
    strengths: tuple[float, ...]
    places: tuple[tuple[int, int, float], ...]
    samples: int


PLACES = ((64, 1, 4.5), (1024, 1, 5.0), (1024, 4, 3.5))
PROFILES = {
    "quick": Profile(
        (8, 64, 512, 4096, 65536), (1,), 1024, (1, 2, 3, 4, 5, 6, 8, 12), PLACES, 16_000
    ),
    "paper": Profile(
        tuple(2**i for i in range(3, 17)),
        (1, 4),
        1024,
        tuple(0.5 * i for i in range(1, 25)),
        (*PLACES, (16384, 1, 6.0)),
        64_000,
    ),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile."""
    found = [
        Job(find_critical, (name, L, R), 3.0 if name == "bayes" and R > 1 else 1.5)
        for R in profile.informative
        for name in (*CURVES, TUNED)
        for L in profile.lengths
    ]
    found += [
        Job(best_errors, (name, profile.curve_length, profile.strengths), 4.0) for name in CURVES
    ]
    for i, (L, R, theta) in enumerate(profile.places):
        arguments = (L, R, theta, profile.samples, seed_of("representation", i, seed))
        found.append(Job(draw_fresh, arguments, 3 + profile.samples * L * 1e-7))
    return found


def find_critical(name: str, length: int, informative: int) -> list[Critical]:
    """Solve for the critical strength of a curve."""
    tuned = Curve(Attention(), math.sqrt(2 * math.log(length)))
    curve = tuned if name == TUNED else CURVES[name]
    found = oracle.critical_strength(
        curve.model,
        length,
        informative=informative,
        error_level=LEVEL,
        sharpness=curve.sharpness,
    )
    return [
        Critical(name, length, informative, predicted(found, "strength", found.numerical_error))
    ]


def best_error(name: str, problem: SparseTokenProblem) -> oracle.BayesError | oracle.Representation:
    """Return the least test error of a curve."""
    model, sharpness = CURVES[name]
    if model is None:
        return oracle.bayes_error(problem)
    return oracle.best_error(problem, model, sharpness=sharpness)


def best_errors(name: str, length: int, strengths: tuple[float, ...]) -> list[BestError]:
    """Return the least test errors against the strength."""
    rows = []
    for strength in strengths:
        found = best_error(name, SparseTokenProblem(length, 1, strength))
        error = predicted(found, "test_error", found.numerical_error)
        rows.append(BestError(name, length, strength, error))
    return rows


@version(2)
def draw_fresh(
    length: int, informative: int, strength: float, samples: int, seed: int
) -> list[FreshSamples]:
    """Return predicted and measured errors of the predicted best tests at one place."""
    problem = SparseTokenProblem(length, informative, strength)
    names = (*TESTED, "bayes") if informative == 1 else TESTED
    found = {name: best_error(name, problem) for name in names}
    mistakes: dict[str, list[float]] = {name: [] for name in names}
    for block in range(BLOCKS):
        rng = np.random.default_rng([seed, block])
        for name, share in _mistakes(problem, found, samples // BLOCKS, rng).items():
            mistakes[name].append(share)
    return [
        FreshSamples(
            name,
            length,
            informative,
            strength,
            predicted(result, "test_error", result.numerical_error),
            averaged(mistakes[name], dimension=1, engine="reduced"),
        )
        for name, result in found.items()
    ]


def _mistakes(
    problem: SparseTokenProblem,
    tests: dict[str, oracle.BayesError | oracle.Representation],
    samples: int,
    rng: np.random.Generator,
) -> dict[str, float]:
    """Return the share of mistakes of each test on fresh tokens, half of each class."""
    _, theta, R, L = problem.letters
    wrong = dict.fromkeys(tests, 0.0)
    rows = max(1, _CHUNK // L)
    for positive in (True, False):
        for start in range(0, samples, rows):
            n = min(rows, samples - start)
            t = rng.standard_normal((n, L))
            t[:, :R] += theta * positive
            for name, test in tests.items():
                if isinstance(test, oracle.Representation):
                    call = _score(name, t, test.sharpness) > test.threshold
                else:
                    call = logsumexp(theta * t, axis=1) > math.log(L) + theta**2 / 2
                wrong[name] += float(np.sum(call != positive))
    return {name: count / (2 * samples) for name, count in wrong.items()}


def _score(name: str, t: np.ndarray, sharpness: float) -> np.ndarray:
    """Return <w, f_q(X)> with w = xi, from the projections of the tokens."""
    if name == "pooled" or sharpness == 0:
        return t.mean(axis=1)
    if name == "elementwise_relu":
        return np.mean(t * np.maximum(sharpness * t, 0), axis=1)
    if sharpness == math.inf:
        return t.max(axis=1)
    a = np.exp(sharpness * (t - t.max(axis=1, keepdims=True)))
    return np.sum(a * t, axis=1) / a.sum(axis=1)
