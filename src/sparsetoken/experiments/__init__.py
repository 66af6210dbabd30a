"""The experiments of `sparsetoken reproduce`: theory and simulation side by side."""

from __future__ import annotations

from sparsetoken.experiments import (
    alignment,
    anti_alignment,
    architectures,
    capacity,
    data_reuse,
    growing_length,
    joint_training,
    learning_curves,
    misalignment,
    query_steps,
    rates,
    sensitivity,
)
from sparsetoken.experiments.experiment import Experiment

__all__ = ["EXPERIMENTS", "Experiment"]

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        alignment,
        anti_alignment,
        learning_curves,
        rates,
        misalignment,
        capacity,
        sensitivity,
        data_reuse,
        query_steps,
        joint_training,
        growing_length,
        architectures,
    )
}
"""By name, in the order of the report."""
