"""Tests of numerical errors against a tolerance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from sparsetoken.results import Status, StatusCode

TOLERANCE = 1e-4
"""By default."""

_RELATIVE = 100.0  # times the tolerance: 1% by default
_TIMES = 10.0  # times the tolerance: .1% by default
_LEAST = 1e-8  # of the tolerance: 1e-12 by default, an error rate that no test set shows


def allowed_error(value: float, tolerance: float) -> float:
    """Return the largest error of a test error that a tolerance in (0, 1), or inf, allows.

    It is the tolerance itself for numbers up to 1 and relative to larger ones, but no more than
    100 times the tolerance relative to small ones: at 1e-4 a number of 1e-3 is known to 1e-5, and
    one below 1e-10 to 1e-12.
    """
    if math.isinf(tolerance):
        return math.inf
    size = abs(value)
    return tolerance * max(min(max(size, 1.0), _RELATIVE * size), _LEAST)


def allowed_of_loss(loss: float, tolerance: float) -> float:
    """Return the same for a training loss; one below 1e-4 is known to 1% of the tolerance.

    It may be 0, or so small that rounding decides.
    """
    return max(allowed_error(loss, tolerance), tolerance / _RELATIVE)


def allowed_of_weights(size: float, tolerance: float) -> float:
    """Return the same for overlaps, norms and a bias: 10 times the tolerance, relative.

    The size is the larger of norm and bias of the readout: both move its scores. The AUC is known
    like a number of size 1.
    """
    return math.inf if math.isinf(tolerance) else _TIMES * tolerance * size


def relative_to(value: float, least: float = _LEAST / _RELATIVE) -> float:
    """Return the size of a number that is known relative to it, and 0 of any other."""
    size = abs(value)
    return size if size > 1 or least <= size < 1 / _RELATIVE else 0.0


def sizes_of(outcome: Any) -> dict[str, float]:
    """Return these sizes for the test error and the training loss of an outcome."""
    loss = relative_to(float(outcome.training_loss), 1 / _RELATIVE**2)
    return {"test_error": relative_to(float(outcome.test_error)), "training_loss": loss}


class Accuracy(NamedTuple):
    """The number of a result that is known worst: its error, and what twice the error may be.

    The size is what the error is relative to, 0 where it is absolute.
    """

    name: str
    error: float
    allowed: float
    size: float = 0.0

    @classmethod
    def of(
        cls,
        allowed: Mapping[str, float],
        errors: Mapping[str, Any],
        sizes: Mapping[str, float] = MappingProxyType({}),
    ) -> Accuracy:
        """Return the worst number by its error over what is allowed; all are given by name."""
        known = [
            cls(name, float(errors[name]), most, sizes.get(name, 0.0))
            for name, most in allowed.items()
        ]
        return max(known, key=lambda one: one.excess)

    @property
    def excess(self) -> float:
        """Twice the error over what is allowed."""
        if self.error == 0 or math.isinf(self.allowed):
            return 0.0
        known = self.allowed > 0 and math.isfinite(self.error)
        return 2 * self.error / self.allowed if known else math.inf

    @property
    def enough(self) -> bool:
        """Whether twice each error is allowed."""
        return bool(self.excess <= 1)

    def status(self, tolerance: float, basis: str = "") -> Status:
        """Return whether twice each error, on a basis such as " with 64 nodes", is allowed."""
        if self.enough:
            return Status(StatusCode.CONVERGED)
        what, needed = self.name.replace("_", " "), 1.1 * self.excess * tolerance
        both, kind = (2 * self.error, self.allowed), ""
        found, asked = (f"{x:.1e}" for x in both)
        if self.size > 0:
            kind, (found, asked) = "relative ", (_percent(x / self.size) for x in both)
        reached = f"Twice the {kind}error of the {what} is {found}{basis}, {asked} was asked"
        remedy = f"{reached}; ask for a tolerance of {needed:.1e}." if needed < 1 else f"{reached}."
        return Status(StatusCode.TOLERANCE_NOT_REACHED, remedy)


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%" if share < 1 else f"{100 * share:.0f}%"
