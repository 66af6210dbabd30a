"""The features of each model: nodes of their law, and the equations of a readout on them."""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import Loss
from sparsetoken.model.models import Model, QueriedModel
from sparsetoken.model.problem import Isotropic, SparseTokenProblem
from sparsetoken.model.stages import Query
from sparsetoken.results import Overlaps
from sparsetoken.theory.alignment.limit import QueryLaw, query_law
from sparsetoken.theory.feature_law import FeatureLaw, TokenFeatures
from sparsetoken.theory.laws import feature_law
from sparsetoken.theory.laws.models import nodes_with_effect
from sparsetoken.theory.readout.covariances import (
    CommutingCovariances,
    Covariances,
    Directions,
    FullCovariances,
    covariances,
)
from sparsetoken.theory.readout.equations import (
    IsotropicEquations,
    SaddleEquations,
    SpectrumEquations,
)
from sparsetoken.theory.readout.means import OrderParameters
from sparsetoken.theory.readout.nodes import FeatureNodes
from sparsetoken.theory.readout.solve import SaddlePoint
from sparsetoken.theory.spectrum import full, spectrum_of, times

_FEW = 64  # nodes, to know what a law is sampled from


class ModelFeatures(abc.ABC):
    """The features of one model: nodes, equations, and what a readout means in them.

    Attributes
    ----------
    weights_per_dimension : int
        Number of trained weights divided by d: L for ``vectorized``, else 1.
    noise : float
        Trace of the covariance of the first noise, over d.
    inverts : bool
        Whether features have noise in all directions.
    """

    weights_per_dimension: int = 1
    noise: float = 1.0
    inverts: bool = True

    def __init__(self) -> None:
        self._known: dict[tuple[SparseTokenProblem, int], FeatureNodes] = {}

    def nodes(self, problem: SparseTokenProblem, points: int) -> FeatureNodes:
        """Return nodes of the law, also of a problem with other L, R, theta or pi.

        Points are those of each class and scramble, a power of two, unless the law is known
        exactly.
        """
        if (problem, points) not in self._known:
            self._known[problem, points] = self._nodes(problem, points)
        return self._known[problem, points]

    @abc.abstractmethod
    def _nodes(self, problem: SparseTokenProblem, points: int) -> FeatureNodes:
        """Return what `nodes` keeps."""

    def tokens(self, problem: SparseTokenProblem) -> TokenFeatures | None:
        """Return what nodes of the features are sampled from, None where they are not."""
        return None

    def of_law(self, problem: SparseTokenProblem, law: FeatureLaw) -> FeatureNodes:
        """Return the nodes of the features for those of isotropic tokens with the same scores."""
        return FeatureNodes.from_law(law)

    @abc.abstractmethod
    def equations(self, nodes: FeatureNodes, loss: Loss) -> SaddleEquations:
        """Return the equations of a readout on features with these nodes."""

    def rough(self, nodes: FeatureNodes, loss: Loss) -> SaddleEquations:
        """Return equations of less work whose solution is near, for few nodes."""
        return self.equations(nodes.coarse(), loss)

    @abc.abstractmethod
    def samples(self, alpha: float) -> float:
        """Return the number of samples of these equations at a load n1/d."""

    @abc.abstractmethod
    def overlaps(self, equations: SaddleEquations, saddle: SaddlePoint) -> Overlaps:
        """Return a readout in the frame of query and signal."""

    def state_on(
        self, problem: SparseTokenProblem, equations: SaddleEquations, saddle: SaddlePoint
    ) -> OrderParameters:
        """Return what the scores of a readout on new data of a problem depend on."""
        return saddle.state


