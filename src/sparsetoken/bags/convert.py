"""Arrays, padded arrays and lists of arrays as `Bags`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from jaxtyping import Bool
from numpy.lib.recfunctions import structured_to_unstructured

from sparsetoken.bags.container import Bags, Cell, offsets_of
from sparsetoken.base.validation import InvalidInput, integer

_MASK = "Give X.filled(0), with mask=~X.mask.all(axis=2) if whole tokens are masked."


def as_bags(X: Any, mask: Any = None, *, n_tokens: int | None = None, empty: bool = False) -> Bags:
    """Return bags of embeddings in any form as `Bags`.

    Float32 and float64 are kept, float16 becomes float32, all else float64. Where nothing has
    to change, nothing is copied.

    Parameters
    ----------
    X : Bags, array or list
        - array of shape (n, L, d): n bags of L tokens, or fewer where `mask` says so;
        - list or object array of n arrays of shape (L_i, d) or (1, L_i, d), also in one row or
          column (cells of MATLAB), or structured (relational attributes of ARFF); of frames the
          columns are those of the first one, by name;
        - array of shape (n, d): one token in each bag, or, with `n_tokens`, n bags flattened
          to n_tokens * d columns;
        - Bags, or what `Bags.to_column` makes of them.
    mask : bool array of shape (n, L), optional
        True (or 1) where there is a token, False (or 0) where there is padding. Values of
        padding are never read. Without a mask, every token counts, also one of zeros.
    n_tokens : int, optional
        Tokens in each row of a flattened array.
    empty : bool
        Whether bags may be without a token, as `predict` takes them.

    Returns
    -------
    Bags

    Raises
    ------
    InvalidInput
        If a value is NaN or infinite, a bag is empty, dimensions differ between bags, or the
        mask has another shape than the tokens.
    TypeError
        If X is sparse or its values are not numbers.

    See Also
    --------
    Bags : Bags of any sizes.
    from_long : Bags from rows with bag ids.

    Examples
    --------
    >>> import numpy as np
    >>> as_bags([np.zeros((2, 3)), np.ones((5, 3))])
    Bags(2 bags of 2 to 5 tokens, d = 3, float64)
    """
    if scipy.sparse.issparse(X):
        raise TypeError("X is sparse; bags are dense. Use X.toarray().")
    refuse_others(X)
    if isinstance(X, Bags) or is_list_of_bags(X):
        for name, value in (("mask", mask), ("n_tokens", n_tokens)):
            if value is not None:
                remedy = "The bags already say which tokens they have."
                raise InvalidInput(name, "None for ragged bags", type(value).__name__, remedy)
        # New bags, whose values are looked at again: they may have changed in place.
        bags = X.with_tokens(X.tokens, X.feature_names) if isinstance(X, Bags) else _from_list(X)
    else:
        array = _three_dimensional(as_floats(X), n_tokens)
        n, L, d = array.shape
        mask = np.ones((n, L), bool) if mask is None else _checked_mask(mask, n, L)
        sizes = mask.sum(axis=1)
        tokens = array.reshape(n * L, d) if mask.all() else array[mask]
        bags = Bags(tokens, offsets_of(sizes), names_of_columns(X) if n_tokens is None else None)
    if not empty:
        check_nonempty(bags)
    check_finite(bags, mask)
    return bags


def check_nonempty(bags: Bags) -> None:
    """Raise `InvalidInput` if a bag has no token."""
    if not bags.sizes.all():
        at = int(bags.sizes.argmin())
        raise InvalidInput(
            f"bag {at}", "of at least one token", "no token", "Leave empty bags out."
        )


def refuse_others(X: Any) -> None:
    """Refuse what is neither an array nor a list, with what to do instead.

    Raises
    ------
    InvalidInput
        For dicts, Series, strings, bags with their ids, iterators such as generators, empty lists,
        buffers, arrays with masked values, and frames that are lazy or have two columns of one
        name.
    """
    if isinstance(X, list | tuple):
        for i, bag in enumerate(X):
            check_columns(f"bag {i}", bag)
    else:
        refuse_masked("X", X, _MASK)  # of a list bags are named one by one
    check_columns("X", X)
    legal = "an array of shape (n, L, d), or a list of arrays of shape (L_i, d)"
    if isinstance(X, Mapping) and not scipy.sparse.issparse(X):  # some sparse arrays are dicts
        remedy = "Give list(X.values()), with labels in the same order."
        raise InvalidInput("X", legal, f"a {type(X).__name__}", remedy)
    if hasattr(X, "bags") and hasattr(X, "ids"):  # of from_long, from_frame, read
        raise InvalidInput("X", legal, f"{type(X).__name__}, bags with ids", "Give X.bags.")
    row = X.iloc[0].tolist() if hasattr(X, "iloc") and hasattr(X, "columns") and len(X) else []
    inside = [
        name for name, value in zip(getattr(X, "columns", ()), row, strict=False) if _depth(value)
    ]
    if inside:
        got = f"a table whose column {inside[0]} holds arrays"
        raise InvalidInput("X", legal, got, f"Give list(X[{inside[0]!r}]).")
    if isinstance(X, memoryview | bytearray):
        raise InvalidInput("X", legal, f"a {type(X).__name__}", "Give numpy.asarray(X).")
    if isinstance(X, Iterator) or (hasattr(X, "to_list") and not isinstance(X, Bags)):
        raise InvalidInput("X", legal, f"a {type(X).__name__}", "Give list(X).")
    if (isinstance(X, list | tuple) and not X) or getattr(X, "shape", None) == (0,):
        raise InvalidInput("X", legal, "no bag", "Give at least one bag.")
    first = X[0] if isinstance(X, list | tuple) else X
    while isinstance(first, list | tuple) and first:
        first = first[0]
    if isinstance(first, str | bytes):
        remedy = "Embed texts first, so that each token is a vector of numbers."
        raise InvalidInput("X", legal, type(first).__name__, remedy)


def refuse_masked(name: str, values: Any, remedy: str = "Leave these bags out.") -> None:
    """Raise `InvalidInput` for masked values, of which NumPy takes the hidden numbers.

    Also for a lazy frame of polars, which has no values yet.
    """
    if type(values).__name__ == "LazyFrame":
        raise InvalidInput(name, "a frame with its rows", "a LazyFrame", f"Give {name}.collect().")
    if isinstance(values, list | tuple):
        for one in values:
            if isinstance(one, list | tuple | np.ma.MaskedArray):
                refuse_masked(name, one, remedy)
    elif np.ma.is_masked(values):
        got = f"{np.ma.count_masked(values)} masked"
        raise InvalidInput(name, "an array without masked values", got, remedy)


def check_columns(name: str, frame: Any) -> None:
    """Raise `InvalidInput` if a frame has two columns of one name."""
    names = names_of_columns(frame) or ()
    if len(set(names)) < len(names):
        twice = next(column for column in names if names.count(column) > 1)
        raise InvalidInput(name, "with columns of different names", f"several named {twice}")


def names_of_columns(frame: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a frame as texts, None for what has none."""
    return tuple(map(str, _columns(frame))) or None


