"""Rows of experiments: frozen dataclasses of named columns, and the values that columns hold."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar, get_type_hints

import numpy as np

THEORY = "theory"
CONVERGED = "converged"

T = TypeVar("T")

Rows = Sequence[Any]
"""Rows of one experiment, of all its classes."""


@dataclasses.dataclass(frozen=True)
class Predicted:
    """A number that the theory gives.

    Attributes
    ----------
    value : float
    error : float
        Numerical error.
    status : str
        converged, or what stopped the computation.
    """

    value: float
    error: float = 0.0
    status: str = CONVERGED
    engine: ClassVar[str] = THEORY

    @property
    def converged(self) -> bool:
        """Whether the value may be trusted."""
        return self.status == CONVERGED and math.isfinite(self.value)


@dataclasses.dataclass(frozen=True)
class Measured:
    """A mean over independent trials.

    Attributes
    ----------
    value : float
    error : float
        Standard error.
    dimension, trials : int
    engine : str
        reduced, or tensors for real tokens.
    status : str
        converged, or what stopped the computation.
    values : tuple of float
        Of the trials, in their order, where each has a number of its own; else empty.
    """

    value: float
    error: float
    dimension: int
    trials: int
    engine: str = "reduced"
    status: str = CONVERGED
    values: tuple[float, ...] = ()

    @property
    def converged(self) -> bool:
        """Whether the value may be trusted."""
        return self.status == CONVERGED and math.isfinite(self.value)


def predicted(result: Any, name: str, error: float = 0.0) -> Predicted:
    """Return the field of a result of `sparsetoken.theory`, with its numerical error."""
    return Predicted(float(getattr(result, name)), float(error), str(result.status.code))


def predicted_error(result: Any) -> Predicted:
    """Return the test error of a result of `sparsetoken.theory`, with its numerical error."""
    return predicted(result, "test_error", result.numerical_error)


def measured(result: Any, name: str, dimension: int, engine: str = "reduced") -> Measured:
    """Return the mean of one quantity of a result of `sparsetoken.simulation`."""
    values = getattr(result.trials, name).tolist()
    return Measured(
        float(getattr(result.mean, name)),
        float(getattr(result.standard_error, name)),
        dimension,
        len(values),
        engine,
        str(result.status.code),
        tuple(values),
    )


def averaged(
    values: Sequence[float], dimension: int, engine: str = "tensors", status: str = CONVERGED
) -> Measured:
    """Return the mean of one value for each trial; a single trial has the error nan.

    Parameters
    ----------
    values : sequence of float of shape (trials,)
    dimension : int
    engine, status : str
        As of `Measured`.
    """
    n = len(values)
    error = float(np.std(values, ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    kept = tuple(float(value) for value in values)
    return Measured(float(np.mean(values)), error, dimension, n, engine, status, kept)


def averages(found: Sequence[Any], names: Iterable[str], dimension: int) -> dict[str, Measured]:
    """Return the mean over trials with real tokens of attributes of what each one found."""
    return {name: averaged([getattr(one, name) for one in found], dimension) for name in names}


def select(rows: Iterable[Any], kind: type[T], **wanted: object) -> list[T]:
    """Return the rows of a class whose columns have the wanted values, in their order."""
    return [
        row
        for row in rows
        if isinstance(row, kind) and all(getattr(row, k) == v for k, v in wanted.items())
    ]


def one(rows: Iterable[Any], kind: type[T], **wanted: object) -> T:
    """Return the only row of a class whose columns have the wanted values.

    Raises
    ------
    LookupError
        If there is none, or more than one.
    """
    found = select(rows, kind, **wanted)
    if len(found) != 1:
        raise LookupError(f"{len(found)} rows of {kind.__name__} have {wanted}; one was expected.")
    return found[0]


def series(rows: Iterable[Any], x: str, y: str) -> list[tuple[float, Any]]:
    """Return the pairs of two columns, in rising order of the first."""
    return sorted(((getattr(row, x), getattr(row, y)) for row in rows), key=lambda pair: pair[0])


def to_json(rows: Iterable[Any]) -> list[list[Any]]:
    """Return rows as JSON values: for each the name of its class, and its columns by name."""
    return [[type(row).__name__, dataclasses.asdict(row)] for row in rows]


def from_json(kinds: Iterable[type], stored: Iterable[Sequence[Any]]) -> list[Any]:
    """Return the rows that `to_json` made of rows of these classes.

    Raises
    ------
    LookupError
        If a class or its columns are not those of the stored row: the version of the work
        that made it should have been raised.
    """
    known = {kind.__name__: kind for kind in kinds}
    try:
        return [_row(known[name], columns) for name, columns in stored]
    except (KeyError, TypeError) as error:
        raise LookupError(f"A stored row has other columns than now: {error!r}.") from None


def _row(kind: type, columns: Mapping[str, Any]) -> Any:
    types = get_type_hints(kind)
    return kind(**{name: _value(types[name], value) for name, value in columns.items()})


def _value(kind: Any, value: Any) -> Any:
    if dataclasses.is_dataclass(kind):
        return _row(kind, value)  # type: ignore[arg-type]
    return tuple(value) if isinstance(value, list) else value
