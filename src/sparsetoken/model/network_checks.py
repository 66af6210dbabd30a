"""Checks of a user's network and loss before anything runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from sparsetoken.base.machine import need_jax
from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import Loss
from sparsetoken.model.architectures.base import Architecture, attention_of, scores_of
from sparsetoken.model.architectures.own import FROM_TORCH, Network
from sparsetoken.model.base import Problem
from sparsetoken.numerics.backend import compiled, in_float64

_PURE = "It may depend only on its arguments: no random numbers, no state."
_POINTS = 8  # random projections at which a function is tried


def sample_loss(loss: Loss | Callable[[Any, Any], Any], outputs: int) -> Callable[[Any, Any], Any]:
    """Return the loss of one bag as a function of its scores, shape (outputs,), and its target.

    The target of one score is a real number, -1 or 1 of two classes; that of several the class,
    an integer, or what a task gives.
    """
    if outputs == 1:
        if isinstance(loss, Loss):
            return lambda scores, y: loss.value(y, scores[0])
        return lambda scores, y: loss(scores[0], y)
    return _logistic_of_classes if isinstance(loss, Loss) else loss


def _logistic_of_classes(scores: Any, y: Any) -> Any:
    import jax

    return jax.nn.logsumexp(scores) - scores[y.astype(int)]


def check_network(network: Architecture, task: Problem, loss: Any) -> None:
    """Raise `InvalidInput` unless a user's network and loss can be trained on a task, by JAX."""
    need_jax()
    if isinstance(network, Network):
        _check(network, task.length, task.outputs)
    if not isinstance(loss, Loss):
        _check_loss(loss, task)
    check_metric(task, loss)


@functools.lru_cache(maxsize=64)
def _check(network: Network, length: int, outputs: int) -> None:
    import jax

    name, m, C = "function of the network", len(network.columns), len(network.weights)
    H, c, gram = _arguments(0, network, length)

    def scores(H: Any, c: Any) -> Any:
        return scores_of(network, H, c, gram, outputs)

    where = f"at H of shape ({length}, {m}) and c of shape ({C},)"
    shape = _shape(name, scores, H[0], c[0], where)
    if shape != (outputs,):
        legal = f"a number {where}" if outputs == 1 else f"of shape ({outputs},) {where}"
        raise InvalidInput(name, legal, f"shape {shape}")
    values, again = (compiled()(jax.vmap(scores))(H, c) for _ in range(2))  # traced twice
    if not np.isfinite(values).all():
        raise InvalidInput(name, f"finite {where}", "nan or inf")
    if not np.allclose(values, again, rtol=1e-6, atol=1e-9):
        raise InvalidInput(name, "pure", "different values when called again", _PURE)
    slopes = compiled()(jax.vmap(jax.jacrev(scores)))(H, c)
    if not np.isfinite(slopes).all():
        raise InvalidInput(name, "differentiable almost everywhere", "a derivative of nan")
    if not np.any(slopes):
        remedy = "Descent cannot move; replace sign, round or argmax by smooth functions."
        raise InvalidInput(name, "differentiable", "a derivative of 0 everywhere", remedy)
    if network.token_weights is not None:
        name = "token_weights of the network"
        weights = functools.partial(attention_of, network, gram=gram)
        shape = _shape(name, weights, H[0], c[0], where)
        if shape != (length,):
            raise InvalidInput(name, f"of shape ({length},) {where}", f"shape {shape}")
        if not np.isfinite(compiled()(jax.vmap(weights))(H, c)).all():
            raise InvalidInput(name, f"finite {where}", "nan or inf")


def _arguments(seed: int, network: Network, length: int) -> tuple[np.ndarray, ...]:
    """Return projections and weights of some bags, and a Gram matrix, at which to try functions."""
    rng, m = np.random.default_rng(seed), len(network.columns)
    H = rng.standard_normal((_POINTS, length, m))
    c = rng.standard_normal((_POINTS, len(network.weights)))
    U = np.random.default_rng(2).standard_normal((2 * m, m)) / np.sqrt(2 * m)
    return H, c, U.T @ U


