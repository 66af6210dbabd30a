"""The named arrays of a file: which are the tokens of a bag, and which are where tokens lie."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy

from sparsetoken.bags.container import MOST_AXES
from sparsetoken.bags.labels import some
from sparsetoken.bags.names import is_of_coordinates, is_of_tokens, is_place
from sparsetoken.base.files import refused, require_regular
from sparsetoken.base.machine import needed
from sparsetoken.base.validation import InvalidInput

LEGAL = "of an array that can be read"
Arrays = Mapping[str, Any]


class OneBag(NamedTuple):
    """The arrays of a bag, which are read where they are sliced."""

    tokens: Any
    coordinates: Any = None


@contextlib.contextmanager
def one_bag(path: Path, dataset: str = "", coordinates: str | None = "") -> Iterator[OneBag]:
    """Open the arrays of a file that holds one bag.

    Parameters
    ----------
    path : Path
    dataset : str
        The array of tokens; "" for the one that names say is it.
    coordinates : str or None
        That of coordinates; "" for the one that names say is it, if any, None for none.

    Raises
    ------
    InvalidInput
        If the file holds no array of real numbers of shape (L, d), or several, or cannot be read.
    """
    # A damaged part is met where it is read, so that the reading stands inside, too.
    with contextlib.ExitStack() as stack, refused("FILE", LEGAL, path):
        arrays = READERS[path.suffix.lower()](path, stack, dataset.strip("/"))
        array = tokens_of(path, dataset, arrays)
        if not of_tokens(array):
            legal = "with real numbers of shape (L, d) or (1, L, d)"
            raise InvalidInput(f"FILE {path}", legal, f"{array.dtype} of shape {array.shape}")
        if not min(array.shape):
            legal, got = "of at least one token of d >= 1", f"shape {array.shape}"
            raise InvalidInput(f"FILE {path}", legal, got, "Leave slides without a token out.")
        places = _coordinates_of(path, coordinates, arrays, array.shape[-2])
        require_stored(path, array)
        require_stored(path, places)
        yield OneBag(array, places)


def require_stored(path: Path, array: Any) -> None:
    """Raise `InvalidInput` unless the values of an array are in its file."""
    if getattr(array, "external", None) or getattr(array, "is_virtual", False):  # of HDF5
        legal, got = "with values of its own", f"{array.name}, whose values are in other files"
        raise InvalidInput(f"FILE {path}", legal, got, "Copy them into the file.")


def tokens_of(path: Path, dataset: str, arrays: Arrays) -> Any:
    """Return the array of a name, or the one that names say is the tokens.

    Where none is named so, it is the only array that may be, unless pictures stand beside it, or it
    has whole numbers in so few columns that they may be coordinates of any name.
    """
    if list(arrays) == [""]:  # the only one, without a name
        return arrays[""]
    if dataset:
        if dataset.strip("/") not in arrays:
            legal, got = f"with the array {dataset}", some(sorted(arrays)) or "no array"
            raise InvalidInput(f"FILE {path}", legal, got, "{} names it.", "dataset=")
        return arrays[dataset.strip("/")]
    possible = [name for name, one in arrays.items() if of_tokens(one) and not is_place(name)]
    named = [name for name in possible if is_of_tokens(name)]
    if len(named or possible) == 1:
        one = arrays[(named or possible)[0]]
        few = np.dtype(one.dtype).kind in "iu" and one.shape[-1] <= MOST_AXES
        pictures = any(len(each.shape or ()) > 2 for each in arrays.values() if each is not one)
        if named or not (few or pictures):
            return one
    legal = "of one array of tokens, of shape (L, d), that is named so or the only one"
    remedy = "Coordinates are no tokens." if any(map(is_place, arrays)) else ""
    remedy = "{} names that of the tokens." if possible else remedy
    raise InvalidInput(f"FILE {path}", legal, shapes(arrays) or "no array", remedy, "dataset=")


def shapes(arrays: Arrays) -> str:
    """Return the names of arrays with their shapes."""
    return some([f"{name} {tuple(arrays[name].shape or ())}" for name in sorted(arrays)])


def of_tokens(array: Any) -> bool:
    """Whether an array may be the tokens of a bag: real numbers of shape (L, d) or (1, L, d)."""
    shape: tuple[int, ...] = array.shape or ()
    layout = len(shape) == 2 or (len(shape) == 3 and shape[0] == 1)
    return layout and np.dtype(array.dtype).kind in "biuf"


def _coordinates_of(path: Path, wanted: str | None, arrays: Arrays, L: int) -> Any:
    """Return the array of a name, or the only one that is named and shaped as coordinates."""

    def fits(array: Any) -> bool:
        return of_tokens(array) and array.shape[-2] == L and 1 <= array.shape[-1] <= MOST_AXES

    if wanted is None:
        return None
    if wanted:
        if (name := wanted.strip("/")) not in arrays or not fits(arrays[name]):
            legal = f"with the array {wanted} of coordinates, of shape ({L}, k), k <= {MOST_AXES}"
            remedy = "{} names it."
            raise InvalidInput(f"FILE {path}", legal, shapes(arrays), remedy, "coordinates=")
        return arrays[name]
    fitting = [name for name, one in arrays.items() if is_place(name) and fits(one)]
    if not fitting and L > 1:  # one token may be the embedding of a slide of many patches
        for name, one in arrays.items():
            if is_place(name) and of_tokens(one) and one.shape[-1] <= MOST_AXES:
                refuse_misplaced(path, name, one.shape[-2], L)
    named = [name for name in fitting if is_of_coordinates(name)]
    return arrays[(named or fitting)[0]] if len(named or fitting) == 1 else None


def refuse_misplaced(path: Path, name: str, rows: int, L: int, n: int = 1) -> None:
    """Raise `InvalidInput` for coordinates without a row for each of L tokens.

    Those of other names than "coordinates" may have a row for each of n bags.
    """
    if is_of_coordinates(name) or rows not in (1, n):
        legal, remedy = f"with a row of {name} for each of {L} tokens", "{} names another array."
        raise InvalidInput(f"FILE {path}", legal, f"{rows} rows", remedy, "coordinates=")


def _npy(path: Path, stack: contextlib.ExitStack, wanted: str) -> Arrays:
    return {"": np.load(path, mmap_mode="r", allow_pickle=False)}


def _npz(path: Path, stack: contextlib.ExitStack, wanted: str) -> Arrays:
    file = stack.enter_context(np.load(path, allow_pickle=False))
    return {name: file[name] for name in file.files}


def _torch(path: Path, stack: contextlib.ExitStack, wanted: str) -> Arrays:
    """Return the tensors of a file, without running any code that it may hold."""
    torch = needed("torch", "to read .pt files")
    held = torch.load(path, map_location="cpu", weights_only=True)
    tensors = held if isinstance(held, Mapping) else {"": held}
    return {
        str(name): (one.float() if one.dtype == torch.bfloat16 else one).detach().numpy()
        for name, one in tensors.items()
        if isinstance(one, torch.Tensor)
    }


def _h5(path: Path, stack: contextlib.ExitStack, wanted: str) -> Arrays:
    h5py = needed("h5py", "to read .h5 files", "data")
    return dict(_stored(stack.enter_context(h5py.File(path, "r")), wanted))


def _stored(group: Any, wanted: str, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the arrays of an .h5 file and of its groups by name, and those beside a deeper one.

    Links are not followed: they are other names of an array, or lead to other files.
    """
    h5py = needed("h5py", "to read .h5 files", "data")
    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            continue
        one, place = group[name], f"{path}{name}"
        if isinstance(one, h5py.Dataset):
            yield place, one
        elif isinstance(one, h5py.Group) and (not path or f"{wanted}/".startswith(f"{place}/")):
            yield from _stored(one, wanted, f"{place}/")


