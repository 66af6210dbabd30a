"""The rows of the experiment."""

from __future__ import annotations

import dataclasses

from sparsetoken.experiments.rows import Measured, Predicted


@dataclasses.dataclass(frozen=True)
class Theory:
    """The test error predicted from class means and covariances of the features.

    Attributes
    ----------
    tokens : str
        What a token is: digits or textures.
    length : int
        Tokens in a bag.
    classifier : str
        pooled, or attention with a given query.
    bags : int
        Labelled bags that the readout is fitted to.
    test_error : Predicted
    """

    tokens: str
    length: int
    classifier: str
    bags: int
    test_error: Predicted


@dataclasses.dataclass(frozen=True)
class Simulated:
    """The test error measured on fresh bags; columns as in `Theory`."""

    tokens: str
    length: int
    classifier: str
    bags: int
    test_error: Measured
