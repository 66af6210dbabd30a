"""Files that hold one bag: which of their arrays are its tokens, and which says where these lie."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.bags.container import MOST_AXES
from sparsetoken.bags.labels import some
from sparsetoken.bags.options import COORDINATES
from sparsetoken.base.files import refused
from sparsetoken.base.machine import needed
from sparsetoken.base.validation import InvalidInput

FEATURES = ("features", "feats")  # of CLAM and TRIDENT, and of STAMP
LEGAL = "of bags and labels that can be read"
Arrays = Mapping[str, Any]


@contextlib.contextmanager
def one_bag(path: Path, dataset: str, coordinates: str | None) -> Iterator[tuple[Any, Any]]:
    """Open the tokens of a bag and their coordinates, or None, which are read where sliced.

    Raises
    ------
    InvalidInput
        If there is no such array, it has another shape, or the file cannot be read.
    """
    # A damaged part is met where it is read, so that the reading stands inside, too.
    with contextlib.ExitStack() as stack, refused("FILE", LEGAL, path):
        arrays = ARRAYS[path.suffix.lower()](path, stack)
        array = arrays[_name_of_tokens(path, arrays, dataset)]
        if not _is_layout(array):
            legal = "with real numbers of shape (L, d) or (1, L, d)"
            raise InvalidInput(f"FILE {path}", legal, f"{array.dtype} of shape {array.shape}")
        name = coordinates or next((one for one in COORDINATES if one in arrays), None)
        places = None if coordinates is None or name is None else arrays.get(name)
        if name and coordinates is not None:
            L = array.shape[-2]
            fits = places is not None and _is_layout(places) and places.shape[-2] == L
            if places is None or not fits or not 1 <= places.shape[-1] <= MOST_AXES:
                legal = f"with {name} of real numbers, of shape ({L}, k), k <= {MOST_AXES}"
                remedy = "coordinates= names another array."
                raise InvalidInput(f"FILE {path}", legal, _shapes(arrays), remedy)
        for one in (array, places):  # HDF5 may keep values in other files
            if getattr(one, "external", None) or getattr(one, "is_virtual", False):
                legal, got = "with values of its own", "an array whose values are elsewhere"
                raise InvalidInput(f"FILE {path}", legal, got, "Copy them into the file.")
        yield array, places


def _name_of_tokens(path: Path, arrays: Arrays, dataset: str) -> str:
    """Return the name given, else that of features, else that of the only array."""
    if "" in arrays:  # which has no name
        return ""
    found = [name for name in FEATURES if name in arrays] or [
        name for name in arrays if name not in COORDINATES
    ]
    if dataset.strip("/") in arrays:
        return dataset.strip("/")
    if dataset or len(found) != 1:
        legal = f"one with an array {dataset or ' or '.join(FEATURES)}"
        legal += "" if dataset else ", or one array alone beside coords"
        got = _shapes(arrays) or "no array"
        raise InvalidInput(f"FILE {path}", legal, got, "dataset= names the array.")
    return found[0]


def _is_layout(array: Any) -> bool:
    shape: tuple[int, ...] = array.shape or ()
    layout = len(shape) == 2 or (len(shape) == 3 and shape[0] == 1)
    return layout and np.dtype(array.dtype).kind in "biuf"


def _shapes(arrays: Arrays) -> str:
    return some([f"{name} {tuple(arrays[name].shape or ())}" for name in sorted(arrays)])


def _npy(path: Path, stack: contextlib.ExitStack) -> Arrays:
    return {"": np.load(path, mmap_mode="r", allow_pickle=False)}


def _npz(path: Path, stack: contextlib.ExitStack) -> Arrays:
    file = np.load(stack.enter_context(path.open("rb")))  # which a damaged file leaves open
    return {name: file[name] for name in file.files}


def _torch(path: Path, stack: contextlib.ExitStack) -> Arrays:
    """Return the tensors of a file, without running any code that it may hold."""
    torch = needed("torch", "to read .pt files")
    held = torch.load(path, map_location="cpu", weights_only=True)
    tensors = held if isinstance(held, Mapping) else {"": held}
    return {
        str(name): (one.float() if one.dtype == torch.bfloat16 else one).detach().numpy()
        for name, one in tensors.items()
        if isinstance(one, torch.Tensor)
    }


def _h5(path: Path, stack: contextlib.ExitStack) -> Arrays:
    """Return the arrays of a file and of its groups; links, which may lead elsewhere, are none."""
    h5py = needed("h5py", "to read .h5 files", "data")
    found: dict[str, Any] = {}

    def visit(name: str, one: Any) -> None:
        if isinstance(one, h5py.Dataset):
            found[name] = one

    stack.enter_context(h5py.File(path, "r")).visititems(visit)
    return found


ARRAYS: dict[str, Callable[[Path, contextlib.ExitStack], Arrays]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".h5": _h5,
    ".hdf5": _h5,
    ".pt": _torch,
}
"""What reads the arrays of a file, by the ending of its name."""
