"""Attention of bags: the log mean exp of one linear score of their tokens."""

from __future__ import annotations

import abc
import dataclasses
import warnings
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from sparsetoken.bags import Bags
from sparsetoken.bags.segments import segment_log_mean_exp, segment_mean, segment_softmax
from sparsetoken.base.validation import integer, truth
from sparsetoken.estimators.base import (
    Auto,
    BaseBagClassifier,
    ClassWeight,
    CrossFitted,
    RandomState,
    ReadoutEstimator,
    auto_or_positive,
)
from sparsetoken.estimators.fitting.linear_fit import require_smooth
from sparsetoken.estimators.fitting.standard_tokens import less_means
from sparsetoken.estimators.fitting.training import Training
from sparsetoken.estimators.inputs import QueryWarning
from sparsetoken.losses import Loss


class TokenOrder(CrossFitted):
    """Finds and ranks the tokens of each bag by a score of each token."""

    def top_tokens(self, X: Any, k: int = 1) -> list[np.ndarray]:
        """Return the positions of the k tokens that count most in each bag, the first the most.

        Bags of fewer than k tokens give all of them.

        Returns
        -------
        list of int arrays of shape (k,), or (k, n_classes) for more than two classes

        Warns
        -----
        QueryWarning
            If attention is off for all classes, or bags that are left out are told apart no better
            than by chance: the order of tokens tells nothing.
        """
        k, bags = integer("k", k, 1), self._read(X)
        if self._off():
            warnings.warn("\n".join(self._told()), QueryWarning, stacklevel=2)
        scores = self._token_scores(bags.nonempty)
        bounds = zip(bags.offsets[:-1], bags.offsets[1:], strict=True)
        orders = [np.argsort(-scores[a:b], axis=0, kind="stable")[:k] for a, b in bounds]
        return [order[:, 0] if scores.shape[1] == 1 else order for order in orders]

    def _off(self) -> bool:
        """Whether the order of tokens tells nothing."""
        return bool(self._at_chance())

    def _at_chance(self) -> str:
        """Say in a sentence if left-out bags are told apart no better than by chance, else ""."""
        _, low, high = getattr(self, "left_out_auc_", np.ones(3))  # regressors have none
        if not low <= 0.5:
            return ""
        return (
            f"No better than chance: the 90% interval of the AUC of left-out bags, {low:.2f} to "
            f"{high:.2f}, is not above 0.5, and what is said of single tokens means nothing."
        )

    @abc.abstractmethod
    def _token_scores(self, bags: Bags) -> Float[np.ndarray, "N K"]:
        """Return the score by which tokens are ordered."""

    def summary(self) -> str:
        """Say what was fitted, to how many groups, and if it is no better than chance."""
        check_is_fitted(self)
        return "\n".join([*self._told(), self._independence()])

    def _told(self) -> list[str]:
        """Say what was fitted, and if it is no better than chance."""
        return [*self._of_fit(), *filter(None, [self._at_chance()])]

    @abc.abstractmethod
    def _of_fit(self) -> list[str]:
        """Say in a line for each class what was fitted."""


class Attention(TokenOrder, ReadoutEstimator):
    """The score of a bag is (1/s) log mean_l exp(s <x_l, w>) + b."""

    temperature: float | Auto
    centred: bool = False
    exponent_: Float[np.ndarray, " K"]
    sharpness_: Float[np.ndarray, " K"]
    gain_: Float[np.ndarray, " K"]
    token_range_: Float[np.ndarray, "2 K"]

    def _fit(self, training: Training) -> list[str]:
        require_smooth(training.loss)
        temperature = auto_or_positive("temperature", self.temperature)
        bags, several = training.bags, bool(training.bags.sizes.max() > 1)
        training, _, _ = self._in_folds(training, needed=several)
        if training.centred != truth("centred", self.centred):
            training = dataclasses.replace(training, centred=self.centred)
        given = not isinstance(temperature, str)
        fits = training.attended(temperature) if given else training.attention
        self._keep_readouts([fit.readout for fit in fits], training)
        scale = training.targets.scale
        self.exponent_ = np.array([fit.exponent / scale for fit in fits], bags.dtype)
        self.sharpness_ = np.array([fit.sharpness for fit in fits])
        self.gain_ = np.array([fit.gain for fit in fits])
        products = self._raw(bags)
        self.token_range_ = np.stack([products.min(axis=0), products.max(axis=0)])
        gains = zip(self._names(), self.gain_.tolist(), strict=True)
        return [self._no_gain(*one) for one in gains if several and not one[1] > 1]

    def _no_gain(self, name: Any, gain: float) -> str:
        return (
            f"Attention to {name} does not beat mean pooling: its held-out loss is {abs(gain):.1f} "
            f"standard errors {'lower' if gain > 0 else 'higher'}. Take more bags, or "
            "BagClassifier or BagRegressor, which weigh both."
        )

    def _raw(self, bags: Bags) -> Float[np.ndarray, "N K"]:
        """Return <x_l, w> of each token, or <x_l - mean of its bag, w>."""
        products = bags.tokens @ self._in(bags, self.coef_).T
        return less_means(products.T, bags).T if self.centred else products

    def _products(self, bags: Bags) -> Float[np.ndarray, "N K"]:
        # A token unlike all of training says no more than the most telling one there.
        return np.clip(self._raw(bags), *self._in(bags, self.token_range_))

    def _token_scores(self, bags: Bags) -> Float[np.ndarray, "N K"]:
        return self._products(bags) * self._in(bags, self.exponent_)

    def _off(self) -> bool:
        return super()._off() or not self.sharpness_.any()

    def _scores(self, bags: Bags) -> Float[np.ndarray, "n K"]:
        columns = zip(self._products(bags).T, self._in(bags, self.exponent_), strict=True)
        pooled = [_pooled(products, s, bags) for products, s in columns]
        return self._moved(np.stack(pooled, axis=1), bags)

    def attention_weights(self, X: Any) -> list[np.ndarray]:
        """Return the weight of each token, softmax(s <x_l, w>): they add up to 1 in each bag."""
        bags = self._read(X)
        return self._per_bag(self._weights(bags.nonempty), bags)

    def _weights(self, bags: Bags) -> Float[np.ndarray, "N K"]:
        columns = self._token_scores(bags).T
        return np.stack([segment_softmax(scores, bags.offsets) for scores in columns], axis=1)

    def _of_fit(self) -> list[str]:
        """Say in a line for each class how sharp attention is, and what it gains."""
        lines = []
        columns = zip(self._names(), self.sharpness_.tolist(), self.gain_.tolist(), strict=True)
        for name, k, gain in columns:
            text = "attention is off, its weights are equal"
            if k:
                errors = f"{abs(gain):.1f} standard errors {'below' if gain > 0 else 'above'}"
                text = f"attention of sharpness {k:.2g}, held-out loss {errors} mean pooling"
            lines.append(f"{self._kind_of_name} {name}: {text}.")
        return lines


