"""Bags and labels from files: .npz arrays, or Parquet with one row for each token."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Shaped
from sklearn.utils.multiclass import check_classification_targets

from sparsetoken.bags.container import Bags
from sparsetoken.bags.convert import as_bags, check_labels
from sparsetoken.bags.long_form import from_frame, from_long, token_order
from sparsetoken.extras import needed
from sparsetoken.memory import machine_memory
from sparsetoken.validation import InvalidInput

Columns = Sequence[str | int] | None

ENDINGS = (".npz", ".parquet", ".pq")
LABELS = ("label", "y")
SHOWN = 8  # names in a message
LARGEST_SHARE = 0.5  # of the memory of the machine, for what a file unpacks to

# What NumPy, zipfile and pyarrow raise for files that are damaged, encrypted or of odd content.
_DAMAGED = (EOFError, OSError, lzma.LZMAError, zipfile.BadZipFile, zlib.error)
_ODD = (MemoryError, RuntimeError, TypeError, ValueError)


class LabelledBags(NamedTuple):
    """Bags of a file, with the label and the id of each.

    Attributes
    ----------
    bags : Bags
    y : array of shape (n,)
        Empty if no labels were read.
    ids : array of shape (n,)
        The row of the array where the file has no ids.
    columns : list of d str
        Names of the columns of the tokens; numbers from 0 in an .npz file.
    left_out : list of str
        Columns of the file that are neither tokens nor ids nor labels.

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
    left_out: list[str]

    @property
    def classes(self) -> list[str]:
        """The labels as text, each once and in order."""
        return sorted({str(label) for label in self.y.tolist()})

    def against_rest(self, positive: str) -> LabelledBags:
        """Return the bags with labels that are True for one label and False for the rest.

        Raises
        ------
        InvalidInput
            If no bag has this label.
        """
        if positive not in self.classes:
            raise InvalidInput("positive", f"one of the labels {some(self.classes)}", positive)
        return self._replace(y=np.array([str(label) == positive for label in self.y.tolist()]))

    def check_two_classes(self) -> None:
        """Raise `InvalidInput` if there are labels of more than two classes."""
        if len(self.classes) > 2:
            remedy = "positive=LABEL compares one of them with the rest."
            raise InvalidInput("labels", "of two classes", some(self.classes), remedy)


def read(
    path: str | Path,
    *,
    label: str | None = "",
    bag: str = "bag",
    columns: Columns = None,
) -> LabelledBags:
    """Read bags and their labels from a file.

    An .npz file holds the arrays X (tokens, d), bag (ids that rise) and y (one label for each
    bag), or X (n, L, d) and y, with mask if bags are padded. A Parquet file has one row for
    each token, with a column of bag ids, one of labels, and those of the embedding.

    Parameters
    ----------
    path : path
        It ends in .npz, .parquet or .pq.
    label : str or None
        The array or column of the labels. The default, "", is y, or label in a Parquet file; a
        file with both needs a name, and the other one is left out. None reads no labels.
    bag : str
        The array or column of bag ids.
    columns : list of str or int, optional
        The columns of the embedding, or the one column of a Parquet file that holds it as a
        list. The default is all columns of numbers, or the one of lists, without ids and labels.

    Returns
    -------
    LabelledBags
        Bags of Parquet files are in the order in which their ids first appear.

    Raises
    ------
    InvalidInput
        If the file is missing, damaged or of another kind, lacks an array or a column, would
        fill the memory, or does not hold bags with one label each; or if a package that reads
        it is not installed.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from sparsetoken.bags import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(folder + "/bags.npz", X=np.zeros((3, 2)), bag=[5, 5, 7], y=["no", "yes"])
    ...     found = read(folder + "/bags.npz")
    >>> found.bags
    Bags(2 bags of 1 to 2 tokens, d = 2, float64)
    >>> found.ids.tolist(), found.y.tolist(), found.columns
    ([5, 7], ['no', 'yes'], ['0', '1'])
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        remedy = "Write arrays with numpy.savez, a CSV file with pandas.read_csv(...).to_parquet."
        raise InvalidInput("FILE", "a path that ends in .npz, .parquet or .pq", str(path), remedy)
    if not path.is_file():
        raise InvalidInput("FILE", "a file that is there", str(path))
    try:
        return (_from_arrays if ending == ".npz" else _from_rows)(path, label, bag, columns)
    except InvalidInput:
        raise
    except (*_DAMAGED, *_ODD) as error:
        raise _unreadable(path, error) from None


def some(names: Sequence[str]) -> str:
    """Return names with commas between, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _from_arrays(path: Path, label: str | None, bag: str, columns: Columns) -> LabelledBags:
    with zipfile.ZipFile(path) as packed:
        _check_unpacked(path, sum(member.file_size for member in packed.infolist()))
    with np.load(path, allow_pickle=False) as stored:

        def array(name: str) -> np.ndarray:
            return stored[_present(path, "array", name, stored.files)]

        X = array("X")
        label = _label_name(path, stored.files, label, "y")
        y = np.empty(0) if label is None else array(label)
        if X.ndim == 3:
            bags = as_bags(X, stored["mask"] if "mask" in stored.files else None)
            ids = np.arange(len(bags))
        else:
            bags, ids = from_long(X, array(bag))
    if label is not None:
        if ids.dtype.kind in "iu" and (np.diff(ids) < 0).any():
            remedy = "Labels are in the order of the ids: sort the tokens by id."
            raise InvalidInput(f"array {bag}", "ids that rise", "ids that fall", remedy)
        y = _checked_labels(y, ids, f"array {label}")
    names = [str(i) for i in range(bags.dimension)]
    if columns is not None:
        names = _chosen(columns, names)
        bags = bags.with_tokens(bags.tokens.take([int(name) for name in names], axis=1))
    return LabelledBags(bags, y, ids, names, [])


