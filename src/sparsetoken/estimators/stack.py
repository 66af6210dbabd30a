"""Averages of estimators of bags, with convex weights by left-out loss: stacking."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import log_expit, log_softmax
from sklearn.base import RegressorMixin, clone

from sparsetoken.bags import Bags
from sparsetoken.base.progress import progress_of
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators.attention import Attention, TokenOrder
from sparsetoken.estimators.fitting.stacking import (
    LossRisk,
    MultinomialRisk,
    shrunk_weights,
    temperature,
)
from sparsetoken.estimators.fitting.standard_tokens import less_means
from sparsetoken.estimators.fitting.targets import Targets
from sparsetoken.estimators.fitting.training import Training
from sparsetoken.estimators.inputs import given_to
from sparsetoken.estimators.normal_scores import TokenNormalScores
from sparsetoken.estimators.similarities import BagSimilarities

VALUES = 1 << 26  # of other forms of tokens that members are fitted to: a copy of 512 MB
LEAST = 100  # bags that they are fitted to all the same
LEAST_CHANCE = 1e-6  # probability that a member of a user is taken to give at least
CONSTANT = "constant"
POOLED = ("mean", "maxima", "attention")
CENTRED = "attention of centred tokens"
PROTOTYPES = ("prototypes", "forest of prototypes")
TAKEN = (CONSTANT, "size", "forest", *POOLED, CENTRED, "statistics", *PROTOTYPES)

TokenForm = Literal["tokens", "normal scores", "centred tokens"]
"""What attention acts on; centred tokens are tokens less the mean of their bag."""
Form = TokenForm | Literal["log sizes", "similarities", "bags"]
"""What a member acts on: the last is for members of a user, by the methods of scikit-learn."""


class Part(NamedTuple):
    """Some of the bags, in one form: which they are, and what is fitted to them."""

    form: Form
    rows: Int[np.ndarray, " k"]
    training: Training


class Member(NamedTuple):
    """A fitted estimator, what it acts on, and its scores of all bags when these are left out."""

    name: str
    form: Form
    estimator: Any
    bags: int
    left_out: Float[np.ndarray, "n K"]


class BagStack(TokenOrder):
    """An average of a constant, linear estimators of bags, trees, and members of a user."""

    members: Sequence[tuple[str, Any]]
    exclude: Sequence[str]
    progress: bool
    member_names_: list[str]
    member_losses_: Float[np.ndarray, "M 1"]
    member_bags_: Int[np.ndarray, " M"]
    member_temperature_: Float[np.ndarray, " M"]
    members_: dict[str, Any]
    weights_: Float[np.ndarray, "M 1"]
    token_coef_: Float[np.ndarray, "K d"]
    side_: Int[np.ndarray, " K"]
    token_form_: TokenForm
    normal_scores_: TokenNormalScores | None
    similarities_: BagSimilarities | None
    _forms: dict[str, Form]

    def _average(self, training: Training, kinds: Mapping[str, Any]) -> list[Part]:
        """Fit members and average them with the weights of least left-out loss.

        Parameters
        ----------
        training : Training
        kinds : mapping
            An estimator that is not fitted for each name of `TAKEN`.

        Returns
        -------
        list of Part
            What attention is fitted to: the tokens, these less the mean of their bag, and their
            normal scores if members use them.
        """
        bags, targets, own = training.bags, training.targets, self._own_members()
        excluded = self._excluded()

        def included(name: str) -> bool:
            return excluded.isdisjoint({name, name.split(" of ")[0]})

        several = bool(bags.sizes.max() > 1)
        training, folds, rng = self._in_folds(training, needed=bool(own) or several)

        # What members are fitted to, all of one form to one training: they share its tasks.
        whole = Part("tokens", np.arange(len(bags)), training)
        forms = [whole]
        self.normal_scores_ = _normal_scores(bags, targets, rng) if several else None
        self.similarities_ = None
        most = max(int(VALUES / bags.tokens.size * len(bags)), LEAST)
        if several:
            centred = training.of(bags, centred=True)
            forms.append(Part("centred tokens", whole.rows, centred))
        if self.normal_scores_ is not None:
            forms.append(self._part("normal scores", whole, most))
        planned: list[tuple[str, Any, Part]] = []
        if bags.sizes.min() < bags.sizes.max():
            planned.append(("size", kinds["size"], self._part("log sizes", whole)))
        kinds["forest"].random_state = rng.randint(2**31 - 1)
        planned.append(("forest", kinds["forest"], whole))
        for part in forms:
            if part.form == "centred tokens":  # their mean is 0
                planned.append((CENTRED, kinds[CENTRED], part._replace(form="tokens")))
                continue
            more = "" if part is whole else f" of {part.form}"
            names = POOLED if several else POOLED[:1]
            planned += [(name + more, clone(kinds[name]), part) for name in names]
        if several:
            planned.append(("statistics", kinds["statistics"], whole))
        if several and any(map(included, PROTOTYPES)):
            similarities = BagSimilarities(random_state=rng.randint(2**31 - 1))
            self.similarities_ = similarities.fit(bags, sample_weight=targets.weight)
            similar = self._part("similarities", whole)
            columns = self.similarities_.prototype_bags_
            similar = similar._replace(
                training=dataclasses.replace(similar.training, column_bags=columns)
            )
            kinds[PROTOTYPES[1]].random_state = rng.randint(2**31 - 1)
            planned += [(name, kinds[name], similar) for name in PROTOTYPES]
        kinds["forest"].with_sizes = "size" not in excluded
        planned = [one for one in planned if included(one[0])]

        # Members, with scores of bags that they have not seen.
        constant = kinds[CONSTANT].fit(bags, targets.given, sample_weight=targets.weight)
        # As of the other members, level (and slope) are those of least loss of all bags.
        scores = np.tile(targets.in_units(np.array(targets.constants)), (len(bags), 1))
        members = [Member(CONSTANT, "bags", constant, len(bags), scores)]
        with progress_of("fits", len(planned) + len(own), self.progress) as done:
            for name, estimator, part in planned:
                estimator.fit_training(part.training)
                scores = self._left_out(estimator, part, bags)
                members.append(Member(name, part.form, estimator, len(part.rows), scores))
                done()
            for name, given in own:
                fitted, scores = self._cross_validated(given, bags, targets, folds)
                members.append(Member(name, "bags", fitted, len(bags), scores))
                done()
        self.member_names_ = [member.name for member in members]
        self.member_bags_ = np.array([member.bags for member in members])
        self.members_ = {member.name: member.estimator for member in members}
        self._forms = {member.name: member.form for member in members}

        # Temperatures, weights, and what the average says of bags that are left out.
        several_classes, M = len(targets.problems) > 1, len(members)
        risk = (
            MultinomialRisk(targets.jointly)
            if several_classes
            else LossRisk(targets.problems[0], training.loss)
        )
        self.member_temperature_ = np.ones(M)
        if several_classes:  # one against the rest is less sure than the classes together, or surer
            found = [temperature(self._averaged(one.left_out), risk) for one in members[1:]]
            self.member_temperature_[1:] = found
        pairs = zip(members, self.member_temperature_.tolist(), strict=True)
        left_out = np.stack([self._averaged(one.left_out, T) for one, T in pairs], axis=2)
        scores = (left_out - targets.shift) / targets.scale
        scores = scores if several_classes else scores[:, 0]
        weights = shrunk_weights(scores, risk)
        with np.errstate(invalid="ignore"):  # of scores that are not finite
            losses = [risk.mean(scores[..., m]) for m in range(M)]
        self.weights_, self.member_losses_ = weights[:, None], np.array(losses)[:, None]
        self.intercept_ = np.zeros(len(targets.problems))
        # A member without weight may have scores that are not finite.
        self.left_out_scores_ = left_out[..., weights > 0] @ weights[weights > 0]
        self.empty_score_ = self._averaged(self.empty_score_[None])[0]
        return forms

    def _part(self, form: Form, whole: Part, most: int | None = None) -> Part:
        """Return the bags in a form, or a sample of about so many with folds of its own."""
        rows, training = whole.rows, whole.training
        if most is not None and len(sampled := training.targets.sampled(most)) < len(rows):
            rows, (training, _, _) = sampled, self._in_folds(training.take(sampled))
        changed = form != whole.form
        return Part(
            form, rows, training.of(self._formed(training.bags, form)) if changed else training
        )

    def _left_out(self, estimator: Any, part: Part, bags: Bags) -> Float[np.ndarray, "n K"]:
        """Return left-out scores of all bags: those outside a sample are unseen."""
        unseen = np.setdiff1d(np.arange(len(bags)), part.rows)
        if not len(unseen):
            return np.asarray(estimator.left_out_scores_)
        scores = np.empty((len(bags), len(self._names())))
        scores[part.rows] = estimator.left_out_scores_
        runs = math.ceil(bags.sizes[unseen].sum() * bags.dimension / VALUES)
        for some in np.array_split(unseen, min(runs, len(unseen))):
            scores[some] = estimator._scores(self._formed(bags[some], part.form))
        return scores

    def _cross_validated(
        self, member: Any, bags: Bags, targets: Targets, folds: Int[np.ndarray, " n"]
    ) -> tuple[Any, Float[np.ndarray, "n K"]]:
        """Fit a member of a user, with the scores of bags in folds that it has not seen."""
        y, weight = targets.given, targets.weight
        weighted, groups = not (weight == weight[0]).all(), targets.groups

        def fitted(rows: Bool[np.ndarray, " n"]) -> Any:
            parts = weight[rows] if weighted else None, None if groups is None else groups[rows]
            given = given_to(member, *parts)
            return clone(member).fit(bags[rows], y[rows], **given)

        left_out, known = np.empty((len(y), len(self._names()))), np.zeros(len(y), dtype=bool)
        for fold in np.unique(folds):
            rest, here = folds != fold, folds == fold
            if targets.numbers or (y[rest] != y[rest][0]).any():
                left_out[here], known[here] = self._of_user(fitted(rest), bags[here]), True
        # Where the only bag of a class is left out, a score unlike the others would tell of it.
        left_out[~known] = left_out[known].mean(axis=0) if known.any() else targets.constants
        return fitted(np.ones(len(y), dtype=bool)), left_out

    def _averaged(
        self, scores: Float[np.ndarray, "n K"], temperature: float = 1.0
    ) -> Float[np.ndarray, "n K"]:
        """Return scores of a member as they are averaged.

        They are log odds of two classes as they are, the logarithms of the probabilities of more,
        and numbers within the range of the training numbers, widened.
        """
        if isinstance(self, RegressorMixin):
            return np.clip(scores, *self.range_)
        if scores.shape[1] == 1:
            return scores
        with np.errstate(invalid="ignore"):  # a member of a user may give scores that are not
            return np.asarray(log_softmax(log_expit(scores) / temperature, axis=1))  # finite

    def _own_members(self) -> list[tuple[str, Any]]:
        """Return the members that a user adds, or raise `InvalidInput`."""
        method = self._predicts()
        legal = f"pairs of a name of its own and an estimator with {method}"
        try:
            pairs = [(name, member) for name, member in self.members]
        except (TypeError, ValueError):
            raise InvalidInput("members", legal, self.members) from None
        names = [name for name, _ in pairs]
        reserved = (*TAKEN, *(f"{name} of normal scores" for name in POOLED))
        if len({*names, *reserved}) < len(names) + len(reserved):
            taken = f"Names that are taken: {', '.join(reserved)}."
            raise InvalidInput("members", legal, names, taken)
        for name, member in pairs:
            if not isinstance(name, str) or not hasattr(member, method):
                raise InvalidInput("members", legal, f"{name!r}: {type(member).__name__}")
        return pairs

    def _excluded(self) -> set[str]:
        """Return the members to leave out, or raise `InvalidInput`."""
        given: Any = self.exclude
        names = isinstance(given, Collection) and not isinstance(given, str)
        if not (names and all(one in TAKEN[1:] for one in given)):
            legal = f"a sequence of names among {', '.join(TAKEN[1:])}"
            raise InvalidInput("exclude", legal, given)
        return {*given}

    def _predicts(self) -> str:
        return "predict" if isinstance(self, RegressorMixin) else "predict_proba"

    def _of_user(self, member: Any, bags: Bags) -> Float[np.ndarray, "n K"]:
        """Return predictions of a member of a user, or log odds as this average has them."""
        given = np.asarray(getattr(member, self._predicts())(bags), dtype=float)
        if isinstance(self, RegressorMixin):
            return given.reshape(len(bags), 1)
        classes = np.array(self.classes_)
        chances = np.zeros((len(bags), len(classes)))
        known = np.isin(classes, getattr(member, "classes_", classes))  # a fold may lack a class
        if given.shape != (len(bags), known.sum()):
            legal = f"of shape ({len(bags)}, {known.sum()}), a column for each class"
            name = f"predict_proba of {type(member).__name__}"
            raise InvalidInput(name, legal, f"shape {given.shape}")
        chances[:, known] = given
        chances = np.clip(chances, LEAST_CHANCE, 1 - LEAST_CHANCE)
        chances = chances[:, 1:] if chances.shape[1] == 2 else chances
        return np.log(chances / (1 - chances))

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
            yield self._averaged(scores, float(self.member_temperature_[place]))

    def _formed(self, bags: Bags, form: Form) -> Bags:
        """Return what members act on; log sizes and similarities are bags of one token."""
        if form == "log sizes":
            sizes = np.log(bags.sizes)[:, None].astype(bags.dtype)
            return Bags(sizes, np.arange(len(bags) + 1))
        if form == "similarities" and self.similarities_ is not None:
            return Bags(self.similarities_.transform(bags), np.arange(len(bags) + 1))
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
        return super()._off() or not self.token_coef_.any()

    def _at_chance(self) -> str:
        return "".join(self._doubts()) or super()._at_chance()

    def _silent(self) -> bool:
        """Return whether the constant has all weight."""
        return not self.weights_[1:].any()

    def _token_scores(self, bags: Bags) -> Float[np.ndarray, "N K"]:
        centred = self.token_form_ == "centred tokens"
        form = bags if centred else self._formed(bags, self.token_form_)
        scores = form.tokens @ self._in(form, self.token_coef_).T
        return less_means(scores.T, bags).T if centred else scores

    def _doubts(self) -> list[str]:
        """Return what to warn of."""
        if not self._silent():
            return []
        return [
            "No member predicts left-out bags better than the constant, which has all weight. "
            "Take more bags, or add a member of your own."
        ]

    def _of_fit(self) -> list[str]:
        """Say in a line which members have what weight."""
        weights = self.weights_[:, 0]
        order = np.argsort(-weights, kind="stable")
        parts = [f"{self.member_names_[m]} {weights[m]:.0%}" for m in order if weights[m]]
        lines = [f"Weights of the members: {', '.join(parts)}."]
        sampled = self.member_bags_ < self.member_bags_.max()
        for m in np.flatnonzero(sampled & (self.weights_[:, 0] > 0)).tolist():
            lines.append(
                f"{self.member_names_[m]} is fitted to a sample of {self.member_bags_[m]} of "
                f"{self.member_bags_.max()} bags."
            )
        return lines


def best_form(forms: list[Part]) -> Part:
    """Return the form of the tokens in which attention has the least left-out loss."""

    def loss(part: Part) -> float:
        pairs = zip(part.training.tasks, part.training.attention, strict=True)
        return sum(fit.readout.left_out_loss(task.samples) for task, fit in pairs)

    return min(forms, key=loss)


def _normal_scores(
    bags: Bags, targets: Targets, rng: np.random.RandomState
) -> TokenNormalScores | None:
    """Return the scores that members are fitted to beside the tokens, if any column has them."""
    scores = TokenNormalScores(random_state=rng.randint(2**31 - 1))
    scores.fit(bags, sample_weight=targets.weight)
    return scores if len(scores.columns_) else None
