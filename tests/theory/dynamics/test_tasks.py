"""Descents on tasks of one's own: theory against simulation, and the population limit.

Equations: joint-descent, network-error.
"""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

import sparsetoken as st
from sparsetoken import simulation
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model import networks
from sparsetoken.theory.dynamics.plan import plan_of
from sparsetoken.theory.dynamics.replica import grouped, run_replica


def _gated(H, c):
    return (jnp.maximum(H[:, 0], 0.1 * H[:, 0]) * H[:, 1]).mean() + c[0]


def _two_outputs(H, c):
    return jnp.stack([jax.nn.softmax(H[:, 0]) @ H[:, 1], H[:, 1].mean()])


def _vectors(n, rng):
    return {"coefficients": rng.standard_normal((n, 3, 2)), "scale": np.tile([0.5, 1, 1], (n, 1))}


def _squares(output, y):
    return ((output - y) ** 2).sum()


def _with_shares(d):
    """Two directions with shares .7 and .3 of two blocks, in each of which they are parallel."""
    low, rng = np.arange(d) < d // 2, np.random.default_rng(5)
    axes = [part / np.linalg.norm(part) for part in rng.standard_normal(d) * np.stack([low, ~low])]
    signals = np.sqrt([[0.7, 0.3], [0.3, 0.7]]) * [[1, 1], [-1, 1]] @ axes
    within, between = np.where(low, 0.4, 1.6), np.where(low, 0.3, 0.0)
    tokens = st.TokenCovariance(within, between, signal=signals)
    draw = st.tasks.needle_with_value(3, strength=3.0).draw
    return dataclasses.replace(st.tasks.single_location_regression(3), draw=draw, tokens=tokens)


