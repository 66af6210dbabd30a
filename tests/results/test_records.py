"""Named arrays: parts, columns, dicts, frames, Datasets, pictures, notebooks."""

import pickle

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from sparsetoken.base.validation import InvalidInput
from sparsetoken.figures.palette import COLOURS
from sparsetoken.model.descent import Descent
from sparsetoken.model.models import Attention, Pooled
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.results import (
    CONVERGED,
    Overlaps,
    Prediction,
    Record,
    Simulation,
    Status,
    StatusCode,
    TrialOutcome,
)
from sparsetoken.simulation import simulate
from sparsetoken.theory import align, descend, predict

LOADS = np.array([0.5, 1.0, 2.0, 8.0])
RIDGES = np.array([[1e-2], [1.0]])
PROBLEM = SparseTokenProblem(4, 1, 3.0)


@pytest.fixture(scope="module")
def curve():
    return predict(PROBLEM, Pooled(), Readout(alpha1=LOADS))


@pytest.fixture(scope="module")
def plane():
    return predict(PROBLEM, Pooled(), Readout(alpha1=LOADS, ridge=RIDGES))


@pytest.fixture
def axes():
    figure = Figure()
    return figure.subplots()


@pytest.fixture(scope="module")
def trials():
    readout = Readout(alpha1=LOADS, ridge=RIDGES)
    return simulate(PROBLEM, Pooled(), readout, dimension=20, trials=3)


@pytest.fixture(scope="module")
def trajectory():
    return descend(PROBLEM, Descent(alpha=[1.0, 3.0], steps=3), replicas=2, tolerance=1e-2)


def test_a_result_is_one_class_whose_numbers_are_arrays(plane):
    assert type(plane) is type(plane[0, 0]) is Prediction
    assert isinstance(plane, Record)
    assert len(plane) == 2
    assert plane.shape == (2, 4)
    assert plane.dims == ("ridge", "alpha1")
    assert plane.test_error.shape == plane.overlaps.noise.shape == plane.status.shape == (2, 4)
    assert plane.overlaps.dims == plane.dims
    assert list(plane.coords) == ["ridge", "alpha1"]
    np.testing.assert_array_equal(plane.coords["ridge"], RIDGES)
    np.testing.assert_array_equal(plane.coords["alpha1"], [LOADS])
    alone = predict(PROBLEM, Pooled(), Readout(ridge=1.0, alpha1=1.0))
    # The square of a last Newton step of 1e-6; see tests/theory/test_arrays.py.
    assert plane[1, 1].test_error == pytest.approx(alone.test_error, rel=1e-9)


def test_numbers_of_a_single_point_have_no_shape():
    found = predict(PROBLEM, Pooled(), Readout(alpha1=1.0))
    assert (found.dims, found.shape, dict(found.coords)) == ((), (), {})
    assert isinstance(found.test_error, np.float64)
    assert isinstance(found.iterations, np.integer)
    assert isinstance(found.overlaps.bias, np.float64)
    assert f"{found.test_error:.3f}" == f"{found.test_error.item():.3f}"
    for call in (len, iter, lambda one: one[0]):
        with pytest.raises((TypeError, IndexError)):
            call(found)
    with pytest.raises(InvalidInput, match="dimension"):
        found.isel(alpha1=0)


def test_parts_by_position(plane):
    row = plane[1]
    assert row.dims == ("alpha1",)
    np.testing.assert_array_equal(row.test_error, plane.test_error[1])
    np.testing.assert_array_equal(row.overlaps.noise, plane.overlaps.noise[1])
    assert row.coords["ridge"].ravel().tolist() == [1.0]
    assert plane.isel(ridge=1, alpha1=2) == plane[1, 2] == plane[-1, -2] == row[2]
    assert plane.isel(alpha1=2) == plane[:, 2]
    some = plane[:, 1:3]
    assert some.shape == (2, 2)
    np.testing.assert_array_equal(some.auc, plane.auc[:, 1:3])
    assert some.coords["alpha1"].ravel().tolist() == LOADS[1:3].tolist()
    point = plane[0, 1]
    assert (point.dims, point.shape, point.status) == ((), (), "converged")
    assert {name: value.item() for name, value in point.coords.items()} == {
        "ridge": 0.01,
        "alpha1": 1.0,
    }
    assert [one.test_error for one in row] == row.test_error.tolist()


@pytest.mark.parametrize(
    "positions",
    [
        {"strength": 0},
        {"ridge": 2},
        {"ridge": 0.5},
        {"ridge": [0, 1]},
        {"ridge": np.array([0, 1])},
        {"ridge": True},
    ],
)
def test_parts_that_are_not_there_are_refused(plane, positions):
    with pytest.raises(InvalidInput, match=r"dimension|position along ridge"):
        plane.isel(**positions)
    with pytest.raises(IndexError):
        plane[0, 0, 0]


