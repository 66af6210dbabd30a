"""Gradient descent on all weights of a network, as a value, and the numbers of each step."""

from __future__ import annotations

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
from sparsetoken.model.stages import SMOOTH_LOSSES, smooth_loss
from sparsetoken.model.task_law import Problem, TaskLaw, law_for_loss, law_of

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

    def _check_together(self) -> None:
        if self.batches > 1 and np.isinf(self.alpha).any():
            legal = "1 with alpha = inf, where each step has samples of its own"
            raise InvalidInput("batches", legal, self.batches)


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
    law = law_of(task)
    require_descent(trained)
    from sparsetoken.model.network_checks import check_network, is_symmetric  # with JAX

    network, steps, loss = trained.network, trained.steps, trained.loss
    columns, weights = network.column_names(law.outputs), network.weight_names(law.outputs)
    _require_names(columns, law.directions)
    norms = network.start_norms(law.outputs) if trained.start is None else trained.start
    norms = _of_columns("start", norms, columns)
    overlaps = _overlaps(trained.start_overlaps, columns, law.directions)
    start_c = network.start(law.outputs) if trained.start_c is None else trained.start_c
    if np.shape(start_c) != (len(weights),):
        legal = f"{len(weights)} numbers: {', '.join(weights)}" if weights else "None"
        raise InvalidInput("start_c", legal, start_c)
    alpha = real("alpha", trained.alpha, infinite=True)
    training = Training(
        law_for_loss(law, loss),
        network,
        loss,
        alpha,
        _schedule(trained.rates, columns, steps),
        _over_steps("rate_c", trained.rate_c, steps),
        _over_steps("momentum", trained.momentum, steps),
        _of_columns("decay", trained.decay, columns),
        _of_sphere(trained.sphere, columns, np.hypot(norms, np.linalg.norm(overlaps, axis=1))),
        trained.batches,
        np.concatenate([overlaps.T, np.diag(norms)[norms > 0]]),
        np.array(start_c, dtype=float),
    )
    check_network(network, training.law, loss)
    for name, sizes in (
        ("norms of the columns at the start", np.linalg.norm(training.start, axis=0)),
        ("further weights at the start, in size,", np.abs(training.start_c)),
    ):
        if sizes.max(initial=0.0) > LARGEST_START:
            raise InvalidInput(name, f"at most {LARGEST_START:g}", float(sizes.max()))
    positions = getattr(task, "position_law", None)
    if positions is not None and not is_symmetric(network, law.length, law.outputs):
        remedy = (
            "This network depends on the order of tokens; its course is known for uniform "
            "positions only."
        )
        raise InvalidInput("position_law", "None", positions, remedy)
    return training


def require_descent(given: Any) -> None:
    """Raise `InvalidInput` unless a value is a descent."""
    if not isinstance(given, Descent):
        remedy = "Write st.Descent(st.networks.Softmax()), for example."
        raise InvalidInput("descent", "a Descent", given, remedy)


def _require_names(columns: tuple[str, ...], directions: tuple[str, ...]) -> None:
    """Raise `InvalidInput` unless tables can have a column for each overlap and its error."""
    keys = [f"{column}_{direction}" for column in columns for direction in directions]
    if len({*keys, *(f"{key}_se" for key in keys)}) < 2 * len(keys):
        legal = "words that name each overlap, as q_signal, and its error, as q_signal_se, apart"
        raise InvalidInput("columns and directions", legal, (columns, directions))


def _of_columns(
    name: str, given: Any, columns: tuple[str, ...], *shape: int, each: str = "one for each name"
) -> Float[np.ndarray, "m ..."]:
    """Return the numbers of all columns, each of which has a number or an array of a shape."""
    m = len(columns)
    if not isinstance(given, Mapping):
        array = np.asarray(given, dtype=float)
        if array.shape == (m, *shape):
            return array.copy()
        if array.shape not in ((), (m,)):
            raise InvalidInput(name, _legal(columns), given)
        rows = [*np.broadcast_to(array, m)]
    else:
        rows = [np.asarray(row, dtype=float) for row in _of_names(name, given, columns)]
        if any(row.shape not in ((), shape) for row in rows):
            raise InvalidInput(name, f"{_legal(columns)}, {each}", dict(given))
    return np.stack([np.broadcast_to(row, shape) for row in rows])


