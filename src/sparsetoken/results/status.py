"""How a computation ended."""

from __future__ import annotations

import enum
from collections.abc import Sequence

import numpy as np


class StatusCode(enum.StrEnum):
    """The ways in which a computation ends.

    See Also
    --------
    Status : A code with its remedy.

    Examples
    --------
    >>> from sparsetoken.results import StatusCode
    >>> [str(code) for code in StatusCode]  # doctest: +NORMALIZE_WHITESPACE
    ['converged', 'max_iterations', 'tolerance_not_reached', 'no_limit', 'disagrees',
     'approximate', 'branches']
    """

    CONVERGED = "converged"
    MAX_ITERATIONS = "max_iterations"
    TOLERANCE_NOT_REACHED = "tolerance_not_reached"
    NO_LIMIT = "no_limit"
    DISAGREES = "disagrees"  # with what was measured
    APPROXIMATE = "approximate"  # where the theory is not exact
    BRANCHES = "branches"  # more than one solution


class Status(str):
    """How a computation ended and, if it did not converge, what to try.

    It is the string of its code, so that ``result.status == "converged"`` is true or false at each
    point of a result; `remedy` says what to try.

    See Also
    --------
    StatusCode : All codes.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> status = st.predict(problem, st.Pooled()).status
    >>> status == "converged", status.remedy
    (True, '')
    """

    __slots__ = ("remedy",)
    remedy: str

    def __new__(cls, code: StatusCode | str, remedy: str = "") -> Status:  # noqa: D102
        self = super().__new__(cls, StatusCode(code).value)
        self.remedy = remedy
        return self

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        return str(self), self.remedy

    @property
    def code(self) -> StatusCode:
        """The code."""
        return StatusCode(str(self))

    @property
    def converged(self) -> bool:
        """Whether the result is usable."""
        return self == "converged"


CONVERGED = Status(StatusCode.CONVERGED)


def as_objects(values: Sequence[object], shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of objects, without unpacking any of them."""
    objects = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        objects[place] = value
    return objects.reshape(shape)
