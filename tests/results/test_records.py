"""Tables of results: columns, dicts, frames, pictures, notebooks."""

import pickle

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

import sparsetoken as st
from sparsetoken.figures.palette import COLOURS
from sparsetoken.models import Attention, Pooled
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Prediction, StatusCode, Table
from sparsetoken.simulation import simulate
from sparsetoken.stages import Query, Readout, TwoSteps
from sparsetoken.theory import align, predict
from sparsetoken.validation import InvalidInput

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


def test_a_table_is_a_sequence_of_results(plane):
    assert isinstance(plane, Table)
    assert len(plane) == 8
    assert plane.shape == (2, 4)
    assert all(isinstance(row, Prediction) for row in plane)
    assert list(plane.axes) == ["ridge", "alpha1"]
    np.testing.assert_array_equal(plane.axes["alpha1"], [LOADS, LOADS])
    alone = predict(PROBLEM, Pooled(), Readout(ridge=1.0, alpha1=1.0))
    # The square of a last Newton step of 1e-6; see tests/theory/test_arrays.py.
    assert plane.rows[5].test_error == pytest.approx(alone.test_error, rel=1e-9)


def test_columns_have_the_common_shape(plane):
    assert plane.test_error.shape == plane.converged.shape == (2, 4)
    assert plane.test_error[1, 2] == plane.rows[6].test_error
    assert plane.noise_overlap[0, 3] == plane.rows[3].overlaps.noise
    assert plane.bias[0, 3] == plane.rows[3].overlaps.bias
    assert plane.converged.all()


def test_a_misspelt_column_is_an_attribute_error_that_names_the_columns(curve):
    with pytest.raises(AttributeError, match=r"no column 'test_eror', but test_error, .*auc"):
        _ = curve.test_eror
    with pytest.raises(AttributeError, match="_private"):
        _ = curve._private
    assert not hasattr(curve, "__array__")


def test_a_dict_has_a_list_for_each_column(plane):
    found = plane.to_dict()
    assert found["alpha1"] == [*LOADS, *LOADS]
    assert found["ridge"] == [0.01] * 4 + [1.0] * 4
    assert found["test_error"] == plane.test_error.ravel().tolist()
    assert found["status"] == ["converged"] * 8
    assert "advice" not in found
    assert {len(column) for column in found.values()} == {8}


def test_a_frame_has_a_row_for_each_point(plane):
    frame = plane.to_frame()
    assert list(frame.columns) == list(plane.to_dict())
    assert len(frame) == 8
    np.testing.assert_array_equal(frame["auc"], plane.auc.ravel())
    assert frame[frame.ridge == 1.0].alpha1.tolist() == LOADS.tolist()


def test_a_single_result_has_a_dict_and_a_frame_of_its_own(curve):
    row = curve.rows[0]
    assert row.to_dict()["test_error"] == row.test_error
    assert row.to_frame().loc[0, "test_error"] == row.test_error
    with_query = predict(PROBLEM, Attention(Query(0.5, 1.0)), tolerance=0.1).to_dict()
    assert (with_query["cosine"], with_query["sharpness"]) == (0.5, 1.0)


def test_one_direction_is_one_line(curve, axes):
    assert curve.plot("auc", ax=axes) is axes
    (line,) = axes.lines
    np.testing.assert_array_equal(line.get_xdata(), LOADS)
    np.testing.assert_array_equal(line.get_ydata(), curve.auc)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("alpha1", "auc")
    assert axes.get_xscale() == "log"
    assert axes.get_legend() is None


def test_a_learning_curve_has_the_floor_below_it(curve, axes):
    curve.plot(ax=axes)
    line, floor = axes.lines
    np.testing.assert_array_equal(line.get_ydata(), curve.test_error)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["best learner"]
    expected = [st.oracle.learning_error(PROBLEM, alpha).test_error for alpha in LOADS]
    # Fewer nodes than by default; what they change cannot be seen.
    np.testing.assert_allclose(floor.get_ydata(), expected, rtol=1e-3)
    assert np.all(floor.get_ydata() < line.get_ydata())


