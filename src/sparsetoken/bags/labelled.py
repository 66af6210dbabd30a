"""Bags with ids and labels, and labels in the order of the bags."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped

from sparsetoken.bags.container import Bags, offsets_of
from sparsetoken.bags.convert import refuse_masked
from sparsetoken.bags.keys import listed, read_labels, refuse_missing
from sparsetoken.bags.segments import segment_max, segment_min
from sparsetoken.bags.separation import SeparatingColumn, separating_columns
from sparsetoken.base.validation import InvalidInput

SHOWN = 8  # names in a message


class LeakWarning(UserWarning):
    """A column of the tokens, or their number, gives labels or bags away, or is a place."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LabelledBags:
    """Bags with the label and the id of each: ``bags, y, ids = from_frame(frame, labels="y")``.

    Without labels it is unpacked as ``bags, ids``.

    Attributes
    ----------
    bags : Bags
    y : array of shape (n,)
        Empty if there are no labels.
    ids : array of shape (n,)
        In the order in which they first appear; numbers from 0 where a file has no ids.
    rows : int array of shape (N,)
        The row that each token of the bags has in the table given.
    columns : list of d str
        Names of the columns of the tokens; numbers from 0 where they have none.
    left_out : list of str
        Columns of a file that are neither tokens nor ids, labels nor groups.
    groups : array of shape (n,), optional
        Of which patient, author or place each bag is: ``fit(bags, y, groups=found.groups)``.
    places : list of str
        Columns of the tokens whose names are those of coordinates, and that nobody asked for.

    See Also
    --------
    from_frame : Bags from a table.

    Examples
    --------
    >>> from sparsetoken.bags import from_long
    >>> found = from_long([[1.0], [2.0], [3.0], [4.0]], ["a", "b", "a", "c"], labels=list("uvuw"))
    >>> found.ids.tolist(), found.rows.tolist()
    (['a', 'b', 'c'], [0, 2, 1, 3])
    >>> found.against_rest("v").y.tolist()
    [False, True, False]
    """

    bags: Bags
    y: Shaped[np.ndarray, " n"]
    ids: Shaped[np.ndarray, " n"]
    rows: Int[np.ndarray, " N"]
    columns: list[str]
    left_out: list[str] = dataclasses.field(default_factory=list)
    groups: Shaped[np.ndarray, " n"] | None = None
    places: list[str] = dataclasses.field(default_factory=list)

    @classmethod
    def of(
        cls,
        bags: Bags,
        ids: Shaped[np.ndarray, " n"],
        labels: Any,
        name: str = "labels",
        rows: Int[np.ndarray, " N"] | None = None,
        columns: Sequence[str] = (),
        left_out: Sequence[str] = (),
        index: Any = None,
    ) -> LabelledBags:
        """Give bags their labels, in any form that `from_long` takes; None for no labels.

        Without columns these are numbered, with one that holds vectors its entries are.
        """
        rows, d = np.arange(len(bags.tokens)) if rows is None else rows, bags.dimension
        y = np.empty(0)
        if labels is not None:
            y = labels_of(labels, bags.offsets, ids, rows, name, index)
        if columns and len(columns) == d:
            bags = bags.with_tokens(bags.tokens, columns)
        else:
            columns = [f"{columns[0]}[{i}]" if columns else str(i) for i in range(d)]
        return cls(bags, y, ids, rows, list(columns), list(left_out))

    def __repr__(self) -> str:
        labels = f"labels {some(self.classes)}" if len(self.y) else "no labels"
        return f"LabelledBags({self.bags!r}, {labels})"

    def __iter__(self) -> Iterator[Any]:
        return iter((self.bags, self.y, self.ids) if len(self.y) else (self.bags, self.ids))

    @property
    def classes(self) -> list[str]:
        """The labels as text, each once and in order."""
        return sorted({str(label) for label in self.y.tolist()})

    @functools.cached_property
    def separating(self) -> list[SeparatingColumn]:
        """What gives the labels away: see `separating_columns`; nothing of numbers."""
        numbers = self.y.dtype.kind == "f" and (self.y != np.round(self.y)).any()
        return [] if numbers or len(self.classes) < 2 else separating_columns(self.bags, self.y)

    @functools.cached_property
    def constant(self) -> list[str]:
        """Columns with one value in each bag, as labels and numbers of patients have.

        They differ between bags, of which most must have two tokens or more.
        """
        several = self.bags.sizes > 1
        if 2 * several.sum() <= len(self.bags):
            return []
        least = segment_min(self.bags.tokens, self.bags.offsets)[several]
        most = segment_max(self.bags.tokens, self.bags.offsets)[several]
        alike = (least == most).all(axis=0) & (most != most[:1]).any(axis=0)
        return [self.columns[k] for k in np.flatnonzero(alike).tolist()]

    def with_groups(self, groups: Any, name: str = "groups", index: Any = None) -> LabelledBags:
        """Give bags their groups, in any form that labels have; None leaves them without."""
        if groups is None:
            return self
        known = labels_of(groups, self.bags.offsets, self.ids, self.rows, name, index)
        return dataclasses.replace(self, groups=known)

    def with_coordinates(self, coordinates: Float[np.ndarray, "N k"]) -> LabelledBags:
        """Give the tokens of the bags their coordinates, in the order of the rows of the table."""
        bags = self.bags
        placed = Bags(bags.tokens, bags.offsets, bags.feature_names, coordinates[self.rows])
        return dataclasses.replace(self, bags=placed)

    def with_labels(
        self, kept: list[int], y: Shaped[np.ndarray, " n"] | None, groups: Any
    ) -> LabelledBags:
        """Return some of the bags, with labels and groups in their order; None changes none."""
        found = self._some(kept)
        found = found if y is None else dataclasses.replace(found, y=y)
        return found if groups is None else dataclasses.replace(found, groups=groups)

    def _some(self, kept: list[int]) -> LabelledBags:
        if kept == list(range(len(self.ids))):
            return self
        bounds = self.bags.offsets
        rows = [self.rows[bounds[i] : bounds[i + 1]] for i in kept]
        return dataclasses.replace(
            self,
            bags=self.bags[kept],
            ids=self.ids[kept],
            y=self.y[kept] if len(self.y) else self.y,
            groups=None if self.groups is None else self.groups[kept],
            rows=np.concatenate([self.rows[:0], *rows]),
        )

    def merged(self) -> LabelledBags:
        """Return one bag for each group, with all tokens of its bags; its id is the group.

        Raises
        ------
        InvalidInput
            If there are no groups, or bags of one group have several labels.
        """
        if self.groups is None:
            remedy = "{} names the column of the patients."
            raise InvalidInput("groups", "given to merge their bags", None, remedy, "groups=")
        number: dict[Any, int] = {}
        codes = [number.setdefault(one, len(number)) for one in self.groups.tolist()]
        found = self._some(np.argsort(codes, kind="stable").tolist())
        sizes = np.bincount(np.sort(codes), found.bags.sizes).astype(np.int64)
        first = np.searchsorted(np.sort(codes), np.arange(len(number)))
        y = found.y
        if len(y) and (differ := y != y[first][np.sort(codes)]).any():
            place = int(differ.argmax())
            group = found.groups[place]  # type: ignore[index]
            got = f"{y[first][np.sort(codes)[place]]} and {y[place]} in group {group}"
            remedy = "{} without merging keeps such bags apart."
            legal = "the same in all bags of a group that is merged"
            raise InvalidInput("labels", legal, got, remedy, "groups=")
        bags = found.bags
        whole = Bags(bags.tokens, offsets_of(sizes), bags.feature_names, bags.coordinates)
        ids = found.groups[first]  # type: ignore[index]
        y = y[first] if len(y) else y
        return dataclasses.replace(found, bags=whole, ids=ids, y=y, groups=None)

    def leaks(self) -> str:
        """Return which columns give labels or bags away, in words; "" if none does."""
        told = []
        if self.constant:
            told.append(
                "Columns with one value in each bag, as labels, ids and numbers of patients have, "
                f"are among those of the tokens: {some(self.constant)}. labels= and groups= name "
                "such columns, columns= those of tokens."
            )
        if self.places:
            told.append(
                "Columns of the tokens are named as places are, which are seldom features: "
                f"{some(self.places)}. columns= names those of tokens."
            )
        if separating := self._separating_told():
            told.append(separating)
        return " ".join(told)

    def _separating_told(self) -> str:
        """Return what gives the labels away in words; "" if nothing does."""
        least: dict[str, float] = {}
        for one in self.separating:
            name = "the number of tokens" if one.column is None else self.columns[one.column]
            least.setdefault(name, one.error)
        leaks = [f"{name} (balanced error {error:.2f})" for name, error in least.items()]
        if not leaks:
            return ""
        return (
            f"Each of these alone, in every token, tells the classes apart: {some(leaks)}. If one "
            "is a label, an id, a time or an order of collection, it leaks the label: leave it "
            "out."
        )

    def warned(self) -> LabelledBags:
        """Warn the caller of the calling function if labels or bags are given away."""
        if leaks := self.leaks():
            warnings.warn(leaks, LeakWarning, stacklevel=3)
        return self

    def only(self, columns: Sequence[str]) -> LabelledBags:
        """Return the bags with some of their columns."""
        places = [self.columns.index(name) for name in columns]
        kept = None if self.bags.feature_names is None else columns
        bags = self.bags.with_tokens(self.bags.tokens.take(places, axis=1), kept)
        return dataclasses.replace(self, bags=bags, columns=list(columns))

    def against_rest(self, positive: str) -> LabelledBags:
        """Return the bags with labels that are True for one label and False for the rest.

        Raises
        ------
        InvalidInput
            If no bag has this label.
        """
        if positive not in self.classes:
            raise InvalidInput("positive", f"one of the labels {some(self.classes)}", positive)
        y = np.array([str(label) == positive for label in self.y.tolist()])
        return dataclasses.replace(self, y=y)

    def check_two_classes(self) -> None:
        """Raise `InvalidInput` if there are labels of more than two classes."""
        if len(self.classes) > 2:
            remedy = "{} compares one of them with the rest."
            legal = "of two classes"
            raise InvalidInput("labels", legal, some(self.classes), remedy, "positive=LABEL")


