"""Bags from named arrays: those of an .npz file, and of a folder that `pack` wrote."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparsetoken.bags.array_files import LEGAL
from sparsetoken.bags.container import Bags
from sparsetoken.bags.convert import as_floats, unchecked
from sparsetoken.bags.labelled import LabelledBags
from sparsetoken.bags.labels import id_texts, some
from sparsetoken.bags.tables import chosen, grouped, labelled_bags, with_coordinates
from sparsetoken.base.files import refused, require_regular
from sparsetoken.base.validation import InvalidInput

TOKENS = "tokens"
"""The array of a packed folder that is a memory map; beside it are offsets and ids, and there may
be y, groups, coordinates and columns."""


class Names(NamedTuple):
    """Names of arrays or columns, "" for those by default, None for what is not read."""

    bag: str
    label: str | None
    groups: str | None
    columns: Any
    dataset: str
    coordinates: Any


class _Arrays(NamedTuple):
    path: Path
    names: Collection[str]
    get: Callable[[str], np.ndarray]

    def given(self, name: str, option: str = "") -> np.ndarray:
        """Return the array of a name, or raise `InvalidInput`."""
        if name not in self.names:
            got, legal = f"arrays {some(sorted(self.names))}", f"with the array {name}"
            remedy = "{} names another." if option else ""
            raise InvalidInput(f"FILE {self.path.name}", legal, got, remedy, option)
        return self.get(name)

    def asked(self, name: str | None, default: str, option: str = "") -> np.ndarray | None:
        """Return the array of a name; None if that is None, or the default is not there."""
        if name is None or (not name and default not in self.names):
            return None
        return self.given(name or default, option)


def from_npz(path: Path, names: Names) -> LabelledBags:
    """Return the bags of `X`, with `bag` or `offsets` if it is of shape (tokens, d)."""
    with refused("FILE", LEGAL, path), path.open("rb") as opened, np.load(opened) as file:
        arrays = _Arrays(path, file.files, lambda name: _member(path, file, name))
        X = arrays.given(names.dataset or "X", "dataset=")
        y = None if names.label is None else arrays.given(names.label or "y", "label=")
        groups = arrays.asked(names.groups, "groups", "groups=")
        where = arrays.asked(names.coordinates, "coordinates", "coordinates=")
        if X.ndim not in (2, 3):
            legal = "of shape (n, L, d), or (tokens, d) with bag or offsets"
            raise InvalidInput("array X", legal, f"shape {X.shape}")
        mask = arrays.asked("", "mask") if X.ndim == 3 else None
        if X.ndim == 2 and "offsets" not in arrays.names:
            ids = arrays.given(names.bag or "bag", "bag=")
            found = grouped(X, ids, y, groups, name="array y")
        else:
            flat = X.ndim == 2
            bags = Bags(as_floats(X), file["offsets"]) if flat else unchecked(X, mask)[0]
            named = arrays.asked(names.bag, "bag", "bag=")
            ids = np.arange(len(bags)) if named is None else named
            if ids.shape != (len(bags),) or len(set(ids.tolist())) < len(bags):
                legal = f"{len(bags)} different ids, one for each bag"
                raise InvalidInput("array bag", legal, f"shape {ids.shape}")
            found = labelled_bags(bags, id_texts(ids, "array bag"), y, groups, name="array y")
            if where is not None and where.ndim == 3:
                where = unchecked(where, mask)[0].tokens
    if where is not None:
        found = with_coordinates(found, np.asarray(where, float))
    return found if names.columns is None else found.only(chosen(names.columns, found.columns))


def from_packed(path: Path, names: Names) -> LabelledBags:
    """Return the bags of a folder that `pack` wrote, with the tokens in a memory map."""
    inside = [one.stem for one in sorted(path.glob("*.npy"))]
    arrays = _Arrays(path, inside, lambda name: _stored(path / f"{name}.npy"))
    tokens, offsets, ids = (arrays.given(name) for name in (TOKENS, "offsets", "ids"))
    y = None if names.label is None else arrays.given(names.label or "y", "label=")
    groups = arrays.asked(names.groups, "groups", "groups=")
    places = arrays.asked(names.coordinates, "coordinates", "coordinates=")
    columns = arrays.asked("", "columns")
    if names.columns is not None:
        remedy = "Pack files that hold these columns alone."
        raise InvalidInput("columns", "None for a packed folder", names.columns, remedy)
    bags = Bags(tokens, offsets, coordinates=places)
    if ids.shape != (len(bags),):
        raise InvalidInput(f"FILE {path}", f"with {len(bags)} ids", f"shape {ids.shape}")
    known = None if columns is None else columns.tolist()
    return labelled_bags(bags, id_texts(ids), y, groups, known, name="array y")


def _member(path: Path, file: Any, name: str) -> np.ndarray:
    with refused("FILE", LEGAL, path):
        found = file[name]
    if not isinstance(found, np.ndarray):
        raise InvalidInput(f"array {name}", "an array", "bytes without a header of NumPy")
    return found


def _stored(file: Path) -> np.ndarray:
    require_regular("FILE", file)
    with refused("FILE", LEGAL, file):
        return np.load(file, mmap_mode="r" if file.stem == TOKENS else None, allow_pickle=False)
