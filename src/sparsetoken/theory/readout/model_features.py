"""The features of each model, among isotropic tokens and those of a covariance."""

from __future__ import annotations

import abc
import dataclasses
import math

import numpy as np

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.models import Model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query
from sparsetoken.model.tokens import Isotropic
from sparsetoken.results import Overlaps, ReadoutOutcome
from sparsetoken.theory.accuracy import (
    allowed_error,
    allowed_of_loss,
    allowed_of_weights,
)
from sparsetoken.theory.laws.feature_law import FeatureLaw
from sparsetoken.theory.laws.of_model import feature_law, features_of
from sparsetoken.theory.laws.tokens import TokenFeatures
from sparsetoken.theory.outcome.measured import Scored, SolvedReadout
from sparsetoken.theory.query.distribution import QueryDistribution, query_distribution
from sparsetoken.theory.readout.features import Features, isotropic
from sparsetoken.theory.saddle.covariances import Covariances, Directions
from sparsetoken.theory.saddle.loss_means import OrderParameters
from sparsetoken.theory.spectrum import spectrum_of

_ACROSS = np.array([[0.0], [1.0]])  # the frame of models without a query


class ModelFeatures(Features):
    """The features of one model on the sparse-token task, and what a readout means in them.

    Readouts have `weights_per_dimension` trained weights divided by d: L for ``vectorized``,
    else 1.
    """

    def __init__(self, problem: SparseTokenProblem, model: Model, covariances: Covariances) -> None:
        super().__init__(problem, covariances)
        self.model = model
        self._dimension = len(spectrum_of(problem).within)
        self.weights_per_dimension = model.weights_per_dimension(problem.length)

    @property
    def noise(self) -> float:
        """Trace of the covariance of the first noise, over d."""
        return float(self.covariances.traces[0]) / self._dimension

    def _nodes(self, problem: SparseTokenProblem, points: int) -> FeatureLaw:
        law = feature_law(self.model, *self._like(problem), points)
        return self.of_law(problem, law)

    def tokens(self, problem: SparseTokenProblem) -> TokenFeatures | None:
        """Return what nodes of the features are sampled from, None where they are not."""
        found = features_of(self.model, *self._like(problem))
        return found if isinstance(found, TokenFeatures) else None

    @abc.abstractmethod
    def _like(self, problem: SparseTokenProblem) -> tuple[SparseTokenProblem, Query | None]:
        """Return a problem and a query of isotropic tokens with the same scores."""

    @abc.abstractmethod
    def overlaps(self, solution: SolvedReadout) -> Overlaps:
        """Return a readout in the frame of query and signal."""

    def outcome(self, scored: Scored) -> ReadoutOutcome:
        """Return all numbers of a readout."""
        solution, exactly = scored.solution, scored.solution.fits_exactly
        return ReadoutOutcome(
            test_error=scored.new.test_error(),
            training_loss=solution.training_loss,
            training_error=0.0 if exactly else scored.after_fit.test_error(),
            auc=scored.auc,
            overlaps=self.overlaps(solution),
            susceptibility=math.inf if exactly else float(solution.state.chi[0]),
        )

    def allowed(self, outcome: ReadoutOutcome, tolerance: float) -> dict[str, float]:
        """Return by column what a tolerance allows twice the error of a number to be."""
        return allowed_errors(outcome, tolerance)


def allowed_errors(outcome: ReadoutOutcome, tolerance: float) -> dict[str, float]:
    """Return by column what a tolerance allows twice the error of a number to be."""
    w = outcome.overlaps
    size = max(math.hypot(w.query, w.orthogonal, w.noise), abs(float(w.bias)))
    names = ("query_overlap", "orthogonal_overlap", "noise_overlap", "bias")
    return {
        "test_error": allowed_error(float(outcome.test_error), tolerance),
        "training_error": tolerance,
        "training_loss": allowed_of_loss(float(outcome.training_loss), tolerance),
        "auc": allowed_of_weights(1.0, tolerance),
        **dict.fromkeys(names, allowed_of_weights(size, tolerance)),
    }


