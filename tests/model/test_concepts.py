"""Tasks with several signals: the law of their samples, and what is refused."""

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.base import check_problem

GIVEN = {
    "length": 5,
    "strengths": [40.0, 60.0],
    "patterns": [[2, 1], [0, 3], [0, 0]],
    "rates": [0.5, 0.3, 0.2],
    "labels": [2, 0, 1],
}
TASK = st.model.ConceptProblem(**GIVEN)
SIGNALS = np.linalg.qr(np.random.default_rng(5).standard_normal((7, 2)))[0].T


def _sample(n=2000, **options):
    return TASK.sample(n, SIGNALS, np.random.default_rng(0), **options)


def test_bags_hold_as_many_tokens_of_each_signal_as_their_kind():
    tokens, classes = _sample()
    # Strengths of 40 and 60 stand out of unit noise by more than 20 standard deviations.
    counts = (tokens @ SIGNALS.T > 20).sum(axis=1)
    of_class = {label: row for row, label in zip(TASK.patterns, TASK.labels, strict=True)}
    np.testing.assert_array_equal(counts, [of_class[y] for y in classes])
    assert ((tokens @ SIGNALS.T > 20).sum(axis=2) <= 1).all()


def test_kinds_have_their_rates_and_places_are_uniform():
    tokens, classes = _sample()
    for rate, label in zip(TASK.rates, TASK.labels, strict=True):
        # four standard errors of a share
        assert abs(np.mean(classes == label) - rate) < 4 * np.sqrt(rate * (1 - rate) / 2000)
    held = (tokens[classes == 0] @ SIGNALS[1] > 20).mean(axis=0)
    bags = np.sum(classes == 0)
    np.testing.assert_allclose(held, 3 / 5, atol=4 * np.sqrt(0.24 / bags))


def test_noise_is_standard_and_signals_have_their_strengths():
    tokens, classes = _sample()
    empty = tokens[classes == 1].ravel()
    assert abs(empty.mean()) < 4 / np.sqrt(empty.size)
    assert abs(empty.var() - 1) < 4 * np.sqrt(2 / empty.size)
    along = tokens @ SIGNALS.T
    for p, strength in enumerate((40.0, 60.0)):
        seen = along[..., p][along[..., p] > 20]
        assert abs(seen.mean() - strength) < 4 / np.sqrt(seen.size)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_types_and_shapes(dtype):
    X, y = _sample(11, dtype=dtype)
    assert (X.shape, X.dtype, y.shape) == ((11, 5, 7), dtype, (11,))
    assert np.issubdtype(y.dtype, np.integer)


@pytest.mark.parametrize(
    ("n", "signals", "message"),
    [
        (-1, SIGNALS, "n must be an integer"),
        (2.0, SIGNALS, "n must be an integer"),
        (2, SIGNALS[0], "shape (2, d)"),
        (2, SIGNALS[:1], "shape (2, d)"),
        (2, SIGNALS.T, "shape (2, d)"),
        (2, SIGNALS[:, :1], "d >= 2"),
    ],
)
def test_samples_of_wrong_sizes(n, signals, message):
    with pytest.raises(InvalidInput) as raised:
        TASK.sample(n, signals, np.random.default_rng(0))
    assert message in str(raised.value)


def test_two_classes_are_minus_one_and_one():
    assert (TASK.outputs, TASK.some_targets().tolist()) == (3, [2, 0, 1])
    two = st.model.ConceptProblem(**GIVEN | {"labels": [1, 0, 0]})
    assert (two.outputs, two.some_targets().tolist()) == (1, [1, -1, -1])
    _, y = two.sample(200, SIGNALS, np.random.default_rng(0))
    assert set(y) == {-1, 1}


def test_a_sparse_problem_has_two_kinds_of_bags():
    sparse = st.SparseTokenProblem(4, 2, 3.0, 0.3)
    latent = sparse.of_each_kind(2, np.random.default_rng(0))
    assert latent["informative"].sum(axis=1).tolist() == [2, 2, 0, 0]
    assert sparse.targets(latent, np.empty(0)).tolist() == [1, 1, -1, -1]
    assert sparse.rates == pytest.approx((0.3, 0.7), abs=1e-15)
    with pytest.raises(InvalidInput, match="ConceptProblem"):
        check_problem(3)


def test_rates_add_up_to_one():
    slightly = st.model.ConceptProblem(**GIVEN | {"rates": [0.5, 0.3, 0.2 + 4e-10]})
    assert sum(slightly.rates) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"length": 0}, "length"),
        ({"length": 2}, "No token holds two signals"),
        ({"strengths": []}, "strengths"),
        ({"strengths": [-1.0, 2.0]}, "strengths"),
        ({"strengths": [np.nan, 2.0]}, "strengths"),
        ({"strengths": [1.0]}, "one for each of the strengths"),
        ({"patterns": []}, "patterns"),
        ({"patterns": 3}, "patterns"),
        ({"patterns": [[0, 1], [1]]}, "rows of 2"),
        ({"patterns": [[0.5, 1], [0, 0], [1, 0]]}, "entry of patterns"),
        ({"patterns": [[-1, 1], [0, 0], [1, 0]]}, "entry of patterns"),
        ({"rates": [0.5, 0.5]}, "one for each row of patterns"),
        ({"rates": [0.5, 0.3, 0.1]}, "0.9"),
        ({"rates": [0.8, 0.2, 0.0]}, "entry of rates"),
        ({"labels": [0, 1]}, "one for each row of patterns"),
        ({"labels": [0, 0, 0]}, "two or more"),
        ({"labels": [0, 2, 2]}, "each occurs"),
        ({"labels": [0, 1, 1.5]}, "entry of labels"),
    ],
)
def test_bad_input(changed, message):
    with pytest.raises(InvalidInput) as raised:
        st.model.ConceptProblem(**(GIVEN | changed))
    assert message in str(raised.value)
