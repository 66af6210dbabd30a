"""The attention classifier of bags."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, get_args

import numpy as np
from jaxtyping import Float

from sparsetoken.bags import Bags
from sparsetoken.estimators.normal_scores import TokenNormalScores
from sparsetoken.estimators.parameters import (
    Auto,
    ClassWeight,
    Presence,
    RandomState,
    Training,
    auto_or_real,
)
from sparsetoken.estimators.progress import Progress
from sparsetoken.estimators.query_classifier import QueryClassifier, Trained
from sparsetoken.estimators.token_features import token_transformers
from sparsetoken.estimators.token_transformer import TokenTransformer
from sparsetoken.fitting.linear_fit import standard_errors
from sparsetoken.fitting.samples import Targets
from sparsetoken.fitting.training import Options
from sparsetoken.losses import Loss
from sparsetoken.progress import progress_of
from sparsetoken.validation import InvalidInput, choice, integer

CLEAR = 2.0  # standard errors that features must gain over the tokens themselves
COMPARED = ("auto", "likelihood", "tied", "cross_fit")  # trainings with left-out losses of all bags
LARGEST = 1 << 26  # values of tokens of which normal scores are tried: a copy of 256 MB in float32


class AttentionClassifier(QueryClassifier):
    """A linear classifier of the token that a query finds: sign(<w, X^T softmax(X q)> + b).

    Everything is fitted in the scale of standardised tokens, without a copy of them; fitted
    attributes act on the tokens as given. More than two classes are fitted one against the
    rest, each with a query of its own.

    The informative token may be in bags of either class. The theory calls the class that has it
    positive; here that is the second one, and it is what the words below mean.

    Parameters
    ----------
    training : str
        How query q and readout (w, b) are found.

        - ``auto``: ``likelihood``, ``tied`` or ``cross_fit``, by left-out loss. The last two have
          twice as many weights, and must gain more than one standard error over the first. With
          an automatic temperature the score is an average of the scores of this attention, of
          mean pooling, and of a readout of the mean token and the largest value of each column
          together. The shares are those of left-out gains. First attention and largest values
          are averaged: attention has the part (h + 2) / 4, between 0 and 1, where it is h
          standard errors better than largest values, and a tenth of its gain over mean pooling
          counts for it, as it tells where to look. With a gain of g standard errors over mean
          pooling this average has the share (g + 1) / 4, between 0 and 1, of the score.
          Attention has none if `signal_pvalue_` is not below 0.05. Largest values are left out
          beyond 2 million values of mean tokens, for time; unlike all else they change if a
          column changes its sign. The other trainings have attention or mean pooling alone.
        - ``likelihood``: one direction q scores tokens and bags: a bag scores
          c log mean_l exp(<x_l, q>) + b, the Bayes form for one informative token among Gaussian
          ones. q minimises the loss at c = 1 (or -1: the token is then in the first class),
          from the readout of the mean token; c, b, ridge and sharpness are those of least
          loss on bags that q has not seen. It needs the fewest bags.
        - ``tied``: q is the direction of the readout of the mean token, or the opposite one if
          that has less left-out loss: the token is then in the first class. Few bags per
          dimension give that direction better than they give a second gradient step. With a
          temperature given as a number the token is taken to be in the second class.
        - ``cross_fit``: q is the query of two gradient steps. In both, each bag is pooled by a
          query that has not seen it, so that all bags serve query and readout, and features of
          training bags are distributed as those of new ones. The query kept is that of all
          bags.
        - ``four_stage``: the paper's. Two gradient steps on D0 give q, a convex fit on D1 gives
          (w, b).
        - ``reuse``: the same with D0 = D1: all bags, seen twice.
        - ``joint``: q, w and b together, from the ``cross_fit`` solution and from random
          queries; the end of lowest regularised objective is kept.
    temperature : float or "auto"
        How sharp the softmax is; 0 is mean pooling. ``auto`` takes the sharpness of least
        leave-one-out loss on bags that the query has not seen, and, unless `training` is
        ``auto`` too, falls back to 0 unless it gains more than one standard error and
        `signal_pvalue_` is below 0.05. A number is
        the standard deviation of the token scores within the softmax; for ``four_stage`` and
        ``reuse`` it is the inverse temperature beta of the paper, softmax(beta X q2), also in
        the step on the query. For ``joint`` it is that of the start.
    split : float or "auto"
        Share of D0 for ``four_stage``. ``auto`` takes the share that the theory finds best for
        a sparse-token problem with one informative token that looks like the bags.
    ridge : float or "auto"
        > 0, penalty (ridge/2) |w|^2 beside the mean loss. ``auto`` takes the least
        leave-one-out loss, and the scale of the penalty as `PooledLinearClassifier` does
        (not for ``joint``): that of pooled tokens, or that of tokens.
    query_ridge : float or "auto"
        >= 0, penalty (query_ridge/2) |q|^2 of ``joint``; ``auto`` is the ridge in use.
    n_restarts : int
        Random starts of ``joint`` besides its first.
    loss : str or Loss
        logistic, square, squared_hinge, or hinge (with ridge and temperature as numbers).
    step_sizes : three floats >= 0
        Of readout, bias and query in the two gradient steps.
    n_folds : int
        Folds of the cross-fitting; fewer if a class has fewer bags.
    standardize : bool
        Whether each column of the tokens is scaled to mean 0 and variance 1 for the fit. A
        gradient step on the query follows columns of large variance otherwise.
    class_weight : dict, "balanced" or None
        Weights of the classes; with ``balanced`` both sides of each problem count alike. Rare
        positives turn the query of two gradient steps away from the signal; ``balanced`` turns
        it back.
    presence : str
        ``free``, or ``strict``: a bag is of the second class only through a token that speaks for
        it, the standard assumption of multiple-instance learning. Then only ``likelihood`` with
        c > 0 is fitted, at sharpness 4 or 8 if it is automatic, and never mean pooling;
        tokens that speak for the first class count as any other token.
    token_features : None, "auto" or transformer
        What is made of each token before all else, for signals that are not linear in tokens:
        nothing, or what a transformer of scikit-learn makes, such as ``Nystroem()``, fitted to
        a sample of tokens without labels or weights (`TokenTransformer`). Query and readout
        then act on that. ``auto`` also fits with up to 400 features of a Gaussian kernel, and
        takes them if they gain more than two standard errors over the tokens themselves: one
        fit more, and memory for the features, at most 1 GB in float32. With more than 8000 tokens
        there are fewer features, for time: 200 from 16 000 on, and down to 50 where more do not
        fit into that memory. The kernel is of tokens as given or of scaled ones. Its gamma is 1
        over the median squared distance of two tokens, or 0.5, 2 or 4 over it where mean
        features then tell the classes of left-out bags surely better in a ridge regression.
    normal_scores : bool or "auto"
        Whether columns of heavy tails, with an excess kurtosis above 3, are replaced by their
        normal scores (`TokenNormalScores`), after `token_features`. ``auto`` fits with and
        without them and takes what has the smaller left-out loss: counts of words or spectra,
        of which a few values are far out, can gain much. It takes the tokens as they are where
        no column has heavy tails, kernels of ``token_features="auto"`` gain four standard
        errors, all bags have one token, the temperature is a number, for trainings
        ``four_stage``, ``reuse`` and ``joint``, without `standardize`, and beyond 6.7e7 values,
        for time. Query and readout act on the scores.
    n_tokens : int, optional
        Tokens in each row of a 2-D input; by default a row is one token.
    random_state : int, RandomState or None
        Of folds, split and restarts.
    verbose : bool
        Whether to write to standard error how far the fit has come, and about how long the
        rest will take.
    progress : bool
        Whether a fit of more than two seconds shows its progress on a terminal or in a notebook.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    query_ : array of shape (K, d)
        K = 1 for two classes, else n_classes. Sharpness is in it: weights are
        softmax(X query_).
    query_offset_ : array of shape (K,)
        Added to token scores; softmax weights do not depend on it.
    coef_ : array of shape (K, d)
        Of the tokens weighted by attention, its share included; of the mean token where attention
        is off.
    mean_coef_ : array of shape (K, d)
        Of the mean token beside attention; 0 where attention has no other beside it.
    largest_coef_ : array of shape (K, d)
        Of the largest value of each column.
    shares_ : array of shape (K, 2)
        Of attention and of largest values in the score; mean pooling has the rest.
    side_ : array of shape (K,)
        -1 where attention looks for tokens of the first class (query and readout of standardised
        tokens have a negative product), else 1.
    intercept_ : array of shape (K,)
    token_offset_ : array of shape (K,)
        0: only other activations need it.
    likelihood_ : array of shape (K,)
        c of likelihood pooling, for which coef_ = c query_; 0 for attention.
    token_range_ : array of shape (2, 2 K) or (2, 3 K)
        Least and largest <x, query>, <x, coef> and, if it is not 0, <x, mean_coef> of training
        tokens. Those of new tokens are cut to this range in scores of bags, so that an outlier
        says no more than what was seen.
    largest_range_ : array of shape (2, K)
        The same of <max_l x_l, largest_coef> of training bags.
    sharpness_ : array of shape (K,)
        Standard deviation of the token scores; 0 where attention is off.
    query_kind_ : array of shape (K,)
        likelihood, tied, two_step, joint; mean for bags of one token and where the automatic
        choice gives attention no share.
    attention_pvalue_ : array of shape (K,)
        Of the hypothesis that attention is no better than mean pooling: how much left-out loss
        the best training and sharpness save, each bag held to the choice that is best on other
        folds. Both act on the same form of the tokens, as given or their normal scores; it is
        doubled where `normal_scores` had both to choose from.
        Without signal it is below 0.05 in at most 5% of fits (measured). nan for ``joint``
        and for a loss that is not smooth.
    signal_pvalue_ : array of shape (K,)
        Of the hypothesis that labels have nothing to do with tokens: twice the smaller of
        `attention_pvalue_` and the p-value of an exact permutation test, doubled alike,
        which is the more powerful one where mean pooling tells something as well. nan for
        ``joint``.
    ridge_ : array of shape (K,)
        Of the readout in `coef_`, in the scale in use: of attention where it has a share (for
        likelihood pooling of c and b alone), else of the mean token. Other readouts of an
        average have ridges of their own, chosen in the same way.
    evidence_ : array of shape (K,)
        How many standard errors the token scores of positive bags are above those of others,
        for bags that the query has not seen; nan for ``joint``. Negative for a query of tokens
        of the first class. Without signal its standard deviation is about 1.5, not 1, as folds
        share bags (measured on noise).
    token_transformer_ : TokenTransformer or None
        What makes features of tokens.
    normal_scores_ : TokenNormalScores or None
        What makes normal scores of these.
    n_bags_ : float
        How many bags it was fitted to: the sum of their sample weights.
    n_features_in_ : int
        d, or n_tokens * d.

    Warns
    -----
    QueryWarning
        If `evidence_` is below 3 and attention does not gain over mean pooling (one standard
        error of the left-out loss), if it loses to mean pooling (two), or if the weights have
        collapsed to uniform ones. With an automatic temperature ``auto`` gives no such
        warning, and ``tied`` may fall back to mean pooling without one.
    sklearn.exceptions.ConvergenceWarning
        If ``joint`` ends where its gradient is not small.

    Notes
    -----
    With weights a = softmax(X query_), the mean token m and the largest value t_j of each column
    a bag scores ``sum_l a_l <x_l, coef_> - likelihood_ sum_l a_l log(L a_l) + <m, mean_coef_>
    + <t, largest_coef_> + intercept_``; the first two terms of likelihood pooling are
    c log mean exp.

    With attention alone (`shares_` of 1 and 0) the score of a union of two bags lies between their
    scores: no softmax of one query learns that two concepts must meet in a bag, as largest
    values can. Nor is it told that presence is the rule. Where negative bags have a token that
    positive ones lack, a query of two gradient steps attends to that token, and mean pooling
    counts it. ``presence="strict"`` scores a bag by the tokens
    that speak most for it, and leaves absence aside.

    With ``ridge="auto"`` the scores of bags are shrunk by the factor of least left-out loss, so
    that probabilities are honest, and their threshold is moved where that gains more than one
    standard error of left-out loss, as where bags of one class vary more.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(200) % 2
    >>> bags = rng.standard_normal((200, 8, 5))
    >>> bags[labels == 1, 0] += 2  # one token of eight
    >>> model = AttentionClassifier(random_state=0).fit(bags, labels)
    >>> model.score(bags, labels) > 0.9
    True
    >>> int(model.top_tokens(bags[1:2])[0][0])
    0
    """

    token_transformer_: TokenTransformer | None
    normal_scores_: TokenNormalScores | None

    def __init__(
        self,
        training: Training = "auto",
        temperature: float | Auto = "auto",
        split: float | Auto = "auto",
        ridge: float | Auto = "auto",
        query_ridge: float | Auto = "auto",
        n_restarts: int = 3,
        loss: Loss | str = "logistic",
        step_sizes: tuple[float, float, float] = (0.5, 0.5, 1.0),
        n_folds: int = 8,
        standardize: bool = True,
        class_weight: ClassWeight = None,
        presence: Presence = "free",
        token_features: Any = None,
        normal_scores: bool | Auto = "auto",
        n_tokens: int | None = None,
        random_state: RandomState = None,
        verbose: bool = False,
        progress: bool = True,
    ) -> None:
        self.training = training
        self.temperature = temperature
        self.split = split
        self.ridge = ridge
        self.query_ridge = query_ridge
        self.n_restarts = n_restarts
        self.loss = loss
        self.step_sizes = step_sizes
        self.n_folds = n_folds
        self.standardize = standardize
        self.class_weight = class_weight
        self.presence = presence
        self.token_features = token_features
        self.normal_scores = normal_scores
        self.n_tokens = n_tokens
        self.random_state = random_state
        self.verbose = verbose
        self.progress = progress

    def _options(self, loss: Loss) -> Options:
        options = dataclasses.replace(
            super()._options(loss),
            query_ridge=auto_or_real("query_ridge", self.query_ridge, 0.0),
            n_restarts=integer("n_restarts", self.n_restarts, 0),
        )
        strict = choice("presence", self.presence, get_args(Presence)) == "strict"
        if strict and options.training not in ("auto", "likelihood"):
            legal = "auto or likelihood with presence='strict'"
            raise InvalidInput("training", legal, options.training)
        if not loss.smooth and (strict or options.training == "likelihood"):
            legal = "a smooth loss (logistic, square, squared_hinge) for likelihood pooling"
            raise InvalidInput("loss", legal, loss.name)
        options = dataclasses.replace(options, strict=strict)
        if options.training == "joint" and not loss.smooth:
            legal = "a smooth loss (logistic, square, squared_hinge) for training='joint'"
            raise InvalidInput("loss", legal, loss.name)
        return options

    def _fit(self, bags: Bags, targets: Targets, loss: Loss) -> None:
        options = self._options(loss)
        comparable = loss.smooth and options.training not in ("four_stage", "joint")
        if not comparable and isinstance(self.token_features, str):
            legal = "None or a transformer where there are no left-out losses of all bags"
            remedy = "training='four_stage' and 'joint', and losses that are not smooth, have none."
            raise InvalidInput("token_features", legal, self.token_features, remedy)
        first, *kernels = token_transformers(
            self.token_features, bags, targets, self.standardize, self.random_state
        )
        made = bags if first is None else first.transform(bags)
        scores = self._normal_scores(made, targets, options)
        both = scores is not None and self.normal_scores == "auto"
        options = dataclasses.replace(options, compared=1 + both)
        steps = [_Steps(first, None if both else scores), *(_Steps(one, None) for one in kernels)]
        fits = len(targets.problems()) * (len(steps) + both)
        lines = Progress(type(self).__name__, fits)

        def fitted(one: _Steps) -> _Tried:
            if one.transformer is first:
                tokens = _Steps(None, one.scores).applied(made)
            else:
                tokens = one.applied(bags)
            return _Tried(one, tokens, self._trained(tokens, targets, loss, options))

        with progress_of("fits", fits, self.progress and not self.verbose) as done:
            told = lines.told if self.verbose else lambda share, what: done.reach(share)
            options = dataclasses.replace(options, told=told)
            tried = [fitted(one) for one in steps]
            if both and not _settled(tried, targets):
                tried.append(fitted(_Steps(first, scores)))
            elif both and self.verbose:
                lines.ended("normal scores are not needed")
        best = _best(tried, targets)
        self.token_transformer_, self.normal_scores_ = best.steps
        self._keep(best.found, best.bags, options, targets.weight)

    def _normal_scores(
        self, bags: Bags, targets: Targets, options: Options
    ) -> TokenNormalScores | None:
        """Return the scores that are tried, or None."""
        tried = self.normal_scores
        if isinstance(tried, str) and tried == "auto":
            automatic = options.temperature == "auto" and options.training in COMPARED
            sensible = automatic and self.standardize and bags.sizes.max() > 1
            tried = sensible and bags.tokens.size <= LARGEST
        if not isinstance(tried, (bool, np.bool_)):
            raise InvalidInput("normal_scores", "True, False or 'auto'", tried)
        if not tried:
            return None
        found = TokenNormalScores(random_state=self.random_state)
        found.fit(bags, sample_weight=targets.weight)
        return found if len(found.columns_) else None

    def summary(self) -> str:
        """Say in a line for each class whether attention is on, and what speaks for it.

        A last line says so if columns count by their normal scores.
        """
        text = super().summary()
        if self.normal_scores_ is None:
            return text
        count, d = len(self.normal_scores_.columns_), self.query_.shape[1]
        which = f"all {d}" if count == d else f"{count} of {d}"
        return f"{text}\nFor their heavy tails {which} columns count by their normal scores."

    def _read(self, X: Any, mask: Any = None) -> Bags:
        bags = super()._read(X, mask)
        return _Steps(self.token_transformer_, self.normal_scores_).applied(bags)


class _Steps(NamedTuple):
    """What is made of tokens before query and readout act on them."""

    transformer: TokenTransformer | None
    scores: TokenNormalScores | None

    def applied(self, bags: Bags) -> Bags:
        """Return the bags that query and readout act on."""
        for step in self:
            bags = bags if step is None else step.transform(bags)
        return bags


class _Tried(NamedTuple):
    """What was made of the tokens, the bags that it gave, and what was trained on them."""

    steps: _Steps
    bags: Bags
    found: Trained

    @property
    def losses(self) -> Float[np.ndarray, " n"]:
        """The left-out losses; all that is compared has them."""
        found = self.found.left_out()
        assert found is not None
        return found


def _settled(tried: list[_Tried], targets: Targets) -> bool:
    """Whether a kernel gains so much over the tokens that their normal scores hardly can win."""
    if len(tried) == 1:
        return False
    gained = standard_errors(tried[0].losses - tried[1].losses, targets.problems()[0])
    return gained > 2 * CLEAR


def _best(tried: list[_Tried], targets: Targets) -> _Tried:
    """Return the one of least left-out loss; a kernel only if it gains two standard errors.

    It was chosen from several by the same labels: one standard error is not enough. Tokens and
    their normal scores are equally simple.
    """
    if len(tried) == 1:
        return tried[0]
    samples, given = targets.problems()[0], tried[0].steps.transformer
    own = [one for one in tried if one.steps.transformer is given]
    kernels = [one for one in tried if one.steps.transformer is not given]
    plain = min(own, key=lambda one: float(samples.share @ one.losses))
    clear = [one for one in kernels if standard_errors(plain.losses - one.losses, samples) > CLEAR]
    return clear[0] if clear else plain
