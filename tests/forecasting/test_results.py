"""Forecasts as a whole: the recommended model, the four numbers of the pilot, the text."""

import dataclasses

import numpy as np
import pytest

from sparsetoken import forecast
from sparsetoken.forecasting.posterior import Interval
from sparsetoken.forecasting.results import Forecast, ForecastPoint, Measured
from sparsetoken.results import CONVERGED


@pytest.mark.usefixtures("few_fits")
def test_pooling_where_all_tokens_carry_the_signal(draw):
    found = forecast(*draw(4, 4, 1.0, 0.5, 10, 100, 1), [100])
    assert found.recommended == "pooled"
    assert "use PooledClassifier" in str(found)


@pytest.mark.usefixtures("few_fits")
def test_a_signal_without_a_mean_shift_is_not_a_case_for_pooling():
    """Tokens of positive bags come in opposite pairs: the means of the classes agree."""
    rng = np.random.default_rng(0)
    y = np.arange(160) % 2
    bags = rng.standard_normal((160, 4, 3))
    bags[y == 1, 0, 0] += 6
    bags[y == 1, 1, 0] -= 6
    found = forecast(bags, y, [160])
    assert found.gain > 2 * found.gain_error
    assert found.recommended == "bag"


def test_the_model_of_less_forecast_error_is_recommended():
    """Attention is not, where BagClassifier has it as a member: the text says why."""

    def points(errors):
        return tuple(ForecastPoint(n, e, e, e) for n, e in zip((50, 100, 200), errors, strict=True))

    found = Forecast(
        n=50,
        curves={
            "bag": points((0.2, 0.19, 0.018)),
            "attention": points((0.2, 0.25, 0.016)),
            "pooled": points((0.2, 0.2, 0.05)),
        },
        measured={name: Measured(40, 0.3, 0.05) for name in ("pooled", "attention", "bag")},
        gain_error=0.06,
        within_bag=0.0,
        heavy_tails=0.0,
        informative=Interval(1.0, 1.0, 2.0),
        guess=0.5,
        status=CONVERGED,
    )
    assert [found.better(n) for n in found.sizes] == ["pooled", "bag", "bag"]
    assert found.recommended == "bag"
    assert found.to_dict()["recommended_at"] == {"50": "pooled", "100": "bag", "200": "bag"}
    assert "At 50 bags, use PooledClassifier." in str(found)
    assert "0.016 of bags, BagClassifier in 0.018; it is not recommended, because" in str(found)
    plain = dataclasses.replace(found, curves={**found.curves, "attention": points((0.3,) * 3)})
    assert "At 200 bags, use BagClassifier." in str(plain)
    assert "not recommended" not in str(plain)


@pytest.mark.usefixtures("two_fits")
def test_what_is_told_of_the_tokens_in_any_units_that_can_be_squared():
    """A third of the variance is of the bag, in a column of four are values of a heavy tail."""
    rng, y = np.random.default_rng(3), np.arange(60) % 2
    bags = rng.standard_normal((60, 8, 4)) + np.sqrt(0.5) * rng.standard_normal((60, 1, 4))
    bags[..., 3] **= 3
    plain, scaled = forecast(bags, y), forecast((1e6 * bags).astype(np.float32), y)
    # 60 bags of three columns that share a third of their variance, and one that does less
    assert plain.within_bag == pytest.approx(0.3, abs=0.1)
    assert plain.heavy_tails == scaled.heavy_tails == 0.25
    assert scaled.within_bag == pytest.approx(plain.within_bag, abs=1e-3)
    assert scaled.gain == pytest.approx(plain.gain, abs=0.03)  # rounding may move one bag


@pytest.mark.usefixtures("two_fits")
def test_bags_of_one_token(draw):
    bags, y = draw(1, 1, 3.0, 0.5, 10, 60, 7)
    found = forecast(bags[:, 0], y, [60])
    assert found.recommended == "pooled"
    assert found.within_bag == 0
    assert abs(found.gain) < 0.05  # trees may move a bag or two of 60
