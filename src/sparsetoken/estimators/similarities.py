"""Similarities of bags to prototypes: nonlinear evidence in single tokens."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sparsetoken.bags import Bags
from sparsetoken.base.validation import integer
from sparsetoken.estimators.base import RandomState, ReadoutEstimator
from sparsetoken.estimators.fitting.linear_fit import LinearFit, fit_linear
from sparsetoken.estimators.fitting.queries import telling
from sparsetoken.estimators.fitting.standard_tokens import CHUNK, mean_and_variance, scales
from sparsetoken.estimators.fitting.targets import read_weights
from sparsetoken.estimators.fitting.task import Task
from sparsetoken.estimators.fitting.training import Training
from sparsetoken.estimators.inputs import TakesBags, all_or_nothing, generator_of, read_bags
from sparsetoken.estimators.token_transformer import sampled_tokens
from sparsetoken.numerics.erm import FeatureMatrix

NEAR = 1e-3  # relative difference of squared distances that counts as none
POWERS = (1, 4, 16)  # of similarities, by which their bandwidth is divided


class BagSimilarities(TakesBags, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Make one row of each bag: how near its tokens come to each of some prototypes.

    The similarity to prototype p is max_l exp(-|z_l - p|^2 / h) over the tokens z_l of the bag,
    each column divided by its standard deviation (MILES). Prototypes are the tokens nearest to
    the centres of k-means, and h is half the median of the squared distances of tokens to them. A
    classifier of these rows sees evidence that no linear score of tokens sees: tokens of a region
    and, if it is not linear itself, tokens of two kinds in one bag.

    Parameters
    ----------
    n_prototypes : int
        At least 1; fewer where there are fewer different tokens.
    max_tokens : int
        About how many tokens k-means is fitted to, as many of each bag; all if there are not more.
    random_state : int, RandomState or None
        Of these tokens and of k-means.

    Attributes
    ----------
    prototypes_ : array of shape (P, d)
        Tokens of training bags.
    prototype_bags_ : int array of shape (P,)
        The bag that each is from: its place among the training bags of weight > 0.
    column_scale_ : array of shape (d,)
        What columns are divided by for distances: inf if they are constant, and play no part.
    bandwidth_ : float
        h.
    n_features_in_ : int
        d.

    See Also
    --------
    sparsetoken.BagClassifier : Two of its members are fitted to such rows.
    BagPooling : Means, sums or maxima of the columns.

    References
    ----------
    Y. Chen, J. Bi and J. Z. Wang (2006), MILES: multiple-instance learning via embedded instance
    selection. There the prototypes are all tokens of the training bags.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sparsetoken.estimators import BagSimilarities
    >>> labels, rng = np.arange(400) % 2, np.random.default_rng(0)
    >>> bags = rng.standard_normal((400, 8, 2))
    >>> side = 3 * rng.choice([-1, 1], 400)
    >>> bags[:, 0, 0], bags[:, 0, 1] = side, side * (2 * labels - 1)  # on one of two diagonals
    >>> rows = BagSimilarities(random_state=0)
    >>> model = make_pipeline(rows, LogisticRegression(C=10)).fit(bags[:200], labels[:200])
    >>> model.score(bags[200:], labels[200:]) > 0.9
    True
    """

    prototypes_: Float[np.ndarray, "P d"]
    prototype_bags_: Int[np.ndarray, " P"]
    column_scale_: Float[np.ndarray, " d"]
    bandwidth_: float
    _n_features_out: int

    def __init__(
        self, n_prototypes: int = 200, max_tokens: int = 4000, random_state: RandomState = None
    ) -> None:
        self.n_prototypes = n_prototypes
        self.max_tokens = max_tokens
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn prototypes from bags in any form; y is not used.

        Parameters
        ----------
        X : any form of bags
        y : None
        sample_weight : array of shape (n,), optional
            How much each bag counts, >= 0; their common scale plays no part.

        Raises
        ------
        ValueError
            If a parameter is out of range, or no bag has any weight.
        """
        from sklearn.cluster import KMeans

        most = integer("n_prototypes", self.n_prototypes, 1)
        max_tokens = integer("max_tokens", self.max_tokens, 1)
        bags = read_bags(self, X, reset=True)
        weight: Any = read_weights(bags, sample_weight)
        if not weight.all():
            bags, weight = bags[weight > 0], weight[weight > 0]
        rng = generator_of(self.random_state)
        rows = _ordered(bags, rng)[sampled_tokens(bags, max_tokens, rng)]
        share = weight[np.searchsorted(bags.offsets, rows, side="right") - 1]
        tokens = bags.tokens[rows]
        mean, variance = mean_and_variance(tokens, share / share.sum())
        deviation = np.sqrt(variance)
        scale = scales(deviation, mean, bags.dtype)
        self.column_scale_ = np.where(scale == deviation, scale, np.inf)
        z = ((tokens - mean) / self.column_scale_).astype(bags.dtype)
        _, chosen = np.unique(z, axis=0, return_index=True)
        if len(chosen) > most:
            # Random different tokens: the draws of k-means++ hang on the rounding of distances.
            first = z[rng.permutation(np.sort(chosen))[:most]]
            centres = (
                KMeans(most, init=first, n_init=1).fit(z, sample_weight=share).cluster_centers_
            )
            squares = _squares(z, centres)
            # The two tokens of a cluster are as near: the first is it, and not by rounding.
            chosen = np.unique((squares <= (1 + NEAR) * squares.min(axis=0)).argmax(axis=0))
        self.prototypes_ = tokens[chosen]
        self.prototype_bags_ = np.searchsorted(bags.offsets, rows[chosen], side="right") - 1
        self._n_features_out = len(chosen)
        squares = _squares(z, z[chosen])
        self.bandwidth_ = float(np.median(squares)) / 2 or float(squares.mean()) or 1.0
        return self

    def transform(self, X: Any) -> Float[np.ndarray, "n P"]:
        """Return one row for each bag, an array of shape (n, P) of similarities in [0, 1]."""
        check_is_fitted(self, "prototypes_")
        bags = read_bags(self, X, reset=False)
        squares = _nearest(bags, self.prototypes_, self.column_scale_)
        with np.errstate(under="ignore"):  # far is 0
            return np.exp(-squares / bags.dtype.type(self.bandwidth_))


class Similar(ReadoutEstimator):
    """The score is linear in similarities at the bandwidth of least left-out loss.

    It is fitted to bags of one token, which is a row of `BagSimilarities` or a power of it, for a
    smaller bandwidth. A prototype is nearer to its own bag than to new ones. So bags are scored
    without the prototypes of their fold.
    """

    power_: int

    def _fit(self, training: Training) -> list[str]:
        parts = {p: training.of(_raised(training.bags, p)) for p in POWERS}
        fits = {p: [_unseen(part, *of) for of in _problems(part)] for p, part in parts.items()}

        def loss(p: int) -> float:
            pairs = zip(fits[p], parts[p].tasks, strict=True)
            return sum(fit.left_out_loss(task.samples) for fit, task in pairs)

        self.power_ = min(POWERS, key=loss)
        best = zip(fits[self.power_], parts[self.power_].tasks, strict=True)
        calibrated = [task.calibrated(fit) for fit, task in best]
        self._keep_readouts(calibrated, parts[self.power_])
        return []

    def _scores(self, bags: Bags) -> Float[np.ndarray, "n K"]:
        rows = _raised(bags, self.power_).tokens
        return self._moved(rows @ self._in(bags, self.coef_).T, bags)


def _raised(bags: Bags, power: int) -> Bags:
    with np.errstate(under="ignore"):  # far is 0
        return bags.with_tokens(bags.tokens**power)


def _problems(training: Training) -> Iterator[tuple[Task, float]]:
    return zip(training.tasks, training.targets.constants, strict=True)


def _unseen(training: Training, task: Task, constant: float) -> LinearFit:
    """Return a readout, with scores of bags without their fold and the prototypes of it.

    Bags of a fold without which there is one class, or no prototype, get the mean score of the
    others: the constant may lie above these, or below, and would tell the bags apart.
    """
    folds, of_column = training.folds, training.column_bags
    fit, samples = task.mean_fit, task.samples
    if folds is None or of_column is None:
        return fit
    F, scores = task.tokens.means / fit.scale, np.full(len(folds), np.nan)
    for fold in range(folds.max() + 1):
        rest, columns = folds != fold, folds[of_column] != fold
        if columns.any() and telling(samples, [rest])[0]:
            part, few = FeatureMatrix(F[np.ix_(rest, columns)]), samples.take(rest)
            found = fit_linear(part, few, task.loss, fit.ridge, leave_out=False)
            scores[~rest] = F[np.ix_(~rest, columns)] @ found.w + found.b
    known = ~np.isnan(scores)
    scores[~known] = scores[known].mean() if known.any() else constant
    losses = np.asarray(task.loss.value(samples.y, scores))
    return dataclasses.replace(fit, left_out=losses, left_out_scores=scores)


def _ordered(bags: Bags, rng: np.random.RandomState) -> Int[np.ndarray, " N"]:
    """Return the rows of the tokens bag by bag, whatever order the tokens of a bag have."""
    span = np.ptp(bags.tokens, axis=0)
    direction = rng.standard_normal(bags.dimension) / np.where(span > 0, span, 1)
    along = bags.tokens @ direction.astype(bags.dtype)
    return np.lexsort((along, np.repeat(np.arange(len(bags)), bags.sizes)))


def _squares(z: Float[np.ndarray, "m d"], P: Float[np.ndarray, "P d"]) -> Float[np.ndarray, "m P"]:
    """Return squared distances of rows that are not far from the origin."""
    return np.maximum(np.square(z).sum(axis=1)[:, None] + np.square(P).sum(axis=1) - 2 * z @ P.T, 0)


def _nearest(
    bags: Bags, prototypes: Float[np.ndarray, "P d"], scale: Float[np.ndarray, " d"]
) -> Float[np.ndarray, "n P"]:
    """Return the squared distance from each prototype to the nearest token of each bag."""
    rows_of_chunk = max(1, CHUNK // max(prototypes.shape))
    centre = prototypes.mean(axis=0)  # differences of large numbers would lose digits
    P = ((prototypes - centre) / scale).astype(bags.dtype)
    found = np.full((len(bags), len(P)), np.inf, bags.dtype)
    for start in range(0, len(bags.tokens), rows_of_chunk):
        z = (bags.tokens[start : start + rows_of_chunk] - centre) / scale
        D = _squares(z.astype(bags.dtype), P)
        first = int(np.searchsorted(bags.offsets, start, side="right")) - 1
        last = int(np.searchsorted(bags.offsets, start + len(D), side="left"))
        bounds = np.clip(bags.offsets[first : last + 1] - start, 0, len(D)).tolist()
        # Bag by bag: reduceat along columns is many times slower.
        for row, (low, high) in zip(found[first:last], itertools.pairwise(bounds), strict=True):
            np.minimum(row, D[low:high].min(axis=0), out=row)
    return found
