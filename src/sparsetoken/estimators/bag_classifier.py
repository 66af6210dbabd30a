"""The classifier of bags to begin with: an average of several, with weights by left-out loss."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sparsetoken.bags import Bags
from sparsetoken.estimators.attention import AttentionClassifier
from sparsetoken.estimators.base import BaseBagClassifier
from sparsetoken.estimators.linear import MaxPooledClassifier, PooledLinearClassifier
from sparsetoken.estimators.normal_scores import TokenNormalScores
from sparsetoken.estimators.parameters import ClassWeight, RandomState
from sparsetoken.estimators.query_warning import QueryWarning
from sparsetoken.fitting.folds import fold_numbers
from sparsetoken.fitting.queries import StepSizes, find_queries
from sparsetoken.fitting.samples import Samples, Targets
from sparsetoken.fitting.signal_test import LEVEL, signal_pvalue
from sparsetoken.fitting.stacking import convex_weights
from sparsetoken.fitting.task import MOST, Task
from sparsetoken.fitting.training import AttentionFit, attend
from sparsetoken.losses import Loss
from sparsetoken.progress import progress_of
from sparsetoken.validation import InvalidInput, integer

VALUES = 1 << 26  # of tokens, up to which members are fitted to normal scores: a copy of 256 MB
NORMAL = " of normal scores"
ATTENTION = ("attention", "attention" + NORMAL)
BUILT_IN = [name + form for form in ("", NORMAL) for name in ("mean", "maxima", "attention")]
STEPS = StepSizes(0.5, 0.5, 1.0)  # as of AttentionClassifier
LEAST = 1e-6  # probability that a member of a user is taken to give at least


@dataclasses.dataclass(frozen=True, eq=False)
class _Member:
    """A fitted classifier and its scores of the bags it was not fitted to."""

    name: str
    classifier: Any
    left_out: Float[np.ndarray, "n K"]


@dataclasses.dataclass(frozen=True, eq=False)
class _TokenOrder:
    """Directions (K, d) in which tokens are ordered, and the left-out loss of their attention."""

    coef: Float[np.ndarray, "K d"]
    side: Int[np.ndarray, " K"]
    loss: float

    @classmethod
    def of(cls, tasks: list[Task], fits: list[AttentionFit]) -> _TokenOrder:
        scaling, dtype = tasks[0].features.standardization, tasks[0].bags.dtype
        pairs = list(zip(tasks, fits, strict=True))
        coef = [scaling.coefficients(_token_direction(task, fit)) for task, fit in pairs]
        losses = [fit.readout.left_out_loss(task.samples) for task, fit in pairs]
        side = np.array([-1 if fit.likelihood < 0 else 1 for fit in fits])
        return cls(np.stack(coef).astype(dtype), side, float(np.mean(losses)))


class BagClassifier(BaseBagClassifier):
    """An average of classifiers of bags, weighted by how well they predict bags left out.

    The members are `PooledLinearClassifier`, `MaxPooledClassifier` and `AttentionClassifier`, each
    fitted to the tokens and, where columns have heavy tails, to their normal scores
    (`TokenNormalScores`). The score of a bag is sum_m weights_[m] score_m. The weights are
    >= 0, have the sum 1, and give the scores of bags left out of the fit the least mean loss:
    stacking, or the super learner. Where an exact test finds no signal, no member has any weight:
    all bags have the score of the class rate.

    For time, column maxima are left out beyond 2 million of them (bags times columns), and normal
    scores beyond 6.7e7 values of tokens. Bags of one token have mean pooling alone.

    Parameters
    ----------
    members : sequence of (name, classifier)
        Classifiers of one's own beside these, with `predict_proba` for `Bags`. Their left-out
        scores are log odds in a cross-validation.
    class_weight : dict, "balanced" or None
        Weights of the classes; ``balanced`` lets each class count as much as any other.
    n_folds : int
        Folds for the query of attention and for members of one's own; fewer if a class has fewer
        bags.
    n_tokens : int, optional
        Tokens in each row of a 2-D input; by default a row is one token.
    random_state : int, RandomState or None
        Of folds. Two fits with the default are equal.
    progress : bool
        Whether a fit of more than two seconds shows its progress on a terminal or in a notebook.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    member_names_ : list of M str
    weights_ : array of shape (M, K)
        K = 1 for two classes, else n_classes, each against the rest. All 0 where there is no
        signal.
    member_losses_ : array of shape (M, K)
        Log-loss of each member by itself on bags left out.
    members_ : dict from name to classifier
        Fitted.
    token_coef_ : array of shape (K, d)
        Direction in which `top_tokens` orders tokens.
    orders_normal_scores_ : bool
        Whether that direction is of normal scores.
    side_ : array of shape (K,)
        -1 where attention looks for tokens of the first class, else 1.
    intercept_ : array of shape (K,)
        Log odds of the class where there is no signal, else 0.
    signal_pvalue_ : array of shape (K,)
        Of the hypothesis that labels are independent of tokens, by permutations; members have
        weight if it is below 0.05.
    left_out_scores_ : array of shape (n, K)
        Averages of the left-out scores of the members, with these weights.
    normal_scores_ : TokenNormalScores or None
        What makes the normal scores; None if no column has heavy tails.
    n_bags_, n_features_in_
        As for `PooledLinearClassifier`.

    See Also
    --------
    AttentionClassifier : One of its members, by itself.

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

    loss = "logistic"
    members_: dict[str, Any]
    member_names_: list[str]
    member_losses_: np.ndarray
    weights_: np.ndarray
    signal_pvalue_: np.ndarray
    token_coef_: np.ndarray
    side_: np.ndarray
    orders_normal_scores_: bool
    normal_scores_: TokenNormalScores | None

    def __init__(
        self,
        members: Sequence[tuple[str, Any]] = (),
        class_weight: ClassWeight = None,
        n_folds: int = 8,
        n_tokens: int | None = None,
        random_state: RandomState = 0,
        progress: bool = True,
    ) -> None:
        self.members = members
        self.class_weight = class_weight
        self.n_folds = n_folds
        self.n_tokens = n_tokens
        self.random_state = random_state
        self.progress = progress

    def _fit(self, bags: Bags, targets: Targets, loss: Loss) -> None:
        own, n_folds = _checked(self.members), integer("n_folds", self.n_folds, 2)
        rng = check_random_state(self.random_state)
        folds = np.zeros(len(bags), dtype=int)
        if own or bags.sizes.max() > 1:  # nothing else needs them, or two bags of each class
            folds = fold_numbers(targets.number, n_folds, rng)
        scores = _normal_scores(bags, targets, rng)
        forms = [bags] if scores is None else [bags, scores.transform(bags)]
        # Members share the fit to the mean token: all take the tasks of the first.
        tasks = [PooledLinearClassifier()._tasks(form, targets, loss) for form in forms]
        of_class = list(zip(*tasks, strict=True))
        with progress_of("fits", 1 + 3 * len(forms) + len(own), self.progress) as done:
            self.signal_pvalue_ = np.array([signal_pvalue(each) for each in of_class])
            done()
            found: list[_Member] = []
            orders: list[_TokenOrder] = []
            for each, suffix in zip(tasks, ("", NORMAL), strict=False):
                for name, classifier in self._built_in(each, folds, orders):
                    found.append(_Member(name + suffix, classifier, classifier.left_out_scores_))
                    done()
            for name, classifier in own:
                found.append(_cross_validated(name, classifier, bags, targets, folds))
                done()
        self.member_names_ = [member.name for member in found]
        self.members_ = {member.name: member.classifier for member in found}
        self.normal_scores_ = scores
        order = min(orders, key=lambda one: one.loss)
        self.token_coef_, self.side_ = order.coef, order.side
        self.orders_normal_scores_ = order is not orders[0]
        self._weigh(found, [each[0].samples for each in of_class], loss)

    def _built_in(
        self, tasks: list[Task], folds: Int[np.ndarray, " n"], orders: list[_TokenOrder]
    ) -> Iterator[tuple[str, Any]]:
        """Fit mean pooling, column maxima and attention to one form of the tokens; order these."""
        bags, attention = tasks[0].bags, AttentionClassifier()
        several = bags.sizes.max() > 1
        linear: dict[str, Any] = {"mean": PooledLinearClassifier()}
        if several and tasks[0].features.means.size <= MOST:
            linear["maxima"] = MaxPooledClassifier()
        for name, classifier in linear.items():
            self._share(classifier, bags)
            classifier._fit_tasks(tasks)
            yield name, classifier
        self._share(attention, bags)
        options = attention._options(tasks[0].loss)
        fits = [attend(task, options, folds) for task in tasks]
        if several:
            attention._keep(fits, tasks[0].features.standardization, bags)
            yield "attention", attention
        orders.append(_TokenOrder.of(tasks, fits))

    def _share(self, classifier: Any, bags: Bags) -> None:
        """Tell a member what all have in common, so that it can be used by itself."""
        classifier.classes_, classifier.n_bags_ = self.classes_, self.n_bags_
        classifier.n_features_in_ = bags.dimension

    def _weigh(self, found: list[_Member], problems: list[Samples], loss: Loss) -> None:
        """Set weights, constants, and what the average says of bags that are left out."""
        left_out = np.stack([member.left_out for member in found])
        losses = [
            np.asarray(loss.value(samples.y, left_out[:, :, k])) @ samples.share
            for k, samples in enumerate(problems)
        ]
        self.member_losses_ = np.stack(losses, axis=1)
        on = self.signal_pvalue_ < LEVEL
        weights = [
            convex_weights(left_out[:, :, k].T, samples, loss) if on[k] else np.zeros(len(found))
            for k, samples in enumerate(problems)
        ]
        self.weights_ = np.stack(weights, axis=1)
        self.intercept_ = np.where(on, 0.0, [samples.log_odds for samples in problems])
        # A member without weight may have scores that are not finite.
        known = np.where(self.weights_[:, None] > 0, left_out, 0.0)
        self.left_out_scores_ = np.einsum("mk,mnk->nk", self.weights_, known) + self.intercept_

    def _scores(self, bags: Bags) -> Float[np.ndarray, "n K"]:
        used = np.flatnonzero(self.weights_.any(axis=1)).tolist()
        scores = np.broadcast_to(self.intercept_, (len(bags), len(self.intercept_)))
        for m, member_scores in zip(used, self._of_members(bags, used), strict=True):
            scores = scores + self.weights_[m] * member_scores
        return scores

    def _of_members(self, bags: Bags, members: Iterable[int]) -> Iterator[Float[np.ndarray, "n K"]]:
        """Return the scores of some members."""
        names = [self.member_names_[m] for m in members]
        normal = self._normal(bags, names)
        for name in names:
            classifier, form = self.members_[name], normal if name.endswith(NORMAL) else bags
            yield classifier._scores(form) if name in BUILT_IN else _log_odds(classifier, form)

    def _normal(self, bags: Bags, names: list[str]) -> Bags:
        """Return the normal scores of tokens, if any of the named members acts on them."""
        if self.normal_scores_ is None or not any(name.endswith(NORMAL) for name in names):
            return bags
        return self.normal_scores_.transform(bags)

    def member_scores(self, X: Any, mask: Any = None) -> np.ndarray:
        """Return the score of each bag by each member, also by those without weight.

        Returns
        -------
        array of shape (n, M), or (n, M, n_classes) for more than two classes
            In the order of `member_names_`; a score is a log odds.
        """
        found = self._of_members(self._read(X, mask), range(len(self.member_names_)))
        scores = np.stack(list(found), axis=1)
        return scores[:, :, 0] if len(self.classes_) == 2 else scores

    def contributions(self, X: Any, mask: Any = None) -> np.ndarray:
        """Return what each member adds to the score of each bag: its weight times its score.

        Returns
        -------
        array of shape (n, M), or (n, M, n_classes) for more than two classes
            In the order of `member_names_`. Their sum and `intercept_` are the score.
        """
        scores = self.member_scores(X, mask)
        return scores * (self.weights_[:, 0] if scores.ndim == 2 else self.weights_)

    def _attention(self, k: int) -> str:
        """Return the member with attention of most weight for a class, "" if none has any."""
        names = [name for name in self.member_names_ if name in ATTENTION]
        weights = {name: self.weights_[self.member_names_.index(name), k] for name in names}
        best = max(names, key=lambda name: weights[name], default="")
        return best if best and weights[best] > 0 else ""

    def attention_weights(self, X: Any) -> list[np.ndarray]:
        """Return the weight of each token in its bag: arrays (L_i,), or (L_i, n_classes).

        They are those of the member with attention that has most weight. Where none has any, all
        tokens have the same.
        """
        bags = self._read(X)
        return self._per_bag(self._attention_weights(bags), bags)

    def _attention_weights(self, bags: Bags) -> Float[np.ndarray, "N K"]:
        K = self.weights_.shape[1]
        names = [self._attention(k) for k in range(K)]
        normal = self._normal(bags, names)
        weights = np.repeat(1 / bags.sizes, bags.sizes)[:, None] * np.ones(K)
        for k, name in enumerate(names):
            if name:
                form = normal if name.endswith(NORMAL) else bags
                weights[:, k] = self.members_[name]._tokens(form).weights[:, k]
        return weights

    def top_tokens(self, X: Any, k: int = 1) -> list[np.ndarray]:
        """Return the positions of the k tokens that speak most for a class, the first the most.

        Tokens are ordered by <x_l, token_coef_>: the sum of two token scores, that of attention as
        it stands in its softmax, and that of the query of two gradient steps in its deviations.
        They are of the form of the tokens in which attention has the smaller left-out loss. The
        class is the second one, or the first where attention looks for its tokens there (`side_`
        is -1). Bags of fewer than k tokens give all of them.

        Returns
        -------
        list of int arrays of shape (k,), or (k, n_classes) for more than two classes

        Warns
        -----
        QueryWarning
            If no signal is found for any class.
        """
        k, bags = integer("k", k, 1), self._read(X)
        if not self.weights_.any():
            warnings.warn(self.summary(), QueryWarning, stacklevel=2)
        form = bags
        if self.orders_normal_scores_ and self.normal_scores_ is not None:
            form = self.normal_scores_.transform(bags)
        scores = form.tokens @ self._in(form, self.token_coef_ * self.side_[:, None]).T
        bounds = zip(bags.offsets[:-1], bags.offsets[1:], strict=True)
        orders = [np.argsort(-scores[a:b], axis=0, kind="stable")[:k] for a, b in bounds]
        return [order[:, 0] if len(self.side_) == 1 else order for order in orders]

    def summary(self) -> str:
        """Say in a line for each class which members have what weight."""
        check_is_fitted(self)
        names = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        lines = []
        for name, weights, p in zip(
            names.tolist(), self.weights_.T, self.signal_pvalue_.tolist(), strict=True
        ):
            if not weights.any():
                text = f"no signal is found (p = {p:.2g}), the score is that of the class rate"
            else:
                order = np.argsort(-weights, kind="stable")
                parts = [f"{self.member_names_[m]} {weights[m]:.0%}" for m in order if weights[m]]
                text = f"{', '.join(parts)}; p = {p:.2g} against no signal"
            lines.append(f"Class {name}: {text}.")
        return "\n".join(lines)


