"""What classifiers with a query share: parameters, fitted attributes, what they tell of tokens."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import xlogy
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sparsetoken.bags import Bags
from sparsetoken.bags.segments import segment_held, segment_max, segment_mean
from sparsetoken.estimators.base import BagClassifier
from sparsetoken.estimators.parameters import Auto, RandomState, Training, auto_or_real, step_sizes
from sparsetoken.estimators.query_warning import QueryWarning, complaint, told
from sparsetoken.fitting.features import BagFeatures, pooling_weights
from sparsetoken.fitting.linear_fit import require_smooth
from sparsetoken.fitting.samples import Targets
from sparsetoken.fitting.standardization import Standardization
from sparsetoken.fitting.task import Task
from sparsetoken.fitting.training import TRAININGS, AttentionFit, Options, train
from sparsetoken.losses import Loss
from sparsetoken.validation import choice, integer


@dataclasses.dataclass(frozen=True, eq=False)
class _Tokens:
    """The weight a_l and <x_l, w> + token_offset of each token, for each of K readouts.

    Where there are weights for the mean token beside attention, also <x_l, mean_coef>.
    """

    weights: Float[np.ndarray, "N K"]
    values: Float[np.ndarray, "N K"]
    beside: Float[np.ndarray, "N K"] | None


@dataclasses.dataclass(frozen=True, eq=False)
class Trained:
    """A fit for each class, and the scale of the tokens that it acts on."""

    fits: list[AttentionFit]
    scaling: Standardization

    def left_out(self) -> Float[np.ndarray, " n"] | None:
        """Return the mean over the classes of the left-out losses; None if not computed."""
        losses = [fit.readout.left_out for fit in self.fits]
        known = [one for one in losses if one is not None]
        return np.mean(known, axis=0) if len(known) == len(losses) else None


class QueryClassifier(BagClassifier):
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
    mean_coef_: np.ndarray
    largest_coef_: np.ndarray
    largest_range_: np.ndarray
    shares_: np.ndarray
    side_: np.ndarray

    @property
    def _activation(self) -> str:
        return "softmax"

    def _fit(self, bags: Bags, targets: Targets, loss: Loss) -> None:
        options = self._options(loss)
        self._keep(self._trained(bags, targets, loss, options), bags, options, targets.weight)

    def _trained(self, bags: Bags, targets: Targets, loss: Loss, options: Options) -> Trained:
        """Train one problem for each class."""
        tasks, rng = (
            self._tasks(bags, targets, loss, options),
            check_random_state(self.random_state),
        )
        fits = []
        for task in tasks:
            fits.append(train(task, options, rng))
            options.told(1.0, "done")
        return Trained(fits, tasks[0].features.standardization)

    def _tasks(self, bags: Bags, targets: Targets, loss: Loss, options: Options) -> list[Task]:
        """Return the task of each class."""
        ridge = auto_or_real("ridge", self.ridge, 0.0, open_low=True)
        if "auto" in (ridge, options.temperature):
            require_smooth(loss)
        scaling = Standardization.of(bags, targets.weight, self.standardize)
        features = BagFeatures(bags, scaling, self._activation)
        # The ridge of joint training is that of standardised tokens, and so is a given one.
        rescale = self.standardize and ridge == "auto" and options.training != "joint"
        rescale = rescale and self._activation == "softmax"
        return [Task(features, one, loss, ridge, rescale) for one in targets.problems()]

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

    def _keep(
        self, found: Trained, bags: Bags, options: Options, weight: Float[np.ndarray, " n"]
    ) -> None:
        """Set the fitted attributes, and warn of what is wrong."""
        fits, scaling, dtype = found.fits, found.scaling, bags.dtype
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
        self._keep_other_parts(fits, scaling, bags)
        self.token_range_ = self._range(bags)
        self._warn(fits, options, bags, weight)

    def _keep_other_parts(
        self, fits: list[AttentionFit], scaling: Standardization, bags: Bags
    ) -> None:
        """Keep what acts on mean tokens and on largest values."""
        zero, dtype = np.zeros(bags.dimension), bags.dtype
        parts = [
            [zero if part is None else part for part in (fit.mean, fit.largest)] for fit in fits
        ]
        kept = [scaling.coefficients(np.stack(part)) for part in zip(*parts, strict=True)]
        self.mean_coef_, self.largest_coef_ = (part.astype(dtype) for part in kept)
        moved = [scaling.offset(mean) + scaling.offset(largest) for mean, largest in parts]
        self.intercept_ = self.intercept_ + np.array(moved, dtype)
        self.shares_ = np.array([fit.shares for fit in fits])
        sought = np.array([fit.q @ fit.readout.w for fit in fits])
        self.side_ = np.where(sought < 0, -1, 1)
        self.largest_range_ = np.zeros((2, len(fits)), dtype)
        if self.largest_coef_.any():
            largest = segment_max(bags.tokens, bags.offsets)
            products = largest @ self.largest_coef_.T
            self.largest_range_ = np.stack([products.min(axis=0), products.max(axis=0)])

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
                warnings.warn(text, ConvergenceWarning, stacklevel=6)
        if bags.sizes.max() == 1:
            return
        shares = weight @ (self._effective(bags) / bags.sizes[:, None]) / weight.sum()
        for fit, share in zip(fits, shares.tolist(), strict=True):
            text = complaint(fit, options, share)
            if text:
                warnings.warn(text, QueryWarning, stacklevel=6)

    def _scores(self, bags: Bags) -> Float[np.ndarray, "n K"]:
        tokens = self._tokens(bags)
        sums = np.add.reduceat(tokens.weights * tokens.values, bags.offsets[:-1])
        if self.likelihood_.any():
            sums -= self._in(bags, self.likelihood_) * _divergence(tokens.weights, bags)
        if tokens.beside is not None:
            sums += segment_mean(tokens.beside, bags.offsets)
        if self.largest_coef_.any():
            largest = segment_max(bags.tokens, bags.offsets) @ self._in(bags, self.largest_coef_).T
            # A bag unlike all of training says no more than the most telling one there.
            sums += np.clip(largest, *self._in(bags, self.largest_range_))
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

        It is <x_l, coef + mean_coef + largest_coef> + b, before outliers are cut, and
        <x_l, coef> + token_offset + b for `ElementwiseAttentionClassifier`. With attention alone
        the score of a bag is their mean with its weights; with likelihood pooling it is a log
        mean exp of token scores instead.
        """
        bags = self._read(X)
        coef = self.coef_ + self.mean_coef_ + self.largest_coef_
        logits = bags.tokens @ self._in(bags, coef).T
        logits += self._in(bags, self.token_offset_ + self.intercept_)
        return self._per_bag(logits, bags)

    def top_tokens(self, X: Any, k: int = 1) -> list[np.ndarray]:
        """Return the positions of the k tokens that count most in each bag, the first the most.

        If attention has at least half of the score (`shares_`), they are in the order of their
        weights, and of their values <x_l, coef> where weights are equal. If not, they are in
        the order of what they add to the score for the second class, or for the first where
        attention looks for its tokens (`side_` is -1). With the weights as they are, and m the
        mean token of the bag, it is a_l <x_l - m, coef> + <x_l - m, mean_coef> / L + the sum
        of largest_coef (x_l - m) over the columns in which x_l is largest. Bags of fewer than
        k tokens give all of them.

        Warns
        -----
        QueryWarning
            If attention is off (`sharpness_` is 0) for all classes: all weights are equal.
        """
        k, bags = integer("k", k, 1), self._read(X)
        if not self.sharpness_.any() and bags.sizes.max() > 1:
            warnings.warn(self.summary(), QueryWarning, stacklevel=2)
        tokens, bounds = self._tokens(bags), zip(bags.offsets[:-1], bags.offsets[1:], strict=True)
        weights, values = self._ranks(bags, tokens)
        keys = [(values[a:b], weights[a:b]) for a, b in bounds]
        orders = [np.lexsort(key, axis=0)[::-1][:k] for key in keys]
        return [order[:, 0] if len(self.query_) == 1 else order for order in orders]

    def _ranks(
        self, bags: Bags, tokens: _Tokens
    ) -> tuple[Float[np.ndarray, "N K"], Float[np.ndarray, "N K"]]:
        """Return what tokens are ordered by, and by what if that is equal."""
        weights, values = tokens.weights.copy(), tokens.values
        sizes = np.repeat(bags.sizes, bags.sizes).astype(values.dtype)
        for k in np.flatnonzero(self.shares_[:, 0] < 0.5):
            adds = weights[:, k] * _within(values[:, k], bags)
            if tokens.beside is not None:
                adds += _within(tokens.beside[:, k], bags) / sizes
            if self.largest_coef_[k].any():
                largest_coef = self._in(bags, self.largest_coef_[k])
                adds += segment_held(bags.tokens, bags.offsets, largest_coef)
            weights[:, k] = self.side_[k] * adds
        return weights, values

    def summary(self) -> str:
        """Say in a line for each class whether attention is on, and what speaks for it."""
        check_is_fitted(self)
        names = self.classes_[1:] if len(self.query_) == 1 else self.classes_
        columns = zip(
            names.tolist(),
            self.query_kind_.tolist(),
            self.sharpness_.tolist(),
            map(tuple, self.shares_.tolist()),
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
        values = both[:, K : 2 * K] + self._in(bags, self.token_offset_)
        beside = both[:, 2 * K :] if both.shape[1] > 2 * K else None
        return _Tokens(np.stack(weights, axis=1), values, beside)

    def _products(self, bags: Bags) -> Float[np.ndarray, "N P"]:
        """Return the products of the tokens with queries, readouts and what is beside them."""
        directions = [self.query_, self.coef_]
        if self.mean_coef_.any():
            directions.append(self.mean_coef_)
        return bags.tokens @ self._in(bags, np.concatenate(directions)).T

    def _range(self, bags: Bags) -> Float[np.ndarray, "2 P"]:
        """Return the least and the largest of these products."""
        both = self._products(bags)
        return np.stack([both.min(axis=0), both.max(axis=0)])


def _within(values: Float[np.ndarray, " N"], bags: Bags) -> Float[np.ndarray, " N"]:
    """Return how far values are above the mean of their bag."""
    return values - np.repeat(segment_mean(values[:, None], bags.offsets)[:, 0], bags.sizes)


def _divergence(weights: Float[np.ndarray, "N K"], bags: Bags) -> Float[np.ndarray, "n K"]:
    """Return the divergence of the weights of each bag from equal ones.

    With a the softmax of scores u, log mean exp(u) = <a, u> - sum_l a_l log(L a_l).
    """
    sizes = np.repeat(bags.sizes, bags.sizes).astype(weights.dtype)[:, None]
    return np.add.reduceat(xlogy(weights, weights * sizes), bags.offsets[:-1])