def test_parts_of_a_trajectory_with_what_has_no_steps(trajectory):
    last = trajectory.isel(step=-1)
    assert last.dims == ("alpha",)
    np.testing.assert_array_equal(last.weights.c, trajectory.weights.c[:, -1])
    np.testing.assert_array_equal(last.errors.weights.c, trajectory.errors.weights.c[:, -1])
    np.testing.assert_array_equal(last.numerical_error, trajectory.numerical_error)
    assert last.coords["step"].ravel().tolist() == [3]
    alone = trajectory[1]
    assert alone.isel(step=alone.best_step).test_error == alone.test_error.min()
    assert (alone.status, alone.notes) == ("converged", ())
    assert alone[1:].shape == (3,)


def test_columns_have_all_dimensions(plane, trajectory):
    found = plane.columns()
    assert list(found)[:6] == [
        "test_error",
        "training_loss",
        "training_error",
        "auc",
        "query_overlap",
        "orthogonal_overlap",
    ]
    np.testing.assert_array_equal(found["noise_overlap"], plane.overlaps.noise)
    np.testing.assert_array_equal(found["bias"], plane.overlaps.bias)
    assert {column.shape for column in found.values()} == {(2, 4)}
    steps = trajectory.columns()
    assert {column.shape for column in steps.values()} == {(2, 4)}
    np.testing.assert_array_equal(steps["weight_b_se"], trajectory.errors.weights.c[..., 0])
    np.testing.assert_array_equal(steps["replicas"], 2)
    assert "cosine" not in found  # no query


def test_a_dict_and_a_frame_have_a_column_for_each_quantity(plane):
    found = plane.to_dict()
    assert list(found)[:3] == ["ridge", "alpha1", "test_error"]
    assert found["alpha1"] == [*LOADS, *LOADS]
    assert found["ridge"] == [0.01] * 4 + [1.0] * 4
    assert found["test_error"] == plane.test_error.ravel().tolist()
    assert found["status"] == ["converged"] * 8
    assert "advice" not in found
    assert {len(column) for column in found.values()} == {8}
    assert plane.records()[6] == {name: column[6] for name, column in found.items()}
    assert len(plane.records()) == 8
    frame = plane.to_frame()
    assert list(frame.columns) == list(found)
    assert frame.to_dict("list") == found


def test_a_single_result_has_a_dict_and_a_frame_of_its_own(curve):
    alone = predict(PROBLEM, Pooled(), Readout(alpha1=0.5))
    assert alone.to_dict()["test_error"] == alone.test_error
    assert type(alone.to_dict()["test_error"]) is float
    assert alone.records() == [alone.to_dict()]
    assert alone.to_frame().loc[0, "test_error"] == alone.test_error
    assert "alpha1" not in alone.to_dict()
    assert curve[0].to_dict()["test_error"] == curve.test_error[0]
    with_query = predict(PROBLEM, Attention(Query(0.5, 1.0)), tolerance=0.1).to_dict()
    assert (with_query["cosine"], with_query["sharpness"]) == (0.5, 1.0)


def test_a_dataset_has_the_dimensions_and_the_coordinates(plane, trajectory, trials):
    found = plane.to_xarray()
    assert dict(found.sizes) == {"ridge": 2, "alpha1": 4}
    at = found.sel(ridge=1.0, alpha1=2.0)
    assert at.test_error.item() == plane.test_error[1, 2]
    assert at.noise_overlap.item() == plane.overlaps.noise[1, 2]
    assert (found.status == "converged").all()
    both = predict(PROBLEM, Pooled(), Readout(alpha1=[1.0, 2.0], ridge=[0.1, 0.2])).to_xarray()
    assert both.test_error.dims == ("point",)
    assert both.alpha1.dims == both.ridge.dims == ("point",)
    steps = trajectory.to_xarray()
    assert steps.weight_b.dims == ("alpha", "step")
    assert steps.step.values.tolist() == [0, 1, 2, 3]
    means = trials.to_xarray()
    np.testing.assert_array_equal(means.auc_se, trials.standard_error.auc)
    assert trials.trials.to_xarray().auc.dims == ("ridge", "alpha1", "trial")


