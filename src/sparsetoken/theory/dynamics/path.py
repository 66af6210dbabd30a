"""From the numbers that a descent is followed by to what its weights are worth."""

from __future__ import annotations

import functools
import math

import numpy as np
from jaxtyping import Float

from sparsetoken.models import Model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Overlaps
from sparsetoken.stages import Query
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.laws import feature_law
from sparsetoken.theory.score_law import ScoreLaw

_COSINE, _SHARPNESS = 0, 1  # columns of the numbers that decide the test error


def path_of(
    problem: SparseTokenProblem,
    model: Model,
    beta: float,
    states: Float[np.ndarray, "states 7"],
    points: int,
) -> Float[np.ndarray, "states 10"]:
    """Return the quantities of a `DescentPath` of weights whose overlaps and lengths are given.

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
    at = _places(states, beta)
    test_error = [_test_error(problem, model, place, points) for place in at]
    return _path(states, at, np.array(test_error))


def spreads_of(
    problem: SparseTokenProblem,
    model: Model,
    beta: float,
    groups: Float[np.ndarray, "groups states 7"],
    points: int,
) -> Float[np.ndarray, "states 10"]:
    """Return the standard deviations over groups of all quantities at each state.

    That of the test error is to first order in the distance of the groups from their mean:
    its slopes are those over one standard deviation of each number that decides it.

    Parameters
    ----------
    problem, model, beta, points
        As of `path_of`.
    groups : array of shape (groups, states, 7)
        The columns of means over replicas.
    """
    middle = _places(groups.mean(axis=0), beta)
    places = np.stack([_places(group, beta) for group in groups])
    apart = places - middle
    moves = apart.std(axis=0, ddof=1)
    moves[middle[:, _COSINE] + moves[:, _COSINE] > 1, _COSINE] *= -1
    slopes = [_slopes(problem, model, *at, points) for at in zip(middle, moves, strict=True)]
    errors = np.einsum("gsj,sj->gs", apart, slopes)
    paths = [_path(*group) for group in zip(groups, places, errors, strict=True)]
    return np.asarray(np.std(paths, axis=0, ddof=1))


def _path(
    states: Float[np.ndarray, "states 7"],
    places: Float[np.ndarray, "states 6"],
    test_error: Float[np.ndarray, " states"],
) -> Float[np.ndarray, "states 10"]:
    """Return the quantities in the order of `DescentPath`."""
    loss, overlap_w, overlap_q, ww, wq, qq, bias = states.T
    norm_w, norm_q = (np.sqrt(np.maximum(square, 0)) for square in (ww, qq))
    query = places[:, _COSINE], places[:, _SHARPNESS]
    rest = overlap_w, overlap_q, norm_w, norm_q, wq, bias
    return np.stack([test_error, loss, *query, *rest], axis=1)


def _places(states: Float[np.ndarray, "states 7"], beta: float) -> Float[np.ndarray, "states 6"]:
    """Return the numbers that decide the test error: cosine, sharpness, and the overlaps.

    Those are of the readout in the frame of query and signal: w_1, w_2, nu and b.
    """
    _, overlap_w, overlap_q, ww, wq, qq, bias = states.T
    norm_q = np.sqrt(np.maximum(qq, 0))
    cosine = np.divide(overlap_q, norm_q, out=np.zeros_like(overlap_q), where=norm_q > 0)
    cosine = np.clip(cosine, -1, 1)
    along = np.divide(wq, norm_q, out=np.zeros_like(wq), where=norm_q > 0)
    sine = np.sqrt(1 - cosine**2)
    across = np.divide(overlap_w - cosine * along, sine, out=np.zeros_like(sine), where=sine > 0)
    rest = np.sqrt(np.maximum(ww - along**2 - across**2, 0))
    return np.stack([cosine, beta * norm_q, along, across, rest, bias], axis=1)


def _slopes(
    problem: SparseTokenProblem,
    model: Model,
    place: Float[np.ndarray, 6],
    moves: Float[np.ndarray, 6],
    points: int,
) -> Float[np.ndarray, 6]:
    """Return the slopes of the test error over moves from a place; 0 where there is no move."""
    slopes = np.zeros(len(place))
    if not np.isfinite(place).all():
        return slopes
    law = _law(problem, model, place, points)
    here = _error_of(law, place)
    for j in np.flatnonzero(moves):
        moved = place.copy()
        moved[j] += moves[j]
        other = _law(problem, model, moved, points) if j in (_COSINE, _SHARPNESS) else law
        slopes[j] = (_error_of(other, moved) - here) / moves[j]
    return slopes


def _test_error(
    problem: SparseTokenProblem, model: Model, place: Float[np.ndarray, 6], points: int
) -> float:
    return _error_of(_law(problem, model, place, points), place)


def _law(
    problem: SparseTokenProblem, model: Model, place: Float[np.ndarray, 6], points: int
) -> FeatureLaw:
    cosine, sharpness = place[[_COSINE, _SHARPNESS]].tolist()
    return _law_of(problem, model, cosine, sharpness, points)


@functools.lru_cache(maxsize=8)  # while a query rests it is the same at each step
def _law_of(
    problem: SparseTokenProblem, model: Model, cosine: float, sharpness: float, points: int
) -> FeatureLaw:
    return feature_law(model, problem, Query(cosine, sharpness), points)


def _error_of(law: FeatureLaw, place: Float[np.ndarray, 6]) -> float:
    scores = ScoreLaw.of(law, Overlaps(*place[_SHARPNESS + 1 :].tolist()))
    return scores.test_error() if math.isfinite(scores.mean.sum()) else math.nan
