"""What theory and simulation return: named arrays over named dimensions."""

from sparsetoken.results.courses import Course, NetworkPath, Weights
from sparsetoken.results.outcomes import (
    Alignment,
    Capacity,
    DescentPath,
    FoundQuery,
    Outcome,
    Overlaps,
    Prediction,
    Trajectory,
)
from sparsetoken.results.record import Record
from sparsetoken.results.simulation import Simulation, TrialOutcome
from sparsetoken.results.status import CONVERGED, Status, StatusCode

__all__ = [
    "CONVERGED",
    "Alignment",
    "Capacity",
    "Course",
    "DescentPath",
    "FoundQuery",
    "NetworkPath",
    "Outcome",
    "Overlaps",
    "Prediction",
    "Record",
    "Simulation",
    "Status",
    "StatusCode",
    "Trajectory",
    "TrialOutcome",
    "Weights",
]
