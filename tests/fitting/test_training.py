"""Each training does what it says: against loops over the bags, finite differences, optimality."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sparsetoken import AttentionClassifier
from sparsetoken.bags import Bags, as_bags
from sparsetoken.estimators import QueryWarning
from sparsetoken.fitting import joint
from sparsetoken.fitting.features import BagFeatures
from sparsetoken.fitting.folds import fold_numbers, split_in_two
from sparsetoken.fitting.joint import Joint, JointProblem
from sparsetoken.fitting.queries import StepSizes, two_steps
from sparsetoken.fitting.samples import Samples
from sparsetoken.fitting.standardization import Standardization
from sparsetoken.fitting.task import Task
from sparsetoken.losses import get_loss

STEPS = StepSizes(0.7, 0.4, 1.3)
DATA = Path(__file__).parents[3] / "shared" / "data" / "mil"


def ragged(seed: int, n: int = 12, d: int = 3, signal: float = 2.0) -> tuple[list, np.ndarray]:
    """Return bags of 2 to 6 tokens off the origin; the first token of positives is shifted."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    bags = [rng.standard_normal((rng.integers(2, 7), d)) + [0.3, -0.5, 0.1][:d] for _ in range(n)]
    for bag, label in zip(bags, y, strict=True):
        bag[0] += signal * label
    return bags, y


def samples(y: np.ndarray, seed: int = 0) -> Samples:
    """Return labels -1 and 1 with unequal weights."""
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(y))
    return Samples(2.0 * y - 1, weight, np.ones(len(y)))


