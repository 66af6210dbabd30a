"""Bags with the label, the id and the group of each."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int, Shaped

from sparsetoken.bags.container import Bags, offsets_of
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
    ids : array of n str
        In the order in which they first appear; numbers from 0 where a file has no ids.
    rows : int array of shape (N,), optional
        The row that each token of the bags has in the table given.
    groups : array of shape (n,), optional
        Of which patient, author or place each bag is: ``fit(bags, y, groups=found.groups)``.
    left_out : list of str
        Columns of a table that are neither tokens nor ids, labels nor groups.
    skipped : list of str
        Ids of bags without a token, or with NaN or infinity, that were left out.

    See Also
    --------
    from_frame : Bags from a table.

    Examples
    --------
    >>> from sparsetoken.bags import from_long
    >>> found = from_long([[1.0], [2.0], [3.0], [4.0]], ["a", "b", "a", "c"], labels=list("uvuw"))
    >>> found.ids.tolist(), found.rows.tolist()
    (['a', 'b', 'c'], [0, 2, 1, 3])
    """

    bags: Bags
    y: Shaped[np.ndarray, " n"]
    ids: Shaped[np.ndarray, " n"]
    rows: Int[np.ndarray, " N"] | None = None
    groups: Shaped[np.ndarray, " n"] | None = None
    left_out: list[str] = dataclasses.field(default_factory=list)
    skipped: list[str] = dataclasses.field(default_factory=list)

    def __repr__(self) -> str:
        labels = f"labels {some(self.classes)}" if len(self.y) else "no labels"
        groups = "" if self.groups is None else f", {len(np.unique(self.groups))} groups"
        return f"LabelledBags({self.bags!r}, {labels}{groups})"

    def __iter__(self) -> Iterator[Any]:
        return iter((self.bags, self.y, self.ids) if len(self.y) else (self.bags, self.ids))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError("LabelledBags are bags with ids and labels: give found.bags, found.y.")

    @property
    def columns(self) -> list[str]:
        """Names of the columns of the tokens; numbers from 0 where they have none."""
        return list(self.bags.feature_names or map(str, range(self.bags.dimension)))

    def with_labels(self, labels: Any, groups: Any = None, name: str = "labels") -> LabelledBags:
        """Return the bags with labels, called so in messages, and groups, as of `from_long`.

        None leaves them as they are.
        """
        where = (self.bags.offsets, self.ids, self.rows)
        y = self.y if labels is None else labels_of(labels, *where, name)
        own = self.groups if groups is None else labels_of(groups, *where, "groups")
        return dataclasses.replace(self, y=y, groups=own)

    @property
    def classes(self) -> list[str]:
        """The labels as text, each once and in order."""
        return sorted({str(label) for label in self.y.tolist()})

    def take(self, kept: Sequence[int]) -> LabelledBags:
        """Return some of the bags, in the order of these places."""
        kept = list(kept)
        if kept == list(range(len(self.ids))):
            return self
        rows = None
        if self.rows is not None:
            parts = np.split(self.rows, self.bags.offsets[1:-1])
            rows = np.concatenate([self.rows[:0], *(parts[i] for i in kept)])
        return dataclasses.replace(
            self,
            bags=self.bags[kept],
            ids=self.ids[kept],
            y=self.y[kept] if len(self.y) else self.y,
            groups=None if self.groups is None else self.groups[kept],
            rows=rows,
        )

    def by_group(self) -> LabelledBags:
        """Return the bags of each group together, in the order in which groups first appear.

        Raises
        ------
        InvalidInput
            If there are no groups, or bags of one group have several labels.
        """
        if self.groups is None:
            remedy = "groups= names the column of the patients."
            raise InvalidInput("groups", "given to merge their bags", None, remedy)
        first = {one: i for i, one in reversed(list(enumerate(self.groups.tolist())))}
        own = np.array([first[one] for one in self.groups.tolist()])
        if len(self.y) and (differs := self.y != self.y[own]).any():
            at = int(differs.argmax())
            got = f"{self.y[own[at]]} and {self.y[at]} in group {self.groups[at]}"
            raise InvalidInput("labels", "the same in all bags of a group that is merged", got)
        return self.take(np.argsort(own, kind="stable").tolist())

    def merged(self) -> LabelledBags:
        """Return one bag for each group, with all tokens of its bags; its id is the group."""
        found = self.by_group()
        bags = found.bags
        groups: Any = found.groups
        start = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
        offsets = offsets_of(np.add.reduceat(bags.sizes, start))
        return dataclasses.replace(
            found,
            bags=Bags(bags.tokens, offsets, bags.feature_names, bags.coordinates),
            ids=groups[start].astype(str),
            y=found.y[start] if len(found.y) else found.y,
            groups=None,
        )
