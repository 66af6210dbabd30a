"""The unit tests of the standard assumption by Raff and Holt (2023)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sparsetoken.estimators import (
    NoisyOrClassifier,
    PooledClassifier,
    PrototypeClassifier,
    TokenTransformer,
)
from sparsetoken.estimators.base import BaseBagClassifier

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def raff(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the benchmark that draws their bags."""
    if not BENCHMARKS.is_dir():
        pytest.skip("installed without the benchmarks")
    monkeypatch.syspath_prepend(BENCHMARKS)
    import standard_assumption

    return standard_assumption


def test_noisy_or_is_not_misled_by_negative_evidence(raff: Any) -> None:
    """Tokens that only vary more are hardly seen by a linear score: .63 where poison gives 0."""
    assert raff.area(NoisyOrClassifier(), raff.single_concept) > 0.55
    squares = TokenTransformer(FunctionTransformer(raff.with_squares))
    assert raff.area(make_pipeline(squares, NoisyOrClassifier()), raff.single_concept) > 0.8
    assert raff.area(NoisyOrClassifier(), raff.multiple_concepts) > 0.95


@pytest.mark.parametrize(
    "model",
    [
        PooledClassifier(),
        PooledClassifier("max"),
        PooledClassifier("statistics"),
        PrototypeClassifier(),
    ],
    ids=lambda one: type(one).__name__,
)
def test_the_others_take_absence_for_evidence(raff: Any, model: BaseBagClassifier) -> None:
    """As the docs say: a change here is a change of what they say."""
    assert raff.area(model, raff.single_concept) < 0.1


def test_prototypes_see_which_kinds_are_there_and_not_how_often(raff: Any) -> None:
    assert raff.area(PrototypeClassifier(), raff.multiple_concepts) > 0.95
    assert raff.area(PrototypeClassifier(), raff.false_frequency) > 0.95
    assert raff.area(NoisyOrClassifier(), raff.false_frequency) < 0.6  # it adds up: no passing


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
