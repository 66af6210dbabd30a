"""Cross-validation of any classifier or regressor of bags, in folds that hold whole groups."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.utils.validation import has_fit_parameter

from sparsetoken.bags import Bags, as_bags
from sparsetoken.bags.labels import of_groups, read_labels
from sparsetoken.base.machine import needed
from sparsetoken.base.progress import progress_of
from sparsetoken.base.tables import Shown
from sparsetoken.base.validation import InvalidInput, integer
from sparsetoken.estimators import QueryWarning
from sparsetoken.estimators.fitting.folds import fold_numbers
from sparsetoken.estimators.fitting.targets import (
    Targets,
    counts_of_classes,
    read_classes,
    read_numbers,
)
from sparsetoken.estimators.inputs import first_look, generator_of
from sparsetoken.estimators.thresholds import positive_place
from sparsetoken.forecasting.measures import filled
from sparsetoken.forecasting.scores import Bootstrap, Interval, class_scores, number_scores
from sparsetoken.numerics.ranks import placements

Model = TypeVar("Model")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class HeldOutPredictions:
    """Predictions of bags, or of groups, by fits that have not seen them.

    Attributes
    ----------
    names : array of shape (n,)
        Places of bags, or names of groups.
    y : array of shape (n,)
    predicted : array of shape (n,)
    probability : array of shape (n, n_classes), or None for numbers
        Of a group it is the mean over its bags.
    fold : int array of shape (n,)
    scores : dict from str to (value, low, high)
        With 90% intervals: accuracy, balanced_accuracy, auc and log_loss; of two classes also
        sensitivity, of the positive one, and specificity, of the other; r2,
        root_mean_squared_error and mean_absolute_error of numbers.

    See Also
    --------
    CrossValidation : Holds it.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsetoken as st
    >>> labels, bags = np.arange(40) % 2, np.random.default_rng(0).standard_normal((40, 3, 2))
    >>> model = st.estimators.PooledClassifier()
    >>> found = st.cross_validated(model, bags, labels, groups=np.arange(40) % 8)
    >>> found.bags.predicted.shape, found.groups.names.tolist()
    ((40,), [0, 1, 2, 3, 4, 5, 6, 7])
    """

    names: Shaped[np.ndarray, " n"]
    y: Shaped[np.ndarray, " n"]
    predicted: Shaped[np.ndarray, " n"]
    probability: Float[np.ndarray, "n C"] | None
    fold: Int[np.ndarray, " n"]
    scores: Mapping[str, Interval]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class CrossValidation(Shown):
    """Held-out predictions by bag and by group, and their scores.

    Attributes
    ----------
    bags : HeldOutPredictions
        Intervals of scores are over groups, if bags are of groups: shares of independent bags have
        Wilson's, and all else has percentiles of bootstrap samples.
    groups : HeldOutPredictions or None
        None without groups, or if bags of one group have different labels. The number of a group
        is the mean of its bags.
    classes : array of shape (n_classes,)
        Empty for numbers.
    folds : int
    n_groups : int or None
        Of how many groups the bags are; None where they are taken as independent.
    positive : label or None
        The positive one of two classes.
    estimators : tuple
        The model fitted without each fold, or None where the other bags have one class; empty
        unless ``return_estimator``.

    See Also
    --------
    sparsetoken.cross_validated : The function that returns it.
    HeldOutPredictions : What it holds of bags, and of groups.
    """

    bags: HeldOutPredictions
    groups: HeldOutPredictions | None
    classes: Shaped[np.ndarray, " C"]
    folds: int
    n_groups: int | None
    positive: Any = None
    estimators: tuple[Any, ...] = ()

    def to_frame(self, by: str = "bags") -> Any:
        """Return a pandas DataFrame with a row for each of ``bags``, or of ``groups``."""
        held = {"bags": self.bags, "groups": self.groups}.get(by)
        if held is None:
            raise InvalidInput("by", "bags, or groups where they have labels", by)
        columns = {by[:-1]: held.names, "y": held.y, "predicted": held.predicted, "fold": held.fold}
        if held.probability is not None:
            pairs = zip(self.classes.tolist(), held.probability.T, strict=True)
            columns |= {f"probability_{name}": column for name, column in pairs}
        return needed("pandas", "to make a table", "data").DataFrame(columns)

    def _shown(self) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
        rows, of = [], {}
        if len(self.classes) == 2:
            (other,) = self.classes[self.classes != self.positive].tolist()
            of = {"sensitivity": f" ({self.positive})", "specificity": f" ({other})"}
        for name, one in self.bags.scores.items():
            row = {"": name.replace("_", " ") + of.get(name, ""), "bags": str(one)}
            rows.append(row | ({"groups": str(self.groups.scores[name])} if self.groups else {}))
        bags = of_groups(len(self.bags.y), self.n_groups)
        bags += ", none split" if self.n_groups else ""
        what = f"Held-out predictions of {bags}, in {self.folds} folds"
        return rows, (f"{what}, with 90% intervals.",)


def cross_validated(
    model: Any,
    bags: Any,
    y: Any,
    *,
    groups: Any = None,
    folds: int = 5,
    random_state: Any = 0,
    progress: bool = True,
    positive: Any = None,
    return_estimator: bool = False,
) -> CrossValidation:
    """Fit a model to all folds but one, and predict the bags of this one, for each fold.

    Parameters
    ----------
    model : classifier with predict_proba, or regressor
        Of this package or of scikit-learn's kind, fitted to `sparsetoken.bags.Bags`. It is cloned.
    bags : any form of bags
        See `sparsetoken.bags.as_bags`.
    y : array of shape (n,)
        Labels, or numbers for a regressor.
    groups : array of shape (n,), optional
        Of which patient, author or place each bag is. Folds hold whole groups, and fits get those
        of their bags if they take ``groups``.
    folds : int
        At least 2; fewer if a class has fewer bags or groups. A class of one does not count.
    random_state : int, RandomState or None
        Of the folds; an int gives those of ``sparsetoken bags fit --seed``.
    progress : bool
        Whether a call of more than two seconds shows its progress.
    positive : label, optional
        Of two classes that of the sensitivity; by default that of the model, else the second of the
        labels in order.
    return_estimator : bool
        Whether to keep the models that are fitted, as of scikit-learn's ``cross_validate``.

    Returns
    -------
    CrossValidation
        ``print`` shows its scores with 90% intervals, by bag and by group.

    Warns
    -----
    LeakWarning, PaddingWarning
        As `BagClassifier.fit`, of all bags; fits to parts of them do not look again.

    Raises
    ------
    InvalidInput
        If the model gives neither probabilities nor numbers, there are fewer than 2 folds, or each
        class is in one bag, or one group.
    ValueError
        If tokens are not finite, a bag is empty, or lengths do not match.

    See Also
    --------
    sparsetoken.forecast : The same with more labelled bags.

    Notes
    -----
    An AUC is the share of pairs of a bag of the class and another that are in the right order, of
    bags that are held out together.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsetoken as st
    >>> rng, labels = np.random.default_rng(0), np.arange(80) % 2
    >>> bags = rng.standard_normal((80, 6, 4))
    >>> bags[labels == 1, 0] += 2  # one token of six
    >>> found = st.cross_validated(st.AttentionClassifier(), bags, labels, folds=3)
    >>> found.bags.scores["auc"].low > 0.8, found.groups
    (True, None)
    """
    numbers = is_regressor(model)
    if not numbers and not (is_classifier(model) and hasattr(model, "predict_proba")):
        legal = "a regressor, or a classifier with predict_proba"
        remedy = "CalibratedClassifierCV of scikit-learn adds probabilities."
        raise InvalidInput("model", legal, type(model).__name__, remedy)
    read, seed = as_bags(bags), as_seed(random_state)
    if numbers:
        targets = read_numbers(read, y, None, groups)
    else:
        targets = read_classes(read, y, None, None, groups)
    folds = most_folds(targets, integer("folds", folds, 2))
    trains = training_bags(targets.number, targets.groups, folds, seed)
    n, classes = len(read), targets.classes
    named = getattr(model, "positive", None) if positive is None else positive
    place = positive_place(named, classes)
    fold, predicted = np.zeros(n, int), np.empty(n, float if numbers else int)
    chances, line = np.zeros((n, len(classes))), np.full(n, 0.5)
    own = positive_place(getattr(model, "positive", None), classes)
    labels, estimators = None if numbers else targets.given, []
    with (
        first_look(read, labels, targets.groups, progress=progress, stacklevel=4),
        progress_of("fits", len(trains), progress) as done,
    ):
        for k, train in enumerate(trains):
            test, fold[~train], fitted = read[~train], k, None
            known = np.unique(targets.number[train])
            if len(known) == 1 and not numbers:  # the only bag of the other class is held out
                predicted[~train], chances[~train, known] = known[0], 1.0
            else:
                part = None if targets.groups is None else targets.groups[train]
                fitted = fitted_to(model, read[train], targets.given[train], part)
                found = fitted.predict(test)
                predicted[~train] = found if numbers else np.searchsorted(classes, found)
                if not numbers:
                    chances[np.ix_(~train, known)] = fitted.predict_proba(test)
                    line[~train] = getattr(fitted, "threshold_", 0.5)
            if return_estimator:
                estimators.append(fitted)
            done()
    y = targets.given if numbers else targets.number
    over = Bootstrap(n, targets.groups, seed)
    by_bag = _scored(np.arange(n), y, predicted, chances, fold, classes, over, place)
    by_group = None
    if targets.groups is not None:
        names, first = np.unique(read_labels(groups, "groups"), return_index=True)
        values = np.column_stack([y, predicted, chances])
        sums = np.stack([np.bincount(targets.groups, one) for one in values.T], axis=1)
        means = sums / np.bincount(targets.groups)[:, None]
        labels, guesses, of_groups = means[:, 0], means[:, 1], means[:, 2:]
        if not numbers:
            labels, guesses = y[first], of_groups.argmax(axis=1)
            if len(classes) == 2:  # groups have the threshold of their bags, which share a fold
                guesses = np.where(of_groups[:, own] >= line[first], own, 1 - own)
        if numbers or (labels[targets.groups] == y).all():
            over = Bootstrap(len(names), None, seed)
            by_group = _scored(names, labels, guesses, of_groups, fold[first], classes, over, place)
    n_groups = None if targets.groups is None else int(targets.groups.max()) + 1
    named = classes[place].item() if len(classes) == 2 else None
    kept = tuple(estimators)
    return CrossValidation(by_bag, by_group, classes, len(trains), n_groups, named, kept)


def _scored(
    names: Shaped[np.ndarray, " n"],
    y: Shaped[np.ndarray, " n"],
    predicted: Shaped[np.ndarray, " n"],
    chances: Float[np.ndarray, "n C"],
    fold: Int[np.ndarray, " n"],
    classes: Shaped[np.ndarray, " C"],
    over: Bootstrap,
    positive: int,
) -> HeldOutPredictions:
    """Return predictions with their scores; y and predicted are numbers of classes, or numbers."""
    if not len(classes):
        scores = number_scores(y, predicted, over)
        return HeldOutPredictions(names, y, predicted, None, fold, scores)
    columns = [1] if len(classes) == 2 else range(len(classes))
    placed = np.stack([_placed(chances[:, k], y == k, fold) for k in columns], axis=1)
    scores = class_scores(y, predicted, chances, placed, over, positive)
    return HeldOutPredictions(names, classes[y], classes[predicted], chances, fold, scores)


def _placed(
    scores: Float[np.ndarray, " n"], positive: Bool[np.ndarray, " n"], fold: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Return placements among those that are held out together; nan if all folds have one side."""
    placed, known = np.zeros(len(scores)), np.zeros(len(scores))
    for k in range(fold.max() + 1):
        rows = fold == k
        if positive[rows].any() and not positive[rows].all():
            placed[rows], known[rows] = placements(scores[rows], positive[rows]), 1
    if not known.any():
        return np.full(len(scores), np.nan)
    return filled(placed[None], known[None], positive)[0]


