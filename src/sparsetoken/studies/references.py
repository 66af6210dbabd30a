"""Reference test errors: pooled, two-step attention, Bayes-optimal learner and Bayes test."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib.axes import Axes

import sparsetoken as st
from sparsetoken.figures.palette import COLOURS
from sparsetoken.studies import plot
from sparsetoken.studies.compare import Number, predicted
from sparsetoken.studies.study import Calls
from sparsetoken.studies.words import pm

REFERENCES = {
    "pooled": ("pooled, theory", "--"),
    "attention": ("two-step attention, theory", "-"),
    "bayes": ("Bayes-optimal learner, theory", "-."),
    "oracle": ("Bayes, signal known", ":"),
}
"""The label and the line of each."""


def reference_calls(
    problem: Any, steps: st.TwoSteps, readout: st.Readout, load: float | None = None
) -> Calls:
    """Return the calls of the theory, by the names of `REFERENCES`.

    Pooled has the loss and the ridge of the readout of attention; the load, its samples over the
    dimension, is by default that of the readout. The Bayes-optimal learner has the samples of both
    stages.
    """
    own = readout if load is None else dataclasses.replace(readout, alpha1=load)
    return {
        "pooled": partial(st.predict, problem, st.Pooled(), own, tolerance=1e-4),
        "attention": partial(st.predict, problem, st.Attention(steps), readout, tolerance=1e-4),
        "bayes": partial(st.oracle.learning_error, problem, steps.alpha0 + readout.alpha1),
        "oracle": partial(st.oracle.bayes_error, problem),
    }


def reference_errors(results: Mapping[str, Any]) -> dict[str, Number]:
    """Return the test errors of what the calls returned."""
    return {name: predicted(results[name], "test_error") for name in REFERENCES}


def known(errors: Mapping[str, Number]) -> str:
    """Return the references in words."""
    pooled, attention, bayes, oracle = (errors[name].value for name in REFERENCES)
    closed = 100 * (pooled - attention) / (pooled - oracle)
    return (
        f"pooled {pooled:.4f}, two-step attention {attention:.4f} ({closed:.1f} % of the gap), "
        f"the Bayes-optimal learner {bayes:.4f}, the Bayes test with known signal {oracle:.4f}"
    )


def standing(errors: Mapping[str, Number], measured: Number) -> str:
    """Return in words how a measured test error compares with the references."""
    pooled, oracle = errors["pooled"].value, errors["oracle"].value
    closed, error = (100 * x / (pooled - oracle) for x in (pooled - measured.value, measured.error))
    return (
        f"{pm(measured, 4)}, which closes {closed:.1f} ± {abs(error):.1f} % of the gap from "
        "pooled to Bayes"
    )


def draw_references(
    axes: Axes,
    x: Any,
    errors: Sequence[Mapping[str, Number]],
    names: Iterable[str] = tuple(REFERENCES),
) -> None:
    """Draw the references at several places as curves."""
    for name in names:
        label, line = REFERENCES[name]
        plot.curve(axes, x, [some[name] for some in errors], COLOURS[name], label, line)
