"""The rows of the experiment."""

from __future__ import annotations

import dataclasses

from sparsetoken.experiments.rows import Measured, Predicted


@dataclasses.dataclass(frozen=True)
class Levels:
    """Predicted test errors with the same samples.

    Attributes
    ----------
    alpha : float
        n/d of all samples.
    pooled : Predicted
        Of mean pooling with all samples.
    split : Predicted
        Of the four stages with the best split.
    floor, bayes : Predicted
        Of the best learner, and of the best test that knows the signal.
    """

    alpha: float
    pooled: Predicted
    split: Predicted
    floor: Predicted
    bayes: Predicted


@dataclasses.dataclass(frozen=True)
class Schedule:
    """The best descent of one family, by theory.

    Attributes
    ----------
    alpha : float
    family : str
    numbers : str
        What was chosen, for readers.
    evaluations : int
    predicted : Predicted
    """

    alpha: float
    family: str
    numbers: str
    evaluations: int
    predicted: Predicted


@dataclasses.dataclass(frozen=True)
class Searched:
    """The best training of a search over the theory, and what it is worth with real tokens.

    Attributes
    ----------
    alpha : float
    training : str
        Of the four stages, or of one descent with the schedules of a family.
    numbers : str
        What was chosen, for readers.
    predicted : Predicted
    measured : Measured
    """

    alpha: float
    training: str
    numbers: str
    predicted: Predicted
    measured: Measured


@dataclasses.dataclass(frozen=True)
class MessagesPassed:
    """What approximate message passing measures with real tokens.

    Attributes
    ----------
    alpha : float
    test_error : Measured
    """

    alpha: float
    test_error: Measured
