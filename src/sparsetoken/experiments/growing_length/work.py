"""What is computed and simulated, and the rows that it makes."""

from __future__ import annotations

import dataclasses
import math

from sparsetoken import simulation, theory
from sparsetoken.experiments.experiment import Job, version
from sparsetoken.experiments.references import References, predict_references
from sparsetoken.experiments.rows import Measured, Predicted, measured, predicted
from sparsetoken.models import Attention
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Alignment
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Readout, TwoSteps

ALPHA1 = 2.0
STRENGTH = 1.5
"""In units of sqrt(2 log L)."""
ARMS = {"fixed": "α₀ = 1", "growing": "α₀ = L/10"}
"""The two laws of the first data set: the column `arm`, and its name for readers."""


@dataclasses.dataclass(frozen=True)
class Place:
    """Simulations at a length in proportion to the dimension, and the theory at that length.

    Attributes
    ----------
    arm : str
    ratio : float
        L/d.
    dimension, length : int
    references : References
        Attention is that of the arm.
    predicted_cosine : Predicted
    test_error, cosine : Measured
        They have different numbers of trials.
    """

    arm: str
    ratio: float
    dimension: int
    length: int
    references: References
    predicted_cosine: Predicted
    test_error: Measured
    cosine: Measured


@dataclasses.dataclass(frozen=True)
class LongCosine:
    """The predicted cosine at lengths far beyond those simulated; columns as of `Place`."""

    arm: str
    length: int
    predicted_cosine: Predicted


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    ratios : tuple of float
        L/d.
    dimensions : tuple of int
    trials, alignment_trials : int
        At d = 100; in inverse proportion to d elsewhere, at least 4.
    """

    ratios: tuple[float, ...]
    dimensions: tuple[int, ...]
    trials: int
    alignment_trials: int


PROFILES = {
    "quick": Profile((0.05, 0.1), (100, 200, 400), 48, 8000),
    "paper": Profile((0.05, 0.1, 0.2), (100, 200, 400, 800, 1600), 200, 15000),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile."""
    found = [Job(predict_long, (round(min(profile.ratios) * min(profile.dimensions)),), 0.5)]
    for arm in ARMS:
        for i, ratio in enumerate(profile.ratios):
            for j, d in enumerate(profile.dimensions):
                few, many = share(profile.trials, d), share(profile.alignment_trials, d)
                one = 0.03 + 0.003 * ratio * d + 0.2 * (d / 400) ** 3
                own = seed_of("growing-length", arm, i, j, seed)
                arguments = (arm, ratio, d, few, many, own)
                found.append(Job(simulate, arguments, 0.4 + 0.4 * few * one + many * 1.5e-4))
    return found


def share(trials: int, dimension: int) -> int:
    """Return the number of trials at a dimension."""
    return max(4, trials * 100 // dimension)


def problem_of(L: int) -> SparseTokenProblem:
    """Return the problem at a length."""
    strength = STRENGTH * math.sqrt(2 * math.log(L))
    return SparseTokenProblem(length=L, informative=1, strength=strength, positive_rate=0.5)


def align(arm: str, L: int) -> Alignment:
    """Return the predicted query at eta_q = 1; its cosine is that at any eta_q."""
    return theory.align(problem_of(L), _unit_steps(arm, L))


def _unit_steps(arm: str, L: int) -> TwoSteps:
    return TwoSteps(1.0 if arm == "fixed" else L / 10, eta_q=1.0)


def steps_of(arm: str, L: int) -> TwoSteps:
    """Return the steps whose query has, in theory, sharpness sqrt(2 log L)."""
    eta_q = math.sqrt(2 * math.log(L)) / align(arm, L).sharpness
    return dataclasses.replace(_unit_steps(arm, L), eta_q=eta_q)


def predict_long(shortest: int) -> list[LongCosine]:
    """Predict the cosine far beyond the lengths that are simulated."""
    lengths = [round(shortest * 2 ** (i / 2)) for i in range(19)]
    return [LongCosine(arm, L, predicted(align(arm, L), "cosine")) for arm in ARMS for L in lengths]


@version(2)
def simulate(arm: str, ratio: float, d: int, few: int, many: int, seed: int) -> list[Place]:
    """Predict, and simulate the test error in few trials and the cosine in many."""
    L = round(ratio * d)
    problem, steps, readout = problem_of(L), steps_of(arm, L), Readout(alpha1=ALPHA1)
    learned = simulation.simulate(
        problem, Attention(steps), readout, dimension=d, trials=few, seed=seed
    )
    aligned = simulation.align(problem, steps, dimension=d, trials=many, seed=seed)
    row = Place(
        arm,
        ratio,
        d,
        L,
        predict_references(problem, steps, readout),
        predicted_cosine=predicted(align(arm, L), "cosine"),
        test_error=measured(learned, "test_error", d),
        cosine=measured(aligned, "cosine", d),
    )
    return [row]
