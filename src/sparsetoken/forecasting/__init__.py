"""Forecasts of learning curves from a pilot of labelled bags, and advice on the classifier.

In the order in which a forecast uses them: `inputs`, `crossvalidation` (what the pilot shows of
the classifiers), `law` (what it shows of the tokens), `curves` (learning curves in closed form),
`posterior` (which of them agree with what was measured), `forecast`. `diagnose` stands on it.
"""

from sparsetoken.forecasting.diagnose import diagnose
from sparsetoken.forecasting.diagnosis import Diagnosis
from sparsetoken.forecasting.forecast import forecast
from sparsetoken.forecasting.gaussianity import TokenCheck
from sparsetoken.forecasting.results import Forecast, ForecastPoint, Measured

__all__ = [
    "Diagnosis",
    "Forecast",
    "ForecastPoint",
    "Measured",
    "TokenCheck",
    "diagnose",
    "forecast",
]
