"""Query alignment: the cosines of query and readout after two gradient steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import sparsetoken as st
from sparsetoken.figures.palette import COLOURS
from sparsetoken.studies.claims import (
    PAPER,
    PROVED,
    TENSORS,
    THEORY,
    Claim,
    Number,
    line,
    predicted,
    row,
)
from sparsetoken.studies.figure import Look, Panel
from sparsetoken.studies.study import Call, Experiment, Run, Study, measured

PROBLEM = st.presets.alignment().problem
LOADS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0)
TOKENS = 2.0
"""The load with real tokens."""
CHOICES = ((1.0, 1.0), (0.1, 1.0), (10.0, 1.0), (1.0, 0.1), (1.0, 10.0))
"""Choices of eta_q and beta; the others are compared with the first, in every trial."""
ROUNDING = 1e-12  # of the few dozen operations that find a query
QUANTITIES = {
    "cosine": Look(COLOURS["cosine"], label="query, cos(q₂, ξ)"),
    "readout_cosine": Look(COLOURS["readout_cosine"], label="readout, cos(w₁, ξ)"),
}
PANEL = "alignment after two steps"


def steps_at(alpha0: Any, eta_q: float = 1.0, beta: float = 1.0) -> st.TwoSteps:
    """Return the steps at a load."""
    return st.TwoSteps(alpha0, eta_q=eta_q, beta=beta)


def _line(scale: int) -> np.ndarray:
    """Return the loads of a line of theory."""
    return np.geomspace(LOADS[0], LOADS[-1], 40 * scale)


class Alignment(Study):
    """Cosines against the load, and what the step size of the query and beta do."""

    name, title = "alignment", "Query alignment"
    setting = (
        f"L = {PROBLEM.length}, R = {PROBLEM.informative}, π = {PROBLEM.positive_rate:g}, "
        f"θ = {PROBLEM.strength:g}, logistic loss, steps η_w = η_b = 0.5; η_q and β are changed "
        f"at α₀ = {TOKENS:g}."
    )
    caption = (
        "Cosines of the query and of the readout with the signal after the two gradient steps, "
        "against the load α₀ = n₀/d of the first data set."
    )
    claims = (
        Claim(
            "query-alignment",
            "Two gradient steps align the query with the signal; at a finite load α₀ = n₀/d, the "
            "cosines of the query and of the readout with the signal have exact limits.",
            "Theorem on query alignment",
            PROVED,
            PAPER,
        ),
        Claim(
            "steps-set-sharpness-only",
            "The step size η_q and the inverse temperature β do not change the cosine of the "
            "query, only the sharpness of the softmax.",
        ),
    )
    panels = (
        Panel(
            PANEL,
            "α₀ = n₀ / d",
            "cosine with the signal",
            log={"x": LOADS},
            limits={"ylim": (None, 1.0)},
        ),
    )
    looks = QUANTITIES

    def theory(self, scale: int) -> Mapping[Any, Call]:
        loads = {"loads": LOADS, "line": _line(scale)}
        calls = {name: partial(st.align, PROBLEM, steps_at(some)) for name, some in loads.items()}
        return calls | {one: partial(st.align, PROBLEM, steps_at(TOKENS, *one)) for one in CHOICES}

    def simulation(self, scale: int) -> Mapping[Any, Experiment]:
        align = partial(st.simulation.align, PROBLEM)
        tokens = partial(align, engine=TENSORS)
        every: dict[Any, Experiment] = {
            load: Experiment(partial(align, steps_at(load)), (500, 2000), 200 * scale)
            for load in LOADS
        }
        every[TENSORS] = Experiment(
            partial(tokens, steps_at(TOKENS)), (200, 800), 16 * scale, TENSORS
        )
        for one in CHOICES:
            call = partial(tokens, steps_at(TOKENS, *one))
            every[one] = Experiment(call, (200,), 3 * scale, TENSORS, shared=["choices"])
        return every

    def rows(self, run: Run) -> Iterator[dict[str, Any]]:
        known: dict[Any, Any] = dict(zip(LOADS, run.theory["loads"], strict=True))
        x = _line(run.scale)
        for name in QUANTITIES:
            yield from line(x, run.theory["line"], name, panel=PANEL, curve=name)
            for place in (*LOADS, TENSORS):
                load = TOKENS if place == TENSORS else place
                some = run.simulated[place]
                yield row(
                    predicted(known[load], name),
                    measured(name, some),
                    claim="query-alignment",
                    panel=PANEL,
                    curve=name,
                    x=load,
                    quantity=name,
                    where=f"α₀ = {load:g}, {some.experiment.where}",
                    key=load in (0.5, 2.0, 10.0),
                )
        for engine, queries in (
            (THEORY, [run.theory[one] for one in CHOICES]),
            (TENSORS, [run.simulated[one].results[0].trials for one in CHOICES]),
        ):
            yield from self._choices(engine, queries)

    def _choices(self, engine: str, queries: list[Any]) -> Iterator[dict[str, Any]]:
        """Compare the queries of the other choices of the steps with the first, in all trials."""
        cosines = np.stack([np.atleast_1d(one.cosine) for one in queries])
        norms = np.stack([np.atleast_1d(one.norm) for one in queries])
        scaled = norms / np.array([[eta_q * beta] for eta_q, beta in CHOICES])
        moved = float(np.abs(cosines - cosines[0]).max())
        # The sharpness is beta times the norm.
        ratio = float((scaled.max(axis=0) / scaled.min(axis=0)).max())
        for quantity, expected, found in (
            ("moved cosine", 0.0, moved),
            ("sharpness over η_q β²", 1.0, ratio),
        ):
            yield row(
                expected,
                Number(found, engine=engine),
                claim="steps-set-sharpness-only",
                curve="query",
                quantity=quantity,
                where=f"{len(CHOICES)} choices of η_q and β",
                allowance=ROUNDING,
                key=True,
            )