def test_lines_with_the_same_samples_share_a_floor(plane, axes):
    plane.plot(ax=axes)
    assert len(axes.lines) == 3


def test_the_floor_has_the_samples_of_both_stages_and_is_smooth_between():
    alphas = np.geomspace(0.5, 8, 30)
    table = predict(
        PROBLEM, Attention(TwoSteps(alpha0=0.5)), Readout(alpha1=alphas), tolerance=1e-2
    )
    found = table.floor()
    expected = st.oracle.learning_error(PROBLEM, 0.5 + alphas[17]).test_error
    assert found[17] == pytest.approx(expected, rel=2e-3)
    assert np.all(np.diff(found) < 0)


def test_there_is_no_floor_where_knowledge_comes_from_elsewhere():
    given = Attention(Query(0.9, 1.0))
    assert predict(PROBLEM, given, Readout(alpha1=LOADS), tolerance=0.1).floor is None
    other = SparseTokenProblem(4, 1, 2.0)
    shifted = predict(PROBLEM, Pooled(), Readout(alpha1=LOADS), test_problem=other, tolerance=0.1)
    assert shifted.floor is None
    peaked = SparseTokenProblem(4, 1, 3.0, position_law=(0.4, 0.3, 0.2, 0.1))
    assert predict(peaked, Pooled(), Readout(alpha1=LOADS), tolerance=0.1).floor is None


def test_a_floor_needs_directions_that_are_alike():
    def floor(within, between):
        law = st.TokenCovariance(within, between, np.full(4, 0.5))
        problem = SparseTokenProblem(4, 1, 3.0, tokens=law)
        found = predict(problem, Pooled(), Readout(alpha1=[1.0, 2.0]), tolerance=0.1).floor
        return problem, None if found is None else found()

    ones, uneven = np.ones(4), np.array([1.0, 1.0, 1.0, 1.1])
    assert floor(uneven, None)[1] is floor(2 * np.eye(4), np.diag(uneven))[1] is None
    problem, found = floor(2 * ones, 3 * np.eye(4))
    expected = [st.oracle.learning_error(problem, alpha).test_error for alpha in (1.0, 2.0)]
    np.testing.assert_allclose(found, expected, rtol=2e-3)  # fewer nodes than by default


def test_two_directions_are_a_line_for_each_of_the_first(plane, axes):
    plane.plot("training_loss", axes)
    assert len(axes.lines) == 2
    for line, values in zip(axes.lines, plane.training_loss, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), LOADS)
        np.testing.assert_array_equal(line.get_ydata(), values)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["ridge = 0.01", "ridge = 1"]


def test_the_axis_of_a_line_is_the_one_that_varies_along_it(axes):
    table = align(PROBLEM, TwoSteps(alpha0=LOADS[:, None], eta_b=[0.1, 0.5, 0.9]))
    table.plot("cosine", axes)
    assert len(axes.lines) == 4
    assert axes.get_xlabel() == "eta_b"
    assert axes.get_xscale() == "log"
    np.testing.assert_array_equal(axes.lines[3].get_ydata(), table.cosine[3])


def test_what_did_not_converge_is_not_drawn(axes):
    """At ridge 0 and alpha1 = 1 the square loss has no limit."""
    table = predict(PROBLEM, Pooled(), Readout("square", ridge=0.0, alpha1=[0.5, 1.0, 2.0]))
    assert table.converged.tolist() == [True, False, True]
    assert table.status.code is StatusCode.NO_LIMIT
    assert table.status.remedy.startswith("1 of 3 points did not converge.")
    table.plot(ax=axes)
    assert np.isnan(axes.lines[0].get_ydata()).tolist() == [False, True, False]


