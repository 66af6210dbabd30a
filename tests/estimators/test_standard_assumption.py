"""The unit tests of the standard assumption by Raff and Holt (2023), after their code.

A poison token is in all negative bags of training and in all positive bags of the test. Whoever
takes its absence for evidence has an AUC near 0; one positive token is enough, so that a learner
of the standard assumption is not misled. In the third test the frequency of tokens misleads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sparsetoken.estimators import (
    BagSimilarities,
    NoisyOrClassifier,
    PooledClassifier,
    TokenTransformer,
)

D, BAGS = 16, 400
PROTOTYPES = make_pipeline(BagSimilarities(random_state=0), PooledClassifier())
Bag = Callable[[np.random.Generator, bool, bool], list[np.ndarray]]


def tokens(rng: np.random.Generator, mean: float, deviation: float, count: int) -> np.ndarray:
    """Return Gaussian tokens, of one mean and deviation in all columns."""
    return rng.normal(mean, deviation, (count, D))


def single_concept(rng: np.random.Generator, positive: bool, train: bool) -> list[np.ndarray]:
    """One kind of tokens makes a bag positive: those that vary more."""
    parts = [tokens(rng, 0, 1, rng.integers(1, 5 if positive else 10))]
    if positive:
        parts.append(tokens(rng, 0, 3, rng.integers(1, 4)))
    return parts if positive == train else [*parts, tokens(rng, -10, 0.1, 1)]


def multiple_concepts(rng: np.random.Generator, positive: bool, train: bool) -> list[np.ndarray]:
    """Tokens of two kinds together make a bag positive, either alone does not."""
    parts = [tokens(rng, 0, 1, rng.integers(1, 5))]
    if positive:
        parts += [tokens(rng, kind, 0.1, rng.integers(1, 5)) for kind in (2, 3)]
        poisoned = not train or rng.integers(10) == 0
    else:
        parts.append(tokens(rng, rng.integers(2, 4), 0.1, 1))
        poisoned = train
    return [*parts, tokens(rng, -10, 0.1, 1)] if poisoned else parts


def false_frequency(rng: np.random.Generator, positive: bool, train: bool) -> list[np.ndarray]:
    """The same without poison; negative bags of the test have many tokens of one kind."""
    parts = [tokens(rng, 0, 1, rng.integers(1, 10))]
    if positive:
        return [*parts, tokens(rng, -2, 0.1, 1), tokens(rng, 2, 0.1, 1)]
    count = 1 if train else rng.integers(35, 40)
    return [*parts, tokens(rng, rng.choice([-2, 2]), 0.1, count)]


def area(model: Any, bag: Bag, seed: int = 0) -> float:
    """Return the AUC on bags of the test."""
    rng, y = np.random.default_rng(seed), np.arange(BAGS) % 2
    train, test = ([np.concatenate(bag(rng, bool(c), part)) for c in y] for part in (True, False))
    scores = model.fit(train, y).decision_function(test)
    return float(roc_auc_score(y, scores))


def with_squares(X: np.ndarray) -> np.ndarray:
    """Return columns and their squares, in which tokens that vary more have a linear score."""
    return np.concatenate([X, X**2], axis=1)


def test_noisy_or_is_not_misled_by_negative_evidence() -> None:
    """Tokens that only vary more are hardly seen by a linear score: .63 where poison gives 0."""
    assert area(NoisyOrClassifier(), single_concept) > 0.55
    squares = TokenTransformer(FunctionTransformer(with_squares))
    assert area(make_pipeline(squares, NoisyOrClassifier()), single_concept) > 0.8
    assert area(NoisyOrClassifier(), multiple_concepts) > 0.95


of_poison = pytest.mark.filterwarnings("ignore::sparsetoken.bags.LeakWarning")  # it tells all


@of_poison
@pytest.mark.parametrize(
    "model",
    [
        PooledClassifier(),
        PooledClassifier("max"),
        PooledClassifier("statistics"),
        PROTOTYPES,
    ],
    ids=lambda one: type(one).__name__,
)
def test_the_others_take_absence_for_evidence(model: Any) -> None:
    """As the docs say: a change here is a change of what they say."""
    assert area(model, single_concept) < 0.1


@of_poison
def test_prototypes_see_which_kinds_are_there_and_not_how_often() -> None:
    assert area(PROTOTYPES, multiple_concepts) > 0.95
    assert area(PROTOTYPES, false_frequency) > 0.95
    assert area(NoisyOrClassifier(), false_frequency) < 0.6  # it adds up: no passing


def test_more_tokens_never_lower_a_noisy_or() -> None:
    rng, y = np.random.default_rng(0), np.arange(120) % 2
    bags = [rng.standard_normal((rng.integers(2, 9), 4)) for _ in y]
    for bag, label in zip(bags, y, strict=True):
        bag[0, 0] += 4 * label
    model = NoisyOrClassifier().fit(bags, y)
    before = model.decision_function(bags)
    for scale in (0.1, 1.0, 1e3):
        more = [np.concatenate([bag, scale * rng.standard_normal((1, 4))]) for bag in bags]
        assert (model.decision_function(more) >= before - 1e-9).all()  # rounding
