"""Pooling as a transformer: one row of features for each bag."""

from __future__ import annotations

from typing import Any, Literal, Self, get_args

import numpy as np
from jaxtyping import Float
from sklearn.base import (
    BaseEstimator,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from sparsetoken.bags.segments import segment_max, segment_mean, segment_sum
from sparsetoken.base.validation import choice
from sparsetoken.estimators.inputs import TakesBags, all_or_nothing, read_bags

Pool = Literal["max", "mean", "sum"]


class BagPooling(TakesBags, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Make one row of each bag: the mean or sum of its tokens, or the largest of each column.

    Parameters
    ----------
    pool : str
        ``mean``, ``sum`` or ``max`` (of each column).

    Attributes
    ----------
    n_features_in_ : int
        d.

    See Also
    --------
    sparsetoken.estimators.PooledClassifier : Mean pooling for bags of your own.
    TokenTransformer : Any transformer of scikit-learn on tokens.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken.estimators import BagPooling
    >>> BagPooling("max").fit_transform([np.array([[1.0, 5.0], [3.0, 2.0]])]).tolist()
    [[3.0, 5.0]]
    """

    def __init__(self, pool: Pool = "mean") -> None:
        self.pool = pool

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters and take d from bags in any form; y is not used.

        Raises
        ------
        InvalidInput
            If there is no such pool.
        """
        choice("pool", self.pool, get_args(Pool))
        read_bags(self, X, reset=True)
        return self

    def transform(self, X: Any) -> Float[np.ndarray, "n d"]:
        """Return one row for each bag, an array of shape (n, d)."""
        check_is_fitted(self, "n_features_in_")
        bags = read_bags(self, X, reset=False)
        pools = {"max": segment_max, "mean": segment_mean, "sum": segment_sum}
        return pools[self.pool](bags.tokens, bags.offsets)
