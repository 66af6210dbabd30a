"""What a fitted model says of single tokens, as the columns of a table."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from sparsetoken.bags.keys import read_keys
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators.inputs import QueryWarning

AXES = "xyzw"
"""Names of the columns of coordinates."""


def token_table(model: Any, X: Any, ids: Any = None) -> dict[str, np.ndarray]:
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
        sum 1; and of a `BagClassifier` ``probability``, in [0, 1], that it makes its bag one of the
        class that `token_class` names. For more than two classes there are ``attention_C`` and
        ``probability_C`` for each class C. ``pandas.DataFrame`` makes a table of it.

    Raises
    ------
    InvalidInput
        If the model has no attention, or there is not one id for each bag.

    See Also
    --------
    BagClassifier.predict_token_proba : The probabilities, and what they assume.
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
    >>> list(columns), columns["place"][columns["probability"].argmax()].item()
    (['bag', 'place', 'attention', 'probability'], 2)
    """
    if not hasattr(model, "attention_weights"):
        legal = "fitted with attention: a BagClassifier, BagRegressor or AttentionClassifier"
        raise InvalidInput("MODEL", legal, type(model).__name__)
    bags = model._read(X)
    own = np.arange(len(bags)) if ids is None else read_keys(ids, "ids")
    if own.shape != (len(bags),):
        raise InvalidInput("ids", f"one for each of {len(bags)} bags", f"shape {own.shape}")
    starts = np.repeat(bags.offsets[:-1], bags.sizes)
    columns = {
        "bag": np.repeat(own, bags.sizes),
        "place": np.arange(len(bags.tokens)) - starts,
    }
    if bags.coordinates is not None:
        columns |= dict(zip(AXES, bags.coordinates.T, strict=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryWarning)
        columns |= _of_classes("attention", model.attention_weights(bags), model)
        if hasattr(model, "predict_token_proba"):
            columns |= _of_classes("probability", model.predict_token_proba(bags), model)
    return columns


def token_class(model: Any) -> Any:
    """Return the class of which a fitted `BagClassifier` of two states probabilities of tokens.

    It is the second one, or the first where single tokens make a bag one of that. None for other
    models and for more classes, of which each has a column.
    """
    if not hasattr(model, "predict_token_proba") or len(model.classes_) > 2:
        return None
    return model.classes_[1 if model.side_[0] > 0 else 0].item()


def _of_classes(name: str, values: list[np.ndarray], model: Any) -> dict[str, np.ndarray]:
    whole = np.concatenate(values)
    if whole.ndim == 1:
        return {name: whole}
    names = [f"{name}_{one}" for one in model._names()]
    return dict(zip(names, whole.T, strict=True))
