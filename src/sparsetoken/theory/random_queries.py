"""Predictions averaged over a query that is random at the dimension of the tokens."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy

from sparsetoken.models import Attention, Model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Overlaps, Prediction, Status, StatusCode
from sparsetoken.stages import Query, QueryVector, Readout, TwoSteps
from sparsetoken.theory.alignment.draws import (
    DRAWS,
    DrawnQueries,
    drawn_queries,
    effective_directions,
    may_vary,
    randomness_advice,
)
from sparsetoken.theory.query import advice_on, working_query
from sparsetoken.theory.readout.accuracy import TOLERANCE
from sparsetoken.theory.setting import Setting

_SOLVED, _MOST = 16, 64  # draws chosen for the spline at first, and at most; half as many beside
_FEW, _MANY = 512, 8192  # nodes of a readout; where the spread is small some are solved again
_BETTER = 4  # readouts solved again
_FEW_DRAWS, _SLOPES = 1024, 5  # of a small spread: draws, and those that are solved
_SMOOTHING = (0.0, 1e-3, 1e-2, 0.1, 1.0, 10.0)
_SHARE = 0.1  # of the spread, to which the mean over draws is known


def predictions_of(
    problem: SparseTokenProblem,
    model: Model,
    test_problem: SparseTokenProblem | None,
    readouts: Sequence[Readout],
    tolerance: float,
    *,
    spread: bool,
) -> list[Prediction]:
    """Return predictions of readouts of one loss, over draws of the query where that is random.

    With `spread` the spread over draws is told also where the limit holds.
    """
    advice = randomness_advice(problem, model.query)
    if not advice:
        limit = Setting(problem, model, test_problem).predictions(readouts, tolerance)
        if not spread or not may_vary(model.query, problem):
            return limit
        spreads = [0.0] * len(readouts)
        if math.isfinite(effective_directions(problem, model.query)):
            spreads = _spreads(problem, model, test_problem, readouts)
        pairs = zip(limit, spreads, strict=True)
        return [dataclasses.replace(one, spread=size) for one, size in pairs]
    found = predict_over_draws(
        problem, model, readouts, tolerance=tolerance, test_problem=test_problem
    )
    notes = (*advice_on(problem, model, working_query(problem, model)), advice)
    return [dataclasses.replace(one.mean, spread=one.spread, notes=notes) for one in found]


def _spreads(
    problem: SparseTokenProblem,
    model: Model,
    test_problem: SparseTokenProblem | None,
    readouts: Sequence[Readout],
) -> list[float]:
    """Return the spread with each readout where it is small: a few solved draws tell slopes."""
    assert isinstance(model.query, (TwoSteps, Query))
    queries = drawn_queries(problem, model.query, _FEW_DRAWS)
    places = _coordinates(queries)
    chosen = _far_apart(places, _SLOPES)
    solver = _Solver(problem, model, test_problem, readouts, _FEW, queries)
    errors = np.array([[found.test_error for found in solver.at(draw)] for draw in chosen])
    spreads = np.std(_spline(places, chosen, np.nan_to_num(errors)), axis=0)
    return np.where(np.isfinite(errors).all(axis=0), spreads, math.nan).tolist()


class OverDraws(NamedTuple):
    """A prediction over draws of a random query.

    The mean is over draws, also of the cosine and the sharpness of the query; its numerical error
    has both the nodes' part and `standard_error`, that of the mean over draws. The spread is the
    standard deviation of the test error over draws of the query: what D1 adds to it at finite
    dimension vanishes in the limit of the readout. `solved` counts the draws whose readout was
    solved.
    """

    mean: Prediction
    spread: float
    standard_error: float
    solved: int


_FIELDS = ("test_error", "training_loss", "training_error", "auc", "susceptibility")
_OVERLAPS = ("query", "orthogonal", "noise", "bias")


def predict_over_draws(
    problem: SparseTokenProblem,
    model: Model,
    readouts: Sequence[Readout],
    *,
    tolerance: float = TOLERANCE,
    test_problem: SparseTokenProblem | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> list[OverDraws]:
    """Predict readouts of one loss for a query that is random at the dimension of the tokens.

    Given the query the theory is exact. The outcome of a readout depends on a query, of a model
    with a `TwoSteps` or a `Query`, through tau = theta <q, xi>/sigma and the sharpness, which fix
    the law of the scores of tokens, and only weakly on the rest of its direction. So queries are
    drawn in great number. Readouts are solved at a few that are as far apart in (tau, log
    sharpness) as can be, and a thin-plate spline through these stands for the others. Readouts at
    draws taken without a choice tell what the spline leaves out, and correct the mean and the
    variance for it. More are solved, or with more nodes, until twice the numerical error of the
    mean, and the interpolation error at a single draw, are below the tolerance or a tenth of the
    spread: one experiment has one query, and its test error is off by the spread.
    """
    assert isinstance(model.query, (TwoSteps, Query))
    queries = drawn_queries(problem, model.query, draws, seed)
    if not queries.norm.any():  # no step was made
        setting = Setting(problem, model, test_problem)
        return [OverDraws(p, 0.0, 0.0, 1) for p in setting.predictions(readouts, tolerance)]
    if not queries.sharpness.any() and isinstance(model, Attention):  # the mean token, exactly
        one = _Solver(problem, model, test_problem, readouts, _FEW, queries).at(0)
        return [OverDraws(found, 0.0, 0.0, 1) for found in one]
    places = _coordinates(queries)
    order = _far_apart(places, min(_MOST, draws // 2))
    by_chance = sorted(set(range(draws)) - set(order))
    solved, better = min(_SOLVED, len(order)), None
    solver = _Solver(problem, model, test_problem, readouts, _FEW, queries)
    while True:
        design = _Design(places, order[:solved], by_chance[: max(1, solved // 2)])
        found = [_averaged(solver, better, j, design, tolerance) for j in range(len(readouts))]
        short = [one for one in found if one.mean.status.code is StatusCode.TOLERANCE_NOT_REACHED]
        nodes = any(one.mean.numerical_error > math.sqrt(2) * one.standard_error for one in short)
        if nodes and better is None:
            better = _Solver(problem, model, test_problem, readouts, _MANY, queries)
        elif short and not nodes and solved < len(order):
            solved = min(2 * solved, len(order))
        else:
            return found


class _Design(NamedTuple):
    """Coordinates of all draws, which of them are chosen, and which are taken without a choice."""

    places: np.ndarray
    chosen: list[int]
    checked: list[int]


class _Solver:
    """Predictions of all readouts at single draws, each computed once."""

    def __init__(
        self,
        problem: SparseTokenProblem,
        model: Model,
        test_problem: SparseTokenProblem | None,
        readouts: Sequence[Readout],
        nodes: int,
        queries: DrawnQueries,
    ) -> None:
        self._of = problem, model, test_problem
        self._last: Setting | None = None
        self._readouts, self._nodes, self.queries = readouts, nodes, queries
        self._known: dict[int, list[Prediction]] = {}

    def at(self, draw: int) -> list[Prediction]:
        """Return the prediction of each readout."""
        if draw not in self._known:
            problem, model, test_problem = self._of
            q, k = self.queries.vectors[draw], float(self.queries.sharpness[draw])
            given = dataclasses.replace(model, query=QueryVector(q.tolist(), k))  # type: ignore[call-arg]
            setting = Setting(problem, given, test_problem, self._nodes, like=self._last)
            self._last = setting
            self._known[draw] = setting.predictions(self._readouts, TOLERANCE)
        return self._known[draw]


def _coordinates(queries: DrawnQueries) -> np.ndarray:
    """Return (tau, log sharpness) of each draw in standard deviations, without what is fixed."""
    places = np.stack([queries.projected, np.log(np.maximum(queries.sharpness, 1e-300))], axis=1)
    places -= places.mean(axis=0)
    size = places.std(axis=0)
    varies = size > 1e-9  # rounding
    return places[:, varies] / size[varies]


def _far_apart(places: np.ndarray, number: int) -> list[int]:
    """Return places, the one nearest to the middle first, each as far from the last as can be."""
    if not places.shape[1]:
        return [0]
    order = [int(np.argmin(np.sum(places**2, axis=1)))]
    apart = np.full(len(places), np.inf)
    while len(order) < number:
        apart = np.minimum(apart, np.sum((places - places[order[-1]]) ** 2, axis=1))
        order.append(int(np.argmax(apart)))
    return order


def _averaged(
    solver: _Solver, better: _Solver | None, readout: int, design: _Design, tolerance: float
) -> OverDraws:
    """Return means over all draws of one readout that was solved at some.

    A better solver corrects the mean at a few draws: nodes have nearly the same error at all.
    """
    at = [solver.at(draw)[readout] for draw in (*design.chosen, *design.checked)]
    some = design.checked[:_BETTER] if better is not None else []
    again = [better.at(draw)[readout] for draw in some] if better is not None else []
    for one in (*at, *again):
        if not math.isfinite(one.test_error):
            return OverDraws(one, math.nan, math.nan, len(at))
    values = np.array([_numbers(one) for one in at])
    infinite = ~np.isfinite(values).all(axis=0)  # the susceptibility, where data can be fitted
    values[:, infinite] = 0.0
    chosen, others = np.split(values, [len(design.chosen)])
    fitted = _spline(design.places, design.chosen, chosen)
    left = others - fitted[design.checked]
    mean = fitted.mean(axis=0) + left.mean(axis=0)
    missing, varied = float(np.mean(left[:, 0] ** 2)), float(np.var(fitted[:, 0]))
    error = math.sqrt(varied / len(design.places) + missing / len(left))
    spread = math.sqrt(varied + missing)
    nodes = float(np.mean([one.numerical_error for one in again or at]))  # alike at all draws
    if len(again) > 1:
        apart = np.array([_numbers(one) for one in again])
        apart[:, infinite] = 0.0
        apart -= others[: len(again)]
        mean += apart.mean(axis=0)
        nodes = math.hypot(nodes, float(np.std(apart[:, 0], ddof=1)) / math.sqrt(len(again)))
    mean[infinite] = math.inf
    whole = math.hypot(nodes, error)
    status, off = Status(StatusCode.CONVERGED), max(2 * whole, math.sqrt(missing))
    if off > max(tolerance, _SHARE * spread):
        remedy = f"The mean over draws of the query has standard error {off:.1e}; "
        remedy += f"ask for a tolerance of {1.1 * off:.1e}."
        status = Status(StatusCode.TOLERANCE_NOT_REACHED, remedy)
    prediction = Prediction(
        **dict(zip(_FIELDS, mean[: len(_FIELDS)].tolist(), strict=True)),
        overlaps=Overlaps(*mean[len(_FIELDS) :].tolist()),
        numerical_error=whole,
        residual=max(one.residual for one in at),
        iterations=sum(one.iterations for one in at),
        status=status,
        cosine=float(solver.queries.cosine.mean()),
        sharpness=float(solver.queries.sharpness.mean()),
    )
    return OverDraws(prediction, spread, error, len(at))


def _numbers(found: Prediction) -> list[float]:
    """Return the quantities that are averaged, the test error first."""
    of_it = [getattr(found, name) for name in _FIELDS]
    return [*of_it, *(getattr(found.overlaps, name) for name in _OVERLAPS)]


def _spline(places: np.ndarray, chosen: list[int], values: np.ndarray) -> np.ndarray:
    """Return values at all places from those at some.

    A thin-plate spline, as smooth as leaves least squares of the first column where one place is
    left out: test errors depend a little on more than the places.
    """
    if not places.shape[1]:
        return np.repeat(values[:1], len(places), axis=0)
    at = places[chosen]

    def fit(some: np.ndarray, smoothing: float) -> scipy.interpolate.RBFInterpolator:
        return scipy.interpolate.RBFInterpolator(
            at[some], values[some], smoothing=smoothing, kernel="thin_plate_spline"
        )

    def left_out(smoothing: float) -> float:
        every = np.arange(len(at))
        misses = [fit(every != i, smoothing)(at[i : i + 1])[0, 0] - values[i, 0] for i in every]
        return float(np.sum(np.square(misses)))

    best = min(_SMOOTHING, key=left_out) if len(at) > _SLOPES else 0.0
    found: np.ndarray = fit(np.full(len(at), True), best)(places)
    return found
