"""Held-out results of the classifiers on the pilot, at several numbers of training bags."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.model_selection import RepeatedStratifiedKFold

from sparsetoken.base.progress import progress_of
from sparsetoken.estimators import (
    AttentionClassifier,
    BagClassifier,
    GroupWarning,
    QueryWarning,
)
from sparsetoken.estimators.fitting.stacking import fold_numbers
from sparsetoken.forecasting.inputs import Labelled
from sparsetoken.forecasting.measures import (
    Excess,
    auc,
    clustered_covariance,
    excess,
    influences,
    placements,
    spreads,
)

MODELS = ("bag", "attention", "pooled")
"""`BagClassifier`, its member with attention alone, and its member with mean pooling."""

FITTED = ("pooled", "attention")
"""The models whose curves are fitted: the curve of their average follows from both."""

_MANY = 200  # bags from which fewer rounds tell enough
# Folds of a round, and rounds for few and for many bags. A round of k folds trains on all but
# one of them: on a half, two thirds and nine tenths of the pilot.
_ROUNDS = ((2, 4, 2), (3, 2, 1), (10, 1, 1))


@dataclasses.dataclass(frozen=True, eq=False)
class HeldOut:
    """How classifiers that had not seen a bag classify it, and order it among others.

    The sizes are rising numbers of training bags, rounded means over the folds. For each of
    `MODELS` there is the share of the fits of each size that misclassify each bag. For each of
    `FITTED` each bag is placed: the share of the bags of the other class in its folds that it is
    on the right side of. The excess is by how much more the tokens of a positive bag differ, along
    the readout of the mean token. Where bags are of groups only these are independent.
    """

    sizes: Float[np.ndarray, " K"]
    shares: dict[str, Float[np.ndarray, "K n"]]
    placed: dict[str, Float[np.ndarray, "K n"]]
    positive: Bool[np.ndarray, " n"]
    excess: Excess
    groups: Int[np.ndarray, " n"] | None = None

    def errors(self, model: str) -> Float[np.ndarray, " K"]:
        """Return the error at each size."""
        return self.shares[model].mean(axis=1)

    @property
    def independent(self) -> int:
        """The number of groups, or of bags without groups."""
        return len(self.positive) if self.groups is None else len(np.unique(self.groups))

    def standard_error(self, values: Float[np.ndarray, " n"]) -> float:
        """Return the standard error over groups of the mean of one value of each bag."""
        return float(np.sqrt(clustered_covariance(values[None], self.groups)[0, 0]))

    def tested(self, model: str) -> float:
        """Return how many independent bags would tell the error of a model as well.

        It is the number of bags without groups, and less where errors are of whole groups.
        """
        n, G, error = len(self.positive), self.independent, self.errors(model)[-1]
        if self.groups is None:
            return n
        variance = self.standard_error(self.shares[model][-1]) ** 2
        # Smoothed by one group, as groups without an error have no spread.
        factor = (G * variance + 1 / G) / (error * (1 - error) + 1 / G)
        return float(min(n, G / factor))

    @property
    def gain_error(self) -> float:
        """Standard error over groups of how much less often the average errs than mean pooling."""
        return self.standard_error(self.shares["pooled"][-1] - self.shares["bag"][-1])

    @property
    def measured(self) -> Float[np.ndarray, " J"]:
        """What curves are fitted to, J = 4 K: errors of each model of `FITTED`, then its AUCs."""
        aucs = [auc(self.placed[model], self.positive) for model in FITTED]
        return np.concatenate([*map(self.errors, FITTED), *aucs])

    @property
    def covariance(self) -> Float[np.ndarray, "J J"]:
        """The covariance of these numbers over bags, or over groups."""
        moves = [influences(self.placed[model], self.positive) for model in FITTED]
        stacked = np.concatenate([*(self.shares[model] for model in FITTED), *moves])
        return clustered_covariance(stacked, self.groups)


def held_out_errors(data: Labelled, seed: int, progress: bool = True) -> HeldOut:
    """Fit the classifiers with their default parameters to parts of the bags, and test the rest.

    Ten folds and classifiers are those of `sparsetoken fit` with this seed.
    """
    n = len(data.bags)
    splits = list(_splits(data, seed))
    places = {k: i for i, (k, *_) in enumerate(_ROUNDS)}
    shape = len(_ROUNDS), n
    wrong = {model: np.zeros(shape) for model in MODELS}
    right = {model: np.zeros(shape) for model in FITTED}
    tested, paired, trained = np.zeros(shape), np.zeros(shape), np.zeros((len(_ROUNDS), 2))
    spread = np.full((len(splits), n), np.nan)
    with progress_of("fits", len(splits), progress) as done:
        for fit, (k, train) in enumerate(splits):
            place = places[k]
            bags, truth = data.bags[train], data.positive[train]
            rest, hidden = data.bags[~train], data.positive[~train]
            groups = None if data.groups is None else data.groups[train]
            classifier = BagClassifier(random_state=seed, progress=False)
            with warnings.catch_warnings():  # of parts of the bags
                for kind in (QueryWarning, GroupWarning):
                    warnings.simplefilter("ignore", kind)
                fitted = classifier.fit(bags, truth, groups=groups)
            both = hidden.any() and not hidden.all()  # groups of a fold may be of one class
            mean, attention = _places(fitted)
            of_members = fitted.member_scores(rest)
            by = {
                "bag": fitted.decision_function(rest),
                "attention": of_members[:, attention],
                "pooled": of_members[:, mean],
            }
            for model, scores in by.items():
                wrong[model][place, ~train] += (scores > 0) != hidden
                if model in FITTED and both:
                    right[model][place, ~train] += placements(scores, hidden)
            if place == len(_ROUNDS) - 1:
                pooled = list(fitted.members_.values())[mean]
                spread[fit, ~train] = spreads(pooled, bags[~truth], rest)
            tested[place, ~train] += 1
            paired[place, ~train] += both
            trained[place] += train.sum(), 1
            done()
    sizes = np.round(trained[:, 0] / trained[:, 1])
    shares = {model: counts / tested for model, counts in wrong.items()}
    placed = {model: _filled(sums, paired, data.positive) for model, sums in right.items()}
    more = excess(spread, data.positive, data.groups)
    return HeldOut(sizes, shares, placed, data.positive, more, data.groups)


def _filled(
    sums: Float[np.ndarray, "K n"],
    counts: Float[np.ndarray, "K n"],
    positive: Bool[np.ndarray, " n"],
) -> Float[np.ndarray, "K n"]:
    """Return mean placements, that of its class for a bag tested with none of the other class."""
    placed = sums / np.maximum(counts, 1)
    for known, row in zip(counts > 0, placed, strict=True):
        for rows in (positive, ~positive):
            row[rows & ~known] = row[rows & known].mean() if (rows & known).any() else 0.5
    return placed


def _splits(data: Labelled, seed: int) -> Iterator[tuple[int, Bool[np.ndarray, " n"]]]:
    """Return the number of folds of each round and the training bags of each fold.

    Folds hold whole groups.
    """
    n = len(data.bags)
    for folds, few, many in _ROUNDS:
        repeats = few if n < _MANY else many
        if data.groups is None:
            rounds = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
            for train, _ in rounds.split(np.empty(n), data.positive):
                yield folds, np.isin(np.arange(n), train)
            continue
        rng = np.random.RandomState(seed)
        for _ in range(repeats):
            fold = fold_numbers(data.positive, folds, rng, data.groups)
            for number in range(fold.max() + 1):
                yield folds, fold != number


def _places(fitted: BagClassifier) -> tuple[int, int]:
    """Return the places of mean pooling and of the best member with attention by held-out loss.

    Bags of one token have no attention: mean pooling stands for it.
    """
    members = list(fitted.members_.values())
    mean = fitted.member_names_.index("mean")  # the size of a bag is pooled likewise
    places = [i for i, one in enumerate(members) if isinstance(one, AttentionClassifier)]
    return mean, min(places, key=lambda i: fitted.member_losses_[i, 0], default=mean)
