"""Pooling as a transformer: one row of features for each bag."""

from __future__ import annotations

from typing import Any, Literal, Self, get_args

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from sparsetoken.bags.convert import as_floats
from sparsetoken.bags.segments import (
    segment_max,
    segment_mean,
    segment_softmax,
    segment_sum,
    weighted_sum,
)
from sparsetoken.base.validation import InvalidInput, choice, real
from sparsetoken.estimators.inputs import TakesBags, all_or_nothing, read_bags

Pool = Literal["max", "mean", "softmax", "sum"]


class BagPooling(TakesBags, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Make one row of each bag: the mean, sum or largest of its tokens, or attention.

    Parameters
    ----------
    pool : str
        ``mean``, ``sum``, ``max`` (of each column), or ``softmax``: the sum of the tokens x
        with weights softmax(sharpness <x, query>) over the bag.
    query : array of shape (d,), optional
        For ``softmax`` only.
    sharpness : float
        Inverse temperature of the softmax, >= 0; at 0 it is the mean.

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

    def __init__(
        self,
        pool: Pool = "mean",
        query: ArrayLike | None = None,
        sharpness: float = 1.0,
    ) -> None:
        self.pool = pool
        self.query = query
        self.sharpness = sharpness

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters and take d from bags in any form; y is not used.

        Raises
        ------
        InvalidInput
            If a parameter is out of range, or the query is missing or not of d entries.
        """
        choice("pool", self.pool, get_args(Pool))
        bags = read_bags(self, X, reset=True)
        if self.pool == "softmax":
            real("sharpness", self.sharpness, 0.0)
            _checked_query(self.query, bags.dimension)
        return self

    def transform(self, X: Any) -> Float[np.ndarray, "n d"]:
        """Return one row for each bag, an array of shape (n, d)."""
        check_is_fitted(self, "n_features_in_")
        bags = read_bags(self, X, reset=False)
        tokens, offsets = bags.tokens, bags.offsets
        if self.pool == "softmax":
            query = self.sharpness * _checked_query(self.query, bags.dimension)
            scores = tokens @ query.astype(tokens.dtype)
            return weighted_sum(tokens, segment_softmax(scores, offsets), offsets)
        pools = {"max": segment_max, "mean": segment_mean, "sum": segment_sum}
        return pools[self.pool](tokens, offsets)


def _checked_query(query: Any, d: int) -> Float[np.ndarray, " d"]:
    legal = f"a finite array of shape ({d},) for pool softmax"
    if query is None:
        raise InvalidInput("query", legal, None)
    vector = as_floats(query, name="query")
    if vector.shape != (d,) or not np.isfinite(vector).all():
        raise InvalidInput("query", legal, f"shape {vector.shape}, or values that are not finite")
    return vector
