"""Similarities to tokens of training bags: their formula, folds, groups, and what they see."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sparsetoken import BagClassifier
from sparsetoken.bags import Bags, as_bags
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import PooledClassifier, PrototypeClassifier
from sparsetoken.estimators.fitting import prototypes
from sparsetoken.estimators.fitting.prototypes import Similarities, bandwidth_of, nearest
from sparsetoken.estimators.fitting.targets import Samples
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
    fits = [kind().fit(X[:150], y[:150]) for kind in (PrototypeClassifier, PooledClassifier)]
    prototype, linear = (fit.score(X[150:], y[150:]) for fit in fits)
    assert prototype > 0.9 > 0.65 > linear
    left_out = fits[0].left_out_scores_[:, 0] > 0
    assert np.mean(left_out == y[:150]) == pytest.approx(prototype, abs=0.06)  # two errors


@pytest.mark.parametrize("chunk", [1, 7, 1 << 18])
def test_distances_are_those_of_the_definition(
    draw: Draw, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prototypes, "CHUNK", 5 * chunk)
    bags, _ = draw(20)
    own, scale = np.array([0, 4, 11, 60, 61]), np.array([1.0, 2.0, 0.5, 3.0])
    P = bags.tokens[own]
    found = nearest(bags, P, scale, own)
    for i in range(len(bags)):
        rows = np.arange(bags.offsets[i], bags.offsets[i + 1])
        for j, p in enumerate(P):
            others = rows[rows != own[j]]
            D = np.square((bags.tokens[others] - p) / scale).sum(axis=1)
            expected = D.min() if len(D) else np.inf
            assert found[i, j] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    everything = nearest(bags, P, scale)
    assert everything.min(axis=0) == pytest.approx(0, abs=1e-12)


def test_the_score_is_the_formula(draw: Draw) -> None:
    bags, y = draw(80)
    model = PrototypeClassifier(20).fit(bags, y)
    assert model.prototypes_.shape == (20, 4)
    assert all(
        (bags[i] == p).all(axis=1).any()
        for i, p in zip(model.prototype_bags_, model.prototypes_, strict=True)
    )
    for bag, score in zip(bags, model.decision_function(bags), strict=True):
        z = (bag[:, None] - model.prototypes_) / model.column_scale_
        F = np.exp(-np.square(z).sum(axis=2).min(axis=0) / model.bandwidth_)
        assert score == pytest.approx(F @ model.coef_[0] + model.intercept_[0])


def test_prototypes_of_a_fold_are_left_out_with_its_bags() -> None:
    """By hand: a fit to the bags and the columns of the other folds."""
    rng, y = np.random.default_rng(0), np.tile([1.0, -1.0], 30)
    F, folds, of_prototype = rng.random((60, 8)), np.arange(60) % 3, np.arange(8) % 3
    samples = Samples(y, np.ones(60), np.ones(60))
    fit = Similarities(F, folds, of_prototype).readout(samples, get_loss("logistic"), 0.0)
    for fold in range(3):
        rest, columns = folds != fold, of_prototype != fold
        C = 1 / (fit.ridge * rest.sum())
        model = LogisticRegression(C=C, tol=1e-10).fit(F[rest][:, columns], y[rest])
        expected = model.decision_function(F[~rest][:, columns])
        np.testing.assert_allclose(fit.left_out_scores[~rest], expected, atol=1e-4)


@pytest.mark.filterwarnings("ignore::sparsetoken.bags.LeakWarning")  # it separates them
def test_bags_without_another_token_and_copies() -> None:
    """A prototype that is all of its bag is far from it; equal tokens have a distance of 0."""
    assert bandwidth_of(np.full((3, 2), np.inf)) == 1
    assert bandwidth_of(np.array([[0.0, 0.0], [0.0, 4.0]])) == 1
    assert bandwidth_of(np.zeros((2, 2))) == 1
    y = np.arange(40) % 2
    single = as_bags([np.array([[float(c), 1.0]]) for c in y])
    model = PrototypeClassifier(10).fit(single, y)
    assert model.score(single, y) == 1
    assert np.isfinite(model.left_out_scores_).all()


def test_a_class_of_one_bag_trains() -> None:
    X, y = corners(40)
    y = (np.arange(40) == 7).astype(int)
    model = PrototypeClassifier(15).fit(X, y)
    assert np.isfinite(model.left_out_scores_).all()


def test_many_bags_have_no_more_prototypes(draw: Draw) -> None:
    bags, y = draw(90)
    assert len(PrototypeClassifier(30).fit(bags, y).prototypes_) == 30
    few = PrototypeClassifier(10**6).fit(bags, y)
    assert len(few.prototypes_) == len(bags.tokens)
    with pytest.raises(InvalidInput, match="n_prototypes must be"):
        PrototypeClassifier(0).fit(bags, y)


def test_three_classes(draw: Draw) -> None:
    bags, y = draw(150, classes=3, sizes=(3, 8), strength=6.0)
    model = PrototypeClassifier().fit(bags, y)
    assert model.coef_.shape == (3, len(model.prototypes_))
    assert model.score(bags, y) > 0.8  # a third by chance
    np.testing.assert_allclose(model.predict_proba(bags).sum(axis=1), 1)


def test_float32_stays_and_agrees(draw: Draw) -> None:
    bags, y = draw(60)
    low = bags.with_tokens(bags.tokens.astype(np.float32))
    scores = [PrototypeClassifier(30).fit(b, y).decision_function(b) for b in (bags, low)]
    assert scores[1].dtype == np.float32
    np.testing.assert_allclose(*scores, atol=0.02)  # ridges are chosen on a grid


def test_it_is_a_member(draw: Draw) -> None:
    X, y = corners(200)
    model = BagClassifier().fit(X[:120], y[:120])
    place = model.member_names_.index("prototypes")
    assert model.weights_[place, 0] > 0.2
    assert model.score(X[120:], y[120:]) > 0.9
