"""The rows of the experiment.

In all, the curve is a name in `sparsetoken.theory.oracle.strength.CURVES`, or attention_tuned:
attention with the sharpness sqrt(2 log L).
"""

from __future__ import annotations

import dataclasses

from sparsetoken.experiments.rows import Measured, Predicted


@dataclasses.dataclass(frozen=True)
class Critical:
    """The strength at which the best weights reach the error level."""

    curve: str
    length: int
    informative: int
    strength: Predicted


@dataclasses.dataclass(frozen=True)
class AtCritical:
    """The test error of the best test at the critical strength, predicted and measured."""

    curve: str
    length: int
    strength: float
    predicted: Predicted
    measured: Measured


@dataclasses.dataclass(frozen=True)
class BestError:
    """The least test error over the weights, for one informative token."""

    curve: str
    length: int
    strength: float
    test_error: Predicted


@dataclasses.dataclass(frozen=True)
class FreshSamples:
    """The predicted and the measured test error of the predicted best test."""

    curve: str
    length: int
    informative: int
    strength: float
    predicted: Predicted
    measured: Measured