def test_results_are_equal_if_all_numbers_are(plane, curve, trials):
    assert plane == predict(PROBLEM, Pooled(), Readout(alpha1=LOADS, ridge=RIDGES))
    assert plane != predict(PROBLEM, Pooled(), Readout(alpha1=1.1 * LOADS, ridge=RIDGES))
    assert plane[0] == plane[0, :]
    assert plane[0] != plane[1]
    assert plane != curve
    assert plane != plane.test_error.tolist()
    assert plane.overlaps == plane.overlaps
    assert trials != plane
    with_nan = Overlaps(np.nan, 1.0, 2.0, 3.0)
    assert with_nan == Overlaps(np.nan, 1.0, 2.0, 3.0)
    assert with_nan != Overlaps(0.0, 1.0, 2.0, 3.0)
    with pytest.raises(TypeError):
        hash(plane)


def test_a_status_is_its_word_with_a_remedy():
    status = Status(StatusCode.NO_LIMIT, "Try less.")
    assert status == "no_limit"
    assert (status.code, status.remedy, status.converged) == (
        StatusCode.NO_LIMIT,
        "Try less.",
        False,
    )
    assert (CONVERGED.code, CONVERGED.remedy, CONVERGED.converged) == ("converged", "", True)
    again = pickle.loads(pickle.dumps(status))
    assert (again, again.remedy) == (status, "Try less.")
    with pytest.raises(ValueError, match="no_such"):
        Status("no_such")


def test_a_status_for_each_point():
    """At ridge 0 and alpha1 = 1 the square loss has no limit."""
    found = predict(PROBLEM, Pooled(), Readout("square", ridge=0.0, alpha1=[0.5, 1.0, 2.0, 1.0]))
    mask = found.status == "converged"
    assert mask.tolist() == [True, False, True, False]
    assert np.isfinite(found.test_error).tolist() == mask.tolist()
    assert isinstance(found.converged, bool)
    assert not found.converged
    assert all(isinstance(one, Status) for one in found.status)
    assert found[1].status.code is StatusCode.NO_LIMIT
    assert found[0].converged
    assert found[0].status == "converged"
    assert found.status[1].remedy
    assert found.to_dict()["message"] == [one.remedy for one in found.status]
    assert found[1].status.remedy == found.status[1].remedy


def test_advice_sums_up_notes_that_differ_in_numbers_only():
    found = predict(PROBLEM, Attention(Query([0.5, 0.9], 0.01)), tolerance=0.1)
    assert found.notes.shape == (2,)
    (note,) = found.notes[0]
    assert "far below 1" in note
    assert found.advice == (f"At 2 of 2 points, first: {note}",)
    assert found[0].notes == found[0].advice == (note,)
    assert predict(PROBLEM, Pooled(), Readout(alpha1=LOADS)).advice == ()