class IsotropicFeatures(ModelFeatures):
    """The features of any model of isotropic tokens, in the directions (qhat, e_2) or e_2 alone.

    One eigenvalue stands for all. Features of a model with a query have no noise along it.
    """

    def __init__(self, model: Model, problem: SparseTokenProblem, query: Query | None) -> None:
        self._query, self._frame = query, _ACROSS if query is None else np.eye(2)
        super().__init__(problem, model, isotropic(self._frame.shape[1]))
        self.removed = None if query is None else np.diag([1.0, 0.0])[None]

    def _like(self, problem: SparseTokenProblem) -> tuple[SparseTokenProblem, Query | None]:
        return problem, self._query

    def of_law(self, problem: SparseTokenProblem, law: FeatureLaw) -> FeatureLaw:
        """Return the nodes of the features."""
        return law.turned(self._frame)

    def samples(self, alpha: float) -> float:
        """Return the samples over the number of weights."""
        return alpha / self.weights_per_dimension

    def overlaps(self, solution: SolvedReadout) -> Overlaps:
        """Return a readout in the frame of query and signal."""
        _, (kappa,), (rho,) = solution.pull
        noise = math.sqrt(rho / solution.load.samples) / (solution.load.ridge + kappa)
        along, across = self._frame @ solution.state.p
        return Overlaps(float(along), float(across), noise, solution.state.b)


class LinearFeatures(ModelFeatures):
    """A linear model with one covariance, and the signal as its direction.

    The mean token has the covariance S_b + S_w/L. As among isotropic tokens its amplitude is
    1/sqrt(L), that of the covariance S_w + L S_b. With concatenated tokens, the readout is by
    symmetry the same at each position but for its noise, so that where the signal is does not
    matter: in the frame (their mean, the differences) the mean over positions, times sqrt(L), has
    the covariance S_w + L S_b, and L - 1 differences have S_w.
    """

    def __init__(self, problem: SparseTokenProblem, model: Model) -> None:
        self._spectrum = spectrum_of(problem)
        xi, first = self._spectrum.signal, self._covariance(problem.length)
        copies = model.weights_per_dimension(problem.length)
        differences = np.tile(self._spectrum.within, copies - 1)
        values = np.concatenate([first, differences])
        direction = np.concatenate([xi, np.zeros(len(differences))])
        directions = Directions(direction[:, None])
        super().__init__(problem, model, Covariances(values[None], directions))

    def _covariance(self, length: int) -> np.ndarray:
        return length * self._spectrum.mean_token(length)

    def _like(self, problem: SparseTokenProblem) -> tuple[SparseTokenProblem, Query | None]:
        return dataclasses.replace(problem, tokens=Isotropic()), None

    def of_law(self, problem: SparseTokenProblem, law: FeatureLaw) -> FeatureLaw:
        """Return the nodes of the features."""
        return law.turned(_ACROSS)

    def overlaps(self, solution: SolvedReadout) -> Overlaps:
        """Return a readout in the frame of query and signal."""
        along = float(solution.state.p[0])
        rest = math.sqrt(max(self.squared_norm(solution) - along**2, 0.0))
        return Overlaps(0.0, along, rest, solution.state.b)

    def state_on(self, problem: SparseTokenProblem, solution: SolvedReadout) -> OrderParameters:
        """Return the state; the mean of another number of tokens has another covariance."""
        if problem.length == self.problem.length:
            return solution.state
        other = self._covariance(problem.length)[None]
        return solution.state._replace(q=self._norms(solution, other))


