"""A descent followed in replicas until it is known well enough."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Bool

from sparsetoken.losses import Loss
from sparsetoken.model.base import Problem
from sparsetoken.model.descent import Descent
from sparsetoken.model.stages import SMOOTH_LOSSES
from sparsetoken.model.tokens import TokenCovariance
from sparsetoken.model.training import Training
from sparsetoken.numerics.errors import stated_error
from sparsetoken.results import Status, StatusCode
from sparsetoken.theory.accuracy import Accuracy, allowed_error, relative_to
from sparsetoken.theory.dynamics.outcomes import NetworkOutcome, covariances, network_outcome
from sparsetoken.theory.dynamics.plan import ATOMS, ReplicaPlan, atoms_of, plan_of
from sparsetoken.theory.dynamics.replica import Replica, States, grouped, run_replica, trajectory
from sparsetoken.theory.query.directions import LEAST_DIRECTIONS
from sparsetoken.theory.spectrum import spectrum_of_tokens
from sparsetoken.work import map_points

FIRST_REPLICAS, MOST_REPLICAS = 8, 256
_GROUPS = 16  # of replicas, whose spread gives the errors
_OF_HALVES = 8  # one replica of so many of a group is followed by halves too, the first one
SCRAMBLES, MOST_SCRAMBLES = 16, 128  # of the nodes of the test error
_OF_NODES = 0.5  # of what twice an error may be, as a root of squares; replicas have the rest
_EXPECTED = 0.8  # of the replicas that few ask for, which state larger errors than more of them
_LEAST_KNOWN = 0.3  # relative standard error of a squared norm above which a trajectory is cut
_ERRORS = 4.0  # standard errors, to which an eigenvalue of the population limit is known
_ROUNDING = 1e-9  # of the largest squared norm: less may be missing from positivity
# Overlaps of a start that may break a symmetry; their effect falls as one over the dimension.
_DIMENSION, _DRAWS = 1000, 3
_SILENT = 0.1  # of a cosine, which the samples of half a replica may have by chance
_SEED = 20250932  # any fixed number: the same overlaps in every run


@dataclasses.dataclass(frozen=True)
class FollowedDescent:
    """A descent as far as it is known.

    States are means over replicas, and `groups` means over groups of replicas, with an axis for
    groups in front; `outcome` and `group_outcomes` are those on new bags, and `node_errors` errors
    of the outcome over scrambles of nodes. Notes are on broken symmetries and on covariances that
    few directions carry.
    """

    training: Training
    replicas: int
    states: States
    groups: States
    outcome: NetworkOutcome
    group_outcomes: NetworkOutcome
    node_errors: NetworkOutcome
    status: Status
    notes: tuple[str, ...] = ()

    @property
    def training_loss(self) -> tuple[np.ndarray, np.ndarray]:
        """The training loss and its error.

        Twice a whole less its halves may be below 0, where no built-in loss is. What is moved to 0
        is part of the error.
        """
        loss = self.training.loss
        least = 0.0 if isinstance(loss, Loss) and loss.name in SMOOTH_LOSSES else -math.inf
        moved = np.maximum(least - self.states.loss, 0)
        return self.states.loss + moved, self.error(lambda states: states.loss) + moved

    def error(self, quantity: Callable[[States], np.ndarray]) -> np.ndarray:
        """Return the error of a quantity of the states."""
        return stated_error(quantity(self.groups))

    @property
    def outcome_error(self) -> NetworkOutcome:
        """The errors of the outcome by replicas and nodes."""
        own = zip(self.group_outcomes, self.node_errors, strict=True)
        return NetworkOutcome(*(np.hypot(stated_error(groups), nodes) for groups, nodes in own))


def follow(
    task: Problem, trained: Descent, tolerance: float, count: int | None, workers: int = 1
) -> FollowedDescent:
    """Return a descent, from as many replicas as a tolerance needs, or from a given number.

    A plan says what replicas have in common. Each is a trajectory of `run_replica`; `_followed`
    takes their means, test errors on new bags, and errors from their differences, and `_wanted`
    says how many replicas the tolerance needs, which decides the status in any case.
    """
    plan = plan_of(task, trained)
    training = plan.training
    broken = broken_symmetry(
        training, lambda at: trajectory(plan._replace(training=at), 0, (0,)), tolerance
    )
    silent = silent_layers(training, lambda: trajectory(plan, 0, (0,)))
    notes = (*broken, *silent, *_notes_on_spectrum(training.task))
    replicas = _ran(plan, range(count or FIRST_REPLICAS), workers)
    # Where a symmetry is broken replicas differ by chance, of which more do not bring less.
    while count is None and not broken:
        some = _followed(plan, replicas, tolerance, SCRAMBLES)
        more = _wanted(some, tolerance) - len(replicas)
        if more <= 0:
            break
        replicas += _ran(plan, range(len(replicas), len(replicas) + more), workers)
    return dataclasses.replace(_followed(plan, replicas, tolerance), notes=notes)


def _ran(plan: ReplicaPlan, numbers: range, workers: int) -> list[Replica]:
    """Return replicas."""

    def run(some: Sequence[int]) -> list[Replica]:
        return [run_replica(plan, i, i // _GROUPS % _OF_HALVES == 0) for i in some]

    return map_points(run, numbers, call=[], workers=workers, what="replicas")


def _followed(
    plan: ReplicaPlan, replicas: list[Replica], tolerance: float, most: int = MOST_SCRAMBLES
) -> FollowedDescent:
    """Return what replicas tell together, with at most so many scrambles of nodes."""
    training, groups = plan.training, grouped(replicas, min(_GROUPS, len(replicas)))
    reached = groups.loss.shape[1]
    known = _known(groups, training)
    groups = groups.each(lambda x: x[:, :known])
    states = grouped(replicas, 1).each(lambda x: x[0, :known])
    on_nodes = outcome_on_nodes(training, states, tolerance, most)
    trajectory = FollowedDescent(
        training,
        len(replicas),
        states,
        groups,
        on_nodes.each(lambda x: x.mean(axis=0)),
        group_outcomes(training, groups),
        on_nodes.each(stated_error),
        Status(StatusCode.CONVERGED),
    )
    diverges = max(len(one.whole.loss) for one in replicas) <= training.steps
    status = status_of(trajectory, diverges and known == reached, tolerance)
    chance = _steps_of_chance(replicas, training)[: known - 1]
    if chance.any() and status.code is not StatusCode.NO_LIMIT:
        status = _by_chance(training, chance)
    return dataclasses.replace(trajectory, status=status)


def outcome_of(training: Training, states: States, scramble: int = 0) -> NetworkOutcome:
    """Return the outcome of states on new bags, of the task before too if there is one.

    Equation: previous-task.
    """
    network, previous = training.network, training.previous
    own = network_outcome(network, training.task, *states.weights, scramble)
    if previous is None:
        return own
    overlaps = previous.overlaps(states.overlaps)
    grams = covariances(previous.task, overlaps, states.gram)
    before = network_outcome(network, previous.task, overlaps, grams, states.c, scramble)
    return own._replace(previous=before.test_error)


def group_outcomes(training: Training, groups: States) -> NetworkOutcome:
    """Return the outcomes of groups of replicas, all on the same nodes."""
    count, known = groups.loss.shape
    flat = groups.each(lambda x: x.reshape(count * known, *x.shape[2:]))
    outcome = outcome_of(training, flat)
    return outcome.each(lambda x: x.reshape(count, known))


def outcome_on_nodes(
    training: Training, states: States, tolerance: float, most: int = MOST_SCRAMBLES
) -> NetworkOutcome:
    """Return the outcomes of states, with a leading axis for scrambles of nodes.

    Scrambles are doubled until twice their error is half of what is allowed.
    """
    scrambles: list[NetworkOutcome] = []
    while True:
        numbers = range(len(scrambles), max(2 * len(scrambles), SCRAMBLES))
        scrambles += [outcome_of(training, states, i) for i in numbers]
        outcomes = NetworkOutcome(*map(np.array, zip(*scrambles, strict=True)))
        errors = outcomes.test_error
        excess = accuracy_of(training, errors.mean(axis=0), stated_error(errors), tolerance).excess
        if excess <= _OF_NODES or len(scrambles) >= most:
            return outcomes


def _steps_of_chance(
    replicas: Sequence[Replica], training: Training
) -> Bool[np.ndarray, "steps m"]:
    """Return where a normalised step follows a gradient that is not larger than its noise.

    It is 0 in the limit, or few samples decide, and its direction is by chance. Squared norms are
    S + N on all samples and S + 2 N on halves of them, with N the part of the noise. A gradient
    that is 0 on all samples is no step at all.
    """
    both = [(one.whole.gradients, one.bias.gradients) for one in replicas if one.bias]
    known = min(min(map(len, pair)) for pair in both)
    whole, bias = np.stack([[x[:known] for x in pair] for pair in both], axis=1)
    noise = np.divide(bias, whole, out=np.zeros_like(whole), where=whole > 0)  # N / (S + N)
    # Shares S / (2 S + 3 N) are bounded where norms differ much, as little is left to learn.
    chance = ((1 - noise) / (2 + noise)).mean(axis=0) <= 1 / 5
    used = training.normalised & training.moves[:known]
    return chance[: len(used)] & used


def _by_chance(training: Training, chance: Bool[np.ndarray, "steps m"]) -> Status:
    step = int(chance.any(axis=1).argmax())
    names = ", ".join(np.array(training.columns)[chance[step]])
    return Status(
        StatusCode.APPROXIMATE,
        f"At step {step} the gradients of these columns are not larger than the noise of the "
        f"samples, as they are 0 in the limit or few samples decide: {names}. Normalised, their "
        "directions are by chance, and means over replicas need not be those over data sets. "
        "Leave the columns out of normalised, or start them, and those that read them, with "
        "overlaps or cosines; or simulate.",
    )


def _known(groups: States, training: Training) -> int:
    """Return how many states are known.

    A trajectory that nears a divergence differs from replica to replica. What it has no longer is
    the mean of anything: twice a whole less its halves is then no covariance of the projections.
    The population limit adds no noise to the columns, which may all lie along few directions: an
    eigenvalue is then 0, and known to its standard error only.
    """
    bad = np.zeros(groups.loss.shape[1], dtype=bool)
    own = len(training.task.directions) if training.task.sees_noise else 0  # rows of xi come first
    columns = slice(own, None)
    for grams in (
        groups.gram,
        groups.within[..., columns, columns],
        groups.between[..., columns, columns],
    ):
        mean, error = grams.mean(axis=0), grams.std(axis=0, ddof=1) / math.sqrt(len(grams))
        sizes, errors = (np.diagonal(x, axis1=1, axis2=2) for x in (mean, error))
        bad |= (errors > _LEAST_KNOWN * np.maximum(sizes, 0)).any(axis=1)
        lost = _ROUNDING * sizes.max(axis=1)
        if training.alpha == math.inf:
            lost = lost + _ERRORS * np.linalg.norm(error, axis=(1, 2))
        bad |= np.linalg.eigvalsh(mean)[:, 0] < -lost
    return int(bad.argmax()) if bad.any() else len(bad)


def status_of(trajectory: FollowedDescent, diverges: bool, tolerance: float) -> Status:
    """Return how a trajectory ended, which diverges after its last state or not."""
    training, known = trajectory.training, len(trajectory.states.loss)
    name, along = training.along
    remedy = f"Lower the step sizes{'' if training.times else ' or momentum'}."
    if diverges:
        what = f"The descent diverges at {name} {along[known]:g}; the {name}s before it are kept."
        return Status(StatusCode.NO_LIMIT, f"{what} {remedy}")
    values, errors = trajectory.outcome.test_error, trajectory.outcome_error.test_error
    accuracy = accuracy_of(training, values, errors, tolerance)
    if known == len(along) and accuracy.enough:
        return Status(StatusCode.CONVERGED)
    texts = []
    if known < len(along):
        texts += [
            f"Replicas differ too much from {name} {along[known]:g} on; the {name}s before it are "
            f"kept. {remedy}"
        ]
    if not accuracy.enough:
        texts += [accuracy.status(tolerance, f" with {trajectory.replicas} replicas").remedy]
    return Status(StatusCode.TOLERANCE_NOT_REACHED, " ".join(texts))


def accuracy_of(
    training: Training, test_error: np.ndarray, errors: np.ndarray, tolerance: float
) -> Accuracy:
    """Return the test error that is known worst, over the steps or times."""
    name, along = training.along
    pairs = zip(along.tolist(), test_error.tolist(), strict=False)
    values = {f"test error at {name} {at:g}": value for at, value in pairs}
    allowed = {name: allowed_error(value, tolerance) for name, value in values.items()}
    sizes = {name: relative_to(value) for name, value in values.items()}
    return Accuracy.of(allowed, dict(zip(allowed, errors, strict=True)), sizes)


def _wanted(trajectory: FollowedDescent, tolerance: float) -> int:
    """Return how many replicas the tolerance needs."""
    if trajectory.status.code is not StatusCode.TOLERANCE_NOT_REACHED:
        return trajectory.replicas
    if trajectory.replicas >= MOST_REPLICAS:
        return trajectory.replicas
    errors = stated_error(trajectory.group_outcomes.test_error) / math.sqrt(1 - _OF_NODES**2)
    training = trajectory.training
    excess = accuracy_of(training, trajectory.outcome.test_error, errors, tolerance).excess
    if excess <= 1 and len(errors) > training.steps:
        return trajectory.replicas
    ratio = min(max(excess, 1.0), MOST_REPLICAS) ** 2  # finite where a test error is 0
    wanted = max(_EXPECTED * ratio * trajectory.replicas, trajectory.replicas + 1)
    return min(MOST_REPLICAS, _GROUPS * math.ceil(wanted / _GROUPS))


def broken_symmetry(
    training: Training, run: Callable[[Training], States], tolerance: float, by_chance: float = 0.0
) -> tuple[str, ...]:
    """Return what random overlaps of the start would change, if that is above a tolerance.

    Random columns have overlaps of order 1/sqrt(d) with the signals, which the limit leaves out.
    Columns of networks that depend on their Gram matrix have cosines of this order too. Where a
    symmetry of network and task turns their signs, the test error does not depend on the signs,
    and the overlaps may grow from step to step. So a symmetry is broken where in the
    end the mean effect of both signs is larger than half their difference after any step. Elsewhere
    it is the smaller one, of order 1/d beside 1/sqrt(d). What samples break is added `by_chance`.
    """
    norms = np.linalg.norm(training.start, axis=0)
    rng = np.random.default_rng(_SEED)

    def test_errors(change: np.ndarray) -> np.ndarray:
        start = training.start.copy()
        start[: len(change)] += change
        states = run(training._replace(start=start))
        return network_outcome(training.network, training.task, *states.weights).test_error

    P, with_cosines = len(training.task.directions), training.network.uses_gram
    base, pairs = test_errors(np.zeros((P, len(norms)))), []
    for _ in range(_DRAWS):
        normals = rng.standard_normal((len(training.start) if with_cosines else P, len(norms)))
        normals[P:] *= training.start[P : len(normals)] == 0  # not along the column itself
        change = normals * norms / math.sqrt(_DIMENSION)
        pairs.append([test_errors(sign * change) for sign in (1, -1)])
    known = min(len(base), *(len(errors) for pair in pairs for errors in pair))
    if known == 1:
        return ()
    both = np.array([[errors[1:known] for errors in pair] for pair in pairs])
    shift = float(both[..., -1].mean() - base[known - 1]) + by_chance
    ordinary = np.sqrt(np.mean((both[:, 0] - both[:, 1]) ** 2, axis=0)).max() / 2
    if abs(shift) <= max(tolerance, ordinary):
        return ()
    what, which = ("and cosines ", ", or by start_cosines") if with_cosines else ("", "")
    name, along = training.along
    return (
        f"The limit keeps a symmetry that finite dimensions break: overlaps with the signals, "
        f"{what}as a random start has at d = {_DIMENSION}, change the test error at {name} "
        f"{along[known - 1]:g} by about {shift:+.4f}. Simulate at your dimension, or break the "
        f"symmetry by norms of the start that differ, or by start_overlaps{which}.",
    )


def silent_layers(training: Training, run: Callable[[], States]) -> tuple[str, ...]:
    """Return which layers no other layer reads from the start to the end, if any.

    What is written along a column has projections on others in proportion to their inner products.
    Where these are 0, so are the slopes of what is written, and in the limit they stay 0: a sample
    of a replica leaves cosines of the order of its noise.
    """
    columns = training.columns
    start = training.start.T @ training.start
    np.fill_diagonal(start, 0.0)
    quiet = [j for j in training.writers if not start[j].any()]
    if not quiet:
        return ()
    gram = run().gram
    sizes = np.sqrt(np.maximum(np.diagonal(gram, axis1=1, axis2=2), 1e-300))
    largest = np.abs(gram / (sizes[:, :, None] * sizes[:, None, :]) - np.eye(len(columns))).max(
        axis=(0, 1)
    )
    silent = [columns[j] for j in quiet if largest[j] < _SILENT]
    if not silent:
        return ()
    others = ["q", *columns[::-1]] if "q" in columns else columns[::-1]
    other = next(name for name in (*others, "another") if name not in silent)
    return (
        f"Silent: what is written along {', '.join(silent)} is read by no column, since these are "
        "orthogonal at the start and in the limit stay so. Give start_cosines, such as "
        f"{{({silent[0]!r}, {other!r}): 0.5}}.",
    )


def _notes_on_spectrum(task: Problem) -> tuple[str, ...]:
    """Return that eigenvalues are gathered, or few directions carry the covariance, if so.

    Gradients bring noise x ~ N(0, S), S = S_w + S_b, whose form x^T S x the limit replaces by its
    mean. It varies as among isotropic tokens in tr(S^2)^2 / tr(S^4) dimensions.
    """
    notes: list[str] = []
    if not isinstance(task.tokens, TokenCovariance):
        return ()
    if len(atoms_of(task, ATOMS + 1).shares) > ATOMS:
        notes.append(
            f"Eigenvalues of the covariance are gathered into {ATOMS}, which the "
            "numerical error does not count: test errors on power laws moved by up to 0.003, near "
            "a divergence by more."
        )
    spectrum = spectrum_of_tokens(task.tokens)
    squares = (spectrum.within + spectrum.between) ** 2
    directions = float(squares.sum() ** 2 / (squares @ squares))
    if directions < LEAST_DIRECTIONS:
        notes.append(
            f"About {directions:.2g} directions carry the covariance of the tokens, and the "
            f"trajectory is the limit of many. At d = {task.tokens.dimension} it may differ and "
            "vary between data sets: sparsetoken.simulation.descend follows it there."
        )
    return tuple(notes)
