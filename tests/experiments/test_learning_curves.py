"""The simulated points of the learning-curves experiment."""

from sparsetoken.experiments.claims import FAILS, HOLDS, judge
from sparsetoken.experiments.learning_curves import LearningCurvesProfile, _simulation
from sparsetoken.experiments.points import Point, select

PROFILE = LearningCurvesProfile((0.5,), (0.5,), trials=8, dimension=40)


def test_a_count_of_no_errors_is_known_to_one_sample():
    found = _simulation("pooled", "square", 0.5, "reduced", PROFILE, seed=0)
    (none,) = select(found, quantity="training_error")
    assert none.value == 0  # 20 samples of 40 features are fitted exactly
    assert none.error == 1 / (8 * 20)
    (loss,) = select(found, quantity="training_loss")
    assert loss.error != none.error

    def verdict(expected):
        theory = Point("pooled", "training_error", 0.5, expected)
        return judge("score-law", theory, none, where="").verdict

    assert verdict(1e-100) == HOLDS
    assert verdict(0.4) == FAILS  # 64 of 160 were expected to be misjudged
