"""Forecasts of learning curves from a pilot of labelled bags, and advice on the classifier.

In the order in which a forecast uses them: `inputs` (with what the pilot shows of its bags),
`scores` and `crossvalidation` (of any model), `pilot` (of the classifiers), `curves` (learning
curves in closed form), `posterior` (which of them agree with what was measured), `learning_curves`
(the forecast), `report` (all of it on a page).
"""

from sparsetoken.forecasting.crossvalidation import (
    CrossValidation,
    HeldOutPredictions,
    cross_validated,
)
from sparsetoken.forecasting.learning_curves import forecast
from sparsetoken.forecasting.report import bag_report
from sparsetoken.forecasting.results import Forecast, ForecastPoint, Measured

__all__ = [
    "CrossValidation",
    "Forecast",
    "ForecastPoint",
    "HeldOutPredictions",
    "Measured",
    "bag_report",
    "cross_validated",
    "forecast",
]
__dir__ = __all__.copy
