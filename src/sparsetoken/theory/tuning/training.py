"""The best training by four stages: split of samples, steps, sharpness and ridge."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from sparsetoken.base.progress import progress_of
from sparsetoken.base.tables import Shown
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
from sparsetoken.results import Prediction, Status
from sparsetoken.theory.alignment.two_steps import align
from sparsetoken.theory.predict import predict_readouts
from sparsetoken.theory.tuning.search import Point, Range, search, search_ended

_FACTOR = math.log(1e3)  # by which the step of the readout may differ from the one given
_RIDGES = (1e-6, 1.0)
"""Beyond 1 scores are so small that at dimensions of about 1000 the chance imbalance of the
classes, which moves the bias by about 1/sqrt(n1), decides many: see docs/descent.md."""

_RANGES = {
    "share": Range("share", -math.log(99), math.log(99), "one stage needs hardly any samples"),
    "sharpness": Range(
        "sharpness", math.log(1e-2), math.log(1e2), "take the pooled model, or the largest token"
    ),
    "eta_w": Range("eta_w", -_FACTOR, _FACTOR, "start from another value"),
    "ridge": Range(
        "ridge", math.log(_RIDGES[0]), math.log(_RIDGES[1]), "larger ones help only in the limit"
    ),
}
"""The logit of the share of D0, and logarithms: of eta_w relative to the one given."""

_ALONE = ("share", "sharpness")  # first searched one by one: there may be several valleys


@dataclasses.dataclass(frozen=True, repr=False)
class BestTraining(Shown):
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

    def _shown(self) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
        steps, readout = self.steps, self.readout
        given = {name: getattr(steps, name) for name in ("alpha0", "eta_w", "eta_b", "eta_q")}
        row = {"share": self.share, **given, "alpha1": readout.alpha1, "ridge": readout.ridge}
        row |= self.prediction.to_dict()
        return [row], (search_ended(self.evaluations, self.status), *self.prediction.advice)


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
    eta_q, which is set by it. Quadratic models of the test error (COBYQA) lead from the better of
    the searches over the share and over the sharpness alone, so that the result is never worse than
    either. The ridge is at most 1: a larger one often has the least test error in the limit, but
    scores of order 1/ridge, which at finite n1 the chance imbalance of the classes outweighs
    through the bias unless n1 is far above ridge^2.

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
    evaluations : int
        The most predictions, after about 40 of the two searches of one number. At least 1.
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
    steps = _steps_of(problem, model, readout)
    names = [choice("free", name, tuple(_RANGES)) for name in free]
    if not names or len(set(names)) < len(names):
        raise InvalidInput("free", f"different names among {', '.join(_RANGES)}", free)
    integer("evaluations", evaluations, 1)
    if "sharpness" in names:
        real("eta_q", steps.eta_q, 0.0, open_low=True, remedy="The search multiplies it.")
    if "eta_w" in names:
        real("eta_w", steps.eta_w, 0.0, open_low=True, remedy="The search multiplies it.")
    if "ridge" in names:
        real("ridge", readout.ridge, *_RIDGES, remedy="The search starts from it.")
    if total is not None or "share" in names:
        real("alpha1 (n1/d)", readout.alpha1, 0.0, LARGEST_LOAD, open_low=True)
        given = steps.alpha0 + readout.alpha1
        total = real(
            "total (alpha0 + alpha1)", given if total is None else total, 1e-3, LARGEST_LOAD
        )
        steps, readout = _split(steps, readout, total, steps.alpha0 / given)

    def stages(at: dict[str, float]) -> tuple[TwoSteps, Readout]:
        """Return the stages at some numbers, with all others as given."""
        factor, fitted = math.exp(at.get("eta_w", 0.0)), readout
        moved = dataclasses.replace(steps, eta_w=factor * steps.eta_w, eta_b=factor * steps.eta_b)
        if "share" in at and total is not None:
            moved, fitted = _split(moved, fitted, total, 1 / (1 + math.exp(-at["share"])))
        if "sharpness" in at:
            unit = align(problem, dataclasses.replace(moved, eta_q=1.0)).sharpness
            remedy = "Use eta_w > 0 and more than one token."
            real("norm of the query", unit, 0.0, open_low=True, remedy=remedy)
            eta_q = min(math.exp(at["sharpness"]) / unit, LARGEST_VALUE)
            moved = dataclasses.replace(moved, eta_q=eta_q)
        if "ridge" in at:
            fitted = dataclasses.replace(fitted, ridge=math.exp(at["ridge"]))
        return moved, fitted

    def best(names: Sequence[str], starts: Sequence[Point], *limits: Any) -> BestTraining:
        def evaluate(point: Point) -> Prediction:
            query, fitted = stages(dict(zip(names, point, strict=True)))
            queried = dataclasses.replace(model, query=query)  # type: ignore[call-arg]
            return predict_readouts(problem, queried, [fitted], tolerance)[0]

        optimum = search(evaluate, [_RANGES[name] for name in names], starts, *limits)
        ends = stages(dict(zip(names, optimum.point, strict=True)))
        return BestTraining(*ends, optimum.result, optimum.evaluations, optimum.status)

    with progress_of("predictions", evaluations, progress) as done:
        if len(names) == 1:
            return best(names, _RANGES[names[0]].scan(), evaluations, done)
        alone: list[Any] = [best([one], _RANGES[one].scan()) for one in names if one in _ALONE]

        def start(name: str, found: Any) -> float:
            if name == "share":
                return math.log(found.steps.alpha0 / found.readout.alpha1)
            if name == "sharpness":  # of a query that is not zero
                return math.log(found.prediction.sharpness)
            return math.log(readout.ridge) if name == "ridge" else 0.0

        points = [tuple(start(name, one) for name in names) for one in alone or [None]]
        return best(names, points, evaluations, done)


def _steps_of(problem: SparseTokenProblem, model: Model, readout: Readout) -> TwoSteps:
    """Return the steps that find the query of a model, or raise `InvalidInput`."""
    require_problem(problem)
    require_numbers(problem, model, readout)
    require_model(model)
    require_readout(readout)
    if not isinstance(model.query, TwoSteps):
        legal = "one whose query is found by TwoSteps, such as Attention()"
        raise InvalidInput("model", legal, model)
    return model.query


def _split(
    steps: TwoSteps, readout: Readout, total: float, share: float
) -> tuple[TwoSteps, Readout]:
    """Return the stages with a total load split, of which D0 has a share."""
    moved = dataclasses.replace(steps, alpha0=total * share)
    return moved, dataclasses.replace(readout, alpha1=total * (1 - share))
