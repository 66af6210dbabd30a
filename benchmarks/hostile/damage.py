"""Damage stores at random: what is exported, what is lost, and whether a sweep goes on.

A store of 540 rows, 500 of them finished, is copied and damaged: one bit is flipped, or the file
is cut short. With --logs the store is one whose process was killed, and the damage hits the
write-ahead log beside it: a bit is flipped, it is cut short, removed, or that of another store.
Of each copy it is asked whether
- the export has a row that was never written, or one row twice (wrong);
- the export lacks a row that plain SQLite can read, row by row (unreadable);
- the exit code says 0 although a finished row is missing (silent); without the end of its log a
  store is what it was before, so that this is counted apart (an earlier state);
- the number of rows that are told to be lost is what is missing (miscounted);
- a sweep ends with the same bytes as without damage: on the same file, or, where its structure
  is damaged, on the store that `results --export NEW.sqlite` has written (not resumed).
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import csv
import json
import multiprocessing
import os
import random
import sqlite3
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path

from sparsetoken.sweep import (
    Grid,
    GridPlan,
    Store,
    StoreError,
    export_table,
    linear,
    run,
    tied,
)
from sparsetoken.validation import InvalidInput

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from command_line import Finished, invoke

GRID = Grid(
    "alignment",
    [linear("strength", 1, 5, 45), tied(length=[4, 10], informative=[1, 3])],
    {"dimension": 12},
    quantities=("theory", "simulation"),
    trials=5,
)
ROWS, WAITING = 540, 40
KINDS = ("flip", "flip", "flip", "flip", "cut")
LOG_KINDS = ("log flip", "log flip", "log cut", "log removed", "log foreign")
LOG = "-wal"
KILLED = 9
OTHER = Grid("alignment", [linear("strength", 6, 9, 270)], {"dimension": 12, "length": 5})


def make(folder: Path) -> tuple[Path, Path]:
    """Return a store in which some rows wait, and the table of the whole sweep."""
    whole, part = folder / "whole.sqlite", folder / "part.sqlite"
    with Store(whole) as store:
        run(store, GridPlan(GRID))
        export_table(store, folder / "whole.csv")

    with Store(part) as store:
        run(store, GridPlan(GRID))
        for row in random.Random(0).sample(range(1, ROWS + 1), WAITING):
            store.query("UPDATE tasks SET state = 0 WHERE id = ?", (row,))
            store.query("DELETE FROM results WHERE id = ?", (row,))
    return part, folder / "whole.csv"


def make_logged(path: Path, grid: Grid) -> dict[str, bytes]:
    """Return a store and its log as a kill leaves them; a part of the log is in the file already.

    They are made in a process of their own, whose leases end with it.
    """
    process = multiprocessing.get_context("spawn").Process(target=_fill, args=(path, grid))
    process.start()
    process.join()
    assert process.exitcode == KILLED
    return {end: path.with_name(path.name + end).read_bytes() for end in ("", LOG)}


def _fill(path: Path, grid: Grid) -> None:
    """Fill a store and end; a reader holds a part of the log back, as `results` may."""
    with Store(path) as store:
        run(store, GridPlan(grid))
        with contextlib.closing(sqlite3.connect(path)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM tasks").fetchone()
            for number, row in enumerate(random.Random(0).sample(range(1, ROWS + 1), WAITING)):
                if number == WAITING // 2:
                    store.query("PRAGMA wal_checkpoint(PASSIVE)")
                store.query("UPDATE tasks SET state = 0 WHERE id = ?", (row,))
                store.query("DELETE FROM results WHERE id = ?", (row,))
            os._exit(KILLED)


def damaged_log(
    files: dict[str, bytes], foreign: dict[str, bytes], kind: str, rng: random.Random
) -> dict[str, bytes]:
    if kind == "log removed":
        return {"": files[""]}
    if kind == "log foreign":
        return {"": files[""], LOG: foreign[LOG]}
    return {"": files[""], LOG: damaged(files[LOG], kind.removeprefix("log "), rng)}


def damaged(data: bytes, kind: str, rng: random.Random) -> bytes:
    if kind == "cut":
        return data[: rng.randrange(1, len(data))]
    place = rng.randrange(8 * len(data))
    spoilt = bytearray(data)
    spoilt[place // 8] ^= 1 << place % 8
    return bytes(spoilt)


def raw_rows(path: Path, last: int) -> dict[int, tuple]:
    """Return what plain SQLite reads of each finished row, one by one: all of its parts."""
    sql = "SELECT g.*, r.* FROM results r JOIN configurations g ON g.id = r.id WHERE r.id = ?"
    found = {}
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    try:
        for number in range(1, last + 1):
            with contextlib.suppress(sqlite3.Error):
                row = connection.execute(sql, (number,)).fetchone()
                if row is not None:
                    found[number] = row
    finally:
        connection.close()
    return found


def lines(path: Path) -> list[frozenset]:
    """Return the rows of a table without the empty cells; columns differ with the rows."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [frozenset((k, v) for k, v in row.items() if v) for row in csv.DictReader(file)]


