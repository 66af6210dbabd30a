"""The stages of training: how a query is found, how the readout is fitted."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Literal

import numpy as np

from sparsetoken.losses import Loss, get_loss
from sparsetoken.validation import (
    LARGEST_LOAD,
    LARGEST_VALUE,
    InvalidInput,
    Reals,
    integer,
    real,
    reals,
)

__all__ = ["JointDescent", "Query", "QueryVector", "Readout", "TwoSteps"]

MOST_STEPS = 100_000
MOST_BATCHES = 256


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

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.Query(cosine=0.9, sharpness=2.0)
    Query(cosine=0.9, sharpness=2.0)
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

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.QueryVector([1.0, 0.0, 0.0], sharpness=2.0).sharpness
    2.0
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
    alpha0 : float or array
        n0 / d in (0, 1e9], samples of D0 per dimension.
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

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> round(st.theory.align(problem, st.TwoSteps(alpha0=1.0, eta_q=25.0)).sharpness, 1)
    1.0
    """

    alpha0: Reals = 2.0
    eta_w: Reals = 0.5
    eta_b: Reals = 0.5
    eta_q: Reals = 25.0
    beta: Reals = 1.0
    loss: _LossField = _LossField()

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        put("alpha0", reals("alpha0 (n0/d)", self.alpha0, 0.0, LARGEST_LOAD, open_low=True))
        for name in ("eta_w", "eta_b", "eta_q"):
            put(name, reals(name, getattr(self, name), 0.0, LARGEST_VALUE))
        put("beta", reals("beta", self.beta, 0.0, LARGEST_VALUE, open_low=True))

    @property
    def samples_per_dimension(self) -> Reals:
        """The samples that find the query, over the dimension: alpha0."""
        return self.alpha0


Schedule = Any
"""A number for all steps, or one number for each step, which the values keep as a tuple; or an
array of them, whose last axis has as many numbers as steps, or one."""

_PER_STEP: dict[str, Any] = {"last_axis": True}


