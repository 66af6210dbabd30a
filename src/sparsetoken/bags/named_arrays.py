"""Bags from a file of named arrays, .npz or MATLAB's .mat, and from a packed folder."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparsetoken.bags.arrays import matlab, of_tokens, refuse_misplaced, tokens_of
from sparsetoken.bags.container import MOST_AXES, Bags
from sparsetoken.bags.convert import as_bags
from sparsetoken.bags.frames import LEGAL
from sparsetoken.bags.labelled import LabelledBags
from sparsetoken.bags.names import (
    COLUMNS,
    COORDINATES,
    GROUPS,
    IDS,
    LABEL,
    OFFSETS,
    TOKENS,
    is_place,
)
from sparsetoken.bags.tables import Columns, check_present, chosen, grouped, label_name
from sparsetoken.base.files import refused, require_regular
from sparsetoken.base.validation import InvalidInput

_PLAIN = "Save X (tokens, d) with bag; y as text."
_OF_BAGS = ("bag", "bags", "bag_id", "bag_ids", "bagid", "bagids", "milbag", "xtb", "ids")
_OF_LABELS = ("y", "label", "labels", "nlab", "yb", "class")
"""Names of arrays of ids and of labels in the classic sets, in letters of any size."""


class Names(NamedTuple):
    """By which names bags are found in a file; see `read`."""

    labels: Any
    bag: str
    groups: Any
    columns: Columns
    dataset: str
    coordinates: Any


@dataclasses.dataclass(frozen=True)
class Stored:
    """The arrays of a file, which are read when they are asked for."""

    path: Path
    names: Sequence[str]
    get: Callable[[str], np.ndarray]

    def array(self, name: str, of_groups: bool = False) -> np.ndarray:
        """Return an array, or raise `InvalidInput` with the names there are."""
        what = f"FILE {self.path.name}"
        check_present(what, "array", name, self.names, of_groups=of_groups)
        return self.get(name)

    def named(self, name: str, known: Sequence[str]) -> str:
        """Return a name that is there, else the only one of those known, else the name."""
        found = [one for one in self.names if one.rpartition("/")[2].lower() in known]
        return found[0] if name not in self.names and len(found) == 1 else name


def from_npz(path: Path, names: Names) -> LabelledBags:
    """Return the bags of a zip file of .npy files."""
    with refused("FILE", LEGAL, path), zipfile.ZipFile(path) as packed:
        inside = [name.removesuffix(".npy") for name in packed.namelist()]
    return _from_arrays(Stored(path, inside, lambda name: _array(path, name)), names)


def from_matlab(path: Path, names: Names) -> LabelledBags:
    """Return the bags of a MATLAB file."""
    with contextlib.ExitStack() as stack, refused("FILE", LEGAL, path):
        arrays = matlab(path, stack, "")
    return _from_arrays(Stored(path, list(arrays), arrays.__getitem__), names)


def from_packed(path: Path, names: Names) -> LabelledBags:
    """Return the bags of a folder that `pack` wrote, with the tokens in a memory map."""
    if names.columns is not None:
        remedy = "Pack files that hold these columns alone."
        raise InvalidInput("columns", "None for a packed folder", names.columns, remedy)
    inside = [one.name.removesuffix(".npy") for one in sorted(path.glob("*.npy"))]
    stored = Stored(path, inside, lambda name: _array(path, name))
    ids = stored.array(IDS)

    def in_order(name: str, of_groups: bool = False) -> dict[Any, Any]:
        """Return values by id, in whose order they were written."""
        values = stored.array(name, of_groups)
        if values.shape != ids.shape:
            legal = f"of the shape {ids.shape} of the ids"
            raise InvalidInput(f"array {name}", legal, f"shape {values.shape}")
        return dict(zip(ids.tolist(), values.tolist(), strict=True))

    labels, groups, source = names.labels, names.groups, "labels"
    if isinstance(labels, str):
        label = label_name(path, inside, labels, LABEL)
        labels, source = in_order(label), f"array {label}"
    if isinstance(groups, str):
        groups = in_order(groups or GROUPS, True) if groups or GROUPS in inside else None
    kept = COORDINATES in inside and names.coordinates is not None
    places = stored.array(COORDINATES) if kept else None
    columns = stored.array(COLUMNS).tolist() if COLUMNS in inside else None
    bags = Bags(stored.array(TOKENS), stored.array(OFFSETS), columns, places)
    return LabelledBags.of(bags, ids, labels, source, columns=columns or ()).with_groups(groups)


def _from_arrays(stored: Stored, names: Names) -> LabelledBags:
    labels, groups, source = names.labels, names.groups, "labels"
    if isinstance(labels, str):
        label = label_name(stored.path, stored.names, labels, stored.named(LABEL, _OF_LABELS))
        labels, source = _line(stored.array(label)), f"array {label}"
    found = _bags_of(stored, names, labels, source)
    if isinstance(groups, str):
        if groups == "" and GROUPS not in stored.names:
            groups = None
        else:
            source = f"array {groups or GROUPS}"
            groups = _line(stored.array(groups or GROUPS, True))
    found = found.with_groups(groups, source if groups is not None else "groups")
    return found if names.columns is None else found.only(chosen(names.columns, found.columns))


def _bags_of(stored: Stored, names: Names, labels: Any, source: str) -> LabelledBags:
    """Return the bags of the array of tokens and, in rows, that of ids."""
    name = names.dataset or ("X" if "X" in stored.names else "")
    if not name and (each := _each_a_bag(stored, names)) is not None:
        return LabelledBags.of(*each, labels, source)
    X = stored.array(name) if name else _tokens(stored)
    name = name or "of tokens"
    bag = stored.named(names.bag, _OF_BAGS)
    if X.dtype == object or X.ndim == 3:  # cells, or bags of one size
        mask = stored.array("mask") if X.ndim == 3 and "mask" in stored.names else None
        bags = as_bags(list(X) if X.dtype == object else X, mask, empty=True)
        ids = np.arange(len(bags))
        given = _line(stored.array(bag)) if bag in stored.names else X
        if given.shape == ids.shape and given.dtype != object:
            ids = given
        return LabelledBags.of(bags, ids, labels, source)
    if X.ndim != 2:
        legal = "of shape (n, L, d), or (tokens, d) with an array of bag ids"
        raise InvalidInput(f"array {name}", legal, f"shape {X.shape}")
    found = grouped(X, _line(stored.array(bag)), labels, source)
    if (where := _coordinates(stored, names.coordinates, len(X), len(found.ids))) is not None:
        return found.with_coordinates(where)
    return found


def _tokens(stored: Stored) -> np.ndarray:
    """Return the array that names say is the tokens: of vectors, of bags of one size, or cells."""
    arrays = {name: stored.get(name) for name in stored.names}
    cells = [one for one in arrays.values() if one.dtype == object]
    bags = [one for one in arrays.values() if one.ndim == 3 and one.dtype.kind in "biuf"]
    flat = any(of_tokens(one) and min(one.shape) > 1 for one in arrays.values())
    if not flat and len(several := cells or bags) == 1:
        return several[0]
    # A line is of ids or labels, as MATLAB has no other.
    tables = {name: one for name, one in arrays.items() if one.ndim == 2 and min(one.shape) > 1}
    found: np.ndarray = tokens_of(stored.path, "", tables or arrays)
    return found


def _each_a_bag(stored: Stored, names: Names) -> tuple[Bags, np.ndarray] | None:
    """Return the bags of a file in which each array is one, named by its id; else None."""
    if stored.named(names.bag, _OF_BAGS) in stored.names or any(map(is_place, stored.names)):
        return None
    if isinstance(names.labels, str) or len(stored.names) < 2:
        return None  # the array of labels is none of a bag
    arrays = [stored.get(name) for name in stored.names]
    if not all(of_tokens(one) and one.shape[-1] == arrays[0].shape[-1] for one in arrays):
        return None
    return as_bags(arrays, empty=True), np.array(stored.names)


def _coordinates(stored: Stored, wanted: Any, N: int, n: int) -> np.ndarray | None:
    if wanted is None:
        return None
    if wanted:
        where = stored.array(str(wanted))
        if where.ndim != 2 or len(where) != N:
            legal, got = f"of shape ({N}, k), one row for each token", f"shape {where.shape}"
            raise InvalidInput(f"array {wanted}", legal, got)
        return np.asarray(where, float)
    named = {name: stored.get(name) for name in stored.names if is_place(name)}
    named = {k: one for k, one in named.items() if one.ndim == 2 and one.dtype.kind in "iuf"}
    fitting = [one for one in named.values() if len(one) == N]
    for name, one in [] if fitting else named.items():
        if one.shape[1] <= MOST_AXES:
            refuse_misplaced(stored.path, name, len(one), N, n)
    return np.asarray(fitting[0], float) if len(fitting) == 1 else None


def _line(values: np.ndarray) -> np.ndarray:
    """Return values in a row or a column of MATLAB as a line."""
    return values.ravel() if values.ndim == 2 and min(values.shape) == 1 else values


def _array(path: Path, name: str) -> np.ndarray:
    """Return an array of numbers or texts of a zip file, or of a folder, where tokens are a map."""
    file = path / f"{name}.npy" if path.is_dir() else path
    require_regular("FILE", file)
    with contextlib.ExitStack() as stack, refused("FILE", LEGAL, file):
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
            raise InvalidInput("FILE", LEGAL, str(file), remedy) from None
    if not isinstance(array, np.ndarray) or array.dtype.kind == "V":
        got = str(getattr(array, "dtype", "bytes without a header of NumPy"))
        raise InvalidInput(f"array {name}", "an array of numbers or texts", got, _PLAIN)
    return array