def matlab(path: Path, stack: contextlib.ExitStack, wanted: str) -> Arrays:
    """Return the arrays of a MATLAB file, those of a struct as ``struct/field``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of variables that scipy does not know
        try:
            held = scipy.io.loadmat(path)
        except NotImplementedError:  # of version 7.3, which is HDF5
            held = _matlab_73(path, stack)
    return dict(_fields({name: one for name, one in held.items() if not name.startswith("__")}))


def _matlab_73(path: Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    """Return the variables of a MATLAB file of version 7.3; those of # are its own."""
    h5py = needed("h5py", "to read .mat files of version 7.3", "data")
    file = stack.enter_context(h5py.File(path, "r"))
    return _members(file, file)


def _members(file: Any, group: Any) -> dict[str, Any]:
    """Return variables, or the fields of a struct. Links, which may lead elsewhere, are none."""
    h5py = needed("h5py", "to read .mat files of version 7.3", "data")
    own = [name for name in group if isinstance(group.get(name, getlink=True), h5py.HardLink)]
    return {name: _variable(file, group[name]) for name in own if not name.startswith("#")}


def _variable(file: Any, one: Any) -> Any:
    """Return numbers, texts, cells (of objects) or a struct (a mapping): axes are reversed."""
    about = one.attrs
    if "MATLAB_sparse" in about:
        entries = [one[name][...] if name in one else [] for name in ("data", "ir", "jc")]
        shape = int(about["MATLAB_sparse"]), len(entries[2]) - 1
        return scipy.sparse.csc_matrix(tuple(entries), shape)
    if hasattr(one, "keys"):
        return _members(file, one)
    require_stored(Path(file.filename), one)
    if about.get("MATLAB_empty", 0):  # the entries are the shape
        return np.empty(one[...].astype(int))
    values = one[...].T
    if values.dtype == object:
        cells = np.empty(values.shape, object)
        for place, reference in np.ndenumerate(values):
            cells[place] = _variable(file, file[reference])
        return cells
    if about.get("MATLAB_class") == b"char":
        return np.array(["".join(map(chr, row)) for row in values])
    return values


