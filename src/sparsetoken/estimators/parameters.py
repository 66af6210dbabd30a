"""Checks of the parameters of estimators."""

from __future__ import annotations

from typing import Any, Literal

from sparsetoken.fitting.queries import StepSizes
from sparsetoken.validation import LARGEST_VALUE, InvalidInput, real

__all__ = ["auto_or_real", "step_sizes"]


def auto_or_real(
    name: str, value: Any, low: float, high: float = LARGEST_VALUE, *, open_low: bool = False
) -> float | Literal["auto"]:
    """Return 'auto' or a finite float in the range, or raise `InvalidInput`."""
    if isinstance(value, str) and value == "auto":
        return "auto"
    return real(name, value, low, high, open_low=open_low, remedy="Or 'auto'.")


def step_sizes(value: Any) -> StepSizes:
    """Return the three step sizes, or raise `InvalidInput`."""
    try:
        sizes = [real("step_sizes", size, 0.0, LARGEST_VALUE) for size in value]
    except TypeError:
        sizes = []
    if len(sizes) != 3:
        raise InvalidInput("step_sizes", "three numbers >= 0: of readout, bias and query", value)
    return StepSizes(*sizes)
