"""Networks as values: names, counts, and scores against plain formulas."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf, expit, softmax

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.architectures.own import network_of

L = 4
SIZED = [
    st.networks.Softmax(beta=1.3),
    st.networks.Softmax(heads=2),
    st.networks.Gated(hidden=1),
    st.networks.Gated(hidden=3),
    st.networks.SelfAttention(rank=1),
    st.networks.SelfAttention(rank=2),
    *(st.networks.Elementwise(kind, beta=0.7) for kind in ("erf", "sigmoid", "tanh", "linear")),
    st.networks.Elementwise("exp"),
    st.networks.Pooled(),
    st.networks.DeepSets(hidden=1),
    st.networks.DeepSets(hidden=3),
]
LARGER = {  # the same formulas over more columns, which compile anew
    *(st.networks.Gated(hidden=3), st.networks.SelfAttention(rank=2)),
    *(st.networks.DeepSets(hidden=3), st.networks.Elementwise("linear", beta=0.7)),
}
SETTINGS = [
    pytest.param(network, outputs, marks=pytest.mark.slow if network in LARGER else ())
    for network, outputs in itertools.product(SIZED, (1, 3))
]


def _plain(network, H, c, K):
    """Return the scores token by token, column by column, as the papers write them."""
    b = c[:K]
    if isinstance(network, st.networks.Softmax):
        n = network.heads
        heads = [softmax(network.beta * H[:, h]) for h in range(n)]
        return [sum(heads[h] @ H[:, n + h * K + k] for h in range(n)) + b[k] for k in range(K)]
    if isinstance(network, st.networks.Gated):
        r, u = network.hidden, c[K:]
        units = [u[j] * np.tanh(H[:, j]) * expit(H[:, r + j]) for j in range(r)]
        return [softmax(sum(units)) @ H[:, 2 * r + k] + b[k] for k in range(K)]
    if isinstance(network, st.networks.SelfAttention):
        r = network.rank
        rows = softmax(H[:, :r] @ H[:, r : 2 * r].T, axis=1)
        return [np.mean(rows @ H[:, 2 * r + k]) + b[k] for k in range(K)]
    if isinstance(network, st.networks.Elementwise):
        x = network.beta * H[:, 0]
        weights = {
            "erf": 1 + erf(x),
            "sigmoid": expit(x),
            "tanh": np.tanh(x),
            "linear": 1 + x,
            "exp": np.exp(x),
        }
        return [np.mean(weights[network.activation] * H[:, 1 + k]) + b[k] for k in range(K)]
    if isinstance(network, st.networks.Pooled):
        return [np.mean(H[:, k]) + b[k] for k in range(K)]
    u = c[K:]  # u1_0, u1_1, ..., u2_0, ...
    units = range(network.hidden)
    return [np.mean(sum(u[j * K + k] * np.tanh(H[:, j]) for j in units)) + b[k] for k in range(K)]


def _random(network, outputs, seed=0):
    rng = np.random.default_rng(seed)
    H = rng.standard_normal((L, len(network.column_names(outputs))))
    return H, rng.standard_normal(len(network.weight_names(outputs)))


@pytest.mark.parametrize(("network", "outputs"), SETTINGS, ids=str)
def test_scores_follow_the_formula(network, outputs):
    for seed in range(3):
        H, c = _random(network, outputs, seed)
        found = network.scores(jnp.asarray(H), jnp.asarray(c), outputs)
        assert found.shape == (outputs,)
        # float32 or float64, as JAX is set: a few roundings of numbers of order 1 to 30
        np.testing.assert_allclose(found, _plain(network, H, c, outputs), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("network", "outputs"), SETTINGS, ids=str)
def test_names_lengths_and_starts_fit_one_another(network, outputs):
    columns, weights = network.column_names(outputs), network.weight_names(outputs)
    assert len(set(columns)) == len(columns) == len(network.start_norms(outputs))
    assert len(set(weights)) == len(weights) == len(network.start(outputs))
    assert not set(columns) & set(weights)


@pytest.mark.parametrize(("network", "outputs"), SETTINGS, ids=str)
def test_scores_are_affine_in_the_readouts_and_attention_is_free_of_them(network, outputs):
    H, c = _random(network, outputs)
    readouts = list(network.readouts(outputs))
    other = H.copy()
    other[:, readouts] = np.random.default_rng(9).standard_normal((L, len(readouts)))
    middle = (H + 3 * other) / 4
    at = [np.asarray(network.scores(jnp.asarray(x), jnp.asarray(c), outputs))
          for x in (H, other, middle)]  # fmt: skip
    np.testing.assert_allclose(at[2], (at[0] + 3 * at[1]) / 4, rtol=1e-4, atol=1e-5)
    weights = network.attention(jnp.asarray(H), jnp.asarray(c))
    if weights is not None:
        np.testing.assert_array_equal(weights, network.attention(jnp.asarray(other), c))


def test_names_of_classes():
    assert st.networks.Softmax().column_names(3) == ("q", "w0", "w1", "w2")
    two = st.networks.Softmax(heads=2)
    assert two.column_names(3) == ("q1", "q2", "w1_0", "w1_1", "w1_2", "w2_0", "w2_1", "w2_2")
    assert st.networks.DeepSets(hidden=2).weight_names(1) == ("b", "u1", "u2")
    units = ("u1_0", "u1_1", "u1_2", "u2_0", "u2_1", "u2_2")
    assert st.networks.DeepSets(hidden=2).weight_names(3) == ("b0", "b1", "b2", *units)


def test_a_network_of_ones_own():
    own = st.networks.Network(lambda H, c: H[:, 0].sum() * c[0], columns=1, weights=2)
    assert (own.column_names(1), own.weight_names(1)) == (("u1",), ("c1", "c2"))
    H, c = jnp.ones((L, 1)), jnp.array([0.5, 0.0])
    assert own.scores(H, c, 1).shape == (1,)
    assert float(own.scores(H, c, 1)[0]) == 2.0
    assert own.attention(H, c) is None
    seen = st.networks.Network(own.function, columns=["q"], token_weights=lambda H, c: H[:, 0])
    assert seen.attention(H, c).shape == (L,)


class _Module:
    def __call__(self, H, c):
        return H[:, 0].sum()


_Module.__module__ = "torch.nn.modules.module"


class _Unhashable:
    __hash__ = None

    def __call__(self, H, c):
        return H[:, 0].sum()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: st.networks.Softmax(heads=0), "heads"),
        (lambda: st.networks.Gated(hidden=65), "hidden"),
        (lambda: st.networks.SelfAttention(rank=1.5), "rank"),
        (lambda: st.networks.Softmax(beta=0.0), "beta"),
        (lambda: st.Descent(st.networks.Elementwise("relu")), "kink"),
        (lambda: st.Descent(st.model.HardAttention().network), "that descent can train"),
        (lambda: st.networks.Network(3, columns=1), "function of"),
        (lambda: st.networks.Network(_Module(), columns=1), "jax.numpy"),
        (lambda: st.networks.Network(abs, columns=0), "columns of a network"),
        (lambda: st.networks.Network(abs, columns=257), "256"),
        (lambda: st.networks.Network(abs, columns=["a", "a"]), "differ"),
        (lambda: st.networks.Network(abs, columns=["a b"]), "differ"),
        (lambda: st.networks.Network(_Unhashable(), columns=1), "lambda H, c: own(H, c)"),
        (
            lambda: st.networks.Network(abs, columns=1, token_weights=_Unhashable()),
            "lambda H, c: own(H, c)",
        ),
        (lambda: st.networks.Network(abs, columns=["a", "a_se"]), "do not end with _se"),
        (lambda: st.networks.Network(abs, 1, ["a_se"]), "do not end with _se"),
        (lambda: network_of("softmax"), "Softmax()"),
        (lambda: network_of(_Module()), "jax.numpy"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(InvalidInput) as raised:
        make()
    assert message in str(raised.value)


def test_further_weights_hide_nothing_in_tables():
    names = ["alpha", "step", "test_error", "norm_q"]
    network = st.networks.Network(lambda H, c: H[:, 0].mean() + c.sum(), ["q"], names)
    descent = st.Descent(network, alpha=[1.0], steps=1)
    trajectory = st.descend(st.SparseTokenProblem(3, 1, 2.0), descent, tolerance=0.1, replicas=2)
    frame = trajectory.to_frame()
    assert frame.columns.is_unique
    for j, name in enumerate(names):
        np.testing.assert_array_equal(frame[f"weight_{name}"], trajectory.weights.c[0, :, j])
    np.testing.assert_array_equal(frame["test_error"], trajectory.test_error[0])
