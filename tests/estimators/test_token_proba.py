"""Probabilities of tokens: calibrated, the rate alone on noise, of either class, in every form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import expit

from sparsetoken import BagClassifier
from sparsetoken.bags import Bags

Draw = Callable[..., tuple[Bags, np.ndarray]]
L, D, STRENGTH = 20, 20, 4.0


def drawn(rng: np.random.Generator, n: int, several: bool) -> tuple[np.ndarray, ...]:
    """Return bags, labels and which tokens are informative.

    With `several` tokens are so by themselves, as noisy-or has it, in half of the bags at least
    one; else one token of every second bag is.
    """
    X = rng.standard_normal((n, L, D))
    if several:
        informative = rng.random((n, L)) < 1 - 0.5 ** (1 / L)
    else:
        place = rng.integers(0, L, n)[:, None] == np.arange(L)
        informative = place & (np.arange(n) % 2 == 1)[:, None]
    X[informative, 0] += STRENGTH
    return X, informative.any(axis=1).astype(int), informative


@pytest.mark.parametrize("several", [True, False])
def test_probabilities_of_tokens_are_calibrated(several: bool) -> None:
    chances, truth = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y, _ = drawn(rng, 300, several)
        model = BagClassifier().fit(X, y)
        test, _, informative = drawn(rng, 2000, several)
        p = np.stack(model.predict_token_proba(test))
        # Of 300 bags with a share p of their tokens: three standard errors of that share.
        slack = 3 * np.sqrt(informative.mean() / (300 * L))
        assert p.mean() == pytest.approx(informative.mean(), abs=slack)
        chances.append(p)
        truth.append(informative)
    p, truth = np.array(chances), np.array(truth)
    # From fit to fit the share in a bin changes with a deviation of .05, .05 and .02: here it
    # is the mean of four, and may be three of its deviations off.
    for low, high, slack in ((0.1, 0.3, 0.075), (0.3, 0.7, 0.075), (0.7, 1.01, 0.03)):
        chosen = (p >= low) & (p < high)
        told, found = p[chosen].mean(), truth[chosen].mean()
        if several:
            assert found == pytest.approx(told, abs=slack)
        else:
            # That exactly one token is informative is not known: beforehand the odds of a token
            # are .034 and not .025, and one token does not speak against another. Odds are then
            # too high, here by 1.7, but not by more than 2.5, and never too low.
            assert told > found - slack
            assert told / (1 - told) < 2.5 * found / (1 - found)


@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")
def test_on_noise_all_tokens_have_the_rate_of_their_bags() -> None:
    """Where the constant has all weight, as for labels of which bags that are alike have both."""
    X, y = np.random.default_rng(0).standard_normal((60, 6, 5)), np.arange(60) % 3 == 0
    X = np.repeat(X[:20], 3, axis=0)
    model = BagClassifier().fit(X, y)
    assert model.weights_[0, 0] == pytest.approx(1)
    rate = model.token_rate_[0]
    assert (np.stack(model.predict_token_proba(X)) == rate).all()
    # The search ends where steps gain 2e-9 of the log-loss: the rate is known to its root.
    assert 1 - (1 - rate) ** 6 == pytest.approx(1 / 3, abs=1e-4)


def test_they_are_the_formula_for_ragged_bags_and_masks(draw: Draw) -> None:
    bags, y = draw(120, sizes=(2, 9))
    model = BagClassifier().fit(bags, y)
    chances, wide = model.predict_token_proba(bags), bags.to_array(fill=7.0)
    masked = model.predict_token_proba(*wide)
    for bag, p, other in zip(bags, chances, masked, strict=True):
        logits = bag @ model.token_coef_[0] + model.token_intercept_[0]
        np.testing.assert_allclose(p, model.token_ceiling_[0] * expit(logits), rtol=1e-12)
        np.testing.assert_array_equal(p, other)
    tops = [one[0] for one in model.top_tokens(bags)]
    assert tops == [p.argmax() for p in chances]
    three, classes = draw(150, classes=3, sizes=(3, 8), strength=6.0)
    model = BagClassifier().fit(three, classes)
    chances = model.predict_token_proba(three)
    assert [p.shape for p in chances] == [(size, 3) for size in three.sizes]
    best = np.array([p[:, 1].max() > 0.5 for p in chances])
    assert np.mean(best == (classes == 1)) > 0.9  # six deviations


def test_tokens_of_the_first_class_are_told_as_those_of_the_second() -> None:
    X, y, informative = drawn(np.random.default_rng(0), 300, several=False)
    second, first = (BagClassifier().fit(X, labels) for labels in (y, 1 - y))
    assert (second.side_[0], first.side_[0]) == (1, -1)
    chances = [np.stack(model.predict_token_proba(X)) for model in (second, first)]
    # Folds are others: labels are in another order.
    assert np.corrcoef(*(p.ravel() for p in chances))[0, 1] > 0.98
    assert (chances[1] > 0.5)[informative].mean() > 0.8


def test_a_bag_of_one_token_is_its_token() -> None:
    rng, y = np.random.default_rng(0), np.arange(80) % 2
    X = rng.standard_normal((80, 1, 3)) + y[:, None, None]
    model = BagClassifier().fit(X, y)
    p = np.stack(model.predict_token_proba(X))[:, 0]
    np.testing.assert_allclose(p, expit(model.member_scores(X)[:, 2]), rtol=1e-9)  # the mean
    assert model.token_rate_[0] == pytest.approx(0.5)
