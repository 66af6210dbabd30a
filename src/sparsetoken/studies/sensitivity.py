"""Test error over the choices in training, and the best choice."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm
from scipy.optimize import brentq

import sparsetoken as st
from sparsetoken.figures.palette import RED, SEQUENCE
from sparsetoken.studies.claims import LARGEST_Z, Claim, Number, all_true, line, predicted, row
from sparsetoken.studies.figure import Look, Panel
from sparsetoken.studies.study import Call, Experiment, Run, Study, measured
from sparsetoken.theory import sign_margin

PROBLEM = st.SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=0.5)
STEPS = st.TwoSteps(alpha0=1.0, eta_q=25.0)
READOUT = st.Readout(ridge=1e-2, alpha1=2.0)
SIZES = (100, 400)
MAP, SPOT = 1e-3, 5e-4
"""Tolerances of the theory: on a map, and where it is judged."""
ACROSS, UP, SHARES = 7, 6, 10
"""Values of x and y on a map, and of x on a line over the split."""
TOTALS, ALPHA0S = (1.0, 2.0, 4.0), (0.25, 0.5, 1.0, 4.0)
"""The y at which the best split and the best beta are searched for."""
CLAIMS = {
    "sharpness": "test-error-over-sharpness",
    "bias": "test-error-over-bias-step",
    "split": "test-error-over-split",
}
"""By panel. Its x and y are beta and alpha0; eta_b and the positive rate; the share of the samples
for the query and alpha0 + alpha1."""
WHERE = {
    "sharpness": "β = {:.3g}, α₀ = {:.3g}",
    "bias": "η_b = {:.3g}, π = {:.3g}",
    "split": "fraction {:.3g} of α₀ + α₁ = {:.3g}",
}
SPOTS = {
    "sharpness": ((0.7, 0.7), (2.2, 0.7), (0.3, 2.0), (2.2, 2.0)),
    "bias": ((1.0, 0.15), (1.0, 0.35), (4.0, 0.1), (7.0, 0.25), (9.0, 0.5)),
    "split": (),
}
CENTRES = {
    ("split", 1.0): 0.49, ("split", 2.0): 0.4, ("split", 4.0): 0.32,
    ("sharpness", 0.5): 1.27, ("sharpness", 1.0): 1.34, ("sharpness", 4.0): 1.26,
}  # fmt: skip
"""The best x at some y as found by the theory: the simulation is there, and to either side."""
NEIGHBOUR = 3.0
"""Ratio of the odds of a split, or of beta, to the best beside it."""
SIDES = (1.0, 1 / NEIGHBOUR, NEIGHBOUR)
NEAR = 0.03
"""How far from its centre the best x may be, relative: the test error is flat there."""
COLOURS: dict[str, Any] = {"norm": LogNorm(0.03, 0.32), "cmap": "viridis"}
PANELS = {
    "sharpness": Panel(
        "sharpness of the softmax",
        "inverse temperature β",
        "α₀ = n₀ / d",
        log=dict.fromkeys("xy", (0.25, 0.5, 1, 2, 4)),
        colours=COLOURS,
    ),
    "bias": Panel(
        "bias step and rate of positives",
        "bias step η$_b$",
        "rate of positives π",
        log={"bar": (0.03, 0.05, 0.08, 0.13, 0.2, 0.32)},
        limits={"ylim": (0.05, 0.6)},
        colours=COLOURS,
        bar="test error",
    ),
    "split": Panel(
        "split of the samples",
        "fraction for the query, α₀ / (α₀ + α₁)",
        "test error",
        log={"y": (0.02, 0.03, 0.05, 0.1, 0.2, 0.4)},
    ),
}
LINES = {total: f"α₀ + α₁ = {total:g}" for total in TOTALS}
BAYES, BEST_SPLIT = "Bayes-optimal learner", "best split"
BEST_BETA, ORTHOGONAL = "best β", "query orthogonal to the signal"
LOOKS = {BEST_BETA: Look(RED, "-", "*"), ORTHOGONAL: Look(RED, "--")} | {
    f"{what} {LINES[total]}".strip(): Look(SEQUENCE[i], dashes, label=what or None)
    for i, total in zip((0, 1, 3), TOTALS, strict=True)
    for what, dashes in (("", "-"), (BAYES, "-."), (BEST_SPLIT, ":"))
}
"""Guides of the same kind have one label."""


def setting(panel: str, x: Any, y: Any) -> tuple[st.SparseTokenProblem, st.Attention, st.Readout]:
    """Return problem, model and readout at a place of a panel, or at arrays of places."""
    problem, steps, readout = PROBLEM, STEPS, READOUT
    if panel == "sharpness":
        steps = dataclasses.replace(steps, beta=x, alpha0=y)
    elif panel == "bias":
        problem = dataclasses.replace(problem, positive_rate=y)
        steps = dataclasses.replace(steps, eta_b=x)
    else:
        steps = dataclasses.replace(steps, alpha0=x * y)
        readout = dataclasses.replace(readout, alpha1=(1 - x) * y)
    return problem, st.Attention(steps), readout


def beside(panel: str, best: float, factor: float) -> float:
    """Return a beta, or a share with odds, this many times as large as the best."""
    if panel == "sharpness":
        return best * factor
    odds = factor * best / (1 - best)
    return odds / (1 + odds)


def orthogonal_rate(eta_b: float) -> float:
    """Return the rate of positives at which the query is orthogonal to the signal."""

    def margin(rate: float) -> float:
        problem = dataclasses.replace(PROBLEM, positive_rate=rate)
        return sign_margin(problem, dataclasses.replace(STEPS, eta_b=eta_b))

    return float(brentq(margin, 1e-6, 0.5))


def _axes(panel: str, scale: int) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y of a panel where the theory is."""
    if panel == "sharpness":
        return np.geomspace(0.22, 4.2, ACROSS * scale), np.geomspace(0.25, 5.0, UP * scale)
    if panel == "bias":
        return np.linspace(0.0, 10.0, ACROSS * scale), np.linspace(0.05, 0.6, UP * scale)
    shares = np.linspace(0.15, 0.95, SHARES * scale) ** 2  # closer where the line is steep
    return shares, np.array(TOTALS)


