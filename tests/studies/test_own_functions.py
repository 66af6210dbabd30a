"""What single studies compute themselves: rates, crossings, growth laws, thresholds.

Equations: infinite-data-rate, critical-cosine, growth-fit.
"""

import dataclasses
import math

import numpy as np
import pytest
from scipy.special import ndtr

import sparsetoken as st
from sparsetoken.studies import growing_length, joint_training, misalignment, rates
from sparsetoken.studies.representation import best_law, score
from sparsetoken.studies.threshold import fit_threshold
from sparsetoken.theory.laws.of_model import feature_law

PROBLEM = st.SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=0.5)


@pytest.mark.parametrize("model", list(rates.MODELS))
def test_the_rate_of_infinite_data_is_that_of_the_solutions(model):
    """alpha (E(alpha) - E(inf)), extrapolated to 1/alpha = 0."""
    loads = [x * rates.WEIGHTS[model] for x in (1e3, 2e3)]
    readouts = [st.Readout("square", 0.0, alpha1) for alpha1 in (*loads, math.inf)]
    given = (rates.PROBLEM, rates.MODELS[model], readouts)
    *errors, limit = st.theory.predict_readouts(*given, nodes=rates.NODES)
    near, far = (
        load * float(one.test_error - limit.test_error)
        for load, one in zip(loads, errors, strict=True)
    )
    # Extrapolation leaves a second order of 1e-6; the nodes of the rate are others.
    assert 2 * far - near == pytest.approx(rates.rate_of(model).value, rel=3e-3)


def test_the_first_order_is_that_of_solutions_on_the_same_nodes():
    """Of few positives, whose error moves with the readout to first order."""
    problem, model = (
        dataclasses.replace(rates.PROBLEM, positive_rate=0.15),
        rates.MODELS["attention"],
    )
    law = feature_law(model, problem, rates.QUERY, 4096)
    rate = np.mean([rates.first_order(law.part(slice(i, i + 1))) for i in range(len(law.C))])
    readouts = [st.Readout("square", 0.0, alpha1) for alpha1 in (1e3, 2e3, math.inf)]
    near, far, limit = (
        float(one.test_error)
        for one in st.theory.predict_readouts(problem, model, readouts, nodes=4096)
    )
    # Extrapolation leaves a second order of 1e-6, as does the spread of the scrambles.
    assert 2 * 2e3 * (far - limit) - 1e3 * (near - limit) == pytest.approx(rate, rel=1e-4)


@pytest.mark.parametrize("alpha1", [2.0, math.inf])
def test_at_the_critical_cosine_both_errors_agree(alpha1):
    cosine, pooled, attention = misalignment.find_crossing(misalignment.LENGTH, alpha1)
    assert 0.1 < cosine.value < 0.4
    assert attention.value == pytest.approx(pooled.value, abs=misalignment.TOLERANCE)


def growth_laws(L):
    laws = {"√(2 log L)": np.sqrt(2 * np.log(L)), "log L": np.log(L), "L^{1/4}": L**0.25}
    return laws | {"√L": np.sqrt(L)}


@pytest.mark.parametrize("lengths", [(8, 512, 65536), (8, 64, 512, 4096, 32768)])
@pytest.mark.parametrize("law", ["√(2 log L)", "log L", "L^{1/4}", "√L"])
def test_growth_laws_are_recovered(law, lengths):
    L = np.array(lengths, float)
    strengths = 1.5 + 0.7 * growth_laws(L)[law]
    assert best_law(L.tolist(), strengths.tolist()) == law


LENGTHS = np.array([8, 64, 512, 4096, 32768], float)


def between_laws():
    """Yield strengths on the way from the law L^{1/4} to its neighbours, and noisy ones."""
    laws, rng = growth_laws(LENGTHS), np.random.default_rng(0)
    unit = {name: (law - law[0]) / np.ptp(law) for name, law in laws.items()}
    for other in ("√L", "log L"):
        for t in np.linspace(0, 1, 201):
            yield 1.5 + 4 * ((1 - t) * unit["L^{1/4}"] + t * unit[other])
    for _ in range(100):
        for law in laws.values():
            noise = 1 + 0.03 * rng.standard_normal(len(LENGTHS))
            yield (rng.uniform(0.5, 3) + rng.uniform(0.2, 1) * law) * noise