START = {"start": {"q": 0.5, "w": 0.3}, "rate_c": 0.3}
CASES = {
    "a number at a marked place": (
        st.tasks.single_location_regression(),
        st.Descent(alpha=4.0, steps=5, loss="square", rates={"q": 2.0, "w": 0.4}, **START),
    ),
    "a class at a marked place": (
        st.tasks.needle_with_value(),
        st.Descent(alpha=4.0, steps=5, rates={"q": 2.0, "w": 0.8}, **START),
    ),
    "a network that sees no place": (
        st.tasks.needle_with_value(),
        st.Descent(
            networks.Network(_gated, columns=["q", "w"], weights=["b"]),
            alpha=4.0,
            steps=4,
            rates=1.0,
            start_overlaps={"q": {"needle": 0.2}, "w": 0.0},
            **START,
        ),
    ),
    "positional vectors": (
        st.tasks.position(4, told=2),
        st.Descent(alpha=4.0, steps=5, loss="square", rates={"q": 1.0, "w": 0.3}, **START),
    ),
    "targets that are vectors": (
        st.Task(3, 2, _vectors, lambda latent, Z: Z[:, :2, 1], _squares, outputs=2),
        st.Descent(
            networks.Network(_two_outputs, columns=["q", "w"]),
            alpha=4.0,
            steps=4,
            rates=0.2,
            loss=_squares,
            start={"q": 0.5, "w": 0.3},
            sphere="q",
        ),
    ),
    "directions with shares of their own": (
        _with_shares(200),
        st.Descent(
            alpha=4.0,
            steps=4,
            loss="square",
            rates={"q": 1.5, "w": 0.3},
            start_overlaps={"q": {"place": 0.4}, "w": {"value": 0.2}},
            **START,
        ),
    ),
    "tokens with a covariance": (
        st.Task(
            3,
            1,
            lambda n, rng: {"coefficients": rng.standard_normal((n, 3, 1))},
            lambda latent, Z: Z[:, :, 0].max(axis=1),
            tokens=st.TokenCovariance(
                np.repeat([0.5, 1.5], 300),
                between=np.repeat([0.0, 0.4], 300),
                signal=np.ones(600) / math.sqrt(600),
            ),
        ),
        st.Descent(alpha=2.0, steps=3, loss="square", rates={"q": 0.5, "w": 0.3}, **START),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_theory_predicts_what_is_simulated(name):
    task, descent = CASES[name]
    trajectory = st.descend(task, descent, replicas=8)
    dimension, last = None if task.tokens.dimension else 600, [descent.steps]
    found = simulation.descend(task, descent, dimension=dimension, trials=12, at=last)
    for quantity in ("test_error", "training_loss", "weights.overlaps"):
        theory, error, mean, se = (
            np.asarray(_of(one, quantity))[-1]
            for one in (trajectory, trajectory.errors, found.mean, found.standard_error)
        )
        # 4.5 standard errors of 12 trials at each of up to 10 numbers; 1/d shifts at d = 600.
        allowed = 4.5 * np.hypot(error, se) + 3 / 600 * np.maximum(np.abs(theory), 0.2)
        assert np.all(np.abs(mean - theory) < allowed), (quantity, theory, mean, error, se)


def _of(result, path):
    for name in path.split("."):
        result = getattr(result, name)
    return result


@pytest.mark.slow
def test_the_limit_knows_the_shares_of_each_direction():
    _, descent = CASES["directions with shares of their own"]
    task = _with_shares(1000)
    states = grouped([run_replica(plan_of(task, descent), i) for i in range(4)], 4)
    found = simulation.descend(task, descent, trials=8, at=[descent.steps])
    limits = {
        "test_error": st.descend(task, descent, replicas=4).test_error[None],
        "training_loss": states.loss,
        "weights.overlaps": states.overlaps,
    }
    for quantity, of_replicas in limits.items():
        limit = of_replicas.mean(axis=0)[-1]
        mean, se = (
            np.asarray(_of(one, quantity))[-1] for one in (found.mean, found.standard_error)
        )
        # 5 standard errors of 8 trials at six numbers, half as much for 4 replicas; 1/d shifts.
        assert np.all(np.abs(mean - limit) < 5 * 1.1 * se + 3 / 1000), (quantity, limit, mean, se)


def _closed_form(kappa, nu, rate, steps, strength, scale):
    """Single-location regression with erf attention of slope 1, on the sphere.

    On the manifold where the query is orthogonal to the value and the readout to the place the
    risk is scale^2 (1 - 2 nu E e + E e^2) plus a constant, with e = erf(strength kappa + scale g)
    (Marion, Berthier and Biau, 2025).
    """
    x, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    path = [(kappa, nu)]
    for _ in range(steps):
        s = strength * kappa + scale * x
        e, slope = special.erf(s), 2 / math.sqrt(math.pi) * np.exp(-(s**2)) * strength
        by_kappa = scale**2 * weights @ ((-2 * nu + 2 * e) * slope)
        by_nu = -2 * scale**2 * (weights @ e)
        kappa, nu = (
            (u - rate * by * (1 - u**2)) / math.sqrt(1 + rate**2 * by**2 * (1 - u**2))
            for u, by in ((kappa, by_kappa), (nu, by_nu))
        )
        path.append((kappa, nu))
    return np.array(path)


@pytest.mark.slow
def test_the_population_limit_on_the_sphere_follows_a_closed_form():
    def attention(H, c):
        return (jax.scipy.special.erf(H[:, 0]) * H[:, 1]).sum()

    task = st.tasks.single_location_regression(4, strength=2.0, scale=0.8, noise=0.0)
    kappa, nu = 0.4, 0.3
    descent = st.Descent(
        networks.Network(attention, columns=["k", "v"]),
        alpha=math.inf,
        steps=16,
        loss=lambda output, y: (output - y) ** 2,
        rates=0.06,
        start={"k": math.sqrt(1 - kappa**2), "v": math.sqrt(1 - nu**2)},
        start_overlaps={"k": {"place": kappa}, "v": {"value": nu}},
        sphere=True,
    )
    trajectory = st.descend(task, descent, replicas=8)
    expected = _closed_form(kappa, nu, 0.06, 16, 2.0, 0.8)
    at = np.stack(
        [trajectory.weights.overlaps[:, 0, 0], trajectory.weights.overlaps[:, 1, 1]], axis=1
    )
    errors = trajectory.errors.weights.overlaps
    error = np.stack([errors[:, 0, 0], errors[:, 1, 1]], axis=1)
    assert error.max() < 0.01
    assert expected[-1].min() > 0.5  # the query has turned, so that a wrong step would show
    assert np.all(np.abs(at - expected) < 4.5 * error + 1e-9)
    assert np.allclose(trajectory.weights.norms, 1.0, atol=1e-3)  # means over replicas and halves


@pytest.mark.slow
def test_the_population_limit_is_that_of_many_samples():
    task = st.tasks.needle_with_value()
    many, limit = (
        st.descend(
            task,
            st.Descent(alpha=alpha, steps=3, rates={"q": 2.0, "w": 0.8}, **START),
            replicas=4,
        )
        for alpha in (1e4, math.inf)
    )
    gap = np.abs(many.test_error - limit.test_error)
    # 4.5 standard errors at each of four states; n/d = 1e4 is of order 1e-4 from the limit.
    assert np.all(gap < 4.5 * np.hypot(many.errors.test_error, limit.errors.test_error) + 1e-4)


def test_the_population_limit_is_not_simulated_and_has_no_batches():
    task = st.tasks.needle_with_value()
    with pytest.raises(InvalidInput, match="finite in a simulation"):
        simulation.descend(task, st.Descent(alpha=math.inf))
    with pytest.raises(InvalidInput, match="samples of its own"):
        st.descend(task, st.Descent(alpha=math.inf, batches=2))


def test_columns_on_a_sphere_keep_their_norms():
    problem = st.SparseTokenProblem(length=5, strength=4.0)
    descent = st.Descent(steps=4, start={"q": 2.0, "w": 1.0}, sphere="q")
    paths = (
        st.descend(problem, descent, replicas=2),
        simulation.descend(problem, descent, dimension=50, trials=1).mean,
    )
    for path in paths:
        norms = np.asarray(path.weights.norms)
        assert np.allclose(norms[:, 0], 2.0, atol=1e-2)  # a mean over replicas and halves
        assert np.ptp(norms[:, 1]) > 0.1
    with pytest.raises(InvalidInput, match="names among q, w"):
        st.descend(problem, st.Descent(sphere="k"))
    with pytest.raises(InvalidInput, match="whose start is not 0"):
        st.descend(problem, st.Descent(start={"q": 0.0, "w": 1.0}, sphere="q"))


@pytest.mark.slow
def test_the_population_limit_goes_on_where_columns_lie_along_the_signals():
    start = {"start": 0.0, "start_overlaps": {"q": {"needle": 0.5}, "w": {"value": 0.3}}}
    descent = st.Descent(alpha=math.inf, steps=4, **start)
    trajectory = st.descend(st.tasks.needle_with_value(), descent, replicas=4)
    assert np.isfinite(trajectory.test_error).all()
    table = trajectory.to_dict()
    assert table["overlap_q_needle"] == trajectory.weights.overlaps[:, 0, 0].tolist()
    assert table["cosine_w_value_se"] == trajectory.errors.weights.cosines[:, 1, 1].tolist()
    sparse = st.Descent(alpha=math.inf, steps=4, start=0.0, start_overlaps={"q": 0.5, "w": 0.3})
    assert np.isfinite(st.descend(st.SparseTokenProblem(5), sparse, replicas=4).test_error).all()


def test_the_squared_error_of_pooling_in_closed_form():
    """The output is a number with the mean and covariances of the tokens."""
    L, theta, scale = 4, 2.0, math.sqrt(0.5)
    task = st.tasks.single_location_regression(L, strength=theta)
    descent = st.Descent(networks.Pooled(), alpha=4.0, steps=3, rates=0.5, loss="square")
    trajectory = st.descend(task, descent, replicas=2)
    weights = trajectory.weights
    (place, value), norm, c = weights.overlaps[:, 0].T, weights.norms[:, 0], weights.c[:, 0]
    squares = (theta * place / L + c) ** 2 + norm**2 * (L - 1 + scale**2) / L**2
    expected = squares - 2 * scale**2 * value / L + scale**2 + 0.1**2
    # The bags have errors of 1e-4, and means over two replicas move squares by less.
    np.testing.assert_allclose(trajectory.test_error, expected, rtol=1e-3)


@pytest.mark.slow
def test_a_metric_with_a_jump_has_the_value_of_the_error():
    def wrong(output, y):
        return jnp.where(output * y > 0, 0.0, 1.0)

    task, descent = CASES["a class at a marked place"]
    both = [
        st.descend(dataclasses.replace(task, metric=metric), descent, replicas=4)
        for metric in ("error", wrong)
    ]
    gap = np.abs(both[0].test_error - both[1].test_error)
    # The bags, and so the states, are the same; the jump is seen at 16 heights of 4096 bags.
    assert gap[1:].max() < 1e-3


@dataclasses.dataclass(frozen=True)
class _Located:
    """A frozen value with a tuple, whose informative token is not the first."""

    strengths: tuple[float, ...] = (3.0, 1.0)

    def __call__(self, n, rng):
        informative = np.arange(4) == rng.integers(4, size=(n, 1))
        coefficients = np.zeros((n, 4, 2))
        coefficients[informative] = self.strengths
        return {
            "coefficients": coefficients,
            "informative": informative,
            "place": informative.argmax(axis=1),
        }


def _located_value(latent, Z):
    return Z[np.arange(len(Z)), latent["place"], 1]


@pytest.mark.slow
def test_tokens_are_located_anywhere():
    task = st.Task(4, ["place", "value"], _Located(), _located_value)
    descent = st.Descent(alpha=4.0, steps=4, loss="square", rates={"q": 1.0, "w": 0.3}, **START)
    trajectory = st.descend(task, descent, replicas=8)
    assert trajectory.dims == ("step",)
    found = simulation.descend(task, descent, dimension=400, trials=8, at=[4])
    # 4.5 standard errors of 8 trials, and shifts of order 1/d = 1/400.
    gap = abs(found.mean.test_error[-1] - trajectory.test_error[-1])
    assert gap < 4.5 * found.standard_error.test_error[-1] + 0.01 * trajectory.test_error[-1]
    gap = abs(found.mean.attended[-1] - trajectory.attended[-1])
    assert gap < 4.5 * found.standard_error.attended[-1] + 0.01


@pytest.mark.parametrize(
    ("length", "most"), [(200, 36), pytest.param(2000, 3, marks=pytest.mark.slow)]
)
def test_directions_that_take_too_much_memory_are_refused(length, most):
    """With the most directions that the message names, the descent has a plan."""

    def task(directions):
        def draw(n, rng):
            return {"coefficients": np.zeros((n, length, directions))}

        return st.Task(length, directions, draw, lambda latent, Z: Z[:, 0, 0])

    descent = st.Descent(loss="square", steps=1)
    with pytest.raises(InvalidInput, match=f"directions of a task must be at most {most} at"):
        plan_of(task(64), descent)
    assert plan_of(task(most), descent).size >= 2
