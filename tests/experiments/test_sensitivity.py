"""The maps of test error from end to end; a wrong number fails."""

import dataclasses

import pytest

from sparsetoken.experiments import sensitivity
from sparsetoken.experiments.claims import FAILS, HOLDS, NOT_CONVERGED, verdict_of
from sparsetoken.experiments.points import Point
from sparsetoken.experiments.sensitivity_claims import STATEMENTS
from sparsetoken.figures.sensitivity import PICTURES
from sparsetoken.losses import get_loss
from sparsetoken.report.pictures import png

RUN = sensitivity.SENSITIVITY
TINY = sensitivity.SensitivityProfile(
    (3, 3), 3, (2.0,), (1.0,), ((0.8, 1.0),), ((1.0, 0.35),), dimension=80, trials=4
)


@pytest.fixture(scope="module")
def points() -> list[Point]:
    with pytest.MonkeyPatch.context() as patch:
        # The square loss and few nodes are ten times as fast.
        fast = dataclasses.replace(sensitivity.TRAINING, loss=get_loss("square"), eta_q=7.0)
        patch.setattr(sensitivity, "TRAINING", fast)
        patch.setattr(sensitivity, "MAP", 5e-3)
        patch.setattr(sensitivity, "SPOT", 5e-3)
        return [p for job in RUN.jobs(TINY, 0) for p in job.run()]


def _verdict(points: list[Point], statement: str) -> str:
    claims = RUN.claims(TINY, points)
    return verdict_of([c for c in claims if c.statement == statement])


def test_from_jobs_to_figures(points):
    claims = RUN.claims(TINY, points)
    assert {c.statement for c in claims} == {s.name for s in STATEMENTS}
    assert "best share" in RUN.result(points, claims)
    assert "d = 80, 4 trials" in RUN.setting(TINY)
    for picture in PICTURES:
        assert png(picture, points).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("group", "statement"),
    [
        ("sharpness", "test-error-over-sharpness"),
        ("bias step", "test-error-over-bias-step"),
        ("split", "test-error-over-split"),
    ],
)
def test_a_simulation_off_the_map_fails(points, group, statement):
    def moved(p: Point) -> Point:
        at = p.group == group and p.source == "reduced"
        return dataclasses.replace(p, value=p.value + 0.5, error=1e-3) if at else p

    assert _verdict(points, statement) == HOLDS
    assert _verdict([moved(p) for p in points], statement) == FAILS


@pytest.mark.parametrize(
    ("group", "statement"), [("split", "best-split"), ("sharpness", "best-sharpness")]
)
def test_a_better_neighbour_fails_and_a_worse_one_does_not(points, group, statement):
    def moved(p: Point, step: float) -> Point:
        at = p.group == group and p.source == "reduced" and p.curve == "below"
        return dataclasses.replace(p, value=p.value + step, error=1e-3) if at else p

    def sharp(p: Point) -> Point:
        at = p.group == group and p.source == "reduced"
        return dataclasses.replace(p, error=1e-3) if at else p

    exact = [sharp(p) for p in points]
    assert _verdict([moved(p, 0.5) for p in exact], statement) == HOLDS
    assert _verdict([moved(p, -0.5) for p in exact], statement) == FAILS


def test_a_search_that_did_not_converge_never_holds(points):
    stuck = [dataclasses.replace(p, status="no_limit") if p.curve == "best" else p for p in points]
    assert _verdict(stuck, "best-split") == NOT_CONVERGED


def test_what_did_not_converge_is_drawn(points):
    def fail(p: Point) -> Point:
        return dataclasses.replace(p, status="max_iterations", value=float("nan"))

    first = [
        fail(p) if i % 7 == 0 and p.quantity == "test_error" else p for i, p in enumerate(points)
    ]
    for picture in PICTURES:
        assert png(picture, first).startswith(b"\x89PNG")
