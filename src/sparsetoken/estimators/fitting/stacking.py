"""Stacking, or the super learner: folds, and convex weights of several scores by left-out loss."""

from __future__ import annotations

import warnings

import numpy as np
from jaxtyping import Float, Int, Shaped
from scipy.optimize import minimize, minimize_scalar

from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators.fitting.targets import Samples, counts_of_classes
from sparsetoken.losses import Loss

FOLDS = 10


def shrunk_weights(
    scores: Float[np.ndarray, "n M"], samples: Samples, loss: Loss
) -> Float[np.ndarray, " M"]:
    """Return convex weights of left-out scores, of which the first member is a constant.

    The least loss picks members by noise too. So each sample is also scored with weights of the
    samples in other folds, which hold whole groups; the share of all members but the constant is
    multiplied by the factor in [0, 1] that gives these scores the least loss. On noise it is near
    0.

    Parameters
    ----------
    scores : array of shape (n, M)
        Of each sample by each member, which was fitted without this sample; the first column is
        the same for all.
    samples, loss
        As for `convex_weights`.
    """
    groups = np.arange(len(scores)) if samples.groups is None else samples.groups
    n = int(groups.max()) + 1
    # Whatever order the labels have.
    folds = (np.random.RandomState(0).permutation(n) % FOLDS)[groups]
    weights = convex_weights(scores, samples, loss)
    crossed = np.empty(len(scores))
    for fold in range(min(FOLDS, n)):
        inside = folds == fold
        others = weights if n == 1 else convex_weights(scores[~inside], samples.take(~inside), loss)
        # A member without weight may have scores that are not finite.
        crossed[inside] = scores[inside][:, others > 0] @ others[others > 0]
    constant = scores[:, 0]

    def mean_loss(factor: float) -> float:
        moved = constant + factor * (crossed - constant)
        return float(samples.share @ np.asarray(loss.value(samples.y, moved)))

    factor = float(minimize_scalar(mean_loss, bounds=(0, 1), method="bounded").x)
    factor = min((0.0, factor, 1.0), key=mean_loss)  # the search ends inside its bounds
    weights = factor * weights
    weights[0] += 1 - weights.sum()
    return weights


def convex_weights(
    scores: Float[np.ndarray, "n M"], samples: Samples, loss: Loss
) -> Float[np.ndarray, " M"]:
    """Return the weights >= 0 of sum 1 that give weighted scores the least mean loss.

    Equation: stacking. The problem is convex: of least loss among all averages, these weights
    are no worse than those of any one member.

    Parameters
    ----------
    scores : array of shape (n, M)
        Of each sample by each member, which was fitted without this sample.
    samples : Samples
    loss : Loss
        Smooth and convex.

    Returns
    -------
    array of shape (M,)
        Weights below 1e-6 are 0. Of members whose scores are not all finite the weight is 0.

    Raises
    ------
    InvalidInput
        If no member has finite scores.

    References
    ----------
    D. H. Wolpert (1992), Stacked generalization; L. Breiman (1996), Stacked regressions;
    M. J. van der Laan, E. C. Polley and A. E. Hubbard (2007), Super learner.
    """
    usable = np.flatnonzero(np.isfinite(scores).all(axis=0))
    if not len(usable):
        raise InvalidInput("members", "one with finite left-out scores", "none")
    Z, y, share, M = scores[:, usable], samples.y, samples.share, len(usable)

    def objective(w: Float[np.ndarray, " m"]) -> tuple[float, Float[np.ndarray, " m"]]:
        z = Z @ w
        value = float(share @ np.asarray(loss.value(y, z)))
        return value, Z.T @ (share * np.asarray(loss.slope(y, z)))

    vertices = np.eye(M)
    best = min(vertices, key=lambda w: objective(w)[0])
    sum_to_one = {"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(M)}
    solution = minimize(
        objective,
        best,
        jac=True,
        bounds=[(0, 1)] * M,
        constraints=sum_to_one,
        method="SLSQP",
        options={"ftol": 1e-10, "maxiter": 500},
    ).x
    solution = np.clip(solution, 0, None) / np.clip(solution, 0, None).sum()
    if not objective(solution)[0] < objective(best)[0]:  # scores of very different size
        solution = best
    weights = np.zeros(scores.shape[1])
    weights[usable] = np.where(solution > 1e-6, solution, 0.0)
    return weights / weights.sum()


def fold_numbers(
    y: Shaped[np.ndarray, " n"],
    n_folds: int,
    rng: np.random.RandomState,
    groups: Int[np.ndarray, " n"] | None = None,
) -> Int[np.ndarray, " n"]:
    """Return the fold of each bag; every fold has its share of each class, and whole groups.

    With fewer than `n_folds` bags or groups of a class there are as many folds as that class has,
    and with groups fewer, at least half as many, where these divide the groups of each class. A
    class of one bag or one group does not count: the bags of its fold are scored without it.

    Raises
    ------
    InvalidInput
        If there is one bag or one group only.
    """
    classes, index = np.unique(y, return_inverse=True)
    counts = counts_of_classes(index, groups)
    if len(y) < 2 or (groups is not None and groups.min() == groups.max()):
        what = "bag" if groups is None else "group"
        legal = f"of at least 2 {what}s, to cross-fit the query"
        raise InvalidInput("y", legal, f"1 {what}", "Mean pooling needs only one.")
    counts = counts[counts > 1]
    if not len(counts):
        return np.unique(y if groups is None else groups, return_inverse=True)[1] % 2
    n_folds, start = min(n_folds, int(counts.min())), 0
    if groups is not None:
        # In folds of other class rates a class rate would predict the wrong class.
        least = max((n_folds + 1) // 2, 2)
        even = (k for k in range(n_folds, least - 1, -1) if not (counts % k).any())
        return _of_groups(index, next(even, n_folds), rng, groups)
    folds = np.empty(len(y), dtype=int)
    for c in range(len(classes)):
        rows = rng.permutation(np.flatnonzero(index == c))
        # Each class goes on where the last one stopped, so that folds have equal sizes.
        folds[rows] = (start + np.arange(len(rows))) % n_folds
        start += len(rows)
    return folds


def _of_groups(
    number: Int[np.ndarray, " n"],
    n_folds: int,
    rng: np.random.RandomState,
    groups: Int[np.ndarray, " n"],
) -> Int[np.ndarray, " n"]:
    """Return folds of whole groups, so few that every class is outside of each of them.

    A class of one group cannot be.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    several = np.flatnonzero(counts_of_classes(number, groups) > 1)
    for k in range(n_folds, 1, -1):
        splits = StratifiedGroupKFold(k, shuffle=True, random_state=rng)
        folds, whole = np.empty(len(number), dtype=int), True
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class")
            for fold, (others, inside) in enumerate(splits.split(number, number, groups)):
                folds[inside] = fold
                whole &= len(others) > 0 and bool(np.isin(several, number[others]).all())
        if whole:
            return folds
    legal = "in which two folds of whole groups have bags of every class"
    raise InvalidInput("groups", legal, "none", "Take more groups, or leave a class out.")
