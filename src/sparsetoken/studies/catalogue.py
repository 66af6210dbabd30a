"""The studies of the package, in the order of the report."""

from __future__ import annotations

from sparsetoken.studies.agreement import Agreement
from sparsetoken.studies.alignment import Alignment
from sparsetoken.studies.anti_alignment import AntiAlignment
from sparsetoken.studies.capacity import Capacity
from sparsetoken.studies.growing_length import GrowingLength
from sparsetoken.studies.joint_training import JointTraining
from sparsetoken.studies.learning_curves import LearningCurves
from sparsetoken.studies.misalignment import Misalignment
from sparsetoken.studies.rates import Rates
from sparsetoken.studies.representation import Representation
from sparsetoken.studies.sensitivity import Sensitivity
from sparsetoken.studies.study import Study

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        Representation(),
        Alignment(),
        AntiAlignment(),
        LearningCurves(),
        Rates(),
        Misalignment(),
        Capacity(),
        Sensitivity(),
        JointTraining(),
        Agreement(),
        GrowingLength(),
    )
}
"""By name."""
