"""What an attention classifier tells of single tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from sparsetoken.bags import Bags
from sparsetoken.estimators.base import BagClassifier
from sparsetoken.estimators.pooling import pooling_weights
from sparsetoken.validation import integer

__all__ = ["AttentionInspection"]


class AttentionInspection(BagClassifier):
    """Weights, scores and logits of tokens, of a query, a readout and an activation.

    For two classes each bag gives an array (L_i,), for more an array (L_i, n_classes): one query
    and one readout for each class against the rest.
    """

    query_: np.ndarray
    query_offset_: np.ndarray
    coef_: np.ndarray
    token_offset_: np.ndarray
    intercept_: np.ndarray

    @property
    def _activation(self) -> str:
        return "softmax"

    def _scores(self, bags: Bags) -> Float[np.ndarray, "n K"]:
        weights, values = self._tokens(bags)
        sums = np.add.reduceat(weights * values, bags.offsets[:-1])
        return sums + self._in(bags, self.intercept_)

    def attention_weights(self, X: Any) -> list[np.ndarray]:
        """Return the weight of each token; for softmax they add up to 1 in each bag."""
        bags = self._read(X)
        return self._split(self._tokens(bags)[0], bags)

    def token_scores(self, X: Any) -> list[np.ndarray]:
        """Return <x_l, query>, of which the weights are made; sharpness included."""
        bags = self._read(X)
        scores = bags.tokens @ self._in(bags, self.query_).T + self._in(bags, self.query_offset_)
        return self._split(scores, bags)

    def token_logits(self, X: Any) -> list[np.ndarray]:
        """Return <x_l, w> + b: what each token says of the class, apart from its weight."""
        bags = self._read(X)
        shift = self._in(bags, self.token_offset_ + self.intercept_)
        return self._split(bags.tokens @ self._in(bags, self.coef_).T + shift, bags)

    def top_tokens(self, X: Any, k: int = 1) -> list[np.ndarray]:
        """Return the positions of the k tokens of most weight in each bag, the first the heaviest.

        Equal weights are ordered by logit: with sharpness 0 all weights are equal. Bags of fewer
        than k tokens give all of them.
        """
        k, bags = integer("k", k, 1), self._read(X)
        weights, logits = self._tokens(bags)
        bounds = zip(bags.offsets[:-1], bags.offsets[1:], strict=True)
        orders = [np.lexsort((logits[a:b], weights[a:b]), axis=0)[::-1][:k] for a, b in bounds]
        return [order[:, 0] if len(self.query_) == 1 else order for order in orders]

    def effective_tokens(self, X: Any) -> np.ndarray:
        """Return (sum a)^2 / sum a^2, the number of tokens that count: (n,) or (n, n_classes)."""
        count = self._effective(self._read(X))
        return count[:, 0] if len(self.query_) == 1 else count

    def _effective(self, bags: Bags) -> Float[np.ndarray, "n K"]:
        weights, starts = self._tokens(bags)[0], bags.offsets[:-1]
        total = np.square(np.add.reduceat(weights, starts))
        squares = np.add.reduceat(np.square(weights), starts)
        return np.divide(total, squares, out=np.zeros_like(total), where=squares > 0)

    def _tokens(self, bags: Bags) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights a_l and <x_l, w>, each (N, K), in one pass over the tokens."""
        both = bags.tokens @ self._in(bags, np.concatenate([self.query_, self.coef_])).T
        K = len(self.query_)
        scores = both[:, :K] + self._in(bags, self.query_offset_)
        columns = [pooling_weights(column, bags, self._activation) for column in scores.T]
        return np.stack(columns, axis=1), both[:, K:] + self._in(bags, self.token_offset_)

    def _split(self, values: np.ndarray, bags: Bags) -> list[np.ndarray]:
        values = values[:, 0] if len(self.query_) == 1 else values
        return np.split(values, bags.offsets[1:-1])
