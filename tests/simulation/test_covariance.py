"""Tokens of a covariance: queries, capacity, errors on fresh tokens, effects of samples."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.simulation import align, draw_training_set, is_separable, performance
from sparsetoken.simulation.frames import frame_of
from token_laws import tokens, unit


@pytest.fixture
def _few_draws(monkeypatch):
    """2000 draws for the test error: both engines share this part, and it is slow."""
    monkeypatch.setattr(performance, "DRAWS", 2000)


@pytest.mark.parametrize("engine", ["reduced", "tensors"])
def test_queries_of_two_steps(engine):
    """<q2, xi>, |q2| and the cosines within 4 standard errors and 2% of finite size."""
    problem = st.SparseTokenProblem(5, 1, 4.0, 0.4, tokens=tokens(300, -0.3))
    steps = st.TwoSteps(2.0, eta_q=1.0)
    expected = st.align(problem, steps)
    found = align(problem, steps, trials=12, engine=engine)
    for name in ("cosine", "overlap", "norm", "readout_cosine"):
        mean, error = getattr(found.mean, name), getattr(found.standard_error, name)
        assert mean == pytest.approx(getattr(expected, name), abs=4 * error, rel=0.02), name


def test_a_query_given_as_a_vector_is_used_as_it_is():
    law = tokens(40, turned=True)
    q = unit(40, 0.4)
    problem, model = (
        st.SparseTokenProblem(5, tokens=law),
        st.Attention(st.model.QueryVector(q, 1.5)),
    )
    for engine in ("reduced", "tensors"):
        (trial,) = st.simulate(problem, model, trials=1, engine=engine).trials
        assert trial.cosine == pytest.approx(q @ law.signal)
        assert trial.sharpness == 1.5
    assert st.predict(problem, model).query.cosine == pytest.approx(q @ law.signal)


@pytest.mark.parametrize(
    ("model", "effect"),
    [(st.Pooled(), 0.2), (st.Attention(st.Query(0.8, 1.0)), 0.0)],
    ids=["pooled", "attention"],
)
def test_training_sets_are_separable_up_to_the_capacity(model, effect):
    """With 150 weights the transition is about 10% wide: 40% away from it all agree."""
    problem = st.SparseTokenProblem(4, 1, 3.0, tokens=tokens(150, effect=effect))
    limit = st.capacity(problem, model, tolerance=1e-2).capacity
    for share, expected in ((0.6, True), (1.4, False)):
        for trial in range(3):
            drawn = draw_training_set(problem, model, share * limit, trial=trial)
            assert is_separable(*drawn) == expected


def separable_shares(problem, model, loads, trials):
    """Return the share of separable training sets at each load."""
    return np.array(
        [
            np.mean(
                [
                    is_separable(*draw_training_set(problem, model, load, seed=place, trial=trial))
                    for trial in range(trials)
                ]
            )
            for place, load in enumerate(loads)
        ]
    )


def test_attention_separates_up_to_the_capacity_beside_an_effect_of_samples():
    """The load of one half, by probit, within 4 standard errors and a correction of order 1/d.

    Without the effect the capacity is 1.4 times as large. The width of the transition is
    about 1/sqrt(d).
    """
    d, trials = 120, 60
    law, model = tokens(d, effect=4.0), st.Attention(st.Query(0.8, 1.0))
    problem = st.SparseTokenProblem(6, 2, 2.0, tokens=law)
    limit = st.capacity(problem, model, tolerance=1e-3)
    assert limit.status.converged
    without = dataclasses.replace(problem, tokens=dataclasses.replace(law, between=None))
    assert st.capacity(without, model, tolerance=1e-2).capacity > 1.35 * limit.capacity
    places = np.array([0.88, 0.94, 1.0, 1.06, 1.12])
    shares = separable_shares(problem, model, places * limit.capacity, trials)

    def unlikely(x):
        t = (places - x[0]) / abs(x[1])
        return -trials * np.sum(shares * norm.logsf(t) + (1 - shares) * norm.logcdf(t))

    half, width = minimize(unlikely, [1.0, 0.1], method="Nelder-Mead").x
    error = 1.6 * abs(width) / np.sqrt(0.6 * len(places) * trials)  # loads within a width count
    assert half == pytest.approx(1.0, abs=4 * error + 2 / d)
    assert 4 * error + 2 / d < 0.1


def test_the_frame_has_the_covariances():
    """Means over 40000 draws within 5 standard errors."""
    law = tokens(3, -1.0, turned=True)
    frame, rng = frame_of(law), np.random.default_rng(0)
    q = np.array([1.0, 2.0, -1.0])
    for draws, expected in (
        (frame.mean_noise(40_000, 4, rng), law.within / 4 + law.between),
        (
            frame.beside_noise(q, 40_000, rng),
            law.within - np.outer(law.within @ q, law.within @ q) / (q @ law.within @ q),
        ),
    ):
        assert draws.T @ draws / 40_000 == pytest.approx(expected, abs=5 * 2.5 / 200)


# activation, letters, size of the effect, loss, load
SHARED = [
    ("erf", (6, 2, 3.0, 0.4), 8.0, "logistic", 4.0),
    ("relu", (8, 2, 2.5, 0.3), 3.0, "squared_hinge", 3.0),
]


def shared_trials(case, engine, **options):
    activation, letters, effect, loss, alpha = case
    problem = st.SparseTokenProblem(*letters, tokens=tokens(20, effect=effect, turned=True))
    model = st.Elementwise(st.Query(0.8, 0.7), activation)
    readout = st.Readout(loss, 0.1, alpha)
    return st.simulate(problem, model, readout, trials=100, seed=1, engine=engine, **options)


def deviations(one, other):
    """Return the differences of the means of test error and training loss, in standard errors."""
    return [
        (getattr(one.mean, name) - getattr(other.mean, name))
        / np.hypot(getattr(one.standard_error, name), getattr(other.standard_error, name))
        for name in ("test_error", "training_loss")
    ]


@pytest.mark.parametrize("case", SHARED, ids=[case[0] for case in SHARED])
@pytest.mark.usefixtures("_few_draws")
def test_elementwise_weights_see_what_samples_share(case, monkeypatch):
    """The law against real tokens, with errors counted on fresh ones, within 4 standard errors.

    Without the part of the effect along the query the weights are others: that is told apart.
    """
    law = shared_trials(case, "reduced")
    counted = shared_trials(case, "tensors", test_samples=2000)
    assert np.abs(deviations(law, counted)).max() < 4
    monkeypatch.setattr(st.Elementwise, "sees_mean", False)
    assert np.abs(deviations(shared_trials(case, "reduced"), counted)).max() > 5


def test_exponential_weights_count_what_samples_share():
    """A projection may be 7 deviations of the noise and of the effect away."""
    problem = st.SparseTokenProblem(4, tokens=tokens(20, effect=400.0))
    model = st.Elementwise(st.Query(0.8, 5.0), "exp")
    with pytest.raises(InvalidInput, match="sharpness"):
        st.simulate(problem, model, trials=1)
