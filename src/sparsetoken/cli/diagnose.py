"""The command that says which classifier suits bags of one's own."""

from __future__ import annotations

from typing import Annotated

import typer

from sparsetoken.cli import files as f
from sparsetoken.cli import options as o
from sparsetoken.cli.show import guarded, put_json

__all__ = ["diagnose"]


@guarded
def diagnose(
    file: f.File,
    label: f.LabelColumn = "",
    bag: f.BagColumn = "bag",
    n_boot: Annotated[
        int, typer.Option("--bootstrap", help="Bootstrap samples for the intervals, at least 20.")
    ] = 200,
    seed: f.Seed = 0,
    as_json: o.AsJson = False,
) -> None:
    """Say what bags look like, which classifier suits them, and what more labels would be worth.

    Example: [cyan]sparsetoken diagnose bags.npz[/]
    """
    from sparsetoken.advice import diagnose as advise
    from sparsetoken.validation import integer

    integer("--bootstrap", n_boot, 20)
    integer("--seed", seed, 0)
    bags, y, _ = f.read_bags(file, label, bag)
    found = advise(bags, y, n_boot=n_boot, random_state=seed)
    if as_json:
        put_json(found.to_dict())
    else:
        typer.echo(str(found))
