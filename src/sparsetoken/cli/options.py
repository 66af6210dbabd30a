"""The options that commands share, each declared once, and the values they describe."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from sparsetoken.cli.show import message

if TYPE_CHECKING:
    from sparsetoken.models import Model
    from sparsetoken.problem import SparseTokenProblem
    from sparsetoken.stages import Query, Readout, TwoSteps

Number = TypeVar("Number", int, float)

TASK = "Task"
TRAINING = "Training"
QUERY = "Query (both or neither; without them the two gradient steps set it)"

DEFAULT_DIMENSION, DEFAULT_TRIALS = 1000, 8


def option(name: str, text: str, panel: str, **more: Any) -> typer.models.OptionInfo:
    """Return an option in a panel of the help."""
    return typer.Option(name, help=text, rich_help_panel=panel, **more)


@dataclasses.dataclass(frozen=True)
class TaskOptions:
    """The options of a problem."""

    length: Annotated[int, option("--length", "L, tokens per sample.", TASK)] = 10
    informative: Annotated[
        int, option("--informative", "R, tokens that carry the signal, 1 to L.", TASK)
    ] = 1
    strength: Annotated[
        float, option("--strength", "theta, signal strength, at least 0.", TASK)
    ] = 5.0
    positive_rate: Annotated[
        float, option("--positive-rate", "pi, chance of the label +1, in (0, 1).", TASK)
    ] = 0.5

    def problem(self) -> SparseTokenProblem:
        """Return the problem."""
        from sparsetoken.problem import SparseTokenProblem

        return SparseTokenProblem(self.length, self.informative, self.strength, self.positive_rate)


@dataclasses.dataclass(frozen=True)
class StepOptions:
    """The options of the two gradient steps."""

    loss: Annotated[
        str, option("--loss", "square, logistic, hinge or squared_hinge.", TRAINING)
    ] = "logistic"
    alpha0: Annotated[
        float, option("--alpha0", "n0/d > 0, samples of the two gradient steps.", TRAINING)
    ] = 2.0
    eta_w: Annotated[float, option("--eta-w", "Step size of the readout.", TRAINING)] = 0.5
    eta_b: Annotated[float, option("--eta-b", "Step size of the bias.", TRAINING)] = 0.5
    eta_q: Annotated[float, option("--eta-q", "Step size of the query.", TRAINING)] = 25.0
    beta: Annotated[
        float, option("--beta", "Inverse temperature > 0 of the softmax.", TRAINING)
    ] = 1.0

    def steps(self) -> TwoSteps:
        """Return the steps."""
        from sparsetoken.stages import TwoSteps

        return TwoSteps(self.alpha0, self.eta_w, self.eta_b, self.eta_q, self.beta, self.loss)


@dataclasses.dataclass(frozen=True)
class ModelOptions(StepOptions):
    """The options of a model, with its query or the steps that find it."""

    cosine: Annotated[
        float | None, option("--cosine", "s, cosine of query and signal, in [-1, 1].", QUERY)
    ] = None
    sharpness: Annotated[
        float | None,
        option("--sharpness", "k = beta |q| >= 0, how sharp the softmax is.", QUERY),
    ] = None
    activation: Annotated[
        str,
        typer.Option(
            "--activation",
            help="For elementwise only: phi in (1/L) X^T phi(beta X q), such as "
            "erf (1 + erf), sigmoid, tanh, relu, linear (1 + x) or exp.",
        ),
    ] = "erf"

    def model(self, name: str) -> Model:
        """Return the model of this name.

        Raises
        ------
        InvalidInput
            If the name is unknown, or only one of cosine and sharpness is given.
        """
        from sparsetoken.models import make_model

        return make_model(name, self.query(), activation=self.activation)

    def query(self) -> Query | TwoSteps:
        """Return the query that is given, or the steps that find it."""
        from sparsetoken.stages import Query
        from sparsetoken.validation import InvalidInput

        if self.cosine is None and self.sharpness is None:
            return self.steps()
        if self.cosine is None or self.sharpness is None:
            got = "--cosine alone" if self.sharpness is None else "--sharpness alone"
            remedy = "Give both, or neither to let the two gradient steps set the query."
            raise InvalidInput("--cosine and --sharpness", "given together", got, remedy)
        steps = (field for field in dataclasses.fields(StepOptions) if field.name != "loss")
        given = [field.name for field in steps if getattr(self, field.name) != field.default]
        if given:
            names = ", ".join("--" + name.replace("_", "-") for name in given)
            message(f"No effect: {names}. --cosine and --sharpness give the query.")
        return Query(self.cosine, self.sharpness)


@dataclasses.dataclass(frozen=True)
class ReadoutOptions:
    """The options of the readout, but for its loss, which it has in common with the steps."""

    ridge: Annotated[
        float,
        option(
            "--ridge", "lambda >= 0 in (1/n1) sum loss + (lambda/2)|w|^2; 0: its limit.", TRAINING
        ),
    ] = 1e-2
    alpha1: Annotated[
        float,
        option(
            "--alpha1", "n1/d > 0, samples of the readout fit; predict takes inf too.", TRAINING
        ),
    ] = 2.0

    def readout(self, loss: str) -> Readout:
        """Return the readout."""
        from sparsetoken.stages import Readout

        return Readout(loss, self.ridge, self.alpha1)


ModelName = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="attention, pooled, vectorized, elementwise or hard_attention."
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


def numbers(name: str, text: str, kind: type[Number], legal: str) -> list[Number]:
    """Return the numbers in a text with commas between them."""
    from sparsetoken.validation import InvalidInput

    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInput(name, legal, text) from None


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Turn each parameter that is a dataclass of options into those options.

    The command is called with the dataclass filled in.
    """
    hints = typing.get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in inspect.signature(command).parameters.values():
        kind = hints[parameter.name]
        if dataclasses.is_dataclass(kind):
            groups[parameter.name] = kind
            own = typing.get_type_hints(kind, include_extras=True)
            parameters += [
                parameter.replace(
                    name=field.name, annotation=own[field.name], default=field.default
                )
                for field in dataclasses.fields(kind)
            ]
        else:
            parameters.append(parameter.replace(annotation=hints[parameter.name]))

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, kind in groups.items():
            own = {field.name: given.pop(field.name) for field in dataclasses.fields(kind)}
            given[name] = kind(**own)
        command(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run
