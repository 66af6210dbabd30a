"""Named arrays over named dimensions: what all results have in common."""

from __future__ import annotations

import dataclasses
import functools
import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from sparsetoken.extras import needed
from sparsetoken.results.display import html, text
from sparsetoken.results.status import CONVERGED, Status, as_objects, worst
from sparsetoken.validation import InvalidInput, choice, integer
from sparsetoken.values import Grid, broadcast

Numbers = Any
"""A NumPy number, of shape (), or an array over the dimensions of its record."""

AnyRecord = TypeVar("AnyRecord", bound="Record")
Kind = TypeVar("Kind")

_NUMBER = re.compile(r"-?\d[\d.]*(e[+-]\d+)?")


def quantity(*, without: tuple[str, ...] = (), column: str = "", suffix: str = "") -> Any:
    """Return a field that holds numbers, or a record.

    Parameters
    ----------
    without : tuple of str
        Dimensions of the record that the field lacks.
    column : str
        Its name in tables; by default that of the field.
    suffix : str
        What the names of the columns of a record end with.
    """
    return dataclasses.field(metadata={"without": without, "column": column, "suffix": suffix})


def about(*, default: Any, without: tuple[str, ...] = ()) -> Any:
    """Return a field that is no column; `without` as for a `quantity`."""
    return dataclasses.field(default=default, metadata={"about": True, "without": without})


@typing.dataclass_transform(
    frozen_default=True, eq_default=False, field_specifiers=(quantity, about)
)
def record(kind: type[Kind]) -> type[Kind]:
    """Make a class of named arrays of its annotations."""
    made: Any = dataclasses.dataclass(frozen=True, eq=False, repr=False)(kind)
    made.quantities = tuple(f for f in dataclasses.fields(made) if not f.metadata.get("about"))
    return made


def fields_of(record: Record) -> dict[str, Any]:
    """Return the fields with columns of a record, to make another of them."""
    return {field.name: getattr(record, field.name) for field in record.quantities}


