"""The work of a plan: done where it is missing, and kept, so that a run resumes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple

from sparsetoken.base.validation import one_line
from sparsetoken.experiments.core.experiment import Piece
from sparsetoken.experiments.core.rows import from_json, to_json
from sparsetoken.work import Kept, Result, RunStopped

COMPUTE, MACHINE = ("python", "numpy", "scipy", "jax"), ("linear algebra", "system", "machine")
"""What is said of the environment of kept work, with and without its name."""


class Finished(NamedTuple):
    """The results of all pieces by key, and the numbers of stored and damaged ones."""

    kept: Mapping[str, Result]
    resumed: int
    damaged: int


def finish(
    folder: Path,
    plan: Mapping[str, Sequence[Piece]],
    executor: Executor | None,
    workers: int,
    progress: Callable[[str, float, float], None],
) -> Finished:
    """Do the work of a plan that is missing from the folder, most expensive first, and keep it.

    Equal pieces are done once; nothing is locked, so that two runs at once do some work twice.
    Progress is told of the cost of all that has ended. An error of a piece is raised as
    `RunStopped` when the others are done.
    """
    pieces = {piece.key: (name, piece) for name, some in plan.items() for piece in some}
    store = Kept(folder, from_json)
    results, damaged = store.read(pieces, mend=True)
    kept = {key: results[key] for key in pieces if key in results and not results[key].error}
    resumed, fallen = len(kept), ""
    total = sum(piece.cost for _, piece in pieces.values())
    done = sum(pieces[key][1].cost for key in kept)
    if kept:
        progress(pieces[list(kept)[-1]][0], done, total)
    left = [piece for key, (_, piece) in pieces.items() if key not in kept]
    for batch in store.fill(outcome, sorted(left, key=lambda p: -p.cost), executor, workers):
        for key, result in batch.items():
            name, piece = pieces[key]
            done += piece.cost
            if result.error:
                fallen = fallen or f"{piece.name} has no result. {result.error}"
            else:
                kept[key] = result
            progress(name, done, total)
    if fallen:
        raise RunStopped(fallen)
    return Finished(kept, resumed, damaged)


def outcome(piece: Piece) -> dict[str, Result]:
    """Return the rows of a piece as JSON has them, or the error that it raises, by its key."""
    try:
        # What no file can hold is an error of the piece.
        rows = json.loads(json.dumps(to_json(piece.run())))
    except Exception as error:
        return {piece.key: Result(error=one_line(error))}
    return {piece.key: Result(rows)}


def computed_with(kept: Iterable[Result]) -> str:
    """Return environment and duration of the stored pieces of work, from their files."""
    seconds: dict[str, list[float]] = {}
    for one in kept:
        known = [f"{name} {one.environment[name]}" for name in COMPUTE if name in one.environment]
        known += [one.environment[name] for name in MACHINE if name in one.environment]
        seconds.setdefault(", ".join(known) or "not known", []).append(one.seconds)
    return "; ".join(
        f"{len(some)} piece{'s' * (len(some) != 1)} of work, "
        f"{sum(some) / 60:.1f} min one after another: {said}"
        for said, some in seconds.items()
    )
