"""Gated attention (ABMIL, Ilse et al. 2018) in plain PyTorch, to compare with.

PyTorch is no dependency of the package: `pip install torch`.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

from sparsetoken.bags import Bags, as_bags

__all__ = ["GatedAttention"]

BATCH, RATE, DECAY = 32, 1e-3, 1e-4


class GatedAttention(ClassifierMixin, BaseEstimator):
    """A network of two layers for each token, and a gated unit that weighs tokens.

    Tokens are scaled by the mean and the deviation of each column. Of all epochs of Adam, that
    of least loss on a fifth of the bags is kept.

    Parameters
    ----------
    width : int
        Units of both layers; the gate has half as many.
    epochs : int
    random_state : int
    """

    def __init__(self, width: int = 128, epochs: int = 100, random_state: int = 0) -> None:
        self.width = width
        self.epochs = epochs
        self.random_state = random_state

    def fit(self, bags: Any, y: np.ndarray) -> Self:
        """Fit to bags and labels of 0 and 1."""
        import torch

        torch.manual_seed(self.random_state)
        torch.set_num_threads(1)
        bags = as_bags(bags)
        self.classes_ = np.unique(y)
        self.centre_ = bags.tokens.mean(axis=0)
        deviation = bags.tokens.std(axis=0)
        self.scale_ = np.where(deviation > 0, deviation, 1)
        self.network_ = _network(bags.dimension, self.width)
        X, mask = self._tensors(bags)
        targets = torch.from_numpy(np.asarray(y, dtype=np.float32))
        rng = np.random.default_rng(self.random_state)
        held, rest = _fifth(np.asarray(y), rng)
        loss = torch.nn.BCEWithLogitsLoss()
        descent = torch.optim.Adam(self.network_.parameters(), lr=RATE, weight_decay=DECAY)
        best, kept = np.inf, None
        for _ in range(self.epochs):
            for batch in np.array_split(rng.permutation(rest), max(1, len(rest) // BATCH)):
                descent.zero_grad()
                loss(self._logits(X[batch], mask[batch])[0], targets[batch]).backward()
                descent.step()
            with torch.no_grad():
                value = float(loss(self._logits(X[held], mask[held])[0], targets[held]))
            if value < best:
                best = value
                kept = {name: one.clone() for name, one in self.network_.state_dict().items()}
        if kept is not None:
            self.network_.load_state_dict(kept)
        return self

    def decision_function(self, bags: Any) -> np.ndarray:
        """Return the log odds of the second class."""
        return self._applied(bags)[0]

    def predict(self, bags: Any) -> np.ndarray:
        """Return classes."""
        return (self.decision_function(bags) > 0).astype(int)

    def predict_proba(self, bags: Any) -> np.ndarray:
        """Return probabilities of both classes."""
        plus = expit(self.decision_function(bags))
        return np.stack([1 - plus, plus], axis=1)

    def top_tokens(self, bags: Any) -> list[np.ndarray]:
        """Return the place of the token of most weight in each bag."""
        return [np.array([row.argmax()]) for row in self._applied(bags)[1]]

    def _applied(self, bags: Any) -> tuple[np.ndarray, np.ndarray]:
        import torch

        with torch.no_grad():
            logits, weights = self._logits(*self._tensors(as_bags(bags)))
        return logits.numpy().astype(float), weights.numpy()

    def _tensors(self, bags: Bags) -> tuple[Any, Any]:
        import torch

        padded = bags.with_tokens((bags.tokens - self.centre_) / self.scale_).to_array()
        tokens = torch.from_numpy(np.asarray(padded.array, dtype=np.float32))
        return tokens, torch.from_numpy(np.asarray(padded.mask))

    def _logits(self, X: Any, mask: Any) -> tuple[Any, Any]:
        """Return log odds (n,) and weights (n, L)."""
        net = self.network_
        h = net["features"](X)
        gate = net["v"](h).tanh() * net["u"](h).sigmoid()
        weights = net["weight"](gate)[..., 0].masked_fill(~mask, -float("inf")).softmax(dim=1)
        return net["readout"]((weights[..., None] * h).sum(dim=1))[:, 0], weights


def _network(d: int, width: int) -> Any:
    from torch import nn

    half = width // 2
    return nn.ModuleDict(
        {
            "features": nn.Sequential(
                nn.Linear(d, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
            ),
            "v": nn.Linear(width, half),
            "u": nn.Linear(width, half),
            "weight": nn.Linear(half, 1),
            "readout": nn.Linear(width, 1),
        }
    )


def _fifth(y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a fifth of the bags of each class, and the others."""
    orders = [rng.permutation(np.flatnonzero(y == label)) for label in np.unique(y)]
    held = np.concatenate([order[: len(order) // 5] for order in orders])
    rest = np.concatenate([order[len(order) // 5 :] for order in orders])
    return held, rest
