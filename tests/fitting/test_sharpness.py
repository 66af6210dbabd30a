"""The choice of a sharpness: features, the fall back to pooling, and the evidence for a query."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.stats import ttest_ind

from sparsetoken import AttentionClassifier, PooledLinearClassifier
from sparsetoken.bags import as_bags
from sparsetoken.fitting.features import BagFeatures
from sparsetoken.fitting.linear_fit import LinearFit, choose_ridge, gain
from sparsetoken.fitting.queries import evidence
from sparsetoken.fitting.samples import Samples
from sparsetoken.fitting.sharpness import GRID, Candidate, Choice, best, choose, tried
from sparsetoken.fitting.standardization import Standardization
from sparsetoken.fitting.task import Task
from sparsetoken.losses import get_loss

LOGISTIC = get_loss("logistic")


def drawn(seed: int, signal: float, n: int = 80, d: int = 5) -> tuple[list, np.ndarray, np.ndarray]:
    """Return ragged bags, labels, and the tokens' scores along the signal, of sd about 1."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    bags = [rng.standard_normal((rng.integers(3, 12), d)) for _ in range(n)]
    for bag, label in zip(bags, y, strict=True):
        bag[-1, 0] += signal * label
    scores = np.concatenate(bags)[:, 0]
    return bags, y, scores / scores.std()


def features(bags: list, standardize: bool = False, activation: str = "softmax") -> BagFeatures:
    """Return what makes features of these bags."""
    flat = as_bags(bags)
    return BagFeatures(flat, Standardization.of(flat, np.ones(len(bags)), standardize), activation)


def equal(y: np.ndarray) -> Samples:
    """Return labels -1 and 1 of weight 1."""
    return Samples(2.0 * y - 1, np.ones(len(y)), np.ones(len(y)))


def chosen(bags: list, y: np.ndarray, candidates: list[Candidate]) -> Choice | None:
    """Choose among candidates; None is the readout of the mean token."""
    task = Task(features(bags), equal(y), LOGISTIC, "auto")
    choices = tried(task, candidates, GRID, task.mean_fit.ridge)
    return choose(task, choices, signal=0.0)


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_features_are_weighted_sums_of_scaled_tokens(activation: str) -> None:
    bags, _, scores = drawn(0, 1.0)
    made = features(bags, standardize=True, activation=activation)
    scaling, parts = made.standardization, np.split(scores, made.bags.offsets[1:-1])
    for row, bag, t in zip(made.pooled(scores), bags, parts, strict=True):
        soft = activation == "softmax"
        a = np.exp(t) / np.exp(t).sum() if soft else 1 / (1 + np.exp(-t)) / len(t)
        np.testing.assert_allclose(row, a @ ((bag - scaling.mean) / scaling.scale), atol=1e-12)


def test_scores_that_find_the_token_are_used_sharply() -> None:
    bags, y, scores = drawn(1, 4.0)
    found = chosen(bags, y, [Candidate("two_step", scores)])
    assert found is not None
    assert found.candidate.kind == "two_step"
    assert found.sharpness >= 1
    assert found.fit.w[0] == np.abs(found.fit.w).max()


def test_the_better_candidate_is_taken_whatever_the_order() -> None:
    bags, y, scores = drawn(2, 4.0)
    noise = np.random.default_rng(2).standard_normal(len(scores))
    both = [Candidate("two_step", scores), Candidate("tied", noise)]
    first, second = chosen(bags, y, both), chosen(bags, y, both[::-1])
    assert first is not None
    assert second is not None
    assert first.candidate.kind == second.candidate.kind == "two_step"
    assert first.sharpness == second.sharpness


def test_noise_falls_back_to_the_mean_token() -> None:
    # The gain must exceed one standard error: noise does that rarely, as the best of five may.
    fallen = 0
    for seed in range(20):
        bags, y, scores = drawn(seed, 0.0)
        noise = np.random.default_rng(100 + seed).standard_normal(len(scores))
        fallen += chosen(bags, y, [Candidate("tied", noise)]) is None
    assert fallen >= 14  # 18 of 20 here; 14 of 20 at a chance of 0.85 has probability 0.98


