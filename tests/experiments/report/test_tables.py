"""What is exported: the numbers of a figure, the rows, the values of trials."""

import csv
import io
import math

import pytest

from sparsetoken.experiments import EXPERIMENTS
from sparsetoken.experiments.core.rows import Row, Rows, averaged
from sparsetoken.experiments.report.files import figure_table, row_tables, trial_table
from sparsetoken.experiments.report.page import beside_theory
from sparsetoken.figures import style
from sparsetoken.figures.curves import Axis, Curve, Panel, curves

draw = EXPERIMENTS["alignment"].figures["alignment"]


def _read(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_figure_gives_back_the_numbers_that_were_drawn(fakes):
    rows = fakes["alignment"]
    plot = draw(rows)
    table = _read(figure_table(plot.shown))
    line = [r for r in table if r["engine"] == "theory" and r["curve"].startswith("query")]
    given = {float(r["x"]): float(r["value"]) for r in line}
    assert given == {
        row["alpha0"]: row.value for row in rows.where("theory", "cosine").along("alpha0")
    }
    drawn = plot.figure.axes[0].get_lines()[0].get_xydata()
    line = dict(zip(drawn[:, 0].round(9), drawn[:, 1], strict=True))  # a smooth curve through them
    assert [line[x] for x in given] == pytest.approx(list(given.values()))
    points = [r for r in table if r["engine"] != "theory"]
    assert len(points) == len(rows.where("simulated"))
    assert all(float(r["error"]) == pytest.approx(0.002) for r in points)
    assert {r["x_name"] for r in table} == {"α₀ = n₀ / d"}


def test_measurements_stand_beside_the_theory_at_their_place(fakes):
    rows = fakes["alignment"]
    shown = draw(rows).shown
    pairs = beside_theory(shown)
    assert len(pairs) == len(rows.where("simulated"))
    for theory, measured in pairs:
        assert theory.row == rows.where("theory").beside(measured.row)
    only = [one for one in shown if one.row.engine == "theory"]
    assert beside_theory(only) == [(one, None) for one in only]


def test_a_line_with_an_unknown_value_is_drawn_straight_with_a_gap():
    values = (0.1, math.nan, 0.3, 0.2)
    rows = Rows(Row("theory", "error", v, at={"a": float(x)}) for x, v in enumerate(values))
    with style.styled():
        figure, _ = curves([Panel("a", Axis("A"), Axis("B"), [Curve("c", "red", rows)])])
    (line,) = figure.axes[0].get_lines()
    assert line.get_ydata().tolist() == pytest.approx(values, nan_ok=True)


def test_a_map_says_where_its_cells_and_points_are():
    cells = [Row("map", "cosine", x + y, at={"a": x, "b": y}) for x in (0.0, 1.0) for y in (2.0, 3)]
    point = Row("simulated", "cosine", 3.1, 0.1, {"a": 1.0, "b": 2.0}, "reduced", 10, 4)
    rows = Rows([*cells, point])
    with style.styled():
        _, shown = curves([Panel("a", Axis("A"), Axis("B"), [], cells=rows, across="b")])
    table = _read(figure_table(shown))
    assert [(r["x_name"], r["y_name"]) for r in table] == [("A", "B")] * 5
    assert [tuple(float(r[n]) for n in ("x", "y", "value")) for r in table[-2:]] == [
        (1.0, 3.0, 4.0),
        (1.0, 2.0, 3.1),
    ]
    ((theory, measured),) = beside_theory(shown)
    assert (theory.row.value, measured.row.value) == (3.0, 3.1)


def test_rows_become_named_columns_and_trials_have_their_values():
    values = (0.5, 0.7, 0.9)
    theory = Row("theory", "auc", math.nan, at={"model": "pooled"})
    rows = Rows([theory, averaged(values, "cosine", dimension=100, alpha0=2.0)])
    (name,) = (tables := row_tables({"alignment": rows}))
    assert name == "alignment.csv"
    first, second = _read(tables[name])
    assert float(second["value"]) == pytest.approx(0.7)
    assert (second["quantity"], second["alpha0"], second["trials"]) == ("cosine", "2.0", "3")
    assert (first["value"], first["alpha0"], first["model"]) == ("", "", "pooled")
    trials = _read(trial_table({"alignment": rows}))
    assert tuple(float(r["value"]) for r in trials) == values
    assert {(r["row"], r["engine"], r["dimension"]) for r in trials} == {("1", "tensors", "100")}
