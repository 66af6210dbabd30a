"""What problems, models and stages have in common: arrays in their fields."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from sparsetoken.base.parameters import Parameter, parameters_of
from sparsetoken.base.validation import InvalidInput, require_points


class Broadcast(NamedTuple):
    """The points of values whose arrays are broadcast against one another.

    Attributes
    ----------
    points : list of tuples
        The values with numbers in place of arrays, in C order.
    shape : tuple of int
        The common shape; () where no field holds an array.
    dims : tuple of str
        A name for each axis: the only field that varies along it, else point.
    coords : dict of arrays
        Each field that holds an array, by name. It has all axes, of size 1 where it is constant.
    """

    points: list[tuple[Any, ...]]
    shape: tuple[int, ...] = ()
    dims: tuple[str, ...] = ()
    coords: Mapping[str, np.ndarray] = MappingProxyType({})

    @property
    def model(self) -> str:
        """The name of the model of the points, or of the network of a descent; "" without one."""
        _, trained, *_ = (*(self.points[0] if self.points else ()), None, None)
        name, network = getattr(trained, "name", ""), getattr(trained, "network", None)
        return name or ("" if network is None else type(network).__name__)


def broadcast(*values: Any) -> Broadcast:
    """Return the points of values whose fields may hold arrays.

    Raises
    ------
    InvalidInput
        If the shapes of the arrays do not broadcast, or there are more than `MOST_POINTS` points.
    """
    paths = [(i, names) for i, value in enumerate(values) for names in _array_paths(value)]
    if not paths:
        return Broadcast([values])
    arrays = [_array_at(values[i], names) for i, names in paths]
    sizes = itertools.zip_longest(*(reversed(a.shape) for a in arrays), fillvalue=1)
    require_points("the number of points", math.prod(map(max, sizes)))
    try:
        full = np.broadcast_arrays(*arrays)
    except ValueError:
        shapes = {names[-1]: a.shape for (_, names), a in zip(paths, arrays, strict=True)}
        remedy = "For all combinations, give one of them a further axis, such as strength[:, None]."
        raise InvalidInput("arrays", "of shapes that broadcast", shapes, remedy) from None
    shape = full[0].shape
    coords = {
        names[-1]: a.reshape((1,) * (len(shape) - a.ndim) + a.shape)
        for (_, names), a in zip(paths, arrays, strict=True)
    }
    own = [[place for place, (j, _) in enumerate(paths) if j == i] for i in range(len(values))]

    @functools.cache  # points share values: to check each a million times takes a minute
    def made(i: int, entries: tuple[Any, ...]) -> Any:
        value = values[i]
        for place, entry in zip(own[i], entries, strict=True):
            value = _replaced(value, paths[place][1], entry)
        return value

    points = [
        tuple(made(i, tuple(row[place] for place in own[i])) for i in range(len(values)))
        for row in zip(*(a.ravel().tolist() for a in full), strict=True)
    ]
    return Broadcast(points, shape, _dims(coords, shape), coords)


def _dims(coords: Mapping[str, np.ndarray], shape: tuple[int, ...]) -> tuple[str, ...]:
    """Return a name for each axis."""
    names: list[str] = []
    for axis, size in enumerate(shape):
        own = [n for n, c in coords.items() if c.shape[axis] == size == c.size and n not in names]
        several = "point" if "point" not in names else f"point_{axis}"
        names.append(own[0] if len(own) == 1 else several)
    return tuple(names)


def require_numbers(*values: Any) -> None:
    """Raise `InvalidInput` if a field holds an array, for functions of single points."""
    for value in values:
        for names in _array_paths(value):
            legal = "a single number here"
            raise InvalidInput(names[-1], legal, _at(value, names), "Call it in a loop.")


def _array_paths(value: Any) -> Iterator[list[str]]:
    if not dataclasses.is_dataclass(value):
        return
    for field in dataclasses.fields(value):
        entry, declared = getattr(value, field.name), _declared(value, field.name)
        if isinstance(entry, tuple):
            array = declared.find is None  # and no law over positions, no vector
            if array and (not declared.per_step or isinstance(entry[0], tuple)):
                yield [field.name]
        elif dataclasses.is_dataclass(entry) and not callable(entry):  # no user's function
            yield from ([field.name, *rest] for rest in _array_paths(entry))


def _array_at(value: Any, names: list[str]) -> np.ndarray:
    """Return the entries of a field; those of a schedule are tuples, or numbers for all steps."""
    array, (*way, last) = np.asarray(_at(value, names)), names
    if not _declared(_at(value, way), last).per_step:
        return array
    if array.shape[-1] == 1:
        return array[..., 0]
    rows = np.empty(array.shape[:-1], dtype=object)
    for place in np.ndindex(rows.shape):
        rows[place] = tuple(array[place].tolist())
    return rows


def _declared(value: Any, name: str) -> Parameter:
    """Return the declaration of a field; that of a plain dataclass is without conditions."""
    return parameters_of(value).get(name, Parameter(name))


def _at(value: Any, names: list[str]) -> Any:
    for name in names:
        value = getattr(value, name)
    return value


def _replaced(value: Any, names: list[str], entry: float) -> Any:
    first, *rest = names
    inner = _replaced(getattr(value, first), rest, entry) if rest else entry
    return dataclasses.replace(value, **{first: inner})
