"""Padding, order and form of the bags do not matter; float32 stays float32.

The members of `BagClassifier` are the other classifiers of pooled tokens.
"""

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from sparsetoken import AttentionClassifier, BagClassifier
from sparsetoken.bags import Bags, as_bags, from_long
from sparsetoken.estimators import (
    PooledClassifier,
    VectorizedLinearClassifier,
)

Draw = Callable[..., tuple[Bags, np.ndarray]]
EVERY = [BagClassifier(), AttentionClassifier(2.0, 0.1), VectorizedLinearClassifier()]
READOUTS = [
    PooledClassifier(),
    PooledClassifier("max"),
    AttentionClassifier(),
    VectorizedLinearClassifier(),
]
by_model = pytest.mark.parametrize("model", EVERY, ids=str)
by_readout = pytest.mark.parametrize("model", READOUTS, ids=str)


def scores_of(model: BaseEstimator, X: object) -> np.ndarray:
    """Return the scores of bags, also those of members without trees, in columns.

    Trees jump: where two splits are equally good rounding decides.
    """
    scores = model.decision_function(X)[:, None]
    if isinstance(model, BagClassifier):
        smooth = ["forest" not in name for name in model.member_names_]
        scores = np.concatenate([scores, model.member_scores(X)[:, smooth]], axis=1)
    return scores


def assert_near(found: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Compare scores, in units of the largest score of their column."""
    units = np.maximum(np.abs(expected).max(axis=0), 1e-9)  # the constant has the score 0
    np.testing.assert_allclose(found / units, expected / units, rtol=0, atol=tolerance)


@pytest.mark.parametrize("model", EVERY[:2], ids=str)
def test_padding_is_not_seen(draw: Draw, model: BaseEstimator) -> None:
    bags, y = draw()
    expected = scores_of(clone(model).fit(bags, y), bags)
    for fill in (0.0, np.nan, 1e30):
        wide, mask = bags.to_array()
        wide[~mask] = fill
        order = np.random.default_rng(0).permutation(wide.shape[1])  # padding anywhere
        spread = as_bags(wide[:, order], mask[:, order])
        whole = zip(spread, mask, strict=True)
        assert as_bags([bag[np.argsort(order[m[order]])] for bag, m in whole]).equals(bags)
        padded = as_bags(wide, mask)
        assert padded.equals(bags)
    assert np.array_equal(scores_of(clone(model).fit(padded, y), padded), expected)


@pytest.mark.parametrize("model", EVERY[:2], ids=str)
def test_order_of_tokens_and_other_bags_do_not_matter(draw: Draw, model: BaseEstimator) -> None:
    bags, y = draw(seed=1)
    rng = np.random.default_rng(1)
    shuffled = as_bags([rng.permutation(bag) for bag in bags])
    fitted = clone(model).fit(bags, y)
    expected = scores_of(fitted, bags)
    # Other orders of summing: rounding only.
    np.testing.assert_allclose(scores_of(fitted, shuffled), expected, atol=1e-10)
    # A matrix product may take another order for one row than for many.
    alone = np.concatenate([scores_of(fitted, bags[[i]]) for i in range(0, 60, 7)])
    np.testing.assert_allclose(alone, expected[::7], atol=1e-11)
    # Rounding before a search that ends at a relative gradient of 1e-5.
    assert_near(scores_of(clone(model).fit(shuffled, y), bags), expected, 1e-4)


@pytest.mark.parametrize("fitted_to", [1, 5])
def test_bags_of_one_token_and_of_several_are_scored_alike(draw: Draw, fitted_to: int) -> None:
    bags, y = draw(sizes=(1, fitted_to))
    model = BagClassifier().fit(bags, y)
    token, two = bags.tokens[:1], bags.tokens[:2]
    both = model.member_scores([token, two])
    for bag, expected in zip((token, two), both, strict=True):
        np.testing.assert_allclose(model.member_scores([bag])[0], expected, atol=1e-11)


@by_model
def test_the_form_of_the_input_does_not_matter(draw: Draw, model: BaseEstimator) -> None:
    bags, y = draw(sizes=(4, 4))
    fitted = clone(model).fit(bags, y)
    expected = scores_of(fitted, bags)
    cube = bags.to_array()[0]
    boxed = np.empty(len(bags), object)
    boxed[:] = list(bags)
    forms = [
        cube,
        list(bags),
        boxed,
        cube.tolist(),
        from_long(bags.tokens, np.repeat(range(60), bags.sizes)).bags,
    ]
    for form in forms:
        assert np.array_equal(scores_of(fitted, form), expected)


@by_model
def test_shifts_and_scales_of_columns_do_not_matter(draw: Draw, model: BaseEstimator) -> None:
    bags, y = draw(sizes=(4, 4))
    expected = scores_of(clone(model).fit(bags, y), bags)
    # The largest value of a column is another one where its sign changes.
    sign = 1 if isinstance(model, BagClassifier) else -1
    # Units of single columns may, where those given are sure to predict better.
    units = 3.0 if isinstance(model, VectorizedLinearClassifier) else np.array([10, 0.1, sign, 3])
    moved = bags.with_tokens(bags.tokens * units + [5, -2, 0, 1])
    # Rounding before searches that end at a relative gradient of 1e-5.
    assert_near(scores_of(clone(model).fit(moved, y), moved), expected, 1e-3)
    # Rounding of 6e-8 and squares that come near to overflow, by fits of condition up to 1e4.
    for dtype, scale in ((np.float32, 1.0), (np.float32, 1e10), (float, 1e98), (float, 1e-98)):
        large = bags.with_tokens((bags.tokens * scale).astype(dtype))
        assert_near(scores_of(clone(model).fit(large, y), large), expected, 1e-3)


@by_readout
def test_float32_is_kept(draw: Draw, model: BaseEstimator) -> None:
    bags, y = draw(sizes=(4, 4), dtype=np.float32)
    fitted = clone(model).fit(bags, y)
    assert fitted.coef_.dtype == fitted.intercept_.dtype == np.float32
    assert fitted.decision_function(bags).dtype == np.float32
    assert fitted.predict_proba(bags).dtype == np.float32
    if isinstance(fitted, AttentionClassifier):
        assert fitted.exponent_.dtype == np.float32
        assert {one.dtype for one in fitted.attention_weights(bags)} == {np.dtype(np.float32)}


def test_an_average_for_float32_bags_scores_them_in_float32(draw: Draw) -> None:
    bags, y = draw(dtype=np.float32)
    assert BagClassifier().fit(bags, y).decision_function(bags).dtype == np.float32


@by_readout
def test_constant_columns_have_no_part(draw: Draw, model: BaseEstimator) -> None:
    bags, y = draw(sizes=(4, 4))
    wider = bags.with_tokens(np.insert(bags.tokens, 2, 0.1, axis=1))
    fitted = clone(model).fit(wider, y)
    coef = fitted.coef_.reshape(-1, 5)
    assert np.abs(coef[:, 2]).max() < 1e-10 * np.abs(coef).max()
