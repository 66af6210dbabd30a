"""Convex losses: value, slope, curvature, prox, Moreau envelope."""

from __future__ import annotations

from sparsetoken.losses.base import Loss, Smoothed
from sparsetoken.losses.built_in import get_loss
from sparsetoken.losses.custom import CustomLoss
from sparsetoken.losses.hinge import HingeLoss
from sparsetoken.losses.logistic import LogisticLoss
from sparsetoken.losses.square import SquareLoss
from sparsetoken.losses.squared_hinge import SquaredHingeLoss

__all__ = [
    "CustomLoss",
    "HingeLoss",
    "LogisticLoss",
    "Loss",
    "Smoothed",
    "SquareLoss",
    "SquaredHingeLoss",
    "get_loss",
]
