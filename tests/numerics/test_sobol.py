"""Sobol sequences are those of SciPy, whose statistics are imported for many dimensions alone."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import qmc

from sparsetoken.numerics.sobol import BITS, FEW_DIMENSIONS, MOST_DIMENSIONS, sobol_sequence


def test_most_dimensions_are_those_of_scipy() -> None:
    assert MOST_DIMENSIONS == qmc.Sobol.MAXDIM


@pytest.mark.parametrize("seed", [None, 0, 7])
@pytest.mark.parametrize("dimensions", [1, 2, 10, FEW_DIMENSIONS, FEW_DIMENSIONS + 1])
@pytest.mark.filterwarnings("ignore:The balance properties")
def test_it_is_the_sequence_of_scipy(dimensions: int, seed: int | None) -> None:
    mine, its = (None if seed is None else np.random.default_rng(seed) for _ in range(2))
    ours = sobol_sequence(dimensions, mine)
    theirs = qmc.Sobol(dimensions, scramble=seed is not None, bits=BITS, rng=its)
    for count in (4, 1, 8, 3, 512):
        np.testing.assert_array_equal(ours.random(count), theirs.random(count), strict=True)
    if mine is not None and its is not None:  # it goes on with other draws
        assert mine.integers(2**32) == its.integers(2**32)


def test_theory_and_simulation_start_without_the_statistics_of_scipy() -> None:
    """They take half a second to import, in every process that starts."""
    code = "import sys, sparsetoken.sweep.compute; print('scipy.stats' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"
