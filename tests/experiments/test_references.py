"""Reference values: in order, in words, and Bayes by drawing its test."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from sparsetoken.experiments.averages import averaged
from sparsetoken.experiments.points import Point
from sparsetoken.experiments.references import References, reference_points, references_of
from sparsetoken.figures.references import labelled_legend, reference_lines
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.training import FourStageTraining

PROBLEM = SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=0.5)
MADE = [
    Point(name, "test_error", 3.0, v, group="g")
    for name, v in (("pooled", 0.4), ("attention", 0.15), ("bayes", 0.1))
]


@pytest.fixture(scope="module")
def points():
    return reference_points(PROBLEM, FourStageTraining(eta_q=25.0), 2.0, x=3.0, group="g")


def test_the_references_are_in_order(points):
    found = references_of(points, x=3.0, group="g")
    assert found.bayes < found.attention < found.pooled
    assert all(p.converged for p in points)


def test_bayes_is_the_likelihood_ratio_test(points):
    g = np.random.default_rng(1).standard_normal((200_000, 10))
    shares = []
    for shift, wrong in ((5.0, -1), (0.0, 1)):
        g[:, 0] += shift
        ratio = np.log(np.mean(np.exp(5.0 * g - 12.5), axis=1))
        shares.append(np.mean(wrong * ratio > 0))
        g[:, 0] -= shift
    # 2 x 200000 draws of an error near 0.018: standard error 0.0002.
    assert references_of(points).bayes == pytest.approx(np.mean(shares), abs=0.001)


def test_the_share_of_the_gap():
    found = references_of(MADE, group="g")
    assert found == References(0.4, 0.15, 0.1)
    assert [found.share(v) for v in (0.4, 0.1, 0.25)] == pytest.approx([0, 1, 0.5])
    assert "closes 50.0 ± 10.0 %" in found.standing(0.25, 0.03)
    assert "83.3 % of the gap" in found.summary()


def test_an_average_has_the_standard_error_of_its_trials():
    point = averaged("a", "cosine", 1.0, [0.1, 0.2, 0.6], dimension=7, group="g")
    assert (point.trials, point.dimension, point.source, point.group) == (3, 7, "tensors", "g")
    assert point.value == pytest.approx(0.3)
    assert point.error == pytest.approx(np.sqrt(0.07) / np.sqrt(3))
    assert np.isnan(averaged("a", "cosine", 1.0, [0.1], dimension=7).error)


def test_one_point_is_a_level_and_more_are_a_line():
    figure = Figure()
    one, more = figure.subplots(1, 2)
    reference_lines(one, MADE)
    reference_lines(more, [*MADE, Point("bayes", "test_error", 4.0, 0.2, group="g")])
    assert [list(line.get_ydata()) for line in one.lines] == [[0.4, 0.4], [0.15, 0.15], [0.1, 0.1]]
    assert list(more.lines[2].get_xdata()) == [3.0, 4.0]
    labelled_legend(figure)
    assert len(figure.legends[0].get_texts()) == 3
