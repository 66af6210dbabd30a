"""How an experiment is sampled: engine, dimension and seed."""

from __future__ import annotations

import dataclasses
from typing import Any

from sparsetoken.base.validation import choice, integer
from sparsetoken.model.base import Problem
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import TwoSteps
from sparsetoken.simulation.frames import training_size
from sparsetoken.simulation.reduced import ReducedEngine
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.simulation.tensors import TensorEngine

LARGEST = 10**12  # dimension, so that sizes are floats

Engine = TensorEngine | ReducedEngine


def dimension_of(problem: Problem, dimension: int | None) -> int:
    """Return the dimension that is asked for, else that of the tokens, else 1000."""
    return dimension if dimension is not None else problem.tokens.dimension or 1000


@dataclasses.dataclass(frozen=True)
class Setting:
    """How an experiment is sampled."""

    dimension: int
    seed: int
    engine: str

    def __post_init__(self) -> None:
        choice("engine", self.engine, ("reduced", "tensors"))
        low, remedy = 1, ""
        if self.engine == "reduced":
            low, remedy = 3, "The engine names two directions: below 3 use the engine tensors."
        integer("dimension (d)", self.dimension, low, LARGEST, remedy)
        integer("seed", self.seed, 0)

    def start(self, problem: Problem, trial: int, name: str | None = None) -> Engine:
        """Return the engine of one trial.

        Its seed is made of a name, by default the engine's, the trial's number and the user's
        seed alone: experiments that differ in anything else share their random numbers.
        """
        seed = seed_of(self.engine if name is None else name, self.seed, trial)
        if self.engine == "reduced":
            assert isinstance(problem, SparseTokenProblem)
            return ReducedEngine(problem, self.dimension, seed)
        return TensorEngine(problem, self.dimension, seed)

    def query_numbers(self, problem: Problem, found: Any) -> int:
        """Return the numbers of the largest array of what finds a query."""
        if not isinstance(found, TwoSteps):
            return 0
        n = training_size(found.alpha0, self.dimension)
        return max(n, problem.length * self.dimension) if self.engine == "tensors" else n
