"""One step of a descent on all weights, the same in theory and in simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float

    from sparsetoken.model.training import Training


class Iterate(NamedTuple):
    """All weights, and those before the last step.

    Attributes
    ----------
    U : list of arrays of shape (k, m)
        The columns, by their coordinates in orthogonal parts of the space; one array for all of it.
    c : array of shape (C,)
    U_before, c_before
        The same before the last step; at the start those of the start.
    """

    U: list[Float[np.ndarray, "k m"]]
    c: Float[np.ndarray, " C"]
    U_before: list[Float[np.ndarray, "k m"]]
    c_before: Float[np.ndarray, " C"]

    @classmethod
    def start(cls, U: list[np.ndarray], c: np.ndarray) -> Iterate:
        """Return the weights before the first step."""
        return cls(U, c, U, c)


def gradient_step(
    training: Training, t: int, now: Iterate, by_U: list[np.ndarray], by_c: np.ndarray
) -> Iterate:
    """Return the weights after step t, given the gradients over its batch."""
    momentum, sphere, old = training.momentum[t], training.sphere, _norms(now.U)
    by_U = tangent(training, now.U, by_U)
    if training.normalised.any():
        sizes = _norms(by_U)
        by_U = [by / np.where(training.normalised & (sizes > 0), sizes, 1.0) for by in by_U]
    U = [
        u - training.rates[t] * (by + training.decay * u) + momentum * (u - before)
        for u, before, by in zip(now.U, now.U_before, by_U, strict=True)
    ]
    if sphere.any():
        scale = np.where(sphere, old / np.maximum(_norms(U), 1e-300), 1.0)
        U = [scale * u for u in U]
    c = now.c - training.rates_c[t] * by_c + momentum * (now.c - now.c_before)
    return Iterate(U, c, now.U, now.c)


def tangent(
    training: Training, U: list[np.ndarray], by_U: list[np.ndarray]
) -> list[Float[np.ndarray, "k m"]]:
    """Return the gradients less their parts along columns that keep their norms."""
    sphere = training.sphere
    if not sphere.any():
        return by_U
    products = sum((u * by).sum(axis=0) for u, by in zip(U, by_U, strict=True))
    along = sphere * products / np.where(sphere, _norms(U) ** 2, 1.0)
    return [by - along * u for u, by in zip(U, by_U, strict=True)]


def _norms(U: list[np.ndarray]) -> Float[np.ndarray, " m"]:
    return np.sqrt(sum((u**2).sum(axis=0) for u in U))
