"""What replicas have in common, and the memory that they take."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.descent import Descent, Training, training_of
from sparsetoken.model.task_law import Problem
from sparsetoken.theory.dynamics.spectrum import ATOMS, Atoms, atoms_of

_SAMPLES = (2048, 1024, 512)  # in half a replica, of all kinds together
_FRESH, _LEAST = 2**16, 128  # in half a replica over all steps, and in each, of fresh samples
_BYTES = 2**29  # of the projections that a replica keeps
# Further rows that each direction beyond the first takes: its coefficients, its noise and its
# projections, those of a user's target included (7 by measurement, whatever their number).
_OF_DIRECTION = 8


class Plan(NamedTuple):
    """All that replicas have in common.

    The size is the number of samples of each kind in half a replica. With `mixing` normals along
    the atoms are made of those along more atoms; otherwise each atom has its own.
    """

    training: Training
    atoms: Atoms
    size: int
    mixing: Float[np.ndarray, "A more"] | None = None


def plan_of(task: Problem, trained: Descent, atoms: int = ATOMS) -> Plan:
    """Return the plan of a descent.

    Raises
    ------
    InvalidInput
        If the descent does not fit the task, or a replica takes too much memory or has too few
        samples for the batches.
    """
    training = training_of(task, trained)
    law, spectrum = training.law, atoms_of(training.law, atoms)
    entries, kinds = law.length + spectrum.has_effect, len(law.rates)
    first, more = len(training.start), len(law.directions) - 1
    fresh = training.alpha == math.inf  # samples in each step, whose gradients have no noise
    rows = len(spectrum.shares) * (first + 2 * int(training.moves.sum()) * (not fresh))
    rows += _OF_DIRECTION * more
    totals = (min(_SAMPLES[0], max(_FRESH // training.steps, _LEAST)),) if fresh else _SAMPLES
    sizes = [2 ** int(math.log2(max(total // kinds, 1))) for total in totals]
    for size in sizes:
        if 2 * size * kinds * entries * rows * 8 <= _BYTES:
            if training.batches > size:
                legal = f"at most {size}, the samples of each kind of bag that are followed"
                raise InvalidInput("batches of a descent", legal, training.batches, "Or simulate.")
            return Plan(training, spectrum, size)
    rows_of_all = _BYTES // (2 * sizes[-1] * kinds * 8)
    remedy = "Memory grows as L times the steps and the columns that they move; take fewer steps, "
    columns, parts = len(training.columns), len(spectrum.shares)
    most = (rows_of_all // entries - 3 * columns * parts) // (_OF_DIRECTION + parts)
    if 0 <= most < more:
        legal = f"at most {most + 1} at length {law.length}"
        raise InvalidInput("directions of a task", legal, more + 1, "Or take shorter bags.")
    free = (rows_of_all // entries - _OF_DIRECTION * more) // parts - more
    if 3 * columns > free:  # a row of the start and two of a step for each
        legal = f"at most {max(free, 0) // 3} at length {law.length}"
        raise InvalidInput("columns of a network", legal, columns, f"{remedy}or simulate.")
    if rows_of_all >= rows:
        legal = f"at most {rows_of_all // rows - spectrum.has_effect} with {training.steps} steps"
        raise InvalidInput("length (L) of a descent", legal, law.length, f"{remedy}or simulate.")
    left = (free + more - first) // 2
    legal = f"at most {left // columns} that move all {columns} columns"
    raise InvalidInput("steps of a descent", legal, training.steps, f"{remedy}or simulate.")
