"""Tasks of one's own: what they draw, and what each mistake in a function is told."""

import math

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import get_loss

DESCENT = st.Descent(steps=1, loss="square")


def draw(n, rng):
    coefficients = np.zeros((n, 4, 2))
    coefficients[:, 0, 0] = 3.0
    return {"coefficients": coefficients, "weight": rng.random(n)}


def target(latent, Z):
    return Z[:, 0, 1] + latent["weight"]


def with_draw(change):
    def changed(n, rng):
        return change(draw(n, rng))

    return st.Task(4, 2, changed, target)


def with_target(function, **fields):
    return st.Task(4, 2, draw, function, **fields)


_calls = iter(range(10**6))


def _raises(latent, Z):
    return Z[:, 9, 0]


def _writes(latent, Z):
    Z[:] = 0
    return Z[:, 0, 0]


MISTAKES = {
    "no mapping": (with_draw(lambda latent: latent["weight"]), "a mapping of arrays"),
    "no coefficients": (with_draw(lambda latent: {"scale": 1}), "one of them `coefficients`"),
    "coefficients of another shape": (
        with_draw(lambda latent: {"coefficients": latent["coefficients"][..., :1]}),
        "coefficients that draw of a task returns must be of shape (1024, 4, 2)",
    ),
    "words": (with_draw(lambda latent: {**latent, "kind": ["a"] * 1024}), "real numbers"),
    "a variable of another length": (
        with_draw(lambda latent: {**latent, "kind": np.zeros(3)}),
        "kind that draw of a task returns must be of shape (1024,)",
    ),
    "nan": (with_draw(lambda latent: {**latent, "kind": np.full(1024, math.nan)}), "finite"),
    "a negative scale": (
        with_draw(lambda latent: {**latent, "scale": -np.ones((1024, 4))}),
        "numbers >= 0; got -1.0",
    ),
    "not deterministic": (
        with_draw(lambda latent: {**latent, "kind": np.full(1024, next(_calls))}),
        "a function of its arguments alone",
    ),
    "target raises": (with_target(_raises), "IndexError"),
    "target writes": (with_target(_writes), "leaves its arguments as they are"),
    "one number": (with_target(lambda latent, Z: 1.0), "an entry for each of 1024 bags"),
    "target is nan": (with_target(lambda latent, Z: Z[:, 0, 0] * math.nan), "finite numbers"),
    "complex": (with_target(lambda latent, Z: Z[:, 0, 0] * 1j), "real numbers"),
    "of other bags": (
        with_target(lambda latent, Z: Z[:, 0, 0] - Z[:, 0, 0].mean()),
        "of each bag alone",
    ),
    "random": (
        with_target(lambda latent, Z: Z[:, 0, 0] + next(_calls)),
        "other targets when called again",
    ),
    "no classes": (with_target(target, metric="error"), "must be -1 and 1"),
    "classes from 1": (
        with_target(lambda latent, Z: 1 + (Z[:, 0, 1] > 0), outputs=2, metric="error"),
        "integers 0, ..., 1",
    ),
    "a rare tie": (
        with_target(lambda latent, Z: np.sign(Z[:, 0, 1]) * (Z[:, 0, 0] < 5), metric="error"),
        "must be -1 and 1",
    ),
    "a column": (with_target(lambda latent, Z: Z[:, :1, 1]), "of shape (n,)"),
    "a metric of NumPy": (
        with_target(target, metric=lambda output, y: np.abs(np.asarray(output) - y)),
        "written with jax.numpy",
    ),
    "a draw of other rows": (
        st.Task(
            4,
            2,
            lambda u: {"coefficients": np.zeros((len(u), 4, 2)) + u.mean()},
            lambda latent, Z: Z[:, 0, 1],
            uniforms=1,
        ),
        "of the row of u of each bag alone",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_function_is_named(name):
    task, message = MISTAKES[name]
    with pytest.raises(InvalidInput) as caught:
        st.descend(task, DESCENT)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"directions": 0}, "directions of a task"),
        ({"directions": ["a", "a"]}, "words that differ"),
        ({"directions": [1, 2]}, "words that differ"),
        ({"directions": 2, "metric": "accuracy"}, '"error", a function of (output, y)'),
        ({"directions": 2, "draw": 3}, "a function of (n, rng)"),
        (
            {"directions": 2, "tokens": st.TokenCovariance([1.0, 2.0], signal=[0.0, 1.0])},
            "of shape (2, d), a row for each of 1, 2",
        ),
    ],
)
def test_illegal_fields_are_refused(fields, message):
    with pytest.raises(InvalidInput) as caught:
        st.Task(**{"length": 4, "draw": draw, "target": target} | fields)
    assert message in str(caught.value)


