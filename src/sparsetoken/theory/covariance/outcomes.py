"""What a readout on features with any covariances is worth."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from sparsetoken.numerics.x64 import with_x64
from sparsetoken.theory.covariance.means import ReadoutState
from sparsetoken.theory.covariance.nodes import FeatureNodes
from sparsetoken.theory.covariance.readout import ConvexReadout, SolvedReadout
from sparsetoken.theory.score_law import ScoreLaw


@dataclasses.dataclass(frozen=True)
class ReadoutOutcome:
    """Errors and losses of a readout.

    Attributes
    ----------
    test_error, training_loss, training_error, auc : float
    """

    test_error: float
    training_loss: float
    training_error: float
    auc: float


def scores_on(nodes: FeatureNodes, p: np.ndarray, b: float, q: np.ndarray) -> ScoreLaw:
    """Return the scores of a readout on new data.

    Parameters
    ----------
    nodes : FeatureNodes
        The law of new data; it may have other directions and covariances than the training.
    p : array of shape (J,)
        Overlaps of the readout with the directions of that law.
    b : float
    q : array of shape (K,)
        w^T G_k w with the covariances of that law.
    """
    variance = float(p @ nodes.spread @ p) + nodes.C**2 @ q
    mean = nodes.a @ p + b
    return ScoreLaw(mean, np.sqrt(np.maximum(variance, 0.0)), nodes.y, nodes.weight)


@with_x64
def readout_outcome(
    problem: ConvexReadout, found: SolvedReadout, tested: ScoreLaw | None = None
) -> ReadoutOutcome:
    """Return test error, training loss, training error and AUC of a solution.

    Equation: general-learned-error.

    Parameters
    ----------
    problem : ConvexReadout
    found : SolvedReadout
    tested : ScoreLaw, optional
        Scores on new data, from `scores_on`; by default new data are like the training's.
    """
    means, nodes, state = problem.means(), problem.nodes, found.state
    own = scores_on(nodes, state.p, state.b, state.q)
    tested = own if tested is None else tested
    value, _, _ = means.at(state, found.smoothing)
    # l(y, z*) is the envelope less V p^2/2, and r_k^2 is the mean of C_k^2 p^2.
    training_loss = float(value.mean()) - 0.5 * float(state.chi @ found.pull.rho)
    # y z* < 0 where the score of a new sample is beyond the point that the prox maps to 0.
    _, _, V = means.scores(state, found.smoothing)
    turn = V * problem.loss.slope(nodes.y, 0 * nodes.y)
    training = dataclasses.replace(own, mean=own.mean - turn)
    return ReadoutOutcome(tested.test_error(), training_loss, training.test_error(), tested.auc())


@with_x64
def spread_over_scrambles(
    problem: ConvexReadout, found: SolvedReadout, tested: FeatureNodes | None = None
) -> float:
    """Return the standard error of the test error, from independent scrambles.

    Each scramble has its own solution; to first order it is one Newton step of the common
    equations away, and so is its test error.

    Parameters
    ----------
    problem : ConvexReadout
    found : SolvedReadout
    tested : FeatureNodes, optional
        The law of new data, with the directions and covariances of the training; by default
        the same law.
    """
    nodes = problem.nodes if tested is None else tested
    if (problem.nodes.exact and nodes.exact) or len(nodes.y) < 2:
        return 0.0
    steps = problem.scramble_steps(found)
    slopes = _slopes(nodes, found.state)
    errors = scores_on(nodes, found.p, found.b, found.state.q).errors_by_scramble
    estimates = errors + steps[:, : len(slopes)] @ slopes
    return float(np.std(estimates, ddof=1) / math.sqrt(len(estimates)))


def _slopes(nodes: FeatureNodes, state: ReadoutState) -> np.ndarray:
    """Return the slopes of the test error in (p, b, nu)."""
    scores = scores_on(nodes, state.p, state.b, state.q)
    width = np.maximum(scores.width, 1e-100)
    ratio = scores.mean / width
    density = nodes.weight * np.exp(-0.5 * ratio**2) / (math.sqrt(2 * math.pi) * width)
    toward = -nodes.y * density  # change of P(error) with the mean
    wider = nodes.y * density * ratio / width  # with half the variance
    p = np.einsum("sn,snj->j", toward, nodes.a) + wider.sum() * (nodes.spread @ state.p)
    nu = np.einsum("sn,snk->k", wider, nodes.C**2) * np.sqrt(state.q)
    return np.concatenate([p, [toward.sum()], nu]) / len(nodes.y)