class IsotropicFeatures(ModelFeatures):
    """The features of any model of isotropic tokens, in the directions (qhat, e_2)."""

    def __init__(self, model: Model, problem: SparseTokenProblem, query: Query | None) -> None:
        super().__init__()
        self._model, self._query = model, query
        if model.name == "vectorized":
            self.weights_per_dimension = problem.length

    def _nodes(self, problem: SparseTokenProblem, points: int) -> FeatureNodes:
        return self.of_law(problem, feature_law(self._model, problem, self._query, points))

    def tokens(self, problem: SparseTokenProblem) -> TokenFeatures | None:
        """Return what nodes are sampled from."""
        return feature_law(self._model, problem, self._query, _FEW).features

    def equations(self, nodes: FeatureNodes, loss: Loss) -> SaddleEquations:
        """Return the potential."""
        return IsotropicEquations(nodes, loss)

    def samples(self, alpha: float) -> float:
        """Return the samples over the number of weights."""
        return alpha / self.weights_per_dimension

    def overlaps(self, equations: SaddleEquations, saddle: SaddlePoint) -> Overlaps:
        """Return a readout in the frame of query and signal."""
        w1, w2, b, nu, _ = (float(value) for value in saddle.x)
        return Overlaps(query=w1, orthogonal=w2, noise=nu, bias=b)


class CorrelatedFeatures(ModelFeatures):
    """Features of tokens of a covariance; what is `removed` is as of `SpectrumEquations`."""

    covariances: Covariances
    removed: np.ndarray | None = None

    def __init__(self, problem: SparseTokenProblem) -> None:
        super().__init__()
        self.problem, self.spectrum = problem, spectrum_of(problem)
        self._dimension = len(self.spectrum.within)

    def _set_covariances(self, covariances: Covariances) -> None:
        self.covariances = covariances
        self.inverts = covariances.inverts
        self.noise = float(covariances.traces[0]) / self._dimension
        self.weights_per_dimension = covariances.dimension // self._dimension

    def equations(self, nodes: FeatureNodes, loss: Loss) -> SpectrumEquations:
        """Return the equations."""
        return SpectrumEquations(nodes, loss, self.covariances, self.removed)

    def rough(self, nodes: FeatureNodes, loss: Loss) -> SaddleEquations:
        """Return equations of less work, with covariances that commute."""
        return SpectrumEquations(nodes.coarse(), loss, self.covariances.commuting(), self.removed)

    def samples(self, alpha: float) -> float:
        """Return the number of samples."""
        return alpha * self._dimension

    def _norms(
        self, equations: SaddleEquations, saddle: SaddlePoint, others: np.ndarray
    ) -> np.ndarray:
        """Return w^T G w for other covariances."""
        assert isinstance(equations, SpectrumEquations)
        pull = equations.pull(saddle.state, saddle.smoothing)
        return self.covariances.norms(pull, saddle.load.ridge, saddle.load.samples, others)

    def _squared_norm(self, equations: SaddleEquations, saddle: SaddlePoint) -> float:
        """Return |w|^2."""
        ones = np.ones((1, self.covariances.dimension))
        return float(self._norms(equations, saddle, ones)[0])


class LinearFeatures(CorrelatedFeatures):
    """A linear model with one covariance, and the signal as its direction.

    The mean token has the covariance S_b + S_w/L. As among isotropic tokens its amplitude is
    1/sqrt(L), that of the covariance S_w + L S_b. With concatenated tokens, the readout is by
    symmetry the same at each position but for its noise, so that where the signal is does not
    matter: in the frame (their mean, the differences) the mean over positions, times sqrt(L), has
    the covariance S_w + L S_b, and L - 1 differences have S_w.
    """

    def __init__(self, problem: SparseTokenProblem, model: Model) -> None:
        super().__init__(problem)
        self._model = model
        xi, first = self.spectrum.signal, self._covariance(problem.length)
        if model.name == "pooled":
            self._set_covariances(covariances(first[None], xi[:, None]))
            return
        if first.ndim == 2:
            first, basis = np.linalg.eigh(first)
            xi = basis.T @ xi
        differences = np.tile(self.spectrum.within, problem.length - 1)
        values = np.concatenate([np.maximum(first, 0.0), differences])
        direction = np.concatenate([xi, np.zeros(len(differences))])
        self._set_covariances(CommutingCovariances(values[None], Directions(direction[:, None])))

    def _covariance(self, length: int) -> np.ndarray:
        return length * self.spectrum.mean_token(length)

    def _nodes(self, problem: SparseTokenProblem, points: int) -> FeatureNodes:
        # After a training with uniform positions those of a test play no part.
        positions = problem.position_law if problem is self.problem else None
        like = dataclasses.replace(problem, tokens=Isotropic(), position_law=positions)
        law = feature_law(self._model, like, None, points)
        return FeatureNodes.of(law.across.T, law.C.T, law.y[0], law.weight[0])

    def overlaps(self, equations: SaddleEquations, saddle: SaddlePoint) -> Overlaps:
        """Return a readout in the frame of query and signal."""
        along = float(saddle.state.p[0])
        rest = math.sqrt(max(self._squared_norm(equations, saddle) - along**2, 0.0))
        return Overlaps(0.0, along, rest, saddle.state.b)

    def state_on(
        self, problem: SparseTokenProblem, equations: SaddleEquations, saddle: SaddlePoint
    ) -> OrderParameters:
        """Return the state; the mean of another number of tokens has another covariance."""
        if problem.length == self.problem.length:
            return saddle.state
        other = self._covariance(problem.length)[None]
        return saddle.state._replace(q=self._norms(equations, saddle, other))


