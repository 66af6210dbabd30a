"""The command that follows joint gradient descent on all weights of softmax attention."""

from __future__ import annotations

import functools
from typing import Annotated, Any

from sparsetoken.base.validation import LARGEST_VALUE, InvalidInput, real
from sparsetoken.cli import options as o
from sparsetoken.cli.grid import answered, computed, made, options, points_of
from sparsetoken.cli.output import Answer
from sparsetoken.model.descent import Descent
from sparsetoken.model.networks import Softmax
from sparsetoken.model.one_pass import OnePass
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.training import LARGEST_START

FEW = ("test_error", "training_loss", "cosine_q", "norm_q", "norm_w")
SHOWN = (
    *("test_error", "training_loss", "cosine", "overlap_w", "overlap_q"),
    *("norm_w", "norm_q", "product_wq", "bias"),
)
# A descent takes arrays of these for schedules of its steps, or of columns.
LOOPS = ("loss", "beta", "eta_w", "eta_q", "eta_b", "start_w", "start_q")
_START = "length of {} before the first step, orthogonal to the signal; from 0 to 1e5."


def descend(
    *,
    task: o.Task = o.Task(),
    alpha: Annotated[o.Numbers | None, o.declared(Descent, "alpha", o.TRAINING)] = None,
    loss: o.Loss = "logistic",
    steps: Annotated[int | None, o.number("Gradient steps.", o.TRAINING)] = None,
    one_pass: Annotated[
        bool, o.Option(help="One pass over fresh bags, a bag in each step.", group=o.TRAINING)
    ] = False,
    times: Annotated[
        o.Numbers | None,
        o.number("t, bags that one pass has seen per dimension: from 0, as 0:20:21.", o.TRAINING),
    ] = None,
    eta_w: Annotated[o.Numbers, o.number("step size of w, the readout.", o.TRAINING)] = 1.0,
    eta_q: Annotated[o.Numbers, o.number("step size of q, the query.", o.TRAINING)] = 4.0,
    eta_b: Annotated[o.Numbers, o.number("step size of b, the bias.", o.TRAINING)] = 0.5,
    start_w: Annotated[o.Numbers, o.number(_START.format("w"), o.TRAINING)] = 0.0,
    start_q: Annotated[o.Numbers, o.number(_START.format("q"), o.TRAINING)] = 0.0,
    beta: Annotated[o.Numbers, o.number("β, inverse temperature, above 0.", o.TRAINING)] = 1.0,
    tolerance: Annotated[
        float, o.number("Tolerance: an upper bound on twice the numerical error at every step.")
    ] = 1e-3,
    dimension: Annotated[
        int | None, o.number("d: simulate at this dimension as well.", o.EXPERIMENT)
    ] = None,
    trials: o.Trials = 8,
    seed: o.TrialSeed = 0,
    grid: o.Grid = o.Grid(),
) -> Answer:
    """Follow gradient descent on readout, query and bias of softmax attention, step by step.

    With --one-pass each bag is seen once, and the times count them. Other networks and tasks are
    followed from Python: sparsetoken.descend.

    Example: sparsetoken descend --strength 3 --alpha 3 --steps 12
    """
    _require_own(one_pass, alpha=alpha, steps=steps, times=times)
    given = {} if one_pass else {"alpha": Descent.alpha if alpha is None else alpha}
    given |= {"loss": loss, "eta_w": eta_w, "eta_q": eta_q}
    given |= {"eta_b": eta_b, "start_w": start_w, "start_q": start_q, "beta": beta}
    given = options(task, **given)
    along = {"times": OnePass.times if times is None else times}
    if not one_pass:
        along = {"steps": Descent.steps if steps is None else steps}
    inner = ["time" if one_pass else "step"]

    def experiment(at: dict[str, Any]) -> Any:
        arguments = made(SparseTokenProblem, at), _trained(at, along)
        from sparsetoken import simulation

        more = {"dimension": dimension, "trials": trials, "seed": seed, **grid.work}
        return functools.partial(simulation.descend, *arguments, **more)

    def limit(at: dict[str, Any]) -> Any:
        arguments = made(SparseTokenProblem, at), _trained(at, along)
        from sparsetoken import theory

        return functools.partial(theory.descend, *arguments, tolerance=tolerance, **grid.work)

    # What the simulation refuses is refused before the limit is computed, which may take long.
    measured = [] if dimension is None else computed(given, grid, experiment, LOOPS, inner)
    found = computed(given, grid, limit, LOOPS, inner)
    title = "One pass over fresh bags" if one_pass else "Gradient descent on all weights"
    answer = answered(title, found, grid, FEW, _trajectory)
    if not measured:
        return answer
    plain = o.Grid(all=grid.all)
    beside = answered("Means of the trials", measured, plain, FEW, _simulation)
    sampled = [{"simulation": _simulation(part)} for _, part in points_of(measured)]
    values = {**answer.values}
    if "points" in values:
        pairs = zip(values["points"], sampled, strict=True)
        values["points"] = [{**one, **other} for one, other in pairs]
    else:
        values |= sampled[0]
    return answer._replace(
        values=values,
        lines=[*answer.lines, *beside.lines],
        advice=[*answer.advice, *beside.advice],
        shortfall=answer.shortfall or beside.shortfall,
    )


