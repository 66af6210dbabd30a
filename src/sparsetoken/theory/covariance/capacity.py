"""How many samples can be separated, among tokens of a covariance."""

from __future__ import annotations

from sparsetoken.models import Model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Capacity
from sparsetoken.stages import Query

__all__ = ["covariance_capacity"]


def covariance_capacity(
    problem: SparseTokenProblem, model: Model, query: Query | None, tolerance: float
) -> Capacity:
    raise NotImplementedError
