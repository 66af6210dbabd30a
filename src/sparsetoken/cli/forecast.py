"""The command that says what more labelled bags would bring."""

from __future__ import annotations

from typing import Annotated

import typer

from sparsetoken.cli import files as f
from sparsetoken.cli import options as o
from sparsetoken.cli.progress import counting
from sparsetoken.cli.show import guarded, message, put, put_json


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
    positive: f.Positive = "",
    seed: f.Seed = 0,
    as_json: o.AsJson = False,
) -> None:
    """Forecast the test errors of mean pooling and attention with more labelled bags.

    Example: [cyan]sparsetoken forecast bags.npz --sizes 200,400[/]
    """
    from sparsetoken.forecasting import forecast as forecast_of
    from sparsetoken.validation import integer

    integer("--seed", seed, 0)
    legal = "whole numbers with commas between, as 200,400"
    wanted = o.numbers("--sizes", sizes, int, legal) if sizes else None
    data = f.read_two_classes(file, label, bag, columns, positive)
    with counting("fits") as progress:
        found = forecast_of(data.bags, data.y, wanted, random_state=seed, progress=progress)
    f.separating(data)
    if as_json:
        put_json(found.to_dict())
        for text in found.advice:
            message(text)
    else:
        put(f.columns_told(data), *str(found).splitlines())
