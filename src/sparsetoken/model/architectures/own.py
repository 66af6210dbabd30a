"""A network from a user's function."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from sparsetoken.base.parameters import parameter, value, version_of_functions
from sparsetoken.base.validation import InvalidInput, integer, require_hashable, truth
from sparsetoken.model.architectures.base import Architecture

__all__ = ["Network", "network_of"]

MOST_COLUMNS = 256
FROM_TORCH = (
    "Write with jax.numpy what a torch module does with the projections H (L, m) of one bag: "
    "st.networks.Network(lambda H, c: ..., columns=...)."
)


def _function(given: Any) -> Callable[..., Any]:
    if not callable(given) or is_torch(given):
        remedy = FROM_TORCH if is_torch(given) else ""
        raise InvalidInput("function of a network", "a function of (H, c)", given, remedy)
    require_hashable("function of a network", given, "H, c")
    return given


def _optional_function(given: Any) -> Callable[..., Any] | None:
    return None if given is None else _function(given)


def _names_of(what: str, stem: str) -> Callable[[Any], tuple[str, ...]]:
    """Return the reader of names, from words or their number."""
    title = f"{what} of a network"

    def names(given: Any) -> tuple[str, ...]:
        if not isinstance(given, (list, tuple)):
            count = integer(title, given, 0, MOST_COLUMNS)
            return tuple(f"{stem}{i + 1}" for i in range(count))
        # In tables an error has the name of its number and _se.
        words = all(isinstance(name, str) and re.fullmatch(r"\w+(?<!_se)", name) for name in given)
        if not words or len(set(given)) < len(given):
            legal = "words that differ and do not end with _se, or a number"
            raise InvalidInput(title, legal, given)
        return tuple(given)

    return names


@value
class Network(Architecture):
    """A network from a user's function.

    The function is compiled: where something that it refers to has changed, define it anew, and the
    network.

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
        find=_names_of("columns", "u"),
        kind="int or sequence of str",
    )
    weights: Any = parameter(
        "names of the further weights, or their number: they are then c1, c2, ...",
        default=(),
        find=_names_of("weights", "c"),
        kind="int or sequence of str",
    )
    token_weights: Any = parameter(
        "maps (H, c) to a weight for each token, shape (L,), of which the largest is that of the "
        "most attended token; none by default",
        default=None,
        find=_optional_function,
        kind="callable, optional",
    )

    gram: bool = parameter(
        "whether the functions take the Gram matrix G = U^T U of the columns, of shape (m, m), as "
        "a last argument, as layers do that read what others wrote",
        default=False,
        find=functools.partial(truth, "gram of a network"),
        kind="bool",
    )
    version: str | int = version_of_functions()

    @property
    def uses_gram(self) -> bool:
        return self.gram

    def _check_together(self) -> None:
        if not self.columns:
            raise InvalidInput("columns of a network", "one or more", self.columns)

    def column_names(self, outputs: int) -> tuple[str, ...]:
        return self.columns

    def weight_names(self, outputs: int) -> tuple[str, ...]:
        return self.weights

    def scores(self, H: Any, c: Any, outputs: int, *gram: Any) -> Any:
        import jax.numpy as jnp

        scores = jnp.asarray(self.function(H, c, *gram))
        return scores[None] if outputs == 1 and scores.ndim == 0 else scores

    def attention(self, H: Any, c: Any, *gram: Any) -> Any:
        return None if self.token_weights is None else self.token_weights(H, c, *gram)


def is_torch(given: Any) -> bool:
    """Return whether a value looks like a torch module."""
    return any(kind.__module__.partition(".")[0] == "torch" for kind in type(given).__mro__)


def network_of(given: Any) -> Architecture:
    """Return a network that descent can train, or raise `InvalidInput`."""
    if not isinstance(given, Architecture):
        remedy = FROM_TORCH if is_torch(given) else "Write st.networks.Softmax(), for example."
        raise InvalidInput("network", "one of sparsetoken.model.networks", given, remedy)
    if not given.trainable:
        remedy = "Its weights have a kink where a projection is 0, as all are at q = 0."
        raise InvalidInput("network", "one that descent can train", given, remedy)
    return given
