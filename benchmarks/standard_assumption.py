"""The unit tests of the standard assumption by Raff and Holt (2023), after their code.

    python benchmarks/standard_assumption.py

A poison token is in all negative bags of training and in all positive bags of the test. Whoever
takes its absence for evidence has an AUC near 0; one positive token is enough, so that a learner
of the standard assumption is not misled. In the third test the frequency of tokens misleads.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import sparsetoken as st
from sparsetoken.estimators import (
    NoisyOrClassifier,
    PooledClassifier,
    PooledForestClassifier,
    PrototypeClassifier,
    QueryWarning,
    TokenTransformer,
)

D, BAGS, DRAWS = 16, 400, 8
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


TESTS = (single_concept, multiple_concepts, false_frequency)
OTHERS = (
    PrototypeClassifier(),
    PooledClassifier("statistics"),
    PooledForestClassifier(),
    PooledClassifier("max"),
    PooledClassifier(),
)


def main() -> None:
    """Print the mean AUC of each classifier in each test over draws."""
    models = {
        "NoisyOrClassifier": NoisyOrClassifier(),
        "NoisyOrClassifier, squares beside the tokens": make_pipeline(
            TokenTransformer(FunctionTransformer(with_squares)), NoisyOrClassifier()
        ),
        **{str(model): model for model in OTHERS},
        "AttentionClassifier": st.AttentionClassifier(),
        "BagClassifier": st.BagClassifier(progress=False),
    }
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryWarning)
        for name, model in models.items():
            row = {"classifier": name}
            for bag in TESTS:
                areas = [area(model, bag, seed) for seed in range(DRAWS)]
                error = np.std(areas, ddof=1) / np.sqrt(DRAWS)
                row[bag.__name__] = f"{np.mean(areas):.2f} ± {error:.2f}"
            rows.append(row)
    print(pd.DataFrame(rows).to_string(index=False))


if __name__ == "__main__":
    main()
