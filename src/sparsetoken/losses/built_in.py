"""The built-in losses by name, and the square loss."""

from __future__ import annotations

from typing import Any

from sparsetoken.base.validation import InvalidInput, choice
from sparsetoken.losses.base import Loss, Smoothed
from sparsetoken.losses.hinge import HingeLoss, SquaredHingeLoss
from sparsetoken.losses.logistic import LogisticLoss
from sparsetoken.numerics.backend import namespace


class SquareLoss(Loss):
    """l(y, z) = (z - y)^2 / 2."""

    name = "square"
    real_labels = True
    integrates = False

    def value(self, y: Any, z: Any) -> Any:
        return 0.5 * (z - y) ** 2

    def slope(self, y: Any, z: Any) -> Any:
        return z - y

    def curvature(self, y: Any, z: Any) -> Any:
        return namespace(y, z).ones_like(z - y, dtype=float)

    def prox(self, y: Any, omega: Any, v: Any) -> Any:
        return (omega + v * y) / (1 + v)

    def dual(self, y: Any, omega: Any, v: Any) -> Any:
        return (omega - y) / (1 + v)

    def smoothed(self, y: Any, m: Any, T: Any, v: Any) -> Smoothed:
        D = 1 / (1 + v)
        p = D * (m - y)
        pp = p**2 + (D * T) ** 2
        return Smoothed(
            M=0.5 * (1 + v) * pp,
            p=p,
            pp=pp,
            D=D,
            Dg=0 * D,
            Dgg=D,
            pD=p * D,
            pDg=T * D**2,
            ppD=pp * D,
        )


_BUILT_IN: dict[str, Loss] = {
    loss.name: loss for loss in (SquareLoss(), LogisticLoss(), HingeLoss(), SquaredHingeLoss())
}


def get_loss(loss: Loss | str) -> Loss:
    """Return the built-in loss of that name; a `Loss` is returned as it is.

    Returns
    -------
    Loss

    Raises
    ------
    InvalidInput
        If no loss has that name, or a custom loss has the name of a built-in one.

    See Also
    --------
    CustomLoss : A loss given by its value.
    Loss : The interface of a loss.

    Examples
    --------
    >>> from sparsetoken.losses import get_loss
    >>> float(get_loss("square").value(1.0, 0.5))
    0.125
    """
    if not isinstance(loss, Loss):
        remedy = "A custom loss is given as an object: see st.losses.CustomLoss."
        return _BUILT_IN[choice("loss", loss, _BUILT_IN, remedy)]
    if not is_built_in(loss):
        check_new_name(loss.name)
    return loss


def is_built_in(loss: Loss) -> bool:
    """Return whether a loss is one of this package, which is written for NumPy too."""
    return loss == _BUILT_IN.get(loss.name)


def check_new_name(name: str) -> str:
    """Return the name of a custom loss, which must not be that of a built-in loss."""
    if not isinstance(name, str) or not name or name in _BUILT_IN:
        legal = "a word other than " + ", ".join(_BUILT_IN)
        raise InvalidInput("loss name", legal, name)
    return name