def _token_direction(task: Task, fit: AttentionFit) -> Float[np.ndarray, " d"]:
    """Return the sum of two queries that speak for the second class.

    That of attention has its sharpness in it, so that it decides where it is sure; that of two
    gradient steps is of unit token scores. Each errs by noise of its own.
    """
    everything = [np.ones(len(task.samples.y), dtype=bool)]
    two_steps = find_queries(task, "two_step", everything, STEPS).Q[:, 0]
    side = np.sign(two_steps @ task.mean_fit.w)
    return fit.q * np.sign(fit.likelihood) + side * two_steps


def _checked(members: Any) -> list[tuple[str, Any]]:
    """Return the members that a user adds, or raise `InvalidInput`."""
    legal = "pairs of a name of its own and a classifier with predict_proba"
    try:
        pairs = [(name, classifier) for name, classifier in members]
    except (TypeError, ValueError):
        raise InvalidInput("members", legal, members) from None
    names = [name for name, _ in pairs]
    if len({*names, *BUILT_IN}) < len(names) + len(BUILT_IN):
        raise InvalidInput("members", legal, names, f"Names that are taken: {', '.join(BUILT_IN)}.")
    for name, classifier in pairs:
        if not isinstance(name, str) or not hasattr(classifier, "predict_proba"):
            raise InvalidInput("members", legal, f"{name!r}: {type(classifier).__name__}")
    return pairs


