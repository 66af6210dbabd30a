"""The figure of a frame: its lines and points are the rows; what did not converge is hollow."""

import numpy as np
import pytest
from matplotlib.colors import LogNorm, to_hex
from matplotlib.container import ErrorbarContainer

from sparsetoken.figures import style
from sparsetoken.figures.palette import COLOURS
from sparsetoken.studies.claims import Number, judged, row
from sparsetoken.studies.figure import Look, Panel, draw

X = (0.5, 2.0, 1.0)
LOOKS = {"one": Look("#0072b2", "--"), "two": Look("#d55e00", marker="v", label="")}


@pytest.fixture(autouse=True)
def _in_style():
    with style.styled():
        yield


def _curve(curve="one", engine="reduced", panel="first", lost=()):
    """Return the rows of a line and its points."""
    place = {"panel": panel, "curve": curve}
    for x in X:
        yield row(Number(0.1 * x, converged=x not in lost), x=x, **place)
    for x in X:
        found = Number(0.1 * x + 0.01, 0.02, engine, 100, 8, x not in lost)
        yield row(Number(0.1 * x), found, x=x, **place)


def _drawn(rows, *panels, **options):
    return draw(judged(rows), panels or [Panel("first", "x")], LOOKS, **options)


def _points(axes):
    return [c for c in axes.containers if isinstance(c, ErrorbarContainer)]


def _legend(figure):
    (legend,) = figure.legends
    return {text.get_text(): line for text, line in zip(legend.get_texts(), legend.legend_handles,
                                                        strict=True)}  # fmt: skip


def test_a_curve_is_a_line_in_the_order_of_its_rows_and_points_with_their_errors():
    figure = _drawn(_curve(), Panel("first", "load", "error", limits={"ylim": (0, 1)}))
    (axes,) = figure.axes
    line, (points,) = axes.lines[0], _points(axes)
    np.testing.assert_allclose(line.get_xydata(), [(x, 0.1 * x) for x in X])
    assert (to_hex(line.get_color()), line.get_linestyle()) == ("#0072b2", "--")
    np.testing.assert_allclose(points.lines[0].get_xydata(), [(x, 0.1 * x + 0.01) for x in X])
    bars = [np.ptp(np.array(bar)[:, 1]) for bar in points.lines[2][0].get_segments()]
    np.testing.assert_allclose(bars, 0.04)
    assert (axes.get_title("left"), axes.get_xlabel(), axes.get_ylabel(), axes.get_ylim()) == (
        "first", "load", "error", (0, 1))  # fmt: skip


def test_rows_of_other_panels_and_of_none_are_not_drawn():
    rows = [*_curve(), *_curve(panel="second"), *_curve(panel="")]
    figure = _drawn(rows, Panel("first", "x"), Panel("second", "x"), Panel("third", "x"))
    assert [len(axes.lines) > 0 for axes in figure.axes] == [True, True, False]
    assert [len(_points(axes)) for axes in figure.axes] == [1, 1, 0]


@pytest.mark.parametrize(("columns", "rows"), [(3, 1), (2, 2), (1, 3)])
def test_panels_are_in_rows(columns, rows):
    names = ("first", "second", "third")
    panels = [Panel(name, "x") for name in names]
    figure = _drawn(_curve(), *panels, columns=columns)
    assert [axes.get_title("left") for axes in figure.axes] == list(names)
    grid = figure.axes[0].get_subplotspec().get_gridspec()
    assert (grid.nrows, grid.ncols) == (rows, columns)


def test_the_legend_has_each_curve_once_and_what_the_marks_mean():
    rows = [*_curve(), *_curve("two"), *_curve("pooled", "tensors"), *_curve(panel="second")]
    figure = _drawn(rows, Panel("first", "x"), Panel("second", "x"))
    legend = _legend(figure)
    assert list(legend) == ["one", "pooled", "simulation", "simulation, all tokens"]
    assert to_hex(legend["pooled"].get_color()) == COLOURS["pooled"].lower()
    (marks,) = {c.lines[0].get_marker() for c in _points(figure.axes[0])} - {"o", "s"}
    assert marks == "v"


def test_a_curve_of_points_alone_is_a_mark_in_the_legend():
    points = [one for one in _curve() if one["measured"] == one["measured"]]
    entry = _legend(_drawn(points))["one"]
    assert (entry.get_linestyle(), entry.get_marker()) == ("None", "o")


def test_what_did_not_converge_is_hollow_and_off_the_line():
    figure = _drawn(_curve(lost=(2.0,)))
    (axes,) = figure.axes
    assert np.isnan(axes.lines[0].get_ydata()).tolist() == [False, True, False]
    hollow = [c for c in _points(axes) if to_hex(c.lines[0].get_markerfacecolor()) == "#ffffff"]
    assert [c.lines[0].get_xdata().tolist() for c in hollow] == [[2.0]]
    assert "not converged" in _legend(figure)


def test_logarithmic_axes_have_the_given_ticks():
    (axes,) = _drawn(_curve(), Panel("first", "x", log={"x": (0.5, 1, 2), "y": ()})).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0.5", "1", "2"]


def test_a_map_has_discs_in_its_colours_and_a_line_over_it():
    place = {"panel": "first", "curve": "map"}
    cells = {(x, y): x + 10 * y for x in (1.0, 2.0, 3.0) for y in (0.0, 1.0)}
    rows = [row(Number(v, converged=v != 12), x=x, y=y, **place) for (x, y), v in cells.items()]
    found = Number(5.0, 0.1, "reduced", 10, 8)
    rows += [row(4.0, found, x=1.5, y=0.5, **place)]
    rows += [row(0.5, x=x, panel="first", curve="one") for x in (1.0, 3.0)]
    colours = {"vmin": 0, "vmax": 20, "cmap": "viridis"}
    figure = _drawn(rows, Panel("first", "x", colours=colours, bar="value"))
    axes, bar = figure.axes
    mesh, discs = axes.collections
    values = np.ma.filled(mesh.get_array(), np.nan).reshape(2, 3)
    np.testing.assert_array_equal(values, [[1, 2, 3], [11, np.nan, 13]])
    assert discs.get_array().tolist() == [5.0]
    assert discs.norm.vmax == mesh.norm.vmax == 20
    assert discs.get_offsets().tolist() == [[1.5, 0.5]]
    cross, line = axes.lines
    assert cross.get_xydata().tolist() == [[2.0, 1.0]]
    assert line.get_ydata().tolist() == [0.5, 0.5]
    assert bar.get_ylabel() == "value"
    assert list(_legend(figure)) == ["one", "simulation, in the colours of the map"]


def test_a_logarithmic_colour_bar_has_plain_numbers_at_its_ticks():
    place = {"panel": "first", "curve": ""}
    rows = [row(0.1 * x, x=x, y=y, **place) for x in (1.0, 2.0, 4.0) for y in (0.0, 1.0)]
    colours = {"norm": LogNorm(0.1, 0.4)}
    panel = Panel("first", "x", log={"bar": (0.1, 0.2, 0.4)}, colours=colours, bar="value")
    axes, bar = _drawn(rows, panel).axes
    assert [text.get_text() for text in bar.get_yticklabels()] == ["0.1", "0.2", "0.4"]
    assert not bar.get_yticklabels(minor=True)
    assert axes.get_xscale() == "linear"
