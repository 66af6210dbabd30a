"""Estimators that score each bag by a fit to other folds."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from sparsetoken.base.validation import integer
from sparsetoken.estimators.base import BagEstimator, RandomState
from sparsetoken.estimators.fitting.stacking import fold_numbers
from sparsetoken.estimators.fitting.targets import Targets
from sparsetoken.estimators.inputs import generator_of


class CrossFitted(BagEstimator):
    """An estimator with folds, which hold whole groups."""

    n_folds: int
    random_state: RandomState

    def _folds(
        self, targets: Targets, needed: bool
    ) -> tuple[Int[np.ndarray, " n"], np.random.RandomState]:
        """Return the fold of each bag, one for all if nothing needs two of each class."""
        n_folds, rng = integer("n_folds", self.n_folds, 2), generator_of(self.random_state)
        if not needed:
            return np.zeros(len(targets.given), dtype=int), rng
        return fold_numbers(targets.strata, n_folds, rng, targets.groups), rng
