"""The command that lists what a saved model says of each token."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter as Option

from sparsetoken.cli.bag_options import File, Source
from sparsetoken.cli.bag_tables import Out, answered, check_out
from sparsetoken.cli.bags import columns_of_model, loaded_model
from sparsetoken.cli.options import Common
from sparsetoken.cli.output import Answer


def tokens(
    model: Annotated[Path, Option("MODEL", help="A model that `fit --out` saved.")],
    file: File,
    /,
    *,
    out: Out = None,
    source: Source = Source(),
    common: Common = Common(),
) -> Answer:
    """List the tokens of bags: place, coordinates, attention weight, probability for each class.

    Example: sparsetoken bags tokens model.skops slides/ --out tokens.parquet
    """
    from sparsetoken.estimators import token_table

    check_out(out, file, source.sheet)
    estimator = loaded_model(model)
    data = source.loaded(file, columns_of_model(estimator, file), empty=True, labels=None)
    table = token_table(estimator, data.bags, data.ids)
    of = [name.partition("_")[2] for name in table if name.startswith("probability_")]
    first = of[0] if of else str(estimator._names()[0])
    return answered("tokens", len(data.bags), table, out, first)
