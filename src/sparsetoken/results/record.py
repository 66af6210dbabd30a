"""Named arrays over named dimensions, the form of all results."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np

from sparsetoken.base.machine import needed
from sparsetoken.base.tables import Shown
from sparsetoken.base.validation import choice, integer
from sparsetoken.model.values import Broadcast
from sparsetoken.results.status import CONVERGED, Status, as_objects

Numbers = Any
"""A NumPy number, of shape (), or an array over the dimensions of its record."""

ALONG = ("step", "time")
"""Dimensions along a trajectory, the last one of its results."""

Kind = TypeVar("Kind")

_NUMBER = re.compile(r"-?\d[\d.]*(e[+-]\d+)?")


def quantity(
    text: str,
    *,
    without: tuple[str, ...] = (),
    column: str | None = "",
    suffix: str = "",
    objects: bool = False,
    **default: Any,
) -> Any:
    """Return a field that holds numbers or a record, with its text for the docstring.

    It may lack dimensions of its record, and have another name in tables, or none if it is no
    column. The names of the columns of a record get the suffix. Some hold an object at each point.
    """
    metadata = {"text": text, "without": without, "column": column, "suffix": suffix}
    return dataclasses.field(metadata=metadata | {"objects": objects}, **default)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(quantity,))
def record(kind: type[Kind]) -> type[Kind]:
    """Make a class of named arrays from its annotations, with their texts in its docstring."""
    made: Any = dataclasses.dataclass(frozen=True, eq=False, repr=False)(kind)
    made.quantities = tuple(f for f in dataclasses.fields(made) if f.metadata["column"] is not None)
    texts = (f"{f.name} : {f.type}\n    {f.metadata['text']}" for f in dataclasses.fields(made))
    head, title, rest = (inspect.cleandoc(kind.__doc__ or "")).partition("\nSee Also\n")
    made.__doc__ = "\n".join([head, "", "Attributes", "-" * 10, *texts, title + rest])
    return made


@record
class Record(Shown):
    """Named arrays over named dimensions.

    A dimension along which several parameters vary together is called point. Coordinates have
    as many axes as there are dimensions, of size 1 where they do not vary.

    See Also
    --------
    Prediction : The outcome predicted by theory.
    Simulation : Trials at finite dimension.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> curve = st.predict(problem, st.Pooled(), st.Readout("square", ridge=0.1, alpha1=[1.0, 4.0]))
    >>> curve.coords["alpha1"].tolist(), curve.isel(alpha1=-1).test_error.round(3).item()
    ([1.0, 4.0], 0.258)
    """

    quantities: ClassVar[tuple[dataclasses.Field[Any], ...]] = ()

    _: dataclasses.KW_ONLY
    dims: tuple[str, ...] = quantity(
        "Names of the dimensions; () for a single point.", column=None, default=()
    )
    coords: Mapping[str, np.ndarray] = quantity(
        "Parameters that were given as arrays, step and trial, by name.", column=None, default=None
    )
    model: str = quantity(
        "Name of the model, or of the network of a descent; empty for others.",
        column=None,
        default="",
    )

    def __post_init__(self) -> None:
        if self.coords is None:
            object.__setattr__(self, "coords", {})
        for field in self.quantities:
            value = getattr(self, field.name)
            if value is not None and not isinstance(value, (Record, Status)):
                object.__setattr__(self, field.name, np.asarray(value)[()])

    @classmethod
    def of(cls, other: Record, **more: Any) -> Self:
        """Return a record with the numbers and dimensions of another one, and more numbers."""
        numbers = {field.name: getattr(other, field.name) for field in other.quantities}
        return cls(**numbers, **more, dims=other.dims, coords=other.coords)

    def _dims_of(self, field: dataclasses.Field[Any]) -> tuple[str, ...]:
        lacking = field.metadata["without"]
        return tuple(dim for dim in self.dims if dim not in lacking)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        first = getattr(self, self.quantities[0].name)  # which has all dimensions
        return np.shape(first)[: len(self.dims)]

    def __len__(self) -> int:
        if not self.dims:
            raise TypeError("A result at a single point has no length.")
        return self.shape[0]

    @property
    def _status(self) -> np.ndarray:
        """The status of each point; a result without its own status is exact."""
        return np.asarray(getattr(self, "status", CONVERGED), dtype=object)

    @property
    def converged(self) -> bool:
        """Whether all points converged."""
        return bool((self._status == "converged").all())

    @property
    def advice(self) -> tuple[str, ...]:
        """Advice about the result; of texts that differ only in numbers, the first."""
        notes = getattr(self, "notes", ())
        if not isinstance(notes, np.ndarray):
            return tuple(notes)
        texts: dict[str, list[str]] = {}
        for note in (note for some in notes.ravel() for note in some):
            texts.setdefault(_NUMBER.sub("", note), []).append(note)
        return tuple(
            first if not more else f"At {1 + len(more)} of {notes.size} points, first: {first}"
            for first, *more in texts.values()
        )

    def isel(self, **positions: Any) -> Self:
        """Return a part of the result, by position along named dimensions.

        Parameters
        ----------
        **positions : int or slice
            By dimension, as in ``trajectory.isel(step=-1)``. An integer drops the dimension.

        Raises
        ------
        InvalidInput
            If there is no such dimension or position.
        """
        part = self
        for dim, position in positions.items():
            choice("dimension", dim, part.dims)
            axis, name = part.dims.index(dim), f"position along {dim}"
            size = part.shape[axis]
            kept = isinstance(position, slice)
            position = position if kept else integer(name, position, -size, size - 1)
            part = part._along(dim, functools.partial(_at, position), kept)
        return part

    def __getitem__(self, key: Any) -> Self:
        key = key if isinstance(key, tuple) else (key,)
        if len(key) > len(self.dims):
            raise IndexError(f"{len(key)} indices for the dimensions {self.dims}")
        return self.isel(**dict(zip(self.dims, key, strict=False)))

    def __iter__(self) -> Iterator[Self]:
        """Go through the parts along the first dimension."""
        return (self[position] for position in range(len(self)))

    def _along(self, dim: str, of: Callable[[np.ndarray, int], Any], kept: bool = False) -> Self:
        """Return the record with a function of each array and its axis along a dimension."""
        axis = self.dims.index(dim)
        changes: dict[str, Any] = {
            "dims": tuple(d for d in self.dims if kept or d != dim),
            "coords": {
                name: of(c, axis) if c.shape[axis] > 1 else c if kept else c.squeeze(axis)
                for name, c in self.coords.items()  # of size 1: the same all along the dimension
            },
        }
        for field in dataclasses.fields(self):
            value, own = getattr(self, field.name), self._dims_of(field)
            if isinstance(value, Record):
                changes[field.name] = value._along(dim, of, kept)
            elif isinstance(value, np.ndarray) and dim in own:
                changes[field.name] = of(value, own.index(dim))
        return dataclasses.replace(self, **changes)

    def columns(self) -> dict[str, np.ndarray]:
        """Return the quantities by their names in tables, each over all dimensions.

        Overlaps are NAME_overlap, standard errors NAME_se, and a status has a message as well.
        """
        columns: dict[str, np.ndarray] = {}
        for field in self.quantities:
            value, own = getattr(self, field.name), self._dims_of(field)
            if isinstance(value, Record):
                columns |= {n + field.metadata["suffix"]: c for n, c in value.columns().items()}
            elif field.name == "status":
                columns |= self._status_columns()
            elif value is not None:
                columns[field.metadata["column"] or field.name] = self._over_all(value, own)
        return columns

    def _status_columns(self) -> dict[str, np.ndarray]:
        (field,) = (field for field in self.quantities if field.name == "status")
        remedies = as_objects([one.remedy for one in self._status.ravel()], self._status.shape)
        columns = {"status": self._status, "message": remedies}
        return {n: self._over_all(c, self._dims_of(field)) for n, c in columns.items()}

    def _over_all(self, value: Any, own: tuple[str, ...]) -> np.ndarray:
        """Return an array over some of the dimensions as one over all."""
        if own == self.dims:
            return np.asarray(value)
        absent = [axis for axis, dim in enumerate(self.dims) if dim not in own]
        return np.broadcast_to(np.expand_dims(np.asarray(value), absent), self.shape)

    def to_dict(self) -> dict[str, Any]:
        """Return the columns by name: numbers at a single point, else lists in C order.

        The parameters that were given as arrays come first.
        """
        columns = self.columns()
        if not self.dims:
            return {name: value.item() for name, value in columns.items()}
        coords = {name: np.broadcast_to(c, self.shape) for name, c in self.coords.items()}
        return {name: value.ravel().tolist() for name, value in {**coords, **columns}.items()}

    def records(self) -> list[dict[str, Any]]:
        """Return the columns of each point as a dict, in C order."""
        columns = self.to_dict()
        if not self.dims:
            return [columns]
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each point.

        Raises
        ------
        InvalidInput
            If pandas is not installed.
        """
        rows = self.to_dict() if self.dims else self.records()
        return needed("pandas", "to make a table", "data").DataFrame(rows)

    def to_xarray(self) -> Any:
        """Return an xarray Dataset with the dimensions and coordinates of the result.

        Raises
        ------
        InvalidInput
            If xarray is not installed.
        """
        xarray = needed("xarray", "to make a Dataset", "data")
        coords = {}
        for name, value in self.coords.items():
            own = [d for d, n in zip(self.dims, value.shape, strict=True) if n > 1 or d == name]
            constant = tuple(axis for axis, dim in enumerate(self.dims) if dim not in own)
            coords[name] = (own, value.squeeze(constant))
        columns = {n: v for n, v in self.columns().items() if n not in coords}
        return xarray.Dataset({name: (self.dims, value) for name, value in columns.items()}, coords)

    def plot(self, quantity: str = "", ax: Any = None, **options: Any) -> Any:
        """Plot a quantity over the last dimension, and return the matplotlib Axes.

        The other dimensions give one curve per point. Predictions are lines, and means of trials
        are points with standard errors. Each model has its colour. The legend names model and
        source; a prediction and a simulation of one model, or of one label, share an entry.

        Parameters
        ----------
        quantity : str
            A column; by default the first, such as test_error.
        ax : matplotlib Axes, optional
        **options
            Of the lines of matplotlib, such as label and color.

        Raises
        ------
        InvalidInput
            If the column is unknown, there is one point of the theory or over 20 lines, or
            matplotlib is not installed.
        """
        needed("matplotlib.pyplot", "to plot", "app")
        from sparsetoken.figures.records import draw

        return draw(self, quantity, ax, options)

    def _shown(self) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
        rows, lines = self.records(), self.advice
        if len({row.get("message") for row in rows}) == 1:  # a sentence, wider than all numbers
            lines = (*({row.pop("message", "") for row in rows} - {""}), *lines)
        return rows, lines

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        # A point taken out of an array equals the same point found alone, which has no coordinates.
        varied = [{n: c for n, c in r.coords.items() if c.size > 1} for r in (self, other)]
        pairs = ((self.columns(), other.columns()), varied)
        same = self.dims == other.dims and all(one.keys() == two.keys() for one, two in pairs)
        return same and all(
            np.array_equal(one[name], two[name], equal_nan=one[name].dtype.kind == "f")
            for one, two in pairs
            for name in one
        )


