"""Presence as the rule, absence as a shortcut; after Raff and Holt (arXiv 2310.17867).

A bag is positive if it has a token of the concept. Training bags offer a shortcut: negative
ones have a poison token. A model of the rule must not go by the absence of poison.
"""

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import roc_auc_score

from sparsetoken import AttentionClassifier, ElementwiseAttentionClassifier, PooledLinearClassifier
from sparsetoken.bags import Bags
from sparsetoken.validation import InvalidInput

Draw = Callable[..., tuple[Bags, np.ndarray]]
CONCEPT, POISON = np.array([4.0, 0, 0, 0, 0]), np.array([0, -6.0, 0, 0, 0])
RESPECTS = AttentionClassifier("tied", temperature=4.0, random_state=0)
STRICT = AttentionClassifier(presence="strict", random_state=0)
# A linear score of averages goes by whatever lowers the loss; so does a query of two steps,
# which attends to poison as evidence of the negative class; and an automatic choice of the
# sharpness takes whichever of these has the least loss.
SHORTCUT = [
    PooledLinearClassifier(),
    AttentionClassifier(random_state=0),
    AttentionClassifier("likelihood", random_state=0),
    AttentionClassifier("tied", random_state=0),
    AttentionClassifier("cross_fit", random_state=0),
    AttentionClassifier("four_stage", split=0.5, random_state=0),
    AttentionClassifier("joint", n_restarts=1, random_state=0),
    ElementwiseAttentionClassifier(random_state=0),
]


def _bags(n: int, seed: int, concept: float, poison: float) -> tuple[list[np.ndarray], np.ndarray]:
    """Return bags with a concept token if positive, and poison in a share of each class.

    `concept` and `poison` are the shares of positive bags that have them; poison is in the
    other share of negative ones.
    """
    rng = np.random.default_rng(seed)
    y, bags = np.arange(n) % 2, []
    for label in y:
        tokens = rng.standard_normal((rng.integers(5, 15), 5))
        if label and rng.random() < concept:
            tokens[0] += CONCEPT
        if rng.random() < (poison if label else 1 - poison):
            tokens[1] += POISON
        bags.append(rng.permutation(tokens))
    return bags, y


def _fitted(model: BaseEstimator, bags: list[np.ndarray], y: np.ndarray) -> BaseEstimator:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whether it warns is not asked here
        return clone(model).fit(bags, y)


