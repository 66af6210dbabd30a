"""From a problem, a model and a readout to a prediction."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from sparsetoken.models import Attention, Model, Pooled
from sparsetoken.numerics.x64 import with_x64
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import (
    Outcome,
    Overlaps,
    Prediction,
    Status,
    StatusCode,
    Table,
    over_arrays,
)
from sparsetoken.stages import Query, Readout, TwoSteps
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.laws import feature_law
from sparsetoken.theory.learned_error import (
    ROUGH,
    best_bias,
    outcome,
    solve_readout,
    test_error_spread,
)
from sparsetoken.theory.potential import Potential
from sparsetoken.theory.query import advice_on, loss_to_pooling, working_query
from sparsetoken.theory.ridgeless import Stage, ridgeless_stage
from sparsetoken.validation import InvalidInput, real
from sparsetoken.values import require_numbers

__all__ = ["predict", "predict_point"]

FIRST_POINTS, LAST_POINTS = 512, 2**15
_FEW_POINTS, _LOOSE = 64, 1e-2  # so few to start with where the tolerance is so large

_NOT_SOLVED = Status(
    StatusCode.MAX_ITERATIONS,
    "The saddle point was not reached; try a larger ridge or, with a query, less sharpness.",
)


@with_x64
def predict(
    problem: SparseTokenProblem,
    model: Model = Attention(),
    readout: Readout = Readout(),
    *,
    test_problem: SparseTokenProblem | None = None,
    tolerance: float = 1e-4,
) -> Prediction | Table[Prediction]:
    """Predict what a trained classifier is worth, as n0, n1, d -> infinity.

    Any field of problem, model and readout that takes a number takes an array as well; arrays
    broadcast against one another, and a table comes back.

    Parameters
    ----------
    problem : SparseTokenProblem
        Its position law plays no part but for `Vectorized`, where it must be uniform.
    model : Model
        With its query, or the steps that find it. `Elementwise` uses the query that the
        steps find for softmax attention.
    readout : Readout
        Ridge 0 is the limit lambda -> 0+. Below the interpolation threshold of the square
        loss, or the capacity for other losses, the overlaps are then those of the shortest
        readout that fits exactly, with margin 1 for logistic and hinges. The norm of the
        logistic readout diverges there: only its direction, errors and AUC have this limit.
        Its alpha may be ``inf``, the limit of infinite data.
    test_problem : SparseTokenProblem, optional
        The problem of new data, on which test error and AUC are predicted; by default the
        one trained on. For `Vectorized` it must have the same length.
    tolerance : float
        Numerical error of the test error that is acceptable, in (0, 1): nodes are
        added until twice the standard error over scrambles is below it.

    Returns
    -------
    Prediction or Table
        Use it only if ``status.converged``. At ridge 0 and on the threshold the status is
        NO_LIMIT. Its field `advice` says what is wrong with the query; that attention loses
        to pooling is found for single points whose query is trained, not in tables.

    Raises
    ------
    InvalidInput
        If a value is outside its range, arrays do not broadcast, or the ridge is 0 with a
        loss of one's own.
    """
    real("tolerance", tolerance, 0.0, 1.0, open_low=True, open_high=True)
    if test_problem is not None and not isinstance(test_problem, SparseTokenProblem):
        raise InvalidInput("test_problem", "a SparseTokenProblem or None", test_problem)
    require_numbers(test_problem)
    found = over_arrays(
        lambda points: _predictions(points, test_problem, tolerance), problem, model, readout
    )
    if isinstance(found, Table):
        return found
    return _compared_with_pooling(found, problem, model, readout, test_problem)


@with_x64
def predict_point(
    problem: SparseTokenProblem,
    model: Model,
    readout: Readout,
    tolerance: float = 1e-4,
    test_problem: SparseTokenProblem | None = None,
) -> Prediction:
    """Return `predict` at a single point, without a comparison with pooling."""
    (found,) = _predictions([(problem, model, readout)], test_problem, tolerance)
    return found


Point = tuple[SparseTokenProblem, Model, Readout]


def _predictions(
    points: Sequence[Point], test_problem: SparseTokenProblem | None, tolerance: float
) -> list[Prediction]:
    """Return the prediction at each point; points that share their features are solved together."""
    places: dict[object, list[int]] = {}
    for place, (problem, model, readout) in enumerate(points):
        places.setdefault((problem, model, readout.loss), []).append(place)
    found: dict[int, Prediction] = {}
    for some in places.values():
        problem, model, _ = points[some[0]]
        readouts = [points[place][2] for place in some]
        first = FIRST_POINTS if tolerance < _LOOSE else _FEW_POINTS
        setting = _Setting.of(problem, model, test_problem, first)
        found |= zip(some, (_prediction(setting, r, tolerance) for r in readouts), strict=True)
    return [found[place] for place in range(len(points))]


@dataclasses.dataclass(frozen=True)
class _Setting:
    """What predictions with the same features have in common."""

    problem: SparseTokenProblem
    model: Model
    tested: SparseTokenProblem
    query: Query | None
    advice: tuple[str, ...]
    first_points: int
    law: FeatureLaw

    @classmethod
    def of(
        cls,
        problem: SparseTokenProblem,
        model: Model,
        test_problem: SparseTokenProblem | None,
        first_points: int,
    ) -> _Setting:
        query = working_query(problem, model)
        tested = problem if test_problem is None else test_problem
        model.check_test_problem(problem, tested)
        law = feature_law(model, problem, query, first_points)
        advice = advice_on(problem, model, query)
        return cls(problem, model, tested, query, advice, first_points, law)

    def law_of(self, problem: SparseTokenProblem, points: int) -> FeatureLaw:
        """Return the law of the features of training or of test, with so many nodes."""
        if problem == self.problem and points == self.first_points:
            return self.law
        return feature_law(self.model, problem, self.query, points)


def _prediction(setting: _Setting, readout: Readout, tolerance: float) -> Prediction:
    law = setting.law
    stage = Stage(readout.loss, readout.ridge)
    if law.featureless:
        pi, test_pi = setting.problem.positive_rate, setting.tested.positive_rate
        answer = _featureless(readout, pi, test_pi)
    else:
        if stage.ridge == 0:
            stage = ridgeless_stage(setting.problem, setting.model, setting.query, readout, law)
        if stage.status.converged:
            answer = _solved(setting, stage, readout.alpha, tolerance)
        else:
            answer = _without_readout(stage.status)
    return dataclasses.replace(answer, query=setting.query, advice=setting.advice)


def _solved(setting: _Setting, stage: Stage, alpha: float, tolerance: float) -> Prediction:
    """Add nodes until the test error is known to the tolerance."""
    loss, ridge, law = stage.loss, stage.ridge, setting.law
    readout = solve_readout(Potential(law.coarse(), loss, alpha), ridge, tolerance=ROUGH)
    points = setting.first_points
    while True:
        potential = Potential(law, loss, alpha)
        same = setting.tested == setting.problem
        test_law = law if same else setting.law_of(setting.tested, points)
        last, spread = points >= LAST_POINTS, 0.0
        if readout.converged:
            spread = test_error_spread(potential, ridge, readout, test_law)
        if 2 * spread <= tolerance or last:  # a rougher law is not worth its own solution
            readout = solve_readout(potential, ridge, readout)
            if not readout.converged:
                return _without_readout(_NOT_SOLVED, readout.residual, readout.iterations)
            spread = test_error_spread(potential, ridge, readout, test_law)
            if 2 * spread <= tolerance or last:
                break
        points *= 4
        law = setting.law_of(setting.problem, points)
    answer = outcome(potential, readout, test_law)
    if stage.fits_exactly:
        answer = dataclasses.replace(answer, training_loss=0.0, training_error=0.0)
    return Prediction(
        **vars(answer),
        susceptibility=math.inf if stage.fits_exactly else potential.chi(readout.x),
        numerical_error=spread,
        residual=readout.residual,
        iterations=readout.iterations,
        status=_status(law, spread, tolerance),
    )


def _compared_with_pooling(
    found: Prediction,
    problem: SparseTokenProblem,
    model: Model,
    readout: Readout,
    test_problem: SparseTokenProblem | None,
) -> Prediction:
    """Add the advice that attention with a trained query loses to pooling, if it does."""
    query = found.query
    if not (isinstance(model, Attention) and isinstance(model.query, TwoSteps)) or query is None:
        return found
    if query.cosine < 0:  # said already
        return found
    (pooled,) = _predictions([(problem, Pooled(), readout)], test_problem, 1e-4)
    text = loss_to_pooling(query, found, pooled)
    return dataclasses.replace(found, advice=(*found.advice, text)) if text else found


def _status(law: FeatureLaw, spread: float, tolerance: float) -> Status:
    if 2 * spread <= tolerance:
        return Status(StatusCode.CONVERGED)
    reached = f"Twice the standard error is {2 * spread:.2e} with {law.C.size} nodes"
    return Status(
        StatusCode.TOLERANCE_NOT_REACHED, f"{reached}; ask for a tolerance of {2.2 * spread:.1e}."
    )


def _without_readout(status: Status, residual: float = math.nan, iterations: int = 0) -> Prediction:
    nan = math.nan
    return Prediction(
        test_error=nan,
        training_loss=nan,
        training_error=nan,
        auc=nan,
        overlaps=Overlaps(nan, nan, nan, nan),
        susceptibility=nan,
        numerical_error=nan,
        residual=residual,
        iterations=iterations,
        status=status,
    )


def _featureless(readout: Readout, pi: float, test_pi: float) -> Prediction:
    """Return the prediction when all features are 0 and only the bias learns.

    A score of exactly 0 counts as half an error.
    """
    loss, ridge = readout.loss, readout.ridge
    y, weight = np.array([1.0, -1.0]), np.array([pi, 1 - pi])
    b = best_bias(loss, pi)
    wrong = 0.5 * (1 - np.sign(y * b))
    answer = Outcome(
        test_error=float(np.array([test_pi, 1 - test_pi]) @ wrong),
        training_loss=float(weight @ loss.value(y, np.full(2, b))),
        training_error=float(weight @ wrong),
        auc=0.5,
        overlaps=Overlaps(0.0, 0.0, 0.0, b),
    )
    return Prediction(
        **vars(answer),
        susceptibility=1 / (ridge * readout.alpha) if ridge > 0 else math.inf,
        numerical_error=0.0,
        residual=0.0,
        iterations=0,
        status=Status(StatusCode.CONVERGED),
    )
