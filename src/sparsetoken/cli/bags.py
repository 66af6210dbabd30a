"""Options and readers that the commands on files of bags share."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import Parameter as Option

from sparsetoken.cli import options as o

if TYPE_CHECKING:
    from sparsetoken.bags import LabelledBags


@Option(name="*")
@dataclasses.dataclass(frozen=True)
class Source:
    """The columns of labels, ids and tokens in a file of bags."""

    label: o.LabelColumn = ""
    bag: o.BagColumn = "bag"
    columns: o.Columns = ""
    positive: o.Positive = ""

    def read(self, file: Path, columns: list[str] | None = None) -> LabelledBags:
        """Read bags and labels, which are True or False if one label is the positive one.

        Columns are those of the options, else the given ones.
        """
        from sparsetoken.bags.files import loaded

        found = loaded(file, self.label, self.bag, names(self.columns) or columns)
        return found.against_rest(self.positive) if self.positive else found


def names(text: str) -> list[str] | None:
    """Return the names in a comma-separated list, None if it is empty."""
    return [name.strip() for name in text.split(",")] if text else None


def columns_told(data: LabelledBags) -> str:
    """Return the number of columns of the tokens, with their names if they are few."""
    from sparsetoken.bags.labelled import SHOWN, some

    used = f"Columns of the tokens: {len(data.columns)}"
    if len(data.columns) <= SHOWN:
        used += f" ({', '.join(data.columns)})"
    return used + (f"; unused: {some(data.left_out)}" if data.left_out else "")


def separating(data: LabelledBags) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the columns that separate the classes on their own, with a warning about them.

    The column None is the bag size.
    """
    found = [
        {
            **dataclasses.asdict(one),
            "label": str(one.label),
            "column": None if one.column is None else data.columns[one.column],
        }
        for one in data.separating
    ]
    leaks = data.leaks()
    return found, [f"Warning: {leaks} (--columns names those to keep.)"] if leaks else []
