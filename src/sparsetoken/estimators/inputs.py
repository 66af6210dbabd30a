"""What every estimator does with its input: any form of bags to `Bags`, and the checks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from sparsetoken.bags import Bags, as_bags
from sparsetoken.bags.convert import is_list_of_bags, refuse_others
from sparsetoken.base.validation import InvalidInput, integer

P = ParamSpec("P")
Fitted = TypeVar("Fitted", bound=BaseEstimator)
LARGEST = {4: 1e12, 8: 1e100}  # bytes of a value: products of three stay finite


class Reading(NamedTuple):
    """Input that was read.

    Attributes
    ----------
    bags : Bags
    rows : bool
        Whether the input was a plain table (n, d), each row a bag of one token.
    """

    bags: Bags
    rows: bool


class PaddingWarning(UserWarning):
    """Bags seem to be filled up with zeros, which count as tokens.

    Give a mask, or silence it with ``warnings.simplefilter("ignore", PaddingWarning)``.
    """


class TableWarning(UserWarning):
    """An array of shape (n, d) is taken as n bags of one token each.

    Silence it with ``warnings.simplefilter("ignore", TableWarning)``, or give X[:, None, :].
    """


def told_table(bags: Bags) -> str:
    """Return what a table is taken for."""
    n, d = bags.tokens.shape
    return (
        f"X of shape ({n}, {d}) is taken as {n} bags of one token each, among which nothing can "
        "be pooled. Several tokens are an array (n, L, d), a list of arrays (L_i, d), rows with "
        "from_long(X, bag_ids), or flattened rows with n_tokens=L."
    )


def all_or_nothing(
    fit: Callable[Concatenate[Fitted, P], Fitted],
) -> Callable[Concatenate[Fitted, P], Fitted]:
    """Let a fit that raises leave the estimator as it was: not fitted, or fitted as before.

    What it had set until then, such as ``n_features_in_``, would pass for a fit.
    """

    @functools.wraps(fit)
    def whole(estimator: Fitted, /, *args: P.args, **kwargs: P.kwargs) -> Fitted:
        before = dict(vars(estimator))
        try:
            return fit(estimator, *args, **kwargs)
        except BaseException:
            vars(estimator).clear()
            vars(estimator).update(before)
            raise

    return whole


def read_bags(
    estimator: BaseEstimator,
    X: Any,
    *,
    reset: bool,
    n_tokens: int | None = None,
    mask: Any = None,
) -> Reading:
    """Read the input of an estimator, and set or check ``n_features_in_``.

    A table of shape (n, d) is checked as scikit-learn checks tables, names of columns
    included; all other forms are those of `as_bags`. An estimator fitted to bags of several
    tokens takes no table later: it may be one bag whose tokens would pass for bags.

    Parameters
    ----------
    estimator : BaseEstimator
    X : any form of bags
    reset : bool
        True in fit; False later, where another d than that of fit is refused.
    n_tokens : int, optional
        Tokens in each row of a table; ``n_features_in_`` is then n_tokens * d.
    mask : bool array of shape (n, L), optional
        True where there is a token, for arrays of shape (n, L, d).

    Raises
    ------
    ValueError, TypeError
        As scikit-learn for tables, as `as_bags` else; for another d than in fit, and for a table
        after bags.
    """
    refuse_others(X)
    if n_tokens is not None:
        n_tokens = integer("n_tokens", n_tokens, 1)
    rows = _is_table(X)
    if rows and mask is not None:
        raise InvalidInput("mask", "None for a table", type(mask).__name__, "X has no tokens.")
    if rows:
        kinds = [np.float64, np.float32]
        try:
            table = validate_data(estimator, X, reset=reset, dtype=kinds, ensure_all_finite=False)
        except OverflowError as error:
            got = f"others: {error}"
            raise InvalidInput("X", "a table of real numbers", got) from None
        if not reset and n_tokens is None and getattr(estimator, "_fitted_to_many_tokens", False):
            raise _table_for_bags(estimator, table)
        if reset:
            estimator._fitted_to_many_tokens = False
        return Reading(as_bags(table, n_tokens=n_tokens), rows)
    bags = as_bags(X, mask)
    if n_tokens is not None and (bags.sizes != n_tokens).any():
        legal = f"bags of n_tokens = {n_tokens} tokens"
        sizes = f"{bags.sizes.min()} to {bags.sizes.max()} tokens"
        raise InvalidInput("X", legal, sizes, "n_tokens is for flattened tables: leave it out.")
    # No names of columns here: this drops those of an earlier fit, or warns that they are missed.
    validate_data(estimator, bags, reset=reset, skip_check_array=True, ensure_2d=False)
    _check_dimension(estimator, bags.dimension, reset, n_tokens or 1)
    if reset:
        estimator._fitted_to_many_tokens = bool(bags.sizes.max() > 1)
    return Reading(bags, rows)


def check_magnitude(bags: Bags) -> None:
    """Refuse tokens whose products overflow or vanish; all zeros are legal.

    Raises
    ------
    InvalidInput
        If the largest absolute value is > 1e100 or < 1e-100; 1e12 and 1e-12 for float32.
    """
    most = LARGEST[bags.dtype.itemsize]
    largest = float(max(np.abs(bags.extremes)))
    if largest > most or 0 < largest < 1 / most:
        legal = f"{bags.dtype} tokens of which the largest is between {1 / most:g} and {most:g}"
        raise InvalidInput("X", legal, f"largest absolute value {largest:.3g}", "Scale the tokens.")


def told_padding(bags: Bags) -> str:
    """Return what to say of bags of one size that end in tokens of zeros; "" if none do.

    Two bags or more must end so. Zeros that another token of their bag follows are data, and then
    those at the ends may be too.
    """
    if bags.common_size in (None, 1):
        return ""
    last = ~bags.tokens[bags.offsets[1:] - 1].any(axis=1)
    count = int(np.count_nonzero(last))
    if count < 2:
        return ""
    zero = ~bags.tokens.any(axis=1).reshape(len(bags), -1)
    if zero.all() or (zero[:, :-1] & ~zero[:, 1:]).any():
        return ""
    return (
        f"{count} of {len(bags)} bags end in tokens of zeros, which count as tokens. If they are "
        "padding, give mask=, True where there is a token."
    )


def _is_table(X: Any) -> bool:
    if isinstance(X, Bags) or is_list_of_bags(X):
        return False
    return (X if hasattr(X, "ndim") else np.asarray(X)).ndim < 3


def _table_for_bags(estimator: Any, table: np.ndarray) -> InvalidInput:
    legal = f"bags of several tokens, as {type(estimator).__name__} was fitted on"
    got = f"an array of shape {table.shape}, {len(table)} bags of one token each"
    return InvalidInput("X", legal, got, "One bag is X[None], several with ids from_long.")


def _check_dimension(estimator: Any, d: int, reset: bool, tokens: int) -> None:
    if reset:
        estimator.n_features_in_ = tokens * d
    elif tokens * d != estimator.n_features_in_:
        name = type(estimator).__name__
        legal = f"bags of d = {estimator.n_features_in_ // tokens}, as {name} was fitted on"
        raise InvalidInput("X", legal, f"d = {d}")
