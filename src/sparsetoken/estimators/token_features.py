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
from sparsetoken.fitting.linear_fit import DECADES, mean_variance, standard_errors
from sparsetoken.fitting.samples import Samples, Targets
from sparsetoken.validation import InvalidInput

WIDTHS = (0.5, 1.0, 2.0, 4.0)  # gammas times the median squared distance; each twice the last
COMPARED = 20_000  # tokens on which these are compared
MOST, ENOUGH, LEAST = 400, 200, 50  # features
QUICK = 3_200_000  # values of all features: beyond it fewer than the most, for time
LARGEST = 1 << 28  # values of all features: 1 GB in float32
PAIRS = 500  # of tokens, from which the median distance is taken
CLEAR = 2.0  # standard errors that another width must gain: it is one of several
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
    if hasattr(token_features, "fit") and hasattr(token_features, "transform"):
        return [TokenTransformer(token_features, random_state=random_state).fit(bags)]
    if not (isinstance(token_features, str) and token_features == "auto"):
        legal = "None, 'auto' or a transformer with fit and transform"
        raise InvalidInput("token_features", legal, token_features)
    return [None, *_kernel(bags, targets, standardize, check_random_state(random_state))]


class _Kernel(NamedTuple):
    """exp(-gamma |x - x'|^2), of tokens as given or of scaled ones."""

    scaled: bool
    gamma: float


def _kernel(
    bags: Bags, targets: Targets, standardize: bool, rng: np.random.RandomState
) -> list[TokenTransformer]:
    """Return the kernel whose mean features tell the classes best, if features have room."""
    components = _components(len(bags.tokens))
    if components < LEAST:
        return []
    rows = _some(bags, targets, rng)
    few, problems = bags[rows], [one.take(rows) for one in targets.problems()]
    some = bags.tokens[rng.permutation(sampled_tokens(bags, 2 * PAIRS, rng))]
    best, seed = _best(few, problems, some, components, standardize), rng.randint(2**31)
    if best is None:
        return []
    steps = [StandardScaler()] if best.scaled else []
    kernel = Nystroem(gamma=best.gamma, n_components=components, random_state=seed)
    return [TokenTransformer(make_pipeline(*steps, kernel), random_state=seed).fit(bags)]


def _components(tokens: int) -> int:
    """Return how many features there are time and memory for."""
    quick = max(ENOUGH, min(MOST, QUICK // tokens))
    return min(quick, LARGEST // tokens, tokens // 2)


def _best(
    bags: Bags,
    problems: list[Samples],
    some: Float[np.ndarray, "s d"],
    components: int,
    standardize: bool,
) -> _Kernel | None:
    """Return the kernel of least left-out error of a ridge regression on mean features.

    Bags whose tokens have another law have another mean feature, if the kernel is of the right
    width. Widths are around the median distance of two of some tokens, which is taken unless
    another surely gains. Columns of one unit, such as pixels, tell most in their own scale;
    others need one of their own. That of less error at the first width is taken; without
    `standardize` it is the one given. None if the median is 0.
    """
    centre, deviation = some.mean(axis=0, dtype=float), some.std(axis=0, dtype=float)

    def tried(scaled: bool) -> Iterator[_Tried]:
        scale = np.where(deviation > 0, deviation, 1.0) if scaled else 1.0
        others, half = (some - centre) / scale, len(some) // 2
        unit = float(np.median(np.square(others[:half] - others[half : 2 * half]).sum(axis=1)))
        if unit == 0:
            return
        tokens = ((bags.tokens - centre) / scale).astype(bags.dtype)
        landmarks = others.astype(bags.dtype)
        features = _mean_features(tokens, bags.offsets, landmarks[:components], unit)
        for width, F in zip(WIDTHS, features, strict=True):
            errors = np.mean([_left_out(F, samples) for samples in problems], axis=0)
            yield _Tried(_Kernel(scaled, width / unit), errors)

    def error(one: _Tried) -> float:
        return float(problems[0].share @ one.errors)

    series = [tried(scaled) for scaled in ((False, True) if standardize else (False,))]
    firsts = [first for one in series for first in itertools.islice(one, 1)]
    if not firsts:
        return None
    first = min(firsts, key=error)
    widths = [first, *series[first.kernel.scaled]]
    median, best = widths[WIDTHS.index(1.0)], min(widths, key=error)
    surely = standard_errors(median.errors - best.errors, problems[0]) > CLEAR
    return (best if surely else median).kernel


class _Tried(NamedTuple):
    """A kernel, and the squared left-out error of each bag with its features."""

    kernel: _Kernel
    errors: Float[np.ndarray, " n"]


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


def _left_out(F: Float[np.ndarray, "n m"], samples: Samples) -> Float[np.ndarray, " n"]:
    """Return the squared error of each bag if it is left out, for the best of several ridges."""
    ridges = len(F) * mean_variance(F, samples) * 10.0 ** np.array(DECADES)
    weight = samples.share * len(F)
    errors = RidgeCV(ridges, store_cv_results=True).fit(F, samples.y, weight).cv_results_
    return errors[:, errors.sum(axis=0).argmin()] / weight


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
