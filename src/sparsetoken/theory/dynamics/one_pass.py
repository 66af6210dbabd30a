"""One pass of stochastic gradient descent: ordinary differential equations for the weights."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.integrate import RK45

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.architectures.base import Architecture, scores_of
from sparsetoken.model.base import Problem
from sparsetoken.model.network_checks import sample_loss
from sparsetoken.model.one_pass import OnePass
from sparsetoken.model.tokens import symmetric_root
from sparsetoken.model.training import Training, training_of
from sparsetoken.numerics.backend import compiled
from sparsetoken.numerics.errors import stated_error
from sparsetoken.results import Status, StatusCode
from sparsetoken.theory.dynamics.follow import (
    FollowedDescent,
    accuracy_of,
    broken_symmetry,
    group_outcomes,
    outcome_of,
    outcome_on_nodes,
    silent_layers,
    status_of,
)
from sparsetoken.theory.dynamics.outcomes import NetworkOutcome, covariances
from sparsetoken.theory.dynamics.replica import States
from sparsetoken.theory.laws.task import Nodes, nodes_of
from sparsetoken.work import map_points

_FIRST, _MOST = 4, 32  # scrambles of the bags
_SIZE, _FEW = 4096, 256  # bags of each of two kinds; fewer for notes and the solver's error
_BLOCK = 64  # bags at once: all that is computed of them stays in the cache
_RTOL = 1e-4  # of the solver; its error is what a tenth of it changes
_LARGEST = 1e6  # squared norm, or further weight
_EVALUATIONS = 5_000  # of the right-hand side in one solution


@dataclasses.dataclass(frozen=True, kw_only=True)
class FollowedPass(FollowedDescent):
    """One pass as far as it is known, whose replicas are scrambles of the bags.

    `solver` is a solution on few bags, and `finer` the same with a tenth of the tolerance of the
    solver; each with its outcome.
    """

    solver: tuple[States, NetworkOutcome]
    finer: tuple[States, NetworkOutcome]

    def error(self, quantity: Any) -> np.ndarray:
        """Return the error of a quantity of the states by scrambles and solver."""
        return np.hypot(super().error(quantity), quantity(self.finer[0]) - quantity(self.solver[0]))

    @property
    def outcome_error(self) -> NetworkOutcome:
        """The errors of the outcome by scrambles, nodes and solver."""
        parts = zip(super().outcome_error, self.finer[1], self.solver[1], strict=True)
        return NetworkOutcome(*(np.hypot(error, fine - rough) for error, fine, rough in parts))


def pass_of(task: Problem, trained: OnePass) -> Training:
    """Return one pass on a task in numbers.

    Raises
    ------
    InvalidInput
        If it does not fit the task, or the tokens are not isotropic.
    """
    training = training_of(task, trained).observing
    if training.task.tokens.dimension is not None:
        remedy = "Or simulate: sparsetoken.simulation.descend takes any tokens."
        raise InvalidInput("tokens of one pass", "isotropic", training.task.tokens, remedy)
    return training


def follow_pass(
    task: Problem, trained: OnePass, tolerance: float, count: int | None, workers: int = 1
) -> FollowedPass:
    """Return one pass, from as many scrambles as a tolerance needs, or from a given number."""
    training = pass_of(task, trained)

    solver = [_solution(training, 0, rtol, _FEW) for rtol in (_RTOL, _RTOL / 10)]
    known = min(len(one.states.loss) for one in solver)
    as_far = training._replace(times=training.times[:known])

    def run(numbers: Sequence[int]) -> list[_Solution]:
        return [_solution(as_far, number) for number in numbers]

    solutions: list[_Solution] = []
    wanted = count or _FIRST
    while True:
        numbers = range(len(solutions), wanted)
        solutions += map_points(run, numbers, call=[], workers=workers, what="replicas")
        found = _together(training, solutions, solver, tolerance)
        if numbers.start == 0:
            broken = _broken_symmetry(as_far, found, tolerance)
        wanted, errors = min(2 * wanted, _MOST), found.outcome_error.test_error
        enough = accuracy_of(training, found.outcome.test_error, errors, tolerance).enough
        # Where a symmetry is broken scrambles differ by chance, of which more do not bring less.
        if count is not None or broken or enough or len(solutions) == wanted:
            silent = silent_layers(as_far, lambda: solver[0].states)
            return dataclasses.replace(found, notes=(*broken, *silent))


def _broken_symmetry(training: Training, found: FollowedPass, tolerance: float) -> tuple[str, ...]:
    """Return what random overlaps of the start would change, with what scrambles have broken."""
    each = found.group_outcomes.test_error[:, -1].mean()
    by_chance = each - outcome_of(found.training, found.states).test_error[-1]

    def few(at: Training) -> States:
        return _solution(at, 0, size=_FEW).states

    return broken_symmetry(training, few, tolerance, float(by_chance))


def _together(
    training: Training,
    solutions: Sequence[_Solution],
    solver: Sequence[_Solution],
    tolerance: float,
) -> FollowedPass:
    """Return what solutions on different bags tell together, as far as all of them go."""
    known = min(len(one.states.loss) for one in (*solutions, *solver))
    parts = zip(*(one.states for one in (*solutions, *solver)), strict=True)
    every = States(*(np.stack([x[:known] for x in part]) for part in parts))
    groups = every.each(lambda x: x[:-2])
    states = groups.each(lambda x: x.mean(axis=0))
    on_nodes = outcome_on_nodes(training, states, tolerance)
    pair = every.each(lambda x: x[-2]), every.each(lambda x: x[-1])
    rough, fine = ((one, outcome_of(training, one)) for one in pair)
    found = FollowedPass(
        training=training,
        replicas=len(solutions),
        states=states,
        groups=groups,
        outcome=on_nodes.each(lambda x: x.mean(axis=0)),
        group_outcomes=group_outcomes(training, groups),
        node_errors=on_nodes.each(stated_error),
        status=Status(StatusCode.CONVERGED),
        solver=rough,
        finer=fine,
    )
    if any(one.stiff for one in (*solutions, *solver)):
        what = f"The equations are stiff: the solver took {_EVALUATIONS} evaluations."
        status = Status(StatusCode.MAX_ITERATIONS, f"{what} Lower the step sizes or decay.")
    else:
        status = status_of(found, known < len(training.times), tolerance)
    return dataclasses.replace(found, status=status)


class _Solution(NamedTuple):
    """The states at all times, or before weights diverge or the solver takes too long."""

    states: States
    stiff: bool


def _solution(
    training: Training, scramble: int, rtol: float = _RTOL, size: int = _SIZE
) -> _Solution:
    """Return the solution on the bags of a scramble.

    Means over bags are in float32, whose rounding is far below what scrambles differ by.
    """
    nodes = nodes_of(training.network, training.task, size, scramble)
    nodes = Nodes(*(x.astype(np.float32) if x.dtype == float else x for x in nodes))
    M, Q = training.start[: nodes.Z.shape[2]].T, training.start.T @ training.start
    start = _Weights(M, Q, training.start_c)

    def velocity(_: float, x: np.ndarray) -> np.ndarray:
        return _packed(velocity_of(training, nodes, start.like(x)))

    times = np.array(training.times)
    solver = RK45(velocity, 0.0, _packed(start), times[-1], rtol=rtol, atol=rtol / 100)
    found, stiff, bounded = [start], False, True
    while solver.status == "running" and bounded and not stiff:
        with np.errstate(invalid="ignore", over="ignore"):  # a step beyond which weights diverge
            solver.step()
        now = start.like(solver.y)
        sizes = np.abs([*np.diagonal(now.Q), *now.c])
        bounded, stiff = bool(sizes.max() <= _LARGEST), solver.nfev > _EVALUATIONS
        if bounded and solver.status != "failed":
            between = solver.dense_output()
            found += [start.like(between(t)) for t in times[len(found) :] if t <= solver.t]
    states = zip(*(_state(training, nodes, one) for one in found), strict=True)
    return _Solution(States(*map(np.array, states)), stiff and len(found) < len(times))


class _Weights(NamedTuple):
    """Overlaps with the signals, Gram matrix and further weights; or their velocities."""

    M: Float[np.ndarray, "m P"]
    Q: Float[np.ndarray, "m m"]
    c: Float[np.ndarray, " C"]

    def like(self, x: Float[np.ndarray, " all"]) -> _Weights:
        """Return what is packed in one array."""
        first, last = self.M.size, self.M.size + self.Q.size
        Q = x[first:last].reshape(self.Q.shape)
        return _Weights(x[:first].reshape(self.M.shape), 0.5 * (Q + Q.T), x[last:])


def _packed(weights: _Weights) -> Float[np.ndarray, " all"]:
    return np.concatenate([part.ravel() for part in weights])


def velocity_of(training: Training, nodes: Nodes, now: _Weights) -> _Weights:
    """Return by how much overlaps, Gram matrix and further weights change per unit of time.

    Equation: one-pass. The last term of that of Q is the noise of single bags.
    """
    rates, decay = training.rates[0], training.decay
    of = _slopes_at(training, nodes, now)
    by_M = rates[:, None] * (of.GZ + of.pull @ now.M + decay[:, None] * now.M)
    by_Q = rates[:, None] * (of.GH + of.pull @ now.Q + decay[:, None] * now.Q)
    noise = rates[:, None] * of.S * rates
    return _Weights(-by_M, -by_Q - by_Q.T + noise, -training.rates_c[0] * of.by_c)


class _Slopes(NamedTuple):
    """Means over bags: loss, G^T Z, G^T H, k^2 G^T G over tokens, F + F^T, slope by c."""

    loss: Any
    GZ: Any
    GH: Any
    S: Any
    pull: Any
    by_c: Any


def _slopes_at(training: Training, nodes: Nodes, now: _Weights) -> _Slopes:
    root = symmetric_root(now.Q - now.M @ now.M.T)
    static = training.network, training.loss, training.task.outputs
    single = _Weights(*(part.astype(np.float32) for part in now))
    return _Slopes(*_slopes(single, root.astype(np.float32), nodes, *static))


@compiled("network", "loss", "outputs")
def _slopes(
    now: _Weights, root: Any, nodes: Nodes, network: Architecture, loss: Any, outputs: int
) -> tuple[Any, ...]:
    import jax  # on first use, as in what follows
    import jax.numpy as jnp

    of_sample = sample_loss(loss, outputs)

    def of_bag(H: Any, c: Any, gram: Any, y: Any) -> Any:
        return of_sample(scores_of(network, H, c, gram, outputs), y)

    def of_block(bags: Nodes) -> tuple[Any, ...]:
        H = bags.Z @ now.M.T + bags.scale[..., None] * (bags.g @ root)
        slopes = jax.vmap(jax.value_and_grad(of_bag, (0, 1, 2)), (0, None, None, 0))
        values, (G, by_c, F) = slopes(H, now.c, now.Q, bags.y)
        w, scaled = bags.weights, bags.scale[..., None] * G
        pull, weighted = jnp.tensordot(w, F, axes=1), w[:, None, None] * G
        return (
            w @ values,
            jnp.einsum("nlj,nlp->jp", weighted, bags.Z),
            jnp.einsum("nlj,nli->ji", weighted, H),
            jnp.einsum("n,nli,nlj->ij", w, scaled, scaled),
            pull + pull.T,
            w @ by_c,
        )

    size = math.gcd(len(nodes.weights), _BLOCK)
    blocks = jax.tree.map(lambda x: x.reshape(len(x) // size, size, *x.shape[1:]), nodes)
    return jax.tree.map(lambda x: x.sum(axis=0), jax.lax.map(of_block, blocks))


def _state(training: Training, nodes: Nodes, now: _Weights) -> States:
    """Return a state of a trajectory, in which the noise has the covariance of the columns."""
    loss = _slopes_at(training, nodes, now).loss
    _, (within,) = covariances(training.task, now.M[None], now.Q[None])
    none = np.zeros_like(within), now.c, np.zeros(len(now.Q))
    return States(np.array(loss), now.M, now.Q, within, *none)
