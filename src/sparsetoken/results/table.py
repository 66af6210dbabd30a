"""Results over arrays: one result for each point."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from sparsetoken.results.display import frame, html
from sparsetoken.results.outcomes import Result, Status, StatusCode
from sparsetoken.values import Grid, broadcast

Row = TypeVar("Row", bound=Result)

_NUMBER = re.compile(r"-?\d[\d.]*(e[+-]\d+)?")


@dataclasses.dataclass(frozen=True, eq=False)
class Table(Generic[Row]):
    """One result for each point of the arrays that were given.

    A column of the results, such as ``table.test_error``, is an array of the common shape of
    those arrays.

    Attributes
    ----------
    axes : dict of arrays
        The fields that were given as arrays, by their column, such as alpha1, broadcast to
        the common shape.
    shape : tuple of int
    rows : tuple of results
        In C order.
    floor : callable or None
        Computes, for each point in C order, the test error of the best learner from the same
        samples, where that is known. It takes some seconds.
    """

    axes: Mapping[str, np.ndarray]
    shape: tuple[int, ...]
    rows: tuple[Row, ...]
    floor: Callable[[], np.ndarray] | None = None

    def __getattr__(self, name: str) -> np.ndarray:
        if not name.startswith("_") and name not in ("axes", "shape", "rows", "floor"):
            columns = self.rows[0].to_dict()
            if name in columns:
                values = [row.to_dict().get(name, np.nan) for row in self.rows]
                return np.array(values).reshape(self.shape)
            raise AttributeError(f"The results have no column {name!r}, but {', '.join(columns)}.")
        raise AttributeError(name)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def status(self) -> Status:
        """Converged if all points are; else the status of the first that is not."""
        short = [row.status for row in self.rows if not row.status.converged]  # type: ignore[attr-defined]
        if not short:
            return Status(StatusCode.CONVERGED)
        some = f"{len(short)} of {len(self.rows)} points did not converge. {short[0].remedy}"
        return Status(short[0].code, some)

    @property
    def converged(self) -> np.ndarray:
        """Whether each point converged, an array of bool."""
        return self._per_row(lambda row: row.status.converged)

    def _per_row(self, of: Callable[[Any], Any]) -> np.ndarray:
        return np.array([of(row) for row in self.rows]).reshape(self.shape)

    @property
    def advice(self) -> tuple[str, ...]:
        """What to know of the queries: of texts that differ in numbers only, the first."""
        texts: dict[str, list[str]] = {}
        for row in self.rows:
            for text in getattr(row, "advice", ()):
                texts.setdefault(_NUMBER.sub("", text), []).append(text)
        return tuple(
            first if not more else f"At {1 + len(more)} of {len(self.rows)} points, first: {first}"
            for first, *more in texts.values()
        )

    def records(self) -> list[dict[str, Any]]:
        """Return axes and results of each point as a dict."""
        return [{**place, **row.to_dict()} for place, row in self._places()]

    def _places(self) -> list[tuple[dict[str, Any], Row]]:
        """Return the values of the axes by name, and the result, of each point."""
        places = zip(*(axis.ravel().tolist() for axis in self.axes.values()), strict=True)
        named = (dict(zip(self.axes, place, strict=True)) for place in places)
        return list(zip(named, self.rows, strict=True))

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns, axes first, as lists in C order."""
        rows = self.records()
        return {name: [row.get(name) for row in rows] for name in rows[0]}

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each point."""
        return frame(self.records())

    def plot(self, quantity: str = "", ax: Any = None, **options: Any) -> Any:
        """Draw a quantity over the axes, and return the matplotlib Axes.

        Predictions are lines, means of simulations are points with their standard errors. Under
        test errors over a load alpha it draws the floor, that of the best learner, if it is known.

        Parameters
        ----------
        quantity : str
            A column; by default the first of the results, such as test_error.
        ax : matplotlib Axes, optional
        **options
            Of the lines of matplotlib, such as label and color.

        Raises
        ------
        InvalidInput
            If the column is unknown, the shape has more than two directions that vary, or
            matplotlib is not installed.
        """
        from sparsetoken.results.plot import draw

        return draw(self, quantity, ax, options)

    def _repr_html_(self) -> str:
        return html(self.records(), self.advice)


def over_arrays(
    solve: Callable[[Sequence[tuple[Any, ...]]], Sequence[Row]], *values: Any
) -> Row | Table[Row]:
    """Return the result at values, or the table of results where their fields hold arrays.

    Parameters
    ----------
    solve : callable
        Maps a sequence of points, tuples like `values` with numbers only, to their results.
    *values
        Problem, model, stages.
    """
    grid: Grid = broadcast(*values)
    rows = solve(grid.points)
    return Table(grid.axes, grid.shape, tuple(rows)) if grid.axes else rows[0]
