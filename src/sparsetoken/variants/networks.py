"""Small attention networks for the sparse-token task, as JAX pytrees of their weights.

Each maps the tokens of one sample to a score; its sign is the label. No network knows
the position of a token, so that the order of the tokens does not matter. Readouts start at
0. A bias is read through a constant as long as a token, sqrt(d): one step of Adam moves
each weight by about the same amount, and so a plain bias would lag behind the readout.

In what follows H is the number of heads (or queries), k the dimension of keys and values.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jax.tree_util import register_dataclass
from jaxtyping import Array, Float, PRNGKeyArray

from sparsetoken.validation import choice, integer


@dataclasses.dataclass(frozen=True)
class Architecture:
    """A network to train.

    Parameters
    ----------
    family : {"multi-query", "class-token", "two-layer"}
    heads : int >= 1
        Heads of each layer; for multi-query the number of queries.
    width : int >= 1
        Dimension of the keys and values of a head; multi-query has neither.
    read : {"class", "mean"}
        What a two-layer network reads in the end.

    Raises
    ------
    InvalidInput
        If a value is outside its range.
    """

    family: str
    heads: int = 1
    width: int = 16
    read: str = "class"

    def __post_init__(self) -> None:
        choice("family", self.family, ("multi-query", "class-token", "two-layer"))
        choice("read", self.read, ("class", "mean"))
        integer("heads", self.heads, 1)
        integer("width", self.width, 1)

    def start(self, dimension: int, scale: float, seed: int) -> MultiQuery | Layers:
        """Return the network before training, with weights of a size."""
        key = jax.random.PRNGKey(seed)
        if self.family == "multi-query":
            return MultiQuery.start(dimension, self.heads, scale, key)
        count, read = (1, "class") if self.family == "class-token" else (2, self.read)
        return Layers.start(dimension, count, self.heads, self.width, scale, read, key)


@register_dataclass
@dataclasses.dataclass(frozen=True)
class MultiQuery:
    """H learned queries; a readout of their H pooled features.

    ``sum_h <w_h, X^T softmax(X q_h)> + sqrt(d) b``. One query is the paper's attention with
    beta = 1, here with all of (q, w, b) free.
    """

    query: Float[Array, "H d"]
    readout: Float[Array, "H d"]
    bias: Float[Array, ""]

    @classmethod
    def start(cls, d: int, queries: int, scale: float, key: PRNGKeyArray) -> MultiQuery:
        """Return queries for which the scores of noise tokens have the deviation `scale`."""
        return cls(_normal(key, (queries, d), scale, d), _zeros(queries, d), _zeros())

    def __call__(self, tokens: Float[Array, "L d"]) -> Float[Array, ""]:
        """Return the score of one sample."""
        weights = jax.nn.softmax(tokens @ self.query.T, axis=0)
        return jnp.sum(self.readout * (weights.T @ tokens)) + _offset(self.bias, tokens)


@register_dataclass
@dataclasses.dataclass(frozen=True)
class Attention:
    """Multi-head attention of some tokens to all: queries, keys, values and an output matrix."""

    query: Float[Array, "H k d"]
    key: Float[Array, "H k d"]
    value: Float[Array, "H k d"]
    output: Float[Array, "H k d"]

    @classmethod
    def start(cls, d: int, heads: int, width: int, scale: float, key: PRNGKeyArray) -> Attention:
        """Return matrices of entries scale N(0, 1/d), of the output scale N(0, 1 / (H k))."""
        *keys, last = jax.random.split(key, 4)
        shape = (heads, width, d)
        query, own, value = (_normal(one, shape, scale, d) for one in keys)
        return cls(query, own, value, _normal(last, shape, scale, heads * width))

    def __call__(
        self, receivers: Float[Array, "T d"], tokens: Float[Array, "S d"]
    ) -> Float[Array, "T d"]:
        """Return what each receiver takes from the tokens."""
        queries = jnp.einsum("hkd,td->htk", self.query, receivers)
        keys, values = (jnp.einsum("hkd,sd->hsk", m, tokens) for m in (self.key, self.value))
        scores = jnp.einsum("htk,hsk->hts", queries, keys) / keys.shape[-1] ** 0.5
        found = jnp.einsum("hts,hsk->htk", jax.nn.softmax(scores, axis=-1), values)
        return jnp.einsum("htk,hkd->td", found, self.output)


@register_dataclass
@dataclasses.dataclass(frozen=True)
class Layers:
    """Layers of self-attention with residuals, then the class token or the mean is read.

    `read` is class, where a learned class token joins the tokens, or mean, over the tokens. In the
    last layer only what is read is computed: the readout sees nothing else.
    """

    token: Float[Array, " d"]
    layers: tuple[Attention, ...]
    readout: Float[Array, " d"]
    bias: Float[Array, ""]
    read: str = dataclasses.field(metadata={"static": True})

    @classmethod
    def start(
        cls, d: int, count: int, heads: int, width: int, scale: float, read: str, key: PRNGKeyArray
    ) -> Layers:
        """Return a class token of variance 1, and layers as `Attention.start` has them."""
        own, *keys = jax.random.split(key, 1 + count)
        layers = tuple(Attention.start(d, heads, width, scale, one) for one in keys)
        return cls(_normal(own, (d,), 1.0, 1), layers, _zeros(d), _zeros(), read)

    def __call__(self, tokens: Float[Array, "L d"]) -> Float[Array, ""]:
        """Return the score of one sample."""
        with_class = self.read == "class"
        state = jnp.concatenate([self.token[None], tokens]) if with_class else tokens
        *before, last = self.layers
        for layer in before:
            state = state + layer(state, state)
        receivers = state[:1] if with_class else state
        read = (receivers + last(receivers, state)).mean(axis=0)
        return read @ self.readout + _offset(self.bias, tokens)


def _normal(
    key: PRNGKeyArray, shape: tuple[int, ...], scale: float, inputs: int
) -> Float[Array, ...]:
    return scale / inputs**0.5 * jax.random.normal(key, shape, jnp.float32)


def _zeros(*shape: int) -> Float[Array, ...]:
    return jnp.zeros(shape, jnp.float32)


def _offset(bias: Float[Array, ""], tokens: Float[Array, "L d"]) -> Float[Array, ""]:
    return tokens.shape[-1] ** 0.5 * bias
