"""Similarities to prototypes: their formula, folds, and what readouts of them see."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sparsetoken import BagClassifier
from sparsetoken.bags import Bags, as_bags
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import BagSimilarities, PooledClassifier, similarities
from sparsetoken.estimators.bag_classifier import SimilarityClassifier
from sparsetoken.estimators.fitting.targets import read_classes
from sparsetoken.estimators.fitting.training import Training
from sparsetoken.estimators.saving import load, save
from sparsetoken.losses import get_loss

Draw = Callable[..., tuple[Bags, np.ndarray]]


def corners(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return bags with two tokens near corners of a square: those of one class on one diagonal.

    Columns have the same laws in both classes, so that no linear score and no tree sees it.
    """
    rng, y = np.random.default_rng(seed), np.arange(n) % 2
    X = rng.standard_normal((n, 6, 2))
    sign = rng.choice([-1.0, 1.0], (n, 2))
    X[:, :2] *= 0.3
    X[:, :2, 0] += 2.5 * sign
    X[:, :2, 1] += 2.5 * sign * (2 * y - 1)[:, None]
    return X, y


def test_evidence_that_is_nonlinear_in_tokens_is_seen() -> None:
    X, y = corners(300)
    of_rows = make_pipeline(BagSimilarities(random_state=0), LogisticRegression())
    seen, linear = (
        model.fit(X[:150], y[:150]).score(X[150:], y[150:])
        for model in (of_rows, PooledClassifier())
    )
    assert seen > 0.9 > 0.65 > linear


@pytest.mark.parametrize("chunk", [1, 7, 1 << 18])
def test_rows_are_those_of_the_definition(
    draw: Draw, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similarities, "CHUNK", 5 * chunk)
    bags, _ = draw(20)
    rows = BagSimilarities(5, random_state=0).fit(bags)
    assert len(rows.prototypes_) <= 5
    assert all(
        (bags[i] == p).all(axis=1).any()
        for i, p in zip(rows.prototype_bags_, rows.prototypes_, strict=True)
    )
    D = [(bag[:, None] - rows.prototypes_) / rows.column_scale_ for bag in bags]
    squares = [np.square(one).sum(axis=2) for one in D]
    assert rows.bandwidth_ == pytest.approx(np.median(np.concatenate(squares)) / 2)
    expected = np.exp(-np.stack([one.min(axis=0) for one in squares]) / rows.bandwidth_)
    np.testing.assert_allclose(rows.transform(bags), expected, rtol=1e-9, atol=1e-12)


def test_prototypes_are_different_tokens_of_every_kind() -> None:
    """Of random tokens nearly all would be of the frequent kind."""
    rng = np.random.default_rng(0)
    bags = rng.standard_normal((50, 40, 3))
    bags[:, 1:] = 0.0  # blank
    rows = BagSimilarities(20, random_state=0).fit(bags)
    assert len(np.unique(rows.prototypes_, axis=0)) == len(rows.prototypes_) > 15


def trained(F: np.ndarray, y: np.ndarray, of_column: np.ndarray | None) -> SimilarityClassifier:
    """Fit to rows of similarities, with the bag of each column, in three folds."""
    bags = as_bags(F)
    targets = read_classes(bags, y, None, None)
    folds = np.arange(len(F)) % 3
    training = Training(bags, targets, get_loss("logistic"), "auto", True, folds)
    training = dataclasses.replace(training, column_bags=of_column)
    model = SimilarityClassifier()
    model.fit_training(training)
    return model


def test_bags_are_scored_without_prototypes_of_their_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """A column that tells its own bags alone tells nothing of new ones."""
    rng, y = np.random.default_rng(0), np.arange(60) % 2
    folds, of_column = np.arange(60) % 3, np.arange(3)
    F = 0.1 * rng.random((60, 3))
    F[np.arange(60), folds] = 0.5 + 0.3 * y  # of the fold of the column
    seen = trained(F, y, None).left_out_scores_[:, 0]
    unseen = trained(F, y, of_column).left_out_scores_[:, 0]
    assert ((seen > 0) == y).all()
    losses = [np.logaddexp(0, (1 - 2 * y) * one).mean() for one in (seen, unseen)]
    assert losses[0] < 0.4 < np.log(2) - 0.1 < losses[1]


def test_smaller_bandwidths_are_powers() -> None:
    """The log odds are linear in the sixteenth power of the similarities."""
    rng = np.random.default_rng(0)
    u = rng.random((600, 3))
    F, y = u ** (1 / 16), (u[:, 0] + 0.1 * rng.logistic(size=600) > 0.5).astype(int)
    model = trained(F, y, np.arange(3))
    assert model.power_ == 16
    expected = F**model.power_ @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(F), expected)


def test_copies_of_one_token() -> None:
    """Their distance is 0, and they have one prototype."""
    rows = BagSimilarities(random_state=0).fit(np.ones((5, 3, 2)))
    assert rows.transform(np.ones((5, 3, 2))).tolist() == [[1.0]] * 5


def test_a_column_that_was_constant_plays_no_part(tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((20, 4, 3))
    X[..., 1] = 7.0
    save(BagSimilarities(5, random_state=0).fit(X), tmp_path / "rows.skops")
    rows = load(tmp_path / "rows.skops")
    before = rows.transform(X)
    X[..., 1] = 1e3  # in units of which nothing is known
    np.testing.assert_array_equal(rows.transform(X), before)


def test_parameters_are_checked(draw: Draw) -> None:
    bags, _ = draw(20)
    with pytest.raises(InvalidInput, match="n_prototypes must be"):
        BagSimilarities(0).fit(bags)
    with pytest.raises(InvalidInput, match="max_tokens must be"):
        BagSimilarities(max_tokens=0).fit(bags)
    many = BagSimilarities(10**6, random_state=0).fit(bags)
    assert len(many.prototypes_) == len(bags.tokens)


def test_float32_stays(draw: Draw) -> None:
    bags, _ = draw(60)
    low = bags.with_tokens(bags.tokens.astype(np.float32))
    rows = BagSimilarities(30, random_state=0).fit(bags)
    assert rows.transform(low).dtype == np.float32
    np.testing.assert_allclose(rows.transform(low), rows.transform(bags), atol=1e-4)


def test_they_are_of_members(draw: Draw) -> None:
    X, y = corners(200)
    model = BagClassifier().fit(X[:120], y[:120])
    assert model.similarities_.n_features_in_ == 2
    both = [model.member_names_.index(name) for name in ("prototypes", "forest of prototypes")]
    assert model.weights_[both, 0].sum() > 0.5
    assert model.score(X[120:], y[120:]) > 0.9


def test_two_kinds_in_one_bag_are_seen_together() -> None:
    """One of each kind, against two of one of them: no sum over tokens or kinds tells these."""
    rng = np.random.default_rng(0)
    centres = 4 * rng.standard_normal((6, 5))

    def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
        y = np.arange(n) % 2
        kinds = rng.integers(2, 6, (n, 8))
        kinds[:, 0] = rng.integers(0, 2, n)
        kinds[:, 1] = np.where(y == 1, 1 - kinds[:, 0], kinds[:, 0])
        return centres[kinds] + rng.standard_normal((n, 8, 5)), y

    (X, y), (test, truth) = drawn(200), drawn(500)
    model = BagClassifier(progress=False).fit(X, y)
    assert model.score(test, truth) > 0.85  # without trees on similarities 0.5 to 0.6
