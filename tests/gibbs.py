"""Bayes-optimal learning at finite dimension, by Gibbs sampling of the posterior.

It follows from the definition of a task alone: xi_p ~ N(0, I/d), tokens sum_p c_lp xi_p + k_l z_l,
and a target. The directions are drawn given all latent variables, and these given the directions;
a chain starts at the truth. That is orthonormal, as tasks are defined: a difference of the
order 1/d. A new bag tells of the directions, too: its prediction is a mean over the draws of
these, weighted by the density of its tokens.
"""

import dataclasses
import itertools
import math

import numpy as np
from scipy.special import logsumexp, ndtr, ndtri, softmax

import sparsetoken as st


def arrangements(problem):
    """Return coefficients, log probabilities and targets of all bags of a `ConceptProblem`."""
    rows, logs, classes = [], [], []
    signals = np.vstack([np.diag(problem.strengths), np.zeros(len(problem.strengths))])
    kinds = zip(problem.patterns, problem.rates, problem.some_targets(), strict=True)
    for pattern, rate, label in kinds:
        held = np.repeat(np.arange(len(pattern)), pattern).tolist()
        held += [len(pattern)] * (problem.length - len(held))
        places = sorted(set(itertools.permutations(held)))
        rows += [signals[list(place)] for place in places]
        logs += [math.log(rate / len(places))] * len(places)
        classes += [label] * len(places)
    return np.array(rows), np.array(logs), np.array(classes)


def signs(length, strength):
    """Return the same of all bags of `majority`."""
    rows = np.array(list(itertools.product([-1.0, 1.0], repeat=length)))
    return strength * rows[..., None], np.zeros(len(rows)), np.sign(rows.sum(axis=1))


@dataclasses.dataclass
class Listed:
    """Bags of unit noise whose latent variables are a list, by coefficients (c, L, P)."""

    coefficients: np.ndarray
    logs: np.ndarray
    classes: np.ndarray

    def __post_init__(self):
        self.labels = np.unique(self.classes)
        self.squares = np.einsum("clp,clq->cpq", self.coefficients, self.coefficients)

    def _scores(self, X, xi):
        flat = self.coefficients.reshape(len(self.logs), -1)
        fit = (X @ xi.T).reshape(len(X), -1) @ flat.T
        return fit + self.logs - 0.5 * np.einsum("cpq,pq->c", self.squares, xi @ xi.T)

    def sweep(self, X, y, xi, rng):
        scores = self._scores(X, xi)
        scores[y[:, None] != self.classes] = -np.inf
        chosen = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
        precision = len(xi[0]) * np.eye(len(xi)) + self.squares[chosen].sum(axis=0)
        pull = np.einsum("nlp,nld->pd", self.coefficients[chosen], X)
        return normal(precision, pull, rng)

    def predictive(self, X, xi):
        """Return the log density of the tokens of each bag, but for a constant, and a prediction.

        The prediction is the probability of each class, or the mean of a number.
        """
        scores = self._scores(X, xi)
        chances = softmax(scores, axis=1)
        classes = [chances[:, self.classes == k].sum(axis=1) for k in self.labels]
        return logsumexp(scores, axis=1), np.stack(classes, axis=1)

    def error(self, predictive, X, xi):
        chosen = predictive.argmax(axis=1)
        return 1 - np.mean(self.predictive(X, xi)[1][np.arange(len(X)), chosen])


