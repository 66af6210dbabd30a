"""What is known of SciPy's Sobol sequences before they are imported."""

import numpy as np
from scipy.stats import qmc

from sparsetoken.numerics.quadrature import MOST_DIMENSIONS, sobol_sequence


def test_it_is_the_sequence_of_scipy() -> None:
    assert MOST_DIMENSIONS == qmc.Sobol.MAXDIM
    mine, its = (make(3, rng=np.random.default_rng(7)) for make in (sobol_sequence, qmc.Sobol))
    np.testing.assert_array_equal(mine.random(8), its.random(8))
