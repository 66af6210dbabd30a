"""Figures of sweeps: what is on the axes, and what is hollow."""

import math

import numpy as np
import pytest
import xarray as xr
from matplotlib.collections import QuadMesh

from sparsetoken.base.validation import InvalidInput
from sparsetoken.figures import grids
from sparsetoken.figures.palette import COLOURS
from sparsetoken.sweep import Grid

HOLLOW = "none"


def grid(axes, experiment="learning", quantities=("theory",), **plot):
    return Grid(experiment, axes, quantities=quantities, plot=plot)


TRIALS = (-0.01, 0.0, 0.01)
"""What is added to the value of each trial: their standard error is 0.01 / sqrt(3)."""


def dataset(grid, value, names=None, status=lambda point: "converged"):
    """Return a Dataset of a value, of the same name for all quantities but for those named."""
    shape = tuple(map(len, grid.axes.values()))
    dims = tuple(grid.axes)
    variables = {}
    for quantity in grid.quantities:
        name = (names or {}).get(quantity, "test_error")
        numbers = np.reshape([value(point) for point in grid.points()], shape)
        words = np.array([status(point) for point in grid.points()], dtype=object).reshape(shape)
        own = dims
        if quantity == "simulation":
            own = (*dims, "trial")
            numbers = numbers[..., None] + np.array(TRIALS)
            words = np.repeat(words[..., None], len(TRIALS), axis=-1)
        numbers = np.where(np.isin(words, ["failed", "missing"]), np.nan, numbers)
        variables |= {f"{quantity}_{name}": (own, numbers), f"{quantity}_status": (own, words)}
    coords = {name: (name, [*values]) for name, values in grid.axes.items()}
    return xr.Dataset(variables, {"engine": "reduced", **coords})


def drawn_of(sweep, data):
    plot = sweep.plot
    value = "separable" if sweep.experiment == "capacity" else "test_error"
    return grids.draw(data, value, **plot)


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


MODELS = {"model": ["attention", "pooled"]}
LOADS = {"alpha1": [1.0, 2.0, 4.0]}
STRENGTHS = {"strength": [1.0, 1.5, 2.0]}


def test_curves_have_a_line_for_each_model_and_a_panel_for_the_rest():
    sweep = grid({**MODELS, **LOADS, "loss": ["square", "hinge"]}, x="alpha1")

    def value(point):
        return point["alpha1"] / (
            10 + (point["model"] == "pooled") + 5 * (point["loss"] == "hinge")
        )

    def status(point):
        last = (point["model"], point["loss"], point["alpha1"]) == ("pooled", "hinge", 4.0)
        return "missing" if last else "converged"

    figure, drawn = drawn_of(sweep, dataset(sweep, value, status=status))
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title("left") for axes in panels] == ["theory, square", "theory, hinge"]
    assert lines(panels[0]) == {(0.1, 0.2, 0.4), (1 / 11, 2 / 11, 4 / 11)}
    assert panels[0].get_xscale() == "log"
    colours = {line.get_ydata()[0]: line.get_color() for line in panels[0].lines}
    assert colours == {0.1: COLOURS["attention"], 1 / 11: COLOURS["pooled"]}
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["attention", "pooled"]
    assert drawn == (12, 0, 1)


def test_a_point_that_did_not_converge_is_hollow_and_off_the_line():
    sweep = grid(LOADS, x="alpha1")
    found = dataset(
        sweep,
        lambda point: point["alpha1"],
        status=lambda point: "max_iterations" if point["alpha1"] == 2 else "converged",
    )
    figure, drawn = drawn_of(sweep, found)
    (axes,) = figure.axes
    assert hollow(axes) == [(2.0, 2.0)]
    (line,) = lines(axes)
    np.testing.assert_array_equal(line, [1.0, math.nan, 4.0])
    assert drawn == (3, 1, 0)


def test_simulations_are_points_with_standard_errors():
    sweep = grid(LOADS, quantities=("simulation",), x="alpha1")
    figure, _ = drawn_of(sweep, dataset(sweep, lambda point: point["alpha1"]))
    (axes,) = figure.axes
    (bars,) = [container for container in axes.containers if container.has_yerr]
    assert len(bars.lines[0].get_xdata()) == 3
    low, high = bars.lines[2][0].get_segments()[0]
    assert high[1] - low[1] == pytest.approx(2 * 0.01 / math.sqrt(3), rel=1e-12)


