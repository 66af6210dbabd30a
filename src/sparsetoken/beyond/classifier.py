"""An attention classifier as three weights: its gradient, its fit, its test error."""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from sparsetoken.attention import pool, softmax_weights
from sparsetoken.losses import Loss
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.conditional import conditional_merit
from sparsetoken.simulation.engine import Split
from sparsetoken.simulation.seeds import Stream, seed_of, stream
from sparsetoken.simulation.tensors import TensorEngine
from sparsetoken.training import FourStageTraining, Query
from sparsetoken.validation import integer

__all__ = [
    "Classifier",
    "Reached",
    "Samples",
    "cosine",
    "draw",
    "fitted",
    "gradient",
    "objective",
    "reached",
    "start",
    "two_steps",
    "union",
]


class Samples(NamedTuple):
    """Tokens and labels.

    Attributes
    ----------
    X : array of shape (n, L, d)
    y : array of shape (n,), in {-1, +1}
    """

    X: Float[np.ndarray, "n L d"]
    y: Int[np.ndarray, " n"]


class Classifier(NamedTuple):
    """The score of X is <w, X^T softmax(beta X q)> + b.

    Also used for gradients, which have the same three parts.
    """

    w: Float[np.ndarray, " d"]
    b: float
    q: Float[np.ndarray, " d"]


def start(
    problem: SparseTokenProblem, training: FourStageTraining, dimension: int, seed: int, trial: int
) -> TensorEngine:
    """Return the engine of one trial, seeded by all that its data depend on.

    The step size of the query is no coordinate: trainings that differ in it see the same
    data, so that their differences are sharper.

    Raises
    ------
    InvalidInput
        If the dimension is below 2, or seed or trial is negative.
    """
    own = seed_of(
        problem=json.loads(problem.to_json()),
        alpha0=training.alpha0,
        dimension=integer("dimension (d)", dimension, 2),
        seed=integer("seed", seed, 0),
        trial=integer("trial", trial, 0),
    )
    return TensorEngine(problem, dimension, own)


def draw(engine: TensorEngine, source: Stream, n: int) -> Samples:
    """Return n samples of one source of a trial, all at once."""
    X, y = zip(*engine.chunks(source, n), strict=True)
    return Samples(np.concatenate(X), np.concatenate(y))


def union(first: Samples, second: Samples) -> Samples:
    """Return the samples of both."""
    return Samples(np.concatenate([first.X, second.X]), np.concatenate([first.y, second.y]))


def gradient(samples: Samples, at: Classifier, loss: Loss, beta: float) -> Classifier:
    """Return the gradient of the mean loss in (w, b, q).

    With a = softmax(beta X q), u = X w, h = l'(y, <a, u> + b) / n it is
    ``(sum h X^T a, sum h, beta sum h X^T (a * (u - <a, u>)))``.
    """
    n, L, d = samples.X.shape
    tokens = samples.X.reshape(n * L, d)
    t, u = (tokens @ np.stack([at.q, at.w], axis=1)).T.reshape(2, n, L)
    a = softmax_weights(beta * t)
    mean = np.einsum("nl,nl->n", a, u)
    h = np.asarray(loss.slope(samples.y, mean + at.b)) / n
    on_w = h[:, None] * a
    on_q = beta * on_w * (u - mean[:, None])
    dw, dq = np.stack([on_w.ravel(), on_q.ravel()]) @ tokens
    return Classifier(dw, float(h.sum()), dq)


def objective(samples: Samples, at: Classifier, training: FourStageTraining) -> float:
    """Return the mean loss plus (ridge/2) |w|^2."""
    z = _features(samples, at.q, training.beta) @ at.w + at.b
    penalty = 0.5 * training.ridge * float(at.w @ at.w)
    return float(np.mean(training.loss.value(samples.y, z))) + penalty


def two_steps(samples: Samples, training: FourStageTraining) -> Classifier:
    """Run stages 1-3: from zero a gradient step on (w, b), then one on q."""
    zero = np.zeros(samples.X.shape[2])
    first = gradient(samples, Classifier(zero, 0.0, zero), training.loss, training.beta)
    w1, b1 = -training.eta_w * first.w, -training.eta_b * first.b
    second = gradient(samples, Classifier(w1, b1, zero), training.loss, training.beta)
    return Classifier(w1, b1, -training.eta_q * second.q)


def fitted(samples: Samples, q: Float[np.ndarray, " d"], training: FourStageTraining) -> Classifier:
    """Run stage 4: the best ridge-penalised readout with q frozen."""
    features = _features(samples, q, training.beta)
    fit = fit_readout(features, samples.y, training.loss, training.ridge)
    return Classifier(fit.w, fit.b, q)


class Reached(NamedTuple):
    """What a classifier is worth, and where its query points.

    Attributes
    ----------
    test_error : float
        Conditional expectation given the classifier.
    cosine : float
        <q, xi> / |q|; 0 for q = 0.
    sharpness : float
        beta |q|.
    """

    test_error: float
    cosine: float
    sharpness: float


def reached(engine: TensorEngine, of: Classifier, beta: float) -> Reached:
    """Measure a classifier on the law its samples came from.

    Classifiers of one trial share the draws, so that their differences are sharper.
    """
    xi, norm = engine.signal, float(np.linalg.norm(of.q))
    s = cosine(of.q, xi)
    axes = np.array([_direction(of.q, xi), _unit(xi - s * _unit(of.q))])
    named = axes @ of.w
    split = Split(named, float(np.linalg.norm(of.w - named @ axes)))
    query, rng = Query(s, beta * norm), stream(engine.seed, Stream.TEST)
    merit = conditional_merit("attention", engine.problem, query, split, of.b, "erf", rng)
    return Reached(merit.test_error, s, query.sharpness)


def cosine(vector: Float[np.ndarray, " d"], signal: Float[np.ndarray, " d"]) -> float:
    """Return <v, xi> / |v| for a unit vector xi; 0 for v = 0."""
    return float(np.clip(_unit(vector) @ signal, -1, 1))


def _features(samples: Samples, q: np.ndarray, beta: float) -> np.ndarray:
    return pool(samples.X, softmax_weights(beta * (samples.X @ q)))


def _direction(q: np.ndarray, xi: np.ndarray) -> np.ndarray:
    """Return q / |q|; for q = 0 a unit vector orthogonal to xi."""
    if np.any(q):
        return _unit(q)
    axis = np.zeros_like(xi)
    axis[np.argmin(np.abs(xi))] = 1.0
    return _unit(axis - (axis @ xi) * xi)


def _unit(vector: np.ndarray) -> np.ndarray:
    norm = np.linalg.norm(vector)
    return vector / norm if norm > 0 else vector
