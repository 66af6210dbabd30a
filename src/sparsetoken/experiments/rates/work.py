"""What is computed and simulated."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np

from sparsetoken import simulation, theory
from sparsetoken.experiments.experiment import Job
from sparsetoken.experiments.rates.rows import (
    Abundant,
    Approach,
    Excess,
    Gap,
    MeasuredExcess,
    MeasuredGap,
    Rate,
)
from sparsetoken.experiments.rows import (
    Measured,
    Predicted,
    averaged,
    measured,
    predicted,
    predicted_error,
)
from sparsetoken.models import Model, make_model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Query, Readout, TwoSteps

SETTINGS = {
    "balanced": (SparseTokenProblem(10, 3, 6.0, 0.5), TwoSteps(eta_q=1.0)),
    "rare positives": (SparseTokenProblem(10, 3, 6.0, 0.2), TwoSteps(eta_q=1.0)),
    "anti-aligned": (
        SparseTokenProblem(20, 2, 3.0, 0.2),
        TwoSteps(eta_w=0.1, eta_b=0.1, eta_q=1.0, loss="square"),
    ),
}
PROBLEM = SparseTokenProblem(length=5, informative=2, strength=2.0, positive_rate=0.3)
QUERY = Query(cosine=0.5, sharpness=1.5)
MODELS = ("attention", "pooled", "vectorized")
LINEAR = ("pooled", "vectorized")
ABUNDANT = (200.0, 800.0)
"""Samples over weights from which test errors are carried to infinite data, where any d will do."""
WEIGHTS, ABUNDANT_TRIALS = 50, 16
"""Weights and trials there; the errors are known to 1 part in 2000."""
NODES = 2048
FAR = 1e4
"""The number of samples over the dimension at which the theory is compared with its rate."""


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    alpha0s : tuple of float
        n0/d that are simulated.
    dimension, trials : int
        For the query.
    alphas, vectorized_alphas : tuple of float
        n1/d that are simulated.
    features, fits : int
        Number of weights and of trials for the test error.
    line_points : int
    """

    alpha0s: tuple[float, ...] = (10.0, 30.0, 100.0, 300.0)
    dimension: int = 1000
    trials: int = 30
    alphas: tuple[float, ...] = (5.0, 10.0, 20.0)
    vectorized_alphas: tuple[float, ...] = (25.0, 50.0, 100.0)
    features: int = 200
    fits: int = 100
    line_points: int = 17


