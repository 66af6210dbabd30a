"""What a variant is measured against: the theory of pooled, two-step attention and Bayes."""

from __future__ import annotations

import dataclasses

from sparsetoken import theory
from sparsetoken.experiments.rows import Predicted, predicted
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory.bayes import bayes_error
from sparsetoken.training import FourStageTraining, Query

__all__ = ["PROBLEM", "References", "four_stages", "predict_references"]

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
    """

    load: float
    pooled: Predicted
    attention: Predicted
    bayes: Predicted

    @property
    def gap(self) -> float:
        """By how much Bayes is better than pooled."""
        return self.pooled.value - self.bayes.value

    def share(self, test_error: float) -> float:
        """Return the share of the gap from pooled to Bayes that is closed."""
        return (self.pooled.value - test_error) / self.gap


def four_stages(alpha0: float, *, eta_q: float = 25.0, ridge: float = 1e-2) -> FourStageTraining:
    """Return the training of attention that variants are compared with."""
    return FourStageTraining(alpha0=alpha0, eta_q=eta_q, ridge=ridge)


def predict_references(
    problem: SparseTokenProblem,
    training: FourStageTraining,
    alpha1: float,
    *,
    load: float | None = None,
    pooled_alpha1: float | None = None,
    tolerance: float = 1e-4,
) -> References:
    """Predict the test errors of pooled, attention and Bayes.

    Parameters
    ----------
    problem : SparseTokenProblem
    training : FourStageTraining
        The four stages of attention; pooled takes its loss and ridge.
    alpha1 : float
        n1 / d of the readout of attention.
    load : float, optional
        As of `References`, `alpha1` by default.
    pooled_alpha1 : float, optional
        n1 / d of pooled, `alpha1` by default.
    tolerance : float
        Of `theory.predict`.
    """
    query = theory.align(problem, training).query  # if given, its harm is no surprise: no warning

    def predict(model: str, alpha1: float, query: Query | None = None) -> Predicted:
        found = theory.predict(model, problem, training, alpha1, query=query, tolerance=tolerance)
        return predicted(found, "test_error", found.numerical_error)

    bayes = bayes_error(problem)
    return References(
        alpha1 if load is None else load,
        predict("pooled", alpha1 if pooled_alpha1 is None else pooled_alpha1),
        predict("attention", alpha1, query),
        predicted(bayes, "test_error", bayes.numerical_error),
    )
