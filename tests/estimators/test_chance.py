"""Models that are no better than chance say so wherever they speak of tokens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sparsetoken import AttentionClassifier, BagClassifier, BagRegressor
from sparsetoken.bags import Bags
from sparsetoken.estimators import PooledClassifier, QueryWarning, token_table
from sparsetoken.estimators.saving import load, save

CHANCE = "No better than chance: the 90% interval of the AUC of left-out bags"


def noise(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(seed).standard_normal((30, 4, 3)), np.arange(30) % 2


@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")
@pytest.mark.parametrize("model", [AttentionClassifier(), BagClassifier()], ids=str)
def test_noise_is_told_also_of_a_saved_model(model: AttentionClassifier, tmp_path: Path) -> None:
    X, y = noise()
    model.fit(X, y)
    model.left_out_auc_ = np.array([0.52, 0.4, 0.64])  # of a cross-validation
    if hasattr(model, "weights_"):  # else the constant has all of it, which is told first
        model.weights_[:] = np.eye(len(model.weights_))[:, 1:2]
    save(model, tmp_path / "m.skops")
    for one in (model, load(tmp_path / "m.skops")):
        assert f"{CHANCE}, 0.40 to 0.64, is not above 0.5" in one.summary()
        with pytest.warns(QueryWarning, match=CHANCE):
            one.top_tokens(X[:2])
        with pytest.warns(QueryWarning, match=CHANCE):
            token_table(one, X[:2])


def test_a_constant_is_told_of_numbers_too() -> None:
    X, _ = noise()
    model = BagRegressor()
    with pytest.warns(QueryWarning, match="No member predicts"):
        model.fit(X, np.random.default_rng(2).standard_normal(30))
    assert "No member predicts left-out bags better" in model.summary()
    with pytest.warns(QueryWarning, match="No member predicts"):
        token_table(model, X[:2])


def test_a_signal_is_none() -> None:
    X, y = noise()
    X[y == 1, 0, 0] += 6
    model = BagClassifier().fit(X, y)
    assert model.left_out_auc_[1] > 0.5
    assert "chance" not in model.summary()
    model.top_tokens(X[:2])
    token_table(model, Bags(X.reshape(-1, 3), np.arange(0, 121, 4)))


def test_a_hinge_loss_has_no_left_out_auc() -> None:
    X, y = noise()
    assert np.isnan(PooledClassifier(loss="hinge", ridge=0.1).fit(X, y).left_out_auc_).all()
