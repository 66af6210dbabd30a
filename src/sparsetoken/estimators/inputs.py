"""What every estimator does with its input: any form of bags to `Bags`, and the checks."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import warnings
from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from jaxtyping import Shaped
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import has_fit_parameter, validate_data

from sparsetoken.bags import Bags, LeakWarning, as_bags, find_leaks
from sparsetoken.bags.convert import is_list_of_bags
from sparsetoken.base.validation import InvalidInput

P = ParamSpec("P")
Fitted = TypeVar("Fitted", bound=BaseEstimator)
LARGEST = {4: 1e12, 8: 1e100}  # bytes of a value: products of three stay finite


class TakesBags:
    """An estimator or transformer whose input may have three dimensions."""

    n_features_in_: int
    feature_names_in_: Shaped[np.ndarray, " columns"]
    _fitted_to_many_tokens: bool = False

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.three_d_array = True
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class PaddingWarning(UserWarning):
    """Bags seem to be filled up with zeros, which count as tokens.

    Give ``as_bags(X, mask)``, or silence it with ``warnings.simplefilter("ignore",
    PaddingWarning)``.
    """


class EmptyBagWarning(UserWarning):
    """Bags without a token are predicted by the class rate, or by the mean.

    Refuse them with ``warnings.simplefilter("error", EmptyBagWarning)``, or by `as_bags`, which
    takes none.
    """


class QueryWarning(UserWarning):
    """Attention does not beat mean pooling on held-out bags, or nothing beats a constant or chance.

    Silence it with ``warnings.simplefilter("ignore", QueryWarning)``.
    """


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


def read_bags(estimator: BaseEstimator, X: Any, *, reset: bool, empty: bool = False) -> Bags:
    """Read the input of an estimator, and set or check ``n_features_in_``.

    A table of shape (n, d) is checked as scikit-learn checks tables, names of columns included. All
    other forms are those of `as_bags`, and columns with names are put into the order of the fit. An
    estimator fitted to bags of several tokens takes no table later: it may be one bag whose tokens
    would pass for bags.

    Parameters
    ----------
    estimator : BaseEstimator
    X : any form of bags
    reset : bool
        True in fit; False later, where another d than that of fit is refused.
    empty : bool
        Whether bags may be without a token.

    Raises
    ------
    ValueError, TypeError
        As scikit-learn for tables, as `as_bags` else; for another d than in fit, and for a table
        after bags.
    """
    if X is None or isinstance(X, str | PathLike):
        raise InvalidInput("X", "bags", X, "st.bags.read reads files.")
    table, name = is_table(X), type(estimator).__name__
    if table:
        kinds = [np.float64, np.float32]
        try:
            X = validate_data(estimator, X, reset=reset, dtype=kinds, ensure_all_finite=False)
        except OverflowError as error:
            got = f"others: {error}"
            raise InvalidInput("X", "a table of real numbers", got) from None
        if not reset and estimator._fitted_to_many_tokens:
            legal = f"bags of several tokens, as {name} was fitted on"
            got = f"an array of shape {X.shape}, {len(X)} bags of one token each"
            raise InvalidInput("X", legal, got, "One bag is X[None], several with ids from_long.")
        bags = as_bags(X)
    else:
        bags = as_bags(X, empty=empty)
        if reset:
            estimator.n_features_in_ = bags.dimension
        elif bags.dimension != estimator.n_features_in_:
            legal = f"bags of d = {estimator.n_features_in_}, as {name} was fitted on"
            raise InvalidInput("X", legal, f"d = {bags.dimension}")
        bags = _by_name(estimator, bags, reset)
    if reset:
        estimator._fitted_to_many_tokens = not table and bool(bags.sizes.max() > 1)
    return bags


def _by_name(estimator: BaseEstimator, bags: Bags, reset: bool) -> Bags:
    """Return bags with the columns of the fit, in its order, found by their names.

    Where one of both has no names, or numbers from 0 for names, columns go by their place. If the
    other has names there is the warning that scikit-learn gives of tables.
    """
    places = [str(k) for k in range(bags.dimension)]
    given = list(bags.feature_names or places)
    if reset:
        vars(estimator).pop("feature_names_in_", None)
        if given != places:
            estimator.feature_names_in_ = np.array(given, dtype=object)
        return bags
    fitted = list(getattr(estimator, "feature_names_in_", places))
    if bags.feature_names is not None and set(given) == set(fitted):
        return bags.only(fitted)
    name = type(estimator).__name__
    if given != places and fitted != places:
        strange = sorted(set(given) ^ set(fitted))
        legal = f"bags with the columns that {name} was fitted to"
        raise InvalidInput("X", legal, f"not in both: {', '.join(strange[:8])}")
    if given != fitted:
        lacks = "does not have valid feature names, but {} was fitted with feature names"
        has = "has feature names, but {} was fitted without feature names"
        warnings.warn(f"X {(lacks if given == places else has).format(name)}", stacklevel=2)
    return bags.with_tokens(bags.tokens, None if fitted == places else fitted)


_looked: contextvars.ContextVar[bool] = contextvars.ContextVar("looked at bags", default=False)


@contextlib.contextmanager
def first_look(
    bags: Bags,
    y: Any,
    groups: Any,
    *,
    sample_weight: Any = None,
    ids: Any = None,
    progress: bool = True,
    stacklevel: int,
) -> Iterator[list[str]]:
    """Warn of padding, and of leaks, which are yielded.

    Fits within the block are to parts of these bags, or to all of them, and do not look again.
    """
    if _looked.get():
        yield []
        return
    warn_of_padding(bags, stacklevel + 1)
    leaks = find_leaks(bags, y, groups, sample_weight=sample_weight, ids=ids, progress=progress)
    for leak in leaks:
        warnings.warn(leak, LeakWarning, stacklevel=stacklevel)
    token = _looked.set(True)
    try:
        yield leaks
    finally:
        _looked.reset(token)


def check_magnitude(bags: Bags, *, small: bool = False) -> None:
    """Refuse tokens whose products overflow or, unless `small`, vanish; all zeros are legal.

    Raises
    ------
    InvalidInput
        If the largest absolute value is > 1e100 or < 1e-100; 1e12 and 1e-12 for float32.
    """
    if not len(bags.tokens):  # of bags without a token
        return
    most = LARGEST[bags.dtype.itemsize]
    largest = float(max(np.abs(bags.extremes)))
    if largest > most or (not small and 0 < largest < 1 / most):
        legal = f"{bags.dtype} tokens of which the largest is between {1 / most:g} and {most:g}"
        if small:
            legal = f"{bags.dtype} tokens of at most {most:g}"
        raise InvalidInput("X", legal, f"largest absolute value {largest:.3g}", "Scale the tokens.")


def warn_of_padding(bags: Bags, stacklevel: int) -> None:
    """Warn of bags that seem to be padded, unless `first_look` has looked at them."""
    if not _looked.get() and (padded := told_padding(bags)):
        warnings.warn(padded, PaddingWarning, stacklevel=stacklevel)


def told_padding(bags: Bags) -> str:
    """Return what to say of bags of one size that end in tokens of zeros; "" if none do.

    Two bags or more must end so. Zeros that another token of their bag follows are data, and then
    those at the ends may be too.
    """
    if bags.common_size in (None, 0, 1):
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
        "padding, give a mask, True where there is a token: by as_bags(X, mask), or as the array "
        "mask of an .npz file."
    )


def given_to(member: Any, weight: Any, groups: Any) -> dict[str, Any]:
    """Return arguments of `fit`, None for none: in a pipeline they are of its last step.

    Groups are given to who takes them, as the estimators of this package do.

    Raises
    ------
    InvalidInput
        If there are sample weights, and it takes none.
    """
    name, last = "", member
    while hasattr(last, "steps"):
        name, last = f"{name}{last.steps[-1][0]}__", last.steps[-1][1]
    if weight is not None and not has_fit_parameter(last, "sample_weight"):
        legal = "fitted with sample weights, as other members are"
        remedy = "Leave the member out, or sample_weight and class_weight."
        raise InvalidInput("a member", legal, type(last).__name__, remedy)
    given = {} if weight is None else {f"{name}sample_weight": weight}
    if groups is not None and has_fit_parameter(last, "groups"):
        given[f"{name}groups"] = groups
    return given


def is_table(X: Any) -> bool:
    """Whether X is a table of shape (n, d), each row a bag of one token."""
    if isinstance(X, Bags) or is_list_of_bags(X):
        return False
    return (X if hasattr(X, "ndim") else np.asarray(X)).ndim < 3


def generator_of(random_state: Any) -> np.random.RandomState:
    """Return the random numbers of `random_state`, or raise `InvalidInput` if it is no seed."""
    try:
        return check_random_state(random_state)
    except (TypeError, ValueError):
        legal = "None, a numpy.random.RandomState or an integer from 0 to 2**32 - 1"
        raise InvalidInput("random_state", legal, random_state) from None