def _columns(frame: Any) -> Sequence[Any]:
    """Return what a frame calls its columns, fields or, of pyarrow, column names."""
    for name in ("column_names", "columns", "feature_names"):
        if (found := getattr(frame, name, None)) is not None:
            return tuple(found)
    return getattr(getattr(frame, "dtype", None), "names", None) or ()


def is_list_of_bags(X: Any) -> bool:
    """Whether X is a list or an object array of arrays, each a bag of its own."""
    if isinstance(X, np.ndarray):
        line = X.dtype == object and X.size > 0 and X.size == max(X.shape, default=0)
        return line and _depth(X.flat[0]) >= 2
    listed = isinstance(X, Sequence) and not isinstance(X, str | bytes)
    return listed and len(X) > 0 and any(_depth(bag) >= 2 for bag in X)


def _depth(value: Any) -> int:
    if isinstance(value, Cell):
        return 2
    if isinstance(value, str | bytes | bytearray):
        return 0
    try:
        fields = getattr(getattr(value, "dtype", None), "names", None) is not None
        return int(value.ndim) + fields if hasattr(value, "ndim") else np.ndim(value)
    except ValueError:  # a list of lists of unequal lengths
        return 2


def as_floats(X: Any, dtype: Any = None, name: str = "X") -> np.ndarray:
    """Return X as a C-contiguous array of float32 or float64.

    Raises
    ------
    InvalidInput
        If the values are complex or strings, or lists have unequal lengths.
    TypeError
        If values are not numbers.
    """
    refuse_masked(name, X, _MASK if name == "X" else "")
    legal = "an array of real numbers"
    if scipy.sparse.issparse(X):
        raise InvalidInput(name, legal, type(X).__name__, "Tokens are dense: use .toarray().")
    try:
        array = np.asarray(X)
        if array.dtype.names and all(
            array.dtype[field].kind in "biuf" for field in array.dtype.names
        ):
            array = structured_to_unstructured(array)  # as relational attributes of ARFF
        if array.dtype == object:
            array = array.astype(np.float64)
    except ValueError as error:
        if "sequence" in str(error):
            got, remedy = (
                f"{type(X).__name__} of arrays or lists",
                "Bags are a list of arrays (L_i, d).",
            )
            raise InvalidInput(name, legal, got, remedy) from None
        raise InvalidInput(name, legal, type(X).__name__, f"NumPy says: {error}") from None
    except OverflowError as error:  # such as integers beyond the largest float
        raise InvalidInput(name, legal, type(X).__name__, f"NumPy says: {error}") from None
    if array.dtype.names:
        remedy = f"Take the field of the bags, of {', '.join(array.dtype.names)}."
        raise InvalidInput(name, legal, "records of several kinds", remedy)
    if array.dtype.kind not in "biuf":
        raise InvalidInput(name, legal, f"dtype {array.dtype}")
    if dtype is None:
        small = array.dtype.kind == "f" and array.dtype.itemsize <= 4
        dtype = np.float32 if small else np.float64
    return np.asarray(array, dtype, order="C")