class QueriedFeatures(ModelFeatures):
    """Features of models with a query among tokens of covariances S_w and S_b.

    Equation: covariance-feature-law, that is ``theta A xi + B u`` with the noise
    ``C (S_w - u u^T)^(1/2) h + kappa S_b^(1/2) h'``, u = S_w q/sigma. (A, B, C) have the law of
    isotropic tokens whose signal has the projection theta <xi, q>/sigma on the query. Weights that
    add up to kappa do not see what the tokens of a sample share: kappa is 1 for softmax and hard
    attention, 0 for centred attention.

    Raises
    ------
    InvalidInput
        If tokens of a sample share an effect, and the weights see it.
    """

    def __init__(self, problem: SparseTokenProblem, model: Model) -> None:
        self.spectrum = spectrum_of(problem)
        total = model.network.total
        if self.spectrum.has_effect and total is None:
            remedy = "Simulate it with st.simulate, or leave between out."
            legal = f"without a between covariance for {type(model).__name__}, whose weights see it"
            raise InvalidInput("tokens", legal, problem.tokens, remedy)
        self._query = query_distribution(problem, model.query)
        self._width = self._query.width(self.spectrum)
        S, B = self.spectrum.within, self.spectrum.between
        directions = _directions(self._query, self.spectrum.signal, S, self._width)
        self._shared = total if self.spectrum.has_effect else 0.0
        both = [S, B] if self._shared else [S]
        super().__init__(problem, model, Covariances(np.array(both), directions))
        self.removed = np.zeros((self.covariances.count, 2, 2))
        self.removed[0, 1, 1] = 1.0 if self._width > 0 else 0.0

    def of_law(self, problem: SparseTokenProblem, law: FeatureLaw) -> FeatureLaw:
        """Return the nodes of the features; of isotropic tokens a is (tau A + B, A)."""
        law = law.turned(np.array([[0.0, 1.0], [problem.strength, -self._projected(problem)]]))
        if not self._shared:
            return law
        shared = np.full_like(law.C, abs(self._shared))
        return dataclasses.replace(law, C=np.concatenate([law.C, shared], axis=-1))

    def _projected(self, problem: SparseTokenProblem) -> float:
        """Return tau, the signal of a token along the query in widths of its noise."""
        if self._width == 0:
            return 0.0
        return float(problem.strength * self._query.overlap(self.spectrum) / self._width)

    def _like(self, problem: SparseTokenProblem) -> tuple[SparseTokenProblem, Query | None]:
        tau = self._projected(problem)
        theta = math.hypot(tau, 1.0)
        pi, _, R, L = problem.letters
        like = SparseTokenProblem(L, R, theta, pi, tokens=Isotropic())
        return like, Query(tau / theta, self._query.sharpness)

    def overlaps(self, solution: SolvedReadout) -> Overlaps:
        """Return a readout in the frame of query and signal."""
        signal, *_, w_1 = self.covariances.overlaps(solution.pull, solution.load.ridge)
        norm = self._query.norm
        s = self._query.overlap(self.spectrum) / norm if norm > 0 else 0.0
        sine = math.sqrt(max(1 - s**2, 0.0))
        w_2 = (signal - s * w_1) / sine if sine > 1e-9 else 0.0
        rest = math.sqrt(max(self.squared_norm(solution) - w_1**2 - w_2**2, 0.0))
        return Overlaps(float(w_1), float(w_2), rest, solution.state.b)


def _directions(
    query: QueryDistribution, xi: np.ndarray, S: np.ndarray, width: float
) -> Directions:
    """Return (xi, S q/sigma, q/|q|).

    The last is asked for, but no feature moves along it. A part is 0 where sigma or |q| is 0.
    """
    q, Q, norm = query.mean, query.scatter, query.norm
    maps = (
        S / width if width > 0 else np.zeros_like(S),
        np.full_like(S, 1 / norm if norm > 0 else 0),
    )
    mean = np.stack([xi, *(G * q for G in maps)], axis=1)
    if not Q.any() or norm == 0:
        return Directions(mean)
    pairs = ((1, 1), (1, 2), (2, 2))
    return Directions(mean, {(i, j): maps[i - 1] * Q * maps[j - 1] for i, j in pairs})


def model_features(model: Model, problem: SparseTokenProblem, query: Query | None) -> ModelFeatures:
    """Return the features of a model, with the query that it works with among isotropic tokens.

    Raises
    ------
    InvalidInput
        If they are not known.
    """
    if isinstance(problem.tokens, Isotropic):
        return IsotropicFeatures(model, problem, query)
    return LinearFeatures(problem, model) if query is None else QueriedFeatures(problem, model)
