"""The command that predicts the joint minimum of softmax attention over all weights."""

from __future__ import annotations

from typing import Annotated, Any

from sparsetoken.base.parameters import POSITIVE, Parameter, parameters_of
from sparsetoken.cli import options as o
from sparsetoken.cli.command import command
from sparsetoken.cli.grid import Words, answered
from sparsetoken.cli.output import Answer, shortfall, table
from sparsetoken.model.minimum import Minimum
from sparsetoken.model.networks import Softmax
from sparsetoken.model.problem import SparseTokenProblem

_OWN = parameters_of(Minimum)
_NUMBERS = ("test_error", "training_loss", "objective")


def _ridge(what: str) -> Parameter:
    text = f"ridge of {what}, above 0"
    return Parameter(f"ridge_{what[0]}", text, "", 0.05, POSITIVE, arrays=False)


@o.of(
    SparseTokenProblem,
    alpha=_OWN["alpha"],
    loss=_OWN["loss"],
    ridge_w=_ridge("w, the readout"),
    ridge_q=_ridge("q, the query"),
)
class Minimizing(o.Values):
    """The options of minimize."""


@command
def minimize(
    *,
    options: Minimizing = Minimizing(),
    tolerance: Annotated[
        float, o.several("Tolerance: an upper bound on twice the error of the test error.")
    ] = 1e-2,
    grid: o.Grid = o.Grid(),
) -> Answer:
    """Predict the minimum of the loss with weight decay over all weights of softmax attention.

    Other networks and tasks are minimised from Python: sparsetoken.minimize.

    Example: sparsetoken minimize --strength 4 --alpha 2,4,8
    """

    def call(at: Any, model: str) -> Any:
        from sparsetoken import theory

        ridge = {"w": at.ridge_w, "q": at.ridge_q}
        minimum = Minimum(Softmax(), alpha=at.alpha, ridge=ridge, loss=at.loss)
        problem = at.of(SparseTokenProblem)
        return theory.minimize(problem, minimum, tolerance=tolerance, **grid.work)

    return answered(options, grid, call, _minimum)


def _minimum(found: Any, words: Words) -> Answer:
    weights = found.weights.columns()
    numbers = {name: getattr(found, name) for name in _NUMBERS}
    for name in ("overlap_w", "overlap_q", "norm_w", "norm_q"):
        numbers[name] = weights[name]
    numbers["bias"] = weights["weight_b"]
    stability = {name: getattr(found, name) for name in ("replicon", "jumps", "numerical_error")}
    others = [{name: getattr(one, name) for name in _NUMBERS} for one in found.branches[1:]]
    values = numbers | stability | {"status": found.status, "other_minima": others}
    lines = table("Minimum over all weights", numbers | stability)
    if others:
        lines += table("Other solutions", others)
    return Answer("", values, lines, shortfall=shortfall(found.status))
