"""What a dry run says."""

import pytest

from sparsetoken.sweep import Grid, GridPlan, Store, linear, listed, logarithmic, run
from sparsetoken.sweep import estimate as estimate_module
from sparsetoken.sweep.axes import Axis, tied
from sparsetoken.sweep.estimate import LONG, count_rows
from sparsetoken.sweep.estimate import estimate as estimated
from sparsetoken.sweep.keys import key_of
from sparsetoken.sweep.parameters import QUANTITIES

GRID = Grid(
    "alignment",
    [linear("strength", 1, 4, 5), listed("dimension", [10, 20])],
    quantities=("theory", "simulation"),
    trials=3,
)


@pytest.fixture
def slow(monkeypatch):
    """Let theory take 1 s a row, and simulations 4 s."""
    seconds = {"theory": 1.0, "simulation": 4.0}
    seen = []

    def timed(rows, *_):
        seen.append(rows[0])
        return len(rows) * seconds[rows[0]["quantity"]]

    monkeypatch.setattr(estimate_module, "_timed", timed)
    return seen


def test_rows_that_points_share_are_counted_once(slow):
    found = estimated(GRID)
    assert found.rows == {"theory": 5, "simulation": 30}
    assert found.done == 0
    assert found.seconds == pytest.approx(5 * 1.0 + 30 * 4.0)


@pytest.mark.parametrize("quantity", ["theory", "simulation"])
@pytest.mark.parametrize(
    "axes",
    [
        [listed("model", ["pooled", "attention", "elementwise"]), linear("sharpness", 0, 2, 3)],
        [listed("engine", ["reduced", "tensors"]), listed("dtype", ["float32", "float64"])],
        [tied(engine=["reduced", "tensors", "reduced"], strength=[1.0, 1.0, 2.0])],
        [tied(dimension=[10, 20, 30], strength=[1.0, 1.0, 2.0]), linear("alpha1", 1, 2, 4)],
        [Axis(("cosine",), ((None,), (0.5,))), linear("alpha0", 1, 2, 3), listed("ridge", [0.1])],
        [
            Axis(("cosine", "sharpness"), ((None, None), (0.5, None), (None, 2.0))),
            listed("model", ["attention", "pooled"]),
        ],
    ],
)
def test_rows_are_counted_as_by_enumeration(axes, quantity):
    grid = Grid("learning", axes, quantities=QUANTITIES, trials=2)
    rows = (row for point in grid.points() for row in grid.rows_of(point, quantity))
    assert count_rows(grid, quantity) == len({key_of(row) for row in rows})


def test_a_place_is_a_point():
    points = list(GRID.points())
    assert [GRID.point(i) for i in range(GRID.size)] == points
    assert all(point in points for point in GRID.edge_points())


def test_three_points_are_timed_and_slow_ones_once(slow):
    estimated(GRID)
    times = [sum(row["quantity"] == name for row in slow) for name in ("theory", "simulation")]
    assert times == [6, 3]  # theory twice, to leave compilation out
    assert LONG == 2.0
    assert {row["strength"] for row in slow} == {1.0, 2.5, 4.0}


def test_rows_that_a_store_has_cost_nothing(slow, tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        run(store, GridPlan(Grid("alignment", GRID.axes[:1], {}, ("theory",))))
        found = estimated(GRID, store)
    assert found.done == 5
    assert found.seconds == pytest.approx(30 * 4.0)


def test_a_grid_of_one_point_is_timed_once(slow):
    estimated(Grid("alignment", [listed("strength", [1.0])]))
    assert len(slow) == 2


def test_rows_of_a_series_are_timed_together(monkeypatch):
    sizes = []
    monkeypatch.setattr(estimate_module, "_timed", lambda rows, *_: sizes.append(len(rows)) or 5.0)
    grid = Grid("learning", [logarithmic("alpha1", 1, 9, 30), linear("strength", 1, 2, 2)])
    assert estimated(grid).seconds == pytest.approx(60 * 5.0 / 15)  # every other one of 30
    assert sizes == [15, 15, 15]
