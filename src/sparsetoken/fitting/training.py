"""The trainings: four stages, one data set for all, cross-fitting, all weights together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from sparsetoken.fitting.attention_test import attention_pvalue
from sparsetoken.fitting.candidates import cross_fitted, with_opposites
from sparsetoken.fitting.folds import fold_numbers, split_in_two
from sparsetoken.fitting.joint import Joint, JointProblem, lowest
from sparsetoken.fitting.linear_fit import LinearFit, gain
from sparsetoken.fitting.queries import StepSizes, evidence, find_queries, unit_queries
from sparsetoken.fitting.sharpness import (
    GRID,
    Candidate,
    Choice,
    best,
    choose,
    tried,
)
from sparsetoken.fitting.signal_test import either_pvalue, signal_pvalue
from sparsetoken.fitting.split import advised_share
from sparsetoken.fitting.task import Task

QUERIES: dict[str, tuple[str, ...]] = {
    "likelihood": ("likelihood",),
    "tied": ("tied",),
    "cross_fit": ("two_step",),
    "reuse": ("two_step",),
    "four_stage": ("two_step",),
    "joint": ("two_step",),
}
TRAININGS = tuple(QUERIES)
INVERSE_TEMPERATURE = ("four_stage", "reuse")  # trainings whose temperature is the paper's beta
SHARP = (4.0, 8.0)  # a token that speaks against counts for nothing
VANISHING = ("relu", "tanh")  # activations that are 0 at 0: with sharpness 0 nothing is left


@dataclasses.dataclass(frozen=True)
class Options:
    """Checked parameters of an estimator; `sparsetoken.AttentionClassifier` explains them."""

    training: str
    temperature: float | Literal["auto"]
    split: float | Literal["auto"]
    query_ridge: float | Literal["auto"]
    n_restarts: int
    n_folds: int
    steps: StepSizes
    strict: bool = False
    told: Callable[[float, str], None] = lambda share, what: None


@dataclasses.dataclass(frozen=True, eq=False)
class AttentionFit:
    """What training found; the weights act on standardised tokens.

    Attributes
    ----------
    q : array of shape (d,)
        With the sharpness in it.
    readout : LinearFit
    kind : str
        Of the query: tied, two_step, likelihood or joint; mean where none is used.
    sharpness : float
        Standard deviation of the token scores.
    evidence : float
        Of the query, as `evidence` has it; nan if not measured.
    gain : float
        Standard errors by which the left-out loss is below that of sharpness 0; nan if not
        measured.
    failure : str
        Where the search for the weights did not converge; empty where it did.
    pvalue : float
        Of attention against mean pooling, as `attention_pvalue` has it; nan if not measured.
    signal : float
        p-value of labels that have nothing to do with tokens, from the test of attention and
        that of `signal_pvalue`; nan if not measured.
    likelihood : float
        c of a score c log mean exp(<q, z>) + b, for which the readout is c q; 0 for attention.
    """

    q: Float[np.ndarray, " d"]
    readout: LinearFit
    kind: str
    sharpness: float
    evidence: float = np.nan
    gain: float = np.nan
    failure: str = ""
    pvalue: float = np.nan
    signal: float = np.nan
    likelihood: float = 0.0


def train(task: Task, options: Options, rng: np.random.RandomState) -> AttentionFit:
    """Run the training that the options name.

    Raises
    ------
    InvalidInput
        If there are too few bags of a class for its folds or its split.
    """
    single = task.bags.sizes.max() == 1 and task.features.activation not in VANISHING
    if single or options.temperature == 0:
        fit = task.unsharpened_fit
        return AttentionFit(np.zeros_like(fit.w), fit, "mean", 0.0)
    trainings = {"four_stage": _four_stage, "joint": _joint}
    return trainings.get(options.training, _cross_fit)(task, options, rng)


def _four_stage(task: Task, options: Options, rng: np.random.RandomState) -> AttentionFit:
    """Take the query from D0; sharpness and readout from D1."""
    split, samples, sizes = options.split, task.samples, task.bags.sizes
    if isinstance(split, str):
        split = advised_share(task.features.means, sizes, samples, task.loss, options.steps)
    first = split_in_two(samples.y, split, rng)
    found = find_queries(task, "two_step", [first], options.steps)
    unseen = found.scores[np.repeat(~first, sizes), 0]
    candidates = [Candidate("two_step", unseen, found.Q[:, 0], float(found.length[0]))]
    # Bags are often sorted by class: dealt out in turn, each fold has both.
    folds = np.arange(np.count_nonzero(~first)) % options.n_folds
    return _fitted(task.take(~first), options, candidates, folds)


def _cross_fit(task: Task, options: Options, rng: np.random.RandomState) -> AttentionFit:
    """Score each bag by a query that has not seen it; fit the readout to all bags.

    A query fits the noise of its own bags, so that their features are unlike those of new bags.
    Here all bags serve for query and readout, and features are as those of new bags.
    """
    folds = fold_numbers(task.samples.y, options.n_folds, rng)
    candidates = cross_fitted(task, QUERIES[options.training], options.steps, folds)
    options.told(0.6, "queries found")
    return _fitted(task, options, candidates, folds)


def attend(task: Task, options: Options, folds: Int[np.ndarray, " n"]) -> AttentionFit:
    """Return the attention of least left-out loss, whether or not it gains over mean pooling.

    It is mean pooling where no query speaks for the class that it looks for, and for bags of one
    token.
    """
    found = None
    if task.bags.sizes.max() > 1:
        candidates = cross_fitted(task, QUERIES[options.training], options.steps, folds)
        found = best(_choices(task, options, candidates), task.samples)
    if found is None:
        return AttentionFit(np.zeros(task.bags.dimension), task.calibrated_fit, "mean", 0.0)
    return _with_readout(task, options, found)


def _fitted(
    task: Task, options: Options, candidates: list[Candidate], folds: Int[np.ndarray, " n"]
) -> AttentionFit:
    """Choose query and sharpness, and fit the readout of the features they make."""
    samples, automatic = task.samples, options.temperature == "auto"
    # ``tied`` with a temperature that is a number scores a bag by the tokens that speak for the
    # second class; all else looks for the token in both classes.
    if options.strict:
        candidates = [one for one in candidates if one.kind == "likelihood" and one.sign > 0]
    elif automatic or options.training != "tied":
        candidates = with_opposites(candidates, "tied")
    choices = _choices(task, options, candidates)
    options.told(0.9, "sharpnesses compared")
    # Shrunk scores have less loss without signal: attention is not to gain by that alone.
    pvalue = attention_pvalue(choices, task.calibrated_fit, samples, folds)
    signal = either_pvalue(pvalue, signal_pvalue([task]))
    if options.strict:
        found, otherwise = best(choices, samples), task.calibrated(_constant(task))
    else:
        found = choose(task, choices, signal) if automatic else _given(task, choices)
        otherwise = task.calibrated_fit
    if found is None:
        one = candidates[0]
        return AttentionFit(
            np.zeros(task.bags.dimension),
            otherwise,
            one.kind,
            sharpness=0.0,
            evidence=one.sign * evidence(one.scores, task.bags, samples),
            gain=0.0,
            pvalue=pvalue,
            signal=signal,
        )
    return dataclasses.replace(_with_readout(task, options, found), pvalue=pvalue, signal=signal)


def _with_readout(task: Task, options: Options, found: Choice) -> AttentionFit:
    """Return a choice as weights that act on tokens, its probabilities calibrated."""
    one, k, fit, samples = found.candidate, found.sharpness, found.fit, task.samples
    q = one.sign * k * one.query
    likelihood = one.kind == "likelihood"
    if options.training == "reuse":
        seen = unit_queries(task, one.query[:, None]).scores[:, 0]
        readout = task.fit(task.features.pooled(seen * seen.dtype.type(k)))
    else:
        readout = task.calibrated(fit)
    slope = float(readout.w[0]) if likelihood else 0.0
    return AttentionFit(
        q=q,
        readout=dataclasses.replace(readout, w=slope * q) if likelihood else readout,
        kind=one.kind,
        sharpness=k,
        evidence=one.sign * evidence(one.scores, task.bags, samples),
        gain=gain(fit, task.unsharpened_fit, samples) if k else 0.0,
        likelihood=slope,
    )


def _constant(task: Task) -> LinearFit:
    """Return the readout that knows of no token: the log odds of the classes."""
    samples, odds = task.samples, task.samples.log_odds
    scores = np.full(len(samples.y), odds)
    losses = np.asarray(task.loss.value(samples.y, scores))
    return LinearFit(np.zeros(task.bags.dimension), odds, 0.0, losses, scores)


def _choices(task: Task, options: Options, candidates: list[Candidate]) -> list[Choice]:
    """Return each candidate at each sharpness of the grid, or at the given temperature."""
    if isinstance(options.temperature, str):
        pooled = task.unsharpened_fit
        around = pooled.ridge if pooled.w.any() else None  # a readout of zeros has no best ridge
        return tried(task, candidates, SHARP if options.strict else GRID, around)
    if not task.loss.smooth:  # it has no left-out losses: then the first is taken
        candidates = candidates[:1]
    return [
        choice for one in candidates for choice in tried(task, [one], [_sharpness(one, options)])
    ]


def _given(task: Task, choices: list[Choice]) -> Choice:
    """Return the choice of least left-out loss at a given temperature."""
    return min(choices, key=lambda choice: choice.loss(task.samples))


def _sharpness(one: Candidate, options: Options) -> float:
    """Return the standard deviation of the token scores that a given temperature means."""
    temperature = float(options.temperature)
    if options.training not in INVERSE_TEMPERATURE:
        return temperature
    # beta stands in the softmax, and in the gradient by which the query is found.
    return temperature**2 * one.length


def _joint(task: Task, options: Options, rng: np.random.RandomState) -> AttentionFit:
    """Train all weights from the two-step solution and from random queries; keep the best."""
    first = _cross_fit(task, options, rng)
    known, ridge = first.readout, first.readout.ridge
    query_ridge = ridge if isinstance(options.query_ridge, str) else options.query_ridge
    scaling = task.features.standardization
    problem = JointProblem(task.bags, scaling, task.samples, task.loss, ridge, query_ridge)
    q = first.q
    if first.sharpness == 0:  # a query of 0 with the readout of the mean is almost a saddle
        everything = [np.ones(len(task.samples.y), dtype=bool)]
        q = find_queries(task, "two_step", everything, options.steps).Q[:, 0]
    directions = rng.standard_normal((len(q), options.n_restarts))
    starts = [q, *unit_queries(task, directions).Q.T]
    end = lowest(problem, [Joint(start, known.w, known.b) for start in starts])
    spread = task.spread(problem.projection.projected(end.at.q[:, None])[0])
    readout = LinearFit(end.at.w, end.at.b, ridge)
    return AttentionFit(end.at.q, readout, "joint", spread, failure=end.failure)
