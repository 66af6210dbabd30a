"""Gaussian means of a loss at many nodes, interpolated from few mean scores and norms.

What the potential averages over a node depends on its label, its mean score m and its norm C, and
is as smooth in (m, log C) as a Gaussian of width T makes it. So it is known at all nodes of a label
from its values at Chebyshev points.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from numpy.polynomial import chebyshev

from sparsetoken.losses import Loss
from sparsetoken.losses.base import Smoothed
from sparsetoken.losses.gaussian_means import smoothed_rows

_SHAPES = ((16, 8), (32, 16), (64, 32))  # points in m and in log C; low sharpness needs few
# Shares of the largest coefficient: of the last ones at most, and of those that are left out.
# Errors of means over nodes are far smaller, since those at the nodes have either sign.
_RESOLVED, _NEGLIGIBLE = 1e-6, 1e-7
_LEAST_RANGE = 1e-9
_CHUNK = 1024  # nodes whose polynomials fit into a cache

Spread = Callable[[Float[np.ndarray, " n"]], tuple[np.ndarray, np.ndarray]]
"""Maps norms C to the widths T of scores and to V."""


class ScoreGrid:
    """Interpolates means of a loss to nodes with labels y in {-1, +1} and norms C > 0."""

    def __init__(self, y: Float[np.ndarray, "*n"], C: Float[np.ndarray, "*n"]) -> None:
        self._classes = [_Class(y, C, label) for label in (1.0, -1.0) if (y == label).any()]

    def smoothed(self, loss: Loss, m: Float[np.ndarray, "*n"], spread: Spread) -> Smoothed | None:
        """Return `Loss.smoothed` at the nodes, given their mean scores.

        None where the points do not resolve it.
        """
        means = np.empty((len(Smoothed._fields), m.size))
        for one in self._classes:
            found = one.smoothed(loss, m.ravel()[one.at], spread)
            if found is None:
                return None
            means[:, one.at] = found
        return Smoothed(*means.reshape(-1, *m.shape))


class _Class:
    """The nodes of one label, with the polynomials in log C, which are those of all readouts."""

    def __init__(self, y: np.ndarray, C: np.ndarray, label: float) -> None:
        self._label, self.at = label, np.flatnonzero(y == label)
        t, *self._of_norms = _scaled(np.log(C.ravel()[self.at]))
        self._by_norm = _polynomials(t, _SHAPES[-1][1])

    def smoothed(
        self, loss: Loss, m: Float[np.ndarray, " n"], spread: Spread
    ) -> Float[np.ndarray, "means n"] | None:
        """Return the means at these nodes from the fewest points that resolve them."""
        t, *of_scores = _scaled(m)
        for scores, norms in _SHAPES:
            points = np.tile(_points(scores, *of_scores), (norms, 1))
            T, V = spread(np.exp(_points(norms, *self._of_norms)))
            values = smoothed_rows(loss, np.full(norms, self._label), points, T, V)
            found = series(values)
            if found is not None:
                return self._sums(found, t)
        return None

    def _sums(
        self, coefficients: Float[np.ndarray, "means norms scores"], t: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, "means n"]:
        """Return the sums of Chebyshev series at scaled scores t of these nodes."""
        count, norms, scores = coefficients.shape
        rows, sums = coefficients.reshape(-1, scores), np.empty((count, len(t)))
        for first in range(0, len(t), _CHUNK):
            here = slice(first, first + _CHUNK)
            terms = (rows @ _polynomials(t[here], scores)).reshape(count, norms, -1)
            np.einsum("fcn,cn->fn", terms, self._by_norm[:norms, here], out=sums[:, here])
        return sums


def series(
    values: Float[np.ndarray, "functions norms scores"],
) -> Float[np.ndarray, "functions fewer_norms fewer_scores"] | None:
    """Return Chebyshev coefficients of functions with these values at the Chebyshev points.

    Those of high degrees are left out where all are negligible. None where the last two degrees of
    either kind still count: the points do not resolve the functions.
    """
    norms, scores = values.shape[1:]
    coefficients = _to_coefficients(norms) @ values @ _to_coefficients(scores).T
    size = np.abs(coefficients)
    largest = size.max(axis=(1, 2), keepdims=True)
    last = np.maximum(size[:, -2:].max(axis=(1, 2)), size[:, :, -2:].max(axis=(1, 2)))
    if not np.all(last <= _RESOLVED * largest.ravel()):
        return None
    counts = np.any(size >= _NEGLIGIBLE * largest, axis=0)
    norms, scores = (1 + int(np.flatnonzero(counts.any(axis=axis))[-1]) for axis in (1, 0))
    return np.asarray(coefficients[:, :norms, :scores])


def _scaled(values: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return values moved into [-1, 1], and centre and half width of their range."""
    low, high = float(values.min()), float(values.max())
    centre, half = 0.5 * (low + high), max(0.5 * (high - low), _LEAST_RANGE)
    return (values - centre) / half, centre, half


def _points(count: int, centre: float, half: float) -> np.ndarray:
    return np.asarray(centre + half * chebyshev.chebpts1(count))


def _polynomials(t: np.ndarray, count: int) -> np.ndarray:
    """Return the first Chebyshev polynomials at t, in a first axis."""
    return np.asarray(chebyshev.chebvander(t, count - 1)).T


@functools.cache
def _to_coefficients(count: int) -> Float[np.ndarray, "n n"]:
    """Return the matrix from values at the Chebyshev points to coefficients."""
    return np.linalg.inv(_polynomials(chebyshev.chebpts1(count), count).T)
