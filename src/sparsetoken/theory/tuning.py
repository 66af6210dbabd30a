"""The best training by four stages: split of samples, steps, sharpness and ridge."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import scipy

from sparsetoken.base.progress import progress_of
from sparsetoken.base.validation import (
    LARGEST_LOAD,
    LARGEST_VALUE,
    InvalidInput,
    choice,
    integer,
    real,
)
from sparsetoken.model.models import Model, require_model
from sparsetoken.model.problem import SparseTokenProblem, require_problem
from sparsetoken.model.stages import Readout, TwoSteps, require_readout
from sparsetoken.model.values import require_numbers
from sparsetoken.results import CONVERGED, Prediction, Status, StatusCode
from sparsetoken.theory.predict import predict_readouts
from sparsetoken.theory.query.two_steps import align

__all__ = ["BestTraining", "best_training"]
__dir__ = __all__.copy

_RANGES: dict[str, tuple[float, float, str]] = {
    "share": (-math.log(99), math.log(99), "one stage needs hardly any samples"),
    "sharpness": (math.log(1e-2), math.log(1e2), "take the pooled model, or the largest token"),
    "eta_w": (-math.log(1e3), math.log(1e3), "start from another value"),
    "ridge": (math.log(1e-6), math.log(1.0), "larger ones help only in the limit"),
}
"""The logit of the share of D0, and logarithms: of eta_w relative to the one given. Beyond a ridge
of 1 scores are so small that at dimensions of about 1000 the chance imbalance of the classes, which
moves the bias by about 1/sqrt(n1), decides many: see docs/descent.md."""
_SCAN, _VALLEYS = 9, ("share", "sharpness")  # points of ranges that may have several valleys
_FIRST, _NEAR = 0.5, 0.03  # steps of the search: the error is flat to second order


@dataclasses.dataclass(frozen=True)
class BestTraining:
    """The best training by four stages found by a search.

    Attributes
    ----------
    steps : TwoSteps
        With the load alpha0 of D0.
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


def best_training(
    problem: SparseTokenProblem,
    model: Model,
    readout: Readout,
    total: float | None = None,
    *,
    free: Sequence[str] = tuple(_RANGES),
    evaluations: int = 150,
    tolerance: float = 1e-4,
    progress: bool = True,
) -> BestTraining:
    """Return the split, step sizes, sharpness and ridge with the smallest test error.

    Equation: best-training, ``argmin of E`` over the share of D0 in a total load, eta_w (with
    eta_b in proportion), the sharpness k and the ridge. At the given beta k is proportional to
    eta_q, which is set by it. The ranges of share and sharpness are scanned in turn; quadratic
    models of the test error (COBYQA) lead on from the best point. The ridge is at most 1: a larger
    one often has the least test error in the limit, but scores of order 1/ridge, which at finite n1
    the chance imbalance of the classes outweighs through the bias unless n1 is far above ridge^2.

    Equation: best-split, ``argmin over alpha0 of E(alpha0, total - alpha0)``, where the share
    alone is free. Samples of D0 turn the query, samples of D1 fit the readout. The sharpness
    follows alpha0 at the given step sizes and beta.

    Equation: best-sharpness, where the sharpness alone is free. The cosine of the query does not
    depend on eta_q or beta: this is the best sharpness for the query at hand.

    Parameters
    ----------
    problem : SparseTokenProblem
    model : Model
        With steps that find its query; step sizes > 0 are where the search starts.
    readout : Readout
        Its ridge is where the search starts, in [1e-6, 1] if it is free.
    total : float, optional
        alpha0 + alpha1 in [1e-3, 1e9], in the proportion of the loads given where the share is not
        free; by default their sum.
    free : sequence of str
        What is searched, at least one of share, sharpness, eta_w and ridge; all else stays. The
        share is in [0.01, 0.99], the sharpness in [0.01, 100].
    evaluations : int >= 1
        The most predictions of COBYQA, after ten to twenty of the scans.
    tolerance : float
        Of the test error, as for `predict`. The least error is then as sharp; where it is attained
        is known only as far as errors differ by more.
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Raises
    ------
    InvalidInput
        If a value is outside its range, or the query whose sharpness is searched is zero (one
        token, no step).

    See Also
    --------
    sparsetoken.predict : The test error of one training.

    References
    ----------
    T. M. Ragonneau, Model-based derivative-free optimization methods and software, 2022.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> model, readout = st.Attention(st.TwoSteps()), st.Readout("square", ridge=0.1)
    >>> options = {"free": ["share"], "tolerance": 1e-2}
    >>> found = st.tuning.best_training(problem, model, readout, total=3.0, **options)
    >>> 0 < found.share < 1
    True
    """
    require_problem(problem)
    require_numbers(problem, model, readout)
    require_model(model)
    require_readout(readout)
    steps = model.query
    if not isinstance(steps, TwoSteps):
        legal = "one whose query is found by TwoSteps, such as Attention()"
        raise InvalidInput("model", legal, model)
    names = [choice("free", name, tuple(_RANGES)) for name in free]
    if not names or len(set(names)) < len(names):
        raise InvalidInput("free", f"different names among {', '.join(_RANGES)}", free)
    integer("evaluations", evaluations, 1)
    for name, step in (("sharpness", "eta_q"), ("eta_w", "eta_w")):
        if name in names:
            remedy = "The search multiplies it."
            real(step, getattr(steps, step), 0.0, open_low=True, remedy=remedy)
    if "ridge" in names:
        real("ridge", readout.ridge, 1e-6, 1.0, remedy="The search starts from it.")
    if total is not None or "share" in names:
        real("alpha1 (n1/d)", readout.alpha1, 0.0, LARGEST_LOAD, open_low=True)
        given = steps.alpha0 + readout.alpha1
        load = given if total is None else total
        load = real("total (alpha0 + alpha1)", load, 1e-3, LARGEST_LOAD) / given
        steps = dataclasses.replace(steps, alpha0=load * steps.alpha0)
        readout = dataclasses.replace(readout, alpha1=load * readout.alpha1)

    failed: list[Status] = []

    @functools.cache
    def at(*point: float) -> tuple[TwoSteps, Readout, Prediction]:
        query, fitted = _stages(problem, steps, readout, dict(zip(names, point, strict=True)))
        queried = dataclasses.replace(model, query=query)  # type: ignore[call-arg]
        (found,) = predict_readouts(problem, queried, [fitted], tolerance)
        if found.status.code not in (StatusCode.CONVERGED, StatusCode.NO_LIMIT):
            failed.append(found.status)
        done()
        return query, fitted, found

    def error(point: np.ndarray) -> float:
        found = at(*point.tolist())[-1]
        return float(found.test_error) if found.status.converged else 1.0

    low, high = np.array([_RANGES[name][:2] for name in names]).T
    best = np.clip([_start(problem, steps, readout, name) for name in names], low, high)
    options = {"maxfev": evaluations, "initial_tr_radius": _FIRST, "final_tr_radius": _NEAR}
    with progress_of("predictions", 2 * _SCAN + 1 + evaluations, progress) as done:
        for place in (i for i, name in enumerate(names) if name in _VALLEYS or len(names) == 1):
            scan = np.repeat(best[None], _SCAN, axis=0)
            scan[:, place] = np.linspace(low[place], high[place], _SCAN)
            best = min([best, *scan], key=error)
        bounds = scipy.optimize.Bounds(low, high)
        ended = scipy.optimize.minimize(error, best, (), "COBYQA", bounds=bounds, options=options)
    found = at(*ended.x.tolist())
    status = found[-1].status
    if status.converged:
        status = _status(ended.success, failed, dict(zip(names, ended.x, strict=True)))
    return BestTraining(*found, at.cache_info().misses, status)


