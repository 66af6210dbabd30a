"""The query of two steps at finite dimension, against real tokens; and how far its limit serves.

Equations: finite-query, random-query.
"""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.theory import predict_at_dimension
from sparsetoken.theory.query import finite_dimension
from sparsetoken.theory.query.directions import effective_directions, limit_status
from sparsetoken.theory.query.distribution import query_distribution
from sparsetoken.theory.query.finite_dimension import DRAWS, drawn_queries


def unit(vector):
    return vector / np.linalg.norm(vector)


def problem(d, power, strength=4.0, between=None, L=8, R=1, pi=0.5):
    j = np.arange(d)
    S = (j + 1.0) ** -power
    S /= S.mean()
    xi = unit(np.sqrt(S) * np.cos(1.7 * j))
    tokens = st.TokenCovariance(S, between, signal=xi)
    return st.SparseTokenProblem(L, R, strength, pi, tokens=tokens)


def turned(of, seed=0):
    """Return the same tokens in other coordinates."""
    law = of.tokens
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(law.signal),) * 2))[0]
    between = None if law.between is None else basis @ np.diag(law.between) @ basis.T
    within = basis @ np.diag(law.within) @ basis.T
    tokens = st.TokenCovariance(within, between, signal=basis @ law.signal)
    return dataclasses.replace(of, tokens=tokens)


