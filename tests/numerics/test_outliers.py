"""Outlying trials: one or several wrong ones are found, and right ones seldom."""

import math

import numpy as np
import pytest

from sparsetoken.numerics.outliers import outliers

# Of the NIST handbook of statistics, 1.3.5.17.3, after Rosner.
ROSNER = [
    *(-0.25, 0.68, 0.94, 1.15, 1.20, 1.26, 1.26, 1.34, 1.38, 1.43, 1.49, 1.49, 1.55, 1.56),
    *(1.58, 1.65, 1.69, 1.70, 1.76, 1.77, 1.81, 1.91, 1.94, 1.96, 1.99, 2.06, 2.09, 2.10),
    *(2.14, 2.15, 2.23, 2.24, 2.26, 2.35, 2.37, 2.40, 2.47, 2.54, 2.62, 2.64, 2.90, 2.92),
    *(2.92, 2.93, 3.21, 3.26, 3.30, 3.59, 3.68, 4.30, 4.64, 5.34, 5.42, 6.01),
]


def test_the_published_example_has_three():
    """Grubbs' test alone finds none: they hide one another."""
    assert outliers(ROSNER, level=0.05) == [53, 52, 51]


def _trials(n, seed=0):
    return np.random.default_rng([seed, n]).normal(0.2, 0.01, n)


# Fewer trials know their spread too badly to tell 10 standard deviations, at 0.3 and 0.1.
WRONG = [(n, wrong) for n in (20, 50, 400) for wrong in (60.0, 0.0, 0.3, 0.1)]


@pytest.mark.parametrize(("n", "wrong"), [(8, 60.0), (12, 60.0), (12, 0.0), *WRONG])
def test_wrong_trials_are_found_alone_and_together(n, wrong):
    for count in {1, 2, n // 10} - {0}:
        x = _trials(n)
        assert outliers(x) == []
        x[:count] = wrong
        assert sorted(outliers(x)) == list(range(count))


LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "errors of 200 samples": lambda rng, n: rng.binomial(200, 0.1, n) / 200,
    "few errors": lambda rng, n: rng.binomial(400, 0.003, n) / 400,
    "hardly any error": lambda rng, n: rng.binomial(400, 3e-4, n) / 400,
    "near 1": lambda rng, n: 1 - rng.binomial(400, 0.003, n) / 400,
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("n", "draws"),
    [(20, 1500), pytest.param(50, 700, marks=pytest.mark.slow), (400, 80)],
)
def test_right_trials_are_flagged_at_the_level_at_most(law, n, draws):
    rng, level = np.random.default_rng(n), 0.02
    flagged = np.mean([bool(outliers(LAWS[law](rng, n), level)) for _ in range(draws)])
    error = math.sqrt(level / draws)
    # The generalized test is about exact; measured with 20 trials: 1.1 times the level.
    assert flagged < 1.1 * level + 3 * error
    if law == "normal" and n < 400:  # where what hardly widens the spread is no outlier
        assert flagged > 0.7 * level - 3 * error


def test_squares_are_flagged_seldom():
    """The test itself would flag a tenth of these, whose law has a heavy tail."""
    rng = np.random.default_rng(1)
    assert sum(bool(outliers(0.01 * rng.gamma(0.75, size=20))) for _ in range(500)) < 8


@pytest.mark.parametrize("step", [1 / 400, 1 / 25])
def test_one_count_among_none_is_right_and_a_half_is_wrong(step):
    assert outliers([0.0] * 19 + [step]) == []
    assert outliers([1.0] * 19 + [1 - step]) == []
    assert outliers([0.0] * 19 + [0.5]) == [19]
    assert outliers([1.0] * 19 + [0.5]) == [19]


def test_what_hardly_widens_the_spread_is_none():
    x = np.append(np.random.default_rng(2).normal(size=2000), 8.0)
    assert outliers(x) == []
    assert outliers(np.append(x, 60.0))[0] == 2001


@pytest.mark.parametrize(
    "values",
    [
        [],
        [0.1, 0.1, 60.0],
        [0.1, 0.2, 0.3, 0.2, math.nan],
        [0.1, 0.2, 0.3, 0.2, math.inf],
        [0.2] * 20,
        [0.2] * 19 + [0.2 + 1e-12],
        [1e-16] * 19 + [1e-13],
    ],
)
def test_few_equal_or_missing_values_have_none(values):
    assert outliers(values) == []
