"""The one table of computations for each law of the tokens."""

from __future__ import annotations

import dataclasses
import pkgutil
from typing import Any

from sparsetoken.problem import SparseTokenProblem, require_problem


@dataclasses.dataclass(frozen=True)
class Route:
    """The theory for tokens of one law, each function as ``"module:name"``.

    Parameters
    ----------
    align : str
        ``(problem, steps) -> Alignment``.
    margin : str
        ``(problem, steps) -> float``, > 0 where the query turns towards the signal.
    query : str
        ``(problem, vector) -> Query`` of a `QueryVector`.
    capacity : str
        ``(problem, model, query, tolerance) -> Capacity``.
    strengths : str
        ``(problem) -> (within, mean)``, of the signal in whitened tokens.
    kept : str
        ``(problem) -> (array, number)``, what an effect of samples leaves of the precision of
        whitened mean tokens, along each direction and along the signal.
    """

    align: str
    margin: str
    query: str
    capacity: str
    strengths: str
    kept: str


_STEPS = "sparsetoken.theory.alignment.two_steps"
_COVARIANCE = "sparsetoken.theory.covariance"

ROUTES: dict[str, Route] = {
    "isotropic": Route(
        align=f"{_STEPS}:isotropic_alignment",
        margin=f"{_STEPS}:isotropic_margin",
        query="sparsetoken.theory.query:query_without_frame",
        capacity="sparsetoken.theory.capacity:capacity_at",
        strengths="sparsetoken.theory.oracle.bayes:isotropic_strengths",
        kept="sparsetoken.theory.oracle.prior:isotropic_kept",
    ),
    "covariance": Route(
        align=f"{_COVARIANCE}.draws:covariance_alignment",
        margin=f"{_COVARIANCE}.query:covariance_margin",
        query=f"{_COVARIANCE}.query:described_query",
        capacity=f"{_COVARIANCE}.capacity:covariance_capacity",
        strengths=f"{_COVARIANCE}.whitening:covariance_strengths",
        kept=f"{_COVARIANCE}.whitening:covariance_kept",
    ),
}
"""By the name of the law."""


def on_route(problem: SparseTokenProblem, part: str) -> Any:
    """Return the function that does a part of the work for the tokens of a problem.

    Raises
    ------
    InvalidInput
        If it is no problem.
    """
    require_problem(problem)
    return pkgutil.resolve_name(getattr(ROUTES[problem.tokens.name], part))
