"""Descents in numbers: every form that rates, starts and decay may have, and what is refused."""

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.descent_step import Iterate, gradient_step
from sparsetoken.model.training import training_of

PROBLEM = st.SparseTokenProblem(4, 1, 3.0)
CLASSES = st.model.ConceptProblem(
    4, [3.0, 2.0], [[1, 0], [0, 1], [0, 0]], [0.4, 0.4, 0.2], [0, 1, 2]
)
TWO = st.networks.Softmax(heads=2)  # q1, q2, w1, w2
RAMP = [1.0, 2.0, 3.0]


class _Unhashable:
    __hash__ = None

    def __call__(self, scores, y):
        return (scores - y) ** 2


def _training(task=PROBLEM, network=TWO, **fields):
    return training_of(task, st.Descent(network, 2.0, 3, **fields))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (2.0, np.full((3, 4), 2.0)),
        ([1.0, 2.0, 3.0, 4.0], np.tile([1.0, 2.0, 3.0, 4.0], (3, 1))),
        (np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(3, 4)),
        ([[1.0], [2.0], [3.0]], np.repeat([[1.0], [2.0], [3.0]], 4, axis=1)),
        ({"q": 4.0, "w": 1.0}, np.tile([4.0, 4.0, 1.0, 1.0], (3, 1))),
        ({"q": 4.0, "q2": 5.0, "w": RAMP}, np.stack([[4.0] * 3, [5.0] * 3, RAMP, RAMP], axis=1)),
    ],
)
def test_forms_of_rates(given, expected):
    training = _training(rates=given)
    np.testing.assert_array_equal(training.rates, expected)
    np.testing.assert_array_equal(training.moves, expected > 0)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (0.5, [0.5, 0.5, 0.5, 0.5]),
        ([0.1, 0.0, 0.3, 0.4], [0.1, 0.0, 0.3, 0.4]),
        ({"q1": 0.7, "q": 0.2, "w": 0.1}, [0.7, 0.2, 0.1, 0.1]),
    ],
)
def test_forms_of_start_and_decay(given, expected):
    training = _training(start=given, decay=given)
    np.testing.assert_array_equal(training.decay, expected)
    # Columns are orthogonal, and those of norm 0 take no direction.
    np.testing.assert_array_equal(training.start.T @ training.start, np.diag(np.square(expected)))
    assert len(training.start) == 1 + np.count_nonzero(expected)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (0.5, np.full((4, 2), 0.5)),
        ([1.0, 2.0, 3.0, 4.0], np.repeat([[1.0], [2.0], [3.0], [4.0]], 2, axis=1)),
        (np.arange(8.0).reshape(4, 2), np.arange(8.0).reshape(4, 2)),
        ({"q": [1.0, -2.0], "w": 0.5}, [[1.0, -2.0], [1.0, -2.0], [0.5, 0.5], [0.5, 0.5]]),
        ({"q1": 3.0, "q2": 0.0, "w": [0.1, 0.2]}, [[3, 3], [0, 0], [0.1, 0.2], [0.1, 0.2]]),
    ],
)
def test_forms_of_overlaps(given, expected):
    two = st.model.ConceptProblem(4, [3.0, 2.0], [[1, 1], [0, 0]], [0.4, 0.6], [1, 0])
    np.testing.assert_array_equal(_training(two, start_overlaps=given).start[:2].T, expected)


def test_defaults_are_those_of_the_network():
    training = _training(network=st.networks.Gated(hidden=2))
    np.testing.assert_array_equal(training.start_c, [0.0, 1.0, -1.0])
    norms = st.networks.Gated(hidden=2).start_norms(1)
    np.testing.assert_array_equal(np.linalg.norm(training.start, axis=0), norms)


def test_schedules_of_further_weights_and_momentum():
    training = _training(rate_c=RAMP, momentum=[0.0, 0.1, 0.2], start_c=[0.25])
    np.testing.assert_array_equal(training.rates_c, RAMP)
    np.testing.assert_array_equal(training.momentum, [0.0, 0.1, 0.2])
    np.testing.assert_array_equal(training.start_c, [0.25])


