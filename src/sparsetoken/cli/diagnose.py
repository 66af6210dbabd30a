"""The command that says which classifier suits bags of one's own."""

from __future__ import annotations

from sparsetoken.cli import files as f
from sparsetoken.cli import options as o
from sparsetoken.cli.progress import counting
from sparsetoken.cli.show import guarded, put, put_json


@guarded
def diagnose(
    file: f.File,
    label: f.LabelColumn = "",
    bag: f.BagColumn = "bag",
    columns: f.Columns = "",
    positive: f.Positive = "",
    seed: f.Seed = 0,
    as_json: o.AsJson = False,
) -> None:
    """Say which classifier suits bags, and what more labels would be worth.

    Example: [cyan]sparsetoken diagnose bags.npz[/]
    """
    from sparsetoken.forecasting import diagnose as advise
    from sparsetoken.validation import integer

    integer("--seed", seed, 0)
    data = f.read_two_classes(file, label, bag, columns, positive)
    with counting("fits") as progress:
        found = advise(data.bags, data.y, random_state=seed, progress=progress)
    separating = f.separating(data)
    if as_json:
        more = {"columns": data.columns, "left_out": data.left_out, "separating": separating}
        put_json({**found.to_dict(), **more})
    else:
        put(f.columns_told(data), *str(found).splitlines())
