"""Types of the parameters of estimators, and checks of their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from sparsetoken.validation import LARGEST_VALUE, real

Auto = Literal["auto"]
ClassWeight = Mapping[Any, float] | Literal["balanced"] | None
RandomState = int | np.random.RandomState | None


def auto_or_real(
    name: str, value: Any, low: float, high: float = LARGEST_VALUE, *, open_low: bool = False
) -> float | Auto:
    """Return 'auto' or a finite float in the range, or raise `InvalidInput`."""
    if isinstance(value, str) and value == "auto":
        return "auto"
    return real(name, value, low, high, open_low=open_low, remedy="Or 'auto'.")
