"""Networks that descent trains: softmax, elementwise, gated and self-attention, deep sets."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from sparsetoken.base.parameters import POSITIVE, Linear, Log, Range, parameter, value
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.architectures.base import (
    Architecture,
    WeightedSum,
    fading,
    numbered,
    of_classes,
)
from sparsetoken.model.architectures.weights import (
    ACTIVATIONS,
    elementwise_weights,
    largest_weight,
    softmax_weights,
)
from sparsetoken.numerics.backend import namespace

_MOST_UNITS = 64
_LARGEST_EXPONENT = 300.0  # e^300 squared is still a float64


def _temperature() -> Any:
    help = "inverse temperature of the weights of the tokens"
    return parameter(help, r"\beta", default=1.0, range=POSITIVE, slider=Log(0.05, 10))


def _units(help: str, default: int) -> Any:
    sizes = Range(least=1, most=_MOST_UNITS)
    return parameter(help, default=default, whole=True, range=sizes, slider=Linear(1, 4))


def activation_parameter() -> Any:
    """Declare the function phi of the weights of the tokens."""
    return parameter(
        "weights of the tokens: erf (1 + erf), sigmoid, tanh, relu, linear (1 + x) or exp",
        r"\phi",
        default="erf",
        choices=tuple(ACTIVATIONS),
        remedy="Weights of your own are those of a QueriedModel (docs/extending.md).",
    )


class QueryNetwork(WeightedSum):
    """A network whose weights of the tokens depend on scores beta <x_l, q>, one query a head.

    Attributes
    ----------
    beta : float
    total : float or None
        What the weights add up to in every bag, if it is one number; they then depend on no shift
        of all scores. Else None.

    See Also
    --------
    sparsetoken.model.QueriedModel : A model that weighs tokens as such a network.
    Softmax : An example.

    Examples
    --------
    >>> import sparsetoken as st
    >>> isinstance(st.networks.Softmax(), st.networks.QueryNetwork)
    True
    """

    beta: float = 1.0
    total: ClassVar[float | None] = 1.0

    @abc.abstractmethod
    def weights(self, scores: Any) -> Any:
        """Return the weights of the tokens, from scores of shape (..., L)."""

    def token_weights(self, length: int) -> Callable[[Any, Any], Any] | None:
        """Return the weights of tokens by themselves, None where they depend on other tokens.

        They are a function of scores and the score of another token. Where there is a `total`,
        they are relative to that token, and weights are these over their sum, plus what all need
        to reach the total. With it the many small tokens of long samples need not be drawn one by
        one.
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

    def weights_of_heads(self, H: Any, c: Any) -> Any:
        return self.weights(self.beta * H[:, : self.heads].T)

    def queries(self) -> tuple[str, ...]:
        return numbered("q", self.heads)

    def query_norms(self) -> tuple[float, ...]:
        return fading(0.5, self.heads)


@value
class Softmax(QueryNetwork):
    """Softmax attention with one or several queries, sum_h softmax(beta H_qh) . H_wh + b.

    Columns q and w; q1, q2, ..., w1, w2, ... of several heads; with K > 2 classes w0, w1, ... or
    w1_0, w1_1, ... for each head. Further weights: b, or b0, b1, ... of the classes.

    See Also
    --------
    Gated : Gated attention.
    SelfAttention : Low-rank self-attention.
    sparsetoken.Attention : The model of the theory with four stages.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.networks.Softmax(heads=2).column_names(outputs=1)
    ('q1', 'q2', 'w1', 'w2')
    """

    heads: int = _units("heads, each with its own query and readout", 1)
    beta: float = _temperature()

    def weights(self, scores: Any) -> Any:
        return softmax_weights(scores)

    def token_weights(self, length: int) -> Callable[[Any, Any], Any]:
        """Return e^(score - other)."""
        return lambda scores, other: np.exp(scores - other)


@value
class CentredSoftmax(Softmax):
    """Softmax attention less the mean of the tokens, sum_h (softmax(beta H_qh) - 1/L) . H_wh + b.

    Its weights add up to 0: what all tokens of a bag share moves no score. Columns and further
    weights are those of `Softmax`. At q = 0 and w = 0 neither has a gradient: start elsewhere.

    See Also
    --------
    Softmax : Softmax attention with one or several queries.
    sparsetoken.model.CentredAttention : The model of the theory with four stages.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsetoken as st
    >>> st.networks.CentredSoftmax().weights(np.array([0.0, 0.0])).tolist()
    [0.0, 0.0]
    """

    total = 0.0

    def weights(self, scores: Any) -> Any:
        return softmax_weights(scores) - 1 / scores.shape[-1]


@value
class Hardmax(QueryNetwork):
    """All weight on the token with the largest score."""

    trainable = False

    def weights(self, scores: Any) -> Any:
        return largest_weight(scores)


