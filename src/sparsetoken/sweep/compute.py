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
from sparsetoken.results import StatusCode
from sparsetoken.simulation.trial import TrialPlan
from sparsetoken.sweep.grid import Call
from sparsetoken.work import Result

MOST_PREDICTIONS = {"alignment": 512, "learning": 64, "capacity": 8}
MOST_TRIALS, SQUARES = 128, 5_000_000
"""The most results of a piece; the squares of the dimensions of its trials have a largest sum."""

STATUSES = frozenset(map(str, StatusCode))
_WORDS = ("status", "message")


class Piece(NamedTuple):
    """Results for one worker."""

    calls: Sequence[Call]

    @property
    def keys(self) -> list[str]:
        """The names of the results."""
        return [call.name for call in self.calls]

    def read(self) -> Piece:
        """Return the piece."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a process is sent, with the losses and models of a script or a notebook."""
        kinds = {type(call.trained) for call in self.calls if isinstance(call.trained, Model)}
        outside = [kind for kind in kinds if not kind.__module__.startswith("sparsetoken.")]
        entries = [entry for entry in MODELS.values() if entry.kind in outside]
        try:
            return _Sent, (self.keys, cloudpickle.dumps((entries, *self)))
        except InvalidInput:  # of a loss
            raise
        except Exception as error:
            got = f"one that cannot be ({one_line(error)})"
            raise InvalidInput("model", "one that can be pickled", got) from None


class _Sent(NamedTuple):
    """A piece in a worker; what cannot be read there is an error of its results."""

    keys: list[str]
    pickled: bytes

    def read(self) -> Piece:
        """Return the piece, whose models are in the table from here on."""
        entries, *piece = pickle.loads(self.pickled)
        MODELS.update({entry.name: entry for entry in entries})
        return Piece(*piece)


def in_pieces(calls: Iterable[Call]) -> Iterator[Piece]:
    """Yield pieces of work of one quantity; what is computed together is in one, if it fits."""
    series: dict[tuple[str, str], list[Call]] = {}
    for call in calls:
        series.setdefault((call.quantity, call.series), []).append(call)
    piece: list[Call] = []
    load = 0.0  # of a full piece
    for some in series.values():
        most = _most(some[0])
        for part in (some[start : start + most] for start in range(0, len(some), most)):
            other = piece and piece[-1].quantity != part[0].quantity
            if other or load + len(part) / most > 1:
                yield Piece(piece)
                piece, load = [], 0.0
            piece = piece + part
            load += len(part) / most
    if piece:
        yield Piece(piece)


def _most(call: Call) -> int:
    """Return the most results like this one in a piece."""
    if call.quantity == "theory":
        return MOST_PREDICTIONS[call.experiment]
    return max(1, min(MOST_TRIALS, SQUARES // call.options.dimension**2))


def computed(piece: Piece | _Sent) -> dict[str, Result]:
    """Compute a piece in a worker; a result whose computation raises an error has its text."""
    try:
        calls = piece.read().calls
    except Exception as error:
        return dict.fromkeys(piece.keys, Result(error=one_line(error)))
    results: dict[str, Result] = {}
    for _, some in itertools.groupby(calls, lambda call: call.series):
        results |= _tried(list(some))
    return results


def _tried(calls: Sequence[Call]) -> dict[str, Result]:
    """Return the results of a series; each by itself if one fails."""
    names = [call.name for call in calls]
    try:
        return dict(zip(names, map(Result, _numbers(calls)), strict=True))
    except Exception as error:
        if len(calls) == 1:
            return {names[0]: Result(error=one_line(error))}
        return {name: one for call in calls for name, one in _tried([call]).items()}


def _numbers(calls: Sequence[Call]) -> list[dict[str, Any]]:
    """Return the results of a series: numbers by name, with status and message."""
    call = calls[0]
    if call.quantity == "simulation":
        plan = call.plan()
        return [_trial(call, plan) for call in calls]
    found: Any
    if call.experiment == "alignment":
        found = theory.align(call.problem, call.trained)
    elif call.experiment == "capacity":
        found = theory.capacity(call.problem, call.trained, tolerance=call.options)
    else:
        pairs = zip(*((one.readout.ridge, one.readout.alpha1) for one in calls), strict=True)
        along = Readout(call.readout.loss, *pairs)
        found = theory.predict(call.problem, call.trained, along, tolerance=call.options)
    records = [record.items() for record in found.records()]
    return [_values({n: one for n, one in items if n not in found.coords}) for items in records]


def _trial(call: Call, plan: TrialPlan | None) -> dict[str, Any]:
    """Return the result of one trial."""
    if plan is None:
        alignment = call.options.start(call.problem, call.trial).train_query(call.trained)
        values = {"cosine": alignment.query.cosine, "sharpness": alignment.query.sharpness}
        names = ("overlap", "norm", "readout_cosine")
        return _values(values | {name: getattr(alignment, name) for name in names})
    if call.experiment == "capacity":
        design = plan.draw(call.trial).design
        return _values({"separable": simulation.is_separable(design.features, design.labels)})
    trial = plan.run(call.trial)
    return _values(trial.outcome.to_dict(), trial.status, trial.status.remedy)


def _values(
    values: Mapping[str, Any], status: Any = "converged", message: str = ""
) -> dict[str, Any]:
    """Return a result as JSON values; what is not a number is left out."""
    numbers = {n: float(one) for n, one in values.items() if n not in _WORDS and one == one}
    message = " ".join(str(values.get("message", message)).split())
    return {"status": str(values.get("status", status)), "message": message, **numbers}


def checked_result(value: Any) -> dict[str, Any]:
    """Return a kept result, or raise an error if it is none that this module makes."""
    if value["status"] not in STATUSES or not value["message"].isprintable():
        raise ValueError("no status and message")
    if any(type(one) is not float for name, one in value.items() if name not in _WORDS):
        raise ValueError("no numbers")
    return value
