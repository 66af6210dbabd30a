"""From a problem, a model and a readout to a prediction."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence

import numpy as np

from sparsetoken.losses import Loss
from sparsetoken.models import Attention, Model, Pooled, entry_of
from sparsetoken.numerics.x64 import with_x64
from sparsetoken.problem import SparseTokenProblem, require_problem
from sparsetoken.progress import SILENT, Progress, progress_of
from sparsetoken.results import Overlaps, Prediction, Status, StatusCode
from sparsetoken.results.record import fields_of, stacked
from sparsetoken.stages import Query, Readout, TwoSteps, require_readout
from sparsetoken.theory.curve import FIRST_POINTS, SolvedPoint, solve_along
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.floor import floor_of
from sparsetoken.theory.imbalance import imbalance_advice
from sparsetoken.theory.laws import feature_law
from sparsetoken.theory.learned_error import outcome_without_features
from sparsetoken.theory.query import advice_on, loss_to_pooling, working_query
from sparsetoken.theory.ridgeless import Stage, ridgeless_stage
from sparsetoken.theory.routes import on_route
from sparsetoken.theory.score_law import ScoreLaw
from sparsetoken.tokens import isotropic_only
from sparsetoken.validation import InvalidInput, real
from sparsetoken.values import broadcast, require_numbers

TOLERANCE = 1e-4
"""Of twice the standard error of the test error."""

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
    tolerance: float = TOLERANCE,
    progress: bool = True,
) -> Prediction:
    """Predict test error, training loss and AUC of a readout, as n0, n1, d -> infinity.

    Any field of problem, model and readout that takes a number takes an array as well; arrays
    broadcast against one another, and the quantities of the result are arrays of their shape.
    With a query that is a `JointDescent`, the query that the descent ends with is frozen and the
    readout fitted on fresh data; `descend` follows the descent itself.

    Parameters
    ----------
    problem : SparseTokenProblem
        Its position law plays no part but for `Vectorized`, where it must be uniform. Among
        tokens of a covariance ridge 0 needs an inverse of it, and `Elementwise` is refused
        where samples have an effect of their own: its features see it in their weights.
    model : Model
        With its query, or the steps that find it. `Elementwise` uses the query that the
        steps find for softmax attention.
    readout : Readout
        Ridge 0 is the limit lambda -> 0+. Below the interpolation
        threshold of the square loss, or the capacity for other losses, the overlaps are then
        those of the shortest readout that fits exactly, with margin 1 for logistic and hinges.
        The norm of the
        logistic readout diverges there: only its direction, errors and AUC have this limit.
        Its alpha1 may be ``inf``, the limit of infinite data.
    test_problem : SparseTokenProblem, optional
        The problem of new data, on which test error and AUC are predicted; by default the
        one trained on. For `Vectorized` it must have the same length. Its tokens have the
        same law.
    tolerance : float
        Numerical error of the test error that is acceptable, in (0, 1): nodes are
        added until twice the standard error over scrambles is below it.
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Returns
    -------
    Prediction
        Use it only if ``converged``. At ridge 0 and on the threshold the status is NO_LIMIT.
        `advice` explains a poor query; that attention loses to pooling is found for single
        points whose query is trained, not over arrays.

    Raises
    ------
    InvalidInput
        If a value is outside its range, arrays do not broadcast, or the ridge is 0 with a
        loss of one's own.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> found = st.predict(problem, st.Pooled(), st.Readout("logistic", ridge=1e-2, alpha1=2.0))
    >>> print(f"{found.test_error:.4f}", found.converged)
    0.2934 True
    """
    real("tolerance", tolerance, 0.0, 1.0, open_low=True, open_high=True)
    if test_problem is not None and not isinstance(test_problem, SparseTokenProblem):
        raise InvalidInput("test_problem", "a SparseTokenProblem or None", test_problem)
    require_numbers(test_problem)
    grid = broadcast(problem, model, readout)
    with progress_of("points", len(grid.points), progress) as done:
        rows = _predictions(grid.points, test_problem, tolerance, done)
    if not grid.shape:
        rows = [_compared_with_pooling(rows[0], problem, model, readout, test_problem)]
    floor = None if test_problem else floor_of(grid)
    return dataclasses.replace(stacked(rows, grid), floor=floor)


Point = tuple[SparseTokenProblem, Model, Readout]


def _predictions(
    points: Sequence[Point],
    test_problem: SparseTokenProblem | None,
    tolerance: float,
    progress: Progress = SILENT,
) -> list[Prediction]:
    """Return the prediction at each point; points that share their features are solved together."""
    places: dict[object, list[int]] = {}
    for place, (problem, model, readout) in enumerate(points):
        require_problem(problem)
        entry_of(model)
        require_readout(readout)
        places.setdefault((problem, model, readout.loss), []).append(place)
    found: dict[int, Prediction] = {}
    for some in places.values():
        problem, model, _ = points[some[0]]
        readouts = [points[place][2] for place in some]
        setting = on_route(problem, "setting")(problem, model, test_problem)
        found |= zip(some, setting.predictions(readouts, tolerance), strict=True)
        progress(len(some))
    return [found[place] for place in range(len(points))]


class IsotropicSetting:
    """What predictions with the same features have in common, for isotropic tokens.

    Parameters
    ----------
    problem : SparseTokenProblem
    model : Model
    test_problem : SparseTokenProblem or None
    nodes : int, optional
        A fixed number of nodes for each class and scramble.
    """

    def __init__(
        self,
        problem: SparseTokenProblem,
        model: Model,
        test_problem: SparseTokenProblem | None = None,
        nodes: int | None = None,
    ) -> None:
        self.problem, self.model = problem, model
        self.tested = problem if test_problem is None else test_problem
        self.query = working_query(problem, model)
        self.advice = advice_on(problem, model, self.query)
        self._nodes = nodes
        model.check_test_problem(problem, self.tested)
        isotropic_only(self.tested.tokens, "A test on tokens of another law")

    @functools.cached_property
    def first_law(self) -> FeatureLaw:
        """The law of the features with the fewest nodes."""
        return self._law_of(self.problem, FIRST_POINTS)

    def _law_of(self, problem: SparseTokenProblem, points: int) -> FeatureLaw:
        return feature_law(self.model, problem, self.query, self._nodes or points)

    def _laws(self, points: int) -> FeatureLaw:
        return self.first_law if points == FIRST_POINTS else self._law_of(self.problem, points)

    def _test_laws(self, points: int) -> FeatureLaw:
        return self._law_of(self.tested, points)

    def predictions(self, readouts: Sequence[Readout], tolerance: float) -> list[Prediction]:
        """Return the prediction with each readout, all of one loss."""
        stages = [self._stage(readout) for readout in readouts]
        found: dict[int, Prediction] = {}
        together: dict[Loss, list[int]] = {}
        for place, (readout, stage) in enumerate(zip(readouts, stages, strict=True)):
            if self.first_law.featureless:
                found[place] = _featureless(readout, self.problem, self.tested)
            elif stage.status.converged:
                together.setdefault(stage.loss, []).append(place)
            else:
                found[place] = without_readout(stage.status)
        test_laws = None if self.tested == self.problem else self._test_laws
        for loss, places in together.items():
            pairs = [(readouts[place].alpha1, stages[place].ridge) for place in places]
            solved = solve_along(self._laws, loss, pairs, tolerance, test_laws=test_laws)
            for place, point in zip(places, solved, strict=True):
                found[place] = _prediction(point, stages[place], tolerance)
        return [
            with_query(found[place], self.query, self._advice(found[place], readout))
            for place, readout in enumerate(readouts)
        ]

    def _advice(self, found: Prediction, readout: Readout) -> tuple[str, ...]:
        if not found.status.converged or self.first_law.featureless:
            return self.advice
        law = self.first_law if self.tested == self.problem else self._test_laws(FIRST_POINTS)
        scores = ScoreLaw.of(law.coarse(), found.overlaps)
        return (*self.advice, *imbalance_advice(scores, readout, self.problem.positive_rate))

    def _stage(self, readout: Readout) -> Stage:
        if readout.ridge > 0 or self.first_law.featureless:
            return Stage(readout.loss, readout.ridge)
        return ridgeless_stage(
            self.problem,
            self.model,
            self.query,
            readout,
            weights=self.first_law.weights_per_dimension,
            vanishing=bool(np.any(self.first_law.C == 0)),
        )


def with_query(found: Prediction, query: Query | None, notes: tuple[str, ...]) -> Prediction:
    """Return a prediction with the query that the model worked with, and what to know of it."""
    cosine, sharpness = (None, None) if query is None else (query.cosine, query.sharpness)
    return dataclasses.replace(found, cosine=cosine, sharpness=sharpness, notes=notes)


def _prediction(point: SolvedPoint, stage: Stage, tolerance: float) -> Prediction:
    saddle, answer = point.saddle, point.outcome
    if answer is None:
        return without_readout(_NOT_SOLVED, saddle.residual, saddle.iterations)
    if stage.fits_exactly:
        answer = dataclasses.replace(answer, training_loss=0.0, training_error=0.0)
    return Prediction(
        **fields_of(answer),
        susceptibility=math.inf if stage.fits_exactly else point.susceptibility,
        numerical_error=point.numerical_error,
        residual=saddle.residual,
        iterations=saddle.iterations,
        status=_status(point, tolerance),
    )


@with_x64
def predict_readouts(
    problem: SparseTokenProblem,
    model: Model,
    readouts: Sequence[Readout],
    tolerance: float = 1e-4,
    *,
    nodes: int | None = None,
) -> list[Prediction]:
    """Return predictions with several readouts of one loss.

    Parameters
    ----------
    problem : SparseTokenProblem
    model : Model
    readouts : sequence of Readout
    tolerance : float
        As of `predict`.
    nodes : int, optional
        A fixed number of nodes for each class and scramble, a power of two, whatever the
        tolerance. The differences between the predictions are then exact, far below the
        error of the nodes themselves.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.theory import predict_readouts
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> readouts = [st.Readout("square", ridge=0.1, alpha1=alpha) for alpha in (1.0, 4.0)]
    >>> [f"{p.test_error:.3f}" for p in predict_readouts(problem, st.Pooled(), readouts)]
    ['0.325', '0.258']
    """
    accuracy = tolerance if nodes is None else math.inf
    setting = on_route(problem, "setting")(problem, model, None, nodes)
    found: list[Prediction] = setting.predictions(readouts, accuracy)
    return found


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
    return dataclasses.replace(found, notes=(*found.notes, text)) if text else found


def _status(point: SolvedPoint, tolerance: float) -> Status:
    if 2 * point.numerical_error <= tolerance:
        return Status(StatusCode.CONVERGED)
    reached = (
        f"Twice the standard error is {2 * point.numerical_error:.2e} with {point.nodes} nodes"
    )
    remedy = f"{reached}; ask for a tolerance of {2.2 * point.numerical_error:.1e}."
    return Status(StatusCode.TOLERANCE_NOT_REACHED, remedy)


def without_readout(status: Status, residual: float = math.nan, iterations: int = 0) -> Prediction:
    """Return the prediction where there is no solution, for the reason that the status tells."""
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


def _featureless(
    readout: Readout, problem: SparseTokenProblem, tested: SparseTokenProblem
) -> Prediction:
    """Return the prediction when all features are 0 and only the bias learns."""
    answer = outcome_without_features(readout.loss, problem.positive_rate, tested.positive_rate)
    ridge = readout.ridge
    return Prediction(
        **fields_of(answer),
        susceptibility=1 / (ridge * readout.alpha1) if ridge > 0 else math.inf,
        numerical_error=0.0,
        residual=0.0,
        iterations=0,
        status=Status(StatusCode.CONVERGED),
    )
