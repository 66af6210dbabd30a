"""Bags and labels from a file: .npz arrays, or Parquet in long form."""

from __future__ import annotations

import contextlib
import importlib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    import numpy as np

    from sparsetoken.bags import Bags

__all__ = ["BagColumn", "File", "LabelColumn", "LabelledBags", "Seed", "read_bags"]

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        show_default=False,
        help="An .npz file with X (tokens, d), bag and y, or X (n, L, d) and y, mask if needed; "
        "or a .parquet file with a row for each token.",
    ),
]
LabelColumn = Annotated[
    str,
    typer.Option(
        "--label",
        show_default=False,
        help="Array or column of the labels; by default y, or label in a Parquet file.",
    ),
]
BagColumn = Annotated[str, typer.Option("--bag", help="Array or column of the bag ids.")]
Seed = Annotated[int, typer.Option("--seed", help="Of all that is random, at least 0.")]

PARQUET = (".parquet", ".pq")


class LabelledBags(NamedTuple):
    """Bags, the label and the id of each."""

    bags: Bags
    y: np.ndarray
    ids: np.ndarray


def read_bags(path: Path, label: str, bag: str) -> LabelledBags:
    """Read bags and labels.

    Parameters
    ----------
    path : Path
        It ends in .npz, .parquet or .pq.
    label : str
        "" for the default name.
    bag : str

    Raises
    ------
    InvalidInput
        If the file is missing or of another kind, lacks an array or a column, or does not hold
        bags with one label each.
    """
    from sparsetoken.validation import InvalidInput

    ending = path.suffix.lower()
    if ending not in (".npz", *PARQUET):
        raise InvalidInput("FILE", "a path that ends in .npz, .parquet or .pq", str(path))
    if not path.is_file():
        raise InvalidInput("FILE", "a file that is there", str(path))
    with _readable(path):
        if ending == ".npz":
            return _from_arrays(path, label or "y", bag)
        return _from_parquet(path, label, bag)


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what the readers say of a broken file or of odd values into one message."""
    from sparsetoken.validation import InvalidInput

    try:
        yield
    except InvalidInput:
        raise
    except (OSError, EOFError, zipfile.BadZipFile, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise InvalidInput("FILE", "of bags and labels that can be read", str(path), reason) from (
            None
        )


def _from_arrays(path: Path, label: str, bag: str) -> LabelledBags:
    import numpy as np

    from sparsetoken.bags import as_bags, from_long
    from sparsetoken.validation import InvalidInput

    with np.load(path, allow_pickle=False) as stored:
        X = _array(stored, "X", path)
        y = _array(stored, label, path)
        if X.ndim == 3:
            bags = as_bags(X, stored["mask"] if "mask" in stored.files else None)
            ids = np.arange(len(bags))
        else:
            bags, ids = from_long(X, _array(stored, bag, path))
    if y.shape != (len(bags),):
        raise InvalidInput(f"array {label}", f"one label for each of {len(bags)} bags", y.shape)
    return _checked(bags, y, ids, f"array {label}")


def _array(stored: Any, name: str, path: Path) -> np.ndarray:
    from sparsetoken.validation import InvalidInput

    if name not in stored.files:
        legal = f"with an array {name}"
        got = "arrays " + ", ".join(stored.files)
        remedy = "--label and --bag name other arrays than y and bag."
        raise InvalidInput(f"FILE {path.name}", legal, got, remedy)
    return stored[name]


def _from_parquet(path: Path, label: str, bag: str) -> LabelledBags:
    from sparsetoken.bags import from_frame
    from sparsetoken.validation import InvalidInput

    frame = _pandas().read_parquet(path)
    if not label:
        label = next((name for name in ("label", "y") if name in frame.columns), "label")
    for name in (bag, label):
        if name not in frame.columns:
            got = "columns " + ", ".join(map(str, frame.columns[:20]))
            remedy = "--label and --bag name the columns of labels and bag ids."
            raise InvalidInput(f"FILE {path.name}", f"with a column {name}", got, remedy)
    features = [name for name in frame.columns if name not in (bag, label)]
    single = len(features) == 1 and frame[features[0]].dtype == object  # vectors in one column
    bags, ids = from_frame(frame, bag=bag, columns=features[0] if single else features)
    rows = frame[label].to_numpy()
    y = rows[bags.offsets[:-1]]
    _check_constant(rows, bags, ids, label)
    return _checked(bags, y, ids, f"column {label}")


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


def _check_constant(rows: np.ndarray, bags: Bags, ids: np.ndarray, label: str) -> None:
    import numpy as np

    from sparsetoken.validation import InvalidInput

    differs = rows != np.repeat(rows[bags.offsets[:-1]], bags.sizes)
    differs &= rows == rows  # missing labels are told of later
    if np.any(differs):
        row = int(np.argmax(differs))
        name = ids[int(np.searchsorted(bags.offsets, row, side="right")) - 1]
        got = f"two labels in bag {name}, the second in row {row}"
        raise InvalidInput(f"column {label}", "one label for each bag", got)


def _checked(bags: Bags, y: np.ndarray, ids: np.ndarray, name: str) -> LabelledBags:
    """Check that labels are there and of at least two classes."""
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
    return LabelledBags(bags, y, ids)
