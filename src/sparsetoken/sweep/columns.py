"""The finished rows of a store by column, and the order that sorts them by configuration."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sparsetoken.sweep.drawing import VALUES
from sparsetoken.sweep.parameters import parameters
from sparsetoken.sweep.rows import RawRow

Named = dict[str, list[Any]]

_RESULTS = tuple(dict.fromkeys(name for names in VALUES.values() for name in names))


class Columns:
    """Finished rows by column. A value that a row lacks is None.

    Parameters
    ----------
    facts : bool
        Whether there are columns for the seconds and the environment of each row.
    """

    def __init__(self, facts: bool = False) -> None:
        self._results: Named = {}
        self._configuration: Named = {}
        self._head: Named = {"status": [], "message": []}
        self._tail: Named = {"trial_seed": []}
        if facts:
            self._tail |= {"seconds": [], "computed_with": []}
        self._known: dict[Any, Any] = {}
        self._size = 0

    def add(self, rows: Iterable[RawRow]) -> None:
        """Add some rows; their order does not matter."""
        layouts: dict[tuple[str, str], list[RawRow]] = {}
        for row in rows:
            layouts.setdefault((row.names, row.value_names), []).append(row)
        for (names, value_names), some in layouts.items():
            given = _parsed(names, [row.configuration for row in some])
            given = {name: self._shared(values) for name, values in given.items()}
            self._extend(self._configuration, given)
            self._extend(self._results, _parsed(value_names, [row.result.values for row in some]))
            self._add_own(some)
            self._size += len(some)

    def _add_own(self, rows: Sequence[RawRow]) -> None:
        own = self._head | self._tail
        own["status"] += self._shared([row.result.status for row in rows])
        own["message"] += self._shared([row.result.message for row in rows])
        own["trial_seed"] += [row.result.seed and row.result.seed.hex() for row in rows]
        if "seconds" in own:
            own["seconds"] += [row.result.seconds for row in rows]
            own["computed_with"] += self._shared([row.environment for row in rows])

    def _shared(self, values: Sequence[Any]) -> list[Any]:
        """Return the values with one object for all that are equal, which saves memory."""
        known = self._known
        return [known.setdefault((type(value), value), value) for value in values]

    def _extend(self, columns: Named, values: Mapping[str, Sequence[Any]]) -> None:
        """Append values to columns, whose earlier rows may lack them."""
        for name, some in values.items():
            column = columns.setdefault(name, [])
            column += [None] * (self._size - len(column))
            column += some

    def named(self) -> Named:
        """Return the columns in order: results, status and message, then the configuration.

        A result with the name of a parameter gets the ending _found, such as the cosine that
        one experiment finds and another is given.
        """
        rest = self._head | self._sorting() | self._tail
        results = self._arranged(self._results, _RESULTS)
        return {f"{n}_found" if n in rest else n: column for n, column in results.items()} | rest

    def order(self) -> np.ndarray:
        """Return the order that sorts the rows by configuration, missing values first."""
        ranks = [_ranks(column) for column in self._sorting().values()]
        return np.lexsort(ranks[::-1]) if ranks else np.arange(self._size)

    def _sorting(self) -> Named:
        first = ("experiment", "version", "quantity", *parameters(), "seed", "trial")
        return self._arranged(self._configuration, first)

    def _arranged(self, columns: Named, first: Sequence[str]) -> Named:
        """Return full columns in this order of names, and others after them by name."""
        self._extend(columns, dict.fromkeys(columns, ()))
        known = {name: place for place, name in enumerate(first)}
        names = sorted(columns, key=lambda name: (known.get(name, len(known)), name))
        return {name: columns[name] for name in names}


def _parsed(names: str, contents: Sequence[str]) -> dict[str, Sequence[Any]]:
    """Return values by name from a JSON list of names and JSON lists of values."""
    lists = json.loads(f"[{','.join(contents)}]")
    columns = map(_plain, zip(*lists, strict=True))
    return dict(zip(json.loads(names), columns, strict=True))


def _plain(values: Sequence[Any]) -> Sequence[Any]:
    """Return values of which lists, dictionaries and truth values are JSON texts."""
    others = set(map(type, values)) & {bool, list, dict}
    return [json.dumps(v) if type(v) in others else v for v in values] if others else values


def _ranks(column: Sequence[Any]) -> np.ndarray:
    """Return a number for each value that sorts as the values do."""
    ranks = {value: rank for rank, value in enumerate(sorted(set(column), key=_sortable))}
    return np.fromiter((ranks[value] for value in column), dtype=np.int32, count=len(column))


def _sortable(value: Any) -> tuple[int, Any]:
    if value is None:
        return 0, 0
    return (1, value) if isinstance(value, (int, float)) else (2, str(value))
