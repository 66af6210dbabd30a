"""A law of features as a readout sees it: few points (m, C) in place of many nodes.

What the potential averages over a node depends on its mean score m and its norm C, and is
as smooth in them as a Gaussian of width T makes it. So it is known at all nodes from its
values at Chebyshev points in m and a function of C, for each class; by the same interpolation
the weights of the nodes move to those points, with the moments of (X_1, X_2, 1) that gradient
and Hessian ask for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.theory.feature_law import FeatureLaw

Values = Float[np.ndarray, "functions classes norms scores"]
_CHUNK = 1024  # nodes whose polynomials fit into a cache
_FEW = 2**16  # nodes whose products are kept: 25 MB of products
_RESOLVED = 1e-6
_LEAST_RANGE = 1e-9
_LEAST_SLOPE = 1e-150  # of the scores, below which they are all equal


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


class ClassView(NamedTuple):
    """The nodes of one label y at one readout, moved to a grid of mean scores m and norms C.

    The moments are, at each point (norms * scores), its weight times the products of (X_1, X_2,
    1).
    """

    y: float
    m: np.ndarray
    C: np.ndarray
    moments: np.ndarray

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Label, mean scores and norm, with a row for each norm."""
        m = np.broadcast_to(self.m, (len(self.C), len(self.m)))
        return np.full(len(self.C), self.y), m, self.C


class ScoreGrid:
    """Moves the weights of a law to a grid of scores and norms.

    All shapes but `FINE` are for laws whose norms are all > 0.
    """

    def __init__(self, law: FeatureLaw, shape: GridShape = PLAIN) -> None:
        self.shape = shape
        self._classes = [_Class(law, label, shape) for label in (1.0, -1.0)]

    def views(self, a: Float[np.ndarray, " 3"]) -> list[ClassView] | None:
        """Return both classes at the readout with mean score a . (X_1, X_2, 1).

        None where all mean scores of a class are equal: there is nothing to interpolate in.
        """
        if any(one.slope(a) < _LEAST_SLOPE for one in self._classes):
            return None
        return [one.view(a) for one in self._classes]

    def resolved_by(self, values: Values, shape: GridShape) -> bool:
        """Return whether so many points know functions, with these values here, between them.

        Their Chebyshev coefficients from the last two of that shape on must be below 1e-6 of
        the largest; the mean over a law is then far closer.
        """
        to_scores, to_norms = (
            _to_coefficients(self.shape.scores),
            _to_coefficients(self.shape.norms),
        )
        coefficients = np.abs(to_norms.T @ values @ to_scores)
        largest = coefficients.max(axis=(1, 2, 3))
        last = np.maximum(
            coefficients[:, :, shape.norms - 2 :].max(axis=(1, 2, 3)),
            coefficients[:, :, :, shape.scores - 2 :].max(axis=(1, 2, 3)),
        )
        return bool(np.all(last <= _RESOLVED * largest))


class ScoreGrids:
    """Grids of one law, the coarser first.

    Readouts follow one another closely, so that a grid which was too coarse for the last one is
    not tried again until a finer grid shows that it would do.
    """

    def __init__(self, law: FeatureLaw, shapes: Sequence[GridShape]) -> None:
        self._law, self._shapes = law, tuple(shapes)
        self._grids: dict[GridShape, ScoreGrid] = {}
        self._first = 0

    def __iter__(self) -> Iterator[ScoreGrid]:
        """Iterate over the grids that are worth a trial."""
        for shape in self._shapes[self._first :]:
            if shape not in self._grids:
                self._grids[shape] = ScoreGrid(self._law, shape)
            yield self._grids[shape]

    def resolves(self, grid: ScoreGrid, values: Values) -> bool:
        """Return whether a grid knows functions with these values at its points between them."""
        here = self._shapes.index(grid.shape)
        if not grid.resolved_by(values, grid.shape):
            return False
        coarser = (grid.resolved_by(values, shape) for shape in self._shapes[:here])
        self._first = next((i for i, enough in enumerate(coarser) if enough), here)
        return True


class _Moments(NamedTuple):
    """Moments on the grid of the points x in X_e + rho X_o: means of 1, X_o and X_o^2."""

    x: np.ndarray
    one: np.ndarray
    other: np.ndarray
    squared: np.ndarray


