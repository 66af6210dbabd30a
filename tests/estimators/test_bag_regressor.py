"""Regressors of bags: what they gain, units, noise, weights, members, bad numbers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

from sparsetoken import BagRegressor
from sparsetoken.bags import as_bags
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import QueryWarning
from sparsetoken.estimators.bag_regressor import PooledRegressor
from sparsetoken.estimators.fitting.targets import read_numbers

by_pool = pytest.mark.parametrize("pool", ["mean", "max"])


def drawn(seed: int, n: int, column: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return bags of 10 tokens, of which one is moved by three times y > 0."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 10, 6)), rng.exponential(size=n)
    X[np.arange(n), rng.integers(0, 10, n), column] += 3 * y
    return X, y


def given(pool: str, ridge: float, standardize: bool = True) -> BaseEstimator:
    """Return a regressor with other parameters than those of the members of `BagRegressor`."""
    model = PooledRegressor(pool)
    model.ridge, model.standardize = ridge, standardize
    return model


def test_one_token_that_carries_y_is_worth_more_than_the_mean_token() -> None:
    (X, y), (test, truth) = drawn(0, 300), drawn(1, 1000)
    model, pooled = BagRegressor().fit(X, y), PooledRegressor().fit(X, y)
    # Here .89 and .58, with standard errors of .03.
    assert model.score(test, truth) > pooled.score(test, truth) + 0.15
    assert model.score(test, truth) == pytest.approx(r2_score(truth, model.predict(test)))
    large = truth > 1
    top = np.array([one[0] for one in model.top_tokens(test[large])])
    assert np.mean(top == test[large][:, :, 0].argmax(axis=1)) > 0.95
    assert model.side_.tolist() == [1]
    assert BagRegressor().fit(X, -y).side_.tolist() == [-1]
    assert "Weights of the members: " in model.summary()


def test_the_prediction_is_made_of_its_members() -> None:
    X, y = drawn(0, 150)
    model = BagRegressor().fit(X, y)
    parts = model.contributions(X)
    np.testing.assert_allclose(parts.sum(axis=1) + model.intercept_[0], model.predict(X))
    pools = {"mean": "mean", "maxima": "max", "statistics": "statistics"}
    for name, pool in pools.items():
        place, alone = model.member_names_.index(name), PooledRegressor(pool).fit(X, y)
        np.testing.assert_allclose(model.member_scores(X)[:, place], alone.predict(X), atol=1e-8)
        np.testing.assert_allclose(model.members_[name].predict(X), alone.predict(X), atol=1e-8)
        losses = (alone.left_out_scores_[:, 0] - y) ** 2 / (2 * y.var())
        assert model.member_losses_[place, 0] == pytest.approx(losses.mean(), rel=1e-8)
    assert model.member_losses_[0, 0] == pytest.approx(0.5)  # the constant is the mean


def test_units_do_not_matter() -> None:
    X, y = drawn(0, 120)
    expected, moved, tiny = (
        BagRegressor().fit(X, target).member_scores(X) for target in (y, 3 * y + 7, 1e-80 * y)
    )
    # Rounding, before searches that end at a relative gradient of 1e-5.
    tolerance = 1e-4 * expected.std()
    np.testing.assert_allclose(moved, 3 * expected + 7, atol=3 * tolerance)
    np.testing.assert_allclose(1e80 * tiny, expected, atol=tolerance)


def test_float32_tokens_do_not_round_predictions_far_from_zero() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4, 5)).astype(np.float32)
    y = X.mean(axis=1)[:, 0].astype(float)
    near, far = (BagRegressor().fit(X, y + shift).predict(X) - shift for shift in (0.0, 1e8))
    # Sums of 1e8 in float64 lose 1e-8; the searches end at relative gradients of 1e-5.
    np.testing.assert_allclose(far, near, atol=1e-3)


def test_a_bag_unlike_all_others_is_not_extrapolated_without_bound() -> None:
    X, y = drawn(0, 150)
    model = BagRegressor().fit(X, y)
    far = np.stack([1e3 * X[0], -1e3 * X[0], X[0]])
    low, high = 2 * y.min() - y.max(), 2 * y.max() - y.min()
    np.testing.assert_array_equal(model.range_, [low, high])
    found, scores = model.predict(far), model.member_scores(far)
    assert ((low <= scores) & (scores <= high)).all()
    assert (scores == high).any()  # without the bound some are far above
    assert ((low <= found) & (found <= high)).all()
    np.testing.assert_allclose(model.contributions(far).sum(axis=1), found)


@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")
def test_on_noise_the_mean_has_most_weight() -> None:
    weights, excess = [], []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((40, 5, 4)), 2 + rng.standard_normal(40)
        model = BagRegressor().fit(X, y)
        weights.append(model.weights_[0, 0])
        excess.append(np.square(model.predict(rng.standard_normal((500, 5, 4))) - 2).mean())
    assert np.mean(weights) > 0.5
    # The mean of 40 numbers has an error of 1/40; that of a member alone is several times it.
    assert np.mean(excess) < 0.1


def test_spreads_and_sizes_are_seen() -> None:
    rng = np.random.default_rng(0)
    y = rng.uniform(size=240)
    spread = [rng.standard_normal((8, 4)) * [4 * one, 1, 1, 1] for one in y]
    size = [rng.standard_normal((int(2 + 30 * one), 4)) for one in y]
    for bags in (spread, size):
        model = BagRegressor().fit(bags[:160], y[:160])
        assert model.score(bags[160:], y[160:]) > 0.6


def diagonals(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return bags with tokens on two diagonals, and twice how many are on the first, plus 7."""
    rng = np.random.default_rng(seed)
    X, count = rng.standard_normal((n, 4, 2)), rng.integers(0, 3, n)
    side = rng.choice([-4, 4], (n, 2))
    X[:, :2, 0] += side
    X[:, :2, 1] += side * np.where(np.arange(2) < count[:, None], 1, -1)
    return X, 2.0 * count + 7


