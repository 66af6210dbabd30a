"""Bags without a token: refused by a fit, and predicted by what is known without tokens."""

import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparsetoken import AttentionClassifier, BagClassifier, BagRegressor
from sparsetoken.bags import Bags, as_bags
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import (
    EmptyBagWarning,
    PooledClassifier,
    TokenNormalScores,
    TokenTransformer,
)
from sparsetoken.estimators.fitting.standard_tokens import less_means

EMPTY = np.empty((0, 4))
FORMS = {
    "list": lambda bags: [bags[0], EMPTY, *bags[2:4]],
    "list without d": lambda bags: [bags[0], [], *bags[2:4]],
    "only empty ones": lambda bags: [EMPTY],
    "array": lambda bags: np.empty((2, 0, 4)),
    "Bags": lambda bags: Bags(bags[:3].tokens, np.insert(bags[:3].offsets, 1, bags.offsets[1])),
}


def _full(given: list) -> list[bool]:
    return [len(bag) > 0 for bag in given]


@pytest.mark.parametrize("form", FORMS)
def test_an_empty_bag_is_of_the_class_rates(three, form: str) -> None:
    model, bags, _ = three
    given = FORMS[form](bags)
    full = np.array(_full(list(given)))
    with pytest.warns(EmptyBagWarning, match="class rates of the training bags"):
        chances = model.predict_proba(given)
    # The fixture has as many bags of each of the three classes.
    assert chances[~full] == pytest.approx(1 / 3)
    if full.any():
        rest = [bag for bag in given if len(bag)]
        np.testing.assert_array_equal(chances[full], model.predict_proba(rest))


def test_what_is_said_of_its_score(three) -> None:
    model, bags, _ = three
    given = FORMS["list"](bags)
    with pytest.warns(EmptyBagWarning):
        parts, scores = model.contributions(given), model.decision_function(given)
    np.testing.assert_allclose(parts.sum(axis=1) + model.intercept_, scores, rtol=1e-12)
    of_tokens = (model.top_tokens, model.attention_weights, model.predict_token_proba)
    for method in of_tokens:
        assert [len(one) > 0 for one in method(given)] == [True, False, True, True]
        assert method([EMPTY])[0].shape == (0, 3)


def test_a_regressor_predicts_the_mean(draw) -> None:
    bags, y = draw(60)
    model = BagRegressor(progress=False).fit(bags, y + 3.0)
    with pytest.warns(EmptyBagWarning, match="mean of the training bags"):
        found = model.predict([bags[0], EMPTY])
    assert found[1] == pytest.approx(np.mean(y + 3.0))
    assert found[0] == model.predict([bags[0]])[0]


def test_a_mask_without_a_token(draw) -> None:
    bags, y = draw(60, sizes=(5, 5))
    array, mask = bags.to_array()
    mask[3] = False
    weighted = AttentionClassifier(class_weight={0: 1.0, 1: 9.0})
    model = weighted.fit(array, y)
    masked = as_bags(array, mask, empty=True)
    with pytest.warns(EmptyBagWarning, match="1 of 60 bags have no token, such as bag 3"):
        scores = model.decision_function(masked)
    assert scores[3] == pytest.approx(np.log(9))
    assert [len(one) for one in model.attention_weights(masked)][2:5] == [5, 0, 5]


@pytest.mark.parametrize("given", [lambda X: [*X[:2], EMPTY], lambda X: [EMPTY]])
def test_tokens_less_the_mean_of_their_bag(given, draw) -> None:
    bags, y = draw(60)
    centred = AttentionClassifier(centred=True).fit(bags, y)
    every = BagClassifier(progress=False, exclude=["forest"]).fit(bags, y)
    every.token_form_ = "centred tokens"  # whichever was better here
    few = given(list(bags))
    sizes = [len(bag) for bag in few]
    for model in (centred, every):
        assert [len(one) for one in model.top_tokens(few, k=99)] == sizes
    assert [len(one) for one in every.predict_token_proba(few)] == sizes


def test_through_a_pipeline_and_refused(draw) -> None:
    bags, y = draw(60)
    steps = (TokenTransformer(StandardScaler()), TokenNormalScores(), PooledClassifier())
    model = make_pipeline(*steps).fit(bags, y)
    with pytest.warns(EmptyBagWarning):
        assert len(model.predict([EMPTY, bags[0]])) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error", EmptyBagWarning)
        with pytest.raises(EmptyBagWarning):
            model.predict([EMPTY, bags[0]])
    for refused in (lambda: model.fit([EMPTY, bags[0]], [0, 1]), lambda: as_bags([bags[0], EMPTY])):
        with pytest.raises(InvalidInput, match="must be of at least one token"):
            refused()


def test_members_know_it_themselves(three) -> None:
    model = three[0]
    assert isinstance(model, BagClassifier)
    with pytest.warns(EmptyBagWarning):
        assert model.members_["mean"].predict_proba([EMPTY]) == pytest.approx(1 / 3)


def test_scores_less_the_means_of_bags_skip_empty_ones() -> None:
    """Also the last one: it begins where the tokens end."""
    bags = Bags(np.zeros((5, 1)), np.array([0, 2, 2, 5, 5]))
    found = less_means(np.array([[1.0, 3.0, 1.0, 2.0, 6.0]]), bags)
    np.testing.assert_array_equal(found, [[-1, 1, -2, -1, 3]])
