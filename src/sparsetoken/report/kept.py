"""Kept pieces of work: a file for each, so that a run which is stopped goes on."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

from sparsetoken.experiments.experiment import Job
from sparsetoken.experiments.rows import to_json
from sparsetoken.files import written_whole
from sparsetoken.numerics.threads import one_thread
from sparsetoken.report.files import explained
from sparsetoken.workers import RunStopped, completed, environment, peak_memory


class Piece(NamedTuple):
    """What a piece of work gave.

    Attributes
    ----------
    result : list
        Its rows, as `to_json` writes them.
    seconds : float
    environment : dict
        What it was computed with: versions, host and kernels by name.
    """

    result: list[Any]
    seconds: float
    environment: dict[str, str]


class Finished(NamedTuple):
    """The pieces of all jobs in their order, how many were kept, and how many damaged."""

    pieces: list[Piece]
    resumed: int
    damaged: int


def finish(
    folder: Path,
    jobs: Sequence[Job],
    executor: Executor | None,
    width: int,
    tell: Callable[[Iterable[str]], None],
) -> Finished:
    """Run the jobs that are not in the folder, those of high cost first, and keep their pieces.

    Parameters
    ----------
    folder : Path
        Nothing is locked: two runs at once do some work twice.
    jobs : sequence of Job
    executor, width
        As of `completed`.
    tell : callable
        Called with the names of the jobs that were kept, and of each one that ends.

    Raises
    ------
    RunStopped
        If a job raises an error, or its worker dies three times; the others are done first.
    """
    pieces, damaged = {}, 0
    for job in jobs:
        try:
            pieces[job.name] = _read(folder, job)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            damaged += 1
    tell(list(pieces))
    resumed, fallen = len(pieces), ""
    left = sorted((job for job in jobs if job.name not in pieces), key=lambda job: -job.cost)
    for job, outcome in completed(_outcome, left, executor, width):
        found = outcome.found if isinstance(outcome, _Outcome) else str(outcome)
        if isinstance(found, Piece):
            _write(folder, job, found)
            pieces[job.name] = found
        else:
            fallen = fallen or f"{job.name} has no result. {found}"
        tell([job.name])
    if fallen:
        raise RunStopped(fallen)
    return Finished([pieces[job.name] for job in jobs], resumed, damaged)


class _Outcome(NamedTuple):
    """The piece of a job or the error that it raised, and the peak memory of its process."""

    found: Piece | str
    memory: int


def _outcome(job: Job) -> _Outcome:
    start = time.perf_counter()
    try:
        with one_thread():
            result = to_json(job.run())
        json.dumps(result)  # what no file can hold is an error of the job
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST_MESSAGE]
        return _Outcome(text, peak_memory())
    seconds = time.perf_counter() - start
    return _Outcome(Piece(result, seconds, json.loads(environment())), peak_memory())


LONGEST_MESSAGE = 2000


def _path(folder: Path, job: Job) -> Path:
    short = re.sub(r"\W+", "-", job.work.__name__).strip("-")[:40]
    return folder / f"{short}-{_digest([job.name, job.version])}.json"


def _digest(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=16).hexdigest()


def _write(folder: Path, job: Job, piece: Piece) -> None:
    content = {"name": job.name, "version": job.version, **piece._asdict()}
    text = json.dumps(content | {"checksum": _digest(content)})
    with explained(folder), written_whole(_path(folder, job)) as path:
        path.write_text(text, encoding="utf-8")


def _read(folder: Path, job: Job) -> Piece:
    """Return what is kept of a job; raise an error if the file is missing, damaged or another's."""
    content = dict(json.loads(_path(folder, job).read_bytes()))
    checksum = content.pop("checksum")
    named = [content["name"], content["version"]] == [job.name, job.version]
    if not named or checksum != _digest(content):
        raise ValueError("damaged, or of another job")
    return Piece(*(content[field] for field in Piece._fields))
