"""How an experiment is sampled: engine, dimension, seed and memory."""

from __future__ import annotations

import dataclasses
from typing import Any

from sparsetoken.base.validation import InvalidInput, choice, integer
from sparsetoken.model.descent import Descent, training_of
from sparsetoken.model.problem import SparseTokenProblem, require_problem
from sparsetoken.model.stages import TwoSteps
from sparsetoken.model.task_law import Problem
from sparsetoken.simulation.budget import DEFAULT_BUDGET, FLOAT, pass_bytes
from sparsetoken.simulation.frames import training_size
from sparsetoken.simulation.reduced import ReducedEngine
from sparsetoken.simulation.reduced_descent import reduced_bytes
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.simulation.tensors import TensorEngine

LARGEST = 10**12  # dimension, so that sizes are floats

Engine = TensorEngine | ReducedEngine


def dimension_of(problem: SparseTokenProblem, dimension: int | None) -> int:
    """Return the dimension that is asked for, else that of the tokens, else 1000."""
    require_problem(problem)
    return dimension if dimension is not None else problem.tokens.dimension or 1000


@dataclasses.dataclass(frozen=True)
class Setting:
    """How an experiment is sampled."""

    dimension: int
    seed: int
    engine: str
    dtype: str = "float64"
    memory_budget: int | None = None

    def __post_init__(self) -> None:
        choice("engine", self.engine, ("reduced", "tensors"))
        low, remedy = 1, ""
        if self.engine == "reduced":
            low, remedy = 3, "The engine names two directions: below 3 use engine='tensors'."
        integer("dimension (d)", self.dimension, low, LARGEST, remedy)
        integer("seed", self.seed, 0)
        choice("dtype", self.dtype, ("float32", "float64"))
        integer("memory_budget", self.budget, 1)

    @property
    def budget(self) -> int:
        """The bytes that a trial may use."""
        return DEFAULT_BUDGET if self.memory_budget is None else self.memory_budget

    def start(self, problem: Problem, trial: int, name: str | None = None) -> Engine:
        """Return the engine of one trial.

        Its seed is made of a name, by default the engine's, the trial's number and the user's
        seed alone: experiments that differ in anything else share their random numbers.
        """
        seed = seed_of(self.engine if name is None else name, self.seed, trial)
        kind = TensorEngine if self.engine == "tensors" else ReducedEngine
        return kind(problem, self.dimension, seed, self.dtype, self.budget)

    def query_bytes(self, problem: Problem, found: Any) -> int:
        """Return the peak memory of the steps or the descent that find a query."""
        d, L = self.dimension, problem.length
        if isinstance(found, TwoSteps):
            return pass_bytes(self.engine, L, training_size(found.alpha0, d), d)
        if not isinstance(found, Descent):
            return 0
        training = training_of(problem, found)
        if self.engine == "reduced":
            return reduced_bytes(training, d)
        own = pass_bytes(self.engine, L, training_size(training.alpha, d), d)
        return own + 4 * len(training.columns) * FLOAT * d

    def require_memory(self, need: int, length: int, load: str) -> None:
        """Raise `InvalidInput` if so many bytes exceed the budget; a lower load needs less."""
        if need > self.budget:
            at = f"dimension {self.dimension}, length {length}"
            remedy = "Lower {} or {}. Or raise {}, or lower {}."
            names = ("dimension", "length", "memory_budget", load)
            legal = f"at least {need:,} bytes at {at}"
            raise InvalidInput("memory_budget", legal, self.budget, remedy, *names)
