"""The standard assumption of multiple-instance learning: one positive token is enough."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from sparsetoken.bags import Bags
from sparsetoken.bags.segments import segment_sum
from sparsetoken.estimators.base import (
    BaseBagClassifier,
    ClassWeight,
    CrossFitted,
    RandomState,
)
from sparsetoken.estimators.fitting.noisy_or import fit_noisy_or, log_odds
from sparsetoken.estimators.fitting.training import Training


class NoisyOrClassifier(CrossFitted, BaseBagClassifier):
    """Noisy-or of token probabilities: no token can make a positive bag negative.

    A bag is negative with probability prod_l (1 - p_l), p_l = 1 / (1 + exp(-<x_l, v> - c)). Its
    score is a f + b with a >= 0, where f are the log odds of this: one more token never lowers
    it. This is the standard assumption of multiple-instance learning. The other classifiers do
    not make it: they may take the absence of some token for evidence. More than two classes are
    fitted one against the rest.

    Parameters
    ----------
    n_folds : int
        Folds of the cross-validation that chooses the ridge and fits a and b.
    class_weight
        As for `PooledClassifier`.
    random_state : int, RandomState or None
        Of the folds. Two fits with the default are equal.

    Attributes
    ----------
    token_coef_ : array of shape (1, d), or (n_classes, d) for more than two classes
        v.
    token_intercept_ : array of shape (1,) or (n_classes,)
        c.
    token_range_ : array of shape (2, 1) or (2, n_classes)
        Least and largest <x, v> of training tokens. New ones are cut to this range.
    slope_, intercept_ : arrays of shape (1,) or (n_classes,)
        a >= 0 and b; a = 0 where the assumption misleads.
    classes_, left_out_scores_, left_out_auc_, n_bags_, n_features_in_
        As for `PooledClassifier`; left-out scores are those of folds.

    See Also
    --------
    sparsetoken.BagClassifier : An average of several classifiers; the one to begin with.

    References
    ----------
    O. Maron and T. Lozano-Perez (1998), A framework for multiple-instance learning; E. Raff and
    J. Holt (2023), Reproducibility in multiple instance learning: a case for algorithmic unit
    tests.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken.estimators import NoisyOrClassifier
    >>> labels, rng = np.arange(200) % 2, np.random.default_rng(0)
    >>> bags = rng.standard_normal((200, 8, 5))
    >>> bags[labels == 1, 0, 0] += 5  # one token of eight
    >>> model = NoisyOrClassifier().fit(bags, labels)
    >>> model.score(bags, labels) > 0.9
    True
    """

    token_coef_: Float[np.ndarray, "K d"]
    token_intercept_: Float[np.ndarray, " K"]
    token_range_: Float[np.ndarray, "2 K"]
    slope_: Float[np.ndarray, " K"]

    def __init__(
        self,
        n_folds: int = 8,
        class_weight: ClassWeight = None,
        random_state: RandomState = 0,
    ) -> None:
        self.n_folds = n_folds
        self.class_weight = class_weight
        self.random_state = random_state

    def _fit(self, training: Training) -> list[str]:
        training, folds, _ = self._in_folds(training)
        bags, tokens = training.bags, training.tokens
        found = zip(training.tasks, training.targets.constants, strict=True)
        fits = [fit_noisy_or(task, folds, constant) for task, constant in found]
        v, readouts = np.stack([fit.v for fit in fits]), [fit.readout for fit in fits]
        self.token_coef_ = tokens.coefficients(v).astype(bags.dtype)
        offsets = [fit.b + tokens.offset(fit.v) for fit in fits]
        self.token_intercept_ = np.array(offsets, bags.dtype)
        products = bags.tokens @ self.token_coef_.T
        self.token_range_ = np.stack([products.min(axis=0), products.max(axis=0)])
        self.slope_ = np.array([fit.w[0] for fit in readouts])
        self.intercept_ = np.array([fit.b for fit in readouts])
        known = [fit.left_out_scores for fit in readouts if fit.left_out_scores is not None]
        self.left_out_scores_ = np.stack(known, axis=1)
        return []

    def _scores(self, bags: Bags) -> Float[np.ndarray, "n K"]:
        products = bags.tokens @ self._in(bags, self.token_coef_).T
        # A token unlike all of training says no more than the most telling one there.
        u = np.clip(products, *self._in(bags, self.token_range_)) + self.token_intercept_
        H = segment_sum(np.logaddexp(0, u), bags.offsets)
        return self._in(bags, self.slope_ * log_odds(H.astype(np.float64)) + self.intercept_)
