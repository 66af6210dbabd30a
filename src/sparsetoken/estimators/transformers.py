"""Transformers of bags: scale the tokens, decorrelate them, pool them."""

from __future__ import annotations

from typing import Any, Literal, Self, get_args

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sparsetoken.bags.convert import as_floats
from sparsetoken.bags.segments import (
    segment_max,
    segment_mean,
    segment_softmax,
    segment_sum,
    weighted_sum,
)
from sparsetoken.estimators.inputs import all_or_nothing, read_bags
from sparsetoken.estimators.token_output import TokenOutput
from sparsetoken.fitting import moments
from sparsetoken.validation import InvalidInput, choice, integer, real

Pool = Literal["max", "mean", "softmax", "sum"]


class _BagTransformer(TransformerMixin, BaseEstimator):
    """Tags of transformers that take bags as well as tables, in float32 as well as float64."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class TokenScaler(  # type: ignore[call-arg]
    TokenOutput, OneToOneFeatureMixin, _BagTransformer, auto_wrap_output_keys=None
):
    """Shift and scale each column of the tokens to mean 0 and variance 1.

    All tokens count alike, so that a large bag counts for more than a small one. Columns that
    are constant up to rounding are shifted, not scaled. The output is `Bags`, or a table if the
    input was one.

    Parameters
    ----------
    with_mean : bool
        Whether to shift.
    with_std : bool
        Whether to scale.

    Attributes
    ----------
    mean_ : array of shape (d,)
        Mean over the tokens of the training bags.
    scale_ : array of shape (d,)
        Standard deviation over them (divisor N); 1 for constant columns.
    n_features_in_ : int
        d.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken.estimators import TokenScaler
    >>> TokenScaler().fit([np.array([[1.0], [3.0]]), np.array([[5.0]])]).mean_.tolist()
    [3.0]
    """

    def __init__(
        self,
        with_mean: bool = True,
        with_std: bool = True,
    ) -> None:
        self.with_mean = with_mean
        self.with_std = with_std

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn mean and scale of each column from bags in any form; y is not used."""
        tokens = read_bags(self, X, reset=True).bags.tokens
        self.mean_ = moments.mean(tokens)
        deviation = np.sqrt(moments.variance(tokens, self.mean_))
        self.scale_ = moments.scales(deviation, self.mean_, tokens.dtype, roundings=1)
        return self

    def transform(self, X: Any) -> Any:
        """Return the bags with scaled tokens."""
        check_is_fitted(self)
        reading = read_bags(self, X, reset=False)
        tokens = reading.bags.tokens
        dtype = tokens.dtype
        shift = self.mean_.astype(dtype) if self.with_mean else np.zeros(1, dtype)
        scale = self.scale_.astype(dtype) if self.with_std else np.ones(1, dtype)
        scaled = np.empty_like(tokens)
        for rows in moments.chunks(tokens):
            np.subtract(tokens[rows], shift, out=scaled[rows])
            scaled[rows] /= scale
        return self._returned(reading, X, scaled)


class TokenPCA(  # type: ignore[call-arg]
    TokenOutput, ClassNamePrefixFeaturesOutMixin, _BagTransformer, auto_wrap_output_keys=None
):
    """Project the tokens on their principal components, by default to variance 1 each.

    All tokens count alike. The output is `Bags`, or a table if the input was one. The work is
    one matrix product of N d^2 steps in float64 and a problem of eigenvalues of size d.

    Parameters
    ----------
    n_components : int, optional
        At most d. The default keeps every direction in which tokens vary.
    whiten : bool
        Whether to scale the components to variance 1. Directions in which the training
        tokens do not vary come out as 0.
    tolerance : float
        Share, in [0, 1), of the largest variance up to which a direction counts as one in
        which tokens do not vary. Whitening would make a feature of what is rounding there.
        Columns of very different scales need `TokenScaler` first.

    Attributes
    ----------
    mean_ : array of shape (d,)
    components_ : array of shape (n_components_, d)
        Orthonormal rows, by falling variance; the largest entry of each is positive.
    explained_variance_ : array of shape (n_components_,)
        Divisor N - 1.
    n_components_ : int
    n_features_in_ : int
        d.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken.estimators import TokenPCA
    >>> bags = np.random.default_rng(0).standard_normal((20, 4, 6))
    >>> TokenPCA(2).fit_transform(bags)[0].shape
    (4, 2)
    """

    def __init__(
        self,
        n_components: int | None = None,
        whiten: bool = True,
        tolerance: float = 1e-10,
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.tolerance = tolerance

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the components from bags in any form; y is not used.

        Raises
        ------
        InvalidInput
            If there are fewer than 2 tokens, all are equal, or n_components is not in [1, d].
        """
        bags = read_bags(self, X, reset=True).bags
        kept = self.n_components
        if kept is not None:
            kept = integer("n_components", kept, 1, bags.dimension, "It is at most d.")
        tolerance = real("tolerance", self.tolerance, 0.0, 1.0, open_high=True)
        found = moments.principal_components(bags.tokens, tolerance)
        rank = np.count_nonzero(found.variances)
        if len(bags.tokens) < 2 or not rank:
            got = f"{len(bags.tokens)} tokens without variance (n_samples = {len(bags)})"
            raise InvalidInput("X", "at least 2 tokens, not all equal", got)
        self.mean_ = found.mean
        self.n_components_ = rank if kept is None else kept
        self.components_ = found.directions[: self.n_components_]
        self.explained_variance_ = found.variances[: self.n_components_]
        self._n_features_out = self.n_components_
        return self

    def transform(self, X: Any) -> Any:
        """Return the bags with projected tokens."""
        check_is_fitted(self)
        reading = read_bags(self, X, reset=False)
        tokens = reading.bags.tokens
        projection = (self._scales()[:, None] * self.components_).T.astype(tokens.dtype)
        mean = self.mean_.astype(tokens.dtype)
        projected = np.empty((len(tokens), self.n_components_), tokens.dtype)
        for rows in moments.chunks(tokens):
            np.matmul(tokens[rows] - mean, projection, out=projected[rows])
        return self._returned(reading, X, projected)

    def _scales(self) -> Float[np.ndarray, " k"]:
        variances = self.explained_variance_
        if not self.whiten:
            return np.ones_like(variances)
        scales = np.zeros_like(variances)
        np.divide(1, np.sqrt(variances), out=scales, where=variances > 0)
        return scales


class BagPooling(OneToOneFeatureMixin, _BagTransformer):
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
            If a parameter is out of range, or the query is missing or not of length d.
        """
        choice("pool", self.pool, get_args(Pool))
        bags = read_bags(self, X, reset=True).bags
        if self.pool == "softmax":
            real("sharpness", self.sharpness, 0.0)
            _checked_query(self.query, bags.dimension)
        return self

    def transform(self, X: Any) -> Float[np.ndarray, "n d"]:
        """Return one row for each bag, an array of shape (n, d)."""
        check_is_fitted(self, "n_features_in_")
        bags = read_bags(self, X, reset=False).bags
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
    found = as_floats(query, name="query")
    if found.shape != (d,) or not np.isfinite(found).all():
        raise InvalidInput("query", legal, f"shape {found.shape}, or values that are not finite")
    return found
