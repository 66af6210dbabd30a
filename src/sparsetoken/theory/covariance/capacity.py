"""How many samples can be separated, among tokens of a covariance."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from sparsetoken.models import Model, QueriedModel
from sparsetoken.problem import Isotropic, SparseTokenProblem
from sparsetoken.results import Capacity, Status, StatusCode
from sparsetoken.stages import Query
from sparsetoken.theory.capacity import capacity_at, capacity_status
from sparsetoken.theory.covariance.draws import randomness_advice
from sparsetoken.theory.covariance.query import query_law
from sparsetoken.theory.covariance.separation import Separation, most_separable, violations
from sparsetoken.theory.covariance.spectrum import spectrum_of
from sparsetoken.theory.covariance.whitening import gain, whitened
from sparsetoken.theory.features import QueriedFeatures
from sparsetoken.theory.readout.curve import FIRST_POINTS, LAST_POINTS
from sparsetoken.theory.readout.nodes import FeatureNodes
from sparsetoken.theory.readout.rare import drawn_nodes, effective_share
from sparsetoken.theory.separability.pilot import LABELS
from sparsetoken.theory.separability.proposal import Proposal
from sparsetoken.validation import InvalidInput

_MORE = 4  # times as many points where they are not enough
_RARE = 0.5  # effective share of plain nodes below which drawn ones spread less
_PILOT = 256  # nodes for each class and scramble that proposals are fitted to


def covariance_capacity(
    problem: SparseTokenProblem, model: Model, query: Query | None, tolerance: float
) -> Capacity:
    """Return the capacity among tokens of a covariance.

    Equation: covariance-capacity. Whether samples can be separated does not change under a
    linear map that can be undone. Whitened, the features of a model with one covariance are
    those of isotropic tokens with the strength ``theta sqrt(xi^T S^-1 xi)`` and the same
    scores, S being the covariance within samples, and S_w + L S_b for linear models. Where
    samples have an effect of their own beside a model with a query, features have two
    covariances, and the capacity is that of `most_separable`.

    Raises
    ------
    InvalidInput
        If the covariance has no inverse, or the weights of a model see what the tokens of a
        sample share.
    """
    spectrum = spectrum_of(problem)
    if not isinstance(model, QueriedModel):
        whole = problem.length * spectrum.mean_token(problem.length)
        if model.name == "vectorized" and problem.length > 1:
            gain(spectrum.within, spectrum.signal)  # refuses: differences of tokens have S_w
        return capacity_at(_like(problem, gain(whole, spectrum.signal)), model, None, tolerance)
    stronger = gain(spectrum.within, spectrum.signal)  # refuses an S_w without an inverse
    random = randomness_advice(problem, model.query)
    if spectrum.shared:
        return _marked_random(_of_two(problem, model, tolerance), random)
    law = query_law(problem, model.query)
    width = law.width(spectrum)
    cosine = law.overlap(spectrum) / (width * stronger) if width > 0 else 0.0
    turned = Query(max(-1.0, min(1.0, cosine)), law.sharpness)
    found = capacity_at(_like(problem, stronger), model, turned, tolerance)
    return _marked_random(found, random)


def _marked_random(found: Capacity, advice: str) -> Capacity:
    """Return a capacity that is not called converged where the query is random."""
    if not (advice and found.status.converged):
        return found
    return dataclasses.replace(found, status=Status(StatusCode.NO_LIMIT, advice))


def _of_two(problem: SparseTokenProblem, model: Model, tolerance: float) -> Capacity:
    """Return the capacity of features with two covariances, by as many nodes as it takes.

    Plain nodes find a solution. Where a small part of them has the violated margins, more nodes
    are drawn where the last solution has them.
    """
    features = QueriedFeatures(problem, model)
    if features.sees_effect:
        remedy = "Its weights see what the tokens of a sample share; leave between out."
        legal = f"without a between covariance for the capacity of {model.name}"
        raise InvalidInput("tokens", legal, problem.tokens, remedy)
    covariances = whitened(features.spectrum, features.covariances.directions)
    points, nodes = FIRST_POINTS, features.nodes(problem, FIRST_POINTS)
    proposals, rare = dict.fromkeys(LABELS, Proposal.standard(problem.length)), False
    found = most_separable(nodes, covariances, features.removed)
    while not (nodes.exact or points >= LAST_POINTS or 2 * found.error <= tolerance):
        rare = found.converged and (rare or effective_share(violations(nodes, found)) < _RARE)
        points *= _MORE
        if rare:
            proposals = _fitted(features, proposals, found)
            # Half as many points: drawn nodes have twice as many scrambles.
            nodes, _ = _drawn(features, proposals, points // 2, stage=1)
        else:
            nodes = features.nodes(problem, points)
        near = found if found.converged else None
        found = most_separable(nodes, covariances, features.removed, near)
    alpha = found.samples / covariances.dimension if found.converged else math.nan
    return Capacity(
        capacity=alpha,
        numerical_error=alpha * found.error,
        residual=found.residual,
        iterations=found.iterations,
        status=capacity_status(found.error, tolerance),
    )


def _drawn(
    features: QueriedFeatures, proposals: dict[int, Proposal], points: int, stage: int
) -> tuple[FeatureNodes, np.ndarray]:
    """Return nodes that are drawn from proposals, and their leading coordinates by class."""
    tokens = features.tokens(features.problem)
    assert tokens is not None
    return drawn_nodes(features, features.problem, tokens, proposals, "ordered", points, stage)


def _fitted(
    features: QueriedFeatures, proposals: dict[int, Proposal], found: Separation
) -> dict[int, Proposal]:
    """Return proposals of nodes where margins are violated at a solution."""
    nodes, leading = _drawn(features, proposals, _PILOT, stage=0)
    shares = np.split(violations(nodes, found), len(LABELS), axis=1)
    return {
        label: Proposal.fitted(z, share.ravel())["all"]
        for label, z, share in zip(LABELS, leading, shares, strict=True)
    }


def _like(problem: SparseTokenProblem, stronger: float) -> SparseTokenProblem:
    return dataclasses.replace(problem, strength=problem.strength * stronger, tokens=Isotropic())
