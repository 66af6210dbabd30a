"""Query alignment: the cosines of query and readout after two gradient steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import sparsetoken as st
from sparsetoken.figures.palette import COLOURS
from sparsetoken.figures.style import log_axis
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.studies import plot
from sparsetoken.studies.compare import (
    NO_SHIFT,
    PROVED,
    TENSORS,
    THEORY,
    Claim,
    Comparison,
    Number,
    carried_to_infinity,
    compare,
    largest_z,
    predicted,
    within,
)
from sparsetoken.studies.study import Calls, Run, Size, Sizes, Study, profiles
from sparsetoken.studies.words import listed, pm

PROBLEM = st.SparseTokenProblem(length=10, informative=3, strength=6.0, positive_rate=0.2)
QUANTITIES = {"cosine": "query, cos(q₂, ξ)", "readout_cosine": "readout, cos(w₁, ξ)"}
CHOICES = ((1.0, 1.0), (0.1, 1.0), (10.0, 1.0), (1.0, 0.1), (1.0, 10.0))
"""Choices of eta_q and beta; the others are compared with the first."""
ROUNDING = 1e-12  # of the few dozen operations that find a query


def steps_at(alpha0: Any, eta_q: float = 1.0, beta: float = 1.0) -> st.TwoSteps:
    """Return the steps at a load."""
    return st.TwoSteps(alpha0, eta_q=eta_q, beta=beta)


class Alignment(Study):
    """Cosines against the load, and what the step size of the query and beta do."""

    name, title, headline = "alignment", "Query alignment", True
    claims = (
        Claim(
            "query-alignment",
            "Two gradient steps align the query with the signal; at a finite load α₀ = n₀/d, the "
            "cosines of the query and of the readout with the signal have exact limits.",
            "Theorem on query alignment",
            PROVED,
        ),
        Claim(
            "steps-set-sharpness-only",
            "The step size η_q and the inverse temperature β do not change the cosine of the "
            "query, only the sharpness of the softmax.",
        ),
    )
    sizes = profiles(
        loads=Size(
            (0.25, 0.5, 1.0, 2.0, 5.0, 10.0),
            (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.0, 7.0, 10.0),
        ),
        dimensions=Size((500, 1000, 2000), (1000, 2000, 4000)),
        trials=Size(400, 2000),  # at d = 1000; in inverse proportion to d elsewhere
        line=np.geomspace(0.25, 10.0, 40),
        # With real tokens: n0/d, d and trials; and d and trials of each choice of the steps, of
        # which each trial must show it.
        tensors=(2.0, 1000, 8),
        choices=(200, 3),
    )
    paper = "More loads α₀, more trials, and dimensions up to 4000."
    caption = (
        "Cosines of the query and of the readout with the signal after the two gradient steps, "
        "against the load α₀ = n₀/d of the first data set. Lines: theory. Points: simulation at "
        "the two largest d, mean and one standard error; squares: with real tensors."
    )

    def theory(self, at: Sizes) -> Calls:
        loads = {"loads": at.loads, "line": at.line, "tensors": at.tensors[0]}
        calls = {name: partial(st.align, PROBLEM, steps_at(some)) for name, some in loads.items()}
        return calls | {one: partial(st.align, PROBLEM, steps_at(2.0, *one)) for one in CHOICES}

    def simulation(self, at: Sizes, seed: int) -> Calls:
        calls: dict[Any, Any] = {}
        for i, alpha0 in enumerate(at.loads):
            for d in at.dimensions:
                size = {"trials": at.trials * 1000 // d, "seed": seed_of("alignment", i, d, seed)}
                align = partial(st.simulation.align, PROBLEM, steps_at(alpha0), dimension=d)
                calls[alpha0, d] = partial(align, **size)
        alpha0, d, trials = at.tensors
        tensors = partial(st.simulation.align, PROBLEM, engine=TENSORS)
        own: dict[str, Any] = {"dimension": d, "trials": trials}
        own["seed"] = seed_of("alignment", "tensors", seed)
        calls["tensors"] = partial(tensors, steps_at(alpha0), **own)
        own = dict(zip(("dimension", "trials"), at.choices, strict=True))
        own["seed"] = seed_of("alignment", "steps", seed)
        return calls | {one: partial(tensors, steps_at(2.0, *one), **own) for one in CHOICES}

    def judge(self, run: Run) -> Iterator[Comparison]:
        at, claim = run.at, "query-alignment"
        for i, alpha0 in enumerate(at.loads):
            for name in QUANTITIES:
                found = [run.measured((alpha0, d), name) for d in at.dimensions]
                where = f"α₀ = {alpha0:g}, d = {listed(at.dimensions)} → ∞"
                known = predicted(run.theory["loads"][i], name)
                key = alpha0 in (0.5, 2.0, 10.0)
                yield compare(
                    claim,
                    name,
                    known,
                    carried_to_infinity(found),
                    shift=NO_SHIFT,
                    where=where,
                    key=key,
                )
        alpha0, d, _ = at.tensors
        for name in QUANTITIES:
            known = predicted(run.theory["tensors"], name)
            where = f"α₀ = {alpha0:g}, d = {d}, real tensors"
            yield compare(claim, name, known, run.measured("tensors", name), where=where, key=True)
        for source, queries in (
            (THEORY, [run.theory[one] for one in CHOICES]),
            (TENSORS, [run.simulated[one].trials for one in CHOICES]),
        ):
            yield from self._choices(source, queries)

    def _choices(self, engine: str, queries: Sequence[Any]) -> Iterator[Comparison]:
        """Compare the queries of the other choices of the steps with the first, in all trials."""
        cosines = np.stack([np.atleast_1d(one.cosine) for one in queries])
        norms = np.stack([np.atleast_1d(one.norm) for one in queries])
        scaled = norms / np.array([[eta_q * beta] for eta_q, beta in CHOICES])
        moved = Number(float(np.max(np.abs(cosines - cosines[0]))), engine=engine)
        ratio = Number(float(np.max(scaled.max(axis=0) / scaled.min(axis=0))), engine=engine)
        where = f"{len(CHOICES) - 1} choices of η_q and β" + ", every trial" * (engine == TENSORS)
        place: dict[str, Any] = {"curve": "query", "where": where, "key": True}
        claim = "steps-set-sharpness-only"
        yield within(claim, "moved cosine", moved, 0.0, ROUNDING, **place)
        # The sharpness is beta times the norm.
        yield within(claim, "sharpness over η_q β²", ratio, 1.0, ROUNDING, **place)

    def setting(self, at: Sizes) -> str:
        return (
            "L = 10, R = 3, π = 0.2, θ = 6, η_w = η_b = 0.5, logistic loss. Simulated with the "
            f"reduced engine at d = {listed(at.dimensions)}, with {at.trials} trials at d = 1000 "
            "and otherwise inversely proportional to d, and extrapolated linearly in 1/d to "
            f"d = ∞; at α₀ = {at.tensors[0]:g} also with real tensors, d = {at.tensors[1]}, "
            f"{at.tensors[2]} trials. The choices of η_q and β meet the same real tensors, d = "
            f"{at.choices[0]}, {at.choices[1]} trials, of which each must show it."
        )

    def found(self, run: Run, comparisons: Sequence[Comparison]) -> str:
        d = run.at.dimensions[-1]
        first, last = (
            run.measured((alpha0, d), "cosine") for alpha0 in (run.at.loads[0], run.at.loads[-1])
        )
        return (
            "Two gradient steps align the query of attention with the signal: the cosine between "
            f"them rises from {pm(first, 3)} with n₀ = {run.at.loads[0]:g} d samples to "
            f"{pm(last, 4)} with n₀ = {run.at.loads[-1]:g} d, and the largest |z| against the "
            f"exact theory is {largest_z(comparisons):.1f}."
        )

    def draw(self, run: Run) -> Figure:
        figure, (axes,) = plot.panels(1, 6.4, 3.9)
        for name, label in QUANTITIES.items():
            known = [predicted(one, name) for one in run.theory["line"]]
            plot.curve(axes, run.at.line, known, COLOURS[name], label)
            shown = [(x, (x, d)) for x in run.at.loads for d in run.at.dimensions[-2:]]
            x, places = zip(*shown, (run.at.tensors[0], "tensors"), strict=True)
            points = [run.measured(place, name) for place in places]
            plot.curve(axes, x, points, COLOURS[name], label)
        log_axis(axes.xaxis, (0.25, 0.5, 1, 2, 5, 10))
        axes.set(xlabel="α₀ = n₀ / d", ylabel="cosine with the signal", ylim=(None, 1.0))
        return plot.finish(figure, columns=2)
