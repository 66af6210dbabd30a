"""Rows: the one tidy form of all that experiments compute and measure."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sparsetoken.base.validation import InvalidInput

THEORY, REDUCED, TENSORS = "theory", "reduced", "tensors"
CONVERGED = "converged"


@dataclasses.dataclass(frozen=True)
class Row:
    """One number: a quantity at one point of a series.

    ``row["alpha0"]`` is a coordinate, or a field by its name.

    Attributes
    ----------
    series : str
        What makes the number, as theory, simulated or floor; the experiment names its own.
    quantity : str
    value : float
    error : float
        Numerical error of what is computed, standard error of a mean over trials.
    at : mapping
        Coordinates by name, as alpha0, model or loss.
    engine : str
        theory, or what measured it: reduced, or tensors for real tokens.
    dimension, trials : int
        Of a simulation, else 0.
    status : str
        converged, or what stopped the computation.
    values : tuple of float
        Of the trials, in their order, where each has a number of its own; else empty.
    behind : tuple of tuples of float
        The values of the trials of each mean from which a row without values was found.
    """

    series: str
    quantity: str
    value: float
    error: float = 0.0
    at: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    engine: str = THEORY
    dimension: int = 0
    trials: int = 0
    status: str = CONVERGED
    values: tuple[float, ...] = ()
    behind: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        taken = {field.name for field in dataclasses.fields(self)} & set(self.at)
        if taken:
            raise InvalidInput(
                "coordinates", "none with the name of a field of a row", sorted(taken)
            )

    @property
    def converged(self) -> bool:
        """Whether the value may be trusted."""
        return self.status == CONVERGED and math.isfinite(self.value)

    @property
    def trial_sets(self) -> tuple[tuple[float, ...], ...]:
        """The values of trials behind the number, those of each mean together."""
        return (self.values,) if self.values else self.behind

    def __getitem__(self, name: str) -> Any:
        return self.at[name] if name in self.at else getattr(self, name)

    def but(self, **changes: Any) -> Row:
        """Return the row with other fields, or with other values of its coordinates."""
        known = {field.name for field in dataclasses.fields(self)}
        fields = {name: value for name, value in changes.items() if name in known}
        at = {name: value for name, value in changes.items() if name not in known}
        return dataclasses.replace(self, **{"at": {**self.at, **at}, **fields})


class Rows(tuple[Row, ...]):
    """Rows in their order, chosen by series, quantity and coordinates."""

    __slots__ = ()

    def __add__(self, other: Iterable[Row]) -> Rows:  # type: ignore[override]
        return Rows((*self, *other))

    def where(self, series: str | None = None, quantity: str | None = None, **wanted: Any) -> Rows:
        """Return the rows of a series and a quantity, with these fields and coordinates.

        A row without a wanted coordinate is none of them.
        """
        given = {"series": series, "quantity": quantity}
        wanted |= {name: value for name, value in given.items() if value is not None}
        return Rows(
            row for row in self if all(_knows(row, n) and row[n] == v for n, v in wanted.items())
        )

    def one(self, series: str | None = None, quantity: str | None = None, **wanted: Any) -> Row:
        """Return the only such row; arguments as of `where`.

        Raises
        ------
        LookupError
            If there is none, or more than one.
        """
        rows = self.where(series, quantity, **wanted)
        if len(rows) != 1:
            asked = f"series {series}, quantity {quantity}, {wanted}"
            raise LookupError(f"{len(rows)} rows have {asked}; one was expected.")
        return rows[0]

    def beside(self, row: Row) -> Row:
        """Return the only row of the quantity of another that agrees in all common coordinates."""
        common = [one for one in self if all(row.at.get(n, v) == v for n, v in one.at.items())]
        return Rows(common).one(quantity=row.quantity)

    def distinct(self, name: str) -> list[Any]:
        """Return the values of a field or coordinate, each once, in order of appearance."""
        return list(dict.fromkeys(row[name] for row in self if _knows(row, name)))

    def by(self, *names: str) -> Iterator[tuple[Any, Rows]]:
        """Yield the rows of each value of a field or coordinate, in order of appearance.

        With several names, the values are tuples.
        """
        groups: dict[Any, list[Row]] = {}
        for row in self:
            key = tuple(row[name] for name in names)
            groups.setdefault(key[0] if len(names) == 1 else key, []).append(row)
        yield from ((key, Rows(some)) for key, some in groups.items())

    def along(self, name: str) -> Rows:
        """Return the rows in rising order of a field or coordinate."""
        return Rows(sorted(self, key=lambda row: row[name]))

    def grid(self, x: str, y: str) -> tuple[list[float], list[float], np.ndarray]:
        """Return the values of two coordinates, and those over them; nan where not converged."""
        values = {(row[x], row[y]): row.value if row.converged else np.nan for row in self}
        xs, ys = sorted(self.distinct(x)), sorted(self.distinct(y))
        return xs, ys, np.array([[values[a, b] for a in xs] for b in ys])

    @property
    def converged(self) -> bool:
        """Whether all values may be trusted."""
        return all(row.converged for row in self)

    @property
    def trial_sets(self) -> tuple[tuple[float, ...], ...]:
        """The values of trials behind all rows, those of each mean together and once."""
        return tuple(dict.fromkeys(values for row in self for values in row.trial_sets))


def _knows(row: Row, name: str) -> bool:
    return name in row.at or hasattr(row, name)


def predicted(
    result: Any, quantity: str, series: str = THEORY, error: float = 0.0, **at: Any
) -> Row:
    """Return the row of one quantity of a result of `sparsetoken.theory`.

    Its error is the numerical error of the result where the quantity is a test error or a
    capacity, else the one that is given.
    """
    if quantity in ("test_error", "capacity", "strength"):
        error = getattr(result, "numerical_error", error)
    value, status = float(getattr(result, quantity)), str(result.status.code)
    return Row(series, quantity, value, float(error), at, status=status)


def measured(
    result: Any,
    quantity: str,
    series: str = "simulated",
    *,
    dimension: int,
    engine: str = REDUCED,
    **at: Any,
) -> Row:
    """Return the row of the mean of one quantity of a result of `sparsetoken.simulation`."""
    sizes: dict[str, Any] = {"dimension": dimension, "engine": engine}
    values, status = getattr(result.trials, quantity).tolist(), str(result.status.code)
    return averaged(values, quantity, series, status=status, **sizes, **at)


def averaged(
    values: Sequence[float],
    quantity: str = "test_error",
    series: str = "simulated",
    *,
    dimension: int,
    engine: str = TENSORS,
    status: str = CONVERGED,
    **at: Any,
) -> Row:
    """Return the row of the mean of one value for each trial; a single trial has the error nan.

    Parameters
    ----------
    values : sequence of float of shape (trials,)
    quantity, series, engine, status : str
        As of `Row`.
    dimension : int
    at
        Coordinates.
    """
    n = len(values)
    error = float(np.std(values, ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    kept = tuple(float(value) for value in values)
    mean = float(np.mean(values))
    return Row(series, quantity, mean, error, at, engine, dimension, n, status, kept)


def difference(first: Row, second: Row) -> Row:
    """Return the first row with its value minus that of the second, for independent errors."""
    status = second.status if first.converged else first.status
    error = math.hypot(first.error, second.error)
    sizes = {"value": first.value - second.value, "error": error, "status": status}
    return first.but(**sizes, values=(), behind=Rows([first, second]).trial_sets)
