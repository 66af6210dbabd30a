"""All choices of the four stages together: split, steps, sharpness and ridge."""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np
import scipy

from sparsetoken.models import Model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.progress import progress_of
from sparsetoken.results import Prediction, Status, StatusCode
from sparsetoken.stages import Readout, TwoSteps
from sparsetoken.theory.tuning.one_number import (
    LEAST_SHARE,
    best_beta,
    best_split,
    loads,
    predicted,
    steps_of,
)
from sparsetoken.validation import LARGEST_LOAD, integer, real

_FIRST_MOVE = 0.7  # of each coordinate, a factor of two
_NEAR = 0.02  # in logarithms: the test error is flat to second order
_FLAT = 1e-3  # of the logarithm of the test error
_FACTOR = math.log(1e3)  # by which step sizes may differ from those given
_RIDGES = (1e-6, 1.0)
"""Beyond 1 scores are so small that at dimensions of about 1000 the chance imbalance of the
classes, which moves the bias by about 1/sqrt(n1), decides many: see theory/imbalance.py."""


@dataclasses.dataclass(frozen=True)
class BestTraining:
    """The best use of a fixed number of samples by the four stages.

    Attributes
    ----------
    share : float
        alpha0 / (alpha0 + alpha1).
    steps : TwoSteps
        With alpha0 and the step sizes; the sharpness is set by eta_q at the given beta.
    readout : Readout
        With alpha1 and the ridge.
    prediction : Prediction
        What the classifier is worth there.
    evaluations : int
        How many predictions the search took.
    status : Status
        ``no_limit`` when a choice is best at an end of its range.
    """

    share: float
    steps: TwoSteps
    readout: Readout
    prediction: Prediction
    evaluations: int
    status: Status


class _Choice(NamedTuple):
    """Logarithms of what is chosen; of the share, its logit."""

    share: float
    eta_w: float
    eta_q: float
    ridge: float


class _Search:
    """Predictions over choices, and the best of those that converged."""

    def __init__(
        self,
        problem: SparseTokenProblem,
        model: Model,
        readout: Readout,
        total: float,
        tolerance: float,
    ) -> None:
        self._given = problem, model, readout, total, tolerance
        self._steps = steps_of(problem, model, readout)
        self.seen: dict[_Choice, Prediction] = {}
        w, q = math.log(self._steps.eta_w), math.log(self._steps.eta_q)
        self.bounds = (
            (math.log(LEAST_SHARE / (1 - LEAST_SHARE)), math.log(1 / LEAST_SHARE - 1)),
            (w - _FACTOR, w + _FACTOR),
            (q - _FACTOR, q + _FACTOR),
            (math.log(_RIDGES[0]), math.log(_RIDGES[1])),
        )

    def stages(self, choice: _Choice) -> tuple[TwoSteps, Readout]:
        """Return the stages of a choice; the step of the bias follows that of the readout."""
        _, _, readout, total, _ = self._given
        alpha0, alpha1 = loads(total, choice.share)
        ratio = self._steps.eta_b / self._steps.eta_w
        eta_w = math.exp(choice.eta_w)
        steps = dataclasses.replace(
            self._steps,
            alpha0=alpha0,
            eta_w=eta_w,
            eta_b=ratio * eta_w,
            eta_q=math.exp(choice.eta_q),
        )
        return steps, dataclasses.replace(readout, alpha1=alpha1, ridge=math.exp(choice.ridge))

    def error(self, at: np.ndarray) -> float:
        """Return the logarithm of the test error, infinite where it is not known."""
        choice = _Choice(*(float(np.clip(x, *b)) for x, b in zip(at, self.bounds, strict=True)))
        if choice not in self.seen:
            problem, model, _, _, tolerance = self._given
            self.seen[choice] = predicted(problem, model, *self.stages(choice), tolerance)
        return self._logarithm(self.seen[choice])

    @staticmethod
    def _logarithm(found: Prediction) -> float:
        known = found.status.converged and found.test_error > 0
        return math.log(found.test_error) if known else math.inf

    def best(self) -> _Choice:
        """Return the choice with the least test error."""
        return min(self.seen, key=lambda choice: self._logarithm(self.seen[choice]))