def test_infinite_data_are_drawn_beside_the_rest(axes):
    predict(PROBLEM, Pooled(), Readout(alpha1=[1.0, 10.0, np.inf])).plot(ax=axes)
    axes.figure.canvas.draw()
    assert np.isfinite(axes.get_xlim()).all()


def test_means_of_a_simulation_are_drawn_with_their_errors(axes):
    table = simulate(PROBLEM, Pooled(), Readout(alpha1=LOADS), dimension=20, trials=3)
    table.plot(ax=axes)
    (bars,) = axes.containers
    line, _, (bars,) = bars.lines
    np.testing.assert_array_equal(line.get_ydata(), table.test_error)
    ends = np.array([bar[:, 1] for bar in bars.get_segments()])
    np.testing.assert_allclose(np.diff(ends)[:, 0], 2 * table.test_error_error)


def test_without_axes_a_figure_is_made(curve):
    matplotlib.use("agg")
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    axes = curve.plot("auc")
    assert len(axes.lines) == 1
    pyplot.close(axes.figure)
    assert pyplot.get_fignums() == before


def test_bad_pictures_are_refused(curve, axes):
    for name in ("test_eror", "status"):
        with pytest.raises(InvalidInput, match="quantity must be one of test_error, "):
            curve.plot(name, axes)
    steps = TwoSteps(alpha0=LOADS, eta_b=RIDGES, beta=np.array([1.0, 2.0])[:, None, None])
    with pytest.raises(InvalidInput, match="two directions"):
        align(PROBLEM, steps).plot("cosine", axes)


def test_a_notebook_shows_the_points_and_the_advice(plane):
    text = plane._repr_html_()
    assert text.startswith("<table>")
    assert text.count("<tr>") == 1 + 8
    assert "<th>alpha1</th>" in text
    assert f"<td>{plane.rows[0].test_error:.6g}</td>" in text
    table = predict(PROBLEM, Attention(Query([0.5, 0.9], 0.01)), tolerance=0.1)
    assert "blunt" in table._repr_html_()
    assert "blunt" in table.rows[0]._repr_html_()


def test_a_notebook_shows_no_more_than_a_page(axes):
    table = align(PROBLEM, TwoSteps(alpha0=np.geomspace(0.1, 10, 100)))
    text = table._repr_html_()
    assert text.count("<tr>") < 100
    assert "more rows" in text


@pytest.mark.parametrize("name", ["curve", "plane"])
def test_a_table_travels_between_processes(name, request):
    table = request.getfixturevalue(name)
    again = pickle.loads(pickle.dumps(table))
    assert again.rows == table.rows
    assert again.shape == table.shape
    np.testing.assert_array_equal(again.test_error, table.test_error)


def test_options_name_and_colour_lines_and_points(plane, axes):
    plane.plot("auc", axes, label="pooled", color="C3")
    assert [line.get_label() for line in axes.lines] == [
        "pooled, ridge = 0.01",
        "pooled, ridge = 1",
    ]
    assert {line.get_color() for line in axes.lines} == {"C3"}
    simulated = simulate(PROBLEM, Pooled(), Readout(alpha1=LOADS), dimension=20, trials=3)
    simulated.plot("auc", axes, color="C3")
    assert axes.containers[0].lines[0].get_color() == "C3"


def test_floors_of_several_tables_are_named_once(curve, axes):
    curve.plot(ax=axes, label="one")
    curve.plot(ax=axes, label="two")
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["one", "best learner", "two"]


def test_a_figure_of_its_own_has_the_style_and_plain_numbers(curve):
    matplotlib.use("agg")
    from matplotlib import pyplot

    axes = curve.plot("auc")
    axes.figure.canvas.draw()
    low, high = axes.get_xlim()
    shown = [
        text.get_text() for text in axes.get_xticklabels() if low <= text.get_position()[0] <= high
    ]
    assert shown == ["0.5", "1", "2", "5"]
    assert axes.lines[0].get_color() == COLOURS["attention"]  # the first of the cycle
    assert not axes.spines["top"].get_visible()
    pyplot.close(axes.figure)
