"""The metadata of a store of sweeps: its specification, its arrays, and their coordinates."""

from __future__ import annotations

import functools
import hashlib
import json
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from sparsetoken.base.machine import needed
from sparsetoken.base.validation import InvalidInput
from sparsetoken.sweep.grid import Grid
from sparsetoken.sweep.layout import Layout, results_of
from sparsetoken.sweep.parameters import STATUSES, canonical_text

FORMAT = 1
"""Raised when the arrays or the pieces of work of the same grid are laid out otherwise."""

ROOT, COPY = "zarr.json", "result/zarr.json"
COORDINATES = 1024  # of a chunk: of one size always, so that an axis may grow
FACTS = "computed_with"
ORIGIN = ("experiment", "versions", "seed", "fixed")
LONGEST = 200  # of a value in a message


def digest(root: Mapping[str, Any]) -> str:
    """Return a hash of all metadata in a file but for the hash itself."""
    text = canonical_text({**root, "attributes": {**root["attributes"], "digest": ""}})
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def specification(content: bytes | None, node: str = "group") -> dict[str, Any] | None:
    """Return the attributes of the root, or None unless they are what was written.

    The copy of the specification is an array as node.
    """
    try:
        root = json.loads(content or b"")
        attributes = root["attributes"]
        whole = root["node_type"] == node and digest(root) == attributes["digest"]
        return attributes if whole else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def arrays_in(root: bytes) -> dict[str, dict[str, Any]]:
    """Return the metadata of all arrays that the root declares, without their attributes."""
    known = json.loads(root)["consolidated_metadata"]["metadata"]
    return {name: {**metadata, "attributes": {}} for name, metadata in known.items()}


def same_work(text: str, other: str) -> bool:
    """Return whether two specifications differ in nothing but how they are drawn."""
    one, two = json.loads(text), json.loads(other)
    return one | {"plot": None} == two | {"plot": None}


def require_extension(old: Grid, new: Grid) -> None:
    """Raise `InvalidInput` unless the results of one grid are a part of those of another."""
    for name in ORIGIN:
        one, other = getattr(old, name), getattr(new, name)
        if name == "fixed" and one != other:
            key = next(k for k in sorted({*one, *other}) if one.get(k) != other.get(k))
            raise _refused(f"fixed.{key}", one.get(key, "none"), other.get(key, "none"))
        if one != other and not (name == "versions" and one.items() <= other.items()):
            raise _refused(name, one, other)
    if not set(old.quantities) <= set(new.quantities):
        raise _refused("quantities", old.quantities, new.quantities, "or both")
    if old.trials > new.trials:
        raise _refused("trials", old.trials, new.trials, "or more")
    if [axis.names for axis in old.axes] != [axis.names for axis in new.axes]:
        raise _refused("axes", old.names, new.names)
    for one, other in zip(old.axes, new.axes, strict=True):
        if one.steps != other.steps[: len(one)]:
            old_values, new_values = ([*map(_plain, axis.steps)] for axis in (one, other))
            where = new.where(one.names[0])
            raise _refused(where, old_values, new_values, "and more at the end")


def _plain(step: tuple[Any, ...]) -> Any:
    return step[0] if len(step) == 1 else step


def _refused(name: str, old: Any, new: Any, more: str = "") -> InvalidInput:
    """Return the error of a sweep that differs from that of the store."""
    text = str(old)
    known = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    legal = f"that of the store, {known}" + (f", {more}" if more else "")
    return InvalidInput(name, legal, new, "Another sweep needs another store.")


def files_of(grid: Grid) -> dict[str, bytes]:
    """Return the files of an empty store by name: metadata, and coordinates.

    The copy of the specification comes first and the root last, so that what is interrupted
    while it is written is known for what it is.
    """
    zarr = needed("zarr", "to keep sweeps", "data")
    memory: dict[str, Any] = {}
    place = zarr.storage.MemoryStore(memory)
    statuses = {str(number): name for number, name in enumerate(STATUSES)}
    attributes = {"format": FORMAT, "specification": grid.text(), "status": statuses}
    group = zarr.create_group(place, attributes={**attributes, "digest": ""})
    codecs = [zarr.codecs.ZstdCodec(level=1), zarr.codecs.Crc32cCodec()]
    create = functools.partial(group.create_array, compressors=codecs)
    for quantity in grid.quantities:
        layout = Layout(grid, quantity)
        create(
            quantity,
            shape=layout.shape,
            chunks=layout.chunks,
            dtype="float64",
            fill_value=np.nan,
            dimension_names=layout.dims,
        )
        create(
            f"{quantity}_{FACTS}",
            shape=layout.pieces[:-1],
            chunks=(1,) * (len(layout.dims) - 1),
            dtype="string",
            dimension_names=[f"{quantity} {dim} piece" for dim in layout.dims[:-1]],
        )
    for name, (dim, values) in coordinates(grid).items():
        kind = "string" if values.dtype == object else values.dtype
        options = {"shape": values.shape, "chunks": (COORDINATES,), "dtype": kind}
        create(name, dimension_names=[dim], **options)[:] = values
    group["result"].attrs.update({**attributes, "digest": ""})
    _seal(memory, COPY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # consolidated metadata are not in the standard yet
        zarr.consolidate_metadata(place)
    _seal(memory, ROOT)
    files = {name: content.to_bytes() for name, content in memory.items()}
    order = {COPY: 0, ROOT: 2}
    return {name: files[name] for name in sorted(files, key=lambda name: order.get(name, 1))}


def _seal(memory: dict[str, Any], name: str) -> None:
    """Put the digest of a file of metadata into it."""
    found = json.loads(memory[name].to_bytes())
    found["attributes"]["digest"] = digest(found)
    memory[name] = type(memory[name]).from_bytes(json.dumps(found, indent=2).encode())


def coordinates(grid: Grid) -> dict[str, tuple[str, np.ndarray]]:
    """Return the dimension and the values of each coordinate; words are objects."""
    found = {"result": ("result", np.array(results_of(grid), dtype=object))}
    if "simulation" in grid.quantities:
        found["trial"] = ("trial", np.arange(grid.trials))
    for axis in grid.axes:
        for name, values in zip(axis.names, zip(*axis.steps, strict=True), strict=True):
            words = any(isinstance(value, str) for value in values)
            numbers = [np.nan if value is None else value for value in values]
            array = np.array(values, dtype=object) if words else np.array(numbers)
            found[name] = (axis.label, array)
    return found
