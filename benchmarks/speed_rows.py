"""The rows of `speed.py`: what is timed our way and the other way, and when they agree.

A side is a function that prepares itself and returns an action; ``action(i)`` does the work
once more, on other random numbers or another point, and returns numbers to compare.
"""

from __future__ import annotations

import dataclasses
import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from direct import State, adaptive_pooled_point, damped_point, direct_trial
from sparsetoken import FourStageTraining, SparseTokenProblem, align, predict
from sparsetoken.simulation import simulate, simulate_alignment

PROBLEM = SparseTokenProblem(10, 1, 3.0, 0.5)
TRAINING = FourStageTraining(alpha0=2.0, loss="logistic", ridge=1e-3)
DIMENSION, ALPHA1 = 1000, 4.0
Action = Callable[[int], dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    ours, other : callable
        Sides; other may be None where nothing else can do it.
    repeats, rounds : int
        Timed actions in a process, and processes of each side, which take turns.
    warm : bool
        Whether a first action goes unmeasured.
    agree : callable
        (answers of ours, answers of the other) to whether both found the same.
    what : str
        What stands in the note.
    """

    ours: Callable[[], Action]
    other: Callable[[], Action] | None
    what: str
    repeats: int = 3
    rounds: int = 3
    warm: bool = True
    agree: Callable[[list[dict], list[dict]], bool] | None = None


def same_number(key: str, tolerance: float) -> Callable[[list[dict], list[dict]], bool]:
    """Both sides give equal numbers for equal i."""
    return lambda a, b: all(
        abs(one[key] - two[key]) <= tolerance for one, two in zip(a, b, strict=False)
    )


def same_mean(key: str) -> Callable[[list[dict], list[dict]], bool]:
    """Both sides draw from one law: their means differ by at most 4 standard errors."""

    def agree(a: list[dict], b: list[dict]) -> bool:
        x, y = (np.array([answer[key] for answer in answers]) for answers in (a, b))
        error = math.hypot(*(z.std(ddof=1) / math.sqrt(len(z)) for z in (x, y)))
        return bool(abs(x.mean() - y.mean()) <= 4 * error)

    return agree


def quiet_predict(model: str, alpha1: float, problem: SparseTokenProblem = PROBLEM) -> dict:
    """Return test error and status; warnings about the query are no news here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = predict(model, problem, TRAINING, alpha1)
    return {"test_error": found.test_error, "converged": found.status.converged}


# Theory.


def point_ours() -> Action:
    """One prediction; the load differs each time, so that nothing is remembered."""
    return lambda i: quiet_predict("attention", ALPHA1 + 0.01 * i)


def point_damped(compiled: bool) -> Callable[[], Action]:
    """The same with the query known."""

    def start() -> Action:
        query = align(PROBLEM, TRAINING).query

        def act(i: int) -> dict:
            alpha1 = ALPHA1 + 0.01 * i
            return {
                "test_error": damped_point(PROBLEM, query, TRAINING, alpha1, compiled=compiled)[0]
            }

        return act

    return start


def pooled_ours() -> Action:
    """One prediction of the pooled model."""
    return lambda i: quiet_predict("pooled", ALPHA1 + 0.01 * i)


def pooled_adaptive() -> Action:
    """The same by nested adaptive quadrature."""
    return lambda i: {"test_error": adaptive_pooled_point(PROBLEM, TRAINING, ALPHA1 + 0.01 * i)}


LOADS = np.geomspace(0.25, 10, 50)


def curve_ours() -> Action:
    """A learning curve, each point by itself."""
    return lambda i: {
        "test_error": [quiet_predict("attention", float(a))["test_error"] for a in LOADS][-1]
    }


def curve_damped() -> Action:
    """A learning curve, each point started from the last."""
    query = align(PROBLEM, TRAINING).query

    def act(i: int) -> dict:
        state: State | None = None
        for a in LOADS:
            found, state = damped_point(
                PROBLEM, query, TRAINING, float(a), start=state, compiled=True
            )
        return {"test_error": found}

    return act


def diagram_ours() -> Action:
    """A sweep over (strength, alpha1) on two processes, the query trained at each point."""
    from sparsetoken.sweep import (
        Grid,
        GridPlan,
        ProcessLanes,
        Store,
        linear,
        logarithmic,
        run,
    )

    grid = Grid(
        "learning",
        [linear("strength", 1, 6, 50), logarithmic("alpha1", 0.25, 10, 50)],
        {"length": 10, "alpha0": 2.0, "loss": "logistic", "ridge": 1e-3},
        quantities=("theory",),
    )

    def act(i: int) -> dict:
        with (
            tempfile.TemporaryDirectory() as folder,
            Store(f"{folder}/diagram.sqlite") as store,
            ProcessLanes(2) as lanes,
        ):
            return run(store, GridPlan(grid), lanes, workers=2)._asdict()

    return act


COMMAND = "predict attention --length 10 --strength 3 --alpha0 2 --alpha1 4 --ridge 1e-3 --json"


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


def trial_ours(model: str, loss: str = "logistic", d: int = DIMENSION) -> Callable[[], Action]:
    """One trial by the reduced engine."""
    training = dataclasses.replace(TRAINING, loss=loss)
    budget = 16 * 2**30

    def act(i: int) -> dict:
        found = simulate(
            model, PROBLEM, training, ALPHA1, dimension=d, trials=1, seed=i, memory_budget=budget
        )
        return {"test_error": found.mean.test_error, "converged": found.status.converged}

    return lambda: act


def trial_direct(model: str, loss: str = "logistic") -> Callable[[], Action]:
    """One trial with real tensors, scikit-learn and fresh test samples."""
    training = dataclasses.replace(TRAINING, loss=loss)

    def act(i: int) -> dict:
        found = direct_trial(model, PROBLEM, training, ALPHA1, DIMENSION)
        return {"test_error": found.test_error, "stages": found.stages}

    return lambda: act


def floor() -> Action:
    """The time of the normals of D1 and of the products that the fit asks for, and no more."""
    from sparsetoken.numerics.products import HostProducts
    from sparsetoken.simulation.trial import Setting, TrialPlan

    counts = {"conjugate": 0}
    product = HostProducts._product

    def counted(self: Any, *arguments: Any) -> Any:
        counts["conjugate"] += 1
        return product(self, *arguments)

    HostProducts._product = counted
    setting = Setting(DIMENSION, 0, "reduced", "float64")
    plan = TrialPlan("attention", PROBLEM, TRAINING, ALPHA1, None, "erf", setting)
    _, _, design = plan.draw(0)
    from sparsetoken.numerics.erm import fit_readout

    steps = fit_readout(design.features, design.labels, TRAINING.loss, TRAINING.ridge).iterations
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
            "cosine": simulate_alignment(
                PROBLEM, TRAINING, dimension=d, trials=1, seed=i
            ).mean.cosine
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


def _fitted_attention() -> Any:
    from sparsetoken import AttentionClassifier

    return AttentionClassifier(random_state=0)


def _fitted_pooled() -> Any:
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


def _grows(sizes: list[int], side: Callable[[int], Callable[[], Action]]) -> Callable[[], Action]:
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


def _trial(model: str, loss: str = "logistic") -> Row:
    return Row(
        trial_ours(model, loss),
        trial_direct(model, loss),
        f"{model}, {loss}: d = {DIMENSION}, n0 = 2 d, n1 = 4 d, L = 10, against real tensors",
        agree=same_mean("test_error"),
    )


ROWS = {
    "theory_point": Row(
        point_ours,
        point_damped(compiled=False),
        "attention, logistic, L = 10; against damped fixed-point iteration in NumPy: same nodes, "
        "64 Gauss-Hermite nodes each",
        # the iteration stops at relative changes of 1e-7
        agree=same_number("test_error", 1e-6),
    ),
    "theory_point_compiled": Row(
        point_ours,
        point_damped(compiled=True),
        "the same against that iteration with our compiled Gaussian means",
        agree=same_number("test_error", 1e-6),
    ),
    "theory_point_adaptive": Row(
        pooled_ours,
        pooled_adaptive,
        "pooled, logistic; against nested adaptive quadrature and a root finder",
        agree=same_number("test_error", 1e-6),
    ),
    "learning_curve_50": Row(
        curve_ours,
        curve_damped,
        "50 loads; against that iteration with compiled means, each point started from the last",
        repeats=1,
        rounds=1,
        agree=same_number("test_error", 1e-6),
    ),
    "phase_diagram_50x50": Row(
        diagram_ours,
        None,
        "sweep, strength 1..6 by alpha1 0.25..10, on two processes with their start",
        repeats=1,
        rounds=1,
        warm=False,
    ),
    "cold_predict_second": Row(
        cold_second,
        cold_first,
        "whole process of `sparsetoken predict`; other: with an empty cache",
        warm=False,
    ),
    "trial_attention_logistic": _trial("attention"),
    "trial_attention_square": _trial("attention", "square"),
    "trial_pooled_logistic": _trial("pooled"),
    "trial_vectorized_logistic": _trial("vectorized"),
    "trial_floor": Row(
        trial_ours("attention"),
        floor,
        "other: the normals and the products that the trial needs",
        repeats=5,
    ),
    "alignment_1e6": Row(
        alignment_ours(10**6), None, "stages 1-3 at d = 10^6, n0 = 2 10^6", rounds=1
    ),
    "scale_alignment": Row(
        _grows([10**3, 10**4, 10**5, 10**6], alignment_ours),
        None,
        "stages 1-3, d = 10^3 .. 10^6",
        repeats=1,
        rounds=1,
    ),
    "scale_trial": Row(
        _grows([1000, 2000, 5000, 10_000], lambda d: trial_ours("attention", "logistic", d)),
        None,
        "attention, logistic, d = 10^3 .. 10^4, n1 = 4 d",
        repeats=1,
        rounds=1,
        warm=False,
    ),
    "estimator_fit": Row(
        bag_fit(_fitted_attention),
        bag_fit(_fitted_pooled),
        f"AttentionClassifier, {BAGS} bags of {LENGTH} x {WIDTH}; against mean pooling and "
        "LogisticRegressionCV of scikit-learn",
        rounds=1,
    ),
    "estimator_predict": Row(
        bag_predict(_fitted_attention),
        bag_predict(_fitted_pooled),
        "the same, predict",
        rounds=1,
    ),
}
