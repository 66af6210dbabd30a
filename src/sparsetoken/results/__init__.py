"""What theory and simulation return: named arrays over named dimensions."""

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
    "DescentPath",
    "FoundQuery",
    "Outcome",
    "Overlaps",
    "Prediction",
    "Record",
    "Simulation",
    "Status",
    "StatusCode",
    "Trajectory",
    "TrialOutcome",
]