def _require_own(one_pass: bool, **given: Any) -> None:
    """Raise `InvalidInput` if an option is given that the way of training has not."""
    for name in ("alpha", "steps") if one_pass else ("times",):
        if given[name] is not None:
            legal = f"left out {'with' if one_pass else 'without'} --one-pass"
            raise InvalidInput(name, legal, given[name])


def _trained(at: dict[str, Any], along: dict[str, Any]) -> Descent | OnePass:
    rates = {name: real(f"eta_{name}", at[f"eta_{name}"], 0.0, LARGEST_VALUE) for name in "wqb"}
    starts = {name: real(f"start_{name}", at[f"start_{name}"], 0.0, LARGEST_START) for name in "wq"}
    more = along | ({"alpha": at["alpha"]} if "alpha" in at else {})
    return (OnePass if "times" in along else Descent)(
        Softmax(beta=at["beta"]),
        **more,
        rates={name: rates[name] for name in "wq"},
        rate_c=rates["b"],
        start=starts,
        loss=at["loss"],
    )


def _trajectory(path: Any) -> dict[str, Any]:
    return {
        "steps": _rows(path, _states(path.training_loss)),
        "numerical_error": path.numerical_error,
        "best_step": path.best_step,
        "replicas": path.replicas,
        "status": path.status,
        "advice": path.advice,
    }


def _simulation(found: Any) -> dict[str, Any]:
    """Return the means of trials with their standard errors."""
    states = _states(found.mean.training_loss)
    mean, error = (_rows(one, states) for one in (found.mean, found.standard_error))
    (along,) = found.mean.dims
    steps = [
        {along: row[along]}
        | {n: {"mean": row[n], "standard_error": other[n]} for n in row if n != along}
        for row, other in zip(mean, error, strict=True)
    ]
    return {"steps": steps, "status": found.status}


def _quantities(path: Any) -> dict[str, Any]:
    """Return the columns of a trajectory, whose last axis is steps, by their JSON keys."""
    found = {"test_error": path.test_error, "training_loss": path.training_loss}
    found |= path.weights.columns() | {"product_wq": path.weights.gram[..., 0, 1]}
    found |= {"cosine": found["cosine_q"], "bias": found["weight_b"]}
    return {name: found[name] for name in SHOWN}


def _rows(path: Any, states: int) -> list[dict[str, Any]]:
    """Return a row for each of the first states."""
    (along,) = path.dims
    lists = {along: path.coords[along]} | _quantities(path)
    return [{name: row[t].item() for name, row in lists.items()} for t in range(states)]


def _states(training_loss: Any) -> int:
    """Return the number of states kept: the start, and all until the descent diverges."""
    import numpy as np

    return max(int(np.isfinite(training_loss).sum()), 1)
