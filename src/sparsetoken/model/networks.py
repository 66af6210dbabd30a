"""Networks that depend on tokens through a few projections, as values.

A network is a function f(H, c) of the projections H = X U of the tokens of a bag, of shape
(L, m), and of further weights c. Descent trains the columns of U and c.
"""

from __future__ import annotations

import abc
import re
from collections.abc import Callable
from typing import Any, ClassVar

from sparsetoken.base.parameters import POSITIVE, Linear, Log, Range, parameter, value
from sparsetoken.base.validation import InvalidInput, integer

__all__ = [
    "Architecture",
    "DeepSets",
    "Elementwise",
    "Gated",
    "Network",
    "Pooled",
    "SelfAttention",
    "Softmax",
]
__dir__ = __all__.copy


MOST_UNITS = 64
MOST_COLUMNS = 256
FROM_TORCH = (
    "Write with jax.numpy what a torch module does with the projections H (L, m) of one bag: "
    "st.networks.Network(lambda H, c: ..., columns=...)."
)
SMOOTH_ACTIVATIONS = ("erf", "sigmoid", "tanh", "linear", "exp")
"""Smooth activations: descent may start where all projections are 0."""


class Architecture(abc.ABC):
    """The interface of a network that descent trains.

    ``outputs`` is 1 for two classes, whose score is then a number, and K for K > 2 classes.

    See Also
    --------
    Network : A network from a function.
    sparsetoken.Descent : Descent on all weights of any network.

    Examples
    --------
    >>> import sparsetoken as st
    >>> isinstance(st.networks.Gated(hidden=2), st.networks.Architecture)
    True
    """

    @abc.abstractmethod
    def column_names(self, outputs: int) -> tuple[str, ...]:
        """Return the names of the columns of U."""

    @abc.abstractmethod
    def weight_names(self, outputs: int) -> tuple[str, ...]:
        """Return the names of the further weights c."""

    @abc.abstractmethod
    def scores(self, H: Any, c: Any, outputs: int) -> Any:
        """Return the scores of one bag, shape (outputs,), written with ``jax.numpy``.

        Parameters
        ----------
        H : array of shape (L, m)
        c : array, one entry for each further weight
        outputs : int
        """

    def attention(self, H: Any, c: Any) -> Any:
        """Return the attention weights of the tokens, shape (L,), or None without attention.

        The most attended token has the largest. It depends on no readout column.
        """
        return None

    def readouts(self, outputs: int) -> tuple[int, ...]:
        """Return the columns in which the scores are affine, all others fixed."""
        return ()

    def lengths(self, outputs: int) -> tuple[float, ...]:
        """Return lengths of the columns at the start that break the symmetries of the network."""
        return tuple(0.5 for _ in self.column_names(outputs))

    def start(self, outputs: int) -> tuple[float, ...]:
        """Return the further weights at the start."""
        return tuple(0.0 for _ in self.weight_names(outputs))


def _numbered(stem: str, count: int) -> tuple[str, ...]:
    return (stem,) if count == 1 else tuple(f"{stem}{i + 1}" for i in range(count))


def _of_classes(stem: str, outputs: int, *, after: str = "") -> tuple[str, ...]:
    """Return the names of weights of which each class has one; classes are counted from 0."""
    return (stem,) if outputs == 1 else tuple(f"{stem}{after}{k}" for k in range(outputs))


def _fading(length: float, count: int) -> tuple[float, ...]:
    """Return different lengths: columns that start equal stay equal."""
    return tuple(length * 0.7**i for i in range(count))


