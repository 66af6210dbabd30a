"""Probabilities of tokens from labels of bags: all sets of tokens, the minimum, a known truth.

Equations: token-counts, token-share.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import expit

from sparsetoken.estimators.fitting.targets import Samples
from sparsetoken.estimators.fitting.tokens import (
    STRENGTH,
    CountedTokens,
    TokenOdds,
    _of_share,
    _posterior,
    fit_odds,
)

TRUTH = np.array([2.5, 1.2, -4.0, 0.9])  # a, a0, c


def drawn(seed: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scores, sizes, and labels: a bag is positive if one of its tokens is.

    Tokens are positive by themselves, with the probabilities of `TRUTH`.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 12, n)
    scores = rng.standard_normal((sizes.sum(), 2))
    tokens = rng.random(len(scores)) < TRUTH[3] * expit(scores @ TRUTH[:2] + TRUTH[2])
    y = np.array([2.0 * part.any() - 1 for part in np.split(tokens, np.cumsum(sizes)[:-1])])
    return scores, sizes, y


def fitted(
    scores: np.ndarray, sizes: np.ndarray, y: np.ndarray, weight: np.ndarray, count: int = 0
) -> TokenOdds:
    return fit_odds(scores, sizes, Samples(y, weight, np.ones(len(y))), count)


def by_sets(odds: np.ndarray, count: int) -> tuple[float, np.ndarray]:
    """Return the chance of a positive bag, and of its tokens, from every set of tokens."""
    number = len(odds)
    numbers = range(1, number + 1) if count == 0 else [min(count, number)]
    sets = [each for k in numbers for each in itertools.combinations(range(number), k)]
    weights = np.array([np.prod(odds[list(each)]) for each in sets])
    holds = np.array([[token in each for token in range(number)] for each in sets])
    return weights.sum() / (1 + weights.sum()), weights @ holds / (1 + weights.sum())


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5])
def test_chances_are_those_of_all_sets_of_tokens(count: int) -> None:
    rng = np.random.default_rng(count)
    sizes = np.array([1, 7, 2, 3, 8, 5])
    odds = np.exp(3 * rng.standard_normal(sizes.sum()))
    total, chances = CountedTokens(sizes, count)(odds)
    for of_bag, found, part in zip(
        total, *(np.split(a, np.cumsum(sizes)[:-1]) for a in (chances, odds)), strict=True
    ):
        bag, tokens = by_sets(part, count)
        assert -np.expm1(-of_bag) == pytest.approx(bag, rel=1e-12)
        np.testing.assert_allclose(found, tokens, rtol=1e-12)


def objective(
    v: np.ndarray,
    scores: np.ndarray,
    sizes: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    count: int = 0,
) -> float:
    """Return the penalised mean log-loss, bag by bag."""
    J = scores.shape[1]
    p = v[-1] * expit(scores @ v[:J] + v[J])
    loss = 0.0
    for part, label, w in zip(np.split(p, np.cumsum(sizes)[:-1]), y, weight, strict=True):
        odds = part / (1 - part)
        # Coefficients of the polynomial with roots -odds: sums of products of so many odds.
        total = np.prod(1 + odds) - 1 if count == 0 else np.poly(-odds)[min(count, len(odds))]
        loss -= w * np.log((1 if label < 0 else total) / (1 + total))
    return loss / weight.sum() + v[:J] @ v[:J] / (2 * weight.sum() * STRENGTH**2)


def packed(found: TokenOdds) -> np.ndarray:
    return np.array([*found.coef, found.intercept, found.ceiling])


@pytest.mark.parametrize("count", [0, 1, 3])
def test_no_step_from_the_minimum_goes_down(count: int) -> None:
    seed = count
    scores, sizes, y = drawn(seed, 200)
    weight = np.random.default_rng(seed).uniform(0.5, 2, 200)
    found = fitted(scores, sizes, y, weight, count)
    at = packed(found)
    least = objective(at, scores, sizes, y, weight, count)
    assert found.loss == pytest.approx(least, rel=1e-12)
    most = 1 - 1 / (weight[y > 0].sum() + 2)
    rng = np.random.default_rng(10 + seed)
    for step in (0.3, 0.03, 3e-3):
        for direction in [*np.eye(4), *-np.eye(4), *rng.standard_normal((20, 4))]:
            near = at + step * direction
            near[:2], near[3] = np.maximum(near[:2], 0), np.clip(near[3], 0.01, most)
            # The search ends where steps gain 2e-9 of the objective.
            assert objective(near, scores, sizes, y, weight, count) > least - 1e-8


def test_what_tokens_were_drawn_from_is_found() -> None:
    data = drawn(0, 2500)
    found = fitted(*data, np.ones(2500))

    def gradient(v: np.ndarray, h: float = 1e-4) -> np.ndarray:
        steps = h * np.eye(4)
        values = [[objective(v + s * e, *data, np.ones(2500)) for s in (1, -1)] for e in steps]
        return np.array([(up - down) / (2 * h) for up, down in values])

    # Standard errors by Fisher's information, from differences at the truth.
    information = np.stack([gradient(TRUTH + e) - gradient(TRUTH - e) for e in 0.01 * np.eye(4)])
    errors = np.sqrt(np.diag(np.linalg.inv(2500 * information / 0.02)))
    # The penalty moves a coefficient by a error / 9 in units of its error: by less than a tenth.
    assert np.max(np.abs(packed(found) - TRUTH) / errors) < 3
    assert errors.max() < 0.3


def test_counts_that_fit_alike_have_the_chances_of_their_prior() -> None:
    """1 over the count, and for any number of tokens as for one."""
    odds = [TokenOdds(count, np.ones(1), 0.0, 1.0, loss=0.3) for count in (0, 1, 2, 4)]
    found = _posterior(odds, Samples(np.ones(7), np.ones(7), np.ones(7)))
    np.testing.assert_allclose(found, np.array([1, 1, 1 / 2, 1 / 4]) / 2.75, rtol=1e-12)


def test_scores_without_a_signal_have_no_part() -> None:
    scores, sizes, y = drawn(0, 2000)
    noise = np.random.default_rng(1).standard_normal(len(scores))
    wrong = np.stack([scores[:, 0], noise, -scores[:, 1]], axis=1)
    found = fitted(wrong, sizes, y, np.ones(2000))
    assert found.coef[2] == 0  # a score must speak for a token, or it is not used
    assert found.coef[1] < 0.15 < found.coef[0]


def test_scores_that_are_equal_give_all_tokens_the_rate_of_their_bags() -> None:
    y = np.where(np.arange(90) % 3 == 0, 1.0, -1.0)
    found = fitted(np.zeros((900, 1)), np.full(90, 10), y, np.ones(90))
    rate = found.ceiling * expit(found.intercept)
    # The search ends where steps gain 2e-9 of the objective: the rate is known to its root.
    assert 1 - (1 - rate) ** 10 == pytest.approx(1 / 3, abs=1e-4)
    assert found.loss == pytest.approx(np.log(3) - 2 / 3 * np.log(2), rel=1e-8)


@pytest.mark.parametrize("label", [1.0, -1.0])
def test_labels_that_scores_separate_keep_all_finite(label: float) -> None:
    scores = np.where(np.arange(60)[:, None] % 10 == 0, 40.0, -40.0)
    y = np.where(np.arange(30) % 5 == 0, label, -label)
    found = fitted(scores, np.full(30, 2), y, np.ones(30))
    assert np.isfinite(packed(found)).all()
    assert 0 < found.ceiling <= 1 - 1 / (np.sum(y > 0) + 2)


def lesions(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return scores, sizes, labels and which tokens are of a lesion: 2 to 8% of those of a bag."""
    rng = np.random.default_rng(seed)
    sizes, y = rng.integers(300, 500, 60), np.where(np.arange(60) % 2, 1.0, -1.0)
    share = np.where(y > 0, rng.uniform(0.02, 0.08, 60), 0.0)
    true = rng.random(sizes.sum()) < np.repeat(share, sizes)
    return rng.standard_normal(len(true)) + 2.5 * true, sizes, y, true


