"""The stages of training: how the query is found and how the readout is fitted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sparsetoken.parameters import (
    LOADS,
    POSITIVE,
    SIZES,
    Linear,
    Log,
    Named,
    Range,
    parameter,
    parameters_of,
    value,
)
from sparsetoken.validation import (
    LARGEST_LOAD,
    LARGEST_VALUE,
    InvalidInput,
    Reals,
    integer,
    real,
    reals,
)

if TYPE_CHECKING:
    from sparsetoken.losses import Loss

__all__ = ["JointDescent", "Query", "QueryVector", "Readout", "TwoSteps"]

MOST_STEPS = 100_000
MOST_BATCHES = 256
SMOOTH_LOSSES = ("logistic", "square", "squared_hinge")
LOSSES = (*SMOOTH_LOSSES, "hinge")
"""The names of the built-in losses, repeated here since `sparsetoken.losses` is slow to load."""

Schedule = Any
"""One number for all steps, or one for each step, stored as a tuple; or an array of these, whose
last axis has one number for each step, or a single one."""


def _loss(given: Loss | str) -> Loss:
    from sparsetoken.losses import get_loss

    return get_loss(given)


def smooth_loss(given: Loss | str) -> Loss:
    loss = _loss(given)
    if not loss.smooth:
        remedy = "The theory of its steps needs derivatives of the slope; use squared_hinge "
        legal = "a loss whose slope is continuous"
        raise InvalidInput("loss of a descent", legal, loss.name, f"{remedy}or logistic.")
    return loss


def _direction(given: Any) -> tuple[float, ...]:
    q = reals("direction of the query", given)
    flat = isinstance(q, tuple) and all(isinstance(entry, float) for entry in q)
    length = math.hypot(*q) if flat else 0.0
    if not 0 < length < math.inf:
        raise InvalidInput("direction of the query", "a vector other than 0", q)
    return tuple(entry / length for entry in q)


def _steps(of: str, default: float, letter: str, high: float, *, per_step: bool = False) -> Any:
    return parameter(
        f"step size of the {of}",
        letter,
        default=default,
        range=SIZES,
        per_step=per_step,
        slider=Linear(0, high),
    )


def _temperature(of: str) -> Any:
    help = f"inverse temperature of the {of}"
    return parameter(help, r"\beta", default=1.0, range=POSITIVE, slider=Log(0.05, 10))


def _loss_that(
    does: str, words: tuple[str, ...] = LOSSES, find: Callable[[Loss | str], Loss] = _loss
) -> Any:
    kind, default = "Loss or " + ", ".join(words), "logistic"
    return parameter(f"loss, {does}", r"\ell", default=default, choices=words, find=find, kind=kind)


_SHARPNESS = (
    "sharpness of the softmax, its effective inverse temperature: the standard deviation of the "
    "noise of a token's score. It is beta |q| with isotropic tokens, and beta sqrt(q^T S q) with "
    "the covariance S within samples"
)


@value
class Query:
    """A frozen query q, by its cosine and sharpness.

    For tokens with a covariance, its part orthogonal to the signal has a uniformly random
    direction.

    See Also
    --------
    QueryVector : A query given by its direction.
    TwoSteps : A query found by two gradient steps.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.Query(cosine=0.9, sharpness=2.0)
    Query(cosine=0.9, sharpness=2.0)
    """

    cosine: Reals = parameter(
        "cosine of query and signal, <q, xi> / |q|",
        "s",
        range=Range(least=-1, most=1),
        slider=Linear(-1, 1),
    )
    sharpness: Reals = parameter(
        _SHARPNESS,
        "k",
        range=Range(least=0),
        slider=Linear(0, 10),
        remedy="For infinite sharpness use the model hard_attention.",
    )


@value
class QueryVector:
    """A frozen query with a given direction, for tokens with a given covariance.

    See Also
    --------
    Query : A query given by its cosine and sharpness.
    TokenCovariance : Noise of any covariance.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.QueryVector([1.0, 0.0, 0.0], sharpness=2.0).sharpness
    2.0
    """

    direction: Any = parameter(
        "direction of the query, of any length > 0, in the coordinates of the signal",
        find=_direction,
        kind="array of shape (d,)",
    )
    sharpness: Reals = parameter(_SHARPNESS, "k", default=1.0, range=Range(least=0))


@value
class TwoSteps:
    """A query found by two gradient steps on D0, from w = 0, b = 0, q = 0.

    The first step moves (w, b), the second moves q.

    See Also
    --------
    Query : A query given by its cosine and sharpness.
    JointDescent : Descent on query, readout and bias.
    align : The query in the limit of high dimension.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> found = st.align(problem, st.TwoSteps(alpha0=1.0, eta_q=25.0))
    >>> print(f"{found.sharpness:.1f}")
    1.0
    """

    alpha0: Reals = parameter(
        "labels for the query, as samples of D0 per dimension",
        r"\alpha_0 = n_0/d",
        default=2.0,
        range=LOADS,
        slider=Log(0.05, 100),
    )
    eta_w: Reals = _steps("readout", 0.5, r"\eta_w", 10)
    eta_b: Reals = _steps("bias", 0.5, r"\eta_b", 30)
    eta_q: Reals = _steps("query", 25.0, r"\eta_q", 100)
    beta: Reals = _temperature("softmax")
    loss: Named[Loss] = _loss_that("whose gradient both steps follow")

    @property
    def samples_per_dimension(self) -> Reals:
        """Samples per dimension that find the query: alpha0."""
        return self.alpha0


@value
class JointDescent:
    """Joint training of all weights (w, q, b) by gradient descent on one data set.

    A step is ``w <- w - eta_w (g_w + decay_w w) + momentum (w - w_before)``, the same for q
    with its own step size and decay, and for b without decay, where g is the gradient of the
    mean loss over the batch of the step.

    Step sizes and momentum are one number for all steps, or one for each. For several descents at
    once, give an array of at least two axes, the last with one number for all steps or one for
    each, such as ``np.array([0.5, 1.0])[:, None]``.

    See Also
    --------
    Descent : Descent on all weights of any network.
    TwoSteps : A query found by two gradient steps.
    descend : The course of gradient descent in the limit of high dimension.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.Attention(st.JointDescent(alpha=3.0, steps=12)).query.steps
    12
    """

    alpha: Reals = parameter(
        "labels, as samples per dimension",
        r"\alpha = n/d",
        default=2.0,
        range=LOADS,
        slider=Log(0.25, 10),
    )
    steps: int = parameter(
        "steps of gradient descent",
        "T",
        default=12,
        whole=True,
        range=Range(1, most=MOST_STEPS),
        slider=Linear(1, 30),
    )
    eta_w: Schedule = _steps("readout", 1.0, r"\eta_w", 10, per_step=True)
    eta_q: Schedule = _steps("query", 4.0, r"\eta_q", 30, per_step=True)
    eta_b: Schedule = _steps("bias", 0.5, r"\eta_b", 30, per_step=True)
    beta: Reals = _temperature("weights of attention")
    momentum: Schedule = parameter(
        "momentum of all weights", default=0.0, range=Range(least=0, below=1), per_step=True
    )
    decay_w: Reals = parameter("weight decay of the readout", default=0.0, range=SIZES)
    decay_q: Reals = parameter("weight decay of the query", default=0.0, range=SIZES)
    batches: int = parameter(
        "batches of equal size into which the data set is split once, used by the steps in turn; "
        "1 is full-batch descent",
        default=1,
        whole=True,
        range=Range(least=1, most=MOST_BATCHES),
    )
    start_w: Reals = parameter(
        "length of the readout before the first step, where it is orthogonal to the signal and "
        "the bias is 0",
        default=0.0,
        range=SIZES,
    )
    start_q: Reals = parameter(
        "length of the query before the first step", default=0.0, range=SIZES
    )
    start_product: Reals = parameter(
        "inner product of the two, at most start_w start_q in size", default=0.0
    )
    loss: Named[Loss] = _loss_that(
        "whose gradient all steps follow. Its slope must be continuous, so the hinge is refused",
        SMOOTH_LOSSES,
        smooth_loss,
    )

    def _check_together(self) -> None:
        for name, declared in parameters_of(type(self)).items():
            if declared.per_step:
                self._check_schedule(name)
        lengths = self.start_w, self.start_q
        if any(isinstance(number, tuple) for number in (*lengths, self.start_product)):
            return  # each point of the arrays is checked when it is made
        most = self.start_w * self.start_q
        if abs(self.start_product) > most * (1 + 1e-12):
            raise InvalidInput(
                "start_product",
                f"in [{-most:g}, {most:g}]",
                self.start_product,
                "No two vectors of lengths start_w and start_q have a larger inner product.",
            )

    def _check_schedule(self, name: str) -> None:
        given = getattr(self, name)
        shape = np.shape(given)
        if shape and shape[-1] != self.steps and not (len(shape) > 1 and shape[-1] == 1):
            legal = f"a number, or {self.steps} numbers, one for each step"
            remedy = f"For several descents at once, write {name}=np.array([...])[:, None]."
            raise InvalidInput(name, legal, given, remedy)

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
        """Return the descent whose steps alternate between readout and bias, and the query.

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
        """Samples per dimension that find the query: alpha."""
        return self.alpha

    def per_step(self, name: Literal["eta_w", "eta_q", "eta_b", "momentum"]) -> np.ndarray:
        """Return a schedule as an array of one number for each step."""
        return np.broadcast_to(np.asarray(getattr(self, name), dtype=float), (self.steps,))


