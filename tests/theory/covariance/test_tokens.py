"""Predictions among tokens of a covariance: references, limits and what is refused.

Equations: covariance-alignment, covariance-feature-law, covariance-capacity.
"""

import dataclasses
import math

import numpy as np
import pytest
from scipy import optimize

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.architectures.weights import softmax_weights
from sparsetoken.model.networks import Softmax
from sparsetoken.theory import (
    oracle,
    sign_margin,
    small_step_margin,
)
from sparsetoken.theory.accuracy import TOLERANCE
from sparsetoken.theory.readout.predictor import Predictor

D = 200
J = np.arange(D)
SIGNAL = np.cos(1.7 * J) / np.linalg.norm(np.cos(1.7 * J))
BETWEEN = 0.2 * (1 + np.cos(0.5 * J))


def spectrum(power, d=D):
    values = (np.arange(d) + 1.0) ** power
    return values / values.mean()


def beside():
    c = np.cos(0.9 * J + 1)
    c -= (c @ SIGNAL) * SIGNAL
    return c / np.linalg.norm(c)


TOKENS = st.TokenCovariance(spectrum(-0.5), BETWEEN, signal=SIGNAL)
ONE = st.TokenCovariance(spectrum(-0.5), signal=SIGNAL)
QUERY = st.Query(vector=0.8 * SIGNAL + 0.6 * beside(), sharpness=1.2)


def limit(problem, model, readout):
    """Return the prediction with the query of the limit."""
    (found,) = Predictor(problem, model).predictions([readout], TOLERANCE)
    return found


MODELS = [
    st.Pooled(),
    st.Vectorized(),
    st.Attention(st.Query(0.8, 1.0)),
    st.Attention(st.TwoSteps(2.0)),
    st.model.HardAttention(st.Query(0.7, 1.0)),
    st.Elementwise(st.Query(0.7, 1.0)),
]


def slow(*given):
    return pytest.param(*given, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    "model",
    [model if model == st.Attention(st.Query(0.8, 1.0)) else slow(model) for model in MODELS],
    ids=lambda model: model.name,
)
@pytest.mark.parametrize(
    ("loss", "ridge", "alpha"),
    [
        ("logistic", 0.02, 1.5),
        slow("square", 0.02, np.inf),
        slow("hinge", 0.02, 1.5),
        slow("square", 0.0, 0.7),  # on both sides of interpolation
        slow("hinge", 0.0, 0.7),
        slow("logistic", 0.0, 40.0),
    ],
)
def test_the_identity_is_isotropic(model, loss, ridge, alpha):
    """Two routes of their own: one potential of five unknowns, and the general equations.

    Means over draws of the query differ from its limit by O(1/d).
    """
    problem, readout = st.SparseTokenProblem(6, 2, 3.0, 0.4), st.Readout(loss, ridge, alpha)
    tokens = st.TokenCovariance(np.ones(60), signal=SIGNAL[:60] / np.linalg.norm(SIGNAL[:60]))
    one = st.predict(problem, model, readout).to_dict()
    two = limit(dataclasses.replace(problem, tokens=tokens), model, readout).to_dict()
    if ridge == 0 and loss != "square" and model.name == "elementwise":  # without a capacity
        assert one["status"] == two["status"] == "no_limit"
        return
    assert two["status"] == "converged"
    assert two["susceptibility"] == pytest.approx(one["susceptibility"], rel=1e-6)
    names = ["test_error", "training_loss", "training_error", "auc", "noise_overlap"]
    if ridge:
        names += ["query_overlap", "orthogonal_overlap", "bias"]
    for name in names:
        # At infinite alpha what is left of w is a root of a difference of rounding.
        allowance = 1e-6 if name == "noise_overlap" else 1e-7
        assert two[name] == pytest.approx(one[name], abs=allowance), name


@pytest.mark.parametrize("between", [None, BETWEEN], ids=["one", "two"])
@pytest.mark.parametrize("model", [st.Pooled(), st.Attention(QUERY)], ids=["pooled", "attention"])
@pytest.mark.parametrize("alpha", [0.5, 3.0])
def test_ridge_0_is_the_limit_of_small_ridges(between, model, alpha):
    """The difference is of first order in the ridge: a tenth of the ridge, a tenth of it."""
    tokens = st.TokenCovariance(spectrum(-0.5), between, signal=SIGNAL)
    problem = st.SparseTokenProblem(6, 2, 3.0, 0.4, tokens=tokens)
    limit, *near = st.predict(
        problem, model, st.Readout("square", [0.0, 1e-5, 1e-4], alpha), tolerance=1e-2
    ).test_error
    assert 0 < abs(near[0] - limit) < 1e-3
    assert (near[1] - limit) / (near[0] - limit) == pytest.approx(10, rel=0.05)


