"""The computation of the results of a sweep, in pieces of about a second."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import cloudpickle

from sparsetoken import simulation, theory
from sparsetoken.base.validation import InvalidInput, one_line
from sparsetoken.model.models import MODELS, Model
from sparsetoken.model.stages import Readout
from sparsetoken.results import Record, StatusCode
from sparsetoken.simulation.alignment import AlignmentPlan
from sparsetoken.simulation.trial import TrialPlan
from sparsetoken.sweep.grid import Call
from sparsetoken.work import Result

MOST_PREDICTIONS = {"alignment": 512, "learning": 64, "capacity": 8}
MOST_TRIALS, SQUARES = 128, 5_000_000
"""The most results of a piece; the squares of the dimensions of its trials have a largest sum."""

STATUSES = frozenset(map(str, StatusCode))
_WORDS = ("status", "message")


class Item(NamedTuple):
    """A result to compute: the key of its call, the call, and the number of the trial."""

    key: str
    call: Call
    trial: int = 0

    @property
    def name(self) -> str:
        """The key of the result."""
        return f"{self.key}.{self.trial}"

    @property
    def series(self) -> str:
        """A text that agrees for results that are computed together."""
        return self.key if self.call.quantity == "simulation" else self.call.series

    @property
    def most(self) -> int:
        """The most results like this one in a piece of work."""
        if self.call.quantity == "theory":
            return MOST_PREDICTIONS[self.call.experiment]
        return max(1, min(MOST_TRIALS, SQUARES // self.call.options.dimension**2))


class Piece:
    """Results for one worker, which is sent the losses and models of a script or a notebook.

    A process that receives it reads it when it is computed: an error then belongs to its results,
    and does not end the process.
    """

    def __init__(self, keys: list[str], items: Sequence[Item] | bytes, budget: int | None) -> None:
        self.keys, self.items, self.budget = keys, items, budget

    @classmethod
    def of(cls, items: Sequence[Item], budget: int | None = None) -> Piece:
        """Return a piece of these results, and of so many bytes for each trial."""
        return cls([item.name for item in items], items, budget)

    def __reduce__(self) -> tuple[Any, ...]:
        if isinstance(self.items, bytes):
            return Piece, (self.keys, self.items, self.budget)
        try:
            pickled = cloudpickle.dumps((_outside_models(self.items), self.items))
        except InvalidInput:  # of a loss
            raise
        except Exception as error:
            got = f"one that cannot be ({one_line(error)})"
            raise InvalidInput("model", "one that can be pickled", got) from None
        return Piece, (self.keys, pickled, self.budget)

    def read(self) -> Sequence[Item]:
        """Return the results to compute, whose models are in the table from here on."""
        if not isinstance(self.items, bytes):
            return self.items
        entries, items = pickle.loads(self.items)
        MODELS.update({entry.name: entry for entry in entries})
        return items


def _outside_models(items: Iterable[Item]) -> list[Any]:
    """Return the entries of models that are not part of this package."""
    kinds = {type(item.call.trained) for item in items if isinstance(item.call.trained, Model)}
    outside = [kind for kind in kinds if not kind.__module__.startswith("sparsetoken.")]
    return [entry for entry in MODELS.values() if entry.kind in outside]


def in_pieces(items: Iterable[Item], budget: int | None = None) -> Iterator[Piece]:
    """Yield pieces of work of one quantity; what is computed together is in one, if it fits."""
    series: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        series.setdefault((item.call.quantity, item.series), []).append(item)
    piece: list[Item] = []
    load = 0.0  # of a full piece
    for some in series.values():
        most = some[0].most
        for start in range(0, len(some), most):
            part = some[start : start + most]
            other = piece and piece[-1].call.quantity != part[0].call.quantity
            if other or load + len(part) / most > 1:
                yield Piece.of(piece, budget)
                piece, load = [], 0.0
            piece += part
            load += len(part) / most
    if piece:
        yield Piece.of(piece, budget)


def computed(piece: Piece) -> dict[str, Result]:
    """Compute a piece in a worker; a result whose computation raises an error has its text."""
    try:
        items = piece.read()
    except Exception as error:
        return dict.fromkeys(piece.keys, Result(error=one_line(error)))
    results: dict[str, Result] = {}
    for _, some in itertools.groupby(items, lambda item: item.series):
        results |= _tried(list(some), piece.budget)
    return results


def _tried(items: Sequence[Item], budget: int | None) -> dict[str, Result]:
    """Return the results of a series; each by itself if one fails."""
    names = [item.name for item in items]
    try:
        return dict(zip(names, map(Result, _rows(items, budget)), strict=True))
    except Exception as error:
        if len(items) == 1:
            return {names[0]: Result(error=one_line(error))}
        return {name: one for item in items for name, one in _tried([item], budget).items()}


def _rows(items: Sequence[Item], budget: int | None) -> list[dict[str, Any]]:
    """Return the results of a series: numbers by name, with status and message."""
    call, calls = items[0].call, [item.call for item in items]
    if call.quantity == "simulation":
        trials = [item.trial for item in items]
        if call.experiment == "alignment":
            return [_aligned(call, trial) for trial in trials]
        plan = plan_of(call, budget)
        return [(_fitted if call.experiment == "learning" else _separated)(plan, t) for t in trials]
    if call.experiment == "alignment":
        return _predicted(theory.align(call.problem, call.trained))
    if call.experiment == "capacity":
        return _predicted(theory.capacity(call.problem, call.trained, tolerance=call.options))
    pairs = zip(*((one.readout.ridge, one.readout.alpha1) for one in calls), strict=True)
    along = Readout(call.readout.loss, *pairs)
    return _predicted(theory.predict(call.problem, call.trained, along, tolerance=call.options))


def _predicted(prediction: Record) -> list[dict[str, Any]]:
    """Return the result at each point; the parameters that vary are no results."""
    return [
        _row({name: one for name, one in record.items() if name not in prediction.coords})
        for record in prediction.records()
    ]


def _row(values: Mapping[str, Any], status: str = "converged", message: str = "") -> dict[str, Any]:
    """Return a result as JSON values; what is not a number is left out."""
    numbers = {n: float(one) for n, one in values.items() if n not in _WORDS and one == one}
    message = " ".join(str(values.get("message", message)).split())
    return {"status": str(values.get("status", status)), "message": message, **numbers}


def row_of(value: Any) -> dict[str, Any]:
    """Return a kept result, or raise an error if it is none that this module makes."""
    if value["status"] not in STATUSES or not value["message"].isprintable():
        raise ValueError("no status and message")
    if any(type(one) is not float for name, one in value.items() if name not in _WORDS):
        raise ValueError("no numbers")
    return value


def _aligned(call: Call, trial: int) -> dict[str, Any]:
    alignment = call.options.start(call.problem, trial).train_query(call.trained)
    values = {"cosine": alignment.query.cosine, "sharpness": alignment.query.sharpness}
    names = ("overlap", "norm", "readout_cosine")
    return _row(values | {name: getattr(alignment, name) for name in names})


def _fitted(plan: TrialPlan, number: int) -> dict[str, Any]:
    trial = plan.run(number)
    return _row(trial.outcome.to_dict(), trial.status, trial.status.remedy)


def _separated(plan: TrialPlan, number: int) -> dict[str, Any]:
    design = plan.draw(number).design
    return _row({"separable": simulation.is_separable(design.features, design.labels)})


def plan_of(call: Call, budget: int | None) -> TrialPlan:
    """Return how the trials of a call run."""
    return TrialPlan(call.problem, call.trained, call.readout, call.options, budget)


def check(call: Call, budget: int | None) -> None:
    """Raise `InvalidInput` if a call would be refused before it begins."""
    if call.quantity == "simulation" and call.experiment == "alignment":
        AlignmentPlan(call.problem, call.trained, call.options, budget)
    elif call.quantity == "simulation":
        plan_of(call, budget)