@value
class Readout:
    """A readout (w, b) fitted on D1 to features that are fixed.

    It is the minimum over (w, b) of ``(1/n1) sum_i l(y_i, <w, f_i> + b) + (ridge/2) |w|^2``.

    See Also
    --------
    TwoSteps : A query found by two gradient steps.
    predict : Test error, training loss and AUC in the limit.
    sparsetoken.losses.get_loss : A built-in loss by its name.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.Readout("logistic", ridge=1e-2, alpha1=2.0).ridge
    0.01
    """

    loss: Named[Loss] = _loss_that("whose mean over D1 the readout minimises")
    ridge: Reals = parameter(
        "ridge, the L2 penalty of the readout; the bias has none. 0 stands for the limit lambda "
        "-> 0+: if the data can be fitted exactly, the interpolator of least norm (or largest "
        "margin)",
        r"\lambda",
        default=1e-2,
        range=Range(least=0),
        slider=Log(1e-5, 10),
    )
    alpha1: Reals = parameter(
        "labels for the readout, as samples of D1 per dimension. The theory also accepts inf, the "
        "limit of infinite data",
        r"\alpha_1 = n_1/d",
        default=2.0,
        range=Range(least=1e-6, most=LARGEST_LOAD, infinite=True),
        slider=Log(0.25, 10),
    )


def require_steps(given: Any) -> None:
    """Raise `InvalidInput` unless a value is two steps."""
    if not isinstance(given, TwoSteps):
        remedy = "Write st.TwoSteps(alpha0=1.0), for example."
        raise InvalidInput("steps", "TwoSteps", given, remedy)


def require_readout(given: Any) -> None:
    """Raise `InvalidInput` unless a value is a readout."""
    if not isinstance(given, Readout):
        remedy = 'Write st.Readout("logistic", ridge=1e-2, alpha1=2.0), for example.'
        raise InvalidInput("readout", "a Readout", given, remedy)
