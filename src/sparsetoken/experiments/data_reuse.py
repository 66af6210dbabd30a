"""The same data for the query and for the readout, against the fresh data of the theory."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from sparsetoken.beyond.reuse import ARMS, reuse_trial
from sparsetoken.experiments.averages import averaged
from sparsetoken.experiments.base import Experiment, Job
from sparsetoken.experiments.claims import Claim, Statement, observed
from sparsetoken.experiments.points import THEORY, Point, select
from sparsetoken.experiments.references import reference_points, references_of
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.training import FourStageTraining

__all__ = ["DATA_REUSE", "DataReuseProfile"]

PROBLEM = SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=0.5)
STATEMENT = "reuse-of-data"
DIFFERENCE = "test_error − fresh"
QUANTITIES = ("test_error", "cosine")

STATEMENTS = (
    Statement(
        STATEMENT,
        "The theory needs fresh data for the readout; does the same data for both, D0 = D1, "
        "give a worse classifier?",
        open=True,
    ),
)


@dataclasses.dataclass(frozen=True)
class DataReuseProfile:
    """Sizes of the experiment.

    Attributes
    ----------
    loads : tuple of float
        n0/d = n1/d of the classifier with fresh data.
    dimension, trials : int
    """

    loads: tuple[float, ...]
    dimension: int
    trials: int


QUICK = DataReuseProfile((0.5, 1.0, 2.0, 4.0), 200, 24)
PAPER = DataReuseProfile((0.25, 0.5, 1.0, 2.0, 4.0, 8.0), 400, 100)


def _training(load: float) -> FourStageTraining:
    return FourStageTraining(alpha0=load, eta_q=25.0, ridge=1e-2)


def _jobs(profile: DataReuseProfile, seed: int) -> list[Job]:
    jobs = [Job(_theory, (load,), 1.5) for load in profile.loads]
    for load in profile.loads:
        cost = profile.trials * (0.2 + 0.03 * load * (profile.dimension / 200) ** 2)
        arguments = (load, profile.dimension, profile.trials, seed)
        jobs.append(Job(_simulation, arguments, cost))
    return jobs


def _theory(load: float) -> list[Point]:
    return reference_points(PROBLEM, _training(load), load, x=load)


def _simulation(load: float, dimension: int, trials: int, seed: int) -> list[Point]:
    found = [
        reuse_trial(PROBLEM, _training(load), dimension=dimension, seed=seed, trial=i)
        for i in range(trials)
    ]
    points = []
    for arm in ARMS:
        columns = {name: [getattr(one[arm], name) for one in found] for name in QUANTITIES}
        columns[DIFFERENCE] = [one[arm].test_error - one["fresh"].test_error for one in found]
        points += [
            averaged(arm, name, load, values, dimension=dimension)
            for name, values in columns.items()
        ]
    return points


def _claims(profile: DataReuseProfile, points: Sequence[Point]) -> list[Claim]:
    return [
        observed(
            STATEMENT,
            point,
            where=f"n₀/d = n₁/d = {point.x:g}, d = {point.dimension}",
            key=point.quantity == DIFFERENCE and point.curve == "reused",
        )
        for point in points
        if point.source != THEORY and not (point.quantity == DIFFERENCE and point.curve == "fresh")
    ]


def _result(points: Sequence[Point], claims: Sequence[Claim]) -> str:
    paid = select(points, curve="reused", quantity=DIFFERENCE)
    costs = "; ".join(f"{1e3 * p.value:+.1f} ± {1e3 * p.error:.1f} at load {p.x:g}" for p in paid)
    last = paid[-1].x
    references = references_of(points, x=last)
    ends = {arm: select(points, curve=arm, quantity="test_error", x=last)[0] for arm in ARMS}
    stands = "; ".join(f"{arm}, {references.standing(p.value, p.error)}" for arm, p in ends.items())
    return (
        "Test error with D1 used twice less that with fresh data of the same size, in "
        f"thousandths: {costs}. At load {last:g}, with {references.summary()} in theory: {stands}. "
        + _verdict(points)
    )


def _verdict(points: Sequence[Point]) -> str:
    twice = select(points, curve="all twice", quantity=DIFFERENCE)
    better = sum(p.value < -3 * p.error for p in twice)
    worse = sum(p.value > 3 * p.error for p in select(points, curve="reused", quantity=DIFFERENCE))
    return (
        f"Reuse is worse beyond three standard errors at {worse} of {len(twice)} loads; it "
        "sees half of the samples. Of a given set of samples, using all of it twice beats "
        f"splitting it beyond three standard errors at {better} of {len(twice)} loads."
    )


def _setting(profile: DataReuseProfile) -> str:
    return (
        "L = 10, R = 1, π = 0.5, θ = 5; logistic loss, λ = 0.01, η<sub>w</sub> = η<sub>b</sub> = "
        "0.5, η<sub>q</sub> = 25, β = 1 (sharpness k near 1). D0 and D1 have the same "
        "size. Fresh: query from D0, readout from D1, as in the theory. Reused: both from D1. "
        "All twice: both from the union of D0 and D1. Test errors are "
        "conditional expectations given the trained classifier, and differences are taken within a "
        f"trial. Real tokens, d = {profile.dimension}, {profile.trials} trials. References: "
        "theory with fresh data."
    )


DATA_REUSE = Experiment(
    "data-reuse",
    "One data set for query and readout",
    STATEMENTS,
    {"quick": QUICK, "paper": PAPER},
    _jobs,
    _claims,
    _setting,
    _result,
    left="a larger dimension, more loads and more trials.",
)
