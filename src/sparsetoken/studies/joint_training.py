"""Joint training: gradient descent on query, readout and bias, and its early stopping."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from matplotlib.figure import Figure

import sparsetoken as st
from sparsetoken.figures.palette import GREEN, PURPLE, VERMILION
from sparsetoken.figures.style import log_axis
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.studies import plot
from sparsetoken.studies.compare import (
    DIFFERENCE,
    Claim,
    Comparison,
    Number,
    all_true,
    averaged,
    compare,
    predicted,
)
from sparsetoken.studies.references import (
    REFERENCES,
    draw_references,
    known,
    reference_calls,
    reference_errors,
)
from sparsetoken.studies.settings import PROBLEM, TOLERANCE
from sparsetoken.studies.study import Calls, Run, Size, Sizes, Study, profiles
from sparsetoken.studies.words import pm

ALPHA = 2.0
"""n/d of all samples."""
RATIOS, STARTS = (0.25, 1.0, 4.0), (0.0, 0.3)
"""eta_q / eta_w, and norms of query and readout before the first step, in random directions."""
CASES = tuple(itertools.product(RATIOS, STARTS))
QUANTITIES = {"test_error": "test_error", "training_loss": "training_loss", "cosine": "cosine_q"}
"""With their columns."""
CLEAR = 1e-3
"""A rise of the predicted test error after its minimum that counts as one."""
COLOURS = dict(zip(RATIOS, (GREEN, PURPLE, VERMILION), strict=True))
LOOKS = dict(zip(STARTS, (("-", "D", "zero"), ("--", "v", "random")), strict=True))


class Stop(NamedTuple):
    """The step with the least predicted test error of a descent, and the nearest measured one."""

    case: tuple[float, float]
    best: int
    near: int
    rises: bool


def descent_of(ratio: float, start: float, steps: int) -> st.Descent:
    """Return the descent with a ratio of step sizes, from weights of some norm."""
    rates = {"q": ratio, "w": 1.0}
    return st.Descent(alpha=ALPHA, steps=steps, rates=rates, rate_c=1.0, start=start)


class JointTraining(Study):
    """Descents from zero and from random weights, with three ratios of step sizes."""

    name, title = "joint-training", "Joint training of all weights"
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
    sizes = profiles(
        # Steps at which the simulation is measured.
        steps=Size((1, 2, 4, 6, 12, 18), (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 36, 48)),
        dimension=Size(300, 800),
        trials=Size(10, 16),
        replicas=Size(3, 16),
    )
    paper = "A larger dimension, longer descents and more trials."
    caption = (
        "Joint gradient descent on query, readout and bias: test error, training loss and cosine "
        "of the query with the signal. Lines are theory: solid from zero, dashed from random "
        "weights. Points are means over trials with real tokens, with one standard error."
    )

    def theory(self, at: Sizes) -> Calls:
        # The references split the same samples evenly between query and readout.
        steps, readout = st.TwoSteps(ALPHA / 2, eta_q=25.0), st.Readout(alpha1=ALPHA / 2)
        calls = dict(reference_calls(PROBLEM, steps, readout, load=ALPHA))
        follow = partial(st.theory.descend, replicas=at.replicas, tolerance=TOLERANCE)
        return calls | {
            case: partial(follow, PROBLEM, descent_of(*case, at.steps[-1])) for case in CASES
        }

    def simulation(self, at: Sizes, seed: int) -> Calls:
        size = {"dimension": at.dimension, "trials": at.trials, "at": list(at.steps)}
        descend = partial(st.simulation.descend, PROBLEM, **size)
        seeds = [seed_of("joint-training", i, seed) for i in range(len(CASES))]
        return {
            case: partial(descend, descent_of(*case, at.steps[-1]), seed=own)
            for case, own in zip(CASES, seeds, strict=True)
        }

    def judge(self, run: Run) -> Iterator[Comparison]:
        last = run.at.steps[-1]
        for case, step in itertools.product(CASES, run.at.steps):
            for name, column in QUANTITIES.items():
                place = self._place(run, case, step)
                place["key"] = (name, step, case[0]) == ("test_error", last, 1.0)
                found = run.measured(case, column, step)
                yield compare(
                    "joint-descent", name, self._known(run, case, name, step), found, **place
                )
        claim, stops = "early-stopping", [self._stop(run, case) for case in CASES]
        for stop in stops:
            if stop.rises:
                # A difference of two test errors is off at finite d by as much as the larger one.
                end = self._known(run, stop.case, "test_error", last)
                rise = end - self._known(run, stop.case, "test_error", stop.near)
                found = self._change(run, stop.case, "test_error", stop.near)
                place = self._place(run, stop.case, stop.near)
                place |= {"shift": DIFFERENCE, "size": end.value}
                yield compare(claim, "test_error, last − stop", rise, found, **place)
        fast = [stop for stop in stops if stop.case[0] >= 1]
        used = [
            self._known(run, stop.case, "test_error", step)
            for stop in fast
            for step in (stop.best, last)
        ]
        true = [stop.rises and stop.best > 0 for stop in fast]
        place = {"where": f"{len(fast)} descents", "curve": "theory", "key": True}
        yield all_true(claim, "test error rises again", true, used, **place)
        falls = [self._change(run, stop.case, "training_loss", stop.near) for stop in fast]
        true = [fall.value < -3 * fall.error for fall in falls]
        place = {"where": f"{len(fast)} descents", "curve": "real tokens"}
        yield all_true(claim, "training loss still falls", true, falls, **place)

    def _known(self, run: Run, case: Any, name: str, step: int) -> Number:
        return predicted(run.theory[case].isel(step=step), QUANTITIES[name])

    def _change(self, run: Run, case: Any, name: str, step: int) -> Number:
        """Return the mean change from a step to the last one in the same trial."""
        values = run.simulated[case].trials.columns()[name]
        change = values[:, run.at.steps[-1]] - values[:, step]
        return averaged(change, dimension=run.at.dimension)

    def _stop(self, run: Run, case: Any) -> Stop:
        errors = run.theory[case].test_error
        best = int(errors.argmin())
        near = min(run.at.steps, key=lambda step: abs(step - best))
        return Stop(case, best, near, bool(errors[-1] - errors[best] > CLEAR))

    def _place(self, run: Run, case: Any, step: int) -> dict[str, Any]:
        ratio, start = case
        where = f"from {LOOKS[start][2]} weights, step {step}, d = {run.at.dimension}"
        return {"curve": f"η_q/η_w = {ratio:g}", "where": where}

    def setting(self, at: Sizes) -> str:
        return (
            f"L = 10, R = 1, π = 0.5, θ = 5; logistic loss, β = 1, n/d = {ALPHA:g} samples in all. "
            "Gradient descent on the mean loss over all samples, in w, q and b together, with "
            f"η_w = η_b = 1 and several η_q, for {at.steps[-1]} steps. It starts from zero, or "
            f"from random w and q of length {STARTS[-1]:g}. The theory is the exact "
            f"high-dimensional dynamics. Simulated with real tokens at d = {at.dimension}, "
            f"{at.trials} trials, each descent with independent data. The reference two-step "
            "attention splits the same samples evenly."
        )

    def found(self, run: Run, comparisons: Sequence[Comparison]) -> str:
        told, last = list[str](), run.at.steps[-1]
        for case in CASES:
            stop = self._stop(run, case)
            least = self._known(run, case, "test_error", stop.best).value
            end = self._known(run, case, "test_error", last).value
            seen = run.measured(case, "test_error", stop.near)
            told.append(
                f"with η_q/η_w = {case[0]:g} from {LOOKS[case[1]][2]} weights {least:.4f} after "
                f"step {stop.best} (measured after step {stop.near}: {pm(seen, 4)})"
                + f" and {end:.4f} in the end"
                * (stop.best < last)
            )
        errors = reference_errors({name: run.theory[name] for name in REFERENCES})
        return (
            f"The smallest predicted test errors within {last} steps: {'; '.join(told)}."
            f"\n\nOn the same samples: {known(errors)}."
        )

    def draw(self, run: Run) -> Figure:
        figure, places = plot.panels(3, 11.0, 4.4)
        last = run.at.steps[-1]
        errors = reference_errors({name: run.theory[name] for name in REFERENCES})
        draw_references(places[0], (0, last), [errors, errors])
        titles = (f"test error, n/d = {ALPHA:g}", "training loss", "cosine of the query")
        for axes, title, name in zip(places, titles, QUANTITIES, strict=True):
            for case in CASES:
                line, marker, start = LOOKS[case[1]]
                look: dict[str, Any] = {"line": line, "marker": marker}
                look["label"] = f"$\\eta_q/\\eta_w$ = {case[0]:g}, {start}"
                trajectory = [self._known(run, case, name, step) for step in range(last + 1)]
                plot.curve(axes, range(last + 1), trajectory, COLOURS[case[0]], **look)
                points = [run.measured(case, QUANTITIES[name], step) for step in run.at.steps]
                plot.curve(axes, run.at.steps, points, COLOURS[case[0]], **look)
            axes.set(xlabel="steps", title=title)
            axes.locator_params(axis="x", integer=True)
        log_axis(places[0].yaxis, (0.02, 0.03, 0.05, 0.1, 0.2, 0.5))
        return plot.finish(figure, columns=5)
