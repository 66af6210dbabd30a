"""One trial of the four stages: a query, a training set, a fit, its merit."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import NamedTuple

import numpy as np

from sparsetoken.attention import ACTIVATIONS, check_exponent
from sparsetoken.numerics.devices import jax_device
from sparsetoken.numerics.erm import ReadoutFit, fit_readout
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import MODELS, Outcome, Overlaps
from sparsetoken.simulation.budget import (
    FLOAT,
    SAMPLE_SCALARS,
    Size,
    design_bytes,
    query_bytes,
    require_memory,
    scalar_bytes,
)
from sparsetoken.simulation.conditional import Merit, conditional_merit, counted_merit
from sparsetoken.simulation.design import (
    QUERY_MODELS,
    Design,
    Engine,
    Split,
    TrainedQuery,
    training_size,
)
from sparsetoken.simulation.reduced import ReducedEngine
from sparsetoken.simulation.seeds import Stream, seed_of, stream
from sparsetoken.simulation.tensors import TensorEngine
from sparsetoken.stages import FourStageTraining, Query
from sparsetoken.validation import LARGEST_LOAD, InvalidInput, choice, integer, real

__all__ = ["Setting", "Trial", "TrialPlan"]

LARGEST = 10**12  # dimension, so that sizes are floats
NO_QUERY = TrainedQuery(Query(0.0, 0.0), 0.0, 0.0)


class Trial(NamedTuple):
    """What one trial found; `reason` says why its fit did not converge."""

    outcome: Outcome
    query: Query
    readout_cosine: float
    one_class: bool
    reason: str


@dataclasses.dataclass(frozen=True)
class Setting:
    """How an experiment is sampled."""

    dimension: int
    seed: int
    engine: str
    dtype: str

    def __post_init__(self) -> None:
        choice("engine", self.engine, ("reduced", "tensors"))
        low = self.least_dimension
        remedy = "Two directions are named, and a third is needed: below 3 use engine='tensors'."
        integer("dimension (d)", self.dimension, low, LARGEST, remedy if low == 3 else "")
        integer("seed", self.seed, 0)
        choice("dtype", self.dtype, ("float32", "float64"))

    @property
    def least_dimension(self) -> int:
        """The smallest dimension of the engine."""
        return 3 if self.engine == "reduced" else 1

    def start(self, problem: SparseTokenProblem, **coordinates: object) -> Engine:
        """Return the engine of one trial, seeded by all its coordinates.

        The reduced engine has no tokens, so their type is no coordinate of it.
        """
        own = dataclasses.asdict(self)
        if self.engine == "reduced":
            del own["dtype"]
        seed = seed_of(problem=json.loads(problem.to_json()), **own, **coordinates)
        if self.engine == "tensors":
            return TensorEngine(problem, self.dimension, seed, self.dtype)
        return ReducedEngine(problem, self.dimension, seed)


@dataclasses.dataclass(frozen=True)
class TrialPlan:
    """All that fixes the law of a trial, and the device of its fit, which does not."""

    model: str
    problem: SparseTokenProblem
    training: FourStageTraining
    alpha1: float
    query: Query | None
    activation: str
    setting: Setting
    memory_budget: int | None = None
    test_samples: int | None = None
    test_problem: SparseTokenProblem | None = None
    device: str | None = None

    def __post_init__(self) -> None:
        choice("model", self.model, MODELS)
        real("alpha1 (n1/d)", self.alpha1, 0.0, LARGEST_LOAD, open_low=True)
        choice("activation", self.activation, ACTIVATIONS)
        if self.query is not None and not isinstance(self.query, Query):
            raise InvalidInput("query", "a Query or None", self.query)
        self._check_test_problem()
        if self.query is not None:
            self._check_exponent(self.query)
        if self.test_samples is not None:
            integer("test_samples", self.test_samples, 1)
            if self.setting.engine != "tensors":
                remedy = "Fresh samples need real tokens: engine='tensors'."
                raise InvalidInput(
                    "test_samples", "None for the reduced engine", self.test_samples, remedy
                )
        self._check_memory()
        if self.device is not None:
            jax_device(self.device)

    @property
    def _trains_query(self) -> bool:
        return self.model in QUERY_MODELS and self.query is None

    @property
    def tested(self) -> SparseTokenProblem:
        """The problem of new data."""
        return self.problem if self.test_problem is None else self.test_problem

    def _check_test_problem(self) -> None:
        if not isinstance(self.tested, SparseTokenProblem):
            raise InvalidInput("test_problem", "a SparseTokenProblem or None", self.test_problem)
        L, found = self.problem.length, self.tested.length
        if self.model == "vectorized" and found != L:
            remedy = "The weights of vectorized belong to positions."
            raise InvalidInput("length (L) of the test problem", f"{L}", found, remedy)

    def _check_exponent(self, query: Query) -> None:
        if self.model == "elementwise":
            strength = max(self.problem.strength, self.tested.strength)
            shift = strength * abs(query.cosine)
            check_exponent(self.activation, query.sharpness, shift)

    def _check_memory(self) -> None:
        engine, fresh = self.setting.engine, self.test_samples or 0
        longer = self.tested.length / self.problem.length

        def need(size: Size) -> int:
            d, L = size
            n = training_size(self.alpha1, d)
            total = design_bytes(self.model, engine, L, n, d) + SAMPLE_SCALARS * FLOAT * fresh
            if self.model != "pooled":
                total += scalar_bytes(math.ceil(L * max(1.0, longer)))
            if engine == "tensors":
                total += query_bytes(engine, math.ceil(L * max(1.0, longer)), max(n, fresh), d)
            if self._trains_query:
                n0 = training_size(self.training.alpha0, d)
                total = max(total, query_bytes(engine, L, n0, d))
            return total

        require_memory(
            need,
            Size(self.setting.dimension, self.problem.length),
            Size(self.setting.least_dimension, self.problem.informative),
            self.memory_budget,
            "Or raise memory_budget, or lower alpha1.",
        )

    def engine(self, trial: int) -> Engine:
        """Return the engine of one trial. What the model does not use is no coordinate."""
        queried = self.model in QUERY_MODELS
        given = self.query if queried else None
        return self.setting.start(
            self.problem,
            training=json.loads(self.training.to_json()),
            alpha1=float(self.alpha1),
            query=given and dataclasses.asdict(given),
            model=self.model,
            activation=self.activation if self.model == "elementwise" else None,
            trial=trial,
        )

    def draw(self, trial: int) -> tuple[Engine, TrainedQuery, Design]:
        """Return the engine, the query and the training set of stage 4."""
        engine = self.engine(trial)
        if self.model not in QUERY_MODELS:
            trained = NO_QUERY
        elif self.query is not None:
            trained = engine.given_query(self.query)
        else:
            trained = engine.train_query(self.training)
            self._check_exponent(trained.query)
        n = training_size(self.alpha1, self.setting.dimension)
        return engine, trained, engine.design(self.model, trained, n, self.activation)

    def run(self, trial: int) -> Trial:
        """Run one trial; its seed is a function of the plan and its number."""
        engine, trained, design = self.draw(trial)
        training, y = self.training, design.labels
        fit = fit_readout(design.features, y, training.loss, training.ridge, device=self.device)
        split = design.split(fit.w)
        merit = self._merit(engine, trained, split, fit)
        outcome = Outcome(
            test_error=merit.test_error,
            training_loss=float(np.mean(training.loss.value(y, fit.scores))),
            training_error=counted_merit(fit.scores, y).test_error,
            auc=merit.auc,
            overlaps=self._overlaps(split, fit.b),
        )
        one_class = bool(np.all(y == y[0]))
        return Trial(outcome, trained.query, trained.readout_cosine, one_class, fit.reason)

    def _merit(self, engine: Engine, trained: TrainedQuery, split: Split, fit: ReadoutFit) -> Merit:
        if isinstance(engine, TensorEngine) and self.test_samples is not None:
            tester = dataclasses.replace(engine, problem=self.tested)
            return counted_merit(
                *tester.fresh_scores(
                    self.model, trained, fit.w, fit.b, self.test_samples, self.activation
                )
            )
        rng = stream(engine.seed, Stream.TEST)
        return conditional_merit(
            self.model, self.tested, trained.query, split, fit.b, self.activation, rng
        )

    def _overlaps(self, split: Split, bias: float) -> Overlaps:
        if self.model in QUERY_MODELS:
            w_1, w_2 = split.named
            return Overlaps(float(w_1), float(w_2), split.rest, bias)
        profile = split.named
        mean = float(profile.sum() / np.sqrt(len(profile)))
        nu = np.hypot(np.linalg.norm(profile - mean / np.sqrt(len(profile))), split.rest)
        return Overlaps(0.0, mean, float(nu), bias)
