"""Searches over predictions for the best split of samples and the best sharpness."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

from sparsetoken.models import Model, entry_of
from sparsetoken.problem import SparseTokenProblem, require_problem
from sparsetoken.results import Prediction, Status
from sparsetoken.stages import Readout, TwoSteps, require_readout
from sparsetoken.theory.alignment.two_steps import align
from sparsetoken.theory.predict import predict_readouts
from sparsetoken.theory.tuning.search import Point, Range, search
from sparsetoken.validation import LARGEST_LOAD, LARGEST_VALUE, InvalidInput, real
from sparsetoken.values import require_numbers

SHARES = Range("share", -math.log(99), math.log(99), "one stage needs hardly any samples")
SHARPNESSES = 1e-2, 1e2
"""Shares of D0, by their logits, and sharpnesses that are searched."""


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

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> model, readout = st.Attention(st.TwoSteps()), st.Readout("square", ridge=0.1)
    >>> found = st.tuning.best_split(problem, model, readout, total=3.0, tolerance=1e-2)
    >>> 0 < found.share < 1
    True
    """
    steps, total = steps_of(problem, model, readout), load_of(total)

    def stages(point: Point) -> tuple[TwoSteps, Readout]:
        return split(steps, readout, total, *point)

    return best_of(stages, problem, model, tolerance, [SHARES], SHARES.scan())


def best_beta(
    problem: SparseTokenProblem,
    model: Model,
    readout: Readout,
    *,
    sharpness: tuple[float, float] = SHARPNESSES,
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
        If a value is outside its range, or the query has no length (one token, no step).

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> model, readout = st.Attention(st.TwoSteps()), st.Readout("square", ridge=0.1)
    >>> found = st.tuning.best_beta(problem, model, readout, tolerance=1e-2)
    >>> found.steps.beta > 0
    True
    """
    steps = steps_of(problem, model, readout)
    low = real("sharpness, low end", sharpness[0], 0.0, LARGEST_VALUE, open_low=True)
    high = real("sharpness, high end", sharpness[1], low, LARGEST_VALUE, open_low=True)
    unit = sharpness_of(problem, dataclasses.replace(steps, beta=1.0))
    ends = [0.5 * math.log(k / unit) for k in (low, high)]
    betas = Range("beta", ends[0], ends[1], "give a wider range of the sharpness")

    def stages(point: Point) -> tuple[TwoSteps, Readout]:
        return dataclasses.replace(steps, beta=math.exp(*point)), readout

    return best_of(stages, problem, model, tolerance, [betas], betas.scan())


def steps_of(problem: SparseTokenProblem, model: Model, readout: Readout) -> TwoSteps:
    """Return the steps that find the query of a model, or raise `InvalidInput`."""
    require_problem(problem)
    require_numbers(problem, model, readout)
    entry_of(model)
    require_readout(readout)
    if not isinstance(model.query, TwoSteps):
        legal = "one whose query is found by TwoSteps, such as Attention()"
        raise InvalidInput("model", legal, model)
    return model.query


def with_steps(model: Model, steps: TwoSteps) -> Model:
    """Return the model whose query these steps find."""
    return dataclasses.replace(model, query=steps)  # type: ignore[call-arg]


def load_of(total: float) -> float:
    """Return a total load, or raise `InvalidInput`."""
    return real("total (alpha0 + alpha1)", total, 1e-3, LARGEST_LOAD)


def split(
    steps: TwoSteps, readout: Readout, total: float, logit: float
) -> tuple[TwoSteps, Readout]:
    """Return the stages with a total load split, by the logit of the share of D0."""
    alpha0, alpha1 = total / (1 + math.exp(-logit)), total / (1 + math.exp(logit))
    return dataclasses.replace(steps, alpha0=alpha0), dataclasses.replace(readout, alpha1=alpha1)


def sharpness_of(problem: SparseTokenProblem, steps: TwoSteps) -> float:
    """Return the sharpness of the query that steps find, or raise `InvalidInput` if it is 0."""
    found = align(problem, steps).sharpness
    remedy = "Use eta_q, eta_w > 0 and more than one token."
    return real("length of the query", found, 0.0, open_low=True, remedy=remedy)


def best_of(
    stages: Callable[[Point], tuple[TwoSteps, Readout]],
    problem: SparseTokenProblem,
    model: Model,
    tolerance: float,
    ranges: Sequence[Range],
    starts: Sequence[Point],
    *limits: Any,
) -> BestTraining:
    """Search over the numbers on which the stages depend; the rest is as for `search`."""

    def worth(point: Point) -> Prediction:
        steps, readout = stages(point)
        (found,) = predict_readouts(problem, with_steps(model, steps), [readout], tolerance)
        return found

    found = search(worth, ranges, starts, *limits)
    steps, readout = stages(found.point)
    return BestTraining(steps, readout, found.result, found.evaluations, found.status)
