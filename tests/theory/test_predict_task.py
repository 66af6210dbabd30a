"""Readouts on tasks: against the equations of the sparse-token task, and against real tokens.

Equations: task-features.
"""

import math

import jax
import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model import HardAttention
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.theory.predict_task import predict_task

REGRESSION = st.tasks.single_location_regression(length=6)
NEEDLE = st.tasks.needle_with_value(length=6)
SQUARE = st.Readout("square", ridge=0.05, alpha1=2.0)


def _solved(task, model, readout, tolerance=1e-3):
    (found,) = predict_task(task, model, [readout], tolerance)
    assert found.converged
    return found


@pytest.mark.parametrize(
    ("model", "readout"),
    [
        (st.Attention(st.Query(0.7, 1.5)), st.Readout("logistic", ridge=0.02, alpha1=1.5)),
        (st.Pooled(), st.Readout("hinge", ridge=0.02, alpha1=1.5)),
        (st.Elementwise(st.Query(0.7, 1.5)), st.Readout("squared_hinge", 0.02, math.inf)),
        (HardAttention(st.Query(0.7, 1.0)), st.Readout("square", ridge=0.02, alpha1=1.5)),
    ],
)
def test_the_sparse_token_task_is_one_of_the_tasks(model, readout):
    problem = st.SparseTokenProblem(8, 2, 3.0)
    task, known = _solved(problem, model, readout), st.predict(problem, model, readout)
    # 5 standard errors; those of the training loss and of norms are of the same order.
    allowed = 5 * math.hypot(task.numerical_error, known.numerical_error)
    assert task.test_error == pytest.approx(known.test_error, abs=allowed)
    assert task.training_loss == pytest.approx(known.training_loss, abs=allowed)
    parts = known.overlaps.query, known.overlaps.orthogonal, known.overlaps.noise
    assert task.weights.norms[-1] == pytest.approx(math.hypot(*parts), rel=5e-3)


def _simulated(task, model, readout, d, rng, tests=2000):
    """Return test error, training loss and overlaps of a fit to real tokens."""
    P = len(task.directions)
    axes = np.linalg.qr(rng.standard_normal((d, P + 1)))[0].T
    cosines = dict(model.query.cosines)
    s = np.array([cosines.get(name, 0.0) for name in task.directions])
    q = np.append(s, math.sqrt(1 - s @ s)) @ axes

    def features(n):
        X, y = task.sample(n, axes[:P], rng)
        return np.einsum("nl,nld->nd", model.network.weights(model.query.sharpness * (X @ q)), X), y

    F, y = features(round(readout.alpha1 * d))
    fit = fit_readout(F, y, readout.loss, readout.ridge)
    loss = readout.loss.value(y, F @ fit.w + fit.b).mean()
    new, y = features(tests)
    scores = new @ fit.w + fit.b
    wrong = y * scores < 0 if task.metric == "error" else task.metric(scores, y)
    return [wrong.mean(), loss, *(axes[:P] @ fit.w)]


def _task(target, **options):
    return st.Task(4, 1, lambda n, rng: {"coefficients": np.ones((n, 4, 1))}, target, **options)


# Scrambles have other numbers of each class: none of their nodes may be exchanged.
NOISY = _task(lambda latent, Z: np.where(Z[:, 0, 0] > 0.5, 1.0, -1.0), metric="error")
CASES = [
    (REGRESSION, {"place": 0.7, "value": 0.3}, st.Attention, SQUARE),
    (NEEDLE, {NEEDLE.directions[0]: 0.8}, st.Elementwise, st.Readout("logistic", 0.02, 2.0)),
    (NOISY, {"1": 0.9}, st.Attention, st.Readout("logistic", 0.05, 2.0)),
]


