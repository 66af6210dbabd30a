"""Products of standardised tokens with directions, near to the origin and far from it."""

from __future__ import annotations

import numpy as np
import pytest

from sparsetoken.bags import as_bags
from sparsetoken.estimators.fitting.standard_tokens import Projection, Standardization


@pytest.mark.parametrize("far", [0.5, 1000.0])
@pytest.mark.parametrize("standardize", [True, False])
def test_products_are_those_of_tokens_less_their_mean(far: float, standardize: bool) -> None:
    rng = np.random.default_rng(0)
    bags = as_bags(
        [rng.standard_normal((size, 3)).astype(np.float32) + np.float32(far) for size in (2, 5, 4)]
    )
    scaling = Standardization.of(bags, np.ones(3), standardize)
    projection = Projection(bags, scaling)
    assert projection.rest.any() == (far < 1)  # what is far is taken off before the product
    exact = bags.tokens.astype(float)
    z = (exact - projection.centre) / scaling.scale
    Q, weights = rng.standard_normal((3, 2)), rng.standard_normal((2, 11))
    # Products of numbers of order 1 in float32; roundings of 1000 would show in the third digit.
    near = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(projection.projected(Q), (z @ Q).T, **near)
    float32 = weights.astype(np.float32)
    np.testing.assert_allclose(projection.summed(float32), float32.astype(float) @ z, **near)


def test_squares_that_overflow_leave_products_exact() -> None:
    rng = np.random.default_rng(0)
    tokens = (1e25 + 1e22 * rng.standard_normal((8, 2))).astype(np.float32)
    bags = as_bags([tokens[:3], tokens[3:]])
    projection = Projection(bags, Standardization.of(bags, np.ones(2), True))
    assert not projection.rest.any()
    z = (bags.tokens.astype(float) - projection.centre) / projection.standardization.scale
    np.testing.assert_allclose(projection.projected(np.eye(2)), z.T, rtol=1e-5, atol=1e-5)
