"""Files that hold one bag each, as those of slides: which they are, and their tokens."""

from __future__ import annotations

import dataclasses
import glob
import io
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool

from sparsetoken.bags.array_files import ARRAYS, one_bag
from sparsetoken.bags.container import Bags, offsets_of, scratch
from sparsetoken.bags.convert import as_floats
from sparsetoken.bags.labels import composed, some
from sparsetoken.base.files import write_file
from sparsetoken.base.progress import progress_of
from sparsetoken.base.validation import InvalidInput

_ENDINGS = ", ".join(ARRAYS)


@dataclasses.dataclass(frozen=True)
class Slides:
    """Files with a bag each, of `sizes` tokens of one kind; one is in memory at a time.

    A token has `axes` coordinates, 0 where no file has any; names of arrays are as in `read`.
    """

    paths: list[Path]
    sizes: np.ndarray
    dimension: int
    dtype: np.dtype
    axes: int
    dataset: str
    coordinates: str | None

    @classmethod
    def of(cls, paths: list[Path], dataset: str, coordinates: str | None) -> Slides:
        """Compare the shapes of files, before anything is read whole."""
        sizes: list[int] = []
        first: dict[str, tuple[Any, Path]] = {}  # of tokens and of coordinates
        for path in paths:
            with one_bag(path, dataset, coordinates) as (array, places):
                sizes.append(array.shape[-2])
                dtype = as_floats(np.empty(0, np.dtype(array.dtype))).dtype
                kinds = {"tokens": (array.shape[-1], dtype)} if sizes[-1] else {}
                if places is not None:
                    kinds["coordinates"] = (places.shape[-1], np.dtype(float))
            for what, kind in kinds.items():
                other, of = first.setdefault(what, (kind, path))
                if other != kind:
                    legal = f"with {what} of d = {other[0]} and {other[1]}, as {of.name}"
                    raise InvalidInput(f"FILE {path}", legal, f"d = {kind[0]} and {kind[1]}")
        (dimension, dtype), _ = first.get("tokens", ((1, np.dtype(float)), None))
        (axes, _), _ = first.get("coordinates", ((0, None), None))
        return cls(paths, np.array(sizes), dimension, dtype, axes, dataset, coordinates)

    @property
    def offsets(self) -> np.ndarray:
        """Where bags begin and end."""
        return offsets_of(self.sizes)

    def __getitem__(self, places: Sequence[int]) -> Slides:
        paths = [self.paths[i] for i in places]
        return dataclasses.replace(self, paths=paths, sizes=self.sizes[list(places)])

    def each(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield tokens and coordinates of each file, NaN where it has none."""
        with progress_of("files", len(self.paths)) as done:
            for path, L in zip(self.paths, self.sizes.tolist(), strict=True):
                with one_bag(path, self.dataset, self.coordinates) as (array, places):
                    tokens = as_floats(array[...]).reshape(array.shape[-2:])
                    where = np.full((L, self.axes), np.nan)
                    if places is not None and self.axes:
                        where = np.asarray(places[...], float).reshape(places.shape[-2:])
                yield tokens.reshape(L, self.dimension), where
                done()

    @property
    def finite(self) -> Bool[np.ndarray, " n"]:
        """Whether the tokens of each file, which are read, are finite."""
        return np.array([bool(np.isfinite(tokens).all()) for tokens, _ in self.each()])

    def read(self, into: Path | None = None) -> Bags:
        """Return the bags over a file `tokens.npy` in a folder, else in memory.

        Large ones that get no folder are in a temporary file.

        Raises
        ------
        InvalidInput
            If values are NaN or infinite.
        """
        N = int(self.sizes.sum())
        places, start = np.empty((N, self.axes)), 0
        bad: list[str] = []

        def tokens_of_each() -> Iterator[np.ndarray]:
            nonlocal start
            for path, (bag, where) in zip(self.paths, self.each(), strict=True):
                places[start : start + len(bag)] = where
                start += len(bag)
                bad.extend([] if np.isfinite(bag).all() else [path.name])
                yield bag

        if into is None:
            tokens = scratch((N, self.dimension), self.dtype)
            for bag in tokens_of_each():
                tokens[start - len(bag) : start] = bag
        else:
            size, free = N * self.dimension * self.dtype.itemsize, shutil.disk_usage(into).free
            if size > free:
                legal = f"on a disk with {size / 1e9:.3g} GB free, the size of the tokens"
                raise InvalidInput("to", legal, f"{free / 1e9:.3g} GB")
            parts = npy((N, self.dimension), self.dtype, tokens_of_each())
            write_file(into / "tokens.npy", parts)
            tokens = np.load(into / "tokens.npy", mmap_mode="r")
        if bad:
            got, remedy = f"NaN or infinity in {some(bad)}", "skip_invalid=True leaves such out."
            raise InvalidInput("FILE", "of finite tokens", got, remedy)
        return Bags(tokens, self.offsets, coordinates=places if self.axes else None)


def files_of(source: Any) -> tuple[list[Path], np.ndarray]:
    """Return the files of a folder, a pattern or a list, and their ids.

    An id is the path below the folder that all are in, without the ending.
    """
    if isinstance(source, list | tuple):
        paths = [Path(path) for path in source]
    elif Path(source).is_dir():
        inside = [path.relative_to(source) for path in sorted(Path(source).rglob("*"))]
        seen = [path for path in inside if not any(part[0] == "." for part in path.parts)]
        paths = [Path(source) / path for path in seen if path.suffix.lower() in ARRAYS]
    else:
        found = [Path(source)] if Path(source).exists() else []
        paths = found or [Path(path) for path in sorted(glob.glob(str(source), recursive=True))]
    endings = sorted({path.suffix.lower() for path in paths})
    gone = [str(path) for path in paths if not path.exists()]
    if len(endings) != 1 or endings[0] not in ARRAYS or gone:
        got = f"{some(gone)}, not there" if gone else f"files {', '.join(endings)}"
        legal = f"one with files of one ending, of {_ENDINGS}"
        remedy = f'Give "{source}/**/*{endings[0]}".' if len(endings) > 1 and not gone else ""
        raise InvalidInput(f"FILE {source}", legal, got if paths else "none", remedy)
    top = Path(source) if isinstance(source, str | Path) and Path(source).is_dir() else None
    top = top or Path(os.path.commonpath([path.absolute().parent for path in paths]))
    below = [path.absolute().relative_to(top.absolute()).with_suffix("") for path in paths]
    ids = [composed(path.as_posix()) for path in below]
    once, count = Counter(ids).most_common(1)[0]
    if count > 1:
        raise InvalidInput(f"FILE {source}", "with each file once", f"several files {once}")
    return paths, np.array(ids)


def npy(
    shape: tuple[int, ...], dtype: np.dtype, parts: Iterable[np.ndarray]
) -> Iterator[bytes | memoryview]:
    """Yield a .npy file of an array that is given in parts: `np.save` would not tell all errors."""
    header = io.BytesIO()
    words = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, words)
    yield header.getvalue()
    for part in parts:
        yield np.ascontiguousarray(part, dtype).reshape(-1).view(np.uint8).data
