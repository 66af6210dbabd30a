"""What theory and simulation return: named arrays over named dimensions."""

from sparsetoken.results.outcomes import (
    Alignment,
    Capacity,
    FoundQuery,
    MinimumOutcome,
    MinimumPrediction,
    NetworkPath,
    Outcome,
    Overlaps,
    Prediction,
    ReadoutOutcome,
    TaskOutcome,
    TaskPrediction,
    Trajectory,
    Weights,
)
from sparsetoken.results.record import Record
from sparsetoken.results.simulation import Simulation, TrialOutcome
from sparsetoken.results.status import CONVERGED, Status, StatusCode

__all__ = [
    "CONVERGED",
    "Alignment",
    "Capacity",
    "Trajectory",
    "FoundQuery",
    "MinimumOutcome",
    "MinimumPrediction",
    "NetworkPath",
    "Outcome",
    "Overlaps",
    "Prediction",
    "ReadoutOutcome",
    "Record",
    "Simulation",
    "Status",
    "StatusCode",
    "TaskOutcome",
    "TaskPrediction",
    "TrialOutcome",
    "Weights",
]
__dir__ = __all__.copy
