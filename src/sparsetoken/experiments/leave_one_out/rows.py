"""The rows of the experiment."""

from __future__ import annotations

import dataclasses

from sparsetoken.experiments.rows import Measured, Predicted


@dataclasses.dataclass(frozen=True)
class Theory:
    """What the theory predicts at a load alpha1.

    Attributes
    ----------
    loss : str
    alpha1 : float
    test_error, auc, training_error : Predicted
    """

    loss: str
    alpha1: float
    test_error: Predicted
    auc: Predicted
    training_error: Predicted


@dataclasses.dataclass(frozen=True)
class Estimated:
    """What leaving one out says of the test error, from training sets alone.

    Attributes
    ----------
    loss : str
    alpha1 : float
    test_error, auc : Measured
        Means of the estimates over training sets.
    spread : Measured
        Standard deviation of the estimates of the test error over training sets, in units
        of the binomial error that each states.
    """

    loss: str
    alpha1: float
    test_error: Measured
    auc: Measured
    spread: Measured


@dataclasses.dataclass(frozen=True)
class Refitted:
    """Leave-one-out scores against those of refits without the sample.

    Attributes
    ----------
    loss : str
    dimension : int
    surrogate_error : Measured
        Root mean square difference of the leave-one-out scores from those of refits.
    change : Measured
        The same for the scores of the fit to all samples: what leaving out changes.
    """

    loss: str
    dimension: int
    surrogate_error: Measured
    change: Measured
