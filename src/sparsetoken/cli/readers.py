"""Bags out of .npz files and out of Parquet files."""

from __future__ import annotations

import contextlib
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sparsetoken.extras import needed

if TYPE_CHECKING:
    import numpy as np

    from sparsetoken.bags import Bags

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


def some(names: list[str]) -> str:
    """Return names with commas between, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
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


def named(columns: str, names: list[str]) -> list[str]:
    """Return the names in a list with commas between."""
    from sparsetoken.validation import InvalidInput

    wanted = [name.strip() for name in columns.split(",")]
    if len(set(wanted)) < len(wanted) or not set(wanted) <= set(names):
        raise InvalidInput("--columns", f"different ones of {some(names)}", columns)
    return wanted


def check_archive(path: Path) -> None:
    """Refuse an archive that would fill the memory, before it is unpacked."""
    with zipfile.ZipFile(path) as packed:
        _check_unpacked(path, sum(member.file_size for member in packed.infolist()))


def from_arrays(path: Path, label: str, bag: str, columns: str) -> LabelledBags:
    """Read bags and labels of an .npz file."""
    import numpy as np

    from sparsetoken.bags import as_bags, from_long
    from sparsetoken.validation import InvalidInput

    check_archive(path)
    with np.load(path, allow_pickle=False) as stored:
        label = _label_name(path, stored.files, label, "y")
        X = array_of(stored, "X", path)
        y = array_of(stored, label, path)
        if X.ndim == 3:
            bags = as_bags(X, stored["mask"] if "mask" in stored.files else None)
            ids = np.arange(len(bags))
        else:
            bags, ids = from_long(X, array_of(stored, bag, path))
            if ids.dtype.kind in "iu" and (np.diff(ids) < 0).any():
                remedy = "Labels are in the order of the ids: sort the tokens by id."
                raise InvalidInput(f"array {bag}", "ids that rise", "ids that fall", remedy)
    if y.shape != (len(bags),):
        raise InvalidInput(f"array {label}", f"one label for each of {len(bags)} bags", y.shape)
    names = [str(i) for i in range(bags.dimension)]
    if columns:
        wanted = named(columns, names)
        bags = bags.with_tokens(np.ascontiguousarray(bags.tokens[:, [int(i) for i in wanted]]))
        names = wanted
    return LabelledBags(bags, checked_labels(bags, y, ids, f"array {label}"), ids, names, [])


def array_of(stored: Any, name: str, path: Path) -> np.ndarray:
    """Return an array of a file, or raise `InvalidInput` with the names of all."""
    from sparsetoken.validation import InvalidInput

    if name not in stored.files:
        legal = f"with an array {name}"
        got = "arrays " + ", ".join(stored.files)
        remedy = "--label and --bag name other arrays than y and bag."
        raise InvalidInput(f"FILE {path.name}", legal, got, remedy)
    return stored[name]


def frame_of(path: Path) -> Any:
    """Return a Parquet file as a frame, unless it would fill the memory."""
    pandas = needed("pandas", "to read Parquet files", "data")
    told = needed("pyarrow.parquet", "to read Parquet files", "data").read_metadata(path)
    groups = [told.row_group(i) for i in range(told.num_row_groups)]
    cells = 8 * told.num_rows * told.num_columns  # a repeated value may be packed to nothing
    _check_unpacked(path, max(cells, sum(group.total_byte_size for group in groups)))
    return pandas.read_parquet(path)


def from_parquet(path: Path, label: str, bag: str, columns: str) -> LabelledBags:
    """Read bags and labels of a Parquet file with a row for each token."""
    from sparsetoken.bags import from_frame, token_order
    from sparsetoken.validation import InvalidInput

    frame = frame_of(path)
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
    features = named(columns, others) if columns else features_of(frame, others)
    single = len(features) == 1 and of_vectors(frame[features[0]])
    bags, ids = from_frame(frame, bag=bag, columns=features[0] if single else features)
    left_out = [name for name in others if name not in features]
    if single:
        features = [f"{features[0]}[{i}]" for i in range(bags.dimension)]
    rows = frame[label].to_numpy()
    y = rows[bags.offsets[:-1]]
    _check_constant(rows, bags, ids, label, order)
    y = checked_labels(bags, y, ids, f"column {label}")
    return LabelledBags(bags, y, ids, features, left_out)


def features_of(frame: Any, names: list[str]) -> list[str]:
    """Return the columns of numbers, or the one of vectors; never a second label."""
    from sparsetoken.validation import InvalidInput

    names = [name for name in names if name not in LABELS]
    vectors = [name for name in names if of_vectors(frame[name])]
    numbers = [name for name in names if getattr(frame[name].dtype, "kind", "O") in "biuf"]
    if not vectors and numbers:
        return numbers
    if len(vectors) == 1 and not numbers:
        return vectors
    legal = "with columns of numbers, or one column of vectors"
    got = f"numbers: {some(numbers) or 'none'}; vectors: {some(vectors) or 'none'}"
    raise InvalidInput("FILE", legal, got, "--columns names the columns of the tokens.")


def of_vectors(column: Any) -> bool:
    """Return whether the values of a column are vectors, as far as the first one says."""
    first = next((value for value in column if value is not None), None)
    return hasattr(first, "__len__") and not isinstance(first, (str, bytes))


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


def checked_labels(bags: Bags, y: np.ndarray, ids: np.ndarray, name: str) -> np.ndarray:
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
