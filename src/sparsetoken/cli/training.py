"""The command that follows joint gradient descent on all weights."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter as Option

from sparsetoken.base.validation import LARGEST_VALUE, InvalidInput, choice, integer, real
from sparsetoken.cli import options as o
from sparsetoken.cli.command import PANELS, SIGNED, Given, command, numbers, option_name, option_of
from sparsetoken.cli.output import Answer, pairs, shortfall, table
from sparsetoken.model import tasks
from sparsetoken.model.descent import Descent
from sparsetoken.model.networks import (
    Architecture,
    Elementwise,
    Gated,
    SelfAttention,
    Softmax,
)
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.task_law import Problem, law_of

SHOWN = (
    "test_error",
    "training_loss",
    "cosine",
    "overlap_w",
    "overlap_q",
    "norm_w",
    "norm_q",
    "product_wq",
    "bias",
)
NETWORKS: dict[str, tuple[type[Architecture], tuple[str, ...]]] = {
    "softmax": (Softmax, ("beta",)),
    "heads": (Softmax, ("heads", "beta")),
    "gated": (Gated, ("hidden",)),
    "self_attention": (SelfAttention, ("rank",)),
}
"""The networks, and the options that are fields of each."""
_OF_ALL = ("rate", "rate_c", "start")
_OF_PROBLEM = {"length", "informative", "strength", "positive_rate"}
_OF_ONE = {name for _, own in NETWORKS.values() for name in own}
_OF_NETWORKS = {*_OF_ALL, *_OF_ONE} - {"beta"}
_OF_MODELS = {f"{name}_{weight}" for name in ("eta", "start") for weight in "wq"}
_OF_MODELS |= {"model", "activation", "eta_b"}
_MODEL = "Without --network (step sizes: one number, or a comma-separated list with one per step)"
_NETWORK = "With --network or --task"
_ETA = "Step size of the {}."
_START = "Length of the {} before the first step, orthogonal to the signal."


@command
def descend(
    *,
    model: Annotated[str, Option(group=_MODEL, help="attention or elementwise.")] = "attention",
    problem: SparseTokenProblem,
    descent: Descent,
    beta: Annotated[float, option_of(Softmax, "beta", PANELS["Descent"])] = 1.0,
    activation: Annotated[str, option_of(Elementwise, "activation", _MODEL)] = "erf",
    eta_w: Annotated[str, Option(group=_MODEL, help=_ETA.format("readout")), SIGNED] = "1",
    eta_q: Annotated[str, Option(group=_MODEL, help=_ETA.format("query")), SIGNED] = "4",
    eta_b: Annotated[str, Option(group=_MODEL, help=_ETA.format("bias")), SIGNED] = "0.5",
    start_w: Annotated[float, Option(group=_MODEL, help=_START.format("readout"))] = 0.0,
    start_q: Annotated[float, Option(group=_MODEL, help=_START.format("query"))] = 0.0,
    task: Annotated[
        str | None,
        Option(
            group=PANELS["SparseTokenProblem"],
            help=f"Another task: {', '.join(tasks.__all__)}. Its --length and --strength are its "
            "own; the network is softmax unless --network names one.",
        ),
    ] = None,
    start_overlap: Annotated[
        float,
        Option(
            group=PANELS["SparseTokenProblem"],
            help="With --task: overlap of the first column and the first direction of the task "
            "before the first step.",
        ),
    ] = 0.0,
    network: Annotated[
        str | None,
        Option(
            group=_NETWORK,
            help="softmax (one query), heads (several), gated or self_attention: train all weights "
            "of this network instead of --model.",
        ),
    ] = None,
    heads: Annotated[int, option_of(Softmax, "heads", _NETWORK)] = 2,
    hidden: Annotated[int, option_of(Gated, "hidden", _NETWORK)] = 2,
    rank: Annotated[int, option_of(SelfAttention, "rank", _NETWORK)] = 2,
    rate: Annotated[
        str,
        Option(
            group=_NETWORK,
            help="Step size of all columns, or a comma-separated list with one per column: q, w of "
            "softmax; q1, q2, ..., w1, ... of heads; v1, ..., g1, ..., w of gated; Q1, ..., "
            "K1, ..., V of self_attention.",
        ),
        SIGNED,
    ] = "2",
    start: Annotated[
        str | None,
        Option(
            group=_NETWORK,
            help="Length of all columns before the first step, or a comma-separated list; by "
            "default norms that break the symmetries of the network.",
        ),
        SIGNED,
    ] = None,
    tolerance: Annotated[
        float, Option(help="Tolerance: an upper bound on twice the numerical error at every step.")
    ] = 1e-3,
    dimension: o.Dimension = o.DEFAULT_DIMENSION,
    trials: o.Trials = o.DEFAULT_TRIALS,
    seed: o.TrialSeed = 0,
    given: Given,
) -> Answer:
    """Follow joint gradient descent on all weights, step by step.

    Without --network, it trains readout, query and bias of attention or elementwise attention. With
    --dimension, --trials or --seed it is also simulated.

    Example: sparsetoken descend --network gated --hidden 2 --alpha 3 --steps 12
    """
    learned: Problem = problem if task is None else _task(task, problem, given)
    if task is not None:
        network = network or "softmax"
        if "loss" not in given and getattr(learned, "metric", "error") != "error":
            descent = dataclasses.replace(descent, loss="square")
    elif "start_overlap" in given:
        raise InvalidInput("--start-overlap", "given with --task", "no --task")
    _require_own(network, given)
    if network is None:
        choice("--model", model, ("attention", "elementwise"))
        elementwise = model == "elementwise"
        size = functools.partial(real, low=0.0, high=LARGEST_VALUE)
        in_turn = functools.partial(_one_or_each, most=descent.steps, what="one for each step")
        fields: dict[str, Any] = {
            "network": Elementwise(activation, beta) if elementwise else Softmax(beta=beta),
            "rates": {"w": in_turn("--eta-w", eta_w), "q": in_turn("--eta-q", eta_q)},
            "rate_c": in_turn("--eta-b", eta_b),
            "start": {"w": size("--start-w", start_w), "q": size("--start-q", start_q)},
        }
    else:
        kind, own = NETWORKS[network]
        sizes = {"heads": heads, "hidden": hidden, "rank": rank, "beta": beta}
        built = kind(**{name: sizes[name] for name in own})
        columns = built.column_names(outputs=1)
        what = f"for the columns {', '.join(columns)}"
        of_columns = functools.partial(_one_or_each, most=len(columns), what=what)
        fields = {
            "network": built,
            "rates": of_columns("--rate", rate),
            "start": None if start is None else of_columns("--start", start),
        }
        if task is not None:
            overlap = real("--start-overlap", start_overlap, -LARGEST_VALUE, LARGEST_VALUE)
            zeros = dict.fromkeys(columns[1:], 0.0)
            fields["start_overlaps"] = {
                columns[0]: {law_of(learned).directions[0]: overlap},
                **zeros,
            }
    trained = dataclasses.replace(descent, **fields)
    from sparsetoken import simulation, theory
    from sparsetoken.results.simulation import standard_error
    from sparsetoken.simulation.descent import DescentPlan
    from sparsetoken.simulation.setting import Setting

    sampled = bool(given & {"dimension", "trials", "seed"})
    if sampled:  # theory may take long, so what simulation refuses is refused now
        integer("trials", trials, 1)
        DescentPlan(learned, trained, Setting(dimension, seed, "tensors"))
    path = theory.descend(learned, trained, tolerance=tolerance)
    values: dict[str, Any] = {
        "steps": _rows(_quantities(path, network), _states(path.training_loss)),
        "numerical_error": path.numerical_error,
        "best_step": path.best_step,
        "replicas": path.replicas,
        "status": path.status,
        "advice": path.notes,
    }
    advice = [f"Numerical error of the test error: {path.numerical_error:.1e}"]
    advice += [f"Advice: {note}" for note in path.notes]
    fallen = shortfall(path.status)
    states = _states(path.training_loss)
    lines = table("Gradient descent on all weights", _rows(_columns(path), states))
    if sampled:
        ran = simulation.descend(learned, trained, dimension=dimension, trials=trials, seed=seed)
        states = _states(ran.mean.training_loss)
        tables = []
        reductions: tuple[Any, Any] = np.mean, standard_error
        titles = "Means of the trials", "Their standard errors"
        for title, reduce in zip(titles, reductions, strict=True):
            tables.append(_rows(_quantities(ran.trials, network), states, reduce))
            lines += table(title, _rows(_columns(ran.trials), states, reduce))
        both = [
            pairs(*rows) | {"step": step} for step, rows in enumerate(zip(*tables, strict=True))
        ]
        values["simulation"] = {"steps": both, "status": ran.status}
        fallen = fallen or shortfall(ran.status)
    return Answer("", values, lines, advice=advice, shortfall=fallen)


def _task(name: str, problem: SparseTokenProblem, given: Given) -> Problem:
    """Return a task by its name, of the length and strength that were given."""
    make = getattr(tasks, choice("--task", name, tasks.__all__))
    own = _OF_PROBLEM & {*inspect.signature(make).parameters}
    for other in sorted(given & (_OF_PROBLEM - own)):
        legal = " and ".join(map(option_name, sorted(own)))
        remedy = f"{option_name(other)} has no effect on this task."
        raise InvalidInput(f"options of --task {name}", legal, option_name(other), remedy)
    made: Problem = make(**{field: getattr(problem, field) for field in own & given})
    return made


def _require_own(network: str | None, given: Given) -> None:
    """Refuse options that have no effect on the requested descent."""
    if network is None:
        for name in sorted(given & _OF_NETWORKS):
            remedy = "Add --network softmax, for example."
            raise InvalidInput(option_name(name), "given with --network", "no --network", remedy)
        return
    choice("--network", network, NETWORKS)
    _, own = NETWORKS[network]
    for name in sorted(given & (_OF_MODELS | _OF_ONE) - {*own}):
        legal = ", ".join(option_name(n) for n in (*own, *_OF_ALL))
        remedy = f"{option_name(name)} has no effect on this network."
        raise InvalidInput(f"options of --network {network}", legal, option_name(name), remedy)


def _one_or_each(name: str, text: str, most: int, what: str) -> float | list[float]:
    """Return one number for all columns or steps, or one for each."""
    entries = [real(name, x, 0.0, LARGEST_VALUE) for x in numbers(name, text, float)]
    if len(entries) not in (1, most):
        raise InvalidInput(name, f"a number, or {most} numbers with commas between, {what}", text)
    return entries[0] if len(entries) == 1 else entries


def _columns(path: Any) -> dict[str, np.ndarray]:
    """Return the columns of a course that a person reads, whose last axis is steps."""
    named = {name: getattr(path, name) for name in ("test_error", "training_loss", "attended")}
    return named | path.weights.columns()


def _quantities(path: Any, network: str | None) -> dict[str, np.ndarray]:
    """Return the columns of a course with the names of the JSON keys."""
    quantities = _columns(path)
    if "cosine_q" in quantities:  # one query and one signal
        product = path.weights.gram[..., 0, 1]
        quantities |= {"cosine": quantities["cosine_q"], "product_wq": product}
    quantities["bias"] = quantities["b"]
    return {name: quantities[name] for name in SHOWN} if network is None else quantities


def _rows(
    quantities: Mapping[str, np.ndarray],
    states: int,
    reduce: Callable[..., np.ndarray] = lambda values, axis: values,
) -> list[dict[str, Any]]:
    """Return a row for each of the first states, of trials after a reduction of their axis."""
    lists = {name: reduce(values, axis=0).tolist() for name, values in quantities.items()}
    return [{"step": t, **{name: row[t] for name, row in lists.items()}} for t in range(states)]


def _states(training_loss: np.ndarray) -> int:
    """Return the number of states kept: the start, and all until the descent diverges."""
    return max(int(np.isfinite(training_loss).sum()), 1)
