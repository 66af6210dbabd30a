"""What is exported: the numbers of a figure, the rows, the values of trials."""

import csv
import io
import math

import pytest

from sparsetoken.experiments.alignment import figure as alignment
from sparsetoken.experiments.alignment.rows import Simulated, Theory
from sparsetoken.experiments.rows import averaged, select
from sparsetoken.figures import style
from sparsetoken.report.figure_data import marks_of, places, table
from sparsetoken.report.pictures import picture
from sparsetoken.report.tables import row_tables, trial_table


def _read(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_figure_gives_back_the_numbers_that_were_drawn(fakes):
    rows = fakes["alignment"]
    found = _read(table(mark for mark, _ in picture("alignment", alignment.draw, rows).marks))
    line = [r for r in found if r["mark"] == "line" and r["series"] == alignment.NAMES["cosine"]]
    drawn = {float(r["x"]): float(r["y"]) for r in line}
    assert drawn == {row.alpha0: row.cosine.value for row in select(rows, Theory)}
    points = [r for r in found if r["mark"] == "point"]
    assert len(points) == 2 * len(select(rows, Simulated))
    assert all(float(r["error"]) == pytest.approx(0.002) for r in points)
    assert {r["x_name"] for r in found} == {"α₀ = n₀ / d"}


def test_cells_of_a_map_have_their_values():
    with style.styled():
        figure, (axes,) = style.new_figure(3, 3)
        axes.pcolormesh([0, 1, 2], [0, 1], [[5.0, 7.0]])
        figure.savefig(io.BytesIO())
        marks = [mark for mark, _ in marks_of(figure)]
    assert [(m.mark, m.x, m.y, m.value) for m in marks] == [
        ("cell", 0.5, 0.5, 5.0),
        ("cell", 1.5, 0.5, 7.0),
    ]


def test_places_are_counted_from_the_top_left_in_points():
    with style.styled():
        figure, (axes,) = style.new_figure(4, 3)
        axes.set_position([0, 0, 1, 1])
        figure.set_layout_engine("none")
        axes.plot([0.0, 1.0], [0.0, 1.0], label="a line")
        axes.set(xlim=(0, 1), ylim=(0, 1))
        figure.savefig(io.BytesIO())
        marks = marks_of(figure)
    assert [place for _, place in marks] == [
        pytest.approx((0.0, 3 * 72), abs=0.1),
        pytest.approx((4 * 72, 0.0), abs=0.1),
    ]
    known = places(marks)
    assert known["names"][known["points"][0][3]] == "a line"


def test_rows_become_named_columns_and_trials_have_their_values():
    values = (0.5, 0.7, 0.9)
    row = Simulated(2.0, averaged(values, 100), averaged((0.1, math.nan), 100))
    (name,) = (tables := row_tables({"alignment": [row]}))
    assert name == "alignment.Simulated.csv"
    (found,) = _read(tables[name])
    assert float(found["cosine.value"]) == pytest.approx(0.7)
    assert found["cosine.trials"] == "3"
    assert found["readout_cosine.value"] == ""
    trials = _read(trial_table({"alignment": [row]}))
    cosines = [float(r["value"]) for r in trials if r["column"] == "cosine"]
    assert tuple(cosines) == values
    assert {(r["row"], r["engine"], r["dimension"]) for r in trials} == {("0", "tensors", "100")}