def _fields(held: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in held.items():
        if isinstance(value, Mapping):  # a struct of version 7.3
            yield from _fields(value, f"{path}{name}/")
            continue
        value = value.toarray() if scipy.sparse.issparse(value) else np.asarray(value)
        if value.dtype.names is None:
            yield from _cells(f"{path}{name}", value)
        elif value.size == 1:
            inside = {field: value[field].item() for field in value.dtype.names}
            yield from _fields(inside, f"{path}{name}/")
        else:  # an array of structs, one for each bag
            for field in value.dtype.names:
                yield from _cells(f"{path}{name}/{field}", value[field].ravel())


def _cells(name: str, value: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield a variable; cells of numbers or texts as one array, several columns one by one."""
    if value.dtype.kind == "U":
        value = np.char.strip(value)  # rows of characters have one length
    if value.dtype.kind == "f" and 1 in value.shape and (value == np.round(value)).all():
        value = value.astype(np.int64)  # MATLAB has labels and numbers of bags as floats
    if value.dtype != object:
        yield name, value
    elif value.ndim == 2 and min(value.shape) > 1:
        for k in range(value.shape[1]):  # bags beside their labels
            yield from _cells(f"{name}/{k}", value[:, k])
    else:
        line = [np.asarray(one) for one in value.ravel()]
        if line and all(one.size == 1 and one.dtype.kind in "biufU" for one in line):
            yield name, np.array([one.item() for one in line])
        else:
            yield name, value.ravel()


def _regular(read: Callable[..., Arrays]) -> Callable[..., Arrays]:
    def checked(path: Path, stack: contextlib.ExitStack, wanted: str) -> Arrays:
        require_regular("FILE", path)
        return read(path, stack, wanted)

    return checked


READERS: dict[str, Callable[[Path, contextlib.ExitStack, str], Arrays]] = {
    ".npy": _regular(_npy),
    ".npz": _regular(_npz),
    ".h5": _regular(_h5),
    ".hdf5": _regular(_h5),
    ".pt": _regular(_torch),
    ".mat": _regular(matlab),
}
"""What reads the arrays of a file that holds one bag, by the ending of its name."""