def _auc(model: BaseEstimator, bags: list[np.ndarray], y: np.ndarray) -> float:
    return float(roc_auc_score(y, model.decision_function(bags)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("model", "least"), [(RESPECTS, 0.85), (STRICT, 0.7)], ids=str)
def test_presence_is_learned_though_absence_is_easier(
    model: BaseEstimator, least: float, seed: int
) -> None:
    """The test of one concept."""
    found = _fitted(model, *_bags(400, seed, concept=1.0, poison=0.0))
    # Poison is now in positive bags: who goes by it has an AUC below 1/2. Strict presence is
    # chosen by loss on bags with the shortcut, and has .78 to .82 here.
    assert _auc(found, *_bags(1000, 10 + seed, concept=1.0, poison=1.0)) > least


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("model", [RESPECTS, STRICT], ids=str)
def test_absence_alone_cannot_be_learned(model: BaseEstimator, seed: int) -> None:
    found = _fitted(model, *_bags(400, seed, concept=0.0, poison=0.0))
    bags, y = _bags(1000, 10 + seed, concept=0.0, poison=0.0)
    # Chance is 0.5 with a standard deviation of 0.016; a bag with poison has one token less
    # to choose from, which is worth a few percent.
    assert found.score(bags, y) < 0.6


def _two_concepts(n: int, seed: int, poison: float) -> tuple[list[np.ndarray], np.ndarray]:
    """Return bags that are positive if both of two concepts are there; negative ones have one."""
    rng = np.random.default_rng(seed)
    y, bags, other = np.arange(n) % 2, [], np.roll(CONCEPT, 2)
    for label in y:
        tokens = rng.standard_normal((rng.integers(5, 15), 5))
        has = [True, True] if label else rng.permutation([True, False])
        tokens[0] += CONCEPT * has[0]
        tokens[1] += other * has[1]
        if rng.random() < (poison if label else 1 - poison):
            tokens[2] += POISON
        bags.append(rng.permutation(tokens))
    return bags, y


@pytest.mark.parametrize("model", [RESPECTS, STRICT], ids=str)
def test_two_concepts_are_not_told_by_the_absence_of_poison(model: BaseEstimator) -> None:
    """The poisoned test of a threshold; one query cannot solve it, but it must not be fooled."""
    found = _fitted(model, *_two_concepts(400, 0, poison=0.0))
    test = _two_concepts(1000, 10, poison=1.0)
    # A score of one number a token is worth .5 to .67 here, and those that are fooled have
    # less than .2; the AUC has an error of .018.
    assert _auc(found, *test) > 0.4


@pytest.mark.parametrize("model", SHORTCUT, ids=str)
def test_the_others_tell_two_concepts_by_the_absence_of_poison(model: BaseEstimator) -> None:
    found = _fitted(model, *_two_concepts(400, 0, poison=0.0))
    assert _auc(found, *_two_concepts(1000, 10, poison=1.0)) < 0.4


def _frequent(n: int, seed: int, in_positive: bool) -> tuple[list[np.ndarray], np.ndarray]:
    """Return bags with one concept token if positive; one class has six weak copies of it."""
    rng, y = np.random.default_rng(seed), np.arange(n) % 2
    X = rng.standard_normal((n, 12, 5))
    X[y == 1, 0] += CONCEPT
    X[(y == 1) == in_positive, 1:7] += 0.4 * CONCEPT
    return list(X), y  # no model sees the order


@pytest.mark.parametrize("model", [RESPECTS, STRICT], ids=str)
def test_presence_is_not_replaced_by_frequency(model: BaseEstimator) -> None:
    """The test of false frequency: many weak tokens change sides between training and test."""
    found = _fitted(model, *_frequent(400, 0, in_positive=True))
    assert _auc(found, *_frequent(1000, 10, in_positive=False)) > 0.65  # .74 and .85 here


def test_mean_pooling_goes_by_frequency() -> None:
    found = _fitted(PooledLinearClassifier(), *_frequent(400, 0, in_positive=True))
    assert _auc(found, *_frequent(1000, 10, in_positive=False)) < 0.5


@pytest.mark.parametrize("model", SHORTCUT, ids=str)
def test_the_others_learn_absence(model: BaseEstimator) -> None:
    """What is known of them, and said in the documentation: they are no models of presence."""
    only = _fitted(model, *_bags(400, 0, concept=0.0, poison=0.0))
    assert only.score(*_bags(1000, 10, concept=0.0, poison=0.0)) > 0.7
    both = _fitted(model, *_bags(400, 0, concept=1.0, poison=0.0))
    assert _auc(both, *_bags(1000, 10, concept=1.0, poison=1.0)) < 0.5


@pytest.mark.parametrize("model", [RESPECTS, STRICT, *SHORTCUT], ids=str)
def test_without_a_shortcut_all_learn_presence(model: BaseEstimator) -> None:
    found = _fitted(model, *_bags(400, 0, concept=1.0, poison=0.5))
    for poison in (0.0, 1.0):
        assert _auc(found, *_bags(1000, 10, concept=1.0, poison=poison)) > 0.5
    assert _auc(found, *_bags(1000, 10, concept=1.0, poison=0.5)) > 0.7


@pytest.mark.parametrize("training", ["tied", "cross_fit", "joint"])
@pytest.mark.parametrize("temperature", [0.5, 3.0])
def test_a_union_scores_between_its_parts(training: str, temperature: float) -> None:
    """So no softmax of one query learns that two concepts must meet in a bag."""
    bags, y = _bags(100, 0, concept=1.0, poison=0.5)
    model = AttentionClassifier(training, temperature=temperature, n_restarts=0, random_state=0)
    model = _fitted(model, bags, y)
    first, second = bags[:50], bags[50:]
    union = [np.concatenate(pair) for pair in zip(first, second, strict=True)]
    parts = np.stack([model.decision_function(first), model.decision_function(second)])
    scores = model.decision_function(union)
    slack = 1e-12 * np.abs(parts).max()  # rounding
    assert (scores <= parts.max(axis=0) + slack).all()
    assert (scores >= parts.min(axis=0) - slack).all()


def test_sharp_tied_attention_scores_a_bag_by_its_best_token() -> None:
    """Its limit is the largest logit in the bag: a token more can only raise it."""
    bags, y = _bags(400, 0, concept=1.0, poison=0.0)
    model = _fitted(AttentionClassifier("tied", temperature=1e5, random_state=0), bags, y)
    best = [np.argmax(s) for s in model.token_scores(bags)]
    logits = [u[i] for u, i in zip(model.token_logits(bags), best, strict=True)]
    # Runners-up are within 1e-3 of the best in about 1 of 1000 bags; there are 400.
    np.testing.assert_allclose(model.decision_function(bags), logits, atol=1e-3)
    # Poison is never the best token, though half of the bags have one.
    assert min(bag[i, 1] for bag, i in zip(bags, best, strict=True)) > POISON[1] / 2


def test_strict_presence_is_a_slope_above_zero_and_sharp() -> None:
    bags, y = _bags(400, 0, concept=1.0, poison=0.5)
    model = _fitted(STRICT, bags, y)
    assert model.likelihood_[0] > 0
    assert model.sharpness_[0] >= 4
    # Of the other class nothing is present that makes it: no token of the first is looked for.
    swapped = _fitted(STRICT, *_bags(400, 0, concept=1.0, poison=0.5)[:1], 1 - y)
    assert swapped.likelihood_[0] >= 0


@pytest.mark.parametrize("training", ["tied", "cross_fit", "joint"])
def test_strict_presence_needs_likelihood_pooling(training: str) -> None:
    bags, y = _bags(20, 0, concept=1.0, poison=0.5)
    with pytest.raises(InvalidInput, match="training must be likelihood"):
        AttentionClassifier(training, presence="strict").fit(bags, y)
    with pytest.raises(InvalidInput, match="presence must be"):
        AttentionClassifier(presence="always").fit(bags, y)
    with pytest.raises(InvalidInput, match="loss must be a smooth loss"):
        AttentionClassifier("likelihood", 1.0, ridge=0.1, loss="hinge").fit(bags, y)
