"""Points of a sequence against each by itself, and how many nodes each of them gets."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from sparsetoken.losses import get_loss
from sparsetoken.model.models import Attention, Elementwise, make_model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout
from sparsetoken.theory import predict, predict_readouts
from sparsetoken.theory.accuracy import allowed_error
from sparsetoken.theory.readout import curve
from sparsetoken.theory.readout.curve import LearningCurve
from sparsetoken.theory.readout.model_features import IsotropicFeatures

LOSSES = ["square", "logistic", "hinge", "squared_hinge"]
PROBLEM, QUERY = SparseTokenProblem(8, 2, 3.0, 0.4), Query(0.8, 1.2)


def map_points(
    loads,
    loss="logistic",
    tolerance=1e-3,
    tested=None,
    problem=PROBLEM,
    query=QUERY,
    model=Attention(),
):
    features = IsotropicFeatures(model, problem, query)
    way = LearningCurve(features, tested or problem, get_loss(loss), tolerance)
    return [way.solve(*load) for load in loads]


def numbers(point):
    outcome = point.outcome
    values = [outcome.test_error, outcome.training_loss, outcome.training_error, outcome.auc]
    return np.array([*values, *point.saddle.x, *point.saddle.state.chi])


def check_each_by_itself(loads, loss, **options):
    for load, found in zip(loads, map_points(loads, loss, **options), strict=True):
        (alone,) = map_points([load], loss, **options)
        assert found.equations.nodes.y.size == alone.equations.nodes.y.size
        # the last Newton step is below 1e-6, and the error of the order of its square
        np.testing.assert_allclose(numbers(found), numbers(alone), rtol=1e-9, atol=1e-12)
        assert found.errors.test_error == pytest.approx(
            alone.errors.test_error, rel=1e-6, abs=1e-15
        )


@pytest.mark.parametrize("loss", LOSSES)
def test_a_point_does_not_depend_on_its_neighbours(loss):
    check_each_by_itself([(float(a), 1e-2) for a in np.geomspace(0.5, 5, 7)], loss)
    check_each_by_itself([(2.0, float(ridge)) for ridge in np.geomspace(1, 1e-3, 5)], loss)


def test_neither_does_its_number_of_nodes():
    loads = [(float(a), 1e-2) for a in np.geomspace(0.5, 20, 6)]
    points = map_points(loads, tolerance=4e-4)
    assert len({point.equations.nodes.y.size for point in points}) > 1
    check_each_by_itself(loads, "logistic", tolerance=4e-4)


def test_order_and_repetition_do_not_matter():
    loads = [(2.0, 1e-2), (0.5, 1e-2), (math.inf, 1e-2), (2.0, 1e-2), (0.5, 1.0), (math.inf, 0.0)]
    check_each_by_itself(loads, "logistic")
    # Two solutions at one load, or a rounding apart, beside a third load.
    for near in (2.0, math.nextafter(2.0, 3.0)):
        check_each_by_itself([(2.0, 1e-2), (near, 1e-2), (1.9, 1e-2)], "logistic")


def test_infinite_data_with_a_test_law_of_its_own():
    shifted = SparseTokenProblem(8, 1, 3.0, 0.4)
    check_each_by_itself([(1.0, 1e-2), (math.inf, 1e-2)], "logistic", tested=shifted)
    ((plain,), (other,)) = (map_points([(1.0, 1e-2)], tested=tested) for tested in (None, shifted))
    assert other.outcome.training_loss == plain.outcome.training_loss
    assert other.outcome.test_error > plain.outcome.test_error


def test_neighbours_save_newton_steps():
    loads = [(float(a), 1e-2) for a in np.geomspace(0.5, 5, 30)]
    steps = [point.saddle.iterations for point in map_points(loads)]
    # a polynomial through six neighbours is nearer than the last step may be long
    assert np.mean(steps[10:]) < 2
    assert steps[0] > 4


def test_a_law_is_made_once_for_each_number_of_nodes(monkeypatch):
    made, make = [], IsotropicFeatures._nodes

    def counted(self, problem, points):
        made.append(points)
        return make(self, problem, points)

    monkeypatch.setattr(IsotropicFeatures, "_nodes", counted)
    map_points([(a, 1e-2) for a in (1.0, 1.5, 2.0)], "square", 2e-4)
    assert sorted(made) == sorted(set(made))


def test_an_exact_law_has_no_numerical_error():
    features = IsotropicFeatures(make_model("pooled"), PROBLEM, None)
    way = LearningCurve(features, PROBLEM, get_loss("hinge"), 1e-6)
    points = [way.solve(alpha, 1e-2) for alpha in (1.0, 2.0)]
    assert [point.equations.nodes.y.size for point in points] == [2, 2]
    assert [point.errors.test_error for point in points] == [0.0, 0.0]


def conditional_errors(problem, query, w, n, seed, model=Attention()):
    """Mean and standard error of P(error | tokens) over plain draws of the tokens."""
    pi, theta, R, L = problem.letters
    s, k = query.cosine, query.sharpness
    rng = np.random.default_rng(seed)
    mean = variance = 0.0
    for y, share in ((1, pi), (-1, 1 - pi)):
        g, signal = rng.standard_normal((n, L)), (np.arange(L) < R) * (y > 0)
        a = model.network.weights(k * (g + theta * s * signal))
        A, B, C = a @ signal, np.sum(a * g, axis=1), np.sqrt(np.sum(a**2, axis=1))
        along, across = theta * s * A + B, theta * math.sqrt(1 - s**2) * A
        score = w.query * along + w.orthogonal * across + w.bias
        wrong = ndtr(-y * score / (C * math.hypot(w.orthogonal, w.noise)))
        mean += share * wrong.mean()
        variance += share**2 * wrong.var() / n
    return mean, math.sqrt(variance)


@pytest.mark.parametrize(("loss", "tolerance"), [("logistic", 1e-4), ("hinge", 1e-3)])
def test_rare_errors_are_within_the_numerical_error(loss, tolerance):
    """Attention looks at a wrong token in 1e-4 of the positives, which few nodes show."""
    problem, query = SparseTokenProblem(5, 1, 9.66, 0.32), Query(0.564, 10.74)
    loads = [(6.52, 9.7e-4)]
    (point,) = map_points(loads, loss, tolerance, problem=problem, query=query)
    assert 2 * point.errors.test_error <= allowed_error(point.outcome.test_error, tolerance)
    error, noise = conditional_errors(problem, query, point.outcome.overlaps, 400_000, 0)
    assert abs(point.outcome.test_error - error) <= 2 * math.hypot(point.errors.test_error, noise)


def test_errors_that_no_plain_node_has_seen():
    problem, query = SparseTokenProblem(19, 3, 13.55, 0.7), Query(0.572, 19.0)
    (point,) = map_points([(2.94, 4.9e-4)], "hinge", 1e-3, problem=problem, query=query)
    assert point.outcome.test_error < 1e-10
    assert 2 * point.errors.test_error <= 0.1 * point.outcome.test_error


SMALL = {
    "softmax": ((10, 1, 8.0, 0.5), Query(0.9, 1.0), (4.0, 1e-2)),
    "softmax, flat": ((20, 4, 7.0, 0.3), Query(0.9, 0.3), (4.0, 1e-2)),
    "softmax, sharp": ((10, 1, 6.0, 0.5), Query(0.95, 3.0), (10.0, 1e-3)),
    "erf": ((5, 2, 6.0, 0.5), Query(0.95, 0.6), (8.0, 1e-2)),
    "exp": ((6, 2, 5.0, 0.4), Query(0.9, 1.0), (6.0, 1e-2)),
    "sigmoid": ((5, 2, 6.0, 0.5), Query(0.95, 0.6), (8.0, 1e-2)),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in ("softmax, flat", "exp") else ())
        for name in SMALL
    ],
)
def test_small_errors_are_known_relatively(name, monkeypatch):
    """Nodes are drawn where the readout is wrong; all errors are below .6%."""
    letters, query, load = SMALL[name]
    problem, drawn = SparseTokenProblem(*letters), []
    model = Attention() if "softmax" in name else Elementwise(query, name)
    draw = curve.nodes_where_wrong
    monkeypatch.setattr(
        curve, "nodes_where_wrong", lambda *of: drawn.append(draw(*of)) or drawn[-1]
    )
    (point,) = map_points([load], tolerance=1e-4, problem=problem, query=query, model=model)
    assert 2 * point.errors.test_error <= 1e-2 * point.outcome.test_error
    assert point.equations.nodes is drawn[-1]
    error, noise = conditional_errors(problem, query, point.outcome.overlaps, 400_000, 0, model)
    assert abs(point.outcome.test_error - error) <= 3 * math.hypot(point.errors.test_error, noise)
    # plain draws see a small error, too
    assert noise < 0.3 * error


@pytest.mark.slow
def test_drawn_nodes_of_long_samples_have_all_tokens():
    """The many small tokens of a long sample are not drawn one by one: the law has their sums."""
    problem, model = SparseTokenProblem(160, 20, 4.0, 0.5), Elementwise(Query(0.9, 1.0), "relu")
    found = predict(problem, model, Readout("logistic", 1e-2, 4.0), tolerance=1e-3)
    (plain,) = predict_readouts(problem, model, [Readout("logistic", 1e-2, 4.0)], nodes=1024)
    assert found.test_error == pytest.approx(plain.test_error, abs=4 * plain.numerical_error)
    assert plain.numerical_error < 3e-4
