"""Tokens of a covariance: queries, capacity, errors on fresh tokens, effects of samples."""

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.simulation.features import sampler_of
from sparsetoken.simulation.frames import IsotropicFrame, frame_of
from sparsetoken.simulation.reduced import ReducedEngine, centred_sums
from token_laws import tokens, unit


def test_a_query_given_as_a_vector_is_used_as_it_is():
    law = tokens(40, turned=True)
    q = unit(40, 0.4)
    problem, model = (
        st.SparseTokenProblem(5, tokens=law),
        st.Attention(st.Query(vector=q, sharpness=1.5)),
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


def test_isotropic_noise_has_the_norms_of_all_dimensions():
    """Means over 4000 draws within 5 standard errors."""
    frame, rng = IsotropicFrame.of_steps(9), np.random.default_rng(0)
    q = np.array([0.6, -1.2, 0.0])
    mean = [frame.mean_vector(4, rng) for _ in range(4000)]
    beside = [frame.beside_vector(q, rng) for _ in range(4000)]
    # Fewer samples than directions: a factor of their Gram matrix stands for the samples.
    few = IsotropicFrame(np.ones(1), dimension=20)
    within = np.stack([few.within_noise(15, rng) for _ in range(4000)], axis=1)
    for draws, expected in ((mean, 9 / 4), (beside, 9 - 1), *((row, 20) for row in within)):
        squares = np.sum(np.square(draws), axis=1)
        assert abs(squares.mean() - expected) < 5 * squares.std() / np.sqrt(4000)


def test_centred_sums_have_the_means_of_tokens():
    """Of 200000 samples a mean is known to 0.2%."""
    n, theta_m, width, V = 200_000, 1.2, 0.7, 2 * (1 - 2 / 6)
    problem, ones = st.SparseTokenProblem(6, 2, 3.0), np.ones(n)
    sums = centred_sums(problem, theta_m / 3.0, width, ones, ones, np.random.default_rng(0))
    found = np.array([sums[0], sums[1], sums[2] ** 2]) / n
    expected = [V * theta_m, 5 * width, 5 * width**2 + V * theta_m**2]
    np.testing.assert_allclose(found, expected, rtol=0.01)


def test_isotropic_noise_beside_a_vector_is_orthogonal_to_it():
    q = np.array([0.6, -1.2, 0.0])
    noise = IsotropicFrame.of_steps(9).beside_vector(q, np.random.default_rng(0))
    assert noise @ q == pytest.approx(0, abs=1e-14)
    assert np.all(noise != 0)


def test_exponential_weights_count_what_samples_share():
    """A projection may be 7 deviations of the noise and of the effect away."""
    problem = st.SparseTokenProblem(4, tokens=tokens(20, effect=400.0))
    model = st.Elementwise(st.Query(0.8, 5.0), "exp")
    with pytest.raises(InvalidInput, match="sharpness"):
        st.simulate(problem, model, trials=1)


def test_features_drawn_without_tokens_have_the_projections_of_their_scalars():
    """Along the query all is given: nothing but rounding is left."""
    problem = st.SparseTokenProblem(5, 2, 3.0, 0.4, tokens=tokens(12, effect=4.0, turned=True))
    sampler = sampler_of(st.Elementwise(st.Query(0.8, 0.7)), problem)
    frame, trained = frame_of(problem.tokens).facing(
        frame_of(problem.tokens).given(sampler.model.query, np.random.default_rng(0))
    )
    y, q = np.array([1, -1, 1, -1]), trained.direction
    drawn = sampler.draw(frame, trained, y, np.random.default_rng(1))
    A, B, _, D, zeta = sampler.scalars(trained, y == 1, np.random.default_rng(1))
    (noise, _), (effect, _) = frame.along(q), frame.between_along(q)
    expected = 3.0 * A * (q @ frame.signal) + B * noise + D * zeta * effect
    np.testing.assert_allclose(drawn @ q, expected, rtol=1e-10)


@pytest.mark.parametrize("law", [st.model.Isotropic(), tokens(12, turned=True)])
def test_scores_of_the_first_step_add_up_to_those_of_its_readout(law):
    """The sum of the mean tokens, weighted by the first slopes, is the readout but for the signal.

    So is the same sum of their projections on it: nothing but rounding is left.
    """
    problem = st.SparseTokenProblem(4, 1, 3.0, 0.4, tokens=law)
    engine, steps = ReducedEngine(problem, 12, 0), st.TwoSteps(eta_w=2.0, eta_b=0.3, loss="square")
    y = np.array([1, -1, -1, 1, 1])
    w1, slopes = engine._first_step(steps, y, np.random.default_rng(1))
    scores = slopes + y - 0.3 * np.mean(y)  # without the bias after the step
    signal = 3.0 / 4 * engine.frame.signal
    noise = scores - w1 @ signal * (y == 1)
    total = -len(y) / 2.0 * w1 + np.sum(y == 1) * signal  # the first slopes are -y
    assert -y @ noise == pytest.approx(total @ w1, rel=1e-10)
