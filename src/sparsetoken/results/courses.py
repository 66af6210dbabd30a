"""The course of a network in training, predicted or simulated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsetoken.results.outcomes import FLOOR, NOTES, best_step
from sparsetoken.results.record import Numbers, Record, quantity, record
from sparsetoken.results.status import Status


@record
class Weights(Record):
    """The columns of U and the further weights, at the start and after each step.

    Arrays have axes for columns and signals after the dimensions. Tables have overlap_NAME and
    norm_NAME of each column (overlap_NAME_1, ... of several signals), and the further weights by
    name.
    """

    overlaps: Numbers = quantity("U^T xi_p, with axes for columns and signals.")
    norms: Numbers = quantity("Lengths of the columns.")
    gram: Numbers = quantity("U^T U.")
    c: Numbers = quantity("The further weights.")
    names: tuple[str, ...] = quantity("Of the columns.", column=None)
    weight_names: tuple[str, ...] = quantity("Of the further weights.", column=None)

    def columns(self) -> dict[str, np.ndarray]:
        """Return overlaps and lengths of each column, and the further weights, by name."""
        found = {}
        for j, name in enumerate(self.names):
            own = self.overlaps[..., j, :]
            several = own.shape[-1] > 1
            for p in range(own.shape[-1]):
                found[f"overlap_{name}_{p + 1}" if several else f"overlap_{name}"] = own[..., p]
        found |= {f"norm_{name}": self.norms[..., j] for j, name in enumerate(self.names)}
        return found | {name: self.c[..., j] for j, name in enumerate(self.weight_names)}

    @property
    def cosines(self) -> np.ndarray:
        """Cosines of columns and signals, with axes for both; 0 for a column that is 0."""
        norms = np.broadcast_to(self.norms[..., None], self.overlaps.shape)
        none = np.zeros(self.overlaps.shape)
        return np.divide(self.overlaps, norms, out=none, where=norms > 0)


@record
class NetworkPath(Record):
    """Weights of a network and their test error, at the start and after each step.

    The last dimension is step. What a descent that diverged has not is nan.
    """

    test_error: Numbers = quantity(
        "Probability of the wrong class on new data; with two classes a score of 0 counts 1/2."
    )
    training_loss: Numbers = quantity("Mean loss over all samples, without weight decay.")
    attended: Numbers = quantity(
        "Fraction of the bags with a signal whose most attended token holds one; nan for a "
        "network without attention, and if no bag has a signal. Ties are split equally."
    )
    weights: Weights = quantity("Overlaps, lengths and further weights.")

    @property
    def best_step(self) -> Numbers:
        """The step with the smallest test error."""
        return best_step(self.test_error)


@record
class Course(NetworkPath):
    """The course of a network in training, predicted by theory.

    Its status is NO_LIMIT if the descent diverges: the steps before that are kept.
    """

    errors: NetworkPath = quantity(
        "For each quantity, the standard error over independent replicas and, where eigenvalues "
        "are grouped, the change from halving the number of atoms; those of `test_error` and "
        "`attended` include the error from the new bags.",
        suffix="_error",
    )
    numerical_error: Numbers = quantity("The largest of `test_error`.", without=("step",))
    replicas: Numbers = quantity("The number of replicas followed.", without=("step",))
    status: Status = quantity("How each course ended.", without=("step",))
    notes: tuple[str, ...] = quantity(NOTES, column=None, default=(), without=("step",))
    floor: Callable[[], np.ndarray] | None = quantity(
        FLOOR, column=None, default=None, without=("step",)
    )
