"""The number of samples that are separable in feature space."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections.abc import Sequence

import numpy as np

from sparsetoken.base.validation import real
from sparsetoken.model.models import Attention, Model
from sparsetoken.model.problem import SparseTokenProblem, require_problem
from sparsetoken.model.stages import Query
from sparsetoken.model.tokens import Isotropic
from sparsetoken.model.values import broadcast
from sparsetoken.numerics.threads import one_thread
from sparsetoken.results import CONVERGED, Capacity, Status, StatusCode
from sparsetoken.results.record import stacked
from sparsetoken.theory.accuracy import Accuracy
from sparsetoken.theory.laws.feature_law import FeatureLaw
from sparsetoken.theory.laws.of_model import features_of
from sparsetoken.theory.query.directions import limit_status
from sparsetoken.theory.query.distribution import query_distribution
from sparsetoken.theory.query.working import advice_on, working_query
from sparsetoken.theory.separability.search import separation_of
from sparsetoken.theory.separability.violation import Separation, least_violation
from sparsetoken.theory.spectrum import gain, spectrum_of
from sparsetoken.work import map_points

_NOT_SOLVED = Status(
    StatusCode.MAX_ITERATIONS,
    "The minimum was not reached, as the classes hardly overlap or the query is very sharp: lower "
    "the strength or the sharpness.",
)
_COUNT = "Count separable training sets of your size with st.simulation.is_separable."
_SMALL_WEIGHTS = (
    "All weights of a sample can be small, and such samples rule the limit though hardly a "
    f"training set holds one. {_COUNT}"
)
_SHARED_EFFECT = (
    "The capacity of a model with a query is not known where the tokens of a sample share an "
    f"effect. {_COUNT}"
)


@one_thread()
def capacity(
    problem: SparseTokenProblem,
    model: Model = Attention(),
    *,
    tolerance: float = 1e-4,
    workers: int = 1,
    keep: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Capacity:
    """Return the load n1/d below which D1 is linearly separable in feature space.

    Equation: capacity,
    ``1/alpha* = min over (w_1, w_2, b) of E[(sqrt(1 + w_2^2) g - y (mu + b)/C)_+^2]``,
    times L for ``vectorized``. The transition has width O(d^(-1/2)). Arrays in the fields of
    problem and model broadcast.

    There is none (nan, with the status ``no_limit``) for weights that add up to 0 or to no one
    number, but where all are equal: those of elementwise and of centred attention may all be small
    in samples so rare that hardly a training set holds one. Nor is there one for a model with a
    query where the tokens of a sample share an effect (`TokenCovariance.between`).
    `sparsetoken.simulation.is_separable` counts separable sets.

    Parameters
    ----------
    problem : SparseTokenProblem
    model : Model
        With its query, or the steps that find it.
    tolerance : float
        Relative error of the capacity that is acceptable, in (0, 1). That is the tolerance of
        `predict` for a number above 1.
    workers : int >= 1
        Processes that compute points. In a `joblib.parallel_config`, 1 leaves the choice to it.
    keep : path, optional
        A folder that keeps the result of each point as it ends, and from which the same call takes
        what earlier runs have kept. Functions and classes of your own need a version.
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Returns
    -------
    Capacity
        Use it only if ``converged``.

    Raises
    ------
    InvalidInput
        If a value is outside its range.

    See Also
    --------
    sparsetoken.simulation.is_separable : Whether one training set is separable.
    predict : Test error, training loss and AUC in the limit.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> print(f"{st.capacity(problem, st.Pooled()).capacity:.2f}")
    2.95
    """
    require_problem(problem)
    real("tolerance", tolerance, 0.0, 1.0, open_low=True, open_high=True)
    grid = broadcast(problem, model)
    rows = map_points(
        functools.partial(_capacities, tolerance=tolerance),
        grid.points,
        call=["capacity", tolerance],
        workers=workers,
        keep=keep,
        what="capacities",
        progress=progress,
    )
    return stacked(rows, grid)


@np.errstate(under="ignore")
def _capacities(
    points: Sequence[tuple[SparseTokenProblem, Model]], tolerance: float
) -> list[Capacity]:
    """Return the capacity at each point."""
    rows = []
    for problem, model in points:
        query = working_query(problem, model)
        result = capacity_of(problem, model, query, tolerance)
        rows.append(dataclasses.replace(result, notes=advice_on(problem, model, query)))
    return rows


def capacity_of(
    problem: SparseTokenProblem, model: Model, query: Query | None, tolerance: float
) -> Capacity:
    """Return the capacity of a model whose query, if it has one, is known.

    Equation: covariance-capacity. Whether samples can be separated does not change under a
    linear map that can be undone. Whitened, the features of a model with one covariance are
    those of isotropic tokens with the strength ``theta sqrt(xi^T S^-1 xi)`` and the same
    scores, S being the covariance within samples, and S_w + L S_b for linear models. Where
    samples have an effect of their own beside a model with a query, features have two
    covariances, and no limit is known.

    Raises
    ------
    InvalidInput
        If the covariance has no inverse.
    """
    if isinstance(problem.tokens, Isotropic):
        return _of_one(problem, model, query, tolerance)
    spectrum = spectrum_of(problem)
    if query is None:
        whole = problem.length * spectrum.mean_token(problem.length)
        if model.weights_per_dimension(problem.length) > 1:
            gain(spectrum.within, spectrum.signal)  # refuses: differences of tokens have S_w
        return _of_one(_like(problem, gain(whole, spectrum.signal)), model, None, tolerance)
    stronger = gain(spectrum.within, spectrum.signal)  # refuses an S_w without an inverse
    if spectrum.has_effect:
        return _no_limit(_SHARED_EFFECT)
    law = query_distribution(problem, model.query)
    width = law.width(spectrum)
    cosine = law.overlap(spectrum) / (width * stronger) if width > 0 else 0.0
    turned = Query(max(-1.0, min(1.0, cosine)), law.sharpness)
    result = _of_one(_like(problem, stronger), model, turned, tolerance)
    if not result.status.converged:
        return result
    return dataclasses.replace(result, status=limit_status(problem, model.query))


def _of_one(
    problem: SparseTokenProblem, model: Model, query: Query | None, tolerance: float
) -> Capacity:
    """Return the capacity of the features of isotropic tokens with a known query."""
    found = features_of(model, problem, query)
    if isinstance(found, FeatureLaw):
        if found.vanishes:
            return Capacity(0.0, 0.0, 0.0, 0, CONVERGED)
        separation = least_violation(found)
    elif not found.network.total:
        return _no_limit(_SMALL_WEIGHTS)
    else:  # C >= |total|/sqrt(L)
        separation = separation_of(found, tolerance)
    alpha, error = math.nan, separation.error
    if math.isfinite(error):
        alpha = model.weights_per_dimension(problem.length) * separation.samples
    return Capacity(
        capacity=alpha,
        numerical_error=alpha * error,
        residual=separation.residual,
        iterations=separation.iterations,
        status=_status(separation, tolerance),
    )


def _no_limit(remedy: str) -> Capacity:
    return Capacity(math.nan, math.nan, math.nan, 0, Status(StatusCode.NO_LIMIT, remedy))


def _like(problem: SparseTokenProblem, stronger: float) -> SparseTokenProblem:
    return dataclasses.replace(problem, strength=problem.strength * stronger, tokens=Isotropic())


def _status(separation: Separation, tolerance: float) -> Status:
    error = separation.error  # inf where there is no capacity
    if not math.isfinite(error):
        return _NOT_SOLVED
    return Accuracy("capacity", error, tolerance, size=1.0).status(tolerance)
