"""The capacity curves from end to end; counts built backwards; wrong numbers fail."""

import dataclasses
from math import comb

import numpy as np
import pytest
from scipy.special import ndtr

from sparsetoken.experiments.capacity_curves import EXPERIMENT, work
from sparsetoken.experiments.capacity_curves.rows import AtPlace, Crossing, OnLine, Separable
from sparsetoken.experiments.capacity_curves.transitions import (
    fitted,
    threshold_gap,
    thresholds,
    width_power,
)
from sparsetoken.experiments.claims import FAILS, HOLDS, verdict_of
from sparsetoken.experiments.rows import Measured, select

TINY = work.Profile(
    (16, 32), 10, steps=(-0.7, 0.0, 0.7), samples=400, cosines=5, strengths=6, lengths=(1, 4, 8)
)
SETS = 10**6  # shares of such counts are good to 1e-6


@pytest.fixture(scope="module")
def rows(rows_of):
    return rows_of(EXPERIMENT, TINY)


@pytest.fixture(scope="module")
def computed(rows):
    return [row for row in rows if not isinstance(row, Separable)]


def _counts(shift: float = 0.0, sets: int = SETS) -> list[Separable]:
    """Return counts of transitions at alpha* (1 + 1/m), of relative width 0.7 / sqrt(m)."""
    rows = []
    for place, models in work.PLACES.items():
        for model in models:
            alpha = work.capacity_of(place, model).value * (1 + shift)
            for m in (32, 64, 128):
                d = m // place.length if model == "vectorized" else m
                for load in alpha * (1 + np.array([-1.2, -0.6, 0.0, 0.6, 1.2]) / m**0.5):
                    share = ndtr((alpha * (1 + 1 / m) - load) / (alpha * 0.7 / m**0.5))
                    rows.append(Separable(place, model, m, load, Measured(share, 0.0, d, sets)))
    return rows


def _verdict(rows, claim):
    return verdict_of(c for c in EXPERIMENT.compare(TINY, rows) if c.claim == claim)


def test_from_jobs_to_figures(rows, said_of):
    comparisons = EXPERIMENT.compare(TINY, rows)
    assert {c.claim for c in comparisons} == {c.name for c in EXPERIMENT.claims}
    words = said_of(EXPERIMENT, TINY, rows)
    assert "standard errors" in words["result"]
    assert "10 sets" in words["setting"]


def test_loads_stand_around_the_solved_capacity(rows):
    for known in select(rows, AtPlace):
        loads = select(rows, Separable, place=known.place, model=known.model, features=16)
        steps = [(row.alpha1 / known.capacity.value - 1) * 4 for row in loads]
        assert steps == pytest.approx(list(TINY.steps) if steps else [])


def test_large_training_sets_are_left_out(rows):
    place, sizes = work.BASE, (TINY.steps, 2)
    alpha = work.capacity_of(place, "attention").value
    assert not work.count(place, "attention", 16, *sizes, int(16 * alpha) - 1, 0)
    assert len(work.count(place, "attention", 16, *sizes, int(16 * alpha) + 1, 0)) == 3
    assert all(row.alpha1 * row.share.dimension < 1.2 * 400 for row in select(rows, Separable))


def test_thresholds_and_widths_come_back(computed):
    made = [*computed, *_counts()]
    fits = fitted(made)
    found = thresholds(made, fits)
    for known in select(computed, AtPlace):
        threshold = found[known.place.name, known.model]
        assert threshold.converged
        # Counts are rounded to 1e-6, and the fit stops at 1e-4 of the likelihood.
        assert threshold.value == pytest.approx(known.capacity.value, rel=1e-3)
    assert len(found) == sum(len(models) for models in work.PLACES.values())
    assert width_power(fits).value == pytest.approx(-0.5, abs=1e-3)
    assert threshold_gap(fits, ("base", "attention"), ("base", "pooled")) > 3


def test_exact_counts_hold_and_shifted_ones_fail(computed):
    for shift, verdict in ((0.0, HOLDS), (0.05, FAILS)):
        # Errors of 10^6 sets would see the tolerance of the theory: as if there were 1000.
        counted = [*computed, *_counts(shift, 1000)]
        assert _verdict(counted, "capacity-measured") == verdict
        assert _verdict(counted, "capacity-order") == HOLDS
        assert _verdict(counted, "transition-width") == HOLDS


def test_a_wrong_order_fails(computed):
    swap = {"attention": "pooled", "pooled": "attention"}
    wrong = [
        dataclasses.replace(row, model=swap.get(row.model, row.model))
        if len(work.PLACES[row.place]) == 3
        else row
        for row in _counts(sets=1000)
    ]
    assert _verdict([*computed, *wrong], "capacity-order") == FAILS


def test_crossings_are_where_the_lines_meet(computed):
    low, high = select(computed, Crossing)
    assert (low.panel, high.panel) == ("cosine", "strength")
    for row in (low, high):
        x = row.x.value
        gap = (
            work.at_base(row.panel, x, "attention").value
            - work.at_base(row.panel, x, row.other).value
        )
        # The root is found to 1e-4, where the gap rises by less than 30 for each unit.
        assert gap == pytest.approx(0.0, abs=3e-3)


def test_lines_cover_their_ranges(computed):
    xs = {
        panel: sorted({row.x for row in select(computed, OnLine, panel=panel)})
        for panel in ("cosine", "strength", "length")
    }
    assert xs == {
        "cosine": [-1, -0.5, 0, 0.5, 1],
        "strength": [0, 1, 2, 3, 4, 5],
        "length": [1, 4, 8],
    }


def test_covers_count_is_exact_and_a_wrong_share_fails(computed):
    counted = _counts(sets=1000)
    rest = [row for row in counted if row.place.strength > 0]
    for extra, verdict in ((0.0, HOLDS), (0.05, FAILS)):
        shares = [_with_cover(row, extra) for row in counted if row.place.strength == 0]
        assert _verdict([*computed, *rest, *shares], "capacity-without-signal") == verdict


def _with_cover(row: Separable, extra: float) -> Separable:
    """Set the share to Cover's: 2^(1-n) sum over k <= m of binom(n - 1, k), plus `extra`."""
    n = round(row.alpha1 * row.share.dimension)
    chance = sum(comb(n - 1, k) for k in range(row.features + 1)) / 2 ** (n - 1)
    return dataclasses.replace(row, share=dataclasses.replace(row.share, value=chance + extra))
