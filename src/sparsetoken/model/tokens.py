"""The distributions of the token noise, as values."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsetoken.base.validation import InvalidInput, refuse_masked

if TYPE_CHECKING:
    from jaxtyping import Float

__all__ = [
    "Isotropic",
    "TokenCovariance",
    "TokenDistribution",
    "isotropic_only",
    "token_distribution",
]

_LARGEST = 1e50  # of an entry of a covariance: products of a few stay finite
_ROUNDING = 1e-8  # relative: asymmetry and negative eigenvalues that rounding makes
_UNIT = 1e-6


@dataclasses.dataclass(frozen=True)
class TokenDistribution:
    """The distribution of the noise of the tokens of a sample."""

    @property
    def dimension(self) -> int | None:
        """The dimension of the tokens, None if the law is defined in every dimension."""
        return None

    def sample_noise(
        self,
        n: int,
        length: int,
        dimension: int,
        rng: np.random.Generator,
        dtype: np.dtype | type = np.float64,
    ) -> Float[np.ndarray, "n L d"]:
        """Draw the noise of n samples."""
        return rng.standard_normal((n, length, dimension), dtype=dtype)


@dataclasses.dataclass(frozen=True)
class Isotropic(TokenDistribution):
    """Isotropic noise, N(0, I), independent across tokens.

    See Also
    --------
    sparsetoken.TokenCovariance : Noise of any covariance.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.SparseTokenProblem().tokens == st.model.Isotropic()
    True
    """


@dataclasses.dataclass(frozen=True, eq=False)
class TokenCovariance(TokenDistribution):
    """Noise with a covariance within samples, and an effect shared by the tokens of a sample.

    The noise of a token is ``e + Z_l``, with ``Z_l ~ N(0, within)`` independent across tokens and
    one ``e ~ N(0, between)`` for each sample. The signal, or each of the directions of a task, is
    given among the eigenvectors.

    Parameters
    ----------
    within : array of shape (d, d) or (d,)
        Covariance of the tokens of one sample. A vector is a spectrum, that is a diagonal
        matrix: signal and queries are then given by their projections on the eigenvectors.
    between : array of shape (d, d) or (d,), optional
        Covariance of what the tokens of a sample share; none by default. A vector is a diagonal in
        the same coordinates. Theory asks that the two commute; simulations do not.
    signal : array of shape (d,) or (P, d)
        xi, a unit vector, or the directions of a `Task`, orthonormal rows.

    Raises
    ------
    InvalidInput
        If a covariance is not symmetric, not positive semidefinite, of another size or has
        the trace 0, or the signal is no unit vector, nor orthonormal rows, of this size.

    See Also
    --------
    sparsetoken.model.Isotropic : Isotropic noise.
    sparsetoken.Query : A query, which may be given as a vector.

    Examples
    --------
    >>> import sparsetoken as st
    >>> tokens = st.TokenCovariance(within=[2.0, 1.0, 0.5], signal=[0.0, 0.0, 1.0])
    >>> st.SparseTokenProblem(length=4, tokens=tokens).tokens == tokens
    True
    """

    within: Any
    between: Any = None
    signal: Any = None

    def __post_init__(self) -> None:
        within = _covariance("within covariance", self.within)
        d = len(within)
        put = functools.partial(object.__setattr__, self)
        put("within", within)
        if self.between is not None:
            put("between", _covariance("between covariance", self.between, d))
        put("signal", _orthonormal(self.signal, d))

    @property
    def dimension(self) -> int:
        """The dimension d of the tokens."""
        return len(self.within)

    @property
    def signals(self) -> Float[np.ndarray, "P d"]:
        """The directions of the signals as rows."""
        return np.atleast_2d(self.signal)

    @functools.cached_property
    def digest(self) -> str:
        """A hash of the content."""
        text = hashlib.blake2b(digest_size=16)
        for part in (self.within, self.between, self.signal):
            if part is not None:
                text.update(str(part.shape).encode() + part.tobytes())
        return text.hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TokenCovariance):
            return NotImplemented
        return self is other or self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        shared = "" if self.between is None else ", with a between covariance"
        return f"TokenCovariance(d={self.dimension}{shared}, digest={self.digest[:8]})"

    @functools.cached_property
    def _roots(self) -> list[np.ndarray]:
        parts = [self.within, *([] if self.between is None else [self.between])]
        return [symmetric_root(part) for part in parts]

    def sample_noise(
        self,
        n: int,
        length: int,
        dimension: int,
        rng: np.random.Generator,
        dtype: np.dtype | type = np.float64,
    ) -> Float[np.ndarray, "n L d"]:
        """Draw the noise of n samples, first of the tokens, then of the effects that they share.

        Raises
        ------
        InvalidInput
            If the dimension differs from that of the law.
        """
        check_dimension(self, dimension)
        noise = _times(rng.standard_normal((n, length, dimension), dtype=dtype), self._roots[0])
        if self.between is not None:
            noise += _times(rng.standard_normal((n, 1, dimension), dtype=dtype), self._roots[1])
        return noise


def token_distribution(value: Any) -> TokenDistribution:
    """Return a law of tokens, or raise `InvalidInput`."""
    if not isinstance(value, TokenDistribution):
        legal = "Isotropic() or TokenCovariance(within, between, signal=...)"
        raise InvalidInput("tokens", legal, value)
    return value


def isotropic_only(law: TokenDistribution, what: str) -> None:
    """Raise `InvalidInput` unless the tokens are isotropic, for results known only in that case."""
    if not isinstance(law, Isotropic):
        remedy = f"{what} is known for isotropic tokens only."
        raise InvalidInput("tokens", "Isotropic() here", law, remedy)


def check_signals(law: TokenDistribution, names: tuple[str, ...]) -> None:
    """Raise `InvalidInput` unless a covariance has a signal for each direction of a task."""
    if isinstance(law, TokenCovariance) and len(law.signals) != len(names):
        rows = f"of shape ({len(names)}, d), a row for each of {', '.join(names)}"
        legal = "of shape (d,) for one direction" if len(names) == 1 else rows
        remedy = "Several signals belong to a Task with as many directions."
        raise InvalidInput("signal of the tokens", legal, f"shape {law.signal.shape}", remedy)


def require_varying(width: float) -> None:
    """Raise `InvalidInput` unless tokens vary along a query, with this standard deviation."""
    if width <= 0:
        remedy = "Add a little to the diagonal of the within covariance, or turn the query."
        legal = "a direction in which the tokens of a sample vary"
        raise InvalidInput("query", legal, "q^T S q = 0", remedy)


def check_dimension(law: TokenDistribution, dimension: int) -> None:
    """Raise `InvalidInput` unless the law has tokens of this dimension."""
    if law.dimension not in (None, dimension):
        remedy = "The covariance fixes the dimension: omit it."
        raise InvalidInput("dimension (d)", f"{law.dimension}, as of the tokens", dimension, remedy)


def _numbers(name: str, value: Any, legal: str) -> np.ndarray:
    refuse_masked(name, value)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(name, legal, type(value).__name__) from None
    if array.dtype.kind not in "biuf":
        raise InvalidInput(name, legal, f"{type(value).__name__} of {array.dtype}")
    array = array.astype(float)
    if not np.all(np.isfinite(array)):
        raise InvalidInput(name, legal, "an entry that is not finite")
    return array


def _covariance(name: str, value: Any, d: int | None = None) -> np.ndarray:
    """Return a checked covariance: a matrix, or a vector of eigenvalues."""
    size = "d" if d is None else str(d)
    legal = f"an array of numbers of shape ({size}, {size}) or ({size},)"
    S = _numbers(name, value, legal)
    square = S.ndim == 1 or (S.ndim == 2 and S.shape[0] == S.shape[1])
    if not square or len(S) < 2 or (d is not None and len(S) != d):
        raise InvalidInput(name, legal, f"shape {S.shape}")
    scale = float(np.abs(S).max())
    if S.ndim == 2:
        apart = float(np.abs(S - S.T).max())
        if apart > _ROUNDING * scale:
            remedy = "If this is rounding, give (S + S.T) / 2."
            raise InvalidInput(name, "symmetric", f"S - S.T with an entry of {apart:.3g}", remedy)
        S = 0.5 * (S + S.T)
    trace = float(S.sum() if S.ndim == 1 else np.trace(S))
    if scale > _LARGEST:
        raise InvalidInput(name, f"of entries of at most {_LARGEST:g}", scale, "Scale the tokens.")
    if trace == 0 and scale == 0:
        raise InvalidInput(name, "of a trace > 0", "all zeros", "Leave out what is 0.")
    least = float(S.min() if S.ndim == 1 else np.linalg.eigvalsh(S)[0])
    if least < -_ROUNDING * scale:
        got = f"a smallest eigenvalue of {least:.3g}"
        remedy = f"Add {-least:.3g} to the diagonal, or set negative eigenvalues to 0."
        raise InvalidInput(name, "positive semidefinite", got, remedy)
    S = np.maximum(S, 0.0) if S.ndim == 1 else S
    S.flags.writeable = False
    return S


def _orthonormal(value: Any, d: int) -> np.ndarray:
    """Return a unit vector, or orthonormal rows, of which one alone is a vector."""
    name, legal = "signal (xi)", f"a unit vector of {d} numbers, or orthonormal rows of these"
    if value is None:
        remedy = "Give the projections of the signal on the eigenvectors: signal=..."
        raise InvalidInput(name, legal, None, remedy)
    xi = _numbers(name, value, legal)
    if xi.ndim not in (1, 2) or xi.shape[-1] != d or not 0 < xi.size <= d**2:
        raise InvalidInput(name, legal, f"shape {xi.shape}")
    norms = np.linalg.norm(xi, axis=-1, keepdims=True)
    off = norms[np.abs(norms - 1) > _UNIT]
    if off.size:
        remedy = "Divide by the norm; its size is the field strength."
        raise InvalidInput(name, legal, f"norm {off[0]:.6g}", remedy)
    xi /= norms
    rows = np.atleast_2d(xi)
    inner = np.abs(rows @ rows.T - np.eye(len(rows))).max()
    if inner > _UNIT:
        raise InvalidInput(name, legal, f"rows with an inner product of {inner:.3g} in size")
    xi = rows[0].copy() if len(rows) == 1 else rows
    xi.flags.writeable = False
    return xi


def symmetric_root(S: np.ndarray) -> np.ndarray:
    """Return the symmetric root of a covariance, diagonal (a vector) or full."""
    if S.ndim == 1:
        return np.sqrt(S)
    values, vectors = np.linalg.eigh(0.5 * (S + S.T))
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def _times(noise: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Multiply rows by a root; a vector stands for a diagonal one."""
    root = root.astype(noise.dtype)
    return noise * root if root.ndim == 1 else noise @ root
