"""A descent with all its settings as numbers, checked against the task and the network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sparsetoken.base.validation import InvalidInput, real
from sparsetoken.model.architectures.base import Architecture
from sparsetoken.model.base import Problem, check_problem
from sparsetoken.model.course import Course, Previous, WithPrevious, places, previous_of
from sparsetoken.model.descent import Descent
from sparsetoken.model.network_checks import writers_of
from sparsetoken.model.one_pass import OnePass, require_descent
from sparsetoken.model.tokens import symmetric_root

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    from sparsetoken.losses import Loss

__all__ = ["Training", "of_columns", "overlaps_of", "stem_of", "training_of"]

LARGEST_START = 1e5  # of norms and further weights: descents end where they exceed 1e6


class Training(NamedTuple):
    """A descent with all its settings as numbers, as theory and simulation follow it.

    One pass has the settings of a single step, and times.

    Attributes
    ----------
    task : Problem
    network : Architecture
    loss : Loss or callable
    alpha : float
    rates : array of shape (steps, m)
    rates_c, momentum : arrays of shape (steps,)
    decay : array of shape (m,)
    sphere : array of shape (m,)
        Whether a column keeps the norm of its start.
    normalised : array of shape (m,)
        Whether the gradient of a column is divided by its norm.
    batches : int
    start : array of shape (P + r, m)
        The columns at the start, along the P signals and r orthonormal directions beside them.
    start_c : array of shape (C,)
    times : tuple of float
        Of one pass; () of a descent.
    previous : Previous, optional
        The task of a trained start. Of the r directions the first ones are those beside the
        signals that its signals lie along.
    """

    task: Problem
    network: Architecture
    loss: Loss | Callable[[Any, Any], Any]
    alpha: float
    rates: Float[np.ndarray, "T m"]
    rates_c: Float[np.ndarray, " T"]
    momentum: Float[np.ndarray, " T"]
    decay: Float[np.ndarray, " m"]
    sphere: Bool[np.ndarray, " m"]
    normalised: Bool[np.ndarray, " m"]
    batches: int
    start: Float[np.ndarray, "P+r m"]
    start_c: Float[np.ndarray, " C"]
    times: tuple[float, ...] = ()
    previous: Previous | None = None

    @property
    def observing(self) -> Training:
        """The same with the directions of the task before as signals that no token has."""
        if self.previous is None:
            return self
        return self._replace(task=WithPrevious(self.task, len(self.previous.beside)))

    @property
    def along(self) -> tuple[str, np.ndarray]:
        """The dimension of the trajectory, and its coordinate."""
        return ("time", np.array(self.times)) if self.times else ("step", np.arange(self.steps + 1))

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self.rates)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of U."""
        return self.network.column_names(self.task.outputs)

    @property
    def weights(self) -> tuple[str, ...]:
        """The names of the further weights."""
        return self.network.weight_names(self.task.outputs)

    @property
    def moves(self) -> Bool[np.ndarray, "T m"]:
        """The columns that each step moves."""
        return self.rates > 0

    @property
    def writers(self) -> tuple[int, ...]:
        """The columns that layers write along, on which they project no token."""
        return writers_of(self.network, self.task.length, self.task.outputs)

    @property
    def learns(self) -> Bool[np.ndarray, "T m"]:
        """The columns whose gradient may have new directions: no token moves one that writes."""
        return self.moves & ~np.isin(np.arange(len(self.decay)), self.writers)


def training_of(task: Problem, trained: Descent | OnePass) -> Training:
    """Return a descent or one pass on a task with all its settings as numbers.

    Parameters
    ----------
    task : SparseTokenProblem, ConceptProblem or Task
        Its fields are numbers.
    trained : Descent or OnePass

    Raises
    ------
    InvalidInput
        If norms, rates or further weights do not fit the network or are too large at the start,
        or the loss or the network does not fit the task.
    """
    require_descent(trained)
    if isinstance(trained, OnePass):
        return training_of(task, trained.one_step)._replace(times=trained.times)
    check_problem(task)
    network, steps = trained.network, trained.steps
    columns = network.column_names(task.outputs)
    _require_names(columns, task.directions)
    start, start_c, previous = _start_of(task, trained, columns)
    training = Training(
        task=task.for_loss(trained.loss),
        network=network,
        loss=trained.loss,
        alpha=real("alpha", trained.alpha, infinite=True),
        rates=_schedule(trained.rates, columns, steps),
        rates_c=_over_steps("rate_c", trained.rate_c, steps),
        momentum=_over_steps("momentum", trained.momentum, steps),
        decay=of_columns("decay", trained.decay, columns),
        sphere=_of_sphere(trained.sphere, columns, np.linalg.norm(start, axis=0)),
        normalised=_chosen("normalised", trained.normalised, columns),
        batches=trained.batches,
        start=start,
        start_c=start_c,
        previous=previous,
    )
    _check(training)
    return training


