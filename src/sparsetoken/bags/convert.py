"""Arrays, padded arrays and lists of arrays as `Bags`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from jaxtyping import Bool

from sparsetoken.bags.container import Bags, Cell, offsets_of
from sparsetoken.base.validation import InvalidInput, refuse_masked


def as_bags(X: Any, mask: Any = None, *, empty: bool = False) -> Bags:
    """Return bags of embeddings in any form as `Bags`.

    Float32 and float64 are kept, float16 becomes float32, all else float64. Where nothing has
    to change, nothing is copied.

    Parameters
    ----------
    X : Bags, array or list
        - array of shape (n, L, d): n bags of L tokens, or fewer where `mask` says so;
        - list or object array of n arrays of shape (L_i, d) or (1, L_i, d), or of frames with the
          same columns;
        - array of shape (n, d): one token in each bag;
        - Bags, or what `Bags.to_column` makes of them.
    mask : bool array of shape (n, L), optional
        True (or 1) where there is a token, False (or 0) where there is padding. Values of
        padding are never read. Without a mask, every token counts, also one of zeros.
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
    bags, mask = unchecked(X, mask)
    if not empty:
        check_nonempty(bags)
    check_finite(bags, mask)
    return bags


def unchecked(X: Any, mask: Any = None) -> tuple[Bags, Any]:
    """Return bags, of which some may be without a token or not finite, and the mask."""
    if scipy.sparse.issparse(X):
        raise TypeError("X is sparse; bags are dense. Use X.toarray().")
    if isinstance(X, Bags) or is_list_of_bags(X):
        if mask is not None:
            remedy = "The bags already say which tokens they have."
            raise InvalidInput("mask", "None for ragged bags", type(mask).__name__, remedy)
        if not isinstance(X, Bags):
            return _from_list(X), None
        # New bags, whose values are looked at again: they may have changed in place.
        return X.with_tokens(X.tokens, X.feature_names), None
    array = _three_dimensional(as_floats(X))
    n, L, d = array.shape
    mask = np.ones((n, L), bool) if mask is None else _checked_mask(mask, n, L)
    tokens = array.reshape(n * L, d) if mask.all() else array[mask]
    return Bags(tokens, offsets_of(mask.sum(axis=1)), names_of_columns(X)), mask


def check_nonempty(bags: Bags) -> None:
    """Raise `InvalidInput` if a bag has no token."""
    if not bags.sizes.all():
        at = int(bags.sizes.argmin())
        raise InvalidInput(
            f"bag {at}", "of at least one token", "no token", "Leave empty bags out."
        )


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
        return X.dtype == object and X.size > 0 and _depth(X.flat[0]) >= 2
    return isinstance(X, list | tuple) and any(_depth(bag) >= 2 for bag in X)


def _depth(value: Any) -> int:
    if isinstance(value, Cell):
        return 2
    try:
        return int(value.ndim) if hasattr(value, "ndim") else np.ndim(value)
    except ValueError:  # a list of lists of unequal lengths
        return 2


def as_floats(X: Any, dtype: Any = None, name: str = "X") -> np.ndarray:
    """Return X as a C-contiguous array of float32 or float64.

    Raises
    ------
    InvalidInput
        If values are masked, complex or texts, or lists have unequal lengths.
    TypeError
        If values are not numbers.
    """
    refuse_masked(name, X)
    legal = "an array of real numbers"
    try:
        array = np.asarray(X)
        if array.dtype == object:
            array = array.astype(np.float64)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(name, legal, type(X).__name__, f"NumPy says: {error}") from None
    if array.dtype.kind not in "biuf":
        raise InvalidInput(name, legal, f"dtype {array.dtype}")
    if dtype is None:
        small = array.dtype.kind == "f" and array.dtype.itemsize <= 4
        dtype = np.float32 if small else np.float64
    return np.asarray(array, dtype, order="C")


def _from_list(X: Any) -> Bags:
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
    known = {i: names for i in full if (names := names_of_columns(values[i]))}
    first = next(iter(known.values()), ())
    for i, names in known.items():
        if names != first:
            legal = f"of the columns {', '.join(first)}, in this order"
            raise InvalidInput(f"bag {i}", legal, ", ".join(names), "Take frame[columns] of each.")
    # Without any token, what an array of shape (0, d) says of d.
    shown = [arrays[i] for i in full] or [next(bag for bag in arrays if bag.ndim > 1)[:0]]
    sizes = np.array([len(bag) if bag.size else 0 for bag in arrays])
    names = first if len(known) == len(full) else ()  # arrays have no names
    return Bags(np.concatenate(shown), offsets_of(sizes), names or None)


def _three_dimensional(array: np.ndarray) -> np.ndarray:
    if array.ndim not in (2, 3):
        legal = "an array of shape (n, L, d) or (n, d), or a list of arrays of shape (L_i, d)"
        raise InvalidInput("X", legal, f"shape {array.shape}")
    if not (len(array) and array.shape[-1]):
        raise InvalidInput("X", "at least one bag of one token of d >= 1", f"shape {array.shape}")
    return array if array.ndim == 3 else array[:, None]


def _checked_mask(mask: Any, n: int, L: int) -> Bool[np.ndarray, "n L"]:
    legal = f"a bool array of shape ({n}, {L}), True where there is a token"
    refuse_masked("mask", mask)
    try:
        given = np.asarray(mask)
    except ValueError:
        raise InvalidInput("mask", legal, "rows of different lengths") from None
    if given.shape != (n, L):
        raise InvalidInput("mask", legal, f"shape {given.shape}")
    if given.dtype.kind not in "biu" or not np.isin(given, (0, 1)).all():
        raise InvalidInput("mask", legal, f"dtype {given.dtype} with other values than 0 and 1")
    return given.astype(bool, copy=False)


def check_finite(bags: Bags, mask: Bool[np.ndarray, "n L"] | None = None) -> None:
    """Refuse NaN and infinity.

    Raises
    ------
    InvalidInput
        With bag, token and column of the first such value, counted from 0: the token as in what
        was given with a mask.
    """
    if np.isfinite(bags.extremes).all():
        return
    for i, bag in enumerate(bags):
        for token, column in np.argwhere(~np.isfinite(bag)).tolist():
            at = token if mask is None else np.flatnonzero(mask[i])[token]
            got = f"{bag[token, column]} at bag {i}, token {at}, column {column}"
            raise InvalidInput("X", "finite (no NaN, no infinity)", got, "Count starts at 0.")
