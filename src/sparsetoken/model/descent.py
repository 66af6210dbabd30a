"""Gradient descent on all weights of a network, as a value, and the numbers of each step."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sparsetoken.base.parameters import SIZES, Linear, Log, Range, parameter, value
from sparsetoken.base.validation import (
    LARGEST_LOAD,
    LARGEST_VALUE,
    InvalidInput,
    Reals,
    real,
    reals,
)
from sparsetoken.model.architectures.base import Architecture
from sparsetoken.model.architectures.networks import Softmax
from sparsetoken.model.architectures.own import network_of, require_hashable
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import SMOOTH_LOSSES, smooth_loss
from sparsetoken.model.task_law import OwnLaw, Problem, TaskLaw, law_of

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    from sparsetoken.losses import Loss

__all__ = ["Descent", "Training", "stem_of", "training_of"]

LARGEST_START = 1e5  # of norms and further weights: descents end where they exceed 1e6
MOST_STEPS = 100_000
MOST_BATCHES = 256

Schedule = Any
"""One number for all steps, or one for each step, stored as a tuple; or an array of these, whose
last axis has one number for each step, or a single one."""


class _ByName(Mapping[str, Any]):
    """Numbers by the names of columns, which have a hash and do not change."""

    def __init__(self, numbers: Iterable[tuple[str, Any]]) -> None:
        self._numbers = dict(sorted(numbers))

    def __getitem__(self, name: str) -> Any:
        return self._numbers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __hash__(self) -> int:
        return hash(tuple(self._numbers.items()))

    def __repr__(self) -> str:
        return repr(self._numbers)


def _by_column(name: str, low: float = 0.0, named: bool = False) -> Callable[[Any], Any]:
    """Return the check of a number, an array of numbers, or numbers by the names of columns.

    The numbers of a column may again have names, of signals.
    """

    def numbers(given: Any) -> Any:
        if named and isinstance(given, Mapping):
            return _ByName((str(n), real(name, x, low, LARGEST_VALUE)) for n, x in given.items())
        return reals(name, given, low, LARGEST_VALUE)

    def kept(given: Any) -> Any:
        if not isinstance(given, Mapping):
            return numbers(given)
        return _ByName((str(n), numbers(x)) for n, x in given.items())

    return kept


def _sphere(given: Any) -> bool | tuple[str, ...]:
    if isinstance(given, bool):
        return given
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise InvalidInput("sphere", "True, False or names of columns", given)
    return tuple(names)


def _numbers_or_none(name: str) -> Callable[[Any], Any]:
    return lambda given: None if given is None else reals(name, given)


def _start(given: Any) -> Any:
    return None if given is None else _by_column("start")(given)


def _loss(given: Any) -> Any:
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
    descend : The course of gradient descent in the limit of high dimension.

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
        find=_by_column("rates"),
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
        "and to one another, at most 1e5; by default norms that break the symmetries of the "
        "network",
        default=None,
        find=_start,
        kind="float, array or mapping, optional",
    )
    start_overlaps: Any = parameter(
        "overlaps of the columns with the signals before the first step, beside their random "
        "parts of the norms of the start; also an array of shape (columns, signals), or in a "
        "mapping one number for each signal, or for some of them by name",
        default=0.0,
        find=_by_column("start_overlaps", -LARGEST_VALUE, named=True),
        kind="float, array or mapping",
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
        find=_by_column("decay"),
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
        find=_loss,
        kind="Loss, callable or " + ", ".join(SMOOTH_LOSSES),
    )
    sphere: Any = parameter(
        "columns that keep the norm of the start, all of them or by names: the part of the "
        "gradient along a column is left out, and after the step the column is scaled back",
        default=False,
        find=_sphere,
        kind="bool or sequence of str",
    )


class Training(NamedTuple):
    """A descent with all its settings as numbers, as theory and simulation follow it.

    Attributes
    ----------
    law : TaskLaw
    network : Architecture
    loss : Loss or callable
    alpha : float
    rates : array of shape (steps, m)
    rates_c, momentum : arrays of shape (steps,)
    decay : array of shape (m,)
    sphere : array of shape (m,)
        Whether a column keeps the norm of its start.
    batches : int
    start : array of shape (P + r, m)
        The columns at the start, along the P signals and r orthonormal directions beside them.
    start_c : array of shape (C,)
    """

    law: TaskLaw
    network: Architecture
    loss: Loss | Callable[[Any, Any], Any]
    alpha: float
    rates: Float[np.ndarray, "T m"]
    rates_c: Float[np.ndarray, " T"]
    momentum: Float[np.ndarray, " T"]
    decay: Float[np.ndarray, " m"]
    sphere: Bool[np.ndarray, " m"]
    batches: int
    start: Float[np.ndarray, "P+r m"]
    start_c: Float[np.ndarray, " C"]

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self.rates)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of U."""
        return self.network.column_names(self.law.outputs)

    @property
    def weights(self) -> tuple[str, ...]:
        """The names of the further weights."""
        return self.network.weight_names(self.law.outputs)

    @property
    def moves(self) -> Bool[np.ndarray, "T m"]:
        """The columns that each step moves."""
        return self.rates > 0


