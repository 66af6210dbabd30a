"""The rows of the experiment. In all, alpha1 is inf for the limit of infinite data."""

from __future__ import annotations

import dataclasses

from sparsetoken.experiments.rows import Measured, Predicted


@dataclasses.dataclass(frozen=True)
class AtCosine:
    """The predicted test error of attention at a cosine of the query."""

    length: int
    alpha1: float
    cosine: float
    test_error: Predicted


@dataclasses.dataclass(frozen=True)
class Pooled:
    """The predicted test error of the pooled model."""

    length: int
    alpha1: float
    test_error: Predicted


@dataclasses.dataclass(frozen=True)
class Crossing:
    """Where attention and the pooled model have the same predicted test error.

    Attributes
    ----------
    length : int
    alpha1 : float
    cosine : Predicted
        The critical cosine.
    pooled, attention : Predicted
        Both test errors there, that of attention predicted anew.
    """

    length: int
    alpha1: float
    cosine: Predicted
    pooled: Predicted
    attention: Predicted


@dataclasses.dataclass(frozen=True)
class Trials:
    """The measured test error of a model, of attention at a cosine of the query.

    The cosine of the pooled model is 0: it has no query.
    """

    model: str
    alpha1: float
    cosine: float
    test_error: Measured


@dataclasses.dataclass(frozen=True)
class Abundant:
    """A measured test error at an alpha1 so large that a line in 1/alpha1 leads to the limit.

    The cosine of the pooled model is 0.
    """

    model: str
    length: int
    alpha1: float
    cosine: float
    test_error: Measured
