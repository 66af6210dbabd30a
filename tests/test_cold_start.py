"""What a process imports before it predicts: each package costs a part of a second."""

import subprocess
import sys
from pathlib import Path

HEAVY = {"jax", "pandas", "sklearn"}
PARTS_OF_SCIPY = {"scipy.interpolate", "scipy.optimize", "scipy.stats"}

SELDOM = {"dask", "jax", "matplotlib", "skops", "xarray"}
PARTS = {"sparsetoken.forecasting", "sparsetoken.simulation", "sparsetoken.theory"}

BAGS = """
import numpy as np
X, y = np.random.default_rng(0).standard_normal((40, 4, 3)), np.arange(40) % 2
"""
PREDICTION = """
for loss in ("logistic", "hinge", "squared_hinge", "square"):
    st.predict(st.SparseTokenProblem(), readout=st.Readout(loss))
"""
WITH_JAX = """
found = st.predict(st.SparseTokenProblem(), readout=st.Readout("hinge"))
import jax
with jax.enable_x64(True):
    assert found == st.predict(st.SparseTokenProblem(), readout=st.Readout("hinge"))
assert not jax.config.jax_enable_x64
"""
CLASSES_OF_A_FILE = """
import contextlib, io
from sparsetoken.cli.app import execute
from sparsetoken.estimators.saving import save
save(st.estimators.PooledClassifier().fit(X, y), "model.skops")
np.savez("bags.npz", X=X, y=y)
with contextlib.redirect_stdout(io.StringIO()) as said:
    assert execute(["bags", "predict", "model.skops", "bags.npz"]) == 0
assert "bag,label,probability_0,probability_1" in said.getvalue().splitlines()
"""


def run(code: str) -> list[str]:
    """Return the lines that code prints in a process of its own."""
    run = [sys.executable, "-c", f"import sys, sparsetoken as st\n{code}"]
    return subprocess.run(run, capture_output=True, text=True, check=True).stdout.splitlines()


def imported(*codes: str) -> list[set[str]]:
    """Return the modules that a process knows after each of these."""
    lines = run("\n".join(f"{code}\nprint(*sys.modules)" for code in codes))
    return [set(line.split()) for line in lines if " sys " in f" {line} "]


def test_a_prediction_needs_no_compiler_and_models_need_no_functions_of_scipy() -> None:
    """And what imports JAX afterwards computes in float64."""
    models, theory, prediction, _ = imported(
        "from sparsetoken.model.models import MODELS",
        "from sparsetoken import theory",
        PREDICTION,
        WITH_JAX,
    )
    assert not models & (HEAVY | PARTS_OF_SCIPY | {"scipy.special"})
    assert not theory & (HEAVY | PARTS_OF_SCIPY)
    assert not prediction & HEAVY


def test_bags_need_no_scikit_learn_and_files_and_a_small_fit_no_compiler_and_no_theory(
    tmp_path: Path,
) -> None:
    """Skops, which reads the model, imports all of scikit-learn."""
    made, fitted, predicted = imported(
        f"{BAGS}\nst.bags.from_long(X[:, 0], y)\nst.bags.as_bags(X)",
        "st.BagClassifier().fit(X, y)",
        f"import os\nos.chdir({str(tmp_path)!r})\n{CLASSES_OF_A_FILE}",
    )
    assert not made & (HEAVY | {"scipy.optimize", "scipy.stats"})
    assert "sparsetoken.cli.bags" in predicted
    assert not predicted & {"jax", "matplotlib"}
    assert "sklearn.base" in fitted
    assert not fitted & (SELDOM | PARTS)


def test_a_loss_of_ones_own_may_import_jax_in_its_methods() -> None:
    code = """
import numpy as np

class Own(st.losses.Loss):
    name = "own"

    def value(self, y, z):
        import jax.numpy as jnp

        return jnp.logaddexp(0.0, -y * z)

    slope = curvature = value

found = Own().value(np.ones(1), np.ones(1))
assert type(found) is np.ndarray and found.dtype == np.float64, found
"""
    run(code)


def test_the_command_line_says_which_extra_it_needs() -> None:
    code = "import sys\nsys.modules['cyclopts'] = None\nsys.argv = ['sparsetoken', '--help']\n"
    run = [sys.executable, "-c", f"{code}from sparsetoken.cli import main\nmain()"]
    found = subprocess.run(run, capture_output=True, text=True)
    assert found.returncode == 1
    assert found.stderr == 'The command line needs its extra: pip install "sparsetoken[app]".\n'
