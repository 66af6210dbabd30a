"""The interface of a loss: value, slope, curvature, prox, Moreau envelope, Gaussian means."""

from __future__ import annotations

import abc
import contextlib
import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sparsetoken.base.machine import need_jax
from sparsetoken.base.validation import InvalidInput
from sparsetoken.numerics.backend import compiled, in_float64, namespace
from sparsetoken.numerics.newton import increasing_root
from sparsetoken.numerics.quadrature import gaussian_panels

_BUILT_IN = "sparsetoken.losses."


class Smoothed(NamedTuple):
    """Gaussian means of a Moreau envelope and its derivatives.

    With ``omega = m + T g``, g ~ N(0, 1), z = prox_{v l(y, .)}(omega), p = l'(y, z) and
    D = l''/(1 + v l''), the derivative of p in omega. All entries have the shape of m.

    Attributes
    ----------
    M : E[(z - omega)^2 / (2v) + l(y, z)]
    p, pp : E[p], E[p^2]
    D, Dg, Dgg : E[D g^j], j = 0, 1, 2
    pD, pDg : E[p D g^j], j = 0, 1
    ppD : E[p^2 D]

    See Also
    --------
    Loss : The interface of a loss.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken.losses import get_loss
    >>> y, m, T, v = (np.array([number]) for number in (1.0, 0.0, 1.0, 1.0))
    >>> found = get_loss("square").smoothed(y, m, T, v)
    >>> round(found.M.item(), 3)
    0.5
    """

    M: Any
    p: Any
    pp: Any
    D: Any
    Dg: Any
    Dgg: Any
    pD: Any
    pDg: Any
    ppD: Any


class Loss(abc.ABC):
    """A convex loss l(y, z) of a label y in {-1, +1} and a score z.

    All methods act element by element and broadcast. NumPy in gives NumPy out; JAX in
    gives JAX out (float64 needs ``jax.enable_x64(True)`` around the call).

    A loss is an immutable value, by which compiled code is kept. Two losses are equal if they are
    the same object, or of one class and without attributes of their own. A class with attributes
    may say more, as a frozen dataclass does.

    Attributes
    ----------
    name : str
        The command line and JSON use the names of the built-in losses.
    smooth : bool
        Whether the slope is continuous in z. If not, the class gives prox, dual,
        dual_slope and smoothed itself: the versions here rely on slope and curvature.
    integrates : bool
        Whether `smoothed` is an integral over many nodes, and worth few calls.
    real_labels : bool
        Whether y may be any real number, as in a regression.
    strip : float
        Half the width of a strip around the real axis in which the dual is an analytic
        function of omega, for every v; 0 if none is known. The trapezoidal rule then takes
        the place of `smoothed` where it needs fewer nodes.

    See Also
    --------
    CustomLoss : A loss given by its value.
    Smoothed : Gaussian means of the Moreau envelope.

    Examples
    --------
    >>> from sparsetoken.losses import get_loss
    >>> loss = get_loss("square")
    >>> float(loss.value(1.0, 3.0)), float(loss.prox(1.0, 3.0, 1.0))
    (2.0, 2.0)
    """

    name: str
    smooth: bool = True
    integrates: bool = True
    real_labels: bool = False
    strip: float = 0.0

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if not cls.__module__.startswith(_BUILT_IN):
            need_jax()
            for name, method in [*vars(cls).items()]:
                if inspect.isfunction(method) and not name.startswith("_"):
                    setattr(cls, name, in_float64(method))

    @abc.abstractmethod
    def value(self, y: Any, z: Any) -> Any:
        """Return l(y, z)."""

    @abc.abstractmethod
    def slope(self, y: Any, z: Any) -> Any:
        """Return the derivative of l in z (a subgradient at a kink)."""

    @abc.abstractmethod
    def curvature(self, y: Any, z: Any) -> Any:
        """Return the second derivative of l in z (0 at a kink)."""

    def prox(self, y: Any, omega: Any, v: Any) -> Any:
        """Return argmin_z (z - omega)^2 / 2 + v l(y, z), for v >= 0.

        The root of z + v l'(y, z) = omega, by Newton kept inside a bracket.
        """
        if namespace(y, omega, v) is np:
            y, omega, v = (np.asarray(a, dtype=float) for a in (y, omega, v))
        with written_with_jax("loss", self):
            return _general_prox(y, omega, v, self)

    def dual(self, y: Any, omega: Any, v: Any) -> Any:
        """Return p = l'(y, prox), the derivative of the Moreau envelope in omega."""
        return self.slope(y, self.prox(y, omega, v))

    def dual_slope(self, y: Any, omega: Any, v: Any) -> Any:
        """Return D, the derivative in omega of p = l'(y, prox).

        For v = 0 it is the curvature.
        """
        bend = self.curvature(y, self.prox(y, omega, v))
        return bend / (1 + v * bend)

    def envelope(self, y: Any, omega: Any, v: Any) -> Any:
        """Return the Moreau envelope min_z (z - omega)^2 / (2v) + l(y, z).

        For v = 0 it is l(y, omega).
        """
        p = self.dual(y, omega, v)
        return self.value(y, self.prox(y, omega, v)) + 0.5 * v * p**2

    def at_prox(self, y: Any, omega: Any, v: Any) -> tuple[Any, Any, Any]:
        """Return l(y, z), p = l'(y, z) and D at the prox z, which is solved for once."""
        z = self.prox(y, omega, v)
        bend = self.curvature(y, z)
        return self.value(y, z), self.slope(y, z), bend / (1 + v * bend)

    def smoothed(self, y: Any, m: Any, T: Any, v: Any) -> Smoothed:
        """Return the Gaussian means of `Smoothed` at mean m, width T >= 0 and v >= 0.

        This general version integrates over panels in g. Losses whose envelope has
        closed-form means, or whose bend is known, replace it.
        """
        g, weight = gaussian_panels()
        xp = namespace(y, m, T, v)
        y, m, T, v = (a[..., None] for a in xp.broadcast_arrays(y, m, T, v))
        omega = m + T * g
        loss = self.value(y, self.prox(y, omega, v))
        p, D = self.dual(y, omega, v), self.dual_slope(y, omega, v)
        return smoothed_means(loss, p, D, v, g, weight)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Loss):
            return NotImplemented
        return self is other or (type(self) is type(other) and not (vars(self) or vars(other)))

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"<loss {self.name}>"