class QueriedFeatures(CorrelatedFeatures):
    """Features of models with a query among tokens of covariances S_w and S_b.

    Equation: covariance-feature-law, that is ``theta A xi + B u + S zeta u_b`` with the noise
    ``C (S_w - u u^T)^(1/2) h + S (S_b - u_b u_b^T)^(1/2) h'``. u = S_w q/sigma_w and
    u_b = S_b q/sigma_b; zeta is the effect of the sample along the query and S the sum of the
    weights. (A, B, C) have the law of isotropic tokens whose signal has the projection
    theta <xi, q>/sigma_w on the query. Softmax and hard attention do not see zeta, and their
    weights add up to 1: the effect is then noise of covariance S_b.
    """

    def __init__(self, problem: SparseTokenProblem, model: QueriedModel) -> None:
        super().__init__(problem)
        self._model, self._query = model, query_law(problem, model.query)
        self._width = self._query.width(self.spectrum)
        self._effect = 0.0  # sigma_b, where the weights see the effect
        self.sees_effect = self.spectrum.has_effect and model.sees_mean
        S, B = self.spectrum.within, self.spectrum.between
        if self.sees_effect:
            self._effect = math.sqrt(max(_quadratic(self._query, B), 0.0))
        moved = [(S, self._width), *([(B, self._effect)] if self.sees_effect else [])]
        directions = _directions(self._query, self.spectrum.signal, moved)
        if not self.spectrum.has_effect:
            self._set_covariances(CommutingCovariances(S[None], directions))
        elif B.ndim == 1:
            self._set_covariances(CommutingCovariances(np.array([S, B]), directions))
        else:
            self._set_covariances(FullCovariances(np.array([np.diag(S), B]), directions))
        J = 1 + len(moved)
        self.removed = np.zeros((self.covariances.count, J, J))
        for k, (_, width) in enumerate(moved):
            self.removed[k, k + 1, k + 1] = 1.0 if width > 0 else 0.0

    def _nodes(self, problem: SparseTokenProblem, points: int) -> FeatureNodes:
        if not self.sees_effect:
            return self.of_law(problem, self._law(problem, points))
        shift, sharpness = self._projected(problem), self._query.sharpness
        effect = self._effect / self._width if self._width > 0 else 0.0
        return nodes_with_effect(self._model, problem, shift, effect, sharpness, points)

    def tokens(self, problem: SparseTokenProblem) -> TokenFeatures | None:
        """Return what nodes are sampled from, None where the weights see an effect."""
        return None if self.sees_effect else self._law(problem, _FEW).features

    def of_law(self, problem: SparseTokenProblem, law: FeatureLaw) -> FeatureNodes:
        """Return the nodes of the features for those of isotropic tokens with the same scores."""
        projected = self._projected(problem)
        B = law.along - projected * law.across
        a = np.stack([problem.strength * law.across, B], axis=-1)
        amplitudes = [law.C, *([np.ones_like(law.C)] if self.spectrum.has_effect else [])]
        covariance = np.diag([0.0, law.gaussian_variance])
        return FeatureNodes(
            a, np.stack(amplitudes, axis=-1), law.y, law.weight, covariance, exact=law.exact
        )

    def _projected(self, problem: SparseTokenProblem) -> float:
        """Return tau, the signal of a token along the query in widths of its noise."""
        if self._width == 0:
            return 0.0
        return float(problem.strength * self._query.overlap(self.spectrum) / self._width)

    def _law(self, problem: SparseTokenProblem, points: int) -> FeatureLaw:
        """Return isotropic tokens with the same scores: along = tau A + B, across = A.

        Raises
        ------
        InvalidInput
            If the weights see what the tokens of a sample share.
        """
        tau = self._projected(problem)
        theta = math.hypot(tau, 1.0)
        pi, _, R, L = problem.letters
        like = SparseTokenProblem(L, R, theta, pi, tokens=Isotropic())
        query = Query(tau / theta, self._query.sharpness)
        law = feature_law(self._model, like, query, points)
        if self.spectrum.has_effect and law.features is not None and law.features.sees_mean:
            remedy = "Its weights depend on what the tokens of a sample share; omit between."
            legal = f"without a between covariance for {self._model.name}"
            raise InvalidInput("tokens", legal, self.problem.tokens, remedy)
        return law

    def overlaps(self, equations: SaddleEquations, saddle: SaddlePoint) -> Overlaps:
        """Return a readout in the frame of query and signal."""
        assert isinstance(equations, SpectrumEquations)
        pull = equations.pull(saddle.state, saddle.smoothing)
        signal, *_, w_1 = self.covariances.overlaps(pull, saddle.load.ridge)
        norm = self._query.norm
        s = self._query.overlap(self.spectrum) / norm if norm > 0 else 0.0
        sine = math.sqrt(max(1 - s**2, 0.0))
        w_2 = (signal - s * w_1) / sine if sine > 1e-9 else 0.0
        rest = math.sqrt(max(self._squared_norm(equations, saddle) - w_1**2 - w_2**2, 0.0))
        return Overlaps(float(w_1), float(w_2), rest, saddle.state.b)


