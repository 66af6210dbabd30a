"""The features of each model among tokens of a covariance."""

from __future__ import annotations

import abc
import math

import numpy as np
from jaxtyping import Float

from sparsetoken.models import Model, QueriedModel
from sparsetoken.problem import Isotropic, SparseTokenProblem
from sparsetoken.results import Overlaps
from sparsetoken.stages import Query
from sparsetoken.theory.covariance.nodes import FeatureNodes
from sparsetoken.theory.covariance.outcomes import scores_on
from sparsetoken.theory.covariance.query import QueryLaw, query_law
from sparsetoken.theory.covariance.readout import SolvedReadout
from sparsetoken.theory.covariance.spectra import (
    CommutingCovariances,
    Covariances,
    Directions,
    FullCovariances,
    covariances,
)
from sparsetoken.theory.covariance.spectrum import spectrum_of, times
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.laws import feature_law
from sparsetoken.theory.score_law import ScoreLaw
from sparsetoken.theory.separability.proposal import Proposal
from sparsetoken.theory.separability.streamed_law import ClassNodes, drawn_law
from sparsetoken.validation import InvalidInput


class ModelFeatures(abc.ABC):
    """The features of one model: nodes, covariances, and what a readout means in them.

    Attributes
    ----------
    covariances : Covariances
    removed : array of shape (K, J, J) or None
        As of `ConvexReadout`.
    """

    covariances: Covariances
    removed: np.ndarray | None = None

    def __init__(self, problem: SparseTokenProblem) -> None:
        self.problem, self.spectrum = problem, spectrum_of(problem)

    @abc.abstractmethod
    def nodes(self, problem: SparseTokenProblem, points: int) -> FeatureNodes:
        """Return nodes of the law, also of a problem with other L, R, theta or pi."""

    def scores(self, found: SolvedReadout, problem: SparseTokenProblem, points: int) -> ScoreLaw:
        """Return the scores of a readout on new data of a problem."""
        return scores_on(self.nodes(problem, points), found.p, found.b, found.state.q)

    @abc.abstractmethod
    def overlaps(self, found: SolvedReadout) -> Overlaps:
        """Return a readout in the frame of query and signal."""

    def _length(self, found: SolvedReadout) -> float:
        """Return |w|^2."""
        ones = np.ones((1, self.covariances.dimension))
        cov = self.covariances
        return float(cov.norms(found.pull, found.ridge, found.samples, ones)[0])


def _two_classes(pi: float, mean: float, amplitude: float = 1.0) -> FeatureNodes:
    """Return features that are Gaussian in each class, with one direction and one amplitude."""
    noise = [[amplitude], [amplitude]]
    return FeatureNodes.of([[mean], [0.0]], noise, [1.0, -1.0], [pi, 1 - pi])


class _Linear(ModelFeatures):
    """A linear model with one covariance, and the signal as its direction."""

    def overlaps(self, found: SolvedReadout) -> Overlaps:
        """Return a readout in the frame of query and signal."""
        along = float(found.p[0])
        rest = math.sqrt(max(self._length(found) - along**2, 0.0))
        return Overlaps(0.0, along, rest, found.b)


class PooledFeatures(_Linear):
    """The mean token: mean theta R/L xi on positives, covariance S_b + S_w/L.

    As among isotropic tokens the amplitude is 1/sqrt(L), that of the covariance S_w + L S_b.
    """

    def __init__(self, problem: SparseTokenProblem, query: None = None) -> None:
        super().__init__(problem)
        signal = self.spectrum.signal[:, None]
        self.covariances = covariances(self._covariance(problem.length), signal)

    def nodes(self, problem: SparseTokenProblem, points: int) -> FeatureNodes:
        """Return nodes of the law."""
        pi, theta, R, L = problem.letters
        return _two_classes(pi, theta * R / L, 1 / math.sqrt(L))

    def _covariance(self, length: int) -> np.ndarray:
        return length * self.spectrum.mean_token(length)[None]

    def scores(self, found: SolvedReadout, problem: SparseTokenProblem, points: int) -> ScoreLaw:
        """Return the scores; the mean of another number of tokens has another covariance."""
        q = found.state.q
        if problem.length != self.problem.length:
            other = self._covariance(problem.length)
            q = self.covariances.norms(found.pull, found.ridge, found.samples, other)
        return scores_on(self.nodes(problem, points), found.p, found.b, q)


