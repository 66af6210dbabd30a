"""The command that draws a sweep."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated

import typer

from sparsetoken.cli import options as o
from sparsetoken.cli.running import one_message
from sparsetoken.cli.show import guarded, message, put_values
from sparsetoken.files import require_place, written_whole

UNDATED = {".svg": {"Date": None}, ".png": None, ".pdf": {"CreationDate": None}}
"""What is left out of each kind of file, so that the same figure has the same bytes."""


@guarded
def plot(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A store of sweeps.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", help=".svg, .png or .pdf; by default FILE.svg in this folder."),
    ] = None,
    x: Annotated[str, typer.Option("--x", help="Axis of numbers; else as the sweep says.")] = "",
    y: Annotated[str, typer.Option("--y", help="Second axis of numbers: a heat map.")] = "",
    curves: Annotated[str, typer.Option("--curves", help="Axis with a curve for a value.")] = "",
    value: Annotated[str, typer.Option("--value", help="What is drawn, as test_error.")] = "",
    number: Annotated[
        int | None, typer.Option("--sweep", help="Number of the sweep; by default the newest.")
    ] = None,
    as_json: o.AsJson = False,
) -> None:
    """Draw curves or heat maps of a sweep; what did not converge is hollow.

    Example: [cyan]sparsetoken plot sweep.sqlite --x alpha1 --y strength --out sweep.svg[/]
    """
    from sparsetoken.figures.style import styled
    from sparsetoken.sweep import Drawing, Store
    from sparsetoken.sweep.phase_diagram import draw
    from sparsetoken.sweep.summary import grid_of_sweep, summaries
    from sparsetoken.validation import InvalidInput

    path = Path(f"{file.stem}.svg") if out is None else out
    if path.suffix.lower() not in UNDATED:
        raise InvalidInput("--out", f"a path that ends in {', '.join(UNDATED)}", str(path))
    require_place("--out", path, file)
    with one_message(), Store(file, write=False) as store:
        number, grid = grid_of_sweep(store, number)
        drawing = grid.plot if not (x or y or curves) else Drawing()
        chosen = Drawing(
            x or drawing.x, y or drawing.y, curves or drawing.curves, value or grid.plot.value
        )
        chosen.check(grid.names, grid.experiment)
        rows = list(summaries(store, number))
    with styled():
        figure, drawn = draw(grid, rows, chosen)
        content = io.BytesIO()  # on a full disk matplotlib raises errors of its own
        ending = path.suffix.lower()
        figure.savefig(content, format=ending[1:], metadata=UNDATED[ending])
        try:
            with written_whole(path) as aside:
                aside.write_bytes(content.getvalue())
        except OSError as error:
            message(f"Error: {path} cannot be written: {error}.")
            raise typer.Exit(1) from None
    put_values("Figure", {"figure": str(path), **drawn._asdict()}, as_json)
    if drawn.not_converged or drawn.missing:
        message(
            f"{drawn.not_converged} points did not converge and are hollow; "
            f"{drawn.missing} are missing."
        )
        raise typer.Exit(1)