def test_the_share_of_a_lesion_and_its_tokens() -> None:
    """Scores of a lesion have the density ratio exp(2.5 s - 2.5^2 / 2)."""
    scores, sizes, y, true = lesions(0)
    (odds,) = _of_share(scores, sizes, Samples(y, np.ones(60), np.ones(60)))
    # Twice the standard deviations over seeds.
    assert odds.count == pytest.approx(0.05, abs=0.016)
    assert odds.coef[0] == pytest.approx(2.5, abs=0.6)
    assert odds.intercept == pytest.approx(-(2.5**2) / 2, abs=1.4)
    p = odds.probabilities(scores[:, None], sizes)
    for low, high in ((0.0, 0.02), (0.02, 0.3), (0.3, 0.7), (0.7, 1.0)):
        some = (p >= low) & (p < high)
        error = np.sqrt(p[some].mean() * (1 - p[some].mean()) / some.sum())
        assert true[some].mean() == pytest.approx(p[some].mean(), abs=4 * error + 0.02)


def test_a_share_is_the_mixture_by_hand() -> None:
    sizes, odds = np.array([3]), np.array([0.2, 1.5, 6.0])
    f = 0.2 * 2.0 ** np.arange(-2, 3)
    products = np.prod(1 - f[:, None] + f[:, None] * odds, axis=1)
    products *= 0.3
    total, chances = CountedTokens(sizes, 0.2, np.log(0.3))(odds)
    assert total[0] == pytest.approx(np.log1p(products.mean()))
    expected = [(products * f * o / (1 - f + f * o)).mean() / (1 + products.mean()) for o in odds]
    np.testing.assert_allclose(chances, expected)


def test_a_share_knows_how_rare_the_class_is() -> None:
    """One bag of ten is positive: the odds before its tokens are seen."""
    scores, sizes, y, _ = lesions(2)
    kept = np.flatnonzero((y < 0) | (np.arange(60) < 8))
    tokens = np.concatenate([np.arange(sizes[:i].sum(), sizes[: i + 1].sum()) for i in kept])
    samples = Samples(y[kept], np.ones(len(kept)), np.ones(len(kept)))
    (odds,) = _of_share(scores[tokens], sizes[kept], samples)
    assert odds.log_odds == pytest.approx(np.log(4 / 30))


def test_few_tokens_are_no_share() -> None:
    scores, sizes, y, true = lesions(1)
    scores = scores - 2.5 * true
    first = np.cumsum(sizes) - sizes
    scores[first[y > 0]] += 6  # one of each bag
    assert _of_share(scores, sizes, Samples(y, np.ones(60), np.ones(60))) == []
