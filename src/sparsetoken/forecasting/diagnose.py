"""Which classifier suits labelled bags: a forecast, and four numbers of the bags."""

from __future__ import annotations

import dataclasses
from typing import Any

from sparsetoken.base.tables import Shown
from sparsetoken.estimators import TokenNormalScores
from sparsetoken.forecasting.inputs import bag_law, read_labelled
from sparsetoken.forecasting.learning_curves import as_seed, check_sizes, measured_forecast
from sparsetoken.forecasting.results import CLASSIFIERS, Forecast


@dataclasses.dataclass(frozen=True, repr=False)
class Diagnosis(Shown):
    """The recommended classifier for some bags, and the gain from more labels.

    Attributes
    ----------
    gain : float
        The cross-validated error of mean pooling less that of `BagClassifier`.
    gain_error : float
        Its standard error over bags.
    within_bag : float
        Share of the variance of the tokens that those of a bag have in common, in [0, 1): their
        intra-bag correlation.
    heavy_tails : float
        Share of the columns with heavy tails, to whose normal scores `BagClassifier` fits members.
    forecast : Forecast
        At n, 2n and 4n bags.

    See Also
    --------
    sparsetoken.diagnose : The function that returns it.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsetoken as st
    >>> labels, rng = np.arange(80) % 2, np.random.default_rng(0)
    >>> bags = rng.standard_normal((80, 6, 4))
    >>> bags[labels == 1, 0] += 2  # one token of six
    >>> found = st.diagnose(bags, labels)
    >>> found.recommended, found.gain > found.gain_error, found.heavy_tails
    ('bag', True, 0.0)
    """

    gain: float
    gain_error: float
    within_bag: float
    heavy_tails: float
    forecast: Forecast

    @property
    def recommended(self) -> str:
        """The recommended model for these bags: see `Forecast.better`."""
        return self.forecast.better(self.forecast.n)

    def to_dict(self) -> dict[str, Any]:
        """Return the values as dicts, lists, numbers and strings, such as JSON holds."""
        numbers = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        more = {"recommended": self.recommended, "forecast": self.forecast.to_dict()}
        return {"n": self.forecast.n, **numbers, **more}

    def _shown(self) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
        rows, lines = self.forecast._shown()
        sentences = (
            f"The cross-validated error of mean pooling is {self.gain:.3f} ± "
            f"{self.gain_error:.3f} above that of BagClassifier. For these {self.forecast.n} bags "
            f"use {CLASSIFIERS[self.recommended]}, of the two that of less forecast error.",
            f"The tokens of a bag share {self.within_bag:.0%} of their variance; "
            f"{self.heavy_tails:.0%} of the columns have heavy tails.",
        )
        return rows, (*lines, *sentences)


def diagnose(
    bags: Any, y: Any, *, groups: Any = None, random_state: Any = 0, progress: bool = True
) -> Diagnosis:
    """Recommend a classifier for bags, and estimate the gain from more labels.

    The recommended classifier is that of less forecast error, `BagClassifier` or mean pooling.

    Parameters
    ----------
    bags : any form of bags
        See `sparsetoken.bags.as_bags`.
    y : array of shape (n,)
        Labels of two classes, at least 10 bags of each.
    groups : array of shape (n,), optional
        As for `forecast`.
    random_state : int, RandomState or None
        Of folds and fits.
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Returns
    -------
    Diagnosis
        ``print`` shows it as text.

    Raises
    ------
    ValueError
        If tokens are not finite or too large to be squared, all are equal, a bag is empty, lengths
        do not match, there are not exactly two classes, or a class has fewer than 10 bags or
        groups.

    See Also
    --------
    forecast : Test errors with more labels.
    BagClassifier : The classifier to begin with.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(80) % 2
    >>> bags = rng.standard_normal((80, 6, 5))
    >>> bags[labels == 1, 0] += 2  # one token of six
    >>> diagnose(bags, labels).recommended
    'bag'
    """
    data, seed = read_labelled(bags, y, groups), as_seed(random_state)
    law, sizes = bag_law(data), check_sizes(None, len(data.bags))
    forecast = measured_forecast(data, law, sizes, seed, progress)
    errors = {model: one.error for model, one in forecast.measured.items()}
    heavy = TokenNormalScores(random_state=seed).fit(data.bags).columns_
    return Diagnosis(
        gain=errors["pooled"] - errors["bag"],
        gain_error=forecast.gain_error,
        within_bag=law.between / (1 + law.between),
        heavy_tails=len(heavy) / data.bags.dimension,
        forecast=forecast,
    )
