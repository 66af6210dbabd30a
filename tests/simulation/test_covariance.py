"""Tokens of a covariance: queries, capacity, errors on fresh tokens, effects of samples."""

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.simulation.frames import frame_of
from token_laws import tokens, unit


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


def test_exponential_weights_count_what_samples_share():
    """A projection may be 7 deviations of the noise and of the effect away."""
    problem = st.SparseTokenProblem(4, tokens=tokens(20, effect=400.0))
    model = st.Elementwise(st.Query(0.8, 5.0), "exp")
    with pytest.raises(InvalidInput, match="sharpness"):
        st.simulate(problem, model, trials=1)
