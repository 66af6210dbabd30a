"""Test error and training loss of three models against the size of the training set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sparsetoken import presets, simulation, theory
from sparsetoken.experiments.core.claims import Comparison, Comparisons
from sparsetoken.experiments.core.experiment import Experiment, Piece, Sizes, piece, profiles
from sparsetoken.experiments.core.rows import REDUCED, TENSORS, THEORY, Row, Rows
from sparsetoken.experiments.core.rules import against_simulation
from sparsetoken.figures import style
from sparsetoken.figures.curves import Axis, Curve, Curves, Panel
from sparsetoken.figures.palette import COLOURS, SEQUENCE
from sparsetoken.models import Attention
from sparsetoken.results import Prediction
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Query
from sparsetoken.theory.oracle import learning_error

PROBLEM = presets.learning_curves().problem
ALPHA0 = presets.learning_curves().query.alpha0
LOSSES = ("logistic", "square")
MODELS = ("attention", "pooled", "vectorized")
CLAIMS = {
    "test_error": "learned-error",
    "training_loss": "learned-error",
    "training_error": "score-law",
    "auc": "score-law",
}
"""The claim on each quantity."""
CHOICES = {
    "alpha0": ("α₀", "steps as chosen, α₀ varied", (0.25, 0.5, 1.0, 2.0, 10.0)),
    "sharpness": ("k", "cosine as chosen, k varied", (0.25, 0.5, 1.0, 2.0, 4.0)),
}
"""What is changed of the query, each a series: letter, title and values."""
LOADS = (0.25, 0.5, 1, 2, 4, 8, 16)  # with a number at the axis
AUC_ERROR = 1e-4  # of the rule that integrates a predicted ROC curve

SIZES = profiles(
    quick=dict(
        alphas=(0.5, 1.0, 2.0, 4.0),
        vectorized=(0.5, 1.0, 2.0),
        # A standard error goes as 1/sqrt(d trials), the time as d^2 trials. At d = 500 the errors
        # of shifts are still the smaller ones.
        dimension=500,
        trials=28,
        curve_points=48,
    ),
    paper=dict(
        alphas=(0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0),
        vectorized=(0.5, 1.0, 2.0, 3.0, 4.0),  # the fit costs n1^3
        dimension=1000,
        trials=8,
        curve_points=96,
    ),
    key=(2.0,),
    tensors=2.0,  # alpha1 of attention with real tokens, in half as many trials
    judged=1e-4,  # tolerance of the theory where it is judged
    line=1e-3,  # and on a line
    choice_points=7,
    floor_points=9,
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work."""
    ends = sizes.alphas[0], sizes.alphas[-1]
    line = np.geomspace(*ends, sizes.curve_points)
    for loss in LOSSES:
        for name in MODELS:
            alphas = sizes.vectorized if name == "vectorized" else sizes.alphas
            yield _predicted(THEORY, name, loss, alphas, sizes.judged, cost=0.1)
            yield _predicted("line", name, loss, line, sizes.line, cost=0.01)
            for i, alpha1 in enumerate(alphas):
                own = seed_of("learning-curves", name, loss, i, seed)
                yield _simulated(sizes, name, loss, alpha1, REDUCED, sizes.trials, own)
        own = seed_of("learning-curves", "tensors", loss, seed)
        yield _simulated(sizes, "attention", loss, sizes.tensors, TENSORS, sizes.trials // 2, own)
    error: dict[str, Any] = {"rows": ("test_error",)}
    for alpha1 in np.geomspace(*ends, sizes.floor_points).tolist():
        at = {"alpha1": alpha1}
        yield piece(learning_error, PROBLEM, ALPHA0 + alpha1, series="floor", at=at, **error)
    few = np.geomspace(*ends, sizes.choice_points)
    for varied, (_, _, values) in CHOICES.items():
        for value in values:
            own_choice = {varied: value, "series": varied, "at": {"choice": value}, **error}
            yield piece(predict_choice, few, sizes.line, cost=0.4, **own_choice)


def _predicted(
    series: str, name: str, loss: str, alphas: Any, tolerance: float, cost: float
) -> Piece:
    setting = presets.learning_curves(loss, alpha1=alphas)
    return piece(
        theory.predict,
        *(PROBLEM, setting.models[MODELS.index(name)], setting.readout),
        tolerance=tolerance,
        rows=tuple(CLAIMS),
        series=series,
        at={"model": name, "loss": loss},
        cost=cost * len(alphas),
    )


def _simulated(
    sizes: Sizes, name: str, loss: str, alpha1: float, engine: str, trials: int, seed: int
) -> Piece:
    setting, n = presets.learning_curves(loss, alpha1=alpha1), alpha1 * sizes.dimension
    steps = 4 if loss == "logistic" else 1
    cost = 0.05 + 0.035 * steps * (n / 1000) ** (3 if name == "vectorized" else 1)
    return piece(
        simulation.simulate,
        *(PROBLEM, setting.models[MODELS.index(name)], setting.readout),
        dimension=sizes.dimension,
        trials=trials,
        seed=seed,
        engine=engine,
        rows=tuple(CLAIMS),
        at={"model": name, "loss": loss, "alpha1": alpha1},
        cost=trials * (0.7 if engine == TENSORS else cost),
    )


def predict_choice(
    alphas: np.ndarray,
    tolerance: float,
    alpha0: float = ALPHA0,
    sharpness: float | None = None,
) -> Prediction:
    """Predict attention with a query from another amount of data, or of another sharpness."""
    setting = presets.learning_curves("logistic", alpha0, alphas)
    model = setting.models[0]
    if sharpness is not None:
        model = Attention(Query(theory.align(PROBLEM, setting.query).cosine, sharpness))
    return theory.predict(PROBLEM, model, setting.readout, tolerance=tolerance)


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Compare each simulated mean with the theory."""
    for row in rows.where("simulated"):
        theory = rows.where(THEORY).beside(row, "model", "loss", "alpha1")
        yield against_simulation(
            CLAIMS[row.quantity] if row.engine == REDUCED else "feature-law",
            theory.but(error=AUC_ERROR) if row.quantity == "auc" else theory,
            known_to_one_sample(row) if row.quantity == "training_error" else row,
            curve=row["model"],
            where=f"{row['loss']}, α₁ = {row['alpha1']:g}, d = {row.dimension}",
            x=row["alpha1"],
            group=row["loss"],
            key=row["alpha1"] in sizes.key or row.engine == TENSORS,
        )


def known_to_one_sample(share: Row) -> Row:
    """Return a share of training samples with an error of one sample at least.

    A count of no errors has spread 0; it is still known only to one sample among all.
    """
    return share.but(error=max(share.error, 1 / (share.trials * share["alpha1"] * share.dimension)))


def words(sizes: Sizes, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return the values for the page."""
    at_two = rows.where("simulated", "test_error", loss="logistic", alpha1=2.0, engine=REDUCED)
    far = sum(abs(c.z) > 2 for c in comparisons)
    return {"at_two": at_two, "comparisons": len(comparisons), "far": far}


def _panel(loss: str, quantity: str) -> Panel:
    name = quantity.replace("_", " ")
    curves = [Curve(name, COLOURS[name], {"model": name, "loss": loss}) for name in MODELS]
    falls = quantity == "training_loss" and loss == "logistic"  # never reaching 0
    return Panel(
        "alpha1",
        Axis("α₁ = n₁ / d", ticks=LOADS),
        Axis(name, log=True) if falls else Axis(name, low=0.0),
        [*curves, Curve("floor", COLOURS["floor"], {"series": "floor"}, "-.")],
        lines=lambda rows: rows.where(quantity=quantity, engine=THEORY),
        points=lambda rows: rows.where("simulated", quantity),
        title=f"{name}, {loss} loss",
    )


def draw_choices(rows: Rows) -> Figure:
    """Draw the predicted test error of attention for several choices of the query."""
    figure, panels = style.new_figure(8.6, 4.1, 2)
    for axes, (varied, (letter, title, values)) in zip(panels, CHOICES.items(), strict=True):
        for value, colour in zip(values, SEQUENCE, strict=True):
            line = rows.where(varied, choice=value).along("alpha1")
            style.predicted(axes, line, colour)
            chosen = " (chosen)" if value == 1 else ""
            axes.plot([], [], color=colour, label=f"{letter} = {value:g}{chosen}")
        style.load_axis(axes, [x for x, _ in line])
        style.axis_text(axes, x="α₁ = n₁ / d", y="test error, attention", title=title)
        # Below the axes, where no line can run through it.
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)
    top = max(axes.get_ylim()[1] for axes in panels)
    for axes in panels:
        axes.set_ylim(0, top)
    return figure


FIGURES = {
    f"learning_curves_{loss}": Curves(
        [_panel(loss, "test_error"), _panel(loss, "training_loss")], width=8.6
    )
    for loss in LOSSES
} | {"training_choice": draw_choices}

EXPERIMENT = Experiment("learning-curves", SIZES, work, judge, FIGURES, words)
