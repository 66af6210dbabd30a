"""Gradient descent on all weights of a network, as a value."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from sparsetoken.base.parameters import SIZES, Linear, Log, Range, parameter, value
from sparsetoken.base.validation import (
    LARGEST_LOAD,
    LARGEST_VALUE,
    InvalidInput,
    Reals,
    real,
    reals,
    require_hashable,
)
from sparsetoken.model.architectures.base import Architecture
from sparsetoken.model.architectures.networks import Softmax
from sparsetoken.model.architectures.own import network_of
from sparsetoken.model.course import Course, course_of, signal_cosines
from sparsetoken.model.stages import SMOOTH_LOSSES, smooth_loss

__all__ = ["ByName", "Descent", "by_column", "loss_of"]

MOST_STEPS = 100_000
MOST_BATCHES = 256

Schedule = Any
"""One number for all steps, or one for each step, stored as a tuple; or an array of these, whose
last axis has one number for each step, or a single one."""


class ByName(Mapping[Any, Any]):
    """Numbers by names of columns, or pairs of them, which have a hash and do not change."""

    def __init__(self, numbers: Iterable[tuple[Any, Any]]) -> None:
        self._numbers = dict(sorted(numbers))

    def __getitem__(self, name: Any) -> Any:
        return self._numbers[name]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __hash__(self) -> int:
        return hash(tuple(self._numbers.items()))

    def __repr__(self) -> str:
        return repr(self._numbers)


def by_column(name: str, low: float = 0.0, named: bool = False) -> Callable[[Any], Any]:
    """Return the check of a number, an array of numbers, or numbers by the names of columns.

    The numbers of a column may again have names, of signals.
    """

    def numbers(given: Any) -> Any:
        if named and isinstance(given, Mapping):
            return ByName((str(n), real(name, x, low, LARGEST_VALUE)) for n, x in given.items())
        return reals(name, given, low, LARGEST_VALUE)

    def kept(given: Any) -> Any:
        if not isinstance(given, Mapping):
            return numbers(given)
        return ByName((str(n), numbers(x)) for n, x in given.items())

    return kept


def _some_columns(name: str, given: Any) -> bool | tuple[str, ...]:
    if isinstance(given, bool):
        return given
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, (list, tuple)) or not all(isinstance(one, str) for one in names):
        raise InvalidInput(name, "True, False or names of columns", given)
    return tuple(names)


def _numbers_or_none(name: str) -> Callable[[Any], Any]:
    return lambda given: None if given is None else reals(name, given)


def _start(given: Any) -> Any:
    if given is None or isinstance(given, Course):
        return given
    return course_of(given) if hasattr(given, "dims") else by_column("start")(given)


def _cosines(given: Any) -> ByName | None:
    legal = 'a mapping from pairs of columns to cosines, as {("O", "q"): 0.5}'
    if given is None:
        return None
    pairs = given.keys() if isinstance(given, Mapping) else [None]
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise InvalidInput("start_cosines", legal, given)
    return ByName(
        ((str(a), str(b)), real("start_cosines", x, -1.0, 1.0)) for (a, b), x in given.items()
    )


def loss_of(given: Any) -> Any:
    """Return a smooth loss, or a function of scores and targets, checked."""
    from sparsetoken.losses import Loss

    if not callable(given) or isinstance(given, (type, Loss)):
        return smooth_loss(given)
    require_hashable("loss", given, "scores, y")
    return given


@value
class Descent:
    """Joint training of all weights of a network by gradient descent on one data set.

    A step is ``U <- U - rates (G + decay U) + momentum (U - U_before)``, where G is the gradient of
    the mean loss over the batch of the step; the same for the further weights c, without decay.

    Settings of columns are one number for all, one for each, or a mapping from the names of
    columns, or from their names without digits, to numbers: ``{"q": 4.0, "w": 1.0}``.

    See Also
    --------
    sparsetoken.model.networks.Network : A network from a function.
    descend : The trajectory of gradient descent in the limit of high dimension.

    Examples
    --------
    >>> import sparsetoken as st
    >>> descent = st.Descent(st.networks.Gated(hidden=2), alpha=2.0, steps=16, rates=3.0)
    >>> descent.network.hidden
    2
    """

    network: Architecture = parameter(
        "network to train, one of `sparsetoken.model.networks`",
        default=Softmax(),
        find=network_of,
        kind="Architecture",
    )
    alpha: Reals = parameter(
        "labels, as samples per dimension. Infinity stands for fresh samples in each step, that "
        "is, for descent on the population loss",
        r"\alpha = n/d",
        default=2.0,
        range=Range(above=0, most=LARGEST_LOAD, infinite=True),
        slider=Log(0.25, 10),
    )
    steps: int = parameter(
        "steps of gradient descent",
        "T",
        default=12,
        whole=True,
        range=Range(1, most=MOST_STEPS),
        slider=Linear(1, 30),
    )
    rates: Any = parameter(
        "step sizes of the columns of U. A schedule is an array of shape (steps, columns) or "
        "(steps, 1), or in a mapping one number for each step",
        default=2.0,
        find=by_column("rates"),
        kind="float, array or mapping",
    )
    rate_c: Schedule = parameter(
        "step size of the further weights c",
        default=0.5,
        range=SIZES,
        per_step=True,
    )
    start: Any = parameter(
        "norms of the columns before the first step, where they are orthogonal to the signals "
        "and, but for `start_cosines`, to one another, at most 1e5; by default norms that break "
        "the symmetries of the network. Or trained weights: a trajectory, of which the last step "
        "counts, or a minimum. Columns that it has not then start with the default norms, and "
        "`start_overlaps` and `start_cosines` are those of such columns",
        default=None,
        find=_start,
        kind="float, array, mapping, Trajectory or MinimumPrediction, optional",
    )
    signal_cosines: Any = parameter(
        "cosines of the signals with those of the task of a trained start, whose data are "
        "independent: a number, or a matrix with a row for each signal of this task",
        "C",
        default=None,
        find=signal_cosines,
        kind="float or array of shape (P, P before), optional",
    )
    start_overlaps: Any = parameter(
        "overlaps of the columns with the signals before the first step, beside their random "
        "parts of the norms of the start; also an array of shape (columns, signals), or in a "
        "mapping one number for each signal, or for some of them by name",
        default=0.0,
        find=by_column("start_overlaps", -LARGEST_VALUE, named=True),
        kind="float, array or mapping",
    )
    start_cosines: Any = parameter(
        "cosines of the random parts of two columns before the first step, by pairs of names, "
        'with or without digits: {("O", "q"): 0.5}; all others are 0. A layer of a `Transformer` '
        "is read by others through them; by default those of the network",
        default=None,
        find=_cosines,
        kind="mapping, optional",
    )
    start_c: Any = parameter(
        "further weights before the first step, at most 1e5 in size; by default those of the "
        "network",
        default=None,
        find=_numbers_or_none("start_c"),
        kind="sequence of floats, optional",
    )
    momentum: Schedule = parameter(
        "momentum of all weights", default=0.0, range=Range(least=0, below=1), per_step=True
    )
    decay: Any = parameter(
        "weight decay of the columns of U",
        default=0.0,
        find=by_column("decay"),
        kind="float, array or mapping",
    )
    batches: int = parameter(
        "batches of equal size into which the data set is split once, used by the steps in turn; "
        "1 is full-batch descent",
        default=1,
        whole=True,
        range=Range(least=1, most=MOST_BATCHES),
    )
    loss: Any = parameter(
        "loss whose gradient all steps follow: a name, a Loss of two classes, or a function "
        "written with jax.numpy. For one score it takes the score, a number, and the target, which "
        "is -1 or 1 of two classes; for K > 1 the K scores and the class in {0, ..., K - 1}, or "
        "the target. Logistic is then cross-entropy",
        r"\ell",
        default="logistic",
        choices=SMOOTH_LOSSES,
        find=loss_of,
        kind="Loss, callable or " + ", ".join(SMOOTH_LOSSES),
    )
    sphere: Any = parameter(
        "columns that keep the norm of the start, all of them or by names: the part of the "
        "gradient along a column is left out, and after the step the column is scaled back",
        default=False,
        find=functools.partial(_some_columns, "sphere"),
        kind="bool or sequence of str",
    )
    normalised: Any = parameter(
        "columns whose gradient, without decay, is divided by its norm, all of them or by names, "
        "as in normalised gradient descent and layer-wise adaptive rates: the rate is then the "
        "length of a step",
        default=False,
        find=functools.partial(_some_columns, "normalised"),
        kind="bool or sequence of str",
    )

    def _check_together(self) -> None:
        if self.batches > 1 and np.isinf(self.alpha).any():
            legal = "1 with alpha = inf, where each step has samples of its own"
            raise InvalidInput("batches", legal, self.batches)
