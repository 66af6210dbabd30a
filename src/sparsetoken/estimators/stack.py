"""Averages of estimators of bags, with convex weights by left-out loss: stacking."""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from sparsetoken.bags import Bags
from sparsetoken.base.progress import progress_of
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators.attention import Attention, TokenOrder
from sparsetoken.estimators.declared import NOT_FINITE
from sparsetoken.estimators.fitting.attention import AttentionFit, attend
from sparsetoken.estimators.fitting.stacking import LossRisk, Risk, shrunk_weights
from sparsetoken.estimators.fitting.targets import Targets
from sparsetoken.estimators.fitting.task import Task
from sparsetoken.estimators.forest import LARGEST_SAMPLE
from sparsetoken.estimators.normal_scores import TokenNormalScores

VALUES = 1 << 26  # of normal scores that members are fitted to: a copy of 512 MB
LEAST = 100  # bags that they are fitted to all the same
CONSTANT = "constant"
NORMAL = " of normal scores"
POOLED = ("mean", "maxima", "attention")
TAKEN = ("constant", "size", "forest", *POOLED, "statistics", "prototypes")

Form = Literal["tokens", "normal scores", "log sizes", "bags"]
"""What a member acts on: the last is for members of a user, by the methods of scikit-learn."""

Found = list[tuple[Task, AttentionFit]]
"""Attention to the tokens, or to their normal scores, for each column of scores."""


class Kinds(NamedTuple):
    """The estimators that are averaged, and those of scikit-learn for no token at all."""

    pooled: type
    attention: type
    forest: type
    constant: type
    prototypes: Any = None


class Member(NamedTuple):
    """A fitted estimator, what it acts on, its bags, and its scores of these when left out."""

    name: str
    form: Form
    estimator: Any
    left_out: Float[np.ndarray, "k K"]
    rows: Int[np.ndarray, " k"]


class _Part(NamedTuple):
    """Some of the bags: which, what is fitted to them, their targets, and the fold of each."""

    rows: Int[np.ndarray, " k"]
    tasks: list[Task]
    targets: Targets
    folds: Int[np.ndarray, " k"]


