"""What a classifier may make of tokens before it attends to them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeCV
from sklearn.metrics import euclidean_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from sparsetoken.bags import Bags
from sparsetoken.bags.segments import segment_mean
from sparsetoken.estimators.parameters import RandomState
from sparsetoken.estimators.token_transformer import TokenTransformer, sampled_tokens
from sparsetoken.fitting.linear_fit import DECADES, mean_variance
from sparsetoken.fitting.samples import Samples, Targets
from sparsetoken.validation import InvalidInput

WIDTHS = (1.0, 2.0, 4.0)  # gammas times the median squared distance; each twice the last
COMPARED = 20_000  # tokens on which these are compared
COMPONENTS, LEAST = 200, 50
LARGEST = 1 << 28  # values of all features: 1 GB in float32
PAIRS = 500  # of tokens, from which the median distance is taken
FAINT = 1e-6  # share of the largest eigenvalue of a kernel up to which one is rounding


def token_transformers(
    token_features: Any,
    bags: Bags,
    targets: Targets,
    standardize: bool,
    random_state: RandomState,
) -> list[TokenTransformer | None]:
    """Return what to try, fitted to the bags; None is the tokens as they are.

    Raises
    ------
    InvalidInput
        If `token_features` is not None, 'auto' or a transformer.
    """
    if token_features is None:
        return [None]
    if not isinstance(token_features, str):
        return [TokenTransformer(token_features, random_state=random_state).fit(bags)]
    if token_features != "auto":
        legal = "None, 'auto' or a transformer with fit and transform"
        raise InvalidInput("token_features", legal, token_features)
    return [None, *_kernel(bags, targets, standardize, check_random_state(random_state))]


def _kernel(
    bags: Bags, targets: Targets, standardize: bool, rng: np.random.RandomState
) -> list[TokenTransformer]:
    """Return the kernel whose mean features tell the classes best, if features have room."""
    components = min(COMPONENTS, LARGEST // len(bags.tokens), len(bags.tokens) // 2)
    if components < LEAST:
        return []
    losses = _compared(bags, targets, components, standardize, rng)
    if not losses:
        return []
    best, seed = min(losses, key=losses.__getitem__), rng.randint(2**31)
    steps = [StandardScaler()] if best.scaled else []
    kernel = Nystroem(gamma=best.gamma, n_components=components, random_state=seed)
    return [TokenTransformer(make_pipeline(*steps, kernel), random_state=seed).fit(bags)]


class _Kernel(NamedTuple):
    """exp(-gamma |x - x'|^2), of tokens as given or of scaled ones."""

    scaled: bool
    gamma: float


def _compared(
    bags: Bags, targets: Targets, components: int, standardize: bool, rng: np.random.RandomState
) -> dict[_Kernel, float]:
    """Return how well a ridge regression on mean features tells the classes, for several kernels.

    It is the mean squared error of left-out bags, of some of the bags: bags whose tokens
    have another law have another mean feature, if the kernel is of the right width.

    Columns of one unit, such as pixels, tell most in their own scale; others need one of
    their own. Without `standardize` they are not scaled. All widths are compared in the scale
    that is better at the first.
    """
    rows = _some(bags, targets, rng)
    few, problems = bags[rows], [one.take(rows) for one in targets.problems()]
    some = bags.tokens[rng.permutation(sampled_tokens(bags, 2 * PAIRS, rng))]
    deviation = some.std(axis=0, dtype=float)
    scales = [np.ones(1), np.where(deviation > 0, deviation, 1.0)][: 2 if standardize else 1]

    def losses(scale: Float[np.ndarray, " s"]) -> Iterator[tuple[_Kernel, float]]:
        others, half = some / scale, len(some) // 2
        unit = float(np.median(np.square(others[:half] - others[half : 2 * half]).sum(axis=1)))
        if unit == 0:
            return
        tokens, landmarks = (one.astype(bags.dtype) for one in (few.tokens / scale, others))
        features = _mean_features(tokens, few.offsets, landmarks[:components], unit)
        for width, F in zip(WIDTHS, features, strict=True):
            loss = np.mean([_left_out(F, samples) for samples in problems])
            yield _Kernel(len(scale) > 1, width / unit), float(loss)

    series = [losses(scale) for scale in scales]
    firsts = [(first, rest) for rest in series for first in itertools.islice(rest, 1)]
    if not firsts:
        return {}
    first, rest = min(firsts, key=lambda one: one[0][1])
    return dict([first, *rest])


def _mean_features(
    tokens: Float[np.ndarray, "N d"],
    offsets: Int[np.ndarray, " k"],
    landmarks: Float[np.ndarray, "m d"],
    unit: float,
) -> Iterator[Float[np.ndarray, "n m"]]:
    """Return the mean Nystroem features of the bags, for each width.

    Distances are shared, and the mean is taken before the features are made orthonormal.
    """
    far = euclidean_distances(tokens, landmarks, squared=True)
    near, own = (
        np.exp(-WIDTHS[0] / unit * one)
        for one in (far, euclidean_distances(landmarks, squared=True))
    )
    for _ in WIDTHS:
        rising, V = np.linalg.eigh(own.astype(float))
        kept = rising > FAINT * rising[-1]
        yield segment_mean(near, offsets) @ (V[:, kept] / np.sqrt(rising[kept]))
        near, own = np.square(near, out=near), np.square(own)  # gamma doubles


def _left_out(F: Float[np.ndarray, "n m"], samples: Samples) -> float:
    """Return the mean squared error of left-out bags, for the best of several ridges."""
    ridges = len(F) * mean_variance(F, samples) * 10.0 ** np.array(DECADES)
    return -float(RidgeCV(ridges).fit(F, samples.y, samples.share * len(F)).best_score_)


def _some(bags: Bags, targets: Targets, rng: np.random.RandomState) -> Int[np.ndarray, " m"]:
    """Return bags with about so many tokens in all as are compared, as many of each class."""
    order = rng.permutation(len(bags))
    place = np.empty(len(bags), dtype=int)
    for c in range(len(targets.classes)):
        of_class = order[targets.number[order] == c]
        place[of_class] = np.arange(len(of_class))
    order = order[np.argsort(place[order], kind="stable")]
    count = int(np.searchsorted(np.cumsum(bags.sizes[order]), COMPARED))
    return np.sort(order[: max(count, 2 * len(targets.classes))])
