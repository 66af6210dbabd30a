"""Linear estimators of bags: of mean tokens, column maxima and deviations, or of all tokens."""

from __future__ import annotations

from typing import get_args

import numpy as np
from jaxtyping import Float

from sparsetoken.bags import Bags
from sparsetoken.bags.segments import segment_deviation, segment_max, segment_mean
from sparsetoken.base.validation import InvalidInput, choice
from sparsetoken.estimators.base import (
    Auto,
    BaseBagClassifier,
    ClassWeight,
    ReadoutEstimator,
)
from sparsetoken.estimators.fitting.task import Pool
from sparsetoken.estimators.fitting.training import Training
from sparsetoken.losses import Loss


class Pooled(ReadoutEstimator):
    """The score is linear in the mean token, and in column maxima and deviations by `pool`."""

    pool: Pool = "mean"
    range_: Float[np.ndarray, "2 parts K"]

    def _fit(self, training: Training) -> list[str]:
        choice("pool", self.pool, get_args(Pool))
        fits = [task.calibrated(task.pooled_fit(self.pool)) for task in training.tasks]
        self._keep_readouts(fits, training)
        _, *more = self._parts(training.bags)
        ends = np.array([[part.min(axis=0), part.max(axis=0)] for part in more], self.coef_.dtype)
        self.range_ = ends.reshape(-1, 2, len(fits)).swapaxes(0, 1)
        return []

    def _parts(self, bags: Bags) -> list[Float[np.ndarray, "n K"]]:
        """Return what mean tokens, maxima and deviations add to the scores."""
        tokens, offsets = bags.tokens, bags.offsets
        of = self._in(bags, self.coef_).reshape(len(self.coef_), -1, bags.dimension).swapaxes(0, 1)
        parts = [segment_mean(tokens @ of[0].T, offsets)]
        if self.pool != "mean":
            parts.append(segment_max(tokens, offsets) @ of[1].T)
        if self.pool == "statistics":
            deviations = segment_deviation(tokens, segment_mean(tokens, offsets), offsets)
            parts.append(deviations.astype(bags.dtype) @ of[2].T)
        return parts

    def _scores(self, bags: Bags) -> Float[np.ndarray, "n K"]:
        mean, *more = self._parts(bags)
        # A bag unlike all of training says no more than the most telling one there.
        more = [np.clip(*one) for one in zip(more, *self._in(bags, self.range_), strict=True)]
        return self._moved(sum(more, mean), bags)


class PooledClassifier(Pooled, BaseBagClassifier):
    """A linear classifier of what pooling keeps of a bag: sign(<w, xbar> + b) of the mean token.

    (w, b) minimise the mean loss plus (ridge/2) |w|^2. Column maxima and standard deviations
    within the bag are further features with weights of their own. More than two classes are fitted
    one against the rest.

    Parameters
    ----------
    pool : str
        ``mean``; ``max`` for mean token and column maxima, <w, mean_l x_l> + <u, max_l x_l> + b: a
        bag counts as having whatever any of its tokens has, and unlike all else here the scores
        change if a column changes its sign; ``statistics`` for standard deviations within the bag
        as well, + <v, std_l x_l>.
    ridge : float or "auto"
        > 0, in the scale of the standardised tokens. ``auto`` takes the least leave-one-out loss,
        for which the scales count as learned without the bag. With `standardize` that is in the
        scale of the features over the bags, and of the mean token the best of three scales: mean
        tokens divided by their own deviations over the bags, by those of tokens, or as given; each
        must gain more than one standard error over those before it. The scores are then shrunk by
        the factor of least leave-one-out loss, and their threshold is moved where that gains more
        than one standard error of this loss, as where bags of one class vary more: `coef_` and
        `intercept_` are those of the result.
    loss : str or Loss
        logistic, square, squared_hinge, or hinge (with a ridge that is a number).
    standardize : bool
        Whether each column of the tokens is scaled to mean 0 and variance 1 for the fit.
        ``coef_`` acts on the tokens as given.
    class_weight : dict, "balanced" or None
        Weights of the classes; ``balanced`` lets each class count as much as any other.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (K, m)
        K = 1 for two classes, else n_classes. w, then u, then v: m = d, 2 d or 3 d.
    intercept_ : array of shape (K,)
    range_ : array of shape (2, p, K)
        Least and largest <u, max_l x_l> and <v, std_l x_l> of training bags, p = 0, 1 or 2 of them.
        New ones are cut to these ranges.
    ridge_ : array of shape (K,)
        The ridge in use, in the scale in use.
    left_out_scores_ : array of shape (n, K), or None
        Score of each training bag when it is left out of the fit; None for a hinge loss.
    left_out_auc_ : array of shape (3,)
        Of a classifier: the AUC of these scores, of more than two classes the mean of each against
        the rest, and the ends of its 90% interval, over groups if there are any; nan without them.
        Where a fit chooses by these scores, as `BagClassifier` does, it is somewhat too good;
        ``sparsetoken bags fit`` puts that of its cross-validation in its place.
    n_bags_ : float
        The effective sample size, (sum w)^2 / sum w^2 of the sample weights w; n if they are equal.
    n_groups_ : int or None
        Of how many groups the bags are; None where they are taken as independent.
    empty_score_ : array of shape (K,)
        The score of a bag without a token: log odds of class rates, or the mean of a regressor.
    n_features_in_ : int
        d.

    See Also
    --------
    VectorizedLinearClassifier : Of concatenated tokens.
    sparsetoken.AttentionClassifier : Attention in place of the mean.
    sparsetoken.BagClassifier : An average of several classifiers; the one to begin with.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(100) % 2
    >>> bags = rng.standard_normal((100, 8, 5))
    >>> bags[labels == 1, 0, 2] += 4  # one token of eight
    >>> models = [PooledClassifier(pool).fit(bags, labels) for pool in ("mean", "max")]
    >>> [model.score(bags, labels) > 0.9 for model in models]
    [False, True]
    """

    def __init__(
        self,
        pool: Pool = "mean",
        ridge: float | Auto = "auto",
        loss: Loss | str = "logistic",
        standardize: bool = True,
        class_weight: ClassWeight = None,
    ) -> None:
        self.pool = pool
        self.ridge = ridge
        self.loss = loss
        self.standardize = standardize
        self.class_weight = class_weight


