"""The experiments of `sparsetoken reproduce`: theory and simulation side by side."""

from __future__ import annotations

from sparsetoken.experiments import (
    alignment,
    capacity,
    capacity_curves,
    finite_size,
    leave_one_out,
    ridgeless,
    sensitivity,
    shifted_test,
)
from sparsetoken.experiments.experiment import Experiment

__all__ = ["EXPERIMENTS", "Experiment"]

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        alignment,
        shifted_test,
        ridgeless,
        capacity,
        capacity_curves,
        sensitivity,
        leave_one_out,
        finite_size,
    )
}
"""By name, in the order of the report."""
