"""Figures of sweeps: what is on the axes, and what is hollow."""

import math

import numpy as np
import pytest
from matplotlib.collections import QuadMesh

from sparsetoken.sweep import Drawing, Grid, Summary, linear, listed, logarithmic
from sparsetoken.sweep.phase_diagram import draw
from sparsetoken.validation import InvalidInput

HOLLOW = "none"


def grid(axes, experiment="learning", quantities=("theory",), **plot):
    return Grid(experiment, axes, quantities=quantities, plot=Drawing(**plot))


def rows(grid, value, name="test_error", status=lambda point: "converged"):
    return [
        Summary(point, quantity, status(point), {name: value(point)}, {name: 0.01}, 3)
        for quantity in grid.quantities
        for point in grid.points()
    ]


def lines(axes):
    return {tuple(line.get_ydata()) for line in axes.lines if line.get_marker() in ("", "None")}


def hollow(axes):
    return [
        (x, y)
        for line in axes.lines
        if line.get_markerfacecolor() == HOLLOW and line.get_marker() == "D"
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    ]


def mesh(axes):
    (found,) = (c for c in axes.collections if isinstance(c, QuadMesh))
    return found


MODELS = listed("model", ["attention", "pooled"])
LOADS = logarithmic("alpha1", 1, 4, 3)
STRENGTHS = linear("strength", 1, 2, 3)


def test_curves_have_a_line_for_each_model_and_a_panel_for_the_rest():
    sweep = grid([MODELS, LOADS, listed("loss", ["square", "hinge"])], x="alpha1")

    def value(point):
        return point["alpha1"] / (
            10 + (point["model"] == "pooled") + 5 * (point["loss"] == "hinge")
        )

    figure, drawn = draw(sweep, rows(sweep, value))
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title("left") for axes in panels] == ["theory, square", "theory, hinge"]
    assert lines(panels[0]) == {(0.1, 0.2, 0.4), (1 / 11, 2 / 11, 4 / 11)}
    assert panels[0].get_xscale() == "log"
    assert drawn == (12, 0, 0)


def test_a_point_that_did_not_converge_is_hollow_and_off_the_line():
    sweep = grid([LOADS], x="alpha1")
    found = rows(
        sweep,
        lambda point: point["alpha1"],
        status=lambda point: "max_iterations" if point["alpha1"] == 2 else "converged",
    )
    figure, drawn = draw(sweep, found)
    (axes,) = figure.axes
    assert hollow(axes) == [(2.0, 2.0)]
    (line,) = lines(axes)
    np.testing.assert_array_equal(line, [1.0, math.nan, 4.0])
    assert drawn == (3, 1, 0)


def test_simulations_are_points_with_standard_errors():
    sweep = grid([LOADS], quantities=("simulation",), x="alpha1")
    figure, _ = draw(sweep, rows(sweep, lambda point: point["alpha1"]))
    (axes,) = figure.axes
    bars = [container for container in axes.containers if container.has_yerr]
    assert len(bars) == 3
    low, high = bars[0].lines[2][0].get_segments()[0]
    assert (low[1], high[1]) == pytest.approx((0.99, 1.01), rel=1e-12)


def test_theory_and_simulation_share_a_panel_of_curves():
    sweep = grid([LOADS], quantities=("theory", "simulation"), x="alpha1")
    figure, drawn = draw(sweep, rows(sweep, lambda point: point["alpha1"]))
    (axes,) = figure.axes
    assert (1.0, 2.0, 4.0) in lines(axes)
    assert len([container for container in axes.containers if container.has_yerr]) == 3
    assert drawn.points == 6


def test_a_heat_map_has_a_cell_for_each_point():
    sweep = grid([STRENGTHS, LOADS], x="alpha1", y="strength")
    found = rows(sweep, lambda point: 10 * point["strength"] + point["alpha1"])
    figure, _ = draw(sweep, found)
    cells = mesh(figure.axes[0]).get_array()
    expected = [[10 * s + a for a in (1, 2, 4)] for s in (1, 1.5, 2)]
    np.testing.assert_array_equal(cells, expected)
    assert figure.axes[0].get_xscale() == "log"
    assert figure.axes[0].get_yscale() == "linear"
    edges = mesh(figure.axes[0]).get_coordinates()[0, :, 0]
    np.testing.assert_allclose(edges, [2**-0.5, 2**0.5, 2**1.5, 2**2.5], rtol=1e-12)


