"""The best training by four stages: split of samples, steps, sharpness and ridge."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

from sparsetoken.base.progress import progress_of
from sparsetoken.base.validation import LARGEST_LOAD, LARGEST_VALUE, InvalidInput, integer, real
from sparsetoken.model.models import Model, entry_of
from sparsetoken.model.problem import SparseTokenProblem, require_problem
from sparsetoken.model.stages import Readout, TwoSteps, require_readout
from sparsetoken.model.values import require_numbers
from sparsetoken.results import Prediction, Status
from sparsetoken.theory.alignment.two_steps import align
from sparsetoken.theory.predict import predict_readouts
from sparsetoken.theory.tuning.search import Point, Range, search

_SHARES = Range("share", -math.log(99), math.log(99), "one stage needs hardly any samples")
_SHARPNESSES = 1e-2, 1e2
"""Shares of D0, by their logits, and sharpnesses that are searched."""
_FACTOR = math.log(1e3)  # by which the step of the readout may differ from the one given
_RIDGES = (1e-6, 1.0)
"""Beyond 1 scores are so small that at dimensions of about 1000 the chance imbalance of the
classes, which moves the bias by about 1/sqrt(n1), decides many: see theory/imbalance.py."""


@dataclasses.dataclass(frozen=True)
class BestTraining:
    """The best training by four stages found by a search.

    Attributes
    ----------
    steps : TwoSteps
        With the load alpha0 of D0 and the inverse temperature beta.
    readout : Readout
        With the load alpha1 of D1.
    prediction : Prediction
        The prediction there, with the cosine and the sharpness of its query. Its
        own status tells how well that is known.
    evaluations : int
        How many predictions the search took.
    status : Status
        Of the search: ``max_iterations`` if it ran out of evaluations, ``no_limit`` if the test
        error is least at an end of a range, that of a prediction if some failed.
    """

    steps: TwoSteps
    readout: Readout
    prediction: Prediction
    evaluations: int
    status: Status

    @property
    def share(self) -> float:
        """The fraction of the samples that find the query, alpha0 / (alpha0 + alpha1)."""
        return self.steps.alpha0 / (self.steps.alpha0 + self.readout.alpha1)


def best_split(
    problem: SparseTokenProblem,
    model: Model,
    readout: Readout,
    total: float,
    *,
    tolerance: float = 1e-4,
) -> BestTraining:
    """Return the split of a total load between D0 and D1 with the smallest test error.

    Equation: best-split, ``argmin over alpha0 of E(alpha0, total - alpha0)``. Samples of
    D0 turn the query, samples of D1 fit the readout. The sharpness follows alpha0 at the
    given step sizes and beta.

    Parameters
    ----------
    problem : SparseTokenProblem
    model : Model
        With steps that find its query, whose alpha0 is replaced.
    readout : Readout
        Its alpha1 is replaced.
    total : float
        alpha0 + alpha1 in [1e-3, 1e9].
    tolerance : float
        Of the test error, as for `predict`. The least error is then as sharp; the share
        is known only as far as errors differ by more.

    Returns
    -------
    BestTraining
        Its share is in [0.01, 0.99].

    Raises
    ------
    InvalidInput
        If a value is outside its range.

    See Also
    --------
    best_beta : The best inverse temperature.
    best_training : Split, step sizes, sharpness and ridge together.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> model, readout = st.Attention(st.TwoSteps()), st.Readout("square", ridge=0.1)
    >>> found = st.tuning.best_split(problem, model, readout, total=3.0, tolerance=1e-2)
    >>> 0 < found.share < 1
    True
    """
    steps = _steps_of(problem, model, readout)
    total = real("total (alpha0 + alpha1)", total, 1e-3, LARGEST_LOAD)

    def stages(point: Point) -> tuple[TwoSteps, Readout]:
        return _split(steps, readout, total, *point)

    return _best_of(stages, problem, model, tolerance, [_SHARES], _SHARES.scan())


def best_beta(
    problem: SparseTokenProblem,
    model: Model,
    readout: Readout,
    *,
    sharpness: tuple[float, float] = _SHARPNESSES,
    tolerance: float = 1e-4,
) -> BestTraining:
    """Return the inverse temperature with the smallest test error.

    Equation: best-beta. The cosine of the query does not depend on beta, and k = beta |q2|
    is proportional to beta^2: this is the best sharpness for the query at hand.

    Parameters
    ----------
    problem : SparseTokenProblem
    model : Model
        With steps that find its query, whose beta is replaced.
    readout : Readout
    sharpness : pair of floats
        The range of k that is searched, both > 0.
    tolerance : float
        Of the test error, as for `predict`.

    Raises
    ------
    InvalidInput
        If a value is outside its range, or the query is zero (one token, no step).

    See Also
    --------
    best_split : The best split of the labels.
    best_training : Split, step sizes, sharpness and ridge together.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> model, readout = st.Attention(st.TwoSteps()), st.Readout("square", ridge=0.1)
    >>> found = st.tuning.best_beta(problem, model, readout, tolerance=1e-2)
    >>> found.steps.beta > 0
    True
    """
    steps = _steps_of(problem, model, readout)
    low = real("sharpness, low end", sharpness[0], 0.0, LARGEST_VALUE, open_low=True)
    high = real("sharpness, high end", sharpness[1], low, LARGEST_VALUE, open_low=True)
    unit = _sharpness_of(problem, dataclasses.replace(steps, beta=1.0))
    ends = [0.5 * math.log(k / unit) for k in (low, high)]
    betas = Range("beta", ends[0], ends[1], "give a wider range of the sharpness")

    def stages(point: Point) -> tuple[TwoSteps, Readout]:
        return dataclasses.replace(steps, beta=math.exp(*point)), readout

    return _best_of(stages, problem, model, tolerance, [betas], betas.scan())


def best_training(
    problem: SparseTokenProblem,
    model: Model,
    readout: Readout,
    total: float,
    *,
    evaluations: int = 150,
    tolerance: float = 1e-4,
    progress: bool = True,
) -> BestTraining:
    """Return the split, step sizes, sharpness and ridge that jointly minimise the test error.

    Equation: best-training, ``argmin of E`` over the share of D0 in a total load, eta_w (with
    eta_b in proportion), the sharpness k and the ridge. At the given beta k is proportional to
    eta_q, which is set by it. Quadratic models of the test error (COBYQA) lead from the
    better of `best_split` and `best_beta` with the stages as given: the result
    is never worse than either. The ridge is at most 1: a larger one often has the least test
    error in the limit, but scores of order 1/ridge, which at finite n1 the chance imbalance of
    the classes outweighs through the bias unless n1 is far above ridge^2.

    Parameters
    ----------
    problem : SparseTokenProblem
    model : Model
        With steps that find its query; step sizes > 0 are where the search starts.
    readout : Readout
        Its ridge in [1e-6, 1] is where the search starts.
    total : float
        alpha0 + alpha1 in [1e-3, 1e9].
    evaluations : int
        The most predictions, after about 40 of the two searches of one number. At least 1.
    tolerance : float
        Of the test error, as for `predict`.
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Raises
    ------
    InvalidInput
        If a value is outside its range, or the query is zero (one token, no step).

    See Also
    --------
    best_split : The best split of the labels.
    best_beta : The best inverse temperature.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> model, readout = st.Attention(st.TwoSteps()), st.Readout("square", ridge=0.1)
    >>> few = {"evaluations": 1, "tolerance": 1e-2}
    >>> found = st.tuning.best_training(problem, model, readout, total=3.0, **few)
    >>> 0 < found.steps.alpha0 < 3
    True
    """
    steps = _steps_of(problem, model, readout)
    total = real("total (alpha0 + alpha1)", total, 1e-3, LARGEST_LOAD)
    integer("evaluations", evaluations, 1)
    for name in ("eta_w", "eta_q"):
        real(name, getattr(steps, name), 0.0, open_low=True, remedy="The search multiplies it.")
    real("ridge", readout.ridge, *_RIDGES, remedy="The search starts from it.")
    real("alpha1 (n1/d)", readout.alpha1, 0.0, LARGEST_LOAD, open_low=True)

    def stages(point: Point) -> tuple[TwoSteps, Readout]:
        share, log_w, log_k, log_ridge = point
        eta_w = math.exp(log_w)
        eta_b = steps.eta_b / steps.eta_w * eta_w
        moved = dataclasses.replace(steps, eta_w=eta_w, eta_b=eta_b, eta_q=1.0)
        fitted = dataclasses.replace(readout, ridge=math.exp(log_ridge))
        unit, fitted = _split(moved, fitted, total, share)
        eta_q = min(math.exp(log_k) / _sharpness_of(problem, unit), LARGEST_VALUE)
        return dataclasses.replace(unit, eta_q=eta_q), fitted

    w = math.log(steps.eta_w)
    least_k, most_k, least_ridge, most_ridge = map(math.log, (*_SHARPNESSES, *_RIDGES))
    ranges = (
        _SHARES,
        Range("eta_w", w - _FACTOR, w + _FACTOR, "start from another value"),
        Range("sharpness", least_k, most_k, "take the pooled model, or the largest token"),
        Range("ridge", least_ridge, most_ridge, "larger ones help only in the limit"),
    )
    given = _split(steps, readout, total, math.log(steps.alpha0 / readout.alpha1))
    starts = [
        best_split(problem, model, readout, total, tolerance=tolerance),
        best_beta(problem, _with_steps(model, given[0]), given[1], tolerance=tolerance),
    ]
    points = [
        (
            math.log(start.share / (1 - start.share)),
            w,
            math.log(start.prediction.sharpness),
            math.log(readout.ridge),
        )
        for start in starts
    ]
    with progress_of("predictions", evaluations, progress) as done:
        return _best_of(stages, problem, model, tolerance, ranges, points, evaluations, done)


def _steps_of(problem: SparseTokenProblem, model: Model, readout: Readout) -> TwoSteps:
    """Return the steps that find the query of a model, or raise `InvalidInput`."""
    require_problem(problem)
    require_numbers(problem, model, readout)
    entry_of(model)
    require_readout(readout)
    if not isinstance(model.query, TwoSteps):
        legal = "one whose query is found by TwoSteps, such as Attention()"
        raise InvalidInput("model", legal, model)
    return model.query


def _with_steps(model: Model, steps: TwoSteps) -> Model:
    """Return the model whose query these steps find."""
    return dataclasses.replace(model, query=steps)  # type: ignore[call-arg]


def _split(
    steps: TwoSteps, readout: Readout, total: float, logit: float
) -> tuple[TwoSteps, Readout]:
    """Return the stages with a total load split, by the logit of the share of D0."""
    alpha0, alpha1 = total / (1 + math.exp(-logit)), total / (1 + math.exp(logit))
    return dataclasses.replace(steps, alpha0=alpha0), dataclasses.replace(readout, alpha1=alpha1)


def _sharpness_of(problem: SparseTokenProblem, steps: TwoSteps) -> float:
    """Return the sharpness of the query that steps find, or raise `InvalidInput` if it is 0."""
    sharpness = align(problem, steps).sharpness
    remedy = "Use eta_q, eta_w > 0 and more than one token."
    return real("norm of the query", sharpness, 0.0, open_low=True, remedy=remedy)


def _best_of(
    stages: Callable[[Point], tuple[TwoSteps, Readout]],
    problem: SparseTokenProblem,
    model: Model,
    tolerance: float,
    ranges: Sequence[Range],
    starts: Sequence[Point],
    *limits: Any,
) -> BestTraining:
    """Search over the numbers on which the stages depend; the rest is as for `search`."""

    def evaluate(point: Point) -> Prediction:
        steps, readout = stages(point)
        (prediction,) = predict_readouts(problem, _with_steps(model, steps), [readout], tolerance)
        return prediction

    optimum = search(evaluate, ranges, starts, *limits)
    steps, readout = stages(optimum.point)
    return BestTraining(steps, readout, optimum.result, optimum.evaluations, optimum.status)
