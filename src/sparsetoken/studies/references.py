"""Reference test errors: pooled, two-step attention, Bayes-optimal learner and Bayes test."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import sparsetoken as st
from sparsetoken.figures.palette import COLOURS
from sparsetoken.studies.claims import line
from sparsetoken.studies.figure import Look
from sparsetoken.studies.study import Call

CURVES = {
    "pooled": "pooled, theory",
    "attention": "two-step attention, theory",
    "bayes": "Bayes-optimal learner, theory",
    "oracle": "Bayes, signal known",
}
"""The curve of each in a figure."""
LOOKS = {
    CURVES[name]: Look(COLOURS[name], dashes)
    for name, dashes in zip(CURVES, ("--", "-", "-.", ":"), strict=True)
}


def reference_calls(
    problem: Any, steps: st.TwoSteps, readout: st.Readout, load: float | None = None
) -> dict[str, Call]:
    """Return the calls of the theory, by the names of `CURVES`.

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


def reference_lines(
    x: Sequence[float],
    results: Sequence[Mapping[str, Any]],
    panel: str,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the test errors of references, given what the calls returned at each x."""
    for name, curve in CURVES.items():
        found = [one[name] for one in results]
        yield from line(x, found, "test_error", panel=panel, curve=curve)