@dataclasses.dataclass(frozen=True)
class JointDescent:
    """All weights (w, q, b) trained together by gradient descent on one data set.

    A step is ``w <- w - eta_w (g_w + decay_w w) + momentum (w - w_before)``, the same for q
    with its own step size and decay, and for b without decay, where g is the gradient of the
    mean loss over the batch of the step.

    Parameters
    ----------
    alpha : float or array
        n / d in (0, 1e9], samples per dimension.
    steps : int
        Number of steps, at least 1.
    eta_w, eta_q, eta_b : float, sequence of floats or array
        Step sizes in [0, 1e6] of readout, query and bias: one number for all steps, or one
        for each. For several descents at once, an array of at least two axes: the last has
        one number for all steps or one for each, as ``np.array([0.5, 1.0])[:, None]``.
    beta : float or array
        Inverse temperature of the weights of attention, in (0, 1e6].
    momentum : float, sequence of floats or array
        In [0, 1), for all weights; an array as for step sizes.
    decay_w, decay_q : float or array
        Weight decay in [0, 1e6] of readout and query.
    batches : int
        1 for the whole data set in each step. Otherwise the data set is cut once into so many
        batches of equal size, and the steps take turns among them.
    start_w, start_q : float or array
        Lengths >= 0 of the weights before the first step. They have no overlap with the
        signal. The bias starts at 0.
    start_product : float or array
        Their inner product, at most start_w start_q in size.
    loss : Loss or str
        The loss, or the name of a built-in one. Its slope must be continuous, so the hinge
        is refused.

    Raises
    ------
    InvalidInput
        If a value is outside its range, a schedule has not one number for each step, the start
        is not that of two vectors, or the loss is unknown or has a kink.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.Attention(st.JointDescent(alpha=3.0, steps=12)).query.steps
    12
    """

    alpha: Reals = 2.0
    steps: int = 12
    eta_w: Schedule = dataclasses.field(default=1.0, metadata=_PER_STEP)
    eta_q: Schedule = dataclasses.field(default=4.0, metadata=_PER_STEP)
    eta_b: Schedule = dataclasses.field(default=0.5, metadata=_PER_STEP)
    beta: Reals = 1.0
    momentum: Schedule = dataclasses.field(default=0.0, metadata=_PER_STEP)
    decay_w: Reals = 0.0
    decay_q: Reals = 0.0
    batches: int = 1
    start_w: Reals = 0.0
    start_q: Reals = 0.0
    start_product: Reals = 0.0
    loss: _LossField = _LossField()

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        put("alpha", reals("alpha (n/d)", self.alpha, 0.0, LARGEST_LOAD, open_low=True))
        put("steps", integer("steps", self.steps, 1, MOST_STEPS))
        for name in ("eta_w", "eta_q", "eta_b"):
            put(name, self._schedule(name, high=LARGEST_VALUE))
        put("beta", reals("beta", self.beta, 0.0, LARGEST_VALUE, open_low=True))
        put("momentum", self._schedule("momentum", high=1.0, open_high=True))
        for name in ("decay_w", "decay_q", "start_w", "start_q"):
            put(name, reals(name, getattr(self, name), 0.0, LARGEST_VALUE))
        put("batches", integer("batches", self.batches, 1, MOST_BATCHES))
        put("start_product", reals("start_product", self.start_product))
        self._check_start()
        if not self.loss.smooth:
            raise InvalidInput(
                "loss of JointDescent",
                "a loss whose slope is continuous",
                self.loss.name,
                "The theory of its steps needs derivatives of the slope; take squared_hinge "
                "or logistic.",
            )

    def _check_start(self) -> None:
        lengths = self.start_w, self.start_q
        if any(isinstance(value, tuple) for value in (*lengths, self.start_product)):
            return  # each point of the arrays is checked when it is made
        most = self.start_w * self.start_q
        if abs(self.start_product) > most * (1 + 1e-12):
            raise InvalidInput(
                "start_product",
                f"in [{-most:g}, {most:g}]",
                self.start_product,
                "No two vectors of lengths start_w and start_q have a larger inner product.",
            )

    def _schedule(self, name: str, **interval: Any) -> Schedule:
        values = reals(name, getattr(self, name), 0.0, **interval)
        shape = np.shape(values)
        if shape and shape[-1] != self.steps and not (len(shape) > 1 and shape[-1] == 1):
            legal = f"a number, or {self.steps} numbers, one for each step"
            remedy = f"For several descents at once write {name}=np.array([...])[:, None]."
            raise InvalidInput(name, legal, getattr(self, name), remedy)
        return values

    @classmethod
    def alternating(
        cls,
        alpha: float = 2.0,
        steps: int = 12,
        eta_w: float = 1.0,
        eta_q: float = 4.0,
        eta_b: float = 0.5,
        **more: Any,
    ) -> JointDescent:
        """Return the descent whose steps move readout and bias, then the query, in turns.

        Its first two steps from zero are those of `TwoSteps`.

        Parameters
        ----------
        alpha, steps, eta_w, eta_q, eta_b
            As of the class, with one size for each weight.
        **more
            Other fields of the class.

        Raises
        ------
        InvalidInput
            If a value is outside its range.
        """
        first = np.arange(integer("steps", steps, 1, MOST_STEPS)) % 2 == 0
        turns = {"eta_w": (eta_w, first), "eta_q": (eta_q, ~first), "eta_b": (eta_b, first)}
        sizes: dict[str, Any] = {
            name: np.where(turn, real(name, eta, 0.0, LARGEST_VALUE), 0.0)
            for name, (eta, turn) in turns.items()
        }
        return cls(alpha, steps, **sizes, **more)

    @property
    def samples_per_dimension(self) -> Reals:
        """The samples that find the query, over the dimension: alpha."""
        return self.alpha

    def per_step(self, name: Literal["eta_w", "eta_q", "eta_b", "momentum"]) -> np.ndarray:
        """Return a schedule as an array of one number for each step."""
        return np.broadcast_to(np.asarray(getattr(self, name), dtype=float), (self.steps,))


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
    alpha1 : float or array
        n1 / d in [1e-6, 1e9], samples of D1 per dimension. Theory takes ``inf``
        too, the limit of infinite data.

    Raises
    ------
    InvalidInput
        If a value is outside its range or the loss is unknown.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.Readout("logistic", ridge=1e-2, alpha1=2.0).ridge
    0.01
    """

    loss: _LossField = _LossField()
    ridge: Reals = 1e-2
    alpha1: Reals = 2.0

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        put("ridge", reals("ridge (lambda)", self.ridge, 0.0))
        put("alpha1", reals("alpha1 (n1/d)", self.alpha1, 1e-6, LARGEST_LOAD, infinite=True))


def require_steps(value: Any) -> None:
    """Raise `InvalidInput` unless a value is two steps."""
    if not isinstance(value, TwoSteps):
        remedy = "Write st.TwoSteps(alpha0=1.0), for example."
        raise InvalidInput("steps", "TwoSteps", value, remedy)


def require_readout(value: Any) -> None:
    """Raise `InvalidInput` unless a value is a readout."""
    if not isinstance(value, Readout):
        remedy = 'Write st.Readout("logistic", ridge=1e-2, alpha1=2.0), for example.'
        raise InvalidInput("readout", "a Readout", value, remedy)
