"""Padding, order and form of the bags do not matter; float32 stays float32."""

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from sparsetoken import AttentionClassifier, BagClassifier
from sparsetoken.bags import Bags, as_bags, from_long
from sparsetoken.estimators import (
    MaxPooledClassifier,
    PooledLinearClassifier,
    VectorizedLinearClassifier,
)

Draw = Callable[..., tuple[Bags, np.ndarray]]
POOLING = [
    PooledLinearClassifier(),
    MaxPooledClassifier(),
    AttentionClassifier(),
    AttentionClassifier(2.0, 0.1),
    BagClassifier(),
]
EVERY = [*POOLING, VectorizedLinearClassifier()]
READOUTS = [model for model in EVERY if not isinstance(model, BagClassifier)]


@pytest.mark.parametrize("model", POOLING, ids=str)
@pytest.mark.parametrize("fill", [0.0, np.nan, 1e30])
def test_padding_is_not_seen(draw: Draw, model: BaseEstimator, fill: float) -> None:
    bags, y = draw()
    wide, mask = bags.to_array(fill=fill)
    order = np.random.default_rng(0).permutation(wide.shape[1])  # padding anywhere
    spread = as_bags(wide[:, order], mask[:, order])
    back = as_bags([bag[np.argsort(order[m[order]])] for bag, m in zip(spread, mask, strict=True)])
    assert back.equals(bags)
    expected = clone(model).fit(bags, y).decision_function(bags)
    padded = as_bags(wide, mask)
    found = clone(model).fit(padded, y).decision_function(padded)
    assert np.array_equal(found, expected)


def test_tokens_of_zeros_are_tokens(draw: Draw) -> None:
    bags, y = draw()
    model = PooledLinearClassifier().fit(bags, y)
    longer = [np.vstack([bag, np.zeros((3, 4))]) for bag in bags]
    slow = np.stack([bag.mean(axis=0) for bag in longer]) @ model.coef_[0] + model.intercept_
    np.testing.assert_allclose(model.decision_function(longer), slow, atol=1e-12)
    assert np.abs(slow - model.decision_function(bags)).max() > 0.1


@pytest.mark.parametrize("model", POOLING, ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_the_order_of_tokens_does_not_matter(draw: Draw, model: BaseEstimator, seed: int) -> None:
    bags, y = draw(seed=seed)
    rng = np.random.default_rng(seed)
    shuffled = as_bags([rng.permutation(bag) for bag in bags])
    fitted = clone(model).fit(bags, y)
    expected = fitted.decision_function(bags)
    # Other orders of summing: rounding only.
    np.testing.assert_allclose(fitted.decision_function(shuffled), expected, atol=1e-10)
    again = clone(model).fit(shuffled, y).decision_function(bags)
    # Rounding before a search that ends at a relative gradient of 1e-5.
    np.testing.assert_allclose(again, expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("model", POOLING, ids=str)
def test_a_bag_is_scored_as_if_alone(draw: Draw, model: BaseEstimator) -> None:
    bags, y = draw()
    fitted = clone(model).fit(bags, y)
    together = fitted.decision_function(bags)
    alone = [fitted.decision_function(bags[[i]])[0] for i in range(len(bags))]
    # A matrix product may take another order for one row than for many.
    np.testing.assert_allclose(alone, together, atol=1e-11)


@pytest.mark.parametrize("model", EVERY, ids=str)
def test_the_form_of_the_input_does_not_matter(draw: Draw, model: BaseEstimator) -> None:
    bags, y = draw(sizes=(4, 4))
    fitted = clone(model).fit(bags, y)
    expected = fitted.decision_function(bags)
    cube = bags.to_array().array
    boxed = np.empty(len(bags), object)
    boxed[:] = bags.to_list()
    forms = [
        cube,
        bags.to_list(),
        boxed,
        cube.tolist(),
        from_long(bags.tokens, np.repeat(range(60), bags.sizes)).bags,
    ]
    for form in forms:
        assert np.array_equal(fitted.decision_function(form), expected)
    flat = clone(model).set_params(n_tokens=4).fit(cube.reshape(60, 16), y)
    assert np.array_equal(flat.decision_function(cube.reshape(60, 16)), expected)
    assert flat.n_features_in_ == 16


@pytest.mark.parametrize("model", EVERY, ids=str)
def test_shifts_and_scales_of_columns_do_not_matter(draw: Draw, model: BaseEstimator) -> None:
    bags, y = draw(sizes=(4, 4))
    fitted = clone(model).fit(bags, y)
    expected = fitted.decision_function(bags)
    # The largest value of a column is another one where its sign changes.
    sign = 1 if isinstance(fitted, (BagClassifier, MaxPooledClassifier)) else -1
    moved = bags.with_tokens(bags.tokens * [10, 0.1, sign, 3] + [5, -2, 0, 1])
    found = clone(model).fit(moved, y).decision_function(moved)
    # Rounding before searches that end at a relative gradient of 1e-5.
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("model", READOUTS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_dtype_is_kept(draw: Draw, model: BaseEstimator, dtype: type) -> None:
    bags, y = draw(sizes=(4, 4), dtype=dtype)
    fitted = clone(model).fit(bags, y)
    assert fitted.coef_.dtype == fitted.intercept_.dtype == dtype
    assert fitted.decision_function(bags).dtype == dtype
    assert fitted.predict_proba(bags).dtype == dtype
    if isinstance(fitted, AttentionClassifier):
        assert fitted.exponent_.dtype == dtype
        for told in (fitted.attention_weights, fitted.token_logits):
            assert {one.dtype for one in told(bags)} == {np.dtype(dtype)}


@pytest.mark.parametrize("model", EVERY, ids=str)
def test_float32_answers_as_float64_does(draw: Draw, model: BaseEstimator) -> None:
    bags, y = draw(sizes=(4, 4))
    small = bags.with_tokens(bags.tokens.astype(np.float32))
    expected = clone(model).fit(bags, y).decision_function(bags)
    found = clone(model).fit(small, y).decision_function(small)
    # Rounding of 6e-8, enlarged by fits of condition up to 1e4.
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("model", READOUTS, ids=str)
def test_constant_columns_have_no_part(draw: Draw, model: BaseEstimator) -> None:
    bags, y = draw(sizes=(4, 4))
    wider = bags.with_tokens(np.insert(bags.tokens, 2, 0.1, axis=1))
    fitted = clone(model).fit(wider, y)
    coef = fitted.coef_.reshape(-1, 5)
    assert np.abs(coef[:, 2]).max() < 1e-10 * np.abs(coef).max()
