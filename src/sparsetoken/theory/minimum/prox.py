"""The proximal operator of the loss of a bag in its projections, and its derivatives, by JAX."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from sparsetoken.model.architectures.base import Architecture, scores_of
from sparsetoken.model.network_checks import sample_loss
from sparsetoken.numerics.backend import compiled

STEPS = 2  # of Newton's method in a call


class Bags(NamedTuple):
    """Bags along a first axis, or one bag: what the projections H = omega + D x are made of.

    Attributes
    ----------
    omega : array of shape (n, L m)
        Projections on the weights that were trained without the bag.
    scale : array of shape (n, L)
    y : array
    Z : array of shape (n, L, P)
    """

    omega: Any
    scale: Any
    y: Any
    Z: Any

    def at(self, j: Any) -> Bags:
        """Return some of the bags."""
        return Bags(*(entry[j] for entry in self))


class Shared(NamedTuple):
    """What all bags share: further weights, U^T U, and V^(1/2) by the columns that are trained."""

    c: Any
    gram: Any
    root: Any


class BagLoss:
    """The loss of one bag in its projections, with compiled functions of all bags at once.

    `prox(x, damping, bags, shared)`, `means(x, bags, weights, shared)` and
    `pulls(x, move, bags, shared)` are those below, of bags along first axes.
    """

    def __init__(self, network: Architecture, loss: Any, outputs: int) -> None:
        self._network, self._outputs = network, outputs
        self._of_sample = sample_loss(loss, outputs)
        self.prox = compiled()(jax.vmap(self._prox, in_axes=(0, 0, 0, None)))
        self.means = compiled()(self._means)
        self.pulls = compiled()(jax.vmap(self._pull, in_axes=(0, 0, 0, None)))

    def _loss(self, h: Any, c: Any, gram: Any, bag: Bags) -> Any:
        H = h.reshape(len(bag.scale), -1)
        return self._of_sample(scores_of(self._network, H, c, gram, self._outputs), bag.y)

    def _of_h(self, h: Any, bag: Bags, shared: Shared) -> Any:
        return self._loss(h, shared.c, shared.gram, bag)

    def _penalised(self, x: Any, D: Any, bag: Bags, shared: Shared) -> Any:
        return 0.5 * x @ x + self._of_h(bag.omega + D @ x, bag, shared)

    def _prox(self, x: Any, damping: Any, bag: Bags, shared: Shared) -> tuple[Any, ...]:
        """Return x, damping, value and largest slope after some steps of Newton's method.

        Levenberg's term grows until a step lowers the value.
        """
        D = _scaled(bag, shared)

        def step(carry: Any, _: Any) -> tuple[Any, None]:
            x, value, damping = carry
            of_h = jax.hessian(self._of_h)(bag.omega + D @ x, bag, shared)
            matrix = (1 + damping) * jnp.eye(len(x)) + D.T @ of_h @ D
            new = x - jnp.linalg.solve(matrix, jax.grad(self._penalised)(x, D, bag, shared))
            lower = self._penalised(new, D, bag, shared)
            good = lower <= value + 1e-13 * jnp.abs(value)
            less = jnp.where(damping < 1e-3, 0.0, damping / 6)
            damping = jnp.where(good, less, jnp.maximum(4 * damping, 0.5))
            return (jnp.where(good, new, x), jnp.where(good, lower, value), damping), None

        start = (x, self._penalised(x, D, bag, shared), damping)
        (x, value, damping), _ = jax.lax.scan(step, start, None, length=STEPS)
        slope = jax.grad(self._penalised)(x, D, bag, shared)
        return x, damping, value, jnp.abs(slope).max()

    def _response(self, h: Any, D: Any, bag: Bags, shared: Shared) -> tuple[Any, Any]:
        """Return (I + l'' V)^-1 with V = D D^T, and the response J = dG/domega."""
        of_h = jax.hessian(self._of_h)(h, bag, shared)
        inverse = jnp.linalg.inv(jnp.eye(len(h)) + of_h @ (D @ D.T))
        return inverse, inverse @ of_h

    def _of_bag(self, x: Any, bag: Bags, shared: Shared) -> dict[str, Any]:
        """Return what the equations have the means of."""
        D, (L, Z), (c, gram, _) = _scaled(bag, shared), (len(bag.scale), bag.Z), shared
        h = bag.omega + D @ x
        loss, (G, by_c, by_gram) = jax.value_and_grad(self._loss, (0, 1, 2))(h, c, gram, bag)
        mixed = jax.jacfwd(jax.grad(self._loss), 1)(h, c, gram, bag)
        inverse, J = self._response(h, D, bag, shared)
        by_cc = jax.hessian(self._loss, 1)(h, c, gram, bag)
        by_cc = by_cc - mixed.T @ (D @ D.T @ inverse) @ mixed
        G, J, square = G.reshape(L, -1), J.reshape(L, len(gram), L, -1), bag.scale**2
        K = jnp.einsum("l,lilj->ij", square, J)
        return {
            "S": jnp.einsum("l,li,lj->ij", square, G, G),
            "K": 0.5 * (K + K.T),
            "pull": by_gram + by_gram.T,
            "GZ": G.T @ Z,
            "by_c": by_c,
            "by_cc": by_cc,
            "loss": loss,
            "T": jnp.einsum("l,k,likj,lpkq->ipjq", square, square, J, J),
            "ZJZ": jnp.einsum("lp,likj,kq->ipjq", Z, J, Z),
            "ZJc": jnp.einsum("lp,lic->ipc", Z, (inverse @ mixed).reshape(L, len(gram), -1)),
        }

    def _means(self, x: Any, bags: Bags, weights: Any, shared: Shared) -> dict[str, Any]:
        found = jax.vmap(self._of_bag, in_axes=(0, 0, None))(x, bags, shared)
        return {name: jnp.tensordot(weights, part, axes=1) for name, part in found.items()}

    def _pull(self, x: Any, move: Any, bag: Bags, shared: Shared) -> tuple[Any, Any]:
        """Return G, and its change by a move of omega to first order."""
        D, shape = _scaled(bag, shared), (len(bag.scale), -1)
        h = bag.omega + D @ x
        _, J = self._response(h, D, bag, shared)
        G = jax.grad(self._of_h)(h, bag, shared)
        return G.reshape(shape), (J @ move).reshape(shape)


@functools.lru_cache(maxsize=64)
def bag_loss(network: Architecture, loss: Any, outputs: int) -> BagLoss:
    """Return the loss of a bag, compiled once."""
    return BagLoss(network, loss, outputs)


def _scaled(bag: Bags, shared: Shared) -> Any:
    """Return D, a block k_l V^(1/2) for each token."""
    return jnp.kron(jnp.diag(bag.scale), shared.root)
