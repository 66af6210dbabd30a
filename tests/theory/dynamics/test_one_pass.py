"""One pass over fresh bags: recorded tensors, simulations, limits, refusals.

Equations: one-pass.
"""

import numpy as np
import pytest
from matplotlib.figure import Figure

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.theory.dynamics.one_pass import _solution, _together, pass_of

PROBLEM = st.SparseTokenProblem(5, 1, 4.0)
BESIDE = np.array([[0.3, 0.06], [0.06, 0.2]]) - np.outer([0.3, 0.2], [0.3, 0.2])
NORMS = np.sqrt(np.diagonal(BESIDE))
RECORDED = st.OnePass(
    times=[0, 20],
    rates={"q": 2.0, "w": 0.5},
    rate_c=0.2,
    start=NORMS,
    start_overlaps={"q": 0.3, "w": 0.2},
    start_cosines={("q", "w"): BESIDE[0, 1] / NORMS.prod()},
)


def quantities(path, t=-1):
    """Return loss, error, overlaps, inner products and further weights."""
    at, pairs = path.weights, np.triu_indices(path.weights.gram.shape[-1])
    parts = at.overlaps[t], at.gram[t][pairs], at.c[t]
    return np.concatenate([[path.test_error[t], path.training_loss[t]], *map(np.ravel, parts)])


def test_tensors_recorded():
    """Means over 8 trials of tensors by another program at d = 200, standard errors in brackets.

    Overlaps 1.156(16) and .901(10), |q|^2 3.55(5), bias -.548(4).
    """
    found = st.descend(PROBLEM, RECORDED, replicas=4, tolerance=0.01)
    np.testing.assert_allclose(found.weights.gram[0], [[0.3, 0.06], [0.06, 0.2]], atol=1e-6)
    (q,), (w,) = found.weights.overlaps[1]
    values = np.array([q, w, found.weights.gram[1, 0, 0], found.weights.c[1, 0]])
    recorded, errors = [1.156, 0.901, 3.55, -0.548], [0.016, 0.010, 0.05, 0.004]
    np.testing.assert_array_less(np.abs(values - recorded), 3 * np.array(errors))
    assert (quantities(found.errors, 1) > 0).all()
    assert found.converged
    assert (found.dims, found.coords["time"].tolist()) == (("time",), [0.0, 20.0])


def test_overlaps_recorded():
    """Means over 24 trials of tensors by another program at d = 800; errors are up to .005."""
    one_pass = st.OnePass(
        times=[0, 1, 2, 5, 10],
        rates={"q": 2.0, "w": 1.0},
        rate_c=1.0,
        start=0.5,
        start_overlaps=0.1,
    )
    problem = st.SparseTokenProblem(5, 1, 3.0)
    found = st.descend(problem, one_pass, replicas=2, tolerance=0.05).weights.overlaps[1:, :, 0]
    recorded = [[0.228, 0.274], [0.409, 0.444], [0.736, 0.775], [0.983, 1.039]]
    np.testing.assert_allclose(found, recorded, atol=0.01)


DEEP = {"Q": 0.4, "K": 0.4, "V": 0.5, "O": 0.0, "q": 0.4, "w": 0.3}
SETTINGS = {
    "softmax": (PROBLEM, st.OnePass(times=[0, 4], rates={"q": 2.0, "w": 0.5}, start_overlaps=0.2)),
    "square, decay": (
        st.tasks.single_location_regression(4, strength=3.0),
        st.OnePass(
            times=[0, 6],
            rates={"q": 1.0, "w": 0.2},
            decay=0.2,
            loss="square",
            start_overlaps={"q": {"place": 0.4}, "w": {"value": 0.2}},
        ),
    ),
    "a Gram matrix": (
        st.SparseTokenProblem(4, 1, 4.0),
        st.OnePass(st.networks.Transformer(2), times=[0, 4], rates=1.0, start_overlaps=DEEP),
    ),
    "an order": (
        st.SparseTokenProblem(4, 1, 4.0),
        st.OnePass(
            st.networks.Transformer(2, causal=True), times=[0, 3], rates=1.0, start_overlaps=DEEP
        ),
    ),
}


SLOW = {"softmax", "an order"}  # the others say as much


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in SETTINGS]
)
def test_simulations(name):
    """At d = 150 with 12 trials; terms of order 1/d are below two of their standard errors."""
    task, one_pass = SETTINGS[name]
    theory = st.descend(task, one_pass, replicas=4, tolerance=0.01)
    found = st.simulation.descend(task, one_pass, dimension=150, trials=12)
    known, errors = quantities(theory), quantities(theory.errors)
    z = (quantities(found.mean) - known) / np.hypot(quantities(found.standard_error), errors)
    assert np.abs(z).max() < 5
    assert np.sqrt(np.mean(z**2)) < 2


def test_small_rates_are_gradient_flow():
    """The noise of single bags is 0 at small rates; steps of .05 follow the flow to 1%."""
    small, start = 0.01, {"start_overlaps": 0.3, "rate_c": 0.0}
    one_pass = st.OnePass(times=[0, 200], rates=small, **start)
    flow = st.Descent(alpha=np.inf, steps=40, rates=0.05, **start)
    found = st.descend(PROBLEM, one_pass, replicas=4, tolerance=0.02).weights
    steps = st.descend(PROBLEM, flow, replicas=4, tolerance=0.02).weights
    np.testing.assert_allclose(found.overlaps[-1], steps.overlaps[-1], rtol=0.02)
    np.testing.assert_allclose(found.norms[-1], steps.norms[-1], rtol=0.02)


