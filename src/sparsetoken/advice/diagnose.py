"""From bags and labels to advice."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from sparsetoken.advice import text
from sparsetoken.advice.curves import Forecast
from sparsetoken.advice.diagnosis import Diagnosis, Estimate
from sparsetoken.advice.gaussianity import TokenCheck, check_tokens
from sparsetoken.advice.inputs import Labelled, read_labelled
from sparsetoken.advice.plan import Plan, estimate, make_plan
from sparsetoken.advice.scales import Scales, effective_dimension, sample_of_tokens
from sparsetoken.advice.signal import Signal, bootstrap_weights, estimate_signal
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.validation import integer

__all__ = ["diagnose"]

_PREDICTED = (5, 20)  # the fewest and the most bootstrap samples whose errors are predicted
_STRONGEST = 30.0  # the largest theta that errors are predicted for
_LONGEST = 1500  # tokens in a bag for which errors are predicted: their time grows as L
_SEEN, _CLEAR = 2.0, 4.0  # standard errors from which a signal is seen, and is clear


def diagnose(
    bags: Any, y: Any, *, pos_label: Any = None, n_boot: int = 200, random_state: Any = 0
) -> Diagnosis:
    """Say what bags look like in the sparse-token model and which classifier suits them.

    Columns are scaled to noise of variance 1. The distance of the mean tokens of the two
    classes gives theta R / L; the variance that held-out tokens of positive bags have beyond
    that of others, along the direction between the means, tells theta and R apart. The
    theory (n, d -> infinity) then predicts the test errors of attention, with the best split
    and sharpness, of the pooled and of the vectorised model, each with the square loss and its
    best ridge. n/d is taken with the effective dimension. Whether the query turns away from the
    signal (`setting.sign_margin`, `cosine`, `away`) is judged with the logistic loss, the default
    of the classifiers: it may turn away where that of the square loss does not.

    It sees a signal only by the mean tokens of the classes: one strong token among very many
    may escape. Where bags are few, theta and R are uncertain though their product is not; the
    intervals show it. Nothing is predicted for bags of more than 1500 tokens (median).

    Parameters
    ----------
    bags : any form of bags
        See `sparsetoken.bags.as_bags`.
    y : array of shape (n,)
        Labels of two classes.
    pos_label : label, optional
        The class whose bags hold informative tokens; by default the second in order. The advice
        says so where the tokens of the other class vary more, as if it held them.
    n_boot : int
        Bootstrap samples of the bags, at least 20, for the intervals. A tenth of them, but 5
        to 20, also serve for what is predicted.
    random_state : int, Generator or None
        Of folds and bootstrap.

    Returns
    -------
    Diagnosis
        ``print`` shows it as text.

    Raises
    ------
    ValueError
        If tokens are not finite or too large to be squared, no column varies, a bag is empty,
        lengths do not match, there are not exactly two classes, `pos_label` is none of them, or
        a class has fewer than 10 bags.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(300) % 2
    >>> bags = rng.standard_normal((300, 10, 20))
    >>> bags[labels == 1, :2, 0] += 4  # two tokens of ten
    >>> found = diagnose(bags, labels, n_boot=50)
    >>> found.recommended, round(found.informative.value)
    ('attention', 2)
    """
    n_boot = integer("n_boot", n_boot, 20)
    data = read_labelled(bags, y, pos_label)
    rng = np.random.default_rng(random_state)
    measured = _measure(data, n_boot, rng)
    return _assembled(data, measured, _plan(data, measured))


@dataclasses.dataclass(frozen=True)
class _Measured:
    """What the bags show. `rate` has one value for each bootstrap sample after the first."""

    length: int
    dimension: float
    signal: Signal
    rate: Float[np.ndarray, " B"]
    noise: Estimate
    tokens: TokenCheck
    clarity: str


def _measure(data: Labelled, n_boot: int, rng: np.random.Generator) -> _Measured:
    scales = Scales.of(data)
    noise = sample_of_tokens(data, scales, rng)
    weights = bootstrap_weights(data.positive, n_boot, rng)
    length = max(1, round(float(np.median(data.bags.sizes))))
    signal = estimate_signal(data, scales, weights, length, rng)
    n, plus = len(data.positive), int(data.positive.sum())
    rates = np.clip(rng.binomial(n, plus / n, n_boot) / n, 1 / n, 1 - 1 / n)
    return _Measured(
        length=length,
        dimension=effective_dimension(noise.tokens),
        signal=signal,
        rate=np.append(plus / n, rates),
        noise=_noise(data, scales, weights),
        tokens=check_tokens(noise, data.bags.sizes),
        clarity=_clarity(signal),
    )


def _noise(data: Labelled, scales: Scales, weights: np.ndarray) -> Estimate:
    """Return the noise of a column, in the units of the data, and its bootstrap."""
    bags = data.bags[~data.positive]
    kept = np.isfinite(scales.scale)
    totals = np.empty(len(bags))
    for i, bag in enumerate(bags):
        totals[i] = np.square(bag[:, kept] - scales.mean[kept]).sum(dtype=np.float64)
    w = weights[:, ~data.positive]
    values = np.sqrt((w @ totals) / (w @ bags.sizes) / kept.sum())
    return estimate(values)


def _clarity(signal: Signal) -> str:
    if not signal.evidence >= _SEEN or not signal.strength[0] > 0:
        return "none"
    low, high = np.nanpercentile(signal.strength[1:], [5, 95])
    return "clear" if signal.evidence >= _CLEAR and high <= 3 * low else "weak"


def _other_class(measured: _Measured) -> bool:
    """Tell whether the tokens of the negative class vary more: nearly all samples agree."""
    return measured.clarity != "none" and np.nanpercentile(measured.signal.excess[1:], 95) < 0


def _forecast(data: Labelled, measured: _Measured, i: int) -> Forecast | None:
    """Return the forecast of bootstrap sample i (0: the bags themselves); None without signal."""
    signal, L = measured.signal, measured.length
    if not signal.strength[i] > 0:
        return None
    R = min(max(round(float(signal.share[i]) * L), 1), L)
    # The shift is known best: it stays as measured when R is rounded.
    strength = min(float(signal.shift[i]) * L / R, _STRONGEST)
    problem = SparseTokenProblem(L, R, strength, float(measured.rate[i]))
    return Forecast(problem, measured.dimension, data.bags.common_size is not None)


def _plan(data: Labelled, measured: _Measured) -> Plan:
    forecast = _forecast(data, measured, 0)
    if forecast is None or measured.clarity == "none":
        return Plan()
    if measured.length > _LONGEST:
        return Plan("attention", sentences=(text.of_long_bags(measured.length, _LONGEST),))
    n_boot = len(measured.rate) - 1
    count = int(np.clip(n_boot // 10, *_PREDICTED))
    samples = [_forecast(data, measured, i) for i in range(1, count + 1)]
    return make_plan(forecast, samples, len(data.positive))


def _assembled(data: Labelled, measured: _Measured, plan: Plan) -> Diagnosis:
    bags, signal, evidence = data.bags, measured.signal, measured.signal.evidence
    advice = (
        text.of_signal(measured.clarity, evidence),
        text.of_other_class(*data.classes[::-1].tolist()) if _other_class(measured) else "",
        *plan.sentences,
        text.of_tokens(measured.tokens),
    )
    return Diagnosis(
        n=len(bags),
        n_positive=int(data.positive.sum()),
        positive_class=data.classes[1],
        length=measured.length,
        smallest=int(bags.sizes.min()),
        largest=int(bags.sizes.max()),
        dimension=bags.dimension,
        effective_dimension=measured.dimension,
        strength=estimate(signal.strength),
        informative=estimate(np.clip(signal.share * measured.length, 1.0, None)),
        shift=estimate(signal.shift),
        positive_rate=estimate(measured.rate),
        noise=measured.noise,
        evidence=evidence,
        signal=measured.clarity,
        guess=float(min(measured.rate[0], 1 - measured.rate[0])),
        curves=plan.curves,
        recommended=plan.recommended,
        support=plan.support,
        setting=plan.setting,
        labels=plan.labels,
        tokens=measured.tokens,
        advice=tuple(sentence for sentence in advice if sentence),
    )
