"""The two ways of each row of `speed.py`.

A side is a function that prepares itself and returns an action; ``action(i)`` does the work
once more, on other random numbers or another point, and returns numbers to compare.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from direct import State, adaptive_pooled_point, damped_point, direct_trial
from sparsetoken import (
    Attention,
    Pooled,
    Query,
    Readout,
    SparseTokenProblem,
    TokenCovariance,
    TwoSteps,
    align,
    capacity,
    predict,
    simulate,
)
from sparsetoken.model import QueryVector
from sparsetoken.model.models import Model
from sparsetoken.simulation import align as simulate_queries

PROBLEM = SparseTokenProblem(10, 1, 3.0, 0.5)
STEPS = TwoSteps(alpha0=2.0, eta_q=1.0, loss="logistic")
ATTENTION = Attention(STEPS)
DIMENSION, ALPHA1 = 1000, 4.0
Action = Callable[[int], dict[str, Any]]


def readout_at(alpha: float, loss: str = "logistic") -> Readout:
    """Return the readout of all rows, fitted to alpha d samples."""
    return Readout(loss, ridge=1e-3, alpha1=alpha)


def predicted(model: Model, alpha: float) -> dict:
    """Return test error and status."""
    found = predict(PROBLEM, model, readout_at(alpha))
    return {"test_error": found.test_error, "converged": found.status.converged}


# Theory.


def point_ours() -> Action:
    """One prediction; the load differs each time, so that nothing is remembered."""
    return lambda i: predicted(ATTENTION, ALPHA1 + 0.01 * i)


def point_damped(compiled: bool) -> Callable[[], Action]:
    """The same with the query known."""

    def start() -> Action:
        query = align(PROBLEM, STEPS).query

        def act(i: int) -> dict:
            readout = readout_at(ALPHA1 + 0.01 * i)
            return {"test_error": damped_point(PROBLEM, query, readout, compiled=compiled)[0]}

        return act

    return start


def pooled_ours() -> Action:
    """One prediction of the pooled model."""
    return lambda i: predicted(Pooled(), ALPHA1 + 0.01 * i)


def pooled_adaptive() -> Action:
    """The same by nested adaptive quadrature."""
    return lambda i: {"test_error": adaptive_pooled_point(PROBLEM, readout_at(ALPHA1 + 0.01 * i))}


def corner(
    loss: str = "logistic", ridge: float = 0.01, length: int = 10, informative: int = 1
) -> Callable[[], Action]:
    """One prediction where it takes long: a weak ridge, a long sample, all tokens informative."""

    def start() -> Action:
        problem = SparseTokenProblem(length, informative, 5.0)
        model = Attention(Query(0.9, 1.0))

        def act(i: int) -> dict:
            found = predict(problem, model, Readout(loss, ridge, 2.0 + 0.01 * i))
            return {"test_error": found.test_error, "converged": found.status.converged}

        return act

    return start


def corner_of_capacity() -> Action:
    """The capacity of sharp attention."""
    model = Attention(Query(0.9, 1000.0))
    return lambda i: {
        "capacity": capacity(SparseTokenProblem(10, 1, 5.0 + 0.01 * i), model).capacity
    }


def corner_of_covariance(between: bool) -> Callable[[], Action]:
    """One prediction among tokens of a covariance at d = 300; an effect that does not commute."""

    def start() -> Action:
        d = 300
        j = np.arange(d)
        within, signal = (j + 1.0) ** -0.5, np.cos(1.7 * j)
        effect = 0.2 * 0.9 ** np.abs(j[:, None] - j) if between else None
        signal /= np.linalg.norm(signal)
        tokens = TokenCovariance(within / within.mean(), effect, signal=signal)
        problem = SparseTokenProblem(10, 1, 5.0, tokens=tokens)
        rng = np.random.default_rng(0)
        model = Attention(QueryVector((3 * signal + 0.1 * rng.standard_normal(d)).tolist(), 1.0))

        def act(i: int) -> dict:
            found = predict(problem, model, Readout("logistic", 0.01, 2.0 + 0.01 * i))
            return {"test_error": found.test_error, "converged": found.status.converged}

        return act

    return start


LOADS = np.geomspace(0.25, 10, 50)


def curve_ours() -> Action:
    """A learning curve, one call for all its points."""

    def act(i: int) -> dict:
        found = predict(PROBLEM, ATTENTION, readout_at(LOADS))
        return {"test_error": found.test_error.tolist(), "converged": found.converged}

    return act


def curve_damped() -> Action:
    """A learning curve, each point started from the last."""
    query = align(PROBLEM, STEPS).query

    def act(i: int) -> dict:
        state: State | None = None
        errors = []
        for alpha in LOADS.tolist():
            found, state = damped_point(
                PROBLEM, query, readout_at(alpha), start=state, compiled=True
            )
            errors.append(found)
        return {"test_error": errors}

    return act


def diagram_ours() -> Action:
    """A sweep over (strength, alpha1) on two processes, the query trained at each point."""
    from sparsetoken.sweep import Grid, run
    from sparsetoken.work import WorkerPool

    grid = Grid(
        "learning",
        {"strength": np.linspace(1, 6, 50), "alpha1": np.geomspace(0.25, 10, 50)},
        {"length": 10, "alpha0": 2.0, "eta_q": 1.0, "loss": "logistic", "ridge": 1e-3},
        quantities=("theory",),
    )

    def act(i: int) -> dict:
        with tempfile.TemporaryDirectory() as folder, WorkerPool(2) as pool:
            return run(grid, f"{folder}/diagram", pool, workers=2)._asdict()

    return act


COMMAND = (
    "predict attention --length 10 --strength 3 --alpha0 2 --eta-q 1 --alpha1 4 --ridge 1e-3 --json"
)


def _command(cache: str) -> dict:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JAX_")}
    command = [str(Path(sys.executable).with_name("sparsetoken")), *COMMAND.split()]
    subprocess.run(
        command, check=True, env=environment | {"XDG_CACHE_HOME": cache}, capture_output=True
    )
    return {}


def cold_second() -> Action:
    """A whole process that finds compiled code in its cache."""
    folder = tempfile.TemporaryDirectory()
    _command(folder.name)
    return lambda i: _command(folder.name)


def cold_first() -> Action:
    """A whole process with an empty cache."""

    def act(i: int) -> dict:
        with tempfile.TemporaryDirectory() as folder:
            return _command(folder)

    return act


# Simulation.


def trial_ours(model: Model, loss: str = "logistic", d: int = DIMENSION) -> Callable[[], Action]:
    """One trial by the reduced engine."""
    model, readout = _with_loss(model, loss), readout_at(ALPHA1, loss)
    budget = 16 * 2**30

    def act(i: int) -> dict:
        found = simulate(
            PROBLEM, model, readout, dimension=d, trials=1, seed=i, memory_budget=budget
        )
        return {"test_error": found.mean.test_error, "converged": found.status.converged}

    return lambda: act


def trial_direct(model: Model, loss: str = "logistic") -> Callable[[], Action]:
    """One trial with real tensors, scikit-learn and fresh test samples."""
    model, readout = _with_loss(model, loss), readout_at(ALPHA1, loss)

    def act(i: int) -> dict:
        found = direct_trial(PROBLEM, model, readout, DIMENSION)
        return {"test_error": found.test_error, "stages": found.stages}

    return lambda: act


def _with_loss(model: Model, loss: str) -> Model:
    """Return the model with a query, if it has one, that is found with this loss."""
    if not isinstance(model.query, TwoSteps):
        return model
    return dataclasses.replace(model, query=dataclasses.replace(model.query, loss=loss))


def floor() -> Action:
    """The time of the normals of D1 and of the products that the fit asks for, and no more."""
    from sparsetoken.numerics.erm import fit_readout
    from sparsetoken.numerics.products import HostProducts
    from sparsetoken.simulation.trial import Setting, TrialPlan

    counts = {"conjugate": 0}
    product = HostProducts._product

    def counted(self: Any, *arguments: Any) -> Any:
        counts["conjugate"] += 1
        return product(self, *arguments)

    HostProducts._product = counted
    setting = Setting(DIMENSION, 0, "reduced", "float64")
    readout = readout_at(ALPHA1)
    design = TrialPlan(PROBLEM, ATTENTION, readout, setting).draw(0).design
    steps = fit_readout(design.features, design.labels, readout.loss, readout.ridge).iterations
    n, m = design.features.shape
    small = design.features.astype(np.float32)
    del design
    p, v = np.ones(n), np.ones(m)
    p32, v32 = p.astype(np.float32), v.astype(np.float32)

    def act(i: int) -> dict:
        F = np.random.default_rng(i).standard_normal((n, m))
        for _ in range(counts["conjugate"]):
            small @ v32
            p32 @ small
        for _ in range(steps):
            F @ v
            p @ F
        return dict(counts, steps=steps)

    return act


def alignment_ours(d: int) -> Callable[[], Action]:
    """Stages 1-3 at n0 = 2 d."""
    return lambda: (
        lambda i: {
            "cosine": simulate_queries(PROBLEM, STEPS, dimension=d, trials=1, seed=i).mean.cosine
        }
    )


# Classifiers of bags.

BAGS, LENGTH, WIDTH = 2000, 20, 128


def _bags(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((BAGS, LENGTH, WIDTH), dtype=np.float32)
    y = np.arange(BAGS) % 2
    X[y == 1, 0, 0] += 4.0
    return X, y


def fitted_attention() -> Any:
    from sparsetoken import AttentionClassifier

    return AttentionClassifier(random_state=0)


def fitted_pooled() -> Any:
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    mean = FunctionTransformer(lambda X: X.mean(axis=1))
    readout = LogisticRegressionCV(
        Cs=10, scoring="neg_log_loss", l1_ratios=(0,), use_legacy_attributes=False
    )
    return make_pipeline(mean, StandardScaler(), readout)


def bag_fit(make: Callable[[], Any]) -> Callable[[], Action]:
    """Fit a classifier; its accuracy is on new bags."""

    def start() -> Action:
        new, labels = _bags(1000)

        def act(i: int) -> dict:
            X, y = _bags(i)
            begin = time.perf_counter()
            model = make().fit(X, y)
            return {
                "seconds": time.perf_counter() - begin,
                "accuracy": float(np.mean(model.predict(new) == labels)),
            }

        return act

    return start


def bag_predict(make: Callable[[], Any]) -> Callable[[], Action]:
    """Predict the labels of new bags."""

    def start() -> Action:
        model = make().fit(*_bags(0))
        new, labels = _bags(1000)
        return lambda i: {"accuracy": float(np.mean(model.predict(new) == labels))}

    return start


def grows(sizes: list[int], side: Callable[[int], Callable[[], Action]]) -> Callable[[], Action]:
    """Time a side at several sizes in one process; the seconds are those of the largest."""

    def start() -> Action:
        def act(i: int) -> dict:
            times = []
            for size in sizes:
                action = side(size)()
                begin = time.perf_counter()
                action(i)
                times.append(time.perf_counter() - begin)
            slope = np.polyfit(np.log(sizes[-3:]), np.log(times[-3:]), 1)[0]
            return {"sizes": sizes, "times": times, "exponent": slope, "seconds": times[-1]}

        return act

    return start
