"""Normal scores of tokens: columns of heavy tails are given a normal law."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from sparsetoken.bags.container import is_mapped, scratch
from sparsetoken.base.validation import integer, real
from sparsetoken.estimators.base import RandomState
from sparsetoken.estimators.fitting.standard_tokens import chunks, mean_and_variance, scales
from sparsetoken.estimators.fitting.targets import read_weights
from sparsetoken.estimators.inputs import all_or_nothing, generator_of, read_bags
from sparsetoken.estimators.token_transformer import TokenOutput, sampled_tokens

KNOTS = 400  # between which the map of a column is linear, if it has more values


class TokenNormalScores(  # type: ignore[call-arg]
    TokenOutput, OneToOneFeatureMixin, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """Replace the values of heavy-tailed columns of the tokens by their normal scores.

    The score of a value is the quantile of the standard normal law at its rank among the tokens,
    the van der Waerden score: Phi^-1(F(x-) + p(x) / 2), with F(x-) the share of smaller values
    and p(x) that of equal ones. It is linear between the values of the fit, and that of the
    least or the largest one beyond them. So the order of values stays, while an outlier counts
    hardly more than the value before it. Counts of words, of which most are 0, become almost
    a mark of presence. Other columns stay as they are, and so do columns of two values. All
    tokens are copied if any column is replaced.

    A log-likelihood ratio of heavy-tailed tokens grows far more slowly than the tokens: a query
    that is linear in their scores is closer to it than one that is linear in the tokens.

    Parameters
    ----------
    least_kurtosis : float
        A column is heavy-tailed if its excess kurtosis is above this. A normal law has 0,
        a Laplace law 3, a column of which one value in a hundred is not 0 has 95 or more;
        -3 or less replaces all columns of three values or more.
    max_tokens : int
        About how many tokens it is fitted to, as many of each bag; all if there are not more.
    random_state : int, RandomState or None
        Of the sample.

    Attributes
    ----------
    columns_ : int array of shape (m,)
        Those that are replaced.
    knots_ : list of m arrays of shape (2, K_j)
        Rising values of each of these columns, at most 400, and their scores.
    n_features_in_ : int
        d.

    See Also
    --------
    TokenTransformer : Any transformer of scikit-learn on tokens.
    sparsetoken.BagClassifier : The classifier to begin with.

    References
    ----------
    B. L. van der Waerden (1952), Order tests for the two-sample problem and their power.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken.estimators import TokenNormalScores
    >>> counts = [np.array([[0.0], [0.0], [0.0], [0.0]])] * 9 + [np.array([[1.0], [40.0]])]
    >>> scores = TokenNormalScores().fit_transform(counts)
    >>> scores[9][:, 0].round(2).tolist()
    [1.76, 2.22]
    """

    columns_: Int[np.ndarray, " k"]
    knots_: list[Float[np.ndarray, "2 _"]]

    def __init__(
        self,
        least_kurtosis: float = 3.0,
        max_tokens: int = 20000,
        random_state: RandomState = None,
    ) -> None:
        self.least_kurtosis = least_kurtosis
        self.max_tokens = max_tokens
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the scores from bags in any form; y is not used.

        Parameters
        ----------
        X : any form of bags
        y : None
        sample_weight : array of shape (n,), optional
            How often each bag counts, >= 0.

        Raises
        ------
        ValueError
            If a parameter is out of range, or no bag has any weight.
        """
        least = real("least_kurtosis", self.least_kurtosis, -np.inf)
        most = integer("max_tokens", self.max_tokens, 1)
        bags = read_bags(self, X, reset=True)
        weight: Any = read_weights(bags, sample_weight)
        if not weight.all():
            bags, weight = bags[weight > 0], weight[weight > 0]
        rows = sampled_tokens(bags, most, generator_of(self.random_state))
        share = weight[np.searchsorted(bags.offsets, rows, side="right") - 1]
        share /= share.sum()
        tokens = bags.tokens[rows]
        heavy = np.flatnonzero(_excess_kurtosis(tokens, share) > least)
        knots = {j: _knots(tokens[:, j].astype(np.float64), share) for j in heavy.tolist()}
        # The scores of two values are these values, shifted and scaled.
        self.knots_ = [one for one in knots.values() if one.shape[1] > 2]
        self.columns_ = np.array([j for j, one in knots.items() if one.shape[1] > 2], dtype=int)
        return self

    def _transformed(self, tokens: Float[np.ndarray, "N d"]) -> Float[np.ndarray, "N d"]:
        if not len(self.columns_):
            return tokens
        transformed = (
            scratch(tokens.shape, tokens.dtype) if is_mapped(tokens) else np.empty_like(tokens)
        )
        transformed[...] = tokens
        for j, (values, scores) in zip(self.columns_.tolist(), self.knots_, strict=True):
            transformed[:, j] = np.interp(tokens[:, j], values, scores)
        return transformed


def _excess_kurtosis(
    tokens: Float[np.ndarray, "N d"], share: Float[np.ndarray, " N"]
) -> Float[np.ndarray, " d"]:
    """Return the excess kurtosis of each column; -inf for one that is constant up to rounding."""
    mean, variance = mean_and_variance(tokens, share)
    deviation = np.sqrt(variance)
    scale = scales(deviation, mean, tokens.dtype)
    fourth = sum(
        share[rows] @ np.square(np.square((tokens[rows] - mean) / scale)) for rows in chunks(tokens)
    )
    return np.where(scale == deviation, fourth - 3, -np.inf)


def _knots(
    values: Float[np.ndarray, " N"], share: Float[np.ndarray, " N"]
) -> Float[np.ndarray, "2 K"]:
    """Return values and their normal scores: all, or those nearest to evenly spaced scores."""
    distinct, place = np.unique(values, return_inverse=True)
    mass = np.bincount(place, share)
    below, above = np.cumsum(mass) - mass / 2, np.cumsum(mass[::-1])[::-1] - mass / 2
    # Of each tail from its own end: 1 - p is 0 for a small p.
    scores = np.where(below < 0.5, ndtri(below), -ndtri(above))
    if len(distinct) > KNOTS:
        even = np.linspace(scores[0], scores[-1], KNOTS)
        kept = np.unique(np.searchsorted((scores[1:] + scores[:-1]) / 2, even))
        distinct, scores = distinct[kept], scores[kept]
    return np.stack([distinct, scores])