def best_training(
    problem: SparseTokenProblem,
    model: Model,
    readout: Readout,
    total: float,
    *,
    evaluations: int = 60,
    tolerance: float = 1e-4,
    progress: bool = True,
) -> BestTraining:
    """Return the split, step sizes, sharpness and ridge with the least test error together.

    Equation: best-training, ``argmin of E`` over the share of D0 in a total load, eta_w (with
    eta_b in proportion), eta_q and the ridge. The sharpness k is proportional to
    ``eta_q beta^2``, so that eta_q chooses it at the given beta. The simplex of Nelder and Mead
    starts at the better of `best_split` and `best_beta` with the stages as given: the result
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
        The most predictions of the simplex, after about 40 of the two searches. At least 1.
    tolerance : float
        Of the test error, as for `predict`.
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Raises
    ------
    InvalidInput
        If a value is outside its range, or the query has no length (one token, no step).
    """
    steps = steps_of(problem, model, readout)
    total = real("total (alpha0 + alpha1)", total, 1e-3, LARGEST_LOAD)
    integer("evaluations", evaluations, 1)
    for name in ("eta_w", "eta_q"):
        real(name, getattr(steps, name), 0.0, open_low=True, remedy="The search multiplies it.")
    real("ridge", readout.ridge, *_RIDGES, remedy="The search starts from it.")
    real("alpha1 (n1/d)", readout.alpha1, 0.0, LARGEST_LOAD, open_low=True)
    search = _Search(problem, model, readout, total, tolerance)
    starts = _starts(problem, model, readout, total, tolerance)
    first = np.array(min(starts, key=lambda choice: search.error(np.array(choice))))
    options = {
        "initial_simplex": np.stack([first, *(first + _FIRST_MOVE * np.eye(len(first)))]),
        "maxfev": evaluations,
        "xatol": _NEAR,
        "fatol": _FLAT,
    }
    with progress_of("predictions", evaluations, progress) as done:

        def error(at: np.ndarray) -> float:
            done()
            return search.error(at)

        scipy.optimize.minimize(
            error, first, method="Nelder-Mead", bounds=search.bounds, options=options
        )
    return _result(search)


def _starts(
    problem: SparseTokenProblem,
    model: Model,
    readout: Readout,
    total: float,
    tolerance: float,
) -> list[_Choice]:
    """Return the choices of the searches of one number, each from the stages as given."""
    steps = steps_of(problem, model, readout)
    scale = total / (steps.alpha0 + readout.alpha1)
    given = dataclasses.replace(steps, alpha0=scale * steps.alpha0)
    at = dataclasses.replace(model, query=given)  # type: ignore[call-arg]
    fitted = dataclasses.replace(readout, alpha1=scale * readout.alpha1)
    beta = best_beta(problem, at, fitted, tolerance=tolerance).beta
    share = best_split(problem, model, readout, total, tolerance=tolerance).share
    w, q, ridge = (math.log(x) for x in (steps.eta_w, steps.eta_q, readout.ridge))
    return [
        _Choice(math.log(share / (1 - share)), w, q, ridge),
        _Choice(
            math.log(given.alpha0 / fitted.alpha1), w, q + 2 * math.log(beta / steps.beta), ridge
        ),
    ]


def _result(search: _Search) -> BestTraining:
    choice = search.best()
    steps, readout = search.stages(choice)
    share = 1 / (1 + math.exp(-choice.share))
    prediction = search.seen[choice]
    status = prediction.status
    ends = [
        name
        for name, x, bounds in zip(_Choice._fields, choice, search.bounds, strict=True)
        if x in bounds
    ]
    if status.converged and ends:
        what = f"The test error is least at an end of the range of {', '.join(ends)}."
        status = Status(StatusCode.NO_LIMIT, f"{what} Start from other values.")
    return BestTraining(share, steps, readout, prediction, len(search.seen), status)
