"""Forecasts of learning curves from a pilot of labelled bags."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.special import expit, logit
from scipy.stats import beta, norm

from sparsetoken.base.validation import InvalidInput, integer
from sparsetoken.estimators import TokenNormalScores
from sparsetoken.estimators.inputs import first_look
from sparsetoken.forecasting.crossvalidation import as_seed
from sparsetoken.forecasting.inputs import BagLaw, Labelled, bag_law, read_labelled
from sparsetoken.forecasting.pilot import MODELS, HeldOut, held_out_errors
from sparsetoken.forecasting.posterior import Posterior, fit_posterior
from sparsetoken.forecasting.results import Forecast, ForecastPoint, Measured
from sparsetoken.forecasting.scores import Interval
from sparsetoken.results import CONVERGED, Status, StatusCode

_TESTED = 4  # times the pilot: forecasts were compared with measurements up to there
_MULTIPLES = (1, 2, 4)
_LARGEST = 10**9  # bags
_BEYOND_NOISE = 0.005  # chance to either side of a measurement from which a curve disagrees
_TAIL = 0.05


def forecast(
    bags: Any,
    y: Any,
    sizes: Iterable[int] | None = None,
    *,
    groups: Any = None,
    random_state: Any = 0,
    progress: bool = True,
) -> Forecast:
    """Forecast test errors and AUCs of `BagClassifier` and two of its members with more bags.

    The classifiers are `BagClassifier` with its default parameters, called ``bag``, its member with
    attention alone, ``attention``, and that with mean pooling, ``pooled``. They are fitted to four
    fifths of the pilot and tested on the rest, in the folds of `cross_validated` with the same
    seed; mean pooling, which takes little time, also to a half and two thirds.
    Measured are errors, and areas under the ROC curves of bags held out together, which depend on
    the same separation of the classes with different noise (that of `BagClassifier` informs
    forecasts of AUCs alone). The forecast follows curves of the
    sparse-token model, weighted by their agreement with the measurements. What they miss is
    unknown, and has a level and a slope that the measurements inform: what curves miss at the
    pilot, beyond the noise of its bags, they are taken to miss later. There are curves for
    attention alone and for mean pooling: that of `BagClassifier` is of their average, with the
    weight of attention at its expected gain. The unknowns are the separation of the classes, the
    effective dimension, the number of informative tokens and the fraction of unexplained labels. A
    further measurement informs them: the excess variance of the tokens of a positive bag along the
    readout of the mean token, which distinguishes sparse signals from dense ones. Bag effects, bag
    lengths and the class rate are those of the pilot. Both classes share one covariance: if mean
    tokens vary more in one of them, the fitted separation and dimension compensate.

    A forecast is the median of the errors that agree with the pilot, its interval holds nine tenths
    of them, and that of the cross-validated error by itself, moved as the curve moves. Where the
    curves contradict a cross-validated error, the status is ``disagrees``, and the latter does not
    move.

    The forecast from a small pilot depends on its bags. If it shows neither a gain of attention nor
    an excess variance, only the prior determines whether more bags will.

    Parameters
    ----------
    bags : any form of bags
        See `sparsetoken.bags.as_bags`.
    y : array of shape (n,)
        Labels of two classes, at least 10 bags of each.
    sizes : ints, optional
        Numbers of labelled bags, n or more; by default n, 2n and 4n. More than 4n was not
        compared with measurements.
    groups : array of shape (n,), optional
        Of which patient, author or place each bag is, at least 10 with bags of each class. Errors
        are those of bags of new groups, and more bags are of more groups, each with as many.
        By default bags are taken as independent of one another.
    random_state : int, RandomState or None
        Of folds and fits; an int gives those of ``sparsetoken bags fit --seed``.
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Returns
    -------
    Forecast
        ``print`` shows it as text, ``plot()`` draws it.

    Warns
    -----
    LeakWarning, PaddingWarning
        As `BagClassifier.fit`, of all bags.

    Raises
    ------
    InvalidInput
        If a size is no whole number or below the pilot, there are not exactly two classes, a
        class has fewer than 10 bags or groups, or tokens are too large or all equal.
    ValueError
        If tokens are not finite, a bag is empty, or lengths do not match.

    See Also
    --------
    BagClassifier : The classifier to begin with.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(80) % 2
    >>> bags = rng.standard_normal((80, 6, 5))
    >>> bags[labels == 1, 0] += 2  # one token of six
    >>> found = forecast(bags, labels, sizes=[80, 320])
    >>> found.recommended
    'bag'
    >>> [point.n for point in found.curves["bag"]]
    [80, 320]
    """
    data, seed = read_labelled(bags, y, groups), as_seed(random_state)
    wanted, law = check_sizes(sizes, len(data.bags)), bag_law(data)
    with first_look(data.bags, data.positive, data.groups, progress=progress, stacklevel=4):
        held_out = held_out_errors(data, seed, progress)
    heavy = TokenNormalScores(random_state=seed).fit(data.bags).columns_
    share = len(heavy) / data.bags.dimension
    return assembled(data, law, share, wanted, held_out, fit_posterior(law, held_out))


def check_sizes(sizes: Iterable[int] | None, n: int) -> tuple[int, ...]:
    """Return different sizes in order, by default multiples of n, or raise `InvalidInput`."""
    if sizes is None:
        return tuple(multiple * n for multiple in _MULTIPLES)
    if isinstance(sizes, str) or not isinstance(sizes, Iterable):
        raise InvalidInput("sizes", "whole numbers of bags, as [200, 400]", sizes)
    values = list(sizes)
    if not values:
        raise InvalidInput("sizes", "one number of bags or more", values)
    remedy = (
        f"The pilot has {n} bags: below that, fit the classifiers to a part of it and test "
        "them on the rest (LearningCurveDisplay of scikit-learn does)."
    )
    enough = [integer("sizes", value, n, remedy=remedy) for value in values]
    return tuple(sorted({integer("sizes", value, n, _LARGEST) for value in enough}))


def assembled(
    data: Labelled,
    law: BagLaw,
    heavy_tails: float,
    sizes: tuple[int, ...],
    held_out: HeldOut,
    posterior: Posterior,
) -> Forecast:
    """Return the forecast at some sizes, with advice about it."""
    n, rate = len(data.bags), float(data.positive.mean())
    guess = min(rate, 1 - rate)
    last = {model: held_out.shares[model][-1] for model in MODELS}
    measured = {
        model: Measured(
            int(held_out.sizes[-1]),
            float(wrong.mean()),
            held_out.standard_error(wrong),
            *held_out.auc(model),
        )
        for model, wrong in last.items()
    }
    tested = {model: held_out.tested(model) for model in MODELS}
    status = _status(tested, measured, posterior)
    start = posterior.errors(float(held_out.sizes[-1]))
    at = {}
    for size in sizes:
        found = posterior.errors(size)
        learned = found if status.converged else start  # curves that are wrong carry nothing over
        at[size] = {
            model: _with_measured(
                one, tested[model], measured[model].error, learned[model].value, start[model].value
            )
            for model, one in found.items()
        }
    areas = _areas(sizes, held_out, fit_posterior(law, held_out.with_average), status)
    curves = {
        model: tuple(ForecastPoint(n, *at[n][model], *areas[n][model]) for n in sizes)
        for model in MODELS
    }
    return Forecast(
        n=n,
        n_groups=None if data.groups is None else len(np.unique(data.groups)),
        curves=curves,
        measured=measured,
        gain_error=held_out.gain_error,
        within_bag=law.between / (1 + law.between),
        heavy_tails=heavy_tails,
        informative=posterior.informative,
        guess=guess,
        status=status,
        advice=_advice(n, sizes, measured, guess, status),
    )


def _of_shares(n: float, error: float, tail: float) -> tuple[float, float]:
    """Return the interval of the error of n independent bags by itself, with Jeffreys' prior."""
    low, high = beta(n * error + 0.5, n * (1 - error) + 0.5).ppf([tail, 1 - tail]).tolist()
    return low, high


