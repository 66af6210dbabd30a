"""What the estimators of bags share: reading, weights, decisions, probabilities, predictions."""

from __future__ import annotations

import abc
import dataclasses
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from jaxtyping import Float, Int, Shaped
from scipy.special import expit, log_expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sparsetoken.bags import Bags
from sparsetoken.bags.convert import as_floats
from sparsetoken.bags.labels import of_groups, read_labels
from sparsetoken.base.validation import LARGEST_VALUE, InvalidInput, integer, real
from sparsetoken.estimators.fitting.folds import fold_numbers
from sparsetoken.estimators.fitting.linear_fit import LinearFit
from sparsetoken.estimators.fitting.targets import Targets, read_classes, read_numbers
from sparsetoken.estimators.fitting.training import Training
from sparsetoken.estimators.inputs import (
    EmptyBagWarning,
    QueryWarning,
    TakesBags,
    all_or_nothing,
    check_magnitude,
    first_look,
    generator_of,
    read_bags,
    warn_of_padding,
)
from sparsetoken.losses import Loss, get_loss
from sparsetoken.numerics.ranks import auc_interval
from sparsetoken.numerics.threads import one_thread

ASSIGNMENTS = 2  # of bags to folds that attention may try

Auto = Literal["auto"]
ClassWeight = Mapping[Any, float] | Literal["balanced"] | None
RandomState = int | np.random.RandomState | None


def auto_or_positive(name: str, value: Any) -> float | Auto:
    """Return 'auto' or a positive float, or raise `InvalidInput`."""
    if isinstance(value, str) and value == "auto":
        return "auto"
    return real(name, value, 0.0, LARGEST_VALUE, open_low=True, remedy="Or 'auto'.")