class WeightedSum(Architecture):
    """A network whose scores are sum_l a_l <x_l, w_k> + b_k, with weights a of the tokens.

    Its columns are those that the weights of the tokens depend on, then the readouts.
    """

    readout: ClassVar[str] = "w"

    def queries(self) -> tuple[str, ...]:
        """Return the names of the columns that the weights of the tokens depend on."""
        return ()

    def query_lengths(self) -> tuple[float, ...]:
        """Return their lengths at the start."""
        return ()

    @abc.abstractmethod
    def attention(self, H: Any, c: Any) -> Any:
        """Return the weights of the tokens, shape (L,)."""

    def column_names(self, outputs: int) -> tuple[str, ...]:
        return (*self.queries(), *_of_classes(self.readout, outputs))

    def weight_names(self, outputs: int) -> tuple[str, ...]:
        return _of_classes("b", outputs)

    def readouts(self, outputs: int) -> tuple[int, ...]:
        first = len(self.queries())
        return tuple(range(first, first + outputs))

    def lengths(self, outputs: int) -> tuple[float, ...]:
        return (*self.query_lengths(), *(0.3,) * outputs)

    def scores(self, H: Any, c: Any, outputs: int) -> Any:
        readouts = H[:, len(self.queries()) :]
        return (self.attention(H, c)[:, None] * readouts).sum(axis=0) + c[:outputs]


def _temperature() -> Any:
    help = "inverse temperature of the weights of the tokens"
    return parameter(help, r"\beta", default=1.0, range=POSITIVE, slider=Log(0.05, 10))


def _units(help: str, default: int) -> Any:
    sizes = Range(least=1, most=MOST_UNITS)
    return parameter(help, default=default, whole=True, range=sizes, slider=Linear(1, 4))


@value
class Softmax(Architecture):
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

    def column_names(self, outputs: int) -> tuple[str, ...]:
        heads = _numbered("w", self.heads)
        own = (_of_classes(w, outputs, after="" if self.heads == 1 else "_") for w in heads)
        return (*_numbered("q", self.heads), *(name for names in own for name in names))

    def weight_names(self, outputs: int) -> tuple[str, ...]:
        return _of_classes("b", outputs)

    def readouts(self, outputs: int) -> tuple[int, ...]:
        return tuple(range(self.heads, self.heads * (1 + outputs)))

    def lengths(self, outputs: int) -> tuple[float, ...]:
        readouts = (own for w in _fading(0.3, self.heads) for own in (w,) * outputs)
        return (*_fading(0.5, self.heads), *readouts)

    def _weights_of_heads(self, H: Any) -> Any:
        import jax

        return jax.nn.softmax(self.beta * H[:, : self.heads], axis=0)

    def scores(self, H: Any, c: Any, outputs: int) -> Any:
        readouts = H[:, self.heads :].reshape(len(H), self.heads, outputs)
        return (self._weights_of_heads(H)[:, :, None] * readouts).sum(axis=(0, 1)) + c

    def attention(self, H: Any, c: Any) -> Any:
        """Return the weights of the tokens, summed over heads."""
        return self._weights_of_heads(H).sum(axis=1)


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
        return (*_numbered("v", self.hidden), *_numbered("g", self.hidden))

    def query_lengths(self) -> tuple[float, ...]:
        return _fading(0.5, self.hidden) * 2

    def weight_names(self, outputs: int) -> tuple[str, ...]:
        return (*_of_classes("b", outputs), *_numbered("u", self.hidden))

    def start(self, outputs: int) -> tuple[float, ...]:
        return (0.0,) * outputs + tuple((-1.0) ** j for j in range(self.hidden))

    def attention(self, H: Any, c: Any) -> Any:
        import jax
        import jax.numpy as jnp

        r = self.hidden
        units = jnp.tanh(H[:, :r]) * jax.nn.sigmoid(H[:, r : 2 * r])
        return jax.nn.softmax((units * c[-r:]).sum(axis=1))


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
        return (*_numbered("Q", self.rank), *_numbered("K", self.rank))

    def query_lengths(self) -> tuple[float, ...]:
        return _fading(0.6, self.rank) * 2

    def attention(self, H: Any, c: Any) -> Any:
        """Return the weights of the tokens, averaged over the tokens that attend."""
        import jax

        r = self.rank
        products = (H[:, None, :r] * H[None, :, r : 2 * r]).sum(axis=2)
        return jax.nn.softmax(products, axis=1).mean(axis=0)


