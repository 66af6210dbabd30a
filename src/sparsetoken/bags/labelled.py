"""Bags with the label, the id and the group of each."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped

from sparsetoken.bags.container import Bags, offsets_of
from sparsetoken.bags.keys import refuse_alike
from sparsetoken.bags.labels import labels_of, some
from sparsetoken.base.validation import InvalidInput


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
        refuse_alike(ids.tolist(), "ids")
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

    def with_groups(self, groups: Any, name: str = "groups", index: Any = None) -> LabelledBags:
        """Give bags their groups, in any form that labels have; None leaves them without."""
        if groups is None:
            return self
        known = labels_of(groups, self.bags.offsets, self.ids, self.rows, name, index, "group")
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
