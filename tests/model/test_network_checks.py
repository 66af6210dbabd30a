"""Networks and losses of one's own: what cannot be trained is refused with its reason."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.network_checks import check_network, is_symmetric
from sparsetoken.model.task_law import law_of

LAW = law_of(st.SparseTokenProblem(4, 1, 3.0))
CLASSES = law_of(st.model.ConceptProblem(4, [3.0], [[2], [1], [0]], [0.4, 0.4, 0.2], [0, 1, 2]))
GOOD = st.networks.Network(lambda H, c: jax.nn.logsumexp(H[:, 0]) + c[0], columns=2, weights=1)


def _own(function):
    return st.networks.Network(function, columns=2, weights=1)


@pytest.fixture
def calls():
    """Return a count that grows with each call of a function that is not pure."""
    return itertools.count(1)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda H, c: H[:, 0], "a number"),
        (lambda H, c: H[:, 5:].sum(axis=1)[7] + H.reshape(3, 3), "jax.numpy"),
        (lambda H, c: np.sum(np.asarray(H)), "written with jax.numpy"),
        (lambda H, c: 1.0 if H[0, 0] > 0 else 0.0, "written with jax.numpy"),
        (lambda H, c: jnp.log(-jnp.abs(H[0, 0])), "nan or inf"),
        (lambda H, c: jnp.sign(H[:, 0]).sum(), "a derivative of 0 everywhere"),
        (lambda H, c: jnp.sqrt(H[:, 0].sum() * 0.0), "a derivative of nan"),
    ],
)
def test_functions_that_cannot_be_trained(function, message):
    with pytest.raises(InvalidInput) as raised:
        check_network(_own(function), LAW, GOOD_LOSS)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (
            _own(lambda H, c: H[:, 5].mean() + c[0]),
            "index 5 is out of bounds for axis 1",
        ),
        (_own(lambda H, c: H[4, 0] + c[0]), "index 4 is out of bounds for axis 0 with size 4"),
        (_own(lambda H, c: H.mean() + c[1]), "index 1 is out of bounds for axis 0 with size 1"),
        (
            st.networks.Network(lambda H, c: H.mean(), 2, token_weights=lambda H, c: H[:, 2]),
            "index 2 is out of bounds for axis 1 with size 2",
        ),
    ],
)
def test_an_index_outside_of_the_arguments_is_refused(network, message):
    with pytest.raises(InvalidInput, match=message) as raised:
        st.descend(st.SparseTokenProblem(4, 1, 3.0), st.Descent(network, alpha=1.0, steps=1))
    assert f"H of shape (4, 2) and c of shape ({len(network.weights)},)" in str(raised.value)


def test_what_only_arrays_of_jax_can_do_is_allowed():
    check_network(_own(lambda H, c: H.at[0, 0].set(0.0).mean() + c[0]), LAW, GOOD_LOSS)


def GOOD_LOSS(scores, y):
    return jnp.log1p(jnp.exp(-y * scores)) if jnp.ndim(scores) == 0 else -scores[y]


def test_a_function_with_a_state_is_refused(calls):
    with pytest.raises(InvalidInput, match="pure"):
        check_network(_own(lambda H, c: H[:, 0].sum() + next(calls)), LAW, GOOD_LOSS)


def test_three_classes_need_three_scores():
    with pytest.raises(InvalidInput, match=r"of shape \(3,\)"):
        check_network(GOOD, CLASSES, GOOD_LOSS)
    check_network(_own(lambda H, c: jnp.append(H.mean(axis=0), c)), CLASSES, GOOD_LOSS)


def test_good_ones_pass():
    check_network(GOOD, LAW, GOOD_LOSS)
    check_network(st.networks.Gated(), LAW, GOOD_LOSS)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (lambda scores, y: jnp.stack([scores, scores]), "whose value is a number"),
        (lambda scores: scores, "written with jax.numpy"),
        (lambda scores, y: jnp.log(scores - scores), "nan or inf"),
    ],
)
def test_losses_that_cannot_be_followed(loss, message):
    with pytest.raises(InvalidInput) as raised:
        check_network(GOOD, LAW, loss)
    assert message in str(raised.value)


def test_the_order_of_tokens():
    assert is_symmetric(GOOD, 4, 1)
    assert is_symmetric(st.networks.SelfAttention(), 4, 1)
    assert not is_symmetric(_own(lambda H, c: H[0, 0] - H[1, 0] + c[0]), 4, 1)
    assert not is_symmetric(_own(lambda H, c: jnp.tanh(jnp.arange(4) @ H[:, 1])), 4, 1)
    cyclic = _own(lambda H, c: (jnp.tanh(H[:, 0]) * jnp.roll(H[:, 1], -1)).sum())
    found = [is_symmetric(cyclic, length, 1) for length in range(1, 9)]
    assert found == [True, True] + [False] * 6  # of two tokens each order is a turn


@pytest.mark.parametrize(
    ("token_weights", "symmetric"),
    [
        (lambda H, c: H[:, 0], True),
        (lambda H, c: H[:, 0] + jnp.arange(len(H)), False),
        (lambda H, c: H[:, 0] * jnp.roll(H[:, 1], -1), False),
        (lambda H, c: jnp.arange(1.0, len(H) + 1), False),
    ],
)
def test_the_order_of_tokens_that_are_attended(token_weights, symmetric):
    network = st.networks.Network(GOOD.function, 2, 1, token_weights)
    assert is_symmetric(network, 4, 1) == symmetric


@pytest.mark.parametrize("token_weights", [lambda H, c: H, lambda H, c: np.asarray(H)])
def test_token_weights_are_one_for_each_token(token_weights):
    with pytest.raises(InvalidInput, match="token_weights"):
        check_network(st.networks.Network(GOOD.function, 2, 1, token_weights), LAW, GOOD_LOSS)