def _of_names(name: str, entries: Mapping[str, Any], columns: tuple[str, ...]) -> list[Any]:
    """Return what each column has in a mapping: of its name, else of its name without digits."""
    stems = [stem_of(column) for column in columns]
    unknown = sorted(entries.keys() - {*columns, *stems})
    missing = [c for c, stem in zip(columns, stems, strict=True) if not entries.keys() & {c, stem}]
    if unknown or missing:
        got = f"no number for {missing[0]}" if missing else f"a number for {unknown[0]}"
        raise InvalidInput(name, _legal(columns), got)
    return [entries.get(c, entries.get(stem)) for c, stem in zip(columns, stems, strict=True)]


def stem_of(column: str) -> str:
    """Return the name of a column without its digits, which columns of one kind share."""
    return column.rstrip("0123456789_")


def _legal(columns: tuple[str, ...]) -> str:
    count = len(columns)
    numbers = "a number" if count == 1 else f"a number, or {count} numbers"
    return f"{numbers}, for the columns {', '.join(columns)}"


def _overlaps(
    given: Any, columns: tuple[str, ...], directions: tuple[str, ...]
) -> Float[np.ndarray, "m P"]:
    """Return the overlaps at the start; those with directions that are not named are 0."""
    if isinstance(given, Mapping):
        named = {n for row in given.values() if isinstance(row, Mapping) for n in row}
        if named - {*directions}:
            legal = f"names among {', '.join(directions)}" if directions[0] else "a number"
            raise InvalidInput("start_overlaps", legal, min(named - {*directions}))
        given = {
            column: [row.get(p, 0.0) for p in directions] if isinstance(row, Mapping) else row
            for column, row in given.items()
        }
    each = f"or {len(directions)} numbers, one for each signal"
    return _of_columns("start_overlaps", given, columns, len(directions), each=each)


def _schedule(given: Any, columns: tuple[str, ...], steps: int) -> Float[np.ndarray, "T m"]:
    """Return the rates of all steps."""
    m, shape = len(columns), np.shape(given)
    if shape in ((steps, 1), (steps, m)):
        return np.broadcast_to(np.asarray(given, dtype=float), (steps, m)).copy()
    if len(shape) > 1:
        legal = f"{_legal(columns)}, or an array of shape ({steps}, {m}) or ({steps}, 1)"
        raise InvalidInput("rates", legal, given)
    each = f"or {steps} numbers, one for each step"
    return _of_columns("rates", given, columns, steps, each=each).T.copy()


def _over_steps(name: str, given: Any, steps: int) -> Float[np.ndarray, " T"]:
    array = np.asarray(given, dtype=float)
    if array.shape not in ((), (steps,)):
        raise InvalidInput(name, f"a number, or {steps} numbers, one for each step", given)
    return np.broadcast_to(array, (steps,)).copy()


def _of_sphere(
    given: bool | tuple[str, ...], columns: tuple[str, ...], norms: np.ndarray
) -> Bool[np.ndarray, " m"]:
    """Return which columns keep their norms, none of which is 0."""
    names = given if isinstance(given, tuple) else columns * given
    unknown = [name for name in names if name not in {*columns, *map(stem_of, columns)}]
    if unknown:
        raise InvalidInput("sphere", f"names among {', '.join(columns)}", unknown[0])
    chosen = np.array([c in names or stem_of(c) in names for c in columns])
    if (norms[chosen] == 0).any():
        name = columns[int(np.flatnonzero(chosen & (norms == 0))[0])]
        raise InvalidInput("sphere", "columns whose start is not 0", name, "Set start.")
    return chosen
