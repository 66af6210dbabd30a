"""Probabilities of tokens: calibrated, the rate on noise, of either class, in every form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from sparsetoken import BagClassifier
from sparsetoken.bags import Bags
from sparsetoken.estimators.fitting.tokens import CountedTokens

L, D, STRENGTH = 20, 20, 4.0


def drawn(
    rng: np.random.Generator, n: int, count: int, strength: float = STRENGTH
) -> tuple[np.ndarray, ...]:
    """Return bags, labels and which tokens are informative.

    So many tokens of every second bag are. With a count of 0 tokens are so by themselves, as
    noisy-or has it, in half of the bags at least one.
    """
    X = rng.standard_normal((n, L, D))
    if count == 0:
        informative = rng.random((n, L)) < 1 - 0.5 ** (1 / L)
    else:
        first = rng.random((n, L)).argsort(axis=1) < count
        informative = first & (np.arange(n) % 2 == 1)[:, None]
    X[informative, 0] += strength
    return X, informative.any(axis=1).astype(int), informative


def found_and_true(count: int, strength: float) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities of tokens by four fits to 300 bags, and which are informative."""
    chances, truth = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y, _ = drawn(rng, 300, count, strength)
        model = BagClassifier(progress=False).fit(X, y)
        test, _, informative = drawn(rng, 1000, count, strength)
        chances.append(np.stack(model.predict_token_proba(test)))
        truth.append(informative)
    return np.array(chances), np.array(truth)


# Labels of bags tell three tokens from one. They do not tell one from any number, of which 1.4
# are informative in a positive bag here: both have about half of the weight, and probabilities
# are between those of the two assumptions. The best possible log-losses, by the true law of the
# tokens, are .013, .021 and .098; of noisy-or alone .018, .021 and .16, with directions learned.
@pytest.mark.parametrize(
    ("count", "strength", "most", "slack"),
    [
        (1, 4.0, 0.0165, 0.15),
        pytest.param(0, 4.0, 0.025, 0.25, marks=pytest.mark.slow),
        pytest.param(3, 2.5, 0.12, 0.1, marks=pytest.mark.slow),
    ],
)
def test_probabilities_of_tokens_are_calibrated(
    count: int, strength: float, most: float, slack: float
) -> None:
    p, truth = found_and_true(count, strength)
    kept = np.clip(p, 1e-9, 1 - 1e-9)
    assert -np.where(truth, np.log(kept), np.log1p(-kept)).mean() < most
    for low, high in ((0.02, 0.1), (0.1, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 1.01)):
        chosen = (p >= low) & (p < high)
        assert truth[chosen].mean() == pytest.approx(p[chosen].mean(), abs=slack)


def test_the_number_of_tokens_is_found() -> None:
    for count, strength in ((1, 4.0), (3, 2.5)):
        X, y, _ = drawn(np.random.default_rng(0), 400, count, strength)
        chances = BagClassifier(progress=False).fit(X, y).token_count_proba_[0]
        assert chances.sum() == pytest.approx(1)
        assert chances[1:].argmax() == count - 1
        assert chances[count + 1 :].sum() < 0.1
        assert count == 1 or chances[0] < 0.01


@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")
@pytest.mark.filterwarnings("ignore::sparsetoken.bags.LeakWarning")  # of repeated bags
def test_where_the_class_rate_has_all_weight_all_tokens_have_the_rate() -> None:
    """As for labels of which bags that are alike have both."""
    X, y = np.random.default_rng(0).standard_normal((60, 6, 5)), np.arange(60) % 3 == 0
    X = np.repeat(X[:20], 3, axis=0)
    model = BagClassifier(progress=False).fit(X, y)
    assert model.weights_[0, 0] == pytest.approx(1)
    assert (np.stack(model.predict_token_proba(X)) == model.token_rate_[0]).all()
    # A third of the bags is positive: any number of six tokens, or so many of six.
    assert model.token_counts_[0] == 0
    counts = model.token_counts_[1:]
    rates = np.array([1 - (2 / 3) ** (1 / 6), *counts / 18])
    # Fits end where steps gain 2e-9 of the log-loss, and scores of noise move the mean by little.
    assert model.token_rate_[0] == pytest.approx(float(model.token_count_proba_[0] @ rates), 0.02)


def test_they_are_the_formula_for_ragged_bags(
    ragged: tuple[BagClassifier, Bags, np.ndarray],
) -> None:
    model, bags, _ = ragged
    chances = model.predict_token_proba(bags)
    for bag, p in zip(bags, chances, strict=True):
        expected = np.zeros(len(bag))
        for place in np.flatnonzero(model.token_count_proba_[0]).tolist():
            count = model.token_counts_[place]
            slope, intercept = model.token_slope_[0, place], model.token_intercept_[0, place]
            alone = model.token_ceiling_[0, place] * expit(
                slope * (bag @ model.token_coef_[0]) + intercept
            )
            odds = alone / (1 - alone)
            _, chances_of = CountedTokens(np.array([len(bag)]), count)(odds)
            expected += model.token_count_proba_[0, place] * chances_of
        np.testing.assert_allclose(p, expected, rtol=1e-12)
    tops = [one[0] for one in model.top_tokens(bags)]
    assert tops == [p.argmax() for p in chances]


def test_tokens_of_the_first_class_are_told_as_those_of_the_second() -> None:
    X, y, informative = drawn(np.random.default_rng(0), 300, count=1)
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