class BagEstimator(TakesBags, BaseEstimator, abc.ABC):
    """An estimator of one label or number for each bag; the classes below it fit scores."""

    n_bags_: float
    n_groups_: int | None
    _n_samples: int
    empty_score_: Float[np.ndarray, " K"]
    intercept_: Float[np.ndarray, " K"]
    left_out_scores_: Float[np.ndarray, "n K"] | None
    loss: Loss | str
    ridge: float | Auto = "auto"
    standardize: bool = True

    @all_or_nothing
    def fit(self, X: Any, y: Any, *, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit to bags and one label or number each.

        Parameters
        ----------
        X : any form of bags
            See `sparsetoken.bags.as_bags`. An array of shape (n, d) is n bags of one token each.
        y : array of shape (n,)
            Class labels of any kind for a classifier, numbers for a regressor.
        sample_weight : array of shape (n,), optional
            How much each bag counts, >= 0; their common scale plays no part. A bag of weight 2 is
            two copies of it that cross-validation keeps together, so that none predicts the other;
            copies of their own may fall in other folds.
        groups : array of shape (n,), optional
            Of which patient, author or place each bag is: bags of one group may resemble each
            other, and new bags are of new groups. All that the fit chooses by bags that are left
            out, and all that it says of them, then leaves whole groups out. By default bags are
            taken as independent of one another.

        Warns
        -----
        LeakWarning
            Of columns that give labels or bags away, and of bags of different groups that are
            nearly the same: see `sparsetoken.bags.find_leaks`.
        PaddingWarning
            If bags of one size seem to be filled up with tokens of zeros.

        Raises
        ------
        ValueError
            If tokens are not finite or of a magnitude that products overflow, a bag is empty,
            dimensions or lengths do not match, there is one class only, or a parameter is out
            of range. The estimator is then as it was before.
        """
        bags = read_bags(self, X, reset=True)
        targets = self._targets(bags, y, sample_weight, groups)
        if not targets.used.all():
            bags = bags[targets.used]
        check_magnitude(bags)
        labels = None if targets.numbers else targets.given
        shown, weight = getattr(self, "progress", True), targets.weight
        look = first_look(
            bags, labels, targets.groups, sample_weight=weight, progress=shown, stacklevel=5
        )
        loss, ridge = get_loss(self.loss), auto_or_positive("ridge", self.ridge)
        with (
            look,
            one_thread(),  # products go chunk by chunk: too small to be shared among threads
            np.errstate(under="ignore"),  # a loss, or a similarity, that is nearly 0
        ):
            doubts = self.fit_training(Training(bags, targets, loss, ridge, self.standardize))
        for doubt in doubts:
            warnings.warn(doubt, QueryWarning, stacklevel=3)
        return self

    def fit_training(self, training: Training) -> list[str]:
        """Fit to bags that were read and checked; return what `fit` warns of.

        An average reads once for all of its members. The loss, its ridge and scales are those of
        the training.
        """
        bags, targets = training.bags, training.targets
        self.n_features_in_ = bags.dimension
        if bags.feature_names is not None:
            self.feature_names_in_ = np.array(bags.feature_names, dtype=object)
        if not targets.numbers:
            self.classes_ = targets.classes
        self.n_bags_ = float(targets.weight.sum())
        self._n_samples = len(bags)
        self.n_groups_ = None if targets.groups is None else int(targets.groups.max()) + 1
        self.empty_score_ = targets.in_units(np.array(targets.constants))
        return self._fit(training)

    def _independence(self) -> str:
        """Say in a sentence of how many groups the bags of the fit are."""
        return f"Fitted to {of_groups(self._n_samples, self.n_groups_)}."

    _kind_of_name = "Class"

    @abc.abstractmethod
    def _targets(self, bags: Bags, y: Any, sample_weight: Any, groups: Any) -> Targets:
        """Check labels or numbers, weights and groups."""

    @abc.abstractmethod
    def _fit(self, training: Training) -> list[str]:
        """Fit one score for each task of the training, and return what to warn of."""

    @abc.abstractmethod
    def _scores(self, bags: Bags) -> Float[np.ndarray, "n K"]:
        """Return the scores; K = 1 for two classes and for numbers."""

    def _names(self) -> Sequence[Any]:
        """Return what each column of scores stands for."""
        return ["y"]

    def _read(self, X: Any) -> Bags:
        check_is_fitted(self)
        bags = read_bags(self, X, reset=False, empty=True)
        check_magnitude(bags, small=True)
        warn_of_padding(bags, stacklevel=5)
        return bags

    def _scores_of(self, X: Any) -> Float[np.ndarray, "n K"]:
        """Return the scores of bags in any form, of which some may be without a token."""
        return _numbers(self._or_constant(self._read(X), self._scores, self.empty_score_))

    def _or_constant(
        self, bags: Bags, values_of: Callable[[Bags], np.ndarray], constant: np.ndarray
    ) -> np.ndarray:
        """Return values of bags: a constant for those without a token, of which it warns."""
        full = bags.sizes > 0
        if full.all():
            return values_of(bags)
        what = "mean" if isinstance(self, RegressorMixin) else "class rates"
        warnings.warn(
            f"{np.count_nonzero(~full)} of {len(bags)} bags have no token, such as bag "
            f"{full.argmin()}: predicted by the {what} of the training bags.",
            EmptyBagWarning,
            stacklevel=4,
        )
        values = np.tile(constant, (len(bags), *np.ones(constant.ndim, int)))
        values = values if isinstance(self, RegressorMixin) else self._in(bags, values)
        if full.any():
            values[full] = values_of(bags.nonempty)
        return values

    def _moved(self, scores: Float[np.ndarray, "n K"], bags: Bags) -> Float[np.ndarray, "n K"]:
        """Return scores plus the intercept; numbers in float64: they may be far from 0."""
        numbers = isinstance(self, RegressorMixin)
        return scores + (self.intercept_ if numbers else self._in(bags, self.intercept_))

    @staticmethod
    def _per_bag(values: Float[np.ndarray, "N K"], bags: Bags) -> list[np.ndarray]:
        """Return values of tokens as one array for each bag: (L_i,), or (L_i, K)."""
        values = _numbers(values[:, 0] if values.shape[1] == 1 else values)
        return np.split(values, bags.offsets[1:-1])

    @staticmethod
    def _in(bags: Bags, values: np.ndarray) -> np.ndarray:
        """Return fitted values in the dtype of the bags: float32 tokens make no float64 copy."""
        return values.astype(bags.dtype, copy=False)


def _numbers(values: np.ndarray) -> np.ndarray:
    """Return scores, or raise `InvalidInput` for what would make no decision."""
    if np.isnan(values).any():
        remedy = "Its fitted attributes, or the tokens, are too large or too small."
        raise InvalidInput("the model", "one that gives numbers", "nan", remedy)
    return values


def _logistic(classifier: BaseBagClassifier) -> bool:
    if get_loss(classifier.loss).name == "logistic":
        return True
    raise AttributeError("predict_proba needs loss='logistic'")


def _floats(weight: Any) -> Any:
    return None if weight is None else as_floats(weight, np.float64, "sample_weight")


class BaseBagClassifier(ClassifierMixin, BagEstimator):
    """A classifier of bags: one score for two classes, else one for each against the rest."""

    class_weight: ClassWeight
    classes_: Shaped[np.ndarray, " C"]
    left_out_auc_: Float[np.ndarray, " 3"]
    loss: Loss | str = "logistic"

    def _targets(self, bags: Bags, y: Any, sample_weight: Any, groups: Any) -> Targets:
        return read_classes(bags, y, sample_weight, self.class_weight, groups)

    def fit_training(self, training: Training) -> list[str]:
        """Fit as every estimator, and keep the AUC of bags that are left out."""
        doubts, targets = super().fit_training(training), training.targets
        self.left_out_auc_ = np.full(3, np.nan)
        if (scores := self.left_out_scores_) is not None:
            self.left_out_auc_ = auc_interval(scores, targets.number, targets.groups)
        return doubts

    def _names(self) -> Sequence[Any]:
        names: list[Any] = self.classes_.tolist()
        return names[1:] if len(names) == 2 else names

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores (n,) of the second class, or (n, n_classes) for more than two."""
        scores = self._scores_of(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of the largest score, an array of shape (n,)."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(1)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on bags and labels, a number in [0, 1].

        On bags of the fit, which are not told from others, it is too good: `cross_validated` has
        that of left-out bags.
        """
        y = read_labels(y)
        return super().score(X, y, _floats(sample_weight))

    @available_if(_logistic)
    def predict_proba(self, X: Any) -> Float[np.ndarray, "n K"]:
        """Return probabilities (n, n_classes), for the logistic loss only.

        Of a model of n bags they are (n p + 1) / (n + 2), p = 1 / (1 + exp(-score)): n bags
        cannot tell that an event is rarer than 1 / (n + 2). For K > 2 classes p is the probability
        of one against the rest, divided by the sum of those of all classes. It is averaged with 1/K
        so that no class is surer than (n + 1) / (n + 2); all others together have 1 / (n + 2).
        """
        return self._probabilities(self._scores_of(X))

    def _probabilities(self, scores: Float[np.ndarray, "n K"]) -> Float[np.ndarray, "n C"]:
        n, K = self.n_bags_, len(self.classes_)
        if K == 2:
            chances = (n * expit(scores) + 1) / (n + 2)
            return np.concatenate([1 - chances, chances], axis=1)
        chances = self._of_classes(scores)
        even = K / ((K - 1) * (n + 2))
        return (1 - even) * chances + even / K

    def _of_classes(self, scores: Float[np.ndarray, "n K"]) -> Float[np.ndarray, "n K"]:
        """Return probabilities of more than two classes from scores of each against the rest."""
        return np.asarray(softmax(log_expit(scores), axis=1))


class BaseBagRegressor(RegressorMixin, BagEstimator):
    """A regressor of bags: its one score is the prediction."""

    loss: Loss | str = "square"
    _kind_of_name = "Target"

    def _targets(self, bags: Bags, y: Any, sample_weight: Any, groups: Any) -> Targets:
        return read_numbers(bags, y, sample_weight, groups)

    def predict(self, X: Any) -> Float[np.ndarray, " n"]:
        """Return the number predicted for each bag, an array of shape (n,)."""
        return self._scores_of(X)[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R^2 on bags and numbers, at most 1: the share of the variance predicted.

        On bags of the fit, which are not told from others, it is too good: `cross_validated` has
        that of left-out bags.
        """
        y = as_floats(y, np.float64, "y")
        return super().score(X, y, _floats(sample_weight))


class ReadoutEstimator(BagEstimator):
    """An estimator with one linear readout for each column of scores."""

    coef_: Float[np.ndarray, "K m"]
    ridge_: Float[np.ndarray, " K"]

    def _keep_readouts(self, fits: list[LinearFit], training: Training) -> None:
        """Keep the readouts of standardised features as what acts on the features given.

        They are of mean tokens, then of maxima, which move with the tokens, then of deviations.
        """
        tokens, targets, dtype = training.tokens, training.targets, training.bags.dtype
        of = [fit.w.reshape(-1, tokens.bags.dimension) for fit in fits]
        coef = np.stack([tokens.coefficients(parts).ravel() for parts in of])
        moves = [sum(map(tokens.offset, parts[:2])) for parts in of]
        intercept = targets.in_units(np.array([fit.b for fit in fits]) + moves)
        self.coef_ = (targets.scale * coef).astype(dtype)
        self.intercept_ = intercept.astype(np.float64 if targets.numbers else dtype)
        self.ridge_ = np.array([fit.ridge for fit in fits])
        known = [fit.left_out_scores for fit in fits if fit.left_out_scores is not None]
        whole = len(known) == len(fits)
        self.left_out_scores_ = targets.in_units(np.stack(known, axis=1)) if whole else None


class CrossFitted(BagEstimator):
    """An estimator that scores bags by fits to other folds, which hold whole groups."""

    n_folds: int
    random_state: RandomState

    def _in_folds(
        self, training: Training, needed: bool = True
    ) -> tuple[Training, Int[np.ndarray, " n"], np.random.RandomState]:
        """Return a training with folds, and these: those given, or one if none are needed."""
        n_folds, rng = integer("n_folds", self.n_folds, 2), generator_of(self.random_state)
        if training.folds is not None:
            return training, training.folds, rng
        targets = training.targets
        if not needed:
            folds = np.zeros(len(training.bags), dtype=int)
            return dataclasses.replace(training, folds=folds), folds, rng
        folds, *more = (
            fold_numbers(targets.strata, n_folds, rng, targets.groups) for _ in range(ASSIGNMENTS)
        )
        return dataclasses.replace(training, folds=folds, more_folds=more), folds, rng
