"""Networks and losses of one's own: what cannot be trained is refused with its reason."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.network_checks import check_network, is_symmetric

PROBLEM = st.SparseTokenProblem(4, 1, 3.0)
CLASSES = st.model.ConceptProblem(4, [3.0], [[2], [1], [0]], [0.4, 0.4, 0.2], [0, 1, 2])
GOOD = st.networks.Network(lambda H, c: jax.nn.logsumexp(H[:, 0]) + c[0], columns=2, weights=1)


def _own(function):
    return st.networks.Network(function, columns=2, weights=1)


def _attending(token_weights):
    return st.networks.Network(GOOD.function, 2, 1, token_weights)


def GOOD_LOSS(scores, y):
    return jnp.log1p(jnp.exp(-y * scores)) if jnp.ndim(scores) == 0 else -scores[y]


CALLS = itertools.count(1)  # grows with each call of a function that is not pure


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (_own(lambda H, c: H[:, 0]), "a number"),
        (_own(lambda H, c: H[:, 5:].sum(axis=1)[7] + H.reshape(3, 3)), "jax.numpy"),
        (_own(lambda H, c: np.sum(np.asarray(H))), "written with jax.numpy"),
        (_own(lambda H, c: 1.0 if H[0, 0] > 0 else 0.0), "written with jax.numpy"),
        (_own(lambda H, c: jnp.log(-jnp.abs(H[0, 0]))), "nan or inf"),
        (_own(lambda H, c: jnp.sign(H[:, 0]).sum()), "a derivative of 0 everywhere"),
        (_own(lambda H, c: jnp.sqrt(H[:, 0].sum() * 0.0)), "a derivative of nan"),
        (_own(lambda H, c: H[:, 0].sum() + next(CALLS)), "pure"),
        (_own(lambda H, c: jnp.argmax(H[:, 0])), "replace sign, round or argmax"),
        (_own(lambda H, c: 3), "a floating-point number"),
        (
            _own(lambda H, c: H[:, 5].mean() + c[0]),
            "H of shape (4, 2) and c of shape (1,); got 'index 5 is out of bounds for axis 1",
        ),
        (_own(lambda H, c: H[4, 0] + c[0]), "index 4 is out of bounds for axis 0 with size 4"),
        (_own(lambda H, c: H.mean() + c[1]), "index 1 is out of bounds for axis 0 with size 1"),
        (_attending(lambda H, c: H[:, 2]), "index 2 is out of bounds for axis 1 with size 2"),
        (_attending(lambda H, c: H), "token_weights"),
        (_attending(lambda H, c: jnp.log(-jnp.abs(H[:, 0]))), "finite"),
        (_attending(lambda H, c: np.asarray(H)), "token_weights"),
    ],
)
def test_networks_that_cannot_be_trained(network, message):
    with pytest.raises(InvalidInput) as raised:
        check_network(network, PROBLEM, GOOD_LOSS)
    assert message in str(raised.value)


def test_what_only_arrays_of_jax_can_do_is_allowed():
    check_network(_own(lambda H, c: H.at[0, 0].set(0.0).mean() + c[0]), PROBLEM, GOOD_LOSS)


def test_three_classes_need_three_scores():
    with pytest.raises(InvalidInput, match=r"of shape \(3,\)"):
        check_network(GOOD, CLASSES, GOOD_LOSS)
    check_network(_own(lambda H, c: jnp.append(H.mean(axis=0), c)), CLASSES, GOOD_LOSS)


def test_good_ones_pass():
    check_network(GOOD, PROBLEM, GOOD_LOSS)
    check_network(st.networks.Gated(), PROBLEM, GOOD_LOSS)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (lambda scores, y: jnp.stack([scores, scores]), "whose value is a number"),
        (lambda scores: scores, "written with jax.numpy"),
        (lambda scores, y: jnp.log(scores - scores), "nan or inf"),
        (lambda scores, y: (scores - y) ** 2 * next(CALLS), "pure"),
        (lambda scores, y: scores if scores > 0 else -scores, "written with jax.numpy"),
    ],
)
def test_losses_that_cannot_be_followed(loss, message):
    with pytest.raises(InvalidInput) as raised:
        check_network(GOOD, PROBLEM, loss)
    assert message in str(raised.value)


def test_the_order_of_tokens():
    assert is_symmetric(GOOD, 4, 1)
    assert is_symmetric(st.networks.SelfAttention(), 4, 1)
    assert not is_symmetric(_own(lambda H, c: H[0, 0] - H[1, 0] + c[0]), 4, 1)
    assert not is_symmetric(_own(lambda H, c: jnp.tanh(jnp.arange(4) @ H[:, 1])), 4, 1)
    cyclic = _own(lambda H, c: (jnp.tanh(H[:, 0]) * jnp.roll(H[:, 1], -1)).sum())
    found = [is_symmetric(cyclic, length, 1) for length in (1, 2, 3, 6)]
    assert found == [True, True, False, False]  # of two tokens each order is a turn


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
    assert is_symmetric(_attending(token_weights), 4, 1) == symmetric
