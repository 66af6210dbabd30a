"""What `diagnose` returns: numbers, and the sentences that tell what they mean."""

from __future__ import annotations

import dataclasses
from typing import Any

from sparsetoken.advice.curves import Point
from sparsetoken.advice.gaussianity import TokenCheck

__all__ = ["Diagnosis", "Estimate", "MoreLabels", "Setting"]


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A value and the interval from the 5% to the 95% point of its bootstrap."""

    value: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class MoreLabels:
    """What more labelled bags would be worth to the recommended model.

    Attributes
    ----------
    error : Estimate
        Predicted test error at the bags at hand.
    double : Estimate
        At twice as many bags.
    fourfold : float
        At four times as many bags.
    infinite : float
        With infinite data.
    halfway : int or None
        Bags at which half of what can be gained is gained; None if more than 64 times those
        at hand.
    """

    error: Estimate
    double: Estimate
    fourfold: float
    infinite: float
    halfway: int | None


@dataclasses.dataclass(frozen=True)
class Setting:
    """How to train attention on these bags.

    Attributes
    ----------
    split : float
        Best share of the bags for the query, where bags serve either query or readout.
    sharpness : float
        Best standard deviation of the token scores within the softmax.
    cosine : Estimate
        Predicted cosine of the query of two gradient steps and the signal. This, `sign_margin`
        and `away` are for the logistic loss, the default of the classifiers; the cosine of a
        `Point` is for the square loss, and even its sign may differ.
    sign_margin : float
        The query turns towards the signal if it is > 0.
    away : float
        Share of the bootstrap samples in which the query turns away.
    """

    split: float
    sharpness: float
    cosine: Estimate
    sign_margin: float
    away: float


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """What bags look like in the sparse-token model, and which classifier suits them.

    Attributes
    ----------
    n, n_positive : int
        Bags, and positive ones.
    positive_class : object
        The label of the bags taken to hold informative tokens: `pos_label`, or the second in
        order.
    length : int
        Effective L, the median size of the bags.
    smallest, largest : int
        Sizes of the bags.
    dimension : int
        Columns of the tokens.
    effective_dimension : float
        Participation ratio of the token covariance.
    strength : Estimate
        theta, in units of the noise along the signal; 0 where no signal is seen.
    informative : Estimate
        R, tokens with signal in a positive bag of median size; nan where no signal is seen.
    shift : Estimate
        theta R / L, the distance of the mean tokens of the classes. It is known far better than
        theta and R apart.
    positive_rate : Estimate
        pi.
    noise : Estimate
        Root mean square over columns of the standard deviation of tokens in negative bags, in
        the units of the data.
    evidence : float
        Squared distance of the mean tokens of the classes, in its standard deviations where
        there is no signal (the statistic of Chen and Qin, 2010).
    signal : {"none", "weak", "clear"}
        none: evidence below 2; weak: below 4, or theta known no better than by a factor 3.
    guess : float
        Error of always answering with the larger class.
    curves : tuple of Point
        Predicted test errors at n/4 to 8n bags; empty where no signal is seen or bags are too
        long for predictions.
    recommended : {"attention", "pooled", "vectorized"}
        The model of least predicted error at n; pooled unless another gains 0.005. Without
        predictions: pooled where no signal is seen, attention where bags are long.
    support : float
        Share of the bootstrap samples in which this model is recommended; nan without
        predictions.
    setting : Setting or None
        None without predictions, or where bags have one token.
    labels : MoreLabels or None
        None without predictions.
    tokens : TokenCheck
    advice : tuple of str
        Sentences.
    """

    n: int
    n_positive: int
    positive_class: Any
    length: int
    smallest: int
    largest: int
    dimension: int
    effective_dimension: float
    strength: Estimate
    informative: Estimate
    shift: Estimate
    positive_rate: Estimate
    noise: Estimate
    evidence: float
    signal: str
    guess: float
    curves: tuple[Point, ...]
    recommended: str
    support: float
    setting: Setting | None
    labels: MoreLabels | None
    tokens: TokenCheck
    advice: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the values as dicts, lists, numbers and strings, such as JSON holds.

        Values that are not known are nan.
        """
        values = {f.name: _plain(getattr(self, f.name)) for f in dataclasses.fields(self)}
        values["tokens"]["verdict"] = self.tokens.verdict
        return {**values, "positive_class": str(self.positive_class)}

    def __str__(self) -> str:
        from sparsetoken.advice.text import as_text

        return as_text(self)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return value