def test_cells_that_did_not_converge_are_empty_and_marked():
    sweep = grid([STRENGTHS, LOADS], x="alpha1", y="strength")
    bad = {(1.0, 1.5): "max_iterations", (4.0, 2.0): "failed", (2.0, 1.0): "missing"}
    found = rows(
        sweep,
        lambda point: 1.0,
        status=lambda point: bad.get((point["alpha1"], point["strength"]), "converged"),
    )
    figure, drawn = draw(sweep, found)
    assert np.ma.getmaskarray(mesh(figure.axes[0]).get_array()).sum() == 3
    assert hollow(figure.axes[0]) == [(1.0, 1.5), (4.0, 2.0)]
    assert drawn == (9, 2, 1)


def test_panels_share_one_scale_of_colours():
    sweep = grid([MODELS, STRENGTHS, LOADS], x="alpha1", y="strength")
    figure, _ = draw(sweep, rows(sweep, lambda p: p["strength"] + (p["model"] == "pooled")))
    scales = {mesh(axes).get_clim() for axes in figure.axes[:2]}
    assert scales == {(1.0, 3.0)}


@pytest.mark.parametrize(("x", "y"), [("strength", "alpha1"), ("alpha1", "strength")])
def test_the_predicted_capacity_lies_on_the_map_of_separable_sets(x, y):
    both = ("theory", "simulation")
    sweep = grid([STRENGTHS, LOADS], "capacity", both, x=x, y=y)
    found = [
        row for row in rows(sweep, lambda point: 1.0, "separable") if row.quantity == "simulation"
    ]
    found += [
        row
        for row in rows(sweep, lambda point: 1 + point["strength"], "capacity")
        if row.quantity == "theory"
    ]
    figure, _ = draw(sweep, found)
    assert len([axes for axes in figure.axes if axes.get_title("left")]) == 1
    line = figure.axes[0].lines[-1]
    data = {"strength": [1.0, 1.5, 2.0], "alpha1": [2.0, 2.5, 3.0]}
    assert list(line.get_xdata()) == data[x]
    assert list(line.get_ydata()) == data[y]


def test_a_sweep_without_choices_is_drawn():
    sweep = grid([MODELS, LOADS, linear("strength", 1, 2, 4)])
    figure, _ = draw(sweep, rows(sweep, lambda point: 0.1))
    assert figure.axes[0].get_xlabel() == "" or "strength" in figure.axes[0].get_xlabel()
    assert len([axes for axes in figure.axes if axes.get_visible()]) == 3


@pytest.mark.parametrize(
    ("axes", "plot", "words"),
    [
        ([MODELS], {}, "axis of numbers"),
        ([linear("strength", 1, 2, 50), LOADS], {"x": "alpha1"}, "at most 40"),
    ],
)
def test_figures_that_are_refused(axes, plot, words):
    sweep = grid(axes, **plot)
    with pytest.raises(InvalidInput, match=words):
        draw(sweep, rows(sweep, lambda point: 0.1))


def test_a_sweep_without_results_is_refused():
    sweep = grid([LOADS])
    empty = [Summary(point, "theory", "missing", {}, {}, 0) for point in sweep.points()]
    with pytest.raises(InvalidInput, match="found by a row"):
        draw(sweep, empty)


@pytest.mark.parametrize("curves", ["", "loss"])
def test_names_of_losses_are_drawn_as_they_are_written(curves):
    sweep = grid([LOADS, listed("loss", ["square", "$\\frac{$"])], x="alpha1", curves=curves)
    figure, _ = draw(sweep, rows(sweep, lambda point: point["alpha1"]))
    figure.draw_without_rendering()
