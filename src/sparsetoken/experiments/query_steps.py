"""More gradient steps on the query than the two of the theory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from matplotlib.figure import Figure

from sparsetoken.experiments.core.claims import Comparison, Comparisons
from sparsetoken.experiments.core.experiment import Experiment, Piece, Sizes, piece, profiles
from sparsetoken.experiments.core.references import (
    PROBLEM,
    References,
    predict_references,
    reference_lines,
)
from sparsetoken.experiments.core.rows import Row, Rows, averaged
from sparsetoken.experiments.core.rules import report_only
from sparsetoken.figures import style
from sparsetoken.figures.palette import GREEN, VERMILION
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Readout, TwoSteps
from sparsetoken.variants.attention import steps_trial

ALPHA0, READOUT = 1.0, Readout(alpha1=2.0)
ETA_Q = (5.0, 25.0)
"""With the larger step size the two-step query has sharpness near 1."""
HELD = 1.0
"""The sharpness of the second classifier after each step."""
SHOWN = {
    "test_error": "test error",
    "cosine": "cosine of the query",
    "sharpness": "sharpness k = β |q|",
}

SIZES = profiles(
    quick=dict(dimension=150, trials=20), paper=dict(dimension=400, trials=60), last_step=10
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work; all step sizes use the same data."""
    yield piece(predict_references, PROBLEM, TwoSteps(ALPHA0, eta_q=ETA_Q[-1]), READOUT, cost=0.6)
    own = seed_of("query-steps", seed)
    cost = sizes.trials * 0.2 * (1 + (sizes.dimension / 150) ** 2)
    for eta_q in ETA_Q:
        yield piece(train, eta_q, sizes.last_step, sizes.dimension, sizes.trials, own, cost=cost)


def train(eta_q: float, last_step: int, dimension: int, trials: int, seed: int) -> Iterator[Row]:
    """Train in all trials: as the query is, held at one sharpness, and the change since step 2."""
    options: dict[str, Any] = {"last_step": last_step, "held_sharpness": HELD}
    options |= {"dimension": dimension, "seed": seed}
    steps = TwoSteps(ALPHA0, eta_q=eta_q)
    paths = [steps_trial(PROBLEM, steps, READOUT, trial=i, **options) for i in range(trials)]
    first = [path[0].free.test_error for path in paths]
    for refits in zip(*paths, strict=True):
        at: dict[str, Any] = {"dimension": dimension, "eta_q": eta_q, "step": refits[0].step}
        for name in SHOWN:
            yield averaged([getattr(refit.free, name) for refit in refits], name, "free", **at)
        yield averaged([refit.held.test_error for refit in refits], series="held", **at)
        change = [now.free.test_error - then for now, then in zip(refits, first, strict=True)]
        yield averaged(change, "test_error − step 2", "free", **at)


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Report all that was measured."""
    for row in rows.where(engine="tensors"):
        if row.quantity != "test_error − step 2" or row["step"] > 2:
            yield report_only(
                "more-query-steps",
                row,
                curve=f"η_q = {row['eta_q']:g}" + ", k held" * (row.series == "held"),
                where=f"step {row['step']}, d = {row.dimension}",
                x=float(row["step"]),
                key=(row.series, row.quantity) == ("free", "test_error")
                and row["step"] in (2, sizes.last_step),
            )


def words(sizes: Sizes, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return for each step size the steps that the words name, and the best of all."""
    errors = rows.where("free", "test_error")
    ways: list[dict[str, Any]] = []
    falls = []  # of the cosine, beyond the errors, from its highest value to the last
    for eta_q, path in errors.by("eta_q"):
        cosines = rows.where("free", "cosine", eta_q=eta_q)
        change = rows.where("free", "test_error − step 2", eta_q=eta_q)[-1]
        way = {"first": path[0], "best": _lowest(path), "last": path[-1], "change": change}
        top = max(cosines, key=lambda row: row.value)
        ways.append({**way, "cosines": {"first": cosines[0], "top": top, "last": cosines[-1]}})
        falls.append(top.value - cosines[-1].value > 3 * (top.error + cosines[-1].error))
    return {
        "references": References.of(rows, READOUT.alpha1),
        "ways": ways,
        "best": _lowest(errors),
        "fits_noise": all(falls),
    }


def _lowest(rows: Rows) -> Row:
    return min(rows, key=lambda row: row.value)


def draw(rows: Rows) -> Figure:
    """Draw test error (left), cosine (middle) and sharpness (right) against the step."""
    figure, panels = style.new_figure(10.4, 4.0, 3)
    reference_lines(panels[0], rows)
    for eta_q, colour in zip(ETA_Q, (GREEN, VERMILION), strict=True):
        label, look = f"$η_q$ = {eta_q:g}", {"color": colour, "lw": 1.0}
        for axes, name in zip(panels, SHOWN, strict=True):
            path = rows.where("free", name, eta_q=eta_q).along("step")
            style.mean_points(axes, path, fmt="o-", label=label, **look)
        look |= {"mfc": "white", "label": f"{label}, k held"}
        path = rows.where("held", eta_q=eta_q).along("step")
        style.mean_points(panels[0], path, fmt="s--", **look)
    for axes, title in zip(panels, SHOWN.values(), strict=True):
        axes.set_xticks(range(2, max(rows.distinct("step")) + 1, 2))
        style.axis_text(axes, x="gradient steps in all", y="", title=title)
    style.log_ticks(panels[0], y=(0.02, 0.03, 0.05, 0.1, 0.2, 0.3))
    style.joint_legend(figure, ncols=4)
    return figure


EXPERIMENT = Experiment("query-steps", SIZES, work, judge, {"query_steps": draw}, words)