def test_at_the_threshold_ridge_0_has_no_limit():
    problem = st.SparseTokenProblem(6, 2, 3.0, tokens=TOKENS)
    found = st.predict(problem, st.Attention(QUERY), st.Readout("square", 0.0, 1.0))
    assert found.to_dict()["status"] == "no_limit"


def test_without_features_only_the_bias_learns():
    problem = st.SparseTokenProblem(6, 2, 3.0, 0.3, tokens=ONE)
    model = st.Elementwise(st.TwoSteps(eta_q=0.0), activation="tanh")
    for ridge in (0.0, 0.1):
        found = st.predict(problem, model, st.Readout("logistic", ridge))
        assert found.test_error == 0.3


def test_the_identity_has_the_isotropic_query_and_capacity():
    problem = st.SparseTokenProblem(6, 2, 3.0, 0.4)
    like = dataclasses.replace(problem, tokens=st.TokenCovariance(np.eye(30), signal=np.eye(30)[3]))
    one, two = st.align(problem), st.align(like)
    assert dataclasses.replace(two, rate=one.rate).to_dict() == pytest.approx(one.to_dict())
    for model in (st.Pooled(), st.Vectorized(), st.Attention(st.Query(0.8, 1.0))):
        assert st.capacity(like, model).capacity == pytest.approx(
            st.capacity(problem, model).capacity, rel=1e-8
        )


@pytest.mark.parametrize("between", [False, True])
def test_a_rotation_changes_nothing(between):
    """Spectra and matrices are two ways to say the same."""
    d = 40
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    S, xi = spectrum(-0.7, d), np.full(d, d**-0.5)
    B = rng.uniform(0, 0.3, d) if between else None
    turned = None if B is None else basis @ np.diag(B) @ basis.T
    laws = (
        st.TokenCovariance(S, B, signal=xi),
        st.TokenCovariance(basis @ np.diag(S) @ basis.T, turned, signal=basis @ xi),
    )
    q = xi + 0.3 * rng.standard_normal(d) / math.sqrt(d)
    queries = [st.Attention(st.Query(vector=v, sharpness=1.2)) for v in (q, basis @ q)]
    for models in ((st.Pooled(), st.Pooled()), queries):
        one, two = (
            st.predict(st.SparseTokenProblem(5, 1, 4.0, tokens=law), model, st.Readout(alpha1=3.0))
            for law, model in zip(laws, models, strict=True)
        )
        one, two = one.to_dict(), two.to_dict()
        for name in ("test_error", "training_loss", "auc", "noise_overlap", "susceptibility"):
            assert two[name] == pytest.approx(one[name], rel=1e-6), (models, name)


def test_another_test_problem():
    """The readout stays; a test problem of the same values changes nothing."""
    problem = st.SparseTokenProblem(5, 1, 4.0, tokens=TOKENS)
    for model in (st.Pooled(), st.Attention(QUERY)):
        plain = st.predict(problem, model)
        for change, better in (({"strength": 6.0}, True), ({"length": 9}, model == st.Pooled())):
            other = dataclasses.replace(problem, **change)
            moved = st.predict(problem, model, test_problem=other)
            assert moved.training_loss == pytest.approx(plain.training_loss, rel=1e-9)
            if change == {"strength": 6.0}:
                assert moved.test_error < plain.test_error
            elif better:
                assert moved.test_error > plain.test_error
        with pytest.raises(InvalidInput, match="tokens of the test problem"):
            st.predict(problem, model, test_problem=dataclasses.replace(problem, tokens=ONE))


class Half(Softmax):
    total = 0.5

    def weights(self, scores):
        return softmax_weights(scores) / 2


class HalfAttention(st.model.QueriedModel):
    name, network = "half", Half()


def test_what_samples_share_moves_a_feature_by_the_sum_of_the_weights():
    problem = st.SparseTokenProblem(5, 1, 4.0, tokens=TOKENS)
    # A readout of half the feature is twice as large, and penalised four times as much.
    four, readout = (st.Readout("square", ridge=ridge, alpha1=2.0) for ridge in (0.4, 0.1))
    expected = st.predict(problem, st.Attention(QUERY), four)
    found = st.predict(problem, HalfAttention(QUERY), readout)
    assert found.test_error == pytest.approx(expected.test_error, rel=1e-9)
    centred = st.model.CentredAttention(QUERY)
    without = st.predict(dataclasses.replace(problem, tokens=ONE), centred, readout)
    assert st.predict(problem, centred, readout) == without


