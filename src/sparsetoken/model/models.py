"""The one table of what the library needs to know about each classifier."""

from __future__ import annotations

import dataclasses
import pkgutil
from collections.abc import Callable
from typing import Any

from sparsetoken.base.content import name_of
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
    "ModelEntry",
    "Pooled",
    "QueriedModel",
    "Vectorized",
    "entry_of",
    "make_model",
    "register",
]


@dataclasses.dataclass(frozen=True)
class ModelEntry:
    """What theory, simulation, the command line and estimators need to know about a model.

    Parameters
    ----------
    kind : type of Model
    theory : str or callable, optional
        ``(model, problem, query) -> FeatureLaw``, as ``"module:name"`` or itself; the query is a
        `Query` with numbers, or None. Without it the law of a model with a query is sampled from
        its weights.
    simulation : str or callable
        ``(model, problem) -> FeatureSampler``, as ``"module:name"`` or itself. By default that of a
        model with a query.
    summary : str
        The features in a few words.
    estimator : str
        The scikit-learn estimator as ``"module:name"``; "" if there is none.

    See Also
    --------
    register : Adds a model.
    entry_of : The entry of a model.

    Examples
    --------
    >>> from sparsetoken.model.models import MODELS
    >>> MODELS["attention"].summary
    'softmax attention'
    """

    kind: type[Model]
    theory: str | Callable[..., Any] | None = None
    simulation: str | Callable[..., Any] = "sparsetoken.simulation.features:QueriedSampler"
    summary: str = ""
    estimator: str = ""

    @property
    def name(self) -> str:
        """The word of the model."""
        return self.kind.name

    @property
    def has_query(self) -> bool:
        """Whether the model has a query."""
        return any(field.name == "query" for field in dataclasses.fields(self.kind))

    @property
    def options(self) -> tuple[str, ...]:
        """The fields of the model other than its query."""
        return tuple(f.name for f in dataclasses.fields(self.kind) if f.name != "query")

    def resolve(self, part: str) -> Any:
        """Return the object that one of theory, simulation and estimator names."""
        named = getattr(self, part)
        return pkgutil.resolve_name(named) if isinstance(named, str) else named


def _own(
    kind: type[Model], law: str | None, sampler: str, summary: str, estimator: str = ""
) -> ModelEntry:
    return ModelEntry(
        kind,
        law and f"sparsetoken.theory.laws.{law}",
        f"sparsetoken.simulation.features:{sampler}",
        summary,
        estimator and f"sparsetoken.estimators:{estimator}",
    )


MODELS: dict[str, ModelEntry] = {
    entry.name: entry
    for entry in (
        _own(
            Attention,
            None,
            "QueriedSampler",
            "softmax attention",
            "AttentionClassifier",
        ),
        _own(
            Pooled,
            "models:pooled_law",
            "PooledSampler",
            "the mean token",
            "PooledLinearClassifier",
        ),
        _own(
            Vectorized,
            "models:vectorized_law",
            "VectorizedSampler",
            "all tokens concatenated",
            "VectorizedLinearClassifier",
        ),
        _own(
            Elementwise,
            None,
            "QueriedSampler",
            "attention without normalisation",
        ),
        _own(HardAttention, "hard:hard_law", "HardSampler", "attention to the largest score"),
    )
}
"""By name. A new model is a class, a law, a sampler and a row here; see docs/extending.md."""


_BUILT_IN = frozenset(MODELS)


def register(entry: ModelEntry) -> None:
    """Add a model from outside the package to the table.

    A second registration of a name replaces the first, as when a notebook cell is rerun; models of
    the first class are then refused.

    Raises
    ------
    InvalidInput
        If a model of the package has that name.

    See Also
    --------
    ModelEntry : What it takes.
    entry_of : The entry of a model.

    Examples
    --------
    >>> import dataclasses
    >>> import sparsetoken as st
    >>> from sparsetoken.model.models import MODELS, Pooled, register
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> @dataclasses.dataclass(frozen=True)
    ... class Mean(Pooled):
    ...     name = "mean"
    >>> register(dataclasses.replace(MODELS["pooled"], kind=Mean))
    >>> print(f"{st.predict(problem, Mean()).test_error:.3f}")
    0.293
    >>> del MODELS["mean"]  # registered for this example only
    """
    if entry.name in _BUILT_IN:
        raise InvalidInput("name of the model", "a word that no other model has", entry.name)
    MODELS[entry.name] = entry


def entry_of(model: Model) -> ModelEntry:
    """Return the row of a model.

    Raises
    ------
    InvalidInput
        If it is no model, or its class is not registered.

    See Also
    --------
    ModelEntry : What the library needs to know about a model.
    make_model : A model from its name.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.model.models import entry_of
    >>> entry_of(st.Pooled()).name
    'pooled'
    """
    entry = MODELS.get(getattr(type(model), "name", ""))
    if entry is None or entry.kind is not type(model):
        remedy = "Write st.Attention(), for example, or register your own model."
        raise InvalidInput("model", "a model: " + ", ".join(MODELS), model, remedy)
    return entry


def own_parts(model: Model) -> list[str]:
    """Return the names of the law and the sampler of a model that is not built in; else [].

    The version of its class stands for their code.
    """
    entry = entry_of(model)
    own = () if entry.name in _BUILT_IN else ("theory", "simulation")
    return [name_of(entry.resolve(part)) for part in own]


def make_model(name: str, query: Query | TwoSteps | None = None, **options: Any) -> Model:
    """Return a model from its name, with the options that apply to it.

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
    entry_of : The entry of a model.

    Examples
    --------
    >>> from sparsetoken.model.models import make_model
    >>> make_model("pooled")
    Pooled()
    """
    entry = MODELS[choice("model", name, MODELS)]
    known = {option for other in MODELS.values() for option in other.options}
    for option in options.keys() - known:
        raise InvalidInput("option of a model", "one of " + ", ".join(sorted(known)), option)
    fields = {key: value for key, value in options.items() if key in entry.options}
    if entry.has_query and query is not None:
        fields["query"] = query
    return entry.kind(**fields)
