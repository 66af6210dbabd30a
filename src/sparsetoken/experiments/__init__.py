"""The experiments of `sparsetoken reproduce`: theory and simulation side by side."""

from __future__ import annotations

from sparsetoken.experiments.alignment import ALIGNMENT
from sparsetoken.experiments.anti_alignment import ANTI_ALIGNMENT
from sparsetoken.experiments.architectures import ARCHITECTURES
from sparsetoken.experiments.base import Experiment
from sparsetoken.experiments.capacity import CAPACITY
from sparsetoken.experiments.capacity_curves import CAPACITY_CURVES
from sparsetoken.experiments.data_reuse import DATA_REUSE
from sparsetoken.experiments.finite_size import FINITE_SIZE
from sparsetoken.experiments.growing_length import GROWING_LENGTH
from sparsetoken.experiments.joint_training import JOINT_TRAINING
from sparsetoken.experiments.learning_curves import LEARNING_CURVES
from sparsetoken.experiments.leave_one_out import LEAVE_ONE_OUT
from sparsetoken.experiments.misalignment import MISALIGNMENT
from sparsetoken.experiments.query_steps import QUERY_STEPS
from sparsetoken.experiments.rates import RATES
from sparsetoken.experiments.representation import REPRESENTATION
from sparsetoken.experiments.ridgeless import RIDGELESS
from sparsetoken.experiments.sensitivity import SENSITIVITY
from sparsetoken.experiments.shifted_test import SHIFTED_TEST

__all__ = ["EXPERIMENTS", "Experiment"]

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        REPRESENTATION,
        ALIGNMENT,
        ANTI_ALIGNMENT,
        LEARNING_CURVES,
        RATES,
        MISALIGNMENT,
        SHIFTED_TEST,
        RIDGELESS,
        CAPACITY,
        CAPACITY_CURVES,
        SENSITIVITY,
        LEAVE_ONE_OUT,
        FINITE_SIZE,
        DATA_REUSE,
        QUERY_STEPS,
        JOINT_TRAINING,
        GROWING_LENGTH,
        ARCHITECTURES,
    )
}
"""By name, in the order of the report."""
