"""The task: one label, L Gaussian tokens, a signal in R of them."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from sparsetoken.tokens import Isotropic, TokenCovariance, TokenLaw, token_law
from sparsetoken.validation import LARGEST_VALUE, InvalidInput, Reals, integer, real, reals

__all__ = ["Isotropic", "Letters", "SparseTokenProblem", "TokenCovariance"]


class Letters(NamedTuple):
    """The problem in the letters of the theory: pi, theta, R, L.

    Examples
    --------
    >>> import sparsetoken as st
    >>> pi, theta, R, L = st.SparseTokenProblem(length=10, strength=5.0).letters
    >>> theta, L
    (5.0, 10)
    """

    pi: float
    theta: float
    R: int
    L: int


@dataclasses.dataclass(frozen=True)
class SparseTokenProblem:
    r"""A signal of given strength in a few of many tokens.

    ``X = theta 1{y=+1} v xi^T + Z`` with ``y`` in {-1, +1}, ``Z`` of shape (L, d) with
    independent N(0, 1) entries unless `tokens` says otherwise, ``xi`` a unit vector of R^d, and
    ``v`` in {0, 1}^L with exactly R ones, drawn anew for each sample.

    Parameters
    ----------
    length : int
        L, tokens per sample, at least 1.
    informative : int
        R, tokens that carry the signal in a positive sample, 1 <= R <= L.
    strength : float or array
        theta in [0, 1e6].
    positive_rate : float or array
        pi = P(y = +1), in (0, 1).
    position_law : sequence of L floats, optional
        E[v]: chances in [0, 1] that add up to R. The default is uniform, R / L each.
        It is used when samples are drawn; the theory assumes the uniform law.
    tokens : Isotropic or TokenCovariance
        The law of the noise of the tokens.

    Raises
    ------
    InvalidInput
        If a value is outside its range.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> problem.length, problem.strength
    (10, 5.0)
    >>> problem == st.SparseTokenProblem(10, 1, 5.0)
    True
    """

    length: int = 10
    informative: int = 1
    strength: Reals = 5.0
    positive_rate: Reals = 0.5
    position_law: tuple[float, ...] | None = dataclasses.field(
        default=None, metadata={"whole": True}
    )
    tokens: TokenLaw = Isotropic()

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        put("length", integer("length (L)", self.length, 1))
        put(
            "informative",
            integer(
                "informative (R)",
                self.informative,
                1,
                self.length,
                f"R counts tokens among the L = {self.length}.",
            ),
        )
        put("strength", reals("strength (theta)", self.strength, 0.0, LARGEST_VALUE))
        put(
            "positive_rate",
            reals(
                "positive_rate (pi)",
                self.positive_rate,
                0.0,
                1.0,
                open_low=True,
                open_high=True,
                remedy="Both classes must occur.",
            ),
        )
        if self.position_law is not None:
            put("position_law", self._checked_law())
        put("tokens", token_law(self.tokens))

    def _checked_law(self) -> tuple[float, ...]:
        legal = f"a sequence of L = {self.length} chances"
        try:
            given = np.asarray(self.position_law)
        except ValueError:  # rows of different lengths
            raise InvalidInput("position_law", legal, self.position_law) from None
        if given.shape != (self.length,):
            raise InvalidInput("position_law", legal, self.position_law)
        law = tuple(real("position_law entry", p, 0.0, 1.0) for p in given.tolist())
        if abs(sum(law) - self.informative) > 1e-9 * self.length:
            legal = f"chances that add up to R = {self.informative}"
            raise InvalidInput("position_law", legal, f"sum {sum(law):g}")
        return law

    @property
    def letters(self) -> Letters:
        """The values as (pi, theta, R, L)."""
        return Letters(self.positive_rate, self.strength, self.informative, self.length)

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
        """Draw n sets of R positions.

        Systematic sampling along a random order of the positions: always R ones, and
        each position with its chance in the position law. Under the uniform law every
        set of R positions is equally likely.
        """
        L, R = self.length, self.informative
        order = np.argsort(rng.random((n, L)), axis=1)
        ones = np.zeros((n, L), dtype=bool)
        if self.position_law is None:
            np.put_along_axis(ones, order[:, :R], True, axis=1)
            return ones
        chances = np.asarray(self.position_law)[order]
        reach = np.cumsum(chances, axis=1)
        reach[:, -1] = R  # rounding must not lose the last crossing
        reach += rng.random((n, 1))
        crossed = np.diff(np.floor(reach), axis=1, prepend=0.0) > 0
        np.put_along_axis(ones, order, crossed, axis=1)
        return ones

    def sample(
        self,
        n: int,
        signal: Float[np.ndarray, " d"],
        rng: np.random.Generator,
        dtype: np.dtype | type = np.float64,
    ) -> tuple[Float[np.ndarray, "n L d"], Int[np.ndarray, " n"]]:
        """Draw n samples with real tokens.

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


def require_problem(value: Any) -> None:
    """Raise `InvalidInput` unless a value is a problem."""
    if not isinstance(value, SparseTokenProblem):
        remedy = "Write st.SparseTokenProblem(length=10), for example."
        raise InvalidInput("problem", "a SparseTokenProblem", value, remedy)
