"""Which samples serve which stage."""

import numpy as np
import pytest

from sparsetoken.models import Attention
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.seeds import Stream
from sparsetoken.simulation.simulate import simulate
from sparsetoken.stages import Readout, TwoSteps
from sparsetoken.validation import InvalidInput
from sparsetoken.variants.attention import ARMS, Samples, query_path, reuse_trial, start

PROBLEM = SparseTokenProblem(length=5, informative=1, strength=5.0, positive_rate=0.5)
STEPS, READOUT = TwoSteps(alpha0=2.0, eta_q=15.0), Readout(ridge=1e-2, alpha1=2.0)
D = 24


def test_each_query_comes_from_its_samples():
    found = reuse_trial(PROBLEM, STEPS, READOUT, dimension=D, seed=1, trial=2)
    engine = start(PROBLEM, D, 1, 2)
    D0, D1 = (Samples.drawn(engine, source, 2.0) for source in (Stream.D0, Stream.D1))
    for arm, samples in zip(ARMS, (D0, D1, D0 | D1), strict=True):
        (last,) = query_path(samples, STEPS)
        cosine = last.q @ engine.signal / np.linalg.norm(last.q)
        assert found[arm].cosine == pytest.approx(cosine, abs=1e-12)
    assert len({arm.test_error for arm in found.values()}) == 3


def test_fresh_data_give_the_law_of_the_simulation():
    trials = 30
    found = [reuse_trial(PROBLEM, STEPS, READOUT, dimension=D, trial=i) for i in range(trials)]
    errors = [one["fresh"].test_error for one in found]
    other = simulate(PROBLEM, Attention(STEPS), READOUT, dimension=D, trials=trials, seed=1)
    width = np.hypot(np.std(errors, ddof=1) / np.sqrt(trials), other.standard_error.test_error)
    # Two independent means of the same law: 4 standard errors of their difference.
    assert abs(np.mean(errors) - other.mean.test_error) < 4 * width


def test_without_a_signal_nothing_is_learned():
    nothing = SparseTokenProblem(length=5, informative=1, strength=0.0, positive_rate=0.5)
    found = reuse_trial(nothing, STEPS, READOUT, dimension=D)
    # At pi = 1/2 the two classes have the same law; the means run over other draws of it.
    assert [arm.test_error for arm in found.values()] == pytest.approx([0.5] * 3, abs=0.01)


def test_a_bad_dimension_is_refused():
    with pytest.raises(InvalidInput, match="dimension"):
        reuse_trial(PROBLEM, STEPS, READOUT, dimension=1)