def _start_of(
    task: Problem, trained: Descent, columns: tuple[str, ...]
) -> tuple[Float[np.ndarray, "P+r m"], Float[np.ndarray, " C"], Previous | None]:
    """Return columns and further weights at the start, and the task of a trained one."""
    network, course = trained.network, trained.start
    overlaps = overlaps_of(trained.start_overlaps, columns, task.directions)
    if not isinstance(course, Course):
        if trained.signal_cosines is not None:
            raise InvalidInput(
                "signal_cosines",
                "None unless weights of the start are trained",
                trained.signal_cosines,
            )
        norms = network.start_norms(task.outputs) if course is None else course
        beside = _beside(of_columns("start", norms, columns), trained, columns, task.outputs)
        start_c = _further_weights(trained.start_c, network, task.outputs)
        return np.concatenate([overlaps.T, beside]), start_c, None
    if course.problem.outputs != task.outputs:
        legal = f"trained on a task with as many scores as this one, {task.outputs}"
        raise InvalidInput("start", legal, course.problem.outputs)
    previous = previous_of(task, course, trained.signal_cosines)
    at, at_c = (
        _places(course, *names)
        for names in (
            (course.columns, columns, network),
            (course.weights, network.weight_names(task.outputs), network),
        )
    )
    if overlaps[at].any():
        legal = "0 for columns that the start has trained"
        raise InvalidInput("start_overlaps", legal, overlaps[at].tolist())
    if trained.start_c is not None:
        raise InvalidInput(
            "start_c", "None where weights of the start are trained", trained.start_c
        )
    M, Q = np.array(course.overlaps), np.array(course.gram)
    norms = np.array(network.start_norms(task.outputs))
    norms[at], overlaps[at] = 0.0, M @ previous.cosines.T
    along = np.zeros((len(previous.beside) + len(at), len(columns)))
    # Beside the signals of both tasks no direction differs from others.
    along[:, at] = np.concatenate([previous.beside @ M.T, symmetric_root(Q - M @ M.T)])
    start_c = _further_weights(None, network, task.outputs)
    start_c[at_c] = course.c
    rows = overlaps.T, along, _beside(norms, trained, columns, task.outputs)
    return np.concatenate(rows), start_c, previous


def _places(
    course: Course, trained: tuple[str, ...], names: tuple[str, ...], network: Architecture
) -> list[int]:
    """Return where trained columns or weights are among others.

    Raises
    ------
    InvalidInput
        If the network is another one, or has not all of them.
    """
    found, before = places(trained, names), course.trained.network
    if type(before) is not type(network) or -1 in found:
        legal = f"trained weights of a {type(network).__name__} with columns or weights among "
        got = f"{type(before).__name__} with {', '.join(trained)}"
        raise InvalidInput("start", f"{legal}{', '.join(names)}", got)
    return found


def _check(training: Training) -> None:
    """Raise `InvalidInput` unless a network can be trained so from its start."""
    from sparsetoken.model.network_checks import check_network

    check_network(training.network, training.task, training.loss)
    for name, sizes in (
        ("norms of the columns at the start", np.linalg.norm(training.start, axis=0)),
        ("further weights at the start, in size,", np.abs(training.start_c)),
    ):
        if sizes.max(initial=0.0) > LARGEST_START:
            raise InvalidInput(name, f"at most {LARGEST_START:g}", float(sizes.max()))


def _further_weights(given: Any, network: Architecture, outputs: int) -> Float[np.ndarray, " C"]:
    """Return the further weights at the start; by default those of the network."""
    names = network.weight_names(outputs)
    start = network.start(outputs) if given is None else given
    if np.shape(start) != (len(names),):
        legal = f"{len(names)} numbers: {', '.join(names)}" if names else "None"
        raise InvalidInput("start_c", legal, start)
    return np.array(start, dtype=float)


def _require_names(columns: tuple[str, ...], directions: tuple[str, ...]) -> None:
    """Raise `InvalidInput` unless tables can have a column for each overlap and its error."""
    keys = [f"{column}_{direction}" for column in columns for direction in directions]
    if len({*keys, *(f"{key}_se" for key in keys)}) < 2 * len(keys):
        legal = "words that name each overlap, as q_signal, and its error, as q_signal_se, apart"
        raise InvalidInput("columns and directions", legal, (columns, directions))


