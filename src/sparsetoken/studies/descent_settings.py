"""Settings of descents on all weights, and of minima. A new network or task needs a row here."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import sparsetoken as st
from sparsetoken.model import networks
from sparsetoken.model.concepts import ConceptProblem
from sparsetoken.model.tokens import TokenCovariance
from sparsetoken.model.training import stem_of
from sparsetoken.studies.settings import (
    COVARIANCE,
    ERROR_AND_LOSS,
    OVERLAPS,
    PROBLEM,
    READOUT,
    REPLICAS,
    TOLERANCE,
    Setting,
    signal_of,
)

SIZE: dict[str, Any] = {"sizes": (75, 300), "trials": 8}
"""Of descents."""
GATED = "gated, 2 units"
NETWORKS: dict[str, tuple[Any, dict[str, float], float]] = {
    "mean pooling": (networks.Pooled(), {"w": 0.7}, 8.0),
    "softmax": (networks.Softmax(), {"q": 0.5, "w": 0.2}, 2.0),
    "two heads": (networks.Softmax(heads=2), {"q": 0.9, "w": 0.2}, 3.5),
    GATED: (networks.Gated(hidden=2), {"v": 0.35, "g": 2.8, "w": 0.2}, 3.0),
    "self-attention": (networks.SelfAttention(rank=1), {"Q": 0.12, "K": 5.2, "V": 0.4}, 1.9),
}
"""With step sizes of the columns and of the further weights near those of the least test error."""
OVERLAP = 0.1
"""Of queries with a signal at the start, with two signals by turns, and of self-attention: a
symmetry that the limit keeps, and every finite dimension breaks, is then broken in both."""
BOTH = ConceptProblem(
    5, (5.0, 5.0), [[1, 1], [0, 0], [1, 0], [0, 1]], [0.4, 0.2, 0.2, 0.2], [1, 0, 0, 0]
)
"""A bag is positive if it holds both of two signals."""


def _overlaps(column: str) -> tuple[float, float]:
    """Return the overlaps of a column at the start, of odd queries with the first signal."""
    if column[0] in "wV":
        return 0.0, 0.0
    return (OVERLAP, 0.0) if int(column[1:] or 1) % 2 else (0.0, OVERLAP)


def descended(
    place: tuple[str, str, str], problem: Any, descent: st.Descent, *quantities: str, **more: Any
) -> Setting:
    """Return the row of a descent, compared half way and at its end if not told otherwise."""
    steps = more.pop("steps", (descent.steps // 2, descent.steps))
    theory = partial(st.descend, replicas=REPLICAS, tolerance=TOLERANCE)
    calls = theory, partial(st.simulation.descend, at=list(steps))
    return Setting(*place, problem, (descent,), quantities, calls, steps, **more)


def with_bag_effects(dimension: int) -> st.SparseTokenProblem:
    """Return the problem in which the tokens of a bag share an effect."""
    ones = np.ones(dimension)
    tokens = TokenCovariance(ones, 0.5 * ones, signal=signal_of(dimension))
    return dataclasses.replace(PROBLEM, tokens=tokens)


def network_descents() -> Iterator[Setting]:
    """Yield networks trained by descent on all weights."""
    places: list[tuple[str, Any, str, float]]
    places = [("one sparse token", PROBLEM, name, 2.0) for name in NETWORKS]
    places += [("bag effects", with_bag_effects, name, 2.0) for name in ("softmax", GATED)]
    places += [("two signals", BOTH, name, 8.0) for name in ("softmax", "two heads")]
    for task, problem, name, alpha in places:
        network, rates, rate_c = NETWORKS[name]
        given: dict[str, Any] = {"rates": rates, "rate_c": rate_c}
        if problem is BOTH:
            given = {"rates": {stem: 0.25 if stem == "w" else 1.0 for stem in rates}, "rate_c": 4.0}
        if problem is BOTH or name == "self-attention":
            signals = 1 + (problem is BOTH)
            columns = network.column_names(outputs=1)
            given["start_overlaps"] = np.array([_overlaps(c)[:signals] for c in columns])
        descent = st.Descent(network, alpha=alpha, steps=10, **given)
        attended = () if name == "mean pooling" else ("attended",)
        place = ("network-descent", name, f"{task}, n/d = {alpha:g}")
        yield descended(place, problem, descent, *ERROR_AND_LOSS, *attended, **SIZE)


def task_descents() -> Iterator[Setting]:
    """Yield softmax attention trained by descent on all tasks."""
    network = networks.Softmax()
    stems = {stem_of(column) for column in network.column_names(outputs=1)}
    for task, (problem, loss, q, w, c, overlaps) in TASKS.items():
        descent = st.Descent(
            network,
            alpha=2.0,
            steps=8,
            rates={stem: w if stem == "w" else q for stem in stems},
            rate_c=c,
            start={stem: 0.3 if stem == "w" else 0.5 for stem in stems},
            start_overlaps={stem: {} if stem == "w" else overlaps for stem in stems},
            loss=loss,
        )
        place = ("task-descent", task, "softmax, n/d = 2")
        yield descended(place, problem, descent, *ERROR_AND_LOSS, OVERLAPS, **SIZE)


TASKS: dict[str, tuple[Any, str, float, float, float, dict[str, float]]] = {
    "single location": (
        st.tasks.single_location_regression(), "square", 1.5, 0.27, 0.3, {"place": 0.3}
    ),
    "needle with a value": (st.tasks.needle_with_value(), "logistic", 2.0, 0.8, 0.5, {}),
    "position": (st.tasks.position(), "square", 1.2, 0.22, 0.45, {}),
    "meeting concepts": (st.tasks.meeting_concepts(), "logistic", 1.0, 0.3, 1.0, {}),
    "majority": (st.tasks.majority(), "logistic", 0.7, 0.5, 0.3, {"sign": 0.3}),
}  # fmt: skip
"""With the loss, the step sizes of query, readout and further weights, and overlaps of the query
at the start."""


MINIMUM = "joint-minimum"
FIT_ALL = (
    partial(st.minimize, starts=("informed",)), partial(st.simulation.minimize, start="informed")
)  # fmt: skip
MINIMA: dict[str, tuple[Any, Any, str, float]] = {
    "softmax": (st.SparseTokenProblem(4, 1, 4.0, 0.5), networks.Softmax(), "logistic", 3.0),
    "mean pooling": (st.SparseTokenProblem(5, 2, 3.0, 0.4), networks.Pooled(), "logistic", 1.5),
    "softmax, a number": (
        st.tasks.single_location_regression(4), networks.Softmax(), "square", 4.0
    ),
}  # fmt: skip
"""Minima over all weights: the problem, the network, the loss and n/d. The ridge is 0.1."""


def minima() -> Iterator[Setting]:
    """Yield minima over all weights, which L-BFGS finds from weights with the signal."""
    for curve, (problem, network, loss, alpha) in MINIMA.items():
        minimum = st.Minimum(network, alpha=alpha, ridge=0.1, loss=loss)
        place = (MINIMUM, curve, f"{loss}, λ = 0.1, n/d = {alpha:g}")
        quantities = (*ERROR_AND_LOSS, "objective")
        yield Setting(*place, problem, (minimum,), quantities, FIT_ALL)


FIT = 36
"""Steps of the readout after the two steps: it is then near its minimum, see `one_data_set`."""


def one_data_set(alpha: float) -> st.Descent:
    """Return the two steps and then the fit of the readout, all on the same samples.

    The fit is gradient descent with momentum on the objective of `Readout`. The square root of
    the product of step size and ridge, 4 and 0.01, is the rate of descent with the best momentum,
    so that 36 steps reduce the remainder by e^-7. The bias has no ridge and the smallest curvature,
    the mean slope of the sigmoid over samples that are nearly all fitted; its steps are larger once
    the first have passed.
    """
    eta = [1.0] * 4 + [4.0] * (FIT - 4)
    return st.Descent(
        alpha=alpha,
        steps=2 + FIT,
        rates={"w": [0.5, 0.0, *eta], "q": [0.0, 25.0, *[0.0] * FIT]},
        rate_c=[0.5, 0.0, *eta[:8], *[32.0] * (FIT - 8)],
        start=0.0,
        momentum=[0.0, 0.0, 0.0, *[0.7] * (FIT - 1)],
        decay={"w": READOUT.ridge, "q": 0.0},
    )


REUSE, SPLIT = "reuse-of-data", "attention two steps, split evenly"
ALPHAS = (1.0, 4.0)
"""n/d of all samples, used for both stages or split evenly between them."""


def _size(alpha: float) -> dict[str, Any]:
    """Return dimensions at which all loads have as many samples, and trials."""
    return {"sizes": (round(120 / alpha), round(480 / alpha)), "trials": 36}


def reused() -> Iterator[Setting]:
    """Yield query and readout found on the same samples."""
    for alpha in ALPHAS:
        place = (REUSE, "one data set", f"two steps, then the fit, n/d = {alpha:g}")
        given = {"steps": (2 + FIT,), **_size(alpha)}
        yield descended(place, PROBLEM, one_data_set(alpha), "test_error", "cosine_q", **given)


def split() -> Iterator[Setting]:
    """Yield the four stages on as many samples, half of them for the query."""
    for alpha in ALPHAS:
        steps, found = st.TwoSteps(alpha / 2, eta_q=25.0), st.Readout(alpha1=alpha / 2)
        place = (COVARIANCE, SPLIT, f"α₀ = α₁ = {alpha / 2:g}")
        yield Setting(*place, PROBLEM, (st.Attention(steps), found), **_size(alpha))
