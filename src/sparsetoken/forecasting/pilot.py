"""Held-out results of the classifiers on the pilot, at several numbers of training bags."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from sparsetoken.bags import Bags
from sparsetoken.base.progress import progress_of
from sparsetoken.estimators import (
    AttentionClassifier,
    BagClassifier,
    PooledClassifier,
)
from sparsetoken.forecasting.crossvalidation import fitted_to, training_bags
from sparsetoken.forecasting.inputs import Labelled
from sparsetoken.forecasting.measures import Excess, excess, filled, spreads
from sparsetoken.numerics.ranks import auc, clustered_covariance, influences, placements

MODELS = ("bag", "attention", "pooled")
"""`BagClassifier`, its member with attention alone, and its member with mean pooling."""

ORDERED = ("pooled", "attention")
"""The models whose AUCs inform forecasts of errors."""

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
    Where bags are of groups only these are independent. Placements by `BagClassifier` are
    apart from these, as they inform forecasts of AUCs alone.
    """

    sizes: Float[np.ndarray, " K"]
    shares: dict[str, Float[np.ndarray, "_ n"]]
    placed: dict[str, Float[np.ndarray, "_ n"]]
    positive: Bool[np.ndarray, " n"]
    excess: Excess
    groups: Int[np.ndarray, " n"] | None = None
    placed_by_bag: Float[np.ndarray, " n"] | None = None

    def auc(self, model: str) -> tuple[float, float]:
        """Return the AUC at the largest size, and its standard error; nan if it is unknown."""
        placed = self.placed_by_bag if model == "bag" else self.placed[model][-1]
        if placed is None:
            return float("nan"), float("nan")
        moves = influences(placed, self.positive)
        return float(auc(placed, self.positive)), self.standard_error(moves)

    @property
    def with_average(self) -> HeldOut:
        """The same with the AUC of `BagClassifier` among the columns.

        Members without a curve may raise it far above those of mean pooling and attention.
        """
        if self.placed_by_bag is None:
            return self
        return dataclasses.replace(self, placed={**self.placed, "bag": self.placed_by_bag[None]})

    def errors(self, model: str) -> Float[np.ndarray, " _"]:
        """Return the error at each size at which the model was fitted."""
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
        """The covariance of these numbers over bags, or over groups."""
        moves = [influences(some, self.positive) for some in self.placed.values()]
        return clustered_covariance(np.concatenate([*self.shares.values(), *moves]), self.groups)


def held_out_errors(data: Labelled, seed: int, progress: bool = True) -> HeldOut:
    """Fit the classifiers with their default parameters to parts of the bags, and test the rest.

    The five folds of all classifiers are those of `cross_validated` with this seed.
    """
    n, rounds = len(data.bags), splits_of(data, seed)
    last = len(rounds) - 1
    first = {model: 0 if model == "pooled" else last for model in MODELS}
    shape = len(rounds), n
    wrong = {model: np.zeros(shape) for model in MODELS}
    right = {model: np.zeros(shape) for model in MODELS}
    tested, paired = np.zeros(shape), np.zeros(shape)
    spread = np.full((len(rounds[-1]), n), np.nan)
    splits = [
        (place, fold, train)
        for place, trains in enumerate(rounds)
        for fold, train in enumerate(trains)
    ]
    with progress_of("fits", len(splits), progress) as done:
        for place, fold, train in splits:
            part = Labelled(
                data.bags[train],
                data.positive[train],
                None if data.groups is None else data.groups[train],
            )
            rest, hidden = data.bags[~train], data.positive[~train]
            both = hidden.any() and not hidden.all()  # groups of a fold may be of one class
            if place == last:
                by, pooled = _all_scores(part, rest, seed)
                spread[fold, ~train] = spreads(pooled, part.bags[~part.positive], rest)
            else:
                fitted = fitted_to(PooledClassifier(), part.bags, part.positive, part.groups)
                by = {"pooled": fitted.decision_function(rest)}
            for model, scores in by.items():
                wrong[model][place, ~train] += (scores > 0) != hidden
                if both:
                    right[model][place, ~train] += placements(scores, hidden)
            tested[place, ~train] += 1
            paired[place, ~train] += both
            done()
    sizes = np.array([_mean_size(trains) for trains in rounds])
    shares = {m: (counts / tested)[first[m] :] for m, counts in wrong.items()}
    means = {m: filled(sums, paired, data.positive) for m, sums in right.items()}
    placed = {m: means[m][first[m] :] for m in ORDERED}
    more = excess(spread, data.positive, data.groups)
    by_bag = means["bag"][-1]
    return HeldOut(sizes, shares, placed, data.positive, more, data.groups, by_bag)


def splits_of(data: Labelled, seed: int) -> list[list[Bool[np.ndarray, " n"]]]:
    """Return the training bags of each fold of each round, in rounds of rising training sets.

    Folds hold whole groups, and may then be fewer than asked for. A round that trains on no more
    bags than the one before it, or on as many as the last, would show nothing new.
    """
    rounds = [
        training_bags(data.positive, data.groups, folds, seed, repeats)
        for folds, repeats in _ROUNDS
    ]
    last, kept, most = _mean_size(rounds[-1]), [], 0.0
    for trains in rounds[:-1]:
        if most < _mean_size(trains) < last:
            kept.append(trains)
            most = _mean_size(trains)
    return [*kept, rounds[-1]]


def _mean_size(trains: list[Bool[np.ndarray, " n"]]) -> float:
    return float(np.round(np.mean([train.sum() for train in trains])))


def _all_scores(
    part: Labelled, rest: Bags, seed: int
) -> tuple[dict[str, Float[np.ndarray, " r"]], PooledClassifier]:
    """Return the scores of other bags by each of `MODELS`, and mean pooling."""
    model = BagClassifier(random_state=seed, progress=False)
    fitted = fitted_to(model, part.bags, part.positive, part.groups)
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