def pool(bag: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the softmax-weighted token of one bag."""
    a = np.exp(bag @ q)
    return a @ bag / a.sum()


def mean_loss(bags: list, y: np.ndarray, weight: np.ndarray, at: Joint) -> float:
    """Return the weighted mean logistic loss of (q, w, b), bag by bag."""
    z = np.array([pool(bag, at.q) @ at.w + at.b for bag in bags])
    return float(weight @ np.log1p(np.exp(-y * z)) / weight.sum())


def differences(function, x: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """Return the gradient by central differences; their error is about 1e-10."""
    return np.array([(function(x + h * e) - function(x - h * e)) / (2 * h) for e in np.eye(len(x))])


def slow_query(bags: list, y: np.ndarray, weight: np.ndarray, steps: StepSizes) -> np.ndarray:
    """Return the query of two gradient steps from 0, all gradients by differences."""
    zero = np.zeros(bags[0].shape[1])

    def loss_of(w, b, q):
        return mean_loss(bags, y, weight, Joint(q, w, b))

    w1 = -steps.w * differences(lambda w: loss_of(w, 0.0, zero), zero)
    b1 = -steps.b * differences(lambda b: loss_of(zero, b[0], zero), np.zeros(1))[0]
    return -steps.q * differences(lambda q: loss_of(w1, b1, q), zero)


def slope_of_readout(
    features: np.ndarray, y: np.ndarray, w: np.ndarray, b: float, ridge: float
) -> float:
    """Return the largest entry of the gradient of the regularised readout objective."""
    p = -y / (1 + np.exp(y * (features @ w + b))) / len(y)
    return max(np.abs(features.T @ p + ridge * w).max(), abs(p.sum()))


@pytest.mark.parametrize("loss", ["logistic", "square", "squared_hinge"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_joint_gradient_is_that_of_differences(loss: str, seed: int) -> None:
    bags, y = ragged(seed)
    scaling = Standardization.of(as_bags(bags), np.ones(len(bags)), standardize=True)
    problem = JointProblem(as_bags(bags), scaling, samples(y, seed), get_loss(loss), 0.3, 0.05)
    x = np.random.default_rng(seed).standard_normal(7)
    value, gradient = problem.value_and_gradient(Joint.unpacked(x))
    slow = differences(lambda v: problem.value_and_gradient(Joint.unpacked(v))[0], x)
    np.testing.assert_allclose(gradient.packed(), slow, atol=1e-8)  # differences err by 1e-9
    assert value > 0


def test_the_joint_objective_is_the_formula() -> None:
    bags, y = ragged(3)
    known, at = samples(y, 3), Joint(np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.2, -0.4]), 0.7)
    scaling = Standardization.of(as_bags(bags), np.ones(len(bags)), standardize=False)
    problem = JointProblem(as_bags(bags), scaling, known, get_loss("logistic"), 0.3, 0.05)
    slow = mean_loss(bags, known.y, known.weight, at)
    slow += 0.15 * at.w @ at.w + 0.025 * at.q @ at.q
    assert problem.value_and_gradient(at)[0] == pytest.approx(slow, rel=1e-12)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_two_steps_are_gradient_steps(seed: int) -> None:
    bags, y = ragged(seed)
    known = samples(y, seed)
    subset = np.random.default_rng(seed).random(len(y)) < 0.7
    scaling = Standardization.of(as_bags(bags), np.ones(len(bags)), standardize=False)
    task = Task(BagFeatures(as_bags(bags), scaling), known, get_loss("logistic"), "auto")
    both = [subset, np.ones(len(y), dtype=bool)]
    Q = two_steps(task, both, STEPS)
    for q, rows in zip(Q.T, both, strict=True):
        chosen = [bag for bag, row in zip(bags, rows, strict=True) if row]
        slow = slow_query(chosen, known.y[rows], known.weight[rows], STEPS)
        np.testing.assert_allclose(q, slow, atol=1e-9)  # differences err by 1e-10 each


def test_two_steps_in_scaled_coordinates_are_those_of_scaled_bags() -> None:
    bags, y = ragged(5)
    known, rows = samples(y), [np.ones(len(y), dtype=bool)]
    scaling = Standardization.of(as_bags(bags), known.weight, standardize=True)
    scaled = [(bag - scaling.mean) / scaling.scale for bag in bags]
    task = Task(BagFeatures(as_bags(bags), scaling), known, get_loss("logistic"), "auto")
    Q = two_steps(task, rows, STEPS)
    slow = slow_query(scaled, known.y, known.weight, STEPS)
    np.testing.assert_allclose(Q[:, 0], slow, atol=1e-9)


def plain(training: str, **other) -> AttentionClassifier:
    """Return a classifier with all choices made, in the coordinates of the tokens."""
    given = {"temperature": 1.5, "split": 0.5, "ridge": 0.1, "standardize": False}
    given |= {"step_sizes": dataclasses.astuple(STEPS), "random_state": 7}
    return AttentionClassifier(training, **(given | other))


def test_four_stage_takes_the_query_from_d0_and_the_readout_from_d1() -> None:
    bags, y = ragged(1, n=40)
    model = plain("four_stage", split=0.4, temperature=3.0).fit(bags, y)
    signs = 2.0 * y - 1
    first = split_in_two(signs, 0.4, np.random.RandomState(7))
    chosen = [bag for bag, row in zip(bags, first, strict=True) if row]
    q2 = slow_query(chosen, signs[first], np.ones(first.sum()), STEPS)
    # beta stands in the softmax, and in the gradient by which q2 was found.
    np.testing.assert_allclose(model.query_[0], 3.0**2 * q2, rtol=1e-6, atol=1e-8)
    features = np.stack([pool(bag, model.query_[0]) for bag in bags])
    w, b = model.coef_[0], model.intercept_[0]
    assert slope_of_readout(features[~first], signs[~first], w, b, 0.1) < 1e-7  # tolerance 1e-8
    assert slope_of_readout(features, signs, w, b, 0.1) > 1e-4


def test_four_stage_does_not_show_d0_to_the_readout() -> None:
    bags, y = ragged(1, n=40)
    first = split_in_two(2.0 * y - 1, 0.4, np.random.RandomState(7))
    moved = [bag * (3 if row else 1) for bag, row in zip(bags, ~first, strict=True)]
    before, after = (plain("four_stage", split=0.4).fit(b, y) for b in (bags, moved))
    np.testing.assert_allclose(before.query_, after.query_, rtol=1e-12)  # the same to rounding
    assert np.abs(before.coef_ - after.coef_).max() > 0.01


def test_reuse_takes_both_from_all_bags() -> None:
    bags, y = ragged(2, n=30)
    model, signs = plain("reuse").fit(bags, y), 2.0 * y - 1
    q2 = slow_query(bags, signs, np.ones(len(y)), STEPS)
    np.testing.assert_allclose(model.query_[0], 1.5**2 * q2, rtol=1e-6, atol=1e-8)
    features = np.stack([pool(bag, model.query_[0]) for bag in bags])
    assert slope_of_readout(features, signs, model.coef_[0], model.intercept_[0], 0.1) < 1e-7


def test_cross_fit_pools_each_bag_by_a_query_that_has_not_seen_it() -> None:
    bags, y = ragged(4, n=30)
    model, signs = plain("cross_fit", n_folds=3).fit(bags, y), 2.0 * y - 1
    folds = fold_numbers(signs, 3, np.random.RandomState(7))
    tokens = np.concatenate(bags)
    features = np.empty((len(bags), 3))
    for fold in range(3):
        seen = [bag for bag, row in zip(bags, folds != fold, strict=True) if row]
        q = slow_query(seen, signs[folds != fold], np.ones(len(seen)), STEPS)
        q *= 1.5 / (tokens @ q).std()
        for i in np.flatnonzero(folds == fold):
            features[i] = pool(bags[i], q)
    assert slope_of_readout(features, signs, model.coef_[0], model.intercept_[0], 0.1) < 1e-7
    kept = slow_query(bags, signs, np.ones(len(y)), STEPS)
    kept *= 1.5 / (tokens @ kept).std()
    np.testing.assert_allclose(model.query_[0], kept, rtol=1e-6)


def test_joint_ends_where_the_gradient_is_zero_and_no_higher_than_cross_fit() -> None:
    bags, y = ragged(6, n=40)
    joint = plain("joint", query_ridge=0.01).fit(bags, y)
    start = plain("cross_fit").fit(bags, y)
    scaling = Standardization.of(as_bags(bags), np.ones(len(y)), standardize=False)
    equal = Samples(2.0 * y - 1, np.ones(len(y)), np.ones(len(y)))
    problem = JointProblem(as_bags(bags), scaling, equal, get_loss("logistic"), 0.1, 0.01)

    def both(model: AttentionClassifier) -> tuple[float, Joint]:
        at = Joint(model.query_[0], model.coef_[0], float(model.intercept_[0]))
        return problem.value_and_gradient(at)

    # L-BFGS stops at a gradient of 1e-6, or where the objective is flat to its digits.
    assert np.abs(both(joint)[1].packed()).max() < 1e-4
    assert both(joint)[0] < both(start)[0]


def test_more_restarts_do_not_raise_the_joint_objective() -> None:
    bags, y = ragged(8, n=40, signal=1.0)
    losses = []
    for restarts in (0, 4):
        model = plain("joint", query_ridge=0.01, n_restarts=restarts).fit(bags, y)
        at = Joint(model.query_[0], model.coef_[0], float(model.intercept_[0]))
        penalty = 0.05 * at.w @ at.w + 0.005 * at.q @ at.q
        losses.append(mean_loss(bags, 2.0 * y - 1, np.ones(len(y)), at) + penalty)
    assert losses[1] <= losses[0] + 1e-9


@pytest.mark.parametrize("standardize", [True, False])
def test_the_joint_gradient_of_float32_tokens_far_from_zero(standardize: bool) -> None:
    bags, y = ragged(0, n=40)
    far = as_bags([bag.astype(np.float32) + np.float32(1e4) for bag in bags])
    scaling = Standardization.of(far, np.ones(len(y)), standardize)
    x = np.random.default_rng(0).standard_normal(7)
    if not standardize:
        x[-1] -= 1e4 * x[3:6].sum()  # else all losses are of size 1e4
    found = []
    for tokens in (far.tokens, far.tokens.astype(np.float64)):
        same = far.with_tokens(tokens)
        problem = JointProblem(same, scaling, samples(y), get_loss("logistic"), 0.3, 0.05)
        value, gradient = problem.value_and_gradient(Joint.unpacked(x))
        found.append(np.append(gradient.packed(), value))
    # Some ten float32 roundings of numbers of size 1; of size 1e4 they would be 1e-3 each. The
    # gradient in w has that size if the tokens are not centred.
    size = np.append(np.where(np.isin(np.arange(7), [3, 4, 5]) & (not standardize), 1e4, 1), 1)
    np.testing.assert_allclose(found[0] / size, found[1] / size, atol=3e-6)


def test_joint_training_of_float32_tokens_far_from_zero() -> None:
    bags, y = ragged(0, n=60)
    far = as_bags([bag.astype(np.float32) + np.float32(1e4) for bag in bags])
    exact = far.with_tokens(far.tokens.astype(np.float64))
    model = AttentionClassifier("joint", 1.0, ridge=0.1, n_restarts=0, random_state=0)
    q, w = (model.fit(one, y).query_[0] for one in (far, exact))
    # L-BFGS stops where steps gain 2e-9 of the objective: the place is known to a few 1e-4.
    np.testing.assert_allclose(q, w, rtol=5e-3, atol=5e-3)


def test_joint_training_that_does_not_converge_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint, "MAX_STEPS", 1)
    bags, y = ragged(0, n=60)
    with pytest.warns(ConvergenceWarning, match=r"did not converge.*Raise ridge"):
        AttentionClassifier("joint", 1.0, ridge=1e-3, random_state=0).fit(bags, y)


@pytest.mark.parametrize("training", ["cross_fit", "four_stage", "joint"])
def test_random_state_decides(training: str) -> None:
    bags, y = ragged(9, n=60)
    first, second = (plain(training, random_state=3).fit(bags, y) for _ in range(2))
    np.testing.assert_array_equal(first.coef_, second.coef_)
    np.testing.assert_array_equal(first.query_, second.query_)
    if training != "joint":  # its end does not depend on where it starts
        other = plain(training, random_state=4).fit(bags, y)
        assert np.abs(first.coef_ - other.coef_).max() > 1e-6


def test_temperature_zero_is_mean_pooling() -> None:
    bags, y = ragged(0, n=30)
    model = plain("cross_fit", temperature=0.0).fit(bags, y)
    means = np.stack([bag.mean(axis=0) for bag in bags])
    assert model.query_kind_[0] == "mean"
    assert not model.query_.any()
    w, b = model.coef_[0], model.intercept_[0]
    assert slope_of_readout(means, 2.0 * y - 1, w, b, 0.1) < 1e-7


def test_bags_of_one_token_have_nothing_to_attend_to() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    bags = Bags(rng.standard_normal((40, 3)) + y[:, None], np.arange(41))
    model = AttentionClassifier("four_stage").fit(bags, y)
    assert model.sharpness_[0] == 0
    assert model.query_kind_[0] == "mean"


def rare(seed: int, signal: float) -> tuple[np.ndarray, np.ndarray]:
    """Return 400 bags of 10 tokens, one in eight positive: the query turns away from a signal."""
    rng = np.random.default_rng(seed)
    y = (np.arange(400) % 8 == 0).astype(int)
    bags = rng.standard_normal((400, 10, 10))
    bags[y == 1, 0, 0] += signal
    return bags, y


def test_a_query_that_turns_away_is_told_with_the_remedy() -> None:
    bags, y = rare(0, 2.5)
    model = plain("four_stage", temperature=1.0, step_sizes=(1.0, 0.0, 1.0))
    with pytest.warns(QueryWarning, match=r"turns away from the signal.*class_weight='balanced'"):
        model.fit(bags, y)
    assert model.evidence_[0] < -2


def test_a_query_of_noise_is_told() -> None:
    rng = np.random.default_rng(1)
    bags, y = rng.standard_normal((60, 5, 20)), np.arange(60) % 2
    with pytest.warns(QueryWarning, match=r"too weakly aligned.*Take more bags"):
        AttentionClassifier("four_stage", 1.0, split=0.5, random_state=0).fit(bags, y)


def test_a_query_that_has_collapsed_is_told() -> None:
    bags, y = ragged(0, n=60)
    with pytest.warns(QueryWarning, match=r"collapsed to uniform.*Raise temperature"):
        AttentionClassifier("cross_fit", temperature=1e-3, random_state=0).fit(bags, y)


def test_a_good_query_is_not_warned_of() -> None:
    bags, y = ragged(0, n=60, signal=3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for training in ("cross_fit", "reuse", "four_stage"):
            AttentionClassifier(training, split=0.5, random_state=0).fit(bags, y)


@pytest.mark.skipif(not (DATA / "musk1.npz").exists(), reason="the real sets are not here")
def test_attention_is_no_worse_than_pooling_on_musk1() -> None:
    from sparsetoken import PooledLinearClassifier

    with np.load(DATA / "musk1.npz") as file:
        sizes = np.bincount(file["bag"])
        bags = Bags(file["X"].astype(float), np.concatenate([[0], np.cumsum(sizes)]))
        y, folds = file["y"], file["folds"][0]
    right = np.zeros(2)
    for fold in range(10):
        test = folds == fold
        for i, model in enumerate([AttentionClassifier(random_state=0), PooledLinearClassifier()]):
            right[i] += (model.fit(bags[~test], y[~test]).predict(bags[test]) == y[test]).sum()
    # The sd of the difference of two such counts is about 4 of 92 bags.
    assert right[0] >= right[1] - 8
    assert right[0] >= 0.75 * len(y)