def test_engines_on_an_axis_have_their_own_marks():
    sweep = grid({**LOADS, "engine": ["reduced", "tensors"]}, quantities=("simulation",))
    data = dataset(sweep, lambda point: point["alpha1"])
    figure, _ = grids.draw(data, "test_error", x="alpha1", curves="engine")
    (axes,) = figure.axes
    marks = [bars.lines[0].get_marker() for bars in axes.containers if bars.has_yerr]
    assert marks == ["o", "s"]


def test_theory_and_simulation_share_a_panel_of_curves():
    sweep = grid(LOADS, quantities=("theory", "simulation"), x="alpha1")
    figure, drawn = drawn_of(sweep, dataset(sweep, lambda point: point["alpha1"]))
    (axes,) = figure.axes
    assert (1.0, 2.0, 4.0) in lines(axes)
    (bars,) = [container for container in axes.containers if container.has_yerr]
    assert len(bars.lines[0].get_xdata()) == 3
    assert drawn.points == 6


def test_a_heat_map_has_a_cell_for_each_point():
    sweep = grid({**STRENGTHS, **LOADS, "loss": ["square", "hinge"]}, x="alpha1", y="strength")
    off = {"square": 0, "hinge": 5}
    found = dataset(sweep, lambda p: 10 * p["strength"] + p["alpha1"] + off[p["loss"]])
    figure, _ = drawn_of(sweep, found)
    expected = np.array([[10 * s + a for a in (1, 2, 4)] for s in (1, 1.5, 2)])
    for axes, loss in zip(figure.axes, off, strict=False):
        assert axes.get_title("left") == f"theory, {loss}"
        np.testing.assert_array_equal(mesh(axes).get_array(), expected + off[loss])
        assert mesh(axes).get_clim() == (11, 29)  # one scale of colours
    assert figure.axes[0].get_xscale() == "log"
    assert figure.axes[0].get_yscale() == "linear"
    edges = mesh(figure.axes[0]).get_coordinates()[0, :, 0]
    np.testing.assert_allclose(edges, [2**-0.5, 2**0.5, 2**1.5, 2**2.5], rtol=1e-12)


def test_cells_that_did_not_converge_are_empty_and_marked():
    sweep = grid({**STRENGTHS, **LOADS}, x="alpha1", y="strength")
    bad = {(1.0, 1.5): "max_iterations", (4.0, 2.0): "failed", (2.0, 1.0): "missing"}
    found = dataset(
        sweep,
        lambda point: 1.0,
        status=lambda point: bad.get((point["alpha1"], point["strength"]), "converged"),
    )
    figure, drawn = drawn_of(sweep, found)
    assert np.ma.getmaskarray(mesh(figure.axes[0]).get_array()).sum() == 3
    assert hollow(figure.axes[0]) == [(1.0, 1.5), (4.0, 2.0)]
    assert drawn == (9, 2, 1)


@pytest.mark.parametrize(
    ("axes", "plot", "words"),
    [
        (MODELS, {}, "numeric axis"),
        ({"strength": np.linspace(1, 2, 50), **LOADS}, {"x": "alpha1"}, "at most 40"),
    ],
)
def test_figures_that_are_refused(axes, plot, words):
    sweep = grid(axes, **plot)
    with pytest.raises(InvalidInput, match=words):
        drawn_of(sweep, dataset(sweep, lambda point: 0.1))


def test_a_sweep_without_results_is_refused():
    sweep = grid(LOADS)
    with pytest.raises(InvalidInput, match="has results of"):
        drawn_of(sweep, dataset(sweep, lambda point: 1.0).drop_vars("theory_test_error"))


def test_a_point_with_a_part_of_its_trials_is_drawn_and_told():
    sweep = grid(LOADS, quantities=("simulation",), x="alpha1")
    found = dataset(sweep, lambda point: point["alpha1"])
    found["simulation_status"][0, 0] = "missing"
    found["simulation_test_error"][0, 0] = math.nan
    figure, drawn = drawn_of(sweep, found)
    (axes,) = figure.axes
    assert sum(len(bars.lines[0].get_xdata()) for bars in axes.containers) == 3
    assert drawn == (3, 0, 1)