def test_losses_of_classes_are_refused_for_numbers():
    with pytest.raises(InvalidInput, match="need loss='square'"):
        st.descend(with_target(target), st.Descent(steps=1))


def test_the_loss_is_the_metric_of_a_task_without_one():
    square = get_loss("square")
    assert with_target(target).for_loss(square) == with_target(target, metric=square)
    assert MISTAKES["a metric of NumPy"][0].for_loss(square) == MISTAKES["a metric of NumPy"][0]


def test_unknown_directions_are_refused_by_name():
    descent = st.Descent(start_overlaps={"q": {"place": 0.3}, "w": 0.0}, loss="square")
    with pytest.raises(InvalidInput, match="names among 1, 2; got 'place'"):
        st.descend(with_target(target), descent)


@pytest.mark.parametrize(
    ("columns", "directions"), [(["q", "q_a"], ["b", "a_b"]), (["q"], ["a", "a_se"])]
)
def test_overlaps_have_names_that_differ(columns, directions):
    network = st.networks.Network(lambda H, c: H.sum(), columns=columns)
    with pytest.raises(InvalidInput, match="name each overlap"):
        st.descend(st.Task(4, directions, draw, target), st.Descent(network, loss="square"))


def test_samples_have_the_moments_that_are_declared():
    def scaled(n, rng):
        return draw(n, rng) | {"scale": np.tile([0.5, 1.0, 2.0, 0.0], (n, 1))}

    rng, signals = np.random.default_rng(1), np.eye(2, 30)
    X, y = st.Task(4, 2, scaled, target).sample(4000, signals, rng)
    mean = X.mean(axis=0)
    assert np.allclose(mean, np.eye(4, 1) * 3 * signals[0], atol=5 * 2 / math.sqrt(4000))
    assert np.allclose(X.std(axis=(0, 2))[1:], [1.0, 2.0, 0.0], rtol=0.02)  # 6 standard errors
    left = y - X[:, 0, 1]
    assert left.min() >= 0
    assert left.max() < 1


@pytest.mark.parametrize("name", ["needle_with_value", "majority"])
def test_classes_of_published_tasks_are_equally_frequent(name):
    task = getattr(st.tasks, name)()
    signals = np.eye(len(task.directions), 20)
    _, y = task.sample(4000, signals, np.random.default_rng(0))
    assert set(y) == {-1.0, 1.0}
    assert abs(y.mean()) < 5 / math.sqrt(4000)


def test_uniform_numbers_make_the_bags():
    task = st.tasks.majority(3, strength=2.0)
    u = np.array([[0.1, 0.2, 0.9], [0.6, 0.7, 0.8]])
    latent = task.latent(2, np.random.default_rng(0), u)
    assert latent["coefficients"][..., 0].tolist() == [[-2, -2, 2], [2, 2, 2]]
    assert task.targets(latent, latent["coefficients"]).tolist() == [-1, 1]


def test_built_in_tasks_have_the_same_functions():
    rng = np.random.default_rng(0)
    problem = st.SparseTokenProblem(5, 2, 3.0, 0.25)
    latent = problem.latent(4000, rng)
    y = problem.targets(latent, np.empty(0))
    held = latent["informative"].sum(axis=1)
    assert np.array_equal(held, np.where(y == 1, 2, 0))
    assert np.array_equal(latent["coefficients"][..., 0], 3.0 * latent["informative"])
    assert abs((y == 1).mean() - 0.25) < 5 * math.sqrt(0.25 * 0.75 / 4000)
