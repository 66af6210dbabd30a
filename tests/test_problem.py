"""The task and the training as values: validation, JSON, samples."""

import collections
import dataclasses
import math
import pickle

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.training import FourStageTraining, Query
from sparsetoken.validation import InvalidInput


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ((0, 1, 1.0), "length"),
        ((4.0, 1, 1.0), "length"),
        ((True, 1, 1.0), "length"),
        ((4, 0, 1.0), "informative"),
        ((4, 5, 1.0), "L = 4"),
        ((4, 1, -1.0), "strength"),
        ((4, 1, math.inf), "strength"),
        ((4, 1, "2"), "strength"),
        ((4, 1, 1.0, 0.0), "positive_rate"),
        ((4, 1, 1.0, 1.0), "Both classes"),
        ((4, 1, 1.0, math.nan), "positive_rate"),
        ((2, 1, 1.0, 0.5, (0.5, 0.4)), "add up"),
        ((2, 1, 1.0, 0.5, (0.5, 0.5, 0.0)), "2 chances"),
        ((2, 1, 1.0, 0.5, (1.5, -0.5)), "position_law"),
    ],
)
def test_bad_problem(values, word):
    with pytest.raises(InvalidInput, match=word):
        SparseTokenProblem(*values)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"alpha0": 0.0}, "alpha0"),
        ({"eta_w": -1.0}, "eta_w"),
        ({"eta_b": math.nan}, "eta_b"),
        ({"eta_q": "1"}, "eta_q"),
        ({"beta": 0.0}, "beta"),
        ({"loss": "absolute"}, "loss"),
        ({"ridge": -0.1}, "ridge"),
    ],
)
def test_bad_training(values, word):
    with pytest.raises(InvalidInput, match=word):
        FourStageTraining(**values)


@pytest.mark.parametrize("values", [(1.1, 1.0), (-1.1, 1.0), (0.5, -1.0), (math.nan, 1.0)])
def test_bad_query(values):
    with pytest.raises(InvalidInput):
        Query(*values)


@pytest.mark.parametrize("law", [None, (0.5, 0.25, 0.25)])
def test_problem_survives_json(law):
    problem = SparseTokenProblem(3, 1, 0.1 + 0.2, 1 / 3, law)
    assert SparseTokenProblem.from_json(problem.to_json()) == problem


def test_training_survives_json():
    training = FourStageTraining(1 / 3, 0.1, 0.2, 0.3, 0.4, "hinge", 1e-7)
    assert FourStageTraining.from_json(training.to_json()) == training


def test_values_are_frozen_and_equal_by_value():
    problem = SparseTokenProblem(3, 1, 1)
    assert problem == SparseTokenProblem(3, 1, 1.0, 0.5)
    assert hash(problem) == hash(SparseTokenProblem(3, 1, 1.0))
    assert problem.letters == (0.5, 1.0, 1, 3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.length = 4


def test_labels_have_the_positive_rate():
    y = SparseTokenProblem(3, 1, 1.0, 0.2).sample_labels(20000, np.random.default_rng(0))
    assert set(y) == {-1, 1}
    # four binomial standard errors
    assert np.mean(y == 1) == pytest.approx(0.2, abs=4 * 0.4 / np.sqrt(20000))


def test_uniform_positions_make_every_set_equally_likely():
    problem = SparseTokenProblem(5, 2, 1.0)
    v = problem.sample_positions(20000, np.random.default_rng(1))
    counts = collections.Counter(map(tuple, v))
    assert len(counts) == 10
    assert all(sum(row) == 2 for row in counts)
    # fails once in 1000 seeds
    assert chisquare(list(counts.values())).pvalue > 1e-3


@pytest.mark.parametrize("law", [(0.9, 0.5, 0.3, 0.2, 0.1), (1.0, 1.0, 0.0, 0.0, 0.0), (0.4,) * 5])
def test_positions_follow_the_position_law(law):
    problem = SparseTokenProblem(5, 2, 1.0, position_law=law)
    n = 20000
    v = problem.sample_positions(n, np.random.default_rng(2))
    assert np.all(v.sum(axis=1) == 2)
    p = np.array(law)
    # 4.5 binomial standard errors, and nothing at 0 and 1
    assert np.all(np.abs(v.mean(axis=0) - p) <= 4.5 * np.sqrt(p * (1 - p) / n))


def test_tokens_are_noise_plus_signal_at_the_positions():
    problem = SparseTokenProblem(4, 2, 3.0, 0.5)
    xi = np.array([0.6, 0.0, -0.8])
    X, y = problem.sample(4000, xi, np.random.default_rng(3))
    assert X.shape == (4000, 4, 3)
    assert X.dtype == np.float64
    assert kstest(X[y == -1].ravel(), "norm").pvalue > 1e-3
    along = X[y == 1] @ xi
    # two of four projections carry 3: mean 1.5, second moment 1 + 4.5
    n = along.size
    assert along.mean() == pytest.approx(1.5, abs=4.5 * np.sqrt(3.25 / n))
    assert np.mean(along**2) == pytest.approx(5.5, abs=4.5 * np.sqrt(60 / n))
    across = X[y == 1] @ np.array([0.8, 0.0, 0.6])
    assert kstest(across.ravel(), "norm").pvalue > 1e-3


def test_token_type():
    problem = SparseTokenProblem(2, 1, 1.0)
    X, _ = problem.sample(3, np.ones(1), np.random.default_rng(0), np.float32)
    assert X.dtype == np.float32


@pytest.mark.parametrize("law", [0.5, np.array([[0.5, 0.5]]), (0.5,), (0.7, 0.7), (1.2, -0.2)])
def test_bad_position_laws(law):
    with pytest.raises(InvalidInput, match="position_law"):
        SparseTokenProblem(2, 1, 1.0, position_law=law)


def test_a_position_law_may_be_an_array():
    problem = SparseTokenProblem(2, 1, 1.0, position_law=np.array([0.25, 0.75]))
    assert problem.position_law == (0.25, 0.75)
    assert SparseTokenProblem.from_json(problem.to_json()) == problem


@pytest.mark.parametrize("text", ["{", "[1]", '{"alpha": 1}'])
@pytest.mark.parametrize("kind", [SparseTokenProblem, FourStageTraining])
def test_bad_json(kind, text):
    with pytest.raises(InvalidInput, match="JSON object"):
        kind.from_json(text)


def test_values_whose_products_overflow_are_refused():
    with pytest.raises(InvalidInput, match="strength"):
        SparseTokenProblem(2, 1, 1e200)
    with pytest.raises(InvalidInput, match="eta_w"):
        FourStageTraining(eta_w=1e200)
    with pytest.raises(InvalidInput, match="alpha0"):
        FourStageTraining(alpha0=1e308)


def test_an_error_survives_the_way_between_processes():
    with pytest.raises(InvalidInput) as caught:
        Query(2.0, 1.0)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) == "cosine must be a finite number in [-1, 1]; got 2.0."
