"""The classifiers as values, and the one table of what the library needs to know about each."""

from __future__ import annotations

import dataclasses
import pkgutil
from collections.abc import Callable
from typing import Any, ClassVar

from sparsetoken.base.parameters import parameter, value
from sparsetoken.base.validation import InvalidInput, choice
from sparsetoken.model.descent import Descent
from sparsetoken.model.networks import Architecture, Softmax
from sparsetoken.model.networks import Elementwise as ElementwiseNetwork
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, QueryVector, TwoSteps

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

ACTIVATIONS = ("erf", "sigmoid", "tanh", "relu", "linear", "exp")
"""The names in `sparsetoken.model.pooling.ACTIVATIONS`, repeated since that module loads slowly."""


@value
class Model:
    """A classifier sign(<w, f(X)> + b) with its own features f.

    Attributes
    ----------
    name : str
        The word that the command line, sweeps and JSON use.
    query : Query or QueryVector or TwoSteps or Descent or None
        The given query, or how it is found; None for a model without one.

    See Also
    --------
    QueriedModel : A model with a query.
    register : Adds a model.

    Examples
    --------
    >>> import sparsetoken as st
    >>> isinstance(st.Pooled(), st.model.Model), st.Pooled().name, st.Pooled().query
    (True, 'pooled', None)
    """

    name: ClassVar[str]

    @property
    def query(self) -> Query | QueryVector | TwoSteps | Descent | None:
        """The query, or how it is found."""
        return None

    def check_test_problem(self, problem: SparseTokenProblem, tested: SparseTokenProblem) -> None:
        """Raise `InvalidInput` unless a model trained on one problem can be tested on another."""


@value
class Pooled(Model):
    """The linear model <w, xbar> + b on the mean token.

    See Also
    --------
    sparsetoken.Attention : Softmax attention.
    Vectorized : All tokens side by side.
    sparsetoken.estimators.PooledLinearClassifier : Mean pooling for bags of your own.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> readout = st.Readout("square", ridge=0.1, alpha1=2.0)
    >>> print(f"{st.predict(problem, st.Pooled(), readout).test_error:.3f}")
    0.288
    """

    name: ClassVar[str] = "pooled"


@value
class Vectorized(Model):
    """The linear model <W, X>_F + b on all L d entries of the concatenated tokens.

    See Also
    --------
    Pooled : Mean pooling.
    sparsetoken.estimators.VectorizedLinearClassifier : All tokens side by side, in your bags.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> readout = st.Readout("square", ridge=0.1, alpha1=2.0)
    >>> print(f"{st.predict(problem, st.Vectorized(), readout).test_error:.3f}")
    0.406
    """

    name: ClassVar[str] = "vectorized"

    def check_test_problem(self, problem: SparseTokenProblem, tested: SparseTokenProblem) -> None:
        """Raise `InvalidInput` if the lengths differ: weights belong to positions."""
        L, found = problem.length, tested.length
        if found != L:
            remedy = "Each weight of vectorized belongs to a position."
            raise InvalidInput("length (L) of the test problem", f"{L}", found, remedy)


def _query(given: Any) -> Query | QueryVector | TwoSteps | Descent:
    if not isinstance(given, (Query, QueryVector, TwoSteps, Descent)):
        legal = "a Query, a QueryVector, TwoSteps or a Descent"
        raise InvalidInput("query", legal, given)
    if isinstance(given, Descent) and not _one_query(given.network):
        legal = "Softmax() with one head, or Elementwise(...), which have one query"
        raise InvalidInput("network of the descent", legal, given.network)
    return given


def _one_query(network: Architecture) -> bool:
    if isinstance(network, Softmax):
        return network.heads == 1
    return isinstance(network, ElementwiseNetwork)


@value
class QueriedModel(Model):
    """A model with a query.

    A `Descent` trains all weights of its network; its final query is then frozen.

    See Also
    --------
    Model : The base of all models.
    sparsetoken.Attention : An example.

    Examples
    --------
    >>> import sparsetoken as st
    >>> [kind.name for kind in st.model.QueriedModel.__subclasses__()][:3]
    ['attention', 'hard_attention', 'elementwise']
    """

    query: Query | QueryVector | TwoSteps | Descent = parameter(
        "given query, or how it is found",
        default=TwoSteps(),
        find=_query,
        kind="Query or QueryVector or TwoSteps or Descent",
    )


