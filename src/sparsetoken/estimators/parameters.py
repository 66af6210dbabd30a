"""Types of the parameters of estimators, and checks of their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from sparsetoken.fitting.queries import StepSizes
from sparsetoken.validation import LARGEST_VALUE, InvalidInput, real

Auto = Literal["auto"]
Activation = Literal["erf", "sigmoid", "tanh", "relu", "linear", "exp"]
ClassWeight = Mapping[Any, float] | Literal["balanced"] | None
Presence = Literal["free", "strict"]
RandomState = int | np.random.RandomState | None
Training = Literal["likelihood", "tied", "cross_fit", "four_stage", "reuse", "joint"]


def auto_or_real(
    name: str, value: Any, low: float, high: float = LARGEST_VALUE, *, open_low: bool = False
) -> float | Auto:
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
