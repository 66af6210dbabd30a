"""Any transformer of scikit-learn, applied to the tokens of bags."""

from __future__ import annotations

import abc
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import issparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils.validation import check_is_fitted, column_or_1d

from sparsetoken.bags import Bags
from sparsetoken.bags.labels import read_labels
from sparsetoken.base.validation import InvalidInput, integer
from sparsetoken.estimators.base import RandomState
from sparsetoken.estimators.fitting.standard_tokens import chunks
from sparsetoken.estimators.inputs import (
    TakesBags,
    all_or_nothing,
    generator_of,
    is_table,
    read_bags,
)


@runtime_checkable
class Transforming(Protocol):
    """What maps rows to rows."""

    def transform(self, X: Any) -> Any:
        """Return what is made of each row."""


class TokenOutput(TakesBags, abc.ABC):
    """A transformer of tokens whose output is `Bags`, or a table if the input was one."""

    def transform(self, X: Any) -> Any:
        """Return the bags, or the table, with transformed tokens; float32 tokens stay float32."""
        check_is_fitted(self)
        bags = read_bags(self, X, reset=False, empty=True)
        tokens = self._transformed(bags.tokens)
        if not is_table(X):
            named = bags.feature_names is not None
            names = list(self.get_feature_names_out()) if named else None  # type: ignore[attr-defined]
            return bags.with_tokens(tokens, names)
        return tokens

    @abc.abstractmethod
    def _transformed(self, tokens: Float[np.ndarray, "N d"]) -> Float[np.ndarray, "N k"]:
        """Return transformed tokens."""


class TokenTransformer(  # type: ignore[call-arg]
    TokenOutput,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
    auto_wrap_output_keys=None,
):
    """Apply a transformer of scikit-learn to each token of bags.

    It is fitted to a sample of tokens with as many of each bag, as far as bags have them, and
    applied chunk by chunk: tokens may be a memory map larger than the memory, if what is made of
    them is not. The output is `Bags`, or a table if the input was one.

    Parameters
    ----------
    transformer : transformer
        Such as ``StandardScaler()``, ``PCA(20)`` or ``Nystroem(n_components=300)``; it maps each
        row by itself. It is cloned.
    max_tokens : int
        About how many tokens it is fitted to; all if there are not more.
    random_state : int, RandomState or None
        Of the sample.

    Attributes
    ----------
    transformer_ : transformer
        Fitted.
    n_features_in_ : int
        d.

    See Also
    --------
    TokenNormalScores : Normal scores of heavy-tailed columns.
    BagPooling : One row for each bag.

    Notes
    -----
    A supervised transformer, such as PLS, gets the label of its bag for each token. What it
    learned of labels is then in the tokens: choices of a classifier behind it by left-out loss
    are too hopeful, though tests of the whole pipeline are not.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.kernel_approximation import Nystroem
    >>> from sklearn.pipeline import make_pipeline
    >>> from sparsetoken import AttentionClassifier
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(300) % 2
    >>> bags = rng.standard_normal((300, 8, 3))
    >>> bags[labels == 1, 0] *= 4 / np.linalg.norm(bags[labels == 1, 0], axis=1)[:, None]
    >>> tokens = TokenTransformer(Nystroem(n_components=50, random_state=0), random_state=0)
    >>> model = make_pipeline(tokens, AttentionClassifier(random_state=0))
    >>> model.fit(bags, labels).score(bags, labels) > 0.9  # a linear score cannot tell a radius
    True
    """

    transformer_: Transforming
    _n_features_out: int

    def __init__(
        self, transformer: Any, max_tokens: int = 20000, random_state: RandomState = None
    ) -> None:
        self.transformer = transformer
        self.max_tokens = max_tokens
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the transformer to tokens of bags in any form, with the labels of their bags.

        Raises
        ------
        InvalidInput
            If the transformer has no fit or no transform, or max_tokens is below 1.
        """
        most = integer("max_tokens", self.max_tokens, 1)
        if not (hasattr(self.transformer, "fit") and hasattr(self.transformer, "transform")):
            legal = "an estimator with fit and transform"
            raise InvalidInput("transformer", legal, type(self.transformer).__name__)
        bags = read_bags(self, X, reset=True)
        rows = sampled_tokens(bags, most, generator_of(self.random_state))
        labels = None
        if y is not None:
            bag_of_row = np.searchsorted(bags.offsets, rows, side="right") - 1
            labels = column_or_1d(read_labels(y))[bag_of_row]
        self.transformer_ = clone(self.transformer).fit(bags.tokens[rows], labels)
        self._n_features_out = self._made(bags.tokens[:1]).shape[1]
        return self

    def _transformed(self, tokens: Float[np.ndarray, "N d"]) -> Float[np.ndarray, "N k"]:
        transformed = np.empty((len(tokens), self._n_features_out), tokens.dtype)
        for rows in chunks(tokens):
            transformed[rows] = self._made(tokens[rows])
        return transformed

    def _made(self, tokens: Float[np.ndarray, "N d"]) -> Float[np.ndarray, "N k"]:
        made = self.transformer_.transform(tokens)
        array = np.asarray(made.toarray() if issparse(made) else made)
        if array.ndim != 2 or len(array) != len(tokens):
            legal = "one that makes a row of each row"
            raise InvalidInput("transformer", legal, f"{len(tokens)} rows to {array.shape}")
        return array


def sampled_tokens(bags: Bags, most: int, rng: np.random.RandomState) -> Int[np.ndarray, " m"]:
    """Return the rows, in order, of about so many tokens: as many of each bag, or all it has."""
    if len(bags.tokens) <= most:
        return np.arange(len(bags.tokens))
    # Tokens in all if each bag gives at most 1, 2, ...: so many bags more have as many.
    totals = np.cumsum(len(bags) - np.cumsum(np.bincount(bags.sizes)[:-1]))
    each = max(1, int(np.searchsorted(totals, most, side="right")))
    order = np.lexsort(
        (rng.random_sample(len(bags.tokens)), np.repeat(np.arange(len(bags)), bags.sizes))
    )
    place = np.arange(len(bags.tokens)) - np.repeat(bags.offsets[:-1], bags.sizes)
    return np.sort(order[place < each])
