"""How many samples can be separated, among tokens of a covariance."""

from __future__ import annotations

import dataclasses

from sparsetoken.models import Model, QueriedModel
from sparsetoken.problem import Isotropic, SparseTokenProblem
from sparsetoken.results import Capacity
from sparsetoken.stages import Query
from sparsetoken.theory.capacity import capacity_at
from sparsetoken.theory.covariance.query import query_law
from sparsetoken.theory.covariance.spectrum import spectrum_of
from sparsetoken.theory.covariance.whitening import gain
from sparsetoken.validation import InvalidInput

__all__ = ["covariance_capacity"]


def covariance_capacity(
    problem: SparseTokenProblem, model: Model, query: Query | None, tolerance: float
) -> Capacity:
    """Return the capacity among tokens of a covariance.

    Equation: covariance-capacity. Whether samples can be separated does not change under a
    linear map that can be undone. Whitened, the features of a model with one covariance are
    those of isotropic tokens with the strength ``theta sqrt(xi^T S^-1 xi)`` and the same
    scores, S being the covariance within samples, and S_w + L S_b for linear models.

    Raises
    ------
    InvalidInput
        If the covariance has no inverse, or samples have an effect of their own beside a model
        with a query: two covariances cannot be whitened at once.
    """
    spectrum = spectrum_of(problem)
    if not isinstance(model, QueriedModel):
        whole = problem.length * spectrum.mean_token(problem.length)
        return capacity_at(_like(problem, gain(whole, spectrum.signal)), model, None, tolerance)
    if spectrum.shared:
        remedy = "Two covariances cannot be whitened at once; predict with a small ridge instead."
        legal = f"without a between covariance for the capacity of {model.name}"
        raise InvalidInput("tokens", legal, problem.tokens, remedy)
    stronger = gain(spectrum.within, spectrum.signal)
    law = query_law(problem, model.query)
    width = law.width(spectrum)
    cosine = law.overlap(spectrum) / (width * stronger) if width > 0 else 0.0
    turned = Query(max(-1.0, min(1.0, cosine)), law.sharpness)
    return capacity_at(_like(problem, stronger), model, turned, tolerance)


def _like(problem: SparseTokenProblem, stronger: float) -> SparseTokenProblem:
    return dataclasses.replace(problem, strength=problem.strength * stronger, tokens=Isotropic())