class VectorizedFeatures(_Linear):
    """All tokens side by side, in the frame (their mean, the differences).

    By symmetry the readout is the same at each position but for its noise, so that where the
    signal is does not matter. The mean over positions, times sqrt(L), has the covariance
    S_w + L S_b; L - 1 differences have S_w.
    """

    def __init__(self, problem: SparseTokenProblem, query: None = None) -> None:
        super().__init__(problem)
        if problem.position_law is not None:
            remedy = "The theory of vectorized takes positions as uniform; simulate instead."
            raise InvalidInput("position_law", "None", problem.position_law, remedy)
        L, xi, S = problem.length, self.spectrum.signal, self.spectrum.within
        first = L * self.spectrum.mean_token(L)
        if first.ndim == 2:
            first, basis = np.linalg.eigh(first)
            xi = basis.T @ xi
        values = np.concatenate([np.maximum(first, 0.0), np.tile(S, L - 1)])
        direction = np.concatenate([xi, np.zeros((L - 1) * len(xi))])
        self.covariances = CommutingCovariances(values[None], Directions(direction[:, None]))

    def nodes(self, problem: SparseTokenProblem, points: int) -> FeatureNodes:
        """Return nodes of the law."""
        pi, theta, R, L = problem.letters
        return _two_classes(pi, theta * R / math.sqrt(L))


