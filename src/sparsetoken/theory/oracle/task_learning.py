"""Bayes-optimal learning of any task from finite data, by importance sampling.

Letters: Q is the overlap of the xi_p and their posterior means. Tokens are divided by their scales:
t are the coefficients of a token over its scale, u ~ N(Q t, Q) its projections on the posterior
means, and u + (I - Q) t + (I - Q)^(1/2) z those on the xi_p.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Shaped

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.base import Latent, Problem
from sparsetoken.model.task import Task
from sparsetoken.theory.oracle.task_bags import (
    Draws,
    all_hypotheses,
    comparable,
    drawn,
    drawn_hypotheses,
    in_order,
)

_BAGS = 4  # planted for each hypothesis: they make most of the error
_PAIRS = 2**14  # of bags and hypotheses, held at a time
_SLIGHT = 1e-9  # of the weight: a half with less is taken to be as the whole
_LOW, _HIGH = 0.01, 0.99  # overlaps at which iterations start
_COARSE = 4  # times fewer points while the solution is far
_FAR, _NEAR = (1e-2, 100), (3e-3, 40)  # relative change that ends an iteration, most steps
_MOST = 1e12  # information: more of it is lost in the rounding of Q
_ABSOLUTE = 1e-5  # such a change, beside the relative one
_SHRINKING = 0.8  # ratio of steps below which secants are taken
_SAME = 0.01  # overlaps of solutions that are one
_LINE = 17  # points of the free energy between two solutions
_TRIED = ((0.0, 1.0), (0.3, -1.0), (-2.0, 0.5), (3.0, 3.0))  # outputs and targets


class LearnerState(NamedTuple):
    """What the draws of one scramble give."""

    overlap: Float[np.ndarray, "P P"]
    reachable: Float[np.ndarray, "P P"]
    test_error: float
    change: float  # of the error from a quarter of the points
    oracle_error: float
    converged: bool


def check_metric(task: Problem) -> None:
    """Raise `InvalidInput` unless the metric of a task has a Bayes-optimal error."""
    if task.metric == "error":
        return
    square = task.outputs == 1 and callable(task.metric)
    if not (square and all(np.isclose(task.metric(a, y), (a - y) ** 2) for a, y in _TRIED)):
        legal = '"error", or a function (output - y)**2, for its Bayes-optimal value'
        raise InvalidInput("metric of a task", legal, task.metric)


def solve(
    task: Problem,
    alpha: float,
    points: int,
    rng: np.random.Generator,
    done: Callable[[float], None],
) -> LearnerState:
    """Return the solution by the draws of one scramble.

    Equation: task-bayes-learner.
    """
    coarse, learner = _Learner(task, points // _COARSE, rng), _Learner(task, points, rng)
    unit = np.eye(len(task.directions))
    ends = []
    for start in (_LOW, _HIGH):
        ends.append(_iterate(coarse, alpha, start * unit, _FAR)[0])
        done(0.2)
    one = np.abs(ends[1] - ends[0]).max() <= _SAME
    found = [_iterate(learner, alpha, end, _NEAR) for end in ends[: 2 - one]]
    low, high = found[0][0], found[-1][0]
    more = np.abs(high - low).max() > _SAME and _free_energy(learner, alpha, low, high) > 0
    best, rough = (high, ends[1]) if more else (low, ends[0])
    done(0.5)
    error, oracle = learner.test_error(best), learner.test_error(unit)
    change = error - coarse.test_error(rough)
    done(0.1)
    return LearnerState(best, low, error, change, oracle, all(ended for _, ended in found))


def _iterate(
    learner: _Learner, alpha: float, Q: np.ndarray, rule: tuple[float, int]
) -> tuple[Float[np.ndarray, "P P"], bool]:
    """Return the overlap at which state evolution ends, and whether it does.

    Secants shorten the end; far from it they might leap to another solution.
    """
    step = last = np.zeros(Q.shape)
    for _ in range(rule[1]):
        information = alpha * learner.information(Q)
        new = _of_eigenvalues(information, lambda x: (y := np.clip(x, 0, _MOST)) / (1 + y))
        before, step = step, new - Q
        kept = np.diag(new)
        if np.abs(step).max() <= _ABSOLUTE + rule[0] * min(kept.min(), 1 - kept.max()):
            return new, True
        bend, Q = step - before, new
        if rule is _NEAR and abs(np.sum(step * before)) < _SHRINKING * np.sum(before**2):
            leap = new - np.sum(step * bend) / np.sum(bend**2) * (new - last)
            Q = _of_eigenvalues(leap, lambda x: np.clip(x, 0, 1 - _ABSOLUTE))
        last = new
    return Q, False


def _free_energy(learner: _Learner, alpha: float, low: np.ndarray, high: np.ndarray) -> float:
    """Return how far the free energy of the second overlap is above that of the first."""
    unit, slopes = np.eye(len(low)), []
    for share in np.linspace(0, 1, _LINE):
        Q = low + share * (high - low)
        excess = alpha * learner.information(Q) + unit - np.linalg.inv(unit - Q)
        slopes.append(0.5 * np.sum(excess * (high - low)))
    return float(np.trapezoid(slopes, dx=1 / (_LINE - 1)))


class _Learner:
    """The Bayes-optimal learner, by planted bags and hypotheses on their latent variables.

    Where targets do not see the noise and all hypotheses are few, these are listed. Else they are
    drawn, and means over them are ratios of means, with a bias of the order 1 over their number.
    The jackknife removes it: twice the number from all, less the mean of that from each half.
    """

    def __init__(self, task: Problem, points: int, rng: np.random.Generator) -> None:
        self.task, self.real, K = task, task.metric != "error", task.outputs
        self.classes = (-1, 1) if K == 1 else tuple(range(K))
        if task.sees_noise and not self.real:
            points //= 2  # targets of all pairs take long; a number rules out most hypotheses
        bags = drawn(task, points if self.real else _BAGS * points, 1 + self.real, rng)
        listed = None if task.sees_noise else all_hypotheses(task, _BAGS * points, rng)
        self.hypotheses = listed or drawn_hypotheses(task, points, rng)
        self.parts = functools.partial(_parts, halves=listed is None)
        self.bags, self.alike = comparable(bags, self.hypotheses)
        latent, t = self.hypotheses.latent, self.hypotheses.t
        self.scale = in_order(self.hypotheses, self.hypotheses.scale[..., None])
        self.step = max(_PAIRS // len(t), 1)
        self.repeated = {
            name: np.concatenate([entry] * self.step) for name, entry in latent.items()
        }
        self.sure = None if task.sees_noise else task.targets(latent, t)[None]

    def information(self, Q: Float[np.ndarray, "P P"]) -> Float[np.ndarray, "P P"]:
        """Return the information of a bag on the xi_p, Gamma."""
        P, t, z = len(Q), self.hypotheses.t, self.hypotheses.normals
        signal = t + z.sum(axis=2) @ _power(np.eye(P) - Q, -0.5) if z.size else t
        signal = signal.reshape(len(t), -1)
        y = self._planted_numbers(Q) if self.real else None
        sums = 0.0
        for rows, weights, seen in self._posteriors(Q):
            total = self.parts(weights)
            for one in self._with_target(None if y is None else y[rows], weights, seen):
                chance = self.parts(one)
                share = 1.0 if self.real else _ratio(chance, total)
                g = _ratio(self.parts(one, signal), chance[..., None]).reshape(*chance.shape, -1, P)
                share = (share * self.bags.weight[rows])[..., None, None]
                sums = sums + np.einsum("bnlp,bnlq->bpq", share * g, g, optimize=True)
        return _jackknife(sums)

    def test_error(self, Q: Float[np.ndarray, "P P"]) -> float:
        """Return the error on a new bag, of the posterior mean or of the likeliest class."""
        errors = 0.0
        for rows, weights, seen in self._posteriors(Q):
            total, y = self.parts(weights), seen(self._target)
            if self.real:
                mean, square = (_ratio(self.parts(weights * y**k), total) for k in (1, 2))
                error = square - mean**2
            else:
                chances = [_ratio(self.parts(weights * (y == k)), total) for k in self.classes]
                error = 1 - np.max(chances, axis=0)
            errors = errors + error @ self.bags.weight[rows]
        return float(_jackknife(errors))

    def _posteriors(
        self, Q: np.ndarray
    ) -> Iterator[tuple[slice, Float[np.ndarray, "m H"], Callable[[Any], np.ndarray]]]:
        """Yield some bags at a time: the weights of their hypotheses, and a map over the pairs."""
        t, u = self.hypotheses.t, self._projections(Q)
        shift = in_order(self.hypotheses, _unknown(self.hypotheses, 0, Q))
        prior = np.log(self.hypotheses.weight) - 0.5 * np.einsum("hlp,pq,hlq->h", t, Q, t)
        for start in range(0, len(u), self.step):
            rows = slice(start, start + self.step)
            few = u[rows]
            logs = few.reshape(len(few), -1) @ t.reshape(len(t), -1).T + prior
            if self.alike is not None:
                logs[self.alike[0][rows, None] != self.alike[1]] = -np.inf
            weights = np.exp(logs - logs.max(axis=1, keepdims=True))
            yield rows, weights, functools.partial(self._over_pairs, few, shift)

    def _projections(self, Q: np.ndarray) -> Float[np.ndarray, "n L P"]:
        """Return u of the planted bags."""
        return self.bags.t @ Q + self.bags.normals[:, :, 0] @ _power(Q, 0.5)

    def _over_pairs(
        self, u: np.ndarray, shift: np.ndarray, function: Callable[..., Any]
    ) -> Shaped[np.ndarray, "m H"]:
        """Return a function of the bag, latent variables and Z, for each bag and hypothesis."""
        if self.sure is not None:
            return self.sure
        H, m = self.hypotheses, len(u)
        Z = np.take(u, H.back, axis=1)
        Z += shift
        Z *= self.scale
        latent = {name: entry[: m * len(shift)] for name, entry in self.repeated.items()}
        bag = np.repeat(np.arange(m), len(shift))
        return function(bag, latent, Z.reshape(-1, *Z.shape[2:])).reshape(m, -1)

    def _target(self, bag: np.ndarray, latent: Latent, Z: np.ndarray) -> np.ndarray:
        return self.task.targets(latent, Z)

    def _with_target(
        self, y: np.ndarray | None, weights: np.ndarray, seen: Callable[[Any], np.ndarray]
    ) -> Iterator[Float[np.ndarray, "m H"]]:
        """Yield the weights with each target: every class, or the numbers of planted bags."""
        if y is not None:
            task = self.task
            assert isinstance(task, Task)  # the targets of others are classes
            yield weights * seen(lambda bag, *rest: task.density(y[bag], *rest))
            return
        classes = seen(self._target)
        yield from (weights * (classes == k) for k in self.classes)

    def _planted_numbers(self, Q: np.ndarray) -> Float[np.ndarray, " n"]:
        tokens = self._projections(Q) + _unknown(self.bags, 1, Q)
        Z = in_order(self.bags, self.bags.scale[..., None] * tokens)
        return self.task.targets(self.bags.latent, Z)


def _unknown(draws: Draws, which: int, Q: np.ndarray) -> Float[np.ndarray, "n L P"]:
    """Return projections on what of the xi_p is unknown."""
    rest = np.eye(len(Q)) - Q
    noise = draws.normals[:, :, which] @ _power(rest, 0.5) if draws.normals.size else 0.0
    return draws.t @ rest + noise


def _parts(
    weights: Float[np.ndarray, "m H"],
    values: Float[np.ndarray, "H k"] | None = None,
    *,
    halves: bool,
) -> Float[np.ndarray, "parts m *k"]:
    """Return sums of values over all hypotheses and, where they are drawn, over each half."""
    values = np.ones(weights.shape[1]) if values is None else values
    if not halves:
        return (weights @ values)[None]
    half = len(values) // 2
    first, last = weights[:, :half] @ values[:half], weights[:, half:] @ values[half:]
    whole = first + last
    return np.stack([whole, first + _SLIGHT * whole, last + _SLIGHT * whole])


def _jackknife(parts: Any) -> Any:
    return parts[0] if len(parts) == 1 else 2 * parts[0] - parts[1:].mean(axis=0)


def _ratio(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the ratio, 0 where the other number is 0."""
    shape = np.broadcast_shapes(one.shape, other.shape)
    return np.divide(one, other, out=np.zeros(shape), where=other > 0)


def _power(matrix: Float[np.ndarray, "P P"], exponent: float) -> Float[np.ndarray, "P P"]:
    """Return a power of a matrix that is positive but for rounding."""
    return _of_eigenvalues(matrix, lambda x: np.maximum(x, 1e-300) ** exponent)


def _of_eigenvalues(
    matrix: Float[np.ndarray, "P P"], function: Callable[[np.ndarray], np.ndarray]
) -> Float[np.ndarray, "P P"]:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * function(values)) @ vectors.T
