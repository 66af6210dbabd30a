"""The command that says what more labelled bags would bring."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Annotated

import typer

from sparsetoken.cli import files as f
from sparsetoken.cli import options as o
from sparsetoken.cli.progress import progress_bar
from sparsetoken.cli.show import guarded, message, put, put_json

__all__ = ["counting", "forecast"]


@guarded
def forecast(
    file: f.File,
    sizes: Annotated[
        str,
        typer.Option(
            "--sizes",
            show_default=False,
            help="Numbers of labelled bags, with commas between, none below those of the file. "
            "By default n, 2n and 4n.",
        ),
    ] = "",
    label: f.LabelColumn = "",
    bag: f.BagColumn = "bag",
    columns: f.Columns = "",
    seed: f.Seed = 0,
    as_json: o.AsJson = False,
) -> None:
    """Forecast the test errors of mean pooling and attention with more labelled bags.

    Example: [cyan]sparsetoken forecast bags.npz --sizes 200,400[/]
    """
    from sparsetoken.forecasting import forecast as forecast_of
    from sparsetoken.validation import integer

    integer("--seed", seed, 0)
    wanted = _sizes(sizes) if sizes else None
    data = f.read_bags(file, label, bag, columns)
    with counting("fits") as progress:
        found = forecast_of(data.bags, data.y, wanted, random_state=seed, progress=progress)
    separating = f.separating(data)
    f.warn_of(separating)
    if as_json:
        put_json(found.to_dict())
        for text in found.advice:
            message(text)
    else:
        put(f.columns_told(data), *str(found).splitlines())


@contextlib.contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar of pieces of work on a terminal; return what moves it."""
    with progress_bar() as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _sizes(text: str) -> list[int]:
    from sparsetoken.validation import InvalidInput

    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        legal = "whole numbers with commas between, as 200,400"
        raise InvalidInput("--sizes", legal, text) from None
