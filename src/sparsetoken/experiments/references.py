"""What a variant is measured against: pooled, two-step attention, the floor and Bayes."""

from __future__ import annotations

import dataclasses

from sparsetoken import theory
from sparsetoken.experiments.rows import Predicted, predicted_error
from sparsetoken.models import Attention, Model, Pooled
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.stages import Readout, TwoSteps
from sparsetoken.theory.oracle import bayes_error, learning_error

PROBLEM = SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=0.5)
"""The problem on which variants are compared."""


@dataclasses.dataclass(frozen=True)
class References:
    """Predicted test errors at one place: a row, or a column of one.

    Attributes
    ----------
    load : float
        Samples over the dimension, as the experiment counts them.
    pooled, attention, bayes : Predicted
        Of mean pooling, of attention whose query took two steps, and of the best test that
        knows the signal.
    floor : Predicted
        Of the best learner from all samples, those of both stages of attention.
    """

    load: float
    pooled: Predicted
    attention: Predicted
    bayes: Predicted
    floor: Predicted

    @property
    def gap(self) -> float:
        """By how much Bayes is better than pooled."""
        return self.pooled.value - self.bayes.value

    def share(self, test_error: float) -> float:
        """Return the share of the gap from pooled to Bayes that is closed."""
        return (self.pooled.value - test_error) / self.gap


def predict_references(
    problem: SparseTokenProblem,
    steps: TwoSteps,
    readout: Readout,
    *,
    load: float | None = None,
    pooled_alpha1: float | None = None,
    tolerance: float = 1e-4,
) -> References:
    """Predict the test errors of pooled, attention, Bayes and the floor.

    Parameters
    ----------
    problem : SparseTokenProblem
    steps : TwoSteps
        That find the query of attention.
    readout : Readout
        Of attention; pooled has the same loss and ridge.
    load : float, optional
        As of `References`, the alpha of the readout by default.
    pooled_alpha1 : float, optional
        n1 / d of pooled, that of attention by default.
    tolerance : float
        Of `theory.predict`.
    """

    def predict(model: Model, readout: Readout) -> Predicted:
        found = theory.predict(problem, model, readout, tolerance=tolerance)
        return predicted_error(found)

    alpha1 = readout.alpha1 if pooled_alpha1 is None else pooled_alpha1
    bayes = bayes_error(problem)
    floor = learning_error(problem, steps.alpha0 + readout.alpha1)
    return References(
        readout.alpha1 if load is None else load,
        predict(Pooled(), dataclasses.replace(readout, alpha1=alpha1)),
        predict(Attention(steps), readout),
        predicted_error(bayes),
        predicted_error(floor),
    )
