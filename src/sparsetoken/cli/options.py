"""Options shared by commands, except those that come from the declarations of values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter as Option

from sparsetoken.base.parameters import parameters_of
from sparsetoken.base.validation import integer
from sparsetoken.cli.command import option_name
from sparsetoken.model.models import MODELS
from sparsetoken.model.stages import Query, TwoSteps

DEFAULT_DIMENSION, DEFAULT_TRIALS = 1000, 8
EXPERIMENT = "Experiment at finite dimension"
Dimension = Annotated[int, Option(group=EXPERIMENT, help="d, embedding dimension, at least 3.")]
Trials = Annotated[int, Option(group=EXPERIMENT, help="Independent repetitions.")]
TrialSeed = Annotated[int, Option("--seed", group=EXPERIMENT, help="Seed of all trials.")]
Engine = Annotated[
    str,
    Option(
        group=EXPERIMENT,
        help="tensors samples the tokens; reduced samples from the same distribution without them.",
    ),
]


def _models(_: Any, tokens: Any) -> str | tuple[str, ...]:
    """Return the name of a model, or several; a word that names none stays as it is."""
    text: str = tokens[0].value
    names = tuple(MODELS) if text == "all" else tuple(map(str.strip, text.split(",")))
    return names if len(names) > 1 and {*names} <= {*MODELS} else text


ModelName = Annotated[
    str,
    Option(
        "MODEL",
        converter=_models,
        help=f"{', '.join(MODELS)}; several with commas between, or all.",
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
Groups = Annotated[
    str,
    Option(
        group=BAGS,
        help="Array or column that says of which patient, author or place each bag is; by default "
        "groups, if it is there. No fold splits a group.",
    ),
]
Columns = Annotated[
    str,
    Option(
        group=BAGS,
        help="Columns of the tokens, separated by commas: names in a Parquet file, numbers from 0 "
        "for .npz. By default all numeric columns except bag ids, labels and groups.",
    ),
]
Positive = Annotated[
    str,
    Option(
        group=BAGS,
        help="The label that counts as True, the second class; all others are False.",
    ),
]
RefuseEmpty = Annotated[
    bool,
    Option(
        group=BAGS,
        negative="",
        help="Refuse bags without a token, of which the class rate or the mean is predicted.",
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
    Option(help="Random seed, at least 0 and below 2^32."),
]
Workers = Annotated[int, Option(help="Number of worker processes; 1 runs in this process.")]
Cluster = Annotated[str, Option(help="Address of a dask scheduler, tcp://host:port.")]


def random_state(seed: int) -> int:
    """Return a seed that scikit-learn takes, or raise `InvalidInput`."""
    return integer("seed", seed, 0, 2**32 - 1)


def unused(query: Query | None, steps: TwoSteps) -> list[str]:
    """Return advice about the given steps that have no effect beside a given query."""
    moved = [
        option_name(field)
        for field, declared in parameters_of(steps).items()
        if field != "loss" and getattr(steps, field) != declared.default
    ]
    if query is None or not moved:
        return []
    return [f"No effect: {', '.join(moved)}. --cosine and --sharpness give the query."]
