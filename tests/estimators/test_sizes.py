"""Nothing changes at once at some size of the data: members see a sample where there is much."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from sparsetoken import BagClassifier
from sparsetoken.bags import as_bags
from sparsetoken.estimators import GroupWarning, stack
from sparsetoken.estimators.fitting.targets import read_classes


def spread(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return bags of two tokens; those of one class vary more in a twentieth of the columns."""
    rng, y = np.random.default_rng(seed), np.arange(n) % 2
    X = rng.standard_normal((n, 2, d))
    X[y == 1, :, : d // 20] *= 2
    return X, y


@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")
def test_trees_see_more_than_two_million_values() -> None:
    (X, y), (test, truth) = spread(210, 10_000, 0), spread(100, 10_000, 1)
    model = BagClassifier(progress=False).fit(X[:, :1], y)
    assert model.score(test[:, :1], truth) > 0.8  # linear scores see nothing: 0.5


def test_members_are_fitted_to_a_sample_where_all_is_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = spread(300, 40, 0)
    X[..., 20:] = np.sign(X[..., 20:]) * np.abs(X[..., 20:]) ** 3  # heavy tails: normal scores
    X[:, 0, 0] += 2 * y
    whole = BagClassifier(progress=False).fit(X, y)
    assert (whole.member_bags_ == 300).all()
    assert "sample" not in whole.summary()
    monkeypatch.setattr(stack, "FEATURES", 100 * 161)
    monkeypatch.setattr(stack, "WORK", 80.0**2 * 150)
    monkeypatch.setattr(stack, "VALUES", 200 * 80)
    model = BagClassifier(progress=False).fit(X, y)
    bags = dict(zip(model.member_names_, model.member_bags_.tolist(), strict=True))
    assert (bags["forest"], bags["maxima"]) == (100, 150)
    assert {bags[name] for name in bags if "normal" in name} == {150, 200}  # of maxima, of all
    assert "forest is fitted to a sample of 100 of 300 bags." in model.summary()
    # Bags outside the sample are scored by the fit to it, those inside it when they are left out.
    trees = model.members_["forest"]
    rows = read_classes(as_bags(X), y, None, None).sampled(100)
    assert np.bincount(y[rows]).tolist() == [50, 50]
    unseen = np.setdiff1d(np.arange(300), rows)
    scores = model.member_scores(X)[:, model.member_names_.index("forest")]
    np.testing.assert_allclose(trees.left_out_scores_[unseen, 0], scores[unseen])
    sign = 2 * y[rows] - 1
    assert (sign * (scores[rows] - trees.left_out_scores_[rows, 0])).mean() > 0.1
    assert np.isfinite(model.left_out_scores_).all()


def test_groups_of_a_sample_are_whole_groups_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "FEATURES", 100 * 161)
    monkeypatch.setattr(stack, "WORK", 80.0**2 * 150)
    X, y = spread(300, 40, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", GroupWarning)
        model = BagClassifier(progress=False).fit(X, y, groups=np.arange(300) // 4)
    assert model.member_bags_.min() == 100
    assert np.isfinite(model.left_out_scores_).all()