@record
class Record:
    """Named arrays over named dimensions.

    Attributes
    ----------
    dims : tuple of str
        The names of the dimensions, such as ("strength", "alpha1"); () for a single point. One
        along which several parameters vary together is called point.
    coords : dict of arrays
        The values of each parameter that was given as an array, and of step and trial. They have
        as many axes as there are dimensions, of length 1 where they do not vary.
    """

    quantities: ClassVar[tuple[dataclasses.Field[Any], ...]] = ()
    measured: ClassVar[bool] = False  # drawn as points, not as lines

    _: dataclasses.KW_ONLY
    dims: tuple[str, ...] = about(default=())
    coords: Mapping[str, np.ndarray] = about(default=None)

    def __post_init__(self) -> None:
        if self.coords is None:
            object.__setattr__(self, "coords", {})
        for field in self.quantities:
            value = getattr(self, field.name)
            if value is not None and not isinstance(value, (Record, Status)):
                object.__setattr__(self, field.name, np.asarray(value)[()])

    def _dims_of(self, field: dataclasses.Field[Any]) -> tuple[str, ...]:
        lacking = field.metadata.get("without", ())
        return tuple(dim for dim in self.dims if dim not in lacking)

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the dimensions."""
        return np.shape(getattr(self, self.quantities[0].name))  # which has all dimensions

    def __len__(self) -> int:
        if not self.dims:
            raise TypeError("A result at a single point has no length.")
        return self.shape[0]

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    @property
    def _status(self) -> np.ndarray:
        """The status of each point; what has no status of its own is exact."""
        return np.asarray(getattr(self, "status", CONVERGED), dtype=object)

    @property
    def converged(self) -> bool:
        """Whether all points converged."""
        return bool((self._status == "converged").all())

    @property
    def worst_status(self) -> Status:
        """Converged if all points are; else the status of the first that is not, with a count."""
        return worst(self._status.ravel().tolist())

    @property
    def advice(self) -> tuple[str, ...]:
        """What to know of the result: of texts that differ in numbers only, the first."""
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
        **positions : int, slice or array of int
            By dimension, as in ``course.isel(step=-1)``. An integer drops the dimension. So does
            an array, which has the shape of the other dimensions and says which position is
            taken at each of their points, as in ``course.isel(step=course.best_step)``.

        Raises
        ------
        InvalidInput
            If there is no such dimension or position.
        """
        found = self
        for dim, position in positions.items():
            choice("dimension", dim, found.dims)
            axis, name = found.dims.index(dim), f"position along {dim}"
            length, others = found.shape[axis], found.shape[:axis] + found.shape[axis + 1 :]
            if not isinstance(position, slice) and np.ndim(position) == 0:
                position = integer(name, position, -length, length - 1)
            elif not isinstance(position, slice):
                position = _require_positions(name, position, length, others)
            found = found._part(dim, position, tuple(d for d in found.dims if d != dim))
        return found

    def __getitem__(self, key: Any) -> Self:
        key = key if isinstance(key, tuple) else (key,)
        if len(key) > len(self.dims):
            raise IndexError(f"{len(key)} indices for the dimensions {self.dims}")
        return self.isel(**dict(zip(self.dims, key, strict=False)))

    def _part(self, dim: str, position: Any, places: tuple[str, ...]) -> Self:
        """Return a part along a dimension; an array of positions has the dimensions `places`."""
        take = functools.partial(_taken, dim=dim, position=position, places=places)
        axis = self.dims.index(dim)

        def part_of_coord(value: np.ndarray) -> np.ndarray:
            if value.shape[axis] == 1 < self.shape[axis]:  # the same all along the dimension
                return value if isinstance(position, slice) else value.squeeze(axis)
            if np.ndim(position):  # it may then vary along all that the positions have
                lengths = zip(self.dims, self.shape, value.shape, strict=True)
                full = [n if d in (dim, *places) else own for d, n, own in lengths]
                value = np.broadcast_to(value, full)
            return np.asarray(take(value, self.dims))

        dims = self.dims if isinstance(position, slice) else tuple(d for d in self.dims if d != dim)
        changes: dict[str, Any] = {"dims": dims}
        changes["coords"] = {name: part_of_coord(value) for name, value in self.coords.items()}
        for field in dataclasses.fields(self):
            value, own = getattr(self, field.name), self._dims_of(field)
            if isinstance(value, Record):
                changes[field.name] = value._part(dim, position, places)
            elif dim not in own or value is None:
                continue
            elif field.name == "floor":
                lengths = tuple(n for d, n in zip(self.dims, self.shape, strict=True) if d in own)
                changes[field.name] = functools.partial(_part_of_floor, value, lengths, own, take)
            elif isinstance(value, np.ndarray):
                changes[field.name] = take(value, own)
        return dataclasses.replace(self, **changes)

    def _values(self) -> dict[str, np.ndarray]:
        """Return the quantities by the names of their columns, each over all dimensions."""
        found: dict[str, np.ndarray] = {}
        for field in self.quantities:
            value = getattr(self, field.name)
            if isinstance(value, Record):
                suffix = field.metadata.get("suffix", "")
                found |= {name + suffix: one for name, one in value._values().items()}
            elif value is not None and field.name != "status":
                name = field.metadata.get("column") or field.name
                found[name] = self._over_all(value, self._dims_of(field))
        return found

    def _over_all(self, value: Any, own: tuple[str, ...]) -> np.ndarray:
        """Return an array over some of the dimensions as one over all."""
        if own == self.dims:
            return np.asarray(value)
        absent = [axis for axis, dim in enumerate(self.dims) if dim not in own]
        return np.broadcast_to(np.expand_dims(np.asarray(value), absent), self.shape)

    def columns(self) -> dict[str, np.ndarray]:
        """Return the quantities by their names in tables, each over all dimensions.

        Overlaps are called query_overlap, orthogonal_overlap, noise_overlap and bias, errors of
        quantities NAME_error; a status has the columns status and message.
        """
        found = self._values()
        for field in self.quantities:
            if field.name == "status":
                own, status = self._dims_of(field), self._status
                remedies = [one.remedy for one in status.ravel()]
                found["status"] = self._over_all(status, own)
                found["message"] = self._over_all(as_objects(remedies, status.shape), own)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the columns by name: numbers at a single point, else lists in C order.

        The parameters that were given as arrays come first.
        """
        columns = self.columns()
        if not self.dims:
            return {name: value.item() for name, value in columns.items()}
        shape = self.shape
        coords = {name: np.broadcast_to(value, shape) for name, value in self.coords.items()}
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
        return needed("pandas", "to make a table", "data").DataFrame(self.records())

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
        """Draw a quantity over the last dimension, and return the matplotlib Axes.

        There is a line for each point of the other dimensions. Predictions are lines, means of
        simulations are points with their standard errors. Under test errors it draws that of the
        best learner from as many samples, if it is known.

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
            If the column is unknown, there are more than 20 lines, or matplotlib is not
            installed.
        """
        from sparsetoken.results.plot import draw

        return draw(self, quantity, ax, options)

    def _repr_html_(self) -> str:
        return html(self.records(), self.advice)

    def __repr__(self) -> str:
        return text(self.records(), self.advice)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record) or type(self) is not type(other):
            return NotImplemented
        one, two = self.columns(), other.columns()
        return (
            self.dims == other.dims
            and one.keys() == two.keys()
            and all(
                np.array_equal(one[name], two[name], equal_nan=one[name].dtype.kind == "f")
                for name in one
            )
        )

    __hash__ = None  # type: ignore[assignment]


def _require_positions(name: str, given: Any, length: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return a position for each point of the other dimensions, or raise `InvalidInput`."""
    array = np.asarray(given)
    inside = array.dtype.kind in "iu" and bool(((-length <= array) & (array < length)).all())
    if array.shape != shape or not inside:
        legal = f"an integer in [{-length}, {length - 1}], a slice"
        if shape:
            legal += f" or an array of such integers, of shape {shape}"
        raise InvalidInput(name, legal, given)
    return array