def test_prototypes_see_where_tokens_are() -> None:
    (X, y), (test, truth) = diagonals(0, 300), diagonals(1, 500)
    assert PooledRegressor("max").fit(X, y).score(test, truth) < 0.2
    model = BagRegressor().fit(X, y)
    assert model.score(test, truth) > 0.6
    both = [model.member_names_.index(name) for name in ("prototypes", "forest of prototypes")]
    assert model.weights_[both, 0].sum() > 0.5
    # Left-out scores say what new bags will.
    unseen = 1 - np.square(model.left_out_scores_[:, 0] - y).mean() / y.var()
    assert unseen == pytest.approx(model.score(test, truth), abs=0.1)  # 300 and 500 bags


def test_deviations_within_bags_are_seen() -> None:
    """Better than by maxima, by many standard errors of the paired difference; means see none."""
    rng = np.random.default_rng(0)
    y = rng.uniform(size=1160)
    X = rng.standard_normal((1160, 8, 4)) * (1 + 3 * y)[:, None, None]
    errors = [
        np.square(PooledRegressor(pool).fit(X[:160], y[:160]).predict(X[160:]) - y[160:])
        for pool in ("statistics", "max", "mean")
    ]
    statistics, maxima, mean = errors
    gains = maxima - statistics
    assert gains.mean() > 5 * gains.std() / np.sqrt(len(gains))
    assert statistics.mean() < 0.3 * y.var() < 0.9 * y.var() < mean.mean()


@pytest.mark.parametrize("standardize", [True, False])
def test_pooling_is_ridge_regression_on_mean_tokens(standardize: bool) -> None:
    X, y = drawn(0, 80)
    weight = np.random.default_rng(2).uniform(0.2, 2, 80)
    model = given("mean", 0.1, standardize).fit(X, y, sample_weight=weight)
    share = np.repeat(weight, 10)
    tokens = X.reshape(-1, 6)
    mean = np.average(tokens, axis=0, weights=share)
    scale = np.sqrt(np.average((tokens - mean) ** 2, axis=0, weights=share))
    F = X.mean(axis=1) / (scale if standardize else 1)
    slow = Ridge(alpha=0.1 * weight.sum()).fit(F, y, sample_weight=weight)
    np.testing.assert_allclose(model.predict(X), slow.predict(F), atol=1e-8)


@by_pool
def test_left_out_predictions_have_not_seen_their_number(pool: str) -> None:
    X, y = drawn(0, 60)
    model, rest = given(pool, 0.1, False).fit(X, y), np.arange(60) != 7
    # The losses of the other 59 are 59/60 of the mean, and the penalty is as it was.
    left_out = given(pool, 0.1 * 60 / 59, False).fit(X[rest], y[rest]).predict(X[7:8])
    np.testing.assert_allclose(model.left_out_scores_[7], left_out, atol=1e-7)


@pytest.mark.parametrize("value", [0.1, -1e50])
def test_numbers_that_are_all_equal(value: float) -> None:
    X, _ = drawn(0, 30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", QueryWarning)  # there is nothing to gain
        model = BagRegressor().fit(X, np.full(30, value))
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-12)
    np.testing.assert_allclose(model.member_scores(X), value, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")
def test_two_bags_are_enough() -> None:
    """Each fold has one bag alone, of which a descent ends at once: nothing overflows there."""
    X, y = drawn(0, 2)
    assert np.isfinite(BagRegressor().fit(X, y).member_scores(X)).all()


@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")  # of 20 bags
def test_bad_numbers() -> None:
    X, y = drawn(0, 20)
    model = BagRegressor()
    odd = np.where(np.arange(20) == 3, 1e200, y)
    for given, message in (
        (np.where(np.arange(20) == 3, np.nan, y), "got 'nan for bag 3'"),
        (np.where(np.arange(20) == 3, np.inf, y), "y contains infinity"),
        (odd, r"y must be of magnitude at most 1e\+100; got '1e\+200'. Take other units"),
        (1e-200 * y, "y must be all the same, or apart by at least 1e-100"),
        (["a"] * 20, "y must be an array of real numbers"),
        (np.ma.array(y, mask=np.arange(20) == 3), "y must be without masked values"),
        (y[:-1], "inconsistent numbers of samples"),
        (np.stack([y, y], axis=1), "y should be a 1d array"),
        (None, "requires y to be passed"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(model).fit(X, given)
    with pytest.raises(InvalidInput, match="y must be without masked values"):
        clone(model).fit(X, y).score(X, np.ma.array(y, mask=np.arange(20) == 3))
    # A number without weight is none.
    with pytest.raises(ValueError, match=r"non-zero number|at least one bag"):
        clone(model).fit(X, y, sample_weight=np.zeros(20))
    for weight, message in ((-y, "Negative values"), (np.ones(19), r"shape == \(19,\)")):
        with pytest.raises(ValueError, match=message):
            clone(model).fit(X, y, sample_weight=weight)


def test_targets_have_unit_variance_and_come_back() -> None:
    y, weight = np.array([3.0, 5.0, 9.0]), np.array([1.0, 2.0, 1.0])
    targets = read_numbers(as_bags(np.ones((3, 1, 1))), y, weight)
    (samples,) = targets.problems
    assert samples.share @ samples.y == pytest.approx(0, abs=1e-15)
    assert samples.share @ samples.y**2 == pytest.approx(1)
    np.testing.assert_allclose(targets.in_units(samples.y), y)
    assert targets.constants == [0]
