"""From the numbers that a descent is followed by to what its weights are worth."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from sparsetoken.models import Model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import DescentPath, Overlaps
from sparsetoken.stages import Query
from sparsetoken.theory.laws import feature_law
from sparsetoken.theory.score_law import ScoreLaw

__all__ = ["path_of"]


def path_of(
    problem: SparseTokenProblem,
    model: Model,
    beta: float,
    states: Float[np.ndarray, "states 7"],
    points: int,
) -> DescentPath:
    """Return the path of weights whose overlaps and lengths are given.

    Parameters
    ----------
    problem : SparseTokenProblem
    model : Model
    beta : float
        Inverse temperature of the weights of attention.
    states : array of shape (states, 7)
        The columns of a replica.
    points : int
        Nodes of the test error for each class and scramble, a power of two.
    """
    loss, overlap_w, overlap_q, ww, wq, qq, bias = states.T
    norm_w, norm_q = np.sqrt(np.maximum(ww, 0)), np.sqrt(np.maximum(qq, 0))
    cosine = np.divide(overlap_q, norm_q, out=np.zeros_like(overlap_q), where=norm_q > 0)
    cosine = np.clip(cosine, -1, 1)
    sharpness = beta * norm_q
    test_error = [
        _test_error(problem, model, Query(s, k), overlaps, points)
        for s, k, overlaps in zip(
            cosine.tolist(),
            sharpness.tolist(),
            _overlaps(cosine, norm_q, overlap_w, ww, wq, bias),
            strict=True,
        )
    ]
    return DescentPath(
        test_error=np.array(test_error),
        training_loss=loss,
        cosine=cosine,
        sharpness=sharpness,
        overlap_w=overlap_w,
        overlap_q=overlap_q,
        norm_w=norm_w,
        norm_q=norm_q,
        product_wq=wq,
        bias=bias,
    )


def _overlaps(
    cosine: np.ndarray,
    norm_q: np.ndarray,
    overlap_w: np.ndarray,
    ww: np.ndarray,
    wq: np.ndarray,
    bias: np.ndarray,
) -> list[Overlaps]:
    """Return the readout of each state in the frame of query and signal."""
    along = np.divide(wq, norm_q, out=np.zeros_like(wq), where=norm_q > 0)
    sine = np.sqrt(1 - cosine**2)
    across = np.divide(overlap_w - cosine * along, sine, out=np.zeros_like(sine), where=sine > 0)
    rest = np.sqrt(np.maximum(ww - along**2 - across**2, 0))
    return [
        Overlaps(*row)
        for row in zip(along.tolist(), across.tolist(), rest.tolist(), bias.tolist(), strict=True)
    ]


def _test_error(
    problem: SparseTokenProblem, model: Model, query: Query, overlaps: Overlaps, points: int
) -> float:
    scores = ScoreLaw.of(feature_law(model, problem, query, points), overlaps)
    return scores.test_error() if math.isfinite(scores.mean.sum()) else math.nan
