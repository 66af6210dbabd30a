"""Leave-one-out against refits, against an independent solver, and built backwards.

Equations: leave-one-out.
"""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from numerics.two_classes import problem
from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import get_loss
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.numerics.leave_one_out import leave_one_out

SHAPES = [(120, 30), (90, 85), (40, 100)]
LOSSES = ["square", "logistic", "squared_hinge"]


def refits(F, y, loss, ridge, samples):
    """Return the score of each of the samples under the fit to the others."""
    n, scores = len(y), []
    for i in samples:
        others = np.arange(n) != i
        fit = fit_readout(F[others], y[others], loss, ridge * n / (n - 1))
        assert fit.converged
        scores.append(F[i] @ fit.w + fit.b)
    return np.array(scores)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ridge", [1.0, 1e-2, 1e-5])
@pytest.mark.parametrize("offset", [0.0, -4.0])
def test_square_loss_is_exact(shape, ridge, offset):
    F, y = problem(*shape, offset=offset)
    found = leave_one_out(F, y, get_loss("square"), ridge)
    samples = range(0, len(y), 3)
    again = refits(F, y, get_loss("square"), ridge, samples)
    # slopes of rounding size 1e-16 are magnified by about 100 / ridge
    np.testing.assert_allclose(found.scores[::3], again, atol=1e-8)
    assert found.converged


def test_square_loss_without_ridge_is_the_textbook_formula():
    """Residual over 1 - leverage, with the leverages of least squares with an intercept."""
    F, y = problem(60, 10)
    full = np.column_stack([F, np.ones(60)])
    hat = full @ np.linalg.pinv(full)
    expected = y - (y - hat @ y) / (1 - np.diag(hat))
    found = leave_one_out(F, y, get_loss("square"), 1e-10)
    # the ridge moves scores by its size times a condition number of about 10
    np.testing.assert_allclose(found.scores, expected, atol=1e-7)


def test_the_standard_error_is_that_of_a_share():
    F, y = problem(50, 10)
    found = leave_one_out(F, y, get_loss("square"), 0.1)
    wrong = np.sign(found.scores) != y
    assert 0 < found.test_error == wrong.mean() < 0.5
    assert found.standard_error == pytest.approx(wrong.std() / np.sqrt(50), rel=1e-12)


@pytest.mark.parametrize(("name", "least"), [("logistic", 0.75), ("squared_hinge", 0.45)])
def test_the_error_against_refits_shrinks_with_the_dimension(name, least):
    """Errors fall as 1/d, and as d^(-3/4) where the curvature jumps."""
    loss, ridge, sizes, errors = get_loss(name), 0.05, (15, 30, 60, 120), []
    for d, sets in zip(sizes, (16, 8, 4, 2), strict=True):
        squares = []
        for seed in range(sets):
            F, y = problem(2 * d, d, seed=seed, shift=3.0)
            samples = np.arange(2 * d)[:: d // 15]
            found = leave_one_out(F, y, loss, ridge)
            again = refits(F, y, loss, ridge, samples)
            squares.append(np.mean((found.scores[samples] - again) ** 2))
        errors.append(np.sqrt(np.mean(squares)))
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert slope < -least


@pytest.mark.parametrize("shape", [(60, 8), (30, 45)])
def test_logistic_agrees_with_refits_by_scikit_learn(shape):
    """Its usual objective is a sum over samples with C fixed: the one of the left-out fit."""
    F, y = problem(*shape)
    n, ridge, expected = len(y), 0.3, []
    for i in range(n):
        others = np.arange(n) != i
        other = LogisticRegression(C=1 / (n * ridge), tol=1e-10, max_iter=1000)
        expected += list(other.fit(F[others], y[others]).decision_function(F[i : i + 1]))
    found = leave_one_out(F, y, get_loss("logistic"), ridge)
    effect = np.sqrt(np.mean((found.fit.scores - expected) ** 2))
    # a first-order step for a change of 1/n: a few percent of the change itself
    assert np.sqrt(np.mean((found.scores - expected) ** 2)) < 0.03 * effect


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ridge", [1.0, 1e-3])
def test_leverages_are_those_of_the_inverse_hessian(name, shape, ridge):
    F, y = problem(*shape)
    loss, (n, m) = get_loss(name), shape
    found = leave_one_out(F, y, loss, ridge)
    z = found.fit.scores
    full, bend = np.column_stack([F, np.ones(n)]), loss.curvature(y, z)
    for i in range(0, n, 7):
        others = np.where(np.arange(n) == i, 0.0, bend)
        H = (full.T * others) @ full / n + ridge * np.diag(np.append(np.ones(m), 0.0))
        gain = full[i] @ np.linalg.solve(H, full[i]) / n
        # scores of size 10 and condition numbers of 1e5
        assert found.scores[i] == pytest.approx(z[i] + gain * loss.slope(y, z)[i], abs=1e-7)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_score_in_the_fit_is_the_prox_of_the_left_out_score(name, shape):
    F, y = problem(*shape)
    loss = get_loss(name)
    found = leave_one_out(F, y, loss, 0.1)
    z, slope = found.fit.scores, loss.slope(y, found.fit.scores)
    pulled = np.abs(slope) > 1e-6
    gain = (found.scores - z)[pulled] / slope[pulled]
    assert np.all(gain > 0)
    assert pulled.any()
    np.testing.assert_allclose(
        loss.prox(y[pulled], found.scores[pulled], gain), z[pulled], atol=1e-9
    )
    np.testing.assert_array_equal(found.scores[slope == 0], z[slope == 0])


@pytest.mark.parametrize("y", [[1, -1], [1, 1, 1, -1, -1], [1, -1, -1, -1, 1, -1, -1]])
def test_without_information_the_others_vote(y):
    y = np.array(y)
    found = leave_one_out(np.zeros((len(y), 2)), y, get_loss("square"), 0.1)
    np.testing.assert_allclose(found.scores, (y.sum() - y) / (len(y) - 1), atol=1e-12)


def test_one_class_without_a_minimum_says_so():
    F, _ = problem(30, 5)
    found = leave_one_out(F, np.ones(30), get_loss("logistic"), 0.1)
    assert not found.converged
    assert "one class" in found.reason
    assert np.isfinite(found.scores).all()


GOOD = np.array([[0.5, 1.0], [1.0, -1.0], [0.0, 2.0]])
LABELS = np.array([1, -1, 1])


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"features": GOOD[0]}, "features"),
        ({"features": GOOD[:1], "labels": [1]}, "n >= 2"),
        ({"features": GOOD[:, :0]}, "features"),
        ({"features": np.where(GOOD == 0, np.nan, GOOD)}, "finite"),
        ({"labels": [1, -1]}, "labels"),
        ({"labels": [1, -1, 0]}, "labels"),
        ({"ridge": 0.0}, "ridge"),
        ({"ridge": np.inf}, "ridge"),
        ({"loss": "logistic"}, r"get_loss\('logistic'\)"),
        ({"loss": get_loss("hinge")}, "squared_hinge has one"),
    ],
)
def test_bad_input(change, word):
    good = {"features": GOOD, "labels": LABELS, "loss": get_loss("square"), "ridge": 0.1}
    assert leave_one_out(**good).converged
    with pytest.raises(InvalidInput, match=word):
        leave_one_out(**{**good, **change})
