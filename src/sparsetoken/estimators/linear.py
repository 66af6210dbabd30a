"""Linear estimators of bags: of mean tokens, of column maxima, of concatenated tokens."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from sparsetoken.bags import Bags
from sparsetoken.bags.segments import segment_deviation, segment_max, segment_mean
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators.base import (
    Auto,
    BaseBagClassifier,
    ClassWeight,
    ReadoutEstimator,
)
from sparsetoken.estimators.fitting.linear_fit import LinearFit
from sparsetoken.estimators.fitting.standard_tokens import StandardTokens
from sparsetoken.estimators.fitting.targets import Targets
from sparsetoken.estimators.fitting.task import Task
from sparsetoken.losses import Loss


class MeanPooled(ReadoutEstimator):
    """The score is linear in the mean token."""

    def _fit_tasks(self, tasks: list[Task], targets: Targets) -> list[str]:
        fits = [task.calibrated(task.mean_fit) for task in tasks]
        self._keep_readouts(fits, tasks[0].tokens, targets)
        return []

    def _scores(self, bags: Bags) -> Float[np.ndarray, "n K"]:
        return self._moved(self._of_means(bags), bags)

    def _of_means(self, bags: Bags) -> Float[np.ndarray, "n K"]:
        """Return the scores of mean tokens, without the intercept."""
        return segment_mean(bags.tokens @ self._in(bags, self.coef_).T, bags.offsets)


class MaxPooled(MeanPooled):
    """The score is linear in mean token and column maxima."""

    largest_coef_: Float[np.ndarray, "K m"]
    largest_range_: Float[np.ndarray, "2 K"]

    def _fit_tasks(self, tasks: list[Task], targets: Targets) -> list[str]:
        self._keep_maxima([task.largest_fit() for task in tasks], tasks[0].tokens, targets)
        return []

    def _keep_maxima(self, fits: list[LinearFit], tokens: StandardTokens, targets: Targets) -> None:
        """Keep the readouts of mean token and maxima, the first 2 d weights of fits."""
        dtype, d = tokens.bags.dtype, tokens.bags.dimension
        means = [dataclasses.replace(fit, w=fit.w[:d]) for fit in fits]
        self._keep_readouts(means, tokens, targets)
        readouts = np.stack([fit.w[d : 2 * d] for fit in fits])
        self.largest_coef_ = (targets.scale * tokens.coefficients(readouts)).astype(dtype)
        moved = [targets.scale * tokens.offset(u) for u in readouts]
        self.intercept_ = self.intercept_ + np.array(moved, self.intercept_.dtype)
        largest = tokens.largest * tokens.scale + tokens.mean
        products = largest.astype(dtype) @ self.largest_coef_.T
        self.largest_range_ = np.stack([products.min(axis=0), products.max(axis=0)])

    def _scores(self, bags: Bags) -> Float[np.ndarray, "n K"]:
        largest = segment_max(bags.tokens, bags.offsets) @ self._in(bags, self.largest_coef_).T
        # A bag unlike all of training says no more than the most telling one there.
        largest = np.clip(largest, *self._in(bags, self.largest_range_))
        return self._moved(self._of_means(bags) + largest, bags)


class StatisticsPooled(MaxPooled):
    """The score is linear in mean token, column maxima and standard deviations within the bag."""

    deviation_coef_: Float[np.ndarray, "K m"]
    deviation_range_: Float[np.ndarray, "2 K"]

    def _fit_tasks(self, tasks: list[Task], targets: Targets) -> list[str]:
        tokens, fits = tasks[0].tokens, [task.statistics_fit() for task in tasks]
        dtype, d = tokens.bags.dtype, tokens.bags.dimension
        self._keep_maxima(fits, tokens, targets)
        readouts = np.stack([fit.w[2 * d :] for fit in fits])
        self.deviation_coef_ = (targets.scale * tokens.coefficients(readouts)).astype(dtype)
        products = (tokens.deviations * tokens.scale).astype(dtype) @ self.deviation_coef_.T
        self.deviation_range_ = np.stack([products.min(axis=0), products.max(axis=0)])
        return []

    def _scores(self, bags: Bags) -> Float[np.ndarray, "n K"]:
        means = segment_mean(bags.tokens, bags.offsets)
        deviations = segment_deviation(bags.tokens, means, bags.offsets).astype(bags.dtype)
        products = deviations @ self._in(bags, self.deviation_coef_).T
        return super()._scores(bags) + np.clip(products, *self._in(bags, self.deviation_range_))


class _LinearClassifier(BaseBagClassifier, ReadoutEstimator):
    """Parameters of the linear classifiers."""

    def __init__(
        self,
        ridge: float | Auto = "auto",
        loss: Loss | str = "logistic",
        standardize: bool = True,
        class_weight: ClassWeight = None,
        n_tokens: int | None = None,
    ) -> None:
        self.ridge = ridge
        self.loss = loss
        self.standardize = standardize
        self.class_weight = class_weight
        self.n_tokens = n_tokens


class PooledLinearClassifier(MeanPooled, _LinearClassifier):
    """A linear classifier of the mean token: sign(<w, xbar> + b).

    (w, b) minimise the mean loss plus (ridge/2) |w|^2. More than two classes are fitted one
    against the rest.

    Parameters
    ----------
    ridge : float or "auto"
        > 0, in the scale of the standardised tokens. ``auto`` takes the least leave-one-out loss,
        for which the scales count as learned without the bag, and with `standardize` the best of
        three scales: mean tokens divided by their own deviations over the bags, by those of tokens,
        or as given; each must gain more than one standard error over those before it. The scores
        are then shrunk by the factor of least leave-one-out loss, and their threshold is moved
        where that gains more than one standard error of this loss, as where bags of one class vary
        more: `coef_` and `intercept_` are those of the result.
    loss : str or Loss
        logistic, square, squared_hinge, or hinge (with a ridge that is a number).
    standardize : bool
        Whether each column of the tokens is scaled to mean 0 and variance 1 for the fit.
        ``coef_`` acts on the tokens as given.
    class_weight : dict, "balanced" or None
        Weights of the classes; ``balanced`` lets each class count as much as any other.
    n_tokens : int, optional
        Tokens in each row of a 2-D input; by default a row is one token.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (1, d), or (n_classes, d) for more than two classes
    intercept_ : array of shape (1,) or (n_classes,)
    ridge_ : array of shape (1,) or (n_classes,)
        The ridge in use, in the scale in use.
    left_out_scores_ : array of shape (n, 1) or (n, n_classes), or None
        Score of each training bag when it is left out of the fit; None for a hinge loss.
    n_bags_ : float
        The effective sample size, (sum w)^2 / sum w^2 of the sample weights w; n if they are equal.
    empty_score_ : array of shape (1,) or (n_classes,)
        The score of a bag without a token: log odds of class rates, or the mean of a regressor.
    n_features_in_ : int
        d, or n_tokens * d.

    See Also
    --------
    VectorizedLinearClassifier : Of concatenated tokens.
    sparsetoken.AttentionClassifier : Attention in place of the mean.
    sparsetoken.BagClassifier : An average of several classifiers; the one to begin with.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> bags = [rng.standard_normal((size, 3)) + size % 2 for size in range(1, 40)]
    >>> labels = ["odd" if len(bag) % 2 else "even" for bag in bags]
    >>> PooledLinearClassifier().fit(bags, labels).score(bags, labels) > 0.9
    True
    """

    def token_logits(self, X: Any) -> list[np.ndarray]:
        """Return the score of each token as a bag of its own: arrays (L_i,), or (L_i, K)."""
        bags = self._read(X)
        logits = bags.tokens @ self._in(bags, self.coef_).T
        return self._per_bag(self._moved(logits, bags), bags)


class MaxPooledClassifier(MaxPooled, _LinearClassifier):
    """A linear classifier of mean token and column maxima: sign(<w, xbar> + <u, max_l x_l> + b).

    The maxima are taken over the tokens of a bag, for each column by itself: a bag counts as
    having whatever any of its tokens has. Unlike all else here they change if a column changes
    its sign.

    Parameters
    ----------
    ridge : float or "auto"
        > 0, of w and u. ``auto`` takes the least leave-one-out loss, in the scale of the
        features over the bags; scores are then shrunk and their threshold is moved as in
        `PooledLinearClassifier`.
    loss, standardize, class_weight, n_tokens
        As for `PooledLinearClassifier`.

    Attributes
    ----------
    coef_ : array of shape (1, d), or (n_classes, d) for more than two classes
        w.
    largest_coef_ : array of the shape of coef_
        u.
    largest_range_ : array of shape (2, 1) or (2, n_classes)
        Least and largest <u, max_l x_l> of training bags. New ones are cut to this range.
    classes_, intercept_, ridge_, left_out_scores_, n_bags_, n_features_in_
        As for `PooledLinearClassifier`.

    See Also
    --------
    sparsetoken.estimators.PooledLinearClassifier : Of the mean token alone.
    sparsetoken.BagClassifier : An average of several classifiers.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(100) % 2
    >>> bags = rng.standard_normal((100, 8, 5))
    >>> bags[labels == 1, 0, 2] += 4  # one token of eight
    >>> MaxPooledClassifier().fit(bags, labels).score(bags, labels) > 0.9
    True
    """


class PooledStatisticsClassifier(StatisticsPooled, _LinearClassifier):
    """A linear classifier of mean token, column maxima and standard deviations within the bag.

    The score is <w, mean_l x_l> + <u, max_l x_l> + <v, std_l x_l> + b, column by column.

    Parameters
    ----------
    ridge : float or "auto"
        > 0, of w, u and v. ``auto`` takes the least leave-one-out loss, in the scale of the
        features over the bags; scores are then shrunk and their threshold is moved as in
        `PooledLinearClassifier`.
    loss, standardize, class_weight, n_tokens
        As for `PooledLinearClassifier`.

    Attributes
    ----------
    coef_, largest_coef_, deviation_coef_ : arrays of shape (1, d) or (n_classes, d)
        w, u and v.
    largest_range_, deviation_range_ : arrays of shape (2, 1) or (2, n_classes)
        Least and largest <u, max_l x_l> and <v, std_l x_l> of training bags. New ones are cut to
        these ranges.
    classes_, intercept_, ridge_, left_out_scores_, n_bags_, n_features_in_
        As for `PooledLinearClassifier`.

    See Also
    --------
    sparsetoken.estimators.MaxPooledClassifier : Without the deviations.
    sparsetoken.BagClassifier : An average of several classifiers.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken.estimators import PooledStatisticsClassifier
    >>> labels, rng = np.arange(200) % 2, np.random.default_rng(0)
    >>> bags = rng.standard_normal((200, 8, 5))
    >>> bags[labels == 1, :, 0] *= 3  # the tokens of one class vary more
    >>> PooledStatisticsClassifier().fit(bags, labels).score(bags, labels) > 0.9
    True
    """


class VectorizedLinearClassifier(MeanPooled, _LinearClassifier):
    """A linear classifier of concatenated tokens: sign(<W, X> + b), W of shape (L, d).

    It has one weight for each position, so that all bags must have the same number of tokens.

    Parameters
    ----------
    ridge : float or "auto"
        > 0, in the scale of the standardised tokens. ``auto`` takes the least leave-one-out loss;
        the scores are then shrunk and their threshold moved as in `PooledLinearClassifier`.
    standardize : bool
        Whether each column at each position is scaled to mean 0 and variance 1 for the fit.
    loss, class_weight, n_tokens
        As for `PooledLinearClassifier`.

    Attributes
    ----------
    coef_ : array of shape (1, L * d), or (n_classes, L * d) for more than two classes
    bag_size_ : int
        L.
    classes_, intercept_, ridge_, left_out_scores_, n_bags_, n_features_in_
        As for `PooledLinearClassifier`.

    See Also
    --------
    PooledLinearClassifier : A classifier of the mean token.
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

    def _sizes(self) -> dict[str, int]:
        sizes = super()._sizes()
        return sizes | {"m": sizes["d"] * (self.bag_size_ or 0)}

    def _fit(self, bags: Bags, targets: Targets) -> list[str]:
        self.bag_size_ = bags.common_size
        return super()._fit(self._rows(bags), targets)

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
                "for bags of different sizes take PooledLinearClassifier or AttentionClassifier."
            )
            raise InvalidInput("X", legal, sizes, remedy)
        return Bags(bags.tokens.reshape(len(bags), -1), np.arange(len(bags) + 1))
