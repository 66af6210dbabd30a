"""What every problem offers: bags by their latent variables, and targets."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsetoken.base.validation import InvalidInput, integer
from sparsetoken.model.tokens import TokenDistribution, check_dimension

if TYPE_CHECKING:
    from jaxtyping import Float

__all__ = ["Latent", "Problem", "check_problem"]

Latent = Mapping[str, np.ndarray]
"""Latent variables of n bags by name, arrays whose first axis is the bag."""


class Problem(abc.ABC):
    """A `SparseTokenProblem`, a `ConceptProblem` or a `Task`; a value with a hash.

    Theory and simulation know it by latent variables and targets, once its fields are numbers.

    Attributes
    ----------
    length : int
        Tokens in a bag.
    directions : tuple of str
        Their names; "" is that of the only signal.
    tokens : TokenDistribution
    outputs : int
        Scores of the network.
    metric : "error", Loss or callable
        What the test error is the mean of; None stands for the loss.
    rates : tuple of float
        Probabilities of the kinds of bags, of which theory follows equal numbers.
    sees_noise : bool
        Whether targets depend on the noise along the directions.
    shuffled : bool
        Whether tokens stand in a random order, which `of_each_kind` leaves out.
    uniforms : int
        How many uniform numbers make a bag; 0 where a generator does.
    """

    length: int
    directions: tuple[str, ...]
    tokens: TokenDistribution
    outputs: int = 1
    metric: Any = "error"
    rates: tuple[float, ...] = (1.0,)
    sees_noise: bool = False
    shuffled: bool = False
    uniforms: int = 0

    @abc.abstractmethod
    def latent(self, n: int, rng: np.random.Generator) -> Latent:
        """Draw the latent variables of n bags."""

    @abc.abstractmethod
    def of_each_kind(
        self, size: int, rng: np.random.Generator, u: Float[np.ndarray, "n k"] | None = None
    ) -> Latent:
        """Draw so many bags of each kind, one kind after the other."""

    @abc.abstractmethod
    def targets(self, latent: Latent, Z: Float[np.ndarray, "n L P"]) -> np.ndarray:
        """Return the targets of bags with given latent variables and projections.

        Two classes are -1 and 1, more are integers.
        """

    @abc.abstractmethod
    def some_targets(self) -> np.ndarray:
        """Return targets at which a loss is tried."""

    def for_loss(self, loss: Any) -> Problem:
        """Return the problem with the loss for its metric if it has none.

        Raises
        ------
        InvalidInput
            If a built-in loss is not one of such targets.
        """
        _require_loss(self, loss)
        return self

    def sample(
        self,
        n: int,
        signals: Float[np.ndarray, "P d"],
        rng: np.random.Generator,
        dtype: np.dtype | type = np.float64,
    ) -> tuple[Float[np.ndarray, "n L d"], np.ndarray]:
        """Draw n samples with their tokens, and targets that depend on these tokens alone.

        Parameters
        ----------
        n : int
        signals : array of shape (P, d)
            The directions xi_p, orthonormal rows.
        rng : numpy.random.Generator
        dtype : float32 or float64
            Type of the tokens.

        Returns
        -------
        tokens : array of shape (n, L, d)
        targets : array whose first axis is the sample
            Two classes are -1 and 1, more are integers.

        Raises
        ------
        InvalidInput
            If the signals have another shape, or a function of the task fails.
        """
        integer("n", n, 0)
        signals, P = np.asarray(signals, dtype=dtype), len(self.directions)
        if signals.ndim != 2 or len(signals) != P or signals.shape[1] < P:
            legal = f"of shape ({P}, d) with d >= {P}, one row for each direction"
            raise InvalidInput("signals", legal, f"shape {signals.shape}")
        check_dimension(self.tokens, signals.shape[1])
        latent = self.latent(n, rng)
        tokens = self.tokens.sample_noise(n, self.length, signals.shape[1], rng, dtype)
        if "scale" in latent:
            tokens *= latent["scale"][..., None].astype(dtype)
        tokens += latent["coefficients"].astype(dtype) @ signals
        return tokens, self.targets(latent, (tokens @ signals.T).astype(float))


def check_problem(given: Any) -> None:
    """Raise `InvalidInput` unless a value is a problem in numbers, of functions that work."""
    if not isinstance(given, Problem):
        legal = "a SparseTokenProblem, a ConceptProblem or a Task"
        remedy = "Write st.SparseTokenProblem(length=10), for example."
        raise InvalidInput("problem", legal, given, remedy)
    given.some_targets()  # tries the functions


def _require_loss(problem: Problem, loss: Any) -> None:
    from sparsetoken.losses import Loss

    if not isinstance(loss, Loss):
        return
    y = problem.some_targets()
    outputs = problem.outputs
    if outputs == 1 and (y.ndim > 1 or not (loss.real_labels or np.isin(y, (-1, 1)).all())):
        got = f"{loss.name}, with targets of shape (n, {', '.join(map(str, y.shape[1:]))})"
        if y.ndim > 1:
            legal = "a function of (score, y) unless targets are of shape (n,)"
            raise InvalidInput("loss", legal, got, "Write loss=lambda score, y: ..., for example.")
        got = f"{loss.name}, with targets of another kind"
        remedy = (
            "Numbers of shape (n,) need loss='square'. The loss of a Descent may also be a "
            "function of (score, y)."
        )
        if y.ndim == 1 and np.isin(y, (0, 1)).all():
            remedy = "For two classes write 2 * y - 1 in place of y."
        raise InvalidInput("loss of targets that are not -1 or 1", "square", got, remedy)
    if outputs > 1 and loss.name != "logistic":
        remedy = (
            "Logistic is then cross-entropy. The loss of a Descent may also be a function of the K "
            "scores and the class."
        )
        raise InvalidInput("loss of K > 2 classes", "logistic", loss.name, remedy)
