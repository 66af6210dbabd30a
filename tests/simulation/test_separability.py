"""Separability against the linear program, and cases built from their answer."""

import numpy as np
import pytest
from scipy.optimize import linprog

from sparsetoken.model.models import Attention, Elementwise
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query
from sparsetoken.simulation import draw_training_set, is_separable


def linear_program(G):
    """Return whether G x > 0 has a solution, by its dual.

    The program maximises sum_i u_i over G^T u = 0, 0 <= u <= 1. Its value is 0 (solvable) or at
    least 1 (not), since a u can be scaled until its largest entry is 1.
    """
    rows = G / np.linalg.norm(G, axis=1, keepdims=True)
    n, m = rows.shape
    solution = linprog(-np.ones(n), A_eq=rows.T, b_eq=np.zeros(m), bounds=(0, 1))
    assert solution.status == 0
    return bool(-solution.fun < 0.5)


@pytest.mark.parametrize("seed", range(12))
def test_agrees_with_the_linear_program_around_the_transition(seed):
    problem = SparseTokenProblem(4, 1, 2.0, 0.5)
    model, alpha = Attention(Query(0.8, 1.0)), 2.2 + 0.08 * seed
    F, y = draw_training_set(problem, model, alpha, dimension=30, seed=seed)
    G = y[:, None] * np.column_stack([F, np.ones(len(F))])
    assert is_separable(F, y) == linear_program(G)


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_the_linear_program_where_samples_differ_by_orders_of_magnitude(seed):
    """Lengths of features with weights exp(8 t) span ten orders."""
    problem, model = SparseTokenProblem(5, 1, 4.0, 0.4), Elementwise(Query(0.6, 8.0), "exp")
    F, y = draw_training_set(problem, model, 3.0, dimension=40, seed=seed)
    lengths = np.linalg.norm(F, axis=1)
    G = y[:, None] * np.column_stack([F, np.full(len(F), np.median(lengths))])
    assert is_separable(F, y) == linear_program(G)


def test_a_set_that_takes_many_steps_is_decided():
    """More than 10 for each sample; a linear program finds a margin too."""
    problem, model = SparseTokenProblem(5, 1, 4.0, 0.4), Elementwise(Query(0.6, 8.0), "exp")
    F, y = draw_training_set(
        problem, model, 5.70894, dimension=240, seed=20, trial=0, engine="tensors"
    )
    assert is_separable(F[:837], y[:837])


@pytest.mark.parametrize("offset", [0.0, 50.0])
def test_separable_by_construction(offset):
    rng = np.random.default_rng(0)
    F = rng.standard_normal((200, 30)) + offset
    scores = (F - offset) @ rng.standard_normal(30) + 0.3
    F, scores = F[np.abs(scores) > 0.2], scores[np.abs(scores) > 0.2]
    y = np.sign(scores)
    assert is_separable(F, y)
    # the midpoint of two positives, called negative, is in their convex hull
    two = F[y == 1][:2]
    assert not is_separable(np.vstack([F, two.mean(axis=0)]), np.append(y, -1))


def test_small_cases():
    square = np.array([[0.0, 0], [1, 1], [0, 1], [1, 0]])
    assert not is_separable(square, np.array([1, 1, -1, -1]))
    assert is_separable(square, np.array([1, 1, 1, -1]))
    assert is_separable(1e-12 * square, np.array([1, 1, 1, -1]))
    assert is_separable(square, np.ones(4))
    assert not is_separable(np.zeros((2, 1)), np.array([1, -1]))
