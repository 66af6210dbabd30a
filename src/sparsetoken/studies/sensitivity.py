"""Test error over the choices in training, and the best choice."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

import sparsetoken as st
from sparsetoken.figures.palette import GREY, RED, SEQUENCE
from sparsetoken.figures.style import log_axis
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.studies import plot
from sparsetoken.studies.compare import (
    FAILS,
    NO_SHIFT,
    REDUCED,
    SHIFTS,
    Claim,
    Comparison,
    Number,
    averaged,
    compare,
    largest_z,
    predicted,
)
from sparsetoken.studies.study import Calls, Run, Size, Sizes, Study, profiles
from sparsetoken.studies.words import listed

STEPS = st.TwoSteps(alpha0=1.0, eta_q=25.0)
READOUT = st.Readout(ridge=1e-2, alpha1=2.0)
MAP, SPOT = 1e-3, 5e-4
"""Tolerances of the theory: on a map, and where it is judged."""
NEIGHBOUR = 3.0
"""Ratio of the odds of a split, or of beta, to the best beside it."""
BIAS = 9.0
"""The cosine of finite dimension differs by up to BIAS / (alpha0 d), relative: measured
36/d at alpha0 = 1/4 and 15/d at 1/2."""
PANELS = {
    "sharpness": "test-error-over-sharpness",
    "bias": "test-error-over-bias-step",
    "split": "test-error-over-split",
}
"""What is varied, as x and y: beta and alpha0; eta_b and the positive rate; the share of the
samples that find the query and alpha0 + alpha1. And the claim."""
WHERE = {
    "sharpness": "β = {:.3g}, α₀ = {:.3g}",
    "bias": "η_b = {:.3g}, π = {:.3g}",
    "split": "fraction {:.3g} of α₀ + α₁ = {:.3g}",
}
BEST = {"split": "best-split", "sharpness": "best-sharpness"}
FREE = {"split": "share", "sharpness": "sharpness"}
SEEDS = {"split": "split", "sharpness": "beta"}
CENTRES = {
    "split": {1.0: 0.49, 2.0: 0.4, 4.0: 0.32, 8.0: 0.25},
    "sharpness": {0.5: 1.27, 1.0: 1.34, 4.0: 1.26},
}
"""The best x at some y as found by the theory: the simulation is there, and to either side."""
SIDES = {"best": 1.0, "below": 1 / NEIGHBOUR, "above": NEIGHBOUR}
NEAR = 0.03
"""How far from its centre the best x may be, relative: the test error is flat there."""
LEVELS = (0.03, 0.05, 0.08, 0.13, 0.2, 0.32)
"""The ticks of the test error."""
STAR: dict[str, Any] = {"color": RED, "marker": "*", "mec": "white", "ms": 9}


def setting(panel: str, x: Any, y: Any) -> tuple[st.SparseTokenProblem, st.Attention, st.Readout]:
    """Return problem, model and readout at a place of a panel, or at arrays of places."""
    rate, steps, readout = 0.5, STEPS, READOUT
    if panel == "sharpness":
        steps = dataclasses.replace(steps, beta=x, alpha0=y)
    elif panel == "bias":
        rate, steps = y, dataclasses.replace(steps, eta_b=x)
    else:
        steps = dataclasses.replace(steps, alpha0=x * y)
        readout = dataclasses.replace(readout, alpha1=(1 - x) * y)
    return st.SparseTokenProblem(10, 1, 5.0, rate), st.Attention(steps), readout


def beside(panel: str, best: float, factor: float) -> float:
    """Return a beta, or a share with odds, this many times as large as the best."""
    if panel == "sharpness":
        return best * factor
    odds = factor * best / (1 - best)
    return odds / (1 + odds)


def predict_spots(problem: Any, model: Any, readout: Any, *, dimension: int) -> Any:
    """Return predictions at arrays of one column, and beside them those of a smaller cosine.

    It is smaller by as much as the bias at this dimension may be.
    """
    found = st.align(problem, model.query)
    factor = 1 - BIAS / (np.asarray(model.query.alpha0) * dimension)
    cosines = np.concatenate([found.cosine, factor * found.cosine], axis=1)
    model = st.Attention(st.Query(cosines, found.sharpness))
    return st.predict(problem, model, readout, tolerance=SPOT)


class Sensitivity(Study):
    """Maps of the test error of attention over choices in training, and the best choices."""

    name, title = "sensitivity", "Sensitivity and design"
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
    sizes = profiles(
        across=Size(7, 19),  # values of x and of y on a map
        up=Size(6, 17),
        shares=Size(10, 25),  # on a line over the split
        totals=Size((1.0, 2.0, 4.0), (1.0, 2.0, 4.0, 8.0)),
        best_alpha0s=Size((0.25, 0.5, 1.0, 4.0), (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)),
        # Places that are simulated.
        spots=Size(
            {
                "sharpness": ((0.7, 0.7), (2.2, 0.7), (0.3, 2.0), (2.2, 2.0)),
                "bias": ((1.0, 0.15), (1.0, 0.35), (4.0, 0.1), (7.0, 0.25), (9.0, 0.5)),
            },
            {
                "sharpness": tuple(itertools.product((0.3, 0.7, 1.5, 3.0), (0.5, 1.0, 3.0))),
                "bias": tuple(itertools.product((1.0, 4.0, 7.0), (0.1, 0.2, 0.35, 0.5))),
            },
        ),
        dimension=Size(500, 1000),
        trials=Size(12, 16),
    )
    paper = "Maps with many times the points, more simulated settings, d = 1000, a fourth total."
    caption = (
        "Predicted test error of attention. Left: over β and α₀; stars: the best β, found by a "
        "search. Middle: over the bias step and the rate of positives; below the dashed line the "
        "query turns away from the signal. Discs: simulations in the same colours, so that a disc "
        "that blends in agrees. White crosses, if any: not converged. Right: against the split of "
        "a fixed number of samples between query and readout. Lines: theory. Points: simulation, "
        "mean and one standard error. Triangles, drawn below the lines: the best split, found by "
        "a search. Dash-dotted: the Bayes-optimal error for the same number of samples."
    )

    def _axes(self, at: Sizes) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return x and y of each panel where the theory is."""
        shares = np.linspace(0.15, 0.95, at.shares) ** 2  # closer where the line is steep
        return {
            "sharpness": (np.geomspace(0.22, 4.2, at.across), np.geomspace(0.25, 5.0, at.up)),
            "bias": (np.linspace(0.0, 10.0, at.across), np.linspace(0.05, 0.6, at.up)),
            "split": (shares, np.array(at.totals)),
        }

    def _searched(self, at: Sizes) -> dict[str, Sequence[float]]:
        """Return the y at which the best x is searched."""
        return {"split": at.totals, "sharpness": at.best_alpha0s}

    def _centres(self, at: Sizes) -> list[tuple[str, float, float]]:
        """Return panel, x and y of each best place that is simulated."""
        searched = self._searched(at)
        return [(p, x, y) for p in searched for y, x in CENTRES[p].items() if y in searched[p]]

    def _spots(self, at: Sizes, panel: str) -> list[tuple[float, float]]:
        """Return the places of a panel that are simulated."""
        near = [
            (beside(panel, x, factor), y)
            for own, x, y in self._centres(at)
            for factor in SIDES.values()
            if own == panel
        ]
        return [*at.spots.get(panel, ()), *near]

    def theory(self, at: Sizes) -> Calls:
        calls: dict[Any, Any] = {}
        for panel, (xs, ys) in self._axes(at).items():
            places = setting(panel, xs, ys[:, None])
            calls["map", panel] = partial(st.predict, *places, tolerance=MAP)
            x, y = np.array(self._spots(at, panel)).T[:, :, None]
            spots = setting(panel, x, y)
            calls["spots", panel] = partial(predict_spots, *spots, dimension=at.dimension)
        for panel, searched in self._searched(at).items():
            for y in searched:
                start = setting(panel, 0.5 if panel == "split" else STEPS.beta, y)
                search = partial(st.tuning.best_training, *start, free=[FREE[panel]])
                calls["best", panel, y] = partial(search, tolerance=MAP, progress=False)
        problem = setting("split", 0.5, 1.0)[0]
        return calls | {
            ("bayes", total): partial(st.oracle.learning_error, problem, total)
            for total in at.totals
        }

    def simulation(self, at: Sizes, seed: int) -> Calls:
        spots = [(panel, *xy) for panel, places in at.spots.items() for xy in places]
        places = {spot: ("spot", i) for i, spot in enumerate(spots)}
        for panel, x, y in self._centres(at):
            # The best place and its neighbours share their random numbers.
            own = (SEEDS[panel], self._searched(at)[panel].index(y))
            places |= {(panel, beside(panel, x, f), y): own for f in SIDES.values()}
        size: dict[str, Any] = {"dimension": at.dimension, "trials": at.trials}
        return {
            (panel, x, y): partial(
                st.simulate,
                *setting(panel, x, y),
                seed=seed_of("sensitivity", *own, seed),
                **size,
            )
            for (panel, x, y), own in places.items()
        }

    def judge(self, run: Run) -> Iterator[Comparison]:
        usual = SHIFTS["test_error"]
        for panel, claim in PANELS.items():
            spots = zip(self._spots(run.at, panel), run.theory["spots", panel], strict=True)
            for i, ((x, y), (one, near)) in enumerate(spots):
                exact, found = (
                    predicted(one, "test_error"),
                    run.measured((panel, x, y), "test_error"),
                )
                # The usual shift, and what the bias of the query's cosine moves at small alpha0 d.
                moved = abs(float(near.test_error) - exact.value) * run.at.dimension / exact.value
                given: dict[str, Any] = {
                    "shift": usual._replace(spread=math.hypot(usual.spread, moved))
                }
                given |= {"curve": "attention", "where": WHERE[panel].format(x, y), "key": i == 0}
                yield compare(claim, "test_error", exact, found, **given)
        for panel, x, y in self._centres(run.at):
            yield from self._no_better(run, panel, x, y)

    def _no_better(self, run: Run, panel: str, x: float, y: float) -> Iterator[Comparison]:
        """Judge the gains of the neighbours over the best setting; a loss counts as 0."""
        share = self._best(run, panel, y)
        # A best place that has moved from where it was simulated decides nothing.
        sound = run.theory["best", panel, y].status.converged and abs(share / x - 1) <= NEAR
        best, dimension = run.simulated[panel, x, y], run.at.dimension
        for side, factor in list(SIDES.items())[1:]:
            place = (panel, beside(panel, x, factor), y)
            there = run.simulated[place]
            gains = best.trials.test_error - there.trials.test_error
            gain = averaged(gains, dimension=dimension, engine=REDUCED,
                            converged=best.converged and there.converged)  # fmt: skip
            where = (
                f"{WHERE[panel].format(x, y)}, against {place[1]:.3g}: measured error higher by "
                f"{-gain.value:.4f} ± {gain.error:.4f}"
            )
            found = dataclasses.replace(gain, value=max(gain.value, 0.0))
            # Both have the shift of the same training.
            given: dict[str, Any] = {"shift": NO_SHIFT, "key": y == 1.0 and side == "below"}
            none = Number(0.0, converged=sound)
            yield compare(BEST[panel], "gain", none, found, curve=side, where=where, **given)

    def _best(self, run: Run, panel: str, y: float) -> float:
        """Return the best x that the search found."""
        optimum = run.theory["best", panel, y]
        if panel == "split":
            return float(optimum.share)
        # The sharpness is proportional to eta_q beta^2.
        return STEPS.beta * math.sqrt(optimum.steps.eta_q / STEPS.eta_q)

    def setting(self, at: Sizes) -> str:
        return (
            "Attention, logistic loss, L = 10, R = 1, θ = 5, λ = 0.01, η_w = 0.5, η_q = 25; unless "
            "stated otherwise, π = 0.5, η_b = 0.5, β = 1, α₀ = 1, α₁ = 2. Computed: the test error "
            f"on two maps and, for the split, at α₀ + α₁ = {listed(at.totals)}; the best β and the "
            "best split by a search, not from the maps. Simulated: reduced engine, "
            f"d = {at.dimension}, {at.trials} trials, at selected settings, and at the best one "
            f"and its neighbours, with the odds (or β) {NEIGHBOUR:g} times larger or smaller; the "
            "best setting and its neighbours share their random numbers, and are compared by "
            "paired differences. At small α₀ d the query cosine has an additional bias: the spread "
            f"of the shift includes the effect of a cosine smaller by {BIAS:g}/(α₀ d)."
        )

    def found(self, run: Run, comparisons: Sequence[Comparison]) -> str:
        near = [c for c in comparisons if c.quantity == "gain"]
        spots = [c for c in comparisons if c.quantity == "test_error"]
        shares = {total: self._best(run, "split", total) for total in run.at.totals}
        fractions = ", ".join(f"{x:.2f} at α₀ + α₁ = {y:g}" for y, x in shares.items())
        if list(shares.values()) == sorted(shares.values(), reverse=True):
            fractions += ": the more samples, the smaller the fraction that the query needs"
        sharpness = ", ".join(
            f"{run.theory['best', 'sharpness', y].prediction.sharpness:.2g} at α₀ = {y:g}"
            for y in run.at.best_alpha0s
        )
        better = sum(c.verdict == FAILS for c in near)
        return (
            f"The largest |z| of {len(spots)} simulated settings is {largest_z(spots):.1f}. The "
            f"best fraction for the query is {fractions}. The best sharpness k is {sharpness}. Of "
            f"{len(near)} simulated neighbours, {NEIGHBOUR:g} times the odds or β away, {better} "
            "are better than the predicted best."
        )

    def draw(self, run: Run) -> Figure:
        figure, (left, middle, right) = plot.panels(3, 12.6, 4.3)
        mesh: Any = None
        look: dict[str, Any] = {"norm": LogNorm(0.03, 0.32), "cmap": "viridis"}
        for axes, panel in ((left, "sharpness"), (middle, "bias")):
            errors = [
                [predicted(one, "test_error") for one in row] for row in run.theory["map", panel]
            ]
            values = [[n.value if n.converged else math.nan for n in row] for row in errors]
            places = [(x, y, run.measured((panel, x, y), "test_error"))
                      for x, y in self._spots(run.at, panel)]  # fmt: skip
            xs, ys = (line.tolist() for line in self._axes(run.at)[panel])
            mesh = plot.colour_map(axes, xs, ys, values, places, **look)
        good = [
            y for y in run.at.best_alpha0s if run.theory["best", "sharpness", y].status.converged
        ]
        best = [self._best(run, "sharpness", y) for y in good]
        left.plot(best, good, **STAR, lw=1.6, zorder=4, label="_best β")
        for axis in (left.xaxis, left.yaxis):
            log_axis(axis, (0.25, 0.5, 1, 2, 4))
        left.set(xlabel="inverse temperature β", ylabel="α₀ = n₀ / d")
        cosines = run.theory["map", "bias"].cosine
        if cosines.min() < 0 < cosines.max():  # the query turns away
            look = {"colors": RED, "linewidths": 1.6, "linestyles": "--"}
            middle.contour(*self._axes(run.at)["bias"], cosines, levels=[0.0], **look)
        middle.set(xlabel=r"bias step $\eta_b$", ylabel="rate of positives π")
        bar = figure.colorbar(mesh, ax=[left, middle], label="test error", pad=0.02)
        bar.set_ticks(LEVELS, labels=[f"{level:g}" for level in LEVELS])
        bar.minorticks_off()
        self._draw_split(run, right)
        marks: dict[str, Any] = {"best β": STAR}
        marks["query orthogonal to the signal"] = {"color": RED, "ls": "--"}
        marks["simulation in the colours of the map"] = plot.DISC
        marks["best split"] = {"ls": "none", "marker": "^", "color": GREY}
        marks["Bayes-optimal learner"] = {"ls": "-.", "color": GREY}
        return plot.finish(figure, marks, columns=5)

    def _draw_split(self, run: Run, axes: Axes) -> None:
        """Draw the test error against the split, a line for each total, the best marked."""
        colours = [SEQUENCE[i] for i in (0, 1, 3, 4)]
        shares = self._axes(run.at)["split"][0]
        for i, (total, colour) in enumerate(zip(run.at.totals, colours, strict=False)):
            label = f"α₀ + α₁ = {total:g}"
            known = [predicted(one, "test_error") for one in run.theory["map", "split"][i]]
            plot.curve(axes, shares, known, colour, label)
            x = [x for x, y in self._spots(run.at, "split") if y == total]
            found = [run.measured(("split", share, total), "test_error") for share in x]
            plot.curve(axes, x, found, colour, label)
            bayes = predicted(run.theory["bayes", total], "test_error")
            plot.curve(axes, shares[[0, -1]], [bayes] * 2, colour, f"_Bayes, {label}", "-.")
            best = run.theory["best", "split", total].prediction
            place = (self._best(run, "split", total), float(best.test_error))
            look: dict[str, Any] = {"ha": "center", "va": "center", "color": colour}
            axes.annotate("▲", place, (0, -12), textcoords="offset points", **look)
        log_axis(axes.yaxis, (0.02, 0.03, 0.05, 0.1, 0.2, 0.4))
        axes.set(xlabel="fraction for the query, α₀ / (α₀ + α₁)", ylabel="test error")