@contextlib.contextmanager
def written_with_jax(name: str, given: Any) -> Iterator[None]:
    """Raise `InvalidInput` where JAX cannot trace a function that a user has written."""
    from jax.errors import ConcretizationTypeError, TracerArrayConversionError

    try:
        yield
    except (TracerArrayConversionError, ConcretizationTypeError):
        remedy = "Use jnp.exp in place of np.exp, jnp.where in place of if, and so on."
        raise InvalidInput(name, "written with jax.numpy", given, remedy) from None


def smoothed_means(loss: Any, p: Any, D: Any, v: Any, g: Any, weight: Any) -> Smoothed:
    """Average the integrands of `Smoothed` over the last axis, with nodes g."""
    einsum = namespace(p).einsum

    def mean(values: Any) -> Any:
        return values @ weight if weight.ndim == 1 else einsum("...n,...n->...", values, weight)

    return Smoothed(
        M=mean(loss + 0.5 * v * p**2),
        p=mean(p),
        pp=mean(p**2),
        D=mean(D),
        Dg=mean(D * g),
        Dgg=mean(D * g**2),
        pD=mean(p * D),
        pDg=mean(p * D * g),
        ppD=mean(p**2 * D),
    )


@compiled("loss")
def _general_prox(y: Any, omega: Any, v: Any, loss: Loss) -> Any:
    import jax.numpy as jnp

    y, omega, v = jnp.broadcast_arrays(y, omega, v)
    far = omega - v * loss.slope(y, omega)
    return increasing_root(
        lambda z: (z + v * loss.slope(y, z) - omega, 1 + v * loss.curvature(y, z)),
        jnp.minimum(omega, far),
        jnp.maximum(omega, far),
    )
