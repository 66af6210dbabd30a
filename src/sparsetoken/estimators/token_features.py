"""What a classifier may make of tokens before it attends to them."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Int
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from sparsetoken.bags import Bags
from sparsetoken.bags.segments import segment_mean
from sparsetoken.estimators.parameters import RandomState
from sparsetoken.estimators.token_transformer import TokenTransformer, sampled_tokens
from sparsetoken.fitting.linear_fit import choose_ridge
from sparsetoken.fitting.samples import Targets
from sparsetoken.losses import Loss
from sparsetoken.validation import InvalidInput

WIDTHS = (0.5, 1.0, 2.0, 4.0)  # gammas of kernels, in units of 1 / median squared distance
COMPARED = 20_000  # tokens on which these are compared
COMPONENTS, LEAST = 400, 50
LARGEST = 1 << 28  # values of all features: 1 GB in float32
PAIRS = 500  # tokens from which the median distance is taken


def token_transformers(
    token_features: Any,
    bags: Bags,
    targets: Targets,
    loss: Loss,
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
    return [None, *_kernel(bags, targets, loss, standardize, check_random_state(random_state))]


def _kernel(
    bags: Bags, targets: Targets, loss: Loss, standardize: bool, rng: np.random.RandomState
) -> list[TokenTransformer]:
    """Return the kernel whose mean features tell the classes best, if features have room.

    It is that of least left-out loss of the mean token, on some of the bags: bags whose tokens
    have another law have another mean feature, if the kernel is of the right width.
    """
    components = min(COMPONENTS, LARGEST // len(bags.tokens), len(bags.tokens) // 2)
    if components < LEAST:
        return []
    rows = _some(bags, targets, rng)
    few, problems = bags[rows], [one.take(rows) for one in targets.problems()]
    kernels = [one.fit(bags) for one in _kernels(bags, components, standardize, rng)]

    def left_out(kernel: TokenTransformer) -> float:
        made = kernel.transform(few)
        F = segment_mean(made.tokens, made.offsets).astype(float)
        fits = [choose_ridge(F, samples, loss, "auto") for samples in problems]
        losses = [fit.left_out_loss(one) for fit, one in zip(fits, problems, strict=True)]
        return float(np.mean(losses))

    return [min(kernels, key=left_out)] if kernels else []


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


def _kernels(
    bags: Bags, components: int, standardize: bool, rng: np.random.RandomState
) -> list[TokenTransformer]:
    """Return Gaussian kernels of several widths, of tokens as given and of scaled ones.

    Columns of one unit, such as pixels, tell most in their own scale; others need one of
    their own. Without `standardize` they are not scaled. Widths are around the median distance
    of two tokens.
    """
    some = bags.tokens[rng.permutation(sampled_tokens(bags, 2 * PAIRS, rng))].astype(float)
    deviation, half = some.std(axis=0), len(some) // 2
    scales = [np.ones(1), np.where(deviation > 0, deviation, 1.0)][: 2 if standardize else 1]
    found, seed = [], rng.randint(2**31)
    for scale in scales:
        squares = np.square((some[:half] - some[half : 2 * half]) / scale).sum(axis=1)
        steps = [StandardScaler()] if len(scale) > 1 else []
        for width in WIDTHS if np.median(squares) > 0 else ():
            gamma = width / np.median(squares)
            kernel = Nystroem(gamma=gamma, n_components=components, random_state=seed)
            found.append(TokenTransformer(make_pipeline(*steps, kernel), random_state=seed))
    return found
