"""The result of `diagnose`: numbers, and sentences that explain them."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Any

from sparsetoken.forecasting.gaussianity import TokenCheck
from sparsetoken.forecasting.results import Forecast


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
    measured : {"attention", "pooled"}
        The model of less cross-validated error on these bags.
    gain : float
        The cross-validated error of the pooled model less that of attention.
    gain_error : float
        Its standard error over bags.
    recommended : {"attention", "pooled"}
        The measured one, unless the forecast says that at four times the bags the other one
        errs clearly less often.
    forecast : Forecast or None
        At n, 2n and 4n bags; None where its curves disagree with cross-validation.
    tokens : TokenCheck
        How far the tokens are from independent normals.
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
