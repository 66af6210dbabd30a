"""Bags of embeddings: one flat array of tokens, and where each bag begins."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import mmap
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, SupportsIndex, overload

import numpy as np
from jaxtyping import Bool, Float, Int

from sparsetoken.base.validation import InvalidInput

MOST_AXES = 4  # coordinates of a corner, or of a box
_CHUNK = 1 << 18  # values looked at together: they stay in the cache of the processor
_LARGE = 1 << 26  # bytes from which a copy of a memory map goes to a file


NEED_TABLES = (
    "OneVsOneClassifier and chains work on numbers of a table: OneVsRestClassifier, "
    "MultiOutputClassifier and MultiOutputRegressor take bags."
)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Bags:
    """Bags of tokens of any sizes, without padding.

    `as_bags` and `from_long` make them, and check the values. An int picks one bag as a view
    of shape (L_i, d); a slice, an array of ints or a boolean array picks several as new
    `Bags`: a slice as a view, else copied. Copies of tokens in a memory map are in a temporary
    file. Functions of scikit-learn that split data, such as ``cross_validate``, take them.

    Parameters
    ----------
    tokens : float32 or float64 array of shape (N, d), C-contiguous
        The tokens of all bags, one bag after the other.
    offsets : int array of shape (n + 1,)
        Bag i is rows offsets[i] to offsets[i+1]; from 0 to N, never falling. Only what
        predicts takes bags without a token.
    feature_names : sequence of d str, optional
        Names of the columns of the tokens, all different. Estimators keep those of the bags that
        they are fitted to, and find the columns of other bags by them.
    coordinates : array of shape (N, k), 1 <= k <= 4, optional
        Where each token lies, such as the corner of a patch in a slide (k = 2); NaN where that is
        not known. No estimator reads them: they are kept for maps and tables of tokens.

    Raises
    ------
    InvalidInput
        If the arrays are not of these kinds.

    See Also
    --------
    as_bags : Bags from an array or a list of arrays.
    read : Bags from a file.

    Examples
    --------
    >>> import sparsetoken as st
    >>> import numpy as np
    >>> from sparsetoken.bags import as_bags
    >>> bags = as_bags([np.zeros((3, 2)), np.ones((1, 2))])
    >>> len(bags), bags[0].shape, len(bags[1:])
    (2, (3, 2), 1)
    """

    tokens: Float[np.ndarray, "N d"]
    offsets: Int[np.ndarray, " bounds"]
    feature_names: Sequence[str] | None = None
    coordinates: Float[np.ndarray, "N k"] | None = None

    def __post_init__(self) -> None:
        tokens, offsets = self.tokens, np.asarray(self.offsets)
        kind = isinstance(tokens, np.ndarray) and tokens.dtype in (np.float32, np.float64)
        if not (kind and tokens.ndim == 2 and tokens.flags.c_contiguous):
            legal = "a C-contiguous float32 or float64 array of shape (N, d)"
            remedy = "as_bags makes bags of other arrays."
            raise InvalidInput("tokens", legal, _kind_of(tokens), remedy)
        whole = offsets.dtype.kind in "iu" and offsets.ndim == 1 and offsets.size > 0
        rising = whole and (offsets[1:] >= offsets[:-1]).all()
        if not rising or (offsets[0], offsets[-1]) != (0, len(tokens)):
            legal = f"integers from 0 to the number of tokens, {len(tokens)}, that never fall"
            raise InvalidInput("offsets", legal, _kind_of(offsets))
        object.__setattr__(self, "offsets", offsets.astype(np.int64, copy=False))
        # A view of plain kind: what is computed from a memory map would be of its class.
        object.__setattr__(self, "tokens", tokens.view(np.ndarray))
        if self.feature_names is not None:
            object.__setattr__(self, "feature_names", self._checked_names())
        if self.coordinates is not None:
            object.__setattr__(self, "coordinates", self._checked_coordinates())

    def _checked_coordinates(self) -> np.ndarray:
        given = np.asarray(self.coordinates)
        rows = given.ndim == 2 and len(given) == len(self.tokens) and given.dtype.kind in "iuf"
        if not rows or not 1 <= given.shape[1] <= MOST_AXES:
            legal = f"numbers of shape ({len(self.tokens)}, k), a row for each token, k <= 4"
            raise InvalidInput("coordinates", legal, _kind_of(given))
        return given.astype(np.float64, copy=False)

    def _checked_names(self) -> tuple[str, ...]:
        names, d = self.feature_names, self.dimension
        listed = () if isinstance(names, str) or not isinstance(names, Iterable) else tuple(names)
        texts = {str(name) for name in listed if isinstance(name, str)}
        if not len(listed) == len(texts) == d:
            raise InvalidInput("feature_names", f"{d} different texts", names)
        return tuple(map(str, listed))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def shape(self) -> tuple[int]:
        """The number of bags, as the shape (n,) of a sequence; scikit-learn asks for it."""
        return (len(self),)

    @property
    def dimension(self) -> int:
        """The dimension d of a token."""
        return self.tokens.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the tokens: float32 or float64."""
        return self.tokens.dtype

    @functools.cached_property
    def sizes(self) -> Int[np.ndarray, " n"]:
        """How many tokens each bag has."""
        return np.diff(self.offsets)

    @functools.cached_property
    def extremes(self) -> tuple[float, float]:
        """The least and the largest value, found in one pass; NaN if a value is NaN."""
        step = max(1, _CHUNK // max(1, self.dimension))
        parts = (self.tokens[a : a + step] for a in range(0, len(self.tokens), step))
        ends = [(float(part.min()), float(part.max())) for part in parts]
        least, most = np.reshape(ends, (-1, 2)).T
        return float(least.min(initial=np.inf)), float(most.max(initial=-np.inf))

    @property
    def nonempty(self) -> Bags:
        """The bags that have a token, with the same array of tokens."""
        if self.sizes.all():
            return self
        return self._like(self.tokens, np.unique(self.offsets), self.coordinates)

    @property
    def common_size(self) -> int | None:
        """The size that all bags have, or None if sizes differ or there is no bag."""
        alike = len(self) > 0 and self.sizes.min() == self.sizes.max()
        return int(self.sizes[0]) if alike else None

    def __repr__(self) -> str:
        least, most = (self.sizes.min(), self.sizes.max()) if len(self) else (0, 0)
        sizes = f"{least}" if least == most else f"{least} to {most}"
        return f"Bags({len(self)} bags of {sizes} tokens, d = {self.dimension}, {self.dtype})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError(
            "Bags are not a table. A transformer of tables, such as StandardScaler, goes into "
            "TokenTransformer(StandardScaler()), which applies it to each token. BagPooling makes "
            "a row of each bag, to_array() pads, and to_column() is for tools that only hand "
            f"tables on, such as BaggingClassifier. {NEED_TABLES}"
        )

    def __iter__(self) -> Iterator[np.ndarray]:
        bounds = self.offsets.tolist()
        return (self.tokens[a:b] for a, b in itertools.pairwise(bounds))

    @overload
    def __getitem__(self, key: SupportsIndex) -> np.ndarray: ...
    @overload
    def __getitem__(self, key: Any) -> Bags: ...
    def __getitem__(self, key: Any) -> np.ndarray | Bags:
        picked = np.arange(len(self))[key]  # NumPy's own rules and errors
        if picked.ndim == 0:
            return self.tokens[self.offsets[picked] : self.offsets[picked + 1]]
        if picked.ndim != 1:
            raise IndexError("bags are picked by an int, a slice or a one-dimensional array")
        # scikit-learn asks for bags[key, ...]
        first = key[0] if isinstance(key, tuple) and key else key
        if isinstance(first, slice) and first.step in (None, 1) and picked.size:
            return self._run(picked[0], picked[-1] + 1)
        return self._gather(picked)

    def _run(self, first: int, stop: int) -> Bags:
        """Return the bags from `first` to before `stop`, as a view."""
        offsets = self.offsets[first : stop + 1]
        rows = slice(offsets[0], offsets[-1])
        return self._like(self.tokens[rows], offsets - offsets[0], self._places(rows))

    def _gather(self, picked: np.ndarray) -> Bags:
        sizes = self.sizes[picked]
        offsets = offsets_of(sizes)
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[picked] - offsets[:-1], sizes)
        if is_mapped(self.tokens):
            tokens = scratch((int(offsets[-1]), self.dimension), self.dtype)
            for start, bag in zip(offsets.tolist(), picked.tolist(), strict=False):
                tokens[start : start + len(self[bag])] = self[bag]
            return self._like(tokens, offsets, self._places(rows))
        return self._like(self.tokens.take(rows, axis=0), offsets, self._places(rows))

    def _places(self, rows: Any) -> np.ndarray | None:
        return None if self.coordinates is None else self.coordinates[rows]

    def _like(self, tokens: np.ndarray, offsets: np.ndarray, places: np.ndarray | None) -> Bags:
        return Bags(tokens, offsets, self.feature_names, places)

    def with_tokens(
        self, tokens: Float[np.ndarray, "N k"], feature_names: Sequence[str] | None = None
    ) -> Bags:
        """Return bags of the same sizes and coordinates with other tokens, maybe named ones."""
        return Bags(tokens, self.offsets, feature_names, self.coordinates)

    def only(self, names: Sequence[str]) -> Bags:
        """Return bags with the columns of these names, in this order.

        Without names columns are numbered from 0, in texts.

        Raises
        ------
        InvalidInput
            If there is no such column.
        """
        known = tuple(self.feature_names or map(str, range(self.dimension)))
        if absent := [name for name in names if name not in known]:
            got = f"columns {', '.join(known[:8])}"
            raise InvalidInput("bags", f"with the column {absent[0]}", got)
        if tuple(names) == known:
            return self
        places = [known.index(name) for name in names]
        return self.with_tokens(self.tokens.take(places, axis=1), names)

    def equals(self, other: Bags) -> bool:
        """Whether both hold the same bags: the same sizes, values and dtype."""
        same = self.dtype == other.dtype and np.array_equal(self.offsets, other.offsets)
        return bool(same and np.array_equal(self.tokens, other.tokens))

    def to_column(self) -> np.ndarray:
        """Return a table of one column with a bag in each row, which all estimators here take.

        Tools of scikit-learn that insist on a table, such as ``BaggingClassifier`` and
        ``permutation_importance``, only hand its rows on.

        Returns
        -------
        object array of shape (n, 1)
            The attribute `tokens` of an entry is a bag, as a view.
        """
        column = np.empty((len(self), 1), dtype=object)
        for i, bag in enumerate(self):
            column[i, 0] = Cell(bag, self.feature_names)
        return column

    def to_array(self) -> tuple[Float[np.ndarray, "n L d"], Bool[np.ndarray, "n L"]]:
        """Return an array (n, L, d) of bags filled up with zeros, and a mask (n, L) of the tokens.

        If all bags have one size it is a view of the tokens.
        """
        n, d, L = len(self), self.dimension, int(self.sizes.max(initial=0))
        mask = np.arange(L) < self.sizes[:, None]
        if self.common_size is not None:
            return self.tokens.reshape(n, L, d), mask
        array = np.zeros((n, L, d), self.dtype)
        array[mask] = self.tokens
        return array, mask


@dataclasses.dataclass(frozen=True, eq=False)
class Cell:
    """A bag in a table. It is no sequence: NumPy would hide what is said of it as a number."""

    tokens: Float[np.ndarray, "L d"]
    feature_names: Sequence[str] | None = None

    def __float__(self) -> float:
        raise TypeError(f"This table holds bags, which are no numbers. {NEED_TABLES}")


def offsets_of(sizes: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n+1"]:
    """Return where bags of the given sizes begin, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def is_mapped(array: Any) -> bool:
    """Whether an array is a view of a memory map."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap)


def scratch(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an array to write to: a large one in a temporary file that ends with the array.

    What is picked from a memory map may not fit into memory either. Where the disk of temporary
    files (TMPDIR) has no room it is in memory.
    """
    size = math.prod(shape) * dtype.itemsize
    if size < _LARGE or shutil.disk_usage(tempfile.gettempdir()).free < size:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile() as file:
        file.truncate(size)
        # No np.memmap: joblib would look for the name of its file.
        return np.ndarray(shape, dtype, mmap.mmap(file.fileno(), size))


def _kind_of(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} array of shape {value.shape}"
    return type(value).__name__
