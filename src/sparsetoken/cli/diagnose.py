"""The command that says which classifier suits bags of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsetoken.cli import files as f
from sparsetoken.cli import options as o
from sparsetoken.cli.show import guarded, put, put_json

if TYPE_CHECKING:
    import numpy as np

__all__ = ["diagnose"]

MOST_BOOTSTRAPS = 100_000


@guarded
def diagnose(
    file: f.File,
    label: f.LabelColumn = "",
    bag: f.BagColumn = "bag",
    columns: f.Columns = "",
    positive: Annotated[
        str,
        typer.Option(
            "--positive",
            show_default=False,
            help="Label of the bags that hold informative tokens; by default the second in order.",
        ),
    ] = "",
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

    integer("--bootstrap", n_boot, 20, MOST_BOOTSTRAPS)
    integer("--seed", seed, 0)
    data = f.read_bags(file, label, bag, columns)
    pos_label = _label(positive, data.y) if positive else None
    found = advise(data.bags, data.y, pos_label=pos_label, n_boot=n_boot, random_state=seed)
    separating = f.separating(data)
    f.warn_of(separating)
    if as_json:
        more = {"columns": data.columns, "left_out": data.left_out, "separating": separating}
        put_json({**found.to_dict(), **more})
    else:
        put(f.columns_told(data), *str(found).splitlines())


def _label(text: str, y: np.ndarray) -> Any:
    """Return the label that is written so."""
    from sparsetoken.validation import InvalidInput

    named = {str(label): label for label in sorted(set(y.tolist()))}
    if text not in named:
        raise InvalidInput("--positive", f"one of the labels {', '.join(named)}", text)
    return named[text]
