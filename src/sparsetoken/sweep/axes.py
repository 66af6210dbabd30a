"""The axes of a grid: lists, equal steps, equal ratios, and tied parameters."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sparsetoken.base.validation import InvalidInput, choice, integer, real, refuse_disguised

LARGEST_AXIS = 100_000


@dataclasses.dataclass(frozen=True)
class Axis:
    """One direction of a grid.

    Parameters
    ----------
    names : tuple of str
        One parameter, or several tied ones, which vary together.
    steps : tuple of tuples
        A tuple of values, one for each name, for every step.

    See Also
    --------
    listed : Values of any kind.
    linear : Equal steps.
    logarithmic : Equal ratios.
    tied : Several parameters together.

    Examples
    --------
    >>> from sparsetoken.sweep import Axis
    >>> axis = Axis(("length", "informative"), ((4, 1), (8, 2)))
    >>> len(axis), axis.label
    (2, 'length+informative')
    """

    names: tuple[str, ...]
    steps: tuple[tuple[Any, ...], ...]

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def label(self) -> str:
        """The name, or the names joined by +."""
        return "+".join(self.names)

    @property
    def table(self) -> str:
        """The table of a file in which it stands: axes or tied."""
        return "axes" if len(self.names) == 1 else "tied"


def listed(name: str, values: Sequence[Any] | np.ndarray) -> Axis:
    """Return an axis with these values.

    See Also
    --------
    linear : Equal steps.
    tied : Several parameters together.

    Examples
    --------
    >>> from sparsetoken.sweep import listed
    >>> listed("length", [4, 10]).names
    ('length',)
    """
    refuse_disguised(f"axes.{name}", values)
    values = values.tolist() if isinstance(values, np.ndarray) else values
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise InvalidInput(f"axes.{name}", "a list of one value or more", values)
    return Axis((name,), tuple((value,) for value in values))


def linear(name: str, start: float, stop: float, points: int) -> Axis:
    """Return an axis with equal steps from start to stop, both included.

    Returns
    -------
    Axis

    See Also
    --------
    logarithmic : Equal ratios.
    listed : Values of any kind.

    Examples
    --------
    >>> from sparsetoken.sweep import linear
    >>> linear("strength", 1, 3, 3).names
    ('strength',)
    """
    start, stop, points = _ends(name, start, stop, points)
    inner = [start + (stop - start) * i / (points - 1) for i in range(1, points - 1)]
    return listed(name, [rounded(value) for value in (start, *inner, stop)])


def logarithmic(name: str, start: float, stop: float, points: int) -> Axis:
    """Return an axis with equal ratios from start to stop, both included.

    See Also
    --------
    linear : Equal steps.
    listed : Values of any kind.

    Examples
    --------
    >>> from sparsetoken.sweep import logarithmic
    >>> logarithmic("alpha1", 0.1, 10, 5).names
    ('alpha1',)
    """
    start, stop, points = _ends(name, start, stop, points)
    if start <= 0 or stop <= 0:
        raise InvalidInput(
            f"axes.{name}", "above 0 at both ends of a logarithmic axis", (start, stop)
        )
    low, high = math.log(start), math.log(stop)
    inner = [math.exp(low + (high - low) * i / (points - 1)) for i in range(1, points - 1)]
    return listed(name, [rounded(value) for value in (start, *inner, stop)])


def tied(**values: Sequence[Any]) -> Axis:
    """Return an axis whose parameters take their first values together, then their second.

    See Also
    --------
    listed : Values of any kind.

    Examples
    --------
    >>> from sparsetoken.sweep import tied
    >>> tied(length=[4, 10], informative=[1, 3]).names
    ('length', 'informative')
    """
    names = tuple(values)
    lengths = {len(listed(name, values[name])) for name in names}
    if len(lengths) != 1:
        got = ", ".join(f"{name}: {len(values[name])}" for name in names)
        raise InvalidInput(f"tied.{names[0]}" if names else "tied", "lists of equal length", got)
    return Axis(names, tuple(zip(*values.values(), strict=True)))


def _ends(name: str, start: Any, stop: Any, points: Any) -> tuple[float, float, int]:
    where = f"axes.{name}"
    points = integer(f"{where}.points", points, 2, LARGEST_AXIS)
    return real(f"{where}.from", start), real(f"{where}.to", stop), points


def rounded(value: float) -> float:
    """Return a computed axis value with 12 digits, so that its text is the same everywhere."""
    return float(f"{value:.12g}") + 0.0  # the sum turns -0.0 into 0.0


def of_table(name: str, table: Mapping[str, Any]) -> Axis:
    """Return the axis of ``{from, to, points, scale}``."""
    where = f"axes.{name}"
    keys = {"from", "to", "points", "scale"}
    if set(table) - {"scale"} != keys - {"scale"} or not set(table) <= keys:
        got = ", ".join(table) or "no keys"
        raise InvalidInput(where, "a list, or a table of from, to, points and scale", got)
    scales = {"linear": linear, "logarithmic": logarithmic}
    scale = choice(f"{where}.scale", table.get("scale", "linear"), scales)
    return scales[scale](name, table["from"], table["to"], table["points"])