J = np.arange(60)
LAWS = {
    "steep": (problem(60, 1.5, 20.0), st.TwoSteps(2.0), 60),
    "two tokens, few positives": (problem(60, 0.5, L=2, pi=0.15), st.TwoSteps(1.5), 60),
    "shared, of its own eigenvalues": (
        problem(60, 1.0, between=0.5 * (1 + np.cos(0.5 * J)), L=6, R=2),
        st.TwoSteps(1.0, eta_w=5.0, eta_b=0.1, beta=3.0, loss="squared_hinge"),
        60,
    ),
    "a loss with kinks, far steps": (
        turned(problem(60, 0.7, between=0.3 + 0 * J, L=5, R=3, pi=0.4)),
        st.TwoSteps(3.0, eta_w=3.0, loss="hinge"),
        60,
    ),
    "as many tokens as dimensions": (
        st.SparseTokenProblem(40, 1, 4.0, 0.5),
        st.TwoSteps(4.0, eta_b=0.5),
        40,
    ),
    "few positives, least squares": (
        st.SparseTokenProblem(12, 2, 3.0, 0.3),
        st.TwoSteps(1.0, eta_w=1.0, loss="square"),
        100,
    ),
    "two samples of two tokens": (
        st.SparseTokenProblem(2, 1, 3.0, 0.2),
        st.TwoSteps(0.2),
        10,
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_draws_have_the_distribution_of_real_tokens(name):
    """Kolmogorov and Smirnov's test sees a shift of a third of a standard deviation.

    With 400 real sets D0 it finds cdfs that are .11 apart at the level 1e-4, 1/10 of the chance
    that one of the 28 tests fails by bad luck being .3%.
    """
    of, steps, d = LAWS[name]
    ours = drawn_queries(of, steps, d)
    found = st.simulation.align(
        of, steps, dimension=d, trials=400, engine="tensors", progress=False
    ).trials
    for quantity in ("cosine", "overlap", "norm", "readout_cosine"):
        test = stats.ks_2samp(getattr(ours, quantity), getattr(found, quantity))
        assert test.pvalue > 1e-4, quantity


def test_means_and_spread_of_an_alignment():
    of, steps, d = LAWS["as many tokens as dimensions"]
    found, drawn = st.align(of, steps, dimension=d), drawn_queries(of, steps, d)
    for name in ("cosine", "overlap", "norm", "sharpness", "readout_cosine"):
        assert getattr(found, name) == pytest.approx(getattr(drawn, name).mean(), rel=1e-12)
    assert found.spread == pytest.approx(drawn.cosine.std(), rel=1e-12)
    assert found.anti_aligned == (drawn.cosine < 0).mean() > 0
    assert found.status == "converged"
    assert math.isnan(found.rate)
    assert st.align(of, steps).spread is None


def test_vectors_are_in_the_coordinates_of_the_user():
    of, steps, d = LAWS["a loss with kinks, far steps"]
    drawn = drawn_queries(of, steps, d, 5, vectors=5)
    law = of.tokens
    width = np.sqrt(np.einsum("nd,de,ne->n", drawn.vectors, law.within, drawn.vectors))
    assert drawn.vectors @ law.signal == pytest.approx(drawn.overlap, rel=1e-9)
    assert steps.beta * width == pytest.approx(drawn.sharpness, rel=1e-9)


@pytest.mark.parametrize(
    ("of", "alpha0"),
    [
        (problem(4000, 0.0), 2.0),
        (problem(4000, 0.2, between=0.3 * np.ones(4000), L=5, R=2, pi=0.3), 2.0),
        (st.SparseTokenProblem(8, 1, 4.0, 0.15), 2.0),
        (st.SparseTokenProblem(8, 1, 1.0), 0.5),  # the noise of centred tokens is all
        (st.SparseTokenProblem(2, 1, 4.0), 0.3),  # that of their signal is most
    ],
)
def test_draws_tend_to_the_limit(of, alpha0):
    """Each draw is off by 1/sqrt(d), and their mean by O(1/d)."""
    d, count, steps = 4000, 1000, st.TwoSteps(alpha0)
    limit, drawn = st.align(of, steps), drawn_queries(of, steps, d, count)
    for quantity in ("cosine", "overlap", "norm", "sharpness", "readout_cosine"):
        values, expected = getattr(drawn, quantity), getattr(limit, quantity)
        allowed = 4 * values.std() / math.sqrt(count) + 2 / d * abs(expected)
        assert values.mean() == pytest.approx(expected, abs=allowed), quantity
    assert 0 < drawn.cosine.std() < 2 / math.sqrt(d)


def test_first_draws_do_not_depend_on_their_number():
    of, steps, d = LAWS["steep"]
    few, many = (drawn_queries(of, steps, d, n, vectors=4) for n in (4, 9))
    assert np.array_equal(few.vectors, many.vectors)
    assert np.array_equal(few.cosine, many.cosine[:4])


@pytest.mark.parametrize("of", [problem(50, 0.5, 6.0), st.SparseTokenProblem(8, 1, 4.0)])
def test_predictions_are_means_over_given_queries(of, monkeypatch):
    monkeypatch.setattr(predict_at_dimension, "_DRAWS", 6)
    steps, readouts = st.TwoSteps(2.0), st.Readout("logistic", 0.05, np.array([1.0, 3.0]))
    found = st.predict(of, st.Attention(steps), readouts, dimension=50, tolerance=1e-3)
    drawn = drawn_queries(of, steps, 50, 6, vectors=6)
    of_draws = []
    for i in range(6):
        given = {"vector": drawn.vectors[i].tolist()}
        if of.tokens.dimension is None:
            given = {"cosine": float(drawn.cosine[i])}
        query = st.Query(**given, sharpness=float(drawn.sharpness[i]))
        of_draws.append(st.predict(of, st.Attention(query), readouts, tolerance=1e-3))
    errors = np.array([one.test_error for one in of_draws])
    # Each is solved from a start of its own, to the square of 1e-6.
    assert found.test_error == pytest.approx(errors.mean(axis=0), rel=1e-8)
    assert found.spread == pytest.approx(errors.std(axis=0), rel=1e-5)
    assert (found.errors.test_error >= errors.std(axis=0) / math.sqrt(6)).all()


@pytest.mark.slow
def test_test_errors_are_those_of_real_tokens():
    """With as many tokens as dimensions; that of the limit is .195, a quarter too small."""
    of, steps = st.SparseTokenProblem(100, 1, 4.4), st.TwoSteps(5.0, eta_q=5000.0)
    model, readout = st.Attention(steps), st.Readout(alpha1=4.0)
    found = st.predict(of, model, readout, dimension=100, tolerance=1e-3)
    real = st.simulate(of, model, readout, dimension=100, trials=80, engine="tensors")
    error = math.hypot(found.numerical_error, real.standard_error.test_error)
    assert abs(found.test_error - real.mean.test_error) < 4 * error  # .017, and 1/d of the readout
    # A spread over 80 trials is known to 1/sqrt(160), .08 of itself, that over 128 draws to .06.
    assert found.spread == pytest.approx(real.trials.test_error.std(), rel=0.4)
    limit = st.predict(of, model, readout, tolerance=1e-3)
    assert real.mean.test_error - limit.test_error > 4 * real.standard_error.test_error


def test_a_query_that_does_not_vary_has_no_spread():
    readout, still = st.Readout("logistic", ridge=0.1, alpha1=2.0), st.TwoSteps(2.0, eta_w=0.0)
    for of in (problem(50, 1.0), st.SparseTokenProblem(8, 1, 4.0)):
        found = st.predict(of, st.Attention(still), readout, dimension=50, tolerance=1e-3)
        assert found.spread == pytest.approx(0.0, abs=1e-9)
        expected = st.predict(of, st.Pooled(), readout, tolerance=1e-3)
        assert found.test_error == pytest.approx(expected.test_error, abs=1e-6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda d: st.align(st.SparseTokenProblem(), dimension=1), "dimension"),
        (lambda d: st.align(problem(50, 1.0), dimension=60), "50, that of the tokens; got 60"),
        (
            lambda d: st.predict(st.SparseTokenProblem(), st.Pooled(), dimension=60),
            "left out where no query is found by two steps; got 60",
        ),
        (
            lambda d: st.predict(
                st.SparseTokenProblem(), st.Attention(st.Query(0.5, 1.0)), dimension=60
            ),
            "left out where no query is found by two steps",
        ),
        (
            lambda d: st.predict(st.tasks.needle_with_value(4), st.Pooled(), dimension=60),
            "None for a task",
        ),
    ],
)
def test_dimensions_that_decide_nothing_are_refused(call, words):
    with pytest.raises(InvalidInput, match=words):
        call(60)