@value
class Elementwise(QueryNetwork):
    """Attention without normalisation, mean_l phi(beta H_q)_l H_wl + b.

    Columns q and w. Descent refuses relu.

    See Also
    --------
    Softmax : Softmax attention with one or several queries.
    sparsetoken.Elementwise : The model of the theory with four stages.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.networks.Elementwise("sigmoid").column_names(outputs=1)
    ('q', 'w')
    """

    activation: str = activation_parameter()
    beta: float = _temperature()

    total = None

    @property
    def trainable(self) -> bool:
        """Whether there is no kink where a projection is 0, as all are at q = 0."""
        return self.activation != "relu"

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


@value
class Gated(WeightedSum):
    """Gated attention of multiple-instance learning (Ilse et al. 2018).

    The weights of the tokens are softmax_l(sum_j u_j tanh(H_vj) sigmoid(H_gj)). Columns v1, ...,
    g1, ..., then the readouts w; further weights b, then u1, ..., which start at 1, -1, 1, ...

    See Also
    --------
    Softmax : Softmax attention with one or several queries.
    SelfAttention : Low-rank self-attention.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.networks.Gated(hidden=2).column_names(outputs=1)
    ('v1', 'v2', 'g1', 'g2', 'w')
    """

    hidden: int = _units("hidden units of the gate", 2)

    def queries(self) -> tuple[str, ...]:
        return (*numbered("v", self.hidden), *numbered("g", self.hidden))

    def query_norms(self) -> tuple[float, ...]:
        return fading(0.5, self.hidden) * 2

    def weight_names(self, outputs: int) -> tuple[str, ...]:
        return (*of_classes("b", outputs), *numbered("u", self.hidden))

    def start(self, outputs: int) -> tuple[float, ...]:
        return (0.0,) * outputs + tuple((-1.0) ** j for j in range(self.hidden))

    def weights_of_heads(self, H: Any, c: Any) -> Any:
        r, tanh, sigmoid = self.hidden, ACTIVATIONS["tanh"], ACTIVATIONS["sigmoid"]
        units = tanh(H[:, :r]) * sigmoid(H[:, r : 2 * r])
        return softmax_weights((units * c[-r:]).sum(axis=1))[None]


@value
class SelfAttention(WeightedSum):
    """One layer of low-rank self-attention, mean_l [softmax(H_Q H_K^T) H_V]_l + b.

    Columns Q1, ..., K1, ..., then the readout V, with K > 2 classes V0, V1, ...

    See Also
    --------
    Softmax : Softmax attention with one or several queries.
    Gated : Gated attention.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.networks.SelfAttention(rank=2).column_names(outputs=1)
    ('Q1', 'Q2', 'K1', 'K2', 'V')
    """

    rank: int = _units("rank of the matrix of queries and keys", 2)
    readout: ClassVar[str] = "V"

    def queries(self) -> tuple[str, ...]:
        return (*numbered("Q", self.rank), *numbered("K", self.rank))

    def query_norms(self) -> tuple[float, ...]:
        return fading(0.6, self.rank) * 2

    def weights_of_heads(self, H: Any, c: Any) -> Any:
        """Return the weights of the tokens, averaged over the tokens that attend."""
        r = self.rank
        products = (H[:, None, :r] * H[None, :, r : 2 * r]).sum(axis=2)
        return softmax_weights(products).mean(axis=0)[None]


@value
class DeepSets(Architecture):
    """A two-layer network on each token, then a mean: mean_l sum_j u_j tanh(H_vj) + b.

    Columns v1, ...; further weights b, then u1, ..., which start at 1, -1, 1, ...; with K > 2
    classes b0, b1, ... and u1_0, u1_1, ...

    See Also
    --------
    sparsetoken.Pooled : Mean pooling.
    Gated : Gated attention.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.networks.DeepSets(hidden=2).column_names(outputs=1)
    ('v1', 'v2')
    """

    hidden: int = _units("hidden units of each token", 2)

    def column_names(self, outputs: int) -> tuple[str, ...]:
        return numbered("v", self.hidden)

    def weight_names(self, outputs: int) -> tuple[str, ...]:
        units = (of_classes(u, outputs, after="_") for u in numbered("u", self.hidden))
        return (*of_classes("b", outputs), *(name for names in units for name in names))

    def start_norms(self, outputs: int) -> tuple[float, ...]:
        return fading(0.5, self.hidden)

    def start(self, outputs: int) -> tuple[float, ...]:
        units = ((-1.0) ** (j + k) for j in range(self.hidden) for k in range(outputs))
        return (*(0.0,) * outputs, *units)

    def scores(self, H: Any, c: Any, outputs: int) -> Any:
        u = c[outputs:].reshape(self.hidden, outputs)
        return (namespace(H).tanh(H).mean(axis=0)[:, None] * u).sum(axis=0) + c[:outputs]
