"""Trees on moments and extremes of the columns of bags: what no linear score of tokens sees."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped
from scipy.special import logit
from sklearn.base import BaseEstimator, clone

from sparsetoken.bags import Bags
from sparsetoken.base.validation import integer
from sparsetoken.estimators.base import (
    BagEstimator,
    BaseBagClassifier,
    ClassWeight,
    RandomState,
)
from sparsetoken.estimators.fitting.folds import fold_numbers
from sparsetoken.estimators.fitting.linear_fit import LinearFit, calibrated, fit_single_features
from sparsetoken.estimators.fitting.standard_tokens import StandardTokens
from sparsetoken.estimators.fitting.targets import Targets
from sparsetoken.estimators.fitting.task import Task
from sparsetoken.estimators.fitting.training import Training
from sparsetoken.estimators.inputs import generator_of

UNIT = 2.0**20  # parts of the deviation of y to which trees see it
FOLDS = 8  # of whole groups, where these are given
LARGEST_SAMPLE = 1000  # bags of a bootstrap sample: bounds the time of a tree


class PooledForest(BagEstimator):
    """The score is that of a random forest of `StandardTokens.summary`."""

    n_estimators: int
    random_state: RandomState
    with_sizes: bool = True
    forest_: BaseEstimator
    slope_: Float[np.ndarray, " K"]
    column_mean_: Float[np.ndarray, " d"]
    column_scale_: Float[np.ndarray, " d"]
    feature_range_: Float[np.ndarray, "2 features"]

    def _fit(self, training: Training) -> list[str]:
        """Fit the trees, and the scale of their scores by out-of-bag predictions."""
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        targets, tokens = training.targets, training.tokens
        numbers = targets.numbers
        F = tokens.summary() if tokens.bags.sizes.max() > 1 else tokens.means
        F = F if self.with_sizes else F[:, : 4 * tokens.bags.dimension]
        self.column_mean_, self.column_scale_ = tokens.mean, tokens.scale
        self.feature_range_ = np.stack([F.min(axis=0), F.max(axis=0)])
        rng, grouped = generator_of(self.random_state), targets.groups is not None
        self.forest_ = (RandomForestRegressor if numbers else RandomForestClassifier)(
            n_estimators=integer("n_estimators", self.n_estimators, 1),
            max_features=1 / 3 if numbers else "sqrt",  # Breiman's rules
            max_samples=min(len(F), LARGEST_SAMPLE),
            oob_score=not grouped,
            random_state=rng.randint(2**31 - 1),
        )
        # Sums of such numbers are exact, so that equally good splits do not depend on rounding.
        y = np.round(targets.problems[0].y * UNIT) / UNIT if numbers else targets.number
        with warnings.catch_warnings():  # bags that are in the sample of every tree
            warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
            self.forest_.fit(F, y, sample_weight=targets.weight)
        unseen = self._out_of_fold(F, y, targets, rng) if grouped else self._out_of_bag(targets)
        found = zip(unseen.T, training.tasks, targets.constants, strict=True)
        fits = [_calibrated(*one) for one in found]
        self.slope_ = targets.scale * np.array([fit.w[0] for fit in fits])
        self.intercept_ = targets.in_units(np.array([fit.b for fit in fits]))
        known = [fit.left_out_scores for fit in fits if fit.left_out_scores is not None]  # all are
        self.left_out_scores_ = targets.in_units(np.stack(known, axis=1))
        return []

    def _scores(self, bags: Bags) -> Float[np.ndarray, "n K"]:
        tokens = StandardTokens(bags, self.column_mean_, self.column_scale_)
        # A forest that was fitted to bags of one token knows their means alone.
        m = self.feature_range_.shape[1]
        F = tokens.means if m == bags.dimension else tokens.summary()[:, :m]
        # Beyond the training bags a tree is constant; there float32, in which it works, may end.
        scores = self._of_trees(self.forest_, np.clip(F, *self.feature_range_))
        return self.slope_ * scores + self.intercept_

    def _out_of_bag(self, targets: Targets) -> Float[np.ndarray, "n K"]:
        """Return the scores of training bags by the trees that have not seen them."""
        weight = targets.weight
        if hasattr(self.forest_, "oob_prediction_"):
            return self.forest_.oob_prediction_[:, None]
        chances = self.forest_.oob_decision_function_
        seen = chances.any(axis=1, keepdims=True)  # bags in the sample of every tree have none
        rates = weight @ chances / max(weight @ seen[:, 0], 1.0)
        return self._log_odds(np.where(seen, chances, rates))

    def _out_of_fold(
        self,
        F: Float[np.ndarray, "n m"],
        y: Shaped[np.ndarray, " n"],
        targets: Targets,
        rng: np.random.RandomState,
    ) -> Float[np.ndarray, "n K"]:
        """Return the scores of training bags by forests that have seen no bag of their group.

        Hardly a tree of a bootstrap sample of bags has seen none. A fold has as many trees as are
        out of bag for a bag: a share 1/e.
        """
        folds = fold_numbers(targets.strata, FOLDS, rng, targets.groups)
        trees = math.ceil(self.forest_.n_estimators / math.e)
        unseen = np.empty((len(F), len(targets.problems)))
        for fold in range(folds.max() + 1):
            rest, here = folds != fold, folds == fold
            part = clone(self.forest_).set_params(n_estimators=trees)
            part.set_params(max_samples=min(int(rest.sum()), LARGEST_SAMPLE))
            part.fit(F[rest], y[rest], sample_weight=targets.weight[rest])
            unseen[here] = self._of_trees(part, F[here])
        return unseen

    def _of_trees(self, forest: Any, F: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "n K"]:
        """Return the scores of bags by all trees of a forest."""
        if hasattr(forest, "predict_proba"):
            chances = np.zeros((len(F), self.forest_.n_classes_))
            chances[:, forest.classes_] = forest.predict_proba(F)  # a fold may lack a class
            return self._log_odds(chances)
        return forest.predict(F)[:, None]

    def _log_odds(self, chances: Float[np.ndarray, "n C"]) -> Float[np.ndarray, "n K"]:
        """Return log odds of probabilities as far from 0 and 1 as n bags can tell."""
        chances = chances[:, 1:] if chances.shape[1] == 2 else chances
        return logit((self.n_bags_ * chances + 1) / (self.n_bags_ + 2))


def _calibrated(z: Float[np.ndarray, " n"], task: Task, constant: float) -> LinearFit:
    """Return slope and intercept of least left-out loss; trees that mislead have none."""
    (fit,) = fit_single_features(z[None], task.samples, task.loss)
    if fit.w[0] <= 0:
        return LinearFit(np.zeros(1), constant, fit.ridge, None, np.full(len(z), constant))
    return calibrated(fit, task.samples, task.loss)


class PooledForestClassifier(PooledForest, BaseBagClassifier):
    """A random forest of what pooling keeps of a bag, with calibrated probabilities.

    The features of a bag are mean, largest and smallest value and standard deviation of each
    column, and the logarithm of its size. Slope and intercept of the log odds of the trees are
    fitted to out-of-bag predictions (Platt's scaling).

    Parameters
    ----------
    n_estimators : int
        Trees. Each is fitted to a bootstrap sample of at most 1000 bags, and each split is the
        best of the square root of all features.
    class_weight
        As for `PooledClassifier`.
    random_state : int, RandomState or None
        Of samples and features. Two fits with the default are equal.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    forest_ : RandomForestClassifier
        Of scikit-learn, fitted to standardised columns.
    slope_, intercept_ : arrays of shape (1,) or (n_classes,)
        Of the log odds of the trees; 0 and those of the class rate where trees mislead.
    column_mean_, column_scale_ : arrays of shape (d,)
        Columns less the one and divided by the other are what the features are made of.
    feature_range_ : array of shape (2, m)
        Least and largest features of training bags. Those of new ones are cut to it.
    left_out_scores_ : array of shape (n, 1) or (n, n_classes)
        Out-of-bag scores of the training bags; with groups, out of folds of whole groups.
    left_out_auc_, n_bags_, n_features_in_
        As for `PooledClassifier`.

    See Also
    --------
    sparsetoken.BagClassifier : An average of several classifiers; the one to begin with.

    References
    ----------
    L. Breiman (2001), Random forests; J. Platt (1999), Probabilistic outputs for support vector
    machines.

    Examples
    --------
    >>> import numpy as np
    >>> labels, rng = np.arange(200) % 2, np.random.default_rng(0)
    >>> bags = rng.standard_normal((200, 8, 5))
    >>> bags[labels == 1, :, 0] *= 2  # the tokens of one class vary more
    >>> model = PooledForestClassifier().fit(bags[:100], labels[:100])
    >>> model.score(bags[100:], labels[100:]) > 0.8
    True
    """

    def __init__(
        self,
        n_estimators: int = 100,
        class_weight: ClassWeight = None,
        random_state: RandomState = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.class_weight = class_weight
        self.random_state = random_state
