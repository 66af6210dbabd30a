"""docs/paper.py, the equations of the paper in plain NumPy, agrees with the library.

The two share no code. With another seed the nodes of docs/paper.py change a test error by 0.1%, a
training loss by 0.2% and a capacity of 21 by 0.4% (standard deviations); tolerances are five times
that. The linear models integrate over one normal, which is a hundred times as accurate.
"""

import ast
import importlib.util
import math
import runpy
from pathlib import Path

import pytest

import sparsetoken as st

FILE = Path(__file__).parent.parent / "docs" / "paper.py"
if not FILE.exists():
    pytest.skip("installed without the documentation", allow_module_level=True)
spec = importlib.util.spec_from_file_location("paper", FILE)
paper = importlib.util.module_from_spec(spec)
spec.loader.exec_module(paper)

LOSSES = {"logistic": paper.logistic, "square": paper.square}
# (L, R, pi, theta, s, k) and the capacity; (alpha1, ridge, loss) and test error and training loss.
CAPACITIES = [
    ((4, 1, 0.5, 2.0, 0.8, 1.0), 2.642),
    ((4, 1, 0.3, 3.0, 0.9, 2.0), 4.97),
    ((10, 1, 0.5, 5.0, 0.9, 1.0), 21.51),
]
READOUTS = [
    ((10, 1, 0.5, 5.0, 0.9, 1.0), (2.0, 1e-2, "logistic"), (0.0352, 0.0342)),
    ((10, 1, 0.5, 5.0, 0.9, 1.0), (2.0, 1e-2, "square"), (0.0944, 0.0481)),
    ((10, 3, 0.2, 2.0, 0.5, 0.7), (3.0, 1e-2, "logistic"), (0.1380, 0.1837)),
    ((5, 1, 0.3, 3.0, 0.3, 2.0), (1.0, 1e-3, "square"), (0.4397, 0.00702)),
    ((10, 2, 0.3, 3.0, -0.3, 1.0), (0.5, 1e-4, "logistic"), None),  # separable
]


def test_it_imports_numpy_and_scipy_alone():
    found = set()
    for node in ast.walk(ast.parse(FILE.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            found.add(node.module)
    assert {name.partition(".")[0] for name in found} == {"numpy", "scipy"}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("letters", [(10, 3, 6.0, 0.2), (5, 1, 2.0, 0.5), (10, 3, 2.0, 0.06)])
def test_alignment(letters, loss):
    """Smooth means over one normal: to rounding, or nearly so."""
    L, R, theta, pi = letters
    for alpha0 in (0.1, 2.0):
        steps = st.TwoSteps(alpha0, eta_w=0.5, eta_b=0.7, eta_q=3.0, beta=1.3, loss=loss)
        known = st.align(st.SparseTokenProblem(L, R, theta, pi), steps)
        own = paper.align(L, R, theta, pi, alpha0, 0.5, 0.7, 3.0, 1.3, LOSSES[loss])
        expected = known.cosine, known.sharpness, known.readout_cosine
        assert own == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("setting", "readout", "reference"), READOUTS)
def test_readout_of_attention(setting, readout, reference):
    (L, R, pi, theta, s, k), (alpha1, ridge, loss) = setting, readout
    features = paper.attention(L, R, theta, pi, s, k)
    error, training = paper.readout(features, theta, s, alpha1, ridge, LOSSES[loss])
    problem, model = st.SparseTokenProblem(L, R, theta, pi), st.Attention(st.Query(s, k))
    known = st.predict(problem, model, st.Readout(loss, ridge, alpha1))
    assert error == pytest.approx(known.test_error, rel=5e-3)
    assert training == pytest.approx(known.training_loss, rel=1e-2)
    if reference:
        assert (error, training) == pytest.approx(reference, rel=1e-2)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("alpha1", "ridge"), [(4.0, 0.1), (0.5, 1e-4)])
def test_readout_of_linear_models(loss, alpha1, ridge):
    problem, readout = st.SparseTokenProblem(10, 1, 5.0), st.Readout(loss, ridge, alpha1)
    for features, model, load in (
        (paper.pooled(10, 1, 5.0, 0.5), st.Pooled(), alpha1),
        (paper.vectorized(10, 1, 5.0, 0.5), st.Vectorized(), alpha1 / 10),
    ):
        own = paper.readout(features, 5.0, 0.0, load, ridge, LOSSES[loss])
        known = st.predict(problem, model, readout)
        # The library itself is known to 1e-4, and a loss of nearly 0 to 1e-6.
        assert own[0] == pytest.approx(known.test_error, abs=1e-4)
        assert own[1] == pytest.approx(known.training_loss, rel=5e-4, abs=1e-6)


@pytest.mark.parametrize(("setting", "reference"), CAPACITIES)
def test_capacity(setting, reference):
    L, R, pi, theta, s, k = setting
    problem = st.SparseTokenProblem(L, R, theta, pi)
    own = paper.capacity(paper.attention(L, R, theta, pi, s, k), theta, s)
    known = st.capacity(problem, st.Attention(st.Query(s, k))).capacity
    assert own == pytest.approx(known, rel=2e-2)
    assert own == pytest.approx(reference, rel=2e-2)
    for features, model, factor in (
        (paper.pooled(L, R, theta, pi), st.Pooled(), 1),
        (paper.vectorized(L, R, theta, pi), st.Vectorized(), L),
    ):
        known = st.capacity(problem, model).capacity
        assert factor * paper.capacity(features, theta, 0.0) == pytest.approx(known, rel=1e-3)


def test_capacity_without_signal():
    """Cover's 2 d points."""
    own = paper.capacity(paper.attention(4, 1, 0.0, 0.5, 0.8, 1.0), 0.0, 0.8)
    assert own == pytest.approx(2.0, rel=1e-3)


def test_a_prox_is_a_stationary_point():
    y, omega, v = paper.np.array([[1.0, -1.0, 1.0], [-30.0, 4.0, 20.0], [1e6, 40.0, 1e-3]])
    for loss in LOSSES.values():
        z = paper.prox(loss, y, omega, v)
        assert z + v * loss(y, z)[1] == pytest.approx(omega, rel=1e-9)


def test_it_prints_figure_1(capsys):
    runpy.run_path(str(FILE), run_name="__main__")
    printed = capsys.readouterr().out
    for model, error in (("attention", 0.0662), ("pooled", 0.2814)):
        (line,) = (row for row in printed.splitlines() if f"4.0, {model}" in row)
        assert math.isclose(float(line.split()[-2]), error, rel_tol=5e-3)  # as the README has it
    assert "alpha0 = 2.0  0.9075  0.8495" in printed