def training_of(task: Problem, trained: Descent) -> Training:
    """Return a descent on a task with all its settings as numbers.

    Parameters
    ----------
    task : SparseTokenProblem, ConceptProblem or Task
        Its fields are numbers.
    trained : Descent

    Raises
    ------
    InvalidInput
        If norms, rates or further weights do not fit the network or are too large at the start,
        or the loss or the network does not fit the task.
    """
    training = _of_descent(law_of(task), trained)
    for name, sizes in (
        ("norms of the columns at the start", np.linalg.norm(training.start, axis=0)),
        ("further weights at the start, in size,", np.abs(training.start_c)),
    ):
        if sizes.max(initial=0.0) > LARGEST_START:
            raise InvalidInput(name, f"at most {LARGEST_START:g}", float(sizes.max()))
    if isinstance(task, SparseTokenProblem) and task.position_law is not None:
        _require_symmetric(training, task)
    return training


def require_descent(given: Any) -> None:
    """Raise `InvalidInput` unless a value is a descent."""
    if not isinstance(given, Descent):
        remedy = "Write st.Descent(st.networks.Softmax()), for example."
        raise InvalidInput("descent", "a Descent", given, remedy)


def _of_descent(law: TaskLaw, trained: Any) -> Training:
    require_descent(trained)
    from sparsetoken.model.network_checks import check_network  # with JAX

    names = trained.network.column_names(law.outputs)
    weights = trained.network.weight_names(law.outputs)
    norms = trained.network.start_norms(law.outputs)
    if trained.start is not None:
        norms = tuple(_each("start", trained.start, names).tolist())
    overlaps = _overlaps(trained.start_overlaps, names, law.directions)
    start_c = trained.network.start(law.outputs) if trained.start_c is None else trained.start_c
    if np.shape(start_c) != (len(weights),):
        legal = f"{len(weights)} numbers: {', '.join(weights)}" if weights else "None"
        raise InvalidInput("start_c", legal, start_c)
    law, loss = law_for_loss(law, trained.loss), trained.loss
    alpha = real("alpha", trained.alpha, infinite=True)
    if alpha == math.inf and trained.batches > 1:
        legal = "1 with alpha = inf, where each step has samples of its own"
        raise InvalidInput("batches of a descent", legal, trained.batches)
    training = Training(
        law,
        trained.network,
        loss,
        alpha,
        _schedule(trained.rates, names, trained.steps),
        _over_steps("rate_c", trained.rate_c, trained.steps),
        _over_steps("momentum", trained.momentum, trained.steps),
        _each("decay", trained.decay, names),
        _of_sphere(trained.sphere, names, np.hypot(norms, np.linalg.norm(overlaps, axis=1))),
        trained.batches,
        np.concatenate([overlaps.T, np.diag(norms)[np.array(norms) > 0]]),
        np.array(start_c, dtype=float),
    )
    check_network(training.network, law, training.loss)
    return training


def _require_symmetric(training: Training, problem: SparseTokenProblem) -> None:
    """Raise `InvalidInput` if positions matter and are not uniform."""
    from sparsetoken.model.network_checks import is_symmetric  # with JAX

    law = training.law
    if not is_symmetric(training.network, law.length, law.outputs):
        remedy = (
            "This network depends on the order of tokens; its course is known for uniform "
            "positions only."
        )
        raise InvalidInput("position_law", "None", problem.position_law, remedy)


def law_for_loss(law: TaskLaw, loss: Any) -> TaskLaw:
    """Return the law of a task with a metric, and with classes where the loss asks for them.

    Raises
    ------
    InvalidInput
        If a built-in loss is not one of such targets.
    """
    _require_loss(law, loss)
    if not isinstance(law, OwnLaw):
        return law
    classes = law.classes or not getattr(loss, "real_labels", True)
    return dataclasses.replace(law, metric=law.metric or loss, classes=classes)


def _require_loss(law: TaskLaw, loss: Any) -> None:
    from sparsetoken.losses import Loss

    if not isinstance(loss, Loss):
        return
    y = law.some_targets()
    if law.outputs == 1 and (y.ndim > 1 or not (loss.real_labels or np.isin(y, (-1, 1)).all())):
        got = f"{loss.name}, with targets of another kind"
        remedy = "Numbers need loss='square', of shape (n,), or a function of (score, y)."
        raise InvalidInput("loss of targets that are not -1 or 1", "square", got, remedy)
    if law.outputs > 1 and loss.name != "logistic":
        remedy = "Logistic is then cross-entropy; or give a function of the K scores and the class."
        raise InvalidInput("loss of K > 2 classes", "logistic, or a function", loss.name, remedy)


