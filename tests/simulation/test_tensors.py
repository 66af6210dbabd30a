"""The direct engine against the definitions it implements."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy.special import ndtr

from sparsetoken.model.models import (
    Attention,
    Elementwise,
    HardAttention,
    Pooled,
    Vectorized,
)
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.simulation import sizes
from sparsetoken.simulation.features import sampler_of
from sparsetoken.simulation.frames import TokenFrame
from sparsetoken.simulation.performance import expected_performance, measured_performance, project
from sparsetoken.simulation.seeds import Stream
from sparsetoken.simulation.setting import Setting
from sparsetoken.simulation.tensors import TensorEngine
from sparsetoken.simulation.trial import TrialPlan
from token_laws import tokens

PROBLEM = SparseTokenProblem(3, 1, 2.0, 0.4)


def whole(engine, source, n):
    tokens, labels = zip(*engine.chunks(source, n), strict=True)
    return np.concatenate(tokens), np.concatenate(labels)


def test_a_second_pass_draws_the_same_data(monkeypatch):
    monkeypatch.setattr(sizes, "CHUNK_BYTES", 2000)
    engine = TensorEngine(PROBLEM, 7, seed=1)
    first, second = (whole(engine, Stream.D0, 50) for _ in range(2))
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])


@pytest.mark.parametrize("cosine", [-1.0, -0.3, 0.0, 0.8, 1.0])
def test_a_given_query_has_exactly_its_cosine(cosine):
    engine = TensorEngine(PROBLEM, 6, seed=2)
    found = engine.frame.given(Query(cosine, 2.0), np.random.default_rng(0))
    assert np.linalg.norm(found.direction) == pytest.approx(1, abs=1e-14)
    assert found.direction @ engine.signal == pytest.approx(cosine, abs=1e-14)


@pytest.mark.parametrize("model", [Attention(), HardAttention(), Pooled(), Vectorized()])
def test_overlaps_rebuild_the_readout(model):
    engine = TensorEngine(PROBLEM, 6, seed=2)
    trained = engine.frame.given(Query(0.6, 1.0), np.random.default_rng(0))
    trained = None if model.query is None else trained
    sampler = sampler_of(model, PROBLEM)
    design = engine.design(sampler, trained, 10)
    w = np.random.default_rng(0).standard_normal(design.features.shape[1])
    found = project(design.frame, design.query, w, 0.3, sampler.positions)
    own, xi = found.overlaps, engine.signal
    size = np.linalg.norm([own.query, own.orthogonal, own.noise])
    assert size == pytest.approx(np.linalg.norm(w))
    assert own.bias == 0.3
    np.testing.assert_allclose(found.signal, w.reshape(-1, 6) @ xi)
    along = 0.6 * own.query + 0.8 * own.orthogonal if model.query is not None else own.orthogonal
    assert along == pytest.approx(found.signal.sum() / np.sqrt(len(found.signal)))


FRESH, LONGER = Query(0.7, 1.5), {"length": 9, "informative": 2, "strength": 2.0}


@pytest.mark.parametrize(
    ("model", "law", "shift"),
    [
        (Attention(FRESH), {}, LONGER),
        (Elementwise(FRESH), {}, {}),
        (Elementwise(FRESH, "relu"), {}, LONGER),
        (HardAttention(FRESH), {}, LONGER),
        (Pooled(), {}, LONGER),
        (Vectorized(), {}, {"strength": 2.0, "positive_rate": 0.5}),
        *(
            (model, {"tokens": tokens(15, turned=True)}, {})
            for model in (Pooled(), Vectorized(), Attention(FRESH))
        ),
        (Elementwise(FRESH), {"tokens": tokens(15, effect=8.0, turned=True)}, {}),
    ],
)
def test_expected_performance_is_that_of_fresh_samples(model, law, shift):
    """Also on another problem than that of the training."""
    problem = SparseTokenProblem(3, 1, 2.5, 0.3, **law)
    tested = dataclasses.replace(problem, **shift)
    readout, n = Readout(ridge=0.05, alpha1=3.0), 40_000
    plan = TrialPlan(problem, model, readout, Setting(15, 0, "tensors"), tested)
    for trial in range(3):
        a, b = plan.run(trial).outcome, fresh_performance(plan, trial, n)
        # 4.5 binomial standard errors of the count, and as many of 65536 draws
        error = 4.5 * np.sqrt(b.test_error * (1 / n + 1 / 65536))
        assert a.test_error == pytest.approx(b.test_error, abs=error)
        # the variance of an AUC is at most auc (1 - auc) / min(n+, n-)
        spread = np.sqrt(b.auc * (1 - b.auc) * (1 / (0.3 * n) + 1 / 65536))
        assert a.auc == pytest.approx(b.auc, abs=4.5 * spread)


def fresh_performance(plan, trial, n):
    """Return test error and AUC of a trial, counted on n new samples."""
    engine, design = plan.draw(trial)
    fit = fit_readout(design.features, design.labels, plan.readout.loss, plan.readout.ridge)
    tokens, labels = whole(dataclasses.replace(engine, problem=plan.tested), Stream.FRESH, n)
    scores = plan.sampler.features(tokens, design.query) @ fit.w + fit.b
    return measured_performance(scores, labels)


@pytest.mark.parametrize("scalar_bytes", [1, 50, 2**19])
def test_expected_vectorized_error_enumerates_positions(scalar_bytes, monkeypatch):
    """A readout built by hand, and the sum over the three positions."""
    monkeypatch.setattr(sizes, "SCALAR_BYTES", scalar_bytes)
    problem, profile = SparseTokenProblem(3, 2, 2.0, 0.4), np.array([1.0, 0.5, -0.2])
    sampler, rng = sampler_of(Vectorized(), problem), np.random.default_rng(0)
    w = np.concatenate([profile, [1.2]])
    projections = project(TokenFrame(np.ones(1)), None, w, -0.3, positions=3)
    found = expected_performance(0.4, sampler.scores(None, projections, rng))
    width = np.sqrt(profile @ profile + 1.2**2)
    pairs = itertools.combinations(range(3), 2)
    shifts = np.array([2.0 * profile[list(pair)].sum() for pair in pairs])
    error = 0.4 * np.mean(ndtr(-(shifts - 0.3) / width)) + 0.6 * ndtr(-0.3 / width)
    assert found.test_error == pytest.approx(error, abs=1e-14)
    assert found.auc == pytest.approx(np.mean(ndtr(shifts / width / np.sqrt(2))), abs=1e-14)


def test_ties_count_one_half():
    sampler, rng = sampler_of(Pooled(), PROBLEM), np.random.default_rng(0)
    nothing = project(TokenFrame(np.ones(1)), None, np.zeros(1), 0.0)
    found = expected_performance(0.4, sampler.scores(None, nothing, rng))
    assert found == (0.5, 0.5)
    assert measured_performance(np.zeros(4), np.array([1, 1, -1, -1])) == (0.5, 0.5)
