"""What a process imports before it predicts: each package costs a part of a second."""

import subprocess
import sys

HEAVY = {"jax", "pandas", "sklearn"}
PARTS_OF_SCIPY = {"scipy.interpolate", "scipy.optimize", "scipy.stats"}

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
