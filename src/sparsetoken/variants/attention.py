"""Training of attention on real tokens beyond the four stages: reused data, further steps."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from sparsetoken.attention import pool, softmax_weights
from sparsetoken.models import Attention
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.designs import training_size
from sparsetoken.simulation.features import sampler_of
from sparsetoken.simulation.performance import expected_performance
from sparsetoken.simulation.seeds import Stream, seed_of, stream
from sparsetoken.simulation.tensors import TensorEngine, gradient
from sparsetoken.stages import Readout, TwoSteps
from sparsetoken.tokens import isotropic_only
from sparsetoken.validation import integer, real
from sparsetoken.values import require_numbers


class Samples(NamedTuple):
    """Tokens, and labels in {-1, +1}."""

    X: Float[np.ndarray, "n L d"]
    y: Int[np.ndarray, " n"]

    @classmethod
    def drawn(cls, engine: TensorEngine, source: Stream, alpha: float) -> Samples:
        """Return alpha d samples of one source of a trial, all at once."""
        X, y = zip(*engine.chunks(source, training_size(alpha, engine.dimension)), strict=True)
        return cls(np.concatenate(X), np.concatenate(y))

    def __or__(self, other: Samples) -> Samples:
        return Samples(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


class Classifier(NamedTuple):
    """The score of X is <w, X^T softmax(beta X q)> + b."""

    w: Float[np.ndarray, " d"]
    b: float
    q: Float[np.ndarray, " d"]


class TrialData(NamedTuple):
    """One trial: the engine that draws its samples, and the two training sets."""

    engine: TensorEngine
    D0: Samples
    D1: Samples


def start(problem: SparseTokenProblem, dimension: int, seed: int, trial: int) -> TensorEngine:
    """Return the engine of one trial, seeded by the user's seed and the trial alone.

    Trainings that differ in anything else share the random numbers, so that their differences are
    more precise.
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
    """Draw round(alpha0 d) samples of D0 and round(alpha1 d) samples of D1."""
    require_numbers(steps, readout)
    alpha1 = real("alpha1 (n1/d)", readout.alpha1, remedy="An experiment needs finite data.")
    engine = start(problem, dimension, seed, trial)
    D0 = Samples.drawn(engine, Stream.D0, steps.alpha0)
    return TrialData(engine, D0, Samples.drawn(engine, Stream.D1, alpha1))


def query_path(samples: Samples, steps: TwoSteps, last_step: int = 2) -> list[Classifier]:
    """Return (w1, b1, q_t) after gradient steps t = 2 .. last_step on the same samples.

    Step 1 moves (w, b), as in the four stages. Each later step is one of gradient descent on q
    alone, of size eta_q, with the readout left at (w1, b1).
    """
    zero = np.zeros(samples.X.shape[2])
    first = gradient([samples], len(samples.y), steps, zero, zero, 0.0)
    at, path = Classifier(-steps.eta_w * first.by_w, -steps.eta_b * first.by_b, zero), []
    for _ in range(integer("last_step", last_step, 2) - 1):
        slope = gradient([samples], len(samples.y), steps, at.w, at.q, at.b).by_q
        at = at._replace(q=at.q - steps.eta_q * slope)
        path.append(at)
    return path


def fitted(
    samples: Samples, q: Float[np.ndarray, " d"], readout: Readout, beta: float
) -> Classifier:
    """Run stage 4: fit the ridge-penalised readout with q frozen."""
    features = pool(samples.X, softmax_weights(beta * (samples.X @ q)))
    fit = fit_readout(features, samples.y, readout.loss, readout.ridge)
    return Classifier(fit.w, fit.b, q)


@dataclasses.dataclass(frozen=True)
class Reached:
    """Expected test error given a classifier, cosine of its query (0 for q = 0), and beta |q|."""

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
    """
    data = trial_data(problem, steps, readout, dimension=dimension, seed=seed, trial=trial)
    both = data.D0 | data.D1
    sets = {"fresh": (data.D0, data.D1), "reused": (data.D1, data.D1), "all twice": (both, both)}
    found = {}
    for arm, (for_query, for_readout) in sets.items():
        (last,) = query_path(for_query, steps)
        of = fitted(for_readout, last.q, readout, steps.beta)
        found[arm] = reached(data.engine, of, steps.beta)
    return found


@dataclasses.dataclass(frozen=True)
class RefittedQuery:
    """What is reached after so many steps, with the readout refitted.

    With the query as it is, and rescaled to the held sharpness: only its direction then matters.
    """

    step: int
    free: Reached
    held: Reached


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
    """Refit the readout on D1 after each step on q, from the second in all to the last."""
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