def fitted_to(model: Model, bags: Bags, y: Any, groups: Int[np.ndarray, " n"] | None) -> Model:
    """Return a clone that is fitted to some of the bags, with their groups if it takes them."""
    given = {"groups": groups} if has_fit_parameter(model, "groups") else {}
    with warnings.catch_warnings():  # of parts of the bags
        warnings.simplefilter("ignore", QueryWarning)
        fitted: Model = clone(model).fit(bags, y, **given)
    return fitted


def most_folds(targets: Targets, folds: int) -> int:
    """Return the number of folds, at most as many as the rarest class has bags or groups."""
    counts = counts_of_classes(targets.number, targets.groups)
    if counts.max() < 2:
        one = "bag" if targets.groups is None else "group"
        remedy = "Label more; numbers to predict are for BagRegressor, `fit --numbers`."
        legal = f"of a class in two {one}s or more, to be cross-validated"
        raise InvalidInput("y", legal, f"{len(counts)} classes, each in one {one}", remedy)
    return max(min([folds, *counts[counts > 1].tolist()]), 2)


def training_bags(
    number: Shaped[np.ndarray, " n"],
    groups: Int[np.ndarray, " n"] | None,
    folds: int,
    seed: int,
    repeats: int = 1,
) -> list[Bool[np.ndarray, " n"]]:
    """Return the training bags of each fold, which has its share of each class and whole groups."""
    n = len(number)
    if groups is None:
        rounds = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class")  # it has one bag
            splits = list(rounds.split(np.empty(n), number))
        return [np.isin(np.arange(n), train) for train, _ in splits]
    rng = np.random.RandomState(seed)
    numbers = [fold_numbers(number, folds, rng, groups) for _ in range(repeats)]
    return [fold != k for fold in numbers for k in range(fold.max() + 1)]


def as_seed(random_state: Any) -> int:
    """Return a number as it is, so that folds are those of other calls with this seed."""
    rng = generator_of(random_state)
    return int(random_state if isinstance(random_state, Integral) else rng.randint(2**31 - 1))
