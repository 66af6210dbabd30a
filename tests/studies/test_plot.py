"""Figures of studies give back the numbers that they show; what did not converge is hollow."""

import dataclasses
import math

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer

from sparsetoken.figures import style
from sparsetoken.studies.compare import Number
from sparsetoken.studies.plot import colour_map, curve, finish, numbers_of, panels

BLUE, RED = "#0072b2", "#d55e00"
X = (0.5, 1.0, 2.0)
THEORY = [Number(0.1 * x) for x in X]
MEASURED = [Number(0.1 * x + 0.01, 0.02, "reduced", 100, 8) for x in X]


@pytest.fixture(autouse=True)
def _in_style():
    with style.styled():
        yield


def _rows(figure, *names, **wanted):
    """Return these numbers of what a figure shows, of rows that have the wanted entries."""
    chosen = [row for row in numbers_of(figure) if wanted.items() <= row.items()]
    return [tuple(row[name] for name in names) for row in chosen]


def _legend(figure):
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def _fallen(numbers, place=1):
    return [dataclasses.replace(n, converged=i != place) for i, n in enumerate(numbers)]


def test_lines_and_points_give_back_their_numbers():
    figure, places = panels(2, 6.0, 3.0)
    for axes, title, factor in zip(places, ("first", "second"), (1, -1), strict=True):
        curve(axes, X, [n.times(factor) for n in THEORY], BLUE, "one")
        curve(axes, X, [n.times(factor) for n in MEASURED], BLUE, "one")
        axes.set(title=title, xlabel=f"x of {title}", ylabel="y")
        axes.axhline(0.25, label="level")
        axes.axvline(0.25)
    rows = [row for row in numbers_of(finish(figure)) if row["panel"] == "second"]
    assert {(r["x_name"], r["y_name"], r["curve"]) for r in rows} == {("x of second", "y", "one")}
    where = {"panel": "second", "curve": "one"}
    line = [(x, -0.1 * x) for x in X]
    np.testing.assert_allclose(_rows(figure, "x", "y", kind="line", **where), line)
    points = [(x, -0.1 * x - 0.01, 0.02) for x in X]
    np.testing.assert_allclose(_rows(figure, "x", "y", "error", kind="points", **where), points)
    assert len(rows) == 2 * len(X)  # neither the level nor bars and caps
    assert len(list(numbers_of(figure))) == 4 * len(X)


def test_the_error_of_a_single_trial_is_unknown_on_logarithmic_axes_too():
    figure, (axes,) = panels(1, 4.0, 3.0)
    axes.set(xscale="log", yscale="log")
    single = dataclasses.replace(MEASURED[1], error=math.nan)
    curve(axes, X, [MEASURED[0], single, MEASURED[2]], BLUE, "one")
    errors = [error for (error,) in _rows(figure, "error")]
    assert errors == pytest.approx([0.02, math.nan, 0.02], nan_ok=True)


def test_a_curve_has_its_name_in_all_numbers_whatever_measured_them():
    figure, (axes,) = panels(1, 4.0, 3.0)
    tensors = dataclasses.replace(MEASURED[2], engine="tensors")
    curve(axes, X, [*_fallen(MEASURED, 0)[:2], tensors], BLUE, "one")
    curve(axes, X, MEASURED, RED)
    assert sorted(_rows(figure, "curve", "x", kind="points")) == sorted(
        [("one", x) for x in X] + [("", x) for x in X]
    )


def test_a_map_and_its_discs_give_back_their_numbers():
    figure, (axes,) = panels(1, 4.0, 3.0)
    xs, ys = (0.0, 1.0, 2.0), (2.0, 3.0)
    values = np.add.outer(ys, xs)
    values[1, 2] = math.nan
    sound = Number(3.1, 0.1, "reduced", 10, 4)
    places = [(1.0, 2.0, sound), (2.0, 2.0, dataclasses.replace(sound, converged=False))]
    mesh = colour_map(axes, xs, ys, values, places, cmap="viridis", vmin=0, vmax=5)
    figure.colorbar(mesh, ax=axes, label="value")
    cells = [(x, y, v) for y, line in zip(ys, values, strict=True)
             for x, v in zip(xs, line, strict=True)]  # fmt: skip
    shown = _rows(figure, "x", "y", "value", kind="map")
    np.testing.assert_allclose(shown, cells)
    discs = _rows(figure, "x", "y", "value", kind="discs")
    np.testing.assert_allclose(discs, [(1.0, 2.0, 3.1), (2.0, 2.0, math.nan)])
    assert _rows(figure, "x", "y", kind="line") == [(2.0, 3.0)]  # the cross where it is unknown
    assert len(list(numbers_of(figure))) == len(cells) + len(discs) + 1


