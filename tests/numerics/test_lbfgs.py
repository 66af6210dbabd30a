"""Descents of several functions at once."""

from __future__ import annotations

import numpy as np

from sparsetoken.numerics.lbfgs import descend_together


def test_descents_find_the_minima_of_several_functions() -> None:
    rng = np.random.default_rng(4)
    roots = rng.standard_normal((3, 5, 5))
    A, b = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(5), rng.standard_normal((3, 5))

    def evaluate(x: np.ndarray, of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        moved = np.einsum("sij,sj->si", A[of], x)
        return 0.5 * (x * moved).sum(axis=1) - (b[of] * x).sum(axis=1), moved - b[of]

    found = descend_together(evaluate, np.zeros((3, 5)), 200, 1e-15)
    expected = np.stack([np.linalg.solve(a, r) for a, r in zip(A, b, strict=True)])
    # Values are exact to 1e-15, so that points are to the root of it, times the condition.
    np.testing.assert_allclose(found.points, expected, rtol=1e-4, atol=1e-5)


def test_descents_never_rise_and_do_not_touch_one_another() -> None:
    def evaluate(x: np.ndarray, of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Rosenbrock's valley."""
        a, b = x.T
        value = (1 - a) ** 2 + 100 * (b - a**2) ** 2
        return value, np.stack([2 * (a - 1) - 400 * a * (b - a**2), 200 * (b - a**2)], axis=1)

    starts = np.array([[-1.2, 1.0], [2.0, -1.0], [1.0, 1.0]])
    values = [descend_together(evaluate, starts, steps, 1e-16).values for steps in (1, 5, 20, 200)]
    assert (np.diff([evaluate(starts, np.arange(3))[0], *values], axis=0) <= 0).all()
    assert values[-1].max() < 1e-8
    alone = descend_together(evaluate, starts[:1], 5, 1e-16).values
    assert alone[0] == values[1][0]


def test_a_finished_function_is_not_evaluated_again() -> None:
    counts = np.zeros(2, dtype=int)

    def evaluate(x: np.ndarray, of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return 1 + |x|^2 / 2, and the same of a long valley, which needs more steps."""
        counts[of] += 1
        steep = np.stack([np.ones(2), [1.0, 1e4]])[of]
        return 1 + 0.5 * (steep * x**2).sum(axis=1), steep * x

    found = descend_together(evaluate, np.ones((2, 2)), 30, 1e-12)
    np.testing.assert_allclose(found.values, 1, rtol=1e-10)
    assert counts[0] <= 4  # one step reaches the minimum, another gains nothing
    assert counts[1] > 2 * counts[0]
