"""Attention in several layers with residual streams."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sparsetoken.base.parameters import POSITIVE, Linear, Log, Range, parameter, value
from sparsetoken.base.validation import truth
from sparsetoken.model.architectures.base import Architecture, fading, of_classes
from sparsetoken.model.architectures.weights import softmax_weights
from sparsetoken.numerics.backend import namespace

_MOST = 16
_COSINE = 0.5  # of pairs of columns at the start, without which a head is silent
_NORM = 1.0  # of all columns of heads and hidden units at the start


def _count(help: str, default: int, least: int) -> Any:
    sizes = Range(least=least, most=_MOST)
    return parameter(help, default=default, whole=True, range=sizes, slider=Linear(least, 4))


@value
class Transformer(Architecture):
    """Layers of low-rank self-attention with residual streams, read out by a learned query.

    A head adds ``sum_m softmax_m(beta <Q, x_l> <K, x_m>) <V, x_m> O`` to each token x_l, and the
    heads of a layer add at once; a hidden unit adds ``tanh(<u, x_l>) v``. The last layer is
    ``softmax(beta H_q) . H_w + b`` of what the tokens have become, or with ``last=True`` H_w + b of
    the last token. ``layers=1`` is `Softmax`.

    Columns Q, K, V, O of each head and u, v of each hidden unit, layer after layer, then q and w;
    with K > 2 classes w0, w1, ... Where there are several layers before the last, or several heads
    or units, their numbers follow: Q2, or Q1_2 for the second head of the first layer. Further
    weights: b, or b0, b1, ... of the classes.

    The projections of a token on all columns, R = H at first, are what the network needs to know:
    a head adds A R_V G_O, where A are its weights and G_O the row of G = U^T U, and a hidden unit
    tanh(R_u) G_v. From orthogonal columns no head would be read, and Q and K would stay orthogonal
    to the signals. So by default O and v start with the same cosine with q, or with the first
    readout where there is no q, whose squares add up to 1/4, and K of each head with the cosine
    1/2 with its V.

    See Also
    --------
    Softmax : One layer.
    SelfAttention : Self-attention without residual stream.
    sparsetoken.Descent : Descent on all weights of any network.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.networks.Transformer(layers=2).column_names(outputs=1)
    ('Q', 'K', 'V', 'O', 'q', 'w')
    >>> st.networks.Transformer(layers=3).column_names(outputs=1)
    ('Q1', 'K1', 'V1', 'O1', 'Q2', 'K2', 'V2', 'O2', 'q', 'w')
    """

    layers: int = _count("layers, the last of which reads out", 2, 1)
    heads: int = _count("heads of each layer but the last", 1, 1)
    beta: float = parameter(
        "inverse temperature of the weights of the tokens",
        r"\beta",
        default=1.0,
        range=POSITIVE,
        slider=Log(0.05, 10),
    )
    hidden: int = _count("hidden units of each layer but the last, after its heads", 0, 0)
    causal: bool = parameter(
        "whether tokens attend to themselves and those before them only, but in the last layer",
        default=False,
        find=functools.partial(truth, "causal"),
        kind="bool",
    )
    last: bool = parameter(
        "whether the last token is read out, without a query, in place of softmax attention",
        default=False,
        find=functools.partial(truth, "last"),
        kind="bool",
    )

    @property
    def uses_gram(self) -> bool:
        return self.layers > 1

    @property
    def symmetric(self) -> bool:
        return not (self.last or (self.causal and self.layers > 1))

    @property
    def _size(self) -> int:
        """The columns of a layer."""
        return 4 * self.heads + 2 * self.hidden

    def _names(self, layer: int, stems: str, count: int) -> Iterator[str]:
        """Yield the names of columns of the heads or units of a layer."""
        for i in range(1, count + 1):
            numbers = [layer] * (self.layers > 2) + [i] * (count > 1)
            yield from (stem + "_".join(map(str, numbers)) for stem in stems)

    def column_names(self, outputs: int) -> tuple[str, ...]:
        parts = [("QKVO", self.heads), ("uv", self.hidden)]
        layers = range(1, self.layers)
        names = [name for i in layers for part in parts for name in self._names(i, *part)]
        return (*names, *("q",) * (not self.last), *of_classes("w", outputs))

    def weight_names(self, outputs: int) -> tuple[str, ...]:
        return of_classes("b", outputs)

    def readouts(self, outputs: int) -> tuple[int, ...]:
        first = (self.layers - 1) * self._size + (not self.last)
        return tuple(range(first, first + outputs))

    def writers(self, outputs: int) -> tuple[int, ...]:
        names = enumerate(self.column_names(outputs))
        return tuple(i for i, name in names if name[0] in "Ov")

    def start_norms(self, outputs: int) -> tuple[float, ...]:
        counts = [(4, self.heads), (2, self.hidden)]
        layer = [x for own, n in counts for norm in fading(_NORM, n) for x in (norm,) * own]
        return (*layer * (self.layers - 1), *(0.5,) * (not self.last), *(0.3,) * outputs)

    def start_cosines(self, outputs: int) -> Mapping[tuple[str, str], float]:
        names = self.column_names(outputs)
        written = [names[i] for i in self.writers(outputs)]
        values = [(K, K.replace("K", "V")) for K in names if K[0] == "K"]
        reader = names[(self.layers - 1) * self._size]
        read = {(name, reader): _COSINE / math.sqrt(len(written)) for name in written}
        return read | dict.fromkeys(values, _COSINE)

    def _streams(self, H: Any, gram: Any) -> Any:
        """Return the projections of the tokens on all columns before the last layer."""
        R, first = H, 0
        seen = np.tri(len(H), dtype=bool)
        for _ in range(self.layers - 1):
            written = 0.0
            for head in range(first, first + 4 * self.heads, 4):
                Q, K, V, O = range(head, head + 4)
                products = self.beta * R[:, Q, None] * R[None, :, K]
                if self.causal:
                    products = namespace(H).where(seen, products, -np.inf)
                read = (softmax_weights(products) * R[None, :, V]).sum(axis=1)
                written = written + read[:, None] * gram[O]
            R = R + written
            units = range(first + 4 * self.heads, first + self._size, 2)
            activities = [(namespace(H).tanh(R[:, u]), gram[u + 1]) for u in units]
            R = R + sum(activity[:, None] * row for activity, row in activities)
            first += self._size
        return R

    def _weights(self, R: Any) -> Any:
        return softmax_weights(self.beta * R[:, (self.layers - 1) * self._size])

    def scores(self, H: Any, c: Any, outputs: int, gram: Any = None) -> Any:
        R = self._streams(H, gram)
        if self.last:
            return R[-1, -outputs:] + c[:outputs]
        a = self._weights(R)
        return (a[:, None] * R[:, -outputs:]).sum(axis=0) + c[:outputs]

    def attention(self, H: Any, c: Any, gram: Any = None) -> Any:
        """Return the weights of the tokens in the last layer, None where the last one is read."""
        return None if self.last else self._weights(self._streams(H, gram))
