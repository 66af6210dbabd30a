"""The classifier of bags to begin with: an average of several, with weights by left-out loss."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from jaxtyping import Float
from scipy.special import softmax
from sklearn.dummy import DummyClassifier

from sparsetoken.bags import Bags
from sparsetoken.estimators.attention import AttentionClassifier
from sparsetoken.estimators.base import BaseBagClassifier, ClassWeight, RandomState
from sparsetoken.estimators.fitting.targets import effective_weights, of_classes
from sparsetoken.estimators.fitting.tokens import TokenOdds, token_fit
from sparsetoken.estimators.fitting.training import Training
from sparsetoken.estimators.forest import PooledForestClassifier
from sparsetoken.estimators.linear import PooledClassifier
from sparsetoken.estimators.similarities import Similar
from sparsetoken.estimators.stack import CENTRED, BagStack, Part, TokenForm, best_form
from sparsetoken.estimators.thresholds import (
    Threshold,
    check_threshold,
    positive_place,
    threshold_of,
)


class SimilarityClassifier(Similar, BaseBagClassifier):
    """Logistic regression on similarities to prototypes."""

    class_weight: ClassWeight = None


class BagClassifier(BagStack, BaseBagClassifier):
    """An average of classifiers of bags, weighted by how well they predict held-out bags.

    The members are the class rate (``constant``), logistic regression on the logarithm of the size
    of a bag where sizes differ, `PooledForestClassifier`, logistic regression (``prototypes``) and
    trees (``forest of prototypes``) on `BagSimilarities`, and `PooledClassifier` of mean
    (``mean``), max (``maxima``) and ``statistics``. These of mean and
    max, and `AttentionClassifier`, are fitted to the tokens and, where columns have heavy tails, to
    their normal scores (`TokenNormalScores`); attention also to the tokens less the mean of their
    bag, which a shift that all tokens of a bag share does not move. The score of a bag is
    sum_m weights_[m] score_m + intercept_, of log odds of two classes, of logarithms of the class
    probabilities of more, whose softmax are then the probabilities. The weights are >= 0, have the
    sum 1, and give held-out scores the least mean loss: stacking, or the super learner. Weights
    found without a tenth of the bags say how much of this is noise, and leave so much to the class
    rate. Beyond 6.7e7 values of tokens members of normal scores are fitted to a sample of bags, or
    groups, whose size `summary` says; bags outside the sample count as held out.

    Parameters
    ----------
    members : sequence of (name, classifier)
        Your own classifiers beside these. ``fit(bags, y)`` and ``predict_proba(bags)`` receive
        `sparsetoken.bags.Bags`; a classifier of rows follows a `BagPooling`, as
        ``make_pipeline(BagPooling(), KNeighborsClassifier())``. Groups are given to those whose
        ``fit`` takes them. Their held-out scores are log odds in a cross-validation.
    exclude : sequence of str
        Names of members to leave out, as ``("size",)``: then trees do not see the logarithm of the
        size either. ``mean``, ``maxima``, ``attention`` and ``forest`` leave out all members whose
        names begin so, such as ``forest of prototypes``.
    class_weight : dict, "balanced" or None
        Weights of the classes. Those of two classes move the log odds as other class rates would,
        and leave the order of the bags as it is; so does what sample weights of one class have in
        common. With more classes they weight the fits of each against the rest.
    threshold : "auto", float or dict
        Of two classes, the probability of the positive one from which on a bag is predicted to be
        of it; ``auto`` is 0.5. ``{"sensitivity": 0.95}`` finds such a share of new bags of this
        class in the mean over training sets: of n training bags of it, or groups, it takes the
        held-out score of rank ceil(0.95 (n + 1)), and goes halfway down to the next lower score of
        the other class: no threshold in between changes the held-out specificity. If n < 0.95/0.05
        = 19 that rank exceeds n: then it takes the lowest score, and finds a share of n/(n + 1) or
        more. For other aims there is `sklearn.model_selection.TunedThresholdClassifierCV`.
    positive : label, optional
        Which of two classes is the positive one, of the threshold and of what
        `sparsetoken.cross_validated` states; by default the second of `classes_`, which are in
        order: of "metastasis" and "normal" that is "normal". Probabilities and
        `decision_function` have the order of `classes_`, whichever is positive.
    progress : bool
        Whether a fit of more than two seconds shows its progress.
    n_folds : int
        Folds for the query of attention and for your own members.
    random_state : int, RandomState or None
        Of folds, which go by the places of the bags: the same bags in another order have other
        folds, and so other probabilities. Two fits with the default are equal.

    Attributes
    ----------
    member_names_ : list of M str
    members_ : dict from name to fitted classifier
        Those of normal scores act on these, ``size`` on bags of one token: the logarithm of a size.
    member_bags_ : int array of shape (M,)
        How many bags each member was fitted to.
    weights_ : array of shape (M, 1)
        All classes share them. A `QueryWarning` says if the constant has all of it.
    member_losses_ : array of shape (M, 1)
        Held-out log-loss of each member by itself, of all classes.
    member_temperature_ : array of shape (M,)
        What the logarithms of the probabilities of more than two classes are divided by, so that
        those of held-out bags have the least loss; 1 for two classes.
    threshold_ : float
        The probability of the positive class from which on it is predicted; nan for more classes.
    intercept_ : array of shape (K,)
        K = 1 for two classes, else n_classes.
        What weights of two classes add to the log odds; 0 for more classes.
    token_coef_ : array of shape (K, d)
        `top_tokens` orders by <x_l, token_coef_>, where x_l has the form `token_form_`.
    token_form_ : str
        "tokens", "centred tokens" (less the mean of their bag) or "normal scores": that in which
        attention has the least left-out loss.
    token_counts_ : array of shape (A,)
        How many tokens make a bag positive, of the assumptions that were tried: 0 for any number,
        independently, R for exactly R, f < 1 for a share of them that is f in the mean over bags.
    token_count_proba_ : array of shape (K, A)
        The probability of each of these assumptions.
    token_slope_, token_intercept_, token_ceiling_ : arrays of shape (K, A)
        Of `predict_token_proba`, for each of these assumptions.
    token_log_odds_ : array of shape (K,)
        Of a positive bag beforehand, in the assumption of a share; 0 if it was not tried.
    token_rate_ : array of shape (K,)
        The mean of these probabilities over the tokens.
    side_ : array of shape (K,)
        -1 where single tokens make a bag one of the first class, else 1.
    normal_scores_ : TokenNormalScores or None
        What makes the normal scores; None if no column has heavy tails.
    similarities_ : BagSimilarities or None
        What makes the similarities to prototypes; None for bags of one token, and where no member
        acts on them.
    classes_, left_out_scores_, left_out_auc_, n_bags_, n_features_in_
        As for `PooledClassifier`; left-out scores are averages with these weights.

    See Also
    --------
    AttentionClassifier : One of its members, by itself.
    sparsetoken.estimators.PooledClassifier : Mean pooling by itself.
    BagRegressor : For numbers in place of labels.

    Examples
    --------
    >>> import numpy as np
    >>> labels, rng = np.arange(200) % 2, np.random.default_rng(0)
    >>> bags = rng.standard_normal((200, 8, 5))
    >>> bags[labels == 1, 0] += 2  # one token of eight
    >>> model = BagClassifier().fit(bags, labels)
    >>> model.score(bags, labels) > 0.9, int(model.top_tokens(bags[1:2])[0][0])
    (True, 0)
    """

    token_counts_: Float[np.ndarray, " A"]
    token_count_proba_: Float[np.ndarray, "K A"]
    token_slope_: Float[np.ndarray, "K A"]
    token_intercept_: Float[np.ndarray, "K A"]
    token_ceiling_: Float[np.ndarray, "K A"]
    token_log_odds_: Float[np.ndarray, " K"]
    token_rate_: Float[np.ndarray, " K"]
    threshold_: float

    def __init__(
        self,
        members: Sequence[tuple[str, Any]] = (),
        class_weight: ClassWeight = None,
        n_folds: int = 8,
        random_state: RandomState = 0,
        progress: bool = True,
        threshold: Threshold = "auto",
        positive: Any = None,
        exclude: Sequence[str] = (),
    ) -> None:
        self.members = members
        self.class_weight = class_weight
        self.threshold = threshold
        self.positive = positive
        self.exclude = exclude
        self.n_folds = n_folds
        self.random_state = random_state
        self.progress = progress

    def _fit(self, training: Training) -> list[str]:
        check_threshold(self.threshold, len(self.classes_))
        place = positive_place(self.positive, self.classes_)
        targets, plain = training.targets, self._without_weights(training)
        forms = self._average(
            plain,
            {
                "constant": DummyClassifier(),
                "size": PooledClassifier(),
                "forest": PooledForestClassifier(),
                "mean": PooledClassifier(),
                "maxima": PooledClassifier("max"),
                "attention": AttentionClassifier(),
                CENTRED: AttentionClassifier(centred=True),
                "statistics": PooledClassifier("statistics"),
                "prototypes": SimilarityClassifier(),
                "forest of prototypes": PooledForestClassifier(),
            },
        )
        self._keep_tokens(best_form(forms))
        self.intercept_ = np.array(targets.constants) - np.array(plain.targets.constants)
        self.left_out_scores_ = self.left_out_scores_ + self.intercept_
        self.threshold_ = np.nan
        if len(self.classes_) == 2:
            chances = self._probabilities(self.left_out_scores_)[:, place]
            self.threshold_ = threshold_of(
                self.threshold, chances, targets.number == place, targets.weight, targets.groups
            )
        return self._doubts()

    def _of_fit(self) -> list[str]:
        """Say which members have what weight, and where the line to the positive class is."""
        lines = super()._of_fit()
        if len(self.classes_) == 2:
            name = self.classes_[positive_place(self.positive, self.classes_)]
            line = f"Predicted {name}, the positive class, from a probability of "
            lines.append(f"{line}{self.threshold_:.3g} on.")
        return lines

    def _without_weights(self, training: Training) -> Training:
        """Return a training in which weights of two classes do not count.

        They move the log odds and change nothing else, as other rates would (Elkan, 2001). Of more
        classes they change what the rest of the classes is made of.
        """
        targets, classes, number = training.targets, self.classes_, training.targets.number
        if len(classes) > 2:
            return training
        weight = targets.weight.copy()
        for c in range(2):
            weight[number == c] = effective_weights(weight[number == c])
        rates = of_classes(targets.used, weight, classes, number, np.ones(2), targets.groups)
        return dataclasses.replace(training, targets=rates)

    def _keep_tokens(self, part: Part) -> None:
        """Keep the scores of tokens by attention of one form."""
        self.token_form_ = cast(TokenForm, part.form)
        tokens = part.training.tokens
        pairs = zip(part.training.tasks, part.training.attention, strict=True)
        fits = [token_fit(*one) for one in pairs]
        coef = tokens.coefficients(np.stack([fit.w for fit in fits]))
        self.token_coef_ = coef.astype(tokens.bags.dtype)
        self.token_counts_ = np.unique([float(one.count) for fit in fits for one in fit.odds])
        odds_of = np.zeros((4, len(fits), len(self.token_counts_)))
        for k, fit in enumerate(fits):
            offset = tokens.offset(fit.w)
            for weight, odds in zip(fit.weights.tolist(), fit.odds, strict=True):
                a, b = odds.coef[0], odds.intercept + odds.coef[0] * offset
                place = np.searchsorted(self.token_counts_, odds.count)
                odds_of[:, k, place] = weight, a, b, odds.ceiling
        self.token_count_proba_, self.token_slope_ = odds_of[:2]
        self.token_intercept_, self.token_ceiling_ = odds_of[2:]
        # Those of the counts are 0.
        self.token_log_odds_ = np.array([sum(o.log_odds for o in fit.odds) for fit in fits])
        self.token_rate_ = np.array([fit.rate for fit in fits])
        self.side_ = np.array([fit.side for fit in fits])

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each bag, an array of shape (n,): see `threshold`."""
        if isinstance(self.threshold, str):
            return super().predict(X)
        place = positive_place(self.positive, self.classes_)
        found = self.predict_proba(X)[:, place] >= self.threshold_
        return self.classes_[np.where(found, place, 1 - place)]

    def _of_classes(self, scores: Float[np.ndarray, "n K"]) -> Float[np.ndarray, "n K"]:
        return np.asarray(softmax(scores, axis=1))

    def _scores(self, bags: Bags) -> Float[np.ndarray, "n K"]:
        return super()._scores(bags).astype(bags.dtype, copy=False)

    def predict_token_proba(self, X: Any) -> list[np.ndarray]:
        """Return the probability of each token that it makes its bag one of the second class.

        Tokens do so independently, token l with the odds p_l / (1 - p_l), p_l = c / (1 +
        exp(-slope <x_l, token_coef_> - intercept)), in numbers that are allowed: any number, which
        is the standard assumption of multiple-instance learning (noisy-or), or exactly R or none,
        or about a share f of those of the bag.
        Slope, intercept and c are fitted to the labels of bags for each assumption, by scores of
        tokens that have not seen them. The probabilities are averages over the assumptions, each
        with the probability that the labels give it. Where `side_` is -1 they are of tokens that
        make their bag one of the first class. Where the class rate has all weight all tokens have
        `token_rate_`, their mean.

        Returns
        -------
        list of arrays of shape (L_i,), or (L_i, n_classes) for more than two classes
        """
        bags = self._read(X)
        scores = self._token_scores(bags.nonempty).astype(np.float64)
        chances = np.zeros_like(scores)
        if not len(scores):  # of bags without a token
            return self._per_bag(chances, bags)
        fitted = (self.token_slope_, self.token_intercept_, self.token_ceiling_)
        for k, place in zip(*np.nonzero(self.token_count_proba_), strict=True):
            slope, intercept, ceiling = (float(values[k, place]) for values in fitted)
            count = float(self.token_counts_[place])
            before = float(self.token_log_odds_[k])
            odds = TokenOdds(count, np.array([slope]), intercept, ceiling, log_odds=before)
            given_count = odds.probabilities(scores[:, k : k + 1], bags.nonempty.sizes)
            chances[:, k] += self.token_count_proba_[k, place] * given_count
        return self._per_bag(np.where(self._silent(), self.token_rate_, chances), bags)
