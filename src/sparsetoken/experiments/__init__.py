"""The experiments of `sparsetoken reproduce`: theory and simulation side by side."""

from __future__ import annotations

from sparsetoken.experiments import (
    alignment,
    anti_alignment,
    architectures,
    capacity,
    capacity_curves,
    data_reuse,
    finite_size,
    forecasts,
    growing_length,
    joint_training,
    learning_curves,
    leave_one_out,
    misalignment,
    query_steps,
    rates,
    real_tokens,
    representation,
    ridgeless,
    sensitivity,
    shifted_test,
    token_covariance,
    training_floor,
)
from sparsetoken.experiments.experiment import Experiment

__all__ = ["EXPERIMENTS", "Experiment"]

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        representation,
        alignment,
        anti_alignment,
        learning_curves,
        rates,
        misalignment,
        shifted_test,
        token_covariance,
        real_tokens,
        forecasts,
        ridgeless,
        capacity,
        capacity_curves,
        sensitivity,
        leave_one_out,
        finite_size,
        data_reuse,
        query_steps,
        joint_training,
        training_floor,
        growing_length,
        architectures,
    )
}
"""By name, in the order of the report."""
