"""Kept results of calls, by key, in a folder of files that are written whole.

A file holds the results of one piece of work as JSON, and its name is a hash of its content. So
nothing is locked, a kill loses the pieces in flight, a damaged file is known for what it is, and
several runs may work in one folder. `sparsetoken sweep` and `reproduce` keep their work here.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from sparsetoken.base.validation import Failure
from sparsetoken.work.calls import WorkerDied, completed, timed
from sparsetoken.work.folder import Folder

LARGEST = 1 << 24
"""The largest size of a file in bytes; pieces of work have a thousandth to a tenth of it."""

LONGEST_ERROR = 2000
UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What JSON of another kind raises where it is read."""

_NAME = re.compile(r"[0-9a-f]{20}\.json")
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def canonical_text(value: Any) -> str:
    """Return a JSON value as text with sorted keys and no spaces."""
    return _ENCODER.encode(value)


def digest(content: str | bytes) -> str:
    """Return a hash of a text or of bytes, such as the key of the call that a text describes."""
    content = content.encode() if isinstance(content, str) else content
    return hashlib.blake2b(content, digest_size=10).hexdigest()


class Result(NamedTuple):
    """The value of a call, or the error that it ended with, and what its piece was computed with.

    The seconds are those of all calls of the piece.
    """

    value: Any = None
    error: str = ""
    seconds: float = 0.0
    environment: Mapping[str, str] = {}


class Known(NamedTuple):
    """The results of earlier runs by key, and the number of damaged files."""

    results: dict[str, Result]
    damaged: int


class Piece(Protocol):
    """Calls that are computed and kept together."""

    @property
    def keys(self) -> Iterable[str]:
        """The keys of the calls."""


Some = TypeVar("Some", bound=Piece)


class Kept:
    """The kept results of a folder.

    Parameters
    ----------
    folder : path, str or Folder
        A folder of this machine, or a URL that fsspec knows. It may have other files, too.
    decoded : callable
        Returns what the JSON value of a result stands for, or raises an error if that is none
        which its caller writes. By default it is the value itself.
    """

    def __init__(
        self, folder: Path | str | Folder, decoded: Callable[[Any], Any] = lambda v: v
    ) -> None:
        self.folder, self._decoded = Folder(str(folder)), decoded

    def read(self, keys: Container[str] | None = None, *, mend: bool = False) -> Known:
        """Return the results of these keys, by default all; of damaged files there are none.

        If a call was computed more than once, values come before errors, then names of files
        decide, so that equal folders give equal results.

        Parameters
        ----------
        keys : container of str, optional
        mend : bool
            Whether damaged files are removed: what they held is then computed again.

        Raises
        ------
        InvalidInput
            If a folder or a pipe stands in place of a file.
        Failure
            If the folder cannot be read.
        """
        results: dict[str, Result] = {}
        damaged = 0
        for name in filter(_NAME.fullmatch, self.folder.names()):
            content = self.folder.read(name, LARGEST)
            if content is None:  # another run has removed it
                continue
            try:
                parsed = self._parsed(name, content, keys)
            except UNREADABLE:
                damaged += 1
                if mend:
                    self.folder.remove(name)
                continue
            for key, result in parsed.items():
                if keys is not None and key not in keys:
                    continue
                if key not in results or (results[key].error and not result.error):
                    results[key] = result
        return Known(results, damaged)

    def _parsed(self, name: str, content: bytes, keys: Container[str] | None) -> dict[str, Result]:
        """Return the results in a file, or raise an error if they are not what was written."""
        if len(content) > LARGEST or name != f"{digest(content)}.json":
            raise ValueError("damaged")
        file = json.loads(content)
        seconds, environment = float(file["seconds"]), dict(file["environment"])
        results = {
            key: Result(None, _legal(error), seconds, environment)
            for key, error in file["errors"].items()
        }
        for key, value in file["values"].items():
            if keys is not None and key not in keys:  # perhaps of another version
                continue
            results[key] = Result(self._decoded(value), "", seconds, environment)
        return results

    def write(self, results: Mapping[str, Result]) -> None:
        """Write the results of one piece, whose values are as JSON has them.

        Raises
        ------
        Failure
            If they are too large, or the folder is gone or cannot be written.
        """
        first = next(iter(results.values()), Result())
        file = {
            "seconds": first.seconds,
            "environment": dict(first.environment),
            "values": {key: one.value for key, one in results.items() if not one.error},
            "errors": {key: _shown(one.error) for key, one in results.items() if one.error},
        }
        content = json.dumps(file).encode()
        if len(content) > LARGEST:
            text = f"A piece of work has {len(content)} bytes of results; {LARGEST} can be kept."
            raise Failure(text)
        self.folder.write(f"{digest(content)}.json", content)

    def fill(
        self,
        work: Callable[[Some], Mapping[str, Result]],
        pieces: Iterable[Some],
        executor: Executor | None = None,
        width: int = 1,
    ) -> Iterator[dict[str, Result]]:
        """Do pieces of work; keep the results of each as it ends, then yield them by key.

        Parameters
        ----------
        work : callable
            Returns the results of a piece by key, with values as JSON has them. It is sent to
            other processes if the executor has some.
        pieces : iterable of Piece
            A piece that kills its worker process repeatedly has that error for each key.
        executor, width
            As in `completed`.

        Raises
        ------
        Failure
            If a result cannot be kept.
        RunStopped
            If the executor takes no more work.
        """
        self.folder.make()
        for piece, done in completed(functools.partial(timed, work), pieces, executor, width):
            if isinstance(done, WorkerDied):
                results = {key: Result(error=str(done)) for key in piece.keys}
            else:
                facts = {"seconds": done.seconds, "environment": done.environment}
                results = {key: one._replace(**facts) for key, one in done.result.items()}
            self.write(results)
            yield {
                key: one if one.error else one._replace(value=self._decoded(one.value))
                for key, one in results.items()
            }


def _shown(error: str) -> str:
    """Return an error as text that a terminal shows, of a largest length."""
    short = error[:LONGEST_ERROR]
    return "".join(letter if letter.isprintable() else " " for letter in short)


def _legal(error: Any) -> str:
    if not error or _shown(error) != error:
        raise ValueError("no error that was written")
    return error
