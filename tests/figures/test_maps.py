"""Maps of results over two dimensions."""

import numpy as np
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

import sparsetoken as st
from sparsetoken.figures.records import draw_maps


def test_cells_lie_around_their_numbers() -> None:
    """In any order, half way to the next on a logarithmic axis too, and without infinity."""
    problem = st.SparseTokenProblem(4, strength=[[4.0], [2.0], [3.0]])
    readout = st.Readout("square", alpha1=[8.0, 0.5, 1.0, 2.0, 4.0, np.inf])
    found = st.predict(problem, st.Pooled(), readout)
    axes = Figure().subplots()
    draw_maps({"": found}, [axes])
    (mesh,) = (one for one in axes.collections if isinstance(one, QuadMesh))
    corners = mesh.get_coordinates()
    np.testing.assert_allclose(corners[0, :, 0], 2.0 ** np.arange(-1.5, 4), rtol=1e-12)
    assert corners[:, 0, 1].tolist() == [1.5, 2.5, 3.5, 4.5]
    np.testing.assert_array_equal(mesh.get_array(), found.test_error[[1, 2, 0]][:, [1, 2, 3, 4, 0]])


def test_a_cell_without_a_neighbour_has_the_width_one() -> None:
    problem = st.SparseTokenProblem(4, strength=[[4.0], [2.0], [3.0]])
    found = st.predict(problem, st.Pooled(), st.Readout("square", alpha1=[2.0, np.inf]))
    axes = Figure().subplots()
    draw_maps({"": found}, [axes])
    (mesh,) = (one for one in axes.collections if isinstance(one, QuadMesh))
    assert mesh.get_coordinates()[0, :, 0].tolist() == [1.5, 2.5]
