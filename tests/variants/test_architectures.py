"""Networks: shapes, symmetry, oracles; training: progress, determinism, missing libraries."""

import sys

import jax
import numpy as np
import pytest

from sparsetoken.attention import pool, softmax_weights
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.validation import InvalidInput
from sparsetoken.variants.network_training import Recipe, train, trial_error
from sparsetoken.variants.network_training import test_error as error_of
from sparsetoken.variants.networks import Architecture

pytest.importorskip("optax")

D, L = 12, 5
NETWORKS = (
    Architecture("multi-query"),
    Architecture("multi-query", 3),
    Architecture("class-token", 2, 4),
    Architecture("two-layer", 2, 4, "class"),
    Architecture("two-layer", 2, 4, "mean"),
)
EASY = SparseTokenProblem(length=L, informative=2, strength=8.0)
SHORT = Recipe(learning_rate=1e-2, weight_decays=(0.1,), block=5, blocks=20)


def _random(network, seed):
    """Return the network with random weights everywhere: readouts start at 0."""
    leaves, tree = jax.tree.flatten(network)
    rng = np.random.default_rng(seed)
    return jax.tree.unflatten(
        tree, [rng.standard_normal(np.shape(x), dtype=np.float32) / np.sqrt(D) for x in leaves]
    )


def _softmax(scores):
    raised = np.exp(scores - scores.max())
    return raised / raised.sum()


@pytest.mark.parametrize("architecture", NETWORKS, ids=repr)
def test_the_order_of_the_tokens_plays_no_part(architecture):
    network = _random(architecture.start(D, 1.0, 0), 2)
    rng = np.random.default_rng(3)
    X = rng.standard_normal((L, D), dtype=np.float32)
    assert network(X).shape == ()
    scores = [float(network(X[rng.permutation(L)])) for _ in range(4)]
    # Sums of a few hundred float32 terms of order 1 in another order.
    assert scores == pytest.approx([float(network(X))] * 4, abs=1e-5)
    other = X.copy()
    other[0] += 1
    assert abs(float(network(other)) - scores[0]) > 1e-3


def test_queries_are_the_attention_of_the_library():
    network = _random(NETWORKS[1].start(D, 1.0, 0), 5)
    X = np.random.default_rng(6).standard_normal((L, D))
    expected = D**0.5 * float(network.bias)
    for q, w in zip(np.asarray(network.query), np.asarray(network.readout), strict=True):
        expected += pool(X, softmax_weights(X @ q)) @ w
    # float32 against float64, scores of order 1.
    assert float(network(X.astype(np.float32))) == pytest.approx(expected, abs=1e-5)


def _attended(layer, receivers, tokens):
    """Return the output of a layer by loops over heads and receivers."""
    out = np.zeros_like(receivers)
    for Q, K, V, O in zip(layer.query, layer.key, layer.value, layer.output, strict=True):
        for i, x in enumerate(receivers):
            weights = _softmax((tokens @ K.T) @ (Q @ x) / len(K) ** 0.5)
            out[i] += O.T @ (V @ (tokens.T @ weights))
    return out


def test_a_class_token_is_the_first_row_of_full_self_attention():
    network = _random(NETWORKS[2].start(D, 1.0, 0), 7)
    X = np.random.default_rng(8).standard_normal((L, D), dtype=np.float32)
    tokens = np.concatenate([network.token[None], X])
    state = (tokens + _attended(network.layers[0], tokens, tokens))[0]
    expected = state @ network.readout + D**0.5 * network.bias
    # float32 sums of a few hundred terms of order 1.
    assert float(network(X)) == pytest.approx(float(expected), abs=1e-5)


