"""What classifiers with a query share: parameters, fitted attributes, what they tell of tokens."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import xlogy
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sparsetoken.bags import Bags
from sparsetoken.estimators.base import ReadoutClassifier
from sparsetoken.estimators.parameters import Auto, RandomState, Training, auto_or_real, step_sizes
from sparsetoken.estimators.query_warning import QueryWarning, complaint, told
from sparsetoken.fitting.features import pooling_weights
from sparsetoken.fitting.linear_fit import require_smooth
from sparsetoken.fitting.samples import Targets
from sparsetoken.fitting.standardization import Standardization
from sparsetoken.fitting.task import Task
from sparsetoken.fitting.training import TRAININGS, AttentionFit, Options, train
from sparsetoken.losses import Loss
from sparsetoken.validation import choice, integer


@dataclasses.dataclass(frozen=True, eq=False)
class _Tokens:
    """The weight a_l and <x_l, w> + token_offset of each token, for each of K readouts."""

    weights: Float[np.ndarray, "N K"]
    values: Float[np.ndarray, "N K"]


class QueryClassifier(ReadoutClassifier):
    """A classifier of weighted mean tokens, with a query for the weights.

    For two classes each bag gives an array (L_i,) of weights, scores or logits; for more an array
    (L_i, n_classes): one query and one readout for each class against the rest.
    """

    training: Training
    temperature: float | Auto
    split: float | Auto
    step_sizes: tuple[float, float, float]
    n_folds: int
    standardize: bool
    random_state: RandomState
    query_: np.ndarray
    query_offset_: np.ndarray
    token_offset_: np.ndarray
    likelihood_: np.ndarray
    token_range_: np.ndarray

    @property
    def _activation(self) -> str:
        return "softmax"

    def _fit(self, bags: Bags, targets: Targets, loss: Loss) -> None:
        options = self._options(loss)
        tasks, rng = self._tasks(bags, targets, loss), check_random_state(self.random_state)
        fits = []
        with self._reported(len(tasks)) as told:
            options = dataclasses.replace(options, told=told)
            for task in tasks:
                fits.append(train(task, options, rng))
                told(1.0, "done")
        self._keep(fits, tasks[0].features.standardization, bags)
        self._warn(fits, options, bags, targets.weight)

    @contextlib.contextmanager
    def _reported(self, fits: int) -> Iterator[Callable[[float, str], None]]:
        """Return what is told how far each fit has come."""
        yield lambda share, what: None

    def _tasks(self, bags: Bags, targets: Targets, loss: Loss) -> list[Task]:
        if "auto" in (self.ridge, self.temperature):
            require_smooth(loss)
        tasks = super()._tasks(bags, targets, loss)
        features = dataclasses.replace(tasks[0].features, activation=self._activation)
        # The ridge of joint training is that of standardised tokens, and so is a given one.
        plain = self.training == "joint" or self._activation != "softmax"
        rescale = tasks[0].rescale and not plain
        return [dataclasses.replace(task, features=features, rescale=rescale) for task in tasks]

    def _options(self, loss: Loss) -> Options:
        """Check the parameters."""
        return Options(
            training=choice("training", self.training, TRAININGS),
            temperature=auto_or_real("temperature", self.temperature, 0.0),
            split=auto_or_real("split", self.split, 0.01, 0.99),
            query_ridge="auto",
            n_restarts=0,
            n_folds=integer("n_folds", self.n_folds, 2),
            steps=step_sizes(self.step_sizes),
        )

    def _keep(self, fits: list[AttentionFit], scaling: Standardization, bags: Bags) -> None:
        """Set the fitted attributes."""
        dtype = bags.dtype
        self.query_ = np.stack([scaling.coefficients(fit.q) for fit in fits]).astype(dtype)
        self.query_offset_ = np.array([scaling.offset(fit.q) for fit in fits], dtype)
        readouts = [fit.readout for fit in fits]
        self._keep_readouts(readouts, scaling, dtype)
        self.token_offset_ = np.zeros(len(fits), dtype)
        if self._activation != "softmax":
            # Weights that do not add up to 1 make no intercept of what is added to each token.
            self.token_offset_ = np.array([scaling.offset(fit.w) for fit in readouts], dtype)
            self.intercept_ = np.array([fit.b for fit in readouts], dtype)
        self.sharpness_ = np.array([fit.sharpness for fit in fits])
        self.query_kind_ = np.array([fit.kind for fit in fits])
        self.evidence_ = np.array([fit.evidence for fit in fits])
        self.attention_pvalue_ = np.array([fit.pvalue for fit in fits])
        self.signal_pvalue_ = np.array([fit.signal for fit in fits])
        self.likelihood_ = np.array([fit.likelihood for fit in fits], dtype)
        self.token_range_ = self._range(bags)

    def _warn(
        self,
        fits: list[AttentionFit],
        options: Options,
        bags: Bags,
        weight: Float[np.ndarray, " n"],
    ) -> None:
        """Warn of searches that did not converge, and of queries that do not help."""
        for fit in fits:
            if fit.failure:
                remedy = "Raise ridge and query_ridge, or set standardize=True."
                text = f"Joint training did not converge: {fit.failure}. {remedy}"
                warnings.warn(text, ConvergenceWarning, stacklevel=5)
        if bags.sizes.max() == 1:
            return
        shares = weight @ (self._effective(bags) / bags.sizes[:, None]) / weight.sum()
        for fit, share in zip(fits, shares.tolist(), strict=True):
            text = complaint(fit, options, share)
            if text:
                warnings.warn(text, QueryWarning, stacklevel=5)

    def _scores(self, bags: Bags) -> Float[np.ndarray, "n K"]:
        tokens = self._tokens(bags)
        sums = np.add.reduceat(tokens.weights * tokens.values, bags.offsets[:-1])
        if self.likelihood_.any():
            sums -= self._in(bags, self.likelihood_) * _divergence(tokens.weights, bags)
        return sums + self._in(bags, self.intercept_)

    def attention_weights(self, X: Any) -> list[np.ndarray]:
        """Return the weight of each token; for softmax they add up to 1 in each bag."""
        bags = self._read(X)
        return self._per_bag(self._tokens(bags).weights, bags)

    def token_scores(self, X: Any) -> list[np.ndarray]:
        """Return <x_l, query>, of which the weights are made; sharpness included."""
        bags = self._read(X)
        scores = bags.tokens @ self._in(bags, self.query_).T + self._in(bags, self.query_offset_)
        return self._per_bag(scores, bags)

    def token_logits(self, X: Any) -> list[np.ndarray]:
        """Return what each token says of the class: the score of a bag of this token alone.

        It is <x_l, coef> + token_offset + b, before outliers are cut. The score of a bag is their
        mean with its weights; with likelihood pooling it is a log mean exp of token scores
        instead.
        """
        bags = self._read(X)
        logits = bags.tokens @ self._in(bags, self.coef_).T
        logits += self._in(bags, self.token_offset_ + self.intercept_)
        return self._per_bag(logits, bags)

    def top_tokens(self, X: Any, k: int = 1) -> list[np.ndarray]:
        """Return the positions of the k tokens that count most in each bag, the first the most.

        They are in the order of their weights, and of their values <x_l, coef> where weights are
        equal. Bags of fewer than k tokens give all of them.

        Warns
        -----
        QueryWarning
            If attention is off (`sharpness_` is 0) for all classes: all weights are equal.
        """
        k, bags = integer("k", k, 1), self._read(X)
        if not self.sharpness_.any() and bags.sizes.max() > 1:
            warnings.warn(self.summary(), QueryWarning, stacklevel=2)
        tokens, bounds = self._tokens(bags), zip(bags.offsets[:-1], bags.offsets[1:], strict=True)
        keys = [(tokens.values[a:b], tokens.weights[a:b]) for a, b in bounds]
        orders = [np.lexsort(key, axis=0)[::-1][:k] for key in keys]
        return [order[:, 0] if len(self.query_) == 1 else order for order in orders]

    def summary(self) -> str:
        """Say in a line for each class whether attention is on, and what speaks for it."""
        check_is_fitted(self)
        names = self.classes_[1:] if len(self.query_) == 1 else self.classes_
        columns = zip(
            names.tolist(),
            self.query_kind_.tolist(),
            self.sharpness_.tolist(),
            self.attention_pvalue_.tolist(),
            self.signal_pvalue_.tolist(),
            strict=True,
        )
        return "\n".join(told(*column) for column in columns)

    def effective_tokens(self, X: Any) -> np.ndarray:
        """Return (sum a)^2 / sum a^2, the number of tokens that count: (n,) or (n, n_classes)."""
        count = self._effective(self._read(X))
        return count[:, 0] if len(self.query_) == 1 else count

    def _effective(self, bags: Bags) -> Float[np.ndarray, "n K"]:
        weights, starts = self._tokens(bags).weights, bags.offsets[:-1]
        total = np.square(np.add.reduceat(weights, starts))
        squares = np.add.reduceat(np.square(weights), starts)
        return np.divide(total, squares, out=np.zeros_like(total), where=squares > 0)

    def _tokens(self, bags: Bags) -> _Tokens:
        """Return weights and values of all tokens, in one pass over them."""
        both, K = self._products(bags), len(self.query_)
        # A token unlike all of training says no more than the most telling one there.
        np.clip(both, *self._in(bags, self.token_range_), out=both)
        scores = both[:, :K] + self._in(bags, self.query_offset_)
        weights = [pooling_weights(column, bags, self._activation) for column in scores.T]
        values = both[:, K:] + self._in(bags, self.token_offset_)
        return _Tokens(np.stack(weights, axis=1), values)

    def _products(self, bags: Bags) -> Float[np.ndarray, "N P"]:
        """Return the products of the tokens with queries and readouts."""
        return bags.tokens @ self._in(bags, np.concatenate([self.query_, self.coef_])).T

    def _range(self, bags: Bags) -> Float[np.ndarray, "2 P"]:
        """Return the least and the largest of these products."""
        both = self._products(bags)
        return np.stack([both.min(axis=0), both.max(axis=0)])


def _divergence(weights: Float[np.ndarray, "N K"], bags: Bags) -> Float[np.ndarray, "n K"]:
    """Return the divergence of the weights of each bag from equal ones.

    With a the softmax of scores u, log mean exp(u) = <a, u> - sum_l a_l log(L a_l).
    """
    sizes = np.repeat(bags.sizes, bags.sizes).astype(weights.dtype)[:, None]
    return np.add.reduceat(xlogy(weights, weights * sizes), bags.offsets[:-1])
