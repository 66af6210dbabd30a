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
from sparsetoken.fitting.projection import Projection
from sparsetoken.fitting.samples import Samples
from sparsetoken.fitting.standardization import Standardization
from sparsetoken.losses import Loss

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
    def projection(self) -> Projection:
        """The tokens as a linear map."""
        return Projection(self.bags, self.standardization)

    def value_and_gradient(self, at: Joint) -> tuple[float, Joint]:
        """Return the objective and its exact gradient; the tokens are read twice.

        With a the softmax, u = Z w, m = <a, u> and h = s l'(y, m + b), the gradient in w is
        sum h Z^T a + ridge w, in q sum h Z^T (a * (u - m)) + query_ridge q, in b sum h.
        """
        bags, tokens, dtype = self.bags, self.projection, self.bags.dtype
        starts, sizes = bags.offsets[:-1], bags.sizes
        t, u = tokens.projected(np.stack([at.q, at.w], axis=1))
        a = segment_softmax(t, bags.offsets)
        m = np.add.reduceat(a * u, starts)
        moved = tokens.moved
        z = m.astype(np.float64) + moved @ at.w + at.b
        y, share = self.samples.y, self.samples.share
        h = share * np.asarray(self.loss.slope(y, z))
        on_w = a * np.repeat(h, sizes).astype(dtype)
        on_q = on_w * (u - np.repeat(m, sizes))
        dq, dw = tokens.summed(np.stack([on_q, on_w]))
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
