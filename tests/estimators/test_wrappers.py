"""Tools of scikit-learn that wrap a classifier or shuffle its input, on ragged bags."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.inspection import permutation_importance
from sklearn.metrics import accuracy_score

from sparsetoken import AttentionClassifier
from sparsetoken.bags import Bags, as_bags
from sparsetoken.estimators import PooledLinearClassifier

Draw = Callable[..., tuple[Bags, np.ndarray]]
GIVEN = AttentionClassifier(temperature=2.0, ridge=0.1)


@pytest.mark.parametrize("model", [GIVEN, PooledLinearClassifier()], ids=str)
def test_bagging(draw: Draw, model: PooledLinearClassifier) -> None:
    bags, y = draw(90, strength=6.0)
    some = BaggingClassifier(model, n_estimators=5, max_samples=0.8, random_state=0)
    column = bags.to_column()
    some.fit(column, y)
    assert some.predict_proba(column).shape == (90, 2)
    assert some.score(column, y) > 0.7
    # Each member is one fit to the bags that were drawn for it.
    weights = np.bincount(some.estimators_samples_[0], minlength=90)
    alone = type(model)(**model.get_params()).set_params(**some.estimators_[0].get_params())
    alone.fit(bags, y, sample_weight=weights)
    np.testing.assert_allclose(
        alone.decision_function(bags), some.estimators_[0].decision_function(bags), atol=1e-9
    )


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration_in_folds(draw: Draw, method: str) -> None:
    bags, y = draw(90, strength=6.0)
    model = CalibratedClassifierCV(GIVEN, method=method, cv=3).fit(bags, y)
    chances = model.predict_proba(bags)
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-12)
    assert model.score(bags, y) > 0.8


def test_the_importance_of_bags(draw: Draw) -> None:
    """Whole bags change their labels: accuracy falls to that of chance."""
    bags, y = draw(90, strength=6.0)
    model = clone(GIVEN).fit(bags, y)
    found = permutation_importance(model, bags.to_column(), y, n_repeats=10, random_state=0)
    # Each of 10 shuffles of 90 bags has an accuracy of 0.5 with a deviation of 0.053.
    fallen = model.score(bags, y) - found.importances_mean[0]
    assert fallen == pytest.approx(0.5, abs=4 * 0.053 / np.sqrt(10))


def test_a_column_is_the_bags(draw: Draw) -> None:
    for dtype in (np.float32, np.float64):
        bags = draw()[0]
        bags = bags.with_tokens(bags.tokens.astype(dtype))
        column = bags.to_column()
        assert column.shape == (len(bags), 1)
        assert as_bags(column).equals(bags)
        assert as_bags(column[::-2]).equals(bags[::-2])
        assert np.shares_memory(column[3, 0].tokens, bags.tokens)


def test_a_mask_in_score(draw: Draw) -> None:
    bags, y = draw()
    wide, mask = bags.to_array(fill=7.0)
    model = PooledLinearClassifier().fit(wide, y, mask=mask)
    assert model.score(wide, y, mask=mask) == accuracy_score(y, model.predict(bags))
    weight = np.arange(len(y))
    expected = accuracy_score(y, model.predict(bags), sample_weight=weight)
    assert model.score(wide, y, sample_weight=weight, mask=mask) == pytest.approx(expected)
    assert model.score(as_bags(wide), y) != model.score(wide, y, mask=mask)
