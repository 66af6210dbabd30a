"""Bags and labels from files: .npz arrays, or Parquet with one row for each token."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.bags.convert import as_bags
from sparsetoken.bags.labelled import LabelledBags, labels_of, some, warn_of_leaks
from sparsetoken.bags.long_form import LABELS, grouped, of_vectors, token_names, tokens_of
from sparsetoken.extras import needed
from sparsetoken.memory import machine_memory
from sparsetoken.validation import InvalidInput

Columns = Sequence[str | int] | None

ENDINGS = (".npz", ".parquet", ".pq")
LARGEST_SHARE = 0.5  # of the memory of the machine, for what a file unpacks to

# What NumPy, zipfile and pyarrow raise for files that are damaged, encrypted or of odd content.
_DAMAGED = (EOFError, OSError, lzma.LZMAError, zipfile.BadZipFile, zlib.error)
_ODD = (MemoryError, RuntimeError, TypeError, ValueError)


def read(
    path: str | Path,
    *,
    labels: Any = "",
    bag: str = "bag",
    columns: Columns = None,
) -> LabelledBags:
    """Read bags and their labels from a file.

    An .npz file holds the arrays X (tokens, d), bag (ids) and y (labels), or X (n, L, d) and y,
    with mask if bags are padded. A Parquet file has one row for each token, with a column of
    bag ids, one of labels, and those of the embedding.

    Parameters
    ----------
    path : path
        It ends in .npz, .parquet or .pq.
    labels : str, mapping, pandas.Series, array or None
        The array or column of the labels. The default, "", is y, or label in a Parquet file; a
        file with both needs a name, and the other one is left out. None reads no labels; else
        labels as in `from_long`.
    bag : str
        The array or column of bag ids.
    columns : list of str or int, optional
        The columns of the embedding, or the one column of a Parquet file that holds it as a
        list. The default is all columns of numbers, or the one of lists, without ids and labels.

    Returns
    -------
    LabelledBags
        ``bags, y, ids``, in the order in which ids first appear.

    Warns
    -----
    LeakWarning
        If one column, or the number of tokens, gives the labels away: see `separating_columns`.

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
    >>> X = [[0.1], [0.7], [0.4], [0.6]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(folder + "/bags.npz", X=X, bag=[5, 5, 7, 7], y=["no", "yes"])
    ...     bags, y, ids = read(folder + "/bags.npz")
    >>> bags
    Bags(2 bags of 2 tokens, d = 1, float64)
    >>> ids.tolist(), y.tolist()
    ([5, 7], ['no', 'yes'])
    """
    found = loaded(path, labels, bag, columns)
    warn_of_leaks(found, stacklevel=3)
    return found


def loaded(path: str | Path, labels: Any, bag: str, columns: Columns) -> LabelledBags:
    """Read bags as `read`, without a look for leaks."""
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        remedy = "Write arrays with numpy.savez, a CSV file with pandas.read_csv(...).to_parquet."
        raise InvalidInput("FILE", "a path that ends in .npz, .parquet or .pq", str(path), remedy)
    if not path.is_file():
        raise InvalidInput("FILE", "a file that is there", str(path))
    try:
        return (_from_arrays if ending == ".npz" else _from_rows)(path, labels, bag, columns)
    except InvalidInput:
        raise
    except (*_DAMAGED, *_ODD) as error:
        raise _unreadable(path, error) from None


def _from_arrays(path: Path, labels: Any, bag: str, columns: Columns) -> LabelledBags:
    with zipfile.ZipFile(path) as packed:
        _check_unpacked(path, sum(member.file_size for member in packed.infolist()))
    with np.load(path, allow_pickle=False) as stored:

        def array(name: str) -> np.ndarray:
            return stored[_present(path, "array", name, stored.files)]

        X = array("X")
        label = _label_name(path, stored.files, labels, "y")
        told = "labels" if label is None else f"array {label}"
        labels = labels if label is None else array(label)
        if X.ndim == 3:
            bags = as_bags(X, stored["mask"] if "mask" in stored.files else None)
            ids, order = np.arange(len(bags)), np.arange(len(bags.tokens))
        else:
            bags, ids, order = grouped(X, array(bag))
    y = np.empty(0) if labels is None else labels_of(labels, bags, ids, order, told)
    names = [str(i) for i in range(bags.dimension)]
    if columns is not None:
        names = _chosen(columns, names)
        bags = bags.with_tokens(bags.tokens.take([int(name) for name in names], axis=1))
    return LabelledBags(bags, y, ids, names)


def _from_rows(path: Path, labels: Any, bag: str, columns: Columns) -> LabelledBags:
    pandas = needed("pandas", "to read Parquet files", "data")
    told = needed("pyarrow.parquet", "to read Parquet files", "data").read_metadata(path)
    packed = sum(told.row_group(i).total_byte_size for i in range(told.num_row_groups))
    cells = 8 * told.num_rows * told.num_columns  # a repeated value may be packed to nothing
    _check_unpacked(path, max(cells, packed))
    frame = pandas.read_parquet(path)
    names = [str(name) for name in frame.columns]
    default = next((name for name in LABELS if name in names), "label")
    label = _label_name(path, names, labels, default)
    for name in (bag, bag if label is None else label):
        _present(path, "column", name, names)
    others = [name for name in names if name not in (bag, label)]
    used = _features(frame, others) if columns is None else _chosen(columns, others)
    left_out = [name for name in others if name not in used]
    bags, ids, order = grouped(tokens_of(frame, used), frame[bag].to_numpy())
    if label is not None:
        labels = frame[label].to_numpy()
    told = "labels" if label is None else f"column {label}"
    y = np.empty(0) if labels is None else labels_of(labels, bags, ids, order, told)
    return LabelledBags(bags, y, ids, token_names(used, bags.dimension), left_out)


def _present(path: Path, kind: str, name: str, names: Sequence[str]) -> str:
    """Return the name of an array or a column that the file has."""
    if name not in names:
        got = f"{kind}s " + ", ".join(names[:20])
        remedy = f"labels= and bag= name the {kind}s of labels and bag ids."
        raise InvalidInput(f"FILE {path.name}", f"with the {kind} {name}", got, remedy)
    return name


def _label_name(path: Path, names: Sequence[str], labels: Any, default: str) -> str | None:
    """Return the name of the array or column of labels; None if they are not in the file."""
    if not isinstance(labels, str):
        return None
    if labels == "" and all(name in names for name in LABELS):
        remedy = "labels= says which holds the labels; the other is left out."
        raise InvalidInput(f"FILE {path.name}", "with one of label and y", "both", remedy)
    return labels or default


def _chosen(columns: Sequence[str | int], names: Sequence[str]) -> list[str]:
    wanted = [columns] if isinstance(columns, str) else [str(column) for column in columns]
    if not wanted or len(set(wanted)) < len(wanted) or not set(wanted) <= set(names):
        raise InvalidInput("columns", f"different ones of {some(names)}", ", ".join(wanted))
    return wanted


def _features(frame: Any, names: Sequence[str]) -> list[str]:
    """Return the columns of numbers, or the one of vectors; never a second label."""
    names = [name for name in names if name not in LABELS]
    vectors = [name for name in names if of_vectors(frame[name])]
    numbers = [name for name in names if getattr(frame[name].dtype, "kind", "O") in "biuf"]
    if not vectors and numbers:
        return numbers
    if len(vectors) == 1 and not numbers:
        return vectors
    legal = "with columns of numbers, or one column of vectors"
    got = f"numbers: {some(numbers) or 'none'}; vectors: {some(vectors) or 'none'}"
    raise InvalidInput("FILE", legal, got, "columns= names the columns of the tokens.")


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
