"""Reference errors: pooled, two-step attention, Bayes-optimal learner and Bayes test."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from sparsetoken import theory
from sparsetoken.experiments.core.rows import Row, Rows, predicted
from sparsetoken.figures.curves import Curve
from sparsetoken.figures.palette import COLOURS
from sparsetoken.model.models import Attention, Model, Pooled
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Readout, TwoSteps
from sparsetoken.theory.oracle import bayes_error, learning_error

PROBLEM = SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=0.5)
"""The problem on which trainings are compared."""

LOOKS = {
    "pooled": ("pooled, theory", "--"),
    "attention": ("two-step attention, theory", "-"),
    "floor": ("Bayes-optimal learner, theory", "-."),
    "bayes": ("Bayes, signal known", ":"),
}
"""The series of the references: label and line."""


def predict_references(
    problem: SparseTokenProblem,
    steps: TwoSteps,
    readout: Readout,
    *,
    load: float | None = None,
) -> list[Row]:
    """Predict the test errors of pooled, attention, Bayes and the floor, each a series.

    Their coordinate is the load, the samples over the dimension of pooled, which has the loss and
    the ridge of the readout of attention, and by default its n1 / d.
    """
    at = {"load": readout.alpha1 if load is None else load}

    def predict(series: str, model: Model, readout: Readout) -> Row:
        prediction = theory.predict(problem, model, readout, tolerance=1e-4)
        return predicted(prediction, "test_error", series, **at)

    floor = learning_error(problem, steps.alpha0 + readout.alpha1)
    return [
        predict("pooled", Pooled(), dataclasses.replace(readout, alpha1=at["load"])),
        predict("attention", Attention(steps), readout),
        predicted(bayes_error(problem), "test_error", "bayes", **at),
        predicted(floor, "test_error", "floor", **at),
    ]


def reference_curves(rows: Rows, names: Iterable[str] = tuple(LOOKS)) -> list[Curve]:
    """Return the references as curves of a panel."""
    return [
        Curve(LOOKS[name][0], COLOURS[name], rows.where(name, "test_error"), LOOKS[name][1])
        for name in names
    ]
