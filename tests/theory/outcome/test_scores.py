"""The law of scores: area under the ROC curve, scores of 0, errors that no node has seen."""

import numpy as np
import pytest
from scipy.special import ndtr

from sparsetoken.model.models import Attention, Elementwise
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query
from sparsetoken.results import Overlaps
from sparsetoken.theory.laws.of_model import feature_law
from sparsetoken.theory.outcome.scores import ScoreDistribution

SETTINGS = [
    (Attention(Query(0.8, 2.0)), (10, 1, 3.0, 0.5), Overlaps(2.5, 2.8, 4.3, -5.2)),
    (Attention(Query(0.7, 0.5)), (4, 2, 1.0, 0.1), Overlaps(0.24, 0.25, 1.5, -0.2)),
    # log-normal lengths: most normals are far narrower than the range of scores
    (Elementwise(Query(0.9, 4.0), "exp"), (2, 1, 2.0, 0.5), Overlaps(0.1, 0.1, 0.1, -0.3)),
    (Elementwise(Query(0.9, 15.0), "exp"), (4, 1, 2.0, 0.5), Overlaps(0.1, 0.1, 0.1, -0.3)),
]


@pytest.mark.parametrize(("model", "letters", "overlaps"), SETTINGS)
def test_area_is_the_chance_that_a_positive_scores_higher(model, letters, overlaps):
    law = feature_law(model, SparseTokenProblem(*letters), model.query, 512)
    scores = ScoreDistribution.of_overlaps(law, overlaps)
    rng = np.random.default_rng(0)
    drawn = []
    for label in (1, -1):
        node = rng.choice(np.flatnonzero(scores.y == label), 400_000)
        noise = scores.width.ravel()[node] * rng.standard_normal(len(node))
        drawn.append(scores.mean.ravel()[node] + noise)
    plus, minus = drawn
    # 4 standard errors of 400000 pairs, and the nodes that the area leaves out
    assert scores.auc() == pytest.approx(np.mean(plus > minus), abs=5e-3)


def random_scores(widths, spread, nodes=300, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([[1.0, -1.0]], nodes, axis=1)
    width = np.exp(rng.uniform(*np.log(widths), y.shape))
    mean = spread * rng.standard_normal(y.shape) + y
    return ScoreDistribution(mean, width, y, np.full(y.shape, 0.5 / nodes), exact=True)


@pytest.mark.parametrize(
    ("widths", "spread"), [((0.5, 2), 3.0), ((0.05, 0.2), 1.0), ((1, 1.1), 0.1), ((0.1, 4), 1.0)]
)
def test_area_is_the_mean_over_pairs_of_nodes(widths, spread):
    scores = random_scores(widths, spread)
    m, T, p = scores.mean[0], scores.width[0], scores.y[0] > 0
    ratio = (m[p][:, None] - m[~p]) / np.hypot(T[p][:, None], T[~p])
    # the step is chosen for an error of 1e-11
    assert scores.auc() == pytest.approx(ndtr(ratio).mean(), abs=1e-11)


def test_a_score_of_zero_is_wrong_half_of_the_time():
    y = np.array([[1.0, -1.0, 1.0, -1.0]])
    scores = ScoreDistribution(np.array([[0.0, 0.0, 2.0, 1.0]]), 0 * y, y, np.full(y.shape, 0.25))
    assert scores.test_error() == 0.25 * (0.5 + 0.5 + 0 + 1)
    nothing = ScoreDistribution(0 * y, 0 * y, y, np.full(y.shape, 0.25))
    assert nothing.test_error() == 0.5
    assert nothing.auc() == pytest.approx(0.5, abs=1e-12)


def test_the_error_of_one_unseen_node_is_stated():
    seen = random_scores((0.5, 2), 3.0)
    assert seen.unseen_error() == 0  # hundreds of errors tell their number themselves
    y = seen.y
    rare = ScoreDistribution(
        y * (9 + np.random.default_rng(1).standard_normal(y.shape)), 0.3 + 0 * y, y, seen.weight
    )
    assert rare.test_error() < 1e-30
    # Jeffreys: sqrt(1/2) of a node in each of two classes
    assert rare.unseen_error() == pytest.approx(0.5 / 300)
    steady = ScoreDistribution(y * (9 + 0.1 * (rare.mean * y - 9)), 0.3 + 0 * y, y, seen.weight)
    assert steady.unseen_error() == 0  # no deviation seen takes a score a tenth of the way
