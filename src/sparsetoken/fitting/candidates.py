"""What a fit chooses from: scores of tokens by queries that have not seen their bags."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Int

from sparsetoken.fitting.likelihood import likelihood_queries
from sparsetoken.fitting.queries import Queries, StepSizes, find_queries
from sparsetoken.fitting.sharpness import GRID, Candidate, best, tried
from sparsetoken.fitting.task import Task


def cross_fitted(
    task: Task, kinds: tuple[str, ...], steps: StepSizes, folds: Int[np.ndarray, " n"]
) -> list[Candidate]:
    """Return a candidate for each kind of query; each bag is scored by that of other folds.

    ``likelihood`` gives several: the readout of the mean token, which it starts from, in both
    directions, and what its descent makes of the better one at each ridge.
    """
    subsets = [folds != j for j in range(folds.max() + 1)]
    subsets.append(np.ones(len(folds), dtype=bool))
    fold_of_token = np.repeat(folds, task.bags.sizes)[:, None]

    def candidate(kind: str, found: Queries, sign: float = 1.0) -> Candidate:
        scores = np.take_along_axis(found.scores, fold_of_token, axis=1)[:, 0]
        last = sign * found.Q[:, -1], float(found.length[-1])
        return Candidate(kind, scores * scores.dtype.type(sign), *last, sign)

    known = ("tied", "two_step")
    needed = {"tied" if kind == "likelihood" else kind for kind in kinds}
    queries = {kind: find_queries(task, kind, subsets, steps) for kind in known if kind in needed}
    found = [candidate(kind, queries[kind]) for kind in known if kind in kinds]
    if "likelihood" in kinds:
        start = with_opposites([candidate("likelihood", queries["tied"])], "likelihood")
        first = best(tried(task, start, GRID), task.samples)
        sign, k = (first.candidate.sign, first.sharpness) if first else (1.0, 1.0)
        refined = likelihood_queries(task, subsets, sign * k * queries["tied"].Q, sign)
        found += [*start, *(candidate("likelihood", one, sign) for one in refined)]
    return found


def with_opposites(candidates: list[Candidate], kind: str) -> list[Candidate]:
    """Return candidates, and the opposites of those of a kind.

    The token may be in either class; the readout of the mean token may point away from it.
    """
    found = [dataclasses.replace(one, sign=-one.sign) for one in candidates if one.kind == kind]
    return [*candidates, *found]
