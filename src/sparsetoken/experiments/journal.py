"""The journal of a run: finished jobs and their points, so that a stopped run goes on."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection
from pathlib import Path

from sparsetoken.experiments.points import Point

__all__ = ["Journal"]


class Journal:
    """A file with one line for each finished job.

    A line holds the text of the job and its points. It is written when the job ends,
    so that a kill loses only the jobs in flight; a line cut short is not read.

    Parameters
    ----------
    path : Path or None
        None keeps nothing.
    setting : str
        What else the points depend on, such as versions; lines of another are not read.
    """

    def __init__(self, path: Path | None, setting: str = "") -> None:
        self._path, self._setting = path, setting
        self._known = {} if path is None else _read(path, setting)

    def __len__(self) -> int:
        return len(self._known)

    def find(self, job: str) -> list[Point] | None:
        """Return the points of a job that has ended, or None."""
        return self._known.get(job)

    def write(self, job: str, points: list[Point]) -> None:
        """Add a finished job."""
        self._known[job] = points
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(self._line(job))

    def forget(self, jobs: Collection[str]) -> None:
        """Drop the jobs of a run that is complete, and the file if nothing is left."""
        self._known = {job: points for job, points in self._known.items() if job not in jobs}
        if self._path is None:
            return
        if not self._known:
            self._path.unlink(missing_ok=True)
            return
        aside = self._path.with_suffix(".new")
        text = "".join(self._line(job) for job in self._known)
        aside.write_text(text, encoding="utf-8")
        aside.replace(self._path)

    def _line(self, job: str) -> str:
        rows = [dataclasses.astuple(point) for point in self._known[job]]
        line = json.dumps({"setting": self._setting, "job": job, "points": rows})
        return f"\n{line}\n"  # what a kill cut short before it ends here


def _read(path: Path, setting: str) -> dict[str, list[Point]]:
    known: dict[str, list[Point]] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(line)
                points = [Point(*values) for values in row["points"]]
                if row["setting"] == setting:
                    known[row["job"]] = points
            except (ValueError, TypeError, KeyError):
                continue
    return known
