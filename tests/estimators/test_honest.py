"""Probabilities that are no more certain than the bags allow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from sparsetoken import AttentionClassifier
from sparsetoken.estimators import PooledClassifier
from sparsetoken.estimators.fitting.linear_fit import LinearFit, calibrated
from sparsetoken.estimators.fitting.targets import Samples
from sparsetoken.losses import get_loss


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


def test_the_threshold_moves_where_left_out_scores_surely_ask_for_it() -> None:
    rng = np.random.default_rng(1)
    y = np.where(rng.random(200) < 0.3, 1.0, -1.0)
    samples, loss = Samples(y, np.ones(200), np.ones(200)), get_loss("logistic")
    scores = 3 * (y + rng.standard_normal(200)) + 4  # too high by about 4
    found = calibrated(LinearFit(np.array([2.0]), 0.6, 0.1, None, scores), samples, loss)
    free = LogisticRegression(C=np.inf).fit(scores[:, None], y)
    factor, shift = float(free.coef_[0, 0]), float(free.intercept_[0])
    assert factor < 1
    np.testing.assert_allclose(found.w, [2 * factor], rtol=1e-3)
    assert found.b == pytest.approx(0.6 * factor + shift, rel=1e-3)
    np.testing.assert_allclose(found.left_out_scores, factor * scores + shift, atol=1e-2)
    # Of scores that know nothing one constant is as good: classes do not change.
    scores = rng.standard_normal(200) + 4
    found = calibrated(LinearFit(np.array([2.0]), 0.6, 0.1, None, scores), samples, loss)
    assert found.b / found.w[0] == pytest.approx(0.3)


@pytest.mark.parametrize("loss", ["logistic", "square", "squared_hinge"])
@pytest.mark.parametrize("scale", [1e-3, 1e4, 1e8, 1e12])
def test_calibration_of_scores_of_any_size(loss: str, scale: float) -> None:
    """Near separation left-out scores are large; factor and threshold follow their size."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(200) % 2, 1.0, -1.0)
    scores = y + rng.standard_normal(200) + 2
    samples = Samples(y, np.ones(200), np.ones(200))
    found, unit = (
        calibrated(LinearFit(np.ones(1), 0.0, 0.1, None, k * scores), samples, get_loss(loss))
        for k in (scale, 1e2)
    )
    if scale < 1:  # scores are never made larger
        assert found.w[0] == pytest.approx(1, rel=1e-4)
    else:
        assert found.left_out_loss(samples) == pytest.approx(unit.left_out_loss(samples), rel=1e-5)


def test_bags_of_the_class_that_varies_more_are_not_missed() -> None:
    """Effects of bags of variance .55 and .1 in 200 columns, 60 bags, a dense signal."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        direction = rng.standard_normal(200)
        direction *= 2.6 / np.linalg.norm(direction)

        def drawn(
            n: int, rng: np.random.Generator = rng, direction: np.ndarray = direction
        ) -> tuple[np.ndarray, np.ndarray]:
            y = np.arange(n) % 2
            effects = np.sqrt(np.where(y == 1, 0.55, 0.1))[:, None] * rng.standard_normal((n, 200))
            X = rng.standard_normal((n, 8, 200)) + (effects + y[:, None] * direction)[:, None]
            return X, y

        model = PooledClassifier().fit(*drawn(60))
        X, y = drawn(1000)
        scores = model.decision_function(X)
        best = min(np.mean((scores > t) != y) for t in np.quantile(scores, np.linspace(0, 1, 101)))
        # At most .01 above here; .06 to .08 by the threshold that the readout was fitted with.
        assert 1 - model.score(X, y) < best + 0.03


@pytest.mark.parametrize("model", [PooledClassifier(), AttentionClassifier()], ids=str)
def test_no_probability_is_below_what_n_bags_can_tell(model: PooledClassifier) -> None:
    X, y = signal(0)
    model.fit(X, y)
    assert model.n_bags_ == 80
    chances = model.predict_proba(10 * X)[:, 1]
    assert chances.min() >= 1 / 82
    assert chances.max() <= 81 / 82
    expected = (80 * expit(model.decision_function(X)) + 1) / 82
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-12)
