"""Where a saddle point is, by those that are solved already at other loads and ridges."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sparsetoken.theory.saddle.equations import Load

_MOST = 6  # neighbours of a polynomial
_LARGEST_SUM = 64.0  # of the absolute weights of these neighbours


class Guess(NamedTuple):
    """A place near a saddle point, and roughly how far from it, relative to its norm."""

    x: np.ndarray
    distance: float


class SolvedLoads:
    """Saddle points by load; unknowns from a `first` on are > 0 at finite data, else >= 0."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._loads: list[Load] = []
        self._points: list[np.ndarray] = []

    def add(self, load: Load, x: np.ndarray) -> None:
        """Remember a saddle point."""
        logarithms = x.copy()
        if math.isfinite(load.samples):
            logarithms[self._first :] = np.log(x[self._first :])
        self._loads.append(load)
        self._points.append(logarithms)

    def guess(self, load: Load) -> Guess | None:
        """Return where the saddle point of a load is, None if nothing is known nearby.

        Along an axis on which the samples or the ridge alone vary a polynomial in its logarithm
        is put through the nearest solutions, of the degree from which one more changes least.
        """
        for axis, other in ((0, 1), (1, 0)):
            same = [i for i, known in enumerate(self._loads) if known[other] == load[other]]
            guess = self._along([self._loads[i][axis] for i in same], same, load[axis])
            if guess is not None:
                x = guess.x.copy()
                norms = x[self._first :]
                x[self._first :] = np.exp(norms) if math.isfinite(load.samples) else np.abs(norms)
                return guess._replace(x=x)
        return None

    def _along(self, values: list[float], indices: list[int], at: float) -> Guess | None:
        if at in values:
            return Guess(self._points[indices[values.index(at)]], 0.0)
        usable = [j for j, value in enumerate(values) if 0 < value < math.inf]
        if not usable or not 0 < at < math.inf:
            return None
        # No polynomial goes through two points at one place, or a rounding apart.
        away, first = np.unique(np.log([values[j] / at for j in usable]), return_index=True)
        nearest = np.argsort(np.abs(away), kind="stable")[:_MOST]
        away = away[nearest]
        points = np.array([self._points[indices[usable[j]]] for j in first[nearest]])
        best = Guess(points[0], float(abs(away[0])))
        last = points[0]
        for count in range(2, len(points) + 1):
            weights = _weights_at_zero(away[:count])
            if np.abs(weights).sum() > _LARGEST_SUM:
                break
            x = weights @ points[:count]
            distance = float(np.linalg.norm(x - last) / np.linalg.norm(x))
            if distance < best.distance:
                best = Guess(x, distance)
            last = x
        return best


def _weights_at_zero(t: np.ndarray) -> np.ndarray:
    """Return the weights of values at t in the value at 0 of the polynomial through them."""
    apart = t[:, None] - t + np.eye(len(t))
    return np.prod(np.where(np.eye(len(t), dtype=bool), 1.0, -t / apart), axis=1)
