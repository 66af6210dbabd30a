"""The command that lists what a saved model says of each token."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter as Option

from sparsetoken.cli import token_files
from sparsetoken.cli.bag_options import PANEL, File, Source
from sparsetoken.cli.bag_tables import ENDINGS, answered, check_out
from sparsetoken.cli.bags import columns_of_model, loaded_model
from sparsetoken.cli.options import Common, number
from sparsetoken.cli.output import Answer


def tokens(
    model: Annotated[Path, Option("MODEL", help="A model that `fit --out` saved.")],
    file: File,
    /,
    *,
    out: Annotated[
        Path | None,
        Option(
            help="Table to write in place of the output, .parquet or .csv; for one bag with "
            "coordinates .geojson, which QuPath reads; or a folder, for a .geojson and a picture "
            "of each bag.",
            group=PANEL,
        ),
    ] = None,
    tile: Annotated[
        float | None,
        number(
            "Side of the squares of .geojson, in units of the coordinates; by default the usual "
            "distance of neighbours.",
            PANEL,
        ),
    ] = None,
    source: Source = Source(),
    common: Common = Common(),
) -> Answer:
    """List the tokens of bags: place, coordinates, attention weight, probability for each class.

    Example: sparsetoken bags tokens model.skops slides/ --out tokens.parquet
    """
    from sparsetoken.base.validation import InvalidInput
    from sparsetoken.estimators import token_table

    check_out(out, file, source.sheet, endings=(*ENDINGS, *token_files.ENDINGS))
    estimator = loaded_model(model)
    data = source.loaded(file, columns_of_model(estimator, file), empty=True, labels=None)
    if out is not None and out.suffix.lower() in token_files.ENDINGS:
        return token_files.placed(estimator, data, out, tile)
    if tile is not None:
        raise InvalidInput("--tile", "left out for a table", tile, "It is for .geojson.")
    table = token_table(estimator, data.bags, data.ids)
    of = [name.partition("_")[2] for name in table if name.startswith("probability_")]
    first = of[0] if of else str(estimator._names()[0])
    return answered("tokens", len(data.bags), table, out, first)
