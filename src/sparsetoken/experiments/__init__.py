"""The experiments of `sparsetoken reproduce`: theory and simulation side by side."""

from __future__ import annotations

from sparsetoken.experiments import (
    alignment,
    capacity,
    learning_curves,
    sensitivity,
)
from sparsetoken.experiments.experiment import Experiment

__all__ = ["EXPERIMENTS", "Experiment"]

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        alignment,
        learning_curves,
        capacity,
        sensitivity,
    )
}
"""By name, in the order of the report."""