def some(names: Sequence[Any]) -> str:
    """Return names with commas between, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(str, names[:SHOWN])) + more


def labels_of(
    labels: Any,
    offsets: Int[np.ndarray, " bounds"],
    ids: Shaped[np.ndarray, " n"],
    rows: Int[np.ndarray, " N"],
    name: str = "labels",
    index: Any = None,
) -> Shaped[np.ndarray, " n"]:
    """Return labels, in any form that `from_long` takes, in the order of the bags.

    Bags begin at `offsets`, and their tokens are the `rows` of the table given, whose index is 0
    to N - 1 by default; messages call the labels by `name`.

    Raises
    ------
    InvalidInput
        If a bag has no label or two, or it cannot be known which label is of which bag.
    """
    refuse_masked(name, labels)
    n, N = len(ids), len(rows)
    if isinstance(labels, str | Path):
        remedy = "read and pack take the path of a sheet."
        raise InvalidInput(name, "a mapping from ids, or one for each bag", str(labels), remedy)
    if hasattr(labels, "columns"):
        remedy = 'Give table.set_index("ID")["LABEL"], by the names of its columns.'
        raise InvalidInput(name, "a column, a mapping or an array", "a table", remedy)
    if is_series(labels):
        labels = _of_series(labels, ids.tolist(), range(N) if index is None else index, name)
    if isinstance(labels, Mapping):
        labels = _by_id(labels, ids.tolist(), name)
    elif (given := listed(labels, name)).shape == (N,):
        return _one_of_each(given[rows], offsets, ids, rows, name)
    elif given.shape != (n,):
        legal = f"one for each of {n} bags or {N} tokens, or a mapping from ids"
        raise InvalidInput(name, legal, f"shape {given.shape}")
    elif not (ids[1:] > ids[:-1]).all():
        legal = "a mapping from ids, or of bags with ids that rise"
        got = f"one for each bag in an unknown order; ids first appear as {some(ids.tolist())}"
        remedy = "Use dict(zip(ids, labels)), or sort the tokens by id."
        raise InvalidInput(name, legal, got, remedy)
    y = read_labels(labels, name, ids.__getitem__)
    if y.shape != (n,):
        raise InvalidInput(name, "one for each bag", f"shape {y.shape}")
    return y


def is_series(values: Any) -> bool:
    """Whether values are a pandas Series, which has an index."""
    return hasattr(values, "index") and hasattr(values, "to_dict")


def _of_series(labels: Any, ids: list[Any], index: Any, name: str) -> Any:
    """Return a Series as a column of the table if its index is that of the rows, else by id."""
    keys = labels.index.tolist()
    if len(keys) == len(index) and keys == list(index):
        if len(keys) == len(ids) and keys != ids and set(keys) == set(ids):
            got = "a Series with a label for each bag and for each token"
            remedy = "labels.to_dict() has ids for keys, labels.to_numpy() stands by rows."
            raise InvalidInput(name, "of one possible order", got, remedy)
        return labels.to_numpy()
    if len(keys) == len(index) > len(ids):
        got = "a Series with a label for each token, and another index than the tokens"
        remedy = "labels.to_numpy() stands by rows."
        raise InvalidInput(name, "a column of the table, or by id", got, remedy)
    if not labels.index.is_unique and set(ids) <= set(keys):
        twice = labels.index[labels.index.duplicated()][0]
        raise InvalidInput(name, "one for each bag", f"two for {twice!r}", "Leave one out.")
    return labels.to_dict()


def _by_id(labels: Mapping, ids: list[Any], name: str) -> list[Any]:
    absent = [one for one in ids if one not in labels]
    if absent:
        remedy = (
            f"Ids are such as {ids[0]!r}, the keys given such as {next(iter(labels), None)!r}. "
            'A Series is by id as table.set_index("ID")["LABEL"], other labels are as '
            "dict(zip(ids, labels))."
        )
        raise InvalidInput(name, "one for each bag", f"none for bag {absent[0]}", remedy)
    return [labels[one] for one in ids]


def _one_of_each(
    labels: np.ndarray, offsets: np.ndarray, ids: np.ndarray, rows: np.ndarray, name: str
) -> np.ndarray:
    """Return the label of each bag, which all of its tokens have."""
    owner = np.repeat(np.arange(len(ids)), np.diff(offsets))
    y = labels[offsets[:-1]]
    refuse_missing(labels, name, lambda token: ids[owner[token]])
    differs = labels != y[owner]
    if differs.any():
        token = int(np.argmax(differs))
        got = f"two labels in bag {ids[owner[token]]}, the second in row {rows[token]}"
        raise InvalidInput(name, "one label for each bag", got)
    return read_labels(y, name)