@pytest.mark.parametrize("case", CASES, ids=["regression", "needle", "noisy classes"])
def test_real_tokens_agree(case):
    task, cosines, kind, readout = case
    model, rng, runs = kind(st.Query(cosines=cosines, sharpness=1.5)), np.random.default_rng(1), 16
    found = _solved(task, model, readout, 4e-3)
    predicted = np.array([found.test_error, found.training_loss, *found.weights.overlaps[-1]])
    trials = np.array([_simulated(task, model, readout, 200, rng) for _ in range(runs)])
    error = trials.std(axis=0, ddof=1) / math.sqrt(runs)
    apart = trials.mean(axis=0) - predicted
    # 4 numbers with 15 degrees of freedom; effects of finite d are below one standard error.
    assert np.abs(apart / error).max() < 4.5
    # Power: numbers that are wrong by a tenth would be seen.
    assert np.abs((apart - 0.1 * predicted) / error).max() > 4.5


def test_the_query_of_a_descent_has_a_cosine_with_each_direction():
    start = {"start": {"q": 0.5, "w": 0.3}, "start_overlaps": {"q": {"place": 0.3}, "w": 0.0}}
    descent = st.Descent(loss="square", alpha=[3.0, 4.0], steps=2, rates=0.2, **start)
    weights = st.descend(REGRESSION, descent, replicas=2).weights
    query = weights[1].query(1.0)
    cosines = dict(zip(REGRESSION.directions, weights.cosines[1, -1, 0], strict=True))
    assert query == st.Query(cosines=cosines, sharpness=weights.norms[1, -1, 0])
    found = st.predict(REGRESSION, st.Attention(query), SQUARE, tolerance=0.05)
    np.testing.assert_allclose(found.weights.cosines[0], list(cosines.values()), rtol=1e-12)
    with pytest.raises(InvalidInput, match=r"of one point; .*trajectory\[0\]\.weights"):
        weights.query(1.0)


def test_arrays_broadcast():
    model = st.Attention(st.Query(cosines={"place": 0.8}, sharpness=[0.0, 2.0]))
    readout = st.Readout("square", ridge=0.05, alpha1=np.array([1.0, 4.0, np.inf])[:, None])
    found = st.predict(REGRESSION, model, readout, tolerance=0.05)
    assert found.test_error.shape == (3, 2)
    assert (np.diff(found.test_error, axis=0) < 0).all()  # more samples
    assert (found.test_error[:, 1] < found.test_error[:, 0]).all()  # low sharpness is pooling
    pooled = st.predict(REGRESSION, st.Pooled(), st.Readout("square", 0.05, 4.0), tolerance=0.05)
    # Without a query the noise along it needs no node: other nodes, within 5 standard errors.
    both = math.hypot(pooled.numerical_error, found.numerical_error[1, 0])
    assert pooled.test_error == pytest.approx(found.test_error[1, 0], abs=5 * both)


def test_the_order_of_loads_does_not_matter():
    model = st.Attention(st.Query(cosines={"place": 0.8, "value": 0.3}, sharpness=2.0))
    endless, finite = (
        st.predict(REGRESSION, model, st.Readout("square", 0.05, loads), tolerance=0.05)
        for loads in ([math.inf, 4.0, 1.0], [1.0, 4.0, math.inf])
    )
    # Newton's method ends at steps of 1e-6, whose square is the error.
    np.testing.assert_allclose(endless.test_error[::-1], finite.test_error, rtol=1e-9)
    assert finite.iterations[-1] == endless.iterations[0]  # that readout alone


def _wrong(output, y):
    return jax.numpy.where(output * y < 0, 1.0, 0.0)


def test_bags_of_one_class_are_all_right():
    """The square loss fits the bias to the only target, and no bag of the other class is missed."""
    task = _task(lambda latent, Z: np.ones(len(Z)), metric="error")
    found = _solved(task, st.Pooled(), SQUARE)
    assert found.test_error == found.numerical_error == 0
    assert found.to_dict()["weight_b"] == pytest.approx(1.0, rel=1e-9)