def _spots(panel: str) -> dict[tuple[float, float], list[str]]:
    """Return the places of a panel that are simulated, and the name of shared random numbers."""
    spots: dict[tuple[float, float], list[str]] = {spot: [] for spot in SPOTS[panel]}
    for (own, y), x in CENTRES.items():
        if own == panel:
            spots |= {(beside(panel, x, side), y): [f"best {panel}, {y:g}"] for side in SIDES}
    return spots


class Sensitivity(Study):
    """Maps of the test error of attention over choices in training, and the best choices."""

    name, title = "sensitivity", "Sensitivity and design"
    setting = (
        f"Attention, logistic loss, L = {PROBLEM.length}, R = {PROBLEM.informative}, "
        f"θ = {PROBLEM.strength:g}, λ = {READOUT.ridge:g}, η_w = {STEPS.eta_w:g}, "
        f"η_q = {STEPS.eta_q:g}; unless varied, π = {PROBLEM.positive_rate:g}, "
        f"η_b = {STEPS.eta_b:g}, β = {STEPS.beta:g}, α₀ = {STEPS.alpha0:g}, "
        f"α₁ = {READOUT.alpha1:g}. The best β and the best split are found by a search; their "
        f"neighbours, with β or the odds {NEIGHBOUR:g} times as large or small, share its random "
        "numbers in simulation."
    )
    caption = (
        "Predicted test error of attention over β and α₀; over the bias step and the rate of "
        "positives; and against the split of a fixed number of samples between query and readout, "
        "down to the Bayes-optimal error of as many; a disc that blends in agrees."
    )
    claims = (
        Claim(
            "test-error-over-sharpness",
            "The theory predicts the test error over β and α₀: simulations agree with the map.",
        ),
        Claim(
            "test-error-over-bias-step",
            "The theory predicts the test error over η_b and π: simulations agree with the map.",
        ),
        Claim(
            "test-error-over-split",
            "The theory predicts the test error over the split of a fixed number of samples "
            "between query and readout: simulations agree.",
        ),
        Claim(
            "best-split",
            "The theory predicts the best fraction of the samples for the query: no neighbouring "
            "fraction is better in simulation.",
        ),
        Claim(
            "best-sharpness",
            "The theory predicts the best β: no neighbouring β is better in simulation.",
        ),
    )
    panels = tuple(PANELS.values())
    looks = LOOKS

    def theory(self, scale: int) -> Mapping[Any, Call]:
        calls: dict[Any, Call] = {}
        for panel in PANELS:
            x, y = _axes(panel, scale)
            places = setting(panel, x, y[:, None])
            calls["map", panel] = partial(st.predict, *places, tolerance=MAP)
            spots = setting(panel, *np.array([*_spots(panel)]).T)
            calls["spots", panel] = partial(st.predict, *spots, tolerance=SPOT)
        search = partial(st.tuning.best_training, tolerance=MAP, progress=False)
        for total in TOTALS:
            start = setting("split", 0.5, total)
            calls["best", "split", total] = partial(search, *start, free=["share"])
        for alpha0 in ALPHA0S:
            start = setting("sharpness", STEPS.beta, alpha0)
            calls["best", "sharpness", alpha0] = partial(search, *start, free=["sharpness"])
        bayes = partial(st.oracle.learning_error, PROBLEM)
        calls |= {("bayes", total): partial(bayes, total) for total in TOTALS}
        steps = _axes("bias", scale)[0].tolist()
        return calls | {("orthogonal", eta_b): partial(orthogonal_rate, eta_b) for eta_b in steps}

    def simulation(self, scale: int) -> Mapping[Any, Experiment]:
        return {
            (panel, *spot): Experiment(
                partial(st.simulate, *setting(panel, *spot)), SIZES, 40 * scale, shared=shared
            )
            for panel in PANELS
            for spot, shared in _spots(panel).items()
        }

    def rows(self, run: Run) -> Iterator[dict[str, Any]]:
        for panel, claim in CLAIMS.items():
            xs, ys = _axes(panel, run.scale)
            for y, results in zip(ys.tolist(), run.theory["map", panel], strict=True):
                yield from line(xs, results, "test_error", **self._drawn(panel, y))
            spots = zip(_spots(panel), run.theory["spots", panel], strict=True)
            for i, ((x, y), known) in enumerate(spots):
                some = run.simulated[panel, x, y]
                yield row(
                    predicted(known, "test_error"),
                    measured("test_error", some),
                    claim=claim,
                    quantity="test_error",
                    where=f"{WHERE[panel].format(x, y)}, {some.experiment.where}",
                    key=i == 0,
                    x=x,
                    **self._drawn(panel, y),
                )
        yield from self._guides(run)
        for panel, y in CENTRES:
            yield self._no_better(run, panel, y)

    def _drawn(self, panel: str, y: float) -> dict[str, Any]:
        """Return panel and curve of a line, or panel and y of the cells of a map."""
        curve = {"curve": LINES[y]} if panel == "split" else {"curve": "attention", "y": y}
        return {"panel": PANELS[panel].name} | curve

    def _guides(self, run: Run) -> Iterator[dict[str, Any]]:
        """Draw the best choices, the orthogonal queries, and the Bayes-optimal errors."""
        for alpha0 in ALPHA0S:
            beta = self._best(run, "sharpness", alpha0)
            known = Number(alpha0, converged=beta.converged)
            yield row(known, x=beta.value, panel=PANELS["sharpness"].name, curve=BEST_BETA)
        for eta_b in _axes("bias", run.scale)[0].tolist():
            rate = run.theory["orthogonal", eta_b]
            yield row(rate, x=eta_b, panel=PANELS["bias"].name, curve=ORTHOGONAL)
        for total, name in LINES.items():
            bayes = predicted(run.theory["bayes", total], "test_error")
            best = predicted(run.theory["best", "split", total].prediction, "test_error")
            split, x = self._best(run, "split", total).value, _axes("split", run.scale)[0]
            for curve, ends in (
                (BAYES, ((x[0], bayes), (x[-1], bayes))),
                (BEST_SPLIT, ((split, best), (split, bayes))),
            ):
                for at, error in ends:
                    yield row(error, x=at, panel=PANELS["split"].name, curve=f"{curve} {name}")

    def _best(self, run: Run, panel: str, y: float) -> Number:
        """Return the best x that the search found."""
        optimum = run.theory["best", panel, y]
        # The sharpness is proportional to eta_q beta^2.
        beta = STEPS.beta * math.sqrt(optimum.steps.eta_q / STEPS.eta_q)
        x = float(optimum.share) if panel == "split" else beta
        return Number(x, converged=optimum.status.converged)

    def _no_better(self, run: Run, panel: str, y: float) -> dict[str, Any]:
        """Judge whether the best setting errs more than a neighbour, by paired differences."""
        x = CENTRES[panel, y]
        best, *near = (run.simulated[panel, beside(panel, x, side), y] for side in SIDES)
        gains = [measured(lambda a, b: a.test_error - b.test_error, best, one) for one in near]
        # A best place that has moved from where it was simulated decides nothing.
        found = self._best(run, panel, y)
        sound = found.converged and abs(found.value / x - 1) <= NEAR
        text = ", ".join(f"{gain.value:+.4f} ± {gain.error:.4f}" for gain in gains)
        return all_true(
            [gain.value <= LARGEST_Z * gain.error for gain in gains],
            [dataclasses.replace(found, converged=sound), *gains],
            claim=f"best-{panel}",
            curve="attention",
            quantity="no neighbour is better",
            where=f"{WHERE[panel].format(x, y)}, neighbours better by {text}",
            key=y == 1.0,
        )
