"""Query, readout and bias trained together, from several starts."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from sparsetoken.bags import Bags
from sparsetoken.bags.segments import segment_softmax
from sparsetoken.fitting import moments
from sparsetoken.fitting.samples import Samples
from sparsetoken.fitting.standardization import Standardization
from sparsetoken.losses import Loss

__all__ = ["End", "Joint", "JointProblem", "lowest"]

MAX_STEPS = 500
FLAT = 1e-3  # entries of a gradient that is as good as 0: float32 gets no lower


@dataclasses.dataclass(frozen=True, eq=False)
class Joint:
    """Query, readout and bias, which act on standardised tokens; also a gradient in them."""

    q: Float[np.ndarray, " d"]
    w: Float[np.ndarray, " d"]
    b: float

    def packed(self) -> Float[np.ndarray, " m"]:
        """Return the three as one vector of length m = 2 d + 1."""
        return np.concatenate([self.q, self.w, [self.b]])

    @classmethod
    def unpacked(cls, vector: Float[np.ndarray, " m"]) -> Joint:
        """Return the three that `packed` made one."""
        d = len(vector) // 2
        return cls(vector[:d], vector[d:-1], float(vector[-1]))


@dataclasses.dataclass(frozen=True, eq=False)
class End:
    """Where a descent ended: the objective, the weights, and why it failed ("" if it did not)."""

    value: float
    at: Joint
    failure: str


@dataclasses.dataclass(frozen=True, eq=False)
class JointProblem:
    """The regularised objective of joint training.

    ``sum_i s_i l(y_i, <w, Z_i^T softmax(Z_i q)> + b) + (ridge/2) |w|^2 + (query_ridge/2) |q|^2``
    with s_i the shares of weight and Z_i the standardised tokens.
    """

    bags: Bags
    standardization: Standardization
    samples: Samples
    loss: Loss
    ridge: float
    query_ridge: float

    @functools.cached_property
    def centre(self) -> Float[np.ndarray, " d"]:
        """The mean of the tokens, in their dtype. Far from it float32 products lose digits."""
        return moments.mean(self.bags.tokens).astype(self.bags.dtype)

    def projected(self, directions: Float[np.ndarray, "d k"]) -> Float[np.ndarray, "k N"]:
        """Return the products of the tokens, less the centre, with directions of z."""
        tokens = self.bags.tokens
        raw = (directions / self.standardization.scale[:, None]).astype(tokens.dtype)
        found = np.empty((raw.shape[1], len(tokens)), tokens.dtype)
        for rows in moments.chunks(tokens):
            found[:, rows] = ((tokens[rows] - self.centre) @ raw).T
        return found

    def _summed(self, weights: Float[np.ndarray, "k N"]) -> Float[np.ndarray, "k d"]:
        """Return the weighted sums of the tokens less the centre."""
        tokens = self.bags.tokens
        parts = (weights[:, rows] @ (tokens[rows] - self.centre) for rows in moments.chunks(tokens))
        return sum(parts, np.zeros((len(weights), tokens.shape[1])))

    def value_and_gradient(self, at: Joint) -> tuple[float, Joint]:
        """Return the objective and its exact gradient; the tokens are read twice.

        With a the softmax, u = Z w, m = <a, u> and h = s l'(y, m + b), the gradient in w is
        sum h Z^T a + ridge w, in q sum h Z^T (a * (u - m)) + query_ridge q, in b sum h.
        """
        bags, scaling, dtype = self.bags, self.standardization, self.bags.dtype
        starts, sizes = bags.offsets[:-1], bags.sizes
        t, u = self.projected(np.stack([at.q, at.w], axis=1))
        a = segment_softmax(t, bags.offsets)
        m = np.add.reduceat(a * u, starts)
        moved = (self.centre - scaling.mean) / scaling.scale
        z = m.astype(np.float64) + moved @ at.w + at.b
        y, share = self.samples.y, self.samples.share
        h = share * np.asarray(self.loss.slope(y, z))
        on_w = a * np.repeat(h, sizes).astype(dtype)
        on_q = on_w * (u - np.repeat(m, sizes))
        dq, dw = self._summed(np.stack([on_q, on_w])) / scaling.scale
        dw += h.sum() * moved
        value = share @ np.asarray(self.loss.value(y, z))
        value += 0.5 * (self.ridge * at.w @ at.w + self.query_ridge * at.q @ at.q)
        gradient = Joint(dq + self.query_ridge * at.q, dw + self.ridge * at.w, float(h.sum()))
        return float(value), gradient

    def descend(self, start: Joint) -> End:
        """Return where L-BFGS ends."""

        def both(vector: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = self.value_and_gradient(Joint.unpacked(vector))
            return value, gradient.packed()

        options = {"maxiter": MAX_STEPS, "gtol": 1e-6}
        found = minimize(both, start.packed(), jac=True, method="L-BFGS-B", options=options)
        slope = float(np.abs(found.jac).max())
        stopped = f"{found.message}, gradient {slope:.1g}"
        failure = "" if found.success or slope < FLAT else stopped
        return End(float(found.fun), Joint.unpacked(found.x), failure)


def lowest(problem: JointProblem, starts: Iterable[Joint]) -> End:
    """Return the end of least objective over several starts."""
    return min((problem.descend(start) for start in starts), key=lambda end: end.value)
