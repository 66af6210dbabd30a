"""Similarities of bags to tokens of training bags: nonlinear evidence in single tokens."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from sparsetoken.bags import Bags
from sparsetoken.base.validation import integer
from sparsetoken.estimators.base import (
    BaseBagClassifier,
    ClassWeight,
    CrossFitted,
    RandomState,
)
from sparsetoken.estimators.fitting.prototypes import Similarities, bandwidth_of, nearest
from sparsetoken.estimators.fitting.training import Training
from sparsetoken.estimators.token_transformer import sampled_tokens


class Prototypes(CrossFitted):
    """The score is linear in similarities of the bag to tokens of training bags."""

    n_prototypes: int
    prototypes_: Float[np.ndarray, "P d"]
    prototype_bags_: Int[np.ndarray, " P"]
    column_scale_: Float[np.ndarray, " d"]
    bandwidth_: float
    coef_: Float[np.ndarray, "K P"]
    ridge_: Float[np.ndarray, " K"]

    def _fit(self, training: Training) -> list[str]:
        most = integer("n_prototypes", self.n_prototypes, 1)
        training, folds, rng = self._in_folds(training)
        bags, targets = training.bags, training.targets
        rows = _drawn(bags, training.tokens.scale, most, rng)
        self.prototypes_, self.column_scale_ = bags.tokens[rows], training.tokens.scale
        self.prototype_bags_ = np.searchsorted(bags.offsets, rows, side="right") - 1
        distances = nearest(bags, self.prototypes_, self.column_scale_, rows)
        self.bandwidth_ = bandwidth_of(distances)
        F = self._similar(distances)
        similarities = Similarities(F, folds, folds[self.prototype_bags_])
        found = zip(training.tasks, targets.constants, strict=True)
        fits = [
            task.calibrated(
                similarities.readout(task.samples, task.loss, constant, not task.of_several)
            )
            for task, constant in found
        ]
        self.coef_ = (targets.scale * np.stack([fit.w for fit in fits])).astype(bags.dtype)
        intercept = targets.in_units(np.array([fit.b for fit in fits]))
        self.intercept_ = intercept.astype(np.float64 if targets.numbers else bags.dtype)
        self.ridge_ = np.array([fit.ridge for fit in fits])
        known = [fit.left_out_scores for fit in fits if fit.left_out_scores is not None]  # all are
        self.left_out_scores_ = targets.in_units(np.stack(known, axis=1))
        return []

    def _similar(self, distances: Float[np.ndarray, "n P"]) -> Float[np.ndarray, "n P"]:
        return np.exp(-distances.astype(np.float64) / self.bandwidth_)

    def _scores(self, bags: Bags) -> Float[np.ndarray, "n K"]:
        F = self._similar(nearest(bags, self.prototypes_, self.column_scale_))
        return self._moved(self._in(bags, F @ self.coef_.T), bags)


class PrototypeClassifier(Prototypes, BaseBagClassifier):
    """A linear classifier of the similarities of a bag to tokens of training bags (MILES).

    The similarity to prototype p is max_l exp(-|z_l - p|^2 / h) over the standardised tokens of
    the bag: how near the bag comes to it. Its logistic regression sees evidence that no linear
    score of tokens sees, as where tokens of a class are those of a region. Prototypes are drawn
    at random, as many of each bag; h is the median of the squared distances. The similarity of a
    prototype to its own bag is that to the other tokens.

    Parameters
    ----------
    n_prototypes : int
        About how many tokens are prototypes, at least 1; all if there are not more.
    n_folds : int
        Folds of left-out scores, by which probabilities are calibrated; fewer if a class has fewer
        bags. The prototypes of a fold are left out with its bags.
    class_weight
        As for `PooledClassifier`.
    random_state : int, RandomState or None
        Of prototypes and folds. Two fits with the default are equal.

    Attributes
    ----------
    prototypes_ : array of shape (P, d)
        Tokens of training bags.
    prototype_bags_ : int array of shape (P,)
        The training bags that they are from, of those with weight.
    column_scale_ : array of shape (d,)
        What columns are divided by for distances.
    bandwidth_ : float
        h.
    coef_ : array of shape (1, P), or (n_classes, P) for more than two classes
    ridge_, intercept_, classes_, left_out_scores_, left_out_auc_, n_bags_, n_features_in_
        As for `PooledClassifier`; left-out scores are those of folds.

    See Also
    --------
    sparsetoken.BagClassifier : An average of several classifiers; the one to begin with.
    TokenTransformer : Such as ``Nystroem()``, for other features of single tokens.

    References
    ----------
    Y. Chen, J. Bi and J. Z. Wang (2006), MILES: multiple-instance learning via embedded instance
    selection. There the regression is sparse; here it has a ridge.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken.estimators import PrototypeClassifier
    >>> labels, rng = np.arange(300) % 2, np.random.default_rng(0)
    >>> bags, side = rng.standard_normal((300, 6, 2)), rng.choice([-4, 4], 300)
    >>> bags[:, 0, 0] += side
    >>> bags[:, 0, 1] += side * (2 * labels - 1)  # a token on one of two diagonals
    >>> model = PrototypeClassifier().fit(bags[:200], labels[:200])
    >>> model.score(bags[200:], labels[200:]) > 0.9
    True
    """

    def __init__(
        self,
        n_prototypes: int = 200,
        n_folds: int = 8,
        class_weight: ClassWeight = None,
        random_state: RandomState = 0,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.n_folds = n_folds
        self.class_weight = class_weight
        self.random_state = random_state


def _drawn(
    bags: Bags, scale: Float[np.ndarray, " d"], most: int, rng: np.random.RandomState
) -> Int[np.ndarray, " P"]:
    """Return rows of tokens, as many of each bag, whatever order its tokens have."""
    along = bags.tokens @ (rng.standard_normal(len(scale)) / scale).astype(bags.dtype)
    order = np.lexsort((along, np.repeat(np.arange(len(bags)), bags.sizes)))
    places = sampled_tokens(bags, most, rng)
    if len(places) > most:  # one of each bag is too many
        places = rng.permutation(places)[:most]
    return np.sort(order[places])
