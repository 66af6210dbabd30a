"""Approximate message passing, which attains the Bayes-optimal error."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln

from sparsetoken.base.validation import LARGEST_LOAD, integer, real
from sparsetoken.model.problem import SparseTokenProblem, require_problem
from sparsetoken.model.tokens import isotropic_only
from sparsetoken.model.values import Broadcast, require_numbers
from sparsetoken.results import CONVERGED, Record, Simulation, Status, StatusCode
from sparsetoken.results.record import Numbers, quantity, record
from sparsetoken.simulation.frames import training_size
from sparsetoken.simulation.parallel import Trial, simulated
from sparsetoken.simulation.seeds import Stream, stream
from sparsetoken.simulation.setting import Setting
from sparsetoken.simulation.sizes import chunk_sizes, require_size, scalar_rows

_SETTLED = 1e-6  # change of the squared norm of the estimate in a round


@record
class MessagePassing(Record):
    """The outcome of one trial of approximate message passing."""

    cosine: Numbers = quantity("Of xi and its estimate.")
    test_error: Numbers = quantity("On fresh samples.")
    iterations: Numbers = quantity("Rounds of the algorithm.")


class _Estimate(NamedTuple):
    signal: Float[np.ndarray, " d"]
    iterations: int
    settled: bool


@dataclasses.dataclass(frozen=True)
class _Plan:
    problem: SparseTokenProblem
    alpha: float
    setting: Setting
    iterations: int
    test_samples: int

    def run(self, trial: int) -> Trial[MessagePassing]:
        """Learn xi from the positives of D0, and classify fresh samples."""
        engine: Any = self.setting.start(self.problem, trial, "message passing")
        seed, n = engine.seed, training_size(self.alpha, self.setting.dimension)
        tokens = np.concatenate([X[y == 1] for X, y in engine.chunks(Stream.D0, n)])
        start = stream(seed, Stream.QUERY)
        estimate = message_passing(tokens, self.problem, self.iterations, start)
        stuck = Status(StatusCode.MAX_ITERATIONS, "it did not settle; allow more iterations.")
        status = CONVERGED if estimate.settled else stuck
        norm = float(np.linalg.norm(estimate.signal))
        if norm == 0:
            pi = self.problem.positive_rate
            return Trial(MessagePassing(0.0, min(pi, 1 - pi), estimate.iterations), status)
        cosine = float(estimate.signal @ engine.signal) / norm
        wrong = self._wrong(cosine, norm, stream(seed, Stream.FRESH)) / self.test_samples
        return Trial(MessagePassing(cosine, wrong, estimate.iterations), status)

    def _wrong(self, cosine: float, norm: float, rng: np.random.Generator) -> int:
        """Return how many fresh samples are classified wrongly.

        Of their tokens only the projections on the estimate are drawn, informative ones first.
        """
        _, theta, R, L = self.problem.letters
        wrong = 0
        for n in chunk_sizes(self.test_samples, scalar_rows(L)):
            y = self.problem.sample_labels(n, rng)
            t = rng.standard_normal((n, L))
            t[:, :R] += theta * cosine * (y == 1)[:, None]
            wrong += int(np.sum(_decision(t, self.problem, norm) != y))
        return wrong


def message_passing(
    tokens: Float[np.ndarray, "n L d"],
    problem: SparseTokenProblem,
    iterations: int,
    rng: np.random.Generator,
) -> _Estimate:
    """Estimate xi from the tokens of positive samples, by its posterior mean.

    Each round, of so many iterations at most, weighs the tokens by the posterior chance that they
    carry the signal, and takes from both estimates what they owe to their own last value (the
    Onsager terms). The chances start with small random numbers.
    """
    _, theta, R, L = problem.letters
    n, _, d = tokens.shape
    rows = tokens.reshape(n * L, d)
    v = np.full((n, L), R / L) + 1e-3 * rng.standard_normal((n, L))
    xi = np.zeros(d)
    for count in range(1, iterations + 1):
        field = theta * (v.ravel() @ rows) - theta**2 * float(np.sum(v * (1 - v))) * xi
        precision = d + theta**2 * float(np.sum(v**2))
        last, xi = xi, field / precision
        scores = theta * (rows @ xi).reshape(n, L) - theta**2 * (d / precision) * v
        v = position_chances(scores, R)
        if float(np.sum((xi - last) ** 2)) < _SETTLED:
            return _Estimate(xi, count, True)
    return _Estimate(xi, iterations, False)


def position_chances(
    scores: Float[np.ndarray, "n L"], informative: int
) -> Float[np.ndarray, "n L"]:
    """Return the probability that each position is in a set of R, of weight e^(sum of scores).

    Sums over sets of the positions before and after each, with logarithms throughout.
    """
    n, L = scores.shape
    R = informative
    before, after = (_partial(s, R) for s in (scores, scores[:, ::-1]))
    chances = np.empty((n, L))
    for place in range(L):
        both = before[place][:R] + after[L - 1 - place][:R][::-1]
        chances[:, place] = np.logaddexp.reduce(both, axis=0) + scores[:, place]
    return np.exp(chances - before[L][R][:, None])


def _partial(scores: np.ndarray, R: int) -> list[np.ndarray]:
    """Return the logarithms of e_0 .. e_R of the first 0, 1, .. L positions."""
    n, L = scores.shape
    current = np.full((R + 1, n), -np.inf)
    current[0] = 0.0
    sums = [current]
    for place in range(L):
        joined = current.copy()
        joined[1:] = np.logaddexp(current[1:], current[:-1] + scores[:, place])
        current = joined
        sums.append(current)
    return sums


def _decision(t: np.ndarray, problem: SparseTokenProblem, norm: float) -> np.ndarray:
    """Return the more probable label, with the norm of the posterior mean as its cosine."""
    pi, theta, R, L = problem.letters
    strength = theta * min(norm, 1.0)
    log_sets = float(gammaln(L + 1) - gammaln(R + 1) - gammaln(L - R + 1))
    prior = math.log(pi / (1 - pi)) - strength**2 * R / 2 - log_sets
    return np.where(_partial(strength * t, R)[-1][R] + prior > 0, 1, -1)


def pass_messages(
    problem: SparseTokenProblem,
    alpha: float,
    *,
    dimension: int = 1000,
    trials: int = 8,
    seed: int = 0,
    iterations: int = 200,
    test_samples: int = 4000,
    workers: int = 1,
    keep: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Simulation[MessagePassing]:
    """Learn the signal by approximate message passing, which attains the Bayes-optimal error.

    It does where the equation of the Bayes-optimal learner has one solution; otherwise it may end
    at a lesser one.

    Parameters
    ----------
    problem : SparseTokenProblem
        With numbers in all fields, and uniform positions.
    alpha : float
        n / d in (0, 1e9].
    dimension : int >= 1
        d.
    trials, seed, workers, keep, progress
        As for `sparsetoken.simulate`.
    iterations : int >= 1
        The most rounds of a trial.
    test_samples : int >= 1
        Fresh samples that are classified in each trial.

    Returns
    -------
    Simulation
        With `mean`, `standard_error` and `trials`.

    Raises
    ------
    InvalidInput
        If a value is outside its range, or an array of a trial would exceed 2 GiB.

    See Also
    --------
    sparsetoken.theory.oracle.learning_error : The error that it attains.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> found = st.simulation.pass_messages(problem, 2.0, dimension=200, trials=2)
    >>> bool(found.mean.test_error < 0.1)
    True
    """
    require_problem(problem)
    require_numbers(problem)
    isotropic_only(problem.tokens, "Message passing")
    alpha = real("alpha (n/d)", alpha, 0.0, LARGEST_LOAD, open_low=True)
    setting = Setting(dimension, seed, "tensors")
    integer("iterations", iterations, 1)
    integer("test_samples", test_samples, 1)

    L, n = problem.length, training_size(alpha, dimension)
    require_size(n * L * dimension, dimension, L, "alpha")
    plan = _Plan(problem, alpha, setting, iterations, test_samples)
    return simulated(
        [plan],
        Broadcast([]),
        trials,
        call=["pass messages"],
        workers=workers,
        keep=keep,
        progress=progress,
    )
