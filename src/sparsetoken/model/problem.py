"""The task: one label, L Gaussian tokens, a signal in R of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sparsetoken.base.parameters import SIZES, Linear, Log, Range, parameter, value
from sparsetoken.base.validation import Integers, InvalidInput, Reals, real
from sparsetoken.model.base import Latent, Problem
from sparsetoken.model.concepts import ConceptProblem
from sparsetoken.model.tokens import Isotropic, TokenDistribution, check_signals, token_distribution

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

__all__ = ["Letters", "SparseTokenProblem"]


class Letters(NamedTuple):
    """The problem in the letters of the theory: pi, theta, R, L."""

    pi: float
    theta: float
    R: int
    L: int


@value
class SparseTokenProblem(Problem):
    r"""A signal of given strength in a few tokens among many.

    ``X = theta 1{y=+1} v xi^T + Z`` with ``y`` in {-1, +1}, ``Z`` of shape (L, d) with
    independent N(0, 1) entries unless `tokens` says otherwise, ``xi`` a unit vector of R^d, and
    ``v`` in {0, 1}^L with exactly R ones, at places that are drawn uniformly for each sample.

    See Also
    --------
    sparsetoken.model.ConceptProblem : Several signals and kinds of bags.
    TokenCovariance : Noise of any covariance.
    predict : Test error, training loss and AUC in the limit.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> problem.length, problem.strength
    (10, 5.0)
    >>> problem == st.SparseTokenProblem(10, 1, 5.0)
    True
    """

    length: Integers = parameter(
        "tokens in a bag, that is, in a sample. The informative tokens are harder to find among "
        "more tokens",
        "L",
        default=10,
        whole=True,
        arrays=True,
        range=Range(least=1),
        slider=Log(2, 100),
    )
    informative: Integers = parameter(
        "informative tokens, which carry the signal in a positive sample, at most L",
        "R",
        default=1,
        whole=True,
        arrays=True,
        range=Range(least=1),
        slider=Linear(1, 20),
    )
    strength: Reals = parameter(
        "signal strength, relative to noise of standard deviation 1 in each direction",
        r"\theta",
        default=5.0,
        range=SIZES,
        slider=Linear(0, 12),
    )
    positive_rate: Reals = parameter(
        "rate of positives, the probability of the label +1",
        r"\pi",
        default=0.5,
        range=Range(above=0, below=1),
        slider=Linear(0.02, 0.98),
        remedy="Both classes must occur.",
    )
    tokens: TokenDistribution = parameter(
        "distribution of the token noise",
        default=Isotropic(),
        find=token_distribution,
        kind="Isotropic or TokenCovariance",
    )

    directions = ("",)
    shuffled = True

    def _check_together(self) -> None:
        check_signals(self.tokens, ("the signal",))
        L, R = self.length, self.informative
        if isinstance(L, tuple) or isinstance(R, tuple):  # each point is checked by itself
            return
        if R > L:
            remedy = "R counts tokens among the L."
            raise InvalidInput("informative (R)", f"at most L = {L}", R, remedy)

    @property
    def letters(self) -> Letters:
        """The values as (pi, theta, R, L)."""
        return Letters(self.positive_rate, self.strength, self.informative, self.length)

    @property
    def _bags(self) -> ConceptProblem:
        """The same bags as two kinds, positives first."""
        pi, theta, R, L = self.letters
        return ConceptProblem(L, [theta], [[R], [0]], [pi, 1 - pi], [1, 0])

    @property
    def rates(self) -> tuple[float, ...]:  # type: ignore[override]
        """The probabilities of positives and negatives."""
        rates: tuple[float, ...] = self._bags.rates
        return rates

    def latent(self, n: int, rng: np.random.Generator) -> Latent:
        """Draw the latent variables of n bags."""
        return self._bags.latent(n, rng)

    def of_each_kind(
        self, size: int, rng: np.random.Generator, u: np.ndarray | None = None
    ) -> Latent:
        """Return so many positives, then so many negatives, informative tokens first."""
        return self._bags.of_each_kind(size, rng)

    def targets(self, latent: Latent, Z: np.ndarray) -> np.ndarray:
        """Return the labels."""
        return self._bags.targets(latent, Z)

    def some_targets(self) -> np.ndarray:
        """Return both labels."""
        return self._bags.some_targets()

    def sample_labels(self, n: int, rng: np.random.Generator) -> Int[np.ndarray, " n"]:
        """Draw n labels in {-1, +1}.

        Raises
        ------
        InvalidInput
            If the positive rate is an array.
        """
        pi = real("positive_rate (pi)", self.positive_rate)
        return np.where(rng.random(n) < pi, 1, -1)

    def sample_positions(self, n: int, rng: np.random.Generator) -> Bool[np.ndarray, "n L"]:
        """Draw n sets of R positions, each set with the same probability."""
        L, R = self.length, self.informative
        order = np.argsort(rng.random((n, L)), axis=1)
        ones = np.zeros((n, L), dtype=bool)
        np.put_along_axis(ones, order[:, :R], True, axis=1)
        return ones

    def sample(
        self,
        n: int,
        signal: Float[np.ndarray, " d"],
        rng: np.random.Generator,
        dtype: np.dtype | type = np.float64,
    ) -> tuple[Float[np.ndarray, "n L d"], Int[np.ndarray, " n"]]:
        """Draw n samples, with their tokens.

        Parameters
        ----------
        n : int
            Number of samples.
        signal : array of shape (d,)
            xi, a unit vector.
        rng : numpy.random.Generator
        dtype : float32 or float64
            Type of the tokens.

        Returns
        -------
        tokens : array of shape (n, L, d)
        labels : array of shape (n,), in {-1, +1}

        Raises
        ------
        InvalidInput
            If strength or positive rate is an array.
        """
        theta = real("strength (theta)", self.strength)
        y = self.sample_labels(n, rng)
        v = self.sample_positions(n, rng) & (y == 1)[:, None]
        tokens = self.tokens.sample_noise(n, self.length, len(signal), rng, dtype)
        tokens[v] += np.asarray(theta * signal, dtype=dtype)
        return tokens, y


def require_problem(given: Any) -> None:
    """Raise `InvalidInput` unless a value is a problem."""
    if not isinstance(given, SparseTokenProblem):
        remedy = "Write st.SparseTokenProblem(length=10), for example."
        if type(given).__name__ == "Task":
            remedy = "st.predict, st.simulate, st.descend and st.simulation.descend take a task."
        raise InvalidInput("problem", "a SparseTokenProblem", given, remedy)
