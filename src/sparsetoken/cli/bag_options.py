"""Options of the group bags: the data, the sheet of labels, and what is read of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter as Option

if TYPE_CHECKING:
    from sparsetoken.bags import LabelledBags

PANEL = "Bags"
File = Annotated[
    Path,
    Option(
        "FILE",
        help="A folder, or a pattern in quotes, of files with a bag each (.h5, .pt, .npy, .npz); a "
        "folder that pack wrote; a table with a row for each token (.csv, .tsv, .parquet, .xlsx); "
        "or an .npz file with X (tokens, d), bag (ids) and y (labels), or X (n, L, d) and y.",
    ),
]
Sheet = Annotated[
    Path | None,
    Option(
        group=PANEL,
        help="A table with a row for each bag (.csv, .tsv, .parquet, .xlsx), joined by ids; "
        "--labels, --id and --groups are then its columns.",
    ),
]
Labels = Annotated[
    str,
    Option(
        group=PANEL,
        help="Column of the labels in the sheet, else column or array of the data; by default "
        "label or y.",
    ),
]
IdColumn = Annotated[
    str,
    Option(
        group=PANEL,
        help="Column of the ids in the sheet; by default bag, id, slide_id, slide, filename or "
        "FILENAME. Folders and endings of files do not count.",
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
SkipInvalid = Annotated[
    bool,
    Option(
        group=PANEL,
        negative="",
        help="Leave out bags without a token, or with NaN or infinity, and name them.",
    ),
]
BagColumn = Annotated[str, Option(group=PANEL, help="Array or column of the bag ids in the data.")]
Groups = Annotated[
    str,
    Option(
        group=PANEL,
        help="Column, as that of the labels, of the patient, author or place of each bag; by "
        "default groups, if it is there. No fold splits a group.",
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
        help="Array of the tokens in files with several; by default features or feats, or the only "
        "one, and X in an .npz file of many bags.",
    ),
]
Coordinates = Annotated[
    str,
    Option(
        group=PANEL,
        help="Array of the coordinates of tokens, or their columns, separated by commas; by "
        "default coords or coordinates.",
    ),
]
Positive = Annotated[
    str,
    Option(
        group=PANEL,
        help="The label of the positive class, of sensitivity and threshold: of two the second one "
        "in order by default. Of more than two it is True, and all others are False.",
    ),
]


@Option(name="*")
@dataclasses.dataclass(frozen=True)
class Source:
    """Where labels, ids, groups and tokens of bags are."""

    sheet: Sheet = None
    labels: Labels = ""
    id: IdColumn = ""
    partial: Partial = False
    skip_invalid: SkipInvalid = False
    bag: BagColumn = ""
    groups: Groups = ""
    merge_groups: MergeGroups = False
    columns: Columns = ""
    dataset: Dataset = ""
    coordinates: Coordinates = ""

    def options(self) -> dict[str, Any]:
        """Return the parameters of `sparsetoken.bags.read`."""
        places = names(self.coordinates) or [""]
        given = {one.name: getattr(self, one.name) for one in dataclasses.fields(Source)}
        lie = places if len(places) > 1 else places[0]
        return given | {"columns": names(self.columns), "coordinates": lie}

    def loaded(self, file: Path, columns: list[str] | None = None, **more: Any) -> LabelledBags:
        """Read bags with these options, and other parameters of `sparsetoken.bags.read`.

        Columns are those of the options, else the given ones, of a model.
        """
        from sparsetoken.bags import read
        from sparsetoken.base.validation import InvalidInput

        options = self.options()
        own = options.pop("columns")
        try:
            return read(file, columns=own or columns, **{**options, **more})
        except InvalidInput as error:
            name, legal, _, remedy = error.args
            if own or not columns or name != "columns":
                raise
            got = legal.replace("different ones of", "columns")
            legal = "with the columns that the model was fitted to"
            raise InvalidInput(f"FILE {file.name}", legal, got, remedy) from None


@Option(name="*")
@dataclasses.dataclass(frozen=True)
class LabelledSource(Source):
    """The same, with the label of the positive class."""

    positive: Positive = ""

    def read(
        self,
        file: Path,
        columns: list[str] | None = None,
        *,
        empty: bool = False,
        classes: Collection[str] | None = None,
    ) -> LabelledBags:
        """Read bags and labels, which are True or False if one of several is the positive one.

        They stay as they are if it is one of the classes; by default two labels are these.
        """
        from sparsetoken.bags.labels import some
        from sparsetoken.base.validation import InvalidInput

        data = self.loaded(file, columns, empty=empty)
        classes = data.classes[: 2 * (len(data.classes) == 2)] if classes is None else classes
        if not self.positive or self.positive in classes:
            return data
        if self.positive not in data.classes:
            got = self.positive
            raise InvalidInput("positive", f"one of the labels {some(data.classes)}", got)
        alike = [one for one in data.classes if one.casefold() == self.positive.casefold()]
        if len(alike) > 1:  # False would be of both
            raise InvalidInput("labels", "different in more than their case", some(alike))
        return dataclasses.replace(data, y=data.y.astype(str) == self.positive)


def names(text: str) -> list[str] | None:
    """Return the names in a comma-separated list, None if it is empty."""
    return [name.strip() for name in text.split(",")] if text else None
