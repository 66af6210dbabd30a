"""Queries that are random at the dimension of the tokens.

Equations: random-query.
"""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

import sparsetoken as st
from sparsetoken.numerics.errors import stated_error
from sparsetoken.theory import predict_readouts, random_queries
from sparsetoken.theory.alignment import draws
from sparsetoken.theory.alignment.draws import (
    align_over_draws,
    drawn_queries,
    effective_directions,
    randomness_advice,
)


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


J = np.arange(50)
LAWS = {
    "steep": (problem(50, 1.5, 20.0), st.TwoSteps(2.0)),
    "two tokens, few positives": (problem(50, 0.5, L=2, pi=0.15), st.TwoSteps(1.5)),
    "shared, of its own eigenvalues": (
        problem(50, 1.0, between=0.5 * (1 + np.cos(0.5 * J)), L=6, R=2),
        st.TwoSteps(1.0, eta_w=5.0, eta_b=0.1, beta=3.0, loss="squared_hinge"),
    ),
    "a loss with kinks, far steps": (
        turned(problem(50, 0.7, between=0.3 + 0 * J, L=5, R=3, pi=0.4)),
        st.TwoSteps(3.0, eta_w=3.0, loss="hinge"),
    ),
    "six samples": (problem(10, 0.5, 2.0, L=4), st.TwoSteps(0.6, eta_w=6.0, loss="logistic")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_draws_have_the_law_of_real_tokens(name):
    """Kolmogorov and Smirnov's test sees a shift of a third of a standard deviation.

    With 400 real sets D0 it finds cdfs that are .11 apart at the level 1e-4, 1/10 of the chance
    that one of the 20 tests fails by bad luck being .2%.
    """
    of, steps = LAWS[name]
    ours = drawn_queries(of, steps, 4000)
    found = st.simulation.align(of, steps, trials=400, engine="tensors", progress=False).trials
    for quantity in ("cosine", "overlap", "norm", "readout_cosine"):
        test = stats.ks_2samp(getattr(ours, quantity), getattr(found, quantity))
        assert test.pvalue > 1e-4, quantity


def test_vectors_are_in_the_coordinates_of_the_user():
    of, steps = LAWS["a loss with kinks, far steps"]
    drawn = drawn_queries(of, steps, 5)
    law = of.tokens
    width = np.sqrt(np.einsum("nd,de,ne->n", drawn.vectors, law.within, drawn.vectors))
    assert drawn.vectors @ law.signal == pytest.approx(drawn.overlap, rel=1e-9)
    assert steps.beta * width == pytest.approx(drawn.sharpness, rel=1e-9)


def test_draws_tend_to_the_limit_of_flat_spectra():
    """At d = 4000 means are off the limit by O(1/d), far below 1%, and draws by 1/sqrt(d)."""
    of, steps = problem(4000, 0.0), st.TwoSteps(2.0)
    limit, drawn = st.align(of, steps), align_over_draws(of, steps, draws=200)
    for quantity in ("cosine", "overlap", "norm", "sharpness", "readout_cosine"):
        mean = getattr(drawn, quantity)
        assert mean == pytest.approx(getattr(limit, quantity), rel=1e-2), quantity
    assert 0 < drawn.spread < 0.05 * drawn.cosine
    assert limit.spread is None
    assert randomness_advice(of, steps) == ""
    steep = problem(300, 1.5, 30.0)
    assert "alpha0" in randomness_advice(steep, steps)
    assert "as a vector" in randomness_advice(steep, st.Query(0.0, 1.0))


def test_first_draws_do_not_depend_on_their_number():
    for query in (LAWS["steep"][1], st.Query(0.5, 2.0)):
        few, many = (drawn_queries(LAWS["steep"][0], query, n, seed=3) for n in (4, 9))
        assert np.allclose(few.vectors, many.vectors[:4], rtol=1e-12, atol=0)
        assert not np.allclose(few.vectors, drawn_queries(LAWS["steep"][0], query, 4).vectors)


def test_given_cosines_and_sharpness_are_kept():
    of = problem(50, 1.5)
    drawn = drawn_queries(of, st.Query(0.6, 2.0), 4000)
    assert drawn.cosine == pytest.approx(0.6, rel=1e-12)
    assert drawn.norm == pytest.approx(1.0, rel=1e-12)
    assert drawn.sharpness == pytest.approx(2.0, rel=1e-12)
    # The rest is uniform: its second moment is (I - xi xi^T) (1 - s^2)/(d - 1).
    xi, S = of.tokens.signal, of.tokens.within
    squares = 0.36 * S @ xi**2 + 0.64 * S @ (1 - xi**2) / 49
    widths = drawn.vectors**2 @ S
    assert abs(widths.mean() - squares) < 4 * widths.std() / math.sqrt(4000)


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
    # It tells how widths fluctuate: 4000 of them have a variance known to about 5%.
    of, query = LAWS["steep"][0], st.Query(0.5, 2.0)
    drawn = drawn_queries(of, query, 4000)
    squares = drawn.vectors**2 @ of.tokens.within
    directions = 2 * squares.mean() ** 2 / squares.var()
    assert effective_directions(of, query) == pytest.approx(directions, rel=0.3)  # d is 50
    # It is a property of the tokens, not of their coordinates.
    of, steps = problem(50, 1.0, between=0.3 * np.cos(J) ** 2), st.TwoSteps(2.0)
    assert effective_directions(turned(of), steps) == pytest.approx(
        effective_directions(of, steps), rel=1e-8
    )


@pytest.mark.parametrize(
    "query", [pytest.param(st.TwoSteps(2.0), marks=pytest.mark.slow), st.Query(0.5, 2.0)]
)
def test_means_over_draws_against_solving_each(query, monkeypatch):
    """16 draws have a standard error of a quarter of the spread: that falls short of a tenth."""
    monkeypatch.setattr(random_queries, "_FIRST", 16)
    monkeypatch.setattr(random_queries, "_MOST", 16)
    of = problem(60, 1.5, 15.0)
    loads = [1.0, 3.0]
    readout = st.Readout("square", ridge=0.05, alpha1=loads)
    found = st.predict(of, st.Attention(query), readout, tolerance=1e-3, progress=False)
    readouts = [st.Readout("square", ridge=0.05, alpha1=alpha) for alpha in loads]
    drawn = drawn_queries(of, query, 16)
    each = np.array(
        [
            [p.test_error for p in predict_readouts(of, st.Attention(at), readouts, 1e-3)]
            for at in (
                st.Query(vector=q.tolist(), sharpness=k)
                for q, k in zip(drawn.vectors, drawn.sharpness, strict=True)
            )
        ]
    )
    for one, errors in zip(found, each.T, strict=True):
        # The nodes of each draw are known to the tolerance.
        assert one.spread == pytest.approx(errors.std(), rel=0.05)
        assert one.test_error == pytest.approx(errors.mean(), abs=1e-3)
        assert one.numerical_error >= 0.95 * errors.std() / math.sqrt(16)
        assert one.status == "tolerance_not_reached"
        assert "tolerance" in one.status.remedy
    every = drawn_queries(of, query, draws.DRAWS)
    assert found.sharpness[0] == pytest.approx(every.sharpness.mean())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("d", "power", "strength", "seed"), [(100, 0.45, 6.0, 5), (60, 0.4, 6.0, 7)]
)
def test_the_stated_error_covers_real_tokens(d, power, strength, seed):
    """Between 50 and 100 effective directions the limit is 10% off, which is 4 standard errors.

    The scatter of the readout's own data adds a part of order 1/d, here some 3% at most.
    """
    of, steps = problem(d, power, strength, L=4), st.TwoSteps(0.5, 0.5, 0.5, eta_q=40.0)
    readout = st.Readout("logistic", ridge=0.01, alpha1=2.0)
    found = st.predict(of, st.Attention(steps), readout)
    ran = st.simulate(
        of, st.Attention(steps), readout, trials=300, seed=seed, engine="tensors", progress=False
    )
    measured = ran.trials.test_error
    apart = math.hypot(found.numerical_error, measured.std(ddof=1) / math.sqrt(300))
    assert found.converged
    assert abs(found.test_error - measured.mean()) < 3 * apart


@pytest.mark.slow
def test_small_test_errors_are_known_relatively():
    """Few nodes miss a tenth of a test error of .0002, which varies by 1/60 over queries."""
    of, readout = problem(100, 0.2, 8.0, L=4), st.Readout("logistic", ridge=0.01, alpha1=2.0)
    model = st.Attention(st.TwoSteps(0.5, 0.5, 0.5, eta_q=40.0))
    found = st.predict(of, model, readout, tolerance=1e-3)
    rough, limit = (
        predict_readouts(of, model, [readout], nodes=nodes)[0].test_error for nodes in (512, 2**13)
    )
    assert found.converged
    assert 2 * found.numerical_error < 0.02 * found.test_error  # of 0.1 that are allowed
    assert found.test_error == pytest.approx(limit, rel=0.02)
    assert rough < 0.95 * limit


@pytest.mark.slow
def test_the_spread_of_steep_spectra_is_found():
    """The second known setting: the limit says .385; real tokens .28 +- .01 and .19."""
    steps = st.TwoSteps(2.0, eta_q=1.0)
    of, readout = problem(300, 1.5, 30.0), st.Readout("logistic", ridge=0.01, alpha1=2.0)
    found = st.predict(of, st.Attention(steps), readout)
    assert found.converged
    assert 2 * found.numerical_error <= 0.2 * found.spread
    # Three standard errors: of 512 real sets D0 .0083 and .004, of the spread of 128 a twentieth.
    apart = math.hypot(0.0083, found.numerical_error)
    assert found.test_error == pytest.approx(0.28, abs=3 * apart)
    assert found.spread == pytest.approx(0.19, abs=3 * math.hypot(0.004, 0.05 * 0.19))
    (limit,) = predict_readouts(of, st.Attention(steps), [readout], nodes=512)
    assert limit.test_error > 0.35
    assert limit.status == "no_limit"


def test_a_random_query_is_predicted_over_draws():
    of, steps = problem(100, 1.5, 15.0), st.TwoSteps(2.0, eta_q=1.0)
    loads = [1.0, 4.0]
    found = st.predict(of, st.Attention(steps), st.Readout("square", 0.05, loads), tolerance=1e-2)
    assert found.converged
    assert (found.spread > 0.01).all()
    assert "mean over data sets D0" in found.advice[0]
    assert found.cosine[0] == st.align(of, steps).cosine
    assert st.align(of, steps).spread > 0.05
    assert st.capacity(of, st.Attention(steps), tolerance=0.1).status == "no_limit"
    one = st.predict(
        of, st.Attention(st.Query(0.5, 2.0)), st.Readout("square", 0.05, 2.0), tolerance=1e-2
    )
    assert one.converged
    assert "as a vector" in one.advice[-1]
    assert st.predict(st.SparseTokenProblem(), st.Attention(steps), tolerance=0.1).spread is None
    flat = st.predict(problem(60, 0.0), st.Attention(st.Query(0.5, 2.0)), tolerance=1e-2)
    assert flat.spread == pytest.approx(0, abs=1e-9)


@pytest.mark.slow
def test_flat_spectra_tend_to_the_limit():
    """The difference is of order 1/d, a share of order 1/sqrt(d) of the spread.

    The mean over draws is known to a tenth of the spread.
    """
    model, readout = st.Attention(st.TwoSteps(2.0, eta_q=1.0)), st.Readout("logistic", 0.05, 2.0)
    found = st.predict(problem(2000, 0.2), model, readout)
    assert found.converged
    assert found.advice == () or "mean over" not in found.advice[-1]
    (limit,) = predict_readouts(problem(2000, 0.2), model, [readout], nodes=4096)
    assert abs(limit.test_error - found.test_error) < 0.25 * found.spread


@pytest.fixture
def solved(monkeypatch):
    """Return the tolerance and the predictions of each draw that is solved."""
    calls, plain = [], random_queries.Predictor.predictions

    def counted(self, readouts, tolerance):
        calls.append((tolerance, plain(self, readouts, tolerance)))
        return calls[-1][1]

    monkeypatch.setattr(random_queries.Predictor, "predictions", counted)
    return calls


@pytest.mark.slow
def test_more_nodes_are_taken_at_a_few_draws_only(solved):
    """All draws see the same nodes, whose error they have in common."""
    of, model = problem(40, 0.1, 3.0), st.Attention(st.Query(0.7, 6.0))
    readout = st.Readout("square", 0.01, 2.0)
    rough = st.predict(of, model, readout, tolerance=0.3, progress=False)
    assert [tolerance for tolerance, _ in solved] == [math.inf] * 32
    found = st.predict(of, model, readout, tolerance=2e-4, progress=False)
    few, fine = solved[32:64], solved[64:68]
    assert found.converged
    assert all(tolerance < 0.01 for tolerance, _ in fine)
    assert all(tolerance == math.inf for tolerance, _ in solved[68:])  # further draws
    changes = [
        one[0].test_error - other[0].test_error
        for (_, one), (_, other) in zip(fine, few[:4], strict=True)
    ]
    assert abs(np.mean(changes)) > 1e-6
    many, first = (np.mean([one[0].numerical_error for _, one in some]) for some in (fine, few))
    assert many < 0.5 * first
    all_rough = [one[0].test_error for _, one in (*few, *solved[68:])]
    assert found.test_error == pytest.approx(np.mean(all_rough) + np.mean(changes), rel=1e-12)
    # what the changes differ by is part of the error, beside that of the draws and of the nodes
    expected = math.hypot(many, stated_error(np.array(all_rough)), stated_error(np.array(changes)))
    assert found.numerical_error == pytest.approx(expected, rel=1e-9)
    assert rough.test_error == pytest.approx(np.mean([one[0].test_error for _, one in few]))


@pytest.mark.slow
def test_no_more_draws_are_solved_where_nodes_cannot_be_enough(solved):
    """A test error to 1e-9 is beyond the most nodes."""
    model, readout = st.Attention(st.Query(0.99999, 6.0)), st.Readout("square", 0.01, 2.0)
    found = st.predict(problem(40, 0.01, 3.0), model, readout, tolerance=1e-9, progress=False)
    assert not found.converged
    assert len(solved) == 32 + 4


def test_queries_that_do_not_vary_have_no_spread():
    readout = st.Readout("logistic", ridge=0.1, alpha1=2.0)
    still = st.TwoSteps(2.0, eta_w=0.0)
    for query in (still, st.Query(1.0, 2.0)):
        of = problem(50, 1.0)
        found = st.predict(of, st.Attention(query), readout, tolerance=1e-3)
        (expected,) = predict_readouts(of, st.Attention(query), [readout], nodes=2048)
        assert found.spread == pytest.approx(0.0, abs=1e-9)
        assert found.converged
        # Twice the error stated, and rounding.
        allowance = 2 * found.numerical_error + 1e-9
        assert found.test_error == pytest.approx(expected.test_error, abs=allowance)


def test_a_sharpness_of_zero():
    """Softmax is the mean token whatever the query; hard attention does not use the sharpness."""
    of, readout = problem(60, 2.5), st.Readout("square", 0.05, 2.0)
    found = st.predict(of, st.Attention(st.Query(0.5, 0.0)), readout)
    assert found.converged
    assert found.spread == pytest.approx(0, abs=1e-12)
    assert found.test_error == pytest.approx(st.predict(of, st.Pooled(), readout).test_error)
    hard = [st.predict(of, st.model.HardAttention(st.Query(0.5, k)), readout) for k in (0.0, 1.0)]
    assert hard[0].test_error == pytest.approx(hard[1].test_error, rel=1e-6)
    assert hard[0].spread == pytest.approx(hard[1].spread, rel=1e-6)


@pytest.mark.parametrize("query", [st.TwoSteps(2.0), st.Query(0.5, 2.0)])
def test_signs_of_eigenvectors_do_not_matter(query, monkeypatch):
    of = turned(problem(50, 1.0, between=0.3 * np.cos(J) ** 2))
    plain, spectrum = drawn_queries(of, query, 4), draws.spectrum_of(of)
    signs = np.where(J % 3 == 0, -1.0, 1.0)
    other = dataclasses.replace(
        spectrum, signal=signs * spectrum.signal, basis=spectrum.basis * signs
    )
    monkeypatch.setattr(draws, "spectrum_of", lambda _: other)
    flipped = drawn_queries(of, query, 4)
    assert flipped.vectors == pytest.approx(plain.vectors, rel=1e-9, abs=1e-12)
