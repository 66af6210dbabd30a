"""The stages of training: how a query is found, how the readout is fitted."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from sparsetoken.losses import Loss, get_loss
from sparsetoken.validation import LARGEST_LOAD, LARGEST_VALUE, InvalidInput, Reals, reals

__all__ = ["Query", "QueryVector", "Readout", "TwoSteps"]


class _LossField:
    """A field that takes a loss or the name of one, and gives the loss."""

    def __get__(self, value: Any, kind: type | None = None) -> Loss:
        return get_loss("logistic") if value is None else value.__dict__["loss"]

    def __set__(self, value: Any, loss: Loss | str) -> None:
        value.__dict__["loss"] = get_loss(loss)


@dataclasses.dataclass(frozen=True)
class Query:
    """A frozen query q, by what theory and simulation need to know of it.

    With tokens of a covariance it is a query of that cosine whose rest points in a random
    direction, uniform among those orthogonal to the signal.

    Parameters
    ----------
    cosine : float or array
        s = <q, xi> / |q|, in [-1, 1].
    sharpness : float or array
        k >= 0, the effective inverse temperature of the softmax: the standard deviation of the
        noise of a token's score. It is beta |q| with isotropic tokens, and beta sqrt(q^T S q)
        with the covariance S within samples.

    Raises
    ------
    InvalidInput
        If a value is outside its range.
    """

    cosine: Reals
    sharpness: Reals

    def __post_init__(self) -> None:
        object.__setattr__(self, "cosine", reals("cosine", self.cosine, -1.0, 1.0))
        remedy = "Its limit of infinite sharpness is the model hard_attention."
        object.__setattr__(
            self, "sharpness", reals("sharpness", self.sharpness, 0.0, remedy=remedy)
        )


@dataclasses.dataclass(frozen=True)
class QueryVector:
    """A frozen query whose direction is given, for tokens of a given covariance.

    Parameters
    ----------
    direction : array of shape (d,)
        The direction of q, of any length > 0, in the coordinates of the signal.
    sharpness : float or array
        k >= 0, as of `Query`.

    Raises
    ------
    InvalidInput
        If a value is outside its range, or the direction is no vector or 0.
    """

    direction: Any = dataclasses.field(metadata={"whole": True})
    sharpness: Reals = 1.0

    def __post_init__(self) -> None:
        q = reals("direction of the query", self.direction)
        flat = isinstance(q, tuple) and all(isinstance(entry, float) for entry in q)
        length = math.hypot(*q) if flat else 0.0
        if not 0 < length < math.inf:
            raise InvalidInput("direction of the query", "a vector other than 0", q)
        object.__setattr__(self, "direction", tuple(entry / length for entry in q))
        object.__setattr__(self, "sharpness", reals("sharpness", self.sharpness, 0.0))


@dataclasses.dataclass(frozen=True)
class TwoSteps:
    """A query found by two gradient steps on D0, from w = 0, b = 0, q = 0.

    The first step moves (w, b), the second moves q.

    Parameters
    ----------
    alpha : float or array
        alpha0 = n0 / d in (0, 1e9], samples of D0 per dimension.
    eta_w, eta_b, eta_q : float or array
        Step sizes in [0, 1e6] of readout, bias and query.
    beta : float or array
        Inverse temperature of the softmax, in (0, 1e6].
    loss : Loss or str
        The loss of both steps, or the name of a built-in one: square, logistic, hinge,
        squared_hinge.

    Raises
    ------
    InvalidInput
        If a value is outside its range or the loss is unknown.
    """

    alpha: Reals = dataclasses.field(default=2.0, metadata={"column": "alpha0"})
    eta_w: Reals = 0.5
    eta_b: Reals = 0.5
    eta_q: Reals = 25.0
    beta: Reals = 1.0
    loss: _LossField = _LossField()

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        put("alpha", reals("alpha0 (n0/d)", self.alpha, 0.0, LARGEST_LOAD, open_low=True))
        for name in ("eta_w", "eta_b", "eta_q"):
            put(name, reals(name, getattr(self, name), 0.0, LARGEST_VALUE))
        put("beta", reals("beta", self.beta, 0.0, LARGEST_VALUE, open_low=True))


@dataclasses.dataclass(frozen=True)
class Readout:
    """A readout (w, b) fitted on D1 to features that are fixed.

    It is the minimum over (w, b) of ``(1/n1) sum_i l(y_i, <w, f_i> + b) + (ridge/2) |w|^2``.

    Parameters
    ----------
    loss : Loss or str
        The loss, or the name of a built-in one: square, logistic, hinge, squared_hinge.
    ridge : float or array
        lambda >= 0. The bias is not penalised. 0 stands for the limit lambda -> 0+: with
        data that can be fitted exactly, the shortest readout that does (least norm, or
        largest margin).
    alpha : float or array
        alpha1 = n1 / d in [1e-6, 1e9], samples of D1 per dimension. Theory takes ``inf``
        too, the limit of infinite data.

    Raises
    ------
    InvalidInput
        If a value is outside its range or the loss is unknown.
    """

    loss: _LossField = _LossField()
    ridge: Reals = 1e-2
    alpha: Reals = dataclasses.field(default=2.0, metadata={"column": "alpha1"})

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        put("ridge", reals("ridge (lambda)", self.ridge, 0.0))
        put("alpha", reals("alpha1 (n1/d)", self.alpha, 1e-6, LARGEST_LOAD, infinite=True))
