"""Bags and labels from a file: .npz arrays, or Parquet in long form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsetoken.cli.readers import (
    PARQUET,
    SHOWN,
    LabelledBags,
    array_of,
    check_archive,
    features_of,
    frame_of,
    from_arrays,
    from_parquet,
    named,
    of_vectors,
    readable,
    some,
)

if TYPE_CHECKING:
    from sparsetoken.bags import IdentifiedBags

__all__ = [
    "BagColumn",
    "Columns",
    "File",
    "LabelColumn",
    "LabelledBags",
    "Positive",
    "Seed",
    "TrustPickle",
    "columns_told",
    "read_bags",
    "read_two_classes",
    "read_unlabelled",
    "separating",
]

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        show_default=False,
        help="An .npz file with X (tokens, d), bag (rising ids) and y (one label for each bag), "
        "or X (n, L, d) and y, mask if needed; or a .parquet file with a row for each token.",
    ),
]
LabelColumn = Annotated[
    str,
    typer.Option(
        "--label",
        show_default=False,
        help="Array or column of the labels; by default y, or label in a Parquet file. Needed "
        "where the file has both; the other is left out.",
    ),
]
BagColumn = Annotated[str, typer.Option("--bag", help="Array or column of the bag ids.")]
Columns = Annotated[
    str,
    typer.Option(
        "--columns",
        show_default=False,
        help="Columns of the tokens, with commas between: names in a Parquet file, numbers from 0 "
        "for .npz. By default all of numbers but bag ids and labels.",
    ),
]
Positive = Annotated[
    str,
    typer.Option(
        "--positive",
        metavar="LABEL",
        show_default=False,
        help="The label that counts as True, the second class; all others are False.",
    ),
]
TrustPickle = Annotated[
    bool,
    typer.Option(
        "--trust-pickle",
        help="Load MODEL even if it is a pickle, which can run any code: only if you trust its "
        "author.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Of all that is random, at least 0.")]


def read_bags(
    path: Path, label: str, bag: str, columns: str = "", positive: str = ""
) -> LabelledBags:
    """Read bags and labels.

    Parameters
    ----------
    path : Path
        It ends in .npz, .parquet or .pq.
    label : str
        "" for the default name.
    bag : str
    columns : str
        Names with commas between; "" for all columns of numbers but bag ids and labels.
    positive : str
        The label that counts as True; labels are then True or False. "" keeps them.

    Raises
    ------
    InvalidInput
        If the file is missing or of another kind, lacks an array or a column, holds both label
        and y while none is named, or does not hold bags with one label each.
    """
    ending = _checked_path(path)
    with readable(path):
        read = from_arrays if ending == ".npz" else from_parquet
        data = read(path, label, bag, columns)
    return against_rest(data, positive) if positive else data


def read_two_classes(
    path: Path, label: str, bag: str, columns: str = "", positive: str = ""
) -> LabelledBags:
    """Read bags and labels as `read_bags`; refuse more than two classes."""
    data = read_bags(path, label, bag, columns, positive)
    check_two_classes(data)
    return data


def check_two_classes(data: LabelledBags) -> None:
    """Refuse labels of more than two classes."""
    from sparsetoken.validation import InvalidInput

    classes = classes_of(data)
    if len(classes) > 2:
        remedy = "--positive LABEL compares one of them with the rest."
        raise InvalidInput("labels", "of two classes", some(classes), remedy)


def classes_of(data: LabelledBags) -> list[str]:
    """Return the labels as text, each once and in order."""
    return sorted({str(label) for label in data.y.tolist()})


def read_unlabelled(path: Path, bag: str, columns: str = "") -> IdentifiedBags:
    """Read bags that need no labels; columns named label and y are no tokens.

    Parameters
    ----------
    path, bag, columns
        As for `read_bags`.

    Raises
    ------
    InvalidInput
        As for `read_bags`, but for labels.
    """
    import numpy as np

    from sparsetoken.bags import IdentifiedBags, as_bags, from_frame, from_long

    ending = _checked_path(path)
    with readable(path):
        if ending != ".npz":
            frame = frame_of(path)
            others = [str(name) for name in frame.columns if name != bag]
            names = named(columns, others) if columns else features_of(frame, others)
            single = len(names) == 1 and of_vectors(frame[names[0]])
            return from_frame(frame, bag=bag, columns=names[0] if single else names)
        check_archive(path)
        with np.load(path, allow_pickle=False) as stored:
            X = array_of(stored, "X", path)
            if columns:
                numbers = [str(i) for i in range(X.shape[-1])]
                X = X[..., [int(name) for name in named(columns, numbers)]]
            if X.ndim == 3:
                bags = as_bags(X, stored["mask"] if "mask" in stored.files else None)
                return IdentifiedBags(bags, np.arange(len(bags)))
            return from_long(X, array_of(stored, bag, path))


def _checked_path(path: Path) -> str:
    """Return the ending of a file that is there and of a kind that is read."""
    from sparsetoken.validation import InvalidInput

    ending = path.suffix.lower()
    if ending not in (".npz", *PARQUET):
        remedy = "Write arrays with numpy.savez, a CSV file with pandas.read_csv(...).to_parquet."
        raise InvalidInput("FILE", "a path that ends in .npz, .parquet or .pq", str(path), remedy)
    if not path.is_file():
        raise InvalidInput("FILE", "a file that is there", str(path))
    return ending


def against_rest(data: LabelledBags, positive: str) -> LabelledBags:
    """Return bags whose labels are True for one label and False for the rest."""
    import numpy as np

    from sparsetoken.validation import InvalidInput

    classes = classes_of(data)
    if positive not in classes:
        raise InvalidInput("--positive", f"one of the labels {some(classes)}", positive)
    return data._replace(y=np.array([str(label) == positive for label in data.y.tolist()]))


def columns_told(data: LabelledBags) -> str:
    """Return how many columns the tokens have, with their names where they are few."""
    used = f"Columns of the tokens: {len(data.columns)}"
    if len(data.columns) <= SHOWN:
        used += f" ({', '.join(data.columns)})"
    return used + (f"; left out: {some(data.left_out)}" if data.left_out else "")


def separating(data: LabelledBags) -> list[dict[str, Any]]:
    """Return the columns that tell the classes apart by themselves, and warn of them.

    The column None is the bag size.
    """
    from sparsetoken.bags import separating_columns
    from sparsetoken.cli.show import message

    found: list[dict[str, Any]] = [
        {
            "label": str(one.label),
            "column": None if one.column is None else data.columns[one.column],
            "summary": one.summary,
            "error": one.error,
        }
        for one in separating_columns(data.bags, data.y)
    ]
    best = {one["column"]: one for one in reversed(found)}  # of each column the least error
    told = [
        f"{'bag size' if name is None else name} (balanced error {one['error']:.2f})"
        for name, one in sorted(best.items(), key=lambda pair: float(pair[1]["error"]))
    ]
    if told:
        message(
            f"Warning: by itself each of these tells the classes apart: {some(told)}. If one is "
            "an id, a time or an order of collection, it leaks the label: --columns leaves it out."
        )
    return found
