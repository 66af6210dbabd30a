"""Hard attention against a plain Monte Carlo of argmax, and as the limit of sharp softmax.

Equations: hard-attention-law.
"""

import dataclasses
import math

import numpy as np
import pytest

from sparsetoken.model.models import Attention, HardAttention, Pooled
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.theory import align, capacity, predict
from sparsetoken.theory.laws.of_model import feature_law

SETTINGS = [
    ((6, 2, 2.0, 0.3), 0.7),
    ((10, 1, 5.0, 0.5), 0.9),
    ((3, 1, 4.0, 0.5), -0.8),
    ((5, 5, 1.5, 0.6), 0.5),
    ((64, 3, 3.0, 0.5), 1.0),
    ((4, 1, 3.0, 0.5), 0.0),
]


def law_of(letters, cosine):
    problem = SparseTokenProblem(*letters)
    return problem, feature_law(HardAttention(), problem, Query(cosine, 1.0), 512)


@pytest.mark.parametrize(("letters", "cosine"), SETTINGS)
def test_nodes_have_the_moments_of_the_winning_token(letters, cosine):
    problem, law = law_of(letters, cosine)
    pi, theta, R, L = problem.letters
    n, rng = 200_000, np.random.default_rng(1)
    for y, chance in ((1.0, pi), (-1.0, 1 - pi)):
        g = rng.standard_normal((n, L))
        signal = (np.arange(L) < R) * (y > 0)
        winner = np.argmax(g + theta * cosine * signal, axis=1)
        B, A = g[np.arange(n), winner], signal[winner]
        along, across = theta * cosine * A + B, theta * math.sqrt(1 - cosine**2) * A
        here = law.y == y
        weight = law.weight[here]
        own_along, own_across = law.a[here].T
        pairs = [
            (own_along, along),
            (own_along**2, along**2),
            (own_along**3, along**3),
            (own_across, across),
            (own_along * own_across, along * across),
            *((own_along <= edge, along <= edge) for edge in (0.0, 1.0, 2.0, 4.0)),
        ]
        for own, drawn in pairs[:5]:
            # 4 standard errors of 200 000 draws
            error = 4 * drawn.std() / math.sqrt(n) + 1e-12
            assert weight @ own / chance == pytest.approx(drawn.mean(), abs=error)
        for own, drawn in pairs[5:]:
            # and a jump between nodes, which are at most 0.08 apart: a density of 0.6 times that
            error = 4 * math.sqrt(0.25 / n) + 0.05
            assert weight @ own / chance == pytest.approx(drawn.mean(), abs=error)
    np.testing.assert_array_equal(law.C, 1.0)
    assert law.exact


@pytest.mark.parametrize("length", [1, 6, 512, 65536, 2**20])
@pytest.mark.parametrize(("strength", "cosine"), [(3.0, 0.9), (20.0, 1.0), (20.0, -1.0)])
def test_one_token_wins_for_certain(length, strength, cosine):
    for informative in {1, min(3, length)}:
        _, law = law_of((length, informative, strength, 0.5), cosine)
        for y in (1, -1):
            # At 2^20 tokens the density of the largest is a tenth as wide as a panel.
            assert law.weight[law.y == y].sum() == pytest.approx(0.5, abs=1e-11)


def test_one_token_is_pooling():
    problem, law = law_of((1, 1, 2.0, 0.4), 0.6)
    plus = law.y > 0
    mean = law.weight[plus] @ law.a[plus][:, 0] / 0.4
    assert mean == pytest.approx(1.2, abs=1e-12)
    found = predict(problem, HardAttention(Query(0.6, 1.0)))
    assert found.test_error == pytest.approx(predict(problem, Pooled()).test_error, abs=1e-9)


@pytest.mark.parametrize("sharpness", [0.0, 1e-9, 1.0, 1e3])
def test_the_sharpness_plays_no_part(sharpness):
    problem = SparseTokenProblem(6, 1, 3.0)
    query = Query(0.8, sharpness)
    found = predict(problem, HardAttention(query))
    base = predict(problem, HardAttention(Query(0.8, 1.0)))
    assert found == dataclasses.replace(base, sharpness=sharpness)
    assert found.query == query


def test_a_query_that_is_trained_gives_its_cosine():
    problem, steps = SparseTokenProblem(6, 1, 3.0), TwoSteps(alpha0=1.0)
    found = predict(problem, HardAttention(steps))
    query = align(problem, steps).query
    assert found == predict(problem, HardAttention(query))
    assert found.query == query


@pytest.mark.parametrize("loss", ["logistic", "square", "hinge"])
@pytest.mark.parametrize(("letters", "cosine"), SETTINGS[:3])
def test_predictions_of_sharp_softmax_tend_to_it(letters, cosine, loss):
    """Tokens within 1/k of the largest share its weight: the gap falls as 1/k or faster."""
    problem, readout = SparseTokenProblem(*letters), Readout(loss)
    limit = predict(problem, HardAttention(Query(cosine, 1.0)), readout)
    assert limit.status.converged
    assert limit.numerical_error == 0
    gaps = []
    for sharpness in (10.0, 100.0):
        sharp = predict(problem, Attention(Query(cosine, sharpness)), readout, tolerance=1e-3)
        gaps.append(abs(sharp.test_error - limit.test_error))
    # 2 standard errors of the nodes are within 1e-3; the gap at k = 10 is at most 0.05
    assert gaps[1] < 0.1 * gaps[0] + 2e-3
    assert gaps[1] < 5e-3


def test_without_signal_it_has_covers_capacity():
    problem = SparseTokenProblem(7, 2, 0.0)
    found = capacity(problem, HardAttention(Query(0.4, 1.0)))
    assert found.capacity == pytest.approx(2, rel=1e-6)


@pytest.mark.parametrize(
    ("letters", "cosine"),
    [SETTINGS[0], pytest.param(*SETTINGS[1], marks=pytest.mark.slow), SETTINGS[2]],
)
def test_capacities_of_sharp_softmax_tend_to_it(letters, cosine):
    """Tokens within 1/k of the largest share its weight: the gap falls as 1/k or faster."""
    problem = SparseTokenProblem(*letters)
    limit = capacity(problem, HardAttention(Query(cosine, 1.0))).capacity
    gaps = []
    for sharpness in (30.0, 1e3, 1e6):
        found = capacity(problem, Attention(Query(cosine, sharpness)), tolerance=1e-3)
        assert found.status.converged
        gaps.append(abs(found.capacity / limit - 1))
    # 2 standard errors of the nodes are within 1e-3.
    assert gaps[1] < 0.1 * gaps[0] + 1.5e-3
    assert gaps[2] < 1.5e-3
