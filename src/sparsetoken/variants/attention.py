"""Training of attention on real tokens beyond the four stages: reused data, further steps."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from sparsetoken.attention import pool, softmax_weights
from sparsetoken.losses import Loss
from sparsetoken.models import Attention
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.designs import training_size
from sparsetoken.simulation.features import sampler_of
from sparsetoken.simulation.performance import expected_performance
from sparsetoken.simulation.seeds import Stream, seed_of, stream
from sparsetoken.simulation.tensors import TensorEngine
from sparsetoken.stages import Readout, TwoSteps
from sparsetoken.tokens import isotropic_only
from sparsetoken.validation import integer, real
from sparsetoken.values import require_numbers


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


@dataclasses.dataclass(frozen=True)
class TrialData:
    """One trial: the engine that draws its samples, and the two training sets."""

    engine: TensorEngine
    D0: Samples
    D1: Samples


def start(problem: SparseTokenProblem, dimension: int, seed: int, trial: int) -> TensorEngine:
    """Return the engine of one trial, seeded by the user's seed and the trial alone.

    Trainings that differ in anything else share the random numbers, so that their differences are
    more precise.

    Raises
    ------
    InvalidInput
        If the dimension is below 2, seed or trial is negative, or a field of the problem
        holds an array.
    """
    require_numbers(problem)
    isotropic_only(problem.tokens, "This experiment")
    own = seed_of("beyond", integer("seed", seed, 0), integer("trial", trial, 0))
    return TensorEngine(problem, integer("dimension (d)", dimension, 2), own)


def trial_data(
    problem: SparseTokenProblem,
    steps: TwoSteps,
    readout: Readout,
    *,
    dimension: int,
    seed: int,
    trial: int,
) -> TrialData:
    """Draw round(alpha0 d) samples of D0 and round(alpha1 d) samples of D1.

    Raises
    ------
    InvalidInput
        As `start`, or if a field of the stages holds an array or alpha1 is infinite.
    """
    require_numbers(steps, readout)
    alpha1 = real("alpha1 (n1/d)", readout.alpha1, remedy="An experiment needs finite data.")
    engine = start(problem, dimension, seed, trial)
    D0 = draw(engine, Stream.D0, training_size(steps.alpha0, dimension))
    return TrialData(engine, D0, draw(engine, Stream.D1, training_size(alpha1, dimension)))


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


def objective(samples: Samples, at: Classifier, readout: Readout, beta: float) -> float:
    """Return the mean loss plus (ridge/2) |w|^2."""
    z = _features(samples, at.q, beta) @ at.w + at.b
    penalty = 0.5 * readout.ridge * float(at.w @ at.w)
    return float(np.mean(readout.loss.value(samples.y, z))) + penalty


def two_steps(samples: Samples, steps: TwoSteps) -> Classifier:
    """Run stages 1-3: from zero a gradient step on (w, b), then one on q."""
    zero = np.zeros(samples.X.shape[2])
    first = gradient(samples, Classifier(zero, 0.0, zero), steps.loss, steps.beta)
    w1, b1 = -steps.eta_w * first.w, -steps.eta_b * first.b
    second = gradient(samples, Classifier(w1, b1, zero), steps.loss, steps.beta)
    return Classifier(w1, b1, -steps.eta_q * second.q)


def fitted(
    samples: Samples, q: Float[np.ndarray, " d"], readout: Readout, beta: float
) -> Classifier:
    """Run stage 4: fit the ridge-penalised readout with q frozen."""
    fit = fit_readout(_features(samples, q, beta), samples.y, readout.loss, readout.ridge)
    return Classifier(fit.w, fit.b, q)


@dataclasses.dataclass(frozen=True)
class Reached:
    """Test error of a classifier, and cosine and sharpness of its query.

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
    """Measure a classifier on the distribution of its samples.

    Classifiers of one trial share their samples, so that their differences are more precise.
    """
    trained = engine.frame.trained(of.q, beta, of.w)
    query = trained.query
    sampler = sampler_of(Attention(query))
    split = sampler.split(engine.frame, trained, of.w, dimension=len(of.w))
    scores = sampler.scores(engine.problem, trained, split, of.b, stream(engine.seed, Stream.TEST))
    error = expected_performance(engine.problem, scores).test_error
    return Reached(error, query.cosine, query.sharpness)