def _quadratic(query: QueryLaw, G: np.ndarray) -> float:
    """Return the mean of q^T G q."""
    return float(query.mean @ times(G, query.mean)) + float(np.sum(full(G) * full(query.scatter)))


def _directions(
    query: QueryLaw, xi: np.ndarray, moved: Sequence[tuple[np.ndarray, float]]
) -> Directions:
    """Return (xi, G q/sigma, ..., q/|q|) for pairs of G and sigma.

    The last is asked for, but no feature moves along it. It is 0 where sigma is 0.
    """
    q, Q, norm = query.mean, query.scatter, query.norm
    maps = [(G, 1 / width if width > 0 else 0.0) for G, width in moved]
    maps.append((np.ones_like(xi), 1 / norm if norm > 0 else 0.0))
    mean = np.stack([xi, *(scale * times(G, q) for G, scale in maps)], axis=1)
    if not Q.any() or norm == 0:
        return Directions(mean)
    diagonal = Q.ndim == 1 and all(G.ndim == 1 for G, _ in maps)
    scatter = {}
    for i, (G, one) in enumerate(maps):
        for j, (H, other) in enumerate(maps[i:], start=i):
            product = G * Q * H if diagonal else full(G) @ full(Q) @ full(H)
            scatter[i + 1, j + 1] = one * other * product
    return Directions(mean, scatter)


def model_features(model: Model, problem: SparseTokenProblem, query: Query | None) -> ModelFeatures:
    """Return the features of a model, with the query that it works with among isotropic tokens.

    Raises
    ------
    InvalidInput
        If they are not known, or the positions of `Vectorized` are not uniform.
    """
    if isinstance(problem.tokens, Isotropic):
        return IsotropicFeatures(model, problem, query)
    if isinstance(model, QueriedModel):
        return QueriedFeatures(problem, model)
    if model.name in ("pooled", "vectorized"):
        return LinearFeatures(problem, model)
    legal = "one with a query, Pooled() or Vectorized() for tokens of a covariance"
    raise InvalidInput("model", legal, model)
