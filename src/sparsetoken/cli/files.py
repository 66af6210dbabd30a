"""Bags and labels from a file: .npz arrays, or Parquet in long form."""

from __future__ import annotations

import contextlib
import importlib
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    import numpy as np

    from sparsetoken.bags import Bags, IdentifiedBags

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
    "read_unlabelled",
    "separating",
    "warn_of",
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

PARQUET = (".parquet", ".pq")
LABELS = ("label", "y")
SHOWN = 8  # columns named
LARGEST_SHARE = 0.5  # of the memory of the machine, for what a file unpacks to

# What NumPy, zipfile and pyarrow raise for files that are damaged, encrypted or of odd content.
UNREADABLE = (
    EOFError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    lzma.LZMAError,
    zipfile.BadZipFile,
    zlib.error,
)


class LabelledBags(NamedTuple):
    """Bags, the label and the id of each, and the names of the columns of the tokens."""

    bags: Bags
    y: np.ndarray
    ids: np.ndarray
    columns: list[str]
    left_out: list[str]


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
    with _readable(path):
        read = _from_arrays if ending == ".npz" else _from_parquet
        data = read(path, label, bag, columns)
    return _against_rest(data, positive) if positive else data


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
    with _readable(path):
        if ending != ".npz":
            frame = _frame(path)
            others = [str(name) for name in frame.columns if name != bag]
            names = _named(columns, others) if columns else _features(frame, others)
            single = len(names) == 1 and _of_vectors(frame[names[0]])
            return from_frame(frame, bag=bag, columns=names[0] if single else names)
        _check_archive(path)
        with np.load(path, allow_pickle=False) as stored:
            X = _array(stored, "X", path)
            if columns:
                numbers = [str(i) for i in range(X.shape[-1])]
                X = X[..., [int(name) for name in _named(columns, numbers)]]
            if X.ndim == 3:
                bags = as_bags(X, stored["mask"] if "mask" in stored.files else None)
                return IdentifiedBags(bags, np.arange(len(bags)))
            return from_long(X, _array(stored, bag, path))


def _checked_path(path: Path) -> str:
    """Return the ending of a file that is there and of a kind that is read."""
    from sparsetoken.validation import InvalidInput

    ending = path.suffix.lower()
    if ending not in (".npz", *PARQUET):
        raise InvalidInput("FILE", "a path that ends in .npz, .parquet or .pq", str(path))
    if not path.is_file():
        raise InvalidInput("FILE", "a file that is there", str(path))
    return ending


def _against_rest(data: LabelledBags, positive: str) -> LabelledBags:
    import numpy as np

    from sparsetoken.validation import InvalidInput

    labels = [str(label) for label in data.y.tolist()]
    if positive not in labels:
        legal = f"one of the labels {_some(sorted(set(labels)))}"
        raise InvalidInput("--positive", legal, positive)
    return data._replace(y=np.array([label == positive for label in labels]))


def columns_told(data: LabelledBags) -> str:
    """Return how many columns the tokens have, with their names where they are few."""
    used = f"Columns of the tokens: {len(data.columns)}"
    if len(data.columns) <= SHOWN:
        used += f" ({', '.join(data.columns)})"
    return used + (f"; left out: {_some(data.left_out)}" if data.left_out else "")


def separating(data: LabelledBags) -> list[dict[str, Any]]:
    """Return the columns that tell the classes apart by themselves; None is the bag size."""
    from sparsetoken.bags import separating_columns

    return [
        {
            "label": str(one.label),
            "column": None if one.column is None else data.columns[one.column],
            "summary": one.summary,
            "error": one.error,
        }
        for one in separating_columns(data.bags, data.y)
    ]