def _taken(
    value: Any, dims: tuple[str, ...], *, dim: str, position: Any, places: tuple[str, ...]
) -> Any:
    """Return what an array over `dims` has at a position, or positions over `places`."""
    axis = dims.index(dim)
    if isinstance(position, (int, slice)):
        return np.asarray(value)[(slice(None),) * axis + (position,)]
    new = [i for i, d in enumerate(dims) if d not in places]
    index = np.expand_dims(np.asarray(position), new)
    return np.take_along_axis(np.asarray(value), index, axis).squeeze(axis)[()]


def _part_of_floor(
    floor: Callable[[], np.ndarray],
    lengths: tuple[int, ...],
    dims: tuple[str, ...],
    take: Callable[..., Any],
) -> np.ndarray:
    """Return the floor at the points of a part, in C order."""
    return np.ravel(take(floor().reshape(lengths), dims))


def over_grid(solve: Callable[[Sequence[Any]], Sequence[AnyRecord]], *values: Any) -> AnyRecord:
    """Return the results at the points of values whose fields may hold arrays, as one record.

    Parameters
    ----------
    solve : callable
        Maps a sequence of points, tuples like `values` with numbers only, to their results.
    *values
        Problem, model, stages.
    """
    grid = broadcast(*values)
    return stacked(solve(grid.points), grid)


def stacked(rows: Sequence[AnyRecord], grid: Grid) -> AnyRecord:
    """Return the results of the points of a grid as one record; that of a single point as it is."""
    first = rows[0]
    if not grid.shape:
        return first
    inner = (1,) * len(first.dims)
    outer = (1,) * len(grid.shape)
    changes: dict[str, Any] = {
        "dims": (*grid.dims, *first.dims),
        "coords": {name: value.reshape(value.shape + inner) for name, value in grid.coords.items()}
        | {name: value.reshape(outer + value.shape) for name, value in first.coords.items()},
    }
    for field in dataclasses.fields(first):
        values: list[Any] = [getattr(row, field.name) for row in rows]
        if isinstance(values[0], Record):
            changes[field.name] = stacked(values, grid)
        elif field.name in ("status", "notes"):
            changes[field.name] = as_objects(values, grid.shape)
        elif not field.metadata.get("about") and values[0] is not None:
            array = np.stack(values)
            changes[field.name] = array.reshape(grid.shape + array.shape[1:])
    return dataclasses.replace(first, **changes)
