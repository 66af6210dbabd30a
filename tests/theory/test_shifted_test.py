"""New data of another law than the training set.

Equations: shifted-test-law.
"""

import dataclasses
import math

import numpy as np
import pytest
from scipy.special import ndtr

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.models import make_model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout
from sparsetoken.model.tokens import TokenCovariance
from sparsetoken.theory import predict

PROBLEM = SparseTokenProblem(10, 1, 5.0, 0.5)
SHIFTED = SparseTokenProblem(25, 2, 4.0, 0.2)
READOUT = Readout("square", ridge=1e-2)
QUERY = Query(0.8, 1.0)
MODELS = ["attention", "pooled", "vectorized", "elementwise", "hard_attention"]


def prediction(model="attention", problem=PROBLEM, alpha1=2.0, **options):
    readout = dataclasses.replace(READOUT, alpha1=alpha1)
    return predict(problem, make_model(model, QUERY), readout, **options)


@pytest.mark.parametrize("model", MODELS)
def test_the_problem_trained_on_changes_nothing(model):
    assert prediction(model, test_problem=dataclasses.replace(PROBLEM)) == prediction(model)


@pytest.mark.parametrize("model", MODELS)
def test_training_and_readout_do_not_depend_on_the_test(model):
    length = PROBLEM.length if model == "vectorized" else SHIFTED.length
    test_problem = dataclasses.replace(SHIFTED, length=length)
    here, there = prediction(model), prediction(model, test_problem=test_problem)
    # The same but for the nodes that the tolerance adds: about 1e-4 of each.
    assert there.overlaps.to_dict() == pytest.approx(here.overlaps.to_dict(), rel=1e-3)
    assert there.training_loss == pytest.approx(here.training_loss, rel=1e-3)
    assert there.training_error == pytest.approx(here.training_error, abs=1e-4)  # the tolerance
    assert abs(there.test_error - here.test_error) > 0.01


SHARED = {"tokens": TokenCovariance(np.ones(50), 0.5 * np.ones(50), signal=np.eye(1, 50)[0])}


@pytest.mark.parametrize("length", [5, 40])
@pytest.mark.parametrize(("law", "between"), [({}, 0.0), (SHARED, 0.5)], ids=["one", "two"])
def test_pooled_has_a_closed_form(length, law, between):
    """A = R'/L', C^2 = S_b + 1/L', and the readout of the training."""
    problem, tested = (
        SparseTokenProblem(10, 1, 5.0, **law),
        SparseTokenProblem(length, 2, 4.0, 0.3, **law),
    )
    found = prediction("pooled", problem, test_problem=tested)
    w = found.overlaps
    width = math.hypot(w.orthogonal, w.noise) * math.sqrt(between + 1 / length)
    plus = ndtr(-(4.0 * 2 / length * w.orthogonal + w.bias) / width)
    minus = ndtr(w.bias / width)
    assert found.test_error == pytest.approx(0.3 * plus + 0.7 * minus, abs=1e-12)


@pytest.mark.parametrize("alpha1", [2.0, math.inf])
def test_attention_against_plain_draws(alpha1):
    """10^5 plain draws of g for each class: their standard error is about 1e-3."""
    found = prediction(test_problem=SHIFTED, alpha1=alpha1)
    w, (pi, theta, R, L) = found.overlaps, SHIFTED.letters
    rng = np.random.default_rng(0)
    wrong = 0.0
    for y, chance in ((1, pi), (-1, 1 - pi)):
        g = rng.standard_normal((100_000, L))
        v = (np.arange(L) < R) * (y > 0)
        a = np.exp(QUERY.sharpness * (theta * QUERY.cosine * v + g))
        a /= a.sum(axis=1, keepdims=True)
        A, B, C = a @ v, np.sum(a * g, axis=1), np.sqrt(np.sum(a**2, axis=1))
        mu = w.query * (theta * QUERY.cosine * A + B) + w.bias
        mu += w.orthogonal * theta * math.sqrt(1 - QUERY.cosine**2) * A
        wrong += chance * np.mean(ndtr(-y * mu / (C * math.hypot(w.orthogonal, w.noise))))
    assert found.test_error == pytest.approx(wrong, abs=4e-3)


def test_other_labels_mix_the_errors_of_the_classes():
    errors = [
        prediction(test_problem=dataclasses.replace(PROBLEM, positive_rate=pi)).test_error
        for pi in (0.1, 0.5, 0.9)
    ]
    # The same nodes with other weights: exact but for the nodes that a tolerance adds.
    assert errors[1] == pytest.approx((errors[0] + errors[2]) / 2, abs=1e-4)
    assert errors[0] != pytest.approx(errors[2], abs=1e-3)


def test_one_token_and_many():
    """A training law or a test law of two exact nodes goes with a sampled one."""
    one = SparseTokenProblem(1, 1, 5.0, 0.5)
    away, back = prediction(test_problem=one), prediction(problem=one, test_problem=PROBLEM)
    w = away.overlaps
    width = math.sqrt(w.query**2 + w.orthogonal**2 + w.noise**2)
    signal = 5.0 * (0.8 * w.query + 0.6 * w.orthogonal)
    exact = 0.5 * (ndtr(-(signal + w.bias) / width) + ndtr(w.bias / width))
    assert away.test_error == pytest.approx(exact, abs=1e-12)
    for found in (away, back):
        assert found.status.converged
        assert 0 < found.numerical_error < 1e-4


@pytest.mark.parametrize(
    ("model", "test_problem", "word"),
    [
        ("attention", "longer", "test_problem"),
        ("attention", dataclasses.replace(SHIFTED, strength=[1.0, 2.0]), "strength"),
        ("vectorized", SHIFTED, "length"),
    ],
)
def test_bad_input(model, test_problem, word):
    with pytest.raises(InvalidInput, match=word):
        prediction(model, test_problem=test_problem)
