"""The rows of the experiment."""

from __future__ import annotations

import dataclasses

from sparsetoken.experiments.rows import Measured, Predicted


@dataclasses.dataclass(frozen=True)
class Limit:
    """What the theory gives for infinite dimension.

    Attributes
    ----------
    quantity : str
        cosine, test_error or training_loss.
    found : Predicted
    """

    quantity: str
    found: Predicted


@dataclasses.dataclass(frozen=True)
class Simulated:
    """What was measured at the dimension of `found`; columns as in `Limit`."""

    quantity: str
    found: Measured
