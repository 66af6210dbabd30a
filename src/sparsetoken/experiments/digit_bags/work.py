"""Bags of scikit-learn's handwritten digits, what is predicted of them, and what is measured."""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax
from sklearn.datasets import load_digits

from sparsetoken.experiments.digit_bags.rows import Simulated, Theory
from sparsetoken.experiments.experiment import Job
from sparsetoken.experiments.rows import Predicted, averaged
from sparsetoken.losses import get_loss
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.theory.covariance import (
    ConvexReadout,
    FeatureNodes,
    covariances,
    readout_outcome,
)

__all__ = ["CLASSIFIERS", "DIGIT", "LENGTHS", "PROFILES", "RIDGE", "SHARPNESS", "Profile", "jobs"]

DIGIT, LENGTHS, CLASSIFIERS = 9, (5, 20, 50), ("pooled", "attention")
RIDGE, SHARPNESS, LOSS = 0.02, 1.0, "logistic"


@dataclasses.dataclass(frozen=True)
class Profile:
    """Sizes of the experiment.

    Attributes
    ----------
    bags : tuple of int
        Labelled bags.
    trials, test_bags : int
    law_bags : int
        Of each class, from which means and covariances of features are taken.
    """

    bags: tuple[int, ...]
    trials: int
    test_bags: int
    law_bags: int


PROFILES = {
    "quick": Profile((80, 320), trials=8, test_bags=1000, law_bags=5000),
    "paper": Profile((40, 80, 160, 320, 640, 1280), trials=32, test_bags=4000, law_bags=15000),
}


def jobs(profile: Profile, seed: int) -> list[Job]:
    """Return the jobs of a profile; both classifiers see the same bags."""
    found = []
    for i, length in enumerate(LENGTHS):
        for classifier in CLASSIFIERS:
            place, own = (length, classifier), seed_of("digit-bags", i, seed)
            size = profile.law_bags * length / 1e5
            found.append(
                Job(predict_errors, (*place, profile.bags, profile.law_bags), 0.05 + 0.1 * size)
            )
            for n in profile.bags:
                sizes = (n, profile.test_bags, profile.trials)
                cost = 5e-7 * length * profile.trials * (n + profile.test_bags)
                found.append(Job(measure_error, (*place, *sizes, own), cost))
    return found


class Digits(NamedTuple):
    """Tokens that every bag may hold, tokens that positive bags have one of, and a query."""

    others: Float[np.ndarray, "N d"]
    wanted: Float[np.ndarray, "M d"]
    query: Float[np.ndarray, " d"]


@functools.cache
def digits() -> Digits:
    """Return standardised digits, constant pixels left out.

    The query is the linear discriminant of single digits, so that it is the same at every size.
    """
    X, label = load_digits(return_X_y=True)
    X = X[:, X.std(axis=0) > 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    others, wanted = X[label != DIGIT], X[label == DIGIT]
    S = np.cov(others.T)
    query = np.linalg.solve(S, wanted.mean(axis=0) - others.mean(axis=0))
    return Digits(others, wanted, query / np.sqrt(query @ S @ query))


def features(
    length: int, classifier: str, labels: Int[np.ndarray, " n"], rng: np.random.Generator
) -> Float[np.ndarray, "n d"]:
    """Draw bags, and return their mean tokens or those that the query attends to."""
    others, wanted, query = digits()
    n = len(labels)
    bags = others[rng.integers(len(others), size=(n, length))]
    one = wanted[rng.integers(len(wanted), size=n)]
    bags[labels > 0, 0] = one[labels > 0]
    if classifier == "pooled":
        return bags.mean(axis=1)
    weights = softmax(SHARPNESS * (bags @ query), axis=1)
    return np.einsum("nl,nld->nd", weights, bags)


def predict_errors(
    length: int, classifier: str, bags: tuple[int, ...], law_bags: int
) -> list[Theory]:
    """Solve for the readout of features of two classes with a mean and a covariance each.

    In the general form the directions are the class means; amounts and amplitudes say which
    class a bag is of.
    """
    rng = np.random.default_rng(seed_of("digit-bags", "law", length))
    labels = np.repeat([1, -1], law_bags)
    F = features(length, classifier, labels, rng)
    plus, minus = F[labels > 0], F[labels < 0]
    centre = F.mean(axis=0)
    M = np.stack([plus.mean(axis=0) - centre, minus.mean(axis=0) - centre], axis=1)
    G = np.array([np.cov(plus.T), np.cov(minus.T)])
    which = np.eye(2)
    nodes = FeatureNodes.of(which, which, [1, -1], [0.5, 0.5])
    problem = ConvexReadout(nodes, covariances(G, M), get_loss(LOSS))
    found = []
    for solved in problem.solve_along([(float(n), RIDGE) for n in bags]):
        error = readout_outcome(problem, solved).test_error
        status = "converged" if solved.converged else "not solved"
        found.append(Theory(length, classifier, int(solved.samples), Predicted(error, 0.0, status)))
    return found


def measure_error(
    length: int, classifier: str, bags: int, test_bags: int, trials: int, seed: int
) -> list[Simulated]:
    """Fit readouts to drawn bags, and test them on others."""
    errors = []
    for trial in range(trials):
        rng = np.random.default_rng(seed_of("trial", trial, seed))
        labels, truth = (np.where(np.arange(n) % 2, 1, -1) for n in (bags, test_bags))
        F = features(length, classifier, labels, rng)
        fit = fit_readout(F, labels, get_loss(LOSS), RIDGE)
        scores = features(length, classifier, truth, rng) @ fit.w + fit.b
        errors.append(float(np.mean((scores > 0) != (truth > 0))))
    dimension = digits().others.shape[1]
    return [Simulated(length, classifier, bags, averaged(errors, dimension))]