def _with_measured(one: Interval, n: float, error: float, later: float, start: float) -> Interval:
    """Return a forecast whose interval holds that of the measured error by itself.

    From there to the size of the forecast its log odds move as those of the curve do. The curves
    see errors and AUCs of several models, but all are of the same bags.
    """
    moved = logit(later) - logit(start)
    low, high = expit(logit(_of_shares(n, error, _TAIL)) + moved).tolist()
    return Interval(one.value, min(one.low, low), max(one.high, high))


def _areas(
    sizes: tuple[int, ...], held_out: HeldOut, posterior: Posterior, status: Status
) -> dict[int, dict[str, Interval]]:
    """Return forecasts of AUCs, whose intervals hold the measured ones by themselves.

    Those are normal in their log odds, of a standard error of at least one bag; they move as the
    curve does from there to the size of the forecast.
    """
    n, start = held_out.independent, posterior.aucs(float(held_out.sizes[-1]))
    half = float(norm.isf(_TAIL))
    found = {}
    for size in sizes:
        later = posterior.aucs(size)
        found[size] = later
        for model, one in later.items():
            area, error = held_out.auc(model)
            if not np.isfinite(area):
                continue
            known = (n * area + 0.5) / (n + 1)
            width = half * max(error / (known * (1 - known)), 1 / np.sqrt(n * known * (1 - known)))
            moved = logit(one.value) - logit(start[model].value) if status.converged else 0.0
            low, high = expit(logit(known) + moved + np.array([-width, width])).tolist()
            low, high = min(one.low, low), max(one.high, high)
            found[size] = {**found[size], model: Interval(one.value, low, high)}
    return found


def _status(
    tested: dict[str, float], measured: dict[str, Measured], posterior: Posterior
) -> Status:
    """Compare the curves with what was measured at the most training bags."""
    for model, one in measured.items():
        curve = posterior.errors(one.n)[model].value
        low, high = _of_shares(tested[model], one.error, _BEYOND_NOISE)
        if not low <= curve <= high:
            where = f"{model}: curve {curve:.3f}, cross-validated {one.error:.3f}"
            remedy = (
                f"The curves miss a cross-validated error beyond noise ({where}): trust the "
                "latter. The intervals hold both."
            )
            return Status(StatusCode.DISAGREES, remedy)
    return CONVERGED


def _advice(
    n: int,
    sizes: tuple[int, ...],
    measured: dict[str, Measured],
    guess: float,
    status: Status,
) -> tuple[str, ...]:
    advice = [] if status.converged else [status.remedy]
    best = min(measured.values(), key=lambda one: one.error)
    if best.error + best.standard_error >= guess:
        advice.append(
            "No classifier is better by a standard error than always answering with the larger "
            f"class ({guess:.3f}) yet. The forecast for more bags then relies on the prior."
        )
    if sizes[-1] > _TESTED * n:
        advice.append(
            f"Beyond {_TESTED * n} bags, four times the pilot, forecasts were never compared "
            "with measurements."
        )
    return tuple(advice)