def test_the_nearest_law_has_the_least_relative_residuals():
    laws = growth_laws(LENGTHS)
    for strengths in between_laws():
        residuals = {}
        for name, law in laws.items():
            # a + b law over the strength against 1
            F = np.stack([np.ones_like(law), law], axis=1) / strengths[:, None]
            residuals[name] = np.sum((F @ np.linalg.lstsq(F, np.ones(len(law)))[0] - 1) ** 2)
        nearest = min(residuals, key=residuals.get)
        assert best_law(LENGTHS.tolist(), strengths.tolist()) == nearest


def test_the_limit_of_infinite_sharpness_looks_at_the_largest_token():
    t = np.random.default_rng(0).standard_normal((50, 4))
    for name in ("attention", "elementwise_exp"):
        np.testing.assert_array_equal(score(name, t, math.inf), t.max(axis=1))


@pytest.mark.parametrize("L", [5, 40])
@pytest.mark.parametrize("arm", growing_length.ARMS)
def test_the_predicted_sharpness_is_the_one_stated(arm, L):
    steps = growing_length.steps_of(arm, L)
    query = st.align(growing_length.problem_of(L), steps)
    assert query.sharpness == pytest.approx(math.sqrt(2 * math.log(L)), rel=1e-12)
    assert steps.alpha0 == (1 if arm == "fixed" else L / 10)


LOADS = np.linspace(2.0, 4.0, 9)


@pytest.mark.parametrize(("middle", "width"), [(3.1, 0.3), (2.6, 0.15), (3.4, 0.6)])
def test_exact_shares_give_back_the_curve(middle, width):
    counts = 1000 * ndtr((middle - LOADS) / width)
    fit = fit_threshold(LOADS, counts, 1000)
    assert fit.converged
    assert fit.middle == pytest.approx(middle, abs=1e-3)
    assert fit.width == pytest.approx(width, rel=1e-2)


@pytest.mark.parametrize(
    ("quantity", "error", "width", "sets", "slack"),
    [
        ("middle", "standard_error", 0.3, 50, 0.25),
        pytest.param("width", "width_error", 0.4, 200, 0.35, marks=pytest.mark.slow),
    ],
)
def test_errors_are_the_spread_of_the_fits(quantity, error, width, sets, slack):
    rng, true = np.random.default_rng(3), {"middle": 3.1, "width": width}[quantity]
    shares = ndtr((3.1 - LOADS) / width)
    fits = [fit_threshold(LOADS, rng.binomial(sets, shares), sets) for _ in range(200)]
    errors = np.array([(getattr(fit, quantity) - true) / getattr(fit, error) for fit in fits])
    # 200 fits: the standard error of a standard deviation is 5 %, of a mean 7 %; the small bias
    # of a fitted width is below its error.
    assert np.std(errors) == pytest.approx(1, abs=0.2)
    assert np.mean(errors) == pytest.approx(0, abs=slack)


@pytest.mark.parametrize("counts", [[0] * 9, [50] * 9, [50] * 4 + [0] * 5])
def test_counts_without_a_fall_or_with_a_sudden_one_do_not_converge(counts):
    assert not fit_threshold(LOADS, counts, 50).converged


def test_the_references_are_in_order_and_the_bayes_optimal_learner_has_the_samples_of_both_stages():
    calls = joint_training.JointTraining().theory(1)
    found = [calls[name]() for name in ("oracle", "bayes", "attention", "pooled")]
    errors = [float(one.test_error) for one in found]
    assert errors == sorted(errors)
    assert all(one.converged for one in found)
    assert errors[1] == st.oracle.learning_error(PROBLEM, joint_training.ALPHA).test_error
    more = st.predict(PROBLEM, st.Pooled(), st.Readout(alpha1=joint_training.ALPHA))
    assert errors[3] == more.test_error
