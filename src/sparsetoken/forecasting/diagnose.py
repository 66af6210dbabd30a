"""Advice on which classifier suits labelled bags."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sparsetoken.forecasting.crossvalidation import HeldOut, held_out_errors
from sparsetoken.forecasting.diagnosis import Diagnosis
from sparsetoken.forecasting.forecast import assembled, check_sizes
from sparsetoken.forecasting.gaussianity import TokenCheck, check_tokens
from sparsetoken.forecasting.inputs import Labelled, read_labelled
from sparsetoken.forecasting.law import bag_law
from sparsetoken.forecasting.posterior import fit_posterior
from sparsetoken.forecasting.results import CLASSIFIERS, Forecast
from sparsetoken.forecasting.scales import Scales, sample_of_tokens

_CLEAR = 0.02  # by which a forecast must favour the other model to overrule what was measured
_REFUSED = 2.0  # standard errors by which refused attention must be better to be told of
_WORTH_LABELS = 0.01  # a fall of the error from n to 4n bags below this counts for nothing


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

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(80) % 2
    >>> bags = rng.standard_normal((80, 6, 5))
    >>> bags[labels == 1, 0] += 2  # one token of six
    >>> diagnose(bags, labels).recommended
    'attention'
    """
    data = read_labelled(bags, y)
    rng = check_random_state(random_state)
    tokens = _tokens(data, rng)
    held_out = held_out_errors(data, rng, progress)
    found = assembled(
        data,
        check_sizes(None, len(data.bags)),
        held_out,
        fit_posterior(bag_law(data), held_out),
    )
    gains = held_out.shares["pooled"][-1] - held_out.shares["attention"][-1]
    gain, error = float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains)))
    measured = "attention" if gain > error else "pooled"
    recommended = _recommended(measured, found)
    agreed = found if found.status.converged else None
    sizes = data.bags.sizes
    return Diagnosis(
        n=len(data.bags),
        n_positive=int(data.positive.sum()),
        positive_class=data.classes[1],
        length=max(1, round(float(np.median(sizes)))),
        smallest=int(sizes.min()),
        largest=int(sizes.max()),
        dimension=data.bags.dimension,
        measured=measured,
        gain=gain,
        gain_error=error,
        recommended=recommended,
        forecast=agreed,
        tokens=tokens,
        advice=(
            _of_model(measured, recommended, found),
            *_of_refused(held_out),
            *([_of_labels(agreed, recommended)] if agreed else []),
            *found.advice,
            *_of_tokens(tokens),
        ),
    )


def _tokens(data: Labelled, rng: np.random.RandomState) -> TokenCheck:
    generator = np.random.default_rng(rng.randint(2**31 - 1))
    noise = sample_of_tokens(data, Scales.of(data), generator)
    return check_tokens(noise, data.bags.sizes)


def _recommended(measured: str, found: Forecast) -> str:
    """Return the measured model, or the other one where more data will clearly change it."""
    if not found.status.converged:
        return measured
    other = "pooled" if measured == "attention" else "attention"
    last = {model: points[-1].error for model, points in found.curves.items()}
    return other if last[other] < last[measured] - _CLEAR else measured


def _of_model(measured: str, recommended: str, found: Forecast) -> str:
    errors = ", ".join(
        f"{model} {one.error:.3f} ± {one.standard_error:.3f}"
        for model, one in found.measured.items()
    )
    text = f"Use {CLASSIFIERS[recommended]}. Cross-validated test errors are {errors}."
    if recommended != measured:
        text += (
            f" On these bags alone {measured} does as well; the forecast for "
            f"{found.sizes[-1]} bags decides."
        )
    return text


def _of_refused(held_out: HeldOut) -> list[str]:
    """Return the advice to use attention alone, where that is better."""
    last = {model: shares[-1] for model, shares in held_out.shares.items()}
    gains = last["attention"] - last["attending"]
    gain, error = float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains)))
    if gain <= max(_CLEAR, _REFUSED * error):
        return []
    return [
        f"Attention alone has test error {last['attending'].mean():.3f} instead of "
        f"{last['attention'].mean():.3f} in cross-validation: on these bags "
        "AttentionClassifier(temperature=4.0) may do better than BagClassifier."
    ]


def _of_labels(found: Forecast, model: str) -> str:
    now, later = found.curves[model][0], found.curves[model][-1]
    text = (
        f"With {later.n} bags its forecast error is {later.error:.3f} "
        f"({later.low:.3f} to {later.high:.3f}), forecast now {now.error:.3f}."
    )
    small = now.error - later.error < _WORTH_LABELS
    return f"{text} More labels would hardly help." if small else text


def _of_tokens(tokens: TokenCheck) -> list[str]:
    """Return how the tokens differ from the model of the curves."""
    return [f"Tokens: {'; '.join(tokens.departures)}."] if tokens.departures else []