def _normal_scores(
    bags: Bags, targets: Targets, rng: np.random.RandomState
) -> TokenNormalScores | None:
    """Return the scores that members are fitted to beside the tokens, if any column has them."""
    if bags.sizes.max() == 1 or bags.tokens.size > VALUES:
        return None
    scores = TokenNormalScores(random_state=rng.randint(2**31 - 1))
    scores.fit(bags, sample_weight=targets.weight)
    return scores if len(scores.columns_) else None


def _cross_validated(
    name: str,
    classifier: Any,
    bags: Bags,
    targets: Targets,
    folds: Int[np.ndarray, " n"],
) -> _Member:
    """Fit a member of a user, with the log odds of bags in folds that it has not seen."""
    y, weight = targets.classes[targets.number], targets.weight
    weighted = not (weight == weight[0]).all()

    def fitted(rows: Bool[np.ndarray, " n"]) -> Any:
        given = {"sample_weight": weight[rows]} if weighted else {}
        return clone(classifier).fit(bags[rows], y[rows], **given)

    parts = [(folds != fold, folds == fold) for fold in np.unique(folds)]
    left_out: Any = None
    for rest, fold in parts:
        scores = _log_odds(fitted(rest), bags[fold])
        left_out = np.empty((len(y), scores.shape[1])) if left_out is None else left_out
        left_out[fold] = scores
    return _Member(name, fitted(np.ones(len(y), dtype=bool)), left_out)


def _log_odds(classifier: Any, bags: Bags) -> Float[np.ndarray, "n K"]:
    """Return the log odds of the second class, or of each class against the rest."""
    chances = np.clip(np.asarray(classifier.predict_proba(bags), float), LEAST, 1 - LEAST)
    chances = chances[:, 1:] if chances.shape[1] == 2 else chances
    return np.log(chances / (1 - chances))