def cosine(vector: Float[np.ndarray, " d"], signal: Float[np.ndarray, " d"]) -> float:
    """Return <v, xi> / |v| for a unit vector xi; 0 for v = 0."""
    norm = np.linalg.norm(vector)
    return float(np.clip(vector @ signal / norm, -1, 1)) if norm > 0 else 0.0


ARMS = ("fresh", "reused", "all twice")
"""Query from D0 and readout from D1; both from D1; both from the union of D0 and D1."""


def reuse_trial(
    problem: SparseTokenProblem,
    steps: TwoSteps,
    readout: Readout,
    *,
    dimension: int,
    seed: int = 0,
    trial: int = 0,
) -> dict[str, Reached]:
    """Train three classifiers that differ in which samples serve which stage.

    D0 has round(alpha0 d) samples and D1 round(alpha1 d). ``fresh`` is the training of the
    theory. ``reused`` sees D1 alone, the others see both.

    Parameters
    ----------
    problem : SparseTokenProblem
    steps : TwoSteps
    readout : Readout
    dimension : int, at least 2
    seed, trial : int >= 0

    Returns
    -------
    dict from each of `ARMS` to what it reached

    Raises
    ------
    InvalidInput
        If a value is outside its range.
    """
    data = trial_data(problem, steps, readout, dimension=dimension, seed=seed, trial=trial)
    both = union(data.D0, data.D1)
    sets = {"fresh": (data.D0, data.D1), "reused": (data.D1, data.D1), "all twice": (both, both)}
    found = {}
    for arm, (for_query, for_readout) in sets.items():
        q = two_steps(for_query, steps).q
        of = fitted(for_readout, q, readout, steps.beta)
        found[arm] = reached(data.engine, of, steps.beta)
    return found


@dataclasses.dataclass(frozen=True)
class RefittedQuery:
    """Test error after a step of the query, with the readout refitted.

    Attributes
    ----------
    step : int
        Gradient steps so far, the first of them on (w, b).
    free : Reached
        With the query as it is.
    held : Reached
        With the query rescaled to the held sharpness, so that only its direction matters.
    """

    step: int
    free: Reached
    held: Reached


def query_path(samples: Samples, steps: TwoSteps, last_step: int) -> list[Classifier]:
    """Return (w1, b1, q_t) after steps t = 2 .. last_step on the same samples.

    Step 1 moves (w, b), as in the four stages. Each later step is one of gradient
    descent on q alone, of size eta_q, with the readout left at (w1, b1).
    """
    path = [two_steps(samples, steps)]
    for _ in range(integer("last_step", last_step, 2) - 2):
        at = path[-1]
        slope = gradient(samples, at, steps.loss, steps.beta).q
        path.append(at._replace(q=at.q - steps.eta_q * slope))
    return path


def steps_trial(
    problem: SparseTokenProblem,
    steps: TwoSteps,
    readout: Readout,
    *,
    last_step: int = 10,
    held_sharpness: float = 1.0,
    dimension: int,
    seed: int = 0,
    trial: int = 0,
) -> list[RefittedQuery]:
    """Refit the readout on D1 after each step on q.

    Parameters
    ----------
    problem : SparseTokenProblem
    steps : TwoSteps
    readout : Readout
    last_step : int, at least 2
        Gradient steps in all, the first of them on (w, b).
    held_sharpness : float >= 0
        k of the queries that are held at one sharpness.
    dimension : int, at least 2
    seed, trial : int >= 0

    Returns
    -------
    list of RefittedQuery, for steps 2 .. last_step

    Raises
    ------
    InvalidInput
        If a value is outside its range.
    """
    k, beta = real("held_sharpness", held_sharpness, 0.0), steps.beta
    data = trial_data(problem, steps, readout, dimension=dimension, seed=seed, trial=trial)

    def worth(q: np.ndarray) -> Reached:
        return reached(data.engine, fitted(data.D1, q, readout, beta), beta)

    found = []
    for step, at in enumerate(query_path(data.D0, steps, last_step), start=2):
        norm = float(np.linalg.norm(at.q))
        held = k / (beta * norm) * at.q if norm > 0 else at.q
        found.append(RefittedQuery(step, worth(at.q), worth(held)))
    return found


def _features(samples: Samples, q: np.ndarray, beta: float) -> np.ndarray:
    return pool(samples.X, softmax_weights(beta * (samples.X @ q)))
