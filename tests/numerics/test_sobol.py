"""What is known of SciPy's Sobol sequences before they are imported."""

import numpy as np
from scipy.stats import qmc

from sparsetoken.numerics.quadrature import MOST_DIMENSIONS, even_uniforms, sobol_sequence


def test_it_is_the_sequence_of_scipy() -> None:
    assert MOST_DIMENSIONS == qmc.Sobol.MAXDIM
    mine, its = (make(3, rng=np.random.default_rng(7)) for make in (sobol_sequence, qmc.Sobol))
    np.testing.assert_array_equal(mine.random(8), its.random(8))


def test_even_uniforms_go_on_and_stay_inside() -> None:
    draw = even_uniforms(3, np.random.default_rng(7))
    found = np.concatenate([draw(4), draw(4)])
    np.testing.assert_array_equal(found, sobol_sequence(3, np.random.default_rng(7)).random(8))
    assert even_uniforms(MOST_DIMENSIONS + 1, _Corner())(1).min() == 2.0**-31
    assert even_uniforms(0, np.random.default_rng(7))(5).shape == (5, 0)


class _Corner(np.random.Generator):
    def __init__(self) -> None:
        super().__init__(np.random.PCG64())

    def random(self, shape: tuple[int, int]) -> np.ndarray:  # type: ignore[override]
        return np.zeros(shape)