class Trial:
    """One damaged copy, and what is wrong with what becomes of it."""

    def __init__(self, folder: Path, files: dict[str, bytes], truth: Truth) -> None:
        self.folder, self.truth = folder, truth
        self.path = folder / "s.sqlite"
        for ending, content in files.items():
            (folder / f"s.sqlite{ending}").write_bytes(content)
        self.faults: list[str] = []
        self.bound = self.resumed = 0

    def check(self) -> list[str]:
        readable = self.readable = {
            number
            for number, row in raw_rows(self.path, ROWS).items()
            if row == self.truth.rows.get(number)
        }
        table = self.folder / "t.csv"
        try:
            said = invoke("results", self.path, "--export", table, "--json")
        except Exception:
            self.faults.append("traceback of results")
            said = Finished(1, "", "")
        found = collections.Counter(lines(table))
        if found - self.truth.possible:
            self.faults.append("wrong")
        if any(not found[self.truth.line_of[number]] for number in readable):
            self.faults.append("unreadable")
        missing = (self.truth.lines - found).total()
        if missing and said.exit_code == 0:
            self.faults.append("an earlier state" if self.truth.logged else "silent")
        if not self.truth.logged:
            self.counts(said, missing)
        self.resume()
        return self.faults

    def counts(self, said, missing: int) -> None:
        if not said.stdout.startswith("{"):
            if self.readable:
                self.faults.append("refused")
            return
        told = json.loads(said.stdout)
        if not told["finished"] <= missing <= told["finished"] + told["unknown"]:
            self.faults.append("miscounted")
        self.bound = told["unknown"]

    def resume(self) -> None:
        try:
            self.resumed = self.go_on(self.path)
        except (StoreError, InvalidInput):
            new = self.folder / "new.sqlite"
            invoke("results", self.path, "--export", new)
            try:
                self.resumed = self.go_on(new)
            except Exception:
                traceback.print_exc()
                self.faults.append("not resumed")
        except Exception:
            traceback.print_exc()
            self.faults.append("traceback of a sweep")

    def go_on(self, path: Path) -> int:
        """Run the sweep to its end; return the rows that were damaged."""
        table, found = self.folder / "after.csv", [0]
        with Store(path) as store:
            run(store, GridPlan(GRID), on_damaged=found.append)
            export_table(store, table)
        if not self.truth.is_whole(table):
            self.faults.append("other rows after the sweep")
        return found[-1]


class Truth:
    """What the undamaged store has: its rows, and the lines of their table.

    Parameters
    ----------
    store, table : Path
        The table is that of the whole sweep.
    logged : Path, optional
        The table of the store whose log is put there, if logs are damaged: its rows, and those
        of an earlier state, are then no wrong ones.
    """

    def __init__(self, store: Path, table: Path, logged: Path | None = None) -> None:
        self.rows = raw_rows(store, ROWS)
        self.table, self.whole = table.read_bytes(), lines(table)
        self.logged = logged is not None
        path = store.with_suffix(".csv")
        with Store(store, write=False) as file:
            export_table(file, path)
            order = sorted(file.rows(), key=sort_key)
        texts = lines(path)
        self.lines = collections.Counter(texts)
        self.line_of = {row.id: text for row, text in zip(order, texts, strict=True)}
        self.possible = self.lines
        if logged is not None:
            self.possible = collections.Counter(lines(table)) | collections.Counter(lines(logged))

    def is_whole(self, table: Path) -> bool:
        """Return whether a table is that of the whole sweep; with another's log, has all of it."""
        if table.read_bytes() == self.table:
            return True
        found = collections.Counter(lines(table))
        missing = collections.Counter(self.whole) - found
        return self.logged and not missing and not found - self.possible


def sort_key(row) -> tuple:
    values = row.configuration
    names = ("quantity", "length", "informative", "strength", "trial")
    return tuple(values.get(name, -1) for name in names)


def plain_trials(folder: Path, count: int, seed: int) -> Iterator[tuple[str, dict, Truth]]:
    """Yield the kind of damage, the files of a damaged store, and the truth."""
    part, table = make(folder)
    truth, data = Truth(part, table), part.read_bytes()
    print(f"{len(truth.rows)} finished rows of 540, {len(data)} bytes", flush=True)
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        yield kind, {"": damaged(data, kind, random.Random(f"{seed} {number}"))}, truth


def log_trials(folder: Path, count: int, seed: int) -> Iterator[tuple[str, dict, Truth]]:
    """Yield the same with damaged logs."""
    _, table = make(folder)
    files = make_logged(folder / "logged.sqlite", GRID)
    foreign = make_logged(folder / "other.sqlite", OTHER)
    truth = Truth(folder / "logged.sqlite", table, exported(folder / "other.sqlite"))
    print(f"{len(files[LOG])} bytes of log beside {len(files[''])}", flush=True)
    for number in range(count):
        kind = LOG_KINDS[number % len(LOG_KINDS)]
        yield kind, damaged_log(files, foreign, kind, random.Random(f"{seed} {number}")), truth


def exported(store: Path) -> Path:
    """Return the table of all rows that a store can have."""
    table = store.with_suffix(".csv")
    with Store(store) as file:
        run(file, GridPlan(OTHER))
        export_table(file, table)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--logs", action="store_true", help="Damage the logs beside the stores.")
    arguments = parser.parse_args()
    faults: collections.Counter = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trials = log_trials if arguments.logs else plain_trials
        for number, (kind, files, truth) in enumerate(
            trials(folder, arguments.stores, arguments.seed)
        ):
            with tempfile.TemporaryDirectory(dir=folder) as place:
                trial = Trial(Path(place), files, truth)
                found = trial.check()
            faults.update((kind, fault) for fault in found or ["nothing"])
            faults[kind, "a bound on the lost rows, not their number"] += trial.bound > 0
            faults[kind, "rows computed anew"] += trial.resumed
            if found:
                print(f"store {number}, {kind}: {', '.join(found)}", flush=True)
    for (kind, fault), count in sorted(faults.items()):
        print(f"{kind}: {fault}: {count}", flush=True)


if __name__ == "__main__":
    main()
