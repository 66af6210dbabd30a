"""Options shared by commands, except those that come from the declarations of values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter as Option
from cyclopts.validators import Number

from sparsetoken.base.parameters import parameters_of
from sparsetoken.cli.command import option_name
from sparsetoken.cli.output import message
from sparsetoken.model.models import Elementwise, Model, make_model
from sparsetoken.model.stages import Query, TwoSteps

DEFAULT_DIMENSION, DEFAULT_TRIALS = 1000, 8
ENGINES = "tensors samples the tokens; reduced samples from the same distribution without them."

ModelName = Annotated[
    str, Option("MODEL", help="attention, pooled, vectorized, elementwise or hard_attention.")
]
Device = Annotated[
    str | None,
    Option(
        help="Device of the heavy computations, cpu or gpu. By default theory uses the default "
        "device of JAX, and simulate fits in NumPy.",
    ),
]

BAGS = "Bags"
File = Annotated[
    Path,
    Option(
        "FILE",
        help="An .npz file with X (tokens, d), bag (rising ids) and y (one label for each bag), "
        "or X (n, L, d) and y, mask if needed; or a .parquet file with a row for each token; or a "
        "folder that sparsetoken.bags.pack wrote.",
    ),
]
LabelColumn = Annotated[
    str,
    Option(
        group=BAGS,
        help="Array or column of the labels; by default y, or label in a Parquet file. Required if "
        "the file has both; the other is ignored.",
    ),
]
BagColumn = Annotated[str, Option(group=BAGS, help="Array or column of the bag ids.")]
Columns = Annotated[
    str,
    Option(
        group=BAGS,
        help="Columns of the tokens, separated by commas: names in a Parquet file, numbers from 0 "
        "for .npz. By default all numeric columns except bag ids and labels.",
    ),
]
Positive = Annotated[
    str,
    Option(
        group=BAGS,
        help="The label that counts as True, the second class; all others are False.",
    ),
]
TrustPickle = Annotated[
    bool,
    Option(
        group=BAGS,
        negative="",
        help="Load MODEL even if it is a pickle, which can run any code: only if you trust its "
        "author.",
    ),
]
Seed = Annotated[
    int,
    Option(
        validator=Number(gte=0, lt=2**32),
        help="Random seed, at least 0 and below 2^32.",
    ),
]
Workers = Annotated[int, Option(help="Number of worker processes; 1 runs in this process.")]
Cluster = Annotated[str, Option(help="Address of a dask scheduler, tcp://host:port.")]


def model_of(name: str, query: Query | None, steps: TwoSteps, elementwise: Elementwise) -> Model:
    """Return the model of this name, with the given query or the steps that find it."""
    model: Any = make_model(name, query or steps, activation=elementwise.activation)
    moved = [
        option_name(field)
        for field, declared in parameters_of(steps).items()
        if field != "loss" and getattr(steps, field) != declared.default
    ]
    if query is not None and moved:
        message(f"No effect: {', '.join(moved)}. --cosine and --sharpness give the query.")
    return model