def test_beside_a_shared_effect_only_linear_models_have_a_capacity():
    problem, query = st.SparseTokenProblem(5, 1, 4.0, tokens=TOKENS), st.Query(0.8, 1.0)
    for model in (st.Attention(query), st.model.HardAttention(query), st.Elementwise(query)):
        found = st.capacity(problem, model)
        assert found.status == "no_limit"
        assert "st.simulation.is_separable" in found.status.remedy
        assert np.isnan([found.capacity, found.numerical_error]).all()
        if model.network.total is None:
            continue
        hinge = st.predict(problem, model, st.Readout("hinge", ridge=0.0), tolerance=1e-2)
        assert hinge.status == "no_limit"
        assert "small ridge" in hinge.status.remedy
    for model in (st.Pooled(), st.Vectorized()):
        assert st.capacity(problem, model).status.converged


def test_what_is_refused():
    one = st.SparseTokenProblem(5, 1, 4.0, tokens=ONE)
    singular = st.TokenCovariance(np.arange(4.0), signal=[0.6, 0.8, 0.0, 0.0])
    beside = st.TokenCovariance(singular.within, np.ones(4), singular.signal)
    for law, model in ((singular, st.Pooled()), (beside, st.Attention(st.Query(0.8, 1.0)))):
        with pytest.raises(InvalidInput, match="with an inverse"):
            st.capacity(st.SparseTokenProblem(5, tokens=law), model)
    for model in (st.Pooled(), st.Attention(st.Query(0.8, 1.0))):
        with pytest.raises(InvalidInput, match="no noise in some direction"):
            st.predict(st.SparseTokenProblem(5, tokens=singular), model, st.Readout("square", 0.0))
    blind = st.Query(vector=[1.0, 0.0, 0.0, 0.0], sharpness=1.0)
    for run in (st.predict, st.simulate):
        with pytest.raises(InvalidInput, match="tokens of a sample vary"):
            run(st.SparseTokenProblem(5, tokens=singular), st.Attention(blind))
    with pytest.raises(InvalidInput, match="isotropic tokens only"):
        small_step_margin(one)
    with pytest.raises(InvalidInput, match="isotropic tokens only"):
        oracle.best_error(one, st.Attention())
    with pytest.raises(InvalidInput, match="with an inverse"):
        oracle.bayes_error(st.SparseTokenProblem(5, tokens=singular))
    with pytest.raises(InvalidInput, match="between=None"):
        oracle.learning_error(st.SparseTokenProblem(5, tokens=beside), 1.0)


def test_where_the_query_turns():
    """Rare positives turn it away, and advice says so; the boundary is that of the overlap."""
    problem = st.SparseTokenProblem(10, 1, 1.5, 0.1, tokens=TOKENS)
    found = st.predict(problem, st.Attention(st.TwoSteps()), tolerance=1e-2)
    assert found.query.cosine < 0
    assert "turns away" in found.advice[0]

    def margin(eta_b):
        return sign_margin(problem, st.TwoSteps(eta_b=eta_b))

    turned = st.TwoSteps(eta_b=optimize.brentq(margin, 0.5, 100.0))
    assert st.align(problem, turned).cosine == pytest.approx(0, abs=1e-9)


def test_the_capacity_of_vectorized_needs_noise_in_the_differences_of_tokens():
    within = np.repeat([1.0, 0.0], 6)  # the mean token has noise everywhere
    tokens = st.TokenCovariance(within, np.ones(12), signal=np.eye(12)[0])
    problem = st.SparseTokenProblem(5, 1, 0.5, tokens=tokens)
    assert st.capacity(problem, st.Pooled()).status.converged
    with pytest.raises(InvalidInput, match="with an inverse"):
        st.capacity(problem, st.Vectorized())


def test_theory_refuses_covariances_without_common_eigenvectors():
    between = 0.2 * 0.9 ** np.abs(J[:, None] - J)
    problem = st.SparseTokenProblem(
        5, 1, 4.0, tokens=st.TokenCovariance(spectrum(-0.5), between, signal=SIGNAL)
    )
    for run in (
        lambda: st.predict(problem, st.Pooled()),
        lambda: st.align(problem),
        lambda: st.capacity(problem, st.Pooled()),
        lambda: st.descend(problem, st.Descent(steps=2)),
    ):
        with pytest.raises(InvalidInput, match=r"that commute.*st\.simulate"):
            run()
    # With a flat spectrum within samples every effect has common eigenvectors.
    flat = st.TokenCovariance(np.ones(D), between, signal=SIGNAL)
    assert st.predict(dataclasses.replace(problem, tokens=flat), st.Pooled()).converged


def test_weights_that_see_what_samples_share_are_refused():
    problem = st.SparseTokenProblem(5, 1, 4.0, tokens=TOKENS)
    with pytest.raises(InvalidInput, match=r"whose weights see it.*st\.simulate"):
        st.predict(problem, st.Elementwise(QUERY))
