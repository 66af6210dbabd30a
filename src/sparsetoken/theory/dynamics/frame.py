"""The weights of a descent in a frame that grows with their gradients."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from sparsetoken.numerics.products import few_columns, few_rows

_DEPENDENT = 1e-10  # a gradient with a smaller share of new variance has no new direction

Rows = Float[np.ndarray, "k m"]


class Frame:
    """Orthonormal directions of R^d, and the projections of all tokens on them.

    The directions are xi, those of the start, and for each gradient the part that is new. A
    token projects on the new part as z + g/alpha: z is a fresh normal, as the part is made of
    noise that no earlier weight has seen, and g, the share of the token in it, is the slope of
    its loss, made orthogonal to those of earlier directions and scaled so that the part has
    norm 1. This is the limit of high dimension of the Householder dice (Lu, IEEE Transactions on
    Information Theory 67, 2021), and the same as the equations with memory and response: the
    mean of projection times slope holds both, the response by Gaussian integration by parts.

    All projections are kept times the roots of the weights of the tokens in means, so that these
    are plain sums.

    Parameters
    ----------
    tokens : array of shape (k, m)
        Projections of m tokens on the first directions.
    roots : array of shape (m,)
        Roots of the weights of the tokens, those of one position adding up to 1.
    alpha : float
        Samples per dimension.
    most : int
        The most directions of gradients to come.
    """

    def __init__(
        self,
        tokens: Rows,
        roots: Float[np.ndarray, " m"],
        alpha: float,
        most: int,
    ) -> None:
        self._own = len(tokens)  # directions that are no gradient
        self._tokens = np.empty((self._own + most, len(roots)))
        self._tokens[: self._own] = tokens * roots
        self._slopes = np.empty((most, len(roots)))
        self._roots, self._alpha = roots, alpha
        self.size = self._own

    @property
    def tokens(self) -> Rows:
        """Projections of the tokens on the directions, times the roots, shape (size, m)."""
        return self._tokens[: self.size]

    @property
    def _past(self) -> Rows:
        return self._slopes[: self.size - self._own]

    def add(self, slopes: Float[np.ndarray, "c m"], normals: Rows) -> Float[np.ndarray, "size c"]:
        """Add the new directions of gradients, and return the gradients in the frame, as columns.

        The slopes are those of the mean loss by the projections, times the roots, of the tokens on
        c weight vectors; of fresh normals as many rows are given as directions can be new.
        """
        slopes = np.asarray(slopes, float)  # near slopes differ by little, which makes a direction
        known = few_columns(self.tokens, slopes.T)
        shared = few_columns(self._past, slopes.T) / self._alpha
        power = np.einsum("cm,cm->c", slopes, slopes) / self._alpha
        rest = few_columns(slopes, slopes.T) / self._alpha - shared.T @ shared
        scale = np.sqrt(np.where(power > 0, power, 1.0))
        root, inverse = _triangular(rest / np.outer(scale, scale))
        root, inverse = scale[:, None] * root, inverse / scale[:, None]
        fresh = inverse.T @ slopes - few_rows((shared @ inverse).T, self._past)
        last, count = self.size, root.shape[1]
        self._slopes[last - self._own : last - self._own + count] = fresh
        self._tokens[last : last + count] = normals[:count] * self._roots + fresh / self._alpha
        self.size += count
        return np.concatenate([known, root.T])


def _triangular(
    rest: Float[np.ndarray, "c c"],
) -> tuple[Float[np.ndarray, "c k"], Float[np.ndarray, "c k"]]:
    """Return a triangular root, rest = root root^T, and an inverse of it, inverse^T root = 1.

    A column stands for each gradient that is not made of those before it. Axes of eigenvectors
    would have signs, and where variances are alike angles, that rounding decides.
    """
    columns, kept, left = [], [], rest
    for i in range(len(rest)):
        if left[i, i] > _DEPENDENT:
            columns.append(left[:, i] / np.sqrt(left[i, i]))
            kept.append(i)
            left = left - np.outer(columns[-1], columns[-1])
    root = np.stack(columns, axis=1) if columns else np.zeros((len(rest), 0))
    inverse = np.zeros_like(root)
    inverse[kept] = np.linalg.inv(root[kept]).T
    return root, inverse
