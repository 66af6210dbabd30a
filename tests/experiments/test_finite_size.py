"""Fits of c / d^p to differences built from a known c."""

import numpy as np
import pytest

from sparsetoken.experiments.finite_size import Shrinkage, _lesson, shrinkage
from sparsetoken.experiments.points import Point


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_the_law_that_made_the_points_has_the_smaller_misfit(power):
    points = []
    for d in (250.0, 500.0, 1000.0, 2000.0):
        points.append(Point("attention", "cosine", d, 0.8))
        value = 0.8 + 3.0 / d**power
        points.append(Point("attention", "cosine", d, value, 1e-4, "reduced", dimension=int(d)))
    right, wrong = (shrinkage(points, "cosine", p) for p in (power, 1.5 - power))
    assert right.coefficient == pytest.approx(3.0)
    assert right.misfit == pytest.approx(0, abs=1e-9)
    assert wrong.misfit > 1
    assert right.standard_error == pytest.approx(
        1e-4 / np.sqrt(sum(d ** (-2 * power) for d in (250, 500, 1000, 2000)))
    )


def _fits(c, misfits):
    powers = (1.0, 0.5)
    return [Shrinkage("cosine", p, c, 1.0, m) for p, m in zip(powers, misfits, strict=True)]


def test_the_text_names_the_law_that_the_fits_resolve():
    assert _lesson(*_fits(-5.0, (1.0, 9.0))) == "For the cosine c is not 0, and c/d fits better."
    assert "c/√d fits better" in _lesson(*_fits(5.0, (9.0, 1.0)))
    assert "misfit decides nothing" in _lesson(*_fits(1.9, (4.0, 2.0)))