def test_a_line_with_an_unknown_value_is_drawn_straight_with_a_gap():
    figure, (axes,) = panels(1, 4.0, 3.0)
    values = (0.1, math.nan, 0.3)
    curve(axes, X, [Number(value) for value in values], BLUE, "one")
    shown = [value for (value,) in _rows(figure, "y")]
    assert shown == pytest.approx(values, nan_ok=True)


@pytest.mark.parametrize("numbers", [THEORY, MEASURED], ids=["theory", "measured"])
def test_what_did_not_converge_is_hollow_and_off_the_line(numbers):
    _, (axes,) = panels(1, 4.0, 3.0)
    curve(axes, X, _fallen(numbers), BLUE, "one")

    def mark_at(x):
        known = {line: line.get_xdata()[np.isfinite(line.get_ydata())] for line in axes.lines}
        (mark,) = [line for line, at in known.items() if x in at and line.get_marker() != "_"]
        return mark  # "_" is the end of an error bar

    assert mark_at(X[1]).get_markerfacecolor() in ("none", "white")
    assert mark_at(X[1]).get_ydata().tolist() == [numbers[1].value]
    assert mark_at(X[0]) is mark_at(X[2])
    assert to_hex(mark_at(X[0]).get_markerfacecolor()) == BLUE


@pytest.mark.parametrize("numbers", [THEORY, MEASURED], ids=["theory", "measured"])
def test_the_legend_says_what_hollow_means(numbers):
    for shown, hollow in ((numbers, False), (_fallen(numbers), True)):
        figure, (axes,) = panels(1, 4.0, 3.0)
        curve(axes, X, shown, BLUE, "one")
        assert ("not converged" in _legend(finish(figure))) is hollow


def test_a_curve_has_one_entry_in_the_one_legend_of_all_panels():
    figure, places = panels(2, 8.0, 3.0)
    tensors = [dataclasses.replace(n, engine="tensors") for n in MEASURED]
    for axes in places:
        curve(axes, X, THEORY, BLUE, "one", line="--")
        curve(axes, X, MEASURED, BLUE, "one")
        curve(axes, X, tensors, BLUE, "one")
        curve(axes, X, [*THEORY[:2], MEASURED[2]], RED, "two")
        curve(axes, X, MEASURED, RED)
    finish(figure, {"a mark": {"color": RED, "marker": "x"}})
    names = ["one", "two", "a mark", "simulation", "simulation, real tensors"]
    assert _legend(figure) == names
    one, two, mark, *_ = figure.legends[0].legend_handles
    assert (to_hex(one.get_color()), one.get_linestyle()) == (BLUE, "--")
    assert (to_hex(two.get_color()), to_hex(mark.get_color())) == (RED, RED)


def test_points_have_the_marks_of_their_engine_unless_another_is_given():
    _, (axes,) = panels(1, 4.0, 3.0)
    tensors = dataclasses.replace(MEASURED[2], engine="tensors")
    curve(axes, X, [*MEASURED[:2], tensors], BLUE, "one")
    curve(axes, X, MEASURED, RED, "two", marker="^")
    bars = [c for c in axes.containers if isinstance(c, ErrorbarContainer)]
    assert [bar.lines[0].get_marker() for bar in bars] == ["o", "s", "^"]


def test_panels_are_filled_row_by_row_and_spare_ones_are_gone():
    figure, places = panels(3, 6.0, 4.0, rows=2)
    assert figure.axes == list(places)
    assert figure.get_size_inches().tolist() == [6.0, 4.0]
    at = [(a.get_subplotspec().rowspan.start, a.get_subplotspec().colspan.start) for a in places]
    assert at == [(0, 0), (0, 1), (1, 0)]