def test_columns_and_weights_have_one_readout_for_each_of_three_classes():
    training = _training(CLASSES)
    assert training.columns == ("q1", "q2", "w1_0", "w1_1", "w1_2", "w2_0", "w2_1", "w2_2")
    assert training.weights == ("b0", "b1", "b2")
    by_stem = _training(CLASSES, rates={"q": 1.0, "w": 2.0, "w2_1": 4.0})
    np.testing.assert_array_equal(by_stem.rates[0, :5], [1.0, 1.0, 2.0, 2.0, 2.0])
    np.testing.assert_array_equal(by_stem.rates[0, 5:], [2.0, 4.0, 2.0])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rates": [1.0, 2.0]}, "4 numbers, for the columns q1, q2, w1, w2"),
        ({"rates": np.ones((2, 4))}, "shape (3, 4) or (3, 1)"),
        ({"rates": {"q": 1.0}}, "no number for w1"),
        ({"rates": {"q": 1.0, "w": 1.0, "v": 1.0}}, "a number for v"),
        ({"rates": {"v": 1.0}}, "a number for v"),
        ({"rates": {"q": 1.0, "w": [1.0, 2.0]}}, "one for each step"),
        ({"rates": -1.0}, "rates"),
        ({"rates": np.nan}, "rates"),
        ({"start": [0.5, 0.5]}, "4 numbers"),
        ({"start": {"q": 1.0}}, "no number for w1"),
        ({"start": -0.5}, "start"),
        ({"decay": [0.1] * 5}, "4 numbers"),
        ({"start": {"q": 1.0, "w": [0.5, 0.5]}}, "one for each name"),
        ({"start": 1e6}, "at most 100000; got 1000000"),
        ({"start_overlaps": -1e6}, "at most 100000"),
        ({"start": 9e4, "start_overlaps": 9e4}, "at most 100000"),
        ({"start_overlaps": {"q": [0.1, 0.2], "w": 0.0}}, "1 numbers, one for each signal"),
        ({"start_overlaps": {"q": [[0.1]], "w": 0.0}}, "1 numbers, one for each signal"),
        ({"decay": {"q": [0.1], "w": [0.1]}}, "one for each name"),
        ({"start_c": [0.0, 1.0]}, "1 numbers: b"),
        ({"start_c": [-2e5]}, "at most 100000; got 200000"),
        ({"loss": _Unhashable()}, "lambda scores, y: own(scores, y)"),
        ({"rate_c": [0.1, 0.2]}, "rate_c"),
        ({"loss": "absolute"}, "loss"),
        ({"loss": "hinge"}, "continuous"),
        ({"rate_c": [1.0, -1.0, 1.0]}, "rate_c entry"),
        ({"momentum": [[1.0]]}, "momentum entry"),
        ({"network": "softmax"}, "Softmax()"),
    ],
)
def test_bad_input(fields, message):
    with pytest.raises(InvalidInput) as raised:
        _training(**fields)
    assert message in str(raised.value)


def test_three_classes_have_the_logistic_loss_or_one_of_ones_own():
    with pytest.raises(InvalidInput, match="K > 2"):
        _training(CLASSES, loss="squared_hinge")
    assert _training(CLASSES, loss=lambda scores, y: -scores[y]).task.outputs == 3


@pytest.mark.parametrize("start", [{"start": 1e5}, {"start_c": [-1e5]}])
def test_the_largest_start_is_followed(start):
    found = st.descend(PROBLEM, st.Descent(st.networks.Pooled(), steps=1, **start), replicas=2)
    assert np.isfinite(found.test_error[0])


def test_a_step_in_parts_of_the_space_is_the_step_in_all_of_it():
    """With momentum, decay, and a column that keeps its norm."""
    given = {"momentum": 0.3, "decay": 0.1, "rates": {"q": 2.0, "w": 0.7}, "sphere": "q"}
    training = training_of(PROBLEM, st.Descent(steps=2, **given))
    rng = np.random.default_rng(0)
    U, before, by_U = rng.standard_normal((3, 7, 2))
    c, c_before, by_c = np.array([[0.5], [0.2], [-1.0]])

    def after(*parts):
        at = [[x[own] for own in parts] for x in (U, before, by_U)]
        now = Iterate(at[0], c, at[1], c_before)
        return gradient_step(training, 1, now, at[2], by_c)

    whole, parts = after(slice(None)), after(slice(3), slice(3, None))
    np.testing.assert_allclose(np.concatenate(parts.U), whole.U[0], rtol=1e-12)
    q, w = training.columns.index("q"), training.columns.index("w")
    moved = whole.U[0]
    assert np.linalg.norm(moved[:, q]) == pytest.approx(np.linalg.norm(U[:, q]))
    by_hand = U - 0.7 * (by_U + 0.1 * U) + 0.3 * (U - before)
    np.testing.assert_allclose(moved[:, w], by_hand[:, w], rtol=1e-12)
    assert whole.c == pytest.approx(c - 0.5 * by_c + 0.3 * (c - c_before))
    np.testing.assert_array_equal(whole.U_before[0], U)
