"""The trainings: four stages, one data set for all, cross-fitting, all weights together."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from sparsetoken.estimators.folds import fold_numbers, split_in_two
from sparsetoken.estimators.joint import Joint, JointProblem, lowest
from sparsetoken.estimators.sharpness import GRID, Candidate, Chosen, choose, gain
from sparsetoken.estimators.split import advised_share
from sparsetoken.estimators.task import Options, Queries, Task, Trained, evidence

__all__ = ["TRAININGS", "train"]

QUERIES = {
    "auto": ("tied", "two_step"),
    "tied": ("tied",),
    "cross_fit": ("two_step",),
    "reuse": ("two_step",),
    "four_stage": ("two_step",),
    "joint": ("two_step",),
}
TRAININGS = tuple(QUERIES)
PAPER = ("four_stage", "reuse")  # trainings whose temperature is the beta of the paper
VANISHING = ("relu", "tanh")  # activations that are 0 at 0: sharpness 0 makes nothing of a token


def train(task: Task) -> Trained:
    """Run the training that the options name."""
    training, temperature = task.options.training, task.options.temperature
    lone = task.bags.sizes.max() == 1 and task.featurize.activation not in VANISHING
    if lone or temperature == 0:
        w, b, ridge = task.pooled[:3]
        return Trained(np.zeros_like(w), w, b, ridge, "mean", 0.0, np.nan, np.nan)
    if training == "four_stage":
        return _four_stage(task)
    return _joint(task) if training == "joint" else _cross_fit(task)


def _four_stage(task: Task) -> Trained:
    """Take the query from D0; sharpness and readout from D1."""
    split, samples = task.options.split, task.samples
    if isinstance(split, str):
        known = (task.means, task.bags.sizes, samples, task.loss, task.options.steps)
        split = advised_share(*known)
    first = split_in_two(samples.y, split, task.rng)
    found = task.queries("two_step", [first])
    later = task.take(~first)
    scores = found.scores[np.repeat(~first, task.bags.sizes), 0]
    return _fitted(later, {"two_step": found}, {"two_step": scores})


def _cross_fit(task: Task) -> Trained:
    """Score each bag by a query that has not seen it; fit the readout to all bags.

    Features of bags that the query has seen are unlike those of new bags: the query fits the
    noise of its own bags. Here all bags serve for both, and features are as those of new bags.
    """
    folds = fold_numbers(task.samples.y, task.options.n_folds, task.rng)
    subsets = [folds != j for j in range(folds.max() + 1)]
    subsets.append(np.ones(len(folds), dtype=bool))
    queries = {kind: task.queries(kind, subsets) for kind in QUERIES[task.options.training]}
    fold_of_token = np.repeat(folds, task.bags.sizes)
    honest = {
        kind: np.take_along_axis(found.scores, fold_of_token[:, None], axis=1)[:, 0]
        for kind, found in queries.items()
    }
    return _fitted(task, queries, honest)


def _fitted(
    task: Task, queries: dict[str, Queries], honest: dict[str, Float[np.ndarray, " N"]]
) -> Trained:
    """Choose query and sharpness, and fit the readout of the features they make.

    Parameters
    ----------
    task : Task
    queries : dict from kind to Queries
        The last of each is the one to keep.
    honest : dict from kind to array of shape (N,)
        Scores of the tokens by queries that have not seen their bags.
    """
    options, samples = task.options, task.samples
    candidates = _candidates(honest, options)
    if isinstance(options.temperature, str):
        data = (samples, task.loss, options.ridge, task.pooled)
        chosen = choose(task.featurize, candidates, GRID, *data)
    else:
        ks = {name: _sharpness(found, options) for name, found in queries.items()}
        chosen = _at(task, candidates, ks)
    kind, sign, k, (w, b, ridge, _) = chosen
    worth = gain(chosen.readout, task.pooled, samples) if k else 0.0
    kept = queries[kind]
    if options.training == "reuse":
        seen = Candidate(kind, kept.scores[:, -1]).sharpened(k)
        w, b, ridge, _ = task.readout(task.featurize(seen))
    found = sign * evidence(honest[kind], task.bags, samples)
    return Trained(sign * k * kept.Q[:, -1], w, b, ridge, kind, k, found, worth)


def _candidates(honest: dict[str, Float[np.ndarray, " N"]], options: Options) -> list[Candidate]:
    """Return the scores to choose from.

    The readout of the mean token serves both ways, as the token may be in either class. Where
    nothing is to be chosen it is taken as it is: a bag is scored by presence of the second class.
    """
    found = [Candidate(kind, scores) for kind, scores in honest.items()]
    if options.training == "tied" and not isinstance(options.temperature, str):
        return found
    return found + [one._replace(sign=-1.0) for one in found if one.name == "tied"]


def _at(task: Task, candidates: list[Candidate], sharpness: dict[str, float]) -> Chosen:
    """Return the candidate of least left-out loss, each at its given sharpness."""
    if not task.loss.smooth:  # it has no left-out losses: then the first is taken
        candidates = candidates[:1]
    fits = []
    for one in candidates:
        k = sharpness[one.name]
        readout = task.readout(task.featurize(one.sharpened(k)))
        fits.append(Chosen(one.name, one.sign, k, readout))
    if len(fits) == 1:
        return fits[0]
    return min(fits, key=lambda fit: float(task.samples.share @ fit.readout.losses))


def _sharpness(found: Queries, options: Options) -> float:
    """Return the standard deviation of the token scores that a given temperature means."""
    temperature = float(options.temperature)
    if options.training not in PAPER:
        return temperature
    # beta stands in the softmax and in the step on the query.
    return temperature**2 * float(found.length[-1])


def _joint(task: Task) -> Trained:
    """Train all weights from the two-step solution and from random queries; keep the best."""
    first, options = _cross_fit(task), task.options
    query_ridge = first.ridge if isinstance(options.query_ridge, str) else options.query_ridge
    place = task.coordinates
    problem = JointProblem(task.bags, place, task.samples, task.loss, first.ridge, query_ridge)
    starts = [Joint(first.q, first.w, first.b)]
    if first.sharpness == 0:  # uniform weights and a readout of the mean: a saddle, almost
        q = task.queries("two_step", [np.ones(len(task.samples.y), dtype=bool)]).Q[:, 0]
        starts = [Joint(q, first.w, first.b)]
    directions = task.rng.standard_normal((task.means.shape[1], options.n_restarts))
    for q in task.unit(directions).Q.T:
        starts.append(Joint(q, first.w, first.b))
    q, w, b = lowest(problem, starts).at
    spread = task.spread(problem.projected(q[:, None])[0])
    return Trained(q, w, b, first.ridge, "joint", spread, np.nan, np.nan)
