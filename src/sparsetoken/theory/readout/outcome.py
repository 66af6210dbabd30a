"""Errors and losses of a readout, with their numerical errors."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from sparsetoken.numerics.backend import with_x64
from sparsetoken.numerics.errors import stated_error
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
    """Return the error of the test error, from independent scrambles.

    Each scramble has its own solution. A test law of its own has scrambles of its own, drawn from
    the same numbers.
    """
    count = max(len(equations.nodes.y), len(tested.y))
    if count < 2:
        return 0.0
    states, own = own_states(equations, saddle), []
    for number in range(count):
        scramble = number % len(tested.y)
        nodes = tested.part(slice(scramble, scramble + 1))
        own.append(scores_on(nodes, states[number % len(states)]))
    mean = np.concatenate([one.mean for one in own])
    width = np.concatenate([one.width for one in own])
    return float(
        stated_error(dataclasses.replace(scores, mean=mean, width=width).errors_by_scramble)
    )


def own_states(equations: SaddleEquations, saddle: SaddlePoint) -> list[OrderParameters]:
    """Return the solution of each scramble, to first order a Newton step from the common one."""
    steps = equations.scramble_steps(saddle.x, saddle.load, saddle.smoothing)
    return [equations.state(saddle.x + step, saddle.load.samples) for step in steps]
