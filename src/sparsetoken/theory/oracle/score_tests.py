"""Tests of a query and a readout along the signal: sums over tokens."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from sparsetoken.model.architectures.weights import ACTIVATIONS
from sparsetoken.model.models import Elementwise, Model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.theory.oracle.token_sums import LARGEST_EXPONENT, TokenFunction

_NOISE = 9.0  # no projection of noise is larger


@dataclasses.dataclass(frozen=True)
class OracleTests:
    """The tests of a model with q and w along xi, by sharpness k and level u.

    `token` maps k and the threshold c of the model's own score <w, f_q(X)>, w = xi, to x: the test
    calls positive where sum_l x(t_l) > 0. `threshold` maps (k, u) to c, which rises with u, and
    `levels` k to an interval of u that holds every useful test. Between the two values of
    `sharpness` k is searched; the tests beyond are as good as at the ends, or known in closed form.
    """

    token: Callable[[float, float], TokenFunction]
    levels: Callable[[float], tuple[float, float]]
    threshold: Callable[[float, float], float]
    sharpness: tuple[float, float]


def oracle_tests(model: Model, problem: SparseTokenProblem) -> OracleTests:
    """Return the tests of softmax attention, or of an elementwise model.

    attention: T = sum_l a_l t_l > c with a = softmax(k t), that is
    sum_l (t_l - c) e^{k t_l} > 0. elementwise: (1/L) sum_l t_l phi(k t_l) > c.

    Equation: oracle-tests.
    """
    if isinstance(model, Elementwise):
        return _elementwise(problem, model.activation)
    return _attention(problem)


def _attention(problem: SparseTokenProblem) -> OracleTests:
    def token(k: float, c: float) -> TokenFunction:
        return lambda t: (t - c) * np.exp(np.minimum(k * (t - c), LARGEST_EXPONENT))

    return OracleTests(
        token,
        levels=lambda k: (-_NOISE, problem.strength + _NOISE),
        threshold=lambda k, c: c,
        sharpness=(0.1, 20.0),
    )


def _elementwise(problem: SparseTokenProblem, activation: str) -> OracleTests:
    """Return the tests with c = sinh(u) times a typical size: any size, and 0 among them."""
    _, theta, _, L = problem.letters
    phi = ACTIVATIONS[activation]
    largest = theta + _NOISE

    def g(k: float, t: np.ndarray) -> np.ndarray:
        scores = k * t
        return t * phi(np.minimum(scores, LARGEST_EXPONENT) if activation == "exp" else scores)

    def size(k: float) -> float:
        return float(np.mean(np.abs(g(k, np.array([-1.0, 1.0]))))) / math.sqrt(L)

    def token(k: float, c: float) -> TokenFunction:
        return lambda t: g(k, t) - c

    def levels(k: float) -> tuple[float, float]:
        most = float(g(k, np.array([largest]))[0]) / size(k)
        return -math.asinh(30.0), math.asinh(max(most, 1.0))

    ends = {"relu": (1.0, 1.0), "exp": (0.01, min(20.0, LARGEST_EXPONENT / largest))}
    return OracleTests(
        token,
        levels,
        threshold=lambda k, u: size(k) * math.sinh(u),
        sharpness=ends.get(activation, (1e-3, 100.0)),
    )
