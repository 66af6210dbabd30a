"""What classifiers with a query share: parameters, training, fitted attributes, warnings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sparsetoken.bags import Bags
from sparsetoken.bags.segments import segment_mean
from sparsetoken.estimators.coordinates import Coordinates
from sparsetoken.estimators.inspection import AttentionInspection
from sparsetoken.estimators.labels import Targets
from sparsetoken.estimators.parameters import auto_or_real, step_sizes
from sparsetoken.estimators.schedules import TRAININGS, train
from sparsetoken.estimators.sharpness import Featurizer
from sparsetoken.estimators.task import Options, Task, Trained
from sparsetoken.losses import Loss
from sparsetoken.theory import QueryWarning
from sparsetoken.validation import InvalidInput, choice, integer

__all__ = ["QueryClassifier"]

UNIFORM = 0.98  # share of the tokens that count: above it the weights are as good as uniform
HARM = 2.0  # standard errors by which pooling is better
CLEAR = 3.0  # standard errors of the evidence for a query; noise has a deviation of 1.5


class QueryClassifier(AttentionInspection):
    """A classifier of weighted mean tokens, with a query for the weights."""

    training: str
    temperature: Any
    split: Any
    ridge: Any
    step_sizes: Any
    n_folds: int
    standardize: bool
    random_state: Any

    def _fit(self, bags: Bags, targets: Targets, loss: Loss) -> None:
        options = self._options(loss)
        place = Coordinates.of(bags, targets.weight, self.standardize)
        featurize = Featurizer(bags, place, self._activation)
        means = place.summed(segment_mean(bags.tokens, bags.offsets))
        rng = check_random_state(self.random_state)
        found = [
            train(Task(featurize, means, samples, loss, options, rng))
            for samples in targets.problems()
        ]
        self._keep(found, place, bags.dtype)
        if bags.sizes.max() > 1:
            self._warn(found, bags, targets.weight)

    def _options(self, loss: Loss) -> Options:
        """Check the parameters."""
        options = Options(
            training=choice("training", self.training, TRAININGS),
            temperature=auto_or_real("temperature", self.temperature, 0.0),
            split=auto_or_real("split", self.split, 0.01, 0.99),
            ridge=auto_or_real("ridge", self.ridge, 0.0, open_low=True),
            query_ridge="auto",
            n_restarts=0,
            n_folds=integer("n_folds", self.n_folds, 2),
            steps=step_sizes(self.step_sizes),
        )
        if not loss.smooth and "auto" in (options.ridge, options.temperature):
            legal = "a smooth loss (logistic, square, squared_hinge) to choose ridge or temperature"
            raise InvalidInput("loss", legal, loss.name, "Or give both as numbers.")
        return options

    def _keep(self, found: list[Trained], place: Coordinates, dtype: np.dtype) -> None:
        self.query_ = np.stack([place.raw(one.q) for one in found]).astype(dtype)
        self.query_offset_ = np.array([place.offset(one.q) for one in found], dtype)
        self.coef_ = np.stack([place.raw(one.w) for one in found]).astype(dtype)
        # Softmax weights add up to 1: then the shift of the tokens is one of the intercept.
        shift = np.array([place.offset(one.w) for one in found])
        moved = self._activation == "softmax"
        self.token_offset_ = np.where(moved, 0.0, shift).astype(dtype)
        intercept = np.array([one.b for one in found]) + np.where(moved, shift, 0.0)
        self.intercept_ = intercept.astype(dtype)
        self.ridge_ = np.array([one.ridge for one in found])
        self.sharpness_ = np.array([one.sharpness for one in found])
        self.query_kind_ = np.array([one.kind for one in found])
        self.evidence_ = np.array([one.evidence for one in found])

    def _warn(self, found: list[Trained], bags: Bags, weight: np.ndarray) -> None:
        share = weight @ (self._effective(bags) / bags.sizes[:, None]) / weight.sum()
        for one, uniform in zip(found, share > UNIFORM, strict=True):
            text = self._complaint(one, bool(uniform))
            if text:
                warnings.warn(text, QueryWarning, stacklevel=4)

    def _complaint(self, one: Trained, uniform: bool) -> str:
        """Return what to say of a query; nothing ("") if it is as it should be."""
        automatic = isinstance(self.temperature, str)
        fell_back = automatic and one.sharpness == 0
        if one.kind == "mean" or (fell_back and self.training in ("auto", "tied")):
            return ""
        if one.evidence < CLEAR and not one.gain > 1:
            return _of_evidence(one)
        if one.gain < -HARM:
            return _LOSES.format(-one.gain)
        return _UNIFORM if uniform and not fell_back and not (automatic and one.gain > 1) else ""


_UNIFORM = (
    "The query has collapsed to uniform weights: this is mean pooling. "
    "Raise temperature or set it 'auto'; with training='joint' lower query_ridge."
)

_LOSES = (
    "Attention loses to mean pooling: its left-out loss is {:.1f} standard errors higher. Set "
    "temperature='auto'; it also finds a token of the first class."
)


def _of_evidence(one: Trained) -> str:
    """Return what to say of a query that the bags it has not seen do not support."""
    if one.evidence < -CLEAR:
        return (
            "The query turns away from the signal: positive bags that it has not seen score "
            f"{-one.evidence:.1f} standard errors below the others. Rare positives do this: "
            "take class_weight='balanced', a larger second step size, or training='tied'."
        )
    return (
        "The query is too weakly aligned with the signal: positive bags that it has not seen "
        f"score {one.evidence:.1f} standard errors above the others. Take more bags, a larger "
        "split, temperature='auto', training='tied', or PooledLinearClassifier."
    )
