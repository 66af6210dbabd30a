"""The files of a report, written all or none: images, claims, and tables of numbers."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sparsetoken.base.validation import InvalidInput
from sparsetoken.experiments.core.claims import Comparison, Finding
from sparsetoken.experiments.core.rows import Rows
from sparsetoken.experiments.report.page import Picture
from sparsetoken.figures.curves import Plotted

WORK = "work"
"""The folder of the kept pieces of work."""

REMEDY = "Choose another with --out."
ROW_COLUMNS = ("series", "quantity", "value", "error", "engine", "dimension", "trials", "status")
PLACES = ("panel", "curve", "x_name", "x", "y_name", "y")


def writable_folder(out: str | os.PathLike[str], files: Iterable[str]) -> Path:
    """Return the folder, made if need be, in which files of these names can be written."""
    if not os.fspath(out):
        raise InvalidInput("out", "the name of a folder", "", "Give one with --out; . is this one.")
    folder = Path(out)
    for name in files:
        if (folder / name).is_dir():
            raise InvalidInput("out", f"a folder where {name} is no folder", str(out), REMEDY)
    for place in (folder, folder / WORK):
        with explained(place):
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=place):
                pass
    return folder


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write temporary files, then move them: a full disk leaves the old report intact."""
    with explained(folder), tempfile.TemporaryDirectory(dir=folder, prefix=".unfinished-") as aside:
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


def files_of(
    pictures: Mapping[str, Picture],
    findings: Sequence[Finding],
    rows: Mapping[str, Rows],
    facts: Mapping[str, str],
) -> dict[str, bytes]:
    """Return the files of a report but for the page, by their names."""
    files = {f"{name}.webp": picture.image for name, picture in pictures.items()}
    tables = {f"figure.{name}.csv": figure_table(one.shown) for name, one in pictures.items()}
    tables |= {**row_tables(rows), "trials.csv": trial_table(rows)}
    document = {
        "run": dict(facts),
        "statements": [finding_row(finding) for finding in findings],
        "claims": [comparison_row(c) for finding in findings for c in finding.comparisons],
    }
    claims = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    data = {f"data/{name}": text.encode() for name, text in tables.items()}
    return {**files, **data, "claims.json": claims.encode()}


def finding_row(finding: Finding) -> dict[str, Any]:
    """Return a claim and its verdict as JSON values."""
    return {
        **dataclasses.asdict(finding.claim),
        "comparisons": len(finding.comparisons),
        "evidence": finding.evidence,
        "verdict": finding.verdict,
    }


def comparison_row(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON values; what is not finite is null.

    Its claim is under the key statement, which is a contract.
    """
    row = dataclasses.asdict(comparison)
    row = {"statement": row.pop("claim"), **row, "evidence": comparison.evidence}
    lacking = {n for n, v in row.items() if isinstance(v, float) and not math.isfinite(v)}
    return {name: None if name in lacking else value for name, value in row.items()}


def row_tables(rows: Mapping[str, Rows]) -> dict[str, str]:
    """Return a table of the rows of each experiment, by the name of its file.

    It has series, quantity and all coordinates, then what was found.
    """
    tables = {}
    for name, own_rows in rows.items():
        at = dict.fromkeys(n for row in own_rows for n in row.at)
        columns = [*ROW_COLUMNS[:2], *at, *ROW_COLUMNS[2:]]
        tables[f"{name}.csv"] = _csv(
            {n: row.at.get(n) if n in at else row[n] for n in columns} for row in own_rows
        )
    return tables


def trial_table(rows: Mapping[str, Rows]) -> str:
    """Return the value of every trial; row is the number of the row in its table, from 0."""
    return _csv(
        {"experiment": name, "row": number}
        | {n: row[n] for n in ("series", "quantity", "engine", "dimension")}
        | {"trial": trial, "value": value}
        for name, own_rows in rows.items()
        for number, row in enumerate(own_rows)
        for trial, value in enumerate(row.values)
    )


def figure_table(shown: Iterable[Plotted]) -> str:
    """Return all that a figure shows, with its panel, its curve and its place."""
    return _csv(
        {n: getattr(one, n) for n in PLACES} | {n: one.row[n] for n in ROW_COLUMNS} for one in shown
    )


def _csv(lines: Iterable[Mapping[str, Any]]) -> str:
    return pd.DataFrame(list(lines)).to_csv(index=False, lineterminator="\n")
