"""Saved pieces of work, a file for each, so that an interrupted run resumes."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

from sparsetoken.experiments.core.experiment import Piece
from sparsetoken.experiments.core.rows import Rows, from_json, to_json
from sparsetoken.files import written_whole
from sparsetoken.numerics.threads import one_thread
from sparsetoken.report.files import explained
from sparsetoken.workers import RunStopped, completed, environment, peak_memory


class Kept(NamedTuple):
    """The result of a piece of work.

    Attributes
    ----------
    rows : Rows
    seconds : float
    environment : dict
        What it was computed with: versions, host and kernels by name.
    """

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
    tell: Callable[[Iterable[tuple[str, int, int]]], None],
) -> Finished:
    """Do the work missing from the folder, most expensive first, and store its results.

    Parameters
    ----------
    folder : Path
        Nothing is locked: two runs at once do some work twice.
    pieces : sequence of Piece
        Equal ones are done once.
    executor, width
        As of `completed`.
    tell : callable
        Called with the keys of the pieces that were kept, and of each one that ends.

    Raises
    ------
    RunStopped
        If a piece raises an error, or its worker dies three times; the others are done first.
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
    for piece, outcome in completed(_outcome, left, executor, width):
        found = outcome.found if isinstance(outcome, _Outcome) else str(outcome)
        if isinstance(found, Kept):
            _write(folder, piece, found)
            kept[piece.key] = found
        else:
            fallen = fallen or f"{piece.name} has no result. {found}"
        tell([piece.key])
    if fallen:
        raise RunStopped(fallen)
    return Finished([kept[piece.key] for piece in pieces], resumed, damaged)


class _Outcome(NamedTuple):
    """The result of a piece or its error, and the peak memory of its process."""

    found: Kept | str
    memory: int


def _outcome(piece: Piece) -> _Outcome:
    start = time.perf_counter()
    try:
        with one_thread():
            rows = Rows(piece.run())
        json.dumps(to_json(rows))  # what no file can hold is an error of the piece
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST_MESSAGE]
        return _Outcome(text, peak_memory())
    seconds = time.perf_counter() - start
    return _Outcome(Kept(rows, seconds, json.loads(environment())), peak_memory())


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
