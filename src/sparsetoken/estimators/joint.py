"""Query, readout and bias trained together, from several starts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from sparsetoken.bags import Bags
from sparsetoken.bags.segments import segment_softmax
from sparsetoken.estimators.coordinates import Coordinates
from sparsetoken.estimators.readout import Samples
from sparsetoken.losses import Loss

__all__ = ["Joint", "JointProblem", "lowest"]

MAX_STEPS = 500


class Joint(NamedTuple):
    """Query, readout and bias, in the coordinates; also a gradient in them."""

    q: Float[np.ndarray, " d"]
    w: Float[np.ndarray, " d"]
    b: float

    def packed(self) -> Float[np.ndarray, " 2d+1"]:
        """Return the three as one vector."""
        return np.concatenate([self.q, self.w, [self.b]])

    @classmethod
    def unpacked(cls, vector: Float[np.ndarray, " 2d+1"]) -> Joint:
        """Return the three that `packed` made one."""
        d = len(vector) // 2
        return cls(vector[:d], vector[d:-1], float(vector[-1]))


class JointProblem(NamedTuple):
    """The regularised objective of joint training.

    ``sum_i s_i l(y_i, <w, Z_i^T softmax(Z_i q)> + b) + (ridge/2) |w|^2 + (query_ridge/2) |q|^2``
    with s_i the shares of weight and Z_i the tokens in the coordinates.
    """

    bags: Bags
    coordinates: Coordinates
    samples: Samples
    loss: Loss
    ridge: float
    query_ridge: float

    def value_and_gradient(self, at: Joint) -> tuple[float, Joint]:
        """Return the objective and its exact gradient; the tokens are read twice.

        With a the softmax, u = Z w, m = <a, u> and h = s l'(y, m + b), the gradient in w is
        sum h Z^T a + ridge w, in q sum h Z^T (a * (u - m)) + query_ridge q, in b sum h.
        """
        bags, place, dtype = self.bags, self.coordinates, self.bags.dtype
        starts, sizes = bags.offsets[:-1], bags.sizes
        directions = np.stack([place.raw(at.q), place.raw(at.w)], axis=1).astype(dtype)
        t, u = np.ascontiguousarray((bags.tokens @ directions).T)
        a = segment_softmax(t, bags.offsets)
        m = np.add.reduceat(a * u, starts)
        z = m.astype(np.float64) + place.offset(at.w) + at.b
        y, share = self.samples.y, self.samples.share
        h = share * np.asarray(self.loss.slope(y, z))
        on_w = a * np.repeat(h, sizes).astype(dtype)
        on_q = on_w * (u - np.repeat(m, sizes))
        sums = np.stack([on_q, on_w]) @ bags.tokens
        dq, dw = place.summed(sums.astype(np.float64), np.array([0.0, h.sum()]))
        value = share @ np.asarray(self.loss.value(y, z))
        value += 0.5 * (self.ridge * at.w @ at.w + self.query_ridge * at.q @ at.q)
        gradient = Joint(dq + self.query_ridge * at.q, dw + self.ridge * at.w, float(h.sum()))
        return float(value), gradient

    def descend(self, start: Joint) -> tuple[float, Joint]:
        """Return the objective and the place where L-BFGS ends."""

        def both(vector: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = self.value_and_gradient(Joint.unpacked(vector))
            return value, gradient.packed()

        options = {"maxiter": MAX_STEPS, "gtol": 1e-6}
        found = minimize(both, start.packed(), jac=True, method="L-BFGS-B", options=options)
        return float(found.fun), Joint.unpacked(found.x)


def lowest(problem: JointProblem, starts: Iterable[Joint]) -> tuple[float, Joint]:
    """Return the end of least objective over several starts."""
    return min((problem.descend(start) for start in starts), key=lambda end: end[0])
