"""A law of features as a readout sees it: few points (m, C) in place of many nodes.

What the potential averages over a node depends on its mean score m and its length C, and is
as smooth in them as a Gaussian of width T makes it. So it is known at all nodes from its
values at Chebyshev points in (m, log C) of each class; by the same interpolation the weights
of the nodes move to those points, with the moments of (X_1, X_2, 1) that gradient and Hessian
ask for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.theory.feature_law import FeatureLaw

__all__ = ["ScoreGrid", "View"]

_SCORES, _LENGTHS = 32, 16  # points in m and in log C, for each class
_CHUNK = 512  # nodes of each scramble
_FEW = 2**16  # nodes whose products are kept: 50 MB of products
_PAIRS = ((0, 0), (1, 0), (0, 2), (1, 1), (1, 2), (2, 2))  # of (X_1, X_2, 1)
_RESOLVED = 1e-6
_LEAST_RANGE = 1e-9


class View(NamedTuple):
    """A law at one readout, as points with a mean score.

    Attributes
    ----------
    y, m, C : arrays of shape (views, points)
        Label, mean score, length of the pooling weights.
    moments : array of shape (scrambles, 3, 3, points)
        Weight of each point times the products of (X_1, X_2, 1).
    """

    y: np.ndarray
    m: np.ndarray
    C: np.ndarray
    moments: np.ndarray


class ScoreGrid:
    """Moves the weights of a law to a grid of scores and lengths.

    Parameters
    ----------
    law : FeatureLaw
    """

    def __init__(self, law: FeatureLaw) -> None:
        self._classes = [_Class(law, label) for label in (1.0, -1.0)]

    def view(self, a: Float[np.ndarray, " 3"]) -> View:
        """Return the law at the readout with mean score a . (X_1, X_2, 1)."""
        seen = [one.view(a) for one in self._classes]
        return View(*(np.concatenate(parts, axis=-1) for parts in zip(*seen, strict=True)))

    @staticmethod
    def resolves(values: Float[np.ndarray, "functions points"]) -> bool:
        """Return whether functions with these values at the points are known between them.

        Their last Chebyshev coefficients must be below 1e-6 of the largest; the mean over
        a law is then far closer.
        """
        f = values.reshape(len(values), 2, _SCORES, _LENGTHS)
        coefficients = np.abs(_TO_SCORES.T @ f @ _TO_LENGTHS)
        largest = coefficients.max(axis=(1, 2, 3))
        last = np.maximum(
            coefficients[:, :, -2:].max(axis=(1, 2, 3)),
            coefficients[:, :, :, -2:].max(axis=(1, 2, 3)),
        )
        return bool(np.all(last <= _RESOLVED * largest))


class _Class:
    """The nodes of one label."""

    def __init__(self, law: FeatureLaw, label: float) -> None:
        scrambles = len(law.C)
        at = (law.y == label).nonzero()
        shape = (scrambles, len(at[0]) // scrambles)

        def own(values: np.ndarray) -> np.ndarray:
            return values[at].reshape(shape)

        self._label = label
        self._features = np.stack([own(law.along), own(law.across), np.ones(shape)])
        self._pairs = [(p, q) for p, q in _PAIRS if self._features[p].any()]  # X_2 may be 0
        lengths = np.log(own(law.C))
        self._centre, self._half = _middle(lengths)
        lengths = _vandermonde((lengths - self._centre) / self._half, _LENGTHS)
        self._weighted = own(law.weight)[..., None] * lengths
        # They are the same for all readouts.
        self._kept = [self._products(here) for here in self._chunks()] if law.C.size <= _FEW else []

    def view(self, a: np.ndarray) -> View:
        """Return the part of the law that has this label."""
        m = np.tensordot(a, self._features, axes=1)
        centre, half = _middle(m)
        weights = _TO_SCORES @ self._sums((m - centre) / half) @ _TO_LENGTHS.T
        moments = np.zeros((len(m), 3, 3, _SCORES * _LENGTHS))
        for (p, q), some in zip(self._pairs, np.moveaxis(weights, 1, 0), strict=True):
            moments[:, p, q] = moments[:, q, p] = some.reshape(len(m), -1)
        scores, lengths = np.meshgrid(
            centre + half * _POINTS[_SCORES],
            np.exp(self._centre + self._half * _POINTS[_LENGTHS]),
            indexing="ij",
        )
        y = np.full((1, scores.size), self._label)
        return View(y, scores.reshape(1, -1), lengths.reshape(1, -1), moments)

    def _sums(self, t: np.ndarray) -> np.ndarray:
        """Return sums over nodes of weight, feature products and Chebyshev polynomials."""
        total = np.zeros((len(t), _SCORES, len(self._pairs) * _LENGTHS))
        products = self._kept or map(self._products, self._chunks())
        for here, some in zip(self._chunks(), products, strict=True):
            total += np.swapaxes(_vandermonde(t[:, here], _SCORES), 1, 2) @ some
        return np.moveaxis(total.reshape(len(t), _SCORES, -1, _LENGTHS), 2, 1)

    def _chunks(self) -> list[slice]:
        nodes = self._features.shape[2]
        return [slice(first, first + _CHUNK) for first in range(0, nodes, _CHUNK)]

    def _products(self, here: slice) -> np.ndarray:
        """Return weight times polynomials in log C times products of features."""
        X, weighted = self._features[:, :, here], self._weighted[:, here]
        return np.concatenate([(X[p] * X[q])[..., None] * weighted for p, q in self._pairs], axis=2)


def _middle(values: np.ndarray) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    return 0.5 * (low + high), max(0.5 * (high - low), _LEAST_RANGE)


def _vandermonde(t: np.ndarray, count: int) -> np.ndarray:
    """Return the first Chebyshev polynomials at t in [-1, 1], in a last axis."""
    rows = np.empty((count, *t.shape))
    rows[0], rows[1] = 1.0, t
    for k in range(2, count):
        np.multiply(t, rows[k - 1], out=rows[k])
        rows[k] *= 2
        rows[k] -= rows[k - 2]
    return np.moveaxis(rows, 0, -1)


def _chebyshev(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Chebyshev points, and the matrix from values there to coefficients, transposed."""
    points = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    inverse = 2 / count * _vandermonde(points, count)
    inverse[:, 0] /= 2
    return points, inverse


_POINTS = {count: _chebyshev(count)[0] for count in (_SCORES, _LENGTHS)}
_TO_SCORES, _TO_LENGTHS = (_chebyshev(count)[1] for count in (_SCORES, _LENGTHS))