def _shape(name: str, function: Callable[..., Any], H: Any, c: Any, where: str) -> tuple[int, ...]:
    """Return the shape of a function's value at arrays of NumPy.

    Raises
    ------
    InvalidInput
        If it has none, or the function takes an entry that is not there.
    """
    import jax

    try:
        found = in_float64(jax.eval_shape)(function, H, c)
        shape, dtype = found.shape, found.dtype
    except Exception as error:  # whatever the function raises
        legal = f"written with jax.numpy, and defined {where}"
        raise InvalidInput(name, legal, _first_line(error), FROM_TORCH) from error
    try:
        in_float64(function)(H, c)
    except IndexError as error:  # JAX takes the nearest entry instead
        remedy = "H has a row for each token and a column for each column of U."
        legal = f"without an index outside of its arguments {where}"
        raise InvalidInput(name, legal, str(error), remedy) from error
    except Exception:  # arrays of NumPy lack some methods of JAX's
        pass
    if dtype.kind != "f":
        remedy = "Descent cannot move along it; replace sign, round or argmax by smooth functions."
        raise InvalidInput(name, f"a floating-point number {where}", f"type {dtype}", remedy)
    return shape


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


@functools.lru_cache(maxsize=64)
def is_symmetric(network: Architecture, length: int, outputs: int) -> bool:
    """Return whether the network is permutation-equivariant.

    A permutation of the tokens then leaves the scores unchanged and permutes the attention weights.
    A swap of two neighbours and a cyclic shift generate all permutations.
    """
    if not isinstance(network, Network):
        return network.symmetric
    import jax

    H, c, gram = _arguments(1, network, length)

    @compiled()
    @jax.vmap
    def found(H: Any, c: Any) -> tuple[Any, Any]:
        return scores_of(network, H, c, gram, outputs), attention_of(network, H, c, gram)

    places = np.arange(length)
    scores, weights = found(H, c)
    for order in (np.append(places[:2][::-1], places[2:]), np.roll(places, 1)):
        mixed, permuted = found(H[:, order], c)
        alike = np.allclose(mixed, scores)
        if not alike or (weights is not None and not np.allclose(permuted, weights[:, order])):
            return False
    return True


@functools.lru_cache(maxsize=64)
def writers_of(network: Architecture, length: int, outputs: int) -> tuple[int, ...]:
    """Return the columns that layers write along, on which they project no token.

    Of a user's network they are those of whose projections the scores have no derivative, but of
    whose inner products they have.
    """
    if not (isinstance(network, Network) and network.uses_gram):
        return network.writers(outputs)
    import jax

    H, c, gram = _arguments(3, network, length)
    slopes = jax.vmap(lambda H, c: jax.jacrev(network.scores, (0, 3))(H, c, outputs, gram))
    by_H, by_gram = compiled()(slopes)(H, c)
    read = np.any(by_H, axis=(0, 1, 2))
    written = np.any(by_gram, axis=(0, 1, 2)) | np.any(by_gram, axis=(0, 1, 3))
    return tuple(np.flatnonzero(written & ~read).tolist())


@functools.lru_cache(maxsize=64)
def _check_loss(loss: Callable[[Any, Any], Any], task: Problem) -> None:
    import jax

    scores = np.linspace(-1.0, 1.0, task.outputs + 1)[1:]
    of_sample, y = sample_loss(loss, task.outputs), task.some_targets()
    try:
        slopes, again = (
            compiled()(jax.vmap(jax.grad(of_sample), in_axes=(None, 0)))(scores, y)
            for _ in range(2)
        )
    except Exception as error:
        legal = "a function of (scores, target) written with jax.numpy, whose value is a number"
        raise InvalidInput("loss", legal, _first_line(error)) from error
    if not np.isfinite(slopes).all():
        raise InvalidInput("loss", "differentiable", "a derivative of nan or inf")
    if not np.allclose(slopes, again, rtol=1e-6, atol=1e-9):
        raise InvalidInput("loss", "pure", "different values when called again", _PURE)


@functools.lru_cache(maxsize=64)
def check_metric(task: Problem, loss: Any) -> None:
    """Raise `InvalidInput` unless a user's metric has a finite number for each bag."""
    if task.metric in ("error", loss):
        return
    need_jax()
    import jax

    y, scores = task.some_targets(), np.linspace(-1.0, 1.0, task.outputs + 1)[1:]
    try:
        each = jax.vmap(sample_loss(task.metric, task.outputs), in_axes=(None, 0))
        values = compiled()(each)(scores, y)
    except Exception as error:
        legal = "a function of (output, y) of one bag written with jax.numpy"
        raise InvalidInput("metric of a task", legal, _first_line(error)) from error
    if values.shape != (len(y),) or not np.isfinite(values).all():
        got = f"shape {values.shape[1:]}" if values.shape != (len(y),) else "nan or inf"
        raise InvalidInput("metric of a task", "a finite number for each bag", got)
