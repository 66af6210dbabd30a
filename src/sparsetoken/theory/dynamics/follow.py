"""A descent followed in replicas until it is known well enough."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np

from sparsetoken.concepts import Task
from sparsetoken.descents import Descent, Training
from sparsetoken.progress import Progress
from sparsetoken.results import Status, StatusCode
from sparsetoken.theory.dynamics.outcomes import Worth, worth_of
from sparsetoken.theory.dynamics.plan import Plan, plan_of
from sparsetoken.theory.dynamics.replica import States, run_replica, together
from sparsetoken.theory.dynamics.spectrum import ATOMS, mixing
from sparsetoken.theory.dynamics.symmetry import broken_symmetry
from sparsetoken.theory.readout.accuracy import allowed_error
from sparsetoken.validation import InvalidInput

FIRST_REPLICAS, MOST_REPLICAS = 8, 256
_GROUPS = 16  # of replicas, whose spread gives the standard errors
SCRAMBLES, MOST_SCRAMBLES = 16, 128  # of the nodes of the test error
_SAFETY = 1.2  # more replicas than the first ones ask for
_LEAST_KNOWN = 0.3  # relative standard error of a squared length above which a course is cut
MOST_ATOMS = 32
_ROUNDING = 1e-9  # of the largest squared length: less may be missing from positivity


class Gathering(NamedTuple):
    """States of one replica with all atoms and with half as many, and what they are worth."""

    states: States
    worth: Worth

    def until(self, known: int) -> Gathering:
        """Return the first states."""
        return Gathering(
            self.states.each(lambda x: x[:, :known]), self.worth.each(lambda x: x[:, :known])
        )

    @property
    def worth_error(self) -> Worth:
        """The change of the test errors from halving the number of atoms."""
        return self.worth.each(lambda x: np.abs(x[0] - x[1]))


def gathered_plan(
    task: Task, trained: Descent, tolerance: float | None
) -> tuple[Plan, Gathering | None]:
    """Return the plan of a descent, and what tells the error of gathered eigenvalues.

    The atoms are doubled until the error of the test error is half the tolerance, where there is
    one, or memory ends.
    """
    plan = plan_of(task, trained)
    if plan.atoms.exact:
        return plan, None
    count, both = ATOMS, _both(plan, plan_of(task, trained, ATOMS // 2))
    while (
        tolerance is not None
        and both.worth_error.test_error.max() > tolerance / 2
        and count < MOST_ATOMS
    ):
        count *= 2
        try:
            finer = plan_of(task, trained, count)
        except InvalidInput:  # no memory for more
            break
        both = _both(finer, plan)
        plan = finer
    return plan, both


def _both(plan: Plan, coarse: Plan) -> Gathering:
    """Return one replica with the atoms of two plans.

    Both see the same normals, so that the difference is sharp. It is a bound of the error, which
    falls as the square of the distances in an atom.
    """
    coarse = coarse._replace(mixing=mixing(coarse.atoms, plan.atoms), size=plan.size)
    courses = [run_replica(one, 0) for one in (plan, coarse)]
    states = together(courses)
    worths = [worth_of(plan.training.network, plan.training.law, one) for one in courses]
    known = states.loss.shape[1]
    return Gathering(
        states, Worth(*(np.stack([x[:known] for x in part]) for part in zip(*worths, strict=True)))
    )


class Replicas:
    """Runs replicas, and counts them."""

    def __init__(self, executor: Executor | None, progress: Progress) -> None:
        self._map = executor.map if executor is not None else map
        self.progress = progress

    def run(self, plan: Plan, numbers: range) -> Iterator[States]:
        """Yield the courses of replicas."""
        for found in self._map(functools.partial(run_replica, plan), numbers):
            self.progress()
            yield found


@dataclasses.dataclass(frozen=True)
class Followed:
    """A descent as far as it is known.

    States are means over replicas, and `groups` means over groups of replicas, with an axis for
    groups in front; `worth` and `worths` are what they are worth, and `node_errors` standard errors
    of the worth over scrambles of nodes. The gathering tells the error by the atoms of the
    spectrum, where they gather eigenvalues. Notes are on broken symmetries.
    """

    plan: Plan
    replicas: int
    states: States
    groups: States
    worth: Worth
    worths: Worth
    node_errors: Worth
    gathering: Gathering | None
    status: Status
    notes: tuple[str, ...] = ()

    @property
    def training_loss(self) -> tuple[np.ndarray, np.ndarray]:
        """The training loss and its error.

        Twice a whole less its halves may be below 0, where no loss is. What is moved to 0 is part
        of the error.
        """
        moved = np.maximum(-self.states.loss, 0)
        return self.states.loss + moved, self.error(lambda states: states.loss) + moved

    def error(self, quantity: Callable[[States], np.ndarray]) -> np.ndarray:
        """Return the error of a quantity by replicas and the atoms of the spectrum."""
        spread = _standard_error(quantity(self.groups))
        if self.gathering is None:
            return spread
        fine, coarse = quantity(self.gathering.states)
        return np.hypot(spread, fine - coarse)

    @property
    def standard(self) -> Worth:
        """Standard errors over replicas and nodes."""
        own = zip(self.worths, self.node_errors, strict=True)
        return Worth(*(np.hypot(_standard_error(groups), nodes) for groups, nodes in own))

    @property
    def numerical(self) -> Worth:
        """Errors by replicas, nodes and atoms of the spectrum."""
        if self.gathering is None:
            return self.standard
        both = zip(self.standard, self.gathering.worth_error, strict=True)
        return Worth(*(np.hypot(*errors) for errors in both))


def _standard_error(groups: np.ndarray) -> np.ndarray:
    spread: np.ndarray = groups.std(axis=0, ddof=1)
    return spread / math.sqrt(len(groups))


def follow(
    task: Task, trained: Descent, tolerance: float, count: int | None, replicas: Replicas
) -> Followed:
    """Return a descent, from as many replicas as a tolerance needs, or from a given number.

    The tolerance decides the status in any case.
    """
    plan, gathering = gathered_plan(task, trained, tolerance if count is None else None)
    notes = broken_symmetry(plan, tolerance)
    courses = list(replicas.run(plan, range(count or FIRST_REPLICAS)))
    while True:
        found = _followed(plan, courses, gathering, tolerance)
        more = _wanted(found, tolerance) - len(courses)
        # Where a symmetry is broken replicas differ by chance, of which more do not bring less.
        if count is not None or notes or more <= 0:
            return dataclasses.replace(found, notes=notes)
        replicas.progress.expect(more)
        courses += replicas.run(plan, range(len(courses), len(courses) + more))


def _followed(
    plan: Plan, courses: list[States], gathering: Gathering | None, tolerance: float
) -> Followed:
    training, all_courses = plan.training, together(courses)
    places = np.array_split(np.arange(len(courses)), min(_GROUPS, len(courses)))
    groups = all_courses.each(lambda x: np.stack([x[own].mean(axis=0) for own in places]))
    reached = all_courses.loss.shape[1]
    known = _known(groups)
    if gathering is not None:
        known = min(known, gathering.states.loss.shape[1])
        gathering = gathering.until(known)
    groups = groups.each(lambda x: x[:, :known])
    states = all_courses.each(lambda x: x[:, :known].mean(axis=0))
    flat = groups.each(lambda x: x.reshape(len(x) * known, *x.shape[2:]))
    own = worth_of(training.network, training.law, flat)
    scrambles = _on_nodes(training, states, tolerance)
    found = Followed(
        plan,
        len(courses),
        states,
        groups,
        scrambles.each(lambda x: x.mean(axis=0)),
        own.each(lambda x: x.reshape(len(places), known)),
        scrambles.each(_standard_error),
        gathering,
        Status(StatusCode.CONVERGED),
    )
    diverges = max(len(one.loss) for one in courses) <= training.steps
    return dataclasses.replace(
        found, status=_status(found, diverges and known == reached, tolerance)
    )


def _on_nodes(training: Training, states: States, tolerance: float) -> Worth:
    """Return the outcomes of states, with a leading axis for scrambles of nodes.

    Scrambles are doubled until twice their standard error is half of what is allowed.
    """
    worths: list[Worth] = []
    while True:
        numbers = range(len(worths), max(2 * len(worths), SCRAMBLES))
        worths += [worth_of(training.network, training.law, states, i) for i in numbers]
        found = Worth(*map(np.array, zip(*worths, strict=True)))
        errors = found.test_error
        excess = _excess(errors.mean(axis=0), _standard_error(errors), tolerance)
        if excess <= 0.5 or len(worths) >= MOST_SCRAMBLES:
            return found


def _known(groups: States) -> int:
    """Return how many states are known.

    A course that nears a divergence differs from replica to replica. What it has no longer is the
    mean of anything: twice a whole less its halves is then no covariance of the projections.
    """
    bad = np.zeros(groups.loss.shape[1], dtype=bool)
    for grams in (groups.gram, groups.within, groups.between):
        mean = grams.mean(axis=0)
        sizes, errors = (np.diagonal(x, axis1=1, axis2=2) for x in (mean, _standard_error(grams)))
        bad |= (errors > _LEAST_KNOWN * np.maximum(sizes, 0)).any(axis=1)
        bad |= np.linalg.eigvalsh(mean)[:, 0] < -_ROUNDING * sizes.max(axis=1)
    return int(bad.argmax()) if bad.any() else len(bad)


def _status(found: Followed, diverges: bool, tolerance: float) -> Status:
    """Return how a course ended, which diverges after its last state or not."""
    steps, known = found.plan.training.steps, len(found.states.loss)
    if diverges:
        what = f"The descent diverges at step {known}; the steps before it are kept."
        return Status(StatusCode.NO_LIMIT, f"{what} Lower the step sizes or momentum.")
    excess = _excess(found.worth.test_error, found.numerical.test_error, tolerance)
    if known > steps and excess <= 1:
        return Status(StatusCode.CONVERGED)
    text = f"Twice the numerical error is {2 * found.numerical.test_error.max():.2e}"
    needed = 1.1 * excess * tolerance
    text += f"; ask for a tolerance of {needed:.1e}." if tolerance < needed < 1 else "."
    if known <= steps:
        text = (
            f"Replicas differ too much from step {known} on, as near a divergence; the steps "
            f"before it are kept. Lower the step sizes or momentum. {text}"
        )
    return Status(StatusCode.TOLERANCE_NOT_REACHED, text)


def _excess(test_error: np.ndarray, errors: np.ndarray, tolerance: float) -> float:
    """Return how many times twice an error is above what is allowed, at worst."""
    allowed = [allowed_error(float(value), tolerance) for value in test_error]
    return float(np.max(2 * errors / np.maximum(allowed, 1e-300)))


def _wanted(found: Followed, tolerance: float) -> int:
    """Return how many replicas the tolerance needs."""
    if found.status.code is not StatusCode.TOLERANCE_NOT_REACHED:
        return found.replicas
    if found.replicas >= MOST_REPLICAS:
        return found.replicas
    excess = _excess(found.worth.test_error, found.standard.test_error, tolerance)
    ratio = min(max(excess, 1.0), MOST_REPLICAS) ** 2  # finite where a test error is 0
    return min(MOST_REPLICAS, _GROUPS * math.ceil(_SAFETY * ratio * found.replicas / _GROUPS))
