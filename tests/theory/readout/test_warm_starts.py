"""Guesses from solved neighbours, where the solutions are known functions."""

import math

import numpy as np
import pytest

from sparsetoken.theory.readout.equations import Load
from sparsetoken.theory.readout.warm_starts import SolvedLoads


def smooth(load):
    t = math.log(load.samples) + 0.3 * math.log(load.ridge)
    return np.array([math.sin(t), 1 + 0.1 * t, t**2, math.exp(t), math.exp(-0.5 * t)])


def known(loads):
    solved = SolvedLoads(3)
    for load in loads:
        solved.add(load, smooth(load))
    return solved


def test_nothing_is_known_at_first():
    assert SolvedLoads(3).guess(Load(1.0, 0.1)) is None


def test_a_solved_load_is_its_own_guess():
    load = Load(2.0, 0.1)
    guess = known([Load(1.0, 0.1), load]).guess(load)
    assert guess.distance == 0
    np.testing.assert_allclose(guess.x, smooth(load), rtol=1e-15)


@pytest.mark.parametrize("axis", ["samples", "ridge"])
def test_polynomials_along_an_axis(axis):
    values = np.exp(0.1 * np.arange(9))
    loads = [Load(1.0, 0.1)._replace(**{axis: float(v)}) for v in values]
    guess = known(loads[:-1]).guess(loads[-1])
    # six neighbours: 0.1^6 times sixth derivatives of order one, twice as far as the nearest
    assert np.abs(guess.x - smooth(loads[-1])).max() < 1e-5
    assert guess.distance < 1e-4


def test_infinite_data_is_followed_along_the_ridge():
    solved = SolvedLoads(3)
    for ridge in (0.1, 0.2):
        solved.add(Load(math.inf, ridge), np.array([ridge, 1.0, 2.0, 0.0, 1.0]))
    guess = solved.guess(Load(math.inf, 0.3))
    assert guess.x[3:].tolist() == [0.0, 1.0]
