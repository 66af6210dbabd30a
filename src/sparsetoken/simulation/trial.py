"""One trial of the four stages: a query, a training set, a fit, its performance."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import NamedTuple

import numpy as np

from sparsetoken.base.validation import InvalidInput, real
from sparsetoken.model.models import Model, require_model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import (
    Query,
    Readout,
    TwoSteps,
    query_cosines,
    require_readout,
)
from sparsetoken.model.tokens import Isotropic, check_dimension
from sparsetoken.model.values import require_numbers
from sparsetoken.numerics.erm import ReadoutFit, fit_readout
from sparsetoken.results import CONVERGED, Status, StatusCode, TrialOutcome
from sparsetoken.simulation.features import FeatureSampler, sampler_of
from sparsetoken.simulation.frames import Design, TrainedQuery, training_size
from sparsetoken.simulation.parallel import Trial
from sparsetoken.simulation.performance import expected_performance, measured_performance, project
from sparsetoken.simulation.seeds import Stream, stream
from sparsetoken.simulation.setting import Engine, Setting
from sparsetoken.simulation.sizes import require_size


class Drawn(NamedTuple):
    """The engine of a trial, and its training set of stage 4."""

    engine: Engine
    design: Design


@dataclasses.dataclass(frozen=True)
class TrialPlan:
    """All that determines the distribution of a trial."""

    problem: SparseTokenProblem
    model: Model
    readout: Readout
    setting: Setting
    test_problem: SparseTokenProblem | None = None

    def __post_init__(self) -> None:
        require_model(self.model)
        require_readout(self.readout)
        require_numbers(self.problem, self.model, self.readout, self.test_problem)
        real("alpha1 (n1/d)", self.readout.alpha1, 0.0, remedy="A simulation needs finite data.")
        if not isinstance(self.tested, SparseTokenProblem):
            raise InvalidInput("test_problem", "a SparseTokenProblem or None", self.test_problem)
        self.model.check_test_problem(self.problem, self.tested)
        check_dimension(self.problem.tokens, self.setting.dimension)
        self._check_given_query()
        self._check_size()

    @functools.cached_property
    def sampler(self) -> FeatureSampler:
        """What samples the features of the model."""
        return sampler_of(self.model, self.problem)

    @property
    def tested(self) -> SparseTokenProblem:
        """The problem of new data."""
        return self.problem if self.test_problem is None else self.test_problem

    def _check_given_query(self) -> None:
        query, tokens = self.model.query, self.problem.tokens
        if not isinstance(query, Query):
            return
        (s,), k = query_cosines(query, ("",), tokens), query.sharpness
        if isinstance(tokens, Isotropic):
            # Of other tokens, what scores are like depends on the direction.
            self._check_query(TrainedQuery(query, k * s, k, np.array([1.0, 0.0])))

    def _check_query(self, trained: TrainedQuery) -> None:
        for problem in (self.problem, self.tested):
            sampler_of(self.model, problem).check_query(trained)

    def _check_size(self) -> None:
        engine = self.setting.engine
        L, d = self.problem.length, self.setting.dimension
        longest, n = max(L, self.tested.length), training_size(self.readout.alpha1, d)
        whole = isinstance(self.problem.tokens, Isotropic)
        columns, positions = self.sampler.positions * d, self.sampler.positions
        if engine == "reduced" and whole:  # the noise in two directions or one, and in the rest
            columns = min(columns, n + 2 * positions)
        row = longest * d if engine == "tensors" else longest
        found = self.setting.query_numbers(self.problem, self.model.query)
        require_size(max(n * columns, row, found), d, L, "alpha1")

    def draw(self, trial: int) -> Drawn:
        """Return the engine and the training set of stage 4, with its query."""
        engine = self.setting.start(self.problem, trial)
        trained = self._trained(engine)
        if trained is not None:
            self._check_query(trained)
        n = training_size(self.readout.alpha1, self.setting.dimension)
        return Drawn(engine, engine.design(self.sampler, trained, n))

    def _trained(self, engine: Engine) -> TrainedQuery | None:
        query = self.model.query
        if isinstance(query, Query):
            return engine.frame.given(query, stream(engine.seed, Stream.QUERY))
        if isinstance(query, TwoSteps):
            return engine.train_query(query)
        return None

    @np.errstate(under="ignore")
    def run(self, trial: int) -> Trial[TrialOutcome]:
        """Run one trial; its seed is a function of the setting and its number."""
        engine, design = self.draw(trial)
        readout, y, trained = self.readout, design.labels, design.query
        fit = fit_readout(design.features, y, readout.loss, readout.ridge)
        projections = project(
            design.frame, design.query, fit.w, fit.b, self.sampler.positions, dimension=len(fit.w)
        )
        rng = stream(engine.seed, Stream.TEST)
        scores = sampler_of(self.model, self.tested).scores(trained, projections, rng)
        performance = expected_performance(self.tested.positive_rate, scores)
        query = None if trained is None else trained.query
        outcome = TrialOutcome(
            test_error=performance.test_error,
            training_loss=float(np.mean(readout.loss.value(y, fit.scores))),
            training_error=measured_performance(fit.scores, y).test_error,
            auc=performance.auc,
            overlaps=projections.overlaps,
            cosine=math.nan if query is None else query.cosine,
            sharpness=math.nan if query is None else query.sharpness,
            readout_cosine=math.nan if trained is None else trained.readout_cosine,
        )
        return Trial(outcome, _status(y, fit))


def _status(y: np.ndarray, fit: ReadoutFit) -> Status:
    """Return whether a training set has two classes, and the fit converged."""
    if np.all(y == y[0]):
        remedy = "raise alpha1 or the dimension, or bring positive_rate nearer 1/2."
        return Status(StatusCode.NO_LIMIT, f"D1 holds one class only; {remedy}")
    if fit.reason:
        what = f"the readout did not converge ({fit.reason}); raise the ridge."
        return Status(StatusCode.TOLERANCE_NOT_REACHED, what)
    return CONVERGED