def _status(finished: bool, failed: Sequence[Status], best: Mapping[str, float]) -> Status:
    """Return how a search ended, at the best of the free numbers."""
    said = []
    if not finished:
        remedy = "The search ran out of its evaluations; allow more."
        said.append(Status(StatusCode.MAX_ITERATIONS, remedy))
    if failed:
        remedy = f"{len(failed)} predictions failed: {failed[0].remedy}"
        said.append(Status(failed[0].code, remedy))
    for name, x in best.items():
        low, high, remedy = _RANGES[name]
        if min(x - low, high - x) <= _NEAR:
            what = f"The test error is smallest at the end of the range of {name}"
            said.append(Status(StatusCode.NO_LIMIT, f"{what}; {remedy}."))
    return Status(said[0].code, " ".join(one.remedy for one in said)) if said else CONVERGED


def _start(problem: SparseTokenProblem, steps: TwoSteps, readout: Readout, name: str) -> float:
    """Return one of the free numbers, as it is given."""
    if name == "share":
        return math.log(steps.alpha0 / readout.alpha1)
    if name == "sharpness":
        return math.log(steps.eta_q * _unit_sharpness(problem, steps))
    return math.log(readout.ridge) if name == "ridge" else 0.0


def _unit_sharpness(problem: SparseTokenProblem, steps: TwoSteps) -> float:
    """Return the sharpness at eta_q = 1, to which it is proportional."""
    unit = align(problem, dataclasses.replace(steps, eta_q=1.0)).sharpness
    remedy = "Use eta_w > 0 and more than one token."
    return real("norm of the query", unit, 0.0, open_low=True, remedy=remedy)


def _stages(
    problem: SparseTokenProblem, steps: TwoSteps, readout: Readout, at: Mapping[str, float]
) -> tuple[TwoSteps, Readout]:
    """Return the stages at some numbers, with all others as given."""
    factor = math.exp(at.get("eta_w", 0.0))
    steps = dataclasses.replace(steps, eta_w=factor * steps.eta_w, eta_b=factor * steps.eta_b)
    if "share" in at:
        total, share = steps.alpha0 + readout.alpha1, 1 / (1 + math.exp(-at["share"]))
        steps = dataclasses.replace(steps, alpha0=total * share)
        readout = dataclasses.replace(readout, alpha1=total * (1 - share))
    if "sharpness" in at:
        eta_q = math.exp(at["sharpness"]) / _unit_sharpness(problem, steps)
        steps = dataclasses.replace(steps, eta_q=min(eta_q, LARGEST_VALUE))
    if "ridge" in at:
        readout = dataclasses.replace(readout, ridge=math.exp(at["ridge"]))
    return steps, readout
