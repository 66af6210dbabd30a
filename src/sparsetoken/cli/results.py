"""The command that shows and exports what a store has."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsetoken.cli import options as o
from sparsetoken.cli.running import one_message
from sparsetoken.cli.show import guarded, message, put_json, put_table

if TYPE_CHECKING:
    from sparsetoken.sweep.integrity import Losses
    from sparsetoken.sweep.reading import StoreReader

MOST_MESSAGES = 10


@guarded
def results(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A store of sweeps.", show_default=False)
    ],
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            help="Write the rows to this .csv or .parquet file, or to a new store (.sqlite).",
        ),
    ] = None,
    facts: Annotated[
        bool, typer.Option("--facts", help="Export times, versions and host too.")
    ] = False,
    as_json: o.AsJson = False,
) -> None:
    """Show what a store has, or export its rows.

    A damaged file is read as far as it goes; then the exit code is 1.

    Example: [cyan]sparsetoken results sweep.sqlite --export sweep.csv[/]
    """
    from sparsetoken.sweep.export import check_export, export_table
    from sparsetoken.sweep.integrity import read_whole_rows
    from sparsetoken.sweep.salvage import opened_as_far_as_possible

    if export is not None:
        check_export(export, file)
    try:
        with one_message(), opened_as_far_as_possible(file) as (store, damage):
            values = _summary(store)
            if export is None:
                losses = read_whole_rows(store, lambda _: None)
            else:
                losses = export_table(store, export, facts=facts)
                values["exported"] = str(export)
    except OSError as error:
        if export is None or error.errno == errno.ENAMETOOLONG:
            raise
        message(f"Error: {export} cannot be written: {error}.")
        raise typer.Exit(1) from None
    lost = _told(losses)
    values |= {"damage": damage or lost or "none", **losses._asdict()}
    if as_json:
        put_json(values)
    else:
        _show(values, str(file))
    if damage or lost:
        message(f"{file} is damaged ({damage or 'rows are not what was written'}).")
        saved = "" if export is None else f"What can be read is in {export}. "
        message(f"{saved}{lost or 'All finished rows can be read'}.")
        raise typer.Exit(1)


def _told(losses: Losses) -> str:
    """Return what is lost, or "" if nothing is."""
    if losses.unknown:
        most = losses.finished + losses.unknown
        return f"At least {losses.finished} and at most {most} finished rows cannot be read"
    return f"{losses.finished} finished rows cannot be read" if losses.finished else ""


def _summary(store: StoreReader) -> dict[str, Any]:
    from sparsetoken.sweep import StoreError

    try:
        counts = store.counts()._asdict()
        statuses = store.query("SELECT status, count(*) FROM results GROUP BY status")
        messages = store.query(
            "SELECT message, count(*) FROM results WHERE status = 'failed' "
            "GROUP BY message ORDER BY count(*) DESC, message LIMIT ?",
            (MOST_MESSAGES,),
        )
        sweeps = len(store.sweeps())
    except StoreError:  # the rows may still be read one by one
        return {}
    found = {"sweeps": sweeps, **counts, "statuses": dict(statuses)}
    return found | {"failures": dict(messages)}


def _show(values: dict[str, Any], file: str) -> None:
    flat = {name: value for name, value in values.items() if not isinstance(value, dict)}
    put_table(file, flat | {f"status {k}": v for k, v in values.get("statuses", {}).items()})
    for text, count in values.get("failures", {}).items():
        message(f"{count} failed: {text}")