def _from_rows(path: Path, label: str | None, bag: str, columns: Columns) -> LabelledBags:
    pandas = needed("pandas", "to read Parquet files", "data")
    told = needed("pyarrow.parquet", "to read Parquet files", "data").read_metadata(path)
    packed = sum(told.row_group(i).total_byte_size for i in range(told.num_row_groups))
    cells = 8 * told.num_rows * told.num_columns  # a repeated value may be packed to nothing
    _check_unpacked(path, max(cells, packed))
    frame = pandas.read_parquet(path)
    names = [str(name) for name in frame.columns]
    default = next((name for name in LABELS if name in names), "label")
    label = _label_name(path, names, label, default)
    for name in (bag, bag if label is None else label):
        _present(path, "column", name, names)
    others = [name for name in names if name not in (bag, label)]
    used = _features(frame, others) if columns is None else _chosen(columns, others)
    left_out = [name for name in others if name not in used]
    vectors = len(used) == 1 and _of_vectors(frame[used[0]])
    bags, ids = from_frame(frame, bag=bag, columns=used[0] if vectors else used)
    if vectors:
        used = [f"{used[0]}[{i}]" for i in range(bags.dimension)]
    y = np.empty(0)
    if label is not None:
        y = _label_of_each(frame[label].to_numpy(), frame[bag].to_numpy(), bags, ids, label)
        y = _checked_labels(y, ids, f"column {label}")
    return LabelledBags(bags, y, ids, used, left_out)


def _label_of_each(
    labels: np.ndarray, bag_ids: np.ndarray, bags: Bags, ids: np.ndarray, name: str
) -> np.ndarray:
    """Return the label of each bag, which all of its rows have."""
    order = token_order(bag_ids)
    rows = labels[order]
    y = rows[bags.offsets[:-1]]
    differs = rows != np.repeat(y, bags.sizes)
    differs &= rows == rows  # missing labels are told of later
    if np.any(differs):
        row = int(np.argmax(differs))
        one = ids[int(np.searchsorted(bags.offsets, row, side="right")) - 1]
        got = f"two labels in bag {one}, the second in row {order[row]}"
        raise InvalidInput(f"column {name}", "one label for each bag", got)
    return y


def _checked_labels(y: np.ndarray, ids: np.ndarray, name: str) -> np.ndarray:
    """Return labels of classes, one for each bag, none of which is missing."""
    if y.shape != ids.shape:
        raise InvalidInput(name, f"one label for each of {len(ids)} bags", y.shape)
    missing = [label is None or label != label for label in y.tolist()]
    if any(missing):
        first = ids[int(np.argmax(missing))]
        raise InvalidInput(name, "without missing labels", f"none for bag {first}")
    if y.dtype == object:  # strings, of a frame
        y = np.array(y.tolist())
    check_labels(y, name)
    check_classification_targets(y)
    return y


def _present(path: Path, kind: str, name: str, names: Sequence[str]) -> str:
    """Return the name of an array or a column that the file has."""
    if name not in names:
        got = f"{kind}s " + ", ".join(names[:20])
        remedy = f"label= and bag= name the {kind}s of labels and bag ids."
        raise InvalidInput(f"FILE {path.name}", f"with the {kind} {name}", got, remedy)
    return name


def _label_name(path: Path, names: Sequence[str], label: str | None, default: str) -> str | None:
    if label == "" and all(name in names for name in LABELS):
        remedy = "label= says which holds the labels; the other is left out."
        raise InvalidInput(f"FILE {path.name}", "with one of label and y", "both", remedy)
    return default if label == "" else label


def _chosen(columns: Sequence[str | int], names: Sequence[str]) -> list[str]:
    wanted = [columns] if isinstance(columns, str) else [str(column) for column in columns]
    if not wanted or len(set(wanted)) < len(wanted) or not set(wanted) <= set(names):
        raise InvalidInput("columns", f"different ones of {some(names)}", ", ".join(wanted))
    return wanted


def _features(frame: Any, names: Sequence[str]) -> list[str]:
    """Return the columns of numbers, or the one of vectors; never a second label."""
    names = [name for name in names if name not in LABELS]
    vectors = [name for name in names if _of_vectors(frame[name])]
    numbers = [name for name in names if getattr(frame[name].dtype, "kind", "O") in "biuf"]
    if not vectors and numbers:
        return numbers
    if len(vectors) == 1 and not numbers:
        return vectors
    legal = "with columns of numbers, or one column of vectors"
    got = f"numbers: {some(numbers) or 'none'}; vectors: {some(vectors) or 'none'}"
    raise InvalidInput("FILE", legal, got, "columns= names the columns of the tokens.")


def _of_vectors(column: Any) -> bool:
    """Return whether the values of a column are vectors, as far as the first one says."""
    first = next((value for value in column if value is not None), None)
    return hasattr(first, "__len__") and not isinstance(first, (str, bytes))


def _check_unpacked(path: Path, size: int) -> None:
    """Refuse a file that would fill the memory, before it is unpacked."""
    largest = int(LARGEST_SHARE * machine_memory())
    if size > largest:
        legal = f"that unpacks to at most {largest / 1e9:.1f} GB, half of the memory"
        remedy = "Take fewer bags or tokens, or fit in Python with Bags over a memory map."
        raise InvalidInput(f"FILE {path.name}", legal, f"{size / 1e9:.1f} GB", remedy)


def _unreadable(path: Path, error: Exception) -> InvalidInput:
    reason = " ".join(str(error).split())
    if "pickle" in reason:
        reason = "It holds Python objects, or no arrays. Save X (tokens, d) with bag; y as text."
    return InvalidInput("FILE", "of bags and labels that can be read", str(path), reason)
