"""A classifier trained on one problem and tested on another: longer, rarer, weaker."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

from sparsetoken import simulation, theory
from sparsetoken.experiments.base import Experiment, Job
from sparsetoken.experiments.claims import Claim, Statement, judge_all
from sparsetoken.experiments.points import Point, curve, select
from sparsetoken.losses import get_loss
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.training import FourStageTraining, Query

__all__ = ["MODELS", "SHIFTED_TEST", "SHIFTS", "ShiftedTestProfile"]

PROBLEM = SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=0.5)
TRAINING = FourStageTraining(loss=get_loss("logistic"), ridge=1e-2)
QUERY = Query(0.9, 1.0)
ALPHA1 = 4.0
MODELS = ("attention", "pooled")
SHIFTS = ("length", "positive_rate", "strength")
STATEMENTS = (
    Statement(
        "shifted-test-law",
        "The readout that the theory predicts also gives the test error on data of another law: "
        "other lengths, other shares of positives, other strengths of the signal.",
    ),
)


@dataclasses.dataclass(frozen=True)
class ShiftedTestProfile:
    """Sizes of the experiment.

    Attributes
    ----------
    lengths, rates, strengths : tuple
        Of the test data; the others stay as they were in training.
    """

    trials: int
    dimension: int = 400
    lengths: tuple[int, ...] = (5, 10, 20, 40, 80)
    rates: tuple[float, ...] = (0.1, 0.5, 0.9)
    strengths: tuple[float, ...] = (2.0, 3.5, 6.5, 8.0)


QUICK = ShiftedTestProfile(trials=8)
PAPER = ShiftedTestProfile(
    trials=64,
    dimension=1000,
    lengths=(5, 7, 10, 14, 20, 28, 40, 57, 80),
    rates=(0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
    strengths=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0),
)


def _places(profile: ShiftedTestProfile) -> list[tuple[str, float]]:
    values = (profile.lengths, profile.rates, profile.strengths)
    return [(name, value) for name, some in zip(SHIFTS, values, strict=True) for value in some]


def _between(profile: ShiftedTestProfile) -> list[tuple[str, float]]:
    """Return the places of the lines: those measured, and one between each two."""
    places = []
    for name in SHIFTS:
        own = [value for shift, value in _places(profile) if shift == name]
        middle = [(a + b) / 2 for a, b in itertools.pairwise(own)]
        if name == "length":
            middle = [round(value) for value in middle]
        places += [(name, value) for value in sorted({*own, *middle})]
    return places


def _jobs(profile: ShiftedTestProfile, seed: int) -> list[Job]:
    jobs = [
        Job(_theory, (model, _between(profile)), cost)
        for model, cost in zip(MODELS, (13.0, 1.5), strict=True)
    ]
    size = (profile.dimension / 400) ** 3
    for model in MODELS:
        for name, value in _places(profile):
            tokens = value if name == "length" else PROBLEM.length
            cost = profile.trials * (0.08 * size + 0.002 * tokens)
            jobs.append(Job(_trials, (model, name, value, profile, seed), cost))
    return jobs


def _test_problem(name: str, value: float) -> SparseTokenProblem:
    changed = int(value) if name == "length" else value
    return SparseTokenProblem(**{**dataclasses.asdict(PROBLEM), name: changed})


def _theory(model: str, places: Sequence[tuple[str, float]]) -> list[Point]:
    points = []
    for name, value in places:
        found = theory.predict(
            model,
            PROBLEM,
            TRAINING,
            ALPHA1,
            query=QUERY,
            test_problem=_test_problem(name, value),
            tolerance=1e-3,
        )
        code = str(found.status.code)
        points.append(
            Point(
                model,
                "test_error",
                float(value),
                found.test_error,
                found.numerical_error,
                group=name,
                status=code,
            )
        )
    return points


def _trials(
    model: str, name: str, value: float, profile: ShiftedTestProfile, seed: int
) -> list[Point]:
    found = simulation.simulate(
        model,
        PROBLEM,
        TRAINING,
        ALPHA1,
        query=QUERY,
        dimension=profile.dimension,
        trials=profile.trials,
        seed=seed,
        test_problem=_test_problem(name, value),
    )
    return [
        Point(
            model,
            "test_error",
            float(value),
            found.mean.test_error,
            found.standard_error.test_error,
            source="reduced",
            group=name,
            dimension=profile.dimension,
            trials=profile.trials,
            status=str(found.status.code),
        )
    ]


def _claims(profile: ShiftedTestProfile, points: Sequence[Point]) -> list[Claim]:
    claims = judge_all("shifted-test-law", points, where=_where)
    last = {name: float(value) for name, value in _places(profile)}
    return [
        dataclasses.replace(c, key=c.curve == "attention" and c.x == last[c.group]) for c in claims
    ]


def _where(point: Point) -> str:
    letter = {"length": "L", "positive_rate": "π", "strength": "θ"}[point.group]
    return f"tested at {letter}′ = {point.x:g}, d = {point.dimension}"


def _result(points: Sequence[Point], claims: Sequence[Claim]) -> str:
    texts = []
    for model in MODELS:
        _, found = curve(points, group="length", curve=model)
        texts.append(
            f"{model} from {found[0].value:.3f} at L′ = {found[0].x:g} to {found[-1].value:.3f} at "
            f"L′ = {found[-1].x:g}"
        )
    rates = select(points, group="positive_rate", curve="attention", source="reduced")
    worst = max((abs(c.z) for c in claims), default=0.0)
    return (
        f"Trained at L = {PROBLEM.length}, the measured test error changes with the length of the "
        f"test data for {' and for '.join(texts)}. With a share of positives from {rates[0].x:g} "
        f"to {rates[-1].x:g}, that of attention goes from {rates[0].value:.3f} to "
        f"{rates[-1].value:.3f}. The largest |z| against the theory is {worst:.1f}."
    )


def _setting(profile: ShiftedTestProfile) -> str:
    return (
        "Trained at L = 10, R = 1, π = 0.5, θ = 5, with a given query (s = 0.9, k = 1) for "
        f"attention, logistic loss, λ = 0.01, α₁ = {ALPHA1:g}. Tested with one of L, π, θ "
        f"changed and no new training. Measured: test error at d = {profile.dimension}, "
        f"{profile.trials} trials, reduced engine; the trained classifiers are the same for all "
        "test data."
    )


SHIFTED_TEST = Experiment(
    "shifted-test",
    "Test data of another law",
    STATEMENTS,
    {"quick": QUICK, "paper": PAPER},
    _jobs,
    _claims,
    _setting,
    _result,
    left="more test laws and a larger dimension.",
)
