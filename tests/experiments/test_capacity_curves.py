"""The capacity curves from end to end; counts built backwards; wrong numbers fail."""

import dataclasses

import numpy as np
import pytest
from scipy.special import ndtr

from sparsetoken.experiments import capacity_curves
from sparsetoken.experiments.capacity_claims import STATEMENTS, threshold_gap, width_power
from sparsetoken.experiments.capacity_places import PLACES, measured, predicted
from sparsetoken.experiments.claims import FAILS, HOLDS, verdict_of
from sparsetoken.experiments.points import Point
from sparsetoken.figures.capacity_curves import PICTURES
from sparsetoken.report.pictures import png

TINY = capacity_curves.CapacityCurvesProfile(
    (16, 32), 10, steps=(-0.7, 0.0, 0.7), samples=400, cosines=5, strengths=6, lengths=(1, 4, 8)
)
SETS = 10**6  # shares of such counts are good to 1e-6
RUN = capacity_curves.CAPACITY_CURVES


def _counts(shift: float = 0.0) -> list[Point]:
    """Return counts of transitions at alpha* (1 + 1/m), of relative width 0.7 / sqrt(m)."""
    points = []
    for place in PLACES.values():
        for model in place.models:
            alpha = predicted(place.name, model).value * (1 + shift)
            for m in (32, 64, 128):
                d = place.dimension(model, m)
                for load in alpha * (1 + np.array([-1.2, -0.6, 0.0, 0.6, 1.2]) / m**0.5):
                    share = ndtr((alpha * (1 + 1 / m) - load) / (alpha * 0.7 / m**0.5))
                    point = Point(model, "separable", load, share, source="reduced")
                    size = {"group": place.name, "dimension": d, "trials": SETS, "y": m}
                    points.append(dataclasses.replace(point, **size))
    return points


@pytest.fixture(scope="module")
def lines() -> list[Point]:
    theory = [job for job in RUN.jobs(TINY, 0) if job.work.__name__ != "count"]
    return [p for job in theory for p in job.run()]


def test_from_jobs_to_figures(lines):
    counting = [job for job in RUN.jobs(TINY, 0) if job.work.__name__ == "count"]
    points = [*lines, *(p for job in counting for p in job.run())]
    claims = RUN.claims(TINY, points)
    assert {c.statement for c in claims} == {s.name for s in STATEMENTS}
    assert "standard errors" in RUN.result(points, claims)
    assert "10 sets" in RUN.setting(TINY)
    for picture in PICTURES:
        assert png(picture, points).startswith(b"\x89PNG")


def test_thresholds_and_widths_come_back(lines):
    points = _counts()
    for place in PLACES.values():
        for model in place.models:
            found = measured(points, place.name, model)
            assert found.converged
            # Counts are rounded to 1e-6, and the fit stops at 1e-4 of the likelihood.
            assert found.value == pytest.approx(predicted(place.name, model).value, rel=1e-3)
    assert width_power(points).value == pytest.approx(-0.5, abs=1e-3)
    assert threshold_gap(points, ("base", "attention"), ("base", "pooled")) > 3


def test_exact_counts_hold_and_shifted_ones_fail(lines):
    names = ("capacity-measured", "capacity-order", "transition-width")
    for shift, verdict in ((0.0, HOLDS), (0.05, FAILS)):
        # Errors of 10^6 sets would see the tolerance of the theory: as if there were 1000.
        counted = [dataclasses.replace(p, trials=1000) for p in _counts(shift)]
        claims = RUN.claims(TINY, [*lines, *counted])
        found = {name: verdict_of([c for c in claims if c.statement == name]) for name in names}
        assert found["capacity-measured"] == verdict
        assert found["capacity-order"] == HOLDS
        assert found["transition-width"] == HOLDS


def test_a_wrong_order_fails(lines):
    counted = [dataclasses.replace(p, trials=1000) for p in _counts()]
    swap = {"attention": "pooled", "pooled": "attention"}
    three = [name for name, place in PLACES.items() if len(place.models) == 3]
    wrong = [
        dataclasses.replace(p, curve=swap.get(p.curve, p.curve)) if p.group in three else p
        for p in counted
    ]
    claims = RUN.claims(TINY, [*lines, *wrong])
    assert verdict_of([c for c in claims if c.statement == "capacity-order"]) == FAILS


def test_crossings_are_where_the_lines_meet(lines):
    low, high = (p for p in lines if p.quantity == "crossing")
    for point, panel in ((low, "cosine"), (high, "strength")):
        gap = (
            capacity_curves._capacity("attention", panel, point.x).value
            - capacity_curves._capacity(point.curve, panel, point.x).value
        )
        # The root is found to 1e-4, where the gap rises by less than 30 for each unit.
        assert gap == pytest.approx(0.0, abs=3e-3)


def test_covers_count_is_exact_and_a_wrong_share_fails(lines):
    name = "capacity-without-signal"
    counted = [dataclasses.replace(p, trials=1000) for p in _counts()]
    rest = [p for p in counted if p.group != "no signal"]
    for extra, verdict in ((0.0, HOLDS), (0.05, FAILS)):
        shares = [_with_cover(p, extra) for p in counted if p.group == "no signal"]
        claims = RUN.claims(TINY, [*lines, *rest, *shares])
        assert verdict_of([c for c in claims if c.statement == name]) == verdict


def _with_cover(point: Point, extra: float) -> Point:
    """Set the share to Cover's: 2^(1-n) sum over k <= m of binom(n - 1, k), plus `extra`."""
    n, m = round(point.x * point.dimension), int(point.y)
    row = [1]
    for k in range(1, n):
        row.append(row[-1] * (n - k) // k)
    return dataclasses.replace(point, value=sum(row[: m + 1]) / 2 ** (n - 1) + extra)
