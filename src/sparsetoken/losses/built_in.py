"""The built-in losses by name."""

from __future__ import annotations

from sparsetoken.losses.base import Loss
from sparsetoken.losses.hinge import HingeLoss
from sparsetoken.losses.logistic import LogisticLoss
from sparsetoken.losses.square import SquareLoss
from sparsetoken.losses.squared_hinge import SquaredHingeLoss
from sparsetoken.validation import InvalidInput, choice

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
        remedy = "A custom loss is given as an object: see CustomLoss."
        return _BUILT_IN[choice("loss", loss, _BUILT_IN, remedy)]
    if loss != _BUILT_IN.get(loss.name, loss):
        check_new_name(loss.name)
    return loss


def check_new_name(name: str) -> str:
    """Return the name of a custom loss, which must not be that of a built-in loss."""
    if not isinstance(name, str) or not name or name in _BUILT_IN:
        legal = "a word other than " + ", ".join(_BUILT_IN)
        raise InvalidInput("loss name", legal, name)
    return name
