"""Attention networks of three families beyond the theorems, trained end to end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from sparsetoken import simulation
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
from sparsetoken.figures.palette import GREEN, OLIVE, PURPLE, SKY, VERMILION, WINE
from sparsetoken.models import Attention, Pooled
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Readout, TwoSteps
from sparsetoken.variants.network_training import Recipe, trial_error
from sparsetoken.variants.networks import Architecture

RIDGE, ETA_Q = 0.1, 50.0
FAMILIES = {
    "multi-query": ("several-queries", "Several queries", "Several queries, one readout"),
    "class-token": ("class-token", "Class token", "Self-attention with a class token"),
    "two-layer": ("two-layers", "Two layers", "Two layers of self-attention"),
}
"""The question of each family of networks, its name, and the title of its figure."""
COLOURS = (PURPLE, GREEN, VERMILION, SKY, WINE, OLIVE)
"""Of the networks: none is the colour of a reference."""
TICKS = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5)

# Loads count all labelled samples, however a training splits them; trials are trainings of each
# network, each with its own data; reference_trials are of pooled and of two-step attention.
SIZES = profiles(
    quick=dict(loads=(2.0, 4.0, 8.0), dimension=48, trials=3, test_samples=5000, heads=(1, 4)),
    paper=dict(
        loads=(1.0, 2.0, 4.0, 8.0),
        dimension=128,
        trials=5,
        test_samples=50_000,
        heads=(1, 2, 4, 8),
    ),
    queries=(1, 2, 4, 8),
    layer_heads=(2,),  # in each of two layers
    recipe=Recipe(patience=5),
    reference_trials=16,
    tolerance=1e-3,  # of the theory
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work; all networks see the same data."""
    d, networks = sizes.dimension, [Architecture("multi-query", h) for h in sizes.queries]
    networks += [Architecture("class-token", h) for h in sizes.heads]
    reads = ("class", "mean")
    networks += [Architecture("two-layer", h, read=r) for h in sizes.layer_heads for r in reads]
    for i, load in enumerate(sizes.loads):
        own, steps = seed_of("architectures", i, seed), steps_of(load)
        half, full = (Readout(ridge=RIDGE, alpha1=share * load) for share in (0.5, 1))
        counted = {"load": load, "pooled_alpha1": load, "tolerance": sizes.tolerance}
        yield piece(predict_references, PROBLEM, steps, half, **counted, cost=0.5)
        for name, *model in (("pooled", Pooled(), full), ("attention", Attention(steps), half)):
            yield piece(
                simulation.simulate,
                PROBLEM,
                *model,
                dimension=d,
                trials=sizes.reference_trials,
                seed=own,
                rows=("test_error",),
                at={"load": load, "model": name},
                cost=0.12,
            )
        options = {"trials": sizes.trials, "test_samples": sizes.test_samples, "seed": own}
        for network in networks:
            cost = 3 + sizes.trials * load * (d / 64) ** 2 * network.heads**0.5 / 8
            yield piece(train, load, network, sizes.recipe, d, **options, cost=cost)


def steps_of(load: float) -> TwoSteps:
    """Return the steps that have half of the samples."""
    return TwoSteps(load / 2, eta_q=ETA_Q)


def train(
    load: float,
    network: Architecture,
    recipe: Recipe,
    dimension: int,
    *,
    test_samples: int,
    trials: int,
    seed: int,
) -> Iterator[Row]:
    """Train a network in all trials, each with its own data."""
    errors = [
        trial_error(
            network,
            PROBLEM,
            recipe,
            dimension=dimension,
            samples=round(load * dimension),
            test_samples=test_samples,
            seed=seed_of("trial", trial, seed),
        )
        for trial in range(trials)
    ]
    at: dict[str, Any] = {"family": network.family, "heads": network.heads}
    at |= {"load": load, "network": name_of(network)}
    yield averaged(errors, series="trained", dimension=dimension, **at)


