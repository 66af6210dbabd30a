"""More gradient steps on the query than the two of the theory."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from sparsetoken.beyond.query_steps import steps_trial
from sparsetoken.experiments.averages import averaged
from sparsetoken.experiments.base import Experiment, Job
from sparsetoken.experiments.claims import Claim, Statement, observed
from sparsetoken.experiments.points import THEORY, Point, select
from sparsetoken.experiments.references import reference_points, references_of
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.training import FourStageTraining

__all__ = ["QUERY_STEPS", "QueryStepsProfile", "curve_name"]

PROBLEM = SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=0.5)
ALPHA0, ALPHA1 = 1.0, 2.0
SIZES = (5.0, 25.0)
"""Step sizes eta_q: with the larger the two-step query has sharpness near 1."""
HELD = 1.0
LAST_STEP = 10
STATEMENT = "more-query-steps"

STATEMENTS = (
    Statement(
        STATEMENT,
        "Do more gradient steps on the query than two give a better classifier?",
        open=True,
    ),
)


@dataclasses.dataclass(frozen=True)
class QueryStepsProfile:
    """Sizes of the experiment."""

    dimension: int
    trials: int


QUICK = QueryStepsProfile(150, 20)
PAPER = QueryStepsProfile(400, 60)


def curve_name(eta_q: float, held: bool) -> str:
    """Return the name of a curve: a step size, with the sharpness held or not."""
    return f"η_q = {eta_q:g}" + (", k held" if held else "")


def _training(eta_q: float) -> FourStageTraining:
    return FourStageTraining(alpha0=ALPHA0, eta_q=eta_q, ridge=1e-2)


def _jobs(profile: QueryStepsProfile, seed: int) -> list[Job]:
    cost = profile.trials * (0.7 + 0.4 * (profile.dimension / 150) ** 2)
    jobs = [Job(_simulation, (e, profile.dimension, profile.trials, seed), cost) for e in SIZES]
    return [Job(_theory, (), 1.5), *jobs]


def _theory() -> list[Point]:
    return reference_points(PROBLEM, _training(SIZES[-1]), ALPHA1, x=2.0)


def _simulation(eta_q: float, dimension: int, trials: int, seed: int) -> list[Point]:
    found = [
        steps_trial(
            PROBLEM,
            _training(eta_q),
            ALPHA1,
            last_step=LAST_STEP,
            held_sharpness=HELD,
            dimension=dimension,
            seed=seed,
            trial=i,
        )
        for i in range(trials)
    ]
    points = []
    for number, step in enumerate(zip(*found, strict=True)):
        columns = {
            (False, name): [getattr(free, name) for free, _ in step]
            for name in ("test_error", "cosine", "sharpness")
        }
        columns[True, "test_error"] = [fixed.test_error for _, fixed in step]
        columns[False, "test_error − step 2"] = [
            free.test_error - path[0][0].test_error
            for (free, _), path in zip(step, found, strict=True)
        ]
        points += [
            averaged(curve_name(eta_q, held), name, number + 2.0, values, dimension=dimension)
            for (held, name), values in columns.items()
        ]
    return points


def _claims(profile: QueryStepsProfile, points: Sequence[Point]) -> list[Claim]:
    return [
        observed(
            STATEMENT,
            point,
            where=f"step {point.x:g}, d = {point.dimension}",
            key=point.quantity == "test_error" and point.x in (2, LAST_STEP) and _free(point),
        )
        for point in points
        if point.source != THEORY and not (point.quantity.endswith("step 2") and point.x == 2)
    ]


def _free(point: Point) -> bool:
    return point.curve in {curve_name(eta_q, held=False) for eta_q in SIZES}


def _result(points: Sequence[Point], claims: Sequence[Claim]) -> str:
    references = references_of(points)
    parts = [_path_in_words(points, eta_q) for eta_q in SIZES]
    best = min(
        (p for p in points if p.quantity == "test_error" and p.source != THEORY and _free(p)),
        key=lambda p: p.value,
    )
    return (
        f"In theory: {references.summary()}. {' '.join(parts)} The lowest mean, {best.curve} at "
        f"step {best.x:g}, is {references.standing(best.value, best.error)}.{_why(points)}"
    )


def _why(points: Sequence[Point]) -> str:
    """Return the reason for a rise of the test error, if it is that of the direction."""
    for eta_q in SIZES:
        cosines = select(points, curve=curve_name(eta_q, held=False), quantity="cosine")
        top, end = max(cosines, key=lambda p: p.value), cosines[-1]
        if not top.value - end.value > 3 * (top.error + end.error):
            return ""
    return (
        " In the end the cosine falls with each step: the query fits the noise of D0, as the "
        "curves at held sharpness show too."
    )


def _path_in_words(points: Sequence[Point], eta_q: float) -> str:
    name = curve_name(eta_q, held=False)
    errors = select(points, curve=name, quantity="test_error")
    change = select(points, curve=name, quantity="test_error − step 2")[-1]
    cosines = select(points, curve=name, quantity="cosine")
    best, top = min(errors, key=lambda p: p.value), max(cosines, key=lambda p: p.value)
    return (
        f"With {name} the test error is {errors[0].value:.4f} ± {errors[0].error:.4f} at step 2, "
        f"lowest at step {best.x:g} with {best.value:.4f} ± {best.error:.4f}, and at step "
        f"{errors[-1].x:g} {errors[-1].value:.4f} ± {errors[-1].error:.4f} (change since step 2: "
        f"{change.value:+.4f} ± {change.error:.4f}); the cosine is {cosines[0].value:.3f}, at "
        f"most {top.value:.3f} (step {top.x:g}), and {cosines[-1].value:.3f} at the end."
    )


def _setting(profile: QueryStepsProfile) -> str:
    return (
        f"L = 10, R = 1, π = 0.5, θ = 5; logistic loss, λ = 0.01, α₀ = {ALPHA0:g}, "
        f"α₁ = {ALPHA1:g}, "
        "η<sub>w</sub> = η<sub>b</sub> = 0.5, β = 1. Step 1 moves (w, b), step 2 the query, as in "
        f"the theory; steps 3 to {LAST_STEP} are more gradient descent on q, on the same D0, with "
        "the readout left at its first step (w₁, b₁) and the same η<sub>q</sub>. "
        "After each step the readout is fitted anew on D1, once with q as it is, and once "
        f"with q rescaled to sharpness k = {HELD:g}, which leaves its direction alone. "
        f"Real tokens, d = {profile.dimension}, {profile.trials} trials, the same data for all "
        f"curves. References: theory of two steps with η<sub>q</sub> = {SIZES[-1]:g}."
    )


QUERY_STEPS = Experiment(
    "query-steps",
    "More steps on the query",
    STATEMENTS,
    {"quick": QUICK, "paper": PAPER},
    _jobs,
    _claims,
    _setting,
    _result,
    left="a larger dimension and more trials.",
)
