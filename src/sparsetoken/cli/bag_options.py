"""Options of the group bags: the data, the sheet of labels, and what is read of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter as Option

if TYPE_CHECKING:
    from sparsetoken.bags import LabelledBags

PANEL = "Bags"
File = Annotated[
    Path,
    Option(
        "FILE",
        help="A folder with a file for each bag (.npy, .npz, .h5, .pt, .mat), or one that "
        "pack wrote; a table with a row for each token (.csv, .tsv, .parquet, .xlsx, .arff, UCI's "
        ".data); or .npz and .mat files with X (tokens, d), bag (ids) and y (labels), or X "
        "(n, L, d) and y.",
    ),
]
Labels = Annotated[
    Path | None,
    Option(
        group=PANEL,
        help="A sheet with a row for each bag (.csv, .tsv, .parquet, .xlsx), joined by ids; "
        "--label, --id and --groups are then its columns.",
    ),
]
LabelColumn = Annotated[
    str,
    Option(
        group=PANEL,
        help="Column of the labels in the sheet, else array or column of the data; by default "
        "label or y. Required where both are there; the other is ignored.",
    ),
]
IdColumn = Annotated[
    str,
    Option(
        group=PANEL,
        help="Column of the ids in the sheet; by default bag, id, slide_id, slide, filename or the "
        "like. Folders and endings of files do not count.",
    ),
]
Partial = Annotated[
    bool,
    Option(
        group=PANEL,
        negative="",
        help="Leave out bags without a row in the sheet, and rows without a bag.",
    ),
]
BagColumn = Annotated[str, Option(group=PANEL, help="Array or column of the bag ids in the data.")]
Groups = Annotated[
    str,
    Option(
        group=PANEL,
        help="Column that says of which patient, author or place each bag is; by default groups, "
        "if it is there. No fold splits a group.",
    ),
]
MergeGroups = Annotated[
    bool, Option(group=PANEL, negative="", help="Make one bag of all bags of a group.")
]
Columns = Annotated[
    str,
    Option(
        group=PANEL,
        help="Columns of the tokens, separated by commas: names in a table, numbers from 0 for "
        "arrays. By default all numeric columns except bag ids, labels and groups.",
    ),
]
Dataset = Annotated[
    str,
    Option(
        group=PANEL,
        help="Array of the tokens in files with several; by default the one named as features or "
        "embeddings are, or the only one.",
    ),
]
Coordinates = Annotated[
    str,
    Option(
        group=PANEL,
        help="Array of the coordinates of tokens, or their columns, separated by commas; by "
        "default the array that is named so.",
    ),
]
Positive = Annotated[
    str,
    Option(
        group=PANEL,
        help="The label that counts as True, the second class; all others are False.",
    ),
]


@Option(name="*")
@dataclasses.dataclass(frozen=True)
class Source:
    """Where labels, ids, groups and tokens of bags are."""

    labels: Labels = None
    label: LabelColumn = ""
    id: IdColumn = ""
    partial: Partial = False
    bag: BagColumn = "bag"
    groups: Groups = ""
    merge_groups: MergeGroups = False
    columns: Columns = ""
    dataset: Dataset = ""
    coordinates: Coordinates = ""

    def loaded(self, file: Path, columns: list[str] | None = None, **more: bool) -> LabelledBags:
        """Read bags, with labels unless `labelled` is false.

        Columns are those of the options, else the given ones, of a model. Bags may be without a
        token if empty ones are allowed.
        """
        from sparsetoken.bags.files import loaded
        from sparsetoken.base.validation import InvalidInput

        places, own = names(self.coordinates) or [""], names(self.columns)
        try:
            return loaded(
                file,
                labels=self.labels or "",
                label=self.label,
                id=self.id,
                partial=self.partial,
                bag=self.bag,
                groups=self.groups,
                merge_groups=self.merge_groups,
                columns=own or columns,
                dataset=self.dataset,
                coordinates=places if len(places) > 1 else places[0],
                **more,
            )
        except InvalidInput as error:
            name, legal, _, remedy = error.args[:4]
            if own or not columns or name != "columns":
                raise
            got = legal.replace("different ones of", "columns")
            legal = "with the columns that the model was fitted to"
            raise InvalidInput(f"FILE {file.name}", legal, got, remedy) from None


@Option(name="*")
@dataclasses.dataclass(frozen=True)
class LabelledSource(Source):
    """The same, with one label that may be the positive one."""

    positive: Positive = ""

    def read(
        self, file: Path, columns: list[str] | None = None, *, empty: bool = False
    ) -> LabelledBags:
        """Read bags and labels, which are True or False if one label is the positive one."""
        data = self.loaded(file, columns, empty=empty)
        return data.against_rest(self.positive) if self.positive else data


def names(text: str) -> list[str] | None:
    """Return the names in a comma-separated list, None if it is empty."""
    return [name.strip() for name in text.split(",")] if text else None