def test_errors_are_those_of_other_bags():
    """The median of Student's |t| with 2 degrees of freedom is 0.38 of half its 95% quantile."""
    training = pass_of(PROBLEM, RECORDED)
    solver = [_solution(training, 0, rtol, 256) for rtol in (1e-4, 1e-5)]
    each = [_solution(training, i) for i in range(30)]
    found = [_together(training, each[i : i + 3], solver, 0.01) for i in range(0, 30, 3)]

    def last(at):
        parts = at.overlaps[..., -1, :, 0], at.gram[..., -1, 0, :], at.c[..., -1, :]
        return np.concatenate(parts, axis=-1)

    values, errors = np.array([(last(f.states), f.error(last)) for f in found]).swapaxes(0, 1)
    apart = np.abs(values - values.mean(axis=0)) / errors
    assert 0.25 < np.median(apart) < 0.6


def test_several_points_are_what_each_is_alone():
    problem = st.SparseTokenProblem(3, 1, np.array([2.0, 4.0]))
    one_pass = st.OnePass(times=[0, 1, 2], rate_c=np.array([[0.1], [0.3]]))
    found = st.descend(problem, one_pass, replicas=2)
    assert found.dims == ("rate_c", "strength", "time")
    axes = found.plot("test_error", Figure().subplots())
    assert axes.get_xlabel() == "time $t$: bags seen per dimension"
    assert found.test_error.shape == (2, 2, 3)
    assert found.status.shape == found.replicas.shape == (2, 2)
    alone = st.descend(st.SparseTokenProblem(3, 1, 4.0), st.OnePass(times=[0, 1, 2], rate_c=0.1))
    two = st.descend(
        st.SparseTokenProblem(3, 1, 4.0), st.OnePass(times=[0, 1, 2], rate_c=0.1), replicas=2
    )
    assert found[0, 1] == two
    assert alone.weights.query(1.0).sharpness == alone.weights.norms[-1, 0]
    sampled = st.simulation.descend(problem, one_pass, dimension=20, trials=2)
    assert sampled.mean.dims == ("rate_c", "strength", "time")
    assert np.isfinite(sampled.trials.training_loss).all()


def test_a_pass_that_diverges_keeps_what_was_before():
    one_pass = st.OnePass(times=[0, 0.1, 20], rates=12.0, loss="square")
    found = st.descend(st.SparseTokenProblem(3, 1, 3.0), one_pass, replicas=2)
    assert found.status == "no_limit"
    assert "diverges at time 20" in found.status.remedy
    assert np.isfinite(found.test_error[:2]).all()
    assert np.isnan(found.test_error[2])
    problem = st.SparseTokenProblem(3, 1, 3.0)
    sampled = st.simulation.descend(problem, one_pass, dimension=40, trials=2)
    assert sampled.status == "no_limit"
    assert "time 20" in sampled.status.remedy


def test_a_step_that_overflows_is_a_divergence():
    """The solver tries a step beyond it, where weights e^(beta H) overflow, without a warning."""
    network = st.networks.Elementwise("exp", beta=3.0)
    one_pass = st.OnePass(network, times=[0, 5], rates=3.0)
    found = st.descend(st.SparseTokenProblem(4, 1, 4.0), one_pass, replicas=2)
    assert found.status == "no_limit"


def test_a_stiff_pass_says_so():
    one_pass = st.OnePass(times=[0, 1], rates=1.0, decay=1e5)
    found = st.descend(st.SparseTokenProblem(2, 1, 3.0), one_pass, replicas=2)
    assert found.status == "max_iterations"


def test_a_silent_layer_is_named():
    deep = st.OnePass(st.networks.Transformer(2), times=[0, 1], start_cosines={})
    found = st.descend(st.SparseTokenProblem(3, 1, 3.0), deep, replicas=2)
    assert any("Silent" in note for note in found.notes)


@pytest.mark.parametrize(("rates", "last"), [(1.5, 4), (3.0, 20)])
def test_a_broken_symmetry_is_noted(rates, last):
    """The signs of both columns turn together; at time 20 scrambles have chosen signs by chance."""
    one_pass = st.OnePass(st.networks.Elementwise("tanh"), times=[0, last], rates=rates, start=0.5)
    (note,) = st.descend(st.SparseTokenProblem(4, 1, 4.0), one_pass, replicas=2).notes
    assert f"change the test error at time {last} by about -0." in note


def test_no_symmetry_is_noted_where_none_is_broken():
    assert st.descend(PROBLEM, RECORDED, replicas=2).notes == ()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: st.OnePass(times=[0, 2, 1]), "times must be a list of two or more numbers"),
        (lambda: st.OnePass(times=[1, 2]), "rise from 0"),
        (lambda: st.OnePass(times=[0]), "times must be a list"),
        (lambda: st.OnePass(times=3.0), "times must be a list"),
        (lambda: st.OnePass(times=[-1, 1]), "times"),
        (lambda: st.descend(PROBLEM, 3), "a Descent or a OnePass"),
        (lambda: st.descend(PROBLEM, st.OnePass(rates={"v": 1.0})), "rates"),
        (
            lambda: st.descend(
                st.SparseTokenProblem(
                    3, tokens=st.TokenCovariance(np.arange(1.0, 31.0), signal=np.eye(30)[0])
                ),
                st.OnePass(),
            ),
            "isotropic.*sparsetoken.simulation.descend",
        ),
    ],
)
def test_refusals(call, words):
    with pytest.raises(InvalidInput, match=words):
        call()
