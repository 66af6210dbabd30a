"""What replicas have in common: the tokens' spectrum in a few atoms, and the memory they take."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.base import Problem
from sparsetoken.model.descent import Descent
from sparsetoken.model.tokens import TokenCovariance, symmetric_root
from sparsetoken.model.training import Training, training_of
from sparsetoken.theory.spectrum import spectrum_of_tokens

_SAMPLES = (2048, 1024, 512)  # in half a replica, of all kinds together
_FRESH, _LEAST = 2**16, 128  # in half a replica over all steps, and in each, of fresh samples
_BYTES = 2**28  # of the projections that a replica keeps
# Further rows that each direction beyond the first takes: its coefficients, its noise and its
# projections, those of a user's target included (7 by measurement, whatever their number).
_OF_DIRECTION = 8

ATOMS = 16
"""Into which a spectrum of more eigenvalues is gathered.

Measured on the population loss, on power laws with stable step sizes, as the largest difference
from 64 atoms in the test errors of 6 to 12 steps: 0.0013, 0.0010, 0.0011 and 0.0005 for exponents
1/4, 1/2, 1 and 3/2 at d = 600, with standard errors of 0.0004 to 0.0010, and 0.003 +- 0.003 for 1/2
at d = 2000. With 8 atoms they are up to 0.006, with 32 up to 0.0014. With n = 2.5 d samples the
last steps differ by 0.0003 to 0.002, with errors of as much. Near a divergence it is more.
"""

_ROUNDING = 1e-10  # of the largest eigenvalue: those that differ by less are one


class Atoms(NamedTuple):
    """Blocks of directions in which the tokens have the same variances.

    Attributes
    ----------
    shares : array of shape (A,)
        omega, shares of the directions, which add up to 1.
    within, between : arrays of shape (A,)
        Eigenvalues of the covariances within bags, and of what the tokens of a bag share.
    signals : array of shape (A, P, P)
        The parts of xi_p in each atom, as columns in coordinates of P orthonormal directions.
    """

    shares: Float[np.ndarray, " A"]
    within: Float[np.ndarray, " A"]
    between: Float[np.ndarray, " A"]
    signals: Float[np.ndarray, "A P P"]

    @property
    def has_effect(self) -> bool:
        """Whether the tokens of a bag share an effect."""
        return bool(self.between.any())


class ReplicaPlan(NamedTuple):
    """All that replicas have in common.

    The size is the number of samples of each kind in half a replica.
    """

    training: Training
    atoms: Atoms
    size: int


def plan_of(task: Problem, trained: Descent) -> ReplicaPlan:
    """Return the plan of a descent.

    Raises
    ------
    InvalidInput
        If the descent does not fit the task, or a replica takes too much memory or has too few
        samples for the batches.
    """
    training = training_of(task, trained).observing
    task, spectrum = training.task, atoms_of(training.task)
    entries, kinds = task.length + spectrum.has_effect, len(task.rates)
    first, more = len(training.start), len(task.directions) - 1
    fresh = training.alpha == math.inf  # samples in each step, whose gradients have no noise
    rows = len(spectrum.shares) * (first + 2 * int(training.learns.sum()) * (not fresh))
    rows += _OF_DIRECTION * more
    totals = (min(_SAMPLES[0], max(_FRESH // training.steps, _LEAST)),) if fresh else _SAMPLES
    sizes = [2 ** int(math.log2(max(total // kinds, 1))) for total in totals]
    for size in sizes:
        if 2 * size * kinds * entries * rows * 4 <= _BYTES:
            if training.batches > size:
                legal = f"at most {size}, the samples of each kind of bag that are followed"
                raise InvalidInput("batches of a descent", legal, training.batches, "Or simulate.")
            return ReplicaPlan(training, spectrum, size)
    rows_of_all = _BYTES // (2 * sizes[-1] * kinds * 4)
    remedy = "Memory grows as L times the steps and the columns that they move; take fewer steps, "
    columns, parts = len(training.columns), len(spectrum.shares)
    most = (rows_of_all // entries - 3 * columns * parts) // (_OF_DIRECTION + parts)
    if 0 <= most < more:
        legal = f"at most {most + 1} at length {task.length}"
        raise InvalidInput("directions of a task", legal, more + 1, "Or take shorter bags.")
    free = (rows_of_all // entries - _OF_DIRECTION * more) // parts - more
    if 3 * columns > free:  # a row of the start and two of a step for each
        legal = f"at most {max(free, 0) // 3} at length {task.length}"
        raise InvalidInput("columns of a network", legal, columns, f"{remedy}or simulate.")
    if rows_of_all >= rows:
        legal = f"at most {rows_of_all // rows - spectrum.has_effect} with {training.steps} steps"
        raise InvalidInput("length (L) of a descent", legal, task.length, f"{remedy}or simulate.")
    left = (free + more - first) // 2
    legal = f"at most {left // columns} that move all {columns} columns"
    raise InvalidInput("steps of a descent", legal, training.steps, f"{remedy}or simulate.")


def atoms_of(task: Problem, most: int = ATOMS) -> Atoms:
    """Return the atoms of the tokens of a task, at most so many."""
    spectrum = spectrum_of_tokens(task.tokens)
    if isinstance(task.tokens, TokenCovariance):
        signals = np.atleast_2d(spectrum.signal)
        return _gathered(spectrum.within, spectrum.between, signals, most)
    one, P = np.ones(1), len(task.directions)
    return Atoms(one, one, np.zeros(1), np.eye(P)[None])


def _gathered(
    within: Float[np.ndarray, " d"],
    between: Float[np.ndarray, " d"],
    signals: Float[np.ndarray, "P d"],
    most: int,
) -> Atoms:
    """Gather eigenvalues that are alike.

    Steps of descent in a direction are powers of 1 - rate x slope x eigenvalue, which have the same
    scale along the whole spectrum, and whose largest eigenvalues decide what is stable. So the
    group whose eigenvalues differ most is cut next, in the middle of its range.
    """
    points = np.stack([within, between], axis=1)
    alike = _ROUNDING * points.max()
    parts = [np.arange(len(within))]
    while len(parts) < most:
        ranges = np.array([np.ptp(points[own], axis=0) for own in parts])
        part, axis = np.unravel_index(np.argmax(ranges), ranges.shape)
        if ranges[part, axis] <= alike:
            break
        own = parts[part]
        values = points[own, axis]
        above = values > (values.min() + values.max() + alike) / 2
        parts[part] = own[~above]
        parts.append(own[above])
    parts.sort(key=lambda own: tuple(points[own[0]]))
    group = np.empty(len(within), dtype=int)
    for number, own in enumerate(parts):
        group[own] = number
    count = np.bincount(group)
    return Atoms(
        count / len(within),
        np.bincount(group, within) / count,
        np.bincount(group, between) / count,
        np.array([symmetric_root(xi @ xi.T) for xi in (signals[:, own] for own in parts)]),
    )
