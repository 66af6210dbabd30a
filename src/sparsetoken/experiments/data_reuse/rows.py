"""The rows of the experiment."""

from __future__ import annotations

import dataclasses

from sparsetoken.experiments.references import References
from sparsetoken.experiments.rows import Measured

__all__ = ["Theory", "Trained"]


@dataclasses.dataclass(frozen=True)
class Theory:
    """The theory with fresh data at a load n0/d = n1/d.

    Attributes
    ----------
    load : float
    references : References
    """

    load: float
    references: References


@dataclasses.dataclass(frozen=True)
class Trained:
    """One way of using the data, trained with real tokens.

    Attributes
    ----------
    load : float
    arm : str
        One of `sparsetoken.beyond.reuse.ARMS`.
    test_error, cosine : Measured
        The cosine is that of the query with the signal.
    excess : Measured
        The test error less that of the arm "fresh" in the same trial.
    """

    load: float
    arm: str
    test_error: Measured
    cosine: Measured
    excess: Measured
