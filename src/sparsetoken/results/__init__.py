"""What theory and simulation return."""

from sparsetoken.results.outcomes import (
    Alignment,
    Capacity,
    Outcome,
    Overlaps,
    Prediction,
    Result,
    Simulation,
    Status,
    StatusCode,
)
from sparsetoken.results.table import Table, over_arrays
from sparsetoken.results.trajectories import DescentState, Trajectories
from sparsetoken.results.trajectory import DescentPath, SimulatedTrajectory, Trajectory

__all__ = [
    "Alignment",
    "Capacity",
    "DescentPath",
    "DescentState",
    "Outcome",
    "Overlaps",
    "Prediction",
    "Result",
    "SimulatedTrajectory",
    "Simulation",
    "Status",
    "StatusCode",
    "Table",
    "Trajectories",
    "Trajectory",
    "over_arrays",
]