@pytest.mark.parametrize("architecture", NETWORKS[3:], ids=repr)
def test_two_layers_by_loops(architecture):
    network = _random(architecture.start(D, 1.0, 0), 9)
    state = np.random.default_rng(10).standard_normal((L, D), dtype=np.float32)
    X = state
    if architecture.read == "class":
        state = np.concatenate([network.token[None], X])
    for layer in network.layers:
        state = state + _attended(layer, state, state)
    read = state[0] if architecture.read == "class" else state.mean(axis=0)
    expected = read @ network.readout + D**0.5 * network.bias
    # float32 sums of a few hundred terms of order 1.
    assert float(network(X)) == pytest.approx(float(expected), abs=1e-5)


def _samples(n, seed=11):
    rng = np.random.default_rng(seed)
    xi = np.eye(D)[0]
    return (xi, *EASY.sample(n, xi, rng, np.float32))


@pytest.mark.parametrize("architecture", NETWORKS[1:3], ids=repr)
def test_training_learns_an_easy_task(architecture):
    xi, X, y = _samples(200)
    trained = train(architecture.start(D, 0.3, 0), X, y, SHORT)
    # The loss starts at log 2 = 0.69. Pooling alone has signal to noise 8 * 2 / sqrt(5) = 7.
    assert trained.held_out_loss < 0.2
    error = error_of(trained.network, EASY, xi, 2500, np.random.default_rng(12))
    assert error < 0.02


def test_training_keeps_the_best_weights_held_out():
    _, X, y = _samples(40)
    y = y * np.where(np.random.default_rng(14).random(40) < 0.2, -1, 1)  # noise to overfit
    recipe = Recipe(learning_rate=1e-2, weight_decays=(0.0, 0.1), block=5, blocks=20)
    start = NETWORKS[0].start(D, 0.3, 0)
    trained = train(start, X, y, recipe)
    scores = np.array([float(trained.network(x)) for x in X[-8:]])
    # The reported loss belongs to the returned weights: 20 % of 40 samples, float32.
    held_out = np.mean(np.logaddexp(0, -y[-8:] * scores))
    assert trained.held_out_loss == pytest.approx(held_out, rel=1e-5)
    assert trained.steps < 100  # that is, the fit goes on beyond them
    for decay in recipe.weight_decays:
        one = train(start, X, y, Recipe(1e-2, (decay,), block=5, blocks=20))
        assert trained.held_out_loss <= one.held_out_loss


def test_a_seed_fixes_everything():
    def found(seed):
        return trial_error(
            NETWORKS[0], EASY, SHORT, dimension=D, samples=40, test_samples=2500, seed=seed
        )

    assert found(1) == found(1)
    assert found(1) != found(2)


def test_a_loss_that_is_never_finite_gives_no_error():
    _, X, y = _samples(40)
    trained = train(NETWORKS[0].start(D, 0.3, 0), np.inf * X, y, SHORT)
    assert trained.held_out_loss == np.inf
    broken = SparseTokenProblem(length=L, informative=2, strength=1e6)
    start = Recipe(1e-2, (0.1,), scale=1e38, block=5, blocks=1)
    assert np.isnan(trial_error(NETWORKS[0], broken, start, dimension=D, samples=40))


def test_bad_values():
    for make in (
        lambda: Architecture("perceptron"),
        lambda: Architecture("two-layer", read="last"),
        lambda: Architecture("class-token", width=0),
        lambda: Recipe(weight_decays=()),
        lambda: Recipe(held_out=1.0),
        lambda: Recipe(block=0),
        lambda: trial_error(NETWORKS[0], EASY, SHORT, dimension=0, samples=10),
        lambda: trial_error(NETWORKS[0], EASY, SHORT, dimension=D, samples=1),
        lambda: train(NETWORKS[0].start(D, 1.0, 0), *_samples(2)[1:], SHORT),
    ):
        with pytest.raises(InvalidInput):
            make()


def test_a_missing_library_is_one_clear_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "optax", None)
    _, X, y = _samples(40)
    with pytest.raises(InvalidInput, match="optax must be installed") as caught:
        train(NETWORKS[0].start(D, 1.0, 0), X, y, SHORT)
    assert "pip install 'sparsetoken[architectures]'" in str(caught.value)
