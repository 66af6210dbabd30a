"""The average of classifiers: its weights, what it is made of, and what it does on noise.

Equations: stacking.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import log_expit, log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

from sparsetoken import BagClassifier
from sparsetoken.bags import Bags
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import (
    BagPooling,
    PooledClassifier,
    PooledForestClassifier,
    QueryWarning,
)
from sparsetoken.estimators.fitting.stacking import (
    LossRisk,
    MultinomialRisk,
    convex_weights,
    shrunk_weights,
    temperature,
)
from sparsetoken.estimators.fitting.targets import Samples
from sparsetoken.estimators.stack import TAKEN
from sparsetoken.losses import get_loss

Draw = Callable[..., tuple[Bags, np.ndarray]]
Fitted = tuple[BagClassifier, Bags, np.ndarray]
LOGISTIC = get_loss("logistic")


def risk(y: np.ndarray) -> LossRisk:
    return LossRisk(Samples(2.0 * y - 1, np.ones(len(y)), np.ones(len(y))), LOGISTIC)


def loss_of(scores: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(np.log1p(np.exp(-(2 * y - 1) * scores))))


def test_weights_are_those_of_least_loss_on_a_grid() -> None:
    rng, y = np.random.default_rng(0), np.arange(200) % 2
    truth = 2.0 * y - 1
    scores = np.stack([truth + 2 * rng.standard_normal(200) for _ in range(3)], axis=1)
    found = convex_weights(scores, risk(y))
    assert found.sum() == pytest.approx(1)
    steps = np.arange(101)
    grid = [(a, b, 100 - a - b) for a in steps for b in steps if a + b <= 100]
    losses = [loss_of(scores @ np.array(one) / 100, y) for one in grid]
    assert loss_of(scores @ found, y) <= min(losses) + 1e-9
    np.testing.assert_allclose(found, np.array(grid[int(np.argmin(losses))]) / 100, atol=0.01)


def test_a_member_that_is_no_help_has_no_weight() -> None:
    rng, y = np.random.default_rng(1), np.arange(100) % 2
    good = 2.0 * y - 1 + rng.standard_normal(100)
    scores = np.stack([good, -good, np.full(100, np.inf)], axis=1)
    assert convex_weights(scores, risk(y)).tolist() == [1, 0, 0]
    with pytest.raises(InvalidInput, match="finite left-out scores"):
        convex_weights(scores[:, 2:], risk(y))


@pytest.mark.parametrize(("scale", "seed"), [(1e3, 0), (1e4, 1), (1e4, 2)])
def test_a_member_of_another_size_spoils_nothing(scale: float, seed: int) -> None:
    """A search from equal weights stops where it began in most of such draws."""
    rng, square = np.random.default_rng(seed), get_loss("square")
    y = rng.standard_normal(100)
    members = [y + spread * rng.standard_normal(100) for spread in (1, 2, 1)]
    scores = np.stack([*members, scale * rng.standard_normal(100)], axis=1)
    weights = convex_weights(scores, LossRisk(Samples(y, np.ones(100), np.ones(100)), square))
    best = min(square.value(y, one).mean() for one in scores.T)
    assert square.value(y, scores @ weights).mean() <= best * (1 + 1e-9)  # rounding


def test_the_score_is_made_of_its_members(ragged: Fitted) -> None:
    model, bags, y = ragged
    assert model.member_names_ == list(TAKEN)
    parts = model.contributions(bags)
    expected = parts.sum(axis=1) + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(bags), expected, atol=1e-12)
    np.testing.assert_allclose(parts, model.member_scores(bags) * model.weights_[:, 0], atol=1e-12)
    for place, alone in enumerate((PooledClassifier(), PooledClassifier("max")), 3):
        scores = alone.fit(bags, y).decision_function(bags)
        np.testing.assert_allclose(model.member_scores(bags)[:, place], scores, atol=1e-8)
        one = model.members_[model.member_names_[place]]
        np.testing.assert_allclose(one.decision_function(bags), scores, atol=1e-8)
        losses = np.log1p(np.exp(-(2 * y - 1) * alone.left_out_scores_[:, 0]))
        assert model.member_losses_[place, 0] == pytest.approx(losses.mean(), rel=1e-8)
    assert model.member_losses_[0, 0] == pytest.approx(np.log(2), rel=1e-3)  # the rate


def test_maxima_are_a_linear_classifier_of_means_and_maxima(draw: Draw) -> None:
    bags, y = draw(150)
    model = PooledClassifier("max", ridge=0.1, standardize=False).fit(bags, y)
    F = np.stack([np.concatenate([X.mean(axis=0), X.max(axis=0)]) for X in bags])
    oracle = LogisticRegression(C=1 / (0.1 * 150), tol=1e-10).fit(F, y)
    np.testing.assert_allclose(
        model.decision_function(bags), oracle.decision_function(F), atol=1e-4
    )
    far = bags.with_tokens(bags.tokens * 1e6)
    limits = model.range_[:, 0, 0]
    rest = np.stack([X.mean(axis=0) for X in far]) @ model.coef_[0, :4] + model.intercept_[0]
    added = model.decision_function(far) - rest
    assert limits[0] - 1e-6 * np.abs(rest).max() <= added.min()
    assert added.max() <= limits[1] + 1e-6 * np.abs(rest).max()


@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")
def test_on_noise_the_rate_is_hardly_left() -> None:
    weights, excess = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_t(3, size=(60, 6, 8)), np.arange(60) % 4 == 0
        model = BagClassifier().fit(X, y)
        weights.append(model.weights_[0, 0])
        p = model.predict_proba(rng.standard_t(3, size=(500, 6, 8)))[:, 1]
        # Of labels with this rate, whatever the tokens are.
        excess.append(-np.mean(0.25 * np.log(p) + 0.75 * np.log1p(-p)))
    assert np.mean(weights) > 0.5
    rate = -(0.25 * np.log(0.25) + 0.75 * np.log(0.75))
    # The deviation of a set is .025, that of the mean of four .0125.
    assert np.mean(excess) - rate < 0.03


def test_a_constant_is_a_warning() -> None:
    rng = np.random.default_rng(0)
    with pytest.warns(QueryWarning, match="No member predicts left-out bags better"):
        model = BagClassifier().fit(rng.standard_normal((40, 5, 4)), np.arange(40) % 2)
    first, positive, doubt, last = model.summary().splitlines()
    assert (first, last) == (
        "Weights of the members: constant 100%.",
        "Fitted to 40 bags, taken as independent.",
    )
    assert "1, the positive class, from a probability of 0.5" in positive
    assert "No member predicts left-out bags better" in doubt


def test_products_of_columns_are_seen() -> None:
    rng = np.random.default_rng(0)
    shift = rng.standard_normal((300, 4))
    y = (shift[:, 0] * shift[:, 1] > 0).astype(int)
    X = 0.3 * rng.standard_normal((300, 6, 4)) + shift[:, None]
    model = BagClassifier().fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.75


def test_sizes_and_spreads_are_seen() -> None:
    rng, y = np.random.default_rng(0), np.arange(300) % 2
    spread = [rng.standard_normal((10, 6)) * (1 + 0.8 * c) for c in y]
    size = [rng.standard_normal((rng.integers(4, 12) + 5 * c, 6)) for c in y]
    for bags in (spread, size):
        model = BagClassifier().fit(bags[:150], y[:150])
        assert model.score(bags[150:], y[150:]) > 0.75


def test_trees_that_mislead_have_no_slope() -> None:
    """On noise out-of-bag scores speak against their class in many draws; none is turned round."""
    slopes, y = [], np.arange(30) % 3 == 0
    for seed in range(6):
        X = np.random.default_rng(seed).standard_normal((30, 3))
        model = PooledForestClassifier(10).fit(X, y)
        slopes.append(model.slope_[0])
        if not slopes[-1]:
            np.testing.assert_allclose(model.decision_function(X), np.log(1 / 2))
    assert min(slopes) == 0
    # Trees work in float32, which does not hold such features: they are cut to those of training.
    assert np.isfinite(model.decision_function(1e60 * X)).all()


def test_weights_of_lucky_members_shrink() -> None:
    """Of members that know nothing the factor leaves little; of one that knows, all of it."""
    rng, y = np.random.default_rng(0), np.arange(60) % 2
    shares, plain = [], []
    for _ in range(10):
        noise = 0.3 * rng.standard_normal((60, 6))
        scores = np.concatenate([np.zeros((60, 1)), noise], axis=1)
        shares.append(shrunk_weights(scores, risk(y))[0])
        plain.append(convex_weights(scores, risk(y))[0])
    assert np.mean(shares) > np.mean(plain) + 0.15
    scores[:, 1] = 4.0 * y - 2
    assert shrunk_weights(scores, risk(y))[1] > 0.999


def test_weights_do_not_hang_on_labels_that_alternate() -> None:
    """Folds of every tenth bag would hold one class each, where scores that are shifted mislead."""
    y, shares = np.arange(200) % 2, []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        z = 0.5 * (2 * y - 1) + rng.standard_normal(200)
        scores = np.stack([0 * z, z - 0.7, z + 0.7], axis=1)
        shares.append(shrunk_weights(scores, risk(y))[0])
    # In shuffled order the constant has a weight of .02 in the mean, with such folds of .33.
    assert np.mean(shares) < 0.1


def test_a_token_of_the_first_class_is_found() -> None:
    rng, y = np.random.default_rng(0), np.arange(200) % 2
    X = rng.standard_normal((200, 12, 6))
    X[y == 0, 3, 0] += 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BagClassifier().fit(X, y)
    assert model.side_.tolist() == [-1]
    top = np.array([one[0] for one in model.top_tokens(X[y == 0])])
    # Four deviations against the largest of eleven tokens.
    assert (top == 3).mean() > 0.9
    weights = np.stack(model.attention_weights(X[y == 0]))
    assert weights[:, 3].mean() > 0.7
    np.testing.assert_allclose(weights.sum(axis=1), 1)


def test_three_classes(three: Fitted) -> None:
    model, bags, names = three
    assert model.weights_.shape == (13, 1)  # a shift of 6 deviations makes tails heavy
    assert model.contributions(bags).shape == (150, 13, 3)
    np.testing.assert_allclose(
        model.contributions(bags).sum(axis=1) + model.intercept_, model.decision_function(bags)
    )
    assert model.attention_weights(bags)[0].shape == (bags.sizes[0], 3)
    assert model.top_tokens(bags, 2)[0].shape == (2, 3)
    assert model.summary().startswith("Weights of the members: ")
    assert model.score(bags, names) > 0.8  # a third by chance
    chances = model.predict_token_proba(bags)
    assert [p.shape for p in chances] == [(size, 3) for size in bags.sizes]
    best = np.array([p[:, 0].max() > 0.5 for p in chances])
    assert np.mean(best == (names == "left")) > 0.9  # six deviations


def test_one_stack_of_all_classes(three: Fitted) -> None:
    """Scores are weighted logarithms of the probabilities of members; the risk is the log-loss."""
    model, bags, names = three
    number, scores = np.searchsorted(model.classes_, names), model.member_scores(bags)
    np.testing.assert_allclose(np.exp(scores).sum(axis=2), 1)
    risk = MultinomialRisk(Samples(number.astype(float), np.ones(150), np.ones(150)))
    for place, name in enumerate(model.member_names_):
        member = model.members_[name]
        left_out = member.left_out_scores_ if name != "constant" else np.zeros((150, 3))
        T = model.member_temperature_[place]
        if name != "constant":
            found = temperature(log_softmax(log_expit(left_out), axis=1), risk)
            assert pytest.approx(found, rel=1e-6) == T
        of_member = log_softmax(log_expit(left_out) / T, axis=1)
        loss = -of_member[np.arange(150), number].mean()
        assert model.member_losses_[place, 0] == pytest.approx(loss, rel=1e-6)
    mixed = softmax(scores.transpose(0, 2, 1) @ model.weights_[:, 0], axis=1)
    even = 3 / (2 * 152)
    np.testing.assert_allclose(model.predict_proba(bags), (1 - even) * mixed + even / 3)
    left_out = log_softmax(model.left_out_scores_, axis=1)
    assert -left_out[np.arange(150), number].mean() < model.member_losses_.min() + 0.02  # shrunk


def test_multinomial_risk_is_the_log_loss_and_its_gradient() -> None:
    rng = np.random.default_rng(0)
    number, z = rng.integers(0, 4, 30), rng.standard_normal((30, 4))
    one = MultinomialRisk(Samples(number.astype(float), np.ones(30), np.ones(30)))
    chances = softmax(z, axis=1)
    assert one.mean(z) == pytest.approx(log_loss(number, chances, labels=range(4)))
    moved = [
        one.losses(z + 1e-6 * np.eye(4)[k]) - one.losses(z - 1e-6 * np.eye(4)[k]) for k in range(4)
    ]
    np.testing.assert_allclose(one.slopes(z), np.stack(moved, axis=1) / 2e-6, atol=1e-8)
    part = np.arange(30) < 10
    np.testing.assert_allclose(one.take(part).losses(z[part]), one.losses(z)[part])


def test_temperatures_are_those_of_least_loss() -> None:
    """Scores that are three times too small; those that are always right do not run away."""
    rng = np.random.default_rng(0)
    number = rng.integers(0, 3, 400)
    z = rng.standard_normal((400, 3)) + 2.0 * np.eye(3)[number]
    one = MultinomialRisk(Samples(number.astype(float), np.ones(400), np.ones(400)))
    found = temperature(z / 3, one)
    losses = {T: one.mean(z / 3 / T) + np.log(T) ** 2 / 800 for T in np.arange(0.1, 0.3, 1e-4)}
    assert found == pytest.approx(min(losses, key=losses.__getitem__), rel=2e-3)  # of the grid
    assert 1e-3 < temperature(np.eye(3)[number], one) < 0.2
    assert temperature(np.full((400, 3), np.nan), one) == 1


def test_weights_of_classes_count_in_the_stack(draw: Draw) -> None:
    """A class that counts more is predicted more often; empty bags have the weighted rates."""
    bags, y = draw(120, classes=3, sizes=(2, 6))
    usual, first = (
        BagClassifier(class_weight=w).fit(bags, y) for w in (None, {0: 8.0, 1: 1.0, 2: 1.0})
    )
    assert np.mean(first.predict(bags) == 0) > np.mean(usual.predict(bags) == 0)
    assert np.exp(first.empty_score_) == pytest.approx([0.8, 0.1, 0.1])


def test_a_member_of_ones_own(draw: Draw) -> None:
    bags, y = draw(120)
    own = make_pipeline(BagPooling("max"), LogisticRegression())
    weight = np.tile([1.0, 2.0, 0.0], 40)
    for given in (None, weight):
        members = [("own", _Shortcut()), ("maxima by hand", own)] if given is None else []
        members += [("shortcut", _Shortcut())]
        model = BagClassifier(members).fit(bags, y, sample_weight=given)
        own = len(members)
        assert model.member_names_[-own:] == [name for name, _ in members]
        assert model.weights_[-1, 0] + model.weights_[-own, 0] > 0.99  # it knows the answer
        assert model.score(bags, y) == 1
        assert model.member_scores(bags).shape == (120, len(model.member_names_))


@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")
@pytest.mark.parametrize("copies", [1, 4])
def test_a_member_that_remembers_is_no_help(copies: int) -> None:
    """It is judged by bags of groups that it has not seen, whose bags are copies."""
    rng, groups = np.random.default_rng(0), np.repeat(np.arange(60), copies)
    X, y = rng.standard_normal((60, 4, 3)), rng.permutation(60) % 2
    model = BagClassifier([("memory", _Memory())]).fit(X[groups], y[groups], groups=groups)
    assert model.member_losses_[-1, 0] == pytest.approx(np.log(2))
    assert model.weights_[-1, 0] == 0


class _Memory(ClassifierMixin, BaseEstimator):
    """Knows the labels of the bags that it was fitted to, and nothing of others."""

    def fit(self, X: Bags, y: np.ndarray) -> _Memory:
        self.classes_ = np.unique(y)
        self.labels_ = {float(bag[0, 0]): label for bag, label in zip(X, y, strict=True)}
        return self

    def predict_proba(self, X: Bags) -> np.ndarray:
        chances = {None: 0.5, 0: 0.02, 1: 0.98}
        second = np.array([chances[self.labels_.get(float(bag[0, 0]))] for bag in X])
        return np.stack([1 - second, second], axis=1)


class _Shortcut(ClassifierMixin, BaseEstimator):
    """Reads the label off the largest value of the first column, with a table of its own."""

    def fit(self, X: Bags, y: np.ndarray, sample_weight: np.ndarray | None = None) -> _Shortcut:
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Bags) -> np.ndarray:
        labels = np.array([_LABELS[len(bag), float(bag[0, 0])] for bag in X])
        return np.stack([1 - labels, labels], axis=1)


_LABELS: dict[tuple[int, float], int] = {}


@pytest.fixture(autouse=True)
def _known(draw: Draw) -> None:
    bags, y = draw(120)
    _LABELS.update({(len(b), float(b[0, 0])): int(c) for b, c in zip(bags, y, strict=True)})
