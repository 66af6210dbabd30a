"""Linear classifiers against scikit-learn's, and the choice of the ridge against brute force."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from sparsetoken.bags import Bags
from sparsetoken.estimators import PooledLinearClassifier, VectorizedLinearClassifier

Draw = Callable[..., tuple[Bags, np.ndarray]]
RIDGE = 0.03


def _standardised(bags: Bags, weight: np.ndarray | None = None) -> Bags:
    share = np.repeat(np.ones(len(bags)) if weight is None else weight, bags.sizes)
    mean = np.average(bags.tokens, axis=0, weights=share)
    variance = np.average((bags.tokens - mean) ** 2, axis=0, weights=share)
    return bags.with_tokens((bags.tokens - mean) / np.sqrt(variance))


def _means(bags: Bags) -> np.ndarray:
    return np.stack([bag.mean(axis=0) for bag in bags])


def _logistic(F: np.ndarray, y: np.ndarray, ridge: float, s: np.ndarray) -> np.ndarray:
    oracle = LogisticRegression(C=1 / (ridge * s.sum()), tol=1e-10, solver="newton-cholesky")
    return oracle.fit(F, y, sample_weight=s).decision_function(F)


@pytest.mark.parametrize("standardize", [True, False])
def test_pooled_is_logistic_regression_on_mean_tokens(draw: Draw, standardize: bool) -> None:
    bags, y = draw()
    model = PooledLinearClassifier(RIDGE, standardize=standardize).fit(bags, y)
    F = _means(_standardised(bags) if standardize else bags)
    expected = _logistic(F, y, RIDGE, np.ones(60))
    # Both stop at a relative gradient of 1e-8.
    np.testing.assert_allclose(model.decision_function(bags), expected, atol=1e-6)
    chances = (60 * expit(expected) + 1) / 62  # of 60 bags
    np.testing.assert_allclose(model.predict_proba(bags)[:, 1], chances, atol=1e-6)
    assert np.array_equal(model.predict(bags), (expected > 0).astype(int))
    slow = [bag @ model.coef_[0] + model.intercept_[0] for bag in bags]
    for found, logits in zip(model.token_logits(bags), slow, strict=True):
        np.testing.assert_allclose(found, logits, atol=1e-12)  # rounding


def test_weights_count_in_scales_and_in_the_loss(draw: Draw) -> None:
    bags, y = draw()
    s = np.random.default_rng(1).uniform(0.1, 3, 60)
    model = PooledLinearClassifier(RIDGE).fit(bags, y, sample_weight=s)
    expected = _logistic(_means(_standardised(bags, s)), y, RIDGE, s)
    np.testing.assert_allclose(model.decision_function(bags), expected, atol=1e-6)


@pytest.mark.parametrize("weights", ["balanced", {0: 1.0, 1: 5.0}])
def test_class_weights_are_those_of_scikit_learn(draw: Draw, weights: object) -> None:
    bags, y = draw()
    y = (np.arange(60) % 6 == 1).astype(int)
    model = PooledLinearClassifier(RIDGE, class_weight=weights).fit(bags, y)
    total = 60 if weights == "balanced" else 50 + 5 * 10
    oracle = LogisticRegression(
        C=1 / (RIDGE * total), class_weight=weights, tol=1e-10, solver="newton-cholesky"
    )
    F = _means(_standardised(bags))  # class weights do not move the scales
    expected = oracle.fit(F, y).decision_function(F)
    np.testing.assert_allclose(model.decision_function(bags), expected, atol=1e-6)


def test_hinge_is_a_support_vector_machine(draw: Draw) -> None:
    bags, y = draw()
    model = PooledLinearClassifier(RIDGE, loss="hinge", standardize=False).fit(bags, y)
    F = _means(bags)
    oracle = SVC(C=1 / (60 * RIDGE), kernel="linear", tol=1e-10).fit(F, y)
    # SVC's tolerance is on the dual; its intercept is a mean over free vectors
    np.testing.assert_allclose(
        model.decision_function(bags), oracle.decision_function(F), atol=1e-5
    )


def test_vectorized_is_logistic_regression_on_flat_bags(draw: Draw) -> None:
    bags, y = draw(sizes=(3, 3))
    flat = bags.tokens.reshape(60, 12)
    model = VectorizedLinearClassifier(RIDGE).fit(bags, y)
    F = (flat - flat.mean(axis=0)) / flat.std(axis=0)
    expected = _logistic(F, y, RIDGE, np.ones(60))
    np.testing.assert_allclose(model.decision_function(bags), expected, atol=1e-6)
    table = VectorizedLinearClassifier(RIDGE, n_tokens=3).fit(flat, y)
    np.testing.assert_allclose(table.decision_function(flat), expected, atol=1e-6)
    assert (table.bag_size_, table.n_features_in_) == (3, 12)


def _left_out_losses(F: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    """Return the losses of samples by fits without them: Newton's method for all fits at once."""
    (n, d), sign, others = F.shape, 2.0 * y - 1, 1 - np.eye(len(y))
    Z, w = np.column_stack([F, np.ones(n)]), np.zeros((n, d + 1))
    penalty = ridge * n * np.diag([1.0] * d + [0.0])
    for _ in range(30):
        p = expit(-sign * (w @ Z.T))
        gradient = w @ penalty - (others * p * sign) @ Z
        curvature = np.einsum("ij,ja,jb->iab", others * p * (1 - p), Z, Z) + penalty
        w -= np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
    assert np.abs(gradient).max() < 1e-8
    return np.logaddexp(0, -sign * np.einsum("ia,ia->i", w, Z))


