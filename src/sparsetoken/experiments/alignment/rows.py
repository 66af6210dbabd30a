"""The rows of the experiment."""

from __future__ import annotations

import dataclasses

from sparsetoken.experiments.rows import Measured, Predicted


@dataclasses.dataclass(frozen=True)
class Theory:
    """Predicted cosines with the signal at a load alpha0 = n0/d.

    Attributes
    ----------
    alpha0 : float
    cosine, readout_cosine : Predicted
        Of the query after its step, and of the readout after its first step.
    """

    alpha0: float
    cosine: Predicted
    readout_cosine: Predicted


@dataclasses.dataclass(frozen=True)
class Simulated:
    """Measured cosines with the signal; columns as in `Theory`."""

    alpha0: float
    cosine: Measured
    readout_cosine: Measured


@dataclasses.dataclass(frozen=True)
class OtherSteps:
    """What other choices of eta_q and beta change.

    Attributes
    ----------
    engine : str
        computed, or tensors: then with the same tokens in all choices, trial by trial.
    choices : int
    moved_cosine : float
        The largest change of the cosine of the query.
    sharpness_ratio : float
        The largest sharpness / (eta_q beta^2) over the smallest.
    """

    engine: str
    choices: int
    moved_cosine: float
    sharpness_ratio: float
