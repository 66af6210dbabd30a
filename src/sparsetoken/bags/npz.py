"""Bags from named arrays: those of an .npz file, and of a folder that `pack` wrote."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparsetoken.bags.array_files import LEGAL
from sparsetoken.bags.container import Bags
from sparsetoken.bags.convert import as_floats, unchecked
from sparsetoken.bags.labelled import LabelledBags
from sparsetoken.bags.labels import id_texts
from sparsetoken.bags.options import Options, name_among
from sparsetoken.bags.tables import chosen, grouped, with_coordinates
from sparsetoken.base.files import refused
from sparsetoken.base.validation import InvalidInput

TOKENS = "tokens"
"""The array of a packed folder that is a memory map; beside it are offsets and ids, and there may
be y, groups, coordinates and columns."""


NAMES = "names"
"""The columns that y and groups of a packed folder were, "" where none were named."""


class _Arrays(NamedTuple):
    path: Path
    names: Collection[str]
    get: Callable[[str], np.ndarray]

    def find(self, given: Any, default: str, option: str = "", needed: bool = False) -> Any:
        """Return the array of a name; None if none is asked for, or the default is not there."""
        known, defaults = sorted(self.names), (default,)
        what = f"FILE {self.path.name}"
        name = name_among(what, "array", known, given, defaults, option, needed)
        return None if name is None else self.get(name)


def from_npz(path: Path, options: Options) -> LabelledBags:
    """Return the bags of `X`, with `bag` or `offsets` if it is of shape (tokens, d)."""
    with refused("FILE", LEGAL, path), path.open("rb") as opened, np.load(opened) as file:
        arrays = _Arrays(path, file.files, lambda name: _member(path, file, name))
        X = arrays.find(options.dataset, "X", "dataset=", needed=True)
        y = arrays.find(options.labels, "y", "labels=", needed=True)
        groups = arrays.find(options.groups, "groups", "groups=")
        where = arrays.find(options.coordinates, "coordinates", "coordinates=")
        mask, offsets = arrays.find("", "mask"), arrays.find("", "offsets")
        flat = X.ndim == 2
        rows = flat and offsets is None
        ids = arrays.find(options.bag, "bag", "bag=", needed=rows)
    if X.ndim not in (2, 3):
        legal = "of shape (n, L, d), or (tokens, d) with bag or offsets"
        raise InvalidInput("array X", legal, f"shape {X.shape}")
    if rows:
        found = grouped(X, ids)
    else:
        bags = Bags(as_floats(X), offsets) if flat else unchecked(X, mask)[0]
        found = of_bags("array bag", bags, np.arange(len(bags)) if ids is None else ids)
        if where is not None and where.ndim == 3:
            where = unchecked(where, mask)[0].tokens
    found = found.with_labels(y, groups, "array y")
    if where is not None:
        found = with_coordinates(found, np.asarray(where, float))
    if options.columns is None:
        return found
    used = chosen("columns", options.columns, found.columns)
    return dataclasses.replace(found, bags=found.bags.only(used))


def from_packed(path: Path, options: Options) -> LabelledBags:
    """Return the bags of a folder that `pack` wrote, with the tokens in a memory map."""
    options.leave_out("for a packed folder", "bag", "columns", "dataset")
    inside = [one.stem for one in path.glob("*.npy")]
    arrays = _Arrays(path, inside, lambda name: _stored(path / f"{name}.npy"))
    tokens, offsets, ids = (arrays.find("", name, needed=True) for name in _ALWAYS)
    own = arrays.get(NAMES).tolist() if NAMES in inside else ["", ""]
    named = {name: array for name, array in zip(own, ("y", "groups"), strict=True) if name}
    y = arrays.find(named.get(options.labels, options.labels), "y", "labels=", needed=True)
    groups = arrays.find(named.get(options.groups, options.groups), "groups", "groups=")
    places = arrays.find(options.coordinates, "coordinates", "coordinates=")
    columns = arrays.find("", "columns")
    bags = Bags(tokens, offsets, None if columns is None else columns.tolist(), places)
    return of_bags("array ids", bags, ids).with_labels(y, groups, "array y")


_ALWAYS = (TOKENS, "offsets", "ids")


def of_bags(what: str, bags: Bags, ids: np.ndarray) -> LabelledBags:
    """Return bags with an id each, or raise `InvalidInput`."""
    if ids.shape != (len(bags),) or len(set(ids.tolist())) < len(bags):
        legal = f"{len(bags)} different ids, one for each bag"
        raise InvalidInput(what, legal, f"shape {ids.shape}")
    return LabelledBags(bags, np.empty(0), id_texts(ids, what))


def _member(path: Path, file: Any, name: str) -> np.ndarray:
    with refused("FILE", LEGAL, path):
        found = file[name]
    if not isinstance(found, np.ndarray):
        raise InvalidInput(f"array {name}", "an array", "bytes without a header of NumPy")
    return found


def _stored(file: Path) -> np.ndarray:
    with refused("FILE", LEGAL, file):
        return np.load(file, mmap_mode="r" if file.stem == TOKENS else None, allow_pickle=False)