@value
class Elementwise(WeightedSum):
    """Attention without normalisation, mean_l phi(beta H_q)_l H_wl + b.

    Columns q and w.

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

    activation: str = parameter(
        "weights of the tokens: erf (1 + erf), sigmoid, tanh, linear (1 + x) or exp",
        r"\phi",
        default="erf",
        choices=SMOOTH_ACTIVATIONS,
        remedy="Others have a kink where a projection is 0, as all are at q = 0.",
    )
    beta: float = _temperature()

    def queries(self) -> tuple[str, ...]:
        return ("q",)

    def query_lengths(self) -> tuple[float, ...]:
        return (0.5,)

    def attention(self, H: Any, c: Any) -> Any:
        import jax

        x = self.beta * H[:, 0]
        functions: dict[str, Callable[[Any], Any]] = {
            "erf": lambda x: 1 + jax.lax.erf(x),
            "sigmoid": jax.nn.sigmoid,
            "tanh": jax.numpy.tanh,
            "linear": lambda x: 1 + x,
            "exp": jax.numpy.exp,
        }
        return functions[self.activation](x) / len(H)


@value
class Pooled(WeightedSum):
    """Mean pooling, mean_l H_wl + b; its one column is w.

    See Also
    --------
    DeepSets : A two-layer network on each token, then a mean.
    sparsetoken.Pooled : The model of the theory with four stages.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.networks.Pooled().column_names(outputs=1)
    ('w',)
    """

    def attention(self, H: Any, c: Any) -> Any:
        import jax.numpy as jnp

        return jnp.full(len(H), 1 / len(H), H.dtype)


@value
class DeepSets(Architecture):
    """A two-layer network on each token, then a mean: mean_l sum_j u_j tanh(H_vj) + b.

    Columns v1, ...; further weights b, then u1, ..., which start at 1, -1, 1, ...; with K > 2
    classes b0, b1, ... and u1_0, u1_1, ...

    See Also
    --------
    Pooled : Mean pooling.
    Gated : Gated attention.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.networks.DeepSets(hidden=2).column_names(outputs=1)
    ('v1', 'v2')
    """

    hidden: int = _units("hidden units of each token", 2)

    def column_names(self, outputs: int) -> tuple[str, ...]:
        return _numbered("v", self.hidden)

    def weight_names(self, outputs: int) -> tuple[str, ...]:
        units = (_of_classes(u, outputs, after="_") for u in _numbered("u", self.hidden))
        return (*_of_classes("b", outputs), *(name for names in units for name in names))

    def lengths(self, outputs: int) -> tuple[float, ...]:
        return _fading(0.5, self.hidden)

    def start(self, outputs: int) -> tuple[float, ...]:
        units = ((-1.0) ** (j + k) for j in range(self.hidden) for k in range(outputs))
        return (*(0.0,) * outputs, *units)

    def scores(self, H: Any, c: Any, outputs: int) -> Any:
        import jax.numpy as jnp

        u = c[outputs:].reshape(self.hidden, outputs)
        return (jnp.tanh(H).mean(axis=0)[:, None] * u).sum(axis=0) + c[:outputs]


def _function(given: Any) -> Callable[..., Any]:
    if not callable(given) or is_torch(given):
        remedy = FROM_TORCH if is_torch(given) else ""
        raise InvalidInput("function of a network", "a function of (H, c)", given, remedy)
    require_hashable("function of a network", given, "H, c")
    return given


def _optional_function(given: Any) -> Callable[..., Any] | None:
    return None if given is None else _function(given)


def require_hashable(name: str, given: Any, arguments: str) -> None:
    """Raise `InvalidInput` unless a function is hashable: compiled code is cached by it."""
    try:
        hash(given)
    except TypeError:
        remedy = f"Wrap it in a lambda: lambda {arguments}: own({arguments})."
        raise InvalidInput(name, "hashable", given, remedy) from None


def _names_of(what: str, stem: str, reserved: str) -> Callable[[Any], tuple[str, ...]]:
    """Return the reader of names, from words or their number, none of which matches a pattern."""
    title = f"{what} of a network"

    def names(given: Any) -> tuple[str, ...]:
        if not isinstance(given, (list, tuple)):
            count = integer(title, given, 0, MOST_COLUMNS)
            return tuple(f"{stem}{i + 1}" for i in range(count))
        words = all(isinstance(name, str) and re.fullmatch(r"\w+", name) for name in given)
        if not words or len(set(given)) < len(given):
            raise InvalidInput(title, "words that differ, or a number", given)
        for name in given:
            if re.fullmatch(reserved, name):
                legal = "names that are not columns of tables of results"
                raise InvalidInput(title, legal, name, "Choose another one.")
        return tuple(given)

    return names


_ERRORS = r"\w+_(se|error)"
_COLUMNS_OF_TABLES = (
    "training_loss|attended|replicas|status|message|step|trial|"
    "alpha|rate_c|momentum|strength|positive_rate|"  # fields that may hold arrays
    rf"overlap_\w+|cosine_\w+|norm_\w+|{_ERRORS}"
)
"""Patterns of what tables of courses have beside the further weights, which have columns too."""


@value
class Network(Architecture):
    """A network from a user's function.

    See Also
    --------
    Architecture : The interface of a network.
    sparsetoken.Descent : Descent on all weights of any network.

    Examples
    --------
    >>> import jax
    >>> import sparsetoken as st
    >>> def largest(H, c):  # a smooth maximum over the tokens
    ...     return jax.nn.logsumexp(H[:, 0]) + c[0]
    >>> st.networks.Network(largest, columns=["w"], weights=["b"]).column_names(outputs=1)
    ('w',)
    """

    function: Any = parameter(
        "maps the projections H of one bag, of shape (L, m), and the further weights c to a score, "
        "or to K scores where there are K > 2 classes. It is written with jax.numpy, has a "
        "derivative almost everywhere, and depends on nothing else",
        find=_function,
        kind="callable",
    )
    columns: Any = parameter(
        "names of the columns of U, or their number: they are then u1, u2, ...",
        find=_names_of("columns", "u", _ERRORS),
        kind="int or sequence of str",
    )
    weights: Any = parameter(
        "names of the further weights, or their number: they are then c1, c2, ...",
        default=(),
        find=_names_of("weights", "c", _COLUMNS_OF_TABLES),
        kind="int or sequence of str",
    )
    token_weights: Any = parameter(
        "maps (H, c) to a weight for each token, shape (L,), of which the largest is that of the "
        "most attended token; none by default",
        default=None,
        find=_optional_function,
        kind="callable, optional",
    )

    def _check_together(self) -> None:
        if not self.columns:
            raise InvalidInput("columns of a network", "one or more", self.columns)

    def column_names(self, outputs: int) -> tuple[str, ...]:
        return self.columns

    def weight_names(self, outputs: int) -> tuple[str, ...]:
        return self.weights

    def scores(self, H: Any, c: Any, outputs: int) -> Any:
        import jax.numpy as jnp

        found = jnp.asarray(self.function(H, c))
        return found[None] if outputs == 1 and found.ndim == 0 else found

    def attention(self, H: Any, c: Any) -> Any:
        return None if self.token_weights is None else self.token_weights(H, c)


def is_torch(given: Any) -> bool:
    """Return whether a value looks like a torch module."""
    return any(kind.__module__.partition(".")[0] == "torch" for kind in type(given).__mro__)


def network_of(given: Any) -> Architecture:
    """Return a network, or raise `InvalidInput`."""
    if not isinstance(given, Architecture):
        remedy = FROM_TORCH if is_torch(given) else "Write st.networks.Softmax(), for example."
        raise InvalidInput("network", "one of sparsetoken.model.networks", given, remedy)
    return given