class VectorizedLinearClassifier(Pooled, BaseBagClassifier):
    """A linear classifier of concatenated tokens: sign(<W, X> + b), W of shape (L, d).

    It has one weight for each position, so that all bags must have the same number of tokens.

    Parameters
    ----------
    ridge : float or "auto"
        > 0, in the scale of the standardised tokens. ``auto`` takes the least leave-one-out loss;
        the scores are then shrunk and their threshold moved as in `PooledClassifier`.
    standardize : bool
        Whether each column at each position is scaled to mean 0 and variance 1 for the fit.
    loss, class_weight
        As for `PooledClassifier`.

    Attributes
    ----------
    coef_ : array of shape (1, L * d), or (n_classes, L * d) for more than two classes
    bag_size_ : int
        L.
    classes_, intercept_, ridge_, left_out_scores_, left_out_auc_, n_bags_, n_features_in_
        As for `PooledClassifier`.

    See Also
    --------
    PooledClassifier : A classifier of the mean token.
    sparsetoken.Vectorized : The model of the theory.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsetoken as st
    >>> labels, rng = np.arange(100) % 2, np.random.default_rng(0)
    >>> bags = rng.standard_normal((100, 6, 4))
    >>> bags[labels == 1, 2, 0] += 3  # always the third token
    >>> model = st.estimators.VectorizedLinearClassifier().fit(bags, labels)
    >>> bool(model.score(bags, labels) > 0.9)
    True
    """

    bag_size_: int | None

    def __init__(
        self,
        ridge: float | Auto = "auto",
        loss: Loss | str = "logistic",
        standardize: bool = True,
        class_weight: ClassWeight = None,
    ) -> None:
        self.ridge = ridge
        self.loss = loss
        self.standardize = standardize
        self.class_weight = class_weight

    def _fit(self, training: Training) -> list[str]:
        self.bag_size_ = training.bags.common_size
        return super()._fit(training.of(self._rows(training.bags)))

    def _scores(self, bags: Bags) -> Float[np.ndarray, "n K"]:
        return super()._scores(self._rows(bags))

    def _rows(self, bags: Bags) -> Bags:
        """Return bags of one token each, each the concatenated tokens of one given."""
        if self.bag_size_ is None or bags.common_size != self.bag_size_:
            size = self.bag_size_
            legal = f"bags of {size} tokens each" if size else "bags of the same number of tokens"
            sizes = f"{bags.sizes.min()} to {bags.sizes.max()} tokens"
            remedy = (
                "The vectorized classifier has one weight for each position and dimension; "
                "for bags of different sizes take PooledClassifier or AttentionClassifier."
            )
            raise InvalidInput("X", legal, sizes, remedy)
        return Bags(bags.tokens.reshape(len(bags), -1), np.arange(len(bags) + 1))
