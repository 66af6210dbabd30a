"""The classifiers of the package by name, and what is a model."""

from __future__ import annotations

from typing import Any

from sparsetoken.base.parameters import parameters_of
from sparsetoken.base.validation import InvalidInput, choice
from sparsetoken.model.architectures.base import Model
from sparsetoken.model.architectures.linear import Pooled, Vectorized
from sparsetoken.model.architectures.queried import (
    Attention,
    Elementwise,
    HardAttention,
    QueriedModel,
)
from sparsetoken.model.stages import Query, TwoSteps

__all__ = [
    "MODELS",
    "Attention",
    "Elementwise",
    "HardAttention",
    "Model",
    "Pooled",
    "QueriedModel",
    "Vectorized",
    "make_model",
    "require_model",
]

MODELS: dict[str, type[Model]] = {
    kind.name: kind for kind in (Attention, Pooled, Vectorized, Elementwise, HardAttention)
}
"""The models of the package by name."""


def require_model(given: Any) -> None:
    """Raise `InvalidInput` unless a value is `Pooled`, `Vectorized` or a model with a query."""
    if not isinstance(given, Pooled | Vectorized | QueriedModel):
        remedy = "Write st.Attention(), for example, or derive your own from st.model.QueriedModel."
        raise InvalidInput("model", "a model: " + ", ".join(MODELS), given, remedy)


def make_model(name: str, query: Query | TwoSteps | None = None, **options: Any) -> Model:
    """Return a model of the package from its name, with the options that apply to it.

    Parameters
    ----------
    name : str
        A name in `MODELS`.
    query : Query or TwoSteps, optional
        For models that have one; their default if omitted.
    **options
        Fields of any model, such as ``activation``; those that this one lacks are ignored.

    Returns
    -------
    Model

    Raises
    ------
    InvalidInput
        If the name is unknown, an option is a field of no model, or a value is illegal.

    See Also
    --------
    QueriedModel : The base of a model of your own.

    Examples
    --------
    >>> from sparsetoken.model.models import make_model
    >>> make_model("pooled")
    Pooled()
    """
    kind = MODELS[choice("model", name, MODELS)]
    known = {field for other in MODELS.values() for field in parameters_of(other)} - {"query"}
    for option in options.keys() - known:
        raise InvalidInput("option of a model", "one of " + ", ".join(sorted(known)), option)
    given = options if query is None else {"query": query, **options}
    return kind(**{field: given[field] for field in parameters_of(kind) if field in given})
