"""The stages of training: how the query is found and how the readout is fitted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsetoken.base.parameters import (
    LOADS,
    POSITIVE,
    SIZES,
    Linear,
    Log,
    Named,
    Range,
    parameter,
    value,
)
from sparsetoken.base.validation import (
    LARGEST_LOAD,
    InvalidInput,
    Reals,
    real,
    reals,
)
from sparsetoken.model.tokens import TokenCovariance, TokenDistribution

if TYPE_CHECKING:
    from sparsetoken.losses import Loss

__all__ = ["Query", "Readout", "TwoSteps"]

SMOOTH_LOSSES = ("logistic", "square", "squared_hinge")
LOSSES = (*SMOOTH_LOSSES, "hinge")
"""The names of the built-in losses, repeated here since `sparsetoken.losses` is slow to load."""


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
    q = reals("vector of the query", given)
    legal = "of shape (d,), and not 0"
    if not (isinstance(q, tuple) and all(isinstance(entry, float) for entry in q)):
        raise InvalidInput("vector of the query", legal, f"shape {np.shape(q)}")
    norm = math.hypot(*q)
    if not 0 < norm < math.inf:
        raise InvalidInput("vector of the query", legal, f"a norm of {norm:g}")
    if abs(norm - 1) <= _ROUNDING:  # it is normalised already, and stays what it is
        return q
    return tuple(entry / norm for entry in q)


def _cosines(given: Any) -> tuple[tuple[str, float], ...]:
    pairs = dict(given) if isinstance(given, Mapping) or _are_pairs(given) else {}
    named = all(isinstance(name, str) and name for name in pairs)
    if not pairs or len(pairs) < len(given) or not named:
        legal = "a mapping from names of directions to numbers"
        remedy = 'Write st.Query(cosines={"place": 0.8}), for example.'
        raise InvalidInput("cosines of the query", legal, given, remedy)
    names = sorted(pairs)
    cosines = tuple((name, real(f"cosine of the query with {name}", pairs[name])) for name in names)
    norm = math.hypot(*(c for _, c in cosines))
    if norm > 1 + _ROUNDING:
        legal = "numbers whose squares add up to at most 1"
        remedy = "They are those of a unit vector with orthonormal directions."
        raise InvalidInput("cosines of the query", legal, f"a sum of {norm**2:.3g}", remedy)
    return cosines


def _are_pairs(given: Any) -> bool:
    """Return whether a value has the form in which cosines are kept."""
    return isinstance(given, tuple) and all(isinstance(p, tuple) and len(p) == 2 for p in given)


def _steps(of: str, default: float, letter: str, high: float) -> Any:
    return parameter(
        f"step size of the {of}",
        letter,
        default=default,
        range=SIZES,
        slider=Linear(0, high),
    )


def _loss_that(does: str) -> Any:
    kind = "Loss or " + ", ".join(LOSSES)
    return parameter(
        f"loss, {does}", r"\ell", default="logistic", choices=LOSSES, find=_loss, kind=kind
    )


_ROUNDING = 1e-12
_DIRECTIONS = ("cosine", "vector", "cosines")  # of a query: one of them is given

_SHARPNESS = (
    "sharpness of the softmax, its effective inverse temperature: the standard deviation of the "
    "noise of a token's score. It is β |q| with isotropic tokens, and β √(qᵀ S q) with "
    "the covariance S within samples"
)


@value
class Query:
    """A frozen query q, by its cosine with the signal, by its direction, or by several cosines.

    Exactly one of these is given. Among tokens with a covariance the part of q orthogonal to the
    signal has a uniformly random direction where the cosine is given, and is known where the
    vector is. Cosines by name belong to the directions of a `Task`.

    See Also
    --------
    TwoSteps : A query found by two gradient steps.
    sparsetoken.TokenCovariance : Noise of any covariance.
    sparsetoken.Task : A task of one's own.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.Query(cosine=0.9, sharpness=2.0)
    Query(cosine=0.9, sharpness=2.0)
    >>> st.Query(vector=[3.0, 0.0, 4.0], sharpness=2.0).vector
    (0.6, 0.0, 0.8)
    >>> st.Query(cosines={"place": 0.8, "value": 0.1}, sharpness=2.0).cosines
    (('place', 0.8), ('value', 0.1))
    """

    cosine: Reals = parameter(
        "cosine of query and signal, ⟨q, ξ⟩ / |q|",
        "s",
        default=None,
        range=Range(least=-1, most=1),
        slider=Linear(-1, 1),
    )
    sharpness: Reals = parameter(
        _SHARPNESS,
        "k",
        default=1.0,
        range=Range(least=0),
        slider=Linear(0, 10),
        remedy="For infinite sharpness use the model hard_attention.",
    )
    vector: Any = parameter(
        "direction of the query, of any norm > 0, in the coordinates of the signal",
        default=None,
        find=_direction,
        kind="array of shape (d,)",
    )
    cosines: Any = parameter(
        "<q, xi> / |q| by the names of the directions xi, 0 with those that are left out",
        default=None,
        find=_cosines,
        kind="mapping from str to float",
    )

    def _check_together(self) -> None:
        given = [name for name in _DIRECTIONS if getattr(self, name) is not None]
        if len(given) != 1:
            legal = "one of cosine, vector and cosines, with None for the others"
            remedy = "Write st.Query(cosine=0.9, sharpness=2.0), for example."
            raise InvalidInput("query", legal, " and ".join(given) or "none of them", remedy)

    def __repr__(self) -> str:
        (name,) = (name for name in _DIRECTIONS if getattr(self, name) is not None)
        given = dict(self.cosines) if name == "cosines" else getattr(self, name)
        return f"Query({name}={given!r}, sharpness={self.sharpness!r})"


@value
class TwoSteps:
    """A query found by two gradient steps on D0, from w = 0, b = 0, q = 0.

    The first step moves (w, b), the second moves q.

    See Also
    --------
    sparsetoken.Query : A query given by its cosine and sharpness.
    Descent : Gradient descent on all weights of a network.
    align : The query in the limit of high dimension.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> alignment = st.align(problem, st.TwoSteps(alpha0=1.0, eta_q=25.0))
    >>> print(f"{alignment.sharpness:.1f}")
    1.0
    """

    alpha0: Reals = parameter(
        "labels for the query, per dimension",
        r"\alpha_0 = n_0/d",
        default=2.0,
        range=LOADS,
        slider=Log(0.05, 100),
    )
    eta_w: Reals = _steps("readout", 0.5, r"\eta_w", 10)
    eta_b: Reals = _steps("bias", 0.5, r"\eta_b", 30)
    eta_q: Reals = _steps("query", 25.0, r"\eta_q", 100)
    beta: Reals = parameter(
        "inverse temperature of the softmax",
        r"\beta",
        default=1.0,
        range=POSITIVE,
        slider=Log(0.05, 10),
    )
    loss: Named[Loss] = _loss_that("whose gradient both steps follow")


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

    loss: Named[Loss] = _loss_that("whose mean over D₁ the readout minimises")
    ridge: Reals = parameter(
        "ridge, the L2 penalty of the readout; the bias has none. 0 stands for the limit "
        "λ → 0: if the data can be fitted exactly, the interpolator of least norm (or largest "
        "margin)",
        r"\lambda",
        default=1e-2,
        range=Range(least=0, most=LARGEST_LOAD),  # rounding decides at larger ones
        slider=Log(1e-5, 10),
    )
    alpha1: Reals = parameter(
        "labels for the readout, per dimension. The theory also accepts infinity, the "
        "limit of infinite data",
        r"\alpha_1 = n_1/d",
        default=2.0,
        range=Range(least=1e-6, most=LARGEST_LOAD, infinite=True),
        slider=Log(0.25, 10),
    )


def query_cosines(
    query: Any, directions: tuple[str, ...], tokens: TokenDistribution
) -> tuple[float, ...]:
    """Return the cosines of a given query with directions, 0 with those that are left out.

    A cosine alone is that with the one direction. A vector has cosines among tokens with a
    covariance, whose signals are known.

    Raises
    ------
    InvalidInput
        If it is no `Query`, or one of other directions or tokens.
    """
    if isinstance(query, Query):
        if isinstance(tokens, TokenCovariance) and len(query.vector or ()) == tokens.dimension:
            return tuple(np.clip(tokens.signals @ query.vector, -1, 1).tolist())
        one = query.cosine is not None and len(directions) == 1
        given = {directions[0]: query.cosine} if one else dict(query.cosines or ())
        if given and given.keys() <= set(directions):
            return tuple(given.get(name, 0.0) for name in directions)
    legal, example = "Query(cosine=...) of the one signal", "cosine=0.8"
    if len(directions) > 1:
        legal = f"Query(cosines=...) of {', '.join(directions)}"
        example = f"cosines={{{directions[0]!r}: 0.8}}"
    d = tokens.dimension
    legal += " for isotropic tokens" if d is None else f", or Query(vector=...) of shape ({d},)"
    remedy = f"Write st.Query({example}, sharpness=2.0), for example."
    raise InvalidInput("query", legal, query, remedy)


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
