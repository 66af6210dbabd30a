"""The averages of the automatic choice: scores, tokens that count most, what is said of them."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from sparsetoken import AttentionClassifier, PooledLinearClassifier
from sparsetoken.estimators import QueryWarning
from sparsetoken.estimators.saving import load, save
from sparsetoken.fitting import task as tasks


def columns(seed: int, n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Return bags of 8 tokens, which have effects of their bag.

    The first token of a positive one is high in one of three columns.
    """
    rng = np.random.default_rng([51, seed])
    y, X = np.arange(n) % 2, rng.standard_normal((n, 8, 60))
    X += 0.5 * rng.standard_normal((n, 1, 60))
    plus = np.flatnonzero(y)
    X[plus, 0, rng.integers(0, 3, len(plus))] += 5
    return X, y


def faint(seed: int, n: int = 60, strength: float = 2.5) -> tuple[np.ndarray, np.ndarray]:
    """Return bags of 6 tokens, of which the first two of positive ones are shifted."""
    rng = np.random.default_rng([52, seed])
    y, X = np.arange(n) % 2, rng.standard_normal((n, 6, 10))
    X[y == 1, :2, 0] += strength
    return X, y


def slow_scores(model: AttentionClassifier, X: np.ndarray, k: int = 0) -> np.ndarray:
    """Return the scores of bags from the fitted attributes, one by one."""
    found = []
    for bag in X:
        a = np.exp(bag @ model.query_[k] - (bag @ model.query_[k]).max())
        a /= a.sum()
        score = a @ bag @ model.coef_[k] - model.likelihood_[k] * (a @ np.log(len(bag) * a))
        score += bag.mean(axis=0) @ model.mean_coef_[k] + bag.max(axis=0) @ model.largest_coef_[k]
        found.append(score + model.intercept_[k])
    return np.array(found)


def averaged(most: float = 1.0) -> tuple[AttentionClassifier, np.ndarray, np.ndarray]:
    """Return a model in which attention, below `most`, largest values and the mean have a share."""
    for seed in range(40):
        X, y = faint(seed, strength=1.5)
        model = AttentionClassifier(random_state=0).fit(X, y)
        attention, largest = model.shares_[0]
        if 0 < attention < most and largest > 0.05:
            return model, X, y
    raise AssertionError("no draw has three parts")


def test_a_score_is_the_sum_of_its_parts() -> None:
    model, X, _ = averaged()
    assert model.mean_coef_.any()
    assert model.largest_coef_.any()
    np.testing.assert_allclose(model.decision_function(X), slow_scores(model, X), atol=1e-10)
    # A token says what it would as a bag.
    alone = model.decision_function(X[:, :1])
    said = np.array([logits[0] for logits in model.token_logits(X)])
    inside = (X[:, 0] @ model.largest_coef_[0] >= model.largest_range_[0]) & (
        X[:, 0] @ model.largest_coef_[0] <= model.largest_range_[1]
    )
    assert inside.sum() > 5
    np.testing.assert_allclose(said[inside], alone[inside], atol=1e-10)
    largest = f"largest values of columns have {model.shares_[0, 1]:.0%} of the score"
    assert largest in model.summary()
    assert f"with {model.shares_[0, 0]:.0%} of the score" in model.summary()


def test_values_in_single_columns_are_found_by_their_largest() -> None:
    errors, hits = [], []
    for seed in range(4):
        (X, y), (test, truth) = columns(seed), columns(100 + seed, 400)
        model, pooled = AttentionClassifier(random_state=0).fit(X, y), PooledLinearClassifier()
        errors.append([1 - model.score(test, truth), 1 - pooled.fit(X, y).score(test, truth)])
        assert model.shares_[0].max() >= 0.5
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QueryWarning)
            hits += [top[0] == 0 for top in model.top_tokens(test[truth == 1])]
    # Here 0.26 and 0.44, and 0.86 of the tokens; errors of means of 1600 are 0.012.
    assert np.diff(np.mean(errors, axis=0))[0] > 0.1
    assert np.mean(hits) > 0.7


