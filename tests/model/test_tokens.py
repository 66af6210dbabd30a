"""Laws of tokens as values: validation, equality, JSON, samples."""

import dataclasses
import pickle

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.tokens import Isotropic, TokenCovariance

XI = np.array([0.6, 0.0, 0.8])
S = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.1], [0.0, 0.1, 0.5]])


@pytest.mark.parametrize(
    ("within", "between", "signal", "words"),
    [
        (S + np.triu(np.ones((3, 3)), 1), None, XI, "symmetric; got 'S - S.T with an entry of 1'"),
        (np.diag([1.0, -0.5, 1.0]), None, XI, "smallest eigenvalue of -0.5"),
        ([1.0, -0.25, 1.0], None, XI, "smallest eigenvalue of -0.25"),
        (S, np.diag([1.0, 1.0, -2.0]), XI, "between covariance must be positive semidefinite"),
        (np.zeros((3, 3)), None, XI, "trace > 0"),
        (S, np.zeros(3), XI, "Leave out what is 0"),
        (S[:2], None, XI, r"shape \(2, 3\)"),
        (S, np.eye(2), XI, r"shape \(3, 3\) or \(3,\)"),
        (S, None, XI[:2], "3 numbers"),
        (S, None, 2 * XI, "norm 2"),
        (S, None, [XI, XI], "rows with an inner product of 1"),
        (S, None, [XI, 2 * XI], "norm 2"),
        (S, None, np.zeros((4, 3)), r"shape \(4, 3\)"),
        (S, None, np.zeros((0, 3)), r"shape \(0, 3\)"),
        (S, None, None, "Give the projections of the signal"),
        ("S", None, XI, "array of numbers"),
        ([1.0, np.nan, 1.0], None, XI, "not finite"),
        ([1.0 + 2j, 1.0, 1.0], None, XI, "of complex128"),
        ([1e60, 1.0, 1.0], None, XI, "entries of at most"),
    ],
)
def test_bad_covariances(within, between, signal, words):
    with pytest.raises(InvalidInput, match=words):
        TokenCovariance(within, between, signal=signal)


def test_several_signals_are_those_of_a_task():
    assert TokenCovariance(S, signal=[XI]) == TokenCovariance(S, signal=XI)
    rows = np.eye(3)[:2]
    tokens = TokenCovariance(S, signal=rows)
    assert np.array_equal(tokens.signals, rows)
    assert tokens != TokenCovariance(S, signal=rows[::-1])
    with pytest.raises(InvalidInput, match=r"shape \(d,\) for one"):
        st.SparseTokenProblem(tokens=tokens)


def test_a_covariance_is_a_value():
    one, same = TokenCovariance(S, np.eye(3), signal=XI), TokenCovariance(S.copy(), np.eye(3), XI)
    assert one == same
    assert hash(one) == hash(same)
    others = [
        TokenCovariance(S, signal=XI),
        TokenCovariance(S, 2 * np.eye(3), signal=XI),
        TokenCovariance(S, np.eye(3), signal=-XI),
        Isotropic(),
    ]
    assert all(one != other for other in others)
    assert len({one, same, *others}) == 5
    with pytest.raises(ValueError, match="read-only"):
        one.within[0, 0] = 3.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.within = S
    assert pickle.loads(pickle.dumps(one)) == one


def test_queries_as_vectors():
    query = st.Query(vector=[3.0, 0.0, 4.0], sharpness=[0.5, 1.0])
    assert query.vector == (0.6, 0.0, 0.8)
    for bad in ([0.0, 0.0], [[1.0, 0.0]], 1.0, "q"):
        with pytest.raises(InvalidInput, match="vector of the query"):
            st.Query(vector=bad, sharpness=1.0)


def test_a_query_is_given_in_one_way():
    for given in ({}, {"cosine": 0.5, "vector": XI}, {"vector": XI, "cosines": {"place": 0.5}}):
        with pytest.raises(InvalidInput, match="one of cosine, vector and cosines"):
            st.Query(sharpness=1.0, **given)
    vectors = np.random.default_rng(0).standard_normal((50, 40))
    queries = [st.Query(0.5), st.Query(cosines={"a": 0.5}), *(st.Query(vector=v) for v in vectors)]
    for query in queries:
        assert eval(repr(query), {"Query": st.Query}) == query
        assert dataclasses.replace(query, sharpness=1.0) == query


def test_a_query_that_is_a_vector_needs_a_frame():
    model = st.Attention(st.Query(vector=XI, sharpness=1.0))
    for run in (st.predict, st.simulate):
        with pytest.raises(InvalidInput, match="isotropic tokens"):
            run(st.SparseTokenProblem(3), model)
    tokens = TokenCovariance(np.ones(4), signal=[1.0, 0.0, 0.0, 0.0])
    for run in (st.predict, st.simulate):
        with pytest.raises(InvalidInput, match=r"of shape \(4,\)"):
            run(st.SparseTokenProblem(3, tokens=tokens), model)


def test_noise_has_the_covariances():
    """3 tokens of 20000 samples: entries of covariances within 4 standard errors."""
    law = TokenCovariance(S, [0.3, 0.0, 0.1], signal=XI)
    noise = law.sample_noise(20_000, 3, 3, np.random.default_rng(0))
    between = np.einsum("na,nb->ab", noise[:, 0], noise[:, 1]) / 20_000
    whole = np.einsum("na,nb->ab", noise[:, 2], noise[:, 2]) / 20_000
    assert between == pytest.approx(np.diag([0.3, 0.0, 0.1]), abs=4 * 2.4 / 141)
    assert whole == pytest.approx(S + np.diag([0.3, 0.0, 0.1]), abs=4 * 2.4 * 1.5 / 141)


def test_the_dimension_is_that_of_the_covariance():
    problem = st.SparseTokenProblem(3, tokens=TokenCovariance(S, signal=XI))
    with pytest.raises(InvalidInput, match="omit it"):
        st.simulate(problem, st.Pooled(), dimension=100)
    found = st.simulate(problem, st.Pooled(), st.Readout(alpha1=5.0), trials=2, engine="tensors")
    assert 0 < found.mean.test_error < 1