class _Class:
    """The nodes of one label.

    The mean score is a_e (X_e + rho X_o) + b, where e is the feature that moves it most and
    o the other one. X_e at a point follows from the score there, so that only moments of X_o
    are summed over the nodes. They depend on the readout through (e, rho) alone.
    """

    def __init__(self, law: FeatureLaw, label: float, grid: GridShape) -> None:
        scrambles = len(law.C)
        at = (law.y == label).nonzero()
        shape = (scrambles, len(at[0]) // scrambles)
        self._y, self._grid = label, grid
        self._features = [values[at].reshape(shape) for values in (law.along, law.across)]
        self._ranges = [float(np.ptp(values)) for values in self._features]
        norms = grid.of_norm(law.C[at].reshape(shape))
        centre, half = _middle(norms)
        self._C = grid.to_norm(centre + half * _points(grid.norms))
        polynomials = _polynomials((norms - centre) / half, grid.norms)
        self._weighted = np.moveaxis(law.weight[at].reshape(shape) * polynomials, 0, -1).copy()
        self._keep = law.C.size <= _FEW
        self._products: dict[int, np.ndarray] = {}
        self._last: tuple[tuple[int, float], _Moments] | None = None

    def _first(self, a: np.ndarray) -> int:
        """Return the feature that moves the score most."""
        return int(abs(a[1]) * self._ranges[1] > abs(a[0]) * self._ranges[0])

    def slope(self, a: np.ndarray) -> float:
        """Return how far that feature moves it."""
        e = self._first(a)
        return abs(float(a[e])) * self._ranges[e]

    def view(self, a: np.ndarray) -> ClassView:
        """Return the part of the law that has this label."""
        e = self._first(a)
        o = 1 - e
        rho = float(a[o] / a[e]) if self._features[o].any() else 0.0
        if self._last is None or self._last[0] != (e, rho):
            self._last = (e, rho), self._moments(e, rho)
        x, one, other, squared = self._last[1]
        moments = np.empty((len(one), 3, 3, *one.shape[1:]))
        moments[:, 2, 2] = one
        moments[:, 2, o] = moments[:, o, 2] = other
        moments[:, o, o] = squared
        moments[:, 2, e] = moments[:, e, 2] = x * one - rho * other
        moments[:, o, e] = moments[:, e, o] = x * other - rho * squared
        moments[:, e, e] = x * moments[:, 2, e] - rho * moments[:, o, e]
        return ClassView(self._y, a[e] * x + a[2], self._C, moments.reshape(len(one), 3, 3, -1))

    def _moments(self, e: int, rho: float) -> _Moments:
        scores, norms = self._grid.scores, self._grid.norms
        x = self._features[e] + rho * self._features[1 - e]
        centre, half = _middle(x)
        t = (x - centre) / half
        sums = np.zeros((len(t), scores, self._columns(e) * norms))
        for s, here, products in self._pieces(e):
            sums[s] += _polynomials(t[s, here], scores) @ products
        at_scores = (_to_coefficients(scores) @ sums).reshape(len(t), scores, -1, norms)
        weights = at_scores @ _to_coefficients(norms).T
        means = np.zeros((3, len(t), norms, scores))
        means[: self._columns(e)] = np.transpose(weights, (2, 0, 3, 1))
        return _Moments(centre + half * _points(scores), *means)

    def _columns(self, e: int) -> int:
        """Return how many powers of X_o there are; it is 0 in classes without a signal."""
        return 3 if self._features[1 - e].any() else 1

    def _pieces(self, e: int) -> Iterator[tuple[int, slice, np.ndarray]]:
        """Yield a few nodes of a scramble at a time, and their products."""
        scrambles, nodes = self._features[e].shape
        if self._keep and e not in self._products:
            self._products[e] = np.stack(
                [self._product(e, s, slice(None)) for s in range(scrambles)]
            )
        for s in range(scrambles):
            for first in range(0, nodes, _CHUNK):
                here = slice(first, first + _CHUNK)
                kept = self._products.get(e)
                yield s, here, self._product(e, s, here) if kept is None else kept[s, here]

    def _product(self, e: int, scramble: int, here: slice) -> np.ndarray:
        """Return weights times polynomials in log C times powers of X_o."""
        other, weighted = self._features[1 - e][scramble, here], self._weighted[scramble, here]
        powers = other[:, None] ** np.arange(self._columns(e))
        return (powers[:, :, None] * weighted[:, None]).reshape(len(other), -1)


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