AnyRecord = TypeVar("AnyRecord", bound=Record)


def over_rows(rows: Sequence[AnyRecord], reduce: Callable[[np.ndarray], Any]) -> AnyRecord:
    """Return a record with a function of each number, of its values (n, ...) in n records."""
    changes: dict[str, Any] = {}
    for field in rows[0].quantities:
        values = [getattr(row, field.name) for row in rows]
        nested = isinstance(values[0], Record)
        changes[field.name] = over_rows(values, reduce) if nested else reduce(np.array(values))
    return dataclasses.replace(rows[0], **changes)


def _at(position: int | slice, value: np.ndarray, axis: int) -> Any:
    return value[(slice(None),) * axis + (position,)]


def stacked(rows: Sequence[AnyRecord], grid: Broadcast) -> AnyRecord:
    """Return the results at the points of a grid as one record; a single point as it is."""
    first = rows[0]
    if not grid.shape:
        return dataclasses.replace(first, model=grid.model)
    inner = (1,) * len(first.dims)
    outer = (1,) * len(grid.shape)
    changes: dict[str, Any] = {
        "model": grid.model,
        "dims": (*grid.dims, *first.dims),
        "coords": {name: value.reshape(value.shape + inner) for name, value in grid.coords.items()}
        | {name: value.reshape(outer + value.shape) for name, value in first.coords.items()},
    }
    for field in dataclasses.fields(first):
        values: list[Any] = [getattr(row, field.name) for row in rows]
        if isinstance(values[0], Record):
            changes[field.name] = stacked(values, grid)
        elif field.metadata["objects"] and not isinstance(values[0], np.ndarray):
            changes[field.name] = as_objects(values, grid.shape)
        elif field.metadata["column"] is not None and values[0] is not None:
            array = np.stack(values)
            changes[field.name] = array.reshape(grid.shape + array.shape[1:])
    return dataclasses.replace(first, **changes)
