"""Joint training: gradient descent on query, readout and bias, and its early stopping."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import sparsetoken as st
from sparsetoken.figures.palette import COLOURS, GREEN, PURPLE, VERMILION
from sparsetoken.studies.claims import TENSORS, Claim, Number, all_true, line, predicted, row
from sparsetoken.studies.figure import Look, Panel
from sparsetoken.studies.settings import PROBLEM, REPLICAS, TOLERANCE
from sparsetoken.studies.study import Call, Experiment, Run, Study, measured

ALPHA = 2.0
"""n/d of all samples."""
RATIOS = {0.25: GREEN, 1.0: PURPLE, 4.0: VERMILION}
"""eta_q / eta_w, with colours."""
STARTS = {0.0: ("-", "D", "zero"), 0.3: ("--", "v", "random")}
"""Norms of query and readout before the first step, in random directions, with looks."""
CASES = tuple(itertools.product(RATIOS, STARTS))
STEPS = (1, 2, 4, 6, 12, 18)
"""After which the simulation is measured."""
LAST = STEPS[-1]
SIZES, TRIALS = (60, 240), 24
CLEAR = 1e-3
"""A rise of the predicted test error after its minimum that counts as one."""
QUANTITIES = {
    f"test error, n/d = {ALPHA:g}": "test_error",
    "training loss": "training_loss",
    "cosine of the query": "cosine_q",
}
"""By panel."""
REFERENCES = {
    "pooled": ("pooled, theory", "--"),
    "attention": ("two-step attention, theory", "-"),
    "bayes": ("Bayes-optimal learner, theory", "-."),
    "oracle": ("Bayes, signal known", ":"),
}
"""The curves of test errors to compare with, and their dashes."""


class Stop(NamedTuple):
    """The step with the least predicted test error of a descent, and the nearest measured one."""

    case: tuple[float, float]
    best: int
    near: int
    rises: bool


def descent_of(ratio: float, start: float) -> st.Descent:
    """Return the descent with a ratio of step sizes, from weights of some norm."""
    rates = {"q": ratio, "w": 1.0}
    return st.Descent(alpha=ALPHA, steps=LAST, rates=rates, rate_c=1.0, start=start)


def _curve(case: tuple[float, float]) -> str:
    return f"η_q/η_w = {case[0]:g}, {STARTS[case[1]][2]}"


def _looks() -> dict[str, Look]:
    """Return the look of each case, and of the references."""
    looks = {curve: Look(COLOURS[name], dashes) for name, (curve, dashes) in REFERENCES.items()}
    for case in CASES:
        dashes, marker, start = STARTS[case[1]]
        label = f"$\\eta_q/\\eta_w$ = {case[0]:g}, {start}"
        looks[_curve(case)] = Look(RATIOS[case[0]], dashes, marker, label)
    return looks


class JointTraining(Study):
    """Descents from zero and from random weights, with three ratios of step sizes."""

    name, title = "joint-training", "Joint training of all weights"
    setting = (
        f"L = {PROBLEM.length}, R = {PROBLEM.informative}, π = {PROBLEM.positive_rate:g}, "
        f"θ = {PROBLEM.strength:g}, logistic loss, n/d = {ALPHA:g}: {LAST} steps of gradient "
        "descent on w, q and b together with η_w = η_b = 1, from zero or from random w and q of "
        f"norm {max(STARTS):g}. Two-step attention splits the same samples evenly."
    )
    caption = (
        "Test error, training loss and cosine of the query with the signal under joint gradient "
        "descent, solid from zero and dashed from random weights, with three ratios of step sizes."
    )
    claims = (
        Claim(
            "joint-descent",
            "Under joint gradient descent on query, readout and bias, from zero or from random "
            "weights, test error, training loss and query cosine have exact limits at every step.",
        ),
        Claim(
            "early-stopping",
            "When the query moves at least as fast as the readout, the test error of joint descent "
            "reaches a minimum and rises again while the training loss falls: from the step with "
            "the least predicted error to the last one by the predicted amount.",
        ),
    )
    panels = tuple(
        Panel(
            name,
            "steps",
            log={"y": (0.02, 0.03, 0.05, 0.1, 0.2, 0.5)} if quantity == "test_error" else {},
            limits={"xticks": range(0, LAST + 1, 3)},
        )
        for name, quantity in QUANTITIES.items()
    )
    looks = _looks()

    def theory(self, scale: int) -> Mapping[Any, Call]:
        found = st.Attention(st.TwoSteps(ALPHA / 2, eta_q=25.0))
        calls: dict[Any, Call] = {
            "pooled": partial(st.predict, PROBLEM, st.Pooled(), st.Readout(alpha1=ALPHA)),
            "attention": partial(st.predict, PROBLEM, found, st.Readout(alpha1=ALPHA / 2)),
            "bayes": partial(st.oracle.learning_error, PROBLEM, ALPHA),
            "oracle": partial(st.oracle.bayes_error, PROBLEM),
        }
        given: dict[str, Any] = {"replicas": REPLICAS, "tolerance": TOLERANCE}
        for case in CASES:
            calls[case] = partial(st.descend, PROBLEM, descent_of(*case), **given)
        return calls

    def simulation(self, scale: int) -> Mapping[Any, Experiment]:
        descend = partial(st.simulation.descend, PROBLEM, at=list(STEPS))
        return {
            case: Experiment(partial(descend, descent_of(*case)), SIZES, TRIALS * scale, TENSORS)
            for case in CASES
        }

    def rows(self, run: Run) -> Iterator[dict[str, Any]]:
        place = {"panel": next(iter(QUANTITIES))}
        for name, (curve, _) in REFERENCES.items():
            yield from line((0, LAST), [run.theory[name]] * 2, "test_error", curve=curve, **place)
        for (panel, quantity), case in itertools.product(QUANTITIES.items(), CASES):
            path = [run.theory[case].isel(step=step) for step in range(LAST + 1)]
            place = {"panel": panel, "curve": _curve(case)}
            yield from line(range(LAST + 1), path, quantity, **place)
            for step in STEPS:
                yield row(
                    predicted(path[step], quantity),
                    measured(quantity, run.simulated[case], step=step),
                    claim="joint-descent",
                    x=step,
                    quantity=quantity,
                    where=_where(run, case, step),
                    key=(quantity, step, case[0]) == ("test_error", LAST, 1.0),
                    **place,
                )
        yield from _stopping(run)


def _stopping(run: Run) -> Iterator[dict[str, Any]]:
    """Compare the rise of the test error after its least, while the training loss falls."""
    stops = [_stop(run, case) for case in CASES]
    for stop in stops:
        if stop.rises:
            yield row(
                _known(run, stop.case, LAST) - _known(run, stop.case, stop.near),
                _change(run, stop, "test_error"),
                claim="early-stopping",
                curve=_curve(stop.case),
                quantity="test_error, last − stop",
                where=_where(run, stop.case, stop.near),
            )
    fast = [stop for stop in stops if stop.case[0] >= 1]
    used = [_known(run, stop.case, step) for stop in fast for step in (stop.best, LAST)]
    falls = [_change(run, stop, "training_loss") for stop in fast]
    for quantity, true, numbers, curve in (
        ("test error rises again", [stop.rises and stop.best > 0 for stop in fast], used, "theory"),
        (
            "training loss still falls",
            [n.value < -3 * n.error for n in falls],
            falls,
            "real tokens",
        ),
    ):
        given = {"claim": "early-stopping", "quantity": quantity, "curve": curve}
        yield all_true(true, numbers, where=f"{len(fast)} descents", key=curve == "theory", **given)


def _known(run: Run, case: tuple[float, float], step: int) -> Number:
    return predicted(run.theory[case].isel(step=step), "test_error")


def _change(run: Run, stop: Stop, quantity: str) -> Number:
    """Return the mean change from the stop to the last step in the same trial."""

    def change(trials: Any) -> Any:
        values = trials.columns()[quantity]
        return values[:, LAST] - values[:, stop.near]

    return measured(change, run.simulated[stop.case])


def _stop(run: Run, case: tuple[float, float]) -> Stop:
    errors = run.theory[case].test_error
    best = int(errors.argmin())
    near = min(STEPS, key=lambda step: abs(step - best))
    return Stop(case, best, near, bool(errors[-1] - errors[best] > CLEAR))


def _where(run: Run, case: tuple[float, float], step: int) -> str:
    start = STARTS[case[1]][2]
    return f"from {start} weights, step {step}, {run.simulated[case].experiment.where}"
