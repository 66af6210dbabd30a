"""The classifiers with a query: softmax, hard and elementwise attention."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from sparsetoken.base.parameters import parameter, value
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.architectures.base import Model
from sparsetoken.model.architectures.weights import (
    ACTIVATIONS,
    elementwise_weights,
    largest_weight,
    softmax_weights,
)
from sparsetoken.model.stages import Query, TwoSteps

__all__ = ["Attention", "Elementwise", "HardAttention", "QueriedModel"]

_LARGEST_EXPONENT = 300.0  # e^300 squared is still a float64


def _query(given: Any) -> Query | TwoSteps:
    if not isinstance(given, Query | TwoSteps):
        remedy = "That of a descent is course.weights.query(beta), where course = st.descend(...)."
        raise InvalidInput("query", "a Query or TwoSteps", given, remedy)
    return given


@value
class QueriedModel(Model, abc.ABC):
    """A model with a query, <w, X^T a> + b with weights a of the scores beta X q of the tokens.

    Attributes
    ----------
    sees_mean : bool
        Whether the weights depend on a shift of all scores; if not, they add up to 1.

    See Also
    --------
    Model : The base of all models.
    sparsetoken.Attention : An example.

    Examples
    --------
    >>> import sparsetoken as st
    >>> isinstance(st.Attention(), st.model.QueriedModel), st.Attention().sees_mean
    (True, False)
    """

    query: Query | TwoSteps = parameter(
        "given query, or how it is found",
        default=TwoSteps(),
        find=_query,
        kind="Query or TwoSteps",
    )
    sees_mean: ClassVar[bool] = False

    @abc.abstractmethod
    def weights(self, scores: Any) -> Any:
        """Return the weights of the tokens, from scores of shape (..., L)."""

    def token_weights(self, length: int) -> Callable[[Any, Any], Any] | None:
        """Return the weights of tokens by themselves, None where they depend on other tokens.

        They are a function of scores and the score of another token. Where `sees_mean` is false,
        they are relative to that token, and weights are these over their sum. With it the many
        small tokens of long samples need not be drawn one by one.
        """
        return None

    def check_sharpness(self, sharpness: float, shift: float) -> None:
        """Raise `InvalidInput` if weights overflow.

        Parameters
        ----------
        sharpness : float
            k.
        shift : float
            theta |s|, the mean of the largest projection; noise adds up to 7.
        """


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

    def weights(self, scores: Any) -> Any:
        return softmax_weights(scores)

    def token_weights(self, length: int) -> Callable[[Any, Any], Any]:
        """Return e^(score - other)."""
        return lambda scores, other: np.exp(scores - other)


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

    def weights(self, scores: Any) -> Any:
        return largest_weight(scores)


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
    sees_mean: ClassVar[bool] = True
    activation: str = parameter(
        "weights of the tokens: erf (1 + erf), sigmoid, tanh, relu, linear (1 + x) or exp",
        r"\phi",
        default="erf",
        choices=tuple(ACTIVATIONS),
    )

    def weights(self, scores: Any) -> Any:
        return elementwise_weights(scores, self.activation)

    def token_weights(self, length: int) -> Callable[[Any, Any], Any]:
        """Return phi(score) / L."""
        return lambda scores, other: ACTIVATIONS[self.activation](scores) / length

    def check_sharpness(self, sharpness: float, shift: float) -> None:
        """Raise `InvalidInput` if the activation is exp and k (theta |s| + 7) exceeds 300."""
        exponent = sharpness * (shift + 7)
        if self.activation == "exp" and exponent > _LARGEST_EXPONENT:
            raise InvalidInput(
                "sharpness with activation exp",
                f"small enough that k (theta |s| + 7) <= {_LARGEST_EXPONENT:g}",
                f"k = {sharpness:g}, where it is {exponent:g}",
                "exp(k t) overflows; use a smaller sharpness or a bounded activation.",
            )
