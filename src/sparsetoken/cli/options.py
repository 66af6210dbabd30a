"""The options that commands share, each declared once."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "Activation",
    "Alpha0",
    "Alpha1",
    "AsJson",
    "Beta",
    "CapacityTolerance",
    "Cosine",
    "Device",
    "EtaB",
    "EtaQ",
    "EtaW",
    "Informative",
    "Length",
    "LossName",
    "Model",
    "PositiveRate",
    "Ridge",
    "Sharpness",
    "Strength",
    "Tolerance",
]

PROBLEM = "Task"
TRAINING = "Training"
QUERY = "Query (both or neither; without them the two gradient steps set it)"


def _option(name: str, text: str, panel: str) -> typer.models.OptionInfo:
    return typer.Option(name, help=text, rich_help_panel=panel)


Model = Annotated[
    str, typer.Argument(metavar="MODEL", help="attention, pooled, vectorized or elementwise.")
]

Length = Annotated[int, _option("--length", "L, tokens per sample.", PROBLEM)]
Informative = Annotated[
    int, _option("--informative", "R, tokens that carry the signal, 1 to L.", PROBLEM)
]
Strength = Annotated[float, _option("--strength", "theta, signal strength, at least 0.", PROBLEM)]
PositiveRate = Annotated[
    float, _option("--positive-rate", "pi, chance of the label +1, in (0, 1).", PROBLEM)
]

LossName = Annotated[str, _option("--loss", "square, logistic, hinge or squared_hinge.", TRAINING)]
Ridge = Annotated[
    float,
    _option("--ridge", "lambda >= 0 in (1/n1) sum loss + (lambda/2)|w|^2; 0: its limit.", TRAINING),
]
Alpha0 = Annotated[
    float, _option("--alpha0", "n0/d > 0, samples of the two gradient steps.", TRAINING)
]
EtaW = Annotated[float, _option("--eta-w", "Step size of the readout.", TRAINING)]
EtaB = Annotated[float, _option("--eta-b", "Step size of the bias.", TRAINING)]
EtaQ = Annotated[float, _option("--eta-q", "Step size of the query.", TRAINING)]
Beta = Annotated[float, _option("--beta", "Inverse temperature > 0 of the softmax.", TRAINING)]
Alpha1 = Annotated[
    float,
    _option("--alpha1", "n1/d > 0, samples of the readout fit; predict takes inf too.", TRAINING),
]

Cosine = Annotated[
    float | None, _option("--cosine", "s, cosine of query and signal, in [-1, 1].", QUERY)
]
Sharpness = Annotated[
    float | None, _option("--sharpness", "k = beta |q| >= 0, how sharp the softmax is.", QUERY)
]

Activation = Annotated[
    str,
    typer.Option(
        "--activation",
        help="For elementwise only: phi in (1/L) X^T phi(beta X q), such as "
        "erf (1 + erf), sigmoid, tanh, relu, linear (1 + x) or exp.",
    ),
]
Tolerance = Annotated[
    float, typer.Option("--tolerance", help="Bound on twice the numerical error of the test error.")
]
CapacityTolerance = Annotated[
    float,
    typer.Option(
        "--tolerance", help="Bound on twice the relative numerical error of the capacity."
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        show_default=False,
        help="cpu or gpu: where JAX computes the heavy part. By default theory runs where JAX "
        "would put it, and the fits of simulate in NumPy.",
    ),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json", help="One JSON object on standard output; messages go to standard error."
    ),
]
