"""The command that predicts the joint minimum of softmax attention over all weights."""

from __future__ import annotations

import functools
from typing import Annotated, Any

from sparsetoken.base.validation import LARGEST_VALUE, real
from sparsetoken.cli import options as o
from sparsetoken.cli.grid import answered, computed, made, options
from sparsetoken.cli.output import Answer
from sparsetoken.model.minimum import Minimum
from sparsetoken.model.networks import Softmax
from sparsetoken.model.problem import SparseTokenProblem

_NUMBERS = ("test_error", "training_loss", "objective")
LOOPS = ("loss", "ridge_w", "ridge_q")


def minimize(
    *,
    task: o.Task = o.Task(),
    alpha: Annotated[o.Numbers, o.declared(Minimum, "alpha", o.TRAINING)] = Minimum.alpha,
    loss: o.Loss = "logistic",
    ridge_w: Annotated[o.Numbers, o.number("ridge of w, the readout, above 0.", o.TRAINING)] = 0.05,
    ridge_q: Annotated[o.Numbers, o.number("ridge of q, the query, above 0.", o.TRAINING)] = 0.05,
    tolerance: Annotated[
        float, o.number("Tolerance: an upper bound on twice the error of the test error.")
    ] = 1e-2,
    grid: o.Grid = o.Grid(),
) -> Answer:
    """Predict the minimum of the loss with weight decay over all weights of softmax attention.

    Other networks and tasks are minimised from Python: sparsetoken.minimize.

    Example: sparsetoken minimize --strength 4 --alpha 2,4,8
    """

    def call(at: dict[str, Any]) -> Any:
        problem = made(SparseTokenProblem, at)
        ridge = {
            name: real(f"ridge_{name}", at[f"ridge_{name}"], 0.0, LARGEST_VALUE, open_low=True)
            for name in "wq"
        }
        minimum = Minimum(Softmax(), alpha=at["alpha"], ridge=ridge, loss=at["loss"])
        from sparsetoken import theory

        more = {"tolerance": tolerance, **grid.work}
        return functools.partial(theory.minimize, problem, minimum, **more)

    given = options(task, alpha=alpha, loss=loss, ridge_w=ridge_w, ridge_q=ridge_q)
    found = computed(given, grid, call, LOOPS)
    few = ("test_error", "training_loss", "cosine_q", "replicon")
    return answered("Minimum over all weights", found, grid, few, _values)


def _values(found: Any) -> dict[str, Any]:
    weights = found.weights.columns()
    numbers = {name: getattr(found, name) for name in _NUMBERS}
    numbers |= {name: weights[name] for name in ("overlap_w", "overlap_q", "norm_w", "norm_q")}
    numbers["bias"] = weights["weight_b"]
    others = [{name: getattr(one, name) for name in _NUMBERS} for one in found.branches[1:]]
    stability = {name: getattr(found, name) for name in ("replicon", "jumps", "numerical_error")}
    return numbers | stability | {"status": found.status, "other_minima": others}
