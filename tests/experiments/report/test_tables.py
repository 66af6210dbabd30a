"""What is exported: the numbers of a figure, the rows, the values of trials."""

import csv
import io
import math

import pytest

from sparsetoken.experiments import EXPERIMENTS
from sparsetoken.experiments.core.rows import Row, Rows, averaged
from sparsetoken.experiments.report.data import marks_of, places, row_tables, table, trial_table
from sparsetoken.experiments.report.pictures import picture
from sparsetoken.figures import style

draw = EXPERIMENTS["alignment"].figures["alignment"]


def _read(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_figure_gives_back_the_numbers_that_were_drawn(fakes):
    rows = fakes["alignment"]
    found = _read(table(mark for mark, _ in picture("alignment", draw, rows).marks))
    line = [r for r in found if r["mark"] == "line" and r["series"].startswith("query")]
    drawn = {float(r["x"]): float(r["y"]) for r in line}
    assert drawn == {x: row.value for x, row in rows.where("theory", "cosine").along("alpha0")}
    points = [r for r in found if r["mark"] == "point"]
    assert len(points) == len(rows.where("simulated"))
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
    assert (known[0]["series"], known[0]["mark"]) == ("a line", "line")
    assert known[0]["points"] == [[0.0, 216.0, 0.0, 0.0], [288.0, 0.0, 1.0, 1.0]]


def test_rows_become_named_columns_and_trials_have_their_values():
    values = (0.5, 0.7, 0.9)
    theory = Row("theory", "auc", math.nan, at={"model": "pooled"})
    rows = Rows([theory, averaged(values, "cosine", dimension=100, alpha0=2.0)])
    (name,) = (tables := row_tables({"alignment": rows}))
    assert name == "alignment.csv"
    first, found = _read(tables[name])
    assert float(found["value"]) == pytest.approx(0.7)
    assert (found["quantity"], found["alpha0"], found["trials"]) == ("cosine", "2.0", "3")
    assert (first["value"], first["alpha0"], first["model"]) == ("", "", "pooled")
    trials = _read(trial_table({"alignment": rows}))
    assert tuple(float(r["value"]) for r in trials) == values
    assert {(r["row"], r["engine"], r["dimension"]) for r in trials} == {("1", "tensors", "100")}
