"""The command that follows joint gradient descent on all weights of softmax attention."""

from __future__ import annotations

import dataclasses
import functools
from typing import Annotated, Any

import numpy as np

from sparsetoken.base.parameters import POSITIVE, SIZES, Parameter, Range, parameters_of
from sparsetoken.cli import options as o
from sparsetoken.cli.command import command
from sparsetoken.cli.grid import Words, answered, check_files
from sparsetoken.cli.output import Answer, shortfall, table
from sparsetoken.model.descent import Descent
from sparsetoken.model.networks import Softmax
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.training import LARGEST_START

SHOWN = (
    *("test_error", "training_loss", "cosine", "overlap_w", "overlap_q"),
    *("norm_w", "norm_q", "product_wq", "bias"),
)


def _step(what: str, default: float) -> Parameter:
    return Parameter(f"eta_{what[0]}", f"step size of the {what}", "", default, SIZES, arrays=False)


def _start(what: str) -> Parameter:
    text = f"length of the {what} before the first step, orthogonal to the signal"
    legal = Range(least=0, most=LARGEST_START)
    return Parameter(f"start_{what[0]}", text, "", 0.0, legal, arrays=False)


_OWN = parameters_of(Descent)


@o.of(
    SparseTokenProblem,
    alpha=_OWN["alpha"],
    loss=_OWN["loss"],
    beta=Parameter("beta", "inverse temperature", r"\beta", 1.0, POSITIVE, arrays=False),
    eta_w=_step("w, the readout", 1.0),
    eta_q=_step("q, the query", 4.0),
    eta_b=_step("b, the bias", 0.5),
    start_w=_start("w, the readout"),
    start_q=_start("q, the query"),
)
class Descending(o.Values):
    """The options of descend."""


@command
def descend(
    *,
    options: Descending = Descending(),
    steps: Annotated[int, o.several("Gradient steps.")] = 12,
    tolerance: Annotated[
        float, o.several("Tolerance: an upper bound on twice the numerical error at every step.")
    ] = 1e-3,
    dimension: Annotated[
        int | None,
        o.several("d: simulate at this dimension as well.", o.EXPERIMENT),
    ] = None,
    trials: o.Trials = 8,
    seed: o.TrialSeed = 0,
    grid: o.Grid = o.Grid(),
) -> Answer:
    """Follow gradient descent on readout, query and bias of softmax attention, step by step.

    Other networks and tasks are followed from Python: sparsetoken.descend.

    Example: sparsetoken descend --strength 3 --alpha 3 --steps 12
    """

    def descent(at: Any) -> Descent:
        return Descent(
            Softmax(beta=at.beta),
            alpha=at.alpha,
            steps=steps,
            rates={"w": at.eta_w, "q": at.eta_q},
            rate_c=at.eta_b,
            start={"w": at.start_w, "q": at.start_q},
            loss=at.loss,
        )

    def limit(at: Any, model: str) -> Any:
        from sparsetoken import theory

        problem = at.of(SparseTokenProblem)
        return theory.descend(problem, descent(at), tolerance=tolerance, **grid.work)

    def experiment(at: Any, model: str) -> Any:
        from sparsetoken import simulation

        more = {"dimension": dimension, "trials": trials, "seed": seed, **grid.work}
        return simulation.descend(at.of(SparseTokenProblem), descent(at), **more)

    course = functools.partial(answered, options, grid, limit, _course, inner=("step",))
    if dimension is None:
        return course()
    check_files(options, grid, ("step",))
    # What the simulation refuses is refused before the limit is computed, which may take long.
    files = dataclasses.replace(grid, out=None, plot=None)
    measured = answered(options, files, experiment, _simulation)
    return _beside(course(), measured)


def _beside(limit: Answer, measured: Answer) -> Answer:
    """Return the limit with the simulation at each point."""
    points = zip(
        *(one.values.get("points", [one.values]) for one in (limit, measured)), strict=True
    )
    both = [
        {**one, "simulation": {name: other[name] for name in ("steps", "status")}}
        for one, other in points
    ]
    values = {**limit.values, "points": both} if "points" in limit.values else both[0]
    return limit._replace(
        values=values,
        lines=[*limit.shown, *measured.shown],
        advice=[*limit.advice, *measured.advice],
        shortfall=limit.shortfall or measured.shortfall,
        code=max(limit.code, measured.code),
    )


def _course(path: Any, words: Words) -> Answer:
    values = {
        "steps": _rows(_quantities(path), _states(path.training_loss)),
        "numerical_error": path.numerical_error,
        "best_step": path.best_step,
        "replicas": path.replicas,
        "status": path.status,
        "advice": path.advice,
    }
    advice = [f"Numerical error of the test error: {path.numerical_error:.1e}"]
    advice += [f"Advice: {note}" for note in path.advice]
    lines = table("Gradient descent on all weights", _rows(_columns(path), len(values["steps"])))
    return Answer("", values, lines, advice=advice, shortfall=shortfall(path.status))


def _simulation(found: Any, words: Words) -> Answer:
    """Return the means of trials with their standard errors."""
    states = _states(found.mean.training_loss)
    mean, error = (_rows(_quantities(one), states) for one in (found.mean, found.standard_error))
    steps = [
        {"step": row["step"]}
        | {n: {"mean": row[n], "standard_error": other[n]} for n in row if n != "step"}
        for row, other in zip(mean, error, strict=True)
    ]
    lines = table("Means of the trials", _rows(_columns(found.mean), states))
    lines += table("Their standard errors", _rows(_columns(found.standard_error), states))
    fallen = shortfall(found.status)
    return Answer("", {"steps": steps, "status": found.status}, lines, shortfall=fallen)


def _columns(path: Any) -> dict[str, np.ndarray]:
    """Return the columns of a course that a person reads, whose last axis is steps."""
    named = {name: getattr(path, name) for name in ("test_error", "training_loss", "attended")}
    return named | path.weights.columns()


def _quantities(path: Any) -> dict[str, np.ndarray]:
    """Return the columns of a course with the names of the JSON keys."""
    found = _columns(path)
    product = path.weights.gram[..., 0, 1]
    found |= {"cosine": found["cosine_q"], "product_wq": product, "bias": found["weight_b"]}
    return {name: found[name] for name in SHOWN}


def _rows(quantities: dict[str, np.ndarray], states: int) -> list[dict[str, Any]]:
    """Return a row for each of the first states."""
    lists = {name: values.tolist() for name, values in quantities.items()}
    return [{"step": t, **{name: row[t] for name, row in lists.items()}} for t in range(states)]


def _states(training_loss: np.ndarray) -> int:
    """Return the number of states kept: the start, and all until the descent diverges."""
    return max(int(np.isfinite(training_loss).sum()), 1)
