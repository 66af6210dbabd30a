"""What a variant is measured against: the theory of pooled, two-step attention and Bayes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sparsetoken import theory
from sparsetoken.experiments.points import THEORY, Point, select
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory.bayes import bayes_error
from sparsetoken.training import FourStageTraining

__all__ = ["References", "reference_points", "references_of"]


def reference_points(
    problem: SparseTokenProblem,
    training: FourStageTraining,
    alpha1: float,
    *,
    x: float = 0.0,
    group: str = "",
    tolerance: float = 1e-4,
) -> list[Point]:
    """Return the predicted test errors of pooled, attention and Bayes, one point each.

    Parameters
    ----------
    problem : SparseTokenProblem
    training : FourStageTraining
        The four stages of attention; pooled takes its loss and ridge.
    alpha1 : float
        n1 / d of the readout of both.
    x : float
        Where the points stand in a figure.
    group : str
        Panel of the figure.
    tolerance : float
        Of `theory.predict`.
    """
    points = []
    query = theory.align(problem, training).query  # if given, its harm is no surprise: no warning
    for model in ("pooled", "attention"):
        found = theory.predict(model, problem, training, alpha1, query=query, tolerance=tolerance)
        points.append((model, found.test_error, found.numerical_error, found.status))
    bayes = bayes_error(problem)
    points.append(("bayes", bayes.test_error, bayes.numerical_error, bayes.status))
    return [
        Point(name, "test_error", x, value, error, group=group, status=str(status.code))
        for name, value, error, status in points
    ]


class References(NamedTuple):
    """Test errors of pooled, two-step attention and Bayes at one place."""

    pooled: float
    attention: float
    bayes: float

    def share(self, test_error: float) -> float:
        """Return the share of the gap from pooled to Bayes that is closed."""
        return (self.pooled - test_error) / (self.pooled - self.bayes)

    def standing(self, test_error: float, error: float) -> str:
        """Say in words where a test error with a standard error stands."""
        width = abs(self.pooled - self.bayes)
        return (
            f"{test_error:.4f} ± {error:.4f}, which closes {100 * self.share(test_error):.1f} ± "
            f"{100 * error / width:.1f} % of the gap from pooled to Bayes"
        )

    def summary(self) -> str:
        """Say in words what the references are."""
        return (
            f"pooled {self.pooled:.4f}, two-step attention {self.attention:.4f} "
            f"({100 * self.share(self.attention):.1f} % of the gap), Bayes {self.bayes:.4f}"
        )


def references_of(points: Iterable[Point], **wanted: object) -> References:
    """Return the references among the points, at the wanted place (x, group)."""
    kept = select(points, quantity="test_error", source=THEORY, **wanted)
    values = {p.curve: p.value for p in kept}
    return References(*(values[name] for name in References._fields))