def warn_of(found: list[dict[str, Any]]) -> None:
    """Write one line to standard error if a column tells the classes apart by itself."""
    from sparsetoken.cli.show import message

    best = {one["column"]: one for one in reversed(found)}  # of each column the least error
    told = [
        f"{'bag size' if name is None else name} (balanced error {one['error']:.2f})"
        for name, one in sorted(best.items(), key=lambda pair: float(pair[1]["error"]))
    ]
    if told:
        message(
            f"Warning: by itself each of these tells the classes apart: {_some(told)}. If one is "
            "an id, a time or an order of collection, it leaks the label: --columns leaves it out."
        )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what the readers say of a broken file or of odd values into one message."""
    from sparsetoken.validation import InvalidInput

    try:
        yield
    except InvalidInput:
        raise
    except UNREADABLE as error:
        reason = " ".join(str(error).split())
        if "pickle" in reason:
            reason = (
                "It holds Python objects, or no arrays. Save X (tokens, d) with bag; y as text."
            )
        raise InvalidInput("FILE", "of bags and labels that can be read", str(path), reason) from (
            None
        )


def _check_unpacked(path: Path, size: int) -> None:
    """Refuse a file that would fill the memory, before it is unpacked."""
    from sparsetoken.sweep.processes import memory_share
    from sparsetoken.validation import InvalidInput

    largest = int(LARGEST_SHARE * memory_share(1))
    if size > largest:
        legal = f"that unpacks to at most {largest / 1e9:.1f} GB, half of the memory"
        remedy = "Take fewer bags or tokens, or fit in Python with Bags over a memory map."
        raise InvalidInput(f"FILE {path.name}", legal, f"{size / 1e9:.1f} GB", remedy)


def _label_name(path: Path, names: list[str], label: str, default: str) -> str:
    from sparsetoken.validation import InvalidInput

    if not label and all(name in names for name in LABELS):
        remedy = "--label says which holds the labels; the other is left out."
        raise InvalidInput(f"FILE {path.name}", "with one of label and y", "both", remedy)
    return label or default


def _named(columns: str, names: list[str]) -> list[str]:
    """Return the names in a list with commas between."""
    from sparsetoken.validation import InvalidInput

    wanted = [name.strip() for name in columns.split(",")]
    if len(set(wanted)) < len(wanted) or not set(wanted) <= set(names):
        raise InvalidInput("--columns", f"different ones of {_some(names)}", columns)
    return wanted


def _check_archive(path: Path) -> None:
    with zipfile.ZipFile(path) as packed:
        _check_unpacked(path, sum(member.file_size for member in packed.infolist()))


def _from_arrays(path: Path, label: str, bag: str, columns: str) -> LabelledBags:
    import numpy as np

    from sparsetoken.bags import as_bags, from_long
    from sparsetoken.validation import InvalidInput

    _check_archive(path)
    with np.load(path, allow_pickle=False) as stored:
        label = _label_name(path, stored.files, label, "y")
        X = _array(stored, "X", path)
        y = _array(stored, label, path)
        if X.ndim == 3:
            bags = as_bags(X, stored["mask"] if "mask" in stored.files else None)
            ids = np.arange(len(bags))
        else:
            bags, ids = from_long(X, _array(stored, bag, path))
            if ids.dtype.kind in "iu" and (np.diff(ids) < 0).any():
                remedy = "Labels are in the order of the ids: sort the tokens by id."
                raise InvalidInput(f"array {bag}", "ids that rise", "ids that fall", remedy)
    if y.shape != (len(bags),):
        raise InvalidInput(f"array {label}", f"one label for each of {len(bags)} bags", y.shape)
    names = [str(i) for i in range(bags.dimension)]
    if columns:
        wanted = _named(columns, names)
        bags = bags.with_tokens(np.ascontiguousarray(bags.tokens[:, [int(i) for i in wanted]]))
        names = wanted
    return LabelledBags(bags, _checked(bags, y, ids, f"array {label}"), ids, names, [])


def _array(stored: Any, name: str, path: Path) -> np.ndarray:
    from sparsetoken.validation import InvalidInput

    if name not in stored.files:
        legal = f"with an array {name}"
        got = "arrays " + ", ".join(stored.files)
        remedy = "--label and --bag name other arrays than y and bag."
        raise InvalidInput(f"FILE {path.name}", legal, got, remedy)
    return stored[name]


def _frame(path: Path) -> Any:
    """Return a Parquet file as a frame, unless it would fill the memory."""
    pandas = _pandas()
    told = importlib.import_module("pyarrow.parquet").read_metadata(path)
    groups = [told.row_group(i) for i in range(told.num_row_groups)]
    cells = 8 * told.num_rows * told.num_columns  # a repeated value may be packed to nothing
    _check_unpacked(path, max(cells, sum(group.total_byte_size for group in groups)))
    return pandas.read_parquet(path)


def _from_parquet(path: Path, label: str, bag: str, columns: str) -> LabelledBags:
    from sparsetoken.bags import from_frame, token_order
    from sparsetoken.validation import InvalidInput

    frame = _frame(path)
    default = next((name for name in LABELS if name in frame.columns), "label")
    label = _label_name(path, list(frame.columns), label, default)
    for name in (bag, label):
        if name not in frame.columns:
            got = "columns " + ", ".join(map(str, frame.columns[:20]))
            remedy = "--label and --bag name the columns of labels and bag ids."
            raise InvalidInput(f"FILE {path.name}", f"with a column {name}", got, remedy)
    order = token_order(frame[bag].to_numpy())
    frame = frame.iloc[order]
    others = [str(name) for name in frame.columns if name not in (bag, label)]
    features = _named(columns, others) if columns else _features(frame, others)
    single = len(features) == 1 and _of_vectors(frame[features[0]])
    bags, ids = from_frame(frame, bag=bag, columns=features[0] if single else features)
    left_out = [name for name in others if name not in features]
    if single:
        features = [f"{features[0]}[{i}]" for i in range(bags.dimension)]
    rows = frame[label].to_numpy()
    y = rows[bags.offsets[:-1]]
    _check_constant(rows, bags, ids, label, order)
    y = _checked(bags, y, ids, f"column {label}")
    return LabelledBags(bags, y, ids, features, left_out)


def _features(frame: Any, names: list[str]) -> list[str]:
    """Return the columns of numbers, or the one of vectors; never a second label."""
    from sparsetoken.validation import InvalidInput

    names = [name for name in names if name not in LABELS]
    vectors = [name for name in names if _of_vectors(frame[name])]
    numbers = [name for name in names if getattr(frame[name].dtype, "kind", "O") in "biuf"]
    if not vectors and numbers:
        return numbers
    if len(vectors) == 1 and not numbers:
        return vectors
    legal = "with columns of numbers, or one column of vectors"
    got = f"numbers: {_some(numbers) or 'none'}; vectors: {_some(vectors) or 'none'}"
    raise InvalidInput("FILE", legal, got, "--columns names the columns of the tokens.")


def _of_vectors(column: Any) -> bool:
    first = next((value for value in column if value is not None), None)
    return hasattr(first, "__len__") and not isinstance(first, (str, bytes))


def _pandas() -> Any:
    from sparsetoken.validation import InvalidInput

    for name in ("pyarrow", "pandas"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            remedy = "pip install 'sparsetoken[data]'."
            legal = "installed to read Parquet files"
            raise InvalidInput("pandas and pyarrow", legal, f"no {name}", remedy) from None
    return module


def _check_constant(
    rows: np.ndarray, bags: Bags, ids: np.ndarray, label: str, order: np.ndarray
) -> None:
    import numpy as np

    from sparsetoken.validation import InvalidInput

    differs = rows != np.repeat(rows[bags.offsets[:-1]], bags.sizes)
    differs &= rows == rows  # missing labels are told of later
    if np.any(differs):
        row = int(np.argmax(differs))
        name = ids[int(np.searchsorted(bags.offsets, row, side="right")) - 1]
        got = f"two labels in bag {name}, the second in row {order[row]}"
        raise InvalidInput(f"column {label}", "one label for each bag", got)


def _checked(bags: Bags, y: np.ndarray, ids: np.ndarray, name: str) -> np.ndarray:
    """Return the labels; check that they are there and of at least two classes."""
    import numpy as np

    from sparsetoken.estimators.labels import read_targets
    from sparsetoken.validation import InvalidInput

    missing = [label is None or label != label for label in y.tolist()]
    if any(missing):
        first = ids[int(np.argmax(missing))]
        raise InvalidInput(name, "without missing labels", f"none for bag {first}")
    if y.dtype == object:  # strings, of a frame
        y = np.array(y.tolist())
    read_targets(bags, y, None, None)
    return y
