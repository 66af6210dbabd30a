"""The regressor of bags to begin with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from jaxtyping import Float
from sklearn.dummy import DummyRegressor

from sparsetoken.estimators.attention import Attention
from sparsetoken.estimators.base import Auto, BaseBagRegressor, RandomState
from sparsetoken.estimators.fitting.task import Pool
from sparsetoken.estimators.fitting.training import Training
from sparsetoken.estimators.forest import PooledForest
from sparsetoken.estimators.linear import Pooled
from sparsetoken.estimators.similarities import Similar
from sparsetoken.estimators.stack import CENTRED, BagStack, TokenForm, best_form


class _Part(BaseBagRegressor):
    """A regressor of one pooling, with the default parameters of the classifier."""

    temperature: float | Auto = "auto"
    n_folds = 8
    n_estimators = 100
    random_state: RandomState = 0


class PooledRegressor(Pooled, _Part):
    """Least squares on the mean token, on column maxima and on deviations within the bag."""

    def __init__(self, pool: Pool = "mean") -> None:
        self.pool = pool


class SimilarityRegressor(Similar, _Part):
    """Least squares on similarities to prototypes."""


class AttentionRegressor(Attention, _Part):
    """Attention by least squares."""

    def __init__(self, centred: bool = False) -> None:
        self.centred = centred


class ForestRegressor(PooledForest, _Part):
    """Trees for numbers; a split takes a third of all features."""


MEMBERS = (PooledRegressor, SimilarityRegressor, AttentionRegressor, ForestRegressor)


class BagRegressor(BagStack, BaseBagRegressor):
    """An average of regressors of bags, weighted by how well they predict bags left out.

    The members and their weights are those of `BagClassifier`, with the square loss: the mean of y
    stands for the class rate, linear regressions for logistic ones, and trees are of numbers. Of
    each member predictions are kept within the range of the training numbers, widened by its width
    to either side, so that a bag unlike all of these is not extrapolated without bound.

    Parameters
    ----------
    members : sequence of (name, regressor)
        Regressors of one's own beside these, with `fit` and `predict` for `Bags`, as the members
        of `BagClassifier`.
    n_folds, random_state, progress, exclude
        As for `BagClassifier`.

    Attributes
    ----------
    member_losses_ : array of shape (M, 1)
        Half the mean squared error of each member by itself on bags left out, in units of the
        variance of y.
    member_names_, member_bags_, member_temperature_, weights_, members_, token_coef_,
    token_form_, side_
        As for `BagClassifier`, K = 1; `side_` is -1 where single tokens make y small.
    intercept_ : array of shape (1,)
        0.
    range_ : array of shape (2,)
        The least and the largest prediction of a member.
    left_out_scores_, normal_scores_, similarities_, n_bags_, n_features_in_
        As for `BagClassifier`; left-out scores are predictions.

    See Also
    --------
    BagClassifier : For labels.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> bags, y = rng.standard_normal((200, 8, 5)), rng.standard_normal(200)
    >>> bags[:, 0, 0] += 3 * y  # one token of eight
    >>> BagRegressor().fit(bags, y).score(bags, y) > 0.5
    True
    """

    range_: Float[np.ndarray, " 2"]

    def __init__(
        self,
        members: Sequence[tuple[str, Any]] = (),
        n_folds: int = 8,
        random_state: RandomState = 0,
        progress: bool = True,
        exclude: Sequence[str] = (),
    ) -> None:
        self.members = members
        self.n_folds = n_folds
        self.random_state = random_state
        self.progress = progress
        self.exclude = exclude

    def _fit(self, training: Training) -> list[str]:
        y = training.targets.given
        self.range_ = np.array([2 * y.min() - y.max(), 2 * y.max() - y.min()])
        forms = self._average(
            training,
            {
                "constant": DummyRegressor(),
                "size": PooledRegressor(),
                "forest": ForestRegressor(),
                "mean": PooledRegressor(),
                "maxima": PooledRegressor("max"),
                "attention": AttentionRegressor(),
                CENTRED: AttentionRegressor(centred=True),
                "statistics": PooledRegressor("statistics"),
                "prototypes": SimilarityRegressor(),
                "forest of prototypes": ForestRegressor(),
            },
        )
        best = best_form(forms)
        (fit,), tokens = best.training.attention, best.training.tokens
        self.token_form_ = cast(TokenForm, best.form)
        coef = tokens.coefficients(fit.directions[:1])
        self.token_coef_ = coef.astype(tokens.bags.dtype)
        self.side_ = np.array([-1 if fit.exponent < 0 else 1])
        return self._doubts()
