"""How results lie in an array: its dimensions, its pieces of work, and the rows of each piece."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sparsetoken.sweep.grid import Grid, combinations
from sparsetoken.sweep.keys import canonical_text, number_of
from sparsetoken.sweep.parameters import RESULTS, SERIES, defaults

STATUS, KEY = "status", "key"
MOST_PREDICTIONS = {"alignment": 512, "learning": 64, "capacity": 8}
MOST_TRIALS, COORDINATES = 64, 6400
"""The most results of a piece of work, which so takes about a second.

Of trials it has so many that their dimensions add up to 6400.
"""

Place = tuple[int, ...]
"""The place of a piece of work among those of its array."""


def results_of(grid: Grid) -> tuple[str, ...]:
    """Return the names along the last dimension: status, key, then what the experiment finds."""
    return (STATUS, KEY, *RESULTS[grid.experiment])


class Layout:
    """The array of one quantity of a grid.

    Attributes
    ----------
    dims : tuple of str
        The labels of the axes, for simulations trial, and result.
    shape, chunks : tuple of int
        Of the array, and of a piece of work, along `dims`.
    """

    def __init__(self, grid: Grid, quantity: str, chunks: tuple[int, ...] | None = None) -> None:
        self.grid, self.quantity = grid, quantity
        trials = {"trial": grid.trials} if quantity == "simulation" else {}
        lengths = {axis.label: len(axis) for axis in grid.axes} | trials
        last = len(results_of(grid))
        self.dims = (*lengths, "result")
        self.shape = (*lengths.values(), last)
        self.chunks = chunks or (*self._block(lengths), last)

    def _block(self, lengths: dict[str, int]) -> tuple[int, ...]:
        """Return the results of a piece along each dimension.

        It depends on the grid alone. Trials are filled up first, then what one call predicts,
        then the last axes. No piece has several models: what one of them does not depend on is
        then the same piece of work.
        """
        grid, block = self.grid, dict.fromkeys(lengths, 1)
        room = MOST_PREDICTIONS[grid.experiment]
        if self.quantity == "simulation":
            room = max(1, min(MOST_TRIALS, COORDINATES // self._largest("dimension")))
        series = [axis.label for axis in grid.axes if set(axis.names) <= set(SERIES)]
        models = [axis.label for axis in grid.axes if "model" in axis.names]
        others = [name for name in lengths if name not in (*series, *models, "trial")]
        for name in ("trial", *series, *reversed(others)):
            if name in lengths:
                block[name] = min(room, lengths[name])
                room //= block[name]
        return tuple(block.values())

    def _largest(self, name: str) -> int:
        """Return the largest value of a parameter."""
        grid = self.grid
        if name not in grid.names:
            return grid.fixed.get(name, defaults("attention")[name])
        axis = grid.axis(name)
        return max(step[axis.names.index(name)] for step in axis.steps)

    @property
    def pieces(self) -> tuple[int, ...]:
        """The number of pieces along each dimension."""
        pairs = zip(self.shape, self.chunks, strict=True)
        return tuple(-(-size // chunk) for size, chunk in pairs)

    def places(self) -> Iterator[Place]:
        """Yield the place of each piece of work."""
        return np.ndindex(self.pieces)

    def region(self, place: Place) -> tuple[slice, ...]:
        """Return the part of the array that a piece of work fills."""
        triples = zip(place, self.chunks, self.shape, strict=True)
        return tuple(slice(i * n, min((i + 1) * n, size)) for i, n, size in triples)

    def rows(self, place: Place) -> list[Row]:
        """Return what each result of a piece depends on, the last dimension moving fastest."""
        *parts, _ = self.region(place)
        trials = range(1)
        if self.quantity == "simulation":
            trials = range(parts[-1].start, parts[-1].stop)
        steps = [axis.steps[part] for axis, part in zip(self.grid.axes, parts, strict=False)]
        points = combinations(self.grid.axes, steps)
        settings = (self.grid.setting(point, self.quantity) for point in points)
        return [Row(setting, trial) for setting, trial in itertools.product(settings, trials)]


class Row(NamedTuple):
    """All that a result depends on; trials of one point share their setting.

    Attributes
    ----------
    setting : mapping
        experiment, quantity, versions, seed, and the parameters that matter.
    trial : int
        Of a simulation; 0 for a prediction.
    """

    setting: Mapping[str, Any]
    trial: int


def keys_of(rows: Sequence[Row]) -> np.ndarray:
    """Return a number for each row, by which a result that is read is known to be its own."""
    settings = {id(row.setting): row.setting for row in rows}
    texts = {number: canonical_text(setting) for number, setting in settings.items()}
    return np.array([number_of(f"{texts[id(row.setting)]}{row.trial}") for row in rows])


def name_of(key: float) -> str:
    """Return the key of a row as a name in JSON."""
    return f"{key:.0f}"
