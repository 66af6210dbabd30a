"""The area under the ROC curve, smooth or not, against pairs of scores drawn from the law."""

import numpy as np
import pytest

from sparsetoken.models import Attention, Elementwise
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Overlaps
from sparsetoken.stages import Query
from sparsetoken.theory import ScoreLaw, feature_law

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
    scores = ScoreLaw.of(law, overlaps)
    rng = np.random.default_rng(0)
    drawn = []
    for label in (1, -1):
        node = rng.choice(np.flatnonzero(scores.y == label), 400_000)
        noise = scores.width.ravel()[node] * rng.standard_normal(len(node))
        drawn.append(scores.mean.ravel()[node] + noise)
    plus, minus = drawn
    # 4 standard errors of 400000 pairs, and the nodes that the area leaves out
    assert scores.auc() == pytest.approx(np.mean(plus > minus), abs=5e-3)