def test_a_simulation_keeps_its_trials(trials):
    assert isinstance(trials, Simulation)
    assert isinstance(trials.trials, TrialOutcome)
    assert (trials.dims, trials.shape) == (("ridge", "alpha1"), (2, 4))
    assert trials.trials.dims == ("ridge", "alpha1", "trial")
    assert trials.trials.shape == (2, 4, 3)
    assert trials.trials.coords["trial"].ravel().tolist() == [0, 1, 2]
    np.testing.assert_array_equal(trials.mean.auc, trials.trials.auc.mean(axis=-1))
    noise = trials.trials.overlaps.noise
    np.testing.assert_array_equal(trials.mean.overlaps.noise, noise.mean(axis=-1))
    expected = noise.std(axis=-1, ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(trials.standard_error.overlaps.noise, expected)
    assert list(trials.mean.coords) == list(trials.coords) == ["ridge", "alpha1"]
    part = trials[1, 2]
    assert part.mean.test_error == trials.mean.test_error[1, 2]
    assert part.trials.test_error.tolist() == trials.trials.test_error[1, 2].tolist()
    np.testing.assert_array_equal(
        trials.columns()["test_error_se"], trials.standard_error.test_error
    )
    assert len(trials.to_frame()) == 8
    with pytest.raises(InvalidInput, match="dimension"):
        trials.isel(trial=0)


def test_one_direction_is_one_line(curve, axes):
    assert curve.plot("auc", ax=axes) is axes
    (line,) = axes.lines
    np.testing.assert_array_equal(line.get_xdata(), LOADS)
    np.testing.assert_array_equal(line.get_ydata(), curve.auc)
    assert axes.get_xlabel() == r"labels for the readout $\alpha_1 = n_1/d$"
    assert axes.get_ylabel() == "AUC"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["mean pooling, theory"]


@pytest.mark.parametrize(
    ("grid", "scale"),
    [
        (np.geomspace(0.25, 8, 7).round(2), "log"),
        ([1, 2, 5, 10], "log"),
        (np.linspace(0.1, 0.9, 5), "linear"),  # as wide, and even
        ([0.5, 1.0, 2.0, 8.0], "linear"),
        ([1.0, 2.0, 4.0], "linear"),  # narrow
    ],
)
def test_an_axis_is_logarithmic_for_a_geometric_grid_alone(axes, grid, scale):
    align(PROBLEM, TwoSteps(alpha0=grid)).plot("cosine", axes)
    assert axes.get_xscale() == scale


def test_lines_of_a_growing_number_darken_in_the_colour_of_the_model(axes):
    readout = Readout(alpha1=LOADS, ridge=np.array([0.1, 1.0, 10.0])[:, None])
    for model in (Pooled(), Attention(Query(0.9, 1))):
        predict(PROBLEM, model, readout).plot(ax=axes)
    shades = np.array([to_rgb(line.get_color()) for line in axes.lines])
    for mine, name in ((shades[:3], "pooled"), (shades[3:], "attention")):
        assert (np.diff(mine.sum(axis=1)) < 0).all()
        assert (mine.argmax(axis=1) == np.argmax(to_rgb(COLOURS[name]))).all()


def test_the_axis_of_a_line_is_the_one_that_varies_along_it(axes):
    table = align(PROBLEM, TwoSteps(alpha0=LOADS[:, None], eta_b=[0.1, 0.5, 0.9]))
    table.plot("cosine", axes)
    assert len(axes.lines) == 4
    assert axes.get_xlabel() == r"step size of the bias $\eta_b$"
    assert axes.get_ylabel() == "cosine of query and signal $s$"
    np.testing.assert_array_equal(axes.lines[3].get_ydata(), table.cosine[3])


def test_means_of_a_simulation_are_drawn_with_their_errors(axes):
    table = simulate(PROBLEM, Pooled(), Readout(alpha1=LOADS), dimension=20, trials=3)
    table.plot(ax=axes)
    (bars,) = axes.containers
    line, _, (bars,) = bars.lines
    np.testing.assert_array_equal(line.get_ydata(), table.mean.test_error)
    ends = np.array([bar[:, 1] for bar in bars.get_segments()])
    np.testing.assert_allclose(np.diff(ends)[:, 0], 2 * table.standard_error.test_error)


@pytest.mark.parametrize("theory_first", [True, False])
def test_theory_and_simulation_of_one_model_share_colour_and_legend(axes, theory_first):
    readout = Readout(alpha1=LOADS)
    predicted = [predict(PROBLEM, model, readout) for model in (Pooled(), Attention(Query(0.9, 1)))]
    simulated = simulate(PROBLEM, Pooled(), readout, dimension=20, trials=2)
    drawn = [*predicted, simulated] if theory_first else [simulated, *predicted]
    for one in drawn:
        one.plot(ax=axes)
    handles, labels = axes.get_legend_handles_labels()
    colours = {
        label: getattr(handle, "lines", [handle])[0].get_color()
        for handle, label in zip(handles, labels, strict=True)
    }
    assert set(colours) == {"mean pooling, theory", "attention, theory", "mean pooling, simulation"}
    assert colours["mean pooling, theory"] == colours["mean pooling, simulation"]
    assert colours["attention, theory"] != colours["mean pooling, theory"]
    legend = axes.get_legend()
    assert {text.get_text() for text in legend.get_texts()} == {"mean pooling", "attention, theory"}
    assert legend.get_title().get_text() == "lines: theory, points: simulation"


def test_labels_that_are_words_of_the_source_are_kept(curve, axes):
    simulated = simulate(PROBLEM, Pooled(), Readout(alpha1=LOADS), dimension=20, trials=2)
    curve.plot(ax=axes, label="theory")
    simulated.plot(ax=axes, label="simulation")
    told = [text.get_text() for text in axes.get_legend().get_texts()]
    assert told == ["theory", "simulation"]


def test_a_label_of_both_is_one_entry_and_models_have_their_colours(curve, axes):
    simulated = simulate(PROBLEM, Pooled(), Readout(alpha1=LOADS), dimension=20, trials=2)
    for one in (curve, simulated):
        one.plot(ax=axes, label="mean")
    curve.plot(ax=axes, label="other")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["mean", "other"]
    assert axes.get_legend().get_title().get_text() == "lines: theory, points: simulation"
    colours = [to_hex(line.get_color()).upper() for line in axes.lines]
    assert colours[:2] == [COLOURS["pooled"]] * 2
    assert colours[-1] != COLOURS["pooled"]


def test_two_curves_of_a_model_without_labels_have_entries_of_their_own(curve, axes):
    for _ in range(2):
        curve.plot(ax=axes)
    first, second = axes.get_legend().legend_handles
    assert first.get_color() != second.get_color()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "mean pooling, theory"
    ] * 2


