"""What is claimed, and the comparisons that bear on it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from sparsetoken.experiments.claims import Claim, Comparison, Comparisons
from sparsetoken.experiments.finite_dimension import DIFFERENCE
from sparsetoken.experiments.joint_training.rows import QUANTITIES, AtStep, Followed
from sparsetoken.experiments.joint_training.work import ETA_W, RATIOS, STARTS, Profile
from sparsetoken.experiments.references import References
from sparsetoken.experiments.rows import Predicted, Rows, one, select
from sparsetoken.experiments.rules import judge, share

DESCENT, STOPPING = "joint-descent", "early-stopping"
CLEAR = 1e-3
"""A rise of the predicted test error after its minimum that counts as one."""

CLAIMS = (
    Claim(
        DESCENT,
        "Gradient descent on query, readout and bias together, from zero or from random weights, "
        "has an exact limit at every step: of test error, training loss and cosine of the query.",
    ),
    Claim(
        STOPPING,
        "Where the query moves as fast as the readout or faster, the test error of joint descent "
        "has a minimum and rises again while the training loss falls: at the predicted step, by "
        "the predicted height.",
    ),
)
NAMES = {0.0: "from zero"}
ENGINES = {"tensors": "real tokens", "reduced": "without tokens"}
"""How the claims call the engines of the two simulations."""


@dataclasses.dataclass(frozen=True)
class Stop:
    """Where the predicted test error of a descent is least.

    Attributes
    ----------
    ratio, start : float
    best, last : AtStep
        The course at its minimum, and at its end.
    near : tuple of Followed
        The measured step that is nearest to the minimum, for each simulation.
    """

    ratio: float
    start: float
    best: AtStep
    last: AtStep
    near: tuple[Followed, ...]

    @property
    def rises(self) -> bool:
        """Whether the predicted test error rises again."""
        return self.last.test_error.value - self.best.test_error.value > CLEAR


def stops(rows: Rows) -> list[Stop]:
    """Return where each descent should stop."""
    return [_stop(rows, ratio, start) for ratio in RATIOS for start in STARTS]


def _stop(rows: Rows, ratio: float, start: float) -> Stop:
    place = {"ratio": ratio, "start": start}
    course = select(rows, AtStep, **place)
    best = min(course, key=lambda row: row.test_error.value)
    measured = select(rows, Followed, **place)
    step = min((row.step for row in measured), key=lambda step: abs(step - best.step))
    near = tuple(row for row in measured if row.step == step)
    return Stop(ratio, start, best, course[-1], near)


def compare_rows(profile: Profile, rows: Rows) -> list[Comparison]:
    """Return all comparisons."""
    judged = [_judged(rows, row, name) for row in select(rows, Followed) for name in QUANTITIES]
    found = stops(rows)
    risen = [_risen(rows, stop, near) for stop in found if stop.rises for near in stop.near]
    return [*judged, *risen, *_shares(rows, found)]


def _place(row: Followed) -> dict[str, Any]:
    size = row.test_error.dimension
    return {
        "curve": f"η_q/η_w = {row.ratio:g}",
        "where": f"{_name(row.start)}, step {row.step}, d = {size}",
        "x": float(row.step),
        "group": _name(row.start),
    }


def _name(start: float) -> str:
    return NAMES.get(start, "from random weights")


def _at(rows: Rows, row: Followed) -> AtStep:
    return one(rows, AtStep, ratio=row.ratio, start=row.start, step=row.step)


def _judged(rows: Rows, row: Followed, name: str) -> Comparison:
    theory = getattr(_at(rows, row), name)
    key = name == "test_error" and row.rise.value == 0 and row.ratio == 1
    return judge(DESCENT, name, theory, getattr(row, name), **_place(row), key=key)


def _risen(rows: Rows, stop: Stop, near: Followed) -> Comparison:
    """Compare the rise of the test error from the measured step nearest to the minimum."""
    first, last = _at(rows, near).test_error, stop.last.test_error
    status = first.status if not first.converged else last.status
    theory = Predicted(last.value - first.value, math.hypot(first.error, last.error), status)
    # A difference of two test errors is off at finite d by as much as the larger one.
    place = _place(near)
    name = "test_error, last − stop"
    return judge(STOPPING, name, theory, near.rise, **place, shift=DIFFERENCE, size=last.value)


def _shares(rows: Rows, found: Sequence[Stop]) -> list[Comparison]:
    fast = [stop for stop in found if stop.ratio >= 1]
    sound = all(row.test_error.converged for stop in fast for row in (stop.best, stop.last))
    falls = [[_falls(stop, engine) for stop in fast] for engine in ENGINES]
    where = f"{len(fast)} descents"
    given: dict[str, Any] = {"where": where, "converged": sound}
    rises = [stop.rises and stop.best.step > 0 for stop in fast]
    return [
        share(STOPPING, "test error rises again", rises, curve="theory", key=True, **given),
        *(
            share(STOPPING, "training loss still falls", true, curve=name, engine=engine, **given)
            for (engine, name), true in zip(ENGINES.items(), falls, strict=True)
        ),
    ]


def _falls(stop: Stop, engine: str) -> bool:
    """Return whether the training loss falls after the stop, by three standard errors."""
    (fall,) = (row.fall for row in stop.near if row.fall.engine == engine)
    return fall.value > 3 * fall.error


def summary(profile: Profile, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return the references, and where each descent should stop."""
    return {
        "references": one(rows, References),
        "eta_w": ETA_W,
        "stops": [(_name(stop.start), stop, _measured(rows, stop)) for stop in stops(rows)],
        "random": max(STARTS),
    }


def _measured(rows: Rows, stop: Stop) -> Followed:
    """Return the measured step with the least test error, at the largest dimension."""
    course = select(rows, Followed, ratio=stop.ratio, start=stop.start)
    far = max(row.test_error.dimension for row in course)
    found = (row for row in course if row.test_error.dimension == far)
    return min(found, key=lambda row: row.test_error.value)
