"""Errors of the classifiers on held-out bags of the pilot, at several numbers of training bags."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Bool, Float

from sparsetoken.estimators import AttentionClassifier, PooledLinearClassifier, QueryWarning
from sparsetoken.fitting.folds import fold_numbers
from sparsetoken.forecasting.inputs import Labelled

__all__ = ["MODELS", "HeldOut", "Progress", "held_out_errors"]

MODELS = ("pooled", "attention")
Progress = Callable[[int, int], None]
"""Called with the number of fits done and that of all fits."""

_MANY = 200  # bags from which one round of ten folds tells enough
# Folds of a round, and rounds for few and for many bags. A round of k folds trains on all but
# one of them: on a half, two thirds and nine tenths of the pilot.
_ROUNDS = ((2, 4, 2), (3, 2, 1), (10, 2, 1))


@dataclasses.dataclass(frozen=True, eq=False)
class HeldOut:
    """How often each bag was misclassified by classifiers that had not seen it.

    Attributes
    ----------
    sizes : array of shape (K,)
        Rising numbers of training bags, rounded means over the folds.
    shares : dict of arrays of shape (K, n)
        For each model the share of the fits of each size that misclassify each bag.
    """

    sizes: Float[np.ndarray, " K"]
    shares: dict[str, Float[np.ndarray, "K n"]]

    def errors(self, model: str) -> Float[np.ndarray, " K"]:
        """Return the error at each size."""
        return self.shares[model].mean(axis=1)

    @property
    def covariance(self) -> Float[np.ndarray, "J J"]:
        """The covariance of the errors of all models, J = K times their number, over bags."""
        stacked = np.concatenate([self.shares[model] for model in MODELS])
        return np.atleast_2d(np.cov(stacked)) / stacked.shape[1]


def held_out_errors(
    data: Labelled, rng: np.random.RandomState, progress: Progress | None = None
) -> HeldOut:
    """Fit the classifiers with their default parameters to parts of the bags, and test the rest."""
    n = len(data.bags)
    splits = list(_splits(data, rng))
    places = {k: i for i, (k, *_) in enumerate(_ROUNDS)}
    wrong = {model: np.zeros((len(_ROUNDS), n)) for model in MODELS}
    tested, trained = np.zeros((len(_ROUNDS), n)), np.zeros((len(_ROUNDS), 2))
    for done, (k, train) in enumerate(splits):
        if progress is not None:
            progress(done, len(splits))
        place, seed = places[k], int(rng.randint(2**31 - 1))
        for model in MODELS:
            wrong[model][place, ~train] += _misclassified(model, data, train, seed)
        tested[place, ~train] += 1
        trained[place] += train.sum(), 1
    if progress is not None:
        progress(len(splits), len(splits))
    sizes = np.round(trained[:, 0] / trained[:, 1])
    return HeldOut(sizes, {model: counts / tested for model, counts in wrong.items()})


def _splits(
    data: Labelled, rng: np.random.RandomState
) -> Iterator[tuple[int, Bool[np.ndarray, " n"]]]:
    """Return the number of folds of each round and the training bags of each fold."""
    for folds, few, many in _ROUNDS:
        for _ in range(few if len(data.bags) < _MANY else many):
            number = fold_numbers(data.positive, folds, rng)
            for fold in range(folds):
                yield folds, number != fold


def _misclassified(
    model: str, data: Labelled, train: Bool[np.ndarray, " n"], seed: int
) -> Bool[np.ndarray, " m"]:
    classifier = (
        AttentionClassifier(random_state=seed) if model == "attention" else PooledLinearClassifier()
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryWarning)  # the errors tell how good the query was
        classifier.fit(data.bags[train], data.positive[train])
    return classifier.predict(data.bags[~train]) != data.positive[~train]