def name_of(network: Architecture) -> str:
    """Return the network, as readers know it among those of its family."""
    one, more = ("query", "queries") if network.family == "multi-query" else ("head", "heads")
    read = {"class": ", class token read", "mean": ", mean read"}[network.read]
    many = one if network.heads == 1 else more
    return f"{network.heads} {many}" + read * (network.family == "two-layer")


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Report all that was trained; the best at the largest load stands for its family."""
    for family, (claim, *_) in FAMILIES.items():
        trained = rows.where("trained", family=family)
        best = min(_at_largest_load(trained), key=lambda row: row.value)
        for row in trained:
            yield report_only(
                claim,
                row,
                curve=row["network"],
                where=f"{row['network']}, α = {row['load']:g}",
                x=row["load"],
                group=family,
                key=row is best,
            )


def _at_largest_load(rows: Rows) -> Rows:
    return rows.where(load=max(rows.distinct("load")))


def words(sizes: Sizes, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return the references at the largest load, and where each network stands there."""
    load = max(sizes.loads)
    known = References.of(rows, load)
    families = []
    for family, (_, title, _) in FAMILIES.items():
        found = _at_largest_load(rows.where("trained", family=family))
        heads = with_more_heads(found)
        families.append({"title": title, "standings": standings(found, known), "heads": heads})
    return {
        "width": Architecture("multi-query").width,
        "load": load,
        "references": known,
        "simulated": {row["model"]: row for row in rows.where("simulated", load=load)},
        "families": families,
    }


def standings(rows: Sequence[Row], known: References) -> dict[str, list[Row]]:
    """Return the networks by where they stand."""
    places: dict[str, list[Row]] = {}
    for row in rows:
        places.setdefault(between(row, known), []).append(row)
    return places


def between(found: Row, known: References) -> str:
    """Say where a measured error stands, within two standard errors."""
    two = 2 * found.error
    if found.value > known.pooled.value + two:
        return "worse than pooled"
    if found.value > known.pooled.value - two:
        return "level with pooled"
    if found.value > known.attention.value + two:
        return "between pooled and two-step attention"
    if found.value > known.attention.value - two:
        return "level with two-step attention"
    return "between two-step attention and Bayes"


def with_more_heads(rows: Sequence[Row]) -> dict[str, Row] | None:
    """Return the change of the test error from the fewest heads to the most."""
    few, many = (sorted(rows, key=lambda row: row["heads"])[i] for i in (0, -1))
    if few["heads"] == many["heads"]:
        return None
    error = math.hypot(few.error, many.error)
    return {"few": few, "many": many, "change": many.but(value=many.value - few.value, error=error)}


def draw(rows: Rows, family: str) -> Figure:
    """Draw the test errors of one family of networks against the load."""
    figure, (axes,) = style.new_figure(6.4, 4.3)
    reference_lines(axes, rows)
    simulated, trained = rows.where("simulated"), rows.where("trained", family=family)
    for model, some in simulated.by("model"):
        style.measured(axes, some.along("load"), style.COLOURS[model], alpha=0.8)
    # Networks in the order of their heads, side by side at each load.
    networks = sorted(trained.by("heads", "network"), key=lambda pair: pair[0])
    for i, ((_, name), some) in enumerate(networks):
        colour, aside = COLOURS[i % len(COLOURS)], 1 + 0.06 * (i - (len(networks) - 1) / 2)
        found = [(aside * row["load"], row) for row in some]
        style.line(axes, found, color=colour, lw=0.9, label=name)
        style.measured(axes, found, colour)
    style.load_axis(axes, set(rows.where("pooled").distinct("load")))
    known = [rows.where(name) for name in ("pooled", "attention", "bayes")]
    values = [row.value for some in (*known, simulated, trained) for row in some]
    low, high = 0.8 * min(values), 1.3 * max(values)
    style.log_ticks(axes, y=[t for t in TICKS if low <= t <= high])
    axes.set_ylim(low, min(0.6, high))
    title = FAMILIES[family][-1]
    style.axis_text(axes, x="α = labelled samples / d", y="test error", title=title)
    style.joint_legend(figure)
    return figure


FIGURES = {
    f"architectures_{family.replace('-', '_')}": partial(draw, family=family) for family in FAMILIES
}

EXPERIMENT = Experiment(
    "architectures",
    SIZES,
    work,
    judge,
    FIGURES,
    words,
    extra="architectures",
    modules=("optax",),
)
