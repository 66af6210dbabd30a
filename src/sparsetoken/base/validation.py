"""Checks at the boundary: one clear error for each bad value.

Every check names the value, the legal range, the value got and a remedy.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Callable, Collection
from typing import Any

__all__ = [
    "LARGEST_LOAD",
    "LARGEST_VALUE",
    "Failure",
    "Integers",
    "InvalidInput",
    "Reals",
    "choice",
    "integer",
    "integers",
    "real",
    "reals",
]
__dir__ = __all__.copy

Reals = Any
"""A number, or an array of numbers, stored as nested tuples."""

Integers = Any
"""An integer, or an array of integers, stored as nested tuples."""

LARGEST_VALUE = 1e6  # of strengths, steps and temperatures: products of a few stay finite
LARGEST_LOAD = 1e9  # of n/d
LARGEST_INTEGER = 2**128 - 1
MOST_POINTS = 1_000_000  # of a call: results of many more fill the memory


class Failure(RuntimeError):
    """A failure of work with valid input; its text gives the remedy.

    The command line turns it into one message and exit code 1.

    See Also
    --------
    InvalidInput : A value outside its legal range.

    Examples
    --------
    >>> from sparsetoken.base.validation import Failure
    >>> try:
    ...     raise Failure("The disk is full. Free some space.")
    ... except Failure as error:
    ...     print(error)
    The disk is full. Free some space.
    """


class InvalidInput(ValueError):
    """A value outside its legal range.

    The command line turns it into one message and exit code 2.

    Parameters
    ----------
    name, legal : str
        The value, and what it must be.
    got : object
    remedy : str
        The last sentence. In it the command line turns arguments, such as ``labels=`` and
        ``partial=True``, into options.

    See Also
    --------
    Failure : A failure of work with valid input.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.base.validation import InvalidInput
    >>> try:
    ...     st.SparseTokenProblem(length=0)
    ... except InvalidInput as error:
    ...     print(error)
    length (L) must be an integer >= 1; got 0.
    """

    def __init__(self, name: str, legal: str, got: Any, remedy: str = "") -> None:
        super().__init__(name, legal, got, remedy)  # all, so that it survives pickling

    def __str__(self) -> str:
        name, legal, got, remedy = self.args
        return f"{name} must be {legal}; got {_shown(got)}. {remedy}".rstrip()


def one_line(error: BaseException) -> str:
    """Return the type and the text of an error, in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def _shown(value: Any) -> str:
    """Return the value received, shortened to fit a message."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no integer of more than 4300 digits
        return f"a {type(value).__name__} that is too long to show"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


LONGEST_SHOWN = 300


def refuse_masked(name: str, value: Any) -> None:
    """Raise `InvalidInput` for an array with masked values: NumPy would take the hidden numbers."""
    numpy = sys.modules.get("numpy")  # without which there are no masked arrays
    if numpy is not None and numpy.ma.is_masked(value):
        raise InvalidInput(name, "without masked values", f"{numpy.ma.count_masked(value)} masked")


def _kind(value: Any) -> str:
    """Return the letter of NumPy for the type of an array or a scalar, "" for other values."""
    return str(getattr(getattr(value, "dtype", None), "kind", ""))


def _is_number(value: Any, kind: type) -> bool:
    """Whether a scalar is a number: neither truth values nor time spans are, unlike for Python."""
    return isinstance(value, kind) and not isinstance(value, bool) and _kind(value) != "m"


def truth(name: str, value: Any) -> bool:
    """Return True or False, or raise `InvalidInput` for all else, such as the word "no"."""
    if _kind(value) != "b" and not isinstance(value, bool):
        raise InvalidInput(name, "True or False", value)
    return bool(value)


def integer(name: str, value: Any, low: int, high: int | None = None, remedy: str = "") -> int:
    """Return `value` as an int in [low, high], or raise `InvalidInput`.

    Without `high` it has at most 128 bits, so that it converts to a finite float.

    See Also
    --------
    real : For real numbers.

    Examples
    --------
    >>> from sparsetoken.base.validation import integer
    >>> integer("trials", 8, 1)
    8
    """
    legal = legal_integer(low, high)
    whole = _is_number(value, numbers.Integral)
    if high is None and whole and int(value) > LARGEST_INTEGER:
        high, legal = LARGEST_INTEGER, f"{legal}, and below 2^128"
    if not whole or value < low or (high is not None and value > high):
        raise InvalidInput(name, legal, value, remedy)
    return int(value)


def require_points(name: str, count: int) -> None:
    """Raise `InvalidInput` for more points than one call computes, before they are made."""
    if count > MOST_POINTS:
        remedy = "Take fewer, or split them over several calls."
        raise InvalidInput(name, f"at most {MOST_POINTS} in one call", count, remedy)


def legal_integer(low: int, high: int | None = None) -> str:
    """Return the legal values of `integer` in words."""
    return f"an integer >= {low}" if high is None else f"an integer in [{low}, {high}]"


def real(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
    infinite: bool = False,
    remedy: str = "",
) -> float:
    """Return `value` as a finite float in the interval, or raise `InvalidInput`.

    With `infinite`, ``inf`` is legal as well.

    See Also
    --------
    reals : For arrays.

    Examples
    --------
    >>> from sparsetoken.base.validation import real
    >>> real("ridge", 1, 0.0)
    1.0
    """
    legal = legal_real(low, high, open_low, open_high, infinite)
    if infinite and isinstance(value, numbers.Real) and value == math.inf:
        return math.inf
    if not _is_number(value, numbers.Real):
        raise InvalidInput(name, legal, value, remedy)
    try:
        number = float(value)
    except OverflowError:  # an integer beyond the largest float
        raise InvalidInput(name, legal, value, remedy) from None
    inside = (low < number if open_low else low <= number) and (
        number < high if open_high else number <= high
    )
    if not (math.isfinite(number) and inside):
        raise InvalidInput(name, legal, value, remedy)
    return number


def legal_real(low: float, high: float, open_low: bool, open_high: bool, infinite: bool) -> str:
    """Return the legal values of `real` in words."""
    if low == -math.inf and high == math.inf:
        return "a finite number"
    left = "(" if open_low or low == -math.inf else "["
    right = ")" if open_high or high == math.inf else "]"
    return f"a finite number in {left}{low:g}, {high:g}{right}{', or inf' * infinite}"


def reals(
    name: str, value: Any, low: float = -math.inf, high: float = math.inf, **more: Any
) -> Any:
    """Return `value` as a float, or an array or a list of numbers as nested tuples of floats.

    Tuples keep the values that hold them immutable, comparable and hashable.

    Raises
    ------
    InvalidInput
        If an entry is outside the interval, as in `real`, or the array is empty, ragged, masked
        or not numeric.

    See Also
    --------
    real : For one number.

    Examples
    --------
    >>> from sparsetoken.base.validation import reals
    >>> reals("alpha", [1, 2], 0.0)
    (1.0, 2.0)
    """
    return _each(name, value, "a number or an array of numbers", "iuf", real, low, high, **more)


def integers(name: str, value: Any, low: int, high: int | None = None, remedy: str = "") -> Any:
    """Return `value` as an int, or an array or a list of integers as nested tuples of ints.

    Raises
    ------
    InvalidInput
        As `reals`.

    See Also
    --------
    integer : For one number.

    Examples
    --------
    >>> from sparsetoken.base.validation import integers
    >>> integers("length", [4, 8], 1)
    (4, 8)
    """
    legal = "an integer or an array of integers"
    return _each(name, value, legal, "iu", integer, low, high, remedy)


def _each(
    name: str,
    value: Any,
    legal: str,
    kinds: str,
    check: Callable[..., Any],
    *limits: Any,
    **more: Any,
) -> Any:
    """Return a checked number, or an array of such as nested tuples."""
    if not (isinstance(value, (list, tuple)) or hasattr(value, "__array__")):
        return check(name, value, *limits, **more)
    refuse_masked(name, value)
    import numpy as np  # a mistyped command ends before NumPy is loaded

    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        raise InvalidInput(name, legal, value) from None
    if array.size == 0:
        raise InvalidInput(name, "an array of one number or more", value)
    if array.dtype.kind not in kinds or holds_truth_values(value):
        raise InvalidInput(name, legal, value)
    if array.ndim == 0:
        return check(name, array.item(), *limits, **more)
    for entry in array.ravel().tolist():
        check(f"{name} entry", entry, *limits, **more)
    return _tuples((array.astype(float) if "f" in kinds else array).tolist())


def holds_truth_values(value: Any) -> bool:
    """Whether one entry of an array is True or False, of which NumPy makes 1 or 0 among numbers."""
    import numpy as np

    return any(isinstance(e, (bool, np.bool_)) for e in np.asarray(value, dtype=object).flat)


def _tuples(value: Any) -> Any:
    return tuple(_tuples(entry) for entry in value) if isinstance(value, list) else value


def choice(name: str, value: Any, legal: Collection[str], remedy: str = "") -> str:
    """Return `value` if it is one of the `legal` words, or raise `InvalidInput`.

    See Also
    --------
    real : For numbers.
    integer : For integers.

    Examples
    --------
    >>> from sparsetoken.base.validation import choice
    >>> choice("loss", "hinge", ("hinge", "square"))
    'hinge'
    """
    if not isinstance(value, str) or value not in legal:
        remedy = f"{remedy}{closest(value, legal)}".lstrip()
        raise InvalidInput(name, "one of " + ", ".join(sorted(legal)), value, remedy)
    return value


def closest(value: Any, legal: Collection[str]) -> str:
    """Return a question that suggests the legal word spelt most like a value, or ""."""
    import difflib  # only for a mistake

    matches = difflib.get_close_matches(value, legal, 1) if isinstance(value, str) else []
    return f" Did you mean {matches[0]}?" if matches else ""


def require_hashable(name: str, given: Any, arguments: str) -> None:
    """Raise `InvalidInput` unless a function is hashable: compiled code is cached by it."""
    try:
        hash(given)
    except TypeError:
        remedy = f"Wrap it in a lambda: lambda {arguments}: own({arguments})."
        raise InvalidInput(name, "hashable", given, remedy) from None