def test_a_metric_with_a_jump():
    like = st.Task(
        NEEDLE.length,
        NEEDLE.directions,
        NEEDLE.draw,
        NEEDLE.target,
        _wrong,
        uniforms=NEEDLE.uniforms,
    )
    model, readout = (
        st.Attention(st.Query(cosines={NEEDLE.directions[0]: 0.8})),
        st.Readout("logistic"),
    )
    known, own = (st.predict(task, model, readout, tolerance=0.01) for task in (NEEDLE, like))
    # The heights along the score are 16 for each of 8192 nodes.
    assert own.test_error == pytest.approx(known.test_error, abs=5 * known.numerical_error)
    assert own.training_loss == known.training_loss


def test_the_order_of_cosines_does_not_matter():
    one, other = {"place": 0.8, "value": 0.1}, {"value": 0.1, "place": 0.8}
    assert st.Query(cosines=one) == st.Query(cosines=other)


ATTENTION = st.Attention(st.Query(cosines={"place": 0.8}))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: st.predict(REGRESSION, ATTENTION, st.Readout("logistic")),
            "must be square.*need loss='square'. The loss of a Descent may",
        ),
        (lambda: st.predict(REGRESSION, ATTENTION, st.Readout("square", ridge=0)), "ridge"),
        (
            lambda: st.predict(REGRESSION, st.Attention(), SQUARE),
            "of place, value for.* got TwoSteps",
        ),
        (lambda: st.predict(REGRESSION, st.Vectorized(), SQUARE), "model on a task"),
        (
            lambda: st.predict(REGRESSION, st.Attention(st.Query(cosines={"plac": 1})), SQUARE),
            r"of place, value for isotropic tokens; got Query\(cosines={'plac'",
        ),
        (
            lambda: st.predict(REGRESSION, ATTENTION, SQUARE, test_problem=st.SparseTokenProblem()),
            "test_problem must be None",
        ),
        (
            lambda: st.predict(
                _task(lambda latent, Z: np.ones(len(Z))), st.Pooled(), st.Readout("logistic")
            ),
            "of both classes",
        ),
        (
            lambda: st.predict(
                _task(
                    lambda latent, Z: Z[:, 0, 0], tokens=st.TokenCovariance([1, 2], signal=[1, 0])
                ),
                st.Pooled(),
                SQUARE,
            ),
            "isotropic tokens only",
        ),
        (
            lambda: st.predict(
                _task(lambda latent, Z: Z[:, 0, 0], metric=lambda o, y: 1.0 if o > y else 0.0),
                st.Pooled(),
                SQUARE,
            ),
            "written with jax.numpy",
        ),
        (
            lambda: st.predict(
                _task(lambda latent, Z: Z[:, 0, 0], metric=lambda o, y: o * np.nan),
                st.Pooled(),
                SQUARE,
            ),
            "a finite number for each bag",
        ),
        (
            lambda: st.predict(
                REGRESSION,
                st.Elementwise(
                    st.Query(cosines={"place": 0.8}, sharpness=1000.0), activation="exp"
                ),
                SQUARE,
            ),
            "weights are numbers; got 1000",
        ),
        (
            lambda: st.predict(
                st.Task(
                    4,
                    1,
                    lambda n, rng: {"coefficients": np.ones((n, 4, 1)), "scale": np.zeros((n, 4))},
                    lambda latent, Z: Z[:, 0, 0],
                ),
                st.Pooled(),
                SQUARE,
            ),
            "> 0 for some tokens",
        ),
        (lambda: st.predict(st.SparseTokenProblem(), ATTENTION), "of the one signal"),
        (lambda: st.simulate(st.SparseTokenProblem(), ATTENTION), "of the one signal"),
        (lambda: st.Query(cosines={"place": 0.8, "value": 0.7}), "add up to at most 1"),
        (lambda: st.Query(cosines=0.8), "a mapping from names"),
        (lambda: st.Query(cosines=(0.5, 0.2)), "a mapping from names"),
        (lambda: st.Query(cosines=("ab", "cd")), "a mapping from names"),
        (lambda: st.Query(cosines={1: 0.5, "a": 0.2}), "a mapping from names"),
        (lambda: st.Query(cosines={"": 0.5}), "a mapping from names"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(InvalidInput, match=words):
        call()
