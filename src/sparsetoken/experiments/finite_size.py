"""How the difference between simulation and theory shrinks with the dimension."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from sparsetoken import simulation, theory
from sparsetoken.experiments.base import Experiment, Job
from sparsetoken.experiments.claims import Claim, Statement, judge_all
from sparsetoken.experiments.points import Point, curve
from sparsetoken.losses import get_loss
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Simulation
from sparsetoken.training import FourStageTraining

__all__ = ["FINITE_SIZE", "FiniteSizeProfile", "Shrinkage", "shrinkage"]

PROBLEM = SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=0.5)
ALPHA1 = 2.0
QUANTITIES = ("cosine", "test_error", "training_loss")


STATEMENTS = (
    Statement(
        "finite-size",
        "The limits are reached: what the experiment differs by shrinks as the dimension grows.",
    ),
)

UNSEEN = (
    "c is within two standard errors of 0: the difference is too small to see, "
    "and the misfit decides nothing"
)


@dataclasses.dataclass(frozen=True)
class FiniteSizeProfile:
    """Sizes of the experiment.

    Attributes
    ----------
    dimensions : tuple of int
    alignment_trials, trials : int
        At d = 1000; in inverse proportion to d elsewhere.
    """

    alignment_trials: int
    trials: int
    dimensions: tuple[int, ...] = (250, 500, 1000, 2000)


QUICK = FiniteSizeProfile(3000, 48)
PAPER = FiniteSizeProfile(20000, 400)


def _training() -> FourStageTraining:
    return FourStageTraining(alpha0=1.0, eta_q=7.0, loss=get_loss("square"), ridge=1e-2)


def _jobs(profile: FiniteSizeProfile, seed: int) -> list[Job]:
    jobs = [Job(_theory, (profile.dimensions,), 3.0)]
    for d in profile.dimensions:
        many, few = (max(2, n * 1000 // d) for n in (profile.alignment_trials, profile.trials))
        jobs.append(Job(_alignment, (d, many, seed), many * d * 1e-5))
        jobs.append(Job(_learned, (d, few, seed), few * 0.5 * (d / 1000) ** 3))
    return jobs


def _theory(dimensions: Sequence[int]) -> list[Point]:
    query = theory.align(PROBLEM, _training())
    result = theory.predict("attention", PROBLEM, _training(), ALPHA1)
    values = {
        "cosine": (query.cosine, 0.0, query.status),
        "test_error": (result.test_error, result.numerical_error, result.status),
        "training_loss": (result.training_loss, 0.0, result.status),
    }
    return [
        Point("attention", name, float(d), value, error, status=str(status.code))
        for name, (value, error, status) in values.items()
        for d in dimensions
    ]


def _alignment(d: int, trials: int, seed: int) -> list[Point]:
    found = simulation.simulate_alignment(
        PROBLEM, _training(), dimension=d, trials=trials, seed=seed, engine="reduced"
    )
    return _points(("cosine",), d, trials, found)


def _learned(d: int, trials: int, seed: int) -> list[Point]:
    found = simulation.simulate(
        "attention", PROBLEM, _training(), ALPHA1, dimension=d, trials=trials, seed=seed
    )
    return _points(QUANTITIES[1:], d, trials, found, str(found.status.code))


def _points(
    names: Sequence[str],
    d: int,
    trials: int,
    found: simulation.AlignmentSimulation | Simulation,
    status: str = "converged",
) -> list[Point]:
    return [
        Point(
            "attention",
            name,
            float(d),
            getattr(found.mean, name),
            getattr(found.standard_error, name),
            source="reduced",
            dimension=d,
            trials=trials,
            status=status,
        )
        for name in names
    ]


@dataclasses.dataclass(frozen=True)
class Shrinkage:
    """A law c / d^power fitted to differences, with its misfit.

    Attributes
    ----------
    quantity : str
    power : float
    coefficient, standard_error : float
        c and its standard error.
    misfit : float
        Chi-square, with one degree of freedom less than there are dimensions.
    """

    quantity: str
    power: float
    coefficient: float
    standard_error: float
    misfit: float


def shrinkage(points: Sequence[Point], quantity: str, power: float) -> Shrinkage:
    """Fit measured - theory = c / d^power by weighted least squares."""
    predicted, measured = curve(points, quantity=quantity)
    rows = [
        (m.x**-power, m.value - t.value, math.hypot(m.error, t.error))
        for t, m in zip(predicted, measured, strict=True)
    ]
    information = math.fsum((u / e) ** 2 for u, _, e in rows)
    c = math.fsum(u * difference / e**2 for u, difference, e in rows) / information
    misfit = math.fsum(((difference - c * u) / e) ** 2 for u, difference, e in rows)
    return Shrinkage(quantity, power, c, information**-0.5, misfit)


def _claims(profile: FiniteSizeProfile, points: Sequence[Point]) -> list[Claim]:
    return judge_all("finite-size", points, where=lambda p: f"d = {p.dimension}", key_x=(1000.0,))


def _result(points: Sequence[Point], claims: Sequence[Claim]) -> str:
    fits = [(shrinkage(points, name, 1.0), shrinkage(points, name, 0.5)) for name in QUANTITIES]
    said = [f"{_fitted(whole)}, {_fitted(root)}" for whole, root in fits]
    law = "Fits of measured − theory, with the misfit χ² (about 3 is good): "
    return law + "; ".join(said) + ". " + " ".join(_lesson(*pair) for pair in fits)


def _fitted(fit: Shrinkage) -> str:
    law = "c/d" if fit.power == 1.0 else "c/√d"
    name = f"{fit.quantity.replace('_', ' ')}: " if fit.power == 1.0 else ""
    c = f"{fit.coefficient:.2g} ± {fit.standard_error:.1g}"
    return f"{name}{law} with c = {c} (χ² {fit.misfit:.1f})"


def _lesson(whole: Shrinkage, root: Shrinkage) -> str:
    """Return which law a difference follows, or that it is too small to tell."""
    better = min(whole, root, key=lambda fit: fit.misfit)
    name, law = whole.quantity.replace("_", " "), "c/d" if better is whole else "c/√d"
    if abs(better.coefficient) > 2 * better.standard_error:
        return f"For the {name} c is not 0, and {law} fits better."
    return f"For the {name} {UNSEEN}."


def _setting(profile: FiniteSizeProfile) -> str:
    sizes = ", ".join(str(d) for d in profile.dimensions)
    return (
        f"Attention, L = 10, R = 1, π = 0.5, θ = 5, square loss, λ = 0.01, α₀ = 1, "
        f"α₁ = {ALPHA1:g}; d = {sizes}, with trials in inverse proportion to d: "
        f"at d = 1000, {profile.trials}, and {profile.alignment_trials} for "
        "the cosine. Reduced engine."
    )


FINITE_SIZE = Experiment(
    "finite-size",
    "Finite dimension",
    STATEMENTS,
    {"quick": QUICK, "paper": PAPER},
    _jobs,
    _claims,
    _setting,
    _result,
    left="seven to eight times the trials, which resolve the test error too.",
)