def _each(name: str, given: Any, columns: tuple[str, ...]) -> Float[np.ndarray, " m"]:
    """Return one number for each column."""
    if isinstance(given, Mapping):
        numbers = _of_names(name, given, columns)
        if any(map(np.ndim, numbers)):
            raise InvalidInput(name, f"{_legal(columns)}, one for each name", dict(given))
        return np.array(numbers)
    array = np.asarray(given, dtype=float)
    if array.shape not in ((), (len(columns),)):
        raise InvalidInput(name, _legal(columns), given)
    return np.broadcast_to(array, (len(columns),)).copy()


def _of_sphere(
    given: bool | tuple[str, ...], columns: tuple[str, ...], norms: np.ndarray
) -> Bool[np.ndarray, " m"]:
    """Return which columns keep their norms, none of which is 0."""
    if isinstance(given, bool):
        chosen = np.full(len(columns), given)
    else:
        unknown = [name for name in given if name not in {*columns, *map(stem_of, columns)}]
        if unknown:
            raise InvalidInput("sphere", f"names among {', '.join(columns)}", unknown[0])
        chosen = np.array([c in given or stem_of(c) in given for c in columns])
    if (norms[chosen] == 0).any():
        name = columns[int(np.flatnonzero(chosen & (norms == 0))[0])]
        raise InvalidInput("sphere", "columns whose start is not 0", name, "Set start.")
    return chosen


def _overlaps(
    given: Any, columns: tuple[str, ...], directions: tuple[str, ...]
) -> Float[np.ndarray, "m P"]:
    signals = len(directions)
    shape = (len(columns), signals)
    if not isinstance(given, Mapping):
        if np.shape(given) == shape:
            return np.array(given)
        return np.repeat(_each("start_overlaps", given, columns)[:, None], signals, axis=1)
    rows = [_along(row, directions) for row in _of_names("start_overlaps", given, columns)]
    if any(np.shape(row) not in ((), (signals,)) for row in rows):
        legal = f"a number for each column, or {signals} numbers, one for each signal"
        raise InvalidInput("start_overlaps", legal, dict(given))
    return np.array([np.broadcast_to(row, signals) for row in rows])


def _along(given: Any, directions: tuple[str, ...]) -> Any:
    """Return the numbers of a column along all signals; those that are not named are 0."""
    if not isinstance(given, Mapping):
        return given
    unknown = given.keys() - {*directions}
    if unknown:
        legal = f"names among {', '.join(directions)}" if directions[0] else "a number"
        raise InvalidInput("start_overlaps", legal, min(unknown))
    return [given.get(name, 0.0) for name in directions]


def _schedule(given: Any, columns: tuple[str, ...], steps: int) -> Float[np.ndarray, "T m"]:
    """Return the rates of all steps."""
    m = len(columns)
    if isinstance(given, Mapping):
        rates = [_over_steps("rates", x, steps) for x in _of_names("rates", given, columns)]
        return np.stack(rates, axis=1)
    array = np.asarray(given, dtype=float)
    if array.shape in ((), (m,), (steps, 1), (steps, m)):
        return np.broadcast_to(array, (steps, m)).copy()
    legal = f"{_legal(columns)}, or an array of shape ({steps}, {m}) or ({steps}, 1)"
    raise InvalidInput("rates", legal, given)


def _over_steps(name: str, given: Any, steps: int) -> Float[np.ndarray, " T"]:
    array = np.asarray(given, dtype=float)
    if array.shape not in ((), (steps,)):
        raise InvalidInput(name, f"a number, or {steps} numbers, one for each step", given)
    return np.broadcast_to(array, (steps,)).copy()


def _legal(columns: tuple[str, ...]) -> str:
    count = len(columns)
    numbers = "a number" if count == 1 else f"a number, or {count} numbers"
    return f"{numbers}, for the columns {', '.join(columns)}"


def stem_of(column: str) -> str:
    """Return the name of a column without its digits, which columns of one kind share."""
    return column.rstrip("0123456789_")


def _of_names(name: str, entries: Mapping[str, Any], columns: tuple[str, ...]) -> list[Any]:
    """Return what each column has in a mapping: of its name, else of its name without digits."""
    stems = [stem_of(column) for column in columns]
    unknown = sorted(entries.keys() - {*columns, *stems})
    missing = [c for c, stem in zip(columns, stems, strict=True) if not entries.keys() & {c, stem}]
    if unknown or missing:
        got = f"no number for {missing[0]}" if missing else f"a number for {unknown[0]}"
        raise InvalidInput(name, _legal(columns), got)
    return [entries.get(c, entries.get(stem)) for c, stem in zip(columns, stems, strict=True)]