@value
class Attention(QueriedModel):
    """Softmax attention, <w, X^T softmax(beta X q)> + b.

    See Also
    --------
    sparsetoken.model.HardAttention : All weight on the largest score.
    sparsetoken.Elementwise : Attention without normalisation.
    Pooled : Mean pooling.
    AttentionClassifier : Attention for bags of your own.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> readout = st.Readout("square", ridge=0.1, alpha1=2.0)
    >>> model = st.Attention(st.Query(cosine=0.9, sharpness=2.0))
    >>> print(f"{st.predict(problem, model, readout).test_error:.3f}")
    0.053
    """

    name: ClassVar[str] = "attention"


@value
class HardAttention(QueriedModel):
    """Attention to the one token with the largest score, softmax at infinite sharpness.

    Only the cosine of its query matters.

    See Also
    --------
    sparsetoken.Attention : Softmax attention.
    sparsetoken.Elementwise : Attention without normalisation.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> readout = st.Readout("square", ridge=0.1, alpha1=2.0)
    >>> model = st.model.HardAttention(st.Query(cosine=0.9, sharpness=1.0))
    >>> print(f"{st.predict(problem, model, readout).test_error:.3f}")
    0.058
    """

    name: ClassVar[str] = "hard_attention"


@value
class Elementwise(QueriedModel):
    """Attention without normalisation, <w, (1/L) X^T phi(beta X q)> + b.

    `TwoSteps` are those of softmax attention; a `Descent` trains the network that it names.

    See Also
    --------
    sparsetoken.Attention : Softmax attention.
    sparsetoken.model.HardAttention : All weight on the largest score.
    sparsetoken.model.networks.Elementwise : The network that descent trains.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> readout = st.Readout("square", ridge=0.1, alpha1=2.0)
    >>> model = st.Elementwise(st.Query(cosine=0.9, sharpness=1.0), activation="relu")
    >>> print(f"{st.predict(problem, model, readout).test_error:.3f}")
    0.077
    """

    name: ClassVar[str] = "elementwise"
    activation: str = parameter(
        "weights of the tokens: erf (1 + erf), sigmoid, tanh, relu, linear (1 + x) or exp",
        r"\phi",
        default="erf",
        choices=ACTIVATIONS,
    )


@dataclasses.dataclass(frozen=True)
class ModelEntry:
    """What theory, simulation, sweeps, the command line and estimators need to know about a model.

    Parameters
    ----------
    kind : type of Model
    theory : str or callable
        ``(model, problem, query, points) -> FeatureLaw``, as ``"module:name"`` or itself; the
        query is a `Query` with numbers, or None.
    simulation : str or callable
        ``(model) -> FeatureSampler``, as ``"module:name"`` or itself.
    summary : str
        The features in a few words.
    estimator : str
        The scikit-learn estimator as ``"module:name"``; "" if there is none.
    version : int
        Increased when the same fields describe different features, so that stored rows of sweeps
        are not reused.

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
    theory: str | Callable[..., Any]
    simulation: str | Callable[..., Any]
    summary: str = ""
    estimator: str = ""
    version: int = 1

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
    kind: type[Model], law: str, sampler: str, summary: str, estimator: str = ""
) -> ModelEntry:
    return ModelEntry(
        kind,
        f"sparsetoken.theory.laws.{law}",
        f"sparsetoken.simulation.features.{sampler}",
        summary,
        estimator and f"sparsetoken.estimators:{estimator}",
    )


MODELS: dict[str, ModelEntry] = {
    entry.name: entry
    for entry in (
        _own(
            Attention,
            "softmax:softmax_law",
            "queried:SoftmaxSampler",
            "softmax attention",
            "AttentionClassifier",
        ),
        _own(
            Pooled,
            "linear:pooled_law",
            "linear:PooledSampler",
            "the mean token",
            "PooledLinearClassifier",
        ),
        _own(
            Vectorized,
            "linear:vectorized_law",
            "linear:VectorizedSampler",
            "all tokens concatenated",
            "VectorizedLinearClassifier",
        ),
        _own(
            Elementwise,
            "elementwise:elementwise_law",
            "queried:ElementwiseSampler",
            "attention without normalisation",
        ),
        _own(
            HardAttention, "hard:hard_law", "queried:HardSampler", "attention to the largest score"
        ),
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


def make_model(
    name: str, query: Query | QueryVector | TwoSteps | Descent | None = None, **options: Any
) -> Model:
    """Return a model from its name, with the options that apply to it.

    Parameters
    ----------
    name : str
        A name in `MODELS`.
    query : Query or TwoSteps or Descent, optional
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
