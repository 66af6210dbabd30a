"""The capacity curves from end to end; counts built backwards; wrong numbers fail."""

from math import comb

import numpy as np
import pytest
from scipy.special import ndtr

from sparsetoken import theory
from sparsetoken.experiments.capacity_curves import (
    LINE,
    MODELS,
    PLACES,
    TRANSITION,
    capacity_of,
    count,
    draw_transitions,
    fitted,
    threshold_gap,
    thresholds,
)
from sparsetoken.experiments.core.capacities import solved_capacity, width_power
from sparsetoken.experiments.core.claims import FAILS, HOLDS
from sparsetoken.experiments.core.rows import Row, Rows
from sparsetoken.figures import style

pytestmark = pytest.mark.slow

SETS = 10**6  # shares of such counts are good to 1e-6
STEPS = np.array([-1.2, -0.6, 0.0, 0.6, 1.2])


@pytest.fixture(scope="module")
def computed(rows):
    """What is solved, and the shares of the whole transition, which the tests do not change."""
    return Rows(row for row in rows if row.series != "simulated")


def _counts(shift: float = 0.0, sets: int = SETS) -> Rows:
    """Return counts of transitions at alpha* (1 + 1/m), of relative width 0.7 / sqrt(m)."""
    rows = []
    for place, (changed, models) in PLACES.items():
        for model in models:
            alpha = capacity_of(model, **changed).value * (1 + shift)
            for m in (32, 64, 128):
                d = m // changed.get("length", 4) if model == "vectorized" else m
                for load in alpha * (1 + STEPS / m**0.5):
                    share = ndtr((alpha * (1 + 1 / m) - load) / (alpha * 0.7 / m**0.5))
                    at = {"place": place, "model": model, "features": m, "alpha1": load}
                    rows.append(Row("simulated", "separable", share, 0.0, at, "reduced", d, sets))
    return Rows(rows)


def test_the_whole_transition_is_drawn_around_the_capacity(rows, sizes):
    for model in MODELS:
        shares = rows.where(TRANSITION, model=model)
        assert set(shares.distinct("ratio")) == set(sizes.wide_ratios)
        capacity = rows.one("theory", "capacity", place="base", model=model)
        assert all(row["alpha1"] == row["ratio"] * capacity.value for row in shares)


def test_each_number_of_the_transition_has_a_place_of_its_own(rows):
    with style.styled():
        shown = draw_transitions(rows).shown
    assert len({(one.panel, one.curve, one.x) for one in shown}) == len(shown) > 0


def test_a_capacity_is_solved_once_for_all_loads(monkeypatch):
    solved, solve = [], theory.capacity
    solved_capacity.cache_clear()
    monkeypatch.setattr(theory, "capacity", lambda *a, **k: solved.append(a) or solve(*a, **k))
    for seed, ratio in enumerate((0.5, 2.0)):
        (row,) = count("base", "attention", 12, ratio, 3, seed)
        assert row.value == (ratio < 1)  # 3 sets of 16 samples in 12 dimensions, or of 63
    assert len(solved) == 1


def test_large_training_sets_are_left_out(rows, sizes):
    alpha, wanted = capacity_of("attention").value, ("base", "attention", 16, 1.0, 2, 0)
    assert not count(*wanted, most=int(16 * alpha) - 1)
    assert len(count(*wanted, most=int(16 * alpha) + 1)) == 1
    assert all(row["alpha1"] * row.dimension < 1.2 * 400 for row in rows.where("simulated"))


def test_thresholds_and_widths_come_back(computed):
    made = computed + _counts()
    fits, limits = fitted(made), thresholds(made)
    for known in computed.where("theory"):
        threshold = limits.one(place=known["place"], model=known["model"])
        assert threshold.converged
        # Counts are rounded to 1e-6, and the fit stops at 1e-4 of the likelihood.
        assert threshold.value == pytest.approx(known.value, rel=1e-3)
    assert len(limits) == sum(len(models) for _, models in PLACES.values())
    assert width_power(fits).value == pytest.approx(-0.5, abs=1e-3)
    gap = threshold_gap(fits, ("base", "attention"), ("base", "pooled"))
    assert (gap["features"], gap.value > 3 * gap.error) == (128, True)


def test_exact_counts_hold_and_shifted_ones_fail(computed, verdict):
    for shift, expected in ((0.0, HOLDS), (0.05, FAILS)):
        # Errors of 10^6 sets would see the tolerance of the theory: as if there were 1000.
        counted = computed + _counts(shift, 1000)
        assert verdict(counted, "capacity-measured") == expected
        assert verdict(counted, "capacity-order") == HOLDS
        assert verdict(counted, "transition-width") == HOLDS

    swap = {"attention": "pooled", "pooled": "attention", "vectorized": "vectorized"}
    wrong = [
        row.but(model=swap[row["model"]]) if len(PLACES[row["place"]][1]) == 3 else row
        for row in _counts(sets=1000)
    ]
    assert verdict(computed + wrong, "capacity-order") == FAILS


def test_crossings_are_where_the_lines_meet(computed):
    low, high = computed.where("crossing")
    assert (low.quantity, high.quantity) == ("cosine", "strength")
    for row in (low, high):
        at = {row.quantity: row.value}
        attention, other = (capacity_of(m, LINE, **at).value for m in ("attention", row["other"]))
        gap = attention - other
        # The root is found to 1e-4, where the gap rises by less than 30 for each unit.
        assert gap == pytest.approx(0.0, abs=3e-3)


def test_covers_count_is_exact_and_a_wrong_share_fails(computed, verdict):
    counted = _counts(sets=1000)
    for extra, expected in ((0.0, HOLDS), (0.05, FAILS)):
        shares = [
            _with_cover(row, extra) if row["place"] == "no signal" else row for row in counted
        ]
        assert verdict(computed + shares, "capacity-without-signal") == expected


def _with_cover(row: Row, extra: float) -> Row:
    """Set the share to Cover's: 2^(1-n) sum over k <= m of binom(n - 1, k), plus `extra`."""
    n = round(row["alpha1"] * row.dimension)
    chance = sum(comb(n - 1, k) for k in range(row["features"] + 1)) / 2 ** (n - 1)
    return row.but(value=chance + extra)