class BagStack(TokenOrder):
    """An average of a constant, linear estimators of bags, trees, and members of a user."""

    members: Sequence[tuple[str, Any]]
    member_names_: list[str]
    member_losses_: Annotated[Float[np.ndarray, "M 1"], NOT_FINITE]
    member_bags_: Int[np.ndarray, " M"]
    member_temperature_: Float[np.ndarray, " M"]
    members_: dict[str, Any]
    weights_: Float[np.ndarray, "M 1"]
    token_coef_: Float[np.ndarray, "K d"]
    side_: Int[np.ndarray, " K"]
    orders_normal_scores_: bool
    normal_scores_: TokenNormalScores | None
    _forms: dict[str, Form]
    _kinds: ClassVar[Kinds]
    _method: ClassVar[str]

    def _sizes(self) -> dict[str, int]:
        names, sizes, whose = self.member_names_, super()._sizes(), f"of {type(self).__name__}"
        if not names == [*self.members_] == [*self._forms]:
            raise InvalidInput(f"members_ {whose}", f"{names}, with forms", [*self.members_])
        for name, member in self.members_.items():
            method = self._method if self._forms[name] == "bags" else "_scores"
            if not hasattr(member, method):
                raise InvalidInput(f"{name} {whose}", f"an estimator with {method}", member)
        one_bag = Bags(np.zeros((1, sizes["d"])), np.arange(2))
        scores = self._of_user(self.members_[CONSTANT], one_bag)
        if scores.shape != (1, sizes["K"]) or not np.isfinite(scores).all():
            raise InvalidInput(f"{CONSTANT} {whose}", f"of {sizes['K']} finite scores", scores)
        return sizes | {"M": len(names)}

    def _fit_tasks(self, tasks: list[Task], targets: Targets) -> list[str]:
        own, bags = self._own_members(), tasks[0].bags
        folds, rng = self._folds(targets, needed=bool(own) or bags.sizes.max() > 1)
        self.normal_scores_ = _normal_scores(bags, targets, rng)
        # Members share the fit to the mean token: all take the same tasks.
        whole = _Part(np.arange(len(bags)), tasks, targets, folds)
        parts: dict[Form, _Part] = {"tokens": whole}
        if self.normal_scores_ is not None:
            parts["normal scores"] = self._of_normal_scores(whole)
        found: list[Found] = []
        with progress_of("fits", 1 + len(parts) + len(own), self.progress) as done:
            members = list(self._alone(whole, rng))
            done()
            for form, part in parts.items():
                found.append([(task, attend(task, part.folds)) for task in part.tasks])
                members += self._poolings(form, part, found[-1])
                done()
            members += self._of_single_tokens(whole, rng)
            for name, one in own:
                members.append(self._cross_validated(name, one, bags, targets, folds))
                done()
        members = [self._completed(member, bags) for member in members]
        self.member_names_ = [member.name for member in members]
        self.member_bags_ = np.array([len(member.rows) for member in members])
        self.members_ = {member.name: member.estimator for member in members}
        self._forms = {member.name: member.form for member in members}
        self.orders_normal_scores_ = self._keep_token_scores(found) > 0
        self.empty_score_ = self._joint(self.empty_score_[None])[0]
        self._weigh(members, tasks, targets)
        if not self._silent():
            return []
        return [
            f"{self._all_of_it()}: no member predicts left-out bags better than the constant, "
            "which has all weight. Take more bags, or add a member of your own."
        ]

    def _all_of_it(self) -> str:
        """Return what the weights are of."""
        names = self._names()
        return f"{self._kind_of_name} {names[0]}" if len(names) == 1 else f"{len(names)} classes"

    def _of_normal_scores(self, whole: _Part) -> _Part:
        """Return normal scores of all bags, or of a sample where they would take much memory."""
        bags, targets = whole.tasks[0].bags, whole.targets
        rows = targets.sampled(max(int(VALUES / bags.tokens.size * len(bags)), LEAST))
        if len(rows) == len(bags):
            return whole._replace(tasks=self._tasks(self._formed(bags, "normal scores"), targets))
        few = targets.take(rows)
        tasks = self._tasks(self._formed(bags[rows], "normal scores"), few)
        return _Part(rows, tasks, few, self._folds(few, needed=True)[0])

    def _alone(self, whole: _Part, rng: np.random.RandomState) -> Iterator[Member]:
        """Return what is fitted once: the class rate or the mean, size of the bag, and trees."""
        bags, targets = whole.tasks[0].bags, whole.targets
        dummy = self._kinds.constant().fit(bags, targets.given, sample_weight=targets.weight)
        # As of the other members, level (and slope) are those of least loss of all bags.
        scores = np.tile(targets.in_units(np.array(targets.constants)), (len(bags), 1))
        yield Member(CONSTANT, "bags", dummy, scores, whole.rows)
        if bags.sizes.min() < bags.sizes.max():
            sizes = whole._replace(tasks=self._tasks(self._formed(bags, "log sizes"), targets))
            yield self._fitted("size", "log sizes", self._kinds.pooled(), sizes)
        forest = self._kinds.forest()
        forest.random_state = rng.randint(2**31 - 1)
        yield self._fitted("forest", "tokens", forest, whole)

    def _of_single_tokens(self, whole: _Part, rng: np.random.RandomState) -> Iterator[Member]:
        """Return deviations within the bag, and similarities to tokens.

        Of many bags the latter are fitted to a sample, as trees are.
        """
        if whole.tasks[0].bags.sizes.max() == 1:
            return
        yield self._fitted("statistics", "tokens", self._kinds.pooled("statistics"), whole)
        if self._kinds.prototypes is None:
            return
        prototypes, targets = self._kinds.prototypes(), whole.targets
        prototypes.random_state = rng.randint(2**31 - 1)
        rows = targets.sampled(LARGEST_SAMPLE)
        if len(rows) < len(whole.rows):
            bags, few = whole.tasks[0].bags[rows], targets.take(rows)
            whole = _Part(rows, self._tasks(bags, few), few, self._folds(few, needed=True)[0])
        yield self._fitted("prototypes", "tokens", prototypes, whole, whole.folds)

    def _poolings(self, form: Form, part: _Part, found: Found) -> Iterator[Member]:
        """Return mean pooling, column maxima and attention of one form of the tokens."""
        more = "" if form == "tokens" else NORMAL
        yield self._fitted(f"mean{more}", form, self._kinds.pooled(), part)
        if part.tasks[0].bags.sizes.max() == 1:
            return
        yield self._fitted(f"maxima{more}", form, self._kinds.pooled("max"), part)
        fits = [fit for _, fit in found]
        yield self._fitted(f"attention{more}", form, self._kinds.attention(), part, fits)

    def _fitted(self, name: str, form: Form, estimator: Any, part: _Part, *given: Any) -> Member:
        """Return a member that knows what all have in common, so that it can be used by itself."""
        bags, targets = part.tasks[0].bags, part.targets
        estimator.n_bags_, estimator.n_features_in_ = self.n_bags_, bags.dimension
        if bags.feature_names is not None:
            estimator.feature_names_in_ = np.array(bags.feature_names, dtype=object)
        estimator.empty_score_ = targets.in_units(np.array(targets.constants))
        if hasattr(self, "classes_"):
            estimator.classes_ = self.classes_
        estimator._fit_tasks(part.tasks, targets, *given)
        return Member(name, form, estimator, estimator.left_out_scores_, part.rows)

    def _completed(self, member: Member, bags: Bags) -> Member:
        """Return a member with the scores of all bags: those outside its sample are unseen."""
        unseen = np.setdiff1d(np.arange(len(bags)), member.rows)
        if not len(unseen):
            return member
        scores = np.empty((len(bags), member.left_out.shape[1]))
        scores[member.rows] = member.left_out
        parts = math.ceil(bags.sizes[unseen].sum() * bags.dimension / VALUES)
        for some in np.array_split(unseen, min(parts, len(unseen))):
            scores[some] = member.estimator._scores(self._formed(bags[some], member.form))
        member.estimator.left_out_scores_ = scores
        return member._replace(left_out=scores)

    @abc.abstractmethod
    def _keep_token_scores(self, found: list[Found]) -> int:
        """Set what orders tokens, and return which of the forms it acts on."""

    def _weigh(self, members: list[Member], tasks: list[Task], targets: Targets) -> None:
        """Set weights, constants, and what the average says of bags that are left out."""
        risk = self._risk(tasks, targets)
        self._temper(members, risk)
        pairs = zip(members, self.member_temperature_.tolist(), strict=True)
        left_out = np.stack([self._joint(member.left_out, T) for member, T in pairs], axis=2)
        scores = (left_out - targets.shift) / targets.scale
        scores = scores[:, 0] if len(tasks) == 1 else scores
        weights = shrunk_weights(scores, risk)
        with np.errstate(invalid="ignore"):  # of scores that are not finite
            losses = [risk.mean(scores[..., m]) for m in range(len(members))]
        self.weights_, self.member_losses_ = weights[:, None], np.array(losses)[:, None]
        self.intercept_ = np.zeros(len(tasks))
        # A member without weight may have scores that are not finite.
        self.left_out_scores_ = left_out[..., weights > 0] @ weights[weights > 0]

    def _temper(self, members: list[Member], risk: Risk) -> None:
        """Set the temperature of each member."""
        self.member_temperature_ = np.ones(len(members))

    def _joint(
        self, scores: Float[np.ndarray, "n K"], temperature: float = 1.0
    ) -> Float[np.ndarray, "n K"]:
        """Return scores of a member as they are averaged."""
        return scores

    def _risk(self, tasks: list[Task], targets: Targets) -> Risk:
        """Return what the weights minimise."""
        return LossRisk(tasks[0].samples, tasks[0].loss)

    @abc.abstractmethod
    def _of_user(self, member: Any, bags: Bags) -> Float[np.ndarray, "n K"]:
        """Return the scores of bags by a fitted member of a user."""

    def _own_members(self) -> list[tuple[str, Any]]:
        """Return the members that a user adds, or raise `InvalidInput`."""
        method = self._method
        legal = f"pairs of a name of its own and an estimator with {method}"
        try:
            pairs = [(name, member) for name, member in self.members]
        except (TypeError, ValueError):
            raise InvalidInput("members", legal, self.members) from None
        names = [name for name, _ in pairs]
        reserved = (*TAKEN, *(name + NORMAL for name in POOLED))
        if len({*names, *reserved}) < len(names) + len(reserved):
            taken = f"Names that are taken: {', '.join(reserved)}."
            raise InvalidInput("members", legal, names, taken)
        for name, member in pairs:
            if not isinstance(name, str) or not hasattr(member, method):
                raise InvalidInput("members", legal, f"{name!r}: {type(member).__name__}")
        return pairs

    def _cross_validated(
        self,
        name: str,
        member: Any,
        bags: Bags,
        targets: Targets,
        folds: Int[np.ndarray, " n"],
    ) -> Member:
        """Fit a member of a user, with the scores of bags in folds that it has not seen."""
        y, weight = targets.given, targets.weight
        weighted = not (weight == weight[0]).all()

        def fitted(rows: Bool[np.ndarray, " n"]) -> Any:
            given = {"sample_weight": weight[rows]} if weighted else {}
            return clone(member).fit(bags[rows], y[rows], **given)

        left_out = np.empty((len(y), len(self._names())))
        for fold in np.unique(folds):
            rest, here = folds != fold, folds == fold
            if not targets.numbers and (y[rest] == y[rest][0]).all():  # the only bag of a class
                left_out[here] = targets.constants
            else:
                left_out[here] = self._of_user(fitted(rest), bags[here])
        return Member(
            name, "bags", fitted(np.ones(len(y), dtype=bool)), left_out, np.arange(len(y))
        )

    def _scores(self, bags: Bags) -> Float[np.ndarray, "n K"]:
        used = np.flatnonzero(self.weights_[:, 0]).tolist()
        scores = np.tile(self.intercept_, (len(bags), 1))
        found = self._of_members(bags, [self.member_names_[m] for m in used])
        for m, member_scores in zip(used, found, strict=True):
            scores = scores + self.weights_[m, 0] * member_scores
        return scores

    def _of_members(self, bags: Bags, names: list[str]) -> Iterator[Float[np.ndarray, "n K"]]:
        """Return the scores of some members."""
        formed = functools.cache(functools.partial(self._formed, bags))
        for name in names:
            member, form = self.members_[name], self._forms[name]
            own = form == "bags"
            scores = self._of_user(member, bags) if own else member._scores(formed(form))
            place = self.member_names_.index(name)
            yield self._joint(scores, float(self.member_temperature_[place]))

    def _formed(self, bags: Bags, form: Form) -> Bags:
        """Return what members act on; a logarithm of a size is a bag of one token."""
        if form == "log sizes":
            sizes = np.log(bags.sizes)[:, None].astype(bags.dtype)
            return Bags(sizes, np.arange(len(bags) + 1))
        if form == "normal scores" and self.normal_scores_ is not None:
            return self.normal_scores_.transform(bags)
        return bags

    def member_scores(self, X: Any) -> np.ndarray:
        """Return the score of each bag by each member, also by those without weight.

        Returns
        -------
        array of shape (n, M), or (n, M, n_classes) for more than two classes
            In the order of `member_names_`: log odds of two classes, logarithms of the
            probabilities of more, predictions of a regressor.
        """
        every = self._read(X)
        names = self.member_names_
        scores = self._or_constant(
            every,
            lambda bags: np.stack(list(self._of_members(bags, names)), axis=1),
            np.tile(self.empty_score_ - self.intercept_, (len(names), 1)),
        )
        return scores[:, :, 0] if scores.shape[2] == 1 else scores

    def contributions(self, X: Any) -> np.ndarray:
        """Return what each member adds to the score of each bag: its weight times its score.

        Returns
        -------
        array of shape (n, M), or (n, M, n_classes) for more than two classes
            In the order of `member_names_`. Their sum and `intercept_` are the score.
        """
        scores = self.member_scores(X)
        weights = self.weights_[:, 0] if scores.ndim == 2 else self.weights_
        # A member without weight may have scores that are not finite.
        return weights * np.where(weights > 0, scores, 0.0)

    def attention_weights(self, X: Any) -> list[np.ndarray]:
        """Return the weight of each token in its bag: arrays (L_i,), or (L_i, n_classes).

        They are those of the member with attention that has most weight. Where none has any, all
        tokens have the same.
        """
        every = self._read(X)
        bags = every.nonempty
        weights = np.repeat(1 / bags.sizes, bags.sizes)[:, None] * np.ones(len(self._names()))
        if name := self._attention():
            weights = self.members_[name]._weights(self._formed(bags, self._forms[name]))
        return self._per_bag(weights, every)

    def _attention(self) -> str:
        """Return the member with attention of most weight, "" if none has any."""
        weights = {
            name: weight
            for name, weight in zip(self.member_names_, self.weights_[:, 0], strict=True)
            if self._forms[name] != "bags" and isinstance(self.members_[name], Attention)
        }
        best = max(weights, key=weights.__getitem__, default="")
        return best if best and weights[best] > 0 else ""

    def _off(self) -> bool:
        return self._silent() or not self.token_coef_.any()

    def _silent(self) -> bool:
        """Return whether the constant has all weight."""
        return not self.weights_[1:].any()

    def _token_scores(self, bags: Bags) -> Float[np.ndarray, "N K"]:
        form = self._formed(bags, "normal scores" if self.orders_normal_scores_ else "tokens")
        return form.tokens @ self._in(form, self.token_coef_).T

    def summary(self) -> str:
        """Say in a line which members have what weight."""
        check_is_fitted(self)
        weights = self.weights_[:, 0]
        order = np.argsort(-weights, kind="stable")
        parts = [f"{self.member_names_[m]} {weights[m]:.0%}" for m in order if weights[m]]
        lines = [f"{self._all_of_it()}: {', '.join(parts)}."]
        sampled = self.member_bags_ < self.member_bags_.max()
        for m in np.flatnonzero(sampled & (self.weights_[:, 0] > 0)).tolist():
            lines.append(
                f"{self.member_names_[m]} is fitted to a sample of {self.member_bags_[m]} of "
                f"{self.member_bags_.max()} bags."
            )
        return "\n".join(lines)


def best_form(found: list[Found]) -> int:
    """Return the place of the form of the tokens in which attention has the least left-out loss."""
    losses = [
        sum(fit.readout.left_out_loss(task.samples) for task, fit in of_form) for of_form in found
    ]
    return int(np.argmin(losses))


def _normal_scores(
    bags: Bags, targets: Targets, rng: np.random.RandomState
) -> TokenNormalScores | None:
    """Return the scores that members are fitted to beside the tokens, if any column has them."""
    if bags.sizes.max() == 1:
        return None
    scores = TokenNormalScores(random_state=rng.randint(2**31 - 1))
    scores.fit(bags, sample_weight=targets.weight)
    return scores if len(scores.columns_) else None