def test_a_gain_within_one_standard_error_or_a_large_pvalue_is_not_taken() -> None:
    bags, y, scores = drawn(3, 4.0)
    first = chosen(bags, y, [Candidate("two_step", scores)])
    assert first is not None
    losses = first.fit.left_out
    jump = np.where(np.arange(len(y)) == 0, len(y) * 0.1, 0.0)  # mean 0.1, standard error 0.0994
    for lead, pvalue, taken in [(-0.01, 0.0, False), (0.01, 0.0, True), (0.01, 0.05, False)]:
        task = Task(features(bags), equal(y), LOGISTIC, first.fit.ridge)
        pooled = dataclasses.replace(first.fit, left_out=losses + jump + lead)
        # A cached property: put in the place of the fit to the mean token.
        task.__dict__["unsharpened_fit"] = pooled
        assert (choose(task, [first], pvalue) is first) == taken


def test_likelihood_pooling_of_the_wrong_direction_is_not_taken() -> None:
    _, y, scores = drawn(3, 4.0)
    fit = LinearFit(-np.ones(1), 0.0, 0.1, np.zeros(len(y)))
    wrong = Choice(Candidate("likelihood", scores), 1.0, fit)
    assert best([wrong], equal(y)) is None
    right = Choice(Candidate("likelihood", scores, sign=-1.0), 1.0, fit)
    assert best([right], equal(y)) is right


def test_evidence_is_the_statistic_of_welch() -> None:
    bags, y, scores = drawn(4, 2.0)
    flat = as_bags(bags)
    means = np.array([part.mean() for part in np.split(scores, flat.offsets[1:-1])])
    slow = ttest_ind(means[y == 1], means[y == 0], equal_var=False).statistic
    assert evidence(scores, flat, equal(y)) == pytest.approx(slow, rel=1e-10)
    assert evidence(-scores, flat, equal(y)) == pytest.approx(-slow, rel=1e-10)
    assert evidence(np.zeros_like(scores), flat, equal(y)) == 0


def test_a_classifier_with_nothing_to_attend_to_is_the_pooled_one() -> None:
    rng = np.random.default_rng(5)
    y = np.arange(60) % 2
    bags = [np.repeat(rng.standard_normal((1, 4)) + label, 3, axis=0) for label in y]
    model = AttentionClassifier("tied", random_state=0).fit(bags, y)
    pooled = PooledLinearClassifier().fit(bags, y)
    assert model.sharpness_[0] == 0
    np.testing.assert_allclose(model.decision_function(bags), pooled.decision_function(bags))


def test_a_sparse_token_is_found_and_a_given_temperature_is_kept() -> None:
    bags, y, _ = drawn(6, 4.0, n=200)
    model = AttentionClassifier(random_state=0).fit(bags, y)
    assert model.sharpness_[0] > 0
    last = [len(bag) - 1 for bag, label in zip(bags, y, strict=True) if label]
    top = [one[0] for one in model.top_tokens([b for b, c in zip(bags, y, strict=True) if c])]
    assert np.mean(np.array(top) == last) > 0.9  # the token stands 4 sd out among 3 to 11
    given = AttentionClassifier("cross_fit", temperature=0.7, random_state=0).fit(bags, y)
    scores = np.concatenate(given.token_scores(bags))
    assert scores.std() == pytest.approx(0.7, rel=1e-9)


def test_ridges_are_searched_only_where_they_may_matter() -> None:
    """A score that finds the token is far better than noise: the ridge of noise is not searched."""
    bags, y, scores = drawn(0, 5.0, n=300)
    task = Task(features(bags), equal(y), LOGISTIC, "auto")
    noise = np.random.default_rng(1).standard_normal(len(scores))
    candidates = [Candidate("tied", scores), Candidate("two_step", noise)]
    ridge = 10 * task.mean_fit.ridge
    good, bad = tried(task, candidates, [2.0], ridge)
    assert good.loss(task.samples) < bad.loss(task.samples)
    assert gain(bad.fit, good.fit, task.samples) < -3
    assert bad.fit.ridge == ridge
    # The better one is the best of three ridges.
    F = task.features.pooled(candidates[0].sharpened(2.0))
    near = {e: choose_ridge(F, task.samples, LOGISTIC, ridge * 10**e) for e in (-0.5, 0.0, 0.5)}
    least = min(near, key=lambda e: near[e].left_out_loss(task.samples))
    assert least == -0.5
    assert good.fit.ridge == pytest.approx(ridge * 10**least)
    # A ridge that is given is kept.
    fixed = dataclasses.replace(task, ridge=0.3)
    assert {one.fit.ridge for one in tried(fixed, candidates, [2.0], ridge)} == {0.3}