@dataclasses.dataclass
class SingleLocation:
    """Single-location regression: y = <X_place, xi_2> + noise."""

    strength: float
    scale: float
    noise: float

    def _places(self, X, xi):
        """Return the log density of the tokens with each place, but for a constant."""
        theta, k = self.strength, self.scale
        squares = np.sum(X**2, axis=-1)
        return squares / 2 - np.sum((X - theta * xi[0]) ** 2, axis=-1) / (2 * k**2)

    def sweep(self, X, y, xi, rng):
        d, ratio = X.shape[-1], self.strength / self.scale**2
        logs = self._places(X, xi) - (y[:, None] - X @ xi[1]) ** 2 / (2 * self.noise**2)
        place = np.argmax(logs + rng.gumbel(size=logs.shape), axis=1)
        tokens = X[np.arange(len(X)), place]
        one = d + len(X) * self.strength * ratio
        first = normal(np.array([[one]]), ratio * tokens.sum(axis=0)[None], rng)[0]
        precision = d * np.eye(d) + tokens.T @ tokens / self.noise**2
        second = normal(precision, (tokens.T @ y / self.noise**2)[:, None], rng)[:, 0]
        return np.stack([first, second])

    def predictive(self, X, xi):
        logs = self._places(X, xi)
        return logsumexp(logs, axis=1), np.sum(softmax(logs, axis=1) * (X @ xi[1]), axis=1)

    def error(self, predictive, X, xi):
        chances, values = softmax(self._places(X, xi), axis=1), X @ xi[1]
        squares = np.sum(chances * (values - predictive[:, None]) ** 2, axis=1)
        return np.mean(squares) + self.noise**2


@dataclasses.dataclass
class NeedleWithValue:
    """A token strength xi_1 + v xi_2 + z with v ~ N(0, value^2); y is the sign of <X_l, xi_2>."""

    strength: float
    value: float

    def _places(self, X, xi):
        theta, spread = self.strength, 1 + self.value**2 * (xi[1] @ xi[1])
        along = (X - theta * xi[0]) @ xi[1]
        logs = theta * X @ xi[0] + self.value**2 * along**2 / (2 * spread)
        logs = logs - theta**2 * (xi[0] @ xi[0]) / 2 - math.log(spread) / 2
        return logs, self.value**2 * along / spread, self.value**2 / spread

    def sweep(self, X, y, xi, rng):
        d, every = X.shape[-1], np.arange(len(X))
        logs, means, variance = self._places(X, xi)
        logs = np.where(np.sign(X @ xi[1]) == y[:, None], logs, -np.inf)
        place = np.argmax(logs + rng.gumbel(size=logs.shape), axis=1)
        tokens = X[every, place]
        v = means[every, place] + math.sqrt(variance) * rng.standard_normal(len(X))
        one = np.array([[d + len(X) * self.strength**2]])
        pull = self.strength * (tokens - v[:, None] * xi[1]).sum(axis=0)
        first = normal(one, pull[None], rng)[0]
        precision = d + v @ v
        means = v @ (tokens - self.strength * first) / precision
        return np.stack([first, _in_cone(xi[1], means, precision, y[:, None] * tokens, rng)])

    def predictive(self, X, xi):
        logs = self._places(X, xi)[0]
        return logsumexp(logs, axis=1), np.sum(softmax(logs, axis=1) * (X @ xi[1] > 0), axis=1)

    def error(self, predictive, X, xi):
        positive = self.predictive(X, xi)[1]
        return np.mean(np.where(predictive > 0.5, 1 - positive, positive))


def normal(precision, pull, rng):
    """Draw N(precision^-1 pull, precision^-1) for each column of pull."""
    root = np.linalg.cholesky(precision)
    noise = np.linalg.solve(root.T, rng.standard_normal(pull.shape))
    return np.linalg.solve(precision, pull) + noise


def _in_cone(x, means, precision, normals, rng):
    """Draw each coordinate of N(means, 1 / precision), among points with normals @ x > 0."""
    x, width = x.copy(), 1 / math.sqrt(precision)
    heights, uniforms = normals @ x, rng.random(len(x))
    for j, column in enumerate(normals.T):
        ends = x[j] - heights / column
        low = max(ends[column > 0], default=-np.inf)
        high = min(ends[column < 0], default=np.inf)
        sign = 1 if low + high > 2 * means[j] else -1  # cut off the tail with the small numbers
        chances = ndtr(-sign * (np.array([low, high]) - means[j]) / width)
        drawn = chances[0] + uniforms[j] * (chances[1] - chances[0])
        new = np.clip(means[j] - sign * width * ndtri(drawn), low, high)
        heights += (new - x[j]) * column
        x[j] = new
    return x