def test_a_legend_keeps_what_others_drew_and_forgets_what_was_cleared(curve, axes):
    curve.plot(ax=axes)
    axes.clear()
    axes.plot(LOADS, LOADS, label="mine")
    curve.plot(ax=axes, label="again")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["again", "mine"]
    assert to_hex(axes.lines[1].get_color()).upper() == COLOURS["pooled"]


def test_bad_pictures_are_refused(curve, axes):
    for name in ("test_eror", "status"):
        with pytest.raises(InvalidInput, match=r"quantity must be one of .*test_error"):
            curve.plot(name, axes)
    steps = TwoSteps(alpha0=LOADS, eta_b=np.linspace(0.1, 0.9, 21)[:, None])
    with pytest.raises(InvalidInput, match="at most 20"):
        align(PROBLEM, steps).plot("cosine", axes)
    with pytest.raises(InvalidInput, match="ax must be a matplotlib Axes or None; got 'str'"):
        curve.plot(ax="axes")
    with pytest.raises(InvalidInput, match=r"points of a plot must be two or more; got 1\. Give"):
        curve.isel(alpha1=0).plot(ax=axes)


def test_three_dimensions_are_a_line_for_each_point_of_the_first_two(axes):
    steps = TwoSteps(alpha0=LOADS, eta_b=RIDGES, beta=np.array([1.0, 2.0])[:, None, None])
    found = align(PROBLEM, steps)
    assert found.dims == ("beta", "eta_b", "alpha0")
    found.plot("sharpness", axes)
    assert len(axes.lines) == 4
    assert axes.lines[1].get_label() == "theory, eta_b = 1, beta = 1"
    np.testing.assert_array_equal(axes.lines[2].get_ydata(), found.sharpness[1, 0])


def test_a_notebook_shows_the_points_and_the_advice(plane):
    text = plane._repr_html_()
    assert text.startswith("<table>")
    assert text.count("<tr>") == 1 + 8
    assert "<td>alpha1</td>" in text
    assert f"<td>{plane.test_error[0, 0]:.4f}</td>" in text
    table = predict(PROBLEM, Attention(Query([0.5, 0.9], 0.01)), tolerance=0.1)
    assert "far below 1" in table._repr_html_()
    assert "far below 1" in table[0]._repr_html_()


def test_text_has_columns_over_points_and_lines_at_one(plane, trials):
    first, second = (part.splitlines() for part in repr(plane).split("\n\n"))
    assert first[0].split()[:4] == ["ridge", "alpha1", "test_error", "training_loss"]
    assert second[0].split()[:2] == ["ridge", "alpha1"]  # which tell the rows apart
    *second, shared = second
    assert len(first) == len(second) == 1 + 8
    assert shared.startswith("In all rows: ")
    assert shared.endswith("status converged.")
    assert first[6].split()[:3] == ["1.000", "1.000", f"{plane.test_error[1, 1]:.4f}"]
    assert len(set(map(len, second))) == 1  # in columns
    single = repr(plane[1, 1]).splitlines()
    assert single[0].split() == ["value", "error"]
    assert single[1].split() == ["test", "error", f"{plane.test_error[1, 1]:.4f}", "0"]
    assert single[-1].split() == ["status", "converged"]
    head, line, *_ = repr(trials[1, 1]).splitlines()
    assert head.split() == ["value", "error"]
    assert line.split()[:2] == ["test", "error"]
    found = trials.mean.test_error[1, 1], trials.standard_error.test_error[1, 1]
    assert [float(cell) for cell in line.split()[2:]] == pytest.approx(found, abs=1e-3)
    advised = predict(PROBLEM, Attention(Query([0.5, 0.9], 0.01)), tolerance=0.1)
    assert repr(advised).splitlines()[-1] == advised.advice[0]


@pytest.mark.parametrize("name", ["curve", "plane", "trajectory", "trials"])
def test_a_result_travels_between_processes(name, request):
    found = request.getfixturevalue(name)
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert (again.dims, again.shape) == (found.dims, found.shape)
    assert {n: c.tolist() for n, c in again.coords.items()} == {
        n: c.tolist() for n, c in found.coords.items()
    }
    part = pickle.loads(pickle.dumps(found[0]))
    assert part == found[0]


def test_an_empty_part_is_shown_and_keeps_its_columns():
    part = predict(PROBLEM, Pooled(), Readout(alpha1=[1.0, 2.0]))[2:]
    assert repr(part) == "no points"
    assert "no points" in part._repr_html_()
    assert "test_error" in part.to_frame().columns