@pytest.mark.parametrize(("seed", "effect"), [(2, 0.0), (0, 3.0)])
def test_auto_takes_scale_and_ridge_of_least_left_out_loss(
    draw: Draw, seed: int, effect: float
) -> None:
    """An effect of the bag on a column that tells its class favours the scale of tokens."""
    bags, y = draw(40, seed=seed, d=6, strength=4.0)
    shift = np.zeros((40, 6))
    shift[:, 5] = effect * (2 * y - 1 + np.random.default_rng(seed).standard_normal(40))
    bags = bags.with_tokens(bags.tokens + np.repeat(shift, bags.sizes, axis=0))
    model = PooledLinearClassifier().fit(bags, y)
    tokens = _means(_standardised(bags))
    least = 1 / np.sqrt(bags.sizes.max())
    scales, found = (np.ones(6), np.maximum(tokens.std(axis=0), least)), []
    for scale in scales:
        F = tokens / scale
        grid = F.var(axis=0).mean() * 10 ** np.arange(-4, 2.1, 0.5)
        losses = [_left_out_losses(F, y, ridge) for ridge in grid]
        best = int(np.argmin([one.mean() for one in losses]))
        found.append((grid[best], losses[best]))
    gains = found[1][1] - found[0][1]
    own = int(gains.mean() <= gains.std() / np.sqrt(40))
    assert own == (effect == 0)
    assert model.ridge_[0] == pytest.approx(found[own][0])
    # Calibration makes scores smaller, and turns nothing.
    expected = _logistic(tokens / scales[own], y, found[own][0], np.ones(40))
    assert np.corrcoef(model.decision_function(bags), expected)[0, 1] > 1 - 1e-6


def test_more_classes_are_one_against_the_rest(draw: Draw) -> None:
    bags, y = draw(90, classes=3, strength=5.0)
    names = np.array(["ant", "bee", "cat"])[y]
    model = PooledLinearClassifier().fit(bags, names)
    assert model.classes_.tolist() == ["ant", "bee", "cat"]
    scores = model.decision_function(bags)
    for c in range(3):
        one = PooledLinearClassifier().fit(bags, y == c)
        # A matrix product of three columns may round as one of one column does not.
        np.testing.assert_allclose(scores[:, c], one.decision_function(bags), atol=1e-12)
    assert np.array_equal(model.predict(bags), model.classes_[scores.argmax(axis=1)])
    chances = model.predict_proba(bags)
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-12)  # rounding
    single = (len(bags) * expit(scores) + 1) / (len(bags) + 2)
    np.testing.assert_allclose(chances / chances[:, :1], single / single[:, :1])
    assert model.score(bags, names) > 0.7  # a third by chance
