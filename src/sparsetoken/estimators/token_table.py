"""What a fitted model says of single tokens, as the columns of a table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsetoken.bags.labels import id_texts
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators.inputs import QueryWarning

Columns = dict[str, np.ndarray]
AXES = "xyzw"
"""Names of the columns of coordinates."""


def token_table(model: Any, X: Any, ids: Any = None) -> Columns:
    """Return what a fitted model says of each token of bags, seen or new, as named columns.

    Parameters
    ----------
    model : fitted BagClassifier, BagRegressor or AttentionClassifier
    X : any form of bags
        Of N tokens in all; `Bags` may have coordinates.
    ids : array of shape (n,), optional
        The default is 0 to n - 1.

    Returns
    -------
    dict from str to array of shape (N,)
        Of each token ``bag``, the id; ``place`` in its bag, from 0; ``x``, ``y``, ``z`` and ``w``,
        as many as the bags have coordinates; ``attention``, its weight in its bag, >= 0 and with
        sum 1; and of a `BagClassifier` ``probability_C``, in [0, 1], that it makes its bag one of
        class C. Of two classes C is the second, or the first where single tokens make a bag one of
        that; of more there are ``probability_C`` and ``attention_C`` for each.
        ``pandas.DataFrame`` makes a table of it.

    Warns
    -----
    QueryWarning
        If bags that are left out are told apart no better than by chance.

    Raises
    ------
    InvalidInput
        If the model has no attention, or there is not one id for each bag.

    See Also
    --------
    sparsetoken.BagClassifier : Its `predict_token_proba`, and what that assumes.
    sparsetoken.figures.AttentionDisplay : Weights on coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken import BagClassifier
    >>> from sparsetoken.estimators import token_table
    >>> labels, rng = np.arange(100) % 2, np.random.default_rng(0)
    >>> bags = rng.standard_normal((100, 4, 3))
    >>> bags[labels == 1, 2] += 3  # the third of four tokens
    >>> columns = token_table(BagClassifier().fit(bags, labels), bags[1:2], ["new"])
    >>> list(columns), columns["place"][columns["probability_1"].argmax()].item()
    (['bag', 'place', 'attention', 'probability_1'], 2)
    """
    if not hasattr(model, "attention_weights"):
        legal = "fitted with attention: a BagClassifier, BagRegressor or AttentionClassifier"
        raise InvalidInput("MODEL", legal, type(model).__name__)
    bags = model._read(X)
    own = np.arange(len(bags)) if ids is None else id_texts(ids)
    if own.shape != (len(bags),):
        raise InvalidInput("ids", f"one for each of {len(bags)} bags", f"shape {own.shape}")
    starts = np.repeat(bags.offsets[:-1], bags.sizes)
    columns = {
        "bag": np.repeat(own, bags.sizes),
        "place": np.arange(len(bags.tokens)) - starts,
    }
    if bags.coordinates is not None:
        columns |= dict(zip(AXES, bags.coordinates.T, strict=False))
    weights = model.attention_weights(bags)
    several = list(model._names()) if weights[0].ndim > 1 else []
    columns |= _of_classes("attention", weights, several)
    if hasattr(model, "predict_token_proba"):
        chances = model.predict_token_proba(bags)
        columns |= _of_classes("probability", chances, classes_of_tokens(model))
    if told := model._at_chance():
        warnings.warn(told, QueryWarning, stacklevel=2)
    return columns


def _of_classes(name: str, values: list[np.ndarray], classes: Sequence[Any]) -> Columns:
    """Return the values of all tokens, in a column for each class."""
    whole = np.concatenate(values)
    if whole.ndim == 1:
        return {f"{name}_{classes[0]}" if classes else name: whole}
    return {f"{name}_{one}": column for one, column in zip(classes, whole.T, strict=True)}


def classes_of_tokens(model: Any) -> list[Any]:
    """Return the classes of which a model states probabilities of tokens.

    Of two it is the second one, or the first where single tokens make a bag one of that.
    """
    classes: list[Any] = model.classes_.tolist()
    return classes if len(classes) > 2 else [classes[1 if model.side_[0] > 0 else 0]]
