"""Commands that recommend a classifier for bags, and forecast the gain from more labels."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from cyclopts import Parameter as Option

from sparsetoken.cli import options as o
from sparsetoken.cli.bags import Source, columns_told, separating
from sparsetoken.cli.command import command, numbers
from sparsetoken.cli.output import Answer


@command
def diagnose(file: o.File, *, source: Source = Source(), seed: o.Seed = 0) -> Answer:
    """Recommend a classifier for bags, and estimate the gain from more labels.

    Example: sparsetoken diagnose bags.npz
    """
    from sparsetoken import forecasting

    data = source.read(file)
    data.check_two_classes()
    found = forecasting.diagnose(data.bags, data.y, random_state=seed)
    leaks, warnings = separating(data)
    more = {"columns": data.columns, "left_out": data.left_out, "separating": leaks}
    lines = [columns_told(data), *str(found).splitlines()]
    return Answer("", {**found.to_dict(), **more}, lines, advice=warnings)


@command
def forecast(
    file: o.File,
    *,
    sizes: Annotated[
        str,
        Option(
            "--sizes",
            help="Numbers of labelled bags, separated by commas, at least the number n in the "
            "file. By default n, 2n and 4n.",
        ),
    ] = "",
    source: Source = Source(),
    seed: o.Seed = 0,
) -> Answer:
    """Forecast the test errors of mean pooling and attention with more labelled bags.

    Example: sparsetoken forecast bags.npz --sizes 200,400
    """
    from sparsetoken import forecasting

    wanted = numbers("--sizes", sizes, int) if sizes else None
    data = source.read(file)
    data.check_two_classes()
    found = forecasting.forecast(data.bags, data.y, wanted, random_state=seed)
    _, warnings = separating(data)
    plain = str(dataclasses.replace(found, advice=()))
    lines = [columns_told(data), *plain.splitlines()]
    return Answer("", found.to_dict(), lines, advice=[*warnings, *found.advice])
