"""Advice on which classifier suits labelled bags: numbers, and sentences that explain them."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Any

import numpy as np

from sparsetoken.forecasting.inputs import read_labelled
from sparsetoken.forecasting.learning_curves import as_seed, check_sizes, measured_forecast
from sparsetoken.forecasting.results import CLASSIFIERS, Forecast
from sparsetoken.forecasting.tokens import Scales, TokenCheck, check_tokens, sample_of_tokens

_CLEAR = 0.02  # by which a forecast must favour the other model to overrule what was measured
_LEAST_FALL = 0.01  # a fall of the error from n to 4n bags below this counts for nothing


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """The recommended classifier for some bags, and the gain from more labels.

    Attributes
    ----------
    n, n_positive : int
        Bags, and those of the second class in order.
    positive_class : object
        Its label.
    length, smallest, largest : int
        Sizes of the bags: the median, the least and the largest.
    dimension : int
        Columns of the tokens.
    measured : {"bag", "pooled"}
        The model of less cross-validated error on these bags.
    gain : float
        The cross-validated error of mean pooling less that of `BagClassifier`.
    gain_error : float
        Its standard error over bags.
    recommended : {"bag", "pooled"}
        The measured one, unless the forecast says that at four times the bags the other one
        errs clearly less often.
    forecast : Forecast or None
        At n, 2n and 4n bags; None where its curves disagree with cross-validation.
    tokens : TokenCheck
        How far the tokens are from independent normals.
    advice : tuple of str
        Sentences.

    See Also
    --------
    sparsetoken.diagnose : The function that returns it.
    TokenCheck : How far the tokens are from independent normals.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsetoken as st
    >>> labels, rng = np.arange(80) % 2, np.random.default_rng(0)
    >>> bags = rng.standard_normal((80, 6, 4))
    >>> bags[labels == 1, 0] += 2  # one token of six
    >>> found = st.diagnose(bags, labels)
    >>> found.measured, found.gain > 0, found.tokens.fit
    ('bag', True, 'close')
    """

    n: int
    n_positive: int
    positive_class: Any
    length: int
    smallest: int
    largest: int
    dimension: int
    measured: str
    gain: float
    gain_error: float
    recommended: str
    forecast: Forecast | None
    tokens: TokenCheck
    advice: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the values as dicts, lists, numbers and strings, such as JSON holds."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        tokens = {**dataclasses.asdict(self.tokens), "verdict": self.tokens.verdict}
        tokens["departures"] = list(self.tokens.departures)
        return {
            **values,
            "positive_class": str(self.positive_class),
            "forecast": None if self.forecast is None else self.forecast.to_dict(),
            "tokens": tokens,
            "advice": list(self.advice),
        }

    def __str__(self) -> str:
        sizes = f"{self.smallest} to {self.largest}, median {self.length}"
        lines = [
            f"{self.n} bags ({self.n_positive} of class {self.positive_class}) of {sizes} tokens; "
            f"{self.dimension} columns",
            "",
        ]
        if self.forecast is not None:
            lines += [*str(dataclasses.replace(self.forecast, advice=())).split("\n")[:-1], ""]
        for sentence in self.advice:
            lines += textwrap.wrap(sentence, 88, initial_indent="- ", subsequent_indent="  ")
        return "\n".join(lines)


def diagnose(bags: Any, y: Any, *, random_state: Any = 0, progress: bool = True) -> Diagnosis:
    """Recommend a classifier for bags, and estimate the gain from more labels.

    The recommended classifier is the one of less cross-validated error, mean pooling where the
    two are within a standard error of one another, unless `forecast` expects the other one to
    be clearly better at four times the bags. Forecast errors that disagree with cross-validation
    beyond noise are withheld.

    Parameters
    ----------
    bags : any form of bags
        See `sparsetoken.bags.as_bags`.
    y : array of shape (n,)
        Labels of two classes, at least 10 bags of each.
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
        If tokens are not finite or too large to be squared, no column varies, a bag is empty,
        lengths do not match, there are not exactly two classes, or a class has fewer than 10
        bags.

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
    data = read_labelled(bags, y)
    seed = as_seed(random_state)
    noise = sample_of_tokens(data, Scales.of(data), np.random.default_rng(seed))
    tokens = check_tokens(noise, data.bags.sizes)
    sizes = check_sizes(None, len(data.bags))
    held_out, forecast = measured_forecast(data, sizes, seed, progress)
    gain, error = held_out.gain("bag", "pooled")
    measured = "bag" if gain > error else "pooled"
    recommended = _recommended(measured, forecast)
    agreed = forecast if forecast.status.converged else None
    tokens_of = data.bags.sizes
    return Diagnosis(
        n=len(data.bags),
        n_positive=int(data.positive.sum()),
        positive_class=data.classes[1],
        length=max(1, round(float(np.median(tokens_of)))),
        smallest=int(tokens_of.min()),
        largest=int(tokens_of.max()),
        dimension=data.bags.dimension,
        measured=measured,
        gain=gain,
        gain_error=error,
        recommended=recommended,
        forecast=agreed,
        tokens=tokens,
        advice=(
            _of_model(measured, recommended, forecast),
            *([_of_labels(agreed, recommended)] if agreed else []),
            *forecast.advice,
            *([f"Tokens: {'; '.join(tokens.departures)}."] if tokens.departures else []),
        ),
    )


def _recommended(measured: str, forecast: Forecast) -> str:
    """Return the measured model, or the other one where more data will clearly change it."""
    if not forecast.status.converged:
        return measured
    other = "pooled" if measured == "bag" else "bag"
    last = {model: points[-1].error for model, points in forecast.curves.items()}
    return other if last[other] < last[measured] - _CLEAR else measured


def _of_model(measured: str, recommended: str, forecast: Forecast) -> str:
    errors = ", ".join(
        f"{model} {one.error:.3f} ± {one.standard_error:.3f}"
        for model, one in forecast.measured.items()
    )
    text = f"Use {CLASSIFIERS[recommended]}. Cross-validated test errors are {errors}."
    if recommended != measured:
        text += (
            f" On these bags alone {measured} does as well; the forecast for "
            f"{forecast.sizes[-1]} bags decides."
        )
    return text


def _of_labels(forecast: Forecast, model: str) -> str:
    now, later = forecast.curves[model][0], forecast.curves[model][-1]
    text = (
        f"With {later.n} bags its forecast error is {later.error:.3f} "
        f"({later.low:.3f} to {later.high:.3f}), forecast now {now.error:.3f}."
    )
    small = now.error - later.error < _LEAST_FALL
    return f"{text} More labels would hardly help." if small else text
