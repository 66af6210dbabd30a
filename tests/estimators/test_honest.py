"""Probabilities that are no more certain than the bags allow, and what a model says of itself."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.special import expit

from sparsetoken import AttentionClassifier, PooledLinearClassifier
from sparsetoken.displays import AttentionDisplay
from sparsetoken.estimators import QueryWarning
from sparsetoken.fitting.linear_fit import LinearFit, calibrated
from sparsetoken.fitting.samples import Samples
from sparsetoken.losses import get_loss


def noise(seed: int) -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(seed).standard_normal((40, 6, 5)), np.arange(40) % 2


def signal(seed: int, n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    X, y = np.random.default_rng(seed).standard_normal((n, 6, 5)), np.arange(n) % 2
    X[y == 1, 0, 0] += 5
    return X, y


def test_scores_are_shrunk_to_the_least_left_out_loss() -> None:
    rng = np.random.default_rng(0)
    y = np.where(rng.random(200) < 0.5, 1.0, -1.0)
    scores = 3 * (0.5 * y + rng.standard_normal(200))  # the log odds are a third of them
    samples, loss = Samples(y, np.ones(200), np.ones(200)), get_loss("logistic")
    fit = LinearFit(np.array([2.0, -1.0]), 0.6, 0.1, None, scores)
    found = calibrated(fit, samples, loss)
    factors = np.linspace(0, 1, 2001)
    losses = [np.log1p(np.exp(-y * f * scores)).mean() for f in factors]
    best = factors[int(np.argmin(losses))]
    np.testing.assert_allclose([*found.w, found.b], best * np.array([2.0, -1.0, 0.6]), atol=1e-3)
    # Scores that could be larger stay as they are.
    small = LinearFit(fit.w, fit.b, 0.1, None, scores / 30)
    np.testing.assert_allclose(calibrated(small, samples, loss).w, fit.w, rtol=1e-4)
    assert calibrated(LinearFit(fit.w, fit.b, 0.1), samples, loss).w is fit.w


@pytest.mark.parametrize(
    "model", [PooledLinearClassifier(), AttentionClassifier(random_state=0)], ids=str
)
def test_no_probability_is_below_what_n_bags_can_tell(model: PooledLinearClassifier) -> None:
    X, y = signal(0)
    model.fit(X, y)
    assert model.n_bags_ == 80
    chances = model.predict_proba(10 * X)[:, 1]
    assert chances.min() >= 1 / 82
    assert chances.max() <= 81 / 82
    expected = (80 * expit(model.decision_function(X)) + 1) / 82
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-12)


def test_an_outlier_says_no_more_than_a_training_token() -> None:
    X, y = signal(0)
    model = AttentionClassifier(random_state=0).fit(X, y)
    largest = np.concatenate(model.token_scores(X)).max()
    odd = X[:1].copy()
    odd[0, 3] += 1e4 * model.query_[0]
    assert model.token_scores(odd)[0].max() > 10 * largest
    low, high = model.token_range_
    products = np.clip(odd[0] @ np.stack([model.query_[0], model.coef_[0]]).T, low, high)
    a = np.exp(products[:, 0] - products[:, 0].max())
    a /= a.sum()
    expected = a @ products[:, 1] + model.intercept_[0]
    expected -= model.likelihood_[0] * (a @ np.log(6 * a))
    assert model.decision_function(odd)[0] == pytest.approx(expected, rel=1e-10)


def test_a_model_says_that_there_is_nothing_to_attend_to() -> None:
    X, y = noise(1)
    model = AttentionClassifier(random_state=0).fit(X, y)
    assert model.sharpness_[0] == 0
    assert "Class 1: attention is off, its weights are equal; p = " in model.summary()
    with pytest.warns(QueryWarning, match="attention is off"):
        model.top_tokens(X[:2])
    display = AttentionDisplay.from_estimator(model, X[:2])
    assert "attention is off" in display.axes_[-1].get_xlabel()


def test_a_model_says_what_it_attends_by() -> None:
    X, y = signal(1)
    model = AttentionClassifier("likelihood", random_state=0).fit(X, y)
    assert model.summary().startswith("Class 1: likelihood pooling of sharpness")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.top_tokens(X[:2])
    display = AttentionDisplay.from_estimator(model, X[:2])
    assert "off" not in display.axes_[-1].get_xlabel()
    three = AttentionClassifier(random_state=0).fit(X, np.arange(80) % 4 // 2 + y)
    assert len(three.summary().splitlines()) == 3
