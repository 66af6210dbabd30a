"""Folds and splits: stratified, seeded, and as large as the theory finds best."""

from pathlib import Path

import numpy as np
import pytest

from sparsetoken import (
    Attention,
    AttentionClassifier,
    Readout,
    SparseTokenProblem,
    TwoSteps,
    align,
    fitting,
    predict,
)
from sparsetoken.fitting.folds import fold_numbers, split_in_two
from sparsetoken.fitting.queries import StepSizes
from sparsetoken.fitting.samples import Samples
from sparsetoken.fitting.split import advised_share, matched_problem
from sparsetoken.losses import get_loss

D = 60
PROBLEM = SparseTokenProblem(length=6, informative=1, strength=4.0, positive_rate=0.4)


def _draw(n: int, problem: SparseTokenProblem = PROBLEM) -> tuple[np.ndarray, Samples]:
    rng = np.random.default_rng(0)
    X, y = problem.sample(n, np.eye(D)[0], rng, np.dtype(float))
    return X, Samples(y.astype(float), np.ones(n), np.ones(n))


@pytest.mark.parametrize(("n_folds", "expected"), [(4, 4), (8, 8), (30, 12)])
def test_folds_have_their_share_of_each_class(n_folds: int, expected: int) -> None:
    y = np.random.default_rng(0).permutation(np.repeat([0, 1], [50, 12]))
    folds = fold_numbers(y, n_folds, np.random.RandomState(0))
    assert np.unique(folds).tolist() == list(range(expected))
    for count in (np.bincount(folds), np.bincount(folds[y == 1]), np.bincount(folds[y == 0])):
        assert np.ptp(count) <= 1
    assert np.array_equal(folds, fold_numbers(y, n_folds, np.random.RandomState(0)))
    assert not np.array_equal(folds, fold_numbers(y, n_folds, np.random.RandomState(1)))


@pytest.mark.parametrize(("share", "counts"), [(0.3, [15, 4]), (0.01, [1, 1]), (0.99, [48, 10])])
def test_both_parts_have_both_classes(share: float, counts: list[int]) -> None:
    y = np.random.default_rng(0).permutation(np.repeat([0, 1], [50, 12]))
    first = split_in_two(y, share, np.random.RandomState(0))
    assert np.bincount(y[first]).tolist() == counts
    assert np.array_equal(first, split_in_two(y, share, np.random.RandomState(0)))


def test_the_matched_problem_is_the_one_drawn_from() -> None:
    X, samples = _draw(4000)
    found = matched_problem(X.mean(axis=1), np.full(4000, 6), samples)
    assert (found.length, found.informative) == (6, 1)
    # The gap of the means is known to 2 / sqrt(4000 L) = 0.013 in one direction, times L.
    assert found.strength == pytest.approx(4, abs=3 * 6 * 0.013)
    assert found.positive_rate == pytest.approx(0.4, abs=3 * 0.008)  # binomial


def test_noise_and_overwhelming_signals_are_cut_off() -> None:
    for strength, expected in ((0.0, 1.0), (100.0, 20.0)):
        X, samples = _draw(300, SparseTokenProblem(6, 1, strength))
        found = matched_problem(X.mean(axis=1), np.full(300, 6), samples)
        assert found.strength == expected


def test_the_share_is_the_best_of_the_theory() -> None:
    X, samples = _draw(400)
    means, sizes, steps = X.mean(axis=1), np.full(400, 6), StepSizes(0.5, 0.5, 4.0)
    share = advised_share(means, sizes, samples, get_loss("logistic"), steps)
    problem, alpha = matched_problem(means, sizes, samples), 400 / D

    def error(share: float) -> float:
        query = align(problem, TwoSteps(alpha * share, eta_q=4.0)).query
        return predict(problem, Attention(query), Readout(alpha1=alpha * (1 - share))).test_error

    # The search is to 0.01 of the test error.
    assert error(share) < min(error(s) for s in (0.1, 0.4, 0.8)) + 0.01


def test_auto_takes_it() -> None:
    X, samples = _draw(400)
    model = AttentionClassifier(
        "four_stage",
        temperature=2.0,
        ridge=0.1,
        standardize=False,
        step_sizes=(0.5, 0.5, 4.0),
        random_state=0,
    )
    found = model.fit(X, samples.y).query_
    known = (
        X.mean(axis=1),
        np.full(400, 6),
        samples,
        get_loss("logistic"),
        StepSizes(0.5, 0.5, 4.0),
    )
    again = model.set_params(split=advised_share(*known)).fit(X, samples.y).query_
    assert np.array_equal(found, again)
    other = model.set_params(split=0.9).fit(X, samples.y).query_
    assert not np.allclose(found, other, rtol=0.01)


def test_only_the_split_asks_the_theory() -> None:
    sources = Path(fitting.__path__[0]).glob("*.py")
    asking = [one.name for one in sources if "sparsetoken.theory" in one.read_text("utf-8")]
    assert asking == ["split.py"]
