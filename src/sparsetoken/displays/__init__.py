"""Displays of fitted classifiers of bags, in the style of scikit-learn."""

from sparsetoken.displays.attention import AttentionDisplay
from sparsetoken.displays.learning_curve import BagLearningCurveDisplay
from sparsetoken.displays.predicted import predicted_errors
from sparsetoken.displays.scores import ScoreDisplay

__all__ = ["AttentionDisplay", "BagLearningCurveDisplay", "ScoreDisplay", "predicted_errors"]
