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
    import jax.numpy as jnp

    name, m, C = "function of the network", len(network.columns), len(network.weights)
    with jax.enable_x64(True):
        rng = np.random.default_rng(0)
        H = rng.standard_normal((_POINTS, length, m))
        c = rng.standard_normal((_POINTS, C))
        first, gram = (H[0], c[0]), _gram(m)

        def scores(H: Any, c: Any) -> Any:
            return scores_of(network, H, c, gram, outputs)

        where = f"at H of shape ({length}, {m}) and c of shape ({C},)"
        shape = _shape(name, scores, *first, where)
        H, c = jnp.asarray(H), jnp.asarray(c)  # type: ignore[assignment]
        if shape != (outputs,):
            legal = f"a number {where}" if outputs == 1 else f"of shape ({outputs},) {where}"
            raise InvalidInput(name, legal, f"shape {shape}")
        values = [np.array([scores(*at) for at in zip(H, c, strict=True)]) for _ in range(2)]
        if not np.isfinite(values[0]).all():
            raise InvalidInput(name, f"finite {where}", "nan or inf")
        compiled = jax.jit(jax.vmap(scores))
        values.append(np.asarray(compiled(H, c)))
        if not all(np.allclose(values[0], other, rtol=1e-6, atol=1e-9) for other in values[1:]):
            raise InvalidInput(name, "pure", "different values when called again", _PURE)
        slopes = jax.vmap(jax.jacrev(scores))(H, c)
        if not np.isfinite(slopes).all():
            raise InvalidInput(name, "differentiable almost everywhere", "a derivative of nan")
        if not np.any(slopes):
            remedy = "Descent cannot move; replace sign, round or argmax by smooth functions."
            raise InvalidInput(name, "differentiable", "a derivative of 0 everywhere", remedy)
        if network.token_weights is not None:
            name = "token_weights of the network"
            weights = functools.partial(attention_of, network, gram=gram)
            shape = _shape(name, weights, *first, where)
            if shape != (length,):
                raise InvalidInput(name, f"of shape ({length},) {where}", f"shape {shape}")
            if not np.isfinite(jax.vmap(weights)(H, c)).all():
                raise InvalidInput(name, f"finite {where}", "nan or inf")


def _gram(m: int) -> Any:
    """Return a Gram matrix at which functions are tried."""
    import jax.numpy as jnp

    U = np.random.default_rng(2).standard_normal((2 * m, m)) / np.sqrt(2 * m)
    return jnp.asarray(U.T @ U)


def _shape(name: str, function: Callable[..., Any], H: Any, c: Any, where: str) -> tuple[int, ...]:
    """Return the shape of a function's value at arrays of NumPy.

    Raises
    ------
    InvalidInput
        If it has none, or the function takes an entry that is not there.
    """
    import jax

    try:
        found = jax.eval_shape(function, H, c)
        shape, dtype = found.shape, found.dtype
    except Exception as error:  # whatever the function raises
        legal = f"written with jax.numpy, and defined {where}"
        raise InvalidInput(name, legal, _first_line(error), FROM_TORCH) from error
    try:
        function(H, c)
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
    import jax.numpy as jnp

    with jax.enable_x64(True):
        rng = np.random.default_rng(1)
        H = rng.standard_normal((_POINTS, length, len(network.columns)))
        c = rng.standard_normal((_POINTS, len(network.weights)))
        gram = _gram(len(network.columns))
        scores = jax.vmap(lambda H, c: scores_of(network, H, c, gram, outputs))
        weights = jax.vmap(lambda H, c: attention_of(network, H, c, gram))
        places = np.arange(length)
        for order in (np.append(places[:2][::-1], places[2:]), np.roll(places, 1)):
            mixed = H[:, order]
            alike = jnp.allclose(scores(mixed, c), scores(H, c))
            if alike and network.token_weights is not None:
                alike = jnp.allclose(weights(mixed, c), weights(H, c)[:, order])
            if not alike:
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

    m = len(network.columns)
    with jax.enable_x64(True):
        rng = np.random.default_rng(3)
        H = rng.standard_normal((_POINTS, length, m))
        c = rng.standard_normal((_POINTS, len(network.weights)))
        slopes = jax.vmap(jax.jacrev(network.scores, (0, 3)), (0, 0, None, None))
        by_H, by_gram = slopes(H, c, outputs, _gram(m))
        read = np.any(by_H, axis=(0, 1, 2))
        written = np.any(by_gram, axis=(0, 1, 2)) | np.any(by_gram, axis=(0, 1, 3))
    return tuple(np.flatnonzero(written & ~read).tolist())


@functools.lru_cache(maxsize=64)
def _check_loss(loss: Callable[[Any, Any], Any], task: Problem) -> None:
    import jax
    import jax.numpy as jnp

    of_sample = sample_loss(loss, task.outputs)
    with jax.enable_x64(True):
        scores = np.linspace(-1.0, 1.0, task.outputs + 1)[1:]
        try:
            slope = jax.jit(jax.grad(of_sample))
            slopes = [slope(scores, jnp.asarray(y)) for y in task.some_targets()]
            again = [jax.grad(of_sample)(scores, jnp.asarray(y)) for y in task.some_targets()]
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
    import jax.numpy as jnp

    of_sample = jax.jit(jax.vmap(sample_loss(task.metric, task.outputs), in_axes=(None, 0)))
    with jax.enable_x64(True):
        y = jnp.asarray(task.some_targets())
        try:
            values = np.asarray(of_sample(jnp.linspace(-1.0, 1.0, task.outputs + 1)[1:], y))
        except Exception as error:
            legal = "a function of (output, y) of one bag written with jax.numpy"
            raise InvalidInput("metric of a task", legal, _first_line(error)) from error
        if values.shape != (len(y),) or not np.isfinite(values).all():
            got = f"shape {values.shape[1:]}" if values.shape != (len(y),) else "nan or inf"
            raise InvalidInput("metric of a task", "a finite number for each bag", got)
