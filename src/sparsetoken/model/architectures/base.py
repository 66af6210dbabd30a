"""What a network is, and sums of weighted tokens."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, ClassVar

__all__ = ["Architecture", "WeightedSum"]


class Architecture(abc.ABC):
    """The interface of a network that descent trains.

    ``outputs`` is 1 for two classes, whose score is then a number, and K for K > 2 classes.

    The scores of a network with `uses_gram` depend on the Gram matrix G = U^T U of its columns too,
    as where layers read what earlier layers wrote: `scores` and `attention` then take G, of shape
    (m, m), as a last argument.

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

    @property
    def uses_gram(self) -> bool:
        """Whether the scores depend on the Gram matrix of the columns."""
        return False

    @property
    def symmetric(self) -> bool:
        """Whether a permutation of the tokens changes no score, and permutes the attention."""
        return True

    @property
    def trainable(self) -> bool:
        """Whether descent can train it: its scores have derivatives."""
        return True

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

    def writers(self, outputs: int) -> tuple[int, ...]:
        """Return the columns that layers write along, on which they project no token."""
        return ()

    def start_norms(self, outputs: int) -> tuple[float, ...]:
        """Return norms of the columns at the start that break the symmetries of the network."""
        return tuple(0.5 for _ in self.column_names(outputs))

    def start_cosines(self, outputs: int) -> Mapping[tuple[str, str], float]:
        """Return cosines of pairs of columns at the start, without which a layer is not read."""
        return {}

    def start(self, outputs: int) -> tuple[float, ...]:
        """Return the further weights at the start."""
        return tuple(0.0 for _ in self.weight_names(outputs))


def scores_of(network: Architecture, H: Any, c: Any, gram: Any, outputs: int) -> Any:
    """Return the scores of a network, which may depend on the Gram matrix of its columns."""
    return network.scores(H, c, outputs, *((gram,) if network.uses_gram else ()))


def attention_of(network: Architecture, H: Any, c: Any, gram: Any) -> Any:
    """Return the attention weights of a network that may depend on the Gram matrix, or None."""
    return network.attention(H, c, *((gram,) if network.uses_gram else ()))


def numbered(stem: str, count: int) -> tuple[str, ...]:
    """Return the names of columns, with numbers from 1 where there are several."""
    return (stem,) if count == 1 else tuple(f"{stem}{i + 1}" for i in range(count))


def of_classes(stem: str, outputs: int, *, after: str = "") -> tuple[str, ...]:
    """Return the names of weights of which each class has one; classes are counted from 0."""
    return (stem,) if outputs == 1 else tuple(f"{stem}{after}{k}" for k in range(outputs))


def fading(norm: float, count: int) -> tuple[float, ...]:
    """Return different norms: columns that start equal stay equal."""
    return tuple(norm * 0.7**i for i in range(count))


class WeightedSum(Architecture):
    """A network whose scores are sum_h sum_l a_hl <x_l, w_hk> + b_k, with weights a of the tokens.

    Its columns are those that the weights of the tokens depend on, then the readouts of each head.
    """

    readout: ClassVar[str] = "w"
    heads: int = 1

    @abc.abstractmethod
    def weights_of_heads(self, H: Any, c: Any) -> Any:
        """Return the weights of the tokens, shape (heads, L)."""

    def queries(self) -> tuple[str, ...]:
        """Return the names of the columns that the weights of the tokens depend on."""
        return ()

    def query_norms(self) -> tuple[float, ...]:
        """Return their norms at the start."""
        return ()

    def column_names(self, outputs: int) -> tuple[str, ...]:
        after = "" if self.heads == 1 else "_"
        own = (of_classes(w, outputs, after=after) for w in numbered(self.readout, self.heads))
        return (*self.queries(), *(name for names in own for name in names))

    def weight_names(self, outputs: int) -> tuple[str, ...]:
        return of_classes("b", outputs)

    def readouts(self, outputs: int) -> tuple[int, ...]:
        first = len(self.queries())
        return tuple(range(first, first + self.heads * outputs))

    def start_norms(self, outputs: int) -> tuple[float, ...]:
        readouts = (own for w in fading(0.3, self.heads) for own in (w,) * outputs)
        return (*self.query_norms(), *readouts)

    def scores(self, H: Any, c: Any, outputs: int) -> Any:
        readouts = H[:, len(self.queries()) :].reshape(len(H), self.heads, outputs)
        a = self.weights_of_heads(H, c).T
        return (a[:, :, None] * readouts).sum(axis=(0, 1)) + c[:outputs]

    def attention(self, H: Any, c: Any) -> Any:
        """Return the weights of the tokens, summed over heads."""
        return self.weights_of_heads(H, c).sum(axis=0)
