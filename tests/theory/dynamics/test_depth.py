"""Networks of several layers: gradients, starts, silent layers, theory against real tokens.

Equations: depth-gradient.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.network_checks import is_symmetric, sample_loss, writers_of
from sparsetoken.model.training import training_of
from sparsetoken.numerics.backend import compiled
from sparsetoken.simulation.network_scores import sums_by_columns
from sparsetoken.theory.dynamics.follow import silent_layers
from sparsetoken.theory.dynamics.plan import plan_of
from sparsetoken.theory.dynamics.replica import along_columns, trajectory
from sparsetoken.theory.dynamics.samples import Samples, slopes_of

Transformer = st.networks.Transformer
SPARSE = st.SparseTokenProblem(5, 1, 4.0)
LOOKUP = st.tasks.lookup(6)
CLASSES = st.model.ConceptProblem(
    5, [4.0, 4.0], [[0, 0], [1, 0], [0, 1]], [0.4, 0.3, 0.3], [0, 1, 2]
)


def deep(H, c, G):
    """One head with keys alone, a hidden unit that reads what it wrote, and softmax."""
    R = H + (jax.nn.softmax(H[:, :1] * H[:, 0]) * H[:, 1]).sum(axis=1)[:, None] * G[2]
    R = R + jnp.tanh(R[:, 3])[:, None] * G[2]
    return (jax.nn.softmax(R[:, 3]) * R[:, 4]).sum() + c[0]


OWN = st.networks.Network(deep, ["k", "v", "o", "q", "w"], ["b"], gram=True)
NETWORKS = {
    "causal": (SPARSE, Transformer(2, beta=1.3, hidden=2, causal=True)),
    "three layers": (SPARSE, Transformer(3, heads=2, hidden=1)),
    "three classes": (CLASSES, Transformer(2, heads=2)),
    "last token": (CLASSES, Transformer(2, hidden=1, causal=True, last=True)),
}
FAST_FIRST = [
    pytest.param(name, marks=[pytest.mark.slow] * (name != "causal")) for name in NETWORKS
]


def residual_streams(network, X, U, c, outputs):
    """Return the scores of tokens X in R^d, of which each layer makes new vectors of R^d."""
    columns = iter(U.T)
    for _ in range(network.layers - 1):
        written = jnp.zeros_like(X)
        for _ in range(network.heads):
            Q, K, V, O = (next(columns) for _ in range(4))
            products = network.beta * jnp.outer(X @ Q, X @ K)
            if network.causal:
                products = jnp.where(np.tri(len(X), dtype=bool), products, -jnp.inf)
            written += jnp.outer(jax.nn.softmax(products, axis=1) @ (X @ V), O)
        X, pairs = X + written, [(next(columns), next(columns)) for _ in range(network.hidden)]
        X = X + sum(jnp.outer(jnp.tanh(X @ u), v) for u, v in pairs)
    if network.last:
        return X[-1] @ jnp.stack(list(columns), axis=1) + c[:outputs]
    q, *w = columns
    return (jax.nn.softmax(network.beta * X @ q) @ X) @ jnp.stack(w, axis=1) + c[:outputs]


def some_tokens(task, descent, d=12, n=7):
    """Return a descent, tokens and targets of a few samples, weights and a batch."""
    training, rng = training_of(task, descent), np.random.default_rng(4)
    task, m = training.task, len(training.columns)
    X, y = rng.standard_normal((n, task.length, d)), np.resize(task.some_targets(), n)
    U = rng.standard_normal((d, m)) / np.sqrt(d)
    c, batch = rng.standard_normal(len(training.weights)), np.arange(n) % 2.0
    return training, X, y, U, c, batch


def slopes_at(training, X, y, U, c, batch):
    """Return the slopes of theory at samples whose tokens are noise only."""
    n, L, _ = X.shape
    m, P = len(training.columns), len(training.task.directions)
    samples = Samples(np.zeros((P, L, n)), np.ones((1, n)), y, np.full(n, 1 / n))
    noise = np.moveaxis(X @ U, 0, 2).swapaxes(0, 1)[None] / np.sqrt(n)
    at, widths = (np.zeros((m, P)), c, U.T @ U), np.array([[1.0], [0.0]])
    return slopes_of(training, [samples], noise, widths, at, batch)


@pytest.mark.parametrize("name", FAST_FIRST)
def test_tensors_follow_the_residual_streams(name):
    task, network = NETWORKS[name]
    training, X, y, U, c, batch = some_tokens(task, st.Descent(network))
    outputs = training.task.outputs
    of_sample = sample_loss(training.loss, outputs)

    def total(U, c):
        def of_bag(x, target):
            return of_sample(residual_streams(network, x, U, c, outputs), target)

        return jax.vmap(of_bag)(X, y) @ batch

    by_U, by_c = compiled()(jax.grad(total, (0, 1)))(U, c)
    found = sums_by_columns(training, X, U, c, y, batch)
    np.testing.assert_allclose(found.by_U, by_U, atol=1e-12)
    np.testing.assert_allclose(found.by_c, by_c, atol=1e-12)


@pytest.mark.parametrize("name", FAST_FIRST)
def test_the_chain_rule_of_theory_is_the_gradient(name):
    task, network = NETWORKS[name]
    training, X, y, U, c, batch = some_tokens(task, st.Descent(network))
    slopes = slopes_at(training, X, y, U, c, batch)
    by_H = slopes.by_noise[0] / np.sqrt(len(X))
    (by_U,) = along_columns([U], [np.einsum("nld,mln->dm", X, by_H)], slopes.by_gram)
    found = sums_by_columns(training, X, U, c, y, batch)
    np.testing.assert_allclose(by_U, found.by_U / len(X), atol=1e-12)
    np.testing.assert_allclose(slopes.by_c, found.by_c / len(X), atol=1e-12)
    assert slopes.loss == pytest.approx(found.loss / len(X))


def test_columns_that_only_write_have_no_slope():
    network = Transformer(3, heads=2, hidden=1)
    names = network.column_names(1)
    assert [names[i] for i in network.writers(1)] == ["O1_1", "O1_2", "v1", "O2_1", "O2_2", "v2"]
    network = Transformer(2, hidden=1)
    training, X, y, U, c, _ = some_tokens(SPARSE, st.Descent(network))
    (by_noise,) = slopes_at(training, X, y, U, c, np.ones(len(X))).by_noise
    assert tuple(np.flatnonzero(~by_noise.any(axis=(1, 2)))) == network.writers(1)
    assert writers_of(OWN, 5, 1) == (2,)


def test_one_layer_is_softmax():
    one, softmax = Transformer(1, beta=1.7), st.networks.Softmax(beta=1.7)
    assert not one.uses_gram
    for outputs in (1, 3):
        for what in ("column_names", "weight_names", "readouts", "start_norms", "start"):
            assert getattr(one, what)(outputs) == getattr(softmax, what)(outputs)
        rng = np.random.default_rng(0)
        H, c = rng.standard_normal((6, 1 + outputs)), rng.standard_normal(outputs)
        np.testing.assert_array_equal(one.scores(H, c, outputs), softmax.scores(H, c, outputs))
        np.testing.assert_array_equal(one.attention(H, c), softmax.attention(H, c))


def test_masks_see_the_order_of_tokens():
    assert is_symmetric(Transformer(2), 5, 1)
    assert is_symmetric(Transformer(1, causal=True), 5, 1)
    assert not is_symmetric(Transformer(2, causal=True), 5, 1)
    assert not is_symmetric(Transformer(1, last=True), 5, 1)
    assert is_symmetric(OWN, 5, 1)


def cosines(descent, task=SPARSE):
    training = training_of(task, descent)
    gram = training.start.T @ training.start
    norms = np.sqrt(np.diagonal(gram))
    return training.columns, gram / np.outer(norms, norms)


def test_the_start_has_the_cosines_that_are_asked_for():
    given = {("O", "q"): 0.4, ("O2", "q"): 0.5, ("O1", "K2"): -0.3}
    columns, found = cosines(st.Descent(Transformer(3), start_cosines=given))
    O1, O2, K2, q = (columns.index(name) for name in ("O1", "O2", "K2", "q"))
    expected = np.eye(len(columns))
    for i, j, cosine in ((O1, q, 0.4), (O2, q, 0.5), (O1, K2, -0.3)):
        expected[i, j] = expected[j, i] = cosine
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("network", "reader"),
    [
        (Transformer(2), "q"),
        (Transformer(3, heads=4, hidden=3), "q"),
        (Transformer(2, last=True), "w"),
    ],
)
def test_no_layer_is_silent_by_default(network, reader):
    columns, found = cosines(st.Descent(network))
    written = [j for j, name in enumerate(columns) if name[0] in "Ov"]
    np.testing.assert_allclose((found[written, columns.index(reader)] ** 2).sum(), 0.25)
    assert notes_on_layers(SPARSE, st.Descent(network, steps=1)) == ()


def notes_on_layers(task, descent):
    plan = plan_of(task, descent)
    return silent_layers(plan.training, lambda: trajectory(plan, 0, (0,)))


@pytest.mark.slow
def test_layers_that_are_read_have_no_note():
    both = {**dict.fromkeys("QKVw", 0.0), "O": {"mark": 0.3}, "q": {"mark": 0.3}}
    descent = st.Descent(Transformer(2), steps=1, start_cosines={}, start_overlaps=both)
    assert notes_on_layers(LOOKUP, descent) == ()
    assert notes_on_layers(LOOKUP, st.Descent()) == ()
    (note,) = notes_on_layers(LOOKUP, st.Descent(OWN, steps=1))
    assert "along o is" in note


def test_silent_layers_are_named():
    descent = st.Descent(Transformer(3), steps=1, rates=0.1, start_cosines={("O2", "q"): 0.5})
    (note,) = notes_on_layers(LOOKUP, descent)
    assert "along O1 is read by no column" in note
    assert "{('O1', 'q'): 0.5}" in note


def test_cosines_that_break_a_symmetry_are_noted():
    """The scores depend on a square of G, of which a start of random columns has none or some."""
    network = st.networks.Network(
        lambda H, c, G: 9 * G[0, 1] ** 2 * H[:, 1].sum() + c[0], ["v", "w"], ["b"], gram=True
    )
    descent = st.Descent(network, steps=2, rates=0.5, start_overlaps={"v": 0.0, "w": 0.5})
    broken, silent = st.descend(SPARSE, descent, replicas=2).notes
    assert "overlaps with the signals, and cosines as a random start has" in broken
    assert "or by start_overlaps, or by start_cosines" in broken
    assert "along v is read by no column" in silent


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({("O", "Z"): 0.5}, "different columns among Q, K, V, O, q, w"),
        ({("O", "O"): 0.5}, "different columns"),
        ({("O", "q"): 0.9, ("O", "w"): 0.9}, "linearly independent"),
        ({("O", "q"): 1.5}, "start_cosines"),
        ({("O", "q"): 0.5, ("q", "O"): 0.2}, "one number for each pair of columns"),
        ({"O": 0.5}, "a mapping from pairs of columns"),
        (0.5, "a mapping from pairs of columns"),
    ],
)
def test_cosines_that_no_start_has(given, message):
    with pytest.raises(InvalidInput, match=message):
        training_of(SPARSE, st.Descent(Transformer(2), start_cosines=given))


def test_a_column_that_is_zero_has_no_cosine():
    start = dict.fromkeys("QKVqw", 0.5) | {"O": 0.0}
    training_of(SPARSE, st.Descent(Transformer(2), start=start))  # defaults leave it out
    given = {("O", "q"): 0.5}
    with pytest.raises(InvalidInput, match="columns whose start is not 0"):
        training_of(SPARSE, st.Descent(Transformer(2), start=start, start_cosines=given))


def test_what_is_for_one_layer_says_so():
    with pytest.raises(InvalidInput, match="True or False; got 'no'"):
        Transformer(2, causal="no")
    wrong = st.networks.Network(lambda H, c: H.mean(), ["q"], gram=True)
    with pytest.raises(InvalidInput, match="takes 2 positional arguments but 3 were given"):
        training_of(SPARSE, st.Descent(wrong))


def test_a_key_is_looked_up():
    latent = LOOKUP.latent(500, np.random.default_rng(0), np.random.default_rng(1).random((500, 3)))
    mark, key, value = np.moveaxis(latent["coefficients"], 2, 0) / 4.0
    asked = (mark * key).sum(axis=1)
    np.testing.assert_array_equal(np.abs(asked), 1)
    answers = np.array([v[1:][k[1:] == s][0] for s, k, v in zip(asked, key, value, strict=True)])
    np.testing.assert_array_equal(LOOKUP.targets(latent, np.empty((500, 6, 3))), answers)
    np.testing.assert_array_equal((latent["informative"] * value).sum(axis=1), answers)
    assert abs(answers.mean()) < 0.15  # 3.4 standard errors
    with pytest.raises(InvalidInput, match="one for each of mark, key, value"):
        st.tasks.lookup(6, strengths=(1.0, 2.0))


@pytest.mark.parametrize("hops", [1, 3])
def test_each_hop_follows_the_key_that_the_last_one_found(hops):
    task = st.tasks.lookup(7, hops, strengths=3.0)
    u = np.random.default_rng(1).random((400, 2 * hops - 1))
    latent = task.latent(400, np.random.default_rng(0), u)
    bags, found = latent["coefficients"] / 3.0, []
    for bag, place in zip(bags, latent["informative"], strict=True):
        sign = bag[bag[:, 0] == 1, 1][0]
        token = bag[:, 0] == 1
        for key in range(1, hops):
            token = (bag[:, key] == sign) & (bag[:, 0] == 0) & (bag[:, key + 1] != 0)
            sign = bag[token, key + 1][0]
        np.testing.assert_array_equal(token, place)
        found.append(sign)
    np.testing.assert_array_equal(latent["answers"], found)
    with pytest.raises(InvalidInput, match=f"{hops} hops take {2 * hops - 1} tokens"):
        st.tasks.lookup(2 * hops - 2, hops)


RATES = {"Q": 3.0, "K": 3.0, "V": 1.5, "O": 1.0, "q": 0.7, "w": 0.3}
SIGNAL = {"Q": 0.6, "K": 0.6, "V": 0.5, "O": 0.0, "q": 0.2, "w": 0.1}
HOPS = {
    **{"Q": {"key": 0.6}, "K": {"key": 0.4, "mark": 0.3}, "V": {"mark": 0.5}, "O": 0.0},
    **{"q": {"value": 0.2}, "w": {"value": 0.3}},
}
PLACES = {"Q": {"place": 0.5}, "K": {"place": 0.5}, "V": {"place": 0.5}, "O": 0.0}
NEEDLE = {
    **{"Q": {"needle": 0.5}, "K": {"needle": 0.5}, "V1": {"needle": 0.5}, "V2": {"value": 0.4}},
    **{"u": {"needle": 0.4}, "O": 0.0, "v": 0.0, "q": 0.0, "w": 0.0},
}
SPECTRUM = st.TokenCovariance(
    within=np.repeat([0.5, 1.5], 200),
    between=np.repeat([0.3, 0.0], 200),
    signal=np.full(400, 0.05),
)
DESCENTS = {
    "sparse tokens": (
        SPARSE,
        st.Descent(Transformer(2), steps=8, rates=RATES, start_overlaps=SIGNAL),
    ),
    "three layers, momentum, batches, decay": (
        SPARSE,
        st.Descent(
            Transformer(3),
            alpha=3.0,
            steps=6,
            rates=RATES,
            momentum=0.3,
            batches=2,
            decay=0.02,
            start_overlaps=SIGNAL,
            start_cosines={("O", "q"): 0.4, ("K", "V"): 0.3, ("O1", "K2"): 0.4},
        ),
    ),
    "single location, spheres": (
        st.tasks.single_location_regression(6),
        st.Descent(
            Transformer(2),
            alpha=4.0,
            steps=6,
            loss="square",
            rates={"Q": 3.0, "K": 3.0, "V": 1.0, "O": 1.0, "q": 0.6, "w": 0.15},
            sphere=("q", "O", "Q"),
            start_overlaps={**PLACES, "q": {"place": 0.2}, "w": {"value": 0.2}},
        ),
    ),
    "needle, two heads and a hidden unit": (
        st.tasks.needle_with_value(5),
        st.Descent(
            Transformer(2, heads=2, hidden=1),
            steps=6,
            rates=RATES | {"u": 1.0, "v": 1.0},
            start_overlaps=NEEDLE,
        ),
    ),
    "lookup": (
        LOOKUP,
        st.Descent(Transformer(2), alpha=4.0, steps=7, rates=RATES, start_overlaps=HOPS),
    ),
    "lookup, three layers": (
        LOOKUP,
        st.Descent(Transformer(3), steps=5, rates=RATES, start_overlaps=HOPS),
    ),
    "lookup, the last token": (
        LOOKUP,
        st.Descent(
            Transformer(2, causal=True, last=True),
            alpha=4.0,
            steps=6,
            rates={name: rate for name, rate in RATES.items() if name != "q"},
            start_overlaps={name: own for name, own in HOPS.items() if name != "q"},
        ),
    ),
    "three classes": (
        CLASSES,
        st.Descent(
            Transformer(2),
            alpha=3.0,
            steps=6,
            rates=RATES,
            start_overlaps={
                **{"Q": 0.4, "K": 0.4, "V": {"1": 0.4, "2": 0.0}, "O": 0.0, "q": 0.2, "w": 0.0}
            },
        ),
    ),
    "spectrum, effects of bags, schedule": (
        st.SparseTokenProblem(5, 1, 4.0, tokens=SPECTRUM),
        st.Descent(
            Transformer(2),
            steps=6,
            rates=RATES | {"Q": [3.0] * 3 + [0.0] * 3, "O": [0.0, 2.0] * 3},
            start_overlaps=SIGNAL,
        ),
    ),
    "own function": (
        SPARSE,
        st.Descent(
            OWN,
            steps=6,
            rates={"k": 2.0, "v": 1.0, "o": 1.0, "q": 0.7, "w": 0.3},
            start_cosines={("o", "q"): 0.5},
            start_overlaps={"k": 0.5, "v": 0.4, "o": 0.0, "q": 0.2, "w": 0.1},
        ),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DESCENTS)
def test_theory_predicts_what_is_simulated(name):
    task, descent = DESCENTS[name]
    trajectory = st.descend(task, descent, replicas=4)
    found = st.simulation.descend(task, descent, dimension=400, trials=12, at=[descent.steps])
    for of in (
        lambda one: one.training_loss,
        lambda one: one.test_error,
        lambda one: one.weights.overlaps,
        lambda one: one.weights.gram,
    ):
        theory, error, mean, se = (
            np.asarray(of(one))[-1]
            for one in (trajectory, trajectory.errors, found.mean, found.standard_error)
        )
        # 4.5 standard errors of 12 trials at each of up to 120 numbers, as for tasks; the entries
        # that a sphere or the start keeps are those of the start, to rounding.
        allowed = 4.5 * np.hypot(error, se) + 3 / 400 * np.maximum(np.abs(theory), 0.2)
        assert np.all(np.abs(mean - theory) < allowed), (theory, mean, error, se)