PROFILES = {
    "quick": Profile(),
    "paper": Profile(
        alpha0s=(10.0, 30.0, 100.0, 300.0, 1000.0),
        trials=100,
        alphas=(5.0, 10.0, 20.0, 40.0),
        vectorized_alphas=(25.0, 50.0, 100.0, 200.0),
        features=400,
        fits=200,
    ),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile."""
    found = [
        Job(predict_gaps, (name, profile.line_points, profile.alpha0s), 0.05) for name in SETTINGS
    ]
    pairs = itertools.product(SETTINGS, enumerate(profile.alpha0s))
    for name, (i, alpha0) in pairs:
        sizes = (profile.dimension, profile.trials, seed_of("rates", name, i, seed))
        cost = profile.trials * alpha0 * profile.dimension * 1.7e-7
        found.append(Job(simulate_gap, (name, alpha0, *sizes), cost))
    for model in MODELS:
        alphas = profile.vectorized_alphas if model == "vectorized" else profile.alphas
        cost = 0.5 if model == "attention" else 0.1
        found.append(Job(predict_excess, (model, profile.line_points, alphas), cost))
        for i, alpha1 in enumerate(alphas):
            cost = profile.fits * 0.045 * (profile.features / 200) ** 3
            sizes = (profile.features, profile.fits, seed_of("rates", model, i, seed))
            found.append(Job(simulate_excess, (model, alpha1, *sizes), cost))
    for model in LINEAR:
        for i, load in enumerate(ABUNDANT):
            own = (model, load, ABUNDANT_TRIALS, seed_of("rates", "abundant", model, i, seed))
            found.append(Job(simulate_abundant, own, ABUNDANT_TRIALS * 0.1))
    return found


def weights(model: str) -> int:
    """Return the number of weights per dimension."""
    return PROBLEM.length if model == "vectorized" else 1


def model_of(name: str) -> Model:
    """Return a model with the given query, if it has one."""
    return make_model(name, QUERY)


def readout_of(alpha1: float) -> Readout:
    """Return the readout of a load, without a ridge."""
    return Readout("square", 0.0, alpha1)


def _steps(name: str, alpha0: float) -> tuple[SparseTokenProblem, TwoSteps]:
    problem, steps = SETTINGS[name]
    return problem, dataclasses.replace(steps, alpha0=alpha0)


def predict_gaps(name: str, points: int, others: tuple[float, ...]) -> list[Gap | Rate]:
    """Predict 1 - |s| on a line, other places among it, and its rate C."""
    line = sorted({*np.geomspace(1, FAR, points).tolist(), *others})
    rows: list[Gap | Rate] = []
    for alpha0 in line:
        found = theory.align(*_steps(name, alpha0))
        status = str(found.status.code)
        rows.append(Gap(name, alpha0, Predicted(float(1 - abs(found.cosine)), status=status)))
    return [*rows, Rate(name, predicted(found, "rate"), bool(found.cosine < 0))]


def simulate_gap(
    name: str, alpha0: float, dimension: int, trials: int, seed: int
) -> list[MeasuredGap]:
    """Measure 1 - |s|."""
    found = simulation.align(*_steps(name, alpha0), dimension=dimension, trials=trials, seed=seed)
    gaps = (1 - np.abs(found.trials.cosine)).tolist()
    return [MeasuredGap(name, alpha0, averaged(gaps, dimension, "reduced"))]


def errors_on_same_nodes(model: str, alphas: Sequence[float]) -> list[Predicted]:
    """Return the test errors at rising alpha1, all on one set of nodes.

    Their differences are then exact, far below the error of the nodes themselves.
    """
    readouts = [readout_of(alpha1) for alpha1 in alphas]
    found = theory.predict_readouts(PROBLEM, model_of(model), readouts, nodes=NODES)
    return [predicted(p, "test_error") for p in found]


@functools.lru_cache(maxsize=8)
def _limit(model: str) -> Predicted:
    (found,) = errors_on_same_nodes(model, (math.inf,))
    return found


def predict_excess(model: str, points: int, others: tuple[float, ...]) -> list[Excess | Approach]:
    """Predict E(alpha1) - E(inf) on a line, other places among it; the limit and the rate."""
    line = {*np.geomspace(2.0 * weights(model), FAR, points).tolist(), *others}
    limit, rows = _limit(model), []
    for alpha1, found in zip(sorted(line), errors_on_same_nodes(model, sorted(line)), strict=True):
        status = found.status if limit.converged else limit.status
        rows.append(Excess(model, alpha1, Predicted(found.value - limit.value, status=status)))
    first_order = theory.approach_to_infinite_data(PROBLEM, model_of(model))
    end = theory.predict(PROBLEM, model_of(model), readout_of(math.inf))
    approach = Approach(
        model,
        predicted_error(end),
        Predicted(first_order.rate, first_order.rate_error),
    )
    return [*rows, approach]


def simulate_excess(
    model: str, alpha1: float, features: int, trials: int, seed: int
) -> list[MeasuredExcess]:
    """Measure the excess over the predicted limit."""
    found = simulation.simulate(
        PROBLEM,
        model_of(model),
        readout_of(alpha1),
        dimension=features // weights(model),
        trials=trials,
        seed=seed,
    )
    error: Measured = measured(found, "test_error", features)
    limit = _limit(model).value
    values = tuple(value - limit for value in error.values)
    excess = dataclasses.replace(error, value=error.value - limit, values=values)
    return [MeasuredExcess(model, alpha1, excess)]


def simulate_abundant(model: str, load: float, trials: int, seed: int) -> list[Abundant]:
    """Measure the test error from very many samples."""
    found = simulation.simulate(
        PROBLEM,
        model_of(model),
        readout_of(load * weights(model)),
        dimension=WEIGHTS // weights(model),
        trials=trials,
        seed=seed,
    )
    return [Abundant(model, load, measured(found, "test_error", WEIGHTS))]
