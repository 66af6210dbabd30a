"""Bags of digits and of textures, what is predicted of them, and what is measured."""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import softmax
from sklearn.datasets import load_digits, load_sample_image

from sparsetoken.experiments.experiment import Job
from sparsetoken.experiments.real_tokens.rows import Simulated, Theory
from sparsetoken.experiments.rows import Predicted, averaged
from sparsetoken.losses import get_loss
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.theory.readout.covariances import covariances
from sparsetoken.theory.readout.equations import Load, SpectrumReadout
from sparsetoken.theory.readout.nodes import FeatureNodes
from sparsetoken.theory.readout.outcome import worth
from sparsetoken.theory.readout.solve import solve_readout

CLASSIFIERS = ("pooled", "attention")
PLACES = (("digits", 5), ("digits", 20), ("digits", 50), ("textures", 20))
"""What a token is, and how many are in a bag."""
DIGIT, PATCHES = 9, 5000
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
    for i, (tokens, length) in enumerate(PLACES):
        for classifier in CLASSIFIERS:
            place, own = (tokens, length, classifier), seed_of("real-tokens", i, seed)
            size = profile.law_bags * length / 1e5
            found.append(
                Job(predict_errors, (*place, profile.bags, profile.law_bags), 0.05 + 0.1 * size)
            )
            for n in profile.bags:
                sizes = (n, profile.test_bags, profile.trials)
                cost = 5e-7 * length * profile.trials * (n + profile.test_bags)
                found.append(Job(measure_error, (*place, *sizes, own), cost))
    return found


class Tokens(NamedTuple):
    """Tokens that every bag may hold, tokens that positive bags have one of, and a query.

    The query is the linear discriminant of single tokens, so that it is the same at every size.
    """

    others: Float[np.ndarray, "N d"]
    wanted: Float[np.ndarray, "M d"]
    query: Float[np.ndarray, " d"]


@functools.cache
def source(name: str) -> Tokens:
    """Return standardised tokens: images of digits, or patches of two photographs."""
    X, wanted = _digits() if name == "digits" else _textures()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    S = np.cov(X[~wanted].T)
    query = np.linalg.solve(S, X[wanted].mean(axis=0) - X[~wanted].mean(axis=0))
    return Tokens(X[~wanted], X[wanted], query / np.sqrt(query @ S @ query))


def _digits() -> tuple[Float[np.ndarray, "N d"], Bool[np.ndarray, " N"]]:
    """Return pixels that vary, and which images are of the digit."""
    X, label = load_digits(return_X_y=True)
    return X[:, X.std(axis=0) > 0], label == DIGIT


def _textures() -> tuple[Float[np.ndarray, "N d"], Bool[np.ndarray, " N"]]:
    """Return grey values and the log spectrum of patches, and which are of the flower."""
    rng, found = np.random.default_rng(seed_of("real-tokens", "patches")), []
    for name in ("china.jpg", "flower.jpg"):
        image = load_sample_image(name).mean(axis=2) / 255
        windows = np.lib.stride_tricks.sliding_window_view(image, (8, 8))
        i, j = (rng.integers(0, n, PATCHES) for n in windows.shape[:2])
        grey = windows[i, j]
        amplitudes = np.abs(np.fft.rfft2(grey))[:, :, 1:4]  # the other columns repeat values
        spectrum = np.log(amplitudes + 0.05).reshape(PATCHES, -1)
        found.append(np.hstack([grey.reshape(PATCHES, -1)[:, ::4], spectrum]))
    return np.concatenate(found), np.repeat([False, True], PATCHES)


def draw_bags(
    tokens: str, length: int, labels: Int[np.ndarray, " n"], rng: np.random.Generator
) -> Float[np.ndarray, "n L d"]:
    """Draw bags; the first token of a positive one is a wanted token."""
    others, wanted, _ = source(tokens)
    n = len(labels)
    bags = others[rng.integers(len(others), size=(n, length))]
    one = wanted[rng.integers(len(wanted), size=n)]
    bags[labels > 0, 0] = one[labels > 0]
    return bags


def features(
    tokens: str,
    length: int,
    classifier: str,
    labels: Int[np.ndarray, " n"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "n d"]:
    """Draw bags, and return their mean tokens or those that the query attends to."""
    bags = draw_bags(tokens, length, labels, rng)
    if classifier == "pooled":
        return bags.mean(axis=1)
    weights = softmax(SHARPNESS * (bags @ source(tokens).query), axis=1)
    return np.einsum("nl,nld->nd", weights, bags)


def predict_errors(
    tokens: str, length: int, classifier: str, bags: tuple[int, ...], law_bags: int
) -> list[Theory]:
    """Solve for the readout of features of two classes with a mean and a covariance each.

    In the general form the directions are the class means; amounts and amplitudes say which
    class a bag is of.
    """
    rng = np.random.default_rng(seed_of("real-tokens", tokens, length))
    labels = np.repeat([1, -1], law_bags)
    F = features(tokens, length, classifier, labels, rng)
    plus, minus = F[labels > 0], F[labels < 0]
    centre = F.mean(axis=0)
    M = np.stack([plus.mean(axis=0) - centre, minus.mean(axis=0) - centre], axis=1)
    G = np.array([np.cov(plus.T), np.cov(minus.T)])
    which = np.eye(2)
    nodes = FeatureNodes.of(which, which, [1, -1], [0.5, 0.5])
    readout = SpectrumReadout(nodes, get_loss(LOSS), covariances(G, M))
    found, solved = [], None
    for n in bags:
        solved = solve_readout(readout, Load(float(n), RIDGE), solved)
        error = worth(readout, solved).test_error
        status = "converged" if solved.converged else "not solved"
        predicted = Predicted(error, 0.0, status)
        found.append(Theory(tokens, length, classifier, n, predicted))
    return found


def measure_error(
    tokens: str, length: int, classifier: str, bags: int, test_bags: int, trials: int, seed: int
) -> list[Simulated]:
    """Fit readouts to drawn bags, and test them on others."""
    errors = []
    for trial in range(trials):
        rng = np.random.default_rng(seed_of("trial", trial, seed))
        labels, truth = (np.where(np.arange(n) % 2, 1, -1) for n in (bags, test_bags))
        F = features(tokens, length, classifier, labels, rng)
        fit = fit_readout(F, labels, get_loss(LOSS), RIDGE)
        scores = features(tokens, length, classifier, truth, rng) @ fit.w + fit.b
        errors.append(float(np.mean((scores > 0) != (truth > 0))))
    dimension = source(tokens).others.shape[1]
    return [Simulated(tokens, length, classifier, bags, averaged(errors, dimension))]
