"""What is asked of a file: which of its columns or arrays are the labels, ids and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sparsetoken.bags.labels import some
from sparsetoken.base.validation import InvalidInput, closest

LABELS = ("label", "y")
COORDINATES = ("coords", "coordinates")
"""Names of arrays or columns that are read as what they say."""


class Options(NamedTuple):
    """The parameters of `sparsetoken.bags.read`, which says what they are."""

    sheet: Any = None
    labels: Any = ""
    groups: Any = ""
    id: str = ""
    bag: str | int = ""
    columns: Any = None
    dataset: str = ""
    coordinates: Any = ""
    merge_groups: bool = False
    partial: bool = False
    skip_invalid: bool = False
    empty: bool = False

    def named(self) -> Options:
        """Return the options with labels and groups where these are names, else None."""
        labels, groups = (one if is_name(one) else None for one in (self.labels, self.groups))
        return self._replace(labels=labels, groups=groups)

    def leave_out(self, where: str, *names: str) -> None:
        """Raise `InvalidInput` for options that are given and have no use there."""
        for name in names:
            given = getattr(self, name)
            if given is not None and not (isinstance(given, str) and given == ""):
                raise InvalidInput(name, f"left out {where}", given)

    def columns_of(
        self, what: str, known: Sequence[str], ids: Any, defaults: Sequence[str], option: str
    ) -> tuple[str, str | None, str | None]:
        """Return the columns of ids, labels and groups in a table that messages call `what`."""
        named = self.named()
        found: Any = tuple(
            name_among(what, "column", known, *one)
            for one in (
                (ids, defaults, option, True),
                (named.labels, LABELS, "labels=", True),
                (named.groups, ("groups",), "groups="),
            )
        )
        own = [name for name in found if name is not None]
        if len(set(own)) < len(own):
            raise InvalidInput(what, "one with a column each for ids, labels and groups", own)
        return found

    def given(self) -> tuple[Any, Any]:
        """Return labels and groups where these are values, as of `from_long`, else None."""
        labels, groups = (None if is_name(one) else one for one in (self.labels, self.groups))
        return labels, groups


def require_different(what: str, names: Sequence[str]) -> None:
    """Raise `InvalidInput` if two columns of a table, which messages call `what`, have one name."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(what, "one with columns of different names", f"several named {twice}")


def is_name(value: Any) -> bool:
    """Whether a value is the name of a column: a text, or an integer."""
    return isinstance(value, str | int | np.integer) and not isinstance(value, bool)


def name_among(
    what: str,
    kind: str,
    known: Sequence[str],
    given: Any,
    defaults: Sequence[str],
    option: str,
    needed: bool = False,
) -> str | None:
    """Return the name that is given for a column or an array, else the default that is there.

    None, where none is asked for, gives None; so does "" where no default is there, unless one is
    needed. Messages say what file has no such part, of what kind, and the option that names it.
    """
    if given is None:
        return None
    names = list(defaults) if isinstance(given, str) and not given else [str(given)]
    found = [name for name in names if name in known]
    if len(found) == 1:
        return found[0]
    if given == "" and not found and not needed:
        return None
    legal, got = f"one with the {kind} {' or '.join(names)}", f"{kind}s {some(known)}"
    near = closest(names[0], known).strip() if given != "" else ""
    remedy = f"{near} {option} names another." if option else near
    raise InvalidInput(what, legal, got, remedy.strip())