def _from_list(X: Sequence) -> Bags:
    values = list(X.ravel() if isinstance(X, np.ndarray) else X)
    arrays = [
        as_floats(bag.tokens if isinstance(bag, Cell) else bag, name=f"bag {i}")
        for i, bag in enumerate(values)
    ]
    # Models of slides keep (1, L, d), a batch of one.
    arrays = [bag[0] if bag.ndim == 3 and len(bag) == 1 else bag for bag in arrays]
    full = [i for i, bag in enumerate(arrays) if bag.size]
    for i, bag in enumerate(arrays):
        if bag.ndim == 2 and len(bag) and not bag.size:
            raise InvalidInput(f"bag {i}", "of d >= 1 columns", f"shape {bag.shape}")
    for i in full:
        if arrays[i].ndim != 2:
            raise InvalidInput(f"bag {i}", "of shape (tokens, d)", f"shape {arrays[i].shape}")
        d, of_first = arrays[i].shape[1], arrays[full[0]].shape[1]
        if d != of_first:
            raise InvalidInput(f"bag {i}", f"of d = {of_first}, as bag {full[0]}", f"d = {d}")
    names = _align({i: known for i in full if (known := names_of_columns(values[i]))}, arrays)
    # Without any token, what an array of shape (0, d) says of d.
    shown = [arrays[i] for i in full] or [next(bag for bag in arrays if bag.ndim > 1)[:0]]
    sizes = np.array([len(bag) if bag.size else 0 for bag in arrays])
    every = all(names_of_columns(values[i]) for i in full)  # arrays have no names
    return Bags(np.concatenate(shown), offsets_of(sizes), names if every else None)


def _align(named: dict[int, tuple[str, ...]], arrays: list[np.ndarray]) -> tuple[str, ...] | None:
    """Put the columns of frames into the order of the first one, and return its names."""
    first, order = next(iter(named.items()), (0, None))
    for i, names in named.items():
        if order is None or names == order:
            continue
        if strange := sorted(set(names) ^ set(order)):
            got = f"others: {', '.join(strange[:8])}"
            raise InvalidInput(f"bag {i}", f"of the columns of bag {first}", got)
        arrays[i] = arrays[i][:, [names.index(name) for name in order]]
    return order


def _three_dimensional(array: np.ndarray, n_tokens: int | None) -> np.ndarray:
    if array.ndim not in (2, 3):
        legal = "an array of shape (n, L, d) or (n, d), or a list of arrays of shape (L_i, d)"
        raise InvalidInput("X", legal, f"shape {array.shape}")
    if not (len(array) and array.shape[-1] and (array.ndim == 3 or array.size)):
        raise InvalidInput("X", "at least one bag of one token of d >= 1", f"shape {array.shape}")
    if array.ndim == 3 and n_tokens is not None:
        raise InvalidInput("n_tokens", "None for an array of shape (n, L, d)", n_tokens)
    if array.ndim == 3:
        return array
    n, columns = array.shape
    L = 1 if n_tokens is None else integer("n_tokens", n_tokens, 1)
    if columns % L:
        raise InvalidInput("n_tokens", f"a divisor of the {columns} columns of X", n_tokens)
    return array.reshape(n, L, columns // L)


def _checked_mask(mask: Any, n: int, L: int) -> Bool[np.ndarray, "n L"]:
    legal = f"a bool array of shape ({n}, {L}), True where there is a token"
    refuse_masked("mask", mask, "Give mask.filled(False).")
    try:
        given = np.asarray(mask)
    except ValueError:
        raise InvalidInput("mask", legal, "rows of different lengths") from None
    if given.shape != (n, L):
        raise InvalidInput("mask", legal, f"shape {given.shape}")
    if given.dtype.kind not in "biu" or not np.isin(given, (0, 1)).all():
        raise InvalidInput("mask", legal, f"dtype {given.dtype} with other values than 0 and 1")
    return given.astype(bool, copy=False)


def check_finite(
    bags: Bags, mask: Bool[np.ndarray, "n L"] | None = None, file: Path | None = None
) -> None:
    """Refuse NaN and infinity.

    Raises
    ------
    InvalidInput
        With bag, token and column of the first such value, counted from 0: the token as in what
        was given with a mask, and no bag if it is that of a file.
    """
    if np.isfinite(bags.extremes).all():
        return
    for i, bag in enumerate(bags):
        for token, column in np.argwhere(~np.isfinite(bag)).tolist():
            at = token if mask is None else np.flatnonzero(mask[i])[token]
            name, place = ("X", f"bag {i}, ") if file is None else (f"FILE {file}", "")
            got = f"{bag[token, column]} at {place}token {at}, column {column}"
            raise InvalidInput(name, "finite (no NaN, no infinity)", got, "Count starts at 0.")
