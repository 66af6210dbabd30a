"""Bags with a label and an id each, and labels in the order of the bags."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int, Shaped

from sparsetoken.bags.container import Bags
from sparsetoken.bags.convert import check_kind, refuse_missing
from sparsetoken.bags.separation import SeparatingColumn, separating_columns
from sparsetoken.base.validation import InvalidInput

SHOWN = 8  # names in a message


class LeakWarning(UserWarning):
    """A column of the tokens, or the number of tokens, gives the label of a bag away."""


@dataclasses.dataclass(frozen=True, eq=False)
class LabelledBags:
    """Bags with the label and the id of each: ``bags, y, ids = from_frame(frame, labels="y")``.

    By position it holds these three, as `IdentifiedBags` holds two; ``len(found.bags)`` counts
    bags.

    Attributes
    ----------
    bags : Bags
    y : array of shape (n,)
        Empty if no labels were read.
    ids : array of shape (n,)
        The row of the array where a file has no ids.
    columns : list of d str
        Names of the columns of the tokens; numbers from 0 where they have none.
    left_out : list of str
        Columns of a file that are neither tokens nor ids nor labels.

    See Also
    --------
    from_frame : Bags from a table.
    IdentifiedBags : The same without labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken.bags import LabelledBags, as_bags
    >>> y, ids, names = np.array(["a", "b", "c"]), np.arange(3), ["0", "1"]
    >>> found = LabelledBags(as_bags(np.zeros((3, 4, 2))), y, ids, names, [])
    >>> found.against_rest("b").y.tolist()
    [False, True, False]
    """

    bags: Bags
    y: Shaped[np.ndarray, " n"]
    ids: Shaped[np.ndarray, " n"]
    columns: list[str]
    left_out: list[str] = dataclasses.field(default_factory=list)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parts)

    def __getitem__(self, place: Any) -> Any:
        return self._parts[place]

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def _parts(self) -> tuple[Bags, np.ndarray, np.ndarray]:
        """What stands at each place, as in the named tuple of bags without labels."""
        return self.bags, self.y, self.ids

    @property
    def classes(self) -> list[str]:
        """The labels as text, each once and in order."""
        return sorted({str(label) for label in self.y.tolist()})

    @functools.cached_property
    def separating(self) -> list[SeparatingColumn]:
        """What gives the labels away: see `separating_columns`; nothing of numbers."""
        numbers = self.y.dtype.kind == "f" and (self.y != np.round(self.y)).any()
        return [] if numbers or len(self.classes) < 2 else separating_columns(self.bags, self.y)

    def leaks(self) -> str:
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


def warn_of_leaks(bags: LabelledBags, stacklevel: int) -> None:
    """Warn if the number of tokens or a column gives the labels away."""
    if leaks := bags.leaks():
        warnings.warn(leaks, LeakWarning, stacklevel=stacklevel)


def some(names: Sequence[Any]) -> str:
    """Return names with commas between, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(str, names[:SHOWN])) + more


def labels_of(
    labels: Any,
    bags: Bags,
    ids: Shaped[np.ndarray, " n"],
    order: Int[np.ndarray, " N"],
    name: str = "labels",
) -> Shaped[np.ndarray, " n"]:
    """Return labels in the order of the bags.

    Parameters
    ----------
    labels : mapping, pandas.Series or array
        From ids to labels, where a Series has ids as its index; or one for each token; or one
        for each bag in the order of `ids`, if that is also the sorted order.
    bags : Bags
    ids : array of shape (n,)
    order : int array of shape (N,)
        The row that each token of the bags has in the table given.

    Raises
    ------
    InvalidInput
        If a bag has no label or two, or it cannot be known which label is of which bag.
    """
    check_kind(labels, name)
    n, N = len(bags), len(bags.tokens)
    by_id = _by_id(labels, ids, N, name)
    if by_id is not None:
        absent = [one for one in ids.tolist() if one not in by_id]
        if absent:
            raise InvalidInput(name, "one for each bag", f"none for bag {absent[0]}")
        y = np.asarray([by_id[one] for one in ids.tolist()])
    else:
        given = np.asarray(labels)
        if given.shape == (N,):
            y = _one_of_each(given[order], bags, ids, order, name)
        elif given.shape == (n,):
            _check_order(ids, name)
            y = given
        else:
            legal = f"one for each of {n} bags or {N} tokens, or a mapping from ids"
            raise InvalidInput(name, legal, f"shape {given.shape}")
    refuse_missing(y, ids.tolist(), name)
    if y.dtype == object:  # strings, of a frame
        y = np.array(y.tolist())
    check_kind(y, name)
    if y.ndim != 1 or y.dtype.kind not in "biufU" or not _finite(y):
        got = f"dtype {y.dtype}, shape {y.shape}" if _finite(y) else "infinity"
        raise InvalidInput(name, "of texts or finite numbers, one for each bag", got)
    return y


def _finite(y: np.ndarray) -> bool:
    return y.dtype.kind != "f" or bool(np.isfinite(y).all())


def _by_id(
    labels: Any, ids: Shaped[np.ndarray, " n"], N: int, name: str
) -> Mapping[Any, Any] | None:
    """Return labels as a mapping from ids if they are one, or a Series that has ids as index.

    A Series with a label for each of N tokens is a column of the table: its index numbers rows,
    though integer ids may be among the numbers.
    """
    if isinstance(labels, Mapping):
        return labels
    if not (hasattr(labels, "index") and hasattr(labels, "to_dict")):
        return None
    index = labels.index
    if not (index.is_unique and set(ids.tolist()) <= set(index)):
        return None
    if len(labels) != N:
        return labels.to_dict()
    if len(ids) == N and list(index) != ids.tolist():
        got = "a Series with a label for each bag and for each token"
        remedy = "labels.to_dict() has ids for keys, labels.to_numpy() stands by rows."
        raise InvalidInput(name, "of one possible order", got, remedy)
    return None


def _one_of_each(
    rows: np.ndarray, bags: Bags, ids: np.ndarray, order: np.ndarray, name: str
) -> np.ndarray:
    """Return the label of each bag, which all of its rows have."""
    y = rows[bags.offsets[:-1]]
    differs = rows != np.repeat(y, bags.sizes)
    differs &= rows == rows  # missing labels are reported later
    if np.any(differs):
        row = int(np.argmax(differs))
        one = ids[int(np.searchsorted(bags.offsets, row, side="right")) - 1]
        got = f"two labels in bag {one}, the second in row {order[row]}"
        raise InvalidInput(name, "one label for each bag", got)
    return y


def _check_order(ids: Shaped[np.ndarray, " n"], name: str) -> None:
    """Refuse an array of labels by bag where two orders of the bags are possible."""
    if not in_order(ids):
        legal = "a mapping from ids, or of bags with ids that rise"
        got = f"one for each bag in an unknown order; ids first appear as {some(ids.tolist())}"
        raise InvalidInput(
            name, legal, got, "Use dict(zip(ids, labels)), or sort the tokens by id."
        )


def in_order(ids: Shaped[np.ndarray, " n"]) -> bool:
    """Whether ids rise; not known of ids of several kinds."""
    try:
        return bool((ids[1:] > ids[:-1]).all())
    except TypeError:
        return False
