"""Finished rows by column, held in little memory, and the order that sorts them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from sparsetoken.sweep.drawing import VALUES
from sparsetoken.sweep.parameters import parameters
from sparsetoken.sweep.rows import RawRow

__all__ = ["Coded", "Columns", "Numbers"]

_RESULTS = tuple(dict.fromkeys(name for names in VALUES.values() for name in names))


class Coded:
    """A column of values of which many are equal: each once, and a code for every row.

    Parameters
    ----------
    texts : bool
        Whether numbers become texts, for a column that has other values too.
    """

    def __init__(self, texts: bool = False) -> None:
        self._texts = texts
        self.values: list[Any] = [None]
        self._known: dict[Any, int] = {None: 0}
        self._chunks: list[np.ndarray] = []
        self.codes = np.zeros(0, dtype=np.int32)

    def add(self, size: int, places: Sequence[np.ndarray], values: Sequence[Sequence[Any]]) -> None:
        """Add a chunk: values at places, the rest missing."""
        codes = np.zeros(size, dtype=np.int32)
        for where, some in zip(places, values, strict=True):
            codes[where] = [self._code(value) for value in some]
        self._chunks.append(codes)

    def _code(self, value: Any) -> int:
        if isinstance(value, (list, dict)):
            value = json.dumps(value)
        elif self._texts and isinstance(value, (int, float)):
            value = json.dumps(value) if isinstance(value, bool) else repr(float(value))
        code = self._known.get(value)
        if code is None:
            code = self._known[value] = len(self.values)
            self.values.append(value)
        return code

    def close(self) -> None:
        """Join the chunks."""
        self.codes = np.concatenate([self.codes, *self._chunks])
        self._chunks.clear()

    def ranks(self) -> np.ndarray:
        """Return a number for each row that sorts as the values do; missing is first."""
        rows = range(len(self.values))
        order = sorted(rows, key=lambda i: _sortable(self.values[i]))
        ranks = np.empty(len(order), dtype=np.int32)
        ranks[order] = np.arange(len(order), dtype=np.int32)
        return ranks[self.codes]

    def take(self, places: np.ndarray) -> np.ndarray:
        """Return the values at places: numbers if all are, with NaN for missing ones."""
        used = self.values[1:]
        missing = bool(np.any(self.codes == 0)) or not used
        if used and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in used):
            whole = all(isinstance(v, int) and abs(v) < 2**63 for v in used) and not missing
            numbers = np.array([0 if whole else np.nan, *used], dtype=int if whole else float)
            return numbers[self.codes[places]]
        texts = np.empty(len(self.values), dtype=object)
        texts[:] = self.values
        return texts[self.codes[places]]


class Numbers:
    """A column of numbers that seldom agree."""

    def __init__(self) -> None:
        self._chunks: list[np.ndarray] = []
        self._present: list[np.ndarray] = []
        self.whole = True
        self.values = np.zeros(0)
        self.present = np.zeros(0, dtype=bool)

    def add(self, size: int, places: Sequence[np.ndarray], values: Sequence[Sequence[Any]]) -> None:
        """Add a chunk: values at places, the rest missing."""
        numbers, present = np.full(size, np.nan), np.zeros(size, dtype=bool)
        for where, some in zip(places, values, strict=True):
            numbers[where] = some
            present[where] = True
            self.whole = self.whole and all(type(value) is int for value in some)
        self._chunks.append(numbers)
        self._present.append(present)

    def close(self) -> None:
        """Join the chunks."""
        self.values = np.concatenate([self.values, *self._chunks])
        self.present = np.concatenate([self.present, *self._present])
        self._chunks.clear()
        self._present.clear()

    def take(self, places: np.ndarray) -> np.ndarray:
        """Return the values at places; whole numbers as such if none is missing."""
        values = self.values[places]
        if self.whole and bool(np.all(self.present)):
            return values.astype(int)
        return values


class Columns:
    """Finished rows by column: results, status, message, then what they depend on."""

    def __init__(self, facts: bool = False) -> None:
        self._facts = facts
        self._results: dict[str, Coded | Numbers] = {}
        self._configuration: dict[str, Coded] = {}
        self._fixed: dict[str, Coded | Numbers] = {
            "status": Coded(),
            "message": Coded(),
            "trial_seed": Coded(),
        }
        if facts:
            self._fixed |= {"seconds": Numbers(), "computed_with": Coded()}
        self._size = 0
        self.lost = 0
        self.order = np.zeros(0, dtype=int)

    def add(self, chunk: Iterable[RawRow] | None) -> None:
        """Add a chunk of rows, or one row that is lost (None)."""
        if chunk is None:
            self.lost += 1
            return
        rows = list(chunk)
        self._add_layouts(rows, self._configuration, "names", lambda r: r.configuration)
        self._add_layouts(rows, self._results, "value_names", lambda r: r.result.values)
        everywhere = [np.arange(len(rows))]
        values: dict[str, list[Any]] = {
            "status": [row.result.status for row in rows],
            "message": [row.result.message for row in rows],
            "trial_seed": [row.result.seed and row.result.seed.hex() for row in rows],
            "seconds": [row.seconds for row in rows],
            "computed_with": [row.environment for row in rows],
        }
        for name, column in self._fixed.items():
            column.add(len(rows), everywhere, [values[name]])
        self._size += len(rows)

    def _add_layouts(self, rows: list[RawRow], columns: dict, names: str, content: Any) -> None:
        layouts: dict[str, list[int]] = {}
        for place, row in enumerate(rows):
            layouts.setdefault(getattr(row, names), []).append(place)
        parts: dict[str, list[tuple[np.ndarray, Sequence[Any]]]] = {}
        for layout, places in layouts.items():
            lists = json.loads(f"[{','.join(content(rows[place]) for place in places)}]")
            for name, values in zip(json.loads(layout), zip(*lists, strict=True), strict=True):
                parts.setdefault(name, []).append((np.array(places), values))
        for name, found in parts.items():
            if name not in columns:
                coded = columns is self._configuration
                columns[name] = self._new(Coded() if coded else _fitting(found))
            elif isinstance(columns[name], Numbers) and not _numeric(found):
                columns[name] = _recoded(columns[name])
        for name, column in columns.items():
            found = parts.get(name, [])
            column.add(len(rows), [w for w, _ in found], [v for _, v in found])

    def _new(self, column: Coded | Numbers) -> Coded | Numbers:
        if self._size:
            column.add(self._size, [], [])
        return column

    def close(self) -> None:
        """Join the chunks and sort the rows by configuration."""
        for _, column in self.items():
            column.close()
        keys = [self._configuration[name].ranks() for name in self._sorting()]
        self.order = np.lexsort(keys[::-1]) if keys and self._size else np.arange(self._size)

    def _sorting(self) -> list[str]:
        first = ("experiment", "version", "quantity", *parameters(), "seed", "trial")
        return _arranged(self._configuration, first)

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return [name for name, _ in self.items()]

    def items(self) -> Iterator[tuple[str, Coded | Numbers]]:
        """Yield names and columns: results first."""
        taken = {*self._configuration, *self._fixed}
        for name in _arranged(self._results, _RESULTS):
            # cosine and sharpness are found by one experiment and given to another
            yield (f"{name}_found" if name in taken else name), self._results[name]
        for name in ("status", "message"):
            yield name, self._fixed[name]
        for name in self._sorting():
            yield name, self._configuration[name]
        for name in ("trial_seed", *(("seconds", "computed_with") if self._facts else ())):
            yield name, self._fixed[name]


def _arranged(names: Iterable[str], first: Sequence[str]) -> list[str]:
    known = {name: place for place, name in enumerate(first)}
    return sorted(names, key=lambda name: (known.get(name, len(known)), name))


def _sortable(value: Any) -> tuple:
    if value is None:
        return (0, 0)
    return (1, value) if isinstance(value, (int, float)) else (2, str(value))


def _numeric(found: list) -> bool:
    return all(
        isinstance(value, (int, float)) and not isinstance(value, bool)
        for _, values in found
        for value in values
    )


def _fitting(found: list) -> Coded | Numbers:
    return Numbers() if _numeric(found) else Coded(texts=True)


def _recoded(column: Numbers) -> Coded:
    """Return a column of numbers as one that takes any value."""
    column.close()
    coded = Coded(texts=True)
    where = np.flatnonzero(column.present)
    coded.add(len(column.values), [where], [column.take(where).tolist()])
    return coded