class QueriedFeatures(ModelFeatures):
    """Features theta A xi + B u + C (S_w - u u^T)^(1/2) h + S_b^(1/2) h', u = S_w q/sigma.

    Equation: covariance-feature-law. (A, B, C) have the law of isotropic tokens whose signal has
    the projection theta <xi, q>/sigma on the query.
    """

    def __init__(self, problem: SparseTokenProblem, model: Model) -> None:
        super().__init__(problem)
        assert model.query is not None
        self._model, self._query = model, query_law(problem, model.query)
        self._width = self._query.width(self.spectrum)
        self.featureless = self._width == 0  # no step was made: the query is 0
        S, B = self.spectrum.within, self.spectrum.between
        directions = _directions(self._query, S, self.spectrum.signal, self._width)
        if not self.spectrum.shared:
            self.covariances = CommutingCovariances(S[None], directions)
        elif B.ndim == 1:
            self.covariances = CommutingCovariances(np.array([S, B]), directions)
        else:
            self.covariances = FullCovariances(np.array([np.diag(S), B]), directions)
        self.removed = np.zeros((self.covariances.count, 2, 2))
        self.removed[0, 1, 1] = 1.0 if self._width > 0 else 0.0

    def nodes(self, problem: SparseTokenProblem, points: int) -> FeatureNodes:
        """Return nodes of the law."""
        return self._nodes_of(problem, self._law(problem, points))

    def drawn_nodes(
        self, proposals: dict[int, Proposal], points: int, stage: int
    ) -> tuple[FeatureNodes, Float[np.ndarray, "classes n size"]]:
        """Return nodes of a sampled law that are drawn where they count, and where they lie.

        Parameters
        ----------
        proposals : dict of Proposal
            Of the leading coordinates in each class, by label, positives first.
        points : int
            Nodes for each class and scramble; classes stand one after the other.
        stage : int
            Other nodes for each whole number.
        """
        features = self._law(self.problem, points=64).features
        assert features is not None
        classes = [
            ClassNodes(features, label, proposal, "ordered", stage)
            for label, proposal in proposals.items()
        ]
        law, leading = drawn_law(classes, points)
        return self._nodes_of(self.problem, law), leading

    def _nodes_of(self, problem: SparseTokenProblem, law: FeatureLaw) -> FeatureNodes:
        projected = self._projected(problem)
        B = law.along - projected * law.across
        a = np.stack([problem.strength * law.across, B], axis=-1)
        amplitudes = [law.C, *([np.ones_like(law.C)] if self.spectrum.shared else [])]
        spread = np.diag([0.0, law.shared])
        return FeatureNodes(
            a, np.stack(amplitudes, axis=-1), law.y, law.weight, spread, exact=law.exact
        )

    def _projected(self, problem: SparseTokenProblem) -> float:
        """Return tau, the signal of a token along the query in widths of its noise."""
        if self._width == 0:
            return 0.0
        return float(problem.strength * self._query.overlap(self.spectrum) / self._width)

    def _law(self, problem: SparseTokenProblem, points: int) -> FeatureLaw:
        """Return the law of isotropic tokens with the same scores: along = tau A + B, across = A.

        Raises
        ------
        InvalidInput
            If the features see what the tokens of a sample share.
        """
        tau = self._projected(problem)
        theta = math.hypot(tau, 1.0)
        pi, _, R, L = problem.letters
        like = SparseTokenProblem(L, R, theta, pi, tokens=Isotropic())
        query = Query(tau / theta, self._query.sharpness)
        law = feature_law(self._model, like, query, points)
        if self.spectrum.shared and law.features is not None and law.features.sees_mean:
            remedy = "Its weights see what the tokens of a sample share; leave between out."
            legal = f"without a between covariance for {self._model.name}"
            raise InvalidInput("tokens", legal, self.problem.tokens, remedy)
        return law

    def overlaps(self, found: SolvedReadout) -> Overlaps:
        """Return a readout in the frame of query and signal."""
        signal, _, w_1 = self.covariances.overlaps(found.pull, found.ridge)
        length = self._query.norm
        s = self._query.overlap(self.spectrum) / length if length > 0 else 0.0
        sine = math.sqrt(max(1 - s**2, 0.0))
        w_2 = (signal - s * w_1) / sine if sine > 1e-9 else 0.0
        rest = math.sqrt(max(self._length(found) - w_1**2 - w_2**2, 0.0))
        return Overlaps(float(w_1), float(w_2), rest, found.b)


def _directions(query: QueryLaw, S: np.ndarray, xi: np.ndarray, width: float) -> Directions:
    """Return (xi, u, q/|q|); the last is asked for, but no feature moves along it."""
    if width == 0:
        return Directions(np.stack([xi, np.zeros_like(xi), np.zeros_like(xi)], axis=1))
    q, Q, norm = query.mean, query.scatter, query.norm
    mean = np.stack([xi, S * q / width, q / norm], axis=1)
    if not Q.any():
        return Directions(mean)
    half = times(np.diag(S), Q) if Q.ndim == 2 else S * Q
    whole = half * S
    return Directions(mean, {(1, 1): whole / width**2, (1, 2): half / (width * norm)})


_LINEAR: dict[str, type[PooledFeatures] | type[VectorizedFeatures]] = {
    "pooled": PooledFeatures,
    "vectorized": VectorizedFeatures,
}


def model_features(model: Model, problem: SparseTokenProblem) -> ModelFeatures:
    """Return the features of a model among tokens of a covariance.

    Raises
    ------
    InvalidInput
        If they are not known, or the positions of `Vectorized` are not uniform.
    """
    if isinstance(model, QueriedModel):
        return QueriedFeatures(problem, model)
    if model.name in _LINEAR:
        return _LINEAR[model.name](problem)
    legal = "one with a query, Pooled() or Vectorized() for tokens of a covariance"
    raise InvalidInput("model", legal, model)
