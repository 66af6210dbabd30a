"""Small attention networks for the sparse-token task, as equinox modules.

Each maps the tokens of one sample to a score; its sign is the label. No network knows
the position of a token, so that the order of the tokens does not matter. Readouts start at
0. A bias is read through a constant as long as a token, sqrt(d): one step of Adam moves
each weight by about the same amount, and so a plain bias would lag behind the readout.
"""

from __future__ import annotations

import equinox
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


class MultiQuery(equinox.Module):
    """H learned queries; a readout of their H pooled features.

    ``sum_h <w_h, X^T softmax(X q_h)> + sqrt(d) b``. One query is the paper's attention with
    beta = 1, here with all of (q, w, b) free.

    Parameters
    ----------
    dimension, queries : int
        d and H.
    scale : float
        Standard deviation of the scores <x, q> of noise tokens at the start.
    key : PRNG key
    """

    query: Float[Array, "H d"]
    readout: Float[Array, "H d"]
    bias: Float[Array, ""]

    def __init__(self, dimension: int, queries: int, scale: float, key: PRNGKeyArray):
        self.query = _normal(key, (queries, dimension), scale, dimension)
        self.readout = jnp.zeros((queries, dimension), jnp.float32)
        self.bias = jnp.zeros((), jnp.float32)

    def __call__(self, tokens: Float[Array, "L d"]) -> Float[Array, ""]:
        """Return the score of one sample."""
        weights = jax.nn.softmax(tokens @ self.query.T, axis=0)
        return jnp.sum(self.readout * (weights.T @ tokens)) + _offset(self.bias, tokens)


class Attention(equinox.Module):
    """Multi-head attention of some tokens to all: queries, keys, values and an output matrix.

    Parameters
    ----------
    dimension, heads, width : int
        d, the number of heads, and the dimension of the keys and values of each head.
    scale : float
        Entries start as scale * N(0, 1/d), those of the output as
        scale * N(0, 1 / (heads * width)).
    key : PRNG key
    """

    query: Float[Array, "H k d"]
    key: Float[Array, "H k d"]
    value: Float[Array, "H k d"]
    output: Float[Array, "H k d"]

    def __init__(self, dimension: int, heads: int, width: int, scale: float, key: PRNGKeyArray):
        keys = jax.random.split(key, 4)
        shape = (heads, width, dimension)
        self.query, self.key, self.value = (_normal(k, shape, scale, dimension) for k in keys[:3])
        self.output = _normal(keys[3], shape, scale, heads * width)

    def __call__(
        self, receivers: Float[Array, "T d"], tokens: Float[Array, "S d"]
    ) -> Float[Array, "T d"]:
        """Return what each receiver takes from the tokens."""
        queries = jnp.einsum("hkd,td->htk", self.query, receivers)
        keys, values = (jnp.einsum("hkd,sd->hsk", m, tokens) for m in (self.key, self.value))
        scores = jnp.einsum("htk,hsk->hts", queries, keys) / keys.shape[-1] ** 0.5
        found = jnp.einsum("hts,hsk->htk", jax.nn.softmax(scores, axis=-1), values)
        return jnp.einsum("htk,hkd->td", found, self.output)


class ClassToken(equinox.Module):
    """Self-attention over the tokens and a learned class token, which is then read.

    Of the full attention matrix only the row of the class token is computed: the readout
    sees no other.

    Parameters
    ----------
    dimension, heads, width : int
        d, the number of heads, and the dimension of keys and values of each head.
    scale : float
        Size of the matrices at the start, as in `Attention`.
    key : PRNG key
    """

    token: Float[Array, " d"]
    attention: Attention
    readout: Float[Array, " d"]
    bias: Float[Array, ""]

    def __init__(self, dimension: int, heads: int, width: int, scale: float, key: PRNGKeyArray):
        first, second = jax.random.split(key)
        self.token = _normal(first, (dimension,), 1.0, 1)
        self.attention = Attention(dimension, heads, width, scale, second)
        self.readout = jnp.zeros(dimension, jnp.float32)
        self.bias = jnp.zeros((), jnp.float32)

    def __call__(self, tokens: Float[Array, "L d"]) -> Float[Array, ""]:
        """Return the score of one sample."""
        own = self.token[None]
        state = own + self.attention(own, jnp.concatenate([own, tokens]))
        return state[0] @ self.readout + _offset(self.bias, tokens)


class TwoLayer(equinox.Module):
    """Two layers of self-attention with residuals, then the class token or the mean is read.

    Parameters
    ----------
    dimension, heads, width : int
        d, and heads and width of both layers.
    scale : float
        Size of the matrices at the start, as in `Attention`; the readout starts at 0.
    read : str
        "class": a learned class token joins the tokens and is read. "mean": no class
        token, the mean over the tokens is read.
    key : PRNG key
    """

    token: Float[Array, " d"]
    first: Attention
    second: Attention
    readout: Float[Array, " d"]
    bias: Float[Array, ""]
    read: str = equinox.field(static=True)

    def __init__(
        self, dimension: int, heads: int, width: int, scale: float, read: str, key: PRNGKeyArray
    ):
        keys = jax.random.split(key, 3)
        self.token = _normal(keys[0], (dimension,), 1.0, 1)
        self.first = Attention(dimension, heads, width, scale, keys[1])
        self.second = Attention(dimension, heads, width, scale, keys[2])
        self.readout = jnp.zeros(dimension, jnp.float32)
        self.bias = jnp.zeros((), jnp.float32)
        self.read = read

    def __call__(self, tokens: Float[Array, "L d"]) -> Float[Array, ""]:
        """Return the score of one sample."""
        with_class = self.read == "class"
        state = jnp.concatenate([self.token[None], tokens]) if with_class else tokens
        state = state + self.first(state, state)
        receivers = state[:1] if with_class else state
        read = (receivers + self.second(receivers, state)).mean(axis=0)
        return read @ self.readout + _offset(self.bias, tokens)


def _normal(
    key: PRNGKeyArray, shape: tuple[int, ...], scale: float, inputs: int
) -> Float[Array, ...]:
    return scale / inputs**0.5 * jax.random.normal(key, shape, jnp.float32)


def _offset(bias: Float[Array, ""], tokens: Float[Array, "L d"]) -> Float[Array, ""]:
    return tokens.shape[-1] ** 0.5 * bias
