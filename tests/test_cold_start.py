"""What a process imports before it predicts: each package costs a part of a second."""

import subprocess
import sys
from pathlib import Path

HEAVY = {"jax", "pandas", "sklearn"}
PARTS_OF_SCIPY = {"scipy.interpolate", "scipy.optimize", "scipy.stats"}

SELDOM = {"dask", "jax", "matplotlib", "skops", "xarray"}
PARTS_OF_SKLEARN = {
    "sklearn.ensemble",
    "sklearn.linear_model",
    "sklearn.metrics",
    "sklearn.model_selection",
}
PARTS = {"sparsetoken.forecasting", "sparsetoken.simulation", "sparsetoken.theory"}

BAGS = """
import numpy as np
X, y = np.random.default_rng(0).standard_normal((40, 4, 3)), np.arange(40) % 2
"""
PREDICTION = "st.predict(st.SparseTokenProblem(), readout=st.Readout())"


def imported(code: str) -> set[str]:
    lines = f"import sys, sparsetoken as st\n{code}\nprint(*sys.modules)"
    run = [sys.executable, "-c", lines]
    return set(subprocess.run(run, capture_output=True, text=True, check=True).stdout.split())


def test_a_prediction_needs_no_compiler() -> None:
    assert not imported(PREDICTION) & HEAVY


def test_theory_is_imported_without_parts_of_scipy() -> None:
    assert not imported("from sparsetoken import theory") & (HEAVY | PARTS_OF_SCIPY)


def test_models_are_known_without_the_functions_of_scipy() -> None:
    known = imported("from sparsetoken.models import MODELS")
    assert not known & (HEAVY | PARTS_OF_SCIPY | {"scipy.special"})


def test_bags_are_made_without_scikit_learn() -> None:
    known = imported(f"{BAGS}\nst.bags.from_long(X[:, 0], y)\nst.bags.as_bags(X)")
    assert not known & (HEAVY | {"scipy.optimize", "scipy.stats"})


def test_a_small_fit_imports_no_compiler_and_no_theory() -> None:
    known = imported(f"{BAGS}\nst.BagClassifier().fit(X, y)")
    assert "sklearn.base" in known
    assert not known & (SELDOM | PARTS_OF_SKLEARN | PARTS)


def test_the_classes_of_a_file_are_predicted_without_compiler_theory_or_figures(
    tmp_path: Path,
) -> None:
    """The model is a pickle: skops, which reads the other form, imports all of scikit-learn."""
    code = """
from sparsetoken.cli.app import execute
from sparsetoken.estimators.saving import save
save(st.PooledLinearClassifier().fit(X, y), "model.pkl")
np.savez("bags.npz", X=X, y=y)
assert execute(["predict", "model.pkl", "bags.npz", "--trust-pickle"]) == 0
"""
    known = imported(f"import os\nos.chdir({str(tmp_path)!r})\n{BAGS}{code}")
    assert {"bag,label,probability", "sparsetoken.cli.saved"} <= known
    assert not known & (SELDOM | PARTS_OF_SKLEARN | PARTS)


def test_what_imports_jax_itself_computes_in_float64() -> None:
    code = """
found = st.predict(st.SparseTokenProblem(), readout=st.Readout("hinge"))
import jax
with jax.enable_x64(True):
    assert found == st.predict(st.SparseTokenProblem(), readout=st.Readout("hinge"))
assert not jax.config.jax_enable_x64
"""
    imported(code)


def test_a_loss_of_ones_own_may_import_jax_in_its_methods() -> None:
    code = """
import numpy as np
from sparsetoken.numerics.x64 import with_x64

class Own(st.losses.Loss):
    name = "own"

    def value(self, y, z):
        import jax.numpy as jnp

        return jnp.logaddexp(0.0, -y * z)

    slope = curvature = value

found = with_x64(Own().value)(np.ones(1), np.ones(1))
assert found.dtype == np.float64, found.dtype
"""
    imported(code)


def test_the_command_line_says_which_extra_it_needs() -> None:
    code = "import sys\nsys.modules['cyclopts'] = None\nsys.argv = ['sparsetoken', '--help']\n"
    run = [sys.executable, "-c", f"{code}from sparsetoken.cli import main\nmain()"]
    found = subprocess.run(run, capture_output=True, text=True)
    assert found.returncode == 1
    assert found.stderr == 'The command line needs its extra: pip install "sparsetoken[app]".\n'
