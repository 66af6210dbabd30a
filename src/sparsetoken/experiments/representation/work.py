"""What is computed and simulated."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy.special import logsumexp

from sparsetoken.attention import ACTIVATIONS
from sparsetoken.experiments.experiment import Job, version
from sparsetoken.experiments.representation.rows import (
    AtCritical,
    BestError,
    Critical,
    FreshSamples,
)
from sparsetoken.experiments.rows import averaged, predicted, predicted_error
from sparsetoken.models import Attention
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.theory import oracle
from sparsetoken.theory.oracle.strength import CURVES, Curve

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
    tokens : int
        Tokens of each class that are drawn at a critical strength: tokens / L samples, 32000
        at most.
    longest : int
        The largest L at which samples are drawn there.
    """

    lengths: tuple[int, ...]
    informative: tuple[int, ...]
    curve_length: int
    strengths: tuple[float, ...]
    places: tuple[tuple[int, int, float], ...]
    samples: int
    tokens: int = 10_000_000
    longest: int = 4096


PLACES = ((64, 1, 4.5), (1024, 1, 5.0), (1024, 4, 3.5))
PROFILES = {
    "quick": Profile(
        (8, 64, 512, 4096, 65536), (1,), 1024, (1, 2, 3, 4, 5, 6, 8, 12), PLACES, 16_000
    ),
    "paper": Profile(
        tuple(2**i for i in range(4, 17, 2)),
        (1, 4),
        1024,
        tuple(0.5 * i for i in range(1, 25)),
        (*PLACES, (16384, 1, 6.0)),
        64_000,
        200_000_000,
        16384,
    ),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile."""
    found = []
    for i, L in enumerate(profile.lengths):
        # All curves see the same samples.
        own, drawn = seed_of("representation", "critical", i, seed), fresh_samples(profile, L)
        for R in profile.informative:
            for name in (*CURVES, TUNED):
                samples = drawn if R == 1 and name != "vectorized" else 0
                cost = (3.0 if name == "bayes" and R > 1 else 1.5) + samples * L * 1e-7
                found.append(Job(find_critical, (name, L, R, samples, own), cost))
    found += [
        Job(best_errors, (name, profile.curve_length, profile.strengths), 4.0) for name in CURVES
    ]
    for i, (L, R, theta) in enumerate(profile.places):
        arguments = (L, R, theta, profile.samples, seed_of("representation", i, seed))
        found.append(Job(draw_fresh, arguments, 3 + profile.samples * L * 1e-7))
    return found


def fresh_samples(profile: Profile, length: int) -> int:
    """Return how many fresh samples of a class are drawn at a length; 0 if it is too long."""
    return min(profile.tokens // length, 32_000) if length <= profile.longest else 0


def find_critical(
    name: str, length: int, informative: int, samples: int, seed: int
) -> list[Critical | AtCritical]:
    """Solve for the critical strength of a curve, and measure its best test there."""
    model, sharpness = curve_of(name, length)
    found = oracle.critical_strength(
        model, length, informative=informative, error_level=LEVEL, sharpness=sharpness
    )
    strength = predicted(found, "strength", found.numerical_error)
    rows: list[Critical | AtCritical] = [Critical(name, length, informative, strength)]
    return [*rows, draw_at_critical(name, length, found, samples, seed)] if samples else rows


def curve_of(name: str, length: int) -> Curve:
    """Return a curve by its name."""
    return Curve(Attention(), math.sqrt(2 * math.log(length))) if name == TUNED else CURVES[name]


def best_error(
    name: str, problem: SparseTokenProblem, sharpness: float | None = None
) -> oracle.BayesError | oracle.Representation:
    """Return the least test error of a curve, with its own sharpness by default."""
    model, own = curve_of(name, problem.length)
    if model is None:
        return oracle.bayes_error(problem)
    return oracle.best_error(problem, model, sharpness=own if sharpness is None else sharpness)


def draw_at_critical(
    name: str, length: int, critical: oracle.CriticalStrength, samples: int, seed: int
) -> AtCritical:
    """Measure the error of the best test at its critical strength on fresh samples."""
    problem = SparseTokenProblem(length, 1, critical.strength)
    sharpness = critical.sharpness if math.isfinite(critical.sharpness) else None
    test = best_error(name, problem, sharpness)
    shares = [
        _mistakes(problem, {name: test}, samples // BLOCKS, np.random.default_rng([seed, block]))
        for block in range(BLOCKS)
    ]
    error = predicted_error(test)
    measured = averaged([share[name] for share in shares], dimension=1, engine="reduced")
    return AtCritical(name, length, critical.strength, error, measured)


def best_errors(name: str, length: int, strengths: tuple[float, ...]) -> list[BestError]:
    """Return the least test errors against the strength."""
    rows = []
    for strength in strengths:
        found = best_error(name, SparseTokenProblem(length, 1, strength))
        error = predicted_error(found)
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
            predicted_error(result),
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
    if sharpness == math.inf:
        return t.max(axis=1)
    if name.startswith("elementwise"):
        phi = ACTIVATIONS[name.removeprefix("elementwise_")]
        return np.mean(t * phi(sharpness * t), axis=1)
    a = np.exp(sharpness * (t - t.max(axis=1, keepdims=True)))
    return np.sum(a * t, axis=1) / a.sum(axis=1)
