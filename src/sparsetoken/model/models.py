"""The classifiers of the theory: linear ones, and networks whose query is given or found before."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar

from sparsetoken.base.parameters import parameter, parameters_of, value
from sparsetoken.base.validation import InvalidInput, choice
from sparsetoken.model.architectures import networks
from sparsetoken.model.architectures.base import WeightedSum
from sparsetoken.model.stages import Query, TwoSteps
from sparsetoken.numerics.backend import namespace

if TYPE_CHECKING:
    from sparsetoken.model.problem import SparseTokenProblem

__all__ = [
    "MODELS",
    "Attention",
    "CentredAttention",
    "Elementwise",
    "HardAttention",
    "Model",
    "Pooled",
    "QueriedModel",
    "Vectorized",
    "make_model",
    "require_model",
]


@value
class Model:
    """A classifier sign(<w, f(X)> + b) with its own features f.

    Attributes
    ----------
    name : str
        The word that the command line and JSON use.
    query : Query or TwoSteps or None
        The given query, or how it is found; None for a model without one.
    network : QueryNetwork or None
        The network whose weights the tokens have under the query; None for a model without one.

    See Also
    --------
    QueriedModel : A model with a query.

    Examples
    --------
    >>> import sparsetoken as st
    >>> isinstance(st.Pooled(), st.model.Model), st.Pooled().name, st.Pooled().query
    (True, 'pooled', None)
    """

    name: ClassVar[str]

    @property
    def query(self) -> Any:
        """The query, or how it is found."""
        return None

    @property
    def network(self) -> Any:
        """The network whose weights the tokens have."""
        return None

    def weights_per_dimension(self, length: int) -> int:
        """Return the number of trained weights of the readout, divided by the dimension."""
        return 1

    def check_test_problem(self, problem: SparseTokenProblem, tested: SparseTokenProblem) -> None:
        """Raise `InvalidInput` unless a model trained on one problem can be tested on another."""
        if tested.tokens != problem.tokens:
            legal = "those of the problem"
            raise InvalidInput("tokens of the test problem", legal, tested.tokens)


@value
class Pooled(Model, WeightedSum):
    """The linear model <w, xbar> + b on the mean token; also a network with the one column w.

    See Also
    --------
    sparsetoken.Attention : Softmax attention.
    sparsetoken.model.networks.DeepSets : A two-layer network on each token, then a mean.
    Vectorized : The concatenated tokens.
    sparsetoken.estimators.PooledClassifier : Mean pooling for bags of your own.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> readout = st.Readout("square", ridge=0.1, alpha1=2.0)
    >>> print(f"{st.predict(problem, st.Pooled(), readout).test_error:.3f}")
    0.288
    """

    name: ClassVar[str] = "pooled"

    def weights_of_heads(self, H: Any, c: Any) -> Any:
        """Return 1/L for each token."""
        return namespace(H).full((1, len(H)), 1 / len(H), H.dtype)


@value
class Vectorized(Model):
    """The linear model <W, X>_F + b on all L d entries of the concatenated tokens.

    See Also
    --------
    Pooled : Mean pooling.
    sparsetoken.estimators.VectorizedLinearClassifier : The concatenated tokens of your bags.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> readout = st.Readout("square", ridge=0.1, alpha1=2.0)
    >>> print(f"{st.predict(problem, st.Vectorized(), readout).test_error:.3f}")
    0.406
    """

    name: ClassVar[str] = "vectorized"

    def weights_per_dimension(self, length: int) -> int:
        """Return the number of tokens."""
        return length

    def check_test_problem(self, problem: SparseTokenProblem, tested: SparseTokenProblem) -> None:
        """Raise `InvalidInput` if the lengths differ too: weights belong to positions."""
        super().check_test_problem(problem, tested)
        L, length = problem.length, tested.length
        if length != L:
            remedy = "Each weight of vectorized belongs to a position."
            raise InvalidInput("length (L) of the test problem", f"{L}", length, remedy)


def _query(given: Any) -> Query | TwoSteps:
    if not isinstance(given, Query | TwoSteps):
        remedy = "That of a descent is st.descend(...).weights.query(beta)."
        raise InvalidInput("query", "a Query or TwoSteps", given, remedy)
    return given


@value
class QueriedModel(Model, abc.ABC):
    """A network whose one query is given or found before: <w, X^T a> + b with weights a(beta X q).

    See Also
    --------
    Model : The base of all models.
    sparsetoken.model.networks.QueryNetwork : The base of such networks.
    sparsetoken.Attention : An example.

    Examples
    --------
    >>> import sparsetoken as st
    >>> isinstance(st.Attention(), st.model.QueriedModel), st.Attention().network
    (True, Softmax(heads=1, beta=1.0))
    """

    query: Query | TwoSteps = parameter(
        "given query, or how it is found",
        default=TwoSteps(),
        find=_query,
        kind="Query or TwoSteps",
    )

    @property
    @abc.abstractmethod
    def network(self) -> networks.QueryNetwork:
        """The network whose weights the tokens have, of one query."""


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
    network = networks.Softmax()


@value
class CentredAttention(QueriedModel):
    """Softmax attention less the mean token, <w, X^T (softmax(beta X q) - 1/L)> + b.

    What all tokens of a sample share, as slides of one patient do, moves no score. Without it the
    mean token has noise of its own, which attention alone does not add. `TwoSteps` are those of
    softmax attention.

    See Also
    --------
    sparsetoken.Attention : Softmax attention.
    sparsetoken.TokenCovariance : Tokens that share an effect, `between`.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> readout = st.Readout("square", ridge=0.1, alpha1=2.0)
    >>> model = st.model.CentredAttention(st.Query(cosine=0.9, sharpness=2.0))
    >>> print(f"{st.predict(problem, model, readout).test_error:.3f}")
    0.066
    """

    name: ClassVar[str] = "centred_attention"
    network = networks.CentredSoftmax()


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
    network = networks.Hardmax()


@value
class Elementwise(QueriedModel):
    """Attention without normalisation, <w, (1/L) X^T phi(beta X q)> + b.

    `TwoSteps` are those of softmax attention.

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
    activation: str = networks.activation_parameter()

    @property
    def network(self) -> networks.QueryNetwork:
        """The network of this activation."""
        return networks.Elementwise(self.activation)


MODELS: dict[str, type[Model]] = {
    kind.name: kind
    for kind in (Attention, Pooled, Vectorized, Elementwise, HardAttention, CentredAttention)
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
