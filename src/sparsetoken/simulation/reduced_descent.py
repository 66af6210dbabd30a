"""The data of a descent without its tokens: the same law from their projections."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from sparsetoken.models import Model
from sparsetoken.numerics.products import few_columns, few_rows
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.descent_slopes import Gradient, Weights, slopes_of
from sparsetoken.simulation.designs import training_size
from sparsetoken.simulation.frames import TokenFrame
from sparsetoken.simulation.seeds import Stream, stream
from sparsetoken.stages import JointDescent

_OWN = 3  # the signal and two directions of the start
_DEPENDENT = 1e-10  # slopes with a smaller share of new squares have no new direction


def moving(descent: JointDescent) -> Bool[np.ndarray, "steps 2"]:
    """Return which of (w, q) each step moves."""
    return np.stack([descent.per_step("eta_w") > 0, descent.per_step("eta_q") > 0], axis=1)


def reduced_bytes(length: int, n: int, steps: int) -> int:
    """Return the bytes that the projections of all steps take, and some more for one step."""
    return 8 * length * n * (_OWN + 4 * steps + 16)


class ReducedData:
    """Draws of the noise Z (tokens by dimension) only what the steps ask of it; exact at each d.

    A step asks for Z^T g, g the slopes of all tokens, and the next for Z b, b a new direction of
    the weights. Let the rows of B be the orthonormal directions so far and those of A the
    orthonormal slopes so far, so that Z B^T is known, and A Z lies in the span of B. Given these,
    the rest of Z is Gaussian and independent of them. So of Z^T g the part along B is known, and
    the new part, from the part of g beside A, is a Gaussian vector beside B: by Bartlett's
    decomposition its coordinates along its own directions are normals and roots of chi squares.
    These directions join B. The projections Z b on them are known along A, and fresh
    normals beside it. This is the Householder dice (Lu, IEEE Transactions on Information
    Theory 67, 2021). Time and memory grow as n L times steps, squared and plain, instead of
    n L d.

    Parameters
    ----------
    problem : SparseTokenProblem
    dimension : int, at least 3
    seed : int
    descent : JointDescent
    """

    def __init__(
        self, problem: SparseTokenProblem, dimension: int, seed: int, descent: JointDescent
    ) -> None:
        self.n = training_size(descent.alpha, dimension)
        self._rng = stream(seed, Stream.D0)
        self._dimension = dimension
        self._y = problem.sample_labels(self.n, self._rng)
        tokens = self.n * problem.length
        rows = _OWN + int(moving(descent).sum())
        self._projections = np.empty((rows, tokens))  # Z B^T, with the signal along xi
        self._projections[:_OWN] = self._rng.standard_normal((_OWN, tokens))
        informative = np.arange(problem.length) < problem.informative  # in any order
        signal = problem.strength * np.outer(self._y == 1, informative)
        self._projections[0] += signal.ravel()
        self._slopes = np.empty((rows - _OWN, tokens))  # A
        self._size, self._known = _OWN, 0

    def axes(self) -> np.ndarray:
        """Return the two axes of the start in the directions B, the first of which is xi."""
        return np.eye(_OWN)[1:]

    def frame(self, size: int) -> TokenFrame:
        """Return the coordinates of weights with a size, in the directions B."""
        return TokenFrame(np.eye(1, size)[0])

    def gradient(
        self,
        model: Model,
        descent: JointDescent,
        at: Weights,
        turn: tuple[int, int],
        moves: Bool[np.ndarray, 2],
    ) -> Gradient:
        """Return mean loss and gradients by w, q and b of the batch whose turn it is.

        That of a weight vector that does not move is 0, and takes no new direction.
        """
        w, q, b = at
        number, batches = turn
        batch = np.arange(self.n) * batches // self.n == number
        of_w, of_q = ((u @ self._projections[: len(u)]).reshape(self.n, -1) for u in (w, q))
        found = slopes_of(model, descent, (of_w, of_q), b, self._y, batch)
        g = np.stack([found.by_readout.ravel(), found.by_query.ravel()])[moves]
        sums = self._sums(g) if len(g) else np.zeros((self._size, 0))
        size = max(int(batch.sum()), 1)
        by = np.zeros((2, self._size))
        by[moves] = sums.T / size
        by_w, by_q = by
        return Gradient(found.loss / self.n, by_w, by_q, found.pull / size)

    def _sums(self, g: Float[np.ndarray, "c m"]) -> Float[np.ndarray, "k c"]:
        """Return X^T g in the directions B, which grow by what is new in it."""
        along = few_columns(self._projections[: self._size], g.T)
        past = self._slopes[: self._known]
        beside = g - few_rows(few_columns(past, g.T).T, past)
        beside -= few_rows(few_columns(past, beside.T).T, past)  # for what rounding left
        power, axes = np.linalg.eigh(beside @ beside.T)
        new = power > _DEPENDENT * np.einsum("cm,cm->", g, g)
        root = axes[:, new] * np.sqrt(power[new])  # beside = root @ fresh
        fresh = (axes[:, new] / np.sqrt(power[new])).T @ beside
        bartlett = self._bartlett(int(new.sum()))
        self._grow(fresh, bartlett)
        return np.concatenate([along, bartlett @ root.T])

    def _bartlett(self, count: int) -> Float[np.ndarray, "new count"]:
        """Return the triangle R of a Gaussian matrix QR with a row for each free direction."""
        free = self._dimension - self._size
        rows = min(count, free)
        triangle = np.triu(self._rng.standard_normal((rows, count)), 1)
        diagonal = np.arange(rows)
        triangle[diagonal, diagonal] = np.sqrt(self._rng.chisquare(free - diagonal))
        return triangle

    def _grow(self, fresh: np.ndarray, bartlett: np.ndarray) -> None:
        """Add slopes to A, and the projections on new directions to Z B^T."""
        last, rows = self._known, len(bartlett)
        self._known += len(fresh)
        self._slopes[last : self._known] = fresh
        known = self._slopes[: self._known]
        normals = self._rng.standard_normal((rows, known.shape[1]))
        beside = normals - few_rows(few_columns(known, normals.T).T, known)
        self._projections[self._size : self._size + rows] = bartlett @ fresh + beside
        self._size += rows
