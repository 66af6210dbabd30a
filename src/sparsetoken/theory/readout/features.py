"""What features are to a readout: nodes of their law, and its equations on them."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np

from sparsetoken.losses import Loss
from sparsetoken.theory.laws.feature_law import FeatureLaw
from sparsetoken.theory.laws.tokens import TokenFeatures
from sparsetoken.theory.outcome.measured import Scored, SolvedReadout, scores_on
from sparsetoken.theory.outcome.scores import ScoreDistribution
from sparsetoken.theory.saddle.covariances import Covariances, Directions
from sparsetoken.theory.saddle.equations import SaddleEquations
from sparsetoken.theory.saddle.loss_means import OrderParameters


class Features(abc.ABC):
    """The features of one law: nodes, covariances, and the equations of a readout on them.

    What is `removed` is as of `SaddleEquations`. Points are those of each kind of sample and
    scramble: as many as the first, a power of two, and up to the most where these are not enough.
    """

    removed: np.ndarray | None = None
    first_points = 512
    most_points = 2**15

    def __init__(self, problem: Any, covariances: Covariances) -> None:
        self.problem, self.covariances = problem, covariances
        self._dimension = covariances.dimension
        self._known: dict[tuple[Any, int], FeatureLaw] = {}

    def nodes(self, problem: Any, points: int) -> FeatureLaw:
        """Return nodes of the law, also of a problem with other L, R, theta or pi.

        There are so many points, unless the law is known exactly.
        """
        if (problem, points) not in self._known:
            self._known[problem, points] = self._nodes(problem, points)
        return self._known[problem, points]

    @abc.abstractmethod
    def _nodes(self, problem: Any, points: int) -> FeatureLaw:
        """Return what `nodes` keeps."""

    def equations(self, nodes: FeatureLaw, loss: Loss, *, rough: bool = False) -> SaddleEquations:
        """Return the equations of a readout on features with these nodes.

        Rough ones have few of the nodes and take less work; their solution is near.
        """
        if rough:
            nodes = nodes.coarse()
        return SaddleEquations(nodes, loss, self.covariances, self.removed)

    def samples(self, alpha: float) -> float:
        """Return the number of samples of these equations at a load n1/d."""
        return alpha * self._dimension

    def scores(
        self, nodes: FeatureLaw, state: OrderParameters, first: int = 0
    ) -> ScoreDistribution:
        """Return the scores of a readout on data with these nodes, from the `first` scramble on."""
        return scores_on(nodes, state)

    def state_on(self, problem: Any, solution: SolvedReadout) -> OrderParameters:
        """Return what the scores of a readout on new data of a problem depend on."""
        return solution.state

    @abc.abstractmethod
    def outcome(self, scored: Scored) -> Any:
        """Return all numbers of a readout."""

    @abc.abstractmethod
    def allowed(self, outcome: Any, tolerance: float) -> dict[str, float]:
        """Return by column what a tolerance allows twice the error of a number to be."""

    def tokens(self, problem: Any) -> TokenFeatures | None:
        """Return what nodes of the features are sampled from, None where they are not."""
        return None

    def of_law(self, problem: Any, law: FeatureLaw) -> FeatureLaw:
        """Return the nodes of the features for those of isotropic tokens with the same scores."""
        return law

    def _norms(self, solution: SolvedReadout, others: np.ndarray) -> np.ndarray:
        """Return w^T G w for other covariances."""
        load = solution.load
        return self.covariances.norms(solution.pull, load.ridge, load.samples, others)

    def squared_norm(self, solution: SolvedReadout) -> float:
        """Return |w|^2."""
        ones = np.ones((1, self.covariances.dimension))
        return float(self._norms(solution, ones)[0])


def isotropic(directions: int) -> Covariances:
    """Return the covariance of isotropic noise beside so many orthonormal directions."""
    J = directions
    frame = Directions(np.zeros((1, J)), {(j, j): np.ones(1) for j in range(J)})
    return Covariances(np.ones((1, 1)), frame)