def test_without_half_of_the_score_attention_does_not_order_tokens() -> None:
    model, X, _ = averaged(most=0.5)
    likely = []
    for bag, weights, top in zip(X, model.attention_weights(X), model.top_tokens(X), strict=True):
        away = bag - bag.mean(axis=0)
        holders = np.arange(len(bag))[:, None] == bag.argmax(axis=0)
        adds = weights * (away @ model.coef_[0]) + away @ model.mean_coef_[0] / len(bag)
        adds += (holders * away) @ model.largest_coef_[0]
        assert top[0] == adds.argmax()
        likely.append(weights.argmax() == top[0])
    assert not all(likely)


def test_tokens_of_the_first_class_come_first_where_attention_looks_for_them() -> None:
    """Whatever share attention has: at one half the order is another."""
    hits = {False: [], True: []}
    for seed in range(16):
        rng = np.random.default_rng([54, seed])
        y, X = np.arange(80) % 2, rng.standard_normal((80, 6, 10))
        X[y == 0, 0, 0] += 1.9
        model = AttentionClassifier(random_state=0).fit(X, y)
        share = model.shares_[0, 0]
        if share and model.side_[0] == -1:
            test = rng.standard_normal((300, 6, 10))
            test[:, 0, 0] += 1.9
            hits[share < 0.5] += [top[0] == 0 for top in model.top_tokens(test)]
    # By chance 1/6; here 0.69 and 0.65.
    assert len(hits[True]) >= 300
    assert len(hits[False]) >= 300
    assert min(np.mean(hits[True]), np.mean(hits[False])) > 0.4


def test_a_model_that_lacks_an_attribute_is_told_when_it_is_loaded(tmp_path: Path) -> None:
    X, y = columns(0)
    model = AttentionClassifier(random_state=0).fit(X, y)
    del model.shares_
    save(model, tmp_path / "model.skops")
    with pytest.raises(ValueError, match=r"without shares_'.*fit and save it again"):
        load(tmp_path / "model.skops")
    save(AttentionClassifier(), tmp_path / "unfitted.skops")
    assert isinstance(load(tmp_path / "unfitted.skops"), AttentionClassifier)


def test_a_bag_with_an_outlier_says_no_more_than_a_training_bag() -> None:
    X, y = columns(0)
    model = AttentionClassifier(random_state=0).fit(X, y)
    odd = X[:1].copy()
    odd[0, 3] += 1e4 * model.largest_coef_[0]
    assert odd.max(axis=1)[0] @ model.largest_coef_[0] > 10 * model.largest_range_[1, 0]
    high = model.token_range_[1]
    parts = [model.coef_, model.mean_coef_] if model.mean_coef_.any() else [model.coef_]
    most = model.intercept_[0] + model.largest_range_[1, 0] + high[1:].sum()
    assert len(high) == 1 + len(parts)
    assert model.decision_function(odd)[0] <= most + 1e-9


def test_too_many_columns_leave_largest_values_out(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = columns(0)
    monkeypatch.setattr(tasks, "MOST", 1)
    model = AttentionClassifier(random_state=0).fit(X, y)
    assert model.shares_[0, 1] == 0
    assert not model.largest_coef_.any()


def test_averages_of_more_classes_are_saved_and_loaded(tmp_path: Path) -> None:
    X, y = columns(0)
    y = np.where(np.arange(len(y)) % 4 == 0, 2, y)
    model = AttentionClassifier(random_state=0).fit(X.astype(np.float32), y)
    assert model.shares_.shape == (3, 2)
    assert model.largest_coef_.dtype == model.mean_coef_.dtype == np.float32
    assert model.largest_coef_.any()
    expected = model.decision_function(X.astype(np.float32))
    for k in range(3):
        np.testing.assert_allclose(expected[:, k], slow_scores(model, X, k), atol=1e-3)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert np.array_equal(again.decision_function(X.astype(np.float32)), expected)


@pytest.mark.parametrize("training", ["tied", "likelihood", "cross_fit"])
def test_a_training_that_is_named_is_not_averaged(training: str) -> None:
    X, y = columns(0)
    model = AttentionClassifier(training, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryWarning)
        model.fit(X, y)
    assert model.shares_[0].tolist() in ([1.0, 0.0], [0.0, 0.0])
    assert not model.mean_coef_.any()
    assert not model.largest_coef_.any()
