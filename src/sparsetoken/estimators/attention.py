"""The attention classifier of bags."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import get_args

from sparsetoken.estimators.parameters import (
    Auto,
    ClassWeight,
    Presence,
    RandomState,
    Training,
    auto_or_real,
)
from sparsetoken.estimators.progress import Progress
from sparsetoken.estimators.query_classifier import QueryClassifier
from sparsetoken.fitting.training import Options
from sparsetoken.losses import Loss
from sparsetoken.progress import progress_of
from sparsetoken.validation import InvalidInput, choice, integer


class AttentionClassifier(QueryClassifier):
    """A linear classifier of the token that a query finds: sign(<w, X^T softmax(X q)> + b).

    More than two classes are fitted one against the rest, each with a query of its own. The
    informative token may be in bags of either class; "second class" below is the one that is
    positive in the theory. See :doc:`/practitioners` for the trainings.

    Parameters
    ----------
    training : str
        ``likelihood``: one direction for query and readout, by pooled likelihoods.
        ``tied``: the query is the readout of the mean token. ``cross_fit``: the query of two
        gradient steps, on folds. ``four_stage``: the paper's. ``reuse``: the same with all bags
        in all stages. ``joint``: q, w and b together.
    temperature : float or "auto"
        Standard deviation of token scores within the softmax; 0 is mean pooling. ``auto`` takes
        that of least left-out loss, or 0 unless it gains one standard error and
        `signal_pvalue_` is below 0.05. For ``four_stage`` and ``reuse`` beta of the paper.
    split : float or "auto"
        Share of bags for the query of ``four_stage``; ``auto`` asks the theory.
    ridge : float or "auto"
        > 0, penalty (ridge/2) |w|^2; ``auto`` as for `PooledLinearClassifier`.
    query_ridge : float or "auto"
        >= 0, penalty (query_ridge/2) |q|^2 of ``joint``; ``auto`` is the ridge in use.
    n_restarts : int
        Random starts of ``joint`` besides its first.
    loss, standardize, class_weight, n_tokens
        As for `PooledLinearClassifier`; ``likelihood`` and ``joint`` need a smooth loss.
    step_sizes : three floats >= 0
        Of readout, bias and query in the two gradient steps.
    n_folds : int
        Folds of the cross-fitting; fewer if a class has fewer bags.
    presence : str
        ``free``, or ``strict``: a bag is of the second class only through a token that speaks
        for it. Then sharpness is 4 or 8 if automatic, and mean pooling is never taken.
    random_state : int, RandomState or None
        Of folds, split and restarts.
    verbose, progress : bool
        Whether to write lines with the time left; whether a long fit shows a bar.

    Attributes
    ----------
    classes_, n_bags_, n_features_in_, left_out_scores_
        As for `PooledLinearClassifier`.
    query_, coef_ : arrays of shape (K, d)
        q and w on tokens as given; K = 1 for two classes, else n_classes.
    query_offset_, intercept_, ridge_, token_offset_ : arrays of shape (K,)
    likelihood_ : array of shape (K,)
        c of a score c log mean exp(<x_l, q>) + b, where w = c q; 0 for other trainings.
    sharpness_ : array of shape (K,)
        Standard deviation of token scores; 0 where attention is off.
    query_kind_ : array of shape (K,)
        ``likelihood``, ``tied``, ``two_step`` or ``joint``; ``mean`` for bags of one token.
    attention_pvalue_, signal_pvalue_ : arrays of shape (K,)
        p-values of no gain over mean pooling, and of labels independent of tokens.
    evidence_ : array of shape (K,)
        Standard errors by which scores of unseen positive bags are above those of others.
    token_range_ : array of shape (2, 2 K)
        Least and largest <x, query>, <x, coef> of training tokens; new ones are cut to it.

    See Also
    --------
    BagClassifier : Attention beside mean pooling and column maxima; the one to begin with.

    Examples
    --------
    >>> import numpy as np
    >>> labels, rng = np.arange(200) % 2, np.random.default_rng(0)
    >>> bags = rng.standard_normal((200, 8, 5))
    >>> bags[labels == 1, 0] += 2  # one token of eight
    >>> AttentionClassifier(random_state=0).fit(bags, labels).score(bags, labels) > 0.9
    True
    """

    def __init__(
        self,
        training: Training = "likelihood",
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
        if strict and options.training != "likelihood":
            legal = "likelihood with presence='strict'"
            raise InvalidInput("training", legal, options.training)
        if not loss.smooth and (strict or options.training == "likelihood"):
            legal = "a smooth loss (logistic, square, squared_hinge) for likelihood pooling"
            raise InvalidInput("loss", legal, loss.name)
        options = dataclasses.replace(options, strict=strict)
        if options.training == "joint" and not loss.smooth:
            legal = "a smooth loss (logistic, square, squared_hinge) for training='joint'"
            raise InvalidInput("loss", legal, loss.name)
        return options

    @contextlib.contextmanager
    def _reported(self, fits: int) -> Iterator[Callable[[float, str], None]]:
        lines = Progress(type(self).__name__, fits)
        with progress_of("fits", fits, self.progress and not self.verbose) as done:
            yield lines.told if self.verbose else lambda share, what: done.reach(share)
