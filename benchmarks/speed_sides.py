"""The ways of each row of `speed.py`.

A side is a function that prepares itself and returns an action; ``action(i)`` does the work
once more, on other random numbers or another point, and returns numbers to compare. Where the
answer has ``seconds`` or ``mb``, they stand for those of the whole action.
"""

from __future__ import annotations

import atexit
import dataclasses
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import sparsetoken as st
from bags import METHODS
from direct import State, damped_point, direct_trial
from sparsetoken.bags import Bags
from sparsetoken.model.models import Model
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.numerics.products import Products
from sparsetoken.simulation.trial import Setting, TrialPlan

PROBLEM = st.SparseTokenProblem(10, 1, 3.0, 0.5)
STEPS = st.TwoSteps(alpha0=2.0, eta_q=1.0, loss="logistic")
ATTENTION = st.Attention(STEPS)
ALPHA1 = 4.0
Action = Callable[[int], dict[str, Any]]


class Skipped(Exception):
    """A side cannot be measured on this machine."""


def peak() -> float:
    """Return the largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def readout_at(alpha: float, loss: str = "logistic") -> st.Readout:
    """Return the readout of all rows, fitted to alpha d samples."""
    return st.Readout(loss, ridge=1e-3, alpha1=alpha)


# Theory.


def point() -> Action:
    """One prediction; the load differs each time, so that nothing is remembered."""

    def act(i: int) -> dict:
        found = st.predict(PROBLEM, ATTENTION, readout_at(ALPHA1 + 0.01 * i))
        return {"test_error": found.test_error, "converged": found.status.converged}

    return act


def point_damped(our_means: bool) -> Action:
    """The same with the query known."""
    query = st.align(PROBLEM, STEPS).query

    def act(i: int) -> dict:
        readout = readout_at(ALPHA1 + 0.01 * i)
        return {"test_error": damped_point(PROBLEM, query, readout, our_means=our_means)[0]}

    return act


def curve(count: int) -> Action:
    """A learning curve, one call for all its points."""
    loads = np.geomspace(0.25, 10, count)

    def act(i: int) -> dict:
        found = st.predict(PROBLEM, ATTENTION, readout_at(loads))
        return {"test_error": found.test_error.tolist(), "converged": found.converged}

    return act


def curve_damped(count: int) -> Action:
    """A learning curve, each point started from the last."""
    query = st.align(PROBLEM, STEPS).query

    def act(i: int) -> dict:
        state: State | None = None
        errors = []
        for alpha in np.geomspace(0.25, 10, count).tolist():
            readout = readout_at(alpha)
            found, state = damped_point(PROBLEM, query, readout, start=state, our_means=True)
            errors.append(found)
        return {"test_error": errors}

    return act


SMALL = st.SparseTokenProblem(5, 1, 4.0)


def descent(network: Any, tolerance: float | None, real: int | None) -> Action:
    """Follow 12 steps of descent; with real tokens, so many trials at d = 1000."""
    trained = st.Descent(network, steps=12)
    asked = {} if tolerance is None else {"tolerance": tolerance}

    def act(i: int) -> dict:
        if real is None:
            trajectory = st.descend(SMALL, trained, progress=False, **asked)
            error, se = trajectory.test_error[-1], trajectory.numerical_error
        else:
            ran = st.simulation.descend(
                SMALL, trained, trials=real, seed=i, at=[trained.steps], progress=False
            )
            error, se = ran.mean.test_error[-1], ran.standard_error.test_error[-1]
        return {"test_error": float(error), "error": float(se)}

    return act


def minimum(real: int | None) -> Action:
    """Find the joint minimum; with real tokens, of so many data sets at d = 400."""
    wanted = st.Minimum(alpha=4.0, ridge=0.05)

    def act(i: int) -> dict:
        if real is None:
            found = st.minimize(SMALL, wanted, progress=False)
            return {"test_error": found.test_error, "error": found.numerical_error}
        ran = st.simulation.minimize(SMALL, wanted, trials=real, seed=i, progress=False)
        return {
            "test_error": float(ran.mean.test_error),
            "error": float(ran.standard_error.test_error),
        }

    return act


# Commands.


def command(*words: str, folder: str | None = None) -> int:
    """Run a command of the library."""
    start = [sys.executable, "-m", "sparsetoken"]
    done = subprocess.run([*start, *words], cwd=folder, capture_output=True)
    if done.returncode > 1:  # 1: some results are short of convergence
        raise RuntimeError(done.stderr.decode())
    return done.returncode


def phase_diagram(side: int) -> Action:
    """A grid over (strength, alpha1) on two processes, kept, the query trained at each point."""
    words = ["predict", "attention", "--eta-q", "1", "--ridge", "1e-3"]
    words += ["--strength", f"1:6:{side}", "--alpha1", f"0.25:10:{side}:log"]
    words += ["--workers", "2", "--keep", "kept", "--out", "table.csv", "--json"]

    def act(i: int) -> dict:
        times = []
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                begun = time.perf_counter()
                command(*words, folder=folder)
                times.append(time.perf_counter() - begun)
        return dict(zip(("seconds", "nothing left to do"), times, strict=True))

    return act


def cheap_grid(trials: int) -> Action:
    """Trials that cost little, each of them kept: what is measured is the keeping."""

    def act(i: int) -> dict:
        strength, rate = np.linspace(1, 5, 25)[:, None], np.linspace(0.2, 0.8, 25)
        problem = st.SparseTokenProblem(4, 1, strength, rate)
        with tempfile.TemporaryDirectory() as folder:
            st.simulation.align(
                problem, dimension=10, trials=trials, seed=i, keep=folder, progress=False
            )
        return {}

    return act


def cheap_loop(trials: int) -> Action:
    """The same trials in a plain loop, kept nowhere."""

    def act(i: int) -> dict:
        for strength in np.linspace(1, 5, 25):
            for rate in np.linspace(0.2, 0.8, 25):
                problem = st.SparseTokenProblem(4, 1, strength, rate)
                st.simulation.align(problem, dimension=10, trials=trials, seed=i, progress=False)
        return {}

    return act


def cold_predict() -> Action:
    """A whole process of a prediction."""
    words = "predict attention --strength 3 --alpha0 2 --eta-q 1 --alpha1 4 --ridge 1e-3 --json"
    return lambda i: {"exit code": command(*words.split())}


# Simulation.


def _with_loss(model: Model, loss: str) -> Model:
    """Return the model with a query, if it has one, that is found with this loss."""
    if not isinstance(model.query, st.TwoSteps):
        return model
    return dataclasses.replace(model, query=dataclasses.replace(model.query, loss=loss))


def trial(model: Model, loss: str, d: int) -> Action:
    """One trial by the reduced engine."""
    model, readout = _with_loss(model, loss), readout_at(ALPHA1, loss)
    options = {"dimension": d, "trials": 1}

    def act(i: int) -> dict:
        found = st.simulate(PROBLEM, model, readout, seed=i, **options)
        return {"test_error": found.mean.test_error, "converged": found.status.converged}

    return act


def trial_direct(model: Model, loss: str, d: int) -> Action:
    """One trial with real tensors, scikit-learn and fresh test samples."""
    model, readout = _with_loss(model, loss), readout_at(ALPHA1, loss)

    def act(i: int) -> dict:
        return {"test_error": direct_trial(PROBLEM, model, readout, d)}

    return act


def trial_limit(d: int) -> Action:
    """The time of the normals of D1 and of the products that the fit asks for, and no more."""
    counts = {"conjugate": 0}
    product = Products._product

    def counted(self: Any, *arguments: Any) -> Any:
        counts["conjugate"] += 1
        return product(self, *arguments)

    Products._product = counted
    readout = readout_at(ALPHA1)
    plan = TrialPlan(PROBLEM, ATTENTION, readout, Setting(d, 0, "reduced"))
    design = plan.draw(0).design
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


def alignment(d: int) -> Action:
    """Stages 1-3 at n0 = 2 d."""

    def act(i: int) -> dict:
        found = st.simulation.align(PROBLEM, STEPS, dimension=d, trials=1, seed=i)
        return {"cosine": found.mean.cosine}

    return act


# Classifiers of bags.

Sizes = tuple[int, int, int]


def bags_of(sizes: Sizes, seed: int) -> tuple[Bags, np.ndarray]:
    """Return so many bags of tokens of some length; half have one that is shifted by 4."""
    n, L, d = sizes
    tokens = np.random.default_rng(seed).standard_normal((n * L, d), dtype=np.float32)
    y = np.arange(n) % 2
    tokens[::L][y == 1, 0] += 4.0
    return Bags(tokens, np.arange(n + 1) * L), y


def bag_fit(name: str, sizes: Sizes) -> Action:
    """Fit a classifier; its accuracy is on new bags."""
    X, y = bags_of(sizes, 0)
    new, labels = bags_of((min(sizes[0], 2000), *sizes[1:]), 1000)

    def act(i: int) -> dict:
        begun, used = time.perf_counter(), time.process_time()
        model = METHODS[name](0).fit(X, y)
        seconds, used = time.perf_counter() - begun, time.process_time() - used
        accuracy = float(np.mean(model.predict(new) == labels))
        return {"seconds": seconds, "of processor": used, "accuracy": accuracy}

    return act


def bag_predict(name: str, sizes: Sizes) -> Action:
    """Predict the labels of new bags."""
    model = METHODS[name](0).fit(*bags_of((min(sizes[0], 2000), *sizes[1:]), 0))
    new, labels = bags_of(sizes, 1000)
    return lambda i: {"accuracy": float(np.mean(model.predict(new) == labels))}


def product(sizes: Sizes) -> Action:
    """A bare product of all tokens with two columns."""
    bags, _ = bags_of(sizes, 1000)
    both = np.ones((sizes[2], 2), np.float32)
    return lambda i: {"sum": float((bags.tokens @ both).sum())}


# The explorer.

SLIDERS = ("strength", "positive_rate", "alpha0", "ridge", "eta_q")
MOVE = """async (name) => {
  const slider = document.getElementById(`p-${name}-slider`);
  const drawn = new Promise((resolve) => {
    document.addEventListener("explorer:drawn", () => resolve(performance.now()), { once: true });
  });
  slider.value = Number(slider.value) + (slider.value > 150 ? -45 : 3);
  const start = performance.now();
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  return (await drawn) - start;
}"""


def explorer_move() -> Action:
    """Move a slider of the explorer in Chromium."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from explorer import browsers

    if browsers.chromium() is None:
        raise Skipped(browsers.INSTALL)
    from playwright.sync_api import sync_playwright

    server, address = browsers.start()
    atexit.register(browsers.end, server)
    playwright = sync_playwright().start()
    browser = playwright.chromium.launch(executable_path=browsers.chromium(), args=browsers.LAUNCH)
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.goto(address)
    browsers.drawn(page)
    page.wait_for_timeout(2000)

    def act(i: int) -> dict:
        milliseconds = page.evaluate(MOVE, SLIDERS[i % len(SLIDERS)])
        page.wait_for_timeout(400)
        return {"seconds": milliseconds / 1e3}

    return act
