"""The folder of a report: files written whole, and pieces of work kept, so that a run resumes."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

from sparsetoken.base.files import written_whole
from sparsetoken.base.validation import InvalidInput, one_line
from sparsetoken.experiments.core.experiment import Piece
from sparsetoken.experiments.core.rows import Rows, from_json, to_json
from sparsetoken.work import Done, RunStopped, completed, timed

COMPUTE = ("python", "numpy", "scipy", "jax")
WORK = "work"
"""The folder of the kept pieces of work."""

REMEDY = "Choose another with --out."


def writable_folder(out: str | os.PathLike[str], files: Iterable[str]) -> Path:
    """Return the folder, made if need be, in which files of these names can be written."""
    if not os.fspath(out):
        raise InvalidInput("out", "the name of a folder", "", "Give one with --out; . is this one.")
    folder = Path(out)
    with explained(out):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    for name in files:
        if (folder / name).is_dir():
            raise InvalidInput("out", f"a folder where {name} is no folder", str(out), REMEDY)
    if (folder / WORK).exists() and not (folder / WORK).is_dir():
        raise InvalidInput("out", f"a folder where {WORK} is a folder", str(out), REMEDY)
    with explained(folder / WORK):
        (folder / WORK).mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=folder / WORK):
            pass
    return folder


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write temporary files, then move them: a full disk leaves the old report intact."""
    with (
        explained(folder),
        tempfile.TemporaryDirectory(dir=folder, prefix=".unfinished-") as aside,
    ):
        for name, content in files.items():
            (Path(aside) / name).parent.mkdir(exist_ok=True)
            (Path(aside) / name).write_bytes(content)
        for name in files:
            (folder / name).parent.mkdir(exist_ok=True)
            os.replace(Path(aside) / name, folder / name)


@contextlib.contextmanager
def explained(out: str | os.PathLike[str]) -> Iterator[None]:
    """Turn the refusal of the system to write into `InvalidInput`."""
    try:
        yield
    except OSError as error:
        remedy = f"({error.strerror}). {REMEDY}" if error.strerror else REMEDY
        raise InvalidInput("out", "a folder that can be written", str(out), remedy) from None


class Kept(NamedTuple):
    """The result of a piece of work, with the versions, host and kernels of its environment."""

    rows: Rows
    seconds: float
    environment: dict[str, str]


class Finished(NamedTuple):
    """The results of all pieces in order, and the numbers of stored and damaged ones."""

    kept: list[Kept]
    resumed: int
    damaged: int


def finish(
    folder: Path,
    pieces: Sequence[Piece],
    executor: Executor | None,
    width: int,
    tell: Callable[[Sequence[tuple[str, int, int]]], None],
) -> Finished:
    """Do the work missing from the folder, most expensive first, and store its results.

    Equal pieces are done once; nothing is locked, so that two runs at once do some work twice.
    The keys of the pieces that were kept are told, and those of each one that ends. An error of a
    piece is raised as `RunStopped` when the others are done.
    """
    kept: dict[tuple[str, int, int], Kept] = {}
    distinct = {piece.key: piece for piece in pieces}
    damaged = 0
    for piece in distinct.values():
        try:
            kept[piece.key] = _read(folder, piece)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            damaged += 1
    tell(list(kept))
    resumed, fallen = len(kept), ""
    left = sorted((p for p in distinct.values() if p.key not in kept), key=lambda p: -p.cost)
    for piece, done in completed(functools.partial(timed, _outcome), left, executor, width):
        found = done.result if isinstance(done, Done) else str(done)
        if isinstance(done, Done) and isinstance(found, Rows):
            kept[piece.key] = Kept(found, done.seconds, json.loads(done.environment))
            _write(folder, piece, kept[piece.key])
        else:
            fallen = fallen or f"{piece.name} has no result. {found}"
        tell([piece.key])
    if fallen:
        raise RunStopped(fallen)
    return Finished([kept[piece.key] for piece in pieces], resumed, damaged)


def _outcome(piece: Piece) -> Rows | str:
    """Return the rows of a piece, or the error that it raises."""
    try:
        rows = Rows(piece.run())
        json.dumps(to_json(rows))  # what no file can hold is an error of the piece
    except Exception as error:
        return one_line(error)[:LONGEST_MESSAGE]
    return rows


LONGEST_MESSAGE = 2000


def _path(folder: Path, piece: Piece) -> Path:
    short = re.sub(r"\W+", "-", piece.work.__name__).strip("-")[:40]
    return folder / f"{short}-{_digest(piece.key)}.json"


def _digest(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=16).hexdigest()


def _write(folder: Path, piece: Piece, kept: Kept) -> None:
    content = {"key": piece.key, **kept._asdict(), "rows": to_json(kept.rows)}
    text = json.dumps(content | {"checksum": _digest(content)})
    with explained(folder), written_whole(_path(folder, piece)) as path:
        path.write_text(text, encoding="utf-8")


def _read(folder: Path, piece: Piece) -> Kept:
    """Return the stored result of a piece, or raise an error if missing, damaged or foreign."""
    content = dict(json.loads(_path(folder, piece).read_bytes()))
    checksum = content.pop("checksum")
    if content["key"] != list(piece.key) or checksum != _digest(content):
        raise ValueError("damaged, or of another piece of work")
    return Kept(from_json(content["rows"]), content["seconds"], content["environment"])


def computed_with(kept: Iterable[Kept]) -> str:
    """Return environment and duration of the stored pieces of work, from their files."""
    seconds: dict[str, list[float]] = {}
    for one in kept:
        seconds.setdefault(_told(one.environment), []).append(one.seconds)
    return "; ".join(
        f"{len(some)} piece{'s' * (len(some) != 1)} of work, "
        f"{sum(some) / 60:.1f} min one after another: {told}"
        for told, some in seconds.items()
    )


def _told(environment: Mapping[str, str]) -> str:
    """Return versions, kernels and machine; older files do not know all of them."""
    known = [f"{name} {environment[name]}" for name in COMPUTE if name in environment]
    known += [environment[name] for name in ("linear algebra", "system") if name in environment]
    return " ".join([", ".join(known), environment.get("machine", "")]).strip() or "not known"
