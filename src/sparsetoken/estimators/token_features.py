"""What a classifier may make of tokens before it attends to them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from sparsetoken.bags import Bags
from sparsetoken.estimators.parameters import RandomState
from sparsetoken.estimators.token_transformer import TokenTransformer, sampled_tokens
from sparsetoken.validation import InvalidInput

__all__ = ["token_transformers"]

WIDTH = 2.5  # gamma of the kernel, in units of 1 / median squared distance of tokens
COMPONENTS, LEAST = 400, 50
LARGEST = 1 << 28  # values of all features: 1 GB in float32
PAIRS = 500  # tokens from which the median distance is taken


def token_transformers(
    token_features: Any, bags: Bags, standardize: bool, random_state: RandomState
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
    return [None, *_kernels(bags, standardize, random_state)]


def _kernels(bags: Bags, standardize: bool, random_state: RandomState) -> list[TokenTransformer]:
    """Return Gaussian kernels of tokens as given and of scaled ones, if features have room.

    Columns of one unit, such as pixels, tell most in their own scale; others need one of
    their own. Without `standardize` there is no second.
    """
    components = min(COMPONENTS, LARGEST // len(bags.tokens), len(bags.tokens) // 2)
    if components < LEAST:
        return []
    rng = check_random_state(random_state)
    some = bags.tokens[rng.permutation(sampled_tokens(bags, 2 * PAIRS, rng))].astype(float)
    deviation = some.std(axis=0)
    scales = [np.ones(1), np.where(deviation > 0, deviation, 1.0)][: 2 if standardize else 1]
    found = []
    for scale in scales:
        half = len(some) // 2
        squares = np.square((some[:half] - some[half : 2 * half]) / scale).sum(axis=1)
        if not np.median(squares) > 0:
            continue
        gamma, seed = WIDTH / np.median(squares), rng.randint(2**31)
        kernel = Nystroem(gamma=gamma, n_components=components, random_state=seed)
        steps = [StandardScaler()] if len(scale) > 1 else []
        found.append(TokenTransformer(make_pipeline(*steps, kernel), random_state=random_state))
    return [one.fit(bags) for one in found]
