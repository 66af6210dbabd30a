"""The layout of results in an array: dimensions, pieces of work, and rows of each piece."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sparsetoken.sweep.grid import Grid, combinations
from sparsetoken.sweep.parameters import RESULTS, SERIES, canonical_text, defaults

MOST_PREDICTIONS = {"alignment": 512, "learning": 64, "capacity": 8}
"""The most predictions of a piece of work, which then takes about a second."""

MOST_TRIALS, ALONG, SQUARES = 512, (16, 8, 4), 5_000_000
"""The most trials of a piece: in all; of one point, and along the last and the last but one axis.

It has no more than so many that the squares of their dimensions add up to five million.
"""

Place = tuple[int, ...]
"""The place of a piece of work among those of its array."""


def results_of(grid: Grid) -> tuple[str, ...]:
    """Return the names along the last dimension: status, key, then what the experiment finds."""
    return ("status", "key", *RESULTS[grid.experiment])


class Layout:
    """The array of one quantity of a grid: its dimensions, and the shapes of it and of a piece.

    Dimensions are the labels of the axes, for simulations trial, and result.
    """

    def __init__(self, grid: Grid, quantity: str) -> None:
        self.grid, self.quantity = grid, quantity
        trials = {"trial": grid.trials} if quantity == "simulation" else {}
        lengths = {axis.label: len(axis) for axis in grid.axes} | trials
        last = len(results_of(grid))
        self.dims = (*lengths, "result")
        self.shape = (*lengths.values(), last)
        self.chunks = (*self._results_of_a_piece(), last)

    def _results_of_a_piece(self) -> tuple[int, ...]:
        """Return the results of a piece along each dimension but the last.

        They do not depend on the lengths of the axes, so that a sweep that grows keeps its
        pieces. No piece has several models: what one of them does not depend on is then the
        same piece of work.
        """
        grid, chunks = self.grid, dict.fromkeys(self.dims[:-1], 1)
        axes = [axis.label for axis in reversed(grid.axes) if "model" not in axis.names]
        if self.quantity == "theory":
            one_call = [label for label in reversed(SERIES) if label in axes]
            chunks |= dict.fromkeys([*one_call, *axes][:1], MOST_PREDICTIONS[grid.experiment])
        elif "dimension" in grid.names:
            pass  # the next value may be large
        else:
            dimension = grid.fixed.get("dimension", defaults("attention")["dimension"])
            room = max(1, min(MOST_TRIALS, SQUARES // max(1, dimension**2)))
            for label, most in zip(("trial", *axes), ALONG, strict=False):
                chunks[label] = min(most, room)
                room //= chunks[label]
        return tuple(chunks.values())

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

    It has the experiment, quantity, versions, seed, and the parameters that matter. The trial of a
    prediction is 0.
    """

    setting: Mapping[str, Any]
    trial: int


def keys_of(rows: Sequence[Row]) -> np.ndarray:
    """Return a number for each row, by which a result that is read is known to be its own."""
    settings = {id(row.setting): row.setting for row in rows}
    texts = {number: canonical_text(setting) for number, setting in settings.items()}
    return np.array([number_of(f"{texts[id(row.setting)]}{row.trial}") for row in rows])


def number_of(text: str) -> float:
    """Return a whole number in [0, 2^53), which a float holds, that is a hash of a text."""
    return float(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 11)


def name_of(key: float) -> str:
    """Return the key of a row as a name in JSON."""
    return f"{key:.0f}"