def _pooled(scores: Float[np.ndarray, " N"], s: float, bags: Bags) -> Float[np.ndarray, " n"]:
    """Return (1/s) log mean exp(s u) of each bag, the mean of u for s = 0."""
    if s == 0:
        return segment_mean(scores[:, None], bags.offsets)[:, 0]
    return segment_log_mean_exp(s * scores, bags.offsets) / s


class AttentionClassifier(Attention, BaseBagClassifier):
    """Attention with one direction: sign((1/s) log mean_l exp(s <x_l, w>) + b).

    With one informative token among Gaussian ones this is the form of the log odds of a bag. Its
    slope in token l is w times the attention weight softmax(s <x_l, w>). For s to 0 it is mean
    pooling, for large s the token that speaks most for a class: the second one for s > 0,
    the first for s < 0. More than two classes are fitted one against the rest.

    The direction s w minimises the mean loss with a ridge penalty, on standardised tokens; the
    descent starts from the classifier of the mean token. Its sharpness, the ridge, 1/s and b are
    those of least loss where each bag is scored by directions found without it.

    Parameters
    ----------
    temperature : float or "auto"
        > 0, standard deviation of the token scores s <x_l, w>.
    centred : bool
        Whether x_l is the token less the mean of its bag, which a shift that all tokens of a bag
        share does not move.
    ridge : float or "auto"
        > 0, penalty (ridge/2) |s w|^2 in the scale of standardised tokens; ``auto`` tries three
        by the standard deviation that token scores may have.
    loss : str or Loss
        A smooth one: logistic, square or squared_hinge.
    n_folds : int
        Folds of the cross-fitting; fewer if a class has fewer bags.
    standardize, class_weight
        As for `PooledClassifier`.
    random_state : int, RandomState or None
        Of the folds. Two fits with the default are equal.

    Attributes
    ----------
    coef_ : array of shape (K, d)
        w; K = 1 for two classes, else n_classes.
    exponent_ : array of shape (K,)
        s; 0 where attention is off: no direction speaks for the class that it looks for.
    sharpness_ : array of shape (K,)
        Standard deviation of the token scores.
    gain_ : array of shape (K,)
        Standard errors by which the left-out loss is below that of mean pooling.
    token_range_ : array of shape (2, K)
        Least and largest <x, w> of training tokens; new ones are cut to it.
    classes_, intercept_, ridge_, left_out_scores_, left_out_auc_, n_bags_, n_features_in_
        As for `PooledClassifier`.

    See Also
    --------
    BagClassifier : Attention beside mean pooling and column maxima; the one to begin with.

    Examples
    --------
    >>> import numpy as np
    >>> labels, rng = np.arange(200) % 2, np.random.default_rng(0)
    >>> bags = rng.standard_normal((200, 8, 5))
    >>> bags[labels == 1, 0] += 2  # one token of eight
    >>> AttentionClassifier().fit(bags, labels).score(bags, labels) > 0.9
    True
    """

    def __init__(
        self,
        temperature: float | Auto = "auto",
        ridge: float | Auto = "auto",
        loss: Loss | str = "logistic",
        n_folds: int = 8,
        standardize: bool = True,
        class_weight: ClassWeight = None,
        random_state: RandomState = 0,
        centred: bool = False,
    ) -> None:
        self.temperature = temperature
        self.centred = centred
        self.ridge = ridge
        self.loss = loss
        self.n_folds = n_folds
        self.standardize = standardize
        self.class_weight = class_weight
        self.random_state = random_state
