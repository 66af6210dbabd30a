"""Settings of readouts on frozen features. A new model of the package needs a row here."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import sparsetoken as st
from sparsetoken.model.tokens import TokenCovariance
from sparsetoken.studies.settings import (
    COVARIANCE,
    ERROR_AND_LOSS,
    FIT_READOUT,
    PROBLEM,
    READOUT,
    Setting,
    signal_of,
)

GIVEN, STEPS = st.Query(0.9, 1.0), st.TwoSteps(alpha0=2.0, eta_q=25.0)
SHIFTED, RIDGELESS = "shifted-test-law", "ridgeless-limit"


def models() -> Iterator[Setting]:
    """Yield all models among isotropic tokens."""
    rows = (
        (st.Attention(GIVEN), (6, 1, 3.0, 0.4), "logistic", 0.05, 2.0),
        (st.Attention(STEPS), (5, 2, 3.0, 0.5), "square", 0.1, 1.5),
        (st.model.HardAttention(GIVEN), (6, 2, 3.0, 0.4), "squared_hinge", 0.1, 1.5),
        (st.Elementwise(GIVEN, "relu"), (6, 1, 3.0, 0.5), "logistic", 0.05, 2.0),
        (st.Elementwise(STEPS, "tanh"), (4, 2, 3.0, 0.6), "hinge", 0.1, 1.5),
        (st.model.CentredAttention(GIVEN), (5, 1, 3.0, 0.4), "logistic", 0.05, 2.0),
        (st.Pooled(), (4, 1, 4.0, 0.3), "logistic", 0.05, 2.0),
        (st.Vectorized(), (3, 1, 4.0, 0.4), "square", 0.2, 4.0),
    )
    for model, letters, loss, ridge, alpha1 in rows:
        found = " two steps" * isinstance(getattr(model, "query", None), st.TwoSteps)
        where = f"{loss}, λ = {ridge:g}, α₁ = {alpha1:g}"
        problem, given = st.SparseTokenProblem(*letters), (model, st.Readout(loss, ridge, alpha1))
        yield Setting(COVARIANCE, f"{model.name}{found}", where, problem, given)


BETWEEN, DECAY = "shared covariance", "decay of the spectrum"
CLASSIFIERS = {
    BETWEEN: {"attention": st.Attention(GIVEN), "pooled": st.Pooled()},
    DECAY: {
        "attention": st.Attention(STEPS),
        "whitened": st.Attention(STEPS),
        "pooled": st.Pooled(),
    },
}
"""By what is changed: the size of the covariance that the tokens of a sample share, or the power
by which the eigenvalues of the covariance within samples fall."""
CHANGES = {BETWEEN: (0.25, 0.5, 1.0), DECAY: (0.6,)}
SLOPE = 0.9  # of the shared covariance: neighbouring features of a sample go together


@functools.lru_cache(maxsize=64)
def problem_at(change: str, to: float, classifier: str, dimension: int) -> st.SparseTokenProblem:
    """Return the problem, or that of whitened tokens.

    The eigenvalues within samples have the mean 1.
    """
    j, signal = np.arange(dimension), PROBLEM.strength * signal_of(dimension)
    shared = to * SLOPE ** np.abs(j[:, None] - j) if change == BETWEEN and to else None
    spectrum = (j + 1.0) ** (-to if change == DECAY else 0.0)
    spectrum /= spectrum.mean()
    if classifier == "whitened":
        signal, spectrum = signal / np.sqrt(spectrum), np.ones(dimension)
    strength = float(np.linalg.norm(signal))
    tokens = TokenCovariance(spectrum, shared, signal=signal / strength)
    return dataclasses.replace(PROBLEM, strength=strength, tokens=tokens)


def covariances() -> Iterator[Setting]:
    """Yield tokens of other covariances; the classifiers of a change meet the same samples."""
    for change, classifiers in CLASSIFIERS.items():
        for to, (name, model) in itertools.product(CHANGES[change], classifiers.items()):
            where = f"{change} {to:g}"
            problem = partial(problem_at, change, to, name)
            given = (model, READOUT)
            yield Setting(COVARIANCE, name, where, problem, given, shared=["covariances", where])


SHIFTS = {
    "length": ("L′", (5, 40)), "positive_rate": ("π′", (0.1, 0.9)), "strength": ("θ′", (2.0, 8.0))
}  # fmt: skip
"""What is changed in the test data, its letter, and its values."""


def shifted_tests() -> Iterator[Setting]:
    """Yield test data of another law than that of the training."""
    models = {"attention": st.Attention(GIVEN), "pooled": st.Pooled()}
    trained = dataclasses.replace(READOUT, alpha1=4.0)
    for change, (letter, values) in SHIFTS.items():
        for to, (name, model) in itertools.product(values, models.items()):
            changed: dict[str, Any] = {change: to}
            other = dataclasses.replace(PROBLEM, **changed)
            theory, simulation = (partial(call, test_problem=other) for call in FIT_READOUT)
            place, given = (SHIFTED, name, f"{letter} = {to:g}"), (model, trained)
            quantities = ("test_error", "auc")
            yield Setting(*place, PROBLEM, given, quantities, (theory, simulation))


SMALL = 1e-6
"""The ridge that stands for 0 where a simulation needs one."""


def ridgeless() -> Iterator[Setting]:
    """Yield readouts without a ridge, below and above the loads that they fit exactly."""
    models = {"attention": st.Attention(GIVEN), "pooled": st.Pooled()}
    for load, (name, model) in itertools.product((0.5, 0.8, 1.25, 2.0), models.items()):
        given, left = (model, st.Readout("square", 0.0, load)), _rounding if load < 1 else None
        where = f"square, λ = 0, α₁ = {load:g}"
        yield Setting(RIDGELESS, name, where, PROBLEM, given, ERROR_AND_LOSS, vanishing=left)
    problem, queried = st.SparseTokenProblem(4, 1, 2.0, 0.5), st.Attention(st.Query(0.8, 1.0))
    # The capacity is 2.64: below it both losses vanish, and hinge finds the largest margin, to
    # which logistic turns too slowly for a comparison.
    for loss, load, quantities, left in (
        ("hinge", 2.0, ERROR_AND_LOSS, _price_of_hinge),
        ("logistic", 2.0, ERROR_AND_LOSS[1:], _price_of_logistic),
        ("hinge", 3.6, ERROR_AND_LOSS, None),
        ("logistic", 3.6, ERROR_AND_LOSS, None),
    ):
        where = f"{loss}, λ = 0 (simulated {SMALL:g}), α₁ = {load:g}"
        limit, own = (st.Readout(loss, ridge, load) for ridge in (0.0, SMALL))
        place, given = (RIDGELESS, "attention", where), (queried, limit)
        yield Setting(*place, problem, given, quantities, simulated=own, vanishing=left)


def _rounding(result: Any) -> float:
    """Return what an exact fit in float64 leaves of the training loss."""
    return 1e-12


def _price_of_hinge(result: Any) -> float:
    """Return a bound on the training loss that a ridge of `SMALL` costs below capacity.

    The fit is no worse than the readout of margin 1.
    """
    w = result.overlaps
    return 0.5 * SMALL * float(w.query**2 + w.orthogonal**2 + w.noise**2)


def _price_of_logistic(result: Any) -> float:
    """Return the same of the logistic loss, which is below exp(-c) at c times that readout."""
    c = math.log(1 / SMALL)
    return SMALL + c**2 * _price_of_hinge(result)