def of_columns(
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
        got = f"a number for {unknown[0]}" if unknown else f"no number for {missing[0]}"
        raise InvalidInput(name, _legal(columns), got)
    return [entries.get(c, entries.get(stem)) for c, stem in zip(columns, stems, strict=True)]


def stem_of(column: str) -> str:
    """Return the name of a column without its digits, which columns of one kind share."""
    return column.rstrip("0123456789_")


def _legal(columns: tuple[str, ...]) -> str:
    count = len(columns)
    numbers = "a number" if count == 1 else f"a number, or {count} numbers"
    return f"{numbers}, for the columns {', '.join(columns)}"


def overlaps_of(
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
    return of_columns("start_overlaps", given, columns, len(directions), each=each)


def _beside(
    norms: Float[np.ndarray, " m"], trained: Descent, columns: tuple[str, ...], outputs: int
) -> Float[np.ndarray, "r m"]:
    """Return the random parts of the columns at the start, of given norms and cosines."""
    given = trained.start_cosines
    cosines = trained.network.start_cosines(outputs) if given is None else given
    used, C = norms > 0, np.eye(len(columns))
    exact: dict[tuple[int, int], float] = {}
    # Names of columns count more than names without digits.
    for names, cosine in sorted(cosines.items(), key=lambda pair: _exact(pair[0], columns)):
        first, second = (
            [
                i
                for i, c in enumerate(columns)
                if name in ((c,) if name in columns else (stem_of(c),))
            ]
            for name in names
        )
        pairs = [(i, j) for i in first for j in second if i != j]
        if not pairs:
            legal = f"by pairs of different columns among {', '.join(columns)}"
            raise InvalidInput("start_cosines", legal, names)
        for i, j in pairs:
            if given is not None and not used[[i, j]].all():
                name = columns[i if used[j] else j]
                raise InvalidInput("start_cosines", "of columns whose start is not 0", name)
            C[i, j] = C[j, i] = cosine
            pair = (min(i, j), max(i, j))
            if _exact(names, columns) == 2 and exact.setdefault(pair, cosine) != cosine:
                got = {names: cosine, names[::-1]: exact[pair]}
                raise InvalidInput("start_cosines", "one number for each pair of columns", got)
    try:
        root = np.linalg.cholesky(C[np.ix_(used, used)]).T
    except np.linalg.LinAlgError as error:
        legal = "cosines of linearly independent columns"
        raise InvalidInput("start_cosines", legal, dict(cosines), "Lower some.") from error
    beside = np.zeros((used.sum(), len(columns)))
    beside[:, used] = root * norms[used]
    return beside


def _exact(names: tuple[str, str], columns: tuple[str, ...]) -> int:
    return sum(name in columns for name in names)


def _schedule(given: Any, columns: tuple[str, ...], steps: int) -> Float[np.ndarray, "T m"]:
    """Return the rates of all steps."""
    m, shape = len(columns), np.shape(given)
    if shape in ((steps, 1), (steps, m)):
        return np.broadcast_to(np.asarray(given, dtype=float), (steps, m)).copy()
    if len(shape) > 1:
        legal = f"{_legal(columns)}, or an array of shape ({steps}, {m}) or ({steps}, 1)"
        raise InvalidInput("rates", legal, given)
    each = f"or {steps} numbers, one for each step"
    return of_columns("rates", given, columns, steps, each=each).T.copy()


def _over_steps(name: str, given: Any, steps: int) -> Float[np.ndarray, " T"]:
    array = np.asarray(given, dtype=float)
    if array.shape not in ((), (steps,)):
        raise InvalidInput(name, f"a number, or {steps} numbers, one for each step", given)
    return np.broadcast_to(array, (steps,)).copy()


def _chosen(
    name: str, given: bool | tuple[str, ...], columns: tuple[str, ...]
) -> Bool[np.ndarray, " m"]:
    """Return which columns are chosen, all of them or by names, with or without digits."""
    names = given if isinstance(given, tuple) else columns * given
    unknown = [one for one in names if one not in {*columns, *map(stem_of, columns)}]
    if unknown:
        raise InvalidInput(name, f"names among {', '.join(columns)}", unknown[0])
    return np.array([c in names or stem_of(c) in names for c in columns])


def _of_sphere(
    given: bool | tuple[str, ...], columns: tuple[str, ...], norms: np.ndarray
) -> Bool[np.ndarray, " m"]:
    """Return which columns keep their norms, none of which is 0."""
    chosen = _chosen("sphere", given, columns)
    if (norms[chosen] == 0).any():
        name = columns[int(np.flatnonzero(chosen & (norms == 0))[0])]
        raise InvalidInput("sphere", "columns whose start is not 0", name, "Set start.")
    return chosen
