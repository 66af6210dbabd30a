"""Errors and losses of a readout, with their numerical errors."""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.numerics.backend import with_x64
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.readout.equations import SaddleEquations
from sparsetoken.theory.readout.means import OrderParameters
from sparsetoken.theory.readout.solve import SaddlePoint
from sparsetoken.theory.score_law import ScoreLaw


class Performance(NamedTuple):
    """Test error, training loss, training error and AUC of a readout."""

    test_error: float
    training_loss: float
    training_error: float
    auc: float


def scores_on(nodes: FeatureLaw, state: OrderParameters) -> ScoreLaw:
    """Return the scores of a readout on data with the directions and covariances of the nodes."""
    return ScoreLaw.of(nodes, state.p, state.b, state.q)


@with_x64
def performance(
    equations: SaddleEquations,
    saddle: SaddlePoint,
    tested: ScoreLaw | None = None,
    own: ScoreLaw | None = None,
) -> Performance:
    """Return test error, training loss, training error and AUC of a solution.

    Equation: learned-error.

    Equation: shifted-test-law. The readout stays; new data, whose scores are `tested`, may have
    another law. By default they are like the training's, whose scores are `own` where known.
    """
    nodes, state, mu = equations.nodes, saddle.state, saddle.smoothing
    own = scores_on(nodes, state) if own is None else own
    tested = own if tested is None else tested
    # y z* < 0 where the score of a new sample is beyond the point that the prox maps to 0.
    _, _, V = equations.means.scores(state, mu)
    turn = V * equations.loss.slope(nodes.y, 0 * nodes.y)
    training = dataclasses.replace(own, mean=own.mean - turn)
    loss = training_loss(equations, saddle)
    return Performance(tested.test_error(), loss, training.test_error(), tested.auc())


def training_loss(equations: SaddleEquations, saddle: SaddlePoint) -> float:
    """Return the mean loss of a solution over the training set.

    l(y, z*) is the envelope less V p^2/2, whose mean is chi times the gradient in chi.
    """
    value, gradient, _ = equations.means.at(saddle.state, saddle.smoothing)
    return float(value.mean() + gradient.mean(axis=0)[equations.chi] @ saddle.state.chi)


@with_x64
def spread_of_test_error(
    equations: SaddleEquations, saddle: SaddlePoint, tested: FeatureLaw, scores: ScoreLaw
) -> float:
    """Return the standard error of the test error, from independent scrambles.

    Each scramble has its own solution; to first order it is one Newton step of the common
    equations away, and so is its test error. A test law of its own has scrambles of its own,
    drawn from the same numbers.
    """
    if max(len(equations.nodes.y), len(tested.y)) < 2:
        return 0.0
    return standard_error(
        scores.errors_by_scramble + moved_errors(equations, saddle, tested, scores)
    )


def standard_error(values: Float[np.ndarray, " n"]) -> float:
    """Return the standard error of the mean of independent values, 0 of a single one."""
    n = len(values)
    return float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else 0.0


@with_x64
def moved_errors(
    equations: SaddleEquations, saddle: SaddlePoint, tested: FeatureLaw, scores: ScoreLaw
) -> Float[np.ndarray, " scrambles"]:
    """Return what the readout of each scramble of the training changes in the test error."""
    steps = equations.scramble_steps(saddle.x, saddle.load, saddle.smoothing)
    slopes = _slopes(tested, saddle.state, scores)
    n = len(slopes)
    return steps[:, :n] @ (slopes * equations.tangent(saddle.x, saddle.load.samples)[:n])


def _slopes(nodes: FeatureLaw, state: OrderParameters, scores: ScoreLaw) -> np.ndarray:
    """Return the slopes of the test error in (p, b, q)."""
    width = np.maximum(scores.width, 1e-100)
    ratio = scores.mean / width
    density = nodes.weight * np.exp(-0.5 * ratio**2) / (math.sqrt(2 * math.pi) * width)
    toward = -nodes.y * density  # change of P(error) with the mean
    wider = nodes.y * density * ratio / width  # with half the variance
    p = np.einsum("sn,snj->j", toward, nodes.a) + wider.sum() * (nodes.covariance @ state.p)
    q = 0.5 * np.einsum("sn,snk->k", wider, nodes.C**2)
    return np.concatenate([p, [toward.sum()], q]) / len(nodes.y)
