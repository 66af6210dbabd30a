"""Classifiers of tokens that make a bag as positive as its most positive token, and Fisher vectors.

They are few lines of scikit-learn, to compare with; none is part of the package.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from sparsetoken.bags import Bags
from sparsetoken.bags.segments import segment_max, segment_mean

__all__ = ["FisherVectors", "MaxOfTokens", "instance_logistic", "mi_svm"]

ROUNDS = 10  # of mi-SVM; its labels rarely change after that


def instance_logistic(bags: Bags, y: np.ndarray, strength: float) -> Any:
    """Fit a logistic regression of tokens, each with the label of its bag; bags count alike."""
    model = make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=500))
    weight = np.repeat(1 / bags.sizes, bags.sizes) * bags.sizes.mean()
    labels = np.repeat(y, bags.sizes)
    return model.fit(bags.tokens, labels, logisticregression__sample_weight=weight)


def mi_svm(bags: Bags, y: np.ndarray, strength: float) -> Any:
    """Fit mi-SVM (Andrews et al. 2003): labels of tokens and a linear SVM in turn.

    The tokens of positive bags start as positive; each bag keeps at least one that is.
    """
    model = make_pipeline(
        StandardScaler(), LinearSVC(C=strength, class_weight="balanced", dual=False, tol=1e-3)
    )
    of_bag = np.repeat(y, bags.sizes)
    labels = of_bag.copy()
    for _ in range(ROUNDS):
        scores = model.fit(bags.tokens, labels).decision_function(bags.tokens)
        top = segment_max(scores[:, None], bags.offsets)[:, 0]
        most = scores >= np.repeat(top, bags.sizes)
        found = of_bag * ((scores > 0) | most)
        if np.array_equal(found, labels):
            break
        labels = found
    return model


class MaxOfTokens(ClassifierMixin, BaseEstimator):
    """A classifier of tokens; a bag scores what its highest token does.

    Threshold, probabilities and the strength come from bags that were left out, in inner folds.

    Parameters
    ----------
    fit_tokens : callable
        Maps bags, labels and a strength C to a classifier of tokens.
    strengths : sequence of floats
        Of which that of least log-loss is taken.
    n_folds : int
    random_state : int
        Of the inner folds.
    """

    def __init__(
        self,
        fit_tokens: Any,
        strengths: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1),
        n_folds: int = 3,
        random_state: int = 0,
    ) -> None:
        self.fit_tokens = fit_tokens
        self.strengths = strengths
        self.n_folds = n_folds
        self.random_state = random_state

    def fit(self, bags: Bags, y: np.ndarray) -> Self:
        """Fit to bags and labels of 0 and 1."""
        folds = StratifiedKFold(self.n_folds, shuffle=True, random_state=self.random_state)
        splits = list(folds.split(np.zeros(len(y)), y))
        tried = []
        for strength in self.strengths:
            scores = np.empty(len(y))
            for train, test in splits:
                tokens = self.fit_tokens(bags[train], y[train], strength)
                scores[test] = highest(tokens, bags[test])
            scale = LogisticRegression(C=1.0).fit(scores[:, None] / scores.std(), y)
            loss = log_loss(y, scale.predict_proba(scores[:, None] / scores.std()))
            tried.append((loss, strength, scale, scores.std()))
        _, strength, self.scale_, self.spread_ = min(tried, key=lambda one: one[0])
        self.tokens_ = self.fit_tokens(bags, y, strength)
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, bags: Bags) -> np.ndarray:
        """Return calibrated scores."""
        return self.scale_.decision_function(highest(self.tokens_, bags)[:, None] / self.spread_)

    def predict(self, bags: Bags) -> np.ndarray:
        """Return classes."""
        return (self.decision_function(bags) > 0).astype(int)

    def predict_proba(self, bags: Bags) -> np.ndarray:
        """Return probabilities."""
        return self.scale_.predict_proba(highest(self.tokens_, bags)[:, None] / self.spread_)

    def top_tokens(self, bags: Bags) -> list[np.ndarray]:
        """Return the place of the highest token of each bag."""
        parts = np.split(self.tokens_.decision_function(bags.tokens), bags.offsets[1:-1])
        return [np.array([np.argmax(part)]) for part in parts]


def highest(tokens: Any, bags: Bags) -> np.ndarray:
    """Return the largest score of a token of each bag."""
    return segment_max(tokens.decision_function(bags.tokens)[:, None], bags.offsets)[:, 0]


class FisherVectors(TransformerMixin, BaseEstimator):
    """The Fisher vector of each bag under a mixture of Gaussians (miFV, Wei et al. 2017).

    Tokens are scaled, projected on principal components with 99% of their variance, and
    modelled by Gaussians with diagonal covariances. A bag gets the mean gradient with respect to
    means and deviations; signed roots of it, of length 1.

    Parameters
    ----------
    n_components : int
        Gaussians.
    random_state : int
    """

    def __init__(self, n_components: int = 2, random_state: int = 0) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, bags: Bags, y: Any = None) -> Self:
        """Fit scale, components and mixture to all tokens."""
        del y
        self.scale_ = make_pipeline(StandardScaler(), PCA(0.99)).fit(bags.tokens)
        mixture = GaussianMixture(
            self.n_components,
            covariance_type="diag",
            reg_covar=1e-3,
            random_state=self.random_state,
        )
        self.mixture_ = mixture.fit(self.scale_.transform(bags.tokens))
        return self

    def transform(self, bags: Bags) -> np.ndarray:
        """Return an array of shape (n, 2 k m) for k Gaussians in m dimensions."""
        X, g = self.scale_.transform(bags.tokens), self.mixture_
        z = [(X - m) / np.sqrt(v) for m, v in zip(g.means_, g.covariances_, strict=True)]
        logs = np.stack(
            [
                np.log(w) - 0.5 * (np.square(one).sum(axis=1) + np.log(v).sum())
                for w, one, v in zip(g.weights_, z, g.covariances_, strict=True)
            ],
            axis=1,
        )
        shares = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
        parts = []
        for k, w in enumerate(g.weights_):
            a = shares[:, k : k + 1]
            parts += [a * z[k] / np.sqrt(w), a * (np.square(z[k]) - 1) / np.sqrt(2 * w)]
        made = segment_mean(np.concatenate(parts, axis=1), bags.offsets)
        made = np.sign(made) * np.sqrt(np.abs(made))
        return made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-12)
