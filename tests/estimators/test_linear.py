"""Linear classifiers against scikit-learn's, and the choice of the ridge against brute force."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from sparsetoken.bags import Bags
from sparsetoken.estimators import PooledClassifier, VectorizedLinearClassifier

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
    model = PooledClassifier(ridge=RIDGE, standardize=standardize).fit(bags, y)
    F = _means(_standardised(bags) if standardize else bags)
    expected = _logistic(F, y, RIDGE, np.ones(60))
    # Both stop at a relative gradient of 1e-8.
    np.testing.assert_allclose(model.decision_function(bags), expected, atol=1e-6)
    chances = (60 * expit(expected) + 1) / 62  # of 60 bags
    np.testing.assert_allclose(model.predict_proba(bags)[:, 1], chances, atol=1e-6)
    assert np.array_equal(model.predict(bags), (expected > 0).astype(int))


def test_weights_count_in_scales_and_in_the_loss(draw: Draw) -> None:
    bags, y = draw()
    s = np.random.default_rng(1).uniform(0.1, 3, 60)
    model = PooledClassifier(ridge=RIDGE).fit(bags, y, sample_weight=s)
    expected = _logistic(_means(_standardised(bags, s)), y, RIDGE, s)
    np.testing.assert_allclose(model.decision_function(bags), expected, atol=1e-6)


@pytest.mark.parametrize("weights", ["balanced", {0: 1.0, 1: 5.0}])
def test_class_weights_are_those_of_scikit_learn(draw: Draw, weights: object) -> None:
    bags, y = draw()
    y = (np.arange(60) % 6 == 1).astype(int)
    model = PooledClassifier(ridge=RIDGE, class_weight=weights).fit(bags, y)
    total = 60 if weights == "balanced" else 50 + 5 * 10
    oracle = LogisticRegression(
        C=1 / (RIDGE * total), class_weight=weights, tol=1e-10, solver="newton-cholesky"
    )
    F = _means(_standardised(bags))  # class weights do not move the scales
    expected = oracle.fit(F, y).decision_function(F)
    np.testing.assert_allclose(model.decision_function(bags), expected, atol=1e-6)


def test_hinge_is_a_support_vector_machine(draw: Draw) -> None:
    bags, y = draw()
    model = PooledClassifier(ridge=RIDGE, loss="hinge", standardize=False).fit(bags, y)
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
    assert (model.bag_size_, model.n_features_in_) == (3, 4)


def _left_out_losses(F: np.ndarray, unseen: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
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
    return np.logaddexp(0, -sign * ((unseen * w[:, :-1]).sum(axis=1) + w[:, -1]))


def _divisors(bags: Bags) -> list[np.ndarray]:
    """Return what mean tokens are divided by: deviations of tokens or of mean tokens, or one."""
    tokens, means = bags.tokens, _means(bags)
    weights = np.repeat(np.ones(len(bags)), bags.sizes)
    deviation = np.sqrt(np.average(np.square(tokens - tokens.mean(axis=0)), 0, weights))
    least = deviation / np.sqrt(bags.sizes.max())
    one = np.full(bags.dimension, np.sqrt(np.square(deviation).mean()))
    return [deviation, np.maximum(means.std(axis=0), least), one]


@pytest.mark.parametrize(("seed", "effect"), [(2, 0.0), (0, 3.0)])
def test_auto_takes_scale_and_ridge_of_least_left_out_loss(
    draw: Draw, seed: int, effect: float
) -> None:
    """An effect of the bag on a column that tells its class favours the scale of tokens."""
    bags, y = draw(40, seed=seed, d=6, strength=4.0)
    shift = np.zeros((40, 6))
    shift[:, 5] = effect * (2 * y - 1 + np.random.default_rng(seed).standard_normal(40))
    bags = bags.with_tokens(bags.tokens + np.repeat(shift, bags.sizes, axis=0))
    model = PooledClassifier().fit(bags, y)
    means, scales, found = _means(bags), _divisors(bags), []
    without = [_divisors(bags[np.arange(40) != i]) for i in range(40)]
    for k, scale in enumerate(scales):
        F = (means - bags.tokens.mean(axis=0)) / scale
        # As it counts where the scale has not seen the bag.
        unseen = F * np.square([scale / one[k] for one in without]) if k < 2 else F
        grid = F.var(axis=0).mean() * 10 ** np.arange(-4, 2.1, 0.5)
        losses = [_left_out_losses(F, unseen, y, ridge) for ridge in grid]
        found.append((grid, losses))

    def surely(one: int, other: int) -> bool:
        gains = np.subtract(*(min(found[k][1], key=np.mean) for k in (other, one)))
        return gains.mean() > gains.std() / np.sqrt(40)

    own = 0 if surely(0, 1) else 1
    assert own == (effect == 0)
    own = 2 if surely(2, own) else own
    grid, losses = found[own]
    ridge = model.ridge_[0]
    (chosen,) = np.flatnonzero(np.isclose(grid, ridge))
    # The fit leaves bags out by one Newton step, which is not sure of a hundredth of the loss.
    assert losses[chosen].mean() < 1.01 * min(one.mean() for one in losses)
    # Calibration makes scores smaller, and turns nothing.
    expected = _logistic(means / scales[own], y, ridge, np.ones(40))
    assert np.corrcoef(model.decision_function(bags), expected)[0, 1] > 1 - 1e-6


def test_more_classes_are_one_against_the_rest(draw: Draw) -> None:
    bags, y = draw(90, classes=3, strength=5.0)
    names = np.array(["ant", "bee", "cat"])[y]
    model = PooledClassifier().fit(bags, names)
    assert model.classes_.tolist() == ["ant", "bee", "cat"]
    scores = model.decision_function(bags)
    for c in range(3):
        one = PooledClassifier().fit(bags, y == c)
        # A matrix product of three columns may round as one of one column does not.
        np.testing.assert_allclose(scores[:, c], one.decision_function(bags), atol=1e-12)
    assert np.array_equal(model.predict(bags), model.classes_[scores.argmax(axis=1)])
    chances = model.predict_proba(bags)
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-12)  # rounding
    single = expit(scores) / expit(scores).sum(axis=1, keepdims=True)
    even = 1.5 / (len(bags) + 2)  # no class is surer than (n + 1) / (n + 2)
    np.testing.assert_allclose(chances, (1 - even) * single + even / 3)
    assert model.score(bags, names) > 0.7  # a third by chance


@pytest.mark.filterwarnings("ignore::sparsetoken.bags.LeakWarning")  # it separates them
def test_ten_separable_classes_are_sure() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(200) % 10
    X = 0.05 * rng.standard_normal((200, 3, 10)) + 20 * np.eye(10)[y][:, None]
    chances = PooledClassifier().fit(X, y).predict_proba(X)
    # As of two classes; with a floor of 1 / (n + 2) for each class it is 0.957.
    assert chances[np.arange(200), y].mean() == pytest.approx(201 / 202, abs=2e-3)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
