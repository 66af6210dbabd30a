"""What is computed and simulated."""

from __future__ import annotations

import dataclasses

from sparsetoken import simulation, theory
from sparsetoken.experiments.experiment import Job
from sparsetoken.experiments.finite_size.rows import Limit, Simulated
from sparsetoken.experiments.rows import measured, predicted, predicted_error
from sparsetoken.models import Attention
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Readout, TwoSteps

PROBLEM = SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=0.5)
STEPS = TwoSteps(alpha0=1.0, eta_q=7.0, loss="square")
ALPHA1 = 2.0
READOUT = Readout("square", ridge=1e-2, alpha1=ALPHA1)
QUANTITIES = ("cosine", "test_error", "training_loss")


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    alignment_trials, trials : int
        At d = 1000; in inverse proportion to d elsewhere.
    dimensions : tuple of int
    """

    alignment_trials: int
    trials: int
    dimensions: tuple[int, ...] = (125, 250, 500, 1000)


PROFILES = {
    "quick": Profile(3000, 48),
    "paper": Profile(20000, 400, (125, 250, 500, 1000, 2000)),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile."""
    found = [Job(predict_limits, (), 0.1)]
    for i, d in enumerate(profile.dimensions):
        many, few = (max(2, n * 1000 // d) for n in (profile.alignment_trials, profile.trials))
        arguments = (d, many, seed_of("finite-size", "query", i, seed))
        found.append(Job(simulate_query, arguments, many * d * 1e-6))
        arguments = (d, few, seed_of("finite-size", "readout", i, seed))
        found.append(Job(simulate_readout, arguments, few * (0.01 + 0.2 * (d / 1000) ** 2)))
    return found


def predict_limits() -> list[Limit]:
    """Predict all quantities."""
    query = theory.align(PROBLEM, STEPS)
    result = theory.predict(PROBLEM, Attention(STEPS), READOUT)
    return [
        Limit("cosine", predicted(query, "cosine")),
        Limit("test_error", predicted_error(result)),
        Limit("training_loss", predicted(result, "training_loss")),
    ]


def simulate_query(d: int, trials: int, seed: int) -> list[Simulated]:
    """Measure the cosine of the query."""
    result = simulation.align(
        PROBLEM, STEPS, dimension=d, trials=trials, seed=seed, engine="reduced"
    )
    return [Simulated("cosine", measured(result, "cosine", d))]


def simulate_readout(d: int, trials: int, seed: int) -> list[Simulated]:
    """Measure test error and training loss."""
    result = simulation.simulate(
        PROBLEM, Attention(STEPS), READOUT, dimension=d, trials=trials, seed=seed
    )
    return [Simulated(name, measured(result, name, d)) for name in QUANTITIES[1:]]
