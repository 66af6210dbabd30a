"""What a process imports before it predicts: each package costs a part of a second."""

import subprocess
import sys

import pytest

HEAVY = ("jax", "pandas", "scipy.interpolate", "scipy.optimize", "scipy.stats", "sklearn")

PREDICTION = "st.predict(st.SparseTokenProblem(), readout=st.Readout())"


def imported(code: str) -> set[str]:
    lines = f"import sys, sparsetoken as st\n{code}\nprint(*sys.modules)"
    run = [sys.executable, "-c", lines]
    return set(subprocess.run(run, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize("code", ["from sparsetoken import theory", PREDICTION])
def test_a_prediction_needs_only_the_special_functions_of_scipy(code: str) -> None:
    assert not imported(code).intersection(HEAVY)


def test_models_are_known_without_the_functions_of_scipy() -> None:
    assert not imported("from sparsetoken.models import MODELS").intersection(
        {*HEAVY, "scipy.special"}
    )


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
