"""Attention: the stages written out, and what the classifier tells of tokens."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import erf, expit, softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from sparsetoken import AttentionClassifier, ElementwiseAttentionClassifier
from sparsetoken.bags import Bags
from sparsetoken.estimators import QueryWarning

Draw = Callable[..., tuple[Bags, np.ndarray]]
RIDGE, STEPS = 0.02, (2.0, 0.3, 20.0)
FITTED = [
    AttentionClassifier("cross_fit", random_state=0),
    AttentionClassifier("tied", temperature=2.0, random_state=0),
    AttentionClassifier("joint", n_restarts=1, random_state=0),
    ElementwiseAttentionClassifier("sigmoid", "tied", temperature=2.0, random_state=0),
]


def _slope(y: np.ndarray, z: np.ndarray) -> np.ndarray:
    return -y * expit(-y * z)


def _two_steps(bags: list[np.ndarray], y: np.ndarray, beta: float) -> np.ndarray:
    """The gradients of the paper, bag by bag, with beta in the softmax of both passes."""
    eta_w, eta_b, eta_q = STEPS
    h0 = _slope(y, np.zeros(len(y)))
    w = -eta_w * np.mean([h * X.mean(axis=0) for h, X in zip(h0, bags, strict=True)], axis=0)
    b = -eta_b * h0.mean()
    gradient = np.zeros_like(w)
    for X, label in zip(bags, y, strict=True):
        L = len(X)
        h = _slope(label, X.mean(axis=0) @ w + b)
        gradient += beta * h * X.T @ (np.eye(L) - np.ones((L, L)) / L) @ X @ w / L / len(y)
    return -eta_q * gradient


def _readout(F: np.ndarray, y: np.ndarray) -> LogisticRegression:
    return LogisticRegression(C=1 / (RIDGE * len(y)), tol=1e-10, solver="newton-cholesky").fit(F, y)


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_reuse_is_the_stages_of_the_paper(draw: Draw, beta: float) -> None:
    bags, labels = draw(100, sizes=(2, 9), strength=6.0)
    y = 2 * labels - 1
    q = beta * _two_steps(bags.to_list(), y, beta)
    F = np.stack([softmax(X @ q) @ X for X in bags])
    model = AttentionClassifier(
        "reuse", temperature=beta, ridge=RIDGE, step_sizes=STEPS, standardize=False
    ).fit(bags, labels)
    np.testing.assert_allclose(model.query_[0], q, rtol=1e-10)  # rounding
    oracle = _readout(F, labels)
    # Both stop at a relative gradient of 1e-8.
    np.testing.assert_allclose(
        model.decision_function(bags), oracle.decision_function(F), atol=1e-6
    )
    assert model.sharpness_[0] == pytest.approx((bags.tokens @ q).std(), rel=1e-10)


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_four_stages_use_two_halves(draw: Draw, share: float) -> None:
    """The query is that of some bags, the readout that of the others: found by trying."""
    bags, labels = draw(100, sizes=(2, 9), strength=6.0)
    model = AttentionClassifier(
        "four_stage",
        temperature=1.0,
        split=share,
        ridge=RIDGE,
        step_sizes=STEPS,
        standardize=False,
        random_state=3,
    ).fit(bags, labels)
    first = np.zeros(100, dtype=bool)
    for i in range(100):
        other = bags.to_list()
        other[i] = other[i] * [1.3, 1, 1, 0.8]
        again = clone(model).fit(other, labels)
        # The unit of the scores is that of all tokens; it cancels but for rounding.
        first[i] = not np.allclose(again.query_, model.query_, rtol=1e-9, atol=0)
    assert first.sum() == round(100 * share)
    assert first[labels == 1].sum() == round(50 * share)  # stratified
    later = bags[~first]
    F = np.stack([softmax(X @ model.query_[0]) @ X for X in later])
    oracle = _readout(F, labels[~first])
    np.testing.assert_allclose(
        model.decision_function(later), oracle.decision_function(F), atol=1e-6
    )


@pytest.mark.parametrize("model", FITTED, ids=str)
def test_the_score_is_made_of_weights_and_logits(draw: Draw, model: AttentionClassifier) -> None:
    bags, y = draw(80)
    model.fit(bags, y)
    q, w = model.query_[0], model.coef_[0]
    scores, logits = model.token_scores(bags), model.token_logits(bags)
    weights = model.attention_weights(bags)
    for i, X in enumerate(bags):
        np.testing.assert_allclose(scores[i], X @ q + model.query_offset_[0], atol=1e-12)
        shift = model.token_offset_[0] + model.intercept_[0]
        np.testing.assert_allclose(logits[i], X @ w + shift, atol=1e-12)
        if isinstance(model, AttentionClassifier):
            np.testing.assert_allclose(weights[i], softmax(scores[i]), rtol=1e-12)
            assert weights[i].sum() == pytest.approx(1, abs=1e-14)  # rounding
        else:
            np.testing.assert_allclose(weights[i], expit(scores[i]) / len(X), rtol=1e-12)
    b = model.intercept_[0]
    expected = [a @ (u - b) + b for a, u in zip(weights, logits, strict=True)]
    np.testing.assert_allclose(model.decision_function(bags), expected, atol=1e-10)
    effective = [a.sum() ** 2 / (a @ a) for a in weights]
    np.testing.assert_allclose(model.effective_tokens(bags), effective, rtol=1e-12)


def test_erf_weights(draw: Draw) -> None:
    bags, y = draw(80)
    model = ElementwiseAttentionClassifier("erf", "tied", temperature=1.0, ridge=0.1).fit(bags, y)
    scores = model.token_scores(bags)
    for a, s in zip(model.attention_weights(bags), scores, strict=True):
        np.testing.assert_allclose(a, (1 + erf(s)) / len(s), rtol=1e-12)


@pytest.mark.parametrize("k", [1, 3, 100])
def test_top_tokens_are_those_of_most_weight(draw: Draw, k: int) -> None:
    bags, y = draw(80)
    model = AttentionClassifier("tied", temperature=2.0, random_state=0).fit(bags, y)
    weights = model.attention_weights(bags)
    for top, a in zip(model.top_tokens(bags, k), weights, strict=True):
        assert top.tolist() == np.argsort(-a)[:k].tolist()


def test_top_tokens_find_the_signal(draw: Draw) -> None:
    bags, y = draw(200, sizes=(4, 12), strength=6.0)
    model = AttentionClassifier(random_state=0).fit(bags, y)
    top = np.array([t[0] for t in model.top_tokens(bags)])
    true = np.array([bag[:, 0].argmax() for bag in bags])
    # Six standard deviations above twelve tokens; the argmax itself is right in all but 1%.
    assert (top == true)[y == 1].mean() > 0.95


def test_without_sharpness_tokens_are_ordered_by_logit(draw: Draw) -> None:
    bags, y = draw(80)
    model = AttentionClassifier(temperature=0.0).fit(bags, y)
    assert model.sharpness_.tolist() == [0]
    assert model.query_kind_.tolist() == ["mean"]
    with pytest.warns(QueryWarning, match="attention is off"):
        tops = model.top_tokens(bags)
    logits = model.token_logits(bags)
    for top, u, a in zip(tops, logits, model.attention_weights(bags), strict=True):
        np.testing.assert_allclose(a, 1 / len(u), rtol=1e-12)
        assert top[0] == u.argmax()
    np.testing.assert_allclose(model.effective_tokens(bags), bags.sizes, rtol=1e-12)


# The class none has no token of its own: attention to one loses, and says so.
@pytest.mark.filterwarnings(
    "ignore:Attention loses to mean pooling:sparsetoken.estimators.QueryWarning"
)
def test_three_classes_have_three_queries(draw: Draw) -> None:
    bags, y = draw(150, classes=3, sizes=(3, 8), strength=6.0)
    names = np.array(["none", "left", "right"])[y]
    model = AttentionClassifier("tied", temperature=2.0, random_state=0).fit(bags, names)
    assert model.query_.shape == model.coef_.shape == (3, 4)
    assert model.decision_function(bags).shape == (150, 3)
    assert model.effective_tokens(bags).shape == (150, 3)
    for i, (a, s) in enumerate(
        zip(model.attention_weights(bags), model.token_scores(bags), strict=True)
    ):
        assert a.shape == s.shape == (bags.sizes[i], 3)
        np.testing.assert_allclose(a.sum(axis=0), 1, atol=1e-14)
        top = model.top_tokens(bags[[i]], 2)[0]
        assert top.shape == (2, 3)
        assert top[0].tolist() == a.argmax(axis=0).tolist()
    assert model.score(bags, names) > 0.8  # a third by chance


@pytest.mark.parametrize("k", [0, -1, 1.5])
def test_bad_numbers_of_top_tokens(draw: Draw, k: object) -> None:
    bags, y = draw()
    model = AttentionClassifier(temperature=0.0).fit(bags, y)
    with pytest.raises(ValueError, match="k must be an integer >= 1"):
        model.top_tokens(bags, k)  # type: ignore[arg-type]
