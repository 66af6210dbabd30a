"""Nodes of features as a readout sees them: few points (m, C) in place of many nodes.

What the potential averages over a node depends on its mean score m and its norm C, and is
as smooth in them as a Gaussian of width T makes it. So it is known at all nodes from its
values at Chebyshev points in m and a function of C, for each class; by the same interpolation
the weights of the nodes move to those points, with the moments of (a_1, a_2, 1) that gradient
and Hessian ask for.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.losses import Loss
from sparsetoken.theory.feature_law import FeatureLaw

Values = Float[np.ndarray, "functions rows scores"]
_CHUNK = 1024  # nodes whose polynomials fit into a cache
_RESOLVED = 1e-6
_LEAST_RANGE = 1e-9
_LEAST_SLOPE = 1e-150  # of the scores, below which they are all equal
# nodes from which a grid is less work, and from which the finer grid is, in any case
_MANY, _VERY_MANY = 1024, 2**14


class GridShape(NamedTuple):
    """Numbers of points for each class, and the function of C in which they are spread."""

    scores: int
    norms: int
    of_norm: Callable[[np.ndarray], np.ndarray]
    to_norm: Callable[[np.ndarray], np.ndarray]


COARSE = GridShape(16, 8, np.log, np.exp)  # enough for blunt queries
PLAIN = GridShape(32, 16, np.log, np.exp)
MIDDLE = GridShape(48, 24, np.log, np.exp)
FINE = GridShape(64, 48, np.sqrt, np.square)  # C may be 0 here


def worthwhile(nodes: FeatureLaw, loss: Loss) -> list[GridShape]:
    """Return shapes that may resolve the means of a loss at less work than a sum over nodes.

    The nodes have two directions, one amplitude that varies, and in each scramble equally many of
    each label. The coarser shapes come first.
    """
    shapes: list[GridShape] = []
    one_varies = not np.ptp(nodes.C[..., 1:], axis=(0, 1)).any()
    if nodes.exact or not loss.integrates or nodes.a.shape[2] != 2 or not one_varies:
        return shapes
    if (np.abs(nodes.y) != 1).any() or np.ptp(nodes.y.sum(axis=1)) > 0:
        return shapes
    if nodes.y.size > _MANY and nodes.C[..., 0].all():  # log C
        shapes += [COARSE, PLAIN, MIDDLE]
    if nodes.y.size > (_MANY if loss.strip > 0 else _VERY_MANY):
        shapes.append(FINE)
    return shapes


class GridPoints(NamedTuple):
    """Mean scores m and norms C in rows of one label and norm, and what the nodes weigh there.

    The moments, of shape (scrambles, 3, 3, rows * scores), are the weight of each point times the
    products of (a_1, a_2, 1).
    """

    y: Float[np.ndarray, " rows"]
    C: Float[np.ndarray, " rows"]
    m: Float[np.ndarray, "rows scores"]
    moments: Float[np.ndarray, "scrambles 3 3 points"]


class ScoreGrid:
    """Moves the weights of nodes to a grid of scores and norms."""

    def __init__(self, nodes: FeatureLaw, shape: GridShape) -> None:
        self._classes = [_Class(nodes, label, shape) for label in (1.0, -1.0)]
        self._to_scores, self._to_norms = map(_to_coefficients, shape[:2])

    def points(self, p: Float[np.ndarray, " 2"], b: float) -> GridPoints | None:
        """Return the grid at the readout with mean score <a, p> + b.

        None where all mean scores of a class are equal: there is nothing to interpolate in.
        """
        classes = [one.points(p, b) for one in self._classes]
        known = [points for points in classes if points is not None]
        if len(known) < len(classes):
            return None
        *rows, moments = zip(*known, strict=True)
        y, C, m = map(np.concatenate, rows)
        return GridPoints(y, C, m, np.concatenate(moments, axis=-1))

    def resolved_by(self, values: Values, shape: GridShape) -> bool:
        """Return whether so many points know functions, with these values here, between them.

        Their Chebyshev coefficients from the last two of that shape on must be below 1e-6 of
        the largest; the mean over a law is then far closer.
        """
        of_classes = np.stack(np.split(values, len(self._classes), axis=1))
        coefficients = np.abs(self._to_norms.T @ of_classes @ self._to_scores)
        axes = (0, 2, 3)
        last = np.maximum(
            coefficients[:, :, shape.norms - 2 :].max(axis=axes),
            coefficients[..., shape.scores - 2 :].max(axis=axes),
        )
        return bool(np.all(last <= _RESOLVED * coefficients.max(axis=axes)))


class _Class:
    """The nodes of one label.

    The mean score is p_e (a_e + rho a_o) + b, where e is the direction that moves it most and
    o the other one. a_e at a point follows from the score there, so that only moments of a_o
    are summed over the nodes. They depend on the readout through (e, rho) alone.
    """

    def __init__(self, nodes: FeatureLaw, label: float, shape: GridShape) -> None:
        of_label = nodes.y == label

        def own(values: np.ndarray) -> np.ndarray:
            return values[of_label].reshape(len(values), -1)

        self._label, self._shape = label, shape
        self._a = [own(nodes.a[..., j]) for j in (0, 1)]
        self._ranges = [float(np.ptp(values)) for values in self._a]
        norms = shape.of_norm(own(nodes.C[..., 0]))
        centre, half = _middle(norms)
        self._C = shape.to_norm(centre + half * _points(shape.norms))
        polynomials = _polynomials((norms - centre) / half, shape.norms)
        self._weighted = np.moveaxis(own(nodes.weight) * polynomials, 0, -1).copy()
        self._known = functools.lru_cache(maxsize=1)(self._moments)

    def points(self, p: np.ndarray, b: float) -> GridPoints | None:
        """Return the part of the grid that has this label."""
        reach = np.abs(p) * self._ranges
        e = int(reach[1] > reach[0])
        o = 1 - e
        if reach[e] < _LEAST_SLOPE:
            return None
        rho = float(p[o] / p[e]) if self._a[o].any() else 0.0
        x, (one, other, squared) = self._known(e, rho)
        moments = np.empty((len(one), 3, 3, *one.shape[1:]))
        moments[:, 2, 2] = one
        moments[:, 2, o] = moments[:, o, 2] = other
        moments[:, o, o] = squared
        moments[:, 2, e] = moments[:, e, 2] = x * one - rho * other
        moments[:, o, e] = moments[:, e, o] = x * other - rho * squared
        moments[:, e, e] = x * moments[:, 2, e] - rho * moments[:, o, e]
        norms = len(self._C)
        m = np.broadcast_to(p[e] * x + b, (norms, len(x)))
        return GridPoints(
            np.full(norms, self._label), self._C, m, moments.reshape(len(one), 3, 3, -1)
        )

    def _moments(self, e: int, rho: float) -> tuple[np.ndarray, np.ndarray]:
        """Return points x of a_e + rho a_o, and there the means of 1, a_o and a_o^2."""
        scores, norms, *_ = self._shape
        other = self._a[1 - e]
        values = self._a[e] + rho * other
        centre, half = _middle(values)
        powers = np.arange(3 if other.any() else 1)  # it is 0 in classes without a signal
        scrambles, nodes = values.shape
        sums = np.zeros((scrambles, scores, len(powers) * norms))
        for s, first in itertools.product(range(scrambles), range(0, nodes, _CHUNK)):
            here = s, slice(first, first + _CHUNK)
            of_other = other[here][:, None] ** powers
            products = of_other[:, :, None] * self._weighted[here][:, None]
            polynomials = _polynomials((values[here] - centre) / half, scores)
            sums[s] += polynomials @ products.reshape(len(products), -1)
        at_scores = (_to_coefficients(scores) @ sums).reshape(scrambles, scores, -1, norms)
        means = np.zeros((3, scrambles, norms, scores))
        means[: len(powers)] = np.transpose(at_scores @ _to_coefficients(norms).T, (2, 0, 3, 1))
        return centre + half * _points(scores), means


def _middle(values: np.ndarray) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    return 0.5 * (low + high), max(0.5 * (high - low), _LEAST_RANGE)


def _polynomials(t: np.ndarray, count: int) -> np.ndarray:
    """Return the first Chebyshev polynomials at t in [-1, 1], in a first axis."""
    rows = np.empty((count, *t.shape))
    rows[0], rows[1] = 1.0, t
    known = 1  # T_0 to T_known; T_{known + j} = 2 T_known T_j - T_{known - j}
    while known < count - 1:
        more = min(known, count - 1 - known)
        new = rows[known + 1 : known + more + 1]
        np.multiply(2 * rows[known], rows[1 : more + 1], out=new)
        new -= rows[known - more : known][::-1]
        known += more
    return rows


@functools.cache
def _points(count: int) -> np.ndarray:
    """Return the Chebyshev points in [-1, 1]."""
    return np.cos(np.pi * (np.arange(count) + 0.5) / count)


@functools.cache
def _to_coefficients(count: int) -> np.ndarray:
    """Return the matrix from values at the Chebyshev points to coefficients, transposed."""
    inverse = 2 / count * _polynomials(_points(count), count).T
    inverse[:, 0] /= 2
    return inverse
