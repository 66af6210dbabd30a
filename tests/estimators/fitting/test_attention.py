"""Attention by left-out loss: scores that have not seen their labels, choices, no signal."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.special import logsumexp

from sparsetoken.estimators.fitting import training
from sparsetoken.estimators.fitting.attention import AttentionFit, attend
from sparsetoken.estimators.fitting.linear_fit import gain
from sparsetoken.estimators.fitting.targets import read_classes
from sparsetoken.estimators.fitting.task import Task
from sparsetoken.estimators.fitting.training import Training
from tasks_of_bags import task_of

N = 80
FOLDS = np.arange(N) // 2 % 4  # of both classes


def drawn(seed: int, signal: float = 4.0, holder: int = 1, loss: str = "logistic", **given) -> Task:
    """Return ragged bags, of which those of one class have one shifted token."""
    rng, y = np.random.default_rng(seed), np.arange(N) % 2
    bags = [rng.standard_normal((rng.integers(3, 12), 5)) for _ in range(N)]
    for bag, label in zip(bags, y, strict=True):
        bag[-1, 0] += signal * (label == holder)
    return task_of(bags, 2.0 * y - 1, loss=loss, **given)


@pytest.mark.parametrize("loss", ["logistic", "square"])
@pytest.mark.parametrize("bag", [3, 42])
def test_the_scores_of_a_bag_have_not_seen_its_label(bag: int, loss: str) -> None:
    """With ridge and sharpness given, a label only says which directions are tried."""
    task = drawn(0, loss=loss, ridge=0.05)
    y = task.samples.y.copy()
    y[bag] *= -1
    other = dataclasses.replace(task, samples=dataclasses.replace(task.samples, y=y))
    first, second = (attend(one, FOLDS, 2.0) for one in (task, other))
    of_bag = np.repeat(np.arange(N), task.bags.sizes)
    fold = FOLDS[of_bag] == FOLDS[bag]
    moved = np.abs(first.token_scores - second.token_scores)
    # Descents side by side round together; those of other folds end elsewhere.
    assert moved[fold].max() < 1e-9
    assert all(moved[FOLDS[of_bag] == j].max() > 1e-3 for j in range(4) if j != FOLDS[bag])


def test_left_out_scores_are_of_pooled_scores_that_have_not_seen_the_bag() -> None:
    task = drawn(1, ridge=0.05)
    fit = attend(task, FOLDS)
    of_bags = np.split(fit.token_scores, task.bags.offsets[1:-1])
    pooled = np.array([logsumexp(one) - np.log(len(one)) for one in of_bags])
    slope, intercept = np.polyfit(pooled, fit.readout.left_out_scores, 1)
    # Each bag is left out of slope and intercept as well: they differ by some 1/n.
    found = slope * pooled + intercept
    assert np.corrcoef(found, fit.readout.left_out_scores)[0, 1] > 0.99
    assert slope == pytest.approx(1 / fit.exponent, rel=0.1)
    assert fit.gain == pytest.approx(gain(fit.readout, task.mean_fit, task.samples), rel=1e-9)
    assert fit.gain > 3


def test_attention_that_fails_is_fitted_in_other_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fit of least left-out loss is kept, and none is added once attention gains."""
    task = drawn(1)
    good = attend(task, FOLDS)
    blind = dataclasses.replace(good, gain=0.2, readout=task.mean_fit)
    worse = attend(drawn(1, signal=0.0), FOLDS)
    tried: list[int] = []

    def made(task: Task, folds: np.ndarray, temperature: object) -> AttentionFit:
        tried.append(int(folds[0]))
        return (blind, worse, good, good)[folds[0]]

    monkeypatch.setattr(training, "attend", made)
    y = np.arange(N) % 2
    targets = read_classes(task.bags, y, None, None)
    first, *more = (np.full(N, k) for k in range(4))
    whole = Training(task.bags, targets, task.loss, "auto", True, first, more)
    assert whole.attended()[0] is good
    assert tried == [0, 1, 2]  # nothing is tried where attention gains
    only = dataclasses.replace(whole, more_folds=more[:1])
    losses = [one.readout.left_out_loss(task.samples) for one in (blind, worse)]
    assert only.attended()[0] is (blind, worse)[int(np.argmin(losses))]


def test_labels_of_the_mean_token_give_no_gain() -> None:
    gains = []
    for seed in range(5):
        X = np.random.default_rng(seed).standard_normal((N, 10, 4))
        y = np.where(X.mean(axis=1)[:, 0] > 0, 1.0, -1.0)
        gains.append(attend(task_of(X, y), FOLDS).gain)
    # Pooling is the truth: attention of least sharpness comes near to it.
    assert max(gains) < 2
