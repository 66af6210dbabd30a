"""The trainings: four stages, one data set for all, cross-fitting, all weights together."""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np
from jaxtyping import Float

from sparsetoken.fitting.folds import fold_numbers, split_in_two
from sparsetoken.fitting.joint import Joint, JointProblem, lowest
from sparsetoken.fitting.linear_fit import LinearFit
from sparsetoken.fitting.queries import Queries, StepSizes, evidence, find_queries, unit_queries
from sparsetoken.fitting.sharpness import GRID, Candidate, Choice, choose, gain
from sparsetoken.fitting.split import advised_share
from sparsetoken.fitting.task import Task

__all__ = ["TRAININGS", "AttentionFit", "Options", "train"]

QUERIES = {
    "auto": ("tied", "two_step"),
    "tied": ("tied",),
    "cross_fit": ("two_step",),
    "reuse": ("two_step",),
    "four_stage": ("two_step",),
    "joint": ("two_step",),
}
TRAININGS = tuple(QUERIES)
INVERSE_TEMPERATURE = ("four_stage", "reuse")  # trainings whose temperature is the paper's beta
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


@dataclasses.dataclass(frozen=True, eq=False)
class AttentionFit:
    """What training found; the weights act on standardised tokens.

    Attributes
    ----------
    q : array of shape (d,)
        With the sharpness in it.
    readout : LinearFit
    kind : str
        Of the query: tied, two_step or joint; mean where none is used.
    sharpness : float
        Standard deviation of the token scores.
    evidence : float
        Of the query, as `evidence` has it; nan if not measured.
    gain : float
        Standard errors by which the left-out loss is below that of sharpness 0; nan if not
        measured.
    failure : str
        Where the search for the weights did not converge; empty where it did.
    """

    q: Float[np.ndarray, " d"]
    readout: LinearFit
    kind: str
    sharpness: float
    evidence: float = np.nan
    gain: float = np.nan
    failure: str = ""


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
    scores = found.scores[np.repeat(~first, sizes), 0]
    return _fitted(task.take(~first), options, {"two_step": found}, {"two_step": scores})


def _cross_fit(task: Task, options: Options, rng: np.random.RandomState) -> AttentionFit:
    """Score each bag by a query that has not seen it; fit the readout to all bags.

    A query fits the noise of its own bags, so that their features are unlike those of new bags.
    Here all bags serve for query and readout, and features are as those of new bags.
    """
    folds = fold_numbers(task.samples.y, options.n_folds, rng)
    subsets = [folds != j for j in range(folds.max() + 1)]
    subsets.append(np.ones(len(folds), dtype=bool))
    kinds = QUERIES[options.training]
    queries = {kind: find_queries(task, kind, subsets, options.steps) for kind in kinds}
    fold_of_token = np.repeat(folds, task.bags.sizes)[:, None]
    unseen = {
        kind: np.take_along_axis(found.scores, fold_of_token, axis=1)[:, 0]
        for kind, found in queries.items()
    }
    return _fitted(task, options, queries, unseen)


def _fitted(
    task: Task,
    options: Options,
    queries: dict[str, Queries],
    unseen: dict[str, Float[np.ndarray, " N"]],
) -> AttentionFit:
    """Choose query and sharpness, and fit the readout of the features they make.

    Of the queries of each kind the last is the one to keep; `unseen` has the scores of the tokens
    by queries of that kind that have not seen their bags.
    """
    candidates = _candidates(unseen, options)
    if isinstance(options.temperature, str):
        choice = choose(task, candidates, GRID)
    else:
        ks = {kind: _sharpness(found, options) for kind, found in queries.items()}
        choice = _best_at(task, candidates, ks)
    kind, sign, k, fit = choice.candidate.kind, choice.candidate.sign, choice.sharpness, choice.fit
    kept = queries[kind]
    if options.training == "reuse":
        seen = Candidate(kind, kept.scores[:, -1])
        fit = task.fit(task.features.pooled(seen.sharpened(k)))
    return AttentionFit(
        q=sign * k * kept.Q[:, -1],
        readout=fit,
        kind=kind,
        sharpness=k,
        evidence=sign * evidence(unseen[kind], task.bags, task.samples),
        gain=gain(choice.fit, task.unsharpened_fit, task.samples) if k else 0.0,
    )


def _candidates(unseen: dict[str, Float[np.ndarray, " N"]], options: Options) -> list[Candidate]:
    """Return the scores to choose from.

    The token may be in either class, so that the readout of the mean token is tried as a query
    in both directions. Only ``tied`` with a temperature that is a number takes it as it is: a
    bag is then scored by the tokens that speak for the second class.
    """
    found = [Candidate(kind, scores) for kind, scores in unseen.items()]
    if options.training == "tied" and not isinstance(options.temperature, str):
        return found
    return found + [dataclasses.replace(one, sign=-1.0) for one in found if one.kind == "tied"]


def _best_at(task: Task, candidates: list[Candidate], sharpness: dict[str, float]) -> Choice:
    """Return the candidate of least left-out loss, each at its given sharpness."""
    if not task.loss.smooth:  # it has no left-out losses: then the first is taken
        candidates = candidates[:1]
    choices = []
    for one in candidates:
        k = sharpness[one.kind]
        choices.append(Choice(one, k, task.fit(task.features.pooled(one.sharpened(k)))))
    return min(choices, key=lambda choice: choice.fit.left_out_loss(task.samples))


def _sharpness(found: Queries, options: Options) -> float:
    """Return the standard deviation of the token scores that a given temperature means."""
    temperature = float(options.temperature)
    if options.training not in INVERSE_TEMPERATURE:
        return temperature
    # beta stands in the softmax, and in the gradient by which the query is found.
    return temperature**2 * float(found.length[-1])


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
    spread = task.spread(problem.projected(end.at.q[:, None])[0])
    readout = LinearFit(end.at.w, end.at.b, ridge)
    return AttentionFit(end.at.q, readout, "joint", spread, failure=end.failure)
