"""Bags and labels from files: .npz arrays, Parquet with a row for each token, packed folders."""

from __future__ import annotations

import contextlib
import warnings
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.bags.container import Bags
from sparsetoken.bags.convert import as_bags, check_nonempty
from sparsetoken.bags.labelled import LabelledBags
from sparsetoken.bags.packed import GROUPS, IDS, LABEL, OFFSETS, TOKENS
from sparsetoken.bags.tables import (
    LABELS,
    Columns,
    check_present,
    chosen,
    column_name,
    from_rows,
    grouped,
    numbers_or_vectors,
)
from sparsetoken.base.files import refused, require_regular, unreadable
from sparsetoken.base.machine import needed
from sparsetoken.base.validation import InvalidInput

ENDINGS = (".npz", ".parquet", ".pq")

_LEGAL = "of bags and labels that can be read"
_PLAIN = "Save X (tokens, d) with bag; y as text."


def read(
    path: str | Path,
    *,
    labels: Any = "",
    bag: str = "bag",
    groups: Any = "",
    columns: Columns = None,
) -> LabelledBags:
    """Read bags and their labels from a file, or from a folder that `pack` wrote.

    An .npz file holds the arrays X (tokens, d), bag (ids) and y (labels), or X (n, L, d) and y,
    with mask if bags are padded. A Parquet file has one row for each token, with a column of
    bag ids, one of labels, and those of the embedding. Damage is seen by checksums, which a
    Parquet file has if it was written with ``write_page_checksum=True``. Tokens of a packed folder
    are a memory map: they need not fit into memory. Load models and data only from people you
    trust.

    Parameters
    ----------
    path : path
        It ends in .npz, .parquet or .pq, or is a packed folder.
    labels : str, mapping, pandas.Series, array or None
        The array or column of the labels. The default, "", is y, or label in a Parquet file; a
        file with both needs a name, and the other one is left out. None reads no labels; else
        labels as in `from_long`.
    bag : str
        The array or column of bag ids.
    groups : str, mapping, pandas.Series, array or None
        The array or column of groups, such as patients. The default, "", is ``groups``, if it is
        there. None reads no groups; else groups as in `from_long`.
    columns : list of str or int, optional
        The columns of the embedding, or the one column of a Parquet file that holds it as a
        list. The default is all columns of numbers, or the one of lists, without ids, labels,
        groups and lists of coordinates.

    Returns
    -------
    LabelledBags
        ``bags, y, ids``, in the order in which ids first appear; ``bags, ids`` without labels.

    Warns
    -----
    LeakWarning
        If one column, or the number of tokens, gives the labels away: see `separating_columns`; or
        if a column has one value in each bag, as labels and ids have, or, where no columns are
        given, the name of a place.

    Raises
    ------
    InvalidInput
        If the file is missing, damaged or of another kind, lacks an array or a column, or does not
        hold bags with one label each; or if a package that reads it is not installed.

    See Also
    --------
    to_frame : A table from bags, to write.
    pack : Files of bags larger than memory.
    from_frame : Bags from a table.

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
    return loaded(path, labels, bag, columns, groups).warned()


def loaded(
    path: str | Path,
    labels: Any,
    bag: str,
    columns: Columns,
    groups: Any = "",
    *,
    empty: bool = False,
) -> LabelledBags:
    """Read bags as `read`, without a look for leaks; bags without a token only where allowed."""
    bag, labels, groups = (column_name(value) for value in (bag, labels, groups))
    path = Path(path)
    ending = path.suffix.lower()
    if path.is_dir():
        if not (path / f"{TOKENS}.npy").is_file():
            remedy = "sparsetoken.bags.pack concatenates the files of a folder."
            raise InvalidInput("FILE", "a file, or a packed folder", f"{path}, a folder", remedy)
    elif ending not in ENDINGS:
        remedy = "Write arrays with numpy.savez, a CSV file with pandas.read_csv(...).to_parquet."
        raise InvalidInput("FILE", "a path that ends in .npz, .parquet or .pq", str(path), remedy)
    elif not path.exists():
        raise InvalidInput("FILE", "a file that is there", str(path))
    else:
        require_regular("FILE", path)
    try:
        if path.is_dir() or ending == ".npz":
            found = _from_arrays(path, labels, bag, columns, groups)
            if not empty:
                check_nonempty(found.bags)
            return found
        return _from_parquet(path, labels, bag, columns, groups)
    except InvalidInput:
        raise
    except (MemoryError, RuntimeError, TypeError, ValueError) as error:  # of odd values
        raise unreadable("FILE", _LEGAL, path, error) from None


def _from_arrays(path: Path, labels: Any, bag: str, columns: Columns, groups: Any) -> LabelledBags:
    """Return the bags of a folder or a zip file of .npy files."""
    packed, source = path.is_dir(), "labels"
    if packed and columns is not None:
        remedy = "Pack files that hold these columns alone."
        raise InvalidInput("columns", "None for a packed folder", columns, remedy)
    files = sorted(one.name for one in path.glob("*.npy")) if packed else _members(path)
    names = [name.removesuffix(".npy") for name in files]

    def array(name: str) -> np.ndarray:
        check_present(f"FILE {path.name}", "array", name, names)
        return _array(path, name)

    def of_bags(bags: Bags, ids: np.ndarray) -> LabelledBags:
        return LabelledBags.of(bags, ids, labels, source)

    def with_groups(found: LabelledBags) -> LabelledBags:
        if not isinstance(groups, str):
            return found.with_groups(groups)
        if groups == "" and GROUPS not in names:
            return found
        values, source = array(groups or GROUPS), f"array {groups or GROUPS}"
        # Packed groups were written in the order of the ids.
        return found.with_groups(in_order(values, source) if packed else values, source)

    def in_order(values: np.ndarray, source: str) -> dict[Any, Any]:
        if values.shape != (ids := array(IDS)).shape:
            legal = f"of the shape {ids.shape} of the ids"
            raise InvalidInput(source, legal, f"shape {values.shape}")
        return dict(zip(ids.tolist(), values.tolist(), strict=True))

    if isinstance(labels, str):
        label = _label_name(path, names, labels, LABEL)
        labels, source = array(label), f"array {label}"
        if packed:  # they were written in the order of the ids
            labels = in_order(labels, source)
    if packed:
        return with_groups(of_bags(Bags(array(TOKENS), array(OFFSETS)), array(IDS)))
    if (X := array("X")).ndim not in (2, 3):
        legal = "of shape (n, L, d), or (tokens, d) with an array of bag ids"
        raise InvalidInput("array X", legal, f"shape {X.shape}")
    if X.ndim == 3:
        bags = as_bags(X, array("mask") if "mask" in names else None, empty=True)
        found = of_bags(bags, np.arange(len(bags)))
    else:
        found = grouped(X, array(bag), labels, source)
    found = with_groups(found)
    return found if columns is None else found.only(chosen(columns, found.columns))


def _members(path: Path) -> list[str]:
    with refused("FILE", _LEGAL, path), zipfile.ZipFile(path) as packed:
        return packed.namelist()


def _array(path: Path, name: str) -> np.ndarray:
    """Return an array of numbers or texts of a zip file, or of a folder, where tokens are a map."""
    file = path / f"{name}.npy" if path.is_dir() else path
    require_regular("FILE", file)
    with contextlib.ExitStack() as stack, refused("FILE", _LEGAL, file):
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", UserWarning)  # of headers that Python 2 wrote
        try:
            array = np.load(file, mmap_mode="r" if name == TOKENS else None, allow_pickle=False)
            if file == path:
                array = stack.enter_context(array)[name]
        except ValueError as error:
            if "pickle" not in str(error):
                raise
            remedy = f"It holds Python objects, or no arrays. {_PLAIN}"
            raise InvalidInput("FILE", _LEGAL, str(file), remedy) from None
    if not isinstance(array, np.ndarray) or array.dtype.kind == "V":
        got = str(getattr(array, "dtype", "bytes without a header of NumPy"))
        raise InvalidInput(f"array {name}", "an array of numbers or texts", got, _PLAIN)
    return array


def _from_parquet(path: Path, labels: Any, bag: str, columns: Columns, groups: Any) -> LabelledBags:
    needed("pandas", "to read Parquet files", "data")
    parquet = needed("pyarrow.parquet", "to read Parquet files", "data")
    with (
        refused("FILE", _LEGAL, path),
        parquet.ParquetFile(path, page_checksum_verification=True) as file,
    ):
        table = file.read()
        table.validate(full=True)  # pandas takes offsets and UTF-8 on trust
        frame = table.to_pandas()
    if isinstance(labels, str):
        names = [str(name) for name in frame.columns]
        default = next((name for name in LABELS if name in names), "label")
        labels = _label_name(path, names, labels, default)
    if isinstance(groups, str) and groups == "":
        groups = GROUPS if GROUPS in map(str, frame.columns) else None
    return from_rows(f"FILE {path.name}", frame, bag, labels, groups, columns, numbers_or_vectors)


def _label_name(path: Path, names: Collection[str], labels: str, default: str) -> str:
    """Return the name of the array or column of labels."""
    if labels == "" and all(name in names for name in LABELS):
        remedy = "{} says which holds the labels; the other is left out."
        legal = "with one of label and y"
        raise InvalidInput(f"FILE {path.name}", legal, "both", remedy, "labels=")
    return labels or default