def one_chain(law, task, alpha, d, rng, sweeps, tests=2000):
    """Return <xi_p, posterior mean> for each p, and the test error, of one data set.

    The error is the mean over new bags of what is expected of their tokens with known directions.
    """
    xi = truth = np.linalg.qr(rng.standard_normal((d, len(task.directions))))[0].T
    X, y = task.sample(round(alpha * d), xi, rng)
    X_new, _ = task.sample(tests, xi, rng)
    burn, mean, drawn = sweeps // 4, 0.0, []
    for step in range(burn + sweeps):
        xi = law.sweep(X, y, xi, rng)
        if step >= burn:
            mean = mean + xi / sweeps
            if step % 2 == 0:
                drawn.append(law.predictive(X_new, xi))
    logs, predictions = (np.array(each) for each in zip(*drawn, strict=True))
    predictive = np.einsum("mn,mn...->n...", softmax(logs, axis=0), predictions)
    return np.append(np.sum(truth * mean, axis=1), law.error(predictive, X_new, truth))


def chains(law, task, alpha, d, count, seed, sweeps=400, tests=2000):
    """Return mean and standard error of the overlaps and the test error over data sets."""
    rngs = np.random.default_rng(seed).spawn(count)
    found = np.array([one_chain(law, task, alpha, d, rng, sweeps, tests) for rng in rngs])
    return found.mean(axis=0), found.std(axis=0, ddof=1) / math.sqrt(count)


def extrapolated(law, task, alpha, d, count, seed, **more):
    """Return the limit of d -> infinity by sizes d and 2d, and its standard error.

    The change with 1/d is taken to be linear: twice the larger size, less the smaller one.
    """
    one, two = (chains(law, task, alpha, n, count, (seed, n), **more) for n in (d, 2 * d))
    return 2 * two[0] - one[0], np.hypot(2 * two[1], one[1])


def _meeting(length, strengths):
    problem = st.tasks.meeting_concepts(length, strengths=strengths)
    return Listed(*arrangements(problem)), problem


def _sparse(length, informative, strength, rate):
    kinds = [[informative], [0]]
    problem = st.model.ConceptProblem(length, [strength], kinds, [rate, 1 - rate], [1, 0])
    return Listed(*arrangements(problem)), problem


def _three_classes():
    kinds = [[0, 0], [1, 0], [0, 1], [2, 1]]
    problem = st.model.ConceptProblem(4, [3.0, 4.0], kinds, [0.3, 0.3, 0.2, 0.2], [0, 1, 2, 1])
    return Listed(*arrangements(problem)), problem


def _majority(length, strength):
    return Listed(*signs(length, strength)), st.tasks.majority(length, strength=strength)


def _location(length, **given):
    task = st.tasks.single_location_regression(length, **given)
    return SingleLocation(given["strength"], given["scale"], given["noise"]), task


def _needle(length, strength, value):
    task = st.tasks.needle_with_value(length, strength=strength, value=value)
    return NeedleWithValue(strength, value), task


SETTINGS = {
    "sparse tokens": (*_sparse(5, 2, 2.5, 0.4), 1.5),
    "meeting concepts": (*_meeting(4, (4.0, 3.0)), 2.0),
    "three classes": (*_three_classes(), 1.0),
    "majority": (*_majority(5, 1.5), 1.0),
    "majority, few bags": (*_majority(3, 1.0), 2.0),
    "place hidden": (*_location(4, strength=3.0, scale=1.0, noise=0.5), 2.0),
    "place seen": (*_location(6, strength=3.0, scale=0.5**0.5, noise=0.3), 1.0),
    "needle": (*_needle(4, 3.0, 1.5), 2.0),
}
"""Of each: the sampler, the task and alpha."""
