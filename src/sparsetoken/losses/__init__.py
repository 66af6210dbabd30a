"""Convex losses: value, slope, curvature, prox, Moreau envelope."""

from __future__ import annotations

from sparsetoken.losses.base import Loss, Smoothed
from sparsetoken.losses.custom import CustomLoss
from sparsetoken.losses.hinge import HingeLoss
from sparsetoken.losses.logistic import LogisticLoss
from sparsetoken.losses.square import SquareLoss
from sparsetoken.losses.squared_hinge import SquaredHingeLoss
from sparsetoken.validation import InvalidInput, choice

__all__ = [
    "CustomLoss",
    "HingeLoss",
    "LogisticLoss",
    "Loss",
    "Smoothed",
    "SquareLoss",
    "SquaredHingeLoss",
    "get_loss",
    "register",
]

_BUILT_IN: dict[str, Loss] = {
    loss.name: loss for loss in (SquareLoss(), LogisticLoss(), HingeLoss(), SquaredHingeLoss())
}
_LOSSES = dict(_BUILT_IN)


def get_loss(loss: Loss | str) -> Loss:
    """Return the loss of that name; a `Loss` is returned as it is.

    Raises
    ------
    InvalidInput
        If no loss has that name.
    """
    if isinstance(loss, Loss):
        return loss
    return _LOSSES[choice("loss", loss, _LOSSES, "See CustomLoss for one of your own.")]


def register(loss: Loss) -> None:
    """Make a loss known by its name, so that JSON and the command line find it.

    A loss of one's own replaces an earlier one of that name (a notebook cell that runs
    twice); the built-in names are kept.
    """
    if not isinstance(loss.name, str) or loss.name in _BUILT_IN:
        legal = "a word other than " + ", ".join(_BUILT_IN)
        raise InvalidInput("loss name", legal, loss.name)
    _LOSSES[loss.name] = loss
