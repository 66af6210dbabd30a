"""Averages of classifiers and regressors that are fitted in less time."""

import contextlib
import functools
from collections.abc import Iterator

import pytest

from sparsetoken.estimators import PooledForestClassifier, bag_classifier
from sparsetoken.estimators.bag_regressor import ForestRegressor


@contextlib.contextmanager
def few_trees() -> Iterator[None]:
    """A tenth of the trees of an average, which take most of the time of a small fit."""
    few = functools.partial(PooledForestClassifier, n_estimators=10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bag_classifier, "PooledForestClassifier", few)
        patch.setattr(ForestRegressor, "n_estimators", 10)
        yield
