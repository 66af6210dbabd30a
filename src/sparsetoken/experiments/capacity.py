"""The fraction of separable training sets around the predicted capacity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from matplotlib.figure import Figure

from sparsetoken import presets
from sparsetoken.experiments.core.capacities import (
    fitted_transitions,
    separable_share,
    solved_capacity,
)
from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.experiment import Experiment, Piece, Sizes, piece, profiles
from sparsetoken.experiments.core.finite_dimension import NO_SHIFT, carried_to_infinity
from sparsetoken.experiments.core.rows import REDUCED, TENSORS, THEORY, Row, Rows
from sparsetoken.experiments.core.rules import against_simulation
from sparsetoken.figures import style
from sparsetoken.figures.palette import COLOURS, GREY
from sparsetoken.models import make_model
from sparsetoken.simulation.seeds import seed_of

PROBLEM, QUERY = presets.capacity().problem, presets.capacity().query
MODELS = ("attention", "pooled", "vectorized")
LOOKS = ((":", 0.5), ("-", 1.0))
"""Line and opacity of the smaller and of the larger number of features."""

SIZES = profiles(
    quick=dict(
        features=(40, 160),  # d, or L d for the vectorized model; the smaller first
        ratios=(0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.3),  # alpha1 over the capacity
        sets=50,
    ),
    paper=dict(
        features=(60, 240),
        ratios=(0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3),
        sets=100,
    ),
    tensors=1.0,  # the ratio with real tensors, for attention at the larger dimension
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work."""
    yield from (piece(predict_capacity, model) for model in MODELS)
    for m in sizes.features:
        cost = sizes.sets * 0.012 * (m / 120) ** 2
        for model in MODELS:
            for i, ratio in enumerate(sizes.ratios):
                own = seed_of("capacity", model, m, i, seed)
                yield piece(count_separable, model, m, ratio, REDUCED, sizes.sets, own, cost=cost)
    own = seed_of("capacity", "tensors", seed)
    again = ("attention", m, sizes.tensors, TENSORS, sizes.sets, own)
    yield piece(count_separable, *again, cost=cost)


def predict_capacity(model: str) -> list[Row]:
    """Predict the capacity of a model."""
    return [solved_capacity(PROBLEM, make_model(model, QUERY)).but(model=model)]


def count_separable(
    model: str, features: int, ratio: float, engine: str, sets: int, seed: int
) -> list[Row]:
    """Count separable training sets at a multiple of the predicted capacity."""
    share = separable_share(
        PROBLEM,
        make_model(model, QUERY),
        ratio * solved_capacity(PROBLEM, make_model(model, QUERY)).value,
        dimension=features // PROBLEM.length if model == "vectorized" else features,
        engine=engine,
        sets=sets,
        seed=seed,
    )
    return [share.but(model=model, features=features, ratio=ratio)]


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Compare measured thresholds with capacities, and the two engines."""
    fits = fitted_transitions(rows.where("simulated", engine=REDUCED), "model")
    for model in MODELS:
        yield against_simulation(
            "capacity",
            rows.one(THEORY, "capacity", model=model),
            carried_to_infinity(fits.where(quantity="threshold", model=model)),
            curve=model,
            where=f"{sizes.features[0]} and {sizes.features[1]} features, extrapolated to infinity",
            shift=NO_SHIFT,
            key=True,
        )
    tensors = rows.one(engine=TENSORS)
    yield against_simulation(
        "same-law",
        rows.where(engine=REDUCED).beside(tensors, "model", "features", "ratio"),
        tensors,
        curve=tensors["model"],
        where=f"α₁ = {tensors['alpha1']:.4g}, two engines",
        x=tensors["alpha1"],
        shift=NO_SHIFT,  # the same law at every dimension
        key=True,
    )


def draw(rows: Rows) -> Figure:
    """Draw one panel for each model: two dimensions, and the capacity as a line."""
    figure, panels = style.new_figure(9.6, 3.6, 3)
    features = sorted(rows.distinct("features"))
    for axes, model in zip(panels, MODELS, strict=True):
        capacity = rows.one(THEORY, "capacity", model=model)
        axes.axvline(capacity.value, color="black", ls="-" if capacity.converged else ":", lw=1.2)
        counted = rows.where("simulated", model=model)
        for m, (line, alpha) in zip(features, LOOKS, strict=True):
            shares = counted.where(engine=REDUCED, features=m).along("alpha1")
            style.line(axes, shares, line, color=COLOURS[model], lw=1.2, alpha=alpha)
            style.measured(axes, shares, COLOURS[model], alpha)
        style.measured(axes, counted.where(engine=TENSORS).along("alpha1"), GREY)
        axes.set_ylim(-0.04, 1.04)
        label = "share separable" * (model == MODELS[0])
        title = f"{model}, α* = {capacity.value:.3f}"
        style.axis_text(axes, x="α₁ = n₁ / d", y=label, title=title)
    marks: dict[str, Any] = {"predicted capacity": {"color": "black", "lw": 1.2}}
    for m, (line, alpha) in zip(features, LOOKS, strict=True):
        marks[f"{m} features"] = {"color": GREY, "lw": 1, "ls": line, "marker": "o", "alpha": alpha}
    marks["real tensors"] = {"ls": "none", "color": GREY, "marker": "s", "ms": 8}
    style.key(figure, marks)
    return figure


EXPERIMENT = Experiment("capacity", SIZES, work, judge, {"capacity": draw})
