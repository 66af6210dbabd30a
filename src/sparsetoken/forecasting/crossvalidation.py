"""Held-out results of the classifiers on the pilot, at several numbers of training bags."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from sklearn.model_selection import RepeatedStratifiedKFold

from sparsetoken.bags import Bags
from sparsetoken.base.progress import progress_of
from sparsetoken.estimators import (
    AttentionClassifier,
    BagClassifier,
    PooledLinearClassifier,
    QueryWarning,
)
from sparsetoken.forecasting.inputs import Labelled
from sparsetoken.forecasting.measures import Excess, auc, excess, influences, placements, spreads
from sparsetoken.results.simulation import standard_error

MODELS = ("bag", "attention", "pooled")
"""`BagClassifier`, its member with attention alone, and its member with mean pooling."""

ORDERED = ("pooled", "attention")
"""The models of which AUCs are measured: that of their average follows from both."""

# Folds and repeats. A round of k folds trains on all but one of them: on a half, two thirds and
# four fifths of the pilot. All models are fitted in the last; the first tell at little cost
# how mean pooling learns.
_ROUNDS = ((2, 4), (3, 2), (5, 1))


class Column(NamedTuple):
    """A number that is measured: the error or AUC of a model at a number of training bags."""

    is_error: bool
    model: str
    size: float


@dataclasses.dataclass(frozen=True, eq=False)
class HeldOut:
    """How classifiers that had not seen a bag classify it, and order it among others.

    The sizes are rising numbers of training bags, rounded means over the folds. For each of
    `MODELS` there is the share of the fits of each size that misclassify each bag; a model with
    fewer rows was fitted at the largest sizes alone. For each of `ORDERED` each bag is placed: the
    share of the bags of the other class in its folds that it is on the right side of. The excess
    is by how much more the tokens of a positive bag differ, along the readout of the mean token.
    """

    sizes: Float[np.ndarray, " K"]
    shares: dict[str, Float[np.ndarray, "_ n"]]
    placed: dict[str, Float[np.ndarray, "_ n"]]
    positive: Bool[np.ndarray, " n"]
    excess: Excess

    def errors(self, model: str) -> Float[np.ndarray, " _"]:
        """Return the error at each size at which the model was fitted."""
        return self.shares[model].mean(axis=1)

    @property
    def gain_error(self) -> float:
        """Standard error over bags of how much less often the average errs than mean pooling."""
        return float(standard_error(self.shares["pooled"][-1] - self.shares["bag"][-1]))

    @property
    def columns(self) -> list[Column]:
        """What is measured: the errors of each model, then the AUCs."""
        return [
            Column(is_error, model, size)
            for is_error, rows in ((True, self.shares), (False, self.placed))
            for model, some in rows.items()
            for size in self.sizes[-len(some) :].tolist()
        ]

    @property
    def measured(self) -> Float[np.ndarray, " J"]:
        """The value of each column."""
        aucs = [auc(some, self.positive) for some in self.placed.values()]
        return np.concatenate([*map(self.errors, self.shares), *aucs])

    @property
    def covariance(self) -> Float[np.ndarray, "J J"]:
        """The covariance of these numbers over bags."""
        moves = [influences(some, self.positive) for some in self.placed.values()]
        stacked = np.concatenate([*self.shares.values(), *moves])
        return np.atleast_2d(np.cov(stacked)) / stacked.shape[1]


def held_out_errors(data: Labelled, seed: int, progress: bool = True) -> HeldOut:
    """Fit the classifiers with their default parameters to parts of the bags, and test the rest.

    The five folds of all classifiers are those of ``sparsetoken fit --folds 5`` with this seed.
    """
    n = len(data.bags)
    splits = list(_splits(data, seed))
    first = {model: 0 if model == "pooled" else len(_ROUNDS) - 1 for model in MODELS}
    shape = len(_ROUNDS), n
    wrong = {model: np.zeros(shape) for model in MODELS}
    right = {model: np.zeros(shape) for model in ORDERED}
    tested, trained = np.zeros(shape), np.zeros((len(_ROUNDS), 2))
    spread = np.full((_ROUNDS[-1][0], n), np.nan)
    with progress_of("fits", len(splits), progress) as done:
        for place, fold, train in splits:
            bags, truth = data.bags[train], data.positive[train]
            rest, hidden = data.bags[~train], data.positive[~train]
            if place == len(_ROUNDS) - 1:
                by, pooled = _all_scores(bags, truth, rest, seed)
                spread[fold, ~train] = spreads(pooled, bags[~truth], rest)
            else:
                pooled = PooledLinearClassifier().fit(bags, truth)
                by = {"pooled": pooled.decision_function(rest)}
            for model, scores in by.items():
                wrong[model][place, ~train] += (scores > 0) != hidden
                if model in ORDERED:
                    right[model][place, ~train] += placements(scores, hidden)
            tested[place, ~train] += 1
            trained[place] += train.sum(), 1
            done()
    sizes = np.round(trained[:, 0] / trained[:, 1])
    shares = {m: (counts / tested)[first[m] :] for m, counts in wrong.items()}
    placed = {m: (sums / tested)[first[m] :] for m, sums in right.items()}
    return HeldOut(sizes, shares, placed, data.positive, excess(spread, data.positive))


def _splits(data: Labelled, seed: int) -> Iterator[tuple[int, int, Bool[np.ndarray, " n"]]]:
    """Return the place of the round, the number in it and the training bags of each fold."""
    n = len(data.bags)
    for place, (folds, repeats) in enumerate(_ROUNDS):
        rounds = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
        for number, (train, _) in enumerate(rounds.split(np.empty(n), data.positive)):
            yield place, number, np.isin(np.arange(n), train)


def _all_scores(
    bags: Bags, truth: Bool[np.ndarray, " m"], rest: Bags, seed: int
) -> tuple[dict[str, Float[np.ndarray, " r"]], PooledLinearClassifier]:
    """Return the scores of other bags by each of `MODELS`, and mean pooling."""
    with warnings.catch_warnings():  # of parts of the bags
        warnings.simplefilter("ignore", QueryWarning)
        fitted = BagClassifier(random_state=seed, progress=False).fit(bags, truth)
    mean, attention = _places(fitted)
    of_members = fitted.member_scores(rest)
    by = {
        "bag": fitted.decision_function(rest),
        "attention": of_members[:, attention],
        "pooled": of_members[:, mean],
    }
    return by, list(fitted.members_.values())[mean]


def _places(fitted: BagClassifier) -> tuple[int, int]:
    """Return the places of mean pooling and of the best member with attention by held-out loss.

    Bags of one token have no attention: mean pooling stands for it.
    """
    members = list(fitted.members_.values())
    mean = fitted.member_names_.index("mean")  # the size of a bag is pooled likewise
    places = [i for i, one in enumerate(members) if isinstance(one, AttentionClassifier)]
    return mean, min(places, key=lambda i: fitted.member_losses_[i, 0], default=mean)
