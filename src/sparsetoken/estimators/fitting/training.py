"""What estimators are fitted to: bags and their targets, and what is found once for all fits."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Int

from sparsetoken.bags import Bags
from sparsetoken.estimators.fitting.attention import AttentionFit, attend
from sparsetoken.estimators.fitting.standard_tokens import CentredTokens, StandardTokens
from sparsetoken.estimators.fitting.targets import Targets
from sparsetoken.estimators.fitting.task import Task
from sparsetoken.losses import Loss


@dataclasses.dataclass(frozen=True, eq=False)
class Training:
    """Bags and targets that were checked, and how scores are fitted to them.

    Attributes
    ----------
    bags : Bags
    targets : Targets
    loss : Loss
    ridge : float or "auto"
    standardize : bool
        Whether columns of the tokens are scaled.
    centred : bool
        Whether tokens are less the mean of their bag.
    column_bags : int array of shape (d,), optional
        The bag that each column was made from, where it was made from one.
    folds : int array of shape (n,), optional
        The fold of each bag. Estimators that need folds and are given none choose their own.
    more_folds : list of int arrays of shape (n,)
        Other folds, for attention that fails in the first ones.
    """

    bags: Bags
    targets: Targets
    loss: Loss
    ridge: float | Literal["auto"]
    standardize: bool
    folds: Int[np.ndarray, " n"] | None = None
    more_folds: Sequence[Int[np.ndarray, " n"]] = ()
    centred: bool = False
    column_bags: Int[np.ndarray, " d"] | None = None

    def of(self, bags: Bags, *, centred: bool = False) -> Training:
        """Return the same with other tokens of the bags, and without more folds."""
        return dataclasses.replace(self, bags=bags, more_folds=(), centred=centred)

    def take(self, rows: Int[np.ndarray, " k"]) -> Training:
        """Return that of some bags, without folds."""
        return dataclasses.replace(
            self,
            bags=self.bags[rows],
            targets=self.targets.take(rows),
            folds=None,
            more_folds=(),
        )

    @functools.cached_property
    def tokens(self) -> StandardTokens:
        """The tokens, standardised."""
        kind = CentredTokens if self.centred else StandardTokens
        return kind.of(self.bags, self.targets.weight, self.standardize)

    @functools.cached_property
    def tasks(self) -> list[Task]:
        """What is fitted for each column of scores."""
        rescale = self.ridge == "auto" and self.standardize
        problems = self.targets.problems
        several = len(problems) > 1
        return [Task(self.tokens, one, self.loss, self.ridge, rescale, several) for one in problems]

    def attended(self, temperature: float | Literal["auto"] = "auto") -> list[AttentionFit]:
        """Return attention of least left-out loss for each task, in the folds.

        A descent may end in a poor minimum. Where attention is not better than mean pooling by one
        standard error, it is fitted in other folds too, and the one of least left-out loss is kept.
        """
        folds = np.zeros(len(self.bags), dtype=int) if self.folds is None else self.folds

        def attended(task: Task) -> AttentionFit:
            fit = attend(task, folds, temperature)
            for others in self.more_folds:
                if not fit.gain > 1:
                    again = attend(task, others, temperature)
                    fit = min(fit, again, key=lambda one: one.readout.left_out_loss(task.samples))
            return fit

        return [attended(task) for task in self.tasks]

    @functools.cached_property
    def attention(self) -> list[AttentionFit]:
        """Attention of the best sharpness, which classifiers and probabilities of tokens share."""
        return self.attended()
