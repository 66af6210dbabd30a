"""The experiments of `sparsetoken reproduce`: theory and simulation side by side."""

from __future__ import annotations

from sparsetoken.experiments.alignment import ALIGNMENT
from sparsetoken.experiments.base import Experiment
from sparsetoken.experiments.capacity import CAPACITY
from sparsetoken.experiments.finite_size import FINITE_SIZE
from sparsetoken.experiments.learning_curves import LEARNING_CURVES

__all__ = ["EXPERIMENTS", "Experiment"]

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (ALIGNMENT, LEARNING_CURVES, CAPACITY, FINITE_SIZE)
}
"""By name, in the order of the report."""
