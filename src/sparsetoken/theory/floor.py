"""The Bayes-optimal error below learning curves, with the samples of all stages."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np
import scipy
from jaxtyping import Float

from sparsetoken.concepts import Task
from sparsetoken.descents import Descent
from sparsetoken.models import Model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.stages import Readout, TwoSteps
from sparsetoken.tokens import Isotropic, TokenCovariance, TokenLaw
from sparsetoken.validation import LARGEST_LOAD
from sparsetoken.values import Grid

Floor = Callable[[], Float[np.ndarray, " *points"]]
"""Computes the Bayes-optimal error at each point; it takes seconds, so only plots call it."""

_EXACT = 9  # loads of one problem; between them the floor is smooth
_NODES = 64  # of the positions: the floor is then known to 1e-4 of its value, enough to draw it


def floor_of(grid: Grid) -> Floor | None:
    """Return the function that computes the Bayes-optimal error at each point.

    There is none where a query is given, which is knowledge from elsewhere, where positions are
    not uniform, or where noise differs by direction: a signal along large directions of a
    covariance may be learned faster than whitened directions that are all alike.

    Parameters
    ----------
    grid : Grid
        Of problem, model or descent, and readout; no readout for a descent on all weights.
    """
    problems = [problem for problem, *_ in grid.points]
    loads = [(problem, _load(*stages)) for problem, *stages in grid.points]
    if not all(map(_known, problems)) or any(math.isnan(load) for _, load in loads):
        return None
    return functools.partial(_floors, loads, grid.shape)


def _known(problem: Task) -> bool:
    if not isinstance(problem, SparseTokenProblem):
        return False
    return problem.position_law is None and directions_alike(problem.tokens)


def directions_alike(law: TokenLaw) -> bool:
    """Return whether noise is the same in all directions, within and between samples."""
    if not isinstance(law, TokenCovariance):
        return isinstance(law, Isotropic)
    return all(_multiple_of_identity(S) for S in (law.within, law.between) if S is not None)


def _multiple_of_identity(S: np.ndarray) -> bool:
    identity = np.ones(len(S)) if S.ndim == 1 else np.eye(len(S))
    return np.array_equal(S, S.flat[0] * identity)


def _load(model: Model | Descent, readout: Readout | None = None) -> float:
    """Return the samples of all stages over the dimension, nan where a query is given."""
    query = model if isinstance(model, Descent) else model.query
    first = 0.0 if query is None else math.nan
    if isinstance(query, Descent) and query.informed:
        first = math.nan
    elif isinstance(query, (TwoSteps, Descent)):
        first = float(query.samples_per_dimension)
    return min(first + (0.0 if readout is None else float(readout.alpha1)), LARGEST_LOAD)


def _floors(
    loads: Sequence[tuple[SparseTokenProblem, float]], shape: tuple[int, ...]
) -> Float[np.ndarray, " *points"]:
    alphas = np.array([alpha for _, alpha in loads])
    found = np.empty(len(loads))
    for problem in dict.fromkeys(problem for problem, _ in loads):
        own = np.array([other == problem for other, _ in loads])
        found[own] = _of_problem(problem, alphas[own])
    return found.reshape(shape)


def _of_problem(
    problem: SparseTokenProblem, alphas: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    from sparsetoken.theory.oracle import learning_error  # on first use: who predicts draws none

    known = np.unique(alphas)
    if len(known) > _EXACT:
        finite = known[known < LARGEST_LOAD]  # inf counts as the largest load, far from all others
        known = np.append(np.geomspace(finite[0], finite[-1], _EXACT), known[len(finite) :])
    values = [learning_error(problem, float(a), points=_NODES).test_error for a in known]
    if len(known) == 1:
        return np.full(len(alphas), values[0])
    inside = np.clip(alphas, known[0], known[-1])
    interpolant = scipy.interpolate.PchipInterpolator(np.log(known), values)
    curve: np.ndarray = interpolant(np.log(inside))
    return curve
