"""Files that hold one bag each: which they are, their shapes, and their tokens."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.bags.arrays import READERS, one_bag
from sparsetoken.bags.container import Bags, offsets_of, scratch
from sparsetoken.bags.convert import as_floats, check_finite
from sparsetoken.bags.keys import composed
from sparsetoken.bags.labels import some
from sparsetoken.base.progress import progress_of
from sparsetoken.base.validation import InvalidInput

ENDINGS = tuple(READERS)
_ENDINGS = ", ".join(ENDINGS)


@dataclasses.dataclass(frozen=True)
class Slides:
    """Files with a bag each, whose tokens are alike; one is in memory at a time.

    Attributes
    ----------
    paths : list of Path
    sizes : list of int
        How many tokens each file has.
    dimension, dtype : int, dtype
        Of their tokens.
    axes : int
        Coordinates of a token, 0 where no file has any.
    """

    paths: list[Path]
    sizes: list[int]
    dimension: int
    dtype: np.dtype
    axes: int
    dataset: str = ""
    named_places: str | None = ""

    @classmethod
    def of(cls, paths: list[Path], dataset: str, coordinates: str | None) -> Slides:
        """Compare the shapes of files, before anything is read whole."""
        sizes: list[int] = []
        kinds: list[tuple[int, np.dtype]] = []
        axes: dict[int, Path] = {}
        for path in paths:
            with one_bag(path, dataset, coordinates) as (array, places):
                L, d = array.shape[-2:]
                empty = np.empty(0, np.dtype(array.dtype))
                kinds.append((d, as_floats(empty).dtype))
                if places is not None:
                    axes.setdefault(places.shape[-1], path)
            if kinds[-1] != kinds[0]:
                legal = "of d = {} and {}".format(*kinds[0]) + f", as {paths[0].name}"
                got = "d = {} and {}".format(*kinds[-1])
                raise InvalidInput(f"FILE {path}", legal, got, "All bags have tokens of one kind.")
            sizes.append(L)
        if len(axes) > 1:
            (k, first), (other, path) = list(axes.items())[:2]
            legal = f"with {k} coordinates for each token, as {first.name}"
            remedy = "{} names the array of coordinates."
            raise InvalidInput(f"FILE {path}", legal, other, remedy, "coordinates=")
        return cls(paths, sizes, *kinds[0], next(iter(axes), 0), dataset, coordinates)

    @property
    def ids(self) -> np.ndarray:
        """The names of the files without their endings."""
        return np.array([composed(path.stem) for path in self.paths])

    @property
    def offsets(self) -> np.ndarray:
        """Where bags begin and end."""
        return offsets_of(np.array(self.sizes))

    def each(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield tokens and coordinates of each file, NaN where it has none."""
        with progress_of("files", len(self.paths)) as done:
            for path, L in zip(self.paths, self.sizes, strict=True):
                yield self._read(path, L)
                done()

    def _read(self, path: Path, L: int) -> tuple[np.ndarray, np.ndarray]:
        with one_bag(path, self.dataset, self.named_places) as (array, places):
            tokens = as_floats(array[...]).reshape(array.shape[-2:])
            where = np.full((L, self.axes), np.nan)
            if places is not None:
                where = np.asarray(places[...], float).reshape(places.shape[-2:])
        if (tokens.shape, tokens.dtype) != (shape := (L, self.dimension), self.dtype):
            got = f"{tokens.dtype} of shape {tokens.shape}"
            legal = f"as it was before: {self.dtype} of shape {shape}"
            raise InvalidInput(f"FILE {path}", legal, got)
        check_finite(Bags(tokens, np.array([0, len(tokens)])), file=path)
        return tokens, where

    def read(self) -> Bags:
        """Return the bags; large ones are in a temporary file, not in memory."""
        offsets = self.offsets
        tokens = scratch((int(offsets[-1]), self.dimension), self.dtype)
        places = np.empty((len(tokens), self.axes))
        for start, (bag, where) in zip(offsets.tolist(), self.each(), strict=False):
            tokens[start : start + len(bag)] = bag
            places[start : start + len(bag)] = where
        return Bags(tokens, offsets, coordinates=places if self.axes else None)


def files_of(files: str | Path | Iterable[str | Path], name: str = "files") -> list[Path]:
    """Return the files of a folder, or those that are listed, of different names.

    Messages call them by the name.
    """
    listed: Any = files
    if isinstance(files, str | Path):
        folder, listed = Path(files), [files]
        if folder.suffix.lower() not in ENDINGS or folder.is_dir():
            listed = _inside(folder, name)
    paths = [Path(path) for path in listed]
    if not paths:
        raise InvalidInput(name, "at least one path", "none")
    for path in paths:
        if path.suffix.lower() not in ENDINGS or not path.exists():
            got = f"{path}" if path.exists() else f"{path}, which is not there"
            raise InvalidInput(name, f"paths that end in {_ENDINGS}", got)
    once, count = Counter(composed(path.stem) for path in paths).most_common(1)[0]
    if count > 1:
        got = f"several files {once}"
        raise InvalidInput(name, "of different names without their endings", got)
    return paths


def _inside(folder: Path, name: str) -> list[Path]:
    if not folder.is_dir():
        raise InvalidInput(name, "a folder that is there, or paths", str(folder))
    inside = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    bags = [path for path in inside if path.suffix.lower() in ENDINGS]
    if not bags:
        held = some([path.name for path in inside]) or "nothing"
        below = [path.name for path in inside if path.is_dir()]
        remedy = f"Give the folder {folder / below[0]}, if it has them." if below else ""
        legal = f"a folder with files that end in {_ENDINGS}"
        raise InvalidInput(name, legal, f"the folder {folder} with {held}", remedy)
    return bags
