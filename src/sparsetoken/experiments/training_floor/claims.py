"""What is claimed, and the comparisons that bear on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparsetoken.experiments.claims import Claim, Comparison, Comparisons
from sparsetoken.experiments.rows import Predicted, Rows, one, select
from sparsetoken.experiments.rules import judge, share
from sparsetoken.experiments.training_floor.rows import (
    Levels,
    MessagesPassed,
    Schedule,
    Searched,
)
from sparsetoken.experiments.training_floor.work import (
    DESCENT,
    ETA_Q,
    RESTING,
    RIDGE,
    STAGES,
    Profile,
)

FLOOR, SHARE, SEARCH = "learning-floor", "loss-of-training", "best-training"
SCHEDULE = "best-schedule"

CLAIMS = (
    Claim(
        FLOOR,
        "The test error of the best learner from finite data has an exact limit, which approximate "
        "message passing reaches.",
    ),
    Claim(
        SHARE,
        "Of what the four stages lose to the test that knows the signal, more than half is lost by "
        "the training: the best learner from the same samples loses less than half of it.",
    ),
    Claim(
        SEARCH,
        "The best training of a search over the theory is worth as much with real tokens; one "
        "descent on all samples comes nearer to the floor than the four stages at their best.",
    ),
    Claim(
        SCHEDULE,
        "Constant steps of all weights, with momentum and weight decay of the readout, come nearer "
        "to the floor than a query that is trained in one step and then nearly rests.",
    ),
)


def compare_rows(profile: Profile, rows: Rows) -> list[Comparison]:
    """Return all comparisons."""
    passed = [_reached(rows, row) for row in select(rows, MessagesPassed)]
    searched = [_verified(row) for row in select(rows, Searched)]
    steady = select(rows, Schedule, family=DESCENT)
    stages = [one(rows, Searched, training=STAGES, alpha=row.alpha) for row in steady]
    resting = [one(rows, Schedule, family=RESTING, alpha=row.alpha) for row in steady]
    return [
        *passed,
        _lost(rows),
        _lost_measured(rows),
        *searched,
        _better(SEARCH, "loads where one descent is better", steady, stages),
        _better(SCHEDULE, "loads where constant steps are better", steady, resting, key=True),
    ]


def _reached(rows: Rows, row: MessagesPassed) -> Comparison:
    floor = one(rows, Levels, alpha=row.alpha).floor
    where = f"n/d = {row.alpha:g}, d = {row.test_error.dimension}"
    place: dict[str, Any] = {"curve": "message passing", "where": where, "x": row.alpha}
    return judge(FLOOR, "test_error", floor, row.test_error, **place, key=True)


def _verified(row: Searched) -> Comparison:
    where = f"n/d = {row.alpha:g}, d = {row.measured.dimension}"
    place: dict[str, Any] = {"curve": row.training, "where": where, "x": row.alpha}
    key = row.training == DESCENT
    return judge(SEARCH, "test_error", row.predicted, row.measured, **place, key=key)


def _sound(values: Sequence[Predicted]) -> bool:
    return all(value.converged for value in values)


def _loads(rows: Sequence[Levels | MessagesPassed | Schedule]) -> str:
    return "n/d = " + ", ".join(f"{row.alpha:g}" for row in rows)


def _lost(rows: Rows) -> Comparison:
    levels = select(rows, Levels)
    true = [
        row.floor.value - row.bayes.value < 0.5 * (row.split.value - row.bayes.value)
        for row in levels
    ]
    values = [value for row in levels for value in (row.split, row.floor, row.bayes)]
    where = _loads(levels)
    name = "loads where the training loses more"
    return share(SHARE, name, true, curve="theory", where=where, converged=_sound(values), key=True)


def _lost_measured(rows: Rows) -> Comparison:
    """Judge the same with real tokens, where the four stages are at their best."""
    passed, true = select(rows, MessagesPassed), []
    stages = [one(rows, Searched, training=STAGES, alpha=row.alpha).measured for row in passed]
    for row, stage in zip(passed, stages, strict=True):
        least, found = one(rows, Levels, alpha=row.alpha).bayes.value, row.test_error
        true.append(found.value - least < 0.5 * (stage.value - least))
    return share(
        SHARE,
        "loads where the training loses more",
        true,
        curve="message passing, four stages",
        where=f"{_loads(passed)}, real tokens",
        converged=all(m.converged for m in (*stages, *(row.test_error for row in passed))),
        engine="tensors",
    )


def _better(
    claim: str,
    name: str,
    steady: Sequence[Schedule],
    others: Sequence[Schedule | Searched],
    key: bool = False,
) -> Comparison:
    """Judge by theory that descents with constant steps are better than other trainings."""
    pairs = [(a.predicted, b.predicted) for a, b in zip(steady, others, strict=True)]
    true = [a.value + 3 * a.error < b.value for a, b in pairs]
    sound = _sound([value for pair in pairs for value in pair])
    return share(claim, name, true, curve="theory", where=_loads(steady), converged=sound, key=key)


def summary(profile: Profile, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return the levels at each load, and what the searches found."""
    return {
        "eta_q": ETA_Q,
        "ridge": RIDGE,
        "levels": select(rows, Levels),
        "schedules": select(rows, Schedule),
        "searched": select(rows, Searched),
        "passed": select(rows, MessagesPassed),
    }