def test_effective_directions():
    # Beside the signal, uniform: the effective rank of S_w. A flat spectrum leaves no width open.
    assert effective_directions(problem(400, 0.0), st.Query(0.0, 1.0)) == math.inf
    S, last = problem(400, 1.5).tokens.within, np.eye(400)[-1]
    of = st.SparseTokenProblem(tokens=st.TokenCovariance(S, signal=last))
    steep = effective_directions(of, st.Query(0.0, 1.0))
    # but for the signal's own, and the length of a uniform direction, which does not vary
    rank = S.sum() ** 2 / (S @ S)
    assert steep == pytest.approx(rank / (1 - rank / 400), rel=0.02)
    # Of two steps it grows like d for flat spectra and stays bounded for steep ones.
    steps = st.TwoSteps(2.0)
    small, large = (effective_directions(problem(d, 0.0), steps) for d in (200, 2000))
    assert large == pytest.approx(10 * small, rel=0.05)
    assert all(effective_directions(problem(d, 1.5), steps) < 2 for d in (200, 2000, 20000))
    # It tells how widths fluctuate: of 20000 normal queries a variance is known to about 2%.
    of, rng = problem(60, 0.5), np.random.default_rng(0)
    law = query_distribution(of, steps)
    drawn = law.mean + np.sqrt(law.scatter) * rng.standard_normal((20_000, 60))
    squares = drawn**2 @ of.tokens.within
    directions = 2 * squares.mean() ** 2 / squares.var()
    assert effective_directions(of, steps) == pytest.approx(directions, rel=0.06)
    # 4000 of a given cosine have a variance known to about 5%.
    of, rng = problem(60, 1.5, 20.0), np.random.default_rng(0)
    S, xi = of.tokens.within, of.tokens.signal
    beside = rng.standard_normal((4000, 60))
    beside -= np.outer(beside @ xi, xi)
    beside /= np.linalg.norm(beside, axis=1, keepdims=True)
    squares = (0.5 * xi + math.sqrt(0.75) * beside) ** 2 @ S
    directions = 2 * squares.mean() ** 2 / squares.var()
    assert effective_directions(of, st.Query(0.5, 2.0)) == pytest.approx(directions, rel=0.15)
    # It is a property of the tokens, not of their coordinates.
    of = problem(60, 1.0, between=0.3 * np.cos(J) ** 2)
    assert effective_directions(turned(of), steps) == pytest.approx(
        effective_directions(of, steps), rel=1e-8
    )


def test_a_limit_is_approximate_where_few_directions_carry_the_covariance():
    flat, steep, steps = problem(4000, 0.0), problem(300, 1.5, 30.0), st.TwoSteps(2.0)
    assert limit_status(flat, steps).converged
    readout = st.Readout("logistic", 0.1, 2.0)
    for found in (
        st.align(steep, steps),
        st.predict(steep, st.Attention(steps), readout, tolerance=0.01),
        st.capacity(steep, st.Attention(steps), tolerance=0.02),
    ):
        assert found.status == "approximate"
        assert "dimension=300" in found.status.remedy
    given = st.predict(steep, st.Attention(st.Query(0.0, 1.0)), readout, tolerance=0.01)
    assert given.status == "approximate"
    assert "as a vector" in given.status.remedy
    assert st.align(steep, steps, dimension=300).status == "converged"


def test_signs_of_eigenvectors_do_not_matter(monkeypatch):
    of, steps = turned(problem(60, 1.0, between=0.3 * np.cos(J) ** 2)), st.TwoSteps(2.0)
    plain, spectrum = drawn_queries(of, steps, 60, 4, vectors=4), finite_dimension.spectrum_of(of)
    signs = np.where(J % 3 == 0, -1.0, 1.0)
    other = dataclasses.replace(
        spectrum, signal=signs * spectrum.signal, basis=spectrum.basis * signs
    )
    monkeypatch.setattr(finite_dimension, "spectrum_of", lambda _: other)
    flipped = drawn_queries(of, steps, 60, 4, vectors=4)
    assert flipped.vectors == pytest.approx(plain.vectors, rel=1e-9, abs=1e-12)
    assert len(drawn_queries(of, steps, 60).cosine) == DRAWS
