"""Advice as a whole: the model it recommends, what it says, what it withholds."""

import dataclasses
import json

import numpy as np
import pytest

from sparsetoken import diagnose
from sparsetoken.forecasting.diagnose import _recommended
from sparsetoken.forecasting.posterior import Interval
from sparsetoken.forecasting.results import Forecast, ForecastPoint, Measured
from sparsetoken.results import Status, StatusCode


def test_numbers_and_text_of_a_clear_signal(clear):
    assert (clear.n, clear.n_positive, clear.positive_class) == (80, 40, "with")
    assert (clear.length, clear.smallest, clear.largest, clear.dimension) == (8, 8, 8, 20)
    assert clear.measured == clear.recommended == "bag"
    assert clear.gain > clear.gain_error > 0
    values = json.loads(json.dumps(clear.to_dict()))
    assert values["recommended"] == "bag"
    assert [point["n"] for point in values["forecast"]["curves"]["pooled"]] == [80, 160, 320]
    shown = str(clear)
    for words in ("80 bags (40 of class with)", "forecast test errors", "Use BagClassifier"):
        assert words in shown


@pytest.mark.usefixtures("few_fits")
def test_pooling_where_all_tokens_carry_the_signal(draw):
    found = diagnose(*draw(4, 4, 1.0, 0.5, 10, 100, 1))
    assert found.measured == found.recommended == "pooled"
    assert "PooledLinearClassifier" in found.advice[0]


@pytest.mark.usefixtures("few_fits")
def test_a_signal_without_a_mean_shift_is_not_a_case_for_pooling():
    """Tokens of positive bags come in opposite pairs: the means of the classes agree."""
    rng = np.random.default_rng(0)
    y = np.arange(160) % 2
    bags = rng.standard_normal((160, 4, 3))
    bags[y == 1, 0, 0] += 6
    bags[y == 1, 1, 0] -= 6
    found = diagnose(bags, y)
    assert found.gain > 2 * found.gain_error
    assert found.measured == found.recommended == "bag"


def _forecast(pooled, bag, code=StatusCode.CONVERGED):
    def points(errors):
        return tuple(ForecastPoint(n, e, e, e) for n, e in zip((50, 200), errors, strict=True))

    return Forecast(
        n=50,
        curves={"pooled": points(pooled), "bag": points(bag)},
        measured={name: Measured(45, 0.3, 0.05) for name in ("pooled", "bag")},
        recommended="bag",
        informative=Interval(1.0, 1.0, 2.0),
        guess=0.5,
        status=Status(code),
    )


@pytest.mark.parametrize(
    ("measured", "pooled", "bag", "expected"),
    [
        ("pooled", (0.3, 0.2), (0.3, 0.1), "bag"),
        ("pooled", (0.3, 0.2), (0.3, 0.19), "pooled"),
        ("bag", (0.3, 0.1), (0.3, 0.2), "pooled"),
        ("bag", (0.3, 0.2), (0.25, 0.2), "bag"),
    ],
)
def test_the_measured_model_unless_more_data_will_change_it(measured, pooled, bag, expected):
    assert _recommended(measured, _forecast(pooled, bag)) == expected
    disagrees = _forecast(pooled, bag, StatusCode.DISAGREES)
    assert _recommended(measured, disagrees) == measured


def test_a_forecast_that_is_withheld_leaves_the_measured_numbers(clear):
    found = dataclasses.replace(clear, forecast=None)
    assert "forecast test errors" not in str(found)
    assert found.to_dict()["forecast"] is None


@pytest.mark.usefixtures("two_fits")
def test_any_units_that_can_be_squared(draw):
    bags, y = draw(4, 1, 3.0, 0.5, 6, 40, 3)
    plain, scaled = diagnose(bags, y), diagnose((1e6 * bags).astype(np.float32), y)
    assert scaled.gain == pytest.approx(plain.gain, abs=0.03)  # rounding may move one bag
    assert scaled.tokens.kurtosis == pytest.approx(plain.tokens.kurtosis, abs=1e-3)


@pytest.mark.usefixtures("few_fits")
def test_bags_of_one_token(draw):
    bags, y = draw(1, 1, 3.0, 0.5, 10, 60, 7)
    found = diagnose(bags[:, 0], y)
    assert found.recommended == "pooled"
    assert found.gain == 0
