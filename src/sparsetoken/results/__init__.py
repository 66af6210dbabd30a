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

__all__ = [
    "Alignment",
    "Capacity",
    "Outcome",
    "Overlaps",
    "Prediction",
    "Result",
    "Simulation",
    "Status",
    "StatusCode",
    "Table",
    "over_arrays",
]
